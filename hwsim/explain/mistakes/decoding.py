"""Mistakes of decoders and multipliers: subnormals, special codes, signs, significands and exponents of products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never

from hwsim.explain.mistakes.flaw import Flaw, Side
from hwsim.formats import Class, Fields, FloatFormat, Format
from hwsim.model.terms import Term

Where = Literal["a", "b", "factors", "addend", "every operand"]
SubnormalMistake = Literal[
    "hidden bit",
    "hidden bit, of zeros too",
    "normal",
    "normal, zeros too",
    "exponent too small",
    "exponent too large",
    "zero",
]
SpecialMistake = Literal["IEEE decoder", "NaN", "numbers"]


def concerns(where: Where, side: Side | None) -> bool:
    """Whether a mistake of some operands is one of a side's factors; side None: of the addend."""
    match where:
        case "a" | "b":
            return side == where
        case "factors":
            return side is not None
        case "addend":
            return side is None
        case "every operand":
            return True
        case _:
            assert_never(where)


@dataclass(frozen=True)
class _OfDecoder(Flaw):
    """A mistake of a float's decoder. where: of which operands."""

    where: Where

    def fields(self, fmt: FloatFormat, code: int, fields: Fields) -> Fields:
        """What the decoder makes of a code. fields: as specified."""
        return fields

    def factor(self, side: Side, fmt: Format, code: int, fields: Fields) -> Fields:
        """As in `Flaw`."""
        if not isinstance(fmt, FloatFormat) or not concerns(self.where, side):
            return fields
        return self.fields(fmt, code, fields)

    def addend(self, fmt: Format, code: int, term: Term) -> Term:
        """As in `Flaw`."""
        if not isinstance(fmt, FloatFormat) or not concerns(self.where, None):
            return term
        own = fmt.fields(code >> fmt.padding)
        made = self.fields(fmt, code, own)
        if made == own:
            return term
        cls = Class.NORMAL if made.cls is Class.SUBNORMAL else made.cls
        return Term(made.sign, made.exp, made.sig, fmt.fraction_bits, cls)


@dataclass(frozen=True)
class SubnormalWrong(_OfDecoder):
    """A subnormal is decoded wrongly."""

    mistake: SubnormalMistake

    def fields(self, fmt: FloatFormat, code: int, fields: Fields) -> Fields:
        """As in `_OfDecoder`."""
        zero = fields.cls is Class.ZERO
        if not zero and fields.cls is not Class.SUBNORMAL:
            return fields
        with_hidden = fields._replace(exp=fmt.emin, sig=fields.sig | 1 << fmt.fraction_bits, cls=Class.NORMAL)
        match self.mistake:
            case "hidden bit, of zeros too":
                return with_hidden
            case "normal, zeros too":
                return with_hidden._replace(exp=fmt.emin - 1)
            case _ if zero:
                return fields
            case "hidden bit":
                return with_hidden
            case "normal":
                return with_hidden._replace(exp=fmt.emin - 1)
            case "exponent too small":
                return fields._replace(exp=fields.exp - 1)
            case "exponent too large":
                return fields._replace(exp=fields.exp + 1)
            case "zero":
                return fields._replace(sig=0, cls=Class.ZERO)
            case _:
                assert_never(self.mistake)


@dataclass(frozen=True)
class SpecialWrong(_OfDecoder):
    """The top binade is decoded as another format's."""

    mistake: SpecialMistake

    def fields(self, fmt: FloatFormat, code: int, fields: Fields) -> Fields:
        """As in `_OfDecoder`."""
        bare = code >> fmt.padding
        magnitude = bare & (fmt.sign_bit - 1) if fmt.signed else bare
        sign = int(fmt.signed and bool(bare & fmt.sign_bit))
        bexp, frac = magnitude >> fmt.fraction_bits, magnitude & ((1 << fmt.fraction_bits) - 1)
        if bexp != fmt.top_bexp:
            return fields
        match self.mistake:
            case "IEEE decoder":
                return Fields(sign, 0, 0, Class.NAN if frac else Class.INFINITY)
            case "NaN":
                return Fields(0, 0, 0, Class.NAN)
            case "numbers":
                return Fields(sign, bexp - fmt.bias, 1 << fmt.fraction_bits | frac, Class.NORMAL)
            case _:
                assert_never(self.mistake)


@dataclass(frozen=True)
class ClassLost(_OfDecoder):
    """NaN or infinity is missed: NaN counts as infinity, or infinity as NaN."""

    taken: Literal["NaN for infinity", "infinity for NaN"]

    def fields(self, fmt: FloatFormat, code: int, fields: Fields) -> Fields:
        """As in `_OfDecoder`."""
        match self.taken:
            case "NaN for infinity":
                bare = code >> fmt.padding
                sign = int(fmt.signed and bool(bare & fmt.sign_bit))
                return Fields(sign, 0, 0, Class.INFINITY) if fields.cls is Class.NAN else fields
            case "infinity for NaN":
                return Fields(0, 0, 0, Class.NAN) if fields.cls is Class.INFINITY else fields
            case _:
                assert_never(self.taken)


@dataclass(frozen=True)
class SignsOred(Flaw):
    """The sign of a product is the OR of its factors' signs."""

    def product(self, a: Fields, b: Fields, term: Term) -> Term:
        """As in `Flaw`."""
        return term if term.cls is Class.NAN else term._replace(sign=a.sign | b.sign)


@dataclass(frozen=True)
class InfinityTimesZero(Flaw):
    """An infinity times zero is not NaN. infinite: it is infinite; else zero."""

    infinite: bool

    def product(self, a: Fields, b: Fields, term: Term) -> Term:
        """As in `Flaw`."""
        if {a.cls, b.cls} != {Class.INFINITY, Class.ZERO}:
            return term
        return Term(a.sign ^ b.sign, 0, 0, term.fraction_bits, Class.INFINITY if self.infinite else Class.ZERO)


@dataclass(frozen=True)
class ProductBitsLost(Flaw):
    """The low bits of every product's significand are cut off."""

    bits: int

    def products(self, products: tuple[Term, ...]) -> tuple[Term, ...]:
        """As in `Flaw`."""
        return tuple(_with_sig(term, term.sig >> self.bits << self.bits) for term in products)


@dataclass(frozen=True)
class ProductTopLost(Flaw):
    """The top bit of products whose significand is 2 or more is lost."""

    def products(self, products: tuple[Term, ...]) -> tuple[Term, ...]:
        """As in `Flaw`."""
        return tuple(_with_sig(term, term.sig & ((2 << term.fraction_bits) - 1)) for term in products)


@dataclass(frozen=True)
class ProductExponent(Flaw):
    """The exponent of every product is too large by some."""

    by: int

    def products(self, products: tuple[Term, ...]) -> tuple[Term, ...]:
        """As in `Flaw`."""
        return tuple(term._replace(exp=term.exp + self.by) for term in products)


@dataclass(frozen=True)
class ProductFloor(Flaw):
    """A product below a power of two counts as zero. exp: of that power."""

    exp: int

    def products(self, products: tuple[Term, ...]) -> tuple[Term, ...]:
        """As in `Flaw`."""
        return tuple(_with_sig(term, 0) if term.sig and _leading(term) < self.exp else term for term in products)


@dataclass(frozen=True)
class PlacesLost(Flaw):
    """Bits of products below a power of two are cut off.

    exp: of the last place that is kept. floored: in two's complement, so that a negative product is rounded down.
    """

    exp: int
    floored: bool = False

    def products(self, products: tuple[Term, ...]) -> tuple[Term, ...]:
        """As in `Flaw`."""
        made = []
        for term in products:
            shift = self.exp - (term.exp - term.fraction_bits)
            if shift > 0:
                kept = -(-term.sig >> shift) if self.floored and term.sign else term.sig >> shift
                term = _with_sig(term, kept << shift)
            made.append(term)
        return tuple(made)


def _with_sig(term: Term, sig: int) -> Term:
    """A finite term with another significand."""
    if term.cls is not Class.NORMAL:
        return term
    return term._replace(sig=sig, cls=Class.NORMAL if sig else Class.ZERO)


def _leading(term: Term) -> int:
    """The exponent of a term's leading one."""
    return term.sig.bit_length() - 1 + term.exp - term.fraction_bits
