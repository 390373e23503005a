"""Bins of additions that are rounded: the last bit of the smaller term alone decides, at every distance of the two.

Of what is added all but one bit, the lowest one of the smaller term, is on the edge of the rounding: a tie of rne and
rna, a number of the format of the other roundings. That bit takes the sum off it, up or down. A design that drops the
smaller term, or any bit of it that should be sticky, or shifts it by another distance, is wrong there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product as cross
from typing import NamedTuple

from hwsim.cases.bins.adders import (
    ADDEND,
    LATER,
    PRODUCT,
    REST,
    SUM,
    TIES,
    adders,
    keeps_subnormals,
    node_roles,
)
from hwsim.cases.bins.declare import Declared, Hits
from hwsim.cases.bins.outcomes import rounded, roundings
from hwsim.cases.bins.sampled import SampledCase
from hwsim.formats import Class, FixedFormat, FloatFormat
from hwsim.model.methods import Addition, ExactSoFar
from hwsim.model.record import Explanation
from hwsim.model.rounding import add
from hwsim.model.terms import Term
from hwsim.spec import ExactSum, RoundedSum, SequentialSum, Unit
from hwsim.spec.keys import Number, Rounding


class Decision(NamedTuple):
    """What the last bit of a smaller term did: the distance of both terms, by their leading ones, and that bit's place.

    odd: of the last place that the edge is next to. depth: of the bit below the larger term's leading one.
    matters: whether without the smaller term the sum would be rounded to something else.
    """

    place: str
    larger: str
    smaller: str
    distance: int
    adds: bool
    odd: int
    depth: int
    matters: bool


def edge_of(adder_format: Number, ties: bool, keeps: bool, larger: int, smaller: int, unit_exp: int) -> int | None:
    """Whether the smaller number's last bit alone takes a sum off the edge of its rounding: the last place's parity.

    larger, smaller: in units of 2^unit_exp, with signs. None: it does not.
    """
    low = smaller & -smaller
    rest = abs(larger + (smaller - low if smaller > 0 else smaller + low))
    total = abs(larger + smaller)
    if not rest or not total or not larger:
        return None
    least = adder_format.quantum_exp - unit_exp
    if isinstance(adder_format, FloatFormat):
        place = max(rest.bit_length() - adder_format.precision, least)
        if not keeps and min(rest, total).bit_length() - 1 + unit_exp < adder_format.emin:
            return None
    else:
        place = least
    edge = place - ties
    # The bit is below the edge, and below that of the binade that a borrow leads to.
    if edge < 1 or low.bit_length() > edge or rest & (1 << edge) - 1 or (ties and not rest >> edge & 1):
        return None
    if total < rest and total.bit_length() < rest.bit_length() and low.bit_length() > edge - 1:
        return None
    return rest >> place & 1


def decisions(explanation: Explanation) -> Iterator[Decision]:
    """Every rounding of a sum that the last bit of one of its terms decides."""
    unit = explanation.unit
    for place, fmt, rounding, keeps, terms in _sums(explanation):
        held = [(role, term) for role, term in terms if term.sig]
        if len(held) < 2 or any(term.cls in (Class.NAN, Class.INFINITY) for _, term in terms):
            continue
        ends = [_end(term) for _, term in held]
        end = min(ends)
        if ends.count(end) > 1:
            continue  # the lowest bit is not one term's alone
        at = ends.index(end)
        role, small = held[at]
        rest = sum(_size(term, end) for index, (_, term) in enumerate(held) if index != at)
        size = _size(small, end)
        if abs(rest) < abs(size):
            continue
        odd = edge_of(fmt, rounding in TIES, keeps, rest, size, end)
        if odd is None:
            continue
        larger = held[1 - at][0] if not isinstance(unit.sum, ExactSum) or place != "result" else REST
        leading = abs(rest).bit_length()
        yield Decision(
            place, larger, role, leading - abs(size).bit_length(), (rest > 0) == (size > 0), odd, leading - 1,
            _matters(fmt, rounding, rest, size, end),
        )  # fmt: skip


def _matters(fmt: Number, rounding: Rounding, rest: int, size: int, unit_exp: int) -> bool:
    """Whether the sum is rounded to something else than the larger term alone."""
    if isinstance(fmt, FixedFormat):
        return True
    codes = {
        add(fmt, [Term(int(total < 0), unit_exp, abs(total), 0, Class.NORMAL)], rounding)
        for total in (rest, rest + size)
    }
    return len(codes) > 1


def _end(term: Term) -> int:
    """The exponent of the lowest bit."""
    return (term.sig & -term.sig).bit_length() - 1 + term.exp - term.fraction_bits


def _size(term: Term, unit_exp: int) -> int:
    shift = term.exp - term.fraction_bits - unit_exp
    size = term.sig << shift if shift >= 0 else term.sig >> -shift
    return -size if term.sign else size


Sum = tuple[str, Number, Rounding, bool, Sequence[tuple[str, Term]]]


def _sums(explanation: Explanation) -> Iterator[Sum]:
    """Every sum of several terms that is rounded: its place, what it is rounded to and how, and its terms."""
    unit, places = explanation.unit, {one.name: one for one in roundings(explanation.unit).values()}
    if isinstance(unit.sum, RoundedSum):
        rule, keeps = unit.sum, keeps_subnormals(places["addition"])
        for step in (step for group in explanation.groups for step in group.steps if len(step.terms) > 1):
            yield "addition", rule.format, rule.rounding, keeps, list(zip(_roles(unit, step), step.terms, strict=True))
    elif isinstance(unit.sum, ExactSum):
        one = places["result"]
        for terms in _exact_sums(explanation):
            yield "result", one.format, one.rounding, keeps_subnormals(one), terms
    for name, both, _, _ in rounded(explanation):
        if name in LATER:
            one = places[name]
            yield name, one.format, one.rounding, keeps_subnormals(one), list(zip(LATER[name], both, strict=True))


def _exact_sums(explanation: Explanation) -> Iterator[list[tuple[str, Term]]]:
    """The terms of each exact sum that is rounded, of all its groups."""
    held: list[tuple[str, Term]] = []
    groups, ends = explanation.groups, explanation.additions.keys() | explanation.promotions.keys()
    for index, group in enumerate(groups):
        carried = isinstance(group.start, ExactSoFar)
        held = [*(held if carried else ()), *((PRODUCT, term) for term in group.products)]
        if group.addend is not None and not carried:
            held.append((ADDEND, group.addend))
        if index + 1 == len(groups) or index in ends or not isinstance(groups[index + 1].start, ExactSoFar):
            yield held


def _roles(unit: Unit, step: Addition) -> tuple[str, str]:
    """What the two terms of an addition are."""
    if isinstance(unit.sum, SequentialSum):
        return SUM, PRODUCT
    if step.name == "addend":
        return SUM, ADDEND
    first, last = map(int, step.name.split(".."))
    return node_roles(first, last)


def declare_smaller(unit: Unit, out: Declared) -> None:
    """A bin for each distance of each addition's terms: added and subtracted, with both parities, while they meet."""
    known: dict[str, int] = {}
    every = {(one.place, one.larger, one.smaller): one for one in adders(unit)}
    for one in every.values():
        for distance in range(one.near + 1):
            for adds, odd in cross((True, False), (0, 1)):
                name = one.name(distance, adds, odd)
                known[name] = out.bin("G7", name, one.unreachable(distance, adds, odd))
        names = [one.far_name(distance) for distance in range(one.near + 1, one.last + 1)]
        for name in (*names, *map(one.depth_name, one.depths)):
            known[name] = out.bin("G7", name)

    if not every:
        return

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        for found in decisions(sampled.explanation):
            one = every.get((found.place, found.larger, found.smaller))
            if one is None:
                continue
            names = [one.name(found.distance, found.adds, found.odd), one.depth_name(found.depth)]
            if found.matters and found.distance > one.near:
                names.append(one.far_name(found.distance))
            hits.update(known[name] for name in names if name in known)
