"""Integers of which only the upper end is known: what is below it counts as something or nothing.

The exact sum of two numbers far apart has hundreds of places. The model's rounding asks of its low ones only whether
they are zero, and so it is run on a `Tailed`: high * 2^places + tail, 0 <= tail < 2^places, for any number of places
from 1 to MOST_PLACES. How many they are is known to nobody; counts of places are `Places`: number + places, or
number - places. What depends on more than that raises TypeError.
"""

from __future__ import annotations

from typing import Any, NoReturn

from hwsim.prove.logic import Term, both, constant, either, is_one, negated, true
from hwsim.prove.symbolic import Integer, Truth, as_integer, bounds_of

MOST_PLACES_BITS = 12
MOST_PLACES = 1 << MOST_PLACES_BITS


def _unknown(what: str) -> NoReturn:
    raise TypeError(f"{what} depends on more of a tail than whether it is zero")


def _holds(truth: object) -> Term:
    return truth.term if isinstance(truth, Truth) else true() if truth else negated(true())


def _number(given: Any) -> bool:
    return isinstance(given, (int, Integer)) and not isinstance(given, (Places, Tailed))


class Places(Integer):
    """number + times * places, where times is 1 or -1."""

    __slots__ = ("number", "times")

    def __init__(self, number: Any, times: int):
        self.number, self.times = number, times

    def __repr__(self) -> str:
        return f"Places({self.number}, {self.times})"

    __hash__ = None

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Places):
            if self.times + other.times:
                _unknown("a sum of places")
            return self.number + other.number
        return Places(self.number + other, self.times)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return Places(-self.number, -self.times)

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __gt__(self, other: Any) -> Any:
        """Whether it is larger, where every number of places gives one answer."""
        least, most = bounds_of(self.number - other)
        if self.times > 0 and least >= 0:
            return True
        if self.times < 0 and most <= 1:
            return False
        _unknown("a comparison")

    def __le__(self, other: Any) -> Any:
        return not self > other

    def __lt__(self, other: Any) -> Any:
        return -self > -other

    def __ge__(self, other: Any) -> Any:
        return not self < other

    def __rlshift__(self, other: Any) -> Any:
        """other * 2^(number + places)."""
        if self.times < 0:
            _unknown("a power")
        least, most = bounds_of(self.number)
        if (least, most) == (-1, -1) and isinstance(other, int) and other == 1:
            return Tailed(0, true())  # 2^(places - 1), which is not zero and less than 2^places
        if least < 0:
            _unknown("a power")
        return Tailed(as_integer(other) << self.number, negated(true()))


class _Below(Integer):
    """high * 2^places - 1, of a high that is a power of two: a mask of all places below."""

    __slots__ = ("mask",)

    def __init__(self, mask: Any):
        self.mask = mask


class Tailed(Integer):
    """high * 2^places + tail. some: whether the tail is other than zero."""

    __slots__ = ("above", "some")

    def __init__(self, above: Any, some: Term):
        self.above, self.some = as_integer(above), some

    def __repr__(self) -> str:
        return f"Tailed({self.above})"

    __hash__ = None

    @property
    def _whole(self) -> bool:
        return bool(self.some.is_false() or self.some == negated(true()))

    # Arithmetic.

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Tailed):
            if not (self._whole or other._whole):
                _unknown("a sum of two tails")
            return Tailed(self.above + other.above, self.some if other._whole else other.some)
        if isinstance(other, int) and other == 0:
            return self
        _unknown("a sum")

    __radd__ = __add__

    def __neg__(self) -> Any:
        if self._whole:
            return Tailed(-self.above, self.some)
        return Tailed(-self.above - Truth(self.some)._as_integer(), self.some)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, int) and other == 1 and self._whole:
            return _Below(self.above - 1)
        return self + -other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Truth) or not isinstance(other, int):
            _unknown("a product")
        match int(other):
            case 1:
                return self
            case -1:
                return -self
            case 2:
                carry, rest = constant("tail.carry", 1), constant("tail.rest", 1)
                carries = both(self.some, is_one(carry))
                some = both(self.some, either(negated(carries), is_one(rest)))
                return Tailed(self.above + self.above + Truth(carries)._as_integer(), some)
            case _:
                _unknown("a product")

    __rmul__ = __mul__

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    # Bits.

    def __lshift__(self, by: Any) -> Any:
        if not _number(by) or bounds_of(by) != (0, 0):
            _unknown("a product")
        return self

    def __rshift__(self, by: Any) -> Any:
        if not isinstance(by, Places) or by.times < 0 or bounds_of(by.number)[0] < 0:
            _unknown("a part")
        return self.above >> by.number

    def __and__(self, other: Any) -> Any:
        if not isinstance(other, _Below):
            _unknown("a part")
        return Tailed(self.above & other.mask, self.some)

    __rand__ = __and__

    def bit_length(self) -> Any:
        """Places of a number that is not negative, nor zero."""
        if Truth(_holds(self.above != 0)):
            return Places(self.above.bit_length(), 1)
        # Of the tail alone: from 1 to all of its places.
        return Places(-Integer.unsigned(constant("tail.zeros", MOST_PLACES_BITS)), 1)

    # Questions.

    def __bool__(self) -> bool:
        return bool(Truth(either(_holds(self.above != 0), self.some)))

    def _other(self, other: Any) -> Integer:
        """The upper end of a number without a tail."""
        if isinstance(other, int) and other == 0:
            return as_integer(0)
        if not isinstance(other, Tailed) or not other._whole:
            _unknown("a comparison")
        return other.above

    def __eq__(self, other: object) -> Any:
        if self._whole and isinstance(other, Tailed) and not other._whole:
            return other == self
        return Truth(both(_holds(self.above == self._other(other)), negated(self.some)))

    def __ne__(self, other: object) -> Any:
        return Truth(negated((self == other).term))

    def __lt__(self, other: Any) -> Any:
        if isinstance(other, Tailed) and not other._whole:
            return other > self
        return Truth(_holds(self.above < self._other(other)))

    def __ge__(self, other: Any) -> Any:
        if isinstance(other, Tailed) and not other._whole:
            return other <= self
        return Truth(_holds(self.above >= self._other(other)))

    def __gt__(self, other: Any) -> Any:
        if isinstance(other, Tailed) and not other._whole:
            return other < self
        than = self._other(other)
        return Truth(either(_holds(self.above > than), both(_holds(self.above == than), self.some)))

    def __le__(self, other: Any) -> Any:
        return Truth(negated((self > other).term))
