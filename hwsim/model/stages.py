"""What every stage of a dot product made: the definition's record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hwsim.formats import Fields, Format
from hwsim.model.chain import Step
from hwsim.model.parts import Halves, LateWindow, Subgroup, Window
from hwsim.model.rounding import Rounded
from hwsim.model.terms import Term
from hwsim.spec import Unit


@dataclass(frozen=True, slots=True)
class Group:
    """One fused sum, stage by stage.

    a, b: decoded factors, as they are multiplied. scale_exp: the exponent that shared scales add to each product, or
    None where one is NaN.
    products, addend: the terms; addend None where there is none. special: NaN or infinite, else None.
    max_exp: None when every term is zero. aligned: the terms in units of 2^(max_exp - fraction_bits), the addend last.
    total: their sum. code: the result, in the result format's container.
    Of `even-odd`, `aligned` is in units of each half's window, and max_exp and total are those of both together; of
    `exact`, total is in units of 2^unit_exp, and there is neither max_exp nor alignment; of `sequential` and
    `pairwise` there are steps instead.
    sum_bits: fraction bits of the window of `total`. halves, subgroups, steps: as far as the method has them.
    carry: the exact sum so far, where it goes on unrounded into the next group.
    """

    a: tuple[Fields, ...]
    b: tuple[Fields, ...]
    scale_exp: tuple[int | None, ...]
    products: tuple[Term, ...]
    addend: Term | None
    special: Term | None
    max_exp: int | None
    aligned: tuple[int, ...]
    total: int
    rounded: Rounded
    sum_bits: int = 0
    halves: Halves | None = None
    subgroups: tuple[Subgroup, ...] = ()
    steps: tuple[Step, ...] = ()
    unit_exp: int | None = None
    carry: Term | None = None

    @property
    def terms(self) -> tuple[Term, ...]:
        """The products, and the addend last where there is one."""
        return self.products if self.addend is None else (*self.products, self.addend)

    @property
    def sum_term(self) -> Term:
        """The sum of a window, before it is rounded, as a term at max_exp."""
        return Window(self.max_exp, self.sum_bits, self.aligned, self.total).term

    @property
    def code(self) -> int:
        """The result, in the result format's container."""
        return self.rounded.code

    @property
    def overflow(self) -> bool:
        """Whether the rounded sum was too large for the result format."""
        return self.rounded.overflow

    def growth(self, fraction_bits: int) -> int | None:
        """Places that the sum's leading one stands above max_exp (negative: below); None for a zero sum."""
        return abs(self.total).bit_length() - 1 - fraction_bits if self.total else None


@dataclass(frozen=True, slots=True)
class Promoted:
    """One addition into the promotion register: the codes of its operands and of its result.

    scale: the product of both scales that the partial sum is multiplied by, a code of the promotion's format, or None.
    """

    register: int
    partial: int
    code: int
    scale: int | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """One late addition: the addend's format, and the codes of both operands and of the result.

    window: of operation `window`, which takes the sum before it is rounded to `partial`; None for special values.
    """

    addend_format: Format
    addend: int
    partial: int
    code: int
    window: LateWindow | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """A whole dot product: its groups, and its result's code.

    promotions, additions: into the promotion register, and of late addends, by the group that each follows.
    """

    unit: Unit
    groups: tuple[Group, ...]
    promotions: Mapping[int, Promoted]
    code: int
    additions: Mapping[int, Added] = field(default_factory=dict)
