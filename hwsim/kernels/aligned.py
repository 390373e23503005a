"""The kernel of windows: `sum.method` aligned, in vectors where they hold it, and even-odd."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import FloatFormat, Format
from hwsim.kernels import chained
from hwsim.kernels.chained import Chain, run_scalar
from hwsim.kernels.codes import codes_of, values_of
from hwsim.kernels.factors import CLASS_SHIFT, EXP_OFFSET, EXP_SHIFT, NAN, NEGATIVE_SHIFT, factor_words, words_of
from hwsim.kernels.floats import target_of
from hwsim.kernels.kernel import Unsuited
from hwsim.kernels.packed import NO_FLAGS, NOTHING, Side, aligned_bytes, pack_columns, pack_rows
from hwsim.kernels.rules import NAN_EXP, places, window_of
from hwsim.kernels.strips import WIDE, Packing, vector_run
from hwsim.kernels.widths import Vectors, least_exp, vectors_of
from hwsim.spec import Unit

SCALES_AT = {"product": 1, "subgroup": 2, "promotion": 3}


class WindowKernel:
    """Sums in windows of 64 bits, or of 16 or 32 bits in vectors. Raises Unsuited."""

    rows, columns = 256, 512

    def __init__(self, unit: Unit, vectors: bool = True):
        self.unit, self.rule, self.chain = unit, window_of(unit), _chain_of(unit)
        operands, rule = unit.operands, unit.result
        to_a, to_b = operands.multiplied
        self.words_a = factor_words(operands.a, to_a, operands.daz)
        self.words_b = factor_words(operands.b, to_b, operands.daz)
        self.least = least_exp(to_a), least_exp(to_b)
        flush = rule.subnormals == "flush"
        if not isinstance(rule.format, FloatFormat):
            raise Unsuited(f"a result in {rule.format.name}")
        self.result = target_of(rule.format, rule.rounding, rule.overflow, rule.tiny, flush)
        self.target = self.result
        if unit.promotion is not None:
            assert isinstance(unit.promotion.format, FloatFormat)
            self.target = target_of(unit.promotion.format, unit.promotion.rounding)
        elif unit.late is not None and isinstance(unit.late.format, FloatFormat) and unit.late.rounding is not None:
            self.target = target_of(unit.late.format, unit.late.rounding, flush=unit.late.flush)
        self.scales = SCALES_AT[unit.scale.at] if unit.scale else 0
        self.blocks = (unit.scale.a.block[1], unit.scale.b.block[0]) if unit.scale else (1, 1)
        self.mask = 0
        self.vectors = None
        if vectors:
            try:
                self.vectors = vectors_of(unit)
                self.mask = _single_mask(unit, self.vectors)
            except Unsuited as reason:
                self.why_not_vectors = str(reason)

    def pack_a(self, codes: NDArray[Any], scales: NDArray[Any] | None) -> Side:
        """As in `Kernel`."""
        words = words_of(self.unit.operands.a, self.words_a, codes)
        given = self._scales("a", scales, len(codes))
        if self.vectors is None:
            return Side(words, NOTHING, NO_FLAGS, given)
        where, shift = places(self.unit, codes.shape[1]), self.vectors.shift_a
        return Side(words, *pack_rows(words, where, self.vectors.layout, self.least[0], shift), given)

    def pack_b(self, codes: NDArray[Any], scales: NDArray[Any] | None) -> Side:
        """As in `Kernel`."""
        fmt, count = self.unit.operands.b, codes.shape[1]
        if self.vectors is None:
            given = self._scales("b", None if scales is None else scales.T, count)
            return Side(words_of(fmt, self.words_b, codes.T), NOTHING, NO_FLAGS, given)
        words = words_of(fmt, self.words_b, codes)
        where, shift = places(self.unit, codes.shape[0]), self.vectors.shift_b
        packed = pack_columns(words, where, self.vectors.layout, self.least[1], shift)
        return Side(words, *packed, self._scales("b", scales, count))

    def _scales(self, side: str, scales: NDArray[Any] | None, count: int) -> NDArray[np.float64]:
        """Codes as what `Side` has; ones, which are not looked at, where there are none."""
        if scales is None or self.unit.scale is None:
            return np.ones((count, 1))
        fmt = getattr(self.unit.scale, side).format
        if self.scales == SCALES_AT["promotion"]:
            return values_of(fmt, scales)
        words = words_of(fmt, factor_words(fmt, fmt, False), scales)
        if self.scales == SCALES_AT["subgroup"]:
            return words.astype(np.float64)
        exps = ((words >> EXP_SHIFT) & ((1 << NEGATIVE_SHIFT - EXP_SHIFT) - 1)).astype(np.float64) - EXP_OFFSET
        return np.where(words >> CLASS_SHIFT == NAN, float(NAN_EXP), exps)

    def run(self, a: Side, b: Side, c: NDArray[np.uint32], out: NDArray[np.uint32]) -> None:
        """As in `Kernel`."""
        values = self._values(c)
        rules = self.rule, self.chain, self.result, self.target, places(self.unit, a.words.shape[1])
        scaled = self.scales, self.blocks
        if self.vectors is None:
            run_scalar(*rules, *scaled, a, b, values, np.zeros(len(c), np.int64))
        else:
            v = self.vectors
            packing = Packing(v.layout.a_bytes, v.layout.b_bytes, v.deeper, sum(self.least))
            room = aligned_bytes(4 * 4 * WIDE).view(np.int32)
            run = vector_run(*v.layout, v.lost, self.result.mode, self.mask)
            run(packing, *rules, *scaled, a, b, values, room)
        codes_of(values, self.unit.output, out, self.unit.nan)

    def pairs(
        self, a: tuple[NDArray[Any], Any], b: tuple[NDArray[Any], Any], c: NDArray[np.uint32], out: NDArray[np.uint32]
    ) -> None:
        """As in `Kernel`."""
        operands, values, count = self.unit.operands, self._values(c[:, None]), len(c)
        of_a = Side(words_of(operands.a, self.words_a, a[0]), NOTHING, NO_FLAGS, self._scales("a", a[1], count))
        of_b = Side(words_of(operands.b, self.words_b, b[0]), NOTHING, NO_FLAGS, self._scales("b", b[1], count))
        rules = self.rule, self.chain, self.result, self.target, places(self.unit, of_a.words.shape[1])
        run_scalar(*rules, self.scales, self.blocks, of_a, of_b, values, np.arange(count))
        codes_of(values, self.unit.output, out[:, None], self.unit.nan)

    def _values(self, c: NDArray[np.uint32]) -> NDArray[np.float64]:
        fmt = self.unit.operands.addend
        return np.zeros(c.shape) if fmt is None else values_of(fmt, c)


def _chain_of(unit: Unit) -> Chain:
    """What becomes of groups' results."""
    emin = least_exp(unit.result.format)
    emin_c = emin if unit.operands.addend is None else least_exp(unit.operands.addend)
    kind, every, below = chained.PLAIN, unit.instruction.groups, 0.0
    if unit.promotion is not None:
        every = unit.promotion_beats or 1
        kind = chained.PROMOTED_SCALED if unit.promotion.operation == "fma" else chained.PROMOTED
    elif unit.late is not None:
        kind = chained.LATE_WINDOW if unit.late.operation == "window" else chained.ADDED_LATE
        if unit.late.flush:
            below = 2.0 ** least_exp(unit.output)
            if emin_c != least_exp(unit.output):
                raise Unsuited("a flushed addend in a format of another range")
    # An addend that comes late, in a window, is c first, and then a result: it does not start again.
    restart = 0 if kind == chained.LATE_WINDOW else unit.restart or 0
    native = unit.promotion is not None and (unit.promotion.format.name, unit.promotion.rounding) == ("f32", "rne")
    return Chain(kind, every, restart, emin_c, emin, below, int(native))


def in_binary32(fmt: Format) -> bool:
    """Whether a format is binary32 with fewer fraction bits, or as many."""
    if not isinstance(fmt, FloatFormat) or fmt.fraction_bits > FRACTION_BITS:
        return False
    return (fmt.exponent_bits, fmt.bias, fmt.nan, fmt.subnormals, fmt.infinities) == (8, 127, "ieee", True, True)


# Of a binary32.
ALL_BITS, FRACTION_BITS = -1, 23


def _single_mask(unit: Unit, vectors: Vectors) -> int:
    """The bits of a binary32 that results have, where sums can be finished in it; else 0."""
    fmt, addend = unit.result.format, unit.operands.addend
    scaled = unit.scale is not None and unit.scale.at == "product"
    if vectors.layout.lane_bits != 16 or vectors.deeper or scaled or not in_binary32(fmt):
        return 0
    if unit.result.rounding != "rz" or unit.result.overflow != "infinity":
        return 0
    if addend is not None and not in_binary32(addend):
        return 0
    return ALL_BITS << FRACTION_BITS - fmt.fraction_bits


def kernel(unit: Unit) -> WindowKernel:
    """The kernel of a unit of method aligned or even-odd. Raises Unsuited."""
    return WindowKernel(unit)
