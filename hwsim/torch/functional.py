"""PyTorch's functions that multiply, by units: products, einsum, convolutions, attention; and casts."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hwsim.base.errors import InputError
from hwsim.formats import Format, get_format
from hwsim.quantize import Rule, get_rule
from hwsim.quantize import quantize as quantize_numbers
from hwsim.torch import codes, tensors
from hwsim.torch.devices import multiplier, numbers, refused_rule
from hwsim.torch.operators import (
    NOBODY,
    Once,
    ProductLayer,
    applied,
    gradient_of,
    kept,
    multiplied,
    remember,
    restored,
    seed_of,
    singles,
)
from hwsim.torch.products import Products
from hwsim.torch.recipe import RecipeLike, load_recipe


def layer_of(products: Products, where: str = "", owner: int = NOBODY) -> ProductLayer:
    """The layer of a name that has these products."""
    return ProductLayer(products.key, products.random, products.keep is not None, where, owner)


def layer_by(recipe: RecipeLike) -> ProductLayer:
    """A layer that stands by itself, by a recipe. Raises as `load_recipe` does."""
    return layer_of(load_recipe(recipe).products)


def dtype_of(a: Tensor, b: Tensor) -> torch.dtype:
    """The dtype of a product: what autocast says, or what the factors' dtypes promote to."""
    device = a.device.type
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return torch.promote_types(a.dtype, b.dtype)


def matmul(a: Tensor, b: Tensor, recipe: RecipeLike) -> Tensor:
    """`torch.matmul` by the units of a recipe, forward and backward.

    a: (..., M, K) or (K,). b: (..., K, N) or (K,), broadcast. recipe: a name, a file, a mapping, or a `Recipe`.
    Returns what `torch.matmul` does, in shape and dtype; sums and scales are float32's before. Raises as `load_recipe`
    does.
    """
    return matmul_at(a, b, layer_by(recipe))


def matmul_at(a: Tensor, b: Tensor, layer: ProductLayer, addend: Tensor | None = None, factor: float = 1.0) -> Tensor:
    """`matmul` at a place in a model; times a factor, and with an addend, as the operator `product` takes them.

    addend: of the last axes of the result, broadcast to it. Raises ValueError for factors that have no product or are
    not strided tensors of real floats.
    """
    if a.dim() == 0 or b.dim() == 0 or a.shape[-1] != b.shape[-2 if b.dim() > 1 else 0]:
        raise InputError(f"a {tuple(a.shape)} and b {tuple(b.shape)} have no matrix product")
    for operand in (a, b):
        if (reason := beyond_units(operand)) is not None:
            raise InputError(f"units multiply strided tensors of real floats, not {reason}")
    left, right = a.dim() == 1, b.dim() == 1
    if left:
        a = a.unsqueeze(0)
    if right:
        b = b.unsqueeze(1)
        addend = addend if addend is None or addend.dim() == 0 else addend.unsqueeze(-1)
    dtype, shape = dtype_of(a, b), (*a.shape[:-1], b.shape[-1])
    if b.dim() == 2 and a.dim() > 2 and (addend is None or addend.dim() < 2):
        # One matrix of many rows: the gradient of b is one long sum, as in a linear layer.
        a = a.reshape(-1, a.shape[-1])
    result = multiplied(a, b, addend, float(factor), layer).to(dtype)
    if b.dim() == 2:
        result = result.reshape(shape)
    if left:
        result = result.squeeze(-2)
    return result.squeeze(-1) if right else result


def beyond_units(x: Tensor) -> str | None:
    """The reason why no unit multiplies a tensor, in words; None if units take it."""
    if not x.dtype.is_floating_point:
        return str(x.dtype).removeprefix("torch.")
    return None if x.layout is torch.strided and not x.is_nested else "a sparse or nested tensor"


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, recipe: RecipeLike) -> Tensor:
    """`torch.nn.functional.linear` by the units of a recipe: x @ weight^T + bias.

    x: (..., in). weight: (out, in), or (in,). The bias, rounded to the recipe's output, is added in float32, with a
    rounding of its own, and the sum is rounded once to the output. Raises as `load_recipe` does.
    """
    return linear_at(x, weight, bias, layer_by(recipe))


def linear_at(x: Tensor, weight: Tensor, bias: Tensor | None, layer: ProductLayer) -> Tensor:
    """`linear` at a place in a model."""
    return matmul_at(x, weight.mT if weight.dim() > 1 else weight, layer, bias)


class _Through(Once):
    """A function whose derivative is taken to be 1: gradients pass through as they are.

    function: of arrays. there: of tensors where they are; it returns None for what the host has alone.
    """

    @staticmethod
    def forward(x: Tensor, function: Callable[[Any], Any], there: Callable[[Tensor], Tensor | None]) -> Tensor:
        if x.is_meta:
            return torch.empty_like(x)
        if multiplier(x) is not None and (found := there(numbers(x))) is not None:
            return found.to(x.dtype)
        result = function(singles(x)).astype(np.float32)
        return torch.from_numpy(np.ascontiguousarray(result)).to(device=x.device, dtype=x.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Nothing is kept."""

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return gradients[0], None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        return tangents[0].clone()  # type: ignore[no-any-return]


def _through(x: Tensor, function: Callable[[Any], Any], there: Callable[[Tensor], Tensor | None]) -> Tensor:
    # As a decorator, `disable` would import PyTorch's compiler with hwsim.torch: 2 s, and a folder in /tmp.
    at_once = torch.compiler.disable(_through_at_once) if torch.compiler.is_compiling() else _through_at_once
    result: Tensor = at_once(x, function, there)
    return result


def _through_at_once(x: Tensor, function: Callable[[Any], Any], there: Callable[[Tensor], Tensor | None]) -> Tensor:
    if (reason := beyond_units(x)) is not None:
        raise InputError(f"x must be a strided tensor of real floats, not {reason}")
    return _Through.apply(x, function, there)  # type: ignore[no-any-return]


def quantize(x: Tensor, rule: str | Rule, axis: int = -1, **options: Any) -> Tensor:
    """The numbers that x is quantised to, in x's dtype; gradients pass through as they are.

    rule, axis, options: as `hwsim.quantize` takes them. The numbers are float32's before they are cast to x's dtype.
    """

    def there(x: Tensor) -> Tensor | None:
        if options.keys() & GIVEN:
            return None
        of = get_rule(rule).replace(**options)
        if refused_rule(of) or of.rounding == "stochastic":
            return None
        found = tensors.quantized(x, of, axis)
        return tensors.dequantized(of, found.codes, found.scales, axis)

    return _through(x, lambda array: quantize_numbers(array, rule, axis, **options).dequantize(np.float32), there)


# What `hwsim.quantize` takes beside changes of a rule.
GIVEN = {"scale", "second_scale", "tensor_amax", "random_bits", "seed", "counter"}


def cast(x: Tensor, fmt: str | Format, rounding: str = "rne", overflow: str = "saturate", **random: Any) -> Tensor:
    """x rounded to a format, in x's dtype; gradients pass through as they are.

    fmt: a name, a file, or a `Format`. rounding, overflow, random (`random_bits`, `seed`, `counter`): as
    `Format.encode` takes them.
    """
    to = get_format(fmt)

    def rounded(array: Any) -> Any:
        return to.decode(to.encode(array, rounding=rounding, overflow=overflow, **random))

    def there(x: Tensor) -> Tensor | None:
        if random or rounding == "stochastic" or codes.refused_format(to) is not None or to.canonical_nan is None:
            return None
        return codes.decode(to, codes.encode(codes.target(to, rounding, overflow), x)).float()

    return _through(x, rounded, there)


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
    inputs, arrow, result = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands):
        raise InputError(f"equation {equation!r} has {len(terms)} operands, not {len(operands)}")
    free = [letter for letter in string.ascii_letters if letter not in equation]
    widths = [operand.dim() - len(term.replace("...", "")) for term, operand in zip(terms, operands, strict=True)]
    dots = max([0, *(width for term, width in zip(terms, widths, strict=True) if "..." in term)])
    letters = "".join(free[:dots])
    for index, (term, width) in enumerate(zip(terms, widths, strict=True)):
        if width < 0 or (width and "..." not in term):
            raise InputError(f"equation {equation!r}: operand {index} has {operands[index].dim()} axes")
        terms[index] = term.replace("...", letters[len(letters) - width :])
    if not arrow:
        every = "".join(terms)
        result = letters + "".join(sorted(letter for letter in set(every) - set(letters) if every.count(letter) == 1))
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
    alone = [axis for axis, letter in enumerate(term) if letter not in needed]
    remaining = "".join(letter for letter in term if letter in needed)
    return (array.sum(alone) if alone else array), remaining


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
        for term, array in ((of_a, left), (of_b, right))
        for letter, size in zip(term, array.shape, strict=True)
    }
    for letter in both:  # an axis of one is broadcast
        sizes[letter] = max(left.shape[of_a.index(letter)], right.shape[of_b.index(letter)])
    left, right = _arranged(left, of_a, batch, rows, inner, sizes), _arranged(right, of_b, batch, inner, columns, sizes)
    result = matmul_at(left, right, layer) if inner else left * right
    return result.reshape([sizes[letter] for letter in batch + rows + columns]), batch + rows + columns


def _arranged(array: Tensor, term: str, batch: str, first: str, second: str, sizes: dict[str, int]) -> Tensor:
    """An array as a batch of matrices: (batch, first, second), or one matrix where there is no batch."""
    array = array.permute([term.index(letter) for letter in batch + first + second])
    array = array.expand([sizes[letter] for letter in batch + first + second])
    several = [torch.Size(sizes[letter] for letter in group).numel() for group in (batch, first, second)]
    return array.reshape(several if batch else several[1:])


Sizes = tuple[int, ...]


class Geometry(NamedTuple):
    """The steps of a convolution over its input: one number for each axis of space, and the number of groups."""

    stride: Sizes
    padding: Sizes
    dilation: Sizes
    groups: int


def convolution_at(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: int | Sequence[int],
    padding: int | str | Sequence[int],
    dilation: int | Sequence[int],
    groups: int,
    layer: ProductLayer,
) -> Tensor:
    """`torch.nn.functional.conv1d`, `conv2d` or `conv3d` at a place in a model, the bias added as in a linear layer.

    x: (..., channels, space), one example or a batch. weight: (outputs, channels / groups, taps).
    """
    axes = weight.dim() - 2
    if x.dim() == axes + 1:
        return convolution_at(x[None], weight, bias, stride, padding, dilation, groups, layer)[0]
    steps, spread = _each(stride, axes), _each(dilation, axes)
    if isinstance(padding, str):
        x, around = _padded(x, weight, spread, padding), (0,) * axes
    else:
        around = _each(padding, axes)
    if x.dim() != axes + 2 or x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        raise InputError(f"x {tuple(x.shape)} has no convolution with weight {tuple(weight.shape)} in {groups} groups")
    geometry = Geometry(steps, around, spread, groups)
    return applied(_Convolution, x, weight, bias, seed_of(layer), geometry, layer).to(dtype_of(x, weight))


def transposed_at(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: int | Sequence[int],
    padding: int | Sequence[int],
    output_padding: int | Sequence[int],
    groups: int,
    dilation: int | Sequence[int],
    layer: ProductLayer,
) -> Tensor:
    """`torch.nn.functional.conv_transpose1d`, 2d or 3d at a place in a model: a convolution of the spread input.

    weight: (channels, outputs / groups, taps).
    """
    axes = weight.dim() - 2
    if x.dim() == axes + 1:
        return transposed_at(x[None], weight, bias, stride, padding, output_padding, groups, dilation, layer)[0]
    spread, extras = _each(dilation, axes), _each(output_padding, axes)
    edges = []
    for size, around, step, extra in zip(weight.shape[2:], _each(padding, axes), spread, extras, strict=True):
        edges.append(((size - 1) * step - around, (size - 1) * step - around + extra))
    x = _cut(spread_out(x, _each(stride, axes)), edges)
    return convolution_at(x, _turned(weight, groups), bias, 1, 0, spread, groups, layer)


class _Convolution(Once):
    """A convolution whose three products are those of a layer."""

    @staticmethod
    def forward(
        x: Tensor, weight: Tensor, bias: Tensor | None, seed: Tensor, geometry: Geometry, layer: ProductLayer
    ) -> Tensor:
        rows, taps = _factors(x, weight, geometry)
        addend = None if bias is None else bias.reshape(geometry.groups, 1, -1)
        products = torch.ops.hwsim.product(
            rows, taps, addend, seed, 1.0, layer.key, "forward", layer.where, layer.owner
        )
        return _placed(products, x, weight, geometry)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, weight, bias, seed, ctx.geometry, layer = inputs
        ctx.shape, ctx.dtypes = x.shape, (x.dtype, weight.dtype, None if bias is None else bias.dtype)
        remember(ctx, layer)
        ctx.save_for_backward(*kept(x.flatten(2) if layer.keeps else x, layer), weight, seed)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        *first, weight, seed = ctx.saved_tensors
        geometry, layer, gradient = ctx.geometry, ctx.layer, gradients[0]
        of_x = of_weight = of_bias = None
        if ctx.needs_input_grad[0]:
            of_x = _input_gradient(gradient, weight, ctx.shape, geometry, layer, seed).to(ctx.dtypes[0])
        if ctx.needs_input_grad[1]:
            rows = columns(restored(first, layer).reshape(ctx.shape), weight.shape[2:], geometry)
            apart = gradient.unflatten(1, (geometry.groups, -1)).flatten(3).movedim(0, 2).flatten(2)
            product = gradient_of(apart, rows, seed, layer, "weight")
            of_weight = product.reshape(weight.shape).to(ctx.dtypes[1])
        if ctx.needs_input_grad[2]:
            of_bias = gradient.sum([0, *range(2, gradient.dim())]).to(ctx.dtypes[2])
        return of_x, of_weight, of_bias, None, None, None


def _factors(x: Tensor, weight: Tensor, geometry: Geometry) -> tuple[Tensor, Tensor]:
    """A convolution's two matrices, one of each for a group."""
    taps = weight.reshape(geometry.groups, weight.shape[0] // geometry.groups, -1).mT
    return columns(x, weight.shape[2:], geometry), taps


def _placed(products: Tensor, x: Tensor, weight: Tensor, geometry: Geometry) -> Tensor:
    """(groups, examples * places, outputs of a group) as (examples, outputs, places)."""
    space = _places(x.shape[2:], weight.shape[2:], geometry)
    return (
        products.reshape(geometry.groups, x.shape[0], torch.Size(space).numel(), products.shape[-1])
        .permute(1, 0, 3, 2)
        .reshape(x.shape[0], weight.shape[0], *space)
    )


def _input_gradient(
    gradient: Tensor, weight: Tensor, shape: torch.Size, geometry: Geometry, layer: ProductLayer, seed: Tensor
) -> Tensor:
    """The gradient of the input: G[i + padding - k * dilation] * w[k] summed over taps k and outputs."""
    wide = spread_out(gradient, geometry.stride)
    edges = []
    for size, taps, around, step, length in zip(
        shape[2:], weight.shape[2:], geometry.padding, geometry.dilation, wide.shape[2:], strict=True
    ):
        before = (taps - 1) * step - around
        edges.append((before, size + (taps - 1) * step - before - length))
    plain = Geometry((1,) * len(edges), (0,) * len(edges), geometry.dilation, geometry.groups)
    x, turned = _cut(wide, edges), _turned(weight, geometry.groups)
    return _placed(gradient_of(*_factors(x, turned, plain), seed, layer, "input"), x, turned, plain)


def columns(x: Tensor, taps: Sequence[int], geometry: Geometry) -> Tensor:
    """The inputs of every place of the result: (groups, examples * places, channels of a group * taps)."""
    x = _cut(x, [(around, around) for around in geometry.padding])
    for axis, (tap, step, spread) in enumerate(zip(taps, geometry.stride, geometry.dilation, strict=True)):
        # A place's inputs along an axis become a last axis.
        x = x.unfold(2 + axis, (tap - 1) * spread + 1, step)[..., ::spread]
    axes = len(taps)
    inner, places = x.shape[1] // geometry.groups, x.shape[2 : 2 + axes].numel()
    apart = x.reshape(x.shape[0], geometry.groups, inner, *x.shape[2:])
    order = (1, 0, *range(3, 3 + axes), 2, *range(3 + axes, 3 + 2 * axes))
    return apart.permute(order).reshape(geometry.groups, x.shape[0] * places, inner * torch.Size(taps).numel())


def spread_out(x: Tensor, steps: Sequence[int]) -> Tensor:
    """The input with step - 1 zeros between its places, along every axis of space."""
    if all(step == 1 for step in steps):
        return x
    size = [(length - 1) * step + 1 for length, step in zip(x.shape[2:], steps, strict=True)]
    wide = x.new_zeros((*x.shape[:2], *size))
    wide[(slice(None), slice(None), *(slice(None, None, step) for step in steps))] = x
    return wide


def _places(space: Sequence[int], taps: Sequence[int], geometry: Geometry) -> list[int]:
    return [
        (size + 2 * around - (tap - 1) * spread - 1) // step + 1
        for size, tap, around, step, spread in zip(
            space, taps, geometry.padding, geometry.stride, geometry.dilation, strict=True
        )
    ]


def _cut(x: Tensor, edges: Sequence[tuple[int, int]]) -> Tensor:
    """The input with so many zeros before and after it on every axis; of a negative number, so much less of it."""
    if all(edge == (0, 0) for edge in edges):
        return x
    return functional.pad(x, [size for edge in reversed(edges) for size in edge])


def _turned(weight: Tensor, groups: int) -> Tensor:
    """The weight for the way back: (first / groups, second) exchanged in each group, and taps in reverse order.

    Of (outputs, channels / groups, taps) it is (channels, outputs / groups, taps); of a transposed convolution's weight
    the weight of a convolution.
    """
    apart = weight.unflatten(0, (groups, -1)).transpose(1, 2).flatten(0, 1)
    turned: Tensor = apart.flip(tuple(range(2, weight.dim())))
    return turned


def _padded(x: Tensor, weight: Tensor, spread: Sizes, padding: str) -> Tensor:
    """The input, filled up as a word says: `valid` not at all, `same` so that the result is as large as the input."""
    if padding == "valid":
        return x
    if padding != "same":
        raise InputError(f"padding must be a number, valid or same, not {padding!r}")
    whole = [step * (size - 1) for size, step in zip(weight.shape[2:], spread, strict=True)]
    return _cut(x, [(size // 2, size - size // 2) for size in whole])


def _each(value: int | Sequence[int], axes: int) -> Sizes:
    sizes = (value,) if isinstance(value, int) else tuple(value)
    return sizes * axes if len(sizes) == 1 else sizes


def attention_at(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float,
    causal: bool,
    scale: float | None,
    grouped: bool,
    layers: tuple[ProductLayer, ProductLayer],
) -> Tensor:
    """`torch.nn.functional.scaled_dot_product_attention` at a place in a model.

    query: (..., L, E). key: (..., S, E). value: (..., S, V). layers: of the scores, and of the sum of values. The
    scores are multiplied by the scale, and the mask is added, in the tensors' dtype; softmax is in float32.
    """
    if grouped:
        several = query.shape[-3] // key.shape[-3]
        key, value = (tensor.repeat_interleave(several, -3) for tensor in (key, value))
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = matmul_at(query, key.mT, layers[0]) * factor
    if causal:
        allowed = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
        scores = scores.masked_fill(~allowed, float("-inf"))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
    weights = torch.softmax(scores, -1, dtype=torch.float32).to(scores.dtype)
    if mask is not None:  # a query that may look at nothing gets nothing, not NaN
        weights = weights.masked_fill((scores == float("-inf")).all(-1, keepdim=True), 0)
    if dropout > 0:
        weights = functional.dropout(weights, dropout)
    return matmul_at(weights, value, layers[1])
