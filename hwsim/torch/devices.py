"""Products of tensors where they are: PyTorch's operations quantise, the source for GPUs multiplies.

Nothing is read back from the GPU. No GPU has run this yet: tests run it on tensors of the host, with the source built
for the host, and compare the bits with those of the host's own path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from hwsim.base.arrays import is_on_gpu
from hwsim.compute.cuda import supports
from hwsim.formats import own_dtype
from hwsim.quantize import DelayedScaling, Rule, Special, TensorScale
from hwsim.quantize.tensors import MatrixOperand
from hwsim.spec import Unit
from hwsim.torch.codes import decode
from hwsim.torch.products import ComputedProduct, FactorRule, Histories, Side, UnitProduct, Which, products_of
from hwsim.torch.tensors import (
    ScaleHistory,
    TensorOperand,
    coded,
    delayed,
    transformed,
    unsupported,
    unsupported_rule,
)

# What multiplies codes: `gemm_on_gpu`, or a function with its arguments.
Multiply = Callable[..., Tensor]

_of_host: list[Multiply] = []


@contextmanager
def in_place_of_gpu(multiply: Multiply) -> Iterator[None]:
    """Within the block, tensors of the host are computed as a GPU's are, and multiplied by a function.

    multiply: with the arguments of `gemm_on_gpu`, as `hwsim.compute.cuda.device.gemm_of_host_tensors`.
    """
    _of_host.append(multiply)
    try:
        yield
    finally:
        _of_host.pop()


def multiplier(*tensors: Tensor) -> Multiply | None:
    """What multiplies codes where these tensors are, all on one GPU of NVIDIA's; None where the host does."""
    first = tensors[0].device
    if any(tensor.device != first for tensor in tensors):
        return None
    if first.type == "cpu":
        return _of_host[-1] if _of_host else None
    if not is_on_gpu(tensors[0]) or not hasattr(torch.cuda, "_compile_kernel"):
        return None
    from hwsim.compute.cuda.device import gemm_on_gpu

    return gemm_on_gpu


def not_there(*tensors: Tensor) -> str:
    """Why tensors are not multiplied where they are, whatever the product."""
    devices = dict.fromkeys(str(tensor.device) for tensor in tensors)
    if len(devices) > 1:
        return f"they are on {' and '.join(devices)}"
    if is_on_gpu(tensors[0]):
        return f"PyTorch {torch.__version__} has no torch.cuda._compile_kernel"
    return "it is no GPU of NVIDIA's"


@lru_cache(maxsize=1024)
def refused_product(key: str, which: Which) -> str:
    """Why one of these products is the host's, wherever its factors are; empty where it is not.

    key: `Products.key`. A product that is PyTorch's is not refused.
    """
    products = products_of(key)
    product = products.of(which)
    if product is None:
        return ""
    if products.library is not None:
        return f"products as profile {products.library.profile.name} makes them are the host's"
    reasons = [supports(product.unit).reason]
    for side, operand in _sides(product):
        reasons += [f"factor {side} of {product.unit.name}: {reason}" for reason in unsupported(operand)]
    return next(filter(None, reasons), "")


def _sides(product: UnitProduct) -> tuple[tuple[Side, FactorRule], tuple[Side, FactorRule]]:
    return ("a", product.a), ("b", product.b)


def refused_rule(rule: Rule) -> str:
    """Why a rule's codes are made, and become numbers again, on the host alone; empty where they are not."""
    if reasons := unsupported_rule(rule):
        return reasons[0]
    if Special.ERROR in (rule.nan, rule.infinity):
        return "it refuses numbers, which only the host can say"
    return "" if rule.tensor_scale is TensorScale.NONE else "it has a scale of the whole tensor"


class TensorProduct(NamedTuple):
    """A product that was computed, as `ComputedProduct` has it, in tensors."""

    a: Tensor
    b: Tensor
    operands: tuple[TensorOperand, TensorOperand]
    result: Tensor


def computed_there(
    product: UnitProduct,
    a: Tensor,
    b: Tensor,
    *,
    multiply: Multiply,
    seed: int,
    where: str,
    which: Which,
    histories: Histories,
    again: bool = False,
) -> TensorProduct:
    """A @ B of numbers, as `hwsim.torch.products.computed` has it, on their device.

    multiply: what multiplies codes there. Other arguments as of `computed`. A product in which a number has no code,
    for which the host raises InputError, is all NaN.
    """
    a, b = _filled(numbers(a), -1, product.step), _filled(numbers(b), -2, product.step)
    factors: dict[Side, Tensor] = {"a": a, "b": b}
    if product.hadamard is not None:
        factors = {"a": transformed(a, -1, product.hadamard, 0), "b": transformed(b, -2, product.hadamard, 0)}
    of_a, of_b = (
        _by_history(histories, f"{where}:{which}:{side}", operand, factors[side], again)
        if operand.history is not None
        else coded(operand, product.unit, side, factors[side], 2 * seed + (side == "b"))
        for side, operand in _sides(product)
    )
    result = _singles(product.unit, multiply(product.unit, of_a.codes, of_b.codes, None, of_a.scales, of_b.scales))
    scales = [operand.factor for operand in (of_a, of_b) if operand.factor is not None]
    if scales:
        result = result * (scales[0] if len(scales) == 1 else scales[0] * scales[1])
    for operand in (of_a, of_b):
        if operand.refused is not None:
            result = result.masked_fill(operand.refused, torch.nan)
    return TensorProduct(a, b, (of_a, of_b), result)


def numbers(x: Tensor) -> Tensor:
    """A tensor's numbers in binary32; float64 is rounded."""
    return x.detach().to(torch.float32).resolve_conj().resolve_neg()


def _filled(x: Tensor, axis: int, step: int) -> Tensor:
    """Numbers with zeros added along K up to a whole number of steps."""
    missing = -x.shape[axis] % step
    return functional.pad(x, (0, missing) if axis == -1 else (0, 0, 0, missing)) if missing else x


def _by_history(histories: Histories, key: str, operand: FactorRule, x: Tensor, again: bool) -> TensorOperand:
    state = histories.state(key, operand, again)
    assert isinstance(state, ScaleHistory | DelayedScaling)
    here = state.to(x.device) if isinstance(state, ScaleHistory) else ScaleHistory.of(state, x.device)
    found, after = delayed(operand, x, here)
    histories.keep(key, after, again)
    return found


def _singles(unit: Unit, results: Tensor) -> Tensor:
    """Results of a unit as binary32 numbers."""
    if results.dtype.is_floating_point:
        return results.float()
    own = own_dtype(unit.output)
    bits = results.view(getattr(torch, f"int{8 * results.element_size()}"))  # which every version converts
    return bits.view(getattr(torch, own)).float() if own else decode(unit.output, bits).float()


def on_host(product: UnitProduct, call: TensorProduct, where: str, which: Which) -> ComputedProduct:
    """A product that was computed on a device, copied to the host for those who measure."""
    operands = tuple(_operand_on_host(operand) for operand in call.operands)
    a, b, result = (tensor.cpu().numpy() for tensor in (call.a, call.b, call.result))
    return ComputedProduct(where, which, product, a, b, (operands[0], operands[1]), result)


def _operand_on_host(operand: TensorOperand) -> MatrixOperand:
    scales, factor = (None if tensor is None else _array(tensor) for tensor in operand[1:3])
    return MatrixOperand(_array(operand.codes), scales, factor)


def _array(tensor: Tensor) -> Any:
    """A tensor's array; of integers, unsigned ones."""
    array = tensor.cpu().numpy()
    return array.view(f"u{array.itemsize}") if array.dtype.kind == "i" else array
