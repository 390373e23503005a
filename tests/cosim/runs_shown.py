"""Small runs of `cosim`, `cosim --dut` and `check`, right and wrong, and all that each of them put out."""

from __future__ import annotations

import contextlib
import hashlib
import io
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from computed_once import computed_once
from cosim.dut_files import DESIGNS, variant
from cosim.small_runs import mutant, shrink, small_suites
from odd_units import unit

from hwsim.cases.bins.covering import directed
from hwsim.cases.random_cases import random_cases
from hwsim.cli import main
from hwsim.cosim import run as running
from hwsim.cosim import suites as planning
from hwsim.cosim.design import BUSY, Suite, SuiteKind
from hwsim.cosim.suites import Planner
from hwsim.spec import as_yaml

FAULT = "zeroed output"
RIGHT, WRONG = ("cosim", "dut", "check"), ("cosim-wrong", "dut-wrong", "check-wrong")


@dataclass(frozen=True)
class Shown:
    """What a run put out. terminal: its standard output. files: what it was given and what it left, by their paths."""

    name: str
    status: int
    terminal: str
    files: dict[str, bytes]

    def put(self, folder: Path) -> Path:
        """The files, in a folder; the folder."""
        for name, data in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        return folder


def shown(name: str) -> Shown:
    """The run of a name; its reports are in the folder of that name."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(DESIGNS.iterdir()))).hexdigest()
    return _shown(name, digest)


@computed_once()
def _shown(name: str, designs: str) -> Shown:
    """designs: a digest of the files of designs, on which a run of a user's depends."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        kind, _, wrong = name.partition("-")
        run = {"cosim": cosim_run, "dut": dut_run, "check": check_run}[kind]
        status, terminal = run(name, wrong == "wrong")
        kept = [path for path in Path().rglob("*") if path.is_file() and "-icarus" not in str(path)]
        return Shown(name, status, terminal, {str(path): path.read_bytes() for path in kept})


def called(*arguments: str) -> tuple[int, str]:
    """A command's status and its standard output."""
    out, before = io.StringIO(), signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "300")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            status = main(list(arguments))
    signal.signal(signal.SIGTERM, before)
    return status, out.getvalue()


def cosim_run(name: str, wrong: bool) -> tuple[int, str]:
    """Our RTL of a small unit, with tables, on Icarus; with a fault in it, if it is to be wrong."""
    Path("tiny.yaml").write_text(as_yaml(unit("tiny")))
    arguments = ["cosim", "./tiny.yaml", "--sim", "icarus", "--seed", "5", "--cases", "8", "-o", name]
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        shrink(patch)
        if wrong:
            stack.enter_context(mutant(FAULT).applied())
        return called(*arguments)


def dut_run(name: str, wrong: bool) -> tuple[int, str]:
    """A user's design that rounds lost bits down, or does not."""
    folder = Path("mine")
    folder.mkdir()
    for source in DESIGNS.iterdir():
        (folder / source.name).write_bytes(source.read_bytes())
    variant(folder, "comb", parameters={"WRONG": 2 * wrong}, unit="dot4.yaml", sources=["dot4_comb.v", "dot4_core.v"])
    with pytest.MonkeyPatch.context() as patch:
        small_suites(patch)
        few_pairs(patch)
        return called("cosim", "--dut", "mine/dut.yaml", "--sim", "icarus", "--seed", "1", "--cases", "60", "-o", name)


def few_pairs(patch: pytest.MonkeyPatch) -> None:
    """Every 512th pair of codes."""
    patch.setattr(planning, "PAIR_STEP", dict.fromkeys(planning.PAIR_STEP, 512))


def check_run(name: str, wrong: bool) -> tuple[int, str]:
    """A small vector set; if it is to be wrong, every ninth result is in its last place."""
    Path("tiny.yaml").write_text(as_yaml(unit("tiny")))
    called("vectors", "./tiny.yaml", "-o", "set")
    codes = [int(code, 16) for code in Path("set/expected.hex").read_text().split()]
    lines = [f"{code ^ (wrong and number % 9 == 0):04x}" for number, code in enumerate(codes)]
    Path("results.txt").write_text("\n".join(lines) + "\n")
    return called("check", "set", "results.txt", "--report", name)


def few_cases(patch: pytest.MonkeyPatch) -> None:
    """Small suites, with every fortieth directed case, whose coverage is not counted."""
    small_suites(patch)
    few_pairs(patch)
    for name in ("directed", "covering_or_directed"):
        patch.setattr(planning, name, lambda unit, seed: directed(unit, seed)[::40])
    patch.setattr(running, "design_coverage", lambda *given: [])


def busy_suite(patch: pytest.MonkeyPatch) -> None:
    """A single suite: random cases under gaps and back-pressure, which most faults of a protocol fail."""

    def simulated(planner: Planner, simulator: str, count: int | None) -> Iterator[Suite]:
        cases = random_cases(planner.design.drawn_for, 40, planner.seed)
        yield from planner._taken(SuiteKind.GAPS, lambda: cases, BUSY, shuffled=True)

    patch.setattr(Planner, "simulated", simulated)
