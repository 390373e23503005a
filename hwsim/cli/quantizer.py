"""`hwsim quantizer`."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hwsim.base.errors import InputError
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
from hwsim.formats import get_format

if TYPE_CHECKING:
    from hwsim.explain.proof import ProofReport
    from hwsim.prove.run import ProofOptions
    from hwsim.quantize.block import BlockDequantization, BlockQuantization


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
    from hwsim.cosim import streamcases as made
    from hwsim.cosim.streams import StreamJob

    steps, chosen = split(cuts), drawn(seed)
    settings: dict[str, Any] = {"cuts": steps}
    jobs = [
        StreamJob(
            partial(made.dequantizer_design, block, **settings), partial(made.dequantizer_suites, block, chosen, cases)
        )
        for block in backs
    ]
    if not dequantize:
        jobs = [
            StreamJob(
                partial(made.quantizer_design, block, **settings), partial(made.quantizer_suites, block, chosen, cases)
            )
            for block in blocks
        ]
    if output is not None:
        write((job.design() for job in jobs), output)
    if cosim:
        command = again(context, "output", "report", "prove", sim=sim, seed=chosen)
        cosimulate(jobs, sim, chosen, command, report)
    if prove:
        wanted: list[BlockQuantization | BlockDequantization] = [*(backs if dequantize else blocks)]
        prove_all([partial(proved, block, steps) for block in wanted])


def proved(
    block: BlockQuantization | BlockDequantization, cuts: tuple[str, ...] | None, options: ProofOptions
) -> ProofReport:
    """Every claim about a quantiser, or a dequantiser, decided."""
    from hwsim.prove.quantizers import prove_dequantizer, prove_quantizer
    from hwsim.quantize.block import BlockQuantization

    if isinstance(block, BlockQuantization):
        return prove_quantizer(block, cuts, options)
    return prove_dequantizer(block, cuts, options)


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
