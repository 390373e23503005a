"""Golden tables of the codecs: every code's fields and value, as text.

`python -m hwsim.formats.tables DIR [FORMAT ...]` writes a CSV file for each format and a manifest, the same bytes
every time; with `--landmarks`, formats of more than 8 bits get only the landmarks and the whole table's digest.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, assert_never

from hwsim.formats.catalog import Format, formats, get_format
from hwsim.formats.codes import unpack
from hwsim.formats.fixed import ExponentFormat, FixedFormat
from hwsim.formats.floats import FloatFormat
from hwsim.formats.kind import Class, Fields
from hwsim.formats.listed import TableFormat

VERSION = 2  # of what the files hold and how
ALL_CODES = 16  # formats of at most so many bits have a row for every code
MOST_EXPONENT_BITS = 8  # of formats with a row for both ends of every binade
SHORT = 8  # bits of the formats whose tables are short enough to be kept


class CodeRow(NamedTuple):
    """One code: its fields as `unpack` gives them, and its value as `float.hex` writes it (or inf, -inf, nan)."""

    code: str
    cls: str
    sign: int
    exp: int
    sig: int
    value: str


def rows(fmt: Format) -> list[CodeRow]:
    """A row for every code of a format of up to 16 bits, and for every landmark of a wider one, by code."""
    if fmt.container_bits > ALL_CODES:
        return landmarks(fmt)
    return [_row(fmt, code) for code in _with_canonical(fmt, (code << fmt.padding for code in range(1 << fmt.bits)))]


def landmarks(fmt: Format) -> list[CodeRow]:
    """A row for every boundary code, by code."""
    return [_row(fmt, code) for code in boundary_codes(fmt)]


def boundary_codes(fmt: Format) -> list[int]:
    """The codes at which something begins or ends, in both signs.

    Zero, the ends of the subnormals and every power of two among them, the first and the last code of every binade
    (of binary64, of some), infinity, the first, the quiet and the canonical NaN. Of a fixed format: every power of two
    and the code before it.
    """
    match fmt:
        case ExponentFormat():
            return sorted({fmt.min_code, fmt.bias, fmt.max_code, *fmt.nan} & set(range(1 << fmt.bits)))
        case FixedFormat():
            ends = {0, *(value for k in range(fmt.precision) for value in (1 << k, (2 << k) - 1))}
            return sorted({value & ((1 << fmt.bits) - 1) for end in ends for value in (end, -end, -end - 1)})
        case FloatFormat():
            signs, magnitudes = (0, fmt.sign_bit * fmt.signed), set(_boundary_magnitudes(fmt))
            return _with_canonical(fmt, ((sign | bits) << fmt.padding for sign in signs for bits in magnitudes))
        case TableFormat():
            return table_landmarks(fmt)
        case _:
            assert_never(fmt)


def table_landmarks(fmt: TableFormat) -> list[int]:
    """Codes of zeros, infinities and NaNs, of both ends, of powers of two, and those before and after."""
    ends = {fmt.min_code, fmt.max_code, *fmt.nan, len(fmt.numbers) - 1}
    for code, x in enumerate(fmt.numbers):
        if not math.isfinite(x) or abs(math.frexp(x)[0]) in (0, 0.5):
            ends |= {code - 1, code, code + 1}
    return sorted(ends & set(range(len(fmt.numbers))))


def _with_canonical(fmt: Format, codes: Iterable[int]) -> list[int]:
    """Codes in order, with the canonical NaN, whose padding holds ones."""
    return sorted({*codes, *([] if fmt.canonical_nan is None else [fmt.canonical_nan])})


def _boundary_magnitudes(fmt: FloatFormat) -> Iterator[int]:
    last = (1 << fmt.fraction_bits) - 1
    for k in range(fmt.fraction_bits):
        yield from (1 << k, (1 << k) - 1)
    for bexp in _boundary_bexps(fmt):
        yield from (bexp << fmt.fraction_bits, bexp << fmt.fraction_bits | last)
    yield fmt.max_magnitude
    if fmt.nan == "ieee":
        top = fmt.top_bexp << fmt.fraction_bits
        yield from (top + 1, top | (last + 1) >> 1)


def _boundary_bexps(fmt: FloatFormat) -> Iterable[int]:
    """Every biased exponent; of more than 8 bits those at the ends, around 2^0 and around powers of two."""
    if fmt.exponent_bits <= MOST_EXPONENT_BITS:
        return range(fmt.top_bexp + 1)
    places = {0, fmt.bias, fmt.top_bexp, *(1 << k for k in range(fmt.exponent_bits))}
    near = {place + step for place in places for step in range(-3, 4)}
    return sorted(near & set(range(fmt.top_bexp + 1)))


def _row(fmt: Format, code: int) -> CodeRow:
    fields = unpack(fmt, code)
    shown = f"{code:#0{-(-fmt.container_bits // 4) + 2}x}"
    return CodeRow(shown, fields.cls.value, fields.sign, fields.exp, fields.sig, _value(fmt, fields))


def _value(fmt: Format, fields: Fields) -> str:
    if fields.cls is Class.NAN:
        return "nan"
    if fields.cls is Class.INFINITY:
        return "-inf" if fields.sign else "inf"
    value = math.ldexp(fields.sig, fields.exp - fmt.fraction_bits)
    return (-value if fields.sign else value).hex()


@lru_cache(maxsize=8)
def text(fmt: Format) -> str:
    """A format's file: a header line and `rows`, comma-separated."""
    return _text(rows(fmt))


def _text(table: list[CodeRow]) -> str:
    return "\n".join(["code,class,sign,exp,sig,value", *(",".join(map(str, row)) for row in table), ""])


def write(folder: str | Path, which: Iterable[Format] | None = None, short: bool = False) -> None:
    """Write `NAME.csv` for each format (every one that ships, unless said) and `manifest.yaml` into a folder.

    short: of formats of more than 8 bits write landmarks only; the manifest has the digest of the whole file under
    `all_codes`, where there is one.
    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    manifest = ["# Made by `python -m hwsim.formats.tables`; `hwsim docs formats` says what the columns are."]
    manifest += ["generator: hwsim.formats.tables", f"version: {VERSION}", "files:"]
    for fmt in formats().values() if which is None else which:
        whole = data = text(fmt).encode()
        if short and fmt.container_bits > SHORT:
            data = _text(landmarks(fmt)).encode()
        (path / f"{fmt.name}.csv").write_bytes(data)
        manifest += [f"  {fmt.name}.csv:", *_sums(data, "    ")]
        if whole != data:
            manifest += ["    all_codes:", *_sums(whole, "      ")]
    (path / "manifest.yaml").write_bytes("\n".join([*manifest, ""]).encode())


def _sums(data: bytes, indent: str) -> list[str]:
    """The number of rows of each file, and its SHA-256 sum."""
    return [f"{indent}rows: {len(data.splitlines()) - 1}", f"{indent}sha256: {hashlib.sha256(data).hexdigest()}"]


def main(arguments: list[str]) -> int:
    """Run as a program; the exit status."""
    folder, *names = [argument for argument in arguments if argument != "--landmarks"] or [""]
    if not folder or folder.startswith("-"):
        print("usage: python -m hwsim.formats.tables [--landmarks] DIR [FORMAT ...]", file=sys.stderr)
        return 2
    write(folder, [get_format(name) for name in names] or None, "--landmarks" in arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
