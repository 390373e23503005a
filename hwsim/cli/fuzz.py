"""`hwsim fuzz`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import lcm
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hwsim.base.errors import InputError
from hwsim.base.processes import scratch_folder
from hwsim.base.text import counted
from hwsim.cli.app import app
from hwsim.cli.output import TellAsJson, print_table, say
from hwsim.cli.progress import Progress, played

if TYPE_CHECKING:
    from hwsim.cosim.fuzz.draw import DrawnUnit
    from hwsim.cosim.fuzz.findings import KeptFinding
    from hwsim.cosim.fuzz.run import FuzzedUnit
    from hwsim.cosim.fuzz.trial import Ask, Side, SideMismatch

SHOWN = 12  # values of a key, and reasons, that are shown
MUTANTS, MUTANT_SECONDS = 4, 1.0  # of a random unit


@app.command()
def fuzz(
    units: Annotated[int, typer.Option("--units", min=1, max=1_000_000, help="How many units.")] = 20,
    cases: Annotated[int, typer.Option("--cases", min=1, max=1_000_000, help="Of each unit, at least.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Of units and operands.")] = 1,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FOLDER", help="For findings, and to go on after an interruption."),
    ] = None,
    first: Annotated[int, typer.Option("--first", min=0, max=10_000_000, help="The number of the first unit.")] = 0,
    engines: Annotated[
        bool, typer.Option("--engines", help="Matrix engines of small units instead; --cases is of no use to them.")
    ] = False,
    again: Annotated[
        Path | None, typer.Option("--again", metavar="FILE", help="Try a finding of an earlier run again, instead.")
    ] = None,
    as_json: TellAsJson = False,
) -> None:
    """Draw units at random over the whole language of specifications, and compare all implementations of each.

    \b
    hwsim fuzz                                        20 units of 1,000 cases each, about a minute
    hwsim fuzz --units 500 --seed 7 -o found/         many; the same command again goes on where it was interrupted
    hwsim fuzz --first 240 --units 20 --seed 7        those of seed 7 from number 240 on, as a campaign has them
    hwsim fuzz --again found/12-RTL.yaml              a finding, once more
    hwsim fuzz --engines --units 300 -o found/        matrix engines (hwsim docs engine), each on both simulators

    \b
    kernels: compiled code, against the model in Python for some cases; all others are compared with it.
    Of a unit that neither kernels nor C have there are a fortieth of the cases, or 1,000: the model is slow.
    own kernel: what is compiled for this unit alone (some units). C: what `hwsim export-c` writes, compiled.
    clock: the cycle-level model. RTL: in Verilator, every cycle under gaps and back-pressure. Icarus: some units.
    Some units are put through commands, in small: vectors (made, checked, and checked with one result changed),
    export-c (its example, compiled), study, qualify, and modes (a unit of two modes, in Verilator).
    What an implementation does not have it must refuse by name; anything that it raises later is a finding.
    Findings are made simpler, in the specification and in the operands, before they are written.
    An engine is played its suites in small, every port in every cycle; a finding is an engine's file, the smallest
    that fails so, too, for `hwsim engine FILE --cosim`.
    Exit status 1: something differs.
    """
    if again is not None:
        _again(again)
        return
    from hwsim.cosim.engine.fuzz import SIMULATORS, fuzzed_engine
    from hwsim.cosim.fuzz.run import FuzzPlan, run

    what = "engine" if engines else "unit"
    plan = FuzzPlan(units, cases, seed, output, first=first, handed=handed())
    if engines:
        plan = replace(plan, cases=0, sides=frozenset(SIMULATORS), every={})

    def all_units(progress: Progress) -> list[FuzzedUnit]:
        progress.plan(units, f"{what}s")

        def tell(unit: FuzzedUnit) -> None:
            for side, message, file in unit.found:
                say(
                    f"{what} {unit.number}: {side}: {message[:300]}" + (f"; see {output}/{file}" if file else ""), "red"
                )

        return run(plan, tell, progress.advance, fuzzed_engine if engines else None)

    done = played(f"{what}s", all_units, f"a simulator did not accept the Verilog of one of the {what}s", 1)
    _tell(done, plan.cases, seed, what)
    if any(unit.found for unit in done):
        raise typer.Exit(1)


def _tell(done: Sequence[FuzzedUnit], cases: int, seed: int, what: str) -> None:
    from hwsim.cosim.fuzz.draw import counted_settings
    from hwsim.cosim.fuzz.run import UNPLAYED, reasons, unplayed

    drawn = counted_settings(unit.settings for unit in done)
    print_table(["key", "drawn"], [[path, _most(values)] for path, values in drawn.items()])
    say()
    sides = Counter({side: 0 for unit in done for side in unit.cases})
    for unit in done:
        sides.update(unit.cases)
    units_of = Counter(side for unit in done for side in unit.cases)
    wrong = Counter(side for unit in done for side, _, _ in unit.found)
    lacking = Counter(side for unit in done for side in unit.lacks)
    rows = [
        [side, f"{units_of[side]:,}", f"{sides[side]:,}", f"{lacking[side]:,}", f"{wrong[side]:,}"]
        for side in dict.fromkeys([*sides, *wrong])
    ]
    print_table(["side", f"{what}s", "results", "refused", "wrong"], rows, right=range(1, 5))
    for side, counts in reasons(done).items():
        say(f"refused by {side}: {_most(counts)}")
    if fewer := unplayed(cases, done):
        say(f"not played by RTL: {counted(fewer, 'case')} of {UNPLAYED}")
    findings = sum(len(unit.found) for unit in done)
    verdict = "all equal" if not findings else counted(findings, "finding")
    say(f"{verdict}: {counted(len(done), what)}, {counted(sides.total(), 'result')} compared, seed {seed}")


def _most(values: Counter[str]) -> str:
    shown = [f"{value} {count:,}" for value, count in values.most_common(SHOWN)]
    rest = len(values) - len(shown)
    return ", ".join([*shown, *([f"and {rest:,} more"] if rest > 0 else [])])


def _again(path: Path) -> None:
    from hwsim.cosim.fuzz.findings import load_finding
    from hwsim.spec.engine import is_engine_file

    if is_engine_file(str(path)):
        raise InputError(f"{path} is an engine: hwsim engine {path} --cosim plays it")
    finding = load_finding(path)
    mismatches = played("cases", lambda _: _tried(finding), "a simulator did not accept the Verilog of the unit", 1)
    for mismatch in mismatches:
        say(f"{mismatch.side}: {mismatch.said}", "red")
        if mismatch.case is not None and mismatch.expected is not None and mismatch.got is not None:
            say(f"  {mismatch.case.id}: expected {mismatch.expected:#x}, got {mismatch.got:#x}")
    say(f"{finding.drawn.unit.name}: {counted(len(mismatches), 'finding') if mismatches else 'all equal'}")
    if mismatches:
        raise typer.Exit(1)


def _tried(finding: KeptFinding) -> list[SideMismatch]:
    from hwsim.cosim.fuzz.run import tried_again

    return tried_again(finding, handed())


def handed() -> dict[Side, Ask]:
    """Sides of random units that are commands above co-simulation."""
    return {"study": studied, "qualify": qualified}


def studied(drawn: DrawnUnit) -> Iterator[str]:
    """Yield what is wrong with a study of two lengths.

    Compiled code and definition are compared by it, and every trial has its row.
    """
    from hwsim.cosim.fuzz.hardware import least_terms
    from hwsim.spec import as_yaml
    from hwsim.study.plan import load_study
    from hwsim.study.results import run

    with scratch_folder() as folder:
        (folder / "unit.yaml").write_text(as_yaml(drawn.unit), encoding="utf-8")
        k = lcm(drawn.unit.instruction.k, least_terms(drawn.unit))
        keys: dict[str, Any] = {
            "study": "fuzz", "units": ["unit.yaml"], "data": ["normal"], "rows": 3, "columns": 2, "trials": 2,
            "lengths": [k] if drawn.unit.instruction.chain is None else [k, 3 * k], "seed": drawn.seed,
        }  # fmt: skip
        rows = run(load_study(keys, folder), folder / "results").rows.num_rows
        if rows != 2 * len(keys["lengths"]):
            yield f"{rows} rows of {2 * len(keys['lengths'])} trials"


def qualified(drawn: DrawnUnit) -> Iterator[str]:
    """Yield a line where a few mutants of a unit's circuits do not each have a fate."""
    from hwsim.prove.qualify.run import Qualifier

    report = Qualifier(drawn.unit, drawn.pipeline.cuts, drawn.seed, MUTANT_SECONDS).qualify(MUTANTS)
    if len(report.rows) != min(MUTANTS, report.of):
        yield f"{len(report.rows)} of {report.of} mutants have a fate, not {MUTANTS}"
