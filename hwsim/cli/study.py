"""`hwsim study`: a study, its Pareto front, or one product of matrices in files."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np
import typer
import yaml

from hwsim.base.errors import InputError, InputTypeError
from hwsim.base.files import written
from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.arguments import again
from hwsim.cli.output import TellAsJson, note, print_error, print_table, say
from hwsim.cli.progress import Progress, interruptible
from hwsim.formats.catalog import nearest
from hwsim.quantize.tensors import NUMBERS, numbers, read

if TYPE_CHECKING:
    from hwsim.runners import Runner
    from hwsim.study.area.sized import Fmax
    from hwsim.study.plan import Study
    from hwsim.study.report import StudyReport
    from hwsim.study.results import Results


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
    as_json: TellAsJson = False,
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
        if others_named := [name for name, value in others.items() if value]:
            raise InputError(f"--a and --b go with --unit, --scaling and --output alone, not with {others_named[0]}")
        if a is None or b is None:
            raise InputError("--a and --b go together: the two matrices of one product")
        write_product_errors(a, b, unit or (), scaling or (), output)
        return
    words = as_mapping(unit, grid, scaling, data, length, skip_invalid)
    sources = sum((file is not None, preset is not None, bool(unit)))
    if sources != 1 and not (pareto and not sources):
        raise InputError("give one of STUDY.yaml, --preset NAME and --unit UNIT")
    if not pareto and (stages or fmax):
        raise InputError("--stages and --fmax go with --pareto")
    if preset is not None:
        _check_preset(preset)
    if output is None and not dry_run:
        raise InputError("--output is missing: the folder that results go to")
    folder = output or Path()  # a dry run writes nothing
    from hwsim.runners import local, on_dask
    from hwsim.study.plan import load_study

    runner = local(workers) if scheduler is None else on_dask(scheduler, workers)
    if not sources and any(key not in ("data", "lengths") for key in words):
        raise InputError("--grid, --scaling and --skip-invalid go with --unit")
    named = file or preset or ("pareto" if pareto and not unit else None)
    if named is None:
        plan = load_study({"study": "study", "data": ["normal"], **words, **changes})
    else:
        if sources and any(key != "lengths" for key in words):
            raise InputError("--grid, --scaling, --data and --skip-invalid go with --unit; a file has its own")
        plan = load_study(named, changes={**changes, **words})
    if dry_run:
        _plan(plan)
        return
    command = again(context, "workers", "scheduler", "overwrite", output=folder)
    run = partial(_carried_out, runner=runner, overwrite=overwrite, command=command)
    if pareto:
        write_pareto(plan, folder, run, command, stages, fmax, workers, not no_report)
        return
    started = time.monotonic()
    results = run(plan, folder)
    _tell(results, folder, time.monotonic() - started)
    if not no_report:
        from hwsim.study.overview import default_report

        draw(default_report(results, command), folder)
    say(f"again: {command}")


def _carried_out(study: Study, folder: Path, *, runner: Runner, overwrite: bool, command: str) -> Results:
    """Run a study, with a bar that counts products. After Ctrl-C, prints the command that goes on."""
    from hwsim.runners import WorkersLost
    from hwsim.study.results import run
    from hwsim.study.task import Disagreement

    share = [0, 1]

    def noted(done: int, planned: int, what: str) -> None:
        share[:] = done, planned
        bar.update(done, planned, what)

    try:
        with interruptible(), Progress(study.name, products=True) as bar:
            return run(study, folder, runner, noted, overwrite)
    except KeyboardInterrupt:
        note(f"{share[0] / max(share[1], 1):.0%} is done and kept in {folder}; to go on: {command}")
        raise
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
        message, listed = nearest("preset", name, known), f"known: {', '.join(known)}"
        raise InputError(message if message.endswith(listed) else f"{message}; {listed}")


def _plan(study: Study) -> None:
    """Print the points that a study would run."""
    from hwsim.study.data import check
    from hwsim.study.plan.study import points

    every = points(study)
    for data in study.data:
        check(data, study.lengths, study.rows, study.columns)
    results = study.rows * study.columns * study.trials
    cells = [
        [f"{p.index}", p.label, p.scaling.name, p.data.name, f"{p.length:,}", f"{results * p.length:,}"] for p in every
    ]
    print_table(["point", "label", "scaling", "data", "K", "products"], cells[:MOST_LINES], right=[0, 4, 5])
    if len(cells) > MOST_LINES:
        say(f"... and {len(cells) - MOST_LINES:,} more")
    total = sum(results * point.length for point in every)
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
    return [row["label"], row["data"], f"{row['length']:,}", *(_measured(row, name) for name in MEASURES)]


def _measured(row: dict[str, Any], name: str) -> str:
    from hwsim.study.findings import measured

    if row[name] != row[name]:
        return "-"
    if row[name] == float("inf") and name.endswith("_db"):
        return "exact"
    return measured(row, name, 100.0 if name == "swamped" else 1.0)


RANGE = re.compile(r"(\d{1,18}):(\d{1,18})(?::(\d{1,18}))?")
MOST_VALUES = 10_000  # of a range


def as_mapping(
    units: Sequence[str] | None,
    grid: Sequence[str] | None,
    scaling: Sequence[str] | None,
    data: Sequence[str] | None,
    length: str | None,
    skip_invalid: bool,
) -> dict[str, Any]:
    """The keys of a study from options; all units have the same grid and scaling. Raises ValueError."""
    keys: dict[str, Any] = {}
    varied: dict[str, Any] = {}
    if grid:
        varied["grid"] = dict(_field(text) for text in grid)
    if scaling:
        varied["scaling"] = [as_scaling(text) for text in scaling]
    if skip_invalid:
        varied["invalid"] = "skip"
    if units:
        keys["units"] = [{"unit": unit, **varied} for unit in units]
    elif varied:
        keys["units"] = []
    if data:
        keys["data"] = list(data)
    if length is not None:
        keys["lengths"] = list(_values(length, "--length"))
    return keys


def _field(text: str) -> tuple[str, list[Any]]:
    """Parse FIELD=V,V,V."""
    field, equals, values = text.partition("=")
    if not equals or not values:
        raise InputError(f"--grid must be FIELD=V,V or FIELD=A:B, not {text!r}")
    return field.strip(), list(_values(values, f"--grid {field}"))


def _values(text: str, what: str) -> Iterator[Any]:
    """Parse V,V,A:B,A:B:STEP; a range includes both ends."""
    for part in text.split(","):
        if span := RANGE.fullmatch(part.strip()):
            first, last, step = int(span[1]), int(span[2]), int(span[3] or 1)
            if last < first or step < 1:
                raise InputError(f"{what}: a range must go up, A:B or A:B:STEP, not {part!r}")
            if (count := (last - first) // step + 1) > MOST_VALUES:
                raise InputError(f"{what}: a range must have at most {MOST_VALUES:,} values; {part!r} has {count:,}")
            yield from range(first, last + 1, step)
        elif not part.strip():
            raise InputError(f"{what} must be values with commas between them, not {text!r}")
        else:
            yield _value(part)


def _value(text: str) -> Any:
    """Parse a word or a number."""
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):  # a number of too many digits, a date that is none
        return text


def as_scaling(text: str) -> Any:
    """Parse NAME or NAME:KEY=V,KEY=V, or two of these with a slash between them, for A and for B."""
    if "/" in text:
        a, _, b = text.partition("/")
        return {"a": as_scaling(a), "b": as_scaling(b)}
    name, colon, rest = text.partition(":")
    if not colon:
        return name.strip()
    entry: dict[str, Any] = {"rule": name.strip()}
    for part in rest.split(","):
        key, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"--scaling must be NAME or NAME:KEY=V,KEY=V, not {text!r}")
        entry[key.strip()] = _value(value)
    return entry


ERROR_PAGE, REPORT_PAGE = "error.html", "report.html"
HEAD = '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
STYLE = "<style>:root { color-scheme: light dark } body { font: 16px/1.5 system-ui; margin: 1.5rem }</style>"


def write_product_errors(a: str, b: str, units: Sequence[str], scalings: Sequence[str], folder: Path | None) -> None:
    """Print a line for every unit and scaling, and draw them on a page of a folder.

    a, b: the files' names. Raises ValueError and TypeError as `hwsim.error` does, naming the file.
    """
    from hwsim.study.product_error import error

    if not units:
        raise InputError("--unit is missing: the unit that multiplies --a and --b; it may be given several times")
    of_a, of_b = _matrix("--a", a), _matrix("--b", b)
    entries = [as_scaling(text) for text in scalings] or [None]
    errors = [error(unit, of_a, of_b, scaling) for unit in units for scaling in entries]
    for product in errors:
        say(str(product))
    if folder is not None:
        body = "".join(product._repr_html_() for product in errors)
        with written(folder / ERROR_PAGE) as file:
            file.write(f"{HEAD}<title>Errors of a product</title>{STYLE}<h1>Errors of a product</h1>{body}".encode())
        say(f"{folder / ERROR_PAGE}: the same, drawn")


def _matrix(option: str, name: str) -> Any:
    stored = read(name)
    if stored.kind not in NUMBERS:
        raise InputTypeError(f"{option} {name}: must hold numbers, {', '.join(sorted(NUMBERS))}, not {stored.kind}")
    if len(stored.shape) != 2:
        raise InputError(f"{option} {name}: must hold a matrix, not of shape {stored.shape}")
    values = numbers(stored.kind, stored.array)
    if not np.isfinite(values).all():
        raise InputError(f"{option} {name}: must hold finite numbers; {int((~np.isfinite(values)).sum()):,} are not")
    return values


def draw(report: StudyReport, folder: Path) -> None:
    """Write a report's figures and page, and print their names. Raises ToolMissing without the drawing library."""
    from hwsim.study.report import write_charts, write_page

    with Progress("drawing"):
        figures = write_charts(report, folder)
        write_page(report, folder / REPORT_PAGE)
    svg, drawn = sum(path.suffix == ".svg" for path in figures), folder / "figures"
    say(f"{folder / REPORT_PAGE}: with figures that answer to the pointer; {svg} figures in {drawn}, SVG and PNG")


def show(report: StudyReport) -> None:
    """Print a report's text and tables."""
    from hwsim.study.report import TextTable

    say(report.title, style="bold")
    for paragraph in filter(None, (report.verdict, *report.summary)):
        say(paragraph)
    for part in report.parts:
        if isinstance(part, TextTable):
            say()
            say(part.title, style="bold")
            print_table(part.header, part.rows, right=part.right)
            if part.caption:
                say(part.caption)
    say()


def write_pareto(
    study: Study,
    folder: Path,
    run: Callable[[Study, Path], Results],
    command: str,
    stages: str | None,
    fmax: str | None,
    workers: int | None,
    drawn: bool,
) -> None:
    """Synthesise and run a study, print its tables, and write its page and figures."""
    from hwsim.study.area.report import report
    from hwsim.study.area.sized import SynthesisOptions

    def run_alone(part: Study, place: Path) -> Results:
        bar.bar.stop()  # a terminal has one bar at a time
        try:
            return run(part, place)
        finally:
            bar.bar.start()

    options = SynthesisOptions(stages=stages or "4", fmax=cast("Fmax", fmax or "none"), workers=workers)
    started = time.monotonic()
    try:
        with interruptible(), Progress("synthesis") as bar:
            finished = report(study, folder, run_alone, options, command, bar.update)
    except KeyboardInterrupt:
        note(f"what is synthesised is kept; to go on: {command}")
        raise
    show(finished)
    if drawn:
        draw(finished, folder)
    say(f"{folder}: pareto.md, study/, in {time.monotonic() - started:,.1f} s")
    say(f"again: {command}")
