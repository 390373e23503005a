"""What users ask of a unit beside its results: vectors and their check, C's example, modes; others are handed in.

Each is done as the command does it, in small. What is wrong is yielded in words; what a command refuses by name raises
InputError, and what it raises else is a finding.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import hwsim
from hwsim.base import processes
from hwsim.base.errors import InputError
from hwsim.base.processes import scratch_folder
from hwsim.compute.c import export_c
from hwsim.cosim.fuzz.draw import DrawnUnit, modes_of
from hwsim.cosim.fuzz.hardware import c_compiler
from hwsim.cosim.run import CosimOptions
from hwsim.cosim.run import run as cosim
from hwsim.cosim.unitdesign import modal_design
from hwsim.cosim.vectors.check import check, same, stored
from hwsim.cosim.vectors.make import make
from hwsim.cosim.vectors.plan import Wanted, plan
from hwsim.explain import discrimination, told_from_mistakes
from hwsim.explain.readings import supports
from hwsim.spec import pipeline

CASES, TRIED = 120, 96
Ask = Callable[[DrawnUnit], Iterator[str]]


def vectors(drawn: DrawnUnit) -> Iterator[str]:
    """A set of vectors: its own results pass its check, and with one of them changed it is that one that fails.

    What a longer set has is made too, and left: sensitive cases, matrix products, and some that tell readings apart.
    """
    tell = discrimination if supports(drawn.unit) else told_from_mistakes
    tell(drawn.unit, drawn.seed, limit=TRIED)
    for suite in ("sensitive", "gemm"):
        with contextlib.suppress(InputError):  # what a unit lacks
            plan(drawn.unit, suite, drawn.seed)
    with scratch_folder() as folder:
        known = stored(make(Wanted(drawn.unit, "smoke", drawn.seed, CASES), folder / "set").folder)
        lines = [known.expected[case].decode().strip() for case in range(known.cases)]
        right = check(known, lines, "results.hex")
        if (right.compared, right.wrong) != (known.cases, 0):
            yield f"of its own {known.cases} results {right.compared} are compared and {right.wrong} wrong"
        place = drawn.seed % known.cases
        changed = int(lines[place], 16) ^ 1
        if not same(drawn.unit, int(lines[place], 16), changed):
            lines[place] = f"{changed:0{len(lines[place])}x}"
            found = check(known, lines, "results.hex")
            if found.wrong != 1 or found.report("hwsim check", str(folder / "set" / "unit.yaml")).passed:
                yield f"with the last bit of result {place} changed {found.wrong} results are wrong, not 1"


def exported(drawn: DrawnUnit) -> Iterator[str]:
    """The files of `hwsim export-c`, whose example is compiled and returns what hwsim says."""
    with scratch_folder() as folder:
        for name, text in export_c(drawn.unit, hwsim.__version__).items():
            (folder / name).write_text(text, encoding="utf-8")
        program = str(folder / "example")
        command = [c_compiler(), "-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-o", program]
        log = folder / "log"
        for words in ([*command, str(folder / "example.c")], [program]):
            if status := processes.run(words, log, os.environ, folder):
                yield f"{Path(words[0]).name}, of example.c, ended with {status}: {log.read_text()[-400:]}"
                return


def modal(drawn: DrawnUnit) -> Iterator[str]:
    """A unit of two modes, this unit's factors and others, which change with every beat, in Verilator."""
    unit = modes_of(drawn)
    if unit is None:
        raise InputError("has no modes that make units")
    built = pipeline(unit, None, drawn.pipeline.contexts, register_ready=drawn.pipeline.register_ready)
    with scratch_folder() as folder:
        options = CosimOptions(
            (modal_design(unit, built),), ("verilator",), drawn.seed, CASES, folder=folder / "cosim", coverage=False
        )
        report = cosim(options)
        if not report.passed:
            mismatches = [
                f"{mismatch.suite}: {mismatch.case}: expected {mismatch.expected}, got {mismatch.got}"
                for mismatch in report.mismatches
            ]
            yield "; ".join(mismatches[:2] or list(report.notes[:2]) or ["a suite did not pass"])
