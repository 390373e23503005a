"""`hwsim converter`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.arguments import again, split
from hwsim.cli.cosim import Simulators
from hwsim.cli.streams import (
    Cosim,
    Cuts,
    Modules,
    Output,
    Prove,
    Report,
    Seed,
    Sim,
    cosimulate,
    demand_work,
    drawn,
    prove_all,
    write,
)
from hwsim.formats import Overflow, get_format
from hwsim.spec.conversion import Conversion

if TYPE_CHECKING:
    from hwsim.explain.proof import ProofReport
    from hwsim.prove.run import ProofOptions


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
    settings: dict[str, Any] = {
        "rounding": rounding,
        "overflow": overflow,
        "missing": missing,
        "random_bits": random_bits,
    }
    conversions = [Conversion(source=get_format(source), target=get_format(name), **settings) for name in targets]
    # Amaranth takes a while to import, which wrong settings need not wait for.
    from hwsim.cosim.streamcases import converter_design, converter_suites
    from hwsim.cosim.streams import StreamJob

    steps = split(cuts)
    chosen = drawn(seed)
    design = partial(converter_design, cuts=steps)
    jobs = [
        StreamJob(partial(design, conversion), partial(converter_suites, conversion, chosen, cases))
        for conversion in conversions
    ]
    if output is not None:
        write((job.design() for job in jobs), output)
    if cosim:
        command = again(context, "output", "report", "prove", sim=sim, seed=chosen)
        cosimulate(jobs, sim, chosen, command, report)
    if prove:
        prove_all([partial(proved, conversion, steps) for conversion in conversions])


def proved(conversion: Conversion, cuts: tuple[str, ...] | None, options: ProofOptions) -> ProofReport:
    """Every claim about a converter, decided."""
    from hwsim.prove.converters import prove_converter

    return prove_converter(conversion, cuts, options)
