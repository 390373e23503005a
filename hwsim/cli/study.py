"""`hwsim study`."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from hwsim.base.errors import InputError
from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.output import note, print_error, print_table, say
from hwsim.cli.progress import Progress, interruptible
from hwsim.cli.study_arguments import as_mapping
from hwsim.cli.study_pareto import write_pareto
from hwsim.cli.study_product import write_product_errors
from hwsim.cli.study_report import draw
from hwsim.formats.catalog import nearest

if TYPE_CHECKING:
    from hwsim.runners import Runner
    from hwsim.study.plan import Study
    from hwsim.study.results import Results

T = TypeVar("T")
Shown = Callable[[int, int, str], None]
MISMATCH = 1
MOST_LINES = 200  # of a table
# What was a preset and is a script, by the name of its page.
SCRIPTS = (
    "flexible-fp8", "fp8-formats", "hfp8", "mx", "real-model", "silicon", "train-deepseek", "train-fp8", "train-hfp8",
    "train-mx", "train-nvfp4", "train-qualcomm",
)  # fmt: skip
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


@app.command()
def study(
    context: typer.Context,
    file: Annotated[Path | None, typer.Argument(metavar="[STUDY.yaml]", help="A study (hwsim docs study).")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="DIR", help="Where results go.")] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A plan that comes with hwsim; an unknown name lists them.",
            autocompletion=complete.studies,
        ),
    ] = None,
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
    if not pareto and (stages or fmax):
        raise InputError("--stages and --fmax go with --pareto")
    if preset is not None:
        _check_preset(preset)
    if output is None and not dry_run:
        raise InputError("--output is missing: the folder that results go to")
    folder = output or Path()  # a dry run writes nothing
    runner = _runner(scheduler, workers)
    from hwsim.study.plan import load_study

    if not given and any(key not in ("data", "lengths") for key in words):
        raise InputError("--grid, --scaling and --skip-invalid go with --unit")
    named = file or preset or ("pareto" if pareto and not unit else None)
    if named is None:
        made = load_study({"study": "study", "data": ["normal"], **words, **changes})
    else:
        if given and any(key != "lengths" for key in words):
            raise InputError("--grid, --scaling, --data and --skip-invalid go with --unit; a file has its own")
        made = load_study(named, changes={**changes, **words})
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
    from hwsim.study.task import Disagreement

    try:
        with Progress(name, products=True) as bar:
            return carry_out(bar.update)
    except (Disagreement, WorkersLost) as error:
        print_error(str(error))
        raise typer.Exit(MISMATCH) from None


def _check_preset(name: str) -> None:
    if name in SCRIPTS:
        script = f"examples/papers/{name.replace('-', '_')}.py"
        raise InputError(
            f"preset {name} is a script of hwsim's repository: python {script} (hwsim docs studies/{name})"
        )
    known = complete.studies()
    if name not in known:
        said, listed = nearest("preset", name, known), f"known: {', '.join(known)}"
        raise InputError(said if said.endswith(listed) else f"{said}; {listed}")


def _plan(study: Study) -> None:
    """Print the points that a study would run."""
    from hwsim.study.data import check
    from hwsim.study.plan.study import points

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
    "preset", "unit", "grid", "scaling", "data", "length", "skip_invalid", "trials", "rows", "columns", "seed",
    "explained", "no_report", "pareto", "stages", "fmax",
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
