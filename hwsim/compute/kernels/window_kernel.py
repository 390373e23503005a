"""The kernel of windows, whichever method has them: in vectors, or product by product."""

from __future__ import annotations

import sys
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hwsim.compute.kernels.chain import (
    AT_PRODUCTS,
    AT_PROMOTIONS,
    AT_SUBGROUPS,
    NO_SCALES,
    NOT_PACKED,
    NOTHING_ADDED,
    PLAIN,
    GroupRules,
    WindowOperand,
    aligned_bytes,
    chain_numbers,
    pack_columns,
    pack_rows,
    rooms,
    scalar_run,
)
from hwsim.compute.kernels.finish import WIDE, commit_of, finish_of, finish_single_of
from hwsim.compute.kernels.floats import register_target, result_target
from hwsim.compute.kernels.group import NAN_EXP, flag
from hwsim.compute.kernels.kernel import WORD, Int64s, Rows, lane_indices, room
from hwsim.compute.kernels.strips import Addresses, Packing, sums_of, vector_run
from hwsim.compute.kernels.values import (
    CLASS_SHIFT,
    NAN,
    Floats,
    OperandName,
    addend_values,
    codes_of,
    exponents_of,
    factor_words,
    values_of,
    words_of,
)
from hwsim.compute.kernels.windows import NOT_SINGLE, ReadNumbers, Vectors, WindowNumbers, single_of
from hwsim.formats.codes import Codes
from hwsim.spec import Unit
from hwsim.spec.ranges import exponent_range

SCALES_AT = {"product": AT_PRODUCTS, "subgroup": AT_SUBGROUPS, "promotion": AT_PROMOTIONS}


class WindowKernel:
    """Sums in windows of 64 bits, or of 16 or 32 bits in vectors."""

    rows, columns, longest, word = 256, 512, sys.maxsize, WORD

    def __init__(
        self, unit: Unit, numbers: WindowNumbers, vectors: Vectors | None = None, read: ReadNumbers | None = None
    ):
        """numbers: of the unit's window. vectors: the lanes that hold it, or none. read: of one that is a reading."""
        operands, result, scale = unit.operands, result_target(unit.result), unit.scale
        register, (to_a, to_b) = register_target(unit), operands.multiplied
        self.unit, self.vectors, self.read = unit, vectors, read
        positive = operands.zeros == "positive"
        self.words_a = factor_words(operands.a, to_a, operands.daz, positive)
        self.words_b = factor_words(operands.b, to_b, operands.daz, positive)
        self.least = exponent_range(to_a)[0], exponent_range(to_b)[0]
        self.rules = GroupRules(
            window=numbers,
            chain=chain_numbers(unit),
            result=result,
            register=result if register is None else register,
            scales=NO_SCALES if scale is None else SCALES_AT[scale.at],
            blocks=(1, 1) if scale is None else (scale.length("a"), scale.length("b")),
        )
        self.single = None if vectors is None else single_of(unit, numbers, vectors)

    @cached_property
    def general(self) -> WindowKernel:
        return WindowKernel(self.unit, self.rules.window) if self.in_vectors else self

    @property
    def in_vectors(self) -> bool:
        """True if matrix products go through vectors."""
        return self.vectors is not None

    def packed_lanes(self, k: int) -> Int64s:
        """The index along K of the lanes of each group that is packed."""
        return lane_indices(self.unit, k)

    def pack_a(self, codes: Codes, scales: Codes | None) -> WindowOperand:
        words = words_of(self.unit.operands.a, self.words_a, codes)
        packed, values = NOT_PACKED, self._scales("a", scales, len(codes))
        if self.vectors is not None:
            indices = self.packed_lanes(codes.shape[1])
            packed = pack_rows(words, indices, self.vectors.layout, self.vectors.shift_a, *self._exponents("a", values))
        return WindowOperand(words, *packed, values)

    def pack_b(self, codes: Codes, scales: Codes | None) -> WindowOperand:
        fmt, count = self.unit.operands.b, codes.shape[1]
        if self.vectors is None:
            values = self._scales("b", None if scales is None else scales.T, count)
            return WindowOperand(words_of(fmt, self.words_b, codes.T), *NOT_PACKED, values)
        words, indices = words_of(fmt, self.words_b, codes), self.packed_lanes(codes.shape[0])
        values = self._scales("b", scales, count)
        packed = pack_columns(words, indices, self.vectors.layout, self.vectors.shift_b, *self._exponents("b", values))
        return WindowOperand(words, *packed, values)

    def _exponents(self, side: OperandName, scales: Floats) -> tuple[int, Floats, int]:
        """The exponent that packed ones count from, and those added for the products of each block of a length."""
        least = self.least["ab".index(side)]
        if self.vectors is None or not self.vectors.per_lane or self.unit.scale is None:
            return least, NOTHING_ADDED, 0
        return least + exponent_range(self.unit.scale.of(side).format)[0], scales, self.unit.scale.length(side)

    def _scales(self, side: OperandName, scales: Codes | None, count: int) -> Floats:
        """Codes as `WindowOperand` has them; ones, which are not looked at, where there are none."""
        if scales is None or self.unit.scale is None:
            return np.ones((count, 1))
        fmt = self.unit.scale.of(side).format
        if self.unit.scale.at == "promotion":
            return values_of(fmt, scales)
        words = words_of(fmt, factor_words(fmt, fmt), scales)
        if self.unit.scale.at == "subgroup":
            return words.astype(np.float64)
        return np.where(words >> CLASS_SHIFT == NAN, float(NAN_EXP), exponents_of(words))

    def run(self, a: WindowOperand, b: WindowOperand, c: NDArray[np.uint32], out: NDArray[np.uint32]) -> None:
        values = addend_values(self.unit, c, room(c.shape, np.float64))
        indices = lane_indices(self.unit, a.words.shape[1])
        self.every(indices, a, b, values)
        codes_of(values, self.unit.output, out, self.unit.nan)

    def every(self, places: Int64s, a: WindowOperand, b: WindowOperand, values: Floats) -> None:
        """Every element, in vectors where there are any; arguments as of `scalar_run`."""
        if self.vectors is None:
            self.scalar(places, a, b, values, np.zeros(len(values), np.int64))
        else:
            self.strips(self.vectors, places, a, b, values)

    def strips(self, v: Vectors, places: Int64s, a: WindowOperand, b: WindowOperand, values: Floats) -> None:
        """Every element, in vectors; other arguments as of `scalar_run`."""
        single = NOT_SINGLE if self.single is None else self.single
        least = self._exponents("a", NOTHING_ADDED)[0] + self._exponents("b", NOTHING_ADDED)[0]
        packing = Packing(v.layout.a_bytes, v.layout.b_bytes, v.deeper, least, single.mask, single.bounded, v.per_lane)
        bits, parts, in_single = v.layout.lane_bits, v.layout.parts, self.single is not None
        scratch = aligned_bytes(4 * 2 * (parts + 1) * WIDE).view(np.int32)
        sums = sums_of(*v.layout, v.lost)
        finish = finish_of(bits, parts, v.lost, self.rules.result.mode, in_single)
        usual = finish_single_of(bits, single.form, single.target.mode).address if in_single else 0
        chain, to = self.rules.chain, self.rules.register
        commit = commit_of(in_single, chain.first, chain.native == 1, to.mode).address if chain.kind != PLAIN else 0
        target, narrow, register = np.array(self.rules.result), np.array(single.target, np.float32), np.array(to)
        targets = target.ctypes.data, narrow.ctypes.data, register.ctypes.data
        code = Addresses(sums.address, finish.address, targets[0], usual, targets[1], commit, targets[2])
        scalars = rooms(self.rules.window.lanes)
        vector_run(in_single)(code, packing, self.rules, *scalars, places, a, b, values, scratch)

    def pairs(self, a: Rows, b: Rows, c: NDArray[np.uint32], out: NDArray[np.uint32]) -> None:
        operands, values, count = self.unit.operands, addend_values(self.unit, c[:, None]), len(c)
        words_a, words_b = words_of(operands.a, self.words_a, a[0]), words_of(operands.b, self.words_b, b[0])
        of_a = WindowOperand(words_a, *NOT_PACKED, self._scales("a", a[1], count))
        of_b = WindowOperand(words_b, *NOT_PACKED, self._scales("b", b[1], count))
        self.scalar(lane_indices(self.unit, words_a.shape[1]), of_a, of_b, values, np.arange(count))
        codes_of(values, self.unit.output, out[:, None], self.unit.nan)

    def scalar(self, places: Int64s, a: WindowOperand, b: WindowOperand, values: Floats, columns: Int64s) -> None:
        """Every element by itself; arguments as of `scalar_run`."""
        read = ReadNumbers() if self.read is None else self.read
        rule = self.rules.window
        every = rule.subgroup, rule.even_odd, rule.late, rule.sticky, rule.ieee_zero, self.rules.chain.kind != PLAIN
        has = [flag(size > 0) for size in every]
        scalar_run(self.read is not None)(self.rules, read, *rooms(rule.lanes), places, a, b, values, columns, *has)
