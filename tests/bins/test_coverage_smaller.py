"""Cases in which the last bit of the smaller term decides: at every distance, so that a design without it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product as cross

import pytest
from odd_units import unit as odd
from unit_keys import exact_sum, odd_unit

from hwsim.cases.bins.adder_rows import smaller_rows
from hwsim.cases.bins.adders import RoundedPair, adders
from hwsim.cases.bins.outcomes import rounded, roundings
from hwsim.cases.bins.plan import Counter, plan
from hwsim.cases.case import Case, Rows, dot
from hwsim.formats import FloatFormat
from hwsim.model.definition import definition_of
from hwsim.model.record import Explanation
from hwsim.model.rounding import add
from hwsim.model.terms import Term
from hwsim.spec import Unit, load_unit
from hwsim.spec.keys import Rounding


def fma(factors: str, fmt: str, rounding: str = "rne") -> Unit:
    return Unit.model_validate(
        {
            "unit": f"{factors}-{fmt}-{rounding}",
            "operands": {"a": factors, "b": factors, "addend": fmt},
            "instruction": {"k": 1, "lanes": 1},
            "sum": {"method": "sequential", "product": "fused", "format": fmt, "rounding": rounding},
            "result": {"format": fmt, "rounding": rounding, "overflow": "ieee"},
        }
    )


UNITS: dict[str, Callable[[], Unit]] = {
    "fused": lambda: fma("f16", "f16"),
    "fused, rz": lambda: fma("f16", "f16", "rz"),
    "fused, rd": lambda: fma("e5m2", "bf16", "rd"),
    "fused, rto": lambda: fma("e4m3", "f16", "rto"),
    "rounded products": lambda: odd("chain-f16-mul-add"),
    "tree": lambda: load_unit("cdna2-mfma-bf16-f32"),
    "exact": lambda: odd_unit("exact", "e5m2", "f32", exact_sum(), "f16", 3),
    "late": lambda: load_unit("blackwell-mma-e4m3-f16"),
    "promoted": lambda: load_unit("deepseek-v3-e4m3-f32"),
    "promoted, scaled": lambda: load_unit("deepseek-v3-e4m3-f32-scaled"),
}


@cache
def made(name: str) -> tuple[Unit, list[Case], list[Explanation]]:
    some = UNITS[name]()
    rows = Rows(some)
    smaller_rows(rows)
    cases = list(rows.cases.values())
    return some, cases, [dot(definition_of(some), case) for case in cases]


def counted(name: str) -> Counter:
    some, cases, records = made(name)
    counter = Counter(plan(some))
    for case, record in zip(cases, records, strict=True):
        counter.sample(case, record)
    return counter


@pytest.mark.slow
@pytest.mark.parametrize("name", UNITS)
def test_each_case_hits_a_bin_and_no_proof_is_contradicted(name: str) -> None:
    some, cases, _ = made(name)
    counter = counted(name)
    counts = counter.counts
    own = [one for one in plan(some).bins if one.name.startswith(tuple(f"{each.place}:" for each in adders(some)))]
    hit = sum(counts[one.name] > 0 for one in own)
    left = [one.name for one in own if one.reachable and not counts[one.name]]
    assert not counter.contradicted()
    assert hit >= 0.9 * len(cases) > 50
    # Of a product in one rounding every bin is hit; where a sum has to be of several products, some are open.
    whole = name.startswith(("fused", "late")) or name == "promoted"
    assert len(left) <= (0 if whole else 0.1 * len(own))


Pair = tuple[Term, Term]


def leading(term: Term) -> int:
    return term.sig.bit_length() - 1 + term.exp - term.fraction_bits


def additions(record: Explanation) -> Iterator[tuple[str, FloatFormat, Rounding, bool, Pair, int]]:
    """Every addition of two finite numbers other than zero: its place, format, rounding, terms and code."""
    places = roundings(record.unit)
    for name, terms, code, _ in rounded(record):
        one = places[name]
        if one.adds and len(terms) == 2 and all(term.sig for term in terms) and isinstance(one.format, FloatFormat):
            yield name, one.format, one.rounding, one.flushes, (terms[0], terms[1]), code


def shifted(term: Term, places: int) -> Term:
    return term._replace(exp=term.exp + places)


def survives(name: str, mistake: Callable[[Pair], tuple[Term, ...]]) -> bool:
    """Whether an adder with a mistake is right in all cases. Its place alone is looked at: what it adds is right."""
    for record in made(name)[2]:
        for _, fmt, rounding, flushes, terms, code in additions(record):
            if add(fmt, mistake(terms), rounding, flushes) != code:
                return False
    return True


def dropped(distance: int, side: int) -> Callable[[Pair], tuple[Term, ...]]:
    """One of the terms is dropped where it is so far, or farther, below the other."""
    return lambda terms: (terms[1 - side],) if leading(terms[1 - side]) - leading(terms[side]) >= distance else terms


def alone(distance: int, side: int) -> Callable[[Pair], tuple[Term, ...]]:
    """One of the terms is dropped where it is just so far below the other."""
    return lambda terms: (terms[1 - side],) if leading(terms[1 - side]) - leading(terms[side]) == distance else terms


def modulo(power: int, side: int) -> Callable[[Pair], tuple[Term, ...]]:
    """The smaller term is shifted by the distance modulo a power of two."""

    def shift(terms: Pair) -> tuple[Term, ...]:
        apart = leading(terms[1 - side]) - leading(terms[side])
        return (terms[1 - side], shifted(terms[side], apart // power * power)) if apart >= power else terms

    return shift


def asked(name: str) -> list[tuple[RoundedPair, int]]:
    """The additions of two terms, and which of both is the smaller: 0 for the first."""
    return [(one, at % 2 ^ 1) for at, one in enumerate(adders(UNITS[name]())) if one.place != "result"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in UNITS if name not in ("exact", "tree")])
def test_a_term_that_is_dropped_from_any_distance_on_shows(name: str) -> None:
    for one, side in asked(name):
        survivors = [d for d in range(1, one.last + 1) if survives(name, dropped(d, side))]
        # A number of the format plus what is less than half a last place is that number.
        assert not [d for d in survivors if d < one.last - 1], (one.larger, one.smaller, survivors)


def test_each_distance_shows_by_itself() -> None:
    for one, side in asked("fused"):
        assert not [d for d in range(1, one.last) if survives("fused", alone(d, side))], (one.larger, one.smaller)


@pytest.mark.parametrize(("name", "powers"), [("fused", (16, 32)), ("fused, rd", (16, 32, 64, 128)), ("late", (4, 8))])
def test_a_shift_modulo_a_power_of_two_shows(name: str, powers: tuple[int, ...]) -> None:
    for (one, side), power in cross(asked(name), powers):
        if power < one.last:
            assert not survives(name, modulo(power, side)), (one.larger, one.smaller, power)


@pytest.mark.parametrize("name", ["exact", "tree"])
def test_a_term_that_an_exact_sum_or_a_tree_drops_shows(name: str) -> None:
    some, cases, records = made(name)
    definition, shown = definition_of(some), 0
    for case, record in zip(cases, records, strict=True):
        held = [at for at, pair in enumerate(zip(case.a, case.b, strict=True)) if all(pair)]
        without = [replace(case, a=tuple(0 if at == lane else x for at, x in enumerate(case.a))) for lane in held]
        codes = {dot(definition, each).code for each in (*without, *([replace(case, c=0)] if case.c else []))}
        shown += record.code not in codes
    assert shown > len(cases) // 3


def test_no_case_of_a_small_unit_hits_what_is_said_to_be_unreachable() -> None:
    for rounding in ("rne", "rz"):
        some = fma("e2m1", "e5m2", rounding)
        counter = Counter(plan(some))
        for a, b, c in cross(range(1, 8), range(1, 8), range(0, 256, 1)):
            counter.sample(Case("", (a,), (b,), c))
        assert not counter.contradicted()
        own = [one for one in plan(some).bins if one.name.startswith("addition:")]
        assert {one.reachable for one in own} == {True, False}
