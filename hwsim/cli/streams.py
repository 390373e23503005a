"""`hwsim converter` and `hwsim quantizer`: Verilog to write, suites to play, claims to prove."""

from __future__ import annotations

import dataclasses
import secrets
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hwsim.base.errors import InputError
from hwsim.base.files import written
from hwsim.base.text import counted
from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.arguments import again, split
from hwsim.cli.cosim import Simulators, show_suites
from hwsim.cli.output import TellAsJson, note, say
from hwsim.cli.progress import played
from hwsim.cli.prove import claim_line, conclude, demand_provers
from hwsim.cli.rtl import need_amaranth, target_file
from hwsim.formats import Overflow, get_format
from hwsim.formats.blocks import field_format
from hwsim.spec.conversion import Conversion

if TYPE_CHECKING:
    from hwsim.cosim.streams import StreamDesign, StreamJob
    from hwsim.rtl import Streamed

MISMATCH = 1
A_CLAIM = 300.0  # seconds: what a file of divisions makes is compared part by part

Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write Verilog: a file, a folder (NAME.v in it), or -."),
]
Cosim = Annotated[bool, typer.Option("--cosim", help="Play it on simulators, against the model.")]
Sim = Annotated[Simulators, typer.Option(help="With --cosim: the simulators to run on.")]
Seed = Annotated[
    int | None, typer.Option(min=0, max=2**32 - 1, help="Of everything random; drawn and printed unless given.")
]
Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="DIR", help="With --cosim: write report.html, JSON and JUnit XML there."),
]
Prove = Annotated[
    bool, typer.Option("--prove", help="Prove for every input that its Verilog returns what the model does.")
]
Cuts = Annotated[str | None, typer.Option(help="Steps after which there is a register, with commas.")]


Modules = Annotated[
    bool,
    typer.Option("--modules", help="As without: there is one form of Verilog.", hidden=True),
]


@app.command()
def converter(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A format.", autocompletion=complete.formats)],
    targets: Annotated[
        list[str], typer.Argument(metavar="TARGET...", help="Formats, or files.", autocompletion=complete.formats)
    ],
    rounding: Annotated[
        str, typer.Option(help=", ".join(complete.roundings()), autocompletion=complete.roundings)
    ] = "rne",
    overflow: Annotated[str, typer.Option(help=", ".join(Overflow), autocompletion=complete.overflows)] = "saturate",
    missing: Annotated[
        str | None,
        typer.Option(help="What a number becomes that the target lacks: nan, zero, saturate; the first that it has."),
    ] = None,
    random_bits: Annotated[int, typer.Option(help="Of stochastic: bits of the word that comes with a code.")] = 0,
    cuts: Cuts = None,
    modules: Modules = False,
    output: Output = None,
    cosim: Cosim = False,
    sim: Sim = Simulators.BOTH,
    seed: Seed = None,
    cases: Annotated[int, typer.Option(min=1, help="With --cosim: random codes of each target.")] = 20_000,
    report: Report = None,
    prove: Prove = False,
    as_json: TellAsJson = False,
) -> None:
    """A converter in hardware: the codes of one format to those of another, rounded once, a code each cycle.

    \b
    hwsim converter f32 e4m3 -o build/                          build/f32_to_e4m3.sv
    hwsim converter f32 e4m3 --rounding stochastic --random-bits 8 -o -
    hwsim converter bf16 e4m3 e5m2 e2m1 mxint8 --cosim          on Verilator and Icarus, against `encode`
    hwsim converter e2m1 f32 --cosim --sim icarus               and back
    hwsim converter f32 e4m3 --prove                            for every one of the 2^32 codes

    A converter returns what `hwsim encode` does for the number that a code is. Steps for --cuts: decode, normalize,
    round. Suites: every code where there are few; else each number of the target, each half-way, their neighbours, both
    ends and specials, and random codes; and traffic with gaps, back-pressure and resets.
    Exit status: 0 all equal; 1 a mismatch; 2 bad input; 3 a simulator is missing.
    """
    demand_work(output, cosim, prove)
    settings = {key: context.params[key] for key in ("rounding", "overflow", "missing", "random_bits")}
    conversions = [Conversion(source=field_format(source), target=field_format(name), **settings) for name in targets]
    carry_out(context, conversions, sim, report)


@app.command()
def quantizer(
    context: typer.Context,
    rules: Annotated[
        list[str], typer.Argument(metavar="RULE...", help="Rules of quantisation.", autocompletion=complete.rules)
    ],
    source: Annotated[str, typer.Option(help="Format of the numbers.", autocompletion=complete.formats)] = "f32",
    lanes: Annotated[int, typer.Option(min=0, help="Numbers in a block; 0 for as many as the rule has.")] = 0,
    change: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A field of the rules, as select=rceil.")
    ] = None,
    random_bits: Annotated[int, typer.Option(help="Of stochastic: bits of the word that comes with a number.")] = 0,
    dequantize: Annotated[
        bool, typer.Option("--dequantize", help="The way back instead: codes and scales in.")
    ] = False,
    cuts: Cuts = None,
    modules: Modules = False,
    output: Output = None,
    cosim: Cosim = False,
    sim: Sim = Simulators.BOTH,
    seed: Seed = None,
    cases: Annotated[int, typer.Option(min=1, help="With --cosim: random blocks of each rule.")] = 4_000,
    report: Report = None,
    prove: Prove = False,
    as_json: TellAsJson = False,
) -> None:
    """A block quantiser in hardware: a block of numbers to codes and a scale each cycle; or the way back.

    \b
    hwsim quantizer mxfp8-e4m3 -o build/                        build/mxfp8_e4m3_from_f32.sv
    hwsim quantizer mxfp4-e2m1 mxint8 --set select=rceil --source bf16 --cosim
    hwsim quantizer nvfp4 --cosim --sim verilator               both levels: the tensor's scale comes with a block
    hwsim quantizer nvfp4 --dequantize --cosim                  codes and scales to f32
    hwsim quantizer mxfp4-e2m1 --prove                          for every block of 32 binary32 numbers

    It returns what `hwsim.quantize` does. Suites: amax in every binade, at the steps of the scale and at both ends;
    numbers at and next to those half-way between two elements, with specials; any codes; and traffic.
    Exit status: 0 all equal; 1 a mismatch; 2 bad input; 3 a simulator is missing.
    """
    demand_work(output, cosim, prove)
    from hwsim.quantize import get_rule
    from hwsim.quantize.block import BlockDequantization, BlockQuantization

    changes = dict(_changed(text) for text in change or ())
    wide = get_format(source)
    blocks = [
        BlockQuantization(
            rule=get_rule(name).replace(**changes), source=wide, lanes=lanes, random_bits=random_bits, name=name
        )
        for name in rules
    ]
    backs = [BlockDequantization.of(block) for block in blocks]
    carry_out(context, backs if dequantize else blocks, sim, report)


def _changed(text: str) -> tuple[str, Any]:
    """A field of a rule and its value, from `key=value`."""
    from hwsim.quantize import Rule

    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set must be KEY=VALUE, not {text}")
    kinds = {field.name: field.type for field in dataclasses.fields(Rule)}
    match kinds.get(key):
        case "bool":
            if value not in ("true", "false"):
                raise InputError(f"--set {key} must be true or false, not {value}")
            return key, value == "true"
        case "float":
            try:
                return key, float(value)
            except ValueError:
                raise InputError(f"--set {key} must be a number, not {value}") from None
        case "tuple[int | None, int | None]":
            raise InputError("--set block is --lanes here")
        case _:
            return key, value


def demand_work(*work: object) -> None:
    """Raise InputError where nothing is asked for."""
    if not any(work):
        raise InputError("nothing to do: --output FILE writes Verilog, --cosim plays it, --prove proves it")


def carry_out(context: typer.Context, streams: Sequence[Streamed], sim: Simulators, report: Path | None) -> None:
    """Write, play and prove, as the command's options ask."""
    # Amaranth takes a while to import, which wrong settings need not wait for.
    from hwsim.cosim.streamcases import stream_design, stream_suites
    from hwsim.cosim.streams import StreamJob

    options = context.params
    steps = split(options["cuts"])
    seed = secrets.randbelow(2**32) if options["seed"] is None else options["seed"]
    jobs = [
        StreamJob(partial(stream_design, stream, steps), partial(stream_suites, stream, seed, options["cases"]))
        for stream in streams
    ]
    if options["output"] is not None:
        write((job.design() for job in jobs), options["output"])
    if options["cosim"]:
        cosimulate(jobs, sim, seed, again(context, "output", "report", "prove", sim=sim, seed=seed), report)
    if options["prove"]:
        prove_all(streams, steps)


def write(designs: Iterable[StreamDesign], output: str) -> None:
    """Write the Verilog of each design."""
    need_amaranth()
    for design in designs:
        top = design.ports.top
        target = None if output == "-" else target_file(output, f"{top}.sv")
        if target is None:
            sys.stdout.write(design.verilog)
            continue
        with written(target) as file:
            file.write(design.verilog.encode())
        note(f"wrote {target}: latency {design.latency}, a payload each cycle")


def cosimulate(jobs: Sequence[StreamJob], sim: Simulators, seed: int, command: str, folder: Path | None) -> None:
    """Play jobs, print a table, and exit with 1 where something differs. command: what repeats it."""
    from hwsim.cosim.streams import run_streams
    from hwsim.explain import refuse_reports, write_reports

    need_amaranth()
    if folder is not None:
        refuse_reports(folder)
    refused = "a simulator refused the design: this is a defect of hwsim, please report it with the lines above"
    report = played("suites", partial(run_streams, jobs, sim.names, seed, command), refused, MISMATCH)
    show_suites(report, "design", "results")
    say()
    compared = counted(report.figures.compared, "comparison")
    say(f"{report.verdict}: {compared} in {report.seconds:.0f} s, seed {report.seed}")
    say(f"again: {report.command}")
    if folder is not None:
        write_reports(folder, report)
        say(f"report: {folder / 'report.html'}; JSON: {folder / 'results.json'}; JUnit XML: {folder / 'results.xml'}")
    if not report.passed:
        raise typer.Exit(MISMATCH)


def prove_all(streams: Sequence[Streamed], cuts: Sequence[str] | None) -> None:
    """Decide claims, print each, and exit with 1 where one is not proved."""
    demand_provers()
    from hwsim.prove.quantizers import prove_stream
    from hwsim.prove.run import ProofOptions
    from hwsim.rtl.synthesis import FlowFailed

    try:
        reports = [prove_stream(stream, cuts, ProofOptions(A_CLAIM, tell=claim_line)) for stream in streams]
    except FlowFailed as error:
        raise InputError(f"the design could not be read as a circuit: {error}") from None
    for report in reports:
        conclude(report)
    if not all(report.proved for report in reports):
        raise typer.Exit(MISMATCH)
