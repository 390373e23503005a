"""Golden tables of the codecs: what every code is, as text that anyone can check.

`python -m hwsim.formats.tables DIR` writes one CSV file a format and a manifest. The same bytes every time.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from hwsim.formats.catalog import formats
from hwsim.formats.codes import unpack
from hwsim.formats.format import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.formats.kind import Class, Fields

VERSION = 1  # of what the files hold and how
ALL_CODES = 16  # formats of at most so many bits have a row for every code


class CodeRow(NamedTuple):
    """One code: its fields as `unpack` gives them, and its value as `float.hex` writes it (or inf, -inf, nan)."""

    code: str
    cls: str
    sign: int
    exp: int
    sig: int
    value: str


def rows(fmt: Format) -> list[CodeRow]:
    """A row for every code of a format of up to 16 bits, for the boundary codes of a wider one, by code."""
    every = range(1 << fmt.container_bits) if fmt.container_bits <= ALL_CODES else boundary_codes(fmt)
    digits = -(-fmt.container_bits // 4)
    return [_row(fmt, code, digits) for code in every if not code & ((1 << fmt.padding) - 1) or _canonical(fmt, code)]


def boundary_codes(fmt: Format) -> list[int]:
    """The codes at which something begins or ends, in both signs.

    Zero, the ends of the subnormals and every power of two among them, the first and the last code of every binade,
    infinity, the first, the quiet and the canonical NaN. Of a fixed format: every power of two and the code before it.
    """
    if isinstance(fmt, ExponentFormat):
        return sorted({fmt.min_code, fmt.bias, fmt.max_code, *fmt.nan} & set(range(1 << fmt.bits)))
    if isinstance(fmt, FixedFormat):
        ends = {0, *(value for k in range(fmt.bits - 1) for value in (1 << k, (2 << k) - 1))}
        return sorted({value & ((1 << fmt.bits) - 1) for end in ends for value in (end, -end, -end - 1)})
    magnitudes = sorted(set(_boundary_magnitudes(fmt)))
    codes = {(sign | magnitude) << fmt.padding for sign in (0, fmt.sign_bit * fmt.signed) for magnitude in magnitudes}
    return sorted(codes | ({fmt.canonical_nan} if fmt.canonical_nan is not None else set()))


def _boundary_magnitudes(fmt: FloatFormat) -> Iterator[int]:
    last = (1 << fmt.fraction_bits) - 1
    for k in range(fmt.fraction_bits):
        yield from (1 << k, (1 << k) - 1)
    for bexp in range(fmt.top_bexp + 1):
        yield from (bexp << fmt.fraction_bits, bexp << fmt.fraction_bits | last)
    yield fmt.max_magnitude
    if fmt.nan == "ieee":
        top = fmt.top_bexp << fmt.fraction_bits
        yield from (top + 1, top | (last + 1) >> 1)


def _canonical(fmt: Format, code: int) -> bool:
    return code == fmt.canonical_nan


def _row(fmt: Format, code: int, digits: int) -> CodeRow:
    fields = unpack(fmt, code)
    shown = f"{code:#0{digits + 2}x}"
    return CodeRow(shown, fields.cls.value, fields.sign, fields.exp, fields.sig, _value(fmt, fields))


def _value(fmt: Format, fields: Fields) -> str:
    if fields.cls is Class.NAN:
        return "nan"
    if fields.cls is Class.INFINITY:
        return "-inf" if fields.sign else "inf"
    value = math.ldexp(fields.sig, fields.exp - fmt.fraction_bits)
    return (-value if fields.sign else value).hex()


def text(fmt: Format) -> str:
    """A format's file: a header line and `rows`, comma-separated."""
    lines = [",".join(map(str, row)) for row in rows(fmt)]
    return "\n".join(["code,class,sign,exp,sig,value", *lines, ""])


def write(folder: str | Path, which: Iterable[Format] | None = None) -> None:
    """Write `NAME.csv` for each format (every one that ships, unless said) and `manifest.yaml` into a folder."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    manifest = ["# Made by `python -m hwsim.formats.tables`; docs/formats.md says what the columns are."]
    manifest += ["generator: hwsim.formats.tables", f"version: {VERSION}", "files:"]
    for fmt in formats().values() if which is None else which:
        data = text(fmt).encode()
        (path / f"{fmt.name}.csv").write_bytes(data)
        manifest += [f"  {fmt.name}.csv:", f"    rows: {len(data.splitlines()) - 1}"]
        manifest += [f"    sha256: {hashlib.sha256(data).hexdigest()}"]
    (path / "manifest.yaml").write_bytes("\n".join([*manifest, ""]).encode())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print("usage: python -m hwsim.formats.tables DIR", file=sys.stderr)
        sys.exit(2)
    write(sys.argv[1])
