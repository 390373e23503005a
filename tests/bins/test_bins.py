"""What the plan of bins says can be hit, and what cases hit: windows, lost bits, overflow, limits."""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest
from bins.covering_kept import covering_once
from built_presets import DISTINCT, others_slow
from odd_units import ODD
from odd_units import unit as unit_of
from representatives import with_every_format, with_every_rule
from unit_keys import chained, late, odd_unit, window

from hwsim.cases.bins import lostbits as sticky
from hwsim.cases.bins import outcomes
from hwsim.cases.bins.covering import covered, covering, directed
from hwsim.cases.bins.facts import changes_what_is_kept, drops_what_is_far_below, in_window, keeps_what_fits
from hwsim.cases.bins.families import FAMILIES
from hwsim.cases.bins.outcomes import Addends, RoundingPlace
from hwsim.cases.bins.plan import EVERY, GROUP_MEANINGS, GROUPS, Counter, plan
from hwsim.cases.case import Case, one_window
from hwsim.cases.palette import exact_code, is_finite
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.fuzz.draw import Size, drawn_unit
from hwsim.formats import Class, FloatFormat
from hwsim.model.definition import Definition
from hwsim.model.terms import Term, align
from hwsim.spec import Unit, load_unit
from hwsim.spec.keys import LOST, Lost, Rounding

DEEPSEEK = "deepseek-v3-e4m3-f32"
HOPPER = "hopper-wgmma-e4m3-f32"
MX = "mxfp8-e4m3-f32"

SEED = 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2, 77])
@pytest.mark.parametrize("name", [HOPPER, MX, DEEPSEEK])
def test_so_it_is_with_other_seeds(name, seed):
    found = covering_once(unit_of(name), seed)
    assert (found.open, found.counter.contradicted()) == ([], [])


# Bins that covering cases leave open, neither hit nor proved unreachable, as docs/coverage.md says.
OPEN = {
    "cdna1-mfma-bf16-f32-tree": 14,
    "cdna1-mfma-f16-f32": 1,
    "cdna1-mfma-f16-f32-tree": 3,
    "cdna2-mfma-bf16-f32": 19,
    "cdna2-mfma-f16-f32": 6,
    "cdna2-mfma1k-bf16-f32": 49,
    "cublas-hopper-e4m3-f32-vec128": 10,
    "deepseek-v3-e4m3-f32-scaled": 9,
}


# Covering cases of a preset: 11,224 at most (blackwell-mma-f16-f16), and 16,667 of binary64, whose terms have the most
# distances. A core builds 1,700 directed ones or more in a second, and 3,000 of binary64, so that these bounds stand
# for less than 8 s of the 10 s that a new unit may take.
MOST, MOST_64 = 12_500, 17_500


@pytest.mark.parametrize("name", others_slow(DISTINCT, [], {*with_every_format(DISTINCT), *OPEN, HOPPER, MX, DEEPSEEK}))
def test_every_buildable_preset_is_covered(name):
    found = covering_once(load_unit(name))
    assert found.counter.contradicted() == []
    assert len(found.open) == OPEN.get(name, 0), [one.name for one in found.open]
    assert len(found.cases) < (MOST_64 if load_unit(name).operands.a.bits == 64 else MOST)
    assert max(Tally(case.id for case in found.cases).values()) == 1


def test_the_counts_are_those_of_the_cases():
    """Counted again, from nothing, by a counter of its own."""
    found = covering_once(unit_of(HOPPER))
    counter = Counter(plan(unit_of(HOPPER)))
    for case in found.cases:
        counter.sample(case)
    assert counter.counts == found.counter.counts
    assert counter.cases == len(found.cases)


def test_the_same_seed_gives_the_same_cases():
    unit = unit_of("tiny-addend")
    first = covering(unit, 4)
    covered.cache_clear()
    assert covering(unit, 4) == first
    assert covering(unit, 5) != first


def test_covering_holds_what_is_directed_first():
    unit = unit_of(HOPPER)
    cases, own = covering_once(unit).cases, directed(unit, SEED)
    assert list(cases[: len(own)]) == own
    assert {case.id.split("/")[0] for case in cases[len(own) :]} <= set(GROUPS)


@pytest.mark.parametrize(
    ("name", "farthest", "straddling"),
    [(HOPPER, 28, range(8, 15)), ("hopper-wgmma-e5m2-f32", 58, range(10, 15)),
     ("hopper-wgmma-e4m3xe5m2-f32", 43, range(9, 15))],
)  # fmt: skip
def test_the_zones_are_those_of_the_formats(name, farthest, straddling):
    """w = p_a + p_b = 8, 6, 7 product bits; 13 fraction bits: exact to 13 - w + 2, all lost from 15.

    At 14 only a product of 2^(w - 1) would lose nothing, and none is.
    """
    assert straddling[-1] == 14
    names = {one.name: one for one in plan(unit_of(name)).bins}
    distances = {int(match[1]) for one in names if (match := re.match(r"d=(\d+), (add|subtract)", one))}
    assert distances == set(range(farthest + 1))
    reach = {d: {word for word in ("exact", "bits lost") if names[f"d={d}, add, {word}"].reachable} for d in distances}
    assert {d for d in distances if reach[d] == {"exact", "bits lost"}} == set(straddling[:-1])
    assert {d for d in distances if reach[d] == {"exact"}} == set(range(straddling[0]))
    assert {d for d in distances if reach[d] == {"bits lost"}} == set(range(14, farthest + 1))


def test_hopper_has_about_two_thousand_bins():
    bins = plan(unit_of(HOPPER)).bins
    assert 2000 < len(bins) < 2200
    assert sum(bool(re.fullmatch(r"lane \d+ sets max_exp, lane \d+ straddles the window", b.name)) for b in bins) == 992
    assert sum(" x " in one.name and one.group == "G1" for one in bins) == 18**2
    assert {one.group for one in bins} == set(GROUPS)
    assert {one.how for one in bins if one.group == "G12"} == {"trace"}
    assert all(len(one.unreachable.split()) >= 4 for one in bins if one.unreachable is not None)


def test_growth_is_that_of_the_lanes():
    """3, 4, 5, 6 places for 4, 8, 16, 32 lanes of e4m3 times e4m3 (largest product 3.515625 at its exponent)."""
    for lanes, most in ((4, 3), (8, 4), (16, 5), (32, 6)):
        unit = unit_of(HOPPER)
        instruction = unit.instruction.model_copy(update={"lanes": lanes, "k": lanes})
        names = {one.name for one in plan.__wrapped__(unit.model_copy(update={"instruction": instruction})).bins}
        growths = {int(match[1]) for one in names if (match := re.match(r"leading one (\d+) above.*without", one))}
        assert growths == set(range(most + 1))


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize("name", [HOPPER, MX, DEEPSEEK, "ada-mma-bf16-f32", "rvbna-e4m3xe5m2-f32-n4"])
def test_any_case_has_its_bins(name):
    """Random cases hit bins, and only such as are not proven unreachable."""
    unit = unit_of(name)
    counter = Counter(plan(unit))
    for case in random_cases(unit, 200, 9):
        counter.sample(case)
    assert counter.contradicted() == []
    assert sum(row.hit for row in counter.summary().values()) > 200


def test_counters_merge_and_are_restored():
    unit = unit_of(HOPPER)
    cases = covering_once(unit).cases[::40]
    whole, halves = Counter(plan(unit)), [Counter(plan(unit)), Counter(plan(unit))]
    for index, case in enumerate(cases):
        whole.sample(case)
        halves[index % 2].sample(case)
    halves[0].merge(halves[1])
    assert halves[0].state() == whole.state()
    restored = Counter.restore(plan(unit), whole.state())
    assert (restored.counts, restored.cases) == (whole.counts, whole.cases)
    restored.sample(cases[0])
    assert restored.counts != whole.counts
    with pytest.raises(ValueError, match="do not fit"):
        whole.merge(Counter(plan(unit_of(MX))))
    with pytest.raises(ValueError, match="bins of mxfp8"):
        Counter.restore(plan(unit_of(MX)), whole.state())


def test_a_bin_of_parts_is_hit_when_all_its_parts_are():
    unit = unit_of("tiny-addend")
    counter = Counter(plan(unit))
    name = "every pair of classes through lane 0"
    codes = [(a, b) for a in range(16) for b in range(16)]
    for a, b in codes[:-1]:
        counter.sample(Case("", (a,), (b,), 0))
    # The largest negative times itself is the only pair of its classes.
    assert counter.counts[name] == 0
    counter.sample(Case("", (15,), (15,), 0))
    assert counter.counts[name] == 1
    (lane,) = (one for one in counter.plan.bins if one.name == name)
    assert lane.parts == len(set(counter.plan.of("G1"))) - 5


def test_bins_of_traces_are_counted_by_name_alone():
    counter = Counter(plan(unit_of(HOPPER)))
    counter.add("misuse", 3)
    assert counter.counts["misuse"] == 3
    assert len(counter.missed("trace")) == len(counter.plan.of("G12")) - 1
    for name in ("d=1, add, exact", "no such"):
        with pytest.raises(ValueError, match="has no bin"):
            counter.add(name)


@pytest.mark.parametrize("name", others_slow([HOPPER, MX, DEEPSEEK], [HOPPER]))
def test_the_page_s_table_is_true(name):
    """docs/coverage.md: bins, those that are proven unreachable, open ones; cases to the hundred."""
    text = (Path(__file__).parents[2] / "docs" / "coverage.md").read_text()
    row = re.search(rf"\| {name} \| ([\d,]+) \| ([\d,]+) \| (\d+) \| about ([\d,]+) \|", text)
    assert row is not None
    bins, unreachable, left, cases = (int(number.replace(",", "")) for number in row.groups())
    found = covering_once(unit_of(name))
    assert bins == len(found.counter.plan.bins)
    assert unreachable == sum(not one.reachable for one in found.counter.plan.bins)
    assert left == len(found.open)
    assert abs(cases - len(found.cases)) < 200


def test_the_page_says_how_many_bins_are_open() -> None:
    text = " ".join((Path(__file__).parents[2] / "docs" / "coverage.md").read_text().split())
    assert [name for name, count in OPEN.items() if f"`{name}` {count}" not in text] == []


def test_every_family_is_for_some_unit_and_names_groups_of_the_plan() -> None:
    units = [*map(load_unit, DISTINCT), *map(unit_of, ODD)]
    assert [family for family in FAMILIES if not any(map(family.units, units))] == []
    assert {group for family in FAMILIES for group in family.groups} <= set(GROUPS) - {"G12"}
    assert all(family.groups for family in FAMILIES if family.rest)


def test_the_page_names_every_group() -> None:
    text = " ".join((Path(__file__).parents[2] / "docs" / "coverage.md").read_text().split())
    assert ", ".join(f"{name} {title}" for name, title in GROUPS.items()) + "." in text
    assert all(GROUP_MEANINGS[name][EVERY] for name in GROUPS)


OTHERS = [name for name in ODD if not one_window(unit_of(name))]
SMALL = Size(lanes=4, groups=2)


def contradicted(some: Unit, random: int = 300) -> list[str]:
    """The bins that directed or random cases hit though a proof says that none can."""
    plan.cache_clear()
    counter = Counter(plan(some))
    for number, case in enumerate([*directed(some, 1), *random_cases(some, random, 5)]):
        counter.sample(case)
        if not number % 100 and (found := counter.contradicted()):
            return [bin_.name for bin_ in found]
    return [bin_.name for bin_ in counter.contradicted()]


@pytest.mark.parametrize("name", others_slow(OTHERS, [], with_every_rule(OTHERS, DISTINCT)))
def test_no_case_of_an_odd_unit_contradicts_a_proof(name: str) -> None:
    assert contradicted(unit_of(name)) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", range(30))
def test_no_case_of_a_drawn_unit_contradicts_a_proof(number: int) -> None:
    assert contradicted(drawn_unit(41, number, SMALL).unit, 60) == []


def too_much(_unit: Any, _place: RoundingPlace, _added: Addends) -> str:
    return "never"


MUTANTS: dict[str, tuple[str, Callable[..., Any], str]] = {
    "nothing vanishes": ("_vanishes", lambda one, added: "never", "blackwell-mxf4-e2m1-f32"),
    "no addend takes a sum out of range": ("_overflows", too_much, "hopper-mma-e4m3-f16"),
    "integers never leave the range": ("_overflows", too_much, "int8-i32"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_proof_that_says_too_much_is_contradicted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, wrong, preset = MUTANTS[name]
    monkeypatch.setattr(outcomes, function, wrong)
    try:
        assert contradicted(load_unit(preset), 0)
    finally:
        plan.cache_clear()


def test_a_result_of_one_fraction_bit_has_cases_next_to_where_it_changes() -> None:
    # The code below its least normal number is the least, and that number the one above it.
    small = {
        "name": "e2m1-ieee", "kind": "float", "exponent_bits": 2, "fraction_bits": 1, "bias": 1, "nan": "ieee",
        "infinities": True,
    }  # fmt: skip
    found = covered(odd_unit("small", "e4m3", small, window(6), small, 2), SEED)
    assert found.counter.contradicted() == []
    assert found.counter.counts["result +1"]


def test_the_least_power_of_two_of_a_format_without_subnormals_is_none_of_its_numbers() -> None:
    fmt = load_unit("hfp8-forward-e4m3-dlfloat16").result.format
    assert isinstance(fmt, FloatFormat) and not fmt.subnormals
    addition = RoundingPlace("addition", fmt, "rna")
    assert exact_code(fmt, 0, 1, fmt.emin) is None and exact_code(fmt, 0, 1, fmt.emin + 1) is not None
    assert outcomes._vanishes(addition, Addends(fmt.emin, None, None, "sums")) is None
    assert outcomes._vanishes(addition, Addends(fmt.emin + 1, None, None, "sums")) is not None


@pytest.mark.slow
def test_a_negative_zero_that_is_denied_is_contradicted(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_unit: Unit, *, zeros_make_one: bool) -> str:
        return "never"

    monkeypatch.setattr(outcomes, "negative_zero", never)
    try:
        assert all(contradicted(unit_of(name), 0) for name in ("chain-rd", "tree-f16-7"))
    finally:
        plan.cache_clear()


def test_of_a_unit_of_integers_no_bin_is_open() -> None:
    assert [bin_.name for bin_ in covered(load_unit("int8-i32"), 1).open] == []


PLUS, MINUS, NAN = (f"{what} addend, finite products" for what in ("+ infinite", "- infinite", "NaN"))

# By format, rounding and policy: whether a partial sum of finite products is ever infinite, of either sign.
WANT = {
    ("f16", "rne", "infinity"): (True, True),
    ("f16", "rne", "saturate"): (False, False),
    ("f16", "rne", "propagate"): (False, False),
    ("f16", "rz", "ieee"): (False, False),
    ("f16", "ru", "ieee"): (True, False),
    ("f16", "rd", "ieee"): (False, True),
    ("f16", "rto", "ieee"): (False, False),
    ("f16", "rna", "ieee"): (True, True),
    ("e4m3", "rne", "ieee"): (False, False),
}


def counter_of(factors: str, fmt: str, rounding: str, overflow: str) -> Counter:
    unit = odd_unit("partial", factors, "none", window(20), fmt, 2, rounding=rounding, overflow=overflow)
    return Counter(plan.__wrapped__(unit))


def unreachable(counter: Counter) -> set[str]:
    return {one.name for one in counter.plan.bins if one.unreachable}


def two_beats(largest: int, one: int, sign: int) -> Case:
    """The largest products of a sign, and then ones."""
    return Case("", (largest | sign << 7,) * 2 + (one,) * 2, (largest,) * 2 + (one,) * 2)


@pytest.mark.parametrize("way", WANT)
def test_bins_of_infinite_partial_sums_are_those_that_there_are(way: tuple[str, str, str]) -> None:
    counter = counter_of("e4m3", *way)
    for sign in (0, 1):
        counter.sample(two_beats(0x7E, 0x38, sign))
    assert counter.contradicted() == []
    for name, there in zip((PLUS, MINUS), WANT[way], strict=True):
        assert (name not in unreachable(counter)) == there == (counter.counts[name] > 0)


@pytest.mark.parametrize(
    ("rounding", "overflow", "there"),
    [
        ("rne", "nan", True),
        ("rne", "ieee", True),
        ("ru", "ieee", True),
        ("rz", "ieee", False),
        ("rne", "saturate", False),
        ("rne", "propagate", False),
    ],
)
def test_numbers_alone_make_nan_by_an_overflow(rounding: str, overflow: str, there: bool) -> None:
    counter = counter_of("hfp8-e4m3", "e4m3", rounding, overflow)  # every code of it is a number
    for sign in (0, 1):
        counter.sample(two_beats(0x7F, 0x58, sign))
    assert counter.contradicted() == []
    assert (NAN not in unreachable(counter)) == there == (counter.counts[NAN] > 0)


def test_infinite_factors_reach_the_next_group_unless_they_saturate() -> None:
    for overflow, there in (("propagate", True), ("saturate", False)):
        counter = counter_of("e5m2", "f16", "rne", overflow)
        counter.sample(two_beats(0x7C, 0x3C, 0))
        assert counter.contradicted() == []
        assert (PLUS not in unreachable(counter)) == there == (counter.counts[PLUS] > 0)


FINITE = {"overflow": "saturate", "chain": "none"}
# Sums of products that are small beside the largest number, which an infinite one becomes, and the rounding that it
# takes further.
TOO_LARGE = {
    "tree": (odd_unit("tree", "e5m2", "none", chained("pairwise", "f32", overflow="saturate"), "f32", 4, **FINITE),
             "addition", (0x7C, 0, 0x7C, 0), 0),
    "chain": (
        odd_unit("chain", "e5m2", "none", chained("sequential", "f32", product="rounded", overflow="saturate"), "f32",
                 2, **FINITE),
        "addition", (0x7C, 0x7C), 0,
    ),
    "late": (odd_unit("late", "e5m2", "f32", window(9), "f32", 2, **FINITE, **late("f32", "rne")),
             "late addition", (0x7C, 0), 0x7F7FFFFF),
}  # fmt: skip


@pytest.mark.parametrize("name", TOO_LARGE)
def test_infinite_products_that_become_the_largest_number_overflow_together(name: str) -> None:
    unit, place, a, c = TOO_LARGE[name]
    counter = Counter(plan(unit))
    counter.sample(Case("", a, (0x3C,) * len(a), c))
    assert counter.contradicted() == []
    assert counter.counts[f"{place} overflows"]


BITS, WINDOW = 6, 3  # three bits of each term are below the window


@pytest.fixture(params=get_args(Lost))
def lost(request: pytest.FixtureRequest) -> Lost:
    """Every rule that a specification can name."""
    rule: Lost = request.param
    return rule


def aligned(sign: int, sig: int, lost: Lost, top: int = 0) -> int:
    return align(Term(sign, 0, sig, BITS, Class.NORMAL), top, WINDOW, lost)


def test_lost_bits_change_what_is_kept(lost: Lost) -> None:
    sigs = [(sign, sig) for sign in (0, 1) for sig in range(1 << BITS, 2 << BITS)]
    changed = any(aligned(sign, sig, lost) != aligned(sign, sig & ~7, lost) for sign, sig in sigs)
    assert changed == changes_what_is_kept(lost)


def test_a_term_far_below_leaves_nothing(lost: Lost) -> None:
    """Of less than half of the window's last place, in both signs."""
    far = [aligned(sign, sig, lost, top=6) for sign in (0, 1) for sig in (1 << BITS, (2 << BITS) - 1)]
    assert any(far) != drops_what_is_far_below(lost)


def test_a_term_without_bits_below_is_kept_as_it_is(lost: Lost) -> None:
    exact = [(sign, kept) for sign in (0, 1) for kept in range(8, 16)]
    same = all(aligned(sign, kept << 3, lost) == (-kept if sign else kept) for sign, kept in exact)
    assert same == keeps_what_fits(lost)


def test_magnitudes_are_those_of_the_window(lost: Lost) -> None:
    for sign in (0, 1):
        for sig in range(1 << BITS, 2 << BITS):
            assert in_window(lost, sign, sig, BITS, WINDOW) == abs(aligned(sign, sig, lost))


def short_unit(
    a: str,
    b: str,
    lanes: int,
    bits: int,
    lost: str,
    *,
    result: str = "f32",
    rounding: str = "rne",
    overflow: str = "infinity",
    addend: str | None = None,
) -> Unit:
    return Unit.model_validate({
        "unit": "short",
        "operands": {"a": a, "b": b, "addend": addend},
        "instruction": {"k": lanes, "lanes": lanes, "chain": "none" if addend is None else "addend"},
        "sum": {"method": "aligned", "fraction_bits": bits, "lost": lost},
        "result": {"format": result, "rounding": rounding, "overflow": overflow},
    })  # fmt: skip


def largest(unit: Unit, sign: int) -> Case:
    """The largest product of a sign in all lanes."""
    a, b = (fmt.max_magnitude << fmt.padding for fmt in (unit.operands.a, unit.operands.b))
    a |= sign * unit.operands.a.sign_bit << unit.operands.a.padding
    lanes = unit.instruction.lanes
    return Case("", (a,) * lanes, (b,) * lanes)


def counted(unit: Unit, *cases: Case) -> Counter:
    counter = Counter(plan.__wrapped__(unit))
    for case in cases:
        counter.sample(case)
    assert counter.contradicted() == []
    return counter


def test_a_bit_of_window_rounds_the_largest_products_up_to_a_power_of_two():
    """e3m4: 1.9375^2 = 3.75390625, which rna keeps as 4.0 in one bit: 32 of them are 2^7 times their exponent."""
    counter = counted(unit := short_unit("e3m4", "e3m4", 32, 1, "rna", overflow="nan"), largest(unit, 0))
    assert counter.counts["leading one 7 above max_exp, +"] == 1
    assert counter.counts["the least + sum with the highest bit"] == 1


def test_no_bit_of_window_floors_a_negative_product_to_a_power_of_two():
    """e3m2 x e5m2: -1.75^2 = -3.0625 is floored to -4, and 3.0625 to 3: only negative sums grow by 2."""
    unit = short_unit("e3m2", "e5m2", 1, 0, "floor")
    a, b = 1 << 2 | 3, 15 << 2 | 3
    counter = counted(unit, Case("", (a,), (b,)), Case("", (a | 1 << 5,), (b,)))
    assert counter.counts["leading one 2 above max_exp, -"] == 1
    assert "leading one 2 above max_exp, +" not in counter.counts


def test_a_partial_sum_has_more_bits_than_c():
    unit = short_unit("e2m1", "e2m1", 1, 2, "truncate", addend="e5m2", result="f16", overflow="infinity")
    cases = list(random_cases(unit, 200, 1))
    assert counted(unit, *cases).cases == len(cases)


@pytest.mark.slow
@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("seed", range(4))
def test_any_case_has_its_bins_in_a_short_window(lost, seed):
    """Random codes of random units with windows of 0 to 5 bits: each case is counted, and no proof is wrong."""
    random = Random(f"{lost}{seed}")
    factors = ("e2m1", "e2m3", "e3m2", "e3m4", "e4m3", "e5m2")
    a, b = random.choice(factors), random.choice(factors)
    addend, result = random.choice([(None, "f16"), ("f16", "f16"), ("bf16", "f32")])
    lanes, bits = random.choice([1, 2, 3, 4, 7, 8]), random.randrange(6)
    unit = short_unit(a, b, lanes, bits, lost, addend=addend, result=result, overflow="infinity")
    operands = unit.operands
    codes = [[c for c in range(1 << f.bits) if is_finite(f, c)] for f in (operands.a, operands.b)]
    cases = [largest(unit, 0), largest(unit, 1)]
    for _ in range(150):
        # Few codes to a case, so that products are alike and sums large.
        some = [random.sample(each, random.choice([1, 2, 8])) for each in codes]
        x, y = (tuple(random.choice(each) for _ in range(lanes)) for each in some)
        c = random.randrange(1 << operands.addend.container_bits) if operands.addend else 0
        cases.append(Case("", x, y, c))
    assert counted(unit, *cases).cases == len(cases)


def test_results_of_a_format_whose_codes_end_below_twice_its_bias_are_covered() -> None:
    keys = {
        "unit": "fnuz",
        "operands": {"a": "e2m1", "b": "e2m1", "addend": "f16"},
        "instruction": {"k": 2, "lanes": 2},
        "sum": {"method": "aligned", "fraction_bits": 6, "lost": "truncate"},
        "result": {"format": "e4m3fnuz", "rounding": "rz", "overflow": "saturate"},
    }
    counts = covered(Unit.model_validate(keys), 1).counter.counts
    assert min(counts[f"result {name}"] for name in ("+1", "+the largest", "-the largest")) > 0


DECIDES = "decides the rounding"


def sticky_unit(rounding: str, lost: str = "sticky", addend: str = "f32") -> Unit:
    return odd_unit(f"{lost}-{rounding}-{addend}", "e4m3", addend, window(13, lost), "f16", 3, rounding=rounding)


def names(unit: Unit) -> list[str]:
    return [one.name for one in plan(unit).bins if DECIDES in one.name]


@pytest.mark.slow
@pytest.mark.parametrize(("rounding", "signs"), [("rne", "+-"), ("rto", "+-"), ("ru", "+"), ("rd", "-")])
@pytest.mark.parametrize("addend", ["f32", "none"])
def test_covering_cases_have_every_decision(rounding: str, signs: str, addend: str) -> None:
    unit = sticky_unit(rounding, addend=addend)
    kinds = ["a product", "the addend"]  # without c that is the partial sum
    wanted = {
        f"a 1 that {low} {kind} lost alone {DECIDES} of a {sign} sum"
        for low in "+-"
        for kind in kinds
        for sign in signs
    }
    deep = {name for name in names(unit) if "below the window" in name}
    assert {*names(unit)} - deep == wanted | {f"a 1 that lane {lane} lost alone {DECIDES}" for lane in range(3)}
    # From 2^8 * 2^8 to 2^-9 * 2^-9: products of powers of two are up to 34 places apart, of which the window has 13.
    assert len(deep) > 8
    found = covered(unit, 1)
    assert not [one.name for one in found.open if DECIDES in one.name]
    assert not found.counter.contradicted()


@pytest.mark.parametrize("rounding", ["rz", "rna"])
def test_roundings_that_see_no_bit_below_have_no_such_bins(rounding: str) -> None:
    unit = sticky_unit(rounding)
    assert not names(unit) and not [case.id for case in directed(unit, 1) if case.id.startswith("sticky/")]


def test_other_rules_have_no_such_bins() -> None:
    assert not names(sticky_unit("rne", "truncate"))


@pytest.mark.parametrize("rounding", ["rne", "rto", "ru", "rd"])
def test_directed_cases_tell_designs_without_it(rounding: str) -> None:
    unit, designs = (
        sticky_unit(rounding),
        [Definition(sticky_unit(rounding, lost)) for lost in ("truncate", "jam", "floor", "ceil")],
    )
    cases = [one for one in directed(unit, 1) if one.id.startswith("sticky/")]
    model = Definition(unit)
    for design in designs:
        assert sum(code(design, case) != code(model, case) for case in cases) >= 3


def code(definition: Definition, case: Case) -> int:
    return definition.dot(case.a, case.b, case.c).code


ROUNDINGS: tuple[Rounding, ...] = ("rne", "rna", "rz", "ru", "rd", "rto")


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_a_rounding_tells_as_the_model_does(rounding: Rounding) -> None:
    rounded = Definition(sticky_unit(rounding)).round
    for sign in (0, 1):
        totals = [-total if sign else total for total in range(1 << 12, 1 << 14)]
        changed = any(rounded(total, 0, True).code != rounded(total, 0, False).code for total in totals)
        assert changed == sticky.tells(rounding, sign)
