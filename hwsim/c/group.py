"""A group's sum as the templates see it, for every method."""

from __future__ import annotations

from dataclasses import dataclass, field

from hwsim.c.ranges import ShiftedIn, Span, span_of
from hwsim.formats import FloatFormat, Format
from hwsim.spec import EvenOddSum, Lost, Unit


@dataclass
class Sizes:
    """The numbers that a unit's integers must hold.

    product: the products, with the scales that enter them.
    cuts: all integers that are shifted down. totals: the largest magnitude of every sum.
    """

    product: Span
    cuts: list[ShiftedIn] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)

    def cut(self, most: int, fraction_bits: int, bits: int) -> ShiftedIn:
        """Add integers that are shifted into a window; returns them."""
        cut = ShiftedIn(most, fraction_bits, bits)
        self.cuts.append(cut)
        self.totals.append(cut.kept)
        return cut

    @property
    def bits(self) -> int:
        """Bits of a signed integer that holds all of them; 0 where there are none.

        A shift by one place more than there are bits must be one that C defines, and leave less than half.
        """
        shifted = max((cut.shifted + 2 for cut in self.cuts), default=0)
        return max([shifted, *(total.bit_length() + 1 for total in self.totals)])


@dataclass(frozen=True, kw_only=True)
class GroupSum:
    """One method's sum of a group. Fields of other methods keep their defaults.

    template: its template's name. lost: the rules for lost bits. sticky: whether the rounding knows of lost ones.
    window_bits: fraction bits of the window; total_bits: of the total's window; None without a window.
    terms: terms in the window. parts: sums of parts of a group; part_window: the fraction bits of each one's window;
    part_exp: the exponent of the unit of an exact one, before its scales; part_bits: its fraction bits with them.
    zeros_count, max_exp_floor: as in the specification.
    unit_exp: the exponent of the unit of exact sums, also of those that rounded additions of parts begin with;
    exact_products: products of the longest; carries: whether an
    exact sum goes to the next group unrounded. fixed: how an exact sum is shifted to a result in a fixed format.
    steps: rounded additions of a group; format: of these additions.
    """

    template: str
    lost: tuple[Lost, ...] = ()
    sticky: bool = False
    window_bits: int | None = None
    total_bits: int | None = None
    terms: int = 0
    parts: int = 0
    part_lanes: int = 0
    part_window: int | None = None
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
