"""The definition of a conversion: one number, in Python's integers."""

from __future__ import annotations

from typing import assert_never, cast

from hwsim.formats import Class, ExponentFormat, FieldFormat, Fields, FixedFormat, FloatFormat
from hwsim.model.rounding import infinity_code, nan_code, overflow_code, pack, round_fixed, round_to
from hwsim.model.terms import product, round_magnitude
from hwsim.quantize.block import BlockDequantization
from hwsim.spec import Rounding
from hwsim.spec.conversion import Conversion
from hwsim.spec.keys import Overflow

LIFT = 1 << 12  # an even number, above what any exponent can be below a format's least


def convert(conversion: Conversion, code: int, word: int = 0) -> int:
    """The code, in its container, that a code becomes. code: in its container, its padding zeros. word: random bits."""
    source = conversion.source
    return encode_fields(conversion, source.fields(code >> source.padding), 0, word)


def encode_fields(conversion: Conversion, fields: Fields, scale_exp: int, word: int = 0) -> int:
    """The code of a number of the source, times 2^scale_exp."""
    target = conversion.target
    match fields.cls:
        case Class.NAN:
            return nan_code(target) if isinstance(target, FloatFormat) and target.has_nan else _without_nan(conversion)
        case Class.INFINITY:
            return _infinity(conversion, fields.sign)
        case Class.ZERO:
            return _zero(conversion, fields.sign)
        case Class.NORMAL | Class.SUBNORMAL:
            unit_exp = fields.exp - conversion.source.fraction_bits + scale_exp
            return _number(conversion, fields.sign, fields.sig, unit_exp, word)
        case _:
            assert_never(fields.cls)


def dequantize(d: BlockDequantization, code: int, scale: int) -> int:
    """The target's code of an element times its scale, rounded once, without a tensor's scale; codes in containers."""
    element, of_scale, target = d.element, d.scale_format, d.target
    assert isinstance(target, FloatFormat)
    fields = element.fields(code >> element.padding), of_scale.fields(scale >> of_scale.padding)
    term = product(*fields, element.fraction_bits + of_scale.fraction_bits)
    rounding, overflow = cast(Rounding, d.rounding), cast(Overflow, d.overflow)
    match term.cls:
        case Class.NAN:
            return nan_code(target)
        case Class.INFINITY:
            return infinity_code(target, term.sign, overflow)
        case Class.ZERO:
            return pack(target, term.sign if target.signed_zero else 0, 0)
        case Class.NORMAL | Class.SUBNORMAL:
            return round_to(target, term.sign, term.sig, term.exp - term.fraction_bits, rounding, overflow).code
        case _:
            assert_never(term.cls)


def _without_nan(conversion: Conversion) -> int:
    target = conversion.target
    if target.canonical_nan is not None:
        return target.canonical_nan
    return target.max_code if conversion.substitute == "saturate" else 0


def _missing(conversion: Conversion) -> int:
    """The code for a number, not a NaN, that the target lacks."""
    target = conversion.target
    match conversion.substitute:
        case "nan":
            return target.canonical_nan or 0
        case "zero":
            return 0
        case "saturate":
            return target.min_code
        case _:
            assert_never(conversion.substitute)


def _infinity(conversion: Conversion, sign: int) -> int:
    target, overflow = conversion.target, conversion.overflow
    if sign and not target.signed:
        return _missing(conversion)
    match target:
        case FloatFormat():
            return infinity_code(target, sign, overflow)
        case FixedFormat():
            return target.sign_bit if sign else target.max_code
        case ExponentFormat():
            return target.max_code if overflow in ("saturate", "propagate") else target.canonical_nan or 0
        case _:
            assert_never(target)


def _zero(conversion: Conversion, sign: int) -> int:
    target = conversion.target
    if not target.has_zero:
        return _missing(conversion)
    return pack(target, sign, 0) if isinstance(target, FloatFormat) and target.signed_zero else 0


def _number(conversion: Conversion, sign: int, sig: int, unit_exp: int, word: int) -> int:
    """A number other than zero, rounded once."""
    target, rounding = conversion.target, conversion.rounding
    if sign and not target.signed:
        return _missing(conversion)
    if isinstance(target, FloatFormat) and target.fraction_bits and rounding != "stochastic":
        return round_to(target, sign, sig, unit_exp, rounding, conversion.overflow).code
    if isinstance(target, FixedFormat) and rounding != "stochastic":
        return round_fixed(target, sign, sig, unit_exp, rounding, "saturate").code
    steps = _steps(target, sign, sig, unit_exp, conversion, word)
    match target:
        case FloatFormat():
            return _of_steps(target, sign, steps, conversion)
        case FixedFormat():
            most = target.sign_bit if sign else target.max_code
            limited = most if steps > most else steps
            return (-limited if sign else limited) % (1 << target.bits)
        case ExponentFormat():
            if steps < target.min_code:
                return _missing(conversion)
            return steps if steps <= target.max_code else _beyond(target, conversion)
        case _:
            assert_never(target)


def _of_steps(target: FloatFormat, sign: int, steps: int, conversion: Conversion) -> int:
    if steps > target.max_magnitude:
        rounding: Rounding = "rne" if conversion.rounding == "stochastic" else conversion.rounding
        return overflow_code(target, sign, rounding, conversion.overflow)
    if steps <= 0 and not target.signed_zero:
        sign = 0
    return pack(target, sign, 0 if steps < 0 else steps)


def _beyond(target: ExponentFormat, conversion: Conversion) -> int:
    """A power of two that is too large. IEEE 754 goes inward where it rounds towards zero, or down."""
    match conversion.overflow:
        case "saturate" | "propagate":
            return target.max_code
        case "ieee" if conversion.rounding in ("rz", "rd"):
            return target.max_code
        case _:
            return target.canonical_nan or 0


def _steps(target: FieldFormat, sign: int, sig: int, unit_exp: int, conversion: Conversion, word: int) -> int:
    """A rounded magnitude as its count of numbers up from zero, as if the exponent had no upper end.

    Where there is no fraction the last bit of that count, which ties look at, is the exponent's.
    """
    fraction_bits = target.fraction_bits
    exp = sig.bit_length() - 1 + unit_exp
    match target:
        case FixedFormat():
            binade = base = 0
        case ExponentFormat():
            binade, base = exp, exp + target.bias - 1 + LIFT
        case FloatFormat():
            binade = max(exp, target.emin)
            base = binade - target.emin << fraction_bits
            if not target.subnormals:
                if exp < target.emin:
                    return 0
                base = base - (1 << fraction_bits)
        case _:
            assert_never(target)
    shift = binade - fraction_bits - unit_exp
    lift = LIFT if isinstance(target, ExponentFormat) else 0
    if conversion.rounding == "stochastic":
        bits = conversion.random_bits
        kept = sig << bits - shift if shift <= bits else sig >> shift - bits
        return base + (kept + word >> bits) - lift
    whole = (base << shift) + sig if shift > 0 else base + (sig << -shift)
    return round_magnitude(whole, shift if shift > 0 else 0, sign, conversion.rounding) - lift
