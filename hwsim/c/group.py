"""What the templates are told of a group's sum, whatever its method."""

from __future__ import annotations

from dataclasses import dataclass, field

from hwsim.c.ranges import ShiftedIn, Span, span_of
from hwsim.formats import FloatFormat, Format
from hwsim.spec import EvenOddSum, Lost, Unit


@dataclass
class Sizes:
    """What a unit's integers hold.

    product: the products, with the scales that enter them.
    cuts: everything that is shifted down. totals: the largest magnitude of every sum.
    """

    product: Span
    cuts: list[ShiftedIn] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)

    def cut(self, most: int, fraction_bits: int, bits: int) -> ShiftedIn:
        """Integers that are shifted into a window."""
        cut = ShiftedIn(most, fraction_bits, bits)
        self.cuts.append(cut)
        self.totals.append(cut.kept)
        return cut

    @property
    def bits(self) -> int:
        """Bits of a signed integer for all of it; 0 where there is none.

        A shift by one place more than there are bits must be one that C defines, and leave less than half.
        """
        shifted = max((cut.shifted + 2 for cut in self.cuts), default=0)
        return max([shifted, *(total.bit_length() + 1 for total in self.totals)])


@dataclass(frozen=True, kw_only=True)
class GroupSum:
    """One method's sum of a group. What a method does not have keeps its default.

    template: the one that writes it. lost: the rules by which bits are lost.
    window_bits: fraction bits of the window; total_bits: of the window of the total; None without one.
    terms: how many the window has. parts: scaled sums of a group; part_exp, part_bits: the exponent of the unit of an
    exact one, and its fraction bits, scaled. zeros_count, max_exp_floor: as in the specification.
    unit_exp: the exponent of the unit of an exact sum; exact_products: products of the longest one; carries: whether
    it goes on unrounded. fixed: how it is shifted to a result in a fixed format.
    steps: rounded additions of a group; format: theirs.
    """

    template: str
    lost: tuple[Lost, ...] = ()
    window_bits: int | None = None
    total_bits: int | None = None
    terms: int = 0
    parts: int = 0
    part_lanes: int = 0
    part_exp: int | None = None
    part_bits: int | None = None
    zeros_count: bool = False
    max_exp_floor: int | None = None
    zero_signs: bool = False
    unit_exp: int | None = None
    exact_products: int = 0
    carries: bool = False
    fixed: ShiftedIn | None = None
    steps: int = 0
    format: FloatFormat | None = None


def adds(unit: Unit) -> bool:
    """Whether a group can add something to its products."""
    alone = unit.instruction.chain is None and unit.instruction.groups == 1
    never = unit.operands.addend is None and unit.restart is None and alone
    return not isinstance(unit.sum, EvenOddSum) and not never


def addends(unit: Unit) -> list[Span]:
    """The numbers that a group may add to its products."""
    formats: list[Format] = [unit.result.format]
    if unit.restart is None and unit.operands.addend is not None:
        formats.append(unit.operands.addend)
    return [span_of(fmt) for fmt in formats]
