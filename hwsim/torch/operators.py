"""The products of units as operators of PyTorch: with gradients, for `torch.compile`, checkpoints and DDP."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hwsim.formats import container_dtype
from hwsim.quantize import Quantized, dequantize, quantize
from hwsim.quantize.rule import is_f32
from hwsim.quantize.tiles import block_lengths
from hwsim.torch.operands import Histories
from hwsim.torch.products import ComputedProduct, Output, Products, Which, computed, products_of

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
# What is told of each product that is computed: `hwsim.torch.observe` adds to it, and takes away.
observers: list[Callable[[ComputedProduct], None]] = []
histories: dict[int, Histories] = {}
_said_of_devices = False


@torch.library.custom_op("hwsim::product", mutates_args=())
def product(a: Tensor, b: Tensor, seed: Tensor, key: str, which: str, where: str, owner: int) -> Tensor:
    """A @ B, (..., M, K) and (..., K, N) of any floats, in float32, as the unit of one product of a recipe returns it.

    seed: one int64, of stochastic rounding. key: `Products.key`. which: forward, input or weight.
    where: the layer, for histories of scales and for observers. owner: whose histories.
    """
    products = products_of(key)
    found = _multiplied(products, a, b, int(seed), which, where, owner)  # type: ignore[arg-type]
    result = _rounded(torch.from_numpy(np.ascontiguousarray(found)), products.output)
    return result.to(a.device) if a.device.type != "cpu" else result


def _multiplied(
    products: Products, a: Tensor, b: Tensor, seed: int, which: Which, where: str, owner: int
) -> np.ndarray[Any, np.dtype[np.float32]]:
    of_a, of_b = singles(a), singles(b)
    chosen = products.of(which)
    if chosen is None or 0 in (*of_a.shape, *of_b.shape):
        return np.asarray(np.matmul(of_a, of_b))
    state = histories.setdefault(owner, Histories())
    again = which == "forward" and within_backward()
    call = computed(
        chosen, of_a, of_b, seed=seed, where=where, which=which, histories=state, threads=torch.get_num_threads(),
        again=again,
    )  # fmt: skip
    for observer in () if again else tuple(observers):
        observer(call)
    return call.result


def within_backward() -> bool:
    """Whether PyTorch is computing gradients: a forward product is then one that was not kept, computed again."""
    return bool(torch._C._current_graph_task_id() >= 0)


@product.register_fake
def _(a: Tensor, b: Tensor, seed: Tensor, key: str, which: str, where: str, owner: int) -> Tensor:
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return a.new_empty((*batch, a.shape[-2], b.shape[-1]), dtype=torch.float32)


def singles(x: Tensor) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A tensor's numbers in binary32, in its own memory where they are that; float64 is rounded.

    A tensor of another device is taken to the host: a warning says so once.
    """
    global _said_of_devices
    if x.device.type != "cpu":
        if not _said_of_devices:
            warnings.warn(f"hwsim computes on the host: tensors of {x.device} are taken there and back", stacklevel=2)
            _said_of_devices = True
        x = x.cpu()
    return x.detach().to(torch.float32).resolve_conj().resolve_neg().numpy()


def _rounded(x: Tensor, output: Output) -> Tensor:
    """Numbers rounded to the recipe's output, to nearest, ties to even."""
    return x if output == "f32" else x.to(DTYPES[output]).to(torch.float32)


@torch.library.custom_op("hwsim::keep", mutates_args=())
def keep(x: Tensor, key: str) -> list[Tensor]:
    """Codes and scales of numbers, (..., N), by the rule of a recipe's `keep`; blocks run along the last axis."""
    rule = products_of(key).keep
    assert rule is not None
    made = quantize(singles(x), rule)
    return [_signed(made.codes), _signed(made.scales)]


@keep.register_fake
def _(x: Tensor, key: str) -> list[Tensor]:
    rule = products_of(key).keep
    assert rule is not None
    made = quantize(np.zeros((1, 1), np.float32), rule)
    columns = x.shape[-1] if rule.block[1] is None else rule.block[1]
    rows = x.shape[-2] if rule.block[0] is None else rule.block[0]
    scales = (*x.shape[:-2], -(-x.shape[-2] // rows), -(-x.shape[-1] // columns))
    kinds = [_signed(one).dtype for one in (made.codes, made.scales)]
    return [x.new_empty(x.shape, dtype=kinds[0]), x.new_empty(scales, dtype=kinds[1])]


@torch.library.custom_op("hwsim::restore", mutates_args=())
def restore(codes: Tensor, scales: Tensor, key: str) -> Tensor:
    """The numbers that `keep` kept, in float32."""
    rule = products_of(key).keep
    assert rule is not None
    axis = codes.dim() - 1
    of_scales = np.float32 if is_f32(rule.scale_format) else container_dtype(rule.scale_format)
    kept = Quantized(
        codes=codes.numpy().view(container_dtype(rule.element)), scales=scales.numpy().view(of_scales),
        element=rule.element, scale_format=rule.scale_format, block=block_lengths(codes.shape, axis, rule.block),
        axis=axis, tensor_scale=None, rule=rule,
    )  # fmt: skip
    return torch.from_numpy(dequantize(kept, np.float32))


@restore.register_fake
def _(codes: Tensor, scales: Tensor, key: str) -> Tensor:
    return codes.new_empty(codes.shape, dtype=torch.float32)


def _signed(array: np.ndarray[Any, Any]) -> Tensor:
    """An array as a tensor; unsigned integers of two and four bytes as signed ones, which PyTorch computes with."""
    kind = {"uint16": np.int16, "uint32": np.int32}.get(array.dtype.name)
    return torch.from_numpy(np.ascontiguousarray(array if kind is None else array.view(kind)))


def _kept(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, seed, key, which, where, owner = inputs
    ctx.key, ctx.where, ctx.owner = key, where, owner
    ctx.dtypes, ctx.shapes = (a.dtype, b.dtype), (a.shape, b.shape)
    ctx.short = products_of(key).keep is not None and which == "forward"
    first = torch.ops.hwsim.keep(a, key) if ctx.short else [a]
    ctx.save_for_backward(*first, b, seed)


def _gradients(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    *first, b, seed = ctx.saved_tensors
    of_a = of_b = None
    more = ctx.key, ctx.where, ctx.owner

    def multiplied(left: Tensor, right: Tensor, which: str) -> Tensor:
        key, where, owner = more
        found: Tensor = torch.ops.hwsim.product(left, right, seed + 1, key, which, where, owner)
        return found

    if ctx.needs_input_grad[0]:
        of_a = _summed(multiplied(gradient, b.mT, "input"), ctx.shapes[0]).to(ctx.dtypes[0])
    if ctx.needs_input_grad[1]:
        a = torch.ops.hwsim.restore(*first, ctx.key) if ctx.short else first[0]
        of_b = _summed(multiplied(gradient.mT, a, "weight").mT, ctx.shapes[1]).to(ctx.dtypes[1])
    return of_a, of_b, None, None, None, None, None


def _summed(gradient: Tensor, shape: torch.Size) -> Tensor:
    """A gradient summed over the axes along which the factor was broadcast."""
    return gradient if gradient.shape == shape else gradient.sum_to_size(shape)


torch.library.register_autograd("hwsim::product", _gradients, setup_context=_kept)
