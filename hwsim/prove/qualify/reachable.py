"""The codes that a group's sum can hand on, of any number of groups: what is shown by induction, and no closer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hwsim.formats import FloatFormat
from hwsim.prove.circuits import Circuit
from hwsim.prove.terms import (
    Term,
    ask,
    below,
    both,
    either,
    evaluated,
    implies,
    is_one,
    negated,
    same,
    sliced,
    value,
    width,
)

EACH, ALTOGETHER = 2.0, 30.0  # seconds of a processor for a question, and for all


@dataclass(frozen=True)
class Codes:
    """A set of a format's codes, without padding.

    zeros: so many low bits are zeros. least, most: of magnitudes other than zero. nan: the NaN that is one, too.
    """

    fmt: FloatFormat
    zeros: int
    least: int
    most: int
    nan: int | None

    def has(self, code: Term) -> Term:
        """The condition that a code is in it."""
        bits = width(code)
        magnitude = sliced(code, 0, bits - 1)
        low = [same(sliced(code, 0, self.zeros), value(0, self.zeros))] if self.zeros else []
        at_least = either(same(magnitude, value(0, bits - 1)), _most(value(self.least, bits - 1), magnitude))
        number = both(*low, at_least, _most(magnitude, value(self.most, bits - 1)))
        return number if self.nan is None else either(number, same(code, value(self.nan, bits)))


def _most(one: Term, other: Term) -> Term:
    return negated(below(other, one))


@dataclass
class Handed:
    """The code that the circuit of a group hands on. circuit: of its steps; its input and output are `code`."""

    circuit: Circuit
    fmt: FloatFormat
    left: float = field(default=ALTOGETHER)

    @property
    def before(self) -> Term:
        """The code that it is given."""
        return self.circuit.inputs["i__carried__code"]

    def codes(self) -> Codes | None:
        """A set that holds every code that is handed on; None where none is shown smaller than all codes."""
        fmt, bits = self.fmt, width(self.before)
        every = Codes(fmt, 0, 1, (1 << bits - 1) - 1, None)
        start = Codes(fmt, 0, 1, _infinite(fmt), self._nan())
        if not self._keeps(start):
            start = every
        zeros = _first(bits - 1, lambda number: self._keeps(replace(start, zeros=bits - 1 - number)))
        start = start if zeros is None else replace(start, zeros=bits - 1 - zeros)
        top = start.most >> fmt.fraction_bits
        most = _first(top, lambda number: self._keeps(replace(start, most=min(start.most, _end(fmt, number)))))
        start = start if most is None else replace(start, most=min(start.most, _end(fmt, most)))
        least = _first(top, lambda number: self._keeps(replace(start, least=_begin(fmt, top - number))))
        start = start if least is None else replace(start, least=_begin(fmt, top - least))
        return None if start == every else start

    def _nan(self) -> int | None:
        """The code that says NaN, if one does."""
        inputs, nan = self.circuit.inputs.values(), self.circuit.outputs["o__nan"]
        model = ask(negated(is_one(nan)), (), EACH, inputs).model
        if model is None:
            return None
        return evaluated(self.circuit.outputs["o__code"], {t: value(model[t.symbol()], width(t)) for t in inputs})

    def _keeps(self, codes: Codes) -> bool:
        """True if what is handed on is one of the codes wherever what was handed on before is one."""
        begun = time.thread_time()
        if self.left <= 0:
            return False
        chain = self.circuit.inputs["i__chain"]
        known = implies(same(chain, value(1, 1)), codes.has(self.before))
        answer = ask(codes.has(self.circuit.outputs["o__code"]), [known], min(EACH, self.left))
        self.left -= time.thread_time() - begun
        return answer.word == "proved"


def _infinite(fmt: FloatFormat) -> int:
    """The magnitude of infinity, or else of the largest number."""
    return fmt.max_magnitude if fmt.infinity_magnitude is None else fmt.infinity_magnitude


def _end(fmt: FloatFormat, exponent: int) -> int:
    """The largest magnitude with this exponent field."""
    return (exponent + 1 << fmt.fraction_bits) - 1


def _begin(fmt: FloatFormat, exponent: int) -> int:
    """The least magnitude with this exponent field; of subnormals the least of all."""
    return max(1, exponent << fmt.fraction_bits)


def _first(end: int, holds: Callable[[int], bool]) -> int | None:
    """The first number from 0 up to `end` that is found to hold by halving; None where none is found."""
    low, high, first = 0, end, None
    while low <= high:
        middle = (low + high) // 2
        if holds(middle):
            first, high = middle, middle - 1
        else:
            low = middle + 1
    return first
