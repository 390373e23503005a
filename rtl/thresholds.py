"""Elements of few magnitudes by comparison: the least binary32 number that each of them is rounded up to.

A rule that divides rounds twice: x / d to binary32, and that to the element format. Both grow with x, so an element's
magnitude is the number of thresholds that x has reached, and a threshold is an exact product of d and a constant,
rounded up to binary32. That takes one multiplication by a constant for each magnitude of a block, and no division.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from amaranth.hdl import Const, Module, Mux, Value

from hwsim.formats import FloatFormat
from hwsim.quantize.rule import Rule
from hwsim.spec import NotImplementedYet

from .decode import FloatDecode
from .encode import EncodeTarget
from .single import F32, INFINITY, through

MOST = 8  # magnitudes of an element
ROUNDINGS = ("rne", "rna", "rz")


def by_thresholds(rule: Rule) -> bool:
    """Whether a rule's elements are found by comparison."""
    fmt = rule.element
    few = isinstance(fmt, FloatFormat) and fmt.subnormals and fmt.max_magnitude < MOST
    return few and rule.rounding in ROUNDINGS and rule.overflow in ("saturate", "propagate")


def magnitude(fmt: FloatFormat, code: int) -> Fraction:
    """The number of a magnitude's bits."""
    field, frac = code >> fmt.fraction_bits, code & (1 << fmt.fraction_bits) - 1
    sig = frac + (1 << fmt.fraction_bits if field else 0)
    return sig * Fraction(2) ** (max(field, 1) - fmt.bias - fmt.fraction_bits)


def single_code(x: Fraction) -> int:
    """The code of a normal binary32 number above 0."""
    exp = x.numerator.bit_length() - x.denominator.bit_length()
    exp -= x < Fraction(2) ** exp
    sig = x / Fraction(2) ** (exp - F32.fraction_bits)
    if sig.denominator != 1 or not F32.emin <= exp <= F32.emax:
        raise NotImplementedYet(f"thresholds must be normal numbers of binary32, not {x}")
    return (exp + F32.bias - 1 << F32.fraction_bits) + int(sig)


@dataclass(frozen=True)
class Threshold:
    """What x must reach: d * factor.

    factor: half-way between two neighbours of binary32, so that it has 25 bits, the last of them 1. No binary32 number
    is that times another one: x is above the product or below it, never at it.
    """

    factor: Fraction

    @classmethod
    def of(cls, rule: Rule, step: int) -> Threshold:
        """That of a magnitude, 1 for the least: where x / d, rounded to binary32, is rounded to it or beyond."""
        fmt = rule.element
        assert isinstance(fmt, FloatFormat)
        value, before = magnitude(fmt, step), magnitude(fmt, step - 1)
        middle = (value + before) / 2
        if rule.rounding == "rz":
            least = single_code(value)
        else:
            # A tie goes to the even code.
            least = single_code(middle) + (rule.rounding == "rne" and step % 2 == 1)
        return cls((magnitude(F32, least) + magnitude(F32, least - 1)) / 2)

    def target(self) -> EncodeTarget:
        """Rounding of d * factor: up."""
        bits = F32.precision + self.factor.numerator.bit_length()
        top = bits - 1 - (self.factor.denominator.bit_length() - 1) - F32.fraction_bits
        return EncodeTarget.of(
            F32, bits, (F32.emin + top, F32.emax + 1 + top), F32.emax + 1 + top,
            rounding="ru", overflow="infinity", missing="nan",
        )  # fmt: skip

    def drive(self, m: Module, d: FloatDecode, name: str) -> Value:
        """The least code of binary32 that reaches it. d: decoded, above 0 or infinite."""
        target = self.target()
        bits = target.magnitude_bits
        top = target.max_exp[0] - target.bias - F32.emin
        values = {
            "magnitude": d.o.sig * Const(self.factor.numerator, bits - F32.precision),
            "top_bexp": d.o.bexp + (top + target.bias - F32.bias),
            "special_positive": d.o.inf,
        }
        found = through(m, target.steps(), name, values)
        return Mux(d.o.inf | ~d.o.sig.any(), INFINITY, found["code"])[:31]
