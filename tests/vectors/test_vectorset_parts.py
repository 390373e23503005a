"""Parts of sets: products of which every bit shows, what a smoke set finds, parts of any unit, or refused by name."""

from __future__ import annotations

import contextlib
from collections import Counter

import pytest
import yaml
from bins.covering_kept import covering_once
from built_presets import others_slow
from random_units.random_unit_files import SMALL
from vectors.vectorset_units import changed, made, products_of, smoke_cases, unit_of

from hwsim.base.errors import InputError
from hwsim.cases.bins.plan import Counter as Coverage
from hwsim.cases.bins.plan import plan as coverage_plan
from hwsim.cases.case import term_scales
from hwsim.cosim.fuzz.draw import Size, drawn_unit
from hwsim.cosim.vectors.plan import plan
from hwsim.formats import Class
from hwsim.model.definition import Definition
from hwsim.spec import Unit, load_unit


@pytest.mark.parametrize(
    "name",
    ["tiny", "exact-mx-ordered", "mxfp4-e2m1-f32", pytest.param("hopper-wgmma-e4m3-f32", marks=pytest.mark.slow)],
)
def test_every_pair_of_codes_stands_in_one_case(name):
    unit = unit_of(name)
    seen = Counter()
    for case in products_of(name):
        pairs = [pair for pair in zip(case.a, case.b, strict=True) if pair != (0, 0)]
        seen.update(pairs or [(0, 0)])
    bits = unit.operands.a.container_bits
    missing = {(a, b) for a in range(1 << bits) for b in range(1 << bits)} - {*seen, (0, 0)}
    assert not missing
    assert all(count == 1 for pair, count in seen.items() if pair != (0, 0))


class Wrong(Definition):
    """A unit whose multiplier is wrong at one pair of codes."""

    def __init__(self, unit, pair, bit):
        super().__init__(unit)
        self.pair, self.bit = pair, bit

    def product(self, a, b, scale_exp=0):
        term = super().product(a, b, scale_exp)
        if (a, b) != self.pair:
            return term
        if term.cls in (Class.NAN, Class.INFINITY):
            return term._replace(cls=Class.ZERO, sig=0)
        if self.bit < 0:
            return term._replace(sign=1 - term.sign)
        sig = term.sig ^ 1 << self.bit
        return term._replace(sig=sig, cls=Class.NORMAL if sig else Class.ZERO)


BITS = ["mxfp4-e2m1-f32", "hopper-wgmma-e4m3-f32", "mxfp8-e5m2-f32"]


@pytest.mark.parametrize("name", others_slow(BITS, BITS[:2]))
def test_one_wrong_bit_of_one_product_shows(name):
    unit, right = unit_of(name), Definition(unit_of(name))
    at = {pair: case for case in products_of(name) for pair in zip(case.a, case.b, strict=True)}
    pairs = sorted(pair for pair in at if pair != (0, 0))[:: max(1, len(at) // 40)]
    shown = 0
    for number, pair in enumerate(pairs):
        term = right.product(*pair)
        # The least bit of a product that the window, or the result's range, cuts off cannot show.
        bit = number % (right._fraction_bits + 2) - 1
        if bit < 0 and not term.sig:
            continue
        case = at[pair]
        given = case.a, case.b, case.c, *term_scales(unit, case)
        shown += Wrong(unit, pair, bit).dot(*given).code != right.dot(*given).code
    assert shown >= len(pairs) - 3, (shown, len(pairs))


MUTANTS = {
    "floor for truncate": ("sum", {"lost": "floor"}),
    "one bit less of window": ("sum", {"fraction_bits": 12}),
    "one bit more of window": ("sum", {"fraction_bits": 14}),
    "rounded to nearest": ("result", {"rounding": "rne"}),
    "subnormal factors are zero": ("operands", {"daz": True}),
    "zero terms count": ("sum", {"zero_terms": "count"}),
    "zero sums as IEEE 754": ("sum", {"zero": "ieee"}),
}


@pytest.mark.parametrize("mutant", others_slow(MUTANTS, [*MUTANTS][:3]))
def test_a_smoke_set_finds_broken_designs(mutant):
    unit = unit_of("hopper-wgmma-e4m3-f32")
    part, values = MUTANTS[mutant]
    assert _differ(unit, Definition(changed(unit, part, **values)))


def _differ(unit, broken):
    right = Definition(unit)
    return any(
        broken.dot(case.a, case.b, case.c).code != right.dot(case.a, case.b, case.c).code
        for case in smoke_cases(unit.name)
    )


def test_a_smoke_set_hits_every_bin_of_one_part():
    unit = unit_of("hopper-wgmma-e4m3-f32")
    counter = Coverage(coverage_plan(unit))
    for case in smoke_cases(unit.name):
        counter.sample(case)
    assert [one.name for one in counter.missed() if one.parts == 1] == []


@pytest.mark.parametrize("lane", range(0, 32, 5))
def test_a_smoke_set_finds_a_dropped_lane(lane):
    unit = unit_of("hopper-wgmma-e4m3-f32")

    class Dropped(Definition):
        def multiply(self, lanes, addend):
            return super().multiply(lanes._replace(a=[*lanes.a[:lane], 0, *lanes.a[lane + 1 :]]), addend)

    assert _differ(unit, Dropped(unit))


def _whole(manifest):
    coverage, told = manifest["coverage"], manifest["discrimination"]
    assert coverage["missed"] == []
    assert all(count > 0 for bins in coverage["bins"].values() for count in bins.values())
    assert told["told_apart"] + sum(map(len, told.get("equal", {}).values())) == told["pairs"] == 780
    assert told["by_at_least"] >= 16
    return True


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32", "deepseek-v3-e4m3-f32"])
def test_the_standard_set_of_the_units_that_are_promised(name, tmp_path):
    folder = made(tmp_path / "set", name, suite="standard", cases=None).folder
    assert _whole(yaml.safe_load((folder / "manifest.yaml").read_text()))


def test_what_a_standard_set_begins_with_covers_a_unit_that_is_promised(tmp_path, monkeypatch):
    """The parts that a standard set holds whole: everything but products and random cases."""
    name = "hopper-wgmma-e4m3-f32"
    monkeypatch.setattr("hwsim.cosim.vectors.plan.covering", lambda unit, seed: list(covering_once(unit, seed).cases))
    planned = plan(load_unit(name), "coverage", 1)
    folder = made(tmp_path / "set", name, suite="coverage", cases=None, formats=("hex",)).folder
    manifest = yaml.safe_load((folder / "manifest.yaml").read_text())
    assert manifest["cases"] == len(planned.parts[0].cases) < 10_000
    assert manifest["coverage"]["missed"] == []


@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_units_of_few_lanes_have_coverage_cases(lanes):
    """Chains of 1, 2 and 3 beats, and of as many as there are lanes, which is one of them."""
    unit = changed(unit_of("tiny"), "instruction", k=lanes, lanes=lanes)
    cases = plan(unit, "coverage", 1).parts[0].cases
    assert len(cases) > 100
    assert len({case.id for case in cases}) == len(cases)


# Wide factors, of which every so many-th code; whole numbers; fixed points; groups that interleave; scaled subgroups;
# a chain of additions; even and odd lanes; scales that are floats.
UNITS = [
    "blackwell-mxf4nvf4-e2m1-f32", "volta-mma-f16-f16", "mxint8-f32", "ada-mma-f16-f32", "int8-i32",
    "blackwell-mma-e4m3-f16", "hfp8-forward-e4m3-dlfloat16", "cdna3-mfma-e4m3fnuz-f32", "deepseek-v3-e4m3-f32-scaled",
]  # fmt: skip

# The exponents of the least number and of the largest of results that cannot hold every product.
RANGES = {"f16": (-24, 15), "dlfloat16": (-31, 32)}


@pytest.mark.parametrize("name", others_slow(UNITS, UNITS[:2]))
def test_each_pair_stands_once_and_a_wrong_bit_shows(name):
    unit, right = unit_of(name), Definition(unit_of(name))
    step = {fmt: 1 << max(0, fmt.bits - 8) + fmt.padding for fmt in (unit.operands.a, unit.operands.b)}
    codes = [range(0, 1 << fmt.bits + fmt.padding, step[fmt]) for fmt in (unit.operands.a, unit.operands.b)]
    seen, at = Counter(), {}
    for case in products_of(name):
        pairs = [pair for pair in zip(case.a, case.b, strict=True) if pair != (0, 0)]
        seen.update(pairs)
        at.update(dict.fromkeys(pairs, case))
    assert {*seen, (0, 0)} == {(a, b) for a in codes[0] for b in codes[1]}
    assert set(seen.values()) == {1}
    hidden, shown = [], 0
    for number, pair in enumerate(sorted(at)[:: max(1, len(at) // 60)]):
        term = right.product(*pair)
        least, most = RANGES.get(unit.output.name, (-1000, 1000))
        # From the last bit that this product has, upwards, as far as its first.
        low = (term.sig & -term.sig).bit_length() - 1
        if not term.sig or term.exp - term.fraction_bits + low < least or term.exp + 2 > most:
            continue  # nothing of it, or not all, can be in the result
        bit = low + number % (term.sig.bit_length() - low)
        case = at[pair]
        given = case.a, case.b, case.c, *term_scales(unit, case)
        same = Wrong(unit, pair, bit).dot(*given).code == right.dot(*given).code
        shown += not same
        hidden += [pair] * same
    assert shown > 20, shown
    assert len(hidden) <= 3, hidden


# A promotion's register without a fraction; scales in fixed point; a factor whose largest number is 1; a window of one
# place.
ONCE = (
    ("sensitive", 2034, 13, SMALL), ("gemm", 2034, 50, SMALL), ("sensitive", 2034, 57, None),
    ("sensitive", 2034, 95, SMALL),
)  # fmt: skip


def cases_of(unit: Unit, suite: str) -> int:
    return sum(len(part.cases) for part in plan(unit, suite, 1).parts)


@pytest.mark.parametrize(("suite", "seed", "number", "size"), ONCE)
def test_what_was_found_has_cases(suite: str, seed: int, number: int, size: Size | None) -> None:
    assert cases_of(drawn_unit(seed, number, size).unit, suite) > 50


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 20, 10))
def test_every_part_is_made_or_refused_by_name(first: int) -> None:
    for number in range(first, first + 10):
        unit = drawn_unit(2034, number, SMALL if number % 3 else None).unit
        for suite in ("coverage", "sensitive", "products", "gemm"):
            with contextlib.suppress(InputError):
                cases_of(unit, suite)
