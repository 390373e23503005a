"""`hwsim engine`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from hwsim import __version__
from hwsim.base.errors import InputError
from hwsim.base.files import refuse_strangers, written, written_texts
from hwsim.base.processes import scratch_folder
from hwsim.base.text import counted
from hwsim.cli.app import app
from hwsim.cli.arguments import FILE, again
from hwsim.cli.cosim import MISMATCH, Simulators
from hwsim.cli.output import AsJson, note, print_json, print_table, say
from hwsim.cli.progress import Progress, StillAt
from hwsim.cli.prove import COMPILING, UNIT_SECONDS, claim_line, conclude, demand_provers
from hwsim.cli.rtl import need_amaranth, target_file
from hwsim.formats import container_dtype
from hwsim.quantize.tensors import operand_codes
from hwsim.spec import ModalUnit, modes_of
from hwsim.spec.arguments import result_dtype
from hwsim.spec.engine import Engine, load_engine

if TYPE_CHECKING:
    from hwsim.tb.job import PortMismatch, SuiteOutcome

PERIOD = 2.0  # ns, of the clock in a project's timing
PROOF_FILES = ("proof.html", "proof.json", "proof.xml")


@app.command()
def engine(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="ENGINE.yaml", help="An engine's file (hwsim docs engine).")],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Verilog: a file, a folder (TOP.sv in it), or - for here."),
    ] = None,
    project: Annotated[
        bool,
        typer.Option("--project", help="With a folder for -o: FuseSoC's core, timing and a driver in C beside it."),
    ] = False,
    dut: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Verilog of another engine of this name and these ports, to be simulated."),
    ] = None,
    cosim: Annotated[
        bool, typer.Option("--cosim", help="Play every suite, and compare every port in every cycle.")
    ] = False,
    sim: Annotated[Simulators, typer.Option(help="With --cosim: the simulators to run on.")] = Simulators.VERILATOR,
    a: Annotated[str | None, typer.Option("--a", metavar="A", help=f"(M, K) codes for the RTL: {FILE}.")] = None,
    b: Annotated[str | None, typer.Option("--b", metavar="B", help="(K, N) codes, in the same way.")] = None,
    c: Annotated[str | None, typer.Option("--c", metavar="C", help="(M, N) addends; +0 unless given.")] = None,
    scale_a: Annotated[str | None, typer.Option(metavar="FILE", help="Codes of A's shared scales.")] = None,
    scale_b: Annotated[str | None, typer.Option(metavar="FILE", help="Codes of B's shared scales.")] = None,
    mode: Annotated[str | None, typer.Option(help="Of a unit of several modes, that of the product.")] = None,
    result: Annotated[str | None, typer.Option(metavar="FILE", help="Where the product's codes go.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Of operands and traffic.")] = 1,
    prove: Annotated[
        bool,
        typer.Option(
            "--prove", help="Prove for all operands and any traffic that its Verilog returns what the model does."
        ),
    ] = False,
    seconds: Annotated[float, typer.Option(min=1.0, help="With --prove: for each claim.")] = UNIT_SECONDS,
    only: Annotated[
        str, typer.Option(metavar="TEXT", help="With --prove: run only claims whose names contain this.")
    ] = "",
    report: Annotated[
        Path | None,
        typer.Option(
            "--report", metavar="DIR", help="With --prove: write proof.html, proof.json and proof.xml (JUnit)."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a matrix engine's file, write it as Verilog, and show or prove that it does what its model says.

    \b
    hwsim engine mx-core.yaml                    what a designer asks first: products a cycle, words, utilisation
    hwsim engine mx-core.yaml -o build/          build/mx_core.sv; with --project its core, timing and driver too
    hwsim engine mx-core.yaml --cosim            on Verilator; --sim icarus, in small, or both
    hwsim engine mx-core.yaml --a a.npy --b b.npy --scale-a as.npy --scale-b bs.npy --result d.npy
    hwsim engine mx-core.yaml --cosim --dut my_core.sv          an engine of your own, of the same ports
    hwsim engine mx-core.yaml --prove            for all operands, frames and traffic, claim by claim

    \b
    The file's key `reset` says the style: sync, sync-low, async or async-low; low ones are called rst_n.
    Every suite has the numbers of `hwsim.gemm` and the cycles of the engine's own model: operands of several lengths
    and kinds, directed cases at changing elements, ports that wait, resets, frames that do not agree.
    Of a proof the last line says what is proved, or names the claims that are open.
    Exit status: 0 all is equal or proved; 1 a mismatch or an open claim; 2 bad usage or input; 3 a tool is missing.
    """
    loaded = load_engine(file)
    facts = list(loaded.facts())
    files = {"a": a, "b": b, "c": c, "scale_a": scale_a, "scale_b": scale_b}
    if any(files.values()) or result is not None or mode is not None:
        if a is None or b is None or result is None:
            raise InputError("--a, --b and --result go together: the factors, and where their product goes")
        if cosim or prove or output is not None:
            raise InputError("--a and --b go without --cosim, --prove and --output")
        _multiply(loaded, files, mode, Path(result), dut, as_json)
        return
    if dut and (prove or not cosim):
        raise InputError("--dut goes with --cosim, or with --a and --b, and without --prove")
    if project and output in (None, "-"):
        raise InputError("--project needs a folder for --output")
    if not prove and (only or report is not None):
        raise InputError("--only and --report go with --prove")
    if prove and as_json:
        raise InputError("--json goes without --prove: --report DIR writes proof.json")
    if report is not None:
        for name in PROOF_FILES:
            refuse_strangers(report / name)
    if output is not None:
        _write(loaded, output, project)
    if not (cosim or prove):
        if output is None and as_json:
            print_json({"engine": loaded.model_dump(mode="json"), "facts": facts, "sha256": loaded.digest})
        elif output is None:
            say(f"{loaded.name}: {loaded.summary}" if loaded.summary else loaded.name)
            for fact in facts:
                say(f"  {fact}")
            say(f"  sha256 {loaded.digest}")
        return
    need_amaranth()
    equal = not cosim or _cosim(loaded, sim, seed, dut, as_json)
    proved = not prove or _prove(loaded, seconds, only, report, again(context, "report"))
    if not (equal and proved):
        raise typer.Exit(MISMATCH)


def _cosim(loaded: Engine, sim: Simulators, seed: int, dut: Sequence[Path] | None, as_json: bool) -> bool:
    """Play every suite, and tell of each. Returns whether all is equal."""
    from hwsim.cosim.engine.run import design_of

    rows, text = [], design_of(loaded, dut) if dut else None
    for simulator in sim.names:
        with Progress(f"{loaded.name} on {simulator}") as bar:
            rows += [(simulator, outcome) for outcome in _played(loaded, simulator, seed, text, bar)]
    _tell(loaded, rows, as_json)
    return not any(outcome.count for _, outcome in rows)


def _prove(loaded: Engine, seconds: float, only: str, folder: Path | None, command: str) -> bool:
    """Decide every claim, and tell of each. Returns whether all hold."""
    demand_provers()
    from hwsim.explain.proof import write_proof_html, write_proof_json, write_proof_junit
    from hwsim.prove.engine.run import prove_engine
    from hwsim.prove.run import ProofOptions
    from hwsim.rtl.synthesis import FlowFailed
    from hwsim.rtl.synthesis.flows import YOSYS, first_run

    try:
        with StillAt() as heart:
            heart.at(COMPILING)
            first_run(YOSYS)
            options = ProofOptions(seconds, only=only, tell=claim_line, at=heart.at)
            proof = prove_engine(loaded, options, command)
    except FlowFailed as error:
        raise InputError(f"{loaded.name} could not be read as circuits: {error}") from None
    if folder is not None:
        for name, write in zip(PROOF_FILES, (write_proof_html, write_proof_json, write_proof_junit), strict=True):
            write(folder / name, proof)
    conclude(proof)
    return proof.proved


def _write(loaded: Engine, output: str, project: bool) -> None:
    need_amaranth()
    # Amaranth takes a while to import, which the other uses need not wait for.
    from hwsim.rtl import module_name
    from hwsim.rtl.engine.top import engine_verilog

    text = engine_verilog(loaded)
    if output == "-":
        sys.stdout.write(text)
        return
    target = target_file(output, f"{module_name(loaded.name)}.sv", project)
    beside: dict[str, str] = {}
    if project:
        from hwsim.cosim.engine.project import engine_files

        beside = engine_files(loaded, PERIOD, __version__)
        written_texts(target.parent, {target.name: text, **beside})
    else:
        with written(target) as file:
            file.write(text.encode())
    also = f"; beside it {', '.join(beside)}" if beside else ""
    note(f"wrote {target}: {counted(loaded.rows * loaded.columns, 'element')} of {loaded.unit.name}{also}")


def _multiply(
    loaded: Engine, files: Mapping[str, str | None], mode: str | None, result: Path, dut: Sequence[Path] | None,
    as_json: bool,
) -> None:  # fmt: skip
    """A product through the RTL, to a file."""
    names = list(loaded.unit.modes) if isinstance(loaded.unit, ModalUnit) else []
    if mode is not None and mode not in names:
        raise InputError(f"--mode must be {' or '.join(names)}, not {mode}" if names else
                         f"--mode must not be given: {loaded.unit.name} has one mode")  # fmt: skip
    number = 0 if mode is None else names.index(mode)
    arrays: dict[str, Any] = {
        name: operand_codes(modes_of(loaded.unit)[number], name, file) for name, file in files.items() if file
    }
    refuse_strangers(result)
    need_amaranth()
    from hwsim.cosim.engine.bulk import product
    from hwsim.cosim.engine.run import design_of

    text = design_of(loaded, dut) if dut else None
    with Progress(f"{loaded.name} on verilator") as bar:
        bar.step("recording what the model promises, and building")
        made = product(loaded, **arrays, mode=number, verilog=text,
                       at=lambda done, of: bar.step(f"{done:,} of {of:,} cycles"))  # fmt: skip
    if made.outcome.count == 0 and made.codes is not None:
        fmt = loaded.unit.output
        codes = made.codes.astype(container_dtype(fmt)).view(result_dtype(fmt))
        with written(result) as file:
            np.save(file, codes)
    _tell(loaded, [("verilator", made.outcome)], as_json)
    if made.outcome.count:
        raise typer.Exit(MISMATCH)
    note(f"wrote {result}; {made.products / made.outcome.seconds / 1e6:.1f} million products a second, compared")


def _played(loaded: Engine, simulator: str, seed: int, text: str | None, bar: Progress) -> list[SuiteOutcome]:
    from hwsim.cosim.engine.run import play
    from hwsim.cosim.engine.suites import scripts

    small = simulator == "icarus"
    made = []
    for script in scripts(loaded, seed, small=small):
        bar.step(f"recorded {script.name}")
        made.append(script)
    with scratch_folder() as folder:
        bar.step("simulating")
        return play(loaded, made, folder, simulator, seed, text)


def _tell(loaded: Engine, rows: list[tuple[str, SuiteOutcome]], as_json: bool) -> None:
    header = ("simulator", "suite", "cycles", "words of results", "differences")
    table = [
        (simulator, each.name, f"{each.cycles:,}", f"{each.results:,}", f"{each.count:,}") for simulator, each in rows
    ]
    if as_json:
        print_json({"engine": loaded.name, "sha256": loaded.digest, "suites": [
            {"simulator": simulator, "suite": each.name, "cycles": each.cycles, "words": each.results,
             "differences": each.count, "first": [vars(one) for one in each.mismatches[:8]]} for simulator, each in rows
        ]})  # fmt: skip
        return
    print_table(header, table, right=(2, 3, 4))
    for simulator, each in rows:
        for one in each.mismatches[:3]:
            say(f"{simulator}, {each.name}: {_worded(one)}")
    cycles, words = sum(each.cycles for _, each in rows), sum(each.results for _, each in rows)
    wrong = sum(each.count for _, each in rows)
    same = "ports as the model has them in each, words as hwsim.gemm" if not wrong else f"{wrong:,} differences"
    say(f"{loaded.name}: {cycles:,} cycles outside of resets, {words:,} words of results: {same}")


def _worded(one: PortMismatch) -> str:
    def shown(value: Any) -> str:
        return "unknown" if value < 0 else f"{value:#x}"

    word = f", word {one.index}" if one.index >= 0 else ""
    return f"cycle {one.cycle}{word}: {one.kind} is {shown(one.got)}, not {shown(one.expected)}"
