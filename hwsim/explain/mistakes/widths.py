"""Mistakes of widths and signs: what a language of hardware does silently where a width or a `signed` is missing.

A number that loses its high bits is taken modulo a power of two; read without its sign it is never negative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hwsim.cases.case import Case
from hwsim.explain.mistakes.decoding import Where, concerns
from hwsim.explain.mistakes.flaw import Flaw, Side
from hwsim.formats import Class, Fields, FixedFormat, Format
from hwsim.model.terms import Term
from hwsim.spec import Unit


def wrapped(value: int, bits: int, signed: bool) -> int:
    """The low bits of an integer, as two's complement or as a number without a sign."""
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if signed and low >> bits - 1 else low


def _valued(term: Term, value: int, last: int) -> Term:
    """A finite term with another value, in units of 2^last."""
    return Term(int(value < 0), last, abs(value), 0, Class.NORMAL) if value else term._replace(sig=0, cls=Class.ZERO)


def _integer(term: Term, last: int) -> int:
    """A finite term in units of 2^last, where its own last place is not below."""
    return term.integer << max(0, term.exp - term.fraction_bits - last)


def _revalued(products: tuple[Term, ...], change: Callable[[Term], Term]) -> tuple[Term, ...]:
    """Products with those that are numbers other than zero changed."""
    return tuple(change(term) if term.cls is Class.NORMAL else term for term in products)


def _shifted(term: Term, max_exp: int, fraction_bits: int) -> tuple[int, int]:
    """A term of a window as an integer, and by how many places it is shifted right from there."""
    up = fraction_bits - term.fraction_bits
    return term.integer << max(0, up), max_exp - term.exp + max(0, -up)


@dataclass(frozen=True)
class OperandWraps(Flaw):
    """A fixed operand is read by its low bits alone. where: which. bits: so many. signed: as two's complement."""

    where: Where
    bits: int
    signed: bool

    def factor(self, side: Side, fmt: Format, code: int, fields: Fields) -> Fields:
        """As in `Flaw`."""
        if not isinstance(fmt, FixedFormat) or not concerns(self.where, side):
            return fields
        value = wrapped(code, self.bits, self.signed)
        return Fields(int(value < 0), fields.exp, abs(value), Class.NORMAL if value else Class.ZERO)

    def addend(self, fmt: Format, code: int, term: Term) -> Term:
        """As in `Flaw`."""
        if not isinstance(fmt, FixedFormat) or not concerns(self.where, None):
            return term
        return _valued(term, wrapped(code, self.bits, self.signed), term.exp - term.fraction_bits)


@dataclass(frozen=True)
class ProductWraps(Flaw):
    """The product of two fixed factors keeps its low bits. signed: read as two's complement."""

    bits: int
    signed: bool

    def products(self, products: tuple[Term, ...]) -> tuple[Term, ...]:
        """As in `Flaw`."""
        return _revalued(products, self._wrapped)

    def _wrapped(self, term: Term) -> Term:
        value = wrapped(term.integer, self.bits, self.signed)
        return term._replace(sign=int(value < 0), sig=abs(value), cls=Class.NORMAL if value else Class.ZERO)


@dataclass(frozen=True)
class SignificandWraps(Flaw):
    """The product of two significands keeps its low bits."""

    bits: int

    def product(self, a: Fields, b: Fields, term: Term) -> Term:
        """As in `Flaw`."""
        if term.cls is not Class.NORMAL:
            return term
        sig = wrapped(term.sig, self.bits, signed=False)
        return term._replace(sig=sig, cls=Class.NORMAL if sig else Class.ZERO)


@dataclass(frozen=True)
class ExponentWraps(Flaw):
    """The exponent of a product keeps its low bits. bias: what is added to the exponent where it is so narrow."""

    bits: int
    bias: int

    def product(self, a: Fields, b: Fields, term: Term) -> Term:
        """As in `Flaw`."""
        return term._replace(exp=wrapped(term.exp + self.bias, self.bits, signed=False) - self.bias)


@dataclass(frozen=True)
class AlignedWraps(Flaw):
    """An aligned term of a window keeps its low bits. signed: read as two's complement."""

    bits: int
    signed: bool

    def aligned(self, aligned: tuple[int, ...], lanes: int) -> tuple[int, ...]:
        """As in `Flaw`."""
        return tuple(wrapped(term, self.bits, self.signed) for term in aligned)


@dataclass(frozen=True)
class TermWraps(Flaw):
    """A term of a window keeps its low bits, two's complement, before it is shifted right, which rounds it down."""

    bits: int

    def align(self, term: Term, max_exp: int, fraction_bits: int) -> int | None:
        """As in `Flaw`."""
        value, distance = _shifted(term, max_exp, fraction_bits)
        value = wrapped(value, self.bits, signed=True)
        return value >> distance if distance >= 0 else value << -distance


@dataclass(frozen=True)
class PlacedWraps(Flaw):
    """A product that stands in an exact sum keeps its low bits. last: the exponent of the sum's last place."""

    bits: int
    last: int
    signed: bool

    def products(self, products: tuple[Term, ...]) -> tuple[Term, ...]:
        """As in `Flaw`."""
        return _revalued(products, self._wrapped)

    def _wrapped(self, term: Term) -> Term:
        return _valued(term, wrapped(_integer(term, self.last), self.bits, self.signed), self.last)


@dataclass(frozen=True)
class ProductSumWraps(Flaw):
    """The sum of a beat's products, as an exact sum has it, keeps its low bits. last, signed: as of `PlacedWraps`."""

    bits: int
    last: int
    signed: bool

    def products(self, products: tuple[Term, ...]) -> tuple[Term, ...]:
        """As in `Flaw`."""
        if any(term.cls not in (Class.NORMAL, Class.ZERO) for term in products):
            return products
        whole = sum(_integer(term, self.last) for term in products)
        value = wrapped(whole, self.bits, self.signed)
        if value == whole:
            return products
        zeros = tuple(term._replace(sig=0, cls=Class.ZERO) for term in products)
        return (_valued(zeros[0], value, self.last), *zeros[1:])


@dataclass(frozen=True)
class OnesComplementTerms(Flaw):
    """A negative product of an exact sum is negated by inverting its bits: it is one unit of the last place too low."""

    last: int

    def products(self, products: tuple[Term, ...]) -> tuple[Term, ...]:
        """As in `Flaw`."""
        return _revalued(products, self._inverted)

    def _inverted(self, term: Term) -> Term:
        return _valued(term, _integer(term, self.last) - 1, self.last) if term.sign else term


@dataclass(frozen=True)
class LogicalShift(Flaw):
    """Terms are shifted right in two's complement of some width, with zeros in the place of the sign.

    sums: whether the sum has that width too, as where both stand in one expression.
    """

    bits: int
    sums: bool

    def align(self, term: Term, max_exp: int, fraction_bits: int) -> int | None:
        """As in `Flaw`."""
        value, distance = _shifted(term, max_exp, fraction_bits)
        if distance <= 0:
            return wrapped(value << -distance, self.bits, signed=True)
        return wrapped(wrapped(value, self.bits, signed=False) >> distance, self.bits, signed=True)

    def total(self, total: int, unit_exp: int) -> int:
        """As in `Flaw`."""
        return wrapped(total, self.bits, signed=True) if self.sums else total


@dataclass(frozen=True)
class SumUnsigned(Flaw):
    """A sum keeps its low bits and is never negative. unit_exp: of its last place; None: that of a window."""

    bits: int
    unit_exp: int | None = None

    def total(self, total: int, unit_exp: int) -> int:
        """As in `Flaw`."""
        lower = 0 if self.unit_exp is None else self.unit_exp - unit_exp
        return wrapped(total, max(0, self.bits + lower), signed=False)


@dataclass(frozen=True)
class LowPlacesLost(Flaw):
    """The low places of a sum are cut off before it is rounded.

    places: so many above `last`, the exponent of the least place of a product; None: above the last place of a window.
    floored: in two's complement, so that a negative sum is rounded down.
    """

    places: int
    last: int | None
    floored: bool

    def total(self, total: int, unit_exp: int) -> int:
        """As in `Flaw`."""
        shift = self.places if self.last is None else self.last + self.places - unit_exp
        if shift <= 0:
            return total
        if self.floored or total >= 0:
            return total >> shift << shift
        return -(-total >> shift << shift)


@dataclass(frozen=True)
class MagnitudeNotTaken(Flaw):
    """A negative sum is normalised and rounded as the two's complement that it is. unit_exp: as of `SumUnsigned`."""

    bits: int
    unit_exp: int | None = None

    def magnitude(self, sign: int, sig: int, unit_exp: int) -> tuple[int, int]:
        """As in `Flaw`."""
        if not sign:
            return sig, unit_exp
        last = unit_exp if self.unit_exp is None else self.unit_exp
        below = max(0, last - unit_exp)
        units = sig >> below if last >= unit_exp else sig << unit_exp - last
        return wrapped(-units, self.bits, signed=False), last


@dataclass(frozen=True)
class ResultWraps(Flaw):
    """A fixed result keeps its low bits. signed: the bits above are those of two's complement; else they are 0."""

    bits: int
    signed: bool

    def fixed(self, value: int, bits: int) -> int:
        """As in `Flaw`."""
        return wrapped(value, self.bits, self.signed)


@dataclass(frozen=True)
class SignsOfProductsIgnored(Flaw):
    """No product is negative."""

    def product(self, a: Fields, b: Fields, term: Term) -> Term:
        """As in `Flaw`."""
        return term._replace(sign=0)


@dataclass(frozen=True)
class ProductsDropped(Flaw):
    """Every product counts as +0: only the addend, or the sum so far, is left."""

    def products(self, products: tuple[Term, ...]) -> tuple[Term, ...]:
        """As in `Flaw`."""
        return tuple(term._replace(sign=0, sig=0, cls=Class.ZERO) for term in products)


@dataclass(frozen=True)
class FactorsExchanged(Flaw):
    """The codes of a enter as those of b, and the other way round; so do the scales, alone or with them."""

    codes: bool
    scales: bool

    def case(self, unit: Unit, case: Case, before: int | None) -> Case:
        """As in `Flaw`."""
        if self.codes:
            case = replace(case, a=case.b, b=case.a)
        return replace(case, scale_a=case.scale_b, scale_b=case.scale_a) if self.scales else case
