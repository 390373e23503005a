"""Formats by name, and from a user's own YAML file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field, TypeAdapter, ValidationError

from hwsim.base.errors import InputError, InputTypeError
from hwsim.base.files import contents
from hwsim.formats.fixed import ExponentFormat, FixedFormat
from hwsim.formats.floats import FloatFormat
from hwsim.formats.listed import TableFormat, listed_in
from hwsim.formats.tablerules import PositRule
from hwsim.formats.yamlfile import MOST_BYTES as MOST_FILE
from hwsim.formats.yamlfile import Document, Location, MappingDocument, SpecError, explain_invalid, read

# Of codes whose fields stand in the same bits: of results, addends and scales, too.
FieldFormat = FloatFormat | FixedFormat | ExponentFormat
Format = FieldFormat | TableFormat
_adapter: TypeAdapter[Format] = TypeAdapter(Annotated[Format, Field(discriminator="kind")])


def parse(data: dict[str, Any]) -> Format:
    """The format that a mapping describes. Raises pydantic's ValidationError."""
    return _adapter.validate_python(data)


NAME = re.compile(r"binary(\d{1,3})p(\d{1,3})([su])([ef])")
SOURCE = "IEEE SA P3109 working group, interim report 3.0 and value tables, github.com/P3109/Public"
LEAST_BITS, MOST_BITS = 3, 8  # the report goes further; float64 holds every value of these


def p3109(precision: int, bits: int = 8, signed: bool = True, extended: bool = True) -> FloatFormat:
    """The P3109 format of a width and a precision; `binary8p3se` is `p3109(3)`.

    precision: bits of a significand, the hidden bit counted; 1 to bits - 1, unsigned to bits. bits: 3 to 8.
    extended: with infinities, in place of the largest number of each sign.

    One zero, one NaN. Signed, NaN is the code of negative zero, and infinity the code of all ones below the sign;
    unsigned, NaN is the code of all ones, and infinity the one below. The bias is 2^(bits - precision - 1), unsigned
    2^(bits - precision), so that 1 is the middle of the codes.
    Raises SpecError (a ValueError) for parameters out of range.
    """
    most = bits - signed
    if not LEAST_BITS <= bits <= MOST_BITS:
        raise SpecError(f"bits must be {LEAST_BITS} to {MOST_BITS}, not {bits}")
    if not 1 <= precision <= most:
        kind = "a signed" if signed else "an unsigned"
        raise SpecError(f"precision must be 1 to {most} for {kind} format of {bits} bits, not {precision}")
    return FloatFormat(
        name=f"binary{bits}p{precision}{'s' if signed else 'u'}{'e' if extended else 'f'}",
        summary=f"IEEE P3109, {bits} bits, precision {precision}, {'' if signed else 'un'}signed, "
        f"{'extended' if extended else 'finite'}",
        source=SOURCE,
        exponent_bits=most - precision + 1,
        fraction_bits=precision - 1,
        bias=1 << (most - precision),
        infinities=extended,
        nan=(1 << (bits - 1),) if signed else ((1 << bits) - 1,),
        signed=signed,
        signed_zero=False,
    )


POSIT = re.compile(r"posit(\d{1,2})es(\d)")
CFLOAT = re.compile(r"cfloat8_1_(4_3|5_2)_b(\d{1,2})")
MOST_BIAS = 63


@cache
def posit(bits: int, es: int) -> TableFormat:
    """Posits of `bits` bits with exponents of up to `es`; `posit8es2` is `posit(8, 2)`."""
    try:
        rule = PositRule(name="posit", bits=bits, es=es)
    except ValidationError:
        raise SpecError(f"a posit must have 2 to 16 bits and es of 0 to 4, not {bits} and {es}") from None
    source = "Posit Working Group, Standard for Posit Arithmetic (2022), whose es is 2; Gustafson and Yonemoto 2017"
    summary = f"posits of {bits} bits with es = {es}; one zero, one NaN, no infinity"
    return TableFormat(name=f"posit{bits}es{es}", summary=summary, source=source, rule=rule)


def cfloat8(fields: str, bias: int) -> FloatFormat:
    """Tesla's CFloat8 of a bias, whose exponents and fractions have `4_3` or `5_2` bits; `cfloat8_1_4_3_b7`."""
    if bias > MOST_BIAS:
        raise SpecError(f"the bias of a cfloat8 must be 0 to {MOST_BIAS}, not {bias}")
    exponent_bits, fraction_bits = map(int, fields.split("_"))
    return FloatFormat(
        name=f"cfloat8_1_{fields}_b{bias}",
        summary=f"Tesla Dojo CFloat8_1_{fields} with a bias of {bias}; subnormals, no NaN, no infinity",
        source="Tesla Dojo Technology, A Guide to Tesla's Configurable Floating Point Formats and Arithmetic, 2021",
        exponent_bits=exponent_bits,
        fraction_bits=fraction_bits,
        bias=bias,
    )


def named(name: str) -> Format | None:
    """The format of a name like `binary8p3se`, `posit8es0` or `cfloat8_1_4_3_b7`; None for a name of another form.

    Raises SpecError where the name's parameters are out of range.
    """
    if match := POSIT.fullmatch(name):
        return posit(int(match[1]), int(match[2]))
    if match := CFLOAT.fullmatch(name):
        return cfloat8(match[1], int(match[2]))
    match = NAME.fullmatch(name)
    if match is None:
        return None
    bits, precision, sign, domain = match.groups()
    try:
        return p3109(int(precision), int(bits), sign == "s", domain == "e")
    except SpecError as error:
        raise SpecError(f"unknown format {name!r}: {error}") from None


LISTED = ("unit", "format")  # by commands of their own
MOST_NAMES = 60  # of those, that an error lists
LISTS = (".csv", ".txt")  # of files that list values
CATALOG, TABLES = (Path(__file__).with_name(name) for name in ("formats.yaml", "tables.yaml"))


def looks_like_path(name: str) -> bool:
    """True if a name is a file's: it has a folder or ends as YAML files and lists of values do."""
    return "/" in name or name.endswith((".yaml", ".yml", *LISTS))


def nearest(kind: str, name: str, known: Iterable[str]) -> str:
    """`unknown format 'e4m4': did you mean e4m3, e3m4?`"""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
    listed = f"`hwsim {kind}s` lists all {len(names)}" if kind in LISTED and len(names) > MOST_NAMES else ""
    every = listed or f"known: {', '.join(names)}"
    hint = f"did you mean {', '.join(close)}?" if close else every
    return f"unknown {kind} {name!r}: {hint}"


@cache
def formats() -> dict[str, Format]:
    """Every format that ships with hwsim, by name, but for tables."""
    return _in_file(CATALOG)


@cache
def tables() -> dict[str, Format]:
    """Every format by table that ships with hwsim, by name; the codes of factors can have it, and nothing else."""
    return _in_file(TABLES)


def _in_file(path: Path) -> dict[str, Format]:
    document = read(path)
    return {name: _parse(document, name, fields, (name,)) for name, fields in document.data.items()}


def _parse(document: Document, name: str, fields: Any, prefix: Location) -> Format:
    if not isinstance(fields, dict):
        raise SpecError(f"{document.where(prefix)}: {name} must be a mapping of keys to values")
    try:
        return parse({"name": name, **fields})
    except ValidationError as error:
        raise explain_invalid(error, document, prefix) from None


def _listed(path: Path) -> TableFormat:
    """The format whose values a text file lists."""
    try:
        entries = listed_in(contents(path, MOST_FILE).decode())
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: cannot be read: {error}") from error
    except InputError as error:
        raise SpecError(f"{path}:{error}" if str(error)[0].isdigit() else str(error)) from None
    document = MappingDocument(str(path), {"kind": "table", "entries": entries})
    name = re.sub(r"[^a-z0-9_.-]", "-", path.stem.lower())
    return cast(TableFormat, _parse(document, name if name[:1].isalpha() else f"f{name}", document.data, ()))


def get_format(name: str | Path | Format) -> Format:
    """The format of a name, or in a YAML file.

    name: a name that `hwsim formats` lists; one of IEEE P3109, as binary8p3se; posit8es0, cfloat8_1_4_3_b7; a path to a
    YAML file with the keys of `hwsim docs formats`, or to a list of values (.csv, .txt); or a format.
    Raises SpecError (a ValueError) for an unknown name, naming the nearest, and for a file that breaks a rule;
    TypeError for what is none of the three.
    """
    if isinstance(name, Format):
        return name
    if not isinstance(name, (str, Path)):
        raise InputTypeError(f"name must be a format's name, a path or a format, not {type(name).__name__}")
    if isinstance(name, Path) or looks_like_path(name):
        path = Path(name)
        if path.suffix in LISTS:
            return _listed(path)
        document = read(path)
        return _parse(document, path.stem.lower(), document.data, ())
    known = formats() | tables()
    parametric = named(name)
    if parametric is not None:
        return parametric
    if name not in known:
        raise SpecError(nearest("format", name, known))
    return known[name]
