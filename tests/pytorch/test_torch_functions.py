"""Convolutions, einsum and attention by units are PyTorch's, in exact arithmetic, with their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

import hwsim.torch as ht
from hwsim.base.errors import InputError
from hwsim.torch.functional import attention_at, convolution_at, layer_by, transposed_at

EXACT = layer_by("exact")


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def wide(tensors: list[Tensor]) -> list[Tensor]:
    return [one.detach().double().requires_grad_() for one in tensors]


def agree(found: Tensor, expected: Tensor, given: list[Tensor], exact: list[Tensor]) -> None:
    """Results and gradients are those of binary64, but for single roundings."""
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-5)
    weights = torch.randn(expected.shape, generator=torch.Generator().manual_seed(9))
    (found * weights).sum().backward()
    (expected * weights).sum().backward()
    for one, other in zip(given, exact, strict=True):
        assert one.grad is not None and other.grad is not None
        np.testing.assert_allclose(one.grad.numpy(), other.grad.numpy(), rtol=1e-5, atol=3e-5)


CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "plain": ((2, 3, 7, 6), (4, 3, 3, 3), {}),
    "stride and padding": ((2, 3, 8, 7), (4, 3, 3, 2), {"stride": (2, 3), "padding": (1, 2)}),
    "dilation": ((1, 2, 9, 9), (3, 2, 3, 3), {"dilation": 2, "padding": 2}),
    "a stride that leaves places over": ((1, 2, 8, 8), (3, 2, 3, 3), {"stride": 3}),
    "padding beyond the taps": ((1, 2, 5, 5), (3, 2, 2, 2), {"padding": 3}),
    "groups": ((2, 4, 6, 6), (6, 2, 3, 3), {"groups": 2, "padding": 1}),
    "depthwise": ((2, 4, 6, 6), (8, 1, 3, 3), {"groups": 4, "stride": 2}),
    "same": ((2, 3, 7, 7), (4, 3, 4, 4), {"padding": "same"}),
    "one axis": ((2, 3, 12), (5, 3, 4), {"stride": 2, "padding": 1}),
    "three axes": ((1, 2, 4, 5, 4), (3, 2, 2, 3, 2), {"padding": 1}),
    "one example": ((3, 7, 6), (4, 3, 3, 3), {}),
    "no example": ((0, 4, 7, 6), (4, 2, 3, 3), {"groups": 2, "stride": 2}),
}


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_a_convolution_is_torchs(case: str) -> None:
    shape, taps, options = CONVOLUTIONS[case]
    x, weight, bias = drawn(*shape), drawn(*taps, seed=2), drawn(taps[0], seed=3)
    given = [x, weight, bias]
    exact = wide(given)
    function: Any = {3: functional.conv1d, 4: functional.conv2d, 5: functional.conv3d}[len(taps)]
    settings = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, **options}
    agree(convolution_at(*given, **settings, layer=EXACT), function(*exact, **options), given, exact)


@pytest.mark.parametrize(
    ("shape", "taps", "options"),
    [
        ((2, 4, 5, 5), (4, 3, 3, 3), {}),
        ((2, 4, 5, 4), (4, 3, 3, 2), {"stride": (2, 3), "padding": (1, 0), "output_padding": (1, 2)}),
        ((1, 4, 5, 5), (4, 3, 3, 3), {"dilation": 2, "padding": 1}),
        ((1, 4, 5, 5), (4, 2, 3, 3), {"groups": 2, "stride": 2, "padding": 3}),
        ((2, 4, 6), (4, 3, 4), {"stride": 3}),
    ],
)
def test_a_transposed_convolution_is_torchs(shape: Any, taps: Any, options: dict[str, Any]) -> None:
    groups = options.get("groups", 1)
    given = [drawn(*shape), drawn(*taps, seed=2), drawn(taps[1] * groups, seed=3)]
    exact = wide(given)
    function: Any = {3: functional.conv_transpose1d, 4: functional.conv_transpose2d}[len(taps)]
    settings = {"stride": 1, "padding": 0, "output_padding": 0, "groups": 1, "dilation": 1, **options}
    agree(transposed_at(*given, **settings, layer=EXACT), function(*exact, **options), given, exact)


def test_convolutions_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match=r"x \(1, 3, 5, 5\) has no convolution with weight \(4, 2, 3, 3\)"):
        convolution_at(drawn(1, 3, 5, 5), drawn(4, 2, 3, 3), None, 1, 0, 1, 1, EXACT)
    with pytest.raises(InputError, match="padding must be a number, valid or same"):
        convolution_at(drawn(1, 2, 5, 5), drawn(4, 2, 3, 3), None, 1, "full", 1, 1, EXACT)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(3, 4), (4, 5)]),
        ("ij,jk", [(3, 4), (4, 5)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("bhid,bhjd->bhij", [(2, 2, 3, 4), (2, 2, 5, 4)]),
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (6, 4, 5)]),
        ("i,j->ij", [(3,), (4,)]),
        ("ij,ij->", [(3, 4), (3, 4)]),
        ("ijk,k->ji", [(3, 4, 5), (5,)]),
        ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 2)]),
        ("ii,ij->j", [(3, 3), (3, 4)]),
        ("ijk,lj->il", [(3, 4, 5), (2, 4)]),
        ("ij->ji", [(3, 4)]),
        ("bi,oi->bo", [(6, 4), (5, 4)]),
        ("b i, b j -> b i j", [(2, 3), (2, 4)]),
        ("ab,cd->abcd", [(2, 3), (4, 5)]),
    ],
)
def test_an_einsum_is_torchs(equation: str, shapes: list[tuple[int, ...]]) -> None:
    given = [drawn(*shape, seed=at) for at, shape in enumerate(shapes)]
    exact = wide(given)
    agree(ht.einsum(equation, *given, recipe="exact"), torch.einsum(equation, *exact), given, exact)


def test_equations_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="has 2 operands, not 1"):
        ht.einsum("ij,jk", drawn(2, 3), recipe="exact")
    for result in ("iz", "ii"):
        with pytest.raises(InputError, match="each letter of the result must stand there once, and in an operand"):
            ht.einsum(f"ij,jk->{result}", drawn(2, 3), drawn(3, 4), recipe="exact")
    with pytest.raises(InputError, match="operand 1 has 3 axes"):
        ht.einsum("ij,jk", drawn(2, 3), drawn(2, 3, 4), recipe="exact")


@pytest.mark.parametrize(
    "options",
    [{}, {"is_causal": True}, {"scale": 0.3}, {"mask": "bool"}, {"mask": "numbers"}, {"enable_gqa": True}],
    ids=str,
)
def test_attention_is_torchs(options: dict[str, Any]) -> None:
    heads = 2 if options.get("enable_gqa") else 4
    given = [drawn(2, 4, 5, 8), drawn(2, heads, 6, 8, seed=2), drawn(2, heads, 6, 3, seed=3)]
    exact, told = wide(given), dict(options)
    kind, mask = told.pop("mask", None), None
    if kind is not None:
        mask = drawn(5, 6, seed=4).detach()
        mask = mask > -0.5 if kind == "bool" else mask
        if kind == "bool":
            mask[2] = False  # a query that sees nothing
    expected = functional.scaled_dot_product_attention(
        *exact, attn_mask=mask if kind != "numbers" or mask is None else mask.double(), **told
    )
    found = attention_at(
        *given, mask, 0.0, told.get("is_causal", False), told.get("scale"), told.get("enable_gqa", False),
        (EXACT, EXACT),
    )  # fmt: skip
    agree(found, expected.nan_to_num(), given, exact)


def test_dropout_of_attention_is_torchs() -> None:
    given = [drawn(1, 1, 8, 4), drawn(1, 1, 8, 4, seed=2), torch.ones(1, 1, 8, 1)]
    torch.manual_seed(3)
    found = attention_at(*given, None, 0.5, False, None, False, (EXACT, EXACT))
    assert (found != 1).any()
