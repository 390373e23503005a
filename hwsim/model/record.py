"""The record of a dot product: what every stage of every group computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hwsim.formats import Fields, Format
from hwsim.model.late import Added, Promoted
from hwsim.model.methods import Addition, ExactSoFar, FirstAddend, Halves, PartialSum
from hwsim.model.rounding import Rounded
from hwsim.model.scales import Subgroup
from hwsim.model.terms import AlignedTerms, Term
from hwsim.spec import Unit


@dataclass(frozen=True, slots=True)
class Group:
    """One fused sum, stage by stage.

    unit: whose. index: its place in the dot product. codes_a, codes_b: the factors' codes, a lane each.
    used: lanes that hold products; the others fill the group. start: what the group starts from, its addend.
    a, b: the factors, decoded and made ready to multiply. scale_exp: the exponent that shared scales add to each
    product, or None where one is NaN.
    products: exact, not normalised, at their reference exponents. addend: the term of `start`; None for none.
    special: the NaN or infinity that the terms make; None where they are finite.
    max_exp: the largest exponent of the terms that count; None when all are zero, or without a window.
    fraction_bits: of the window of `total`, below 2^max_exp. aligned: the terms in units of
    2^(max_exp - fraction_bits), the addend last. total: their sum, or what `sum.cut` leaves of it; uncut is then their
    sum, and else None.
    sticky: whether terms lost bits of which the rounding of `total` is told, by a 1 below its magnitude.
    rounded: the result, in the result format's container, with its flags: overflow, inexact, tiny.
    Of `even-odd`, `aligned` is in units of each half's window, and max_exp and total are those of both together; of
    `exact`, total is the exact sum so far in units of 2^unit_exp, and there is neither max_exp nor alignment; of
    `sequential` and `pairwise` there are `steps` instead: every rounding, in order.
    halves: the windows of `even-odd`. subgroups: scaled sums of products, which are aligned in their place.
    """

    unit: Unit
    index: int
    codes_a: tuple[int, ...]
    codes_b: tuple[int, ...]
    used: int
    start: PartialSum | None
    a: tuple[Fields, ...]
    b: tuple[Fields, ...]
    scale_exp: tuple[int | None, ...]
    products: tuple[Term, ...]
    addend: Term | None
    special: Term | None
    max_exp: int | None
    fraction_bits: int
    aligned: tuple[int, ...]
    total: int
    unit_exp: int | None
    rounded: Rounded
    halves: Halves | None
    subgroups: tuple[Subgroup, ...]
    steps: tuple[Addition, ...]
    sticky: bool
    uncut: int | None

    @property
    def indices(self) -> tuple[int, ...]:
        """The index along K of each lane's product."""
        return self.unit.instruction.indices(self.index)

    @property
    def first(self) -> int:
        """The index along K of lane 0."""
        return self.indices[0]

    @property
    def terms(self) -> tuple[Term, ...]:
        """The products, and the addend last where there is one."""
        return self.products if self.addend is None else (*self.products, self.addend)

    @property
    def summed(self) -> tuple[Term, ...]:
        """The terms of the group's sum: the products, or the scaled sums of its parts; the addend last."""
        parts = tuple(part.term for part in self.subgroups) or self.products
        return parts if self.addend is None else (*parts, self.addend)

    @property
    def carried(self) -> bool:
        """True if the addend is an exact sum that goes on from the group before, without a code."""
        return isinstance(self.start, ExactSoFar)

    @property
    def addend_code(self) -> int:
        """The code of c, of the result before, or of +0; of an exact sum, what it would be rounded to."""
        return 0 if self.start is None else self.start.code

    @property
    def addend_format(self) -> Format:
        """The format of `addend_code`."""
        addend = self.unit.operands.addend
        return addend if isinstance(self.start, FirstAddend) and addend is not None else self.unit.result.format

    @property
    def sum(self) -> int:
        """`total`."""
        return self.total

    @property
    def sum_term(self) -> Term:
        """The sum of a window, before it is rounded, as a term at max_exp."""
        return AlignedTerms(self.max_exp, self.fraction_bits, self.aligned, self.total).term

    @property
    def code(self) -> int:
        """The code of the group's result, in the result format's container."""
        return self.rounded.code

    @property
    def result(self) -> int:
        """`code`."""
        return self.rounded.code

    @property
    def overflow(self) -> bool:
        """True if the rounded sum was too large for the result format."""
        return self.rounded.overflow

    @property
    def growth(self) -> int | None:
        """Places that the sum's leading one stands above max_exp (negative: below); None for 0 or without a window."""
        if self.max_exp is None or not self.total:
            return None
        return abs(self.total).bit_length() - 1 - self.fraction_bits


@dataclass(frozen=True, slots=True)
class Explanation:
    """A whole dot product: its groups in order, and its result's code, in the container of the unit's output.

    promotions, additions: into the promotion register, and of late addends, by the index of the group that each
    follows. c: the addend's code. k: products, without those of the last groups that fill them.
    """

    unit: Unit
    groups: tuple[Group, ...]
    promotions: Mapping[int, Promoted]
    code: int
    additions: Mapping[int, Added] = field(default_factory=dict)
    c: int = 0
    k: int = 0
