"""Einstein summation as batches of matrix products."""

from __future__ import annotations

import string
from collections.abc import Sequence

import torch
from torch import Tensor

from hwsim.errors import InputError
from hwsim.torch.functional import layer_by, matmul_at
from hwsim.torch.operators import ProductLayer
from hwsim.torch.recipe import RecipeLike


def einsum(equation: str, *operands: Tensor, recipe: RecipeLike) -> Tensor:
    """`torch.einsum` by the units of a recipe: every sum of products of two operands goes through a unit.

    Of three operands and more the first two are multiplied first. A sum over one operand alone is PyTorch's, as is a
    product that sums nothing. Raises ValueError for an equation that does not fit the operands.
    """
    return einsum_at(equation, operands, layer_by(recipe))


def einsum_at(equation: str, operands: Sequence[Tensor], layer: ProductLayer) -> Tensor:
    """`einsum` at a place in a model."""
    terms, result = parsed(equation, operands)
    arrays = [_diagonal(array, term) for array, term in zip(operands, terms, strict=True)]
    terms = ["".join(dict.fromkeys(term)) for term in terms]
    while len(arrays) > 1:
        needed = set(result).union(*terms[2:])
        a, b = _summed(arrays[0], terms[0], {*needed, *terms[1]}), _summed(arrays[1], terms[1], {*needed, *terms[0]})
        array, term = _pair(a, b, needed, layer)
        arrays, terms = [array, *arrays[2:]], [term, *terms[2:]]
    array, term = _summed(arrays[0], terms[0], set(result))
    return array.permute([term.index(name) for name in result])


def parsed(equation: str, operands: Sequence[Tensor]) -> tuple[list[str], str]:
    """The letters of every operand, and of the result; an ellipsis as letters that the equation has not."""
    given, arrow, result = equation.replace(" ", "").partition("->")
    terms = given.split(",")
    if len(terms) != len(operands):
        raise InputError(f"equation {equation!r} has {len(terms)} operands, not {len(operands)}")
    free = [letter for letter in string.ascii_letters if letter not in equation]
    widths = [one.dim() - len(term.replace("...", "")) for term, one in zip(terms, operands, strict=True)]
    dots = max([0, *(width for term, width in zip(terms, widths, strict=True) if "..." in term)])
    letters = "".join(free[:dots])
    for at, (term, width) in enumerate(zip(terms, widths, strict=True)):
        if width < 0 or (width and "..." not in term):
            raise InputError(f"equation {equation!r}: operand {at} has {operands[at].dim()} axes")
        terms[at] = term.replace("...", letters[len(letters) - width :])
    if not arrow:
        every = "".join(terms)
        result = letters + "".join(sorted(one for one in set(every) - set(letters) if every.count(one) == 1))
    result = result.replace("...", letters)
    if len(set(result)) < len(result) or not set(result) <= set("".join(terms)):
        raise InputError(f"equation {equation!r}: each letter of the result must stand there once, and in an operand")
    return terms, result


def _diagonal(array: Tensor, term: str) -> Tensor:
    """The array with one axis for letters that stand twice: its diagonal there."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            first = term.index(letter)
            second = term.index(letter, first + 1)
            array = torch.diagonal(array, dim1=first, dim2=second).movedim(-1, first)
            term = term[:second] + term[second + 1 :]
    return array


def _summed(array: Tensor, term: str, needed: set[str]) -> tuple[Tensor, str]:
    """The array summed over the axes that nothing else has."""
    alone = [at for at, letter in enumerate(term) if letter not in needed]
    kept = "".join(letter for letter in term if letter in needed)
    return (array.sum(alone) if alone else array), kept


def _pair(a: tuple[Tensor, str], b: tuple[Tensor, str], needed: set[str], layer: ProductLayer) -> tuple[Tensor, str]:
    """The product of two arrays, summed over what both have and nothing else needs."""
    (left, of_a), (right, of_b) = a, b
    both = [letter for letter in of_a if letter in of_b]
    batch = "".join(letter for letter in both if letter in needed)
    inner = "".join(letter for letter in both if letter not in needed)
    rows = "".join(letter for letter in of_a if letter not in both)
    columns = "".join(letter for letter in of_b if letter not in both)
    sizes = {
        letter: size
        for term, one in ((of_a, left), (of_b, right))
        for letter, size in zip(term, one.shape, strict=True)
    }
    for letter in both:  # an axis of one is broadcast
        sizes[letter] = max(left.shape[of_a.index(letter)], right.shape[of_b.index(letter)])
    left, right = _arranged(left, of_a, batch, rows, inner, sizes), _arranged(right, of_b, batch, inner, columns, sizes)
    found = matmul_at(left, right, layer) if inner else left * right
    return found.reshape([sizes[letter] for letter in batch + rows + columns]), batch + rows + columns


def _arranged(array: Tensor, term: str, batch: str, first: str, second: str, sizes: dict[str, int]) -> Tensor:
    """An array as a batch of matrices: (batch, first, second), or one matrix where there is no batch."""
    array = array.permute([term.index(letter) for letter in batch + first + second])
    array = array.expand([sizes[letter] for letter in batch + first + second])
    several = [torch.Size(sizes[letter] for letter in group).numel() for group in (batch, first, second)]
    return array.reshape(several if batch else several[1:])
