"""Symbolic integers: the model's own functions are run on them, and return terms."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, Generic, NoReturn, TypeVar

import bitwuzla as bw
import numpy as np
from numpy.typing import NDArray

from hwsim.model.terms import Term as ModelTerm
from hwsim.prove.terms import Kind, Term, both, constant, either, is_one, manager, negated, op, part, true, value, width

Result = TypeVar("Result")


@dataclass(frozen=True)
class Path(Generic[Result]):
    """The result of a function where a condition holds."""

    condition: Term
    result: Result


_KnownBounds = dict[tuple[int, int, int], dict[tuple[bool, ...], tuple[int, int]]]  # of a number, after these answers
NARROW = 8  # bounds so close are not made closer by further answers


class OutOfTime(Exception):
    """A function was not followed, or terms not merged, to the end in the seconds that they had."""


class Explorer:
    """One run of a function: the answers that are given, and the other answers that are possible."""

    def __init__(self, assumptions: Sequence[Term], answers: Sequence[bool], known: _KnownBounds, sure: bool = True):
        self.given, self.answers, self.sure = list(answers), list(answers), sure
        self.assumptions = tuple(assumptions)
        self.asked = 0
        self.conditions: list[Term] = []
        self.decided: dict[int, tuple[Term, bool]] = {}  # by a term's number, which is its own while it is kept
        self.others: list[list[bool]] = []
        options = bw.Options()
        options.set(bw.Option.PRODUCE_MODELS, True)
        self.solver = bw.Bitwuzla(manager(), options)
        for term in assumptions:
            self.solver.assert_formula(term)
        self.known = known

    def decide(self, term: Term) -> bool:
        """Return the answer to a question on this path."""
        if term.is_true() or term.is_false():
            return bool(term.is_true())
        if term.id() in self.decided:
            return self.decided[term.id()][1]
        if _ends and time.thread_time() > _ends[-1]:
            raise OutOfTime
        if self.asked < len(self.given):
            answer = self.given[self.asked]
        else:
            answer = self.possible(term)
            if answer and self.possible(negated(term)):
                self.others.append([*self.answers[: self.asked], False])
            self.answers.append(answer)
        self.asked += 1
        for asked, holds in ((term, answer), (negated(term), not answer)):
            self.decided[asked.id()] = asked, holds
        condition = term if answer else negated(term)
        self.conditions.append(condition)
        self.solver.assert_formula(condition)
        return answer

    @property
    def holds(self) -> tuple[Term, ...]:
        """The assumptions, and the answers so far."""
        return (*self.assumptions, *self.conditions)

    def possible(self, term: Term) -> bool:
        """True if a condition can hold after the answers that were given, or where the solver is not asked."""
        if not self.sure:
            return True
        self.solver.push()
        self.solver.assert_formula(term)
        result = self._satisfiable()
        self.solver.pop()
        return result

    def _satisfiable(self) -> bool:
        return bool(self.solver.check_sat() != bw.Result.UNSAT)

    def bounds(self, number: Any) -> tuple[int, int]:
        """Return the least and the largest value of an integer of hwsim.prove.symbolic on this path."""
        known, answers = self.known.setdefault((number.term.id(), number.low, number.high), {}), self.answers
        for asked in range(self.asked, -1, -1):
            ends = known.get(tuple(answers[:asked]))
            if ends is not None and (asked == self.asked or (ends[0] >= 0 and 0 < ends[1] - ends[0] <= NARROW)):
                return ends
        ends = known[tuple(answers[: self.asked])] = self._least(number), -self._least(-number)
        return ends

    def _least(self, number: Any) -> int:
        low, high, middle = number.low, number.high, number.low  # which it often is
        while low < high:
            smaller = number <= middle
            witness = middle if smaller is True else None if smaller is False else self._value(number, smaller.term)
            if witness is None:
                low = middle + 1
            else:
                high = witness
            middle = (low + high) // 2
        return int(low)

    def _value(self, number: Any, condition: Term) -> int | None:
        """Return a value of a number where a condition holds; None where it cannot hold."""
        self.solver.push()
        self.solver.assert_formula(condition)
        bits = width(number.term)
        unsigned = int(self.solver.get_value(number.term).value(10)) if self._satisfiable() else None
        self.solver.pop()
        return unsigned if unsigned is None or not unsigned >> bits - 1 else unsigned - (1 << bits)


_running: list[Explorer] = []
_ends: list[float] = []  # when, by time.thread_time, what is followed must be


@contextmanager
def until(end: float) -> Iterator[None]:
    """Follow functions no longer than to a time of `time.thread_time`: then OutOfTime is raised."""
    _ends.append(end)
    try:
        yield
    finally:
        _ends.pop()


def given() -> tuple[Term, ...]:
    """Return what holds on the path that is being followed: assumptions, and answers so far; nothing outside of it."""
    return _running[-1].holds if _running else ()


def explorer() -> Explorer:
    """Return the run that is going on."""
    if not _running:
        raise TypeError("a question about an integer that is not known is asked outside of `paths`")
    return _running[-1]


@contextmanager
def _exploring(explorer: Explorer) -> Iterator[None]:
    _running.append(explorer)
    try:
        yield
    finally:
        _running.pop()


def paths(
    function: Callable[[], Result], assumptions: Sequence[Term] = (), *, asked: bool = True
) -> list[Path[Result]]:
    """Return a function's results, each with the condition under which it returns it; together these are all possible.

    assumptions: what holds of the integers that it is run on. asked: whether the solver says which answers are
    possible; else both always are followed, and some of the conditions may never hold.
    """
    results: list[Path[Result]] = []
    waiting: list[list[bool]] = [[]]
    known: _KnownBounds = {}
    while waiting:
        explorer = Explorer(assumptions, waiting.pop(), known, asked)
        with _exploring(explorer):
            result = function()
        results.append(Path(both(*explorer.conditions) if explorer.conditions else true(), result))
        waiting += explorer.others
    return results


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
        if isinstance(other, Truth):
            return Truth(both(self.term, other.term))
        if isinstance(other, bool):
            return self if other else False
        return self._as_integer() & other

    __rand__ = __and__


class Integer:
    """An integer from `low` to `high`; `term` is its two's complement, of `bits_for(low, high)` bits.

    Functions that make one return `Any`: the model's functions, which it is made for, take numbers.
    """

    __slots__ = ("bits", "high", "low", "term")

    def __init__(self, term: Term, low: int, high: int, bits: Term | None = None):
        """bits: a term that counts it, where there is one."""
        self.low, self.high, self.bits = low, high, bits
        self.term = _resized(term, bits_for(low, high))

    @classmethod
    def unsigned(cls, term: Term) -> Any:
        """Return the unsigned number that the bits of a term are."""
        return cls(op(Kind.BV_ZERO_EXTEND, term, indices=[1]), 0, (1 << width(term)) - 1, term)

    @classmethod
    def signed(cls, term: Term) -> Any:
        """Return the number whose two's complement a term is."""
        most = 1 << width(term) - 1
        return cls(term, -most, most - 1)

    def between(self, low: int, high: int) -> Any:
        """Return the same integer with narrower bounds, which the caller asserts."""
        return made(self.term, max(low, self.low), min(high, self.high))

    def __repr__(self) -> str:
        return f"Integer({self.low}..{self.high})"

    # In a set two of these would be two, though they may be equal.
    __hash__ = None  # type: ignore[assignment]

    def at(self, bits: int) -> Term:
        """Return the two's complement in so many bits; modulo 2^bits where that is fewer."""
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
            sides = (op(Kind.BV_ZERO_EXTEND, bits, indices=[wide - width(bits)]) for bits in (self.bits, other.bits))
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
        high = min((number.high for number in (self, other) if number.low >= 0), default=max(self.high, other.high))
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
        first, second = (number._not_negative() for number in (self, as_integer(other)))
        low = max(first.low, second.low) if kind == Kind.BV_OR else 0
        return _computed(kind, first, second, low, (1 << max(first.high.bit_length(), second.high.bit_length())) - 1)

    def _not_negative(self) -> Integer:
        if self.low < 0 and (self.high < 0 or explorer().possible(_compared(Kind.BV_SLT, self, as_integer(0)))):
            raise ValueError("bits of negative integers are not taken here")
        return as_integer(self.between(max(0, self.low), self.high))

    def chosen(self, rows: Sequence[int]) -> Any:
        """Return rows[self], of which there is one for every number of so many bits."""
        least, places = min(rows), (len(rows) - 1).bit_length()
        if self.low < 0 or self.high >= len(rows) != 1 << places:
            raise ValueError("rows must be as many as numbers of some bits")
        asked = [is_one(part(self.at(places + 1), place, 1)) for place in range(places)]
        above, known = np.array(rows, np.int64) - least, dict[bytes, Term]()
        bits = [_decided(asked, above >> bit & 1, known) for bit in reversed(range(int(above.max()).bit_length()))]
        return least + Integer.unsigned(op(Kind.BV_CONCAT, value(0, 1), *bits)) if bits else least

    def bit_length(self) -> Any:
        """Return the number of places of the magnitude."""
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


def _decided(asked: Sequence[Term], bits: NDArray[np.int64], known: dict[bytes, Term]) -> Term:
    """Return the bit that a number has among some, by the answers that its own bits are, from the low one up.

    known: bits that were asked for before.
    """
    key = np.packbits(bits.astype(np.uint8)).tobytes() + bytes([len(bits).bit_length()])
    if key not in known:
        half = len(bits) // 2
        if bits.min() == bits.max():
            known[key] = value(int(bits[0]), 1)
        else:
            low, high = _decided(asked, bits[:half], known), _decided(asked, bits[half:], known)
            known[key] = low if low == high else op(Kind.ITE, asked[half.bit_length() - 1], high, low)
    return known[key]


def made(term: Term, low: int, high: int) -> Any:
    """Return an integer within bounds; a number where the bounds leave only one."""
    return low if low == high else Integer(term, low, high)


def as_integer(number: Any) -> Integer:
    """Return a number as an integer that is not known, to compute with others."""
    if isinstance(number, Integer):
        return number
    if isinstance(number, Truth):
        return number._as_integer()
    number = int(number)
    return Integer(value(number, bits_for(number, number)), number, number)


def ite(condition: Any, yes: Any, no: Any) -> Any:
    """Return one of two integers, by a condition."""
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
    """Return the least and the largest value of a number under the conditions of the path."""
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
        """True if it is larger, where every number of places gives one answer."""
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
    """high * 2^places - 1, with high a power of two: a mask of all places below."""

    __slots__ = ("mask",)

    def __init__(self, mask: Any):
        self.mask = mask


class Tailed(Integer):
    """high * 2^places + tail. some: the condition that the tail is other than zero."""

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
        """The places of a number that is neither negative nor zero."""
        if Truth(_holds(self.above != 0)):
            return Places(self.above.bit_length(), 1)
        # Of the tail alone: from 1 to all of its places.
        return Places(-Integer.unsigned(constant("tail.zeros", MOST_PLACES_BITS)), 1)

    # Questions.

    def __bool__(self) -> bool:
        return bool(Truth(either(_holds(self.above != 0), self.some)))

    def _other(self, other: Any) -> Integer:
        """The part above the tail of a number without a tail."""
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


@contextmanager
def given_function(module: ModuleType | type, name: str, function: Callable[..., Any] | property) -> Iterator[None]:
    """Replace a function of a module, or of a class, as long as this lasts."""
    before = getattr(module, name)
    setattr(module, name, function)
    try:
        yield
    finally:
        setattr(module, name, before)


# Bits of each argument: sign, exponent, significand, its fraction bits, max_exp, the window's bits. More than any has.
EXP, SIG, LEFT = 20, 640, 48
GIVEN = EXP, EXP, SIG, EXP, EXP, EXP


@cache
def _function(lost: str) -> Term:
    sorts = [manager().mk_bv_sort(bits) for bits in GIVEN]
    return manager().mk_const(manager().mk_fun_sort(sorts, manager().mk_bv_sort(LEFT)), f"align.{lost}")


def aligned(term: ModelTerm, max_exp: Any, fraction_bits: int, lost: str) -> Any:
    """Return what is left of a term: any number that depends on the arguments alone; of a term of zero, 0."""
    if isinstance(term.sig, int) and term.sig == 0:
        return 0
    numbers = (term.sign, term.exp, term.sig, term.fraction_bits, max_exp, fraction_bits)
    integers = list(map(as_integer, numbers))
    if any(width(number.term) > bits for number, bits in zip(integers, GIVEN, strict=True)):
        raise ValueError("a term is larger than any that is aligned")
    arguments = [number.at(bits) for number, bits in zip(integers, GIVEN, strict=True)]
    return Integer.signed(manager().mk_term(Kind.APPLY, [_function(lost), *arguments]))


@contextmanager
def any_alignment(*modules: ModuleType) -> Iterator[None]:
    """Replace `align` in these modules by `aligned`, as long as this lasts."""
    with ExitStack() as stack:
        for module in modules:
            stack.enter_context(given_function(module, "align", aligned))
        yield
