"""What every method has: the sum of one group's terms, and what of it goes on to the next group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple, assert_never

from hwsim.formats import Class
from hwsim.model.addition import zero_sign
from hwsim.model.carried import ExactSoFar, ResultCode
from hwsim.model.terms import Term
from hwsim.model.window import AlignedTerms
from hwsim.spec.keys import Rounding

ZeroSign = Literal["positive", "ieee"]


class Addition(NamedTuple):
    """One rounding: the sum of one or two terms, as a code of the sum's format.

    name: of a lane, of lanes `0..3`, or `addend`; with `rounded ` before it where a single term is rounded.
    """

    name: str
    terms: tuple[Term, ...]
    code: int


class Halves(NamedTuple):
    """The sums of `even-odd`: of the lanes 0, 2, ..., of the lanes 1, 3, ..., and both in a window of their own."""

    even: AlignedTerms
    odd: AlignedTerms
    combined: AlignedTerms


class Summed(NamedTuple):
    """The sum of one group.

    outcome: the sum as a term, which may be NaN, infinite or a zero with a sign: what is rounded to the result.
    total * 2^unit_exp is the sum in integers; unit_exp is None where every term is zero, or one is special.
    sticky: whether the sum is also more than `total` in magnitude, by less than any place that a rounding looks at:
    whether a window's terms lost a 1 that its rule keeps for the rounding.
    uncut: the sum of the aligned terms, where `total` is what `sum.cut` leaves of it; None where nothing is cut.
    max_exp, aligned, bits: of a window. halves: of `even-odd`. additions: of `sequential` and `pairwise`, in order.
    """

    outcome: Term
    total: int = 0
    unit_exp: int | None = None
    max_exp: int | None = None
    aligned: tuple[int, ...] = ()
    bits: int = 0
    halves: Halves | None = None
    additions: tuple[Addition, ...] = ()
    sticky: bool = False
    uncut: int | None = None


class SumMethod(ABC):
    """How the terms of a group become one sum. takes_addend: whether the addend is one of them."""

    takes_addend: ClassVar[bool] = True

    @abstractmethod
    def sum(self, terms: Sequence[Term], addend: Term | None, special: Term | None) -> Summed:
        """The sum of the terms and of the addend, if any. special: the NaN or infinity that they make together."""

    def carried(self, summed: Summed, code: int) -> ResultCode | ExactSoFar:
        """What the next group starts from. code: the result that the sum is rounded to."""
        return ResultCode(code)


def total_term(total: int, unit_exp: int | None, terms: Sequence[Term], zero: ZeroSign, rounding: Rounding) -> Term:
    """total * 2^unit_exp as a term; a sum of zero with the sign that it has. terms: what was summed."""
    if total:
        return Term(int(total < 0), unit_exp or 0, abs(total), 0, Class.NORMAL)
    return Term(sum_zero_sign(terms, zero, rounding), unit_exp or 0, 0, 0, Class.ZERO)


def sum_zero_sign(terms: Sequence[Term], zero: ZeroSign, rounding: Rounding) -> int:
    """The sign of a sum of exactly zero, as the key `sum.zero` has it."""
    match zero:
        case "positive":
            return 0
        case "ieee":
            return zero_sign(terms, rounding)
        case _:
            assert_never(zero)
