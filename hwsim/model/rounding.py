"""Normalise and round: an integer and its unit become a code, rounded once; and exact additions with one rounding."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, NamedTuple, assert_never

from hwsim.base.errors import InputError
from hwsim.formats import Class, FixedFormat, FloatFormat
from hwsim.model.hooks import Hooks, UnpackedResult, passed
from hwsim.model.terms import Term, least, round_magnitude, some
from hwsim.spec.keys import ROUNDINGS, Number, Overflow, Rounding, Tininess
from hwsim.spec.parts import ResultRule

TinySign = Literal["signed", "positive"]


class Rounded(NamedTuple):
    """A rounded result.

    code: the container's code. exp: exponent of the leading one before rounding, None for zero.
    overflow, inexact, tiny: IEEE 754's flags, `tiny` before rounding.
    """

    code: int
    exp: int | None
    overflow: bool = False
    inexact: bool = False
    tiny: bool = False


def with_sticky(total: int, unit_exp: int, fmt: Number) -> tuple[int, int]:
    """total * 2^unit_exp and a 1 farther below than any rounding to `fmt` tells from an infinitely small one.

    total: other than zero; the 1 adds to its magnitude. Returns the integer, and the exponent of its unit.
    A float's last place is at most `fraction_bits` below the total's, and half of it one more; a fixed format's stands
    where it stands.
    """
    places = fmt.fraction_bits + 2
    if isinstance(fmt, FixedFormat):
        places = max(2, places + unit_exp)
    magnitude = (abs(total) << places) | 1
    return (-magnitude if total < 0 else magnitude), unit_exp - places


def round_to(
    fmt: FloatFormat,
    sign: int,
    sig: int,
    unit_exp: int,
    rounding: Rounding,
    overflow: Overflow,
    tiny: TinySign = "signed",
    flush: Tininess | None = None,
    hooks: Hooks | None = None,
) -> Rounded:
    """(-1)^sign * sig * 2^unit_exp, rounded once to `fmt`. sig > 0.

    overflow: what takes the place of a result that, rounded with an unbounded exponent, is too large.
    tiny: `positive` drops the sign of a result that rounds to zero. flush: what makes a result zero by being subnormal.
    A format without subnormals has nothing between zero and its least number; its key `underflow` chooses.
    """
    if hooks is not None:
        sig, unit_exp = passed(hooks.magnitude, (sig, unit_exp), sign)
        if not sig:
            return Rounded(0, None)
    if not fmt.subnormals:
        return _round_bare(fmt, sign, sig, unit_exp, rounding, overflow, tiny, hooks)
    exp = sig.bit_length() - 1 + unit_exp
    binade = max(exp, fmt.emin)
    shift = binade - fmt.fraction_bits - unit_exp
    if hooks is None:
        rounded = round_magnitude(sig, shift, sign, rounding)
    else:
        rounded = hooks.rounded(sig, shift, sign, rounding, exp < fmt.emin)
    # A carry out of the fraction runs into the exponent field, as it should.
    magnitude = ((binade - fmt.emin) << fmt.fraction_bits) + rounded
    if hooks is not None:
        unpacked = UnpackedResult(fmt, sign, magnitude, exp + fmt.bias, rounded, sig, unit_exp)
        code = passed(hooks.number, None, unpacked)
        if code is not None:
            code <<= fmt.padding
            return Rounded(code if flush is None else flushed_code(fmt, code), exp)
    overflowed = magnitude > fmt.max_magnitude
    inexact = overflowed or (shift > 0 and rounded << shift != sig)
    if overflowed:
        return Rounded(overflow_code(fmt, sign, rounding, overflow), exp, overflow=True, inexact=True)
    if flush is not None and _flushed(fmt, (sign, sig, unit_exp), rounding, magnitude, flush, hooks):
        magnitude, inexact = 0, True
    if magnitude == 0 and (tiny == "positive" or not fmt.signed_zero):
        sign = 0
    return Rounded(pack(fmt, sign, magnitude), exp, inexact=inexact, tiny=exp < fmt.emin)


def _flushed(
    fmt: FloatFormat,
    number: tuple[int, int, int],
    rounding: Rounding,
    magnitude: int,
    flush: Tininess,
    hooks: Hooks | None,
) -> bool:
    """True if a number, which rounds to that magnitude of a code, becomes zero. number: sign, sig > 0, unit_exp."""
    sign, sig, unit_exp = number
    match flush:
        case "result":
            return magnitude < 1 << fmt.fraction_bits
        case "after":
            return tiny_after(fmt, sign, sig, unit_exp, rounding, hooks)
        case "before":
            return sig.bit_length() - 1 + unit_exp < fmt.emin
        case _:
            assert_never(flush)


def tiny_after(
    fmt: FloatFormat, sign: int, sig: int, unit_exp: int, rounding: Rounding, hooks: Hooks | None = None
) -> bool:
    """True if a number, rounded to the format's bits with an unbounded exponent, is below the least normal one."""
    exp = sig.bit_length() - 1 + unit_exp
    if exp != fmt.emin - 1:  # a carry of the rounding makes it one more at most
        return exp < fmt.emin
    shift = exp - fmt.fraction_bits - unit_exp
    if hooks is None:
        rounded = round_magnitude(sig, shift, sign, rounding)
    else:
        rounded = hooks.rounded(sig, shift, sign, rounding, True)
    return exp + (rounded >> fmt.fraction_bits + 1) < fmt.emin


def _round_bare(
    fmt: FloatFormat,
    sign: int,
    sig: int,
    unit_exp: int,
    rounding: Rounding,
    overflow: Overflow,
    tiny: TinySign,
    hooks: Hooks | None,
) -> Rounded:
    exp = sig.bit_length() - 1 + unit_exp
    hidden, shift = 1 << fmt.fraction_bits, exp - fmt.fraction_bits - unit_exp
    if hooks is None:
        rounded = round_magnitude(sig, shift, sign, rounding)
    else:
        rounded = hooks.rounded(sig, shift, sign, rounding, exp < fmt.emin)
    magnitude = (exp - fmt.emin) * hidden + rounded - hidden
    if hooks is not None:
        unpacked = UnpackedResult(fmt, sign, max(magnitude, 0), exp - fmt.emin, rounded, sig, unit_exp)
        code = passed(hooks.number, None, unpacked)
        if code is not None:
            return Rounded(code << fmt.padding, exp)
    inexact = shift > 0 and rounded << shift != sig
    if magnitude > fmt.max_magnitude:
        return Rounded(overflow_code(fmt, sign, rounding, overflow), exp, overflow=True, inexact=True)
    if magnitude <= 0 and fmt.underflow == "nearby":
        magnitude = _zero_or_least(fmt, sign, sig, unit_exp, rounding)
    if magnitude <= 0:
        sign = 0 if tiny == "positive" or not fmt.signed_zero else sign
        return Rounded(pack(fmt, sign, 0), exp, inexact=True, tiny=True)
    return Rounded(pack(fmt, sign, magnitude), exp, inexact=inexact or (rounded <= hidden and exp <= fmt.emin))


def _zero_or_least(fmt: FloatFormat, sign: int, sig: int, unit_exp: int, rounding: Rounding) -> int:
    """0 or 1: the code, without its sign, that the rounding chooses for a number below a bare format's least one."""
    least_exp = fmt.emin - fmt.fraction_bits
    low = min(unit_exp, least_exp)
    twice, least = sig << 1 + unit_exp - low, (1 << fmt.fraction_bits) + 1 << least_exp - low
    quarters = 2 + (twice > least) - (twice < least)  # of the least number, as far as its half tells
    return round_magnitude(quarters, 2, sign, rounding)


def round_fixed(
    fmt: FixedFormat,
    sign: int,
    sig: int,
    unit_exp: int,
    rounding: Rounding,
    overflow: Overflow,
    hooks: Hooks | None = None,
) -> Rounded:
    """(-1)^sign * sig * 2^unit_exp, rounded once to a fixed format. sig > 0.

    overflow: `saturate`, or `wrap`: modulo 2^bits. Raises ValueError for another, which a fixed format has no code for.
    """
    if hooks is not None:
        sig, unit_exp = passed(hooks.magnitude, (sig, unit_exp), sign)
        rounded = hooks.rounded(sig, -fmt.fraction_bits - unit_exp, sign, rounding, False)
        value = passed(hooks.fixed, -rounded if sign else rounded, fmt.bits)
        sign, sig, unit_exp = int(value < 0), abs(value), -fmt.fraction_bits
    shift = -fmt.fraction_bits - unit_exp
    rounded = round_magnitude(sig, shift, sign, rounding)
    value = -rounded if sign else rounded
    exceeds = not -fmt.steps_down <= value <= fmt.max_code
    if exceeds:
        match overflow:
            case "saturate":
                value = -fmt.steps_down if sign else fmt.max_code
            case "wrap":
                value %= 1 << fmt.bits
            case "infinity" | "nan" | "ieee" | "propagate":
                raise InputError(f"{fmt.name}, a fixed format, has no {overflow}")
            case _:
                assert_never(overflow)
    inexact = exceeds or (shift > 0 and rounded << shift != sig)
    return Rounded(value % (1 << fmt.bits), sig.bit_length() - 1 + unit_exp, overflow=exceeds, inexact=inexact)


def pack(fmt: FloatFormat, sign: int, magnitude: int) -> int:
    """A container's code from a sign and the bits of a magnitude."""
    return (sign * fmt.sign_bit | magnitude) << fmt.padding


def nan_code(fmt: FloatFormat) -> int:
    """The container's code of a format's NaN. Raises ValueError for a format without one."""
    if fmt.canonical_nan is None:
        raise InputError(f"{fmt.name} has no NaN")
    return fmt.canonical_nan


def overflow_code(fmt: FloatFormat, sign: int, rounding: Rounding, overflow: Overflow) -> int:
    """The code of a finite result that is too large under a policy.

    Raises ValueError for a policy that the format has no code for.
    """
    match overflow:
        case "nan":
            return nan_code(fmt)
        case "saturate" | "propagate":
            return pack(fmt, sign, fmt.max_magnitude)
        case "ieee" if rounds_inward(fmt, sign, rounding):
            return pack(fmt, sign, fmt.max_magnitude)
        case "infinity" | "ieee":
            return infinity_code(fmt, sign, overflow)
        case "wrap":
            raise InputError(f"{fmt.name}, a float format, does not wrap")
        case _:
            assert_never(overflow)


def rounds_inward(fmt: FloatFormat, sign: int, rounding: Rounding) -> bool:
    """True if `ieee` takes a number of that sign that is too large to the largest one, not to infinity.

    IEEE 754-2019, section 7.4. Rounding to odd, which IEEE 754 lacks, takes the one whose code is odd: in its formats
    the largest number, as in Boldo and Melquiond 2008. Without an infinity it takes what is outside, NaN.
    """
    match ROUNDINGS[rounding].inward:
        case "neither":
            return False
        case "both":
            return True
        case "negative":
            return sign == 1
        case "positive":
            return sign == 0
        case "odd":
            return fmt.infinity_magnitude is not None and fmt.max_magnitude % 2 == 1
        case other:
            assert_never(other)


def infinity_code(fmt: FloatFormat, sign: int, overflow: Overflow) -> int:
    """The code of an infinite result under a policy: infinity where the format has one, unless all saturate.

    Raises ValueError for a policy that the format has no code for.
    """
    match overflow:
        case "saturate":
            return pack(fmt, sign, fmt.max_magnitude)
        case "infinity" | "ieee" | "nan" | "propagate" if fmt.infinity_magnitude is not None:
            return pack(fmt, sign, fmt.infinity_magnitude)
        case "propagate":
            return pack(fmt, sign, fmt.max_magnitude)
        case "nan" | "ieee":
            return nan_code(fmt)
        case "infinity":
            raise InputError(f"{fmt.name} has no infinity")
        case "wrap":
            raise InputError(f"{fmt.name}, a float format, does not wrap")
        case _:
            assert_never(overflow)


def combine_specials(terms: Sequence[Term]) -> Term | None:
    """NaN if any term is, or if infinities of both signs meet; else an infinity if there is one; else None."""
    if not some(term.is_special for term in terms):
        return None
    plus, minus = (some(term.is_infinite & (term.sign == sign) for term in terms) for sign in (0, 1))
    if some(term.is_nan for term in terms) or (plus and minus):
        return Term(0, 0, 0, terms[0].fraction_bits, Class.NAN)
    return Term(int(minus), 0, 0, terms[0].fraction_bits, Class.INFINITY) if plus or minus else None


def zero_sign(terms: Sequence[Term], rounding: Rounding) -> int:
    """The sign of a sum of exactly zero, as IEEE 754-2019, section 6.3, has it: that which all terms share.

    Where they differ: positive, and negative when rounding down.
    """
    first = terms[0].sign
    return first if all(term.sign == first for term in terms) else int(rounding == "rd")


def exact_sum(terms: Sequence[Term]) -> tuple[int, int]:
    """The exact sum of finite terms, at least one: an integer, and the exponent of its unit."""
    unit_exp = least(term.exp - term.fraction_bits for term in terms)
    return sum(in_units(term, unit_exp) for term in terms), unit_exp


def in_units(term: Term, unit_exp: int) -> int:
    """A finite term in units of 2^unit_exp, which its own last place is not below."""
    return term.integer << term.exp - term.fraction_bits - unit_exp


def add(
    fmt: FloatFormat,
    terms: Sequence[Term],
    rounding: Rounding,
    flush: Tininess | None = None,
    overflow: Overflow = "ieee",
    hooks: Hooks | None = None,
) -> int:
    """The exact sum of one or two terms, rounded once to `fmt`; IEEE 754-2019's signs of zero.

    overflow: what takes the place of what is too large, and of infinity: what IEEE 754-2019, section 7.4, has for the
    rounding, unless said. flush: what makes a result a zero of its sign by being subnormal.
    """
    special = combine_specials(terms)
    if hooks is not None:
        special = passed(hooks.special, special, tuple(terms))
    if special is not None:
        if special.cls is Class.NAN:
            return nan_code(fmt)
        return infinity_code(fmt, special.sign, overflow)
    total, unit_exp = exact_sum(terms)
    if hooks is not None:
        total = passed(hooks.total, total, unit_exp)
    if total == 0:
        sign = zero_sign(terms, rounding)
        if hooks is not None:
            sign = passed(hooks.zero_sign, sign, tuple(terms))
        return pack(fmt, sign & fmt.signed_zero, 0)
    return round_to(fmt, int(total < 0), abs(total), unit_exp, rounding, overflow, "signed", flush, hooks).code


def flushed_code(fmt: FloatFormat, code: int) -> int:
    """A code; where it is a subnormal's, that of a zero of its sign."""
    bare = code >> fmt.padding
    if not fmt.subnormals or not 0 < bare & (fmt.sign_bit - 1) < 1 << fmt.fraction_bits:
        return code
    return pack(fmt, int(bool(bare & fmt.sign_bit) and fmt.signed_zero), 0)


class ResultRounding:
    """The rounding of a sum to a unit's result, with the codes of NaN and infinity."""

    def __init__(self, rule: ResultRule, hooks: Hooks | None = None):
        self.rule, self.hooks = rule, hooks

    def total(self, total: int, unit_exp: int | None, sign: int = 0, sticky: bool = False) -> Rounded:
        """total * 2^unit_exp, rounded. sign: of a sum of zero; unit_exp None is one too.

        sticky: its magnitude is more than that by less than any place that the rounding looks at; not of a sum of zero.
        """
        rule, fmt = self.rule, self.rule.format
        if sticky and total != 0 and unit_exp is not None:
            total, unit_exp = with_sticky(total, unit_exp, fmt)
        negative = int(total < 0)
        if isinstance(fmt, FixedFormat):
            if total == 0 or unit_exp is None:
                return Rounded(0, None)
            return round_fixed(fmt, negative, abs(total), unit_exp, rule.rounding, rule.overflow, self.hooks)
        if total == 0 or unit_exp is None:
            return Rounded(pack(fmt, sign & fmt.signed_zero, 0), None)
        rounded = round_to(
            fmt, negative, abs(total), unit_exp, rule.rounding, rule.overflow, rule.tiny, rule.flushes, self.hooks
        )
        return rounded._replace(code=self._own(rounded.code))

    def term(self, term: Term, sticky: bool) -> Rounded:
        """A sum as a term, rounded. sticky: as in `total`."""
        if term.cls in (Class.NAN, Class.INFINITY):
            return self.special(term)
        return self.total(term.integer, term.exp - term.fraction_bits, term.sign, sticky)

    def special(self, term: Term) -> Rounded:
        """The result of a sum that is NaN or infinite. Raises ValueError for a fixed format, which has neither."""
        fmt = self.rule.format
        if isinstance(fmt, FixedFormat):
            raise InputError(f"{fmt.name} has neither NaN nor infinity")
        if term.cls is Class.NAN:
            return Rounded(self.nan, None)
        return Rounded(self._own(infinity_code(fmt, term.sign, self.rule.overflow)), None)

    def _own(self, code: int) -> int:
        """A code, in the place of the format's NaN that which the unit returns."""
        return self.nan if code == self.rule.format.canonical_nan else code

    @cached_property
    def nan(self) -> int:
        """The container's code of a result that is NaN; 0 for a format without one."""
        rule, fmt = self.rule.nan, self.rule.format
        if isinstance(rule, int):
            return rule
        return 0 if isinstance(fmt, FixedFormat) or fmt.canonical_nan is None else fmt.canonical_nan
