"""Operands that the kernels of a unit are compared on: any codes at all, and numbers whose sums are ordinary."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import ExponentFormat, Format, container_dtype
from hwsim.formats.stochastic import random_words
from hwsim.quantize.rule import is_f32
from hwsim.spec import Unit
from hwsim.spec.arguments import scale_shapes

Drawn = Literal["any codes", "numbers"]
# One unit of every family: of each kind of sum, of scale, of addend and of promotion that presets have.
FAMILIES = (
    "hopper-wgmma-e4m3-f32", "hopper-mma-bf16-f32", "blackwell-mma-e4m3-f16", "mxfp8-e4m3-f32",
    "deepseek-v3-e4m3-f32", "deepseek-v3-e4m3-f32-scaled", "blackwell-mxf4nvf4-e2m1-f32", "cdna3-mfma-bf16-f32",
    "cdna3-mfma-e4m3fnuz-f32", "rvbna-e4m3-f32-n16", "cdna1-mfma-f16-f32", "intel-amx-e4m3-f32", "exact-e4m3-f32",
    "cdna2-mfma-f16-f32", "cdna3-mfma-f32-f32", "hfp8-forward-e4m3-dlfloat16",
    "x86-ace-top4mx-e4m3-f32",
)  # fmt: skip


def family_of(unit: Unit) -> tuple[Any, ...]:
    """What distinguishes a family: method, what becomes of lost bits, scales, promotion and late addends."""
    scale, lost = unit.scale, getattr(unit.sum, "lost", None)
    return unit.sum.method, lost, scale and scale.at, unit.promotion is not None, type(unit.late).__name__


def length_of(unit: Unit, wanted: int) -> int:
    """A number of products near the wanted one that a unit takes; with a tail of an instruction if it may have one."""
    if unit.instruction.chain is None:
        return unit.instruction.k
    step = 1 if unit.scale is None else math.lcm(unit.scale.length("a"), unit.scale.length("b"))
    return max(1, wanted // step) * step


def drawn(unit: Unit, shape: tuple[int, int, int], seed: int, kind: Drawn) -> list[NDArray[Any] | None]:
    """Arguments of `gemm`: A, B, C and scales, each the codes of its format. shape: M, N, K."""
    m, n, k = shape
    operands, scale = unit.operands, unit.scale
    given: list[NDArray[Any] | None] = [
        _codes(operands.a, (m, k), seed, 0, kind),
        _codes(operands.b, (k, n), seed, 1, kind),
        None if operands.addend is None else _codes(operands.addend, (m, n), seed, 2, kind),
    ]
    if scale is not None:
        of_a, of_b = scale_shapes(scale, (m, k), (k, n))
        given += [_codes(scale.a.format, of_a, seed, 3, kind), _codes(scale.b.format, of_b, seed, 4, kind)]
    return given


def _codes(fmt: Format, shape: tuple[int, ...], seed: int, place: int, kind: Drawn) -> NDArray[Any]:
    words = random_words(seed, place << 40, math.prod(shape), 32).reshape(shape)
    dtype = container_dtype(fmt)
    if kind == "any codes":
        return (words >> (32 - fmt.bits) << fmt.padding).astype(dtype)
    numbers = ((words >> 8) + 1) * 2.0 ** ((words & 7) - 26)  # above 0, below 32
    if isinstance(fmt, ExponentFormat) or (place > 2 and is_f32(fmt)):
        return fmt.encode(numbers, missing="saturate").astype(dtype)
    signs = np.where(words >> 7 & 1, -1.0, 1.0) if place < 3 else 1.0
    return fmt.encode(numbers * signs, missing="saturate").astype(dtype)
