"""`hwsim study`."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.output import note, print_error, print_table, say
from hwsim.cli.progress import Progress, interruptible
from hwsim.cli.study_arguments import as_mapping
from hwsim.cli.study_pareto import write_pareto
from hwsim.cli.study_product import write_product_errors
from hwsim.cli.study_report import draw, show
from hwsim.errors import InputError
from hwsim.formats.catalog import nearest

if TYPE_CHECKING:
    from hwsim.runners import Rows, Runner
    from hwsim.study.parts import StudyInParts
    from hwsim.study.plan import Study
    from hwsim.study.presets import Context
    from hwsim.study.report.contents import StudyReport
    from hwsim.study.results import Results

T = TypeVar("T")
Shown = Callable[[int, int, str], None]
MISMATCH = 1
MOST_LINES = 200  # of a table
MOST_PRESET_SEED = 1_000_000  # so that PyTorch takes the seeds of networks, too
# Of a study's table in a terminal, and their heads.
MEASURES = {
    "accumulation_snr_db": "accumulation SNR dB",
    "accumulation_relative_mean": "relative mean",
    "accumulation_relative_max": "max",
    "accumulation_bias": "bias",
    "swamped": "swamped %",
    "quantization_snr_db": "quantisation SNR dB",
    "total_snr_db": "total SNR dB",
}


class PresetSize(StrEnum):
    """What `--size` takes."""

    TINY = "tiny"
    QUICK = "quick"
    FULL = "full"


@app.command()
def study(
    context: typer.Context,
    file: Annotated[Path | None, typer.Argument(metavar="[STUDY.yaml]", help="A study (hwsim docs study).")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="DIR", help="Where results go.")] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A study that a paper made; an unknown name lists them.",
            autocompletion=complete.studies,
        ),
    ] = None,
    size: Annotated[
        PresetSize, typer.Option(help="Of a preset: seconds, minutes, or as long as it takes.")
    ] = PresetSize.QUICK,
    unit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="UNIT", help="A unit, or the path of its file; several times.", autocompletion=complete.units
        ),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD=V,V", help="A field of the units and its values, A:B for a range; several times."),
    ] = None,
    scaling: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="direct, tensor, channel, block or a rule; NAME:KEY=V,...; several times.",
            autocompletion=complete.scalings,
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A distribution or a tensor's file; NAME:KEY=V,...; several times.",
            autocompletion=complete.distributions,
        ),
    ] = None,
    a: Annotated[
        str | None, typer.Option("--a", metavar="FILE", help="With --b: one product, A (M, K) of numbers in a file.")
    ] = None,
    b: Annotated[str | None, typer.Option("--b", metavar="FILE", help="B (K, N), in the same way.")] = None,
    length: Annotated[str | None, typer.Option(metavar="K,K", help="Lengths of the dot products.")] = None,
    trials: Annotated[int | None, typer.Option(help="Matrix products at each point.")] = None,
    rows: Annotated[int | None, typer.Option(help="Rows of A.")] = None,
    columns: Annotated[int | None, typer.Option(help="Columns of B.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of everything random.")] = None,
    explained: Annotated[int | None, typer.Option(help="Results a trial that are explained: swamped terms.")] = None,
    skip_invalid: Annotated[bool, typer.Option("--skip-invalid", help="Leave out what breaks a unit's rules.")] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; one a core unless given.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="WHERE", help="Dask: local, the address of a cluster, slurm or lsf.")
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="No figures and no page.")] = False,
    pareto: Annotated[
        bool, typer.Option("--pareto", help="Beside each unit's error, its area and speed; a study of its own if none.")
    ] = False,
    stages: Annotated[
        str | None, typer.Option(metavar="4|10|all", help="Of --pareto: registers in the datapath; 4 unless given.")
    ] = None,
    fmax: Annotated[
        str | None,
        typer.Option(metavar="none|front|all", help="Of --pareto: units placed and routed; minutes each; none."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the points, and run nothing.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Take the place of another study's results.")] = False,
) -> None:
    """Measure the error of units, on your data, against exact results: how many bits, which interval, which format.

    \b
    hwsim study study.yaml -o widths/                                    a study in a file
    hwsim study --unit hopper-wgmma-e4m3-f32 --grid fraction_bits=9:13 --length 512,4096 -o widths/
    hwsim study --unit hopper-wgmma-e4m3-f32 --grid interval=none,32,128 --data outliers:factor=100 -o promotion/
    hwsim study --unit mxfp8-e4m3-f32 --unit mxfp4-e2m1-f32 --scaling block --data weights.npz:w -o formats/
    hwsim study study.yaml --trials 32 --seed 2 -o again/                with some of its keys changed
    hwsim study study.yaml --dry-run                                     what would be run
    hwsim study --a acts.npy --b weights.npy --unit mxfp8-e4m3-f32       one product of your own, in a line
    hwsim study --pareto -o pareto/                                      error against gates, of Hopper's accumulator

    \b
    accumulation: what the unit returned against the exact product of its operands. quantisation: that product against
    the exact product of the numbers. total: both. ± is the confidence interval of the mean over trials.
    DIR gets results.parquet (a row for each point and trial), summary.parquet (a row a point), study.yaml, report.html
    and figures. A run that was interrupted goes on where it stopped, by the same command; its bytes are those of a run
    that ran through.
    Exit status: 0 done; 1 a compiled kernel disagrees with the definition; 2 bad input; 3 an extra is missing.
    """
    sizes = {"trials": trials, "rows": rows, "columns": columns, "seed": seed, "explained": explained}
    changes: dict[str, Any] = {key: value for key, value in sizes.items() if value is not None}
    if a is not None or b is not None:
        others = {**changes, "grid": grid, "data": data, "length": length, "preset": preset, "STUDY.yaml": file}
        others |= {"pareto": pareto, "dry-run": dry_run, "scheduler": scheduler}
        if said := [name for name, value in others.items() if value]:
            raise InputError(f"--a and --b go with --unit, --scaling and --output alone, not with {said[0]}")
        if a is None or b is None:
            raise InputError("--a and --b go together: the two matrices of one product")
        write_product_errors(a, b, unit or (), scaling or (), output)
        return
    words = as_mapping(unit, grid, scaling, data, length, skip_invalid)
    given = sum((file is not None, preset is not None, bool(unit)))
    if given != 1 and not (pareto and not given):
        raise InputError("give one of STUDY.yaml, --preset NAME and --unit UNIT")
    if pareto and preset is not None:
        raise InputError("--pareto goes with STUDY.yaml or --unit, or with neither, not with --preset")
    if not pareto and (stages or fmax):
        raise InputError("--stages and --fmax go with --pareto")
    if preset is not None:
        _check_preset(preset)
    if output is None and not dry_run:
        raise InputError("--output is missing: the folder that results go to")
    folder = output or Path()  # a dry run writes nothing
    runner = _runner(scheduler, workers)
    if preset is not None:
        if words or changes.keys() - {"seed"} or dry_run:
            allowed = "--size, --seed, --workers, --scheduler and --overwrite"
            raise InputError(f"--preset goes without other options than {allowed}")
        if seed is not None and not 1 <= seed <= MOST_PRESET_SEED:
            raise InputError(f"--seed of a preset must be 1 to {MOST_PRESET_SEED:,}, not {seed:,}")
        sized = [] if size is PresetSize.QUICK else ["--size", size.value]
        sized += [] if seed is None else ["--seed", str(seed)]
        command = shlex.join(["hwsim", "study", "--preset", preset, *sized, "-o", str(folder)])
        _run_preset(preset, size, folder, command, runner, overwrite, seed or 1)
        return
    from hwsim.study.plan import load_study

    if not given:
        from hwsim.study.area.pareto import default_study

        made = default_study({**words, **changes})
    elif file is None:
        made = load_study({"study": "study", "data": ["normal"], **words, **changes})
    else:
        if any(key != "lengths" for key in words):
            raise InputError("--grid, --scaling, --data and --skip-invalid go with --unit; a file has its own")
        made = load_study(file, changes={**changes, **words})
    if dry_run:
        _plan(made)
        return
    command = _again(file, folder, context.params)
    if pareto:

        def run_here(one: Study, inside: Path) -> Results:
            return _carried_out(one, inside, runner, overwrite, command)

        write_pareto(made, folder, run_here, command, stages, fmax, workers, not no_report)
        return
    started = time.monotonic()
    results = _carried_out(made, folder, runner, overwrite, command)
    _tell(results, folder, time.monotonic() - started)
    if not no_report:
        from hwsim.study.overview import default_report

        draw(default_report(results, command), folder)
    say(f"again: {command}")


def _runner(scheduler: str | None, workers: int | None) -> Runner:
    if scheduler is None:
        from hwsim.runners import local

        return local(workers)
    from hwsim.runners import on_dask

    return on_dask(scheduler, workers)


def _carried_out(study: Study, folder: Path, runner: Runner, overwrite: bool, command: str) -> Results:
    """Run a study, with a progress bar. After Ctrl-C, prints the command that goes on."""
    from hwsim.study.results import run

    share = [0, 1]

    def carried_out(shown: Shown) -> Results:
        def noted(done: int, planned: int, what: str) -> None:
            share[:] = done, planned
            shown(done, planned, what)

        return run(study, folder, runner, noted, overwrite)

    try:
        with interruptible():
            return _shown(study.name, carried_out)
    except KeyboardInterrupt:
        note(f"{share[0] / max(share[1], 1):.0%} is done and kept in {folder}; to go on: {command}")
        raise


def _shown(name: str, carry_out: Callable[[Shown], T]) -> T:
    """Carry something out, with a progress bar that counts products."""
    from hwsim.runners import WorkersLost
    from hwsim.study.trial import Disagreement

    try:
        with Progress(name, products=True) as bar:
            return carry_out(bar.update)
    except (Disagreement, WorkersLost) as error:
        print_error(str(error))
        raise typer.Exit(MISMATCH) from None


def _check_preset(name: str) -> None:
    known = complete.studies()
    if name not in known:
        said, listed = nearest("preset", name, known), f"known: {', '.join(known)}"
        raise InputError(said if said.endswith(listed) else f"{said}; {listed}")


def _report_of(name: str, given: Context) -> StudyReport:
    """The report of a preset: of sums and formats, or of networks that are trained."""
    from hwsim.study.presets import PRESETS

    if name in PRESETS:
        return PRESETS[name](given)
    from hwsim.training.study import report

    return report(name, given)


def _run_preset(
    name: str, size: PresetSize, folder: Path, command: str, runner: Runner, overwrite: bool, seed: int
) -> None:
    from hwsim.study.parts import run_parts
    from hwsim.study.presets import Context

    def carried_out(made: Study) -> Results:
        return _carried_out(made, folder / "studies" / made.name, runner, overwrite, command)

    def in_parts(made: StudyInParts) -> Rows:
        return _shown(
            made.name, lambda shown: run_parts(made, folder / "studies" / made.name, runner, shown, overwrite)
        )

    given = Context(
        folder=folder, size=size.value, command=command, run=carried_out, run_parts=in_parts, each=_each, seed=seed
    )
    try:
        with interruptible():
            report = _report_of(name, given)
    except KeyboardInterrupt:
        note(f"what was measured is kept in {folder}; to go on: {command}")
        raise
    show(report)
    draw(report, folder)
    say(f"seed {seed}")
    say(f"again: {command}")


def _each(items: Sequence[T], what: str) -> Iterator[T]:
    """Iterate over items with a progress bar."""
    with Progress(what, len(items)) as bar:
        for item in items:
            bar.update(bar.steps, len(items), f"{what}: {item}" if isinstance(item, str) else what)
            yield item
            bar.step(what)


def _plan(study: Study) -> None:
    """Print the points that a study would run."""
    from hwsim.study.data import check
    from hwsim.study.plan.grid import points

    every = points(study)
    for data in study.data:
        check(data, study.lengths, study.rows, study.columns)
    each = study.rows * study.columns * study.trials
    cells = [
        [f"{p.index}", p.label, p.scaling.name, p.data.name, f"{p.length:,}", f"{each * p.length:,}"] for p in every
    ]
    print_table(["point", "label", "scaling", "data", "K", "products"], cells[:MOST_LINES], right=[0, 4, 5])
    if len(cells) > MOST_LINES:
        say(f"... and {len(cells) - MOST_LINES:,} more")
    total = sum(each * point.length for point in every)
    say(
        f"{study.name}: {len(every):,} points of {study.trials:,} trials, each {study.rows} x {study.columns} results: "
        f"{total:,} products"
    )


def _tell(results: Results, folder: Path, seconds: float) -> None:
    """Print the table of a study, what it found, and the files that were written."""
    from hwsim.study.findings import findings

    heads = ["label", "data", "K", *MEASURES.values()]
    print_table(heads, map(_cells, results.points[:MOST_LINES]), right=range(2, len(heads)))
    if len(results.points) > MOST_LINES:
        say(f"... and {len(results.points) - MOST_LINES:,} more in summary.parquet")
    say(findings(results.points).verdict)
    study, rows = results.study, results.rows.num_rows
    taken = f"in {seconds:,.1f} s"
    if results.finished_before:
        taken = "all there from an earlier run"
    elif results.resumed:
        note(f"went on after {results.resumed:,} of {rows:,} trials of an interrupted run")
    say(f"{folder}: {len(results.points):,} points x {study.trials:,} trials, {taken}, seed {study.seed}")
    say(f"{folder}: results.parquet, summary.parquet, study.yaml")


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        row["label"],
        row["data"],
        f"{row['length']:,}",
        *(_measured(row, name) for name in MEASURES),
    ]


def _measured(row: dict[str, Any], name: str) -> str:
    from hwsim.study.findings import measured

    if row[name] != row[name]:
        return "-"
    if row[name] == float("inf") and name.endswith("_db"):
        return "exact"
    return measured(row, name, 100.0 if name == "swamped" else 1.0)


# The options that say what is studied, and not by what means.
REPEATED = (
    "unit", "grid", "scaling", "data", "length", "skip_invalid", "trials", "rows", "columns", "seed", "explained",
    "no_report", "pareto", "stages", "fmax",
)  # fmt: skip


def _again(file: Path | None, output: Path, given: Mapping[str, Any]) -> str:
    """The command that repeats the study. given: the values of all options."""
    words = ["hwsim", "study", *([] if file is None else [str(file)])]
    for name in REPEATED:
        option, value = f"--{name.replace('_', '-')}", given[name]
        if isinstance(value, bool):
            words += [option] if value else []
        elif value is not None:
            for one in value if isinstance(value, (list, tuple)) else [value]:
                words += [option, str(one)]
    return shlex.join([*words, "-o", str(output)])
