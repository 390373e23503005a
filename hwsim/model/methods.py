"""The methods: how a group's terms, the addend among them, become one sum. `sum.method` picks one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hwsim.formats import FloatFormat
from hwsim.model import chain
from hwsim.model.addition import exact_sum
from hwsim.model.chain import Additions, Step
from hwsim.model.parts import Halves, combine, window
from hwsim.model.terms import Term
from hwsim.model.window import max_exponent

if TYPE_CHECKING:
    from hwsim.spec.sums import Sum


class Sums(NamedTuple):
    """What a method makes. total * 2^unit_exp is the sum; unit_exp None where every term is zero, or one is special.

    max_exp, aligned, bits: of the window. halves: of `even-odd`. steps: of `sequential` and `pairwise`, the last of
    which has the sum, special or not.
    """

    total: int = 0
    unit_exp: int | None = None
    max_exp: int | None = None
    aligned: tuple[int, ...] = ()
    bits: int = 0
    halves: Halves | None = None
    steps: tuple[Step, ...] = ()


def aligned(rule: Sum, terms: Sequence[Term], addend: Term | None, special: bool) -> Sums:
    """All terms in one window."""
    every = terms if addend is None else (*terms, addend)
    bits = rule.fraction_bits or 0
    if special:
        max_exp = max_exponent(every, rule.zero_terms, rule.max_exp_floor)
        return Sums(max_exp=max_exp, aligned=(0,) * len(every), bits=bits)
    made = window(every, bits, rule.lost, rule.zero_terms, rule.max_exp_floor)
    unit_exp = None if made.max_exp is None else made.max_exp - bits
    return Sums(made.total, unit_exp, made.max_exp, made.aligned, bits)


def even_odd(rule: Sum, terms: Sequence[Term], addend: Term | None, special: bool) -> Sums:
    """Even and odd lanes each in a window, and both sums in a third. There is no addend: it is added late."""
    assert rule.combine is not None
    bits = rule.combine.fraction_bits
    if special:
        return Sums(aligned=(0,) * len(terms), bits=bits)
    even, odd = (
        window(terms[first::2], rule.fraction_bits or 0, rule.lost, rule.zero_terms, rule.max_exp_floor)
        for first in (0, 1)
    )
    made = combine(even, odd, bits, rule.combine.lost)
    both = made.combined
    unit_exp = None if both.max_exp is None else both.max_exp - bits
    by_lane = tuple((odd if lane % 2 else even).aligned[lane // 2] for lane in range(len(terms)))
    return Sums(both.total, unit_exp, both.max_exp, by_lane, bits, made)


def exact(rule: Sum, terms: Sequence[Term], addend: Term | None, special: bool) -> Sums:
    """All terms, exactly."""
    if special:
        return Sums()
    total, unit_exp = exact_sum(terms if addend is None else (*terms, addend))
    return Sums(total, unit_exp)


def additions(rule: Sum, terms: Sequence[Term], addend: Term | None, special: bool) -> Sums:
    """Rounded additions, which deal with special values one by one."""
    assert isinstance(rule.format, FloatFormat) and rule.rounding is not None
    how = Additions(rule.format, rule.rounding, rule.flush, rule.product == "fused")
    return Sums(steps=tuple(chain.METHODS[rule.method](how, terms, addend)))


METHODS: dict[str, Callable[[Sum, Sequence[Term], Term | None, bool], Sums]] = {
    "aligned": aligned,
    "even-odd": even_odd,
    "exact": exact,
    "sequential": additions,
    "pairwise": additions,
}
