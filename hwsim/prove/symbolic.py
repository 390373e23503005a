"""Integers that are not known: the model's own functions are run on them, and return terms.

An `Integer` stands for every integer between two bounds, as a bit vector wide enough that nothing wraps round. Where
the model asks a question whose answer is not known (`if`, `or`, `int(x < 0)`), `paths` runs the function again for each
answer that is possible, and returns what comes of each, with the condition under which it does.
"""

from __future__ import annotations

from typing import Any, TypeVar

from hwsim.prove.explore import explorer
from hwsim.prove.logic import Kind, Term, negated, op, value, width

Result = TypeVar("Result")


def bits_for(low: int, high: int) -> int:
    """Bits of a two's complement that holds low to high."""
    return max((~low if low < 0 else low).bit_length(), (~high if high < 0 else high).bit_length()) + 1


class Truth:
    """A condition that is not known."""

    def __init__(self, term: Term):
        self.term = term

    def __bool__(self) -> bool:
        return explorer().decide(self.term)

    def __int__(self) -> int:
        return int(bool(self))

    def _as_integer(self) -> Integer:
        return Integer(op(Kind.ITE, self.term, value(1, 2), value(0, 2)), 0, 1)

    def __radd__(self, other: Any) -> Any:
        return other + self._as_integer()

    def __add__(self, other: Any) -> Any:
        return self._as_integer() + other

    def __and__(self, other: Any) -> Any:
        return self._as_integer() & other


class Integer:
    """An integer from `low` to `high`; `term` is its two's complement, of `bits_for(low, high)` bits.

    What makes one returns `Any`: the model's functions, which it is made for, take numbers.
    """

    __slots__ = ("bits", "high", "low", "term")

    def __init__(self, term: Term, low: int, high: int, bits: Term | None = None):
        """bits: a term that counts it, where there is one."""
        self.low, self.high, self.bits = low, high, bits
        self.term = _resized(term, bits_for(low, high))

    @classmethod
    def unsigned(cls, term: Term) -> Any:
        """What the bits of a term count."""
        return cls(op(Kind.BV_ZERO_EXTEND, term, indices=[1]), 0, (1 << width(term)) - 1, term)

    @classmethod
    def signed(cls, term: Term) -> Any:
        """The two's complement that a term is."""
        most = 1 << width(term) - 1
        return cls(term, -most, most - 1)

    def between(self, low: int, high: int) -> Any:
        """The same, known to be within bounds: whoever says so asserts it."""
        return made(self.term, max(low, self.low), min(high, self.high))

    def __repr__(self) -> str:
        return f"Integer({self.low}..{self.high})"

    # In a set two of these would be two, though they may be equal.
    __hash__ = None  # type: ignore[assignment]

    def at(self, bits: int) -> Term:
        """The two's complement in so many bits; modulo 2^bits where that is fewer."""
        return _resized(self.term, bits)

    # Arithmetic.

    def __add__(self, other: Any) -> Any:
        other = as_integer(other)
        return _computed(Kind.BV_ADD, self, other, self.low + other.low, self.high + other.high)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return 0 - self

    def __sub__(self, other: Any) -> Any:
        other = as_integer(other)
        return _computed(Kind.BV_SUB, self, other, self.low - other.high, self.high - other.low)

    def __rsub__(self, other: Any) -> Any:
        return as_integer(other) - self

    def __mul__(self, other: Any) -> Any:
        other = as_integer(other)
        if self.bits is not None and other.bits is not None:
            # As circuits write it: solvers hardly tell two multiplications equal that are not one term.
            wide = width(self.bits) + width(other.bits)
            sides = (op(Kind.BV_ZERO_EXTEND, one, indices=[wide - width(one)]) for one in (self.bits, other.bits))
            product = op(Kind.BV_MUL, *sides)
            return Integer(op(Kind.BV_ZERO_EXTEND, product, indices=[1]), 0, self.high * other.high, product)
        ends = [x * y for x in (self.low, self.high) for y in (other.low, other.high)]
        return _computed(Kind.BV_MUL, self, other, min(ends), max(ends))

    __rmul__ = __mul__

    def __pow__(self, other: Any) -> Any:
        return NotImplemented

    def __rpow__(self, base: Any) -> Any:
        """(-1)^x: the only power that the model takes."""
        if base != -1 or self.low < 0:
            return NotImplemented
        return ite((self & 1) != 0, -1, 1)

    def __mod__(self, other: Any) -> Any:
        """Modulo a power of two: the only numbers that the model divides by."""
        if not isinstance(other, int) or other < 1 or other & (other - 1):
            return NotImplemented
        return self & (other - 1)

    def __abs__(self) -> Any:
        return self if self.low >= 0 else ite(self < 0, -self, self)

    def __invert__(self) -> Any:
        return -self - 1

    # Bits.

    def __lshift__(self, by: Any) -> Any:
        return shifted_left(self, by)

    def __rlshift__(self, other: int) -> Any:
        return shifted_left(as_integer(other), self)

    def __rshift__(self, by: Any) -> Any:
        least, most = bounds_of(by)
        if least < 0:
            raise ValueError("negative shift count")
        low = self.low >> (least if self.low < 0 else most)
        high = self.high >> (most if self.high < 0 else least)
        by = most if least == most else by
        bits = max(bits_for(self.low, self.high), bits_for(0, most))
        return made(op(Kind.BV_ASHR, self.at(bits), as_integer(by).at(bits)), low, high)

    def __rrshift__(self, other: int) -> Any:
        return as_integer(other) >> self

    def __and__(self, other: Any) -> Any:
        other = as_integer(other)
        high = min((each.high for each in (self, other) if each.low >= 0), default=max(self.high, other.high))
        low = 0 if self.low >= 0 or other.low >= 0 else -(1 << max(bits_for(x.low, x.high) for x in (self, other)))
        return _computed(Kind.BV_AND, self, other, low, high)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return self._bitwise(Kind.BV_OR, other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Any:
        return self._bitwise(Kind.BV_XOR, other)

    __rxor__ = __xor__

    def _bitwise(self, kind: Any, other: Any) -> Any:
        first, second = (each._not_negative() for each in (self, as_integer(other)))
        low = max(first.low, second.low) if kind == Kind.BV_OR else 0
        return _computed(kind, first, second, low, (1 << max(first.high.bit_length(), second.high.bit_length())) - 1)

    def _not_negative(self) -> Integer:
        if self.low < 0 and (self.high < 0 or explorer().possible(_compared(Kind.BV_SLT, self, as_integer(0)))):
            raise ValueError("bits of negative integers are not taken here")
        return as_integer(self.between(max(0, self.low), self.high))

    def bit_length(self) -> Any:
        """Places of the magnitude."""
        size = as_integer(abs(self))
        length: Any = max(0, size.low).bit_length()
        for place in range(length, size.high.bit_length()):
            length = ite(size >= 1 << place, place + 1, length)
        return length

    # Questions.

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __int__(self) -> int:
        raise TypeError("an integer that is not known has no digits")

    __index__ = __int__

    def __lt__(self, other: Any) -> Any:
        other = as_integer(other)
        if self.high < other.low or self.low >= other.high:
            return self.high < other.low
        return Truth(_compared(Kind.BV_SLT, self, other))

    def __le__(self, other: Any) -> Any:
        other = as_integer(other)
        if self.high <= other.low or self.low > other.high:
            return self.high <= other.low
        return self < other + 1

    def __gt__(self, other: Any) -> Any:
        return as_integer(other) < self

    def __ge__(self, other: Any) -> Any:
        return as_integer(other) <= self

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, (int, Integer)):
            return NotImplemented
        other = as_integer(other)
        if self.high < other.low or other.high < self.low:
            return False
        return Truth(_compared(Kind.EQUAL, self, other))

    def __ne__(self, other: object) -> Any:
        equal = self == other
        return (
            Truth(negated(equal.term)) if isinstance(equal, Truth) else equal if equal is NotImplemented else not equal
        )


def made(term: Term, low: int, high: int) -> Any:
    """An integer within bounds; a number where they leave one."""
    return low if low == high else Integer(term, low, high)


def as_integer(number: Any) -> Integer:
    """A number as an integer that is not known, to compute with others."""
    if isinstance(number, Integer):
        return number
    if isinstance(number, Truth):
        return number._as_integer()
    number = int(number)
    return Integer(value(number, bits_for(number, number)), number, number)


def ite(condition: Any, yes: Any, no: Any) -> Any:
    """One of two integers."""
    if not isinstance(condition, Truth):
        return yes if condition else no
    first, second = as_integer(yes), as_integer(no)
    low, high = min(first.low, second.low), max(first.high, second.high)
    bits = bits_for(low, high)
    return made(op(Kind.ITE, condition.term, first.at(bits), second.at(bits)), low, high)


def shifted_left(number: Integer, by: Any) -> Any:
    """number * 2^by."""
    least, most = bounds_of(by)
    if least < 0:
        raise ValueError("negative shift count")
    low = number.low << (most if number.low < 0 else least)
    high = number.high << (least if number.high < 0 else most)
    by = most if least == most else by
    bits = max(bits_for(low, high), bits_for(0, most))
    return made(op(Kind.BV_SHL, number.at(bits), as_integer(by).at(bits)), low, high)


def bounds_of(number: Any) -> tuple[int, int]:
    """What a number can be at least and at most, under the conditions of the path."""
    if not isinstance(number, Integer):
        return int(number), int(number)
    return explorer().bounds(number)


def _resized(term: Term, bits: int) -> Term:
    have = width(term)
    if have == bits:
        return term
    if have < bits:
        return op(Kind.BV_SIGN_EXTEND, term, indices=[bits - have])
    return op(Kind.BV_EXTRACT, term, indices=[bits - 1, 0])


def _computed(kind: Any, first: Integer, second: Integer, low: int, high: int) -> Any:
    bits = max(bits_for(low, high), bits_for(first.low, first.high), bits_for(second.low, second.high))
    return made(op(kind, first.at(bits), second.at(bits)), low, high)


def _compared(kind: Any, first: Integer, second: Integer) -> Term:
    bits = max(bits_for(first.low, first.high), bits_for(second.low, second.high))
    return op(kind, first.at(bits), second.at(bits))
