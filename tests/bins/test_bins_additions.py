"""Bins of additions and of units that are not one plain window: what is said of each rounding, and what cases reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product as cross
from typing import Any

import pytest
from built_presets import others_slow
from odd_units import unit
from odd_units import unit as odd
from unit_keys import Mapping, chained, exact_sum, late, odd_unit, own_windows, window

from hwsim.cases.bins.adder_rows import smaller_rows
from hwsim.cases.bins.adders import RoundedPair, adders
from hwsim.cases.bins.covering import covered, directed
from hwsim.cases.bins.outcomes import EVERY, RAISED, TOGETHER, RoundingPlace, never, outcome, rounded, roundings
from hwsim.cases.bins.plan import Counter, plan
from hwsim.cases.case import Case, Rows, dot
from hwsim.formats import Class, FloatFormat, get_format
from hwsim.model.definition import definition_of
from hwsim.model.record import Explanation
from hwsim.model.rounding import add
from hwsim.model.terms import Term, addend_term
from hwsim.spec import Unit, load_unit
from hwsim.spec.keys import Rounding

F16, F32 = get_format("f16"), get_format("f32")
ONE, TINY, TWO11, TWO12 = 0x3C00, 0x0001, 0x6800, 0x6C00
NEAREST = RoundingPlace("addition", F16, "rne")


def said(x: int, y: int, place: RoundingPlace = NEAREST) -> set[str]:
    """What an addition of two codes is said to do."""
    terms = [addend_term(F16, code) for code in (x, y)]
    return set(outcome(place, terms, add(F16, terms, place.rounding, place.flushes)))


# binary16 has 11 bits: 1 is half a last place of 2^11 and a quarter of one of 2^12.
SAID = [
    (ONE, ONE, {"is exact"}),
    (ONE, ONE | 0x8000, {"cancels to 0"}),
    (0, 0x8000, {"is of zeros alone"}),
    (TWO11, ONE, {"ties, to the smaller", "leaves one term as it was"}),
    (TWO11 + 1, ONE, {"ties, to the larger"}),
    (TWO12, ONE, {"rounds to the smaller", "leaves one term as it was"}),
    (TWO12 + 1, 0x4200, {"rounds to the larger"}),
    (TINY, TINY, {"is subnormal", "is exact"}),
    (0x7BFF, 0x7BFF, {"overflows"}),
    (0x7C00, ONE, {"is not finite"}),
    # Below a power of two places are half as long: 2^11 - 1/2 lies between 2^11 - 1 and 2^11, a tie.
    (TWO11, 0xB800, {"ties, to the larger", "leaves one term as it was"}),
]


@pytest.mark.parametrize(("x", "y", "words"), SAID)
def test_what_an_addition_does(x: int, y: int, words: set[str]) -> None:
    assert said(x, y) == words
    assert said(x ^ 0x8000, y ^ 0x8000) == words


def test_every_word_is_said_of_something() -> None:
    flushed = said(0x0400, 0x8401, RoundingPlace("addition", F16, "rne", flushes="result"))
    assert flushed == {"vanishes"}
    assert set().union(*(words for *_, words in SAID), flushed) == {*EVERY, *TOGETHER}


@pytest.mark.parametrize("tininess", ["result", "after", "before"])
def test_what_reaches_the_least_normal_number_is_told_by_the_places_it_takes(tininess: Any) -> None:
    # 2^-14 less eighths of the subnormals' last place, 2^-24: a normal number's place is half of that.
    place, found = RoundingPlace("addition", F16, "rne", flushes=tininess), dict[int, set[str]]()
    for eighths in range(10):
        terms = addend_term(F16, 0x0400), Term(1, -27, eighths, 0, Class.NORMAL if eighths else Class.ZERO)
        code = add(F16, terms, "rne", tininess)
        found[eighths] = {*outcome(place, terms, code)} & {*RAISED}
        kept = {"result": 5, "after": 3, "before": 1}[tininess]
        assert code == (0x0400 if eighths < kept else 0)
    own, shared = {RAISED[1]}, {RAISED[0]}
    assert found == {0: set(), 1: own, 2: own, 3: shared, 4: shared} | {more: set() for more in range(5, 10)}


@pytest.mark.parametrize(
    "name",
    others_slow(
        ["flush-after", "flush-before", "chain-flush-after", "tree-flush-before"], ["flush-after", "chain-flush-after"]
    ),
)
def test_directed_cases_stand_on_both_sides_of_the_least_normal_number(name: str) -> None:
    odd = unit(name)
    counter = Counter(plan(odd))
    for case in directed(odd, 1):
        if case.id.startswith("flush/"):
            counter.sample(case)
    bins = [one for one in plan(odd).bins if one.name.endswith(RAISED)]
    assert len(bins) >= 2 and not {one.name for one in bins if one.unreachable is None} & {
        one.name for one in counter.missed()
    }


def test_directed_differences_of_two_normal_numbers_fall_just_below_the_least_normal_one() -> None:
    """By which exponent the larger one has: so far a normalisation may shift, and no further."""
    tree, bf16 = load_unit("cdna2-mfma-bf16-f32"), get_format("bf16")
    assert isinstance(F32, FloatFormat)
    found: dict[bool, set[tuple[int, int]]] = {True: set(), False: set()}
    for case in directed(tree, 1):
        if "of-normals" in case.id:
            a, b, c = (fmt.decode(codes) for fmt, codes in ((bf16, case.a), (bf16, case.b), (F32, [case.c])))
            terms = [term for term in (*(a * b), *c) if term]
            assert min(map(abs, terms)) >= 2.0**F32.emin and len(terms) == 2
            larger, left = (math.frexp(value)[1] - 1 - F32.emin for value in (max(map(abs, terms)), sum(terms)))
            found[bool(case.c)].add((larger, left))
    wanted = {(up, left) for up in range(F32.fraction_bits) for left in (-1, 0)} - {(0, 0)}
    assert wanted <= found[True]
    # Products of bf16 and a power of two have eight bits.
    assert {(up, left) for up, left in wanted if up - left <= 7} <= found[False]


def test_what_never_happens_never_does() -> None:
    # Every pair of a few hundred codes, under every way of rounding.
    codes = [sign | code for code in range(0, 0x7C01, 97) for sign in (0, 0x8000)] + [0x0400, 0x6800, 0x6801, 0xE800]
    for rounding in ("rz", "rna", "ru", "rto"):
        place = RoundingPlace("addition", F16, rounding)  # type: ignore[arg-type]
        seen = set().union(*(said(x, y, place) for x in codes[::45] for y in codes))
        assert not {word for word in seen if never(place, word)}
        assert {word for word in (*EVERY, *TOGETHER) if never(place, word)} | seen > {"is exact", "is subnormal"}


def test_exact_sums_are_held_against_fractions() -> None:
    for x in range(0, 0x7C00, 611):
        for y in range(0x8000, 0xFC00, 487):
            terms = [addend_term(F16, code) for code in (x, y)]
            code = add(F16, terms, "rne")
            exact = sum(Fraction(float(F16.decode([one])[0])) for one in (x, y))
            got = Fraction(float(F16.decode([code])[0]))
            words = outcome(NEAREST, terms, code)
            assert ("is exact" in words) == (got == exact != 0)
            assert any(word.endswith("larger") for word in words) == (abs(got) > abs(exact))
            assert any(word.endswith("smaller") for word in words) == (abs(got) < abs(exact))


# Of these units how many bins no case is known to hit, and nothing proves unreachable: in a tree some distances of two
# parts that would have to be sums of several products.
OPEN: dict[str, int] = {
    "sequential-e4m3-f16": 0,
    "sequential-e4m3-bf16": 0,
    "cdna1-mfma-f32-f32": 0,
    "cdna1-mfma-bf16-f32-tree": 40,
    "hopper-mma-e4m3-f16": 0,
}


@pytest.mark.parametrize("name", others_slow(OPEN, ["sequential-e4m3-f16"]))
def test_directed_and_found_cases_hit_what_can_be_hit(name: str) -> None:
    found = covered(load_unit(name), 1)
    assert found.counter.contradicted() == []
    assert len(found.open) <= OPEN[name]
    assert all(one.name.startswith("addition: ") and " takes it off " in one.name for one in found.open)
    assert len(found.cases) > 1_000
    assert len({case.id for case in found.cases}) == len(found.cases)


KINDS = {"chain-rd": 0, "tree-f16-7": 191, "exact-f16-group": 0, "even-odd": 4, "subgroups": 4, "emulated": 26}


@pytest.mark.parametrize("name", others_slow(KINDS, ["exact-f16-group"]))
def test_units_of_every_kind_are_covered_alike(name: str) -> None:
    odd = unit(name)
    found = covered(odd, 1)
    assert found.counter.contradicted() == []
    assert len(found.open) == KINDS[name]
    assert directed(odd, 1) == directed(odd, 2) == list(found.cases[: len(directed(odd, 1))])


def test_a_case_alone_hits_little() -> None:
    odd = load_unit("sequential-e4m3-f16")
    counter = covered(odd, 1).counter.__class__(plan(odd))
    counter.sample(Case("one", (0x38,), (0x38,), ONE))
    hit = {name for name, count in counter.counts.items() if count}
    assert {"+one x +one", "addition is exact", "the result is positive"} <= hit
    assert len(hit) == 5


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


@pytest.mark.parametrize("rounding", ["rne", pytest.param("rz", marks=pytest.mark.slow)])
def test_no_case_of_a_small_unit_hits_what_is_said_to_be_unreachable(rounding: str) -> None:
    some = fma("e2m1", "e5m2", rounding)
    counter = Counter(plan(some))
    for a, b, c in cross(range(1, 8), range(1, 8), range(256)):
        counter.sample(Case("", (a,), (b,), c))
    assert not counter.contradicted()
    own = [one for one in plan(some).bins if one.name.startswith("addition:")]
    assert {one.reachable for one in own} == {True, False}


E2M1 = (0, 0.5, 1, 1.5, 2, 3, 4, 6)


def narrow(bias: int, **keys: Any) -> Mapping:
    """A format of few exponents, with 5 bits unless told; a product of e2m1 has 4 bits, and is 36 at most."""
    return {"name": "narrow", "kind": "float", "exponent_bits": 3, "fraction_bits": 4, "bias": bias} | keys


IEEE = {"infinities": True, "nan": "ieee"}
ENDS, BEYOND = (narrow(bias, **IEEE) for bias in (2, 1))  # at 31, at 62
LEAST = narrow(2, fraction_bits=5, subnormals=False, nan=[0xFF, 0x1FF])  # 1.00001 in binary, times 2^-2
# Bins of two rounded products, by format, rounding and overflow: at such a distance, added, with such a last place.
# They take the largest number, which is of ones alone, or the least one of a format without subnormals.
LEFT: dict[str, tuple[Mapping, str, str, int, str, bool]] = {
    "largest": (ENDS, "rne", "propagate", 5, "a tie, last place odd", True),
    "largest of IEEE": (ENDS, "rz", "ieee", 4, "an exact sum, last place even", True),
    "infinity": (ENDS, "rne", "ieee", 5, "a tie, last place odd", False),
    "nothing too large": (BEYOND, "rne", "propagate", 5, "a tie, last place odd", False),
    "least": (LEAST, "rto", "saturate", 1, "an exact sum, last place even", True),
    "zero": (LEAST, "rz", "saturate", 1, "an exact sum, last place even", False),
}


@pytest.mark.parametrize("name", LEFT)
def test_products_that_leave_the_sum_s_format_have_the_bits_of_what_takes_their_place(name: str) -> None:
    fmt, rounding, overflow, distance, edge, there = LEFT[name]
    tree = chained("pairwise", fmt, rounding, product="rounded", overflow=overflow)
    counter = Counter(plan(odd_unit("narrow-tree", "e2m1", "none", tree, fmt, 2, overflow="saturate")))
    products = {x * y: (a, b) for (a, x), (b, y) in cross(enumerate(E2M1), repeat=2)}.values()
    for (a, b), (c, d), sign in cross(products, products, (0, 8)):
        counter.sample(Case("", (a, c), (b, d | sign)))
    assert counter.contradicted() == []
    for sides in (("left", "right"), ("right", "left")):
        where = f"{sides[0]} product {distance} places below {sides[1]} product"
        bin_name = f"addition: {where}, added, takes it off {edge}"
        assert counter.plan[bin_name].reachable == there == (counter.counts[bin_name] > 0)


SHORT = {"name": "short", "kind": "float", "exponent_bits": 4, "fraction_bits": 1, "bias": 7, **IEEE}
SMALL = {"name": "small", "kind": "float", "exponent_bits": 2, "fraction_bits": 1, "bias": 4}
QUARTER = "result: product 3 places below rest, added, takes it off a tie, last place odd"
RAISED_ALONE = "reaches the least normal in places of its own"
KEPT = {"overflow": "saturate"}
MANY = LEAST | {"exponent_bits": 4, "nan": [0x1FF, 0x3FF]}
# A bin that a case hits: of sums that are carried exactly, so that the rest is no number of the result's format, and
# that are long, so that products of 0.5625 take the largest number of f16 further; of a window that makes negative
# terms, exact or not, a unit more; of an addend whose format is not that of the late addition; of a result that the
# next group's sum begins with; of a tree of one lane, whose product is not rounded; of the least number of a format
# without subnormals.
HIT: dict[str, tuple[Unit, str, Case]] = {
    "exact": (odd_unit("exact", "e2m1", SHORT, exact_sum(), SHORT, 1), QUARTER, Case("", (10, 2, 15), (12, 5, 14))),
    "long": (odd_unit("long", (SMALL, SMALL), "f16", exact_sum(), "f16", 1), "result overflows",
             Case("", (7,) * 80, (7,) * 80, 0x7BFF)),
    "complement": (
        odd_unit("complement", "e2m1", "none", own_windows(2, 2, 8, "ones-complement"),
                 narrow(3, **IEEE), 2, rounding="ru", subnormals="flush"),
        f"result {RAISED_ALONE}", Case("", (3, 8, 2, 0), (1, 15, 9, 0)),
    ),
    "late": (odd_unit("late", "e2m1", "f32", window(8), "f32", 2, **late("f16", "ru", flush=True)),
             f"late addition {RAISED_ALONE}", Case("", (0, 0), (0, 0), 0x387FFFFF)),
    "group": (odd_unit("group", "e2m1", SHORT, exact_sum(rounded="group"), narrow(3, **IEEE), 2, k=4),
              "result: addend 1 places below rest, added, takes it off a tie, last place even",
              Case("", (4, 4, 12, 6), (10, 6, 13, 3), 13)),
    "one lane": (odd("tree-one-bare"),
                 "addition: sum 0 places below addend, subtracted, takes it off an exact sum, last place even",
                 Case("", (26, 154), (125, 125))),
    "least": (odd_unit("least", "e2m1", "none", chained("sequential", MANY, "ru", product="rounded"), MANY, 1, **KEPT),
              "product rounds to the larger", Case("", (1,), (1,))),
    "least, flushed": (
        odd_unit("flushed", "e2m1", "none", chained("sequential", MANY, "ru", product="rounded", flush=True), MANY, 1,
                 **KEPT),
        "product rounds to the larger", Case("", (1,), (1,)),
    ),
    "least, added": (odd_unit("added", "e2m1", SHORT, exact_sum(), LEAST, 1, **KEPT, **late(BEYOND, "rz")),
                     "late addition: partial sum 0 places below addend, subtracted, takes it off an exact sum, last "
                     "place even", Case("", (9,), (9,), 43)),
    "least, cancelled": (odd_unit("cancelled", "e2m1", BEYOND, exact_sum(), LEAST, 2, **KEPT, **late(BEYOND, "rne")),
                         "late addition vanishes", Case("", (1, 0), (1, 0), 132)),
}  # fmt: skip


@pytest.mark.parametrize("name", HIT)
def test_what_a_case_hits_is_not_said_to_be_unreachable(name: str) -> None:
    some, bin_name, case = HIT[name]
    counter = Counter(plan(some))
    counter.sample(case)
    assert counter.counts[bin_name]
    assert counter.contradicted() == []


def test_a_sum_too_large_for_a_format_without_infinity_and_nan_is_counted() -> None:
    fmt = narrow(5)
    counter = Counter(plan(odd_unit("finite", "e2m1", "none", exact_sum(), fmt, 3, **KEPT)))
    counter.sample(Case("", (7, 2, 1), (7, 2, 1)))  # 36 + 1, a tie of five bits, and 1/4
    assert counter.counts["result overflows"] == 1


def test_a_sum_grows_by_what_a_partial_sum_has_more_than_c() -> None:
    counter = Counter(plan(odd_unit("grown", "e2m1", SHORT, window(8), "f16", 1)))
    counter.sample(Case("", (1, 3), (1, 3), 15))  # 1.5 + 0.25, which c is not, and 2.25
    assert counter.contradicted() == []
    assert sum(count for name, count in counter.counts.items() if name.startswith("leading one 2 above max_exp")) == 1
