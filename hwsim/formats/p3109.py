"""The binary formats of IEEE P3109, by their parameters."""

from __future__ import annotations

import re

from hwsim.formats.floats import FloatFormat
from hwsim.formats.yamlfile import SpecError

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


def named(name: str) -> FloatFormat | None:
    """The P3109 format of a name like `binary8p3se`, or None for a name of another form.

    Raises SpecError where the name's parameters are out of range.
    """
    match = NAME.fullmatch(name)
    if match is None:
        return None
    bits, precision, sign, domain = match.groups()
    try:
        return p3109(int(precision), int(bits), sign == "s", domain == "e")
    except SpecError as error:
        raise SpecError(f"unknown format {name!r}: {error}") from None
