"""`hwsim vectors`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hwsim.base.errors import InputError
from hwsim.base.text import counted
from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.arguments import UnitName, again
from hwsim.cli.output import TellAsJson, announce, note, print_table, say
from hwsim.cli.progress import Progress
from hwsim.spec import SparseUnit, load_any, load_unit

if TYPE_CHECKING:
    from hwsim.cosim.vectors.make import Made
    from hwsim.cosim.vectors.plan import Wanted


@app.command()
def vectors(
    context: typer.Context,
    unit: UnitName,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="The folder to write, or - for lines on the output.")
    ],
    suite: Annotated[
        str, typer.Option(metavar="SUITE", help="What is in the set; see below.", autocompletion=complete.suites)
    ] = "smoke",
    cases: Annotated[int | None, typer.Option(min=1, help="How many cases, instead of the suite's number.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of everything random.")] = 1,
    stages: Annotated[
        bool, typer.Option("--stages", help="Write what every stage holds, too: stages.hex, line for line.")
    ] = False,
    formats: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="NAMES", help="Of hex, text, json and npz, with commas; hex alone above 100,000 cases."
        ),
    ] = None,
    as_json: TellAsJson = False,
) -> None:
    """Write test vectors: operands, expected results, and a SystemVerilog testbench that replays them.

    \b
    hwsim vectors hopper-wgmma-e4m3-f32 -o smoke/                       2,000 cases that find most bugs
    hwsim vectors mxfp8-e4m3-f32 -o standard/ --suite standard          50,000: every reachable coverage bin
    hwsim vectors my-unit.yaml -o soak/ --suite soak --cases 100000000  as many as there is time for
    hwsim vectors deepseek-v3-e4m3-f32 -o v/ --stages                   with every stage's values
    hwsim vectors hopper-wgmma-e4m3-f32 -o - | ./my_dut | hwsim check - -

    \b
    smoke, standard and soak are one sequence: each is the beginning of the next. The suites coverage, discrimination,
    products, gemm, random and captured (GPU results; HWSIM_SILICON names the folder) are parts by themselves.
    The same bytes from the same unit, seed and version of hwsim, on any machine. A run that was interrupted leaves
    nothing in DIR; the same command goes on where it stopped.
    """
    from hwsim.cosim.vectors.make import make
    from hwsim.cosim.vectors.plan import Wanted, cost

    loaded = load_any(unit)
    sparse = loaded if isinstance(loaded, SparseUnit) else None
    specified = load_unit(unit) if sparse is None else sparse.dense
    wanted = Wanted(specified, suite, seed, cases, _formats(formats), stages, sparse)
    announce(cost(wanted))
    if output == "-":
        _stream(wanted, formats, stages)
        return
    with Progress() as bar:
        manifest = make(wanted, Path(output), bar.update)
    _tell(manifest, wanted, output)
    say(f"again: {again(context, suite=suite, seed=seed)}")


def _formats(given: str | None) -> tuple[str, ...] | None:
    from hwsim.cosim.vectors.make import FORMATS

    if given is None:
        return None
    names = tuple(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))
    for name in names:
        if name not in FORMATS:
            raise InputError(f"--format must be of {', '.join(FORMATS)}, not {name!r}")
    if "hex" not in names:
        raise InputError("--format must name hex, which the testbench and `hwsim check` read")
    return names


def _stream(wanted: Wanted, formats: str | None, stages: bool) -> None:
    """Write vectors as lines to the standard output."""
    from hwsim.cosim.vectors.check import stream
    from hwsim.cosim.vectors.make import made_batches

    if formats is not None or stages:
        raise InputError("--format and --stages go with a folder, not with -o -")
    try:
        for text in stream(wanted.written, made_batches(wanted)):
            sys.stdout.write(text)
            sys.stdout.flush()  # whoever reads has these while the next are looked for
    except BrokenPipeError:
        # Whoever read has read enough. What is left in the buffer goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell(made: Made, wanted: Wanted, output: str) -> None:
    counts = made.counts
    if made.resumed:
        note(f"went on after {made.resumed:,} cases of an interrupted run")
    rows = [
        [name, f"{count:,}", why or (f"of {of:,}" if of is not None else "")] for name, count, of, why in counts.made()
    ]
    print_table(["part", "cases", ""], rows, right=[1])
    say(f"the first {counted(made.kills.cases, 'case')}: {made.kills.named()}")
    say(f"{output}: {counts.cases:,} cases on {counts.lines:,} lines, suite {wanted.suite}, seed {wanted.seed}")
