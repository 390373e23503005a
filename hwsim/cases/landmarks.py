"""The codes of a format at which something begins or ends, by name, and exact numbers as codes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from hwsim.formats import Class, FixedFormat, FloatFormat, Format, unpack
from hwsim.formats.codes import all_codes
from hwsim.spec.keys import Number


def zeros(fmt: Format) -> list[int]:
    """Every code of zero."""
    return [0, 1 << fmt.container_bits - 1] if fmt.signed and fmt.signed_zero else [0]


def nans(fmt: Format) -> list[int]:
    """NaN codes: all of a format that lists them; of the others signalling, quiet and canonical, in both signs."""
    if not isinstance(fmt, FloatFormat):
        return [code for code in all_codes(fmt) if fmt.is_nan(code >> fmt.padding)] if fmt.has_nan else []
    if fmt.nan != "ieee":
        return [code << fmt.padding for code in fmt.nan]
    top, last = fmt.top_bexp << fmt.fraction_bits, (1 << fmt.fraction_bits) - 1
    found = {(top | frac) << fmt.padding for frac in (1, (last + 1) >> 1, last) if frac}
    signed = {code | fmt.sign_bit << fmt.padding for code in found} if fmt.signed else set()
    return sorted(found | signed | ({fmt.canonical_nan} if fmt.canonical_nan is not None else set()))


def infinities(fmt: Format) -> list[int]:
    """The codes of +Inf and, of a signed format, -Inf; none where the format has no infinity."""
    if not isinstance(fmt, FloatFormat) or fmt.infinity_magnitude is None:
        return []
    plus = fmt.infinity_magnitude << fmt.padding
    return [plus, plus | fmt.sign_bit << fmt.padding] if fmt.signed else [plus]


@lru_cache(maxsize=64)
def numbers(fmt: Number) -> dict[str, int]:
    """Positive codes by name: the ends of the subnormals and of the normal numbers, and what lies between."""
    if isinstance(fmt, FixedFormat):
        largest = (1 << fmt.bits - 1) - 1
        one = min(1 << max(fmt.fraction_bits, 0), largest)  # or the number nearest to it
        named = {"least": 1, "one": one, "mixed": largest * 5 // 7, "largest": largest}
    else:
        hidden, most = 1 << fmt.fraction_bits, fmt.max_magnitude
        first = hidden if fmt.subnormals else 1
        named = {
            "first-normal": first,
            "normal": min(((fmt.bias << fmt.fraction_bits) + hidden * 5 // 7) | 1, most),
            "one": min(max(fmt.bias << fmt.fraction_bits, first), most),
            "largest": most,
        }
        if fmt.subnormals and fmt.fraction_bits:
            below = {"least": 1, "last-subnormal": hidden - 1, "subnormal": max(hidden // 2, 1)}
            named = {**below, **named}
    return distinct({name: code << fmt.padding for name, code in named.items() if code > 0})


def largest_code(fmt: Number) -> int:
    """The code of the largest number, which may be 1 or the least normal one too."""
    return max(numbers(fmt).values())


def distinct(named: Mapping[str, int]) -> dict[str, int]:
    """Each value once, under the first of its names."""
    names: dict[int, str] = {}
    for name, value in named.items():
        names.setdefault(value, name)
    return {name: value for value, name in names.items()}


def negate(fmt: Format, code: int) -> int | None:
    """The code of the number of the other sign, or None where the format has none."""
    sign_bit = 1 << fmt.container_bits - 1
    if fmt.twos_complement:
        return None if code == sign_bit else -code & 2 * sign_bit - 1
    if not fmt.signed or code & ((1 << fmt.padding) - 1):
        return None  # no sign, or the canonical NaN, whose padding is not zero
    if not fmt.signed_zero and not code & sign_bit - 1:
        return None
    return code ^ sign_bit


def is_finite(fmt: Format, code: int) -> bool:
    """Whether a code is a number, zero counted."""
    return unpack(fmt, code).cls not in (Class.NAN, Class.INFINITY)


def exact_code(fmt: FloatFormat, sign: int, sig: int, unit_exp: int) -> int | None:
    """The code of (-1)^sign * sig * 2^unit_exp, or None where the format has none. sig > 0."""
    if sign and not fmt.signed:
        return None
    binade = max(sig.bit_length() - 1 + unit_exp, fmt.emin)
    shift = binade - fmt.fraction_bits - unit_exp
    if shift > 0 and sig & ((1 << shift) - 1):
        return None
    kept = sig >> shift if shift > 0 else sig << -shift
    magnitude = ((binade - fmt.emin) << fmt.fraction_bits) + kept
    if not fmt.subnormals:
        # Biased exponent 0 is an ordinary binade, except its first code, which is zero.
        magnitude -= 1 << fmt.fraction_bits
        if magnitude <= 0:
            return None
    if magnitude > fmt.max_magnitude:
        return None
    return (sign * fmt.sign_bit | magnitude) << fmt.padding


def factors_ending(
    a: FloatFormat, b: FloatFormat, places: int, field: int, sign: int, *, normal: bool = False
) -> tuple[int, int] | None:
    """Two factors whose significands' product is `field` modulo 2^places. field: odd. normal: not both subnormal."""
    for x in range(1, 1 << a.precision, 2):
        y = pow(x, -1, 1 << places) * field % (1 << places)
        if y < 1 << b.precision and (not normal or x >> a.fraction_bits or y >> b.fraction_bits):
            # A significand without its high bit is a subnormal's.
            exps = [0 if sig >> fmt.fraction_bits else fmt.emin for fmt, sig in ((a, x), (b, y))]
            codes = (
                exact_code(a, sign, x, exps[0] - a.fraction_bits),
                exact_code(b, 0, y, exps[1] - b.fraction_bits),
            )
            if codes[0] is not None and codes[1] is not None:
                return codes[0], codes[1]
    return None
