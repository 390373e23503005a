"""Vector sets of sparse units: lines have all factors of b, and metadata; results are of what these select."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from built_presets import others_slow
from cosim.mutants import of_lanes

import hwsim
import hwsim.model
from hwsim.base.errors import InputError
from hwsim.cases.case import multiplied
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.vectors.check import check, judge, stored, stream
from hwsim.cosim.vectors.lines import case_of_words
from hwsim.cosim.vectors.make import made_batches, make
from hwsim.cosim.vectors.plan import Wanted
from hwsim.rtl import top_name, verilog
from hwsim.spec import SparseUnit, load_sparse, pipeline


def sparse(name: str, dense: str, lanes: int, **sparsity: int) -> SparseUnit:
    return load_sparse({"unit": name, "dense": of_lanes(dense, lanes), "sparsity": sparsity})


UNITS = {
    "two-of-four": sparse("two-of-four", "hopper-wgmma-e4m3-f32", 4, keep=2, of=4),
    "pairs": sparse("pairs", "ampere-mma-int4-i32", 8, keep=2, of=4, run=2),
}
CASES = 60


def wanted(name: str, cases: int = CASES, suite: str = "random", formats: tuple[str, ...] | None = None) -> Wanted:
    unit = UNITS[name]
    return Wanted(unit.dense, suite, 1, cases, formats, sparse=unit)


def results_of(name: str, words: list[list[str]]) -> list[int]:
    """What a device returns that reads the columns, and asks the public model."""
    unit, found = UNITS[name], list[int]()
    for row in words:
        case = case_of_words(unit, row)
        code = hwsim.model.dot(unit, [case.a], [case.b], [case.c], metadata=[case.metadata])
        found.append(int(code.view(f"u{code.dtype.itemsize}")[0]))
    return found


@pytest.mark.parametrize("name", others_slow(UNITS, ["pairs"]))
def test_a_set_is_of_what_the_metadata_select(name: str, tmp_path: Path) -> None:
    unit = UNITS[name]
    folder = make(wanted(name), tmp_path / "set").folder
    lines = (folder / "cases.txt").read_text().splitlines()
    assert lines[3] == "# columns id a b metadata c result"
    rows = [line.split() for line in lines if not line.startswith("#")]
    assert [int(row[-1], 16) for row in rows] == results_of(name, [row[:-1] for row in rows])
    known, drawn = stored(folder), random_cases(unit.dense, CASES, 1)
    assert known.written == unit and [known.case(number) for number in range(CASES)] == drawn
    for number in range(0, CASES, 7):
        assert multiplied(unit, case_of_words(unit, rows[number][:-1])) == drawn[number]
    fields = yaml.safe_load((folder / "manifest.yaml").read_text())["files"]["operands.hex"]["fields"]
    lanes, rule = unit.dense.instruction.lanes, unit.sparsity
    assert [fields[name]["count"] for name in ("a", "b", "metadata")] == [
        lanes, rule.whole_of(lanes), lanes // rule.run,
    ]  # fmt: skip
    arrays = np.load(folder / "cases.npz")
    assert arrays["b"].shape[1] == rule.whole_of(lanes) and arrays["metadata"].max() < rule.of
    shown = check(known, [f"{row[-1]}\n" for row in rows], "results")
    assert (shown.wrong, shown.compared, shown.row.unit) == (0, CASES, name)
    wrong = check(known, [f"{(int(row[-1], 16) ^ 1):x}\n" for row in rows], "results")
    assert wrong.wrong == CASES and wrong.first[0].case == drawn[0]


def test_a_longer_set_begins_with_a_shorter_one(tmp_path: Path) -> None:
    short, long = (make(wanted("pairs", cases, formats=("hex",)), tmp_path / f"{cases}").folder for cases in (21, 50))
    for file in ("operands.hex", "expected.hex"):
        assert (long / file).read_text().startswith((short / file).read_text())


def test_a_stream_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(stream(UNITS["pairs"], made_batches(wanted("pairs", 40)))).splitlines()
    sent = [line.split() for line in lines if not line.startswith("#")]
    back = [f"{' '.join(row)} {code:x}" for row, code in zip(sent, results_of("pairs", sent), strict=True)]
    found = judge([*lines[:4], *back], lambda unit: None)
    assert (found.compared, found.wrong, found.named) == (40, 0, UNITS["pairs"])
    swapped = [word.split() for word in back]
    for row in swapped:
        row[3] = row[3][::-1]
    assert judge([*lines[:4], *(" ".join(row) for row in swapped)], lambda unit: None).wrong > 20


def test_no_set_holds_captured_results(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pairs is sparse: `hwsim cosim` plays what GPUs returned"):
        make(wanted("pairs", suite="captured"), tmp_path / "set")


@pytest.mark.slow
@pytest.mark.simulator
def test_the_testbench_replays_our_rtl(icarus: None, tmp_path: Path) -> None:
    unit, place = UNITS["two-of-four"], make(wanted("two-of-four", 200), tmp_path / "set").folder
    (place / f"{top_name(unit)}.sv").write_text(verilog(unit, pipeline(unit)))
    files = ["vectors_pkg.sv", f"{top_name(unit)}.sv", "replay_dut.sv", "replay_tb.sv"]

    def run(*command: str) -> Any:
        return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)

    assert run(str(shutil.which("iverilog")), "-g2012", "-o", "replay", *files).returncode == 0
    assert "PASS: 200 results equal" in run(str(shutil.which("vvp")), "replay", "+stall=40").stdout
