"""The exported header returns what the model returns: every stage, of every preset and of odd units of every rule."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from built_presets import one_of_each, others_slow
from c.export_library import C99, CPP17, Library, syntax
from c.export_stages import differences
from model.model_units import NAMES, Case, cases, run
from odd_units import unit
from unit_keys import chained, exact_blocks, late, odd_unit, scaled

from hwsim.compute.c import HEADER, UnitInC, render, supports
from hwsim.cosim.fuzz.draw import drawn_unit
from hwsim.cosim.fuzz.hardware import tiled_cases
from hwsim.spec import Unit, as_yaml, load_unit, presets

PROFILES = 7  # of random operands
# One unit of each method, each kind of scale and of late addend, and each width of integer.
FEW = (
    "hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32", "deepseek-v3-e4m3-f32-scaled", "blackwell-mma-e4m3-f16",
    "blackwell-mxf4nvf4-e2m1-f32", "cdna3-mfma-e4m3fnuz-f32", "cdna2-mfma-bf16-f32", "hfp8-forward-e4m3-dlfloat16",
    "exact-e4m3-f32", "intel-amx-e5m2-f32", "int8-i32", "wide",
)  # fmt: skip
ALWAYS = {*FEW, "sticky-short", "cut-late"}
MARKED = [
    name if name in ALWAYS else pytest.param(name, marks=pytest.mark.slow) for name in NAMES if supports(unit(name))
]


def assert_equal(library: Library, given: list[Case], want: list[int]) -> None:
    """Results and stages are the model's."""
    for case, code in zip(given, want, strict=True):
        got = library.dots([case.a], [case.b], [case.c], [case.scale_a], [case.scale_b])
        assert got == [code], f"{library.unit.name}: {case}"
        assert differences(library, case) == [], case


@pytest.mark.quick(cases=4)
@pytest.mark.parametrize("name", MARKED)
def test_every_stage_is_the_models(name: str, tmp_path: Path) -> None:
    # Half of the units are built as C and half as C++; the other compiler takes the header too.
    ways = [("gcc", C99), ("g++", CPP17)]
    if NAMES.index(name) // 2 % 2:
        ways.reverse()
    given = list(cases(name, 3 * PROFILES, seed=1))
    library = Library(unit(name), tmp_path, ways[0][0], ("-O0", *ways[0][1]))
    assert_equal(library, given, run(name, given))
    syntax(library.header, ways[1][0], *ways[1][1], "-Wconversion", "-Wshadow", "-Wundef", "-Wcast-qual")


def body(name: str) -> str:
    """What of a header compilers see, without the unit's name."""
    plan = UnitInC(load_unit(name), "0.0.0")
    text = re.sub(r"/\*.*?\*/", "", render(HEADER, plan), flags=re.DOTALL)
    text = re.sub(rf"\b{plan.prefix}(?=_)", "name", re.sub(rf"\b{plan.prefix.upper()}(?=_)", "NAME", text))
    return " ".join(text.split())


@pytest.mark.slow
def test_presets_of_one_arithmetic_have_one_header() -> None:
    # Of each, the test above builds one.
    have = [name for name in presets() if supports(load_unit(name))]
    assert {name for name in presets() if name not in have} == {name for name in presets() if "-f64-" in name}
    bodies = {body(name): name for name in have}
    assert len(bodies) == len(one_of_each(have))
    assert {body(name) for name in NAMES if name in have} == set(bodies)


@pytest.mark.parametrize("name", others_slow(FEW, FEW[::4]))
def test_clang_makes_the_same_of_it(name: str, clang: None, tmp_path: Path) -> None:
    given = list(cases(name, PROFILES, seed=2))
    library = Library(unit(name), tmp_path, "clang", ("-O2", *C99))
    assert_equal(library, given, run(name, given))
    syntax(library.header, "clang++", *CPP17, "-Wconversion", "-Wshadow")


def assert_stages_are_equal(one: Unit, seed: int, folder: Path) -> None:
    library = Library(one, folder, flags=("-O0", *C99))
    for case in tiled_cases(one, 1, seed).tile(0):
        given = Case(*map(list, (case.a, case.b)), case.c, *map(list, (case.scale_a, case.scale_b)))
        assert differences(library, given) == [], f"{as_yaml(one)}\n{case}"


PAIRS = {"lanes": 2, "method": "exact"}
CANCELLED = {"lanes": 2, "method": "exact", "cancelled": "count"}
DRAWN = {
    "nothing-is-cut": odd_unit(
        "nothing-is-cut", "e2m1", "f16", exact_blocks(1), "e5m2", **late("f16", "rne"),
        **scaled("subgroup", ("ue4m3", 1), ("ue4m3", 8)),
    ),
    "no-exponent-to-count": odd_unit(
        "no-exponent-to-count", "e2m1", "f16", chained("sequential", "f16", subgroup=CANCELLED), "f16",
    ),
    # Exact sums that no term of C holds, which rounded additions begin with.
    "tree-of-wide-parts": odd_unit(
        "tree-of-wide-parts", "bf16", "f32", chained("pairwise", "f32", "rne", subgroup=PAIRS), "f32", 6,
    ),
    "chain-of-wide-parts": odd_unit(
        "chain-of-wide-parts", "f16", "f16", chained("sequential", "f16", "rd", subgroup=PAIRS), "f16", 4,
    ),
    "rounded-wide-parts": odd_unit(
        "rounded-wide-parts", ("bf16", "e5m2"), "none", chained("pairwise", "bf16", "rne", "rounded", subgroup=PAIRS),
        "bf16", 6,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", others_slow(DRAWN, [*DRAWN][:2]))
def test_stages_of_what_drawn_units_found(name: str, tmp_path: Path) -> None:
    assert_stages_are_equal(DRAWN[name], 1, tmp_path)


def assert_drawn_units_are_equal(count: int, seed: int, folder: Path) -> None:
    """All stages; `hwsim fuzz` compares results."""
    drawn = (drawn_unit(seed, number).unit for number in itertools.count())
    for index, one in enumerate(itertools.islice((one for one in drawn if supports(one)), count)):
        assert_stages_are_equal(one, seed, folder / str(index))


def test_units_drawn_from_the_whole_schema(tmp_path: Path) -> None:
    assert_drawn_units_are_equal(8, 1, tmp_path)


@pytest.mark.slow
def test_many_units_drawn_from_the_whole_schema(tmp_path: Path) -> None:
    assert_drawn_units_are_equal(200, 2, tmp_path)
