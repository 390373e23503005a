"""Several mistakes in one design: each is named, with a minimal case of its own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cosim.small_runs import small_suites
from faults.seeded import FAULTS

from hwsim.cli import main
from hwsim.cosim import suites as planning

pytestmark = pytest.mark.simulator
CAUSES = "overflow gives the largest", "subnormal results flushed"
TWO = "overflow of sums gives the largest number", "subnormal results flushed"


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A chain of FMAs with two mistakes."""
    first, second = (one for one in FAULTS if one.design == "chain" and one.cause in CAUSES)
    path = first.written(tmp_path)
    source = tmp_path / "chain.v"
    text = source.read_text()
    ((old, new),) = second.edits
    assert text.count(old) == 1
    source.write_text(text.replace(old, new))
    return path


@pytest.mark.slow
def test_two_mistakes_have_a_kind_and_a_minimal_case_each(
    icarus: None, two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small_suites(monkeypatch)
    monkeypatch.setattr(planning, "PAIR_STEP", dict.fromkeys(planning.PAIR_STEP, 256))
    out = tmp_path / "run"
    assert main(["cosim", "--dut", str(two), "--sim", "icarus", "--seed", "1", "--cases", "200", "-o", str(out)]) == 1
    kinds = json.loads((out / "results.json").read_text())["kinds"]
    assert {kind["causes"][0]["name"] for kind in kinds} == set(TWO)
    assert sum(kind["wrong"] for kind in kinds) == kinds[0]["of"]
    printed = capsys.readouterr().out
    for number, kind in enumerate(kinds, 1):
        name = kind["causes"][0]["name"]
        minimal = kind["minimal"]
        assert f"MINIMAL CASE OF KIND {number} OF 2" in printed
        part = f"{kind['wrong']} of {kind['of']}"
        assert re.search(
            rf"explains {part} compared mismatches and agrees with [\d,]+ results that match:\n  {name}: ", printed
        )
        # Of each kind the case is one of its own: an overflow, or a subnormal result.
        expected, got = int(minimal["expected"]["code"], 16), int(minimal["got"]["code"], 16)
        assert (expected & 0x7C00, got & 0x7FFF) == ((0x7C00, 0x7BFF) if name == TWO[0] else (0, 0))
        folder = out / ("minimal" if number == 1 else f"minimal-{number}")
        assert {"case.yaml", "story.txt", "operands.hex", "dump.vcd"} <= {path.name for path in folder.iterdir()}
        assert int((folder / "expected.hex").read_text(), 16) == expected
