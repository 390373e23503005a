"""Long runs: presets with every rule and format on both simulators, and many random cases of each shape of a sum.

`make soak`. What runs on both is `hwsim cosim UNIT --cases 250 --seed 7`, without the tables, which are others' tests.
All that are left out are one preset of each arithmetic: the circuits of the others are the same but for a name.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from built_presets import BUILDABLE, DISTINCT, one_of_each, others_slow, same_arithmetic
from representatives import with_every_format, with_every_shape

from hwsim.cosim.run import CosimOptions, run
from hwsim.cosim.unitdesign import unit_design
from hwsim.explain import RunReport, failure_lines
from hwsim.rtl.verilog import top_name, unit_rtlil
from hwsim.spec import load_unit, pipeline

pytestmark = pytest.mark.simulator
SEED = 101
FEW = 250
EACH = one_of_each(BUILDABLE)
SAME = [names for names in same_arithmetic(BUILDABLE) if len(names) > 1]
FIRST = with_every_shape(names[0] for names in SAME)


def circuit(name: str) -> str:
    """What is elaborated of a preset, under a name that all have."""
    unit = load_unit(name)
    return unit_rtlil(unit, pipeline(unit)).replace(top_name(unit), "top")


@pytest.mark.parametrize("names", others_slow(SAME, [], [it for it in SAME if it[0] in FIRST]), ids=lambda it: it[0])
def test_presets_of_one_arithmetic_are_one_circuit(names: list[str]) -> None:
    first, *others = map(circuit, names)
    assert all(other == first for other in others)
    assert names[0] in EACH


def agrees(result: RunReport) -> None:
    failed = [row for row in result.rows if not row.passed]
    assert result.passed, "\n".join(line for row in failed for line in failure_lines(row, result.of(row)))


@pytest.mark.parametrize("name", others_slow(DISTINCT, [], with_every_shape(DISTINCT)))
def test_every_arithmetic_agrees_on_many_cases(verilator: None, tmp_path: Path, name: str) -> None:
    unit = load_unit(name)
    options = CosimOptions(
        (unit_design(unit, pipeline(unit)),),
        simulators=("verilator",),
        seed=SEED,
        cases=20_000,
        folder=tmp_path / "out",
    )
    agrees(run(options))


@pytest.mark.parametrize("name", others_slow(EACH, [], with_every_format(EACH)))
def test_presets_agree_on_both_simulators(verilator: None, icarus: None, tmp_path: Path, name: str) -> None:
    unit = load_unit(name)
    report = run(CosimOptions((unit_design(unit, pipeline(unit)),), seed=7, cases=FEW, folder=tmp_path / "out"))
    agrees(report)
    assert {row.driver for row in report.rows} == {"verilator", "icarus", "verilator, bulk"}
