"""Faults in designs of six styles are found by the suites, and named by their true causes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from built_presets import others_slow
from cosim.small_runs import small_suites
from faults.judged import judged
from faults.seeded import DESIGNS, FAULTS, FOREIGN, UNSEEN, Fault

from hwsim.cosim import suites as planning
from hwsim.cosim.dutdesign import dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.run import CosimOptions, run

pytestmark = pytest.mark.simulator
STYLES = sorted({fault.design for fault in (*FAULTS, *FOREIGN)})


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer directed cases and pairs of codes."""
    small_suites(monkeypatch)
    monkeypatch.setattr(planning, "PAIR_STEP", dict.fromkeys(planning.PAIR_STEP, 64))


# Of two styles the first fault.
SAMPLE = [next(fault for fault in FAULTS if fault.design == style) for style in ("exact", "window")]
# Of first versions: an output that never changes, and a shift without its sign.
FIRST_VERSIONS = [fault for fault in FOREIGN if fault.cause in ("output never driven", ">> for >>>")]


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize("fault", others_slow(SAMPLE, SAMPLE[1:]), ids=lambda fault: fault.id)
def test_a_fault_of_each_style_is_named(icarus: None, small: None, tmp_path: Path, fault: Fault) -> None:
    found = judged(fault, tmp_path, cases=400)
    assert found.verdict in ("first", "second"), found.diagnosis
    assert not found.others


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_every_fault_is_found_and_none_is_called_something_else(icarus: None, tmp_path: Path, fault: Fault) -> None:
    found = judged(fault, tmp_path)
    assert found.verdict in ("first", "second"), found.diagnosis


@pytest.mark.parametrize("fault", others_slow(FIRST_VERSIONS, FIRST_VERSIONS[1:]), ids=lambda fault: fault.id)
def test_a_fault_of_a_first_version_is_named(icarus: None, small: None, tmp_path: Path, fault: Fault) -> None:
    found = judged(fault, tmp_path, cases=200)
    assert found.verdict == "first", found.diagnosis


@pytest.mark.slow
@pytest.mark.parametrize("fault", FOREIGN, ids=lambda fault: fault.id)
def test_no_fault_of_a_first_version_is_called_something_else(icarus: None, tmp_path: Path, fault: Fault) -> None:
    found = judged(fault, tmp_path)
    allowed = ("first", "second") if fault.bugs else ("described",) if fault.says else ("unnamed",)
    assert found.verdict in allowed, found.diagnosis


@pytest.mark.slow
@pytest.mark.parametrize("fault", UNSEEN, ids=lambda fault: fault.id)
def test_a_fault_without_a_name_is_not_called_something_else(icarus: None, tmp_path: Path, fault: Fault) -> None:
    found = judged(fault, tmp_path)
    assert found.verdict in (("first", "second") if fault.names else ("unnamed",)), found.diagnosis


@pytest.mark.parametrize("style", [pytest.param(style, marks=pytest.mark.slow) for style in STYLES])
def test_a_design_without_a_fault_passes(icarus: None, tmp_path: Path, style: str) -> None:
    design = dut_design(load_dut(DESIGNS / f"{style}.yaml"))
    assert run(CosimOptions((design,), ("icarus",), 1, 1000, folder=tmp_path / "run")).passed


MEASURED = (DESIGNS.parent / "measured.md").read_text()


@pytest.mark.parametrize("fault", [*FAULTS, *FOREIGN, *UNSEEN], ids=lambda fault: fault.id)
def test_the_table_has_every_fault(fault: Fault) -> None:
    (row,) = [line for line in MEASURED.splitlines() if line.startswith(f"| {fault.design} | {fault.cause} |")]
    wrong, verdict, offered = (cell.strip() for cell in row.strip("| ").split(" | ")[2:])
    assert int(wrong.replace(",", "")) > 0
    assert verdict in (("first", "second") if fault.bugs else ("described", "unnamed"))
    for bug in fault.bugs:
        assert any(name in offered for name in bug)


def test_the_page_counts_the_table() -> None:
    page = (DESIGNS.parents[2] / "docs/mistakes.md").read_text()
    for section in MEASURED.split("\n## ")[1:]:
        verdicts = Counter(line.split(" | ")[3] for line in section.splitlines()[4:])
        counts = [verdicts[word] for word in ("first", "second", "described", "unnamed")]
        assert sum(counts) == verdicts.total()
        assert f"| {section.splitlines()[0]} | {' | '.join(map(str, [sum(counts), *counts]))} |" in page
