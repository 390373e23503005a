"""`hwsim formats`."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
import typer

from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.output import AsJson, objects, print_json, print_table, say
from hwsim.explain.stages import code_text, number_text, value_text
from hwsim.formats import FixedFormat, FloatFormat, Format, TableFormat, get_format
from hwsim.formats import formats as shipped
from hwsim.formats.catalog import tables

COLUMNS = 4  # of the table of codes
TABLE_BITS = 8  # formats of at most so many bits are shown code by code
UNDERFLOW = {
    "nearby": "rounded to zero or to the least number",
    "zero": "zero, where a number rounded with an unbounded exponent is below the least",
}


@app.command()
def formats(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="A format, or the path of its YAML file.", autocompletion=complete.formats
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the formats, or show one: its fields, its range, its NaNs and, up to 8 bits, every code.

    \b
    hwsim formats
    hwsim formats e4m3
    hwsim formats binary8p3se        (IEEE P3109: bits, precision, signed or unsigned, extended or finite)
    hwsim formats posit8es0          (posits: bits, exponent bits)
    hwsim formats ./my-format.yaml   (or a list of values: ./mine.csv)
    hwsim formats e4m3 --json
    """
    if name is None:
        rows = [
            [fmt.name, layout(fmt), number_text(largest(fmt)), "yes" if fmt.infinities else "", nans(fmt), fmt.summary]
            for fmt in (shipped() | tables()).values()
        ]
        header = ["name", "bits", "largest", "inf", "NaN", "summary"]
        if as_json:
            print_json(objects(header, rows))
        else:
            print_table(header, rows, right=(2,))
        return
    fmt = get_format(name)
    if as_json:
        codes = range(1 << fmt.bits) if fmt.bits <= TABLE_BITS else ()
        values = {code_text(fmt, code): value_text(fmt, code) for code in (code << fmt.padding for code in codes)}
        print_json({**dict(facts(fmt)), **({"codes": values} if values else {})})
        return
    print_table(["", ""], facts(fmt))
    if fmt.bits <= TABLE_BITS:
        say()
        _print_codes(fmt)


def layout(fmt: Format) -> str:
    """The widths of the fields: `1-4-3` for sign, exponent and fraction."""
    if isinstance(fmt, FloatFormat):
        return f"{int(fmt.signed)}-{fmt.exponent_bits}-{fmt.fraction_bits}"
    if isinstance(fmt, FixedFormat):
        return f"{int(fmt.signed)}.{fmt.integer_bits}.{fmt.fraction_bits}"
    return f"{fmt.bits} bits" if isinstance(fmt, TableFormat) else f"0-{fmt.exponent_bits}-0"


def largest(fmt: Format) -> float:
    """The largest finite number."""
    if isinstance(fmt, FloatFormat):
        return float(fmt.decode(fmt.max_magnitude << fmt.padding))
    return float(fmt.decode(fmt.max_code))


def nans(fmt: Format) -> str:
    """The NaN codes, in a few words."""
    if isinstance(fmt, FixedFormat) or not fmt.has_nan:
        return ""
    if fmt.nan == "ieee":
        return f"ieee, {code_text(fmt, fmt.canonical_nan or 0)}"
    codes = [code_text(fmt, int(code) << fmt.padding) for code in fmt.nan]
    return ", ".join(codes[:4]) + (f" and {len(codes) - 4} more" if len(codes) > 4 else "")


def facts(fmt: Format) -> list[list[str]]:
    """The properties of a format, as rows of a word and its value."""
    rows = [["format", fmt.name], ["kind", fmt.kind], ["summary", fmt.summary], ["source", fmt.source]]
    container = f", in the high bits of a container of {fmt.container_bits}" if fmt.padding else ""
    rows.append(["bits", f"{fmt.bits}{container}"])
    if isinstance(fmt, FloatFormat):
        rows += _float_facts(fmt)
    elif isinstance(fmt, FixedFormat):
        least, end = (fmt.decode(code).item() for code in (-fmt.steps_down, fmt.max_code))
        sign = "two's complement" if fmt.signed else "no sign"
        rows.append(["fields", f"{sign}, {fmt.integer_bits} integer and {fmt.fraction_bits} fraction bits"])
        step = f"2^{-fmt.fraction_bits}" if fmt.fraction_bits else "1"
        rows.append(["range", f"{number_text(least)} to {number_text(end)}, in steps of {step}"])
        rows.append(["NaN", "none"])
    elif isinstance(fmt, TableFormat):
        rows += _table_facts(fmt)
    else:
        rows.append(["fields", f"biased exponent {fmt.exponent_bits}; value 2^(code - {fmt.bias})"])
        rows.append(["largest", f"2^{fmt.max_code - fmt.bias}"])
        rows.append(["least", f"2^{fmt.min_code - fmt.bias}"])
        rows.append(["NaN", nans(fmt) or "none"])
    return [row for row in rows if row[1]]


def _table_facts(fmt: TableFormat) -> list[list[str]]:
    keys = {} if fmt.rule is None else fmt.rule.model_dump()
    how = ", ".join(f"{key} {value}" for key, value in keys.items()).replace("name ", "") or "entries"
    least = min(abs(x) for x in fmt.numbers if math.isfinite(x) and x)
    infinities = [code_text(fmt, code) for code, x in enumerate(fmt.numbers) if math.isinf(x)]
    return [
        ["fields", f"none: {how}"],
        ["multiplied as", f"1.fraction of {fmt.fraction_bits} bits, exponents {fmt.emin} to {fmt.emax}"],
        ["largest", f"{number_text(fmt.largest)} = {fmt.largest.hex()} ({code_text(fmt, fmt.max_code)})"],
        ["least", f"{number_text(least)} = {least.hex()}"],
        ["infinity", ", ".join(infinities) or "none"],
        ["NaN", nans(fmt) or "none"],
        ["negative zero", "yes" if fmt.signed_zero else "none"],
    ]


def _float_facts(fmt: FloatFormat) -> list[list[str]]:
    sign = "sign 1, " if fmt.signed else "no sign, "

    def number(magnitude: int) -> str:
        code = magnitude << fmt.padding
        value = float(fmt.decode(code))
        return f"{number_text(value)} = {value.hex()} ({code_text(fmt, code)})"

    rows = [
        ["fields", f"{sign}biased exponent {fmt.exponent_bits} (bias {fmt.bias}), fraction {fmt.fraction_bits}"],
        ["largest", number(fmt.max_magnitude)],
        ["min normal", number(1 << fmt.fraction_bits if fmt.subnormals else 1)],
        ["min subnormal", number(1) if fmt.subnormals and fmt.fraction_bits else "none"],
        ["underflow", "" if fmt.subnormals else UNDERFLOW[fmt.underflow]],
        ["infinity", code_text(fmt, (fmt.infinity_magnitude or 0) << fmt.padding) if fmt.infinities else "none"],
        ["NaN", nans(fmt) or "none"],
    ]
    if fmt.canonical_nan is not None:
        rows.append(["canonical NaN", code_text(fmt, fmt.canonical_nan)])
    rows.append(["negative zero", code_text(fmt, fmt.sign_bit << fmt.padding) if fmt.signed_zero else "none"])
    return rows


def _print_codes(fmt: Format) -> None:
    """Print every code and its value; of a signed float the positive codes only."""
    signed = isinstance(fmt, FloatFormat) and fmt.signed
    count = 1 << fmt.bits - signed
    values = fmt.decode(np.arange(count))
    entries = [(code_text(fmt, code), _power_or_number(fmt, code, float(values[code]))) for code in range(count)]
    rows = -(-count // COLUMNS)
    cells = [
        [cell for column in range(COLUMNS) if row + column * rows < count for cell in entries[row + column * rows]]
        for row in range(rows)
    ]
    width = 2 * max(map(len, cells))
    filled = [[*row, *[""] * (width - len(row))] for row in cells]
    print_table([""] * width, filled, right=range(1, width, 2))
    if isinstance(fmt, FloatFormat) and fmt.signed:
        say(f"negative numbers: {code_text(fmt, fmt.sign_bit)} more")


def _power_or_number(fmt: Format, code: int, value: float) -> str:
    if fmt.powers_of_two and math.isfinite(value):
        return f"2^{round(math.log2(value))}"
    return number_text(value)
