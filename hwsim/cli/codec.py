"""`hwsim decode` and `hwsim encode`."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated

import numpy as np
import typer

from hwsim.cli import arguments as complete
from hwsim.cli import arguments as parse
from hwsim.cli.app import app
from hwsim.cli.arguments import FormatName
from hwsim.cli.output import AsJson, objects, print_json, print_table
from hwsim.explain.stages import code_text, number_text
from hwsim.formats import Missing, Overflow, codes_of, get_format, unpack

# Numbers may be negative, and must not be taken for options.
NEGATIVE = {"ignore_unknown_options": True}


@app.command(context_settings=NEGATIVE)
def decode(
    format: FormatName,
    codes: Annotated[list[str], typer.Argument(metavar="CODE...", help="Decimal, 0x... or 0b...")],
    as_json: AsJson = False,
) -> None:
    """Say what codes are: class, sign, exponent, significand and exact value.

    \b
    hwsim decode e4m3 0x38 0x7e 0xff
    hwsim decode e8m0 127 0
    hwsim decode ./my-format.yaml 0b1010
    hwsim decode e4m3 0x38 --json
    """
    fmt = get_format(format)
    array = codes_of(fmt, [parse.code(text) for text in codes])
    rows = []
    for code, value in zip(array.tolist(), fmt.decode(array).tolist(), strict=True):
        fields = unpack(fmt, code)
        finite = math.isfinite(value)
        sign = "" if fmt.fraction_bits < 0 else "-"
        sig = f"{fields.sig} * 2^{sign}{abs(fmt.fraction_bits)}" if finite else ""
        exp = str(fields.exp) if finite else ""
        rows.append(
            [code_text(fmt, code), fields.cls.value, str(fields.sign), exp, sig, number_text(value), _hex(value)]
        )
    header = ["code", "class", "sign", "exp", "sig", "value", "hex"]
    if as_json:
        print_json(objects(header, rows))
    else:
        print_table(header, rows, right=(3, 4, 5))


@app.command(context_settings=NEGATIVE)
def encode(
    format: FormatName,
    values: Annotated[
        list[str], typer.Argument(metavar="VALUE...", help="1.5, -2e-3, 0x1.8p3, 1/3, inf, nan; rounded once.")
    ],
    rounding: Annotated[
        str, typer.Option(help=", ".join(complete.roundings()), autocompletion=complete.roundings)
    ] = "rne",
    overflow: Annotated[str, typer.Option(help=", ".join(Overflow), autocompletion=complete.overflows)] = "saturate",
    missing: Annotated[
        str,
        typer.Option(
            help=f"What a number becomes that the format has no code for: {', '.join(Missing)}",
            autocompletion=complete.missing,
        ),
    ] = "error",
    random_bits: Annotated[int | None, typer.Option(help="Of stochastic: random bits below the last place.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of stochastic: 64 bits that say which random numbers.")] = None,
    counter: Annotated[int, typer.Option(help="Of stochastic: place of the first number in the stream.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Give the codes of numbers, each rounded once from what was typed, exactly.

    \b
    hwsim encode e4m3 1.3 1/3 0x1.8p3
    hwsim encode e5m2 --rounding rz --overflow infinity 61440
    hwsim encode e2m1 --missing zero nan -0.2
    hwsim encode e4m3 --rounding stochastic --random-bits 8 --seed 1 0.3 0.3 0.3
    """
    fmt = get_format(format)
    exact = [parse.number(text) for text in values]
    array = np.empty(len(exact), dtype=object)
    array[:] = exact
    codes = fmt.encode(array, rounding, overflow, missing, random_bits=random_bits, seed=seed, counter=counter)
    rows = [
        [text, code_text(fmt, code), number_text(value), _exactness(number, value)]
        for text, number, code, value in zip(values, exact, codes.tolist(), fmt.decode(codes).tolist(), strict=True)
    ]
    if as_json:
        print_json(objects(["given", "code", "value", "rounded"], rows))
    else:
        print_table(["given", "code", "value", ""], rows, right=(0, 2))


def _hex(value: float | Fraction) -> str:
    """A float64 in hexadecimal; empty for what is none."""
    if not isinstance(value, Fraction):
        return value.hex()
    return float(value).hex() if value == Fraction(float(value)) else ""


def _exactness(number: parse.Number, value: float | Fraction) -> str:
    """`exact` where the code's value is the number, else the direction in which it was rounded."""
    if not isinstance(number, Fraction) and not math.isfinite(number):
        return "exact" if number == value or (math.isnan(number) and math.isnan(value)) else "replaced"
    if not math.isfinite(value):
        return "overflow"
    return "exact" if number == Fraction(value) else "rounded up" if Fraction(value) > number else "rounded down"
