"""The ranges of sums in windows of other kinds than one plain one."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.lib.data import StructLayout

from hwsim.formats import Format
from hwsim.spec import AlignedSum, EvenOddSum, LateInWindow, Specified, WindowSum

from .numbers import FieldRange, PairRanges, ProductRanges, as_float, signed_shape
from .subgroups import PRODUCT, PartRanges
from .windows import aligned_bits


class GeneralRanges(ProductRanges):
    """The ranges of a unit's windows. Exponents are counted so that `bias` taken off gives the real one.

    subgroup: the rule of sums of parts, or None; parts: their ranges. terms: how many there are beside the addend.
    windows: one or two. inner: whether an addend, or +0 in its place, is a term of the window. late: the window of a
    late addend, or None.
    Raises TypeError for a unit of another method.
    """

    def __init__(self, unit: Specified):
        super().__init__(unit)
        if not isinstance(unit.sum, WindowSum):
            raise TypeError(f"{unit.name} must sum in a window, not by method {unit.sum.method}")
        self.rule, self.result = unit.sum, as_float(unit.result.format)
        self.subgroup = unit.subgroup
        self.parts = None if self.subgroup is None else PartRanges(self, self.subgroup)
        self.halves = unit.sum if isinstance(unit.sum, EvenOddSum) else None
        self.late = unit.late if isinstance(unit.late, LateInWindow) else None
        self.inner = isinstance(unit.sum, AlignedSum)
        self.addend = None if self.group_addend is None else as_float(self.group_addend)
        self.windows = 1 if self.halves is None else 2
        self.products: PairRanges = self
        self._terms()
        self._exponents()

    @property
    def inner_formats(self) -> list[Format]:
        """The formats of codes that may be the window's addend."""
        c = [self.addend] if self.addend is not None and self.late is None else []
        return [*c, self.result] if self.inner else []

    @property
    def late_formats(self) -> list[Format]:
        """The formats of codes that may be the late addend: c, and the result of the instruction before."""
        return [] if self.late is None or self.addend is None else [self.addend, self.result]

    def _terms(self) -> None:
        if self.parts is None:
            self.terms, self.bias = self.lanes, self.product_bias
            self.term_exp = (PRODUCT, self.product_most)
            self.term_fraction_bits, self.term_most = self.product_fraction_bits, self.most_product
            return
        self.terms, self.bias, self.term_exp = self.parts.count, self.parts.bias, self.parts.exp
        self.term_fraction_bits, self.term_most = self.parts.fraction_bits, self.parts.most
        self.sum_most = self.parts.sum_most

    @property
    def sticky(self) -> bool:
        """Whether the rounding of a sum knows that a term lost a 1."""
        return self.rule.sticky

    @property
    def term_bits(self) -> int:
        """Bits of a term's significand."""
        return self.term_most.bit_length()

    def addend_span(self, formats: Sequence[Format]) -> tuple[int, int]:
        """The ends of the exponents of addends."""
        moved = [(FieldRange.of(fmt), self.bias - FieldRange.of(fmt).bias) for fmt in formats]
        return min(1 + by for _, by in moved), max(field.most + by for field, by in moved)

    def _exponents(self) -> None:
        spans = [self.term_exp, *([self.addend_span(self.inner_formats)] if self.inner else [])]
        floor = self.rule.max_exp_floor
        self.floor = None if floor is None else floor + self.bias
        floors = [] if self.floor is None else [self.floor]
        self.max_exp = min([low for low, _ in spans] + floors), max([high for _, high in spans] + floors)
        bits = self.rule.fraction_bits
        self.aligned_bits = max(
            aligned_bits(self.term_bits, self.term_fraction_bits, bits),
            *(aligned_bits(fmt.precision, fmt.fraction_bits, bits) for fmt in self.inner_formats),
            1,
        )
        count = self.terms + self.inner
        self.total_bits = self.aligned_bits + count.bit_length()

    def addend_layout(self, formats: Sequence[Format]) -> StructLayout:
        """An addend as a term. there: whether it is one at all."""
        sig = max(fmt.fraction_bits for fmt in formats) + 1
        return StructLayout({"sign": 1, "exp": signed_shape(*self.addend_span(formats)), "sig": sig, "there": 1})

    def sums(self) -> StructLayout:
        """A window's sum, in units of 2^(max_exp - fraction bits); any: whether a term is other than zero."""
        return StructLayout(
            {"total": signed_shape(-(1 << self.total_bits - 1), (1 << self.total_bits - 1) - 1), "any": 1,
             "max_exp": signed_shape(*self.max_exp)}
        )  # fmt: skip
