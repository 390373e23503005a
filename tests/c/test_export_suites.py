"""The exported header against every suite that RTL is verified with, and against results captured from GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest
from built_presets import one_of_each, others_slow
from c.export_library import C99, Library
from c.export_suites import assert_equal, plain, results, suites
from representatives import with_every_format

from hwsim.cases.captured import CAPTURES, captured_cases
from hwsim.compute.c import supports
from hwsim.spec import Unit, load_unit, presets

# A window, scales in products.
FEW = ("hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32")
SHOWN = one_of_each(list(CAPTURES))
SHOWN_FEW = ("volta-mma-f16-f16", "ada-mma-e5m2-f16", "hopper-wgmma-e4m3-f32", "blackwell-mma-e4m3-f32")


@pytest.mark.parametrize("name", FEW)
def test_suites(name: str, tmp_path: Path) -> None:
    library = Library(load_unit(name), tmp_path)
    played = [suite for suite, cases in suites(library.unit, 100, 16) if not assert_equal(library, suite, cases, 40)]
    assert played == ["directed", "random", "matrices", "pairs"]


def in_whole_blocks(unit: Unit) -> bool:
    """Whether cases of any number of instructions have whole blocks of scales, as the header and the model ask."""
    return unit.scale is None or all(unit.instruction.k % unit.scale.length(side) == 0 for side in ("a", "b"))


UNITS = {name: load_unit(name) for name in one_of_each(presets())}
EACH = sorted(name for name, unit in UNITS.items() if supports(unit) and in_whole_blocks(unit))


@pytest.mark.parametrize("name", others_slow(EACH, [], with_every_format(EACH)))
def test_every_suite_whole(name: str, tmp_path: Path) -> None:
    library = Library(load_unit(name), tmp_path, flags=("-O2", *C99))
    for suite, cases in suites(library.unit, 1000, 1):
        assert_equal(library, suite, cases, 20)


@pytest.mark.parametrize(
    "name", [*SHOWN_FEW, *(pytest.param(name, marks=pytest.mark.slow) for name in SHOWN if name not in SHOWN_FEW)]
)
def test_captured_results(name: str, silicon: Path, tmp_path: Path) -> None:
    known = captured_cases(load_unit(name), silicon)
    got = results(Library(load_unit(name), tmp_path), plain([case for case, _ in known]))
    assert got == [code for _, code in known]
    assert len(known) % 1000 == 0 < len(known)
