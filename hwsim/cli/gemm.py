"""`hwsim gemm`."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Annotated

import typer

from hwsim.cli import complete
from hwsim.cli.app import app
from hwsim.cli.complete import UnitName
from hwsim.cli.interrupt import interruptible
from hwsim.cli.output import announce, say
from hwsim.cli.product import Given, GivenFactor, check, cost, product, swapped, unpacked, write
from hwsim.cli.progress import Progress
from hwsim.errors import InputError
from hwsim.model.definition import definition_of
from hwsim.outputs import refuse_strangers, written
from hwsim.quantize import get_rule
from hwsim.quantize.tensors import StoredArray, are_codes, multiplies, read
from hwsim.resources import demand_disk
from hwsim.spec import Unit, load_unit

FILE = "FILE.npy, FILE.npz[:NAME] or FILE.safetensors[:NAME]"


@app.command()
def gemm(
    unit: UnitName,
    a: Annotated[str, typer.Argument(metavar="A", help=f"(..., M, K): {FILE}.")],
    b: Annotated[str, typer.Argument(metavar="B", help="(..., K, N), in the same way.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="D.npy", help="Where the result goes.")],
    addend: Annotated[
        str | None, typer.Option(metavar="C", help="(..., M, N), added by the unit; +0 unless given.")
    ] = None,
    scale_a: Annotated[
        str | None, typer.Option(metavar="FILE", help="The shared scales of A: codes, or float32.")
    ] = None,
    scale_b: Annotated[str | None, typer.Option(metavar="FILE", help="Those of B.")] = None,
    quantize: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="How floats become codes and scales: a rule of hwsim.quantize.",
            autocompletion=complete.rules,
        ),
    ] = None,
    quantize_b: Annotated[
        str | None,
        typer.Option(metavar="RULE", help="The same of B, where it is another.", autocompletion=complete.rules),
    ] = None,
    transposed: Annotated[
        bool, typer.Option("--transposed", help="B is (..., N, K), as layers keep weights, and its scales lie so too.")
    ] = False,
    packed: Annotated[
        str, typer.Option(metavar="a|b|ab", help="Factors of FP4 or FP6 codes without gaps, in bytes along K.")
    ] = "",
    allow_nan: Annotated[
        bool, typer.Option("--allow-nan", help="Quantise NaNs and infinities as the rule says; else they are refused.")
    ] = False,
) -> None:
    """Multiply matrices in files: A @ B + C, every element bit for bit as the unit returns it.

    \b
    hwsim gemm hopper-wgmma-e4m3-f32 a.npy b.npy -o d.npy
    hwsim gemm hopper-wgmma-e4m3-f32 model.safetensors:x model.safetensors:w -o d.npy --addend c.npy
    hwsim gemm mxfp8-e4m3-f32 a.npy b.npy -o d.npy --scale-a scales.npz:a --scale-b scales.npz:b
    hwsim gemm mxfp8-e4m3-f32 x.npy w.npy -o d.npy --quantize mxfp8-e4m3
    hwsim gemm deepseek-v3-e4m3-f32-scaled x.npy w.npy -o d.npy --quantize deepseek-v3-1x128
        --quantize-b deepseek-v3-128x128
    hwsim gemm hopper-wgmma-e4m3-f32 x.npy w.npy -o d.npy --quantize tensor-e4m3
    hwsim gemm blackwell-mxf4nvf4-e2m1-f32 x.npy layer.safetensors:weight -o d.npy --packed ab --transposed
        --scale-a xs.npy --scale-b layer.safetensors:weight_scale

    \b
    Integers are codes, and floats of the format's own dtype (F8_E4M3, F8_E5M2, BF16, F16, F32) too, by their bits.
    Other floats are quantised along K by a rule, whose scales the unit takes. One scale of a matrix, a row of A or a
    column of B that it does not take multiplies the result: D = RNE(d * RNE(scale_a * scale_b)), in binary32.
    Packed codes are two of FP4 a byte, the first in the low bits, or four of FP6 in three bytes.
    D is float32 or float16, or the codes of another result format. As many threads compute as NUMBA_NUM_THREADS says.
    """
    specified = load_unit(unit)
    definition_of(specified)
    if output.suffix != ".npy" or output.is_dir():
        raise InputError(f"--output must be a .npy file, not {output}")
    stored = read(a), read(b)
    c, *scales = (None if name is None else read(name) for name in (addend, scale_a, scale_b))
    for array in (*stored, c, *scales):
        if array is not None and output.exists() and output.samefile(array.path):
            raise InputError(f"--output {output} is where {array.name} is read from: name another file")
    refuse_strangers(output)
    if packed not in ("", "a", "b", "ab"):
        raise InputError(f"--packed must be a, b or ab, the factors that are, not {packed}")
    stored = unpacked(specified, "a", stored[0], packed, -1), stored[1]
    stored = stored[0], unpacked(specified, "b", stored[1], packed, -1 if transposed else -2)
    if transposed:
        stored = stored[0], swapped(stored[1], specified.operands.b)
        scales[1] = None if scales[1] is None else swapped(scales[1], None)
    rules = _rules(specified, stored, quantize, quantize_b)
    of_a = GivenFactor("a", stored[0], scales[0], rules[0])
    given = Given(specified, of_a, GivenFactor("b", stored[1], scales[1], rules[1]), c)
    check(given)
    announce(cost(given))
    with interruptible(), Progress("reading", products=True) as bar:
        ready = product(given, allow_nan)
        by = "the model, element by element" if ready.by_model else "compiled code"
        bar.plan(ready.products, "multiplying")
        demand_disk(output, math.prod(ready.shape) * ready.dtype.itemsize * max(ready.long_words, 1))
        started = time.monotonic()
        try:
            with written(output) as file:
                write(ready, file, bar.advance)
        except OSError as error:
            error.filename = str(output)  # not the scratch file beside it
            raise
        seconds = time.monotonic() - started
    _say_rules(given)
    shape, rate = " x ".join(map(str, ready.shape)), float(f"{ready.products / max(seconds, 1e-9):.3g}")
    speed = f"{ready.products:,} products in {seconds:,.2f} s, {rate:,.0f} a second"
    kind = f"codes of {specified.output.container_bits} bits" if ready.dtype == object else ready.dtype.name
    say(f"{output}: {shape} {kind}, {speed}, by {by}")


def _rules(
    unit: Unit, stored: tuple[StoredArray, StoredArray], quantize: str | None, quantize_b: str | None
) -> tuple[str | None, str | None]:
    """The rules of a and of b; None for codes, which need none. Raises ValueError for a rule that is not used."""
    for rule in (quantize, quantize_b):
        if rule is not None:
            get_rule(rule)
    rule_a = None if are_codes(unit.operands.a, stored[0]) else quantize
    rule_b = None if are_codes(unit.operands.b, stored[1]) else quantize_b or quantize
    for option, rule in (("--quantize-b", quantize_b), ("--quantize", quantize)):
        if rule is not None and rule not in (rule_a, rule_b):
            raise InputError(
                f"{option} {rule} finds nothing to quantise: codes, and floats of the format's own dtype, are taken as "
                "they are"
            )
    return rule_a, rule_b


def _say_rules(given: Given) -> None:
    """Print the rules that were applied, and whether their scales multiplied the result."""
    for factor in (given.a, given.b):
        if factor.rule is not None:
            left = "; the result was multiplied by its scale" if multiplies(given.unit, get_rule(factor.rule)) else ""
            say(f"{factor.stored.name}: quantised by {factor.rule}{left}")
