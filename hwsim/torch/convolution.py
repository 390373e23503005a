"""Convolutions as matrix products: rows of a matrix are what a place of the result sees (im2col).

Each gradient is one product of a unit too: that of the input is a convolution of the gradient with the weight turned
round, a sum over output channels and taps; that of the weight is a sum over all places of all examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from hwsim.errors import InputError
from hwsim.torch.functional import dtype_of
from hwsim.torch.operators import Once, ProductLayer, applied, gradient_of, kept, remember, restored, seed_of

Sizes = tuple[int, ...]


class Geometry(NamedTuple):
    """How a convolution moves over its input: one number for each axis of space, and the number of groups."""

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
    spread, more = _each(dilation, axes), _each(output_padding, axes)
    edges = []
    for size, around, step, extra in zip(weight.shape[2:], _each(padding, axes), spread, more, strict=True):
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
        found = torch.ops.hwsim.product(rows, taps, addend, seed, 1.0, layer.key, "forward", layer.where, layer.owner)
        return _placed(found, x, weight, geometry)

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
            found = gradient_of(apart, rows, seed, layer, "weight")
            of_weight = found.reshape(weight.shape).to(ctx.dtypes[1])
        if ctx.needs_input_grad[2]:
            of_bias = gradient.sum([0, *range(2, gradient.dim())]).to(ctx.dtypes[2])
        return of_x, of_weight, of_bias, None, None, None


def _factors(x: Tensor, weight: Tensor, geometry: Geometry) -> tuple[Tensor, Tensor]:
    """A convolution's two matrices, one of each for a group."""
    taps = weight.reshape(geometry.groups, weight.shape[0] // geometry.groups, -1).mT
    return columns(x, weight.shape[2:], geometry), taps


def _placed(found: Tensor, x: Tensor, weight: Tensor, geometry: Geometry) -> Tensor:
    """(groups, examples * places, outputs of a group) as (examples, outputs, places)."""
    space = _places(x.shape[2:], weight.shape[2:], geometry)
    return (
        found.reshape(geometry.groups, x.shape[0], torch.Size(space).numel(), found.shape[-1])
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
    """What every place of the result sees: (groups, examples * places, channels of a group * taps)."""
    x = _cut(x, [(around, around) for around in geometry.padding])
    for axis, (tap, step, spread) in enumerate(zip(taps, geometry.stride, geometry.dilation, strict=True)):
        # What a place sees of an axis becomes a last axis.
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
    """The weight as what comes back meets it: (first / groups, second) exchanged in each group, and taps turned round.

    Of (outputs, channels / groups, taps) it is (channels, outputs / groups, taps); of a transposed convolution's weight
    what a convolution takes.
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
    given = (value,) if isinstance(value, int) else tuple(value)
    return given * axes if len(given) == 1 else given
