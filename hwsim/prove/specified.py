"""What the model returns for operands that are not known: the dot product itself, in few cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import hwsim.model.aligned
import hwsim.model.definition
import hwsim.model.even_odd
import hwsim.model.exact
import hwsim.model.late
import hwsim.model.promotion
import hwsim.model.rounded
import hwsim.model.scales
import hwsim.model.window
from hwsim.cosim.dutdesign import largest_number
from hwsim.formats import Fields, Format
from hwsim.model.definition import Definition
from hwsim.model.result import ResultRounding
from hwsim.prove.explore import given, paths
from hwsim.prove.logic import Kind, Term, both, either, op, value
from hwsim.prove.relations import holds
from hwsim.prove.summaries import Called, Place, Summaries
from hwsim.prove.symbolic import Integer, as_integer
from hwsim.spec import Unit, Unpromised

Codes = Sequence[Any]


class UnrecordedDefinition(Definition):
    """The definition, without the decoded factors of its record: sums are of products."""

    def _recorded(self, decoded: Callable[[int], Fields], codes: Sequence[int]) -> tuple[Fields, ...]:
        return ()


# Functions of the model that are summed up, where its methods find them.
PLACES: tuple[Place, ...] = (
    *((UnrecordedDefinition, name) for name in ("product", "addend", "partial")),
    (hwsim.model.definition, "positive_zero"),
    *((hwsim.model.window, name) for name in ("max_exponent", "cut_magnitude", "align")),
    *((hwsim.model.late, name) for name in ("max_exponent", "cut_magnitude", "align", "add", "addend_term")),
    *((method, "window") for method in (hwsim.model.aligned, hwsim.model.even_odd)),
    *((method, "total_term") for method in (hwsim.model.aligned, hwsim.model.exact, hwsim.model.even_odd)),
    (hwsim.model.exact, "exact_sum"),
    (hwsim.model.late, "exact_sum"),
    *((hwsim.model.rounded, name) for name in ("add", "addend_term")),
    *((hwsim.model.promotion, name) for name in ("add", "addend_term")),
    (hwsim.model.scales, "scale_exponent"),
    (hwsim.model.scales, "subgroup"),
    (ResultRounding, "total"),
)


@dataclass(frozen=True)
class Met:
    """A number that the model works out on its way.

    given: what is known where the model does. seen: the form in which a design may have it. less: what that form
    lacks; None for nothing.
    """

    name: str
    number: Integer
    given: tuple[Term, ...]
    seen: Integer
    less: Integer | None = None


@dataclass(frozen=True)
class SpecifiedCase:
    """Where a condition holds, the result's code; met: the numbers on the way, in order."""

    condition: Term
    code: Any
    met: tuple[Met, ...]


@dataclass(frozen=True)
class SymbolicOperands:
    """Codes of a dot product's operands, as containers have them: numbers, or integers that are not known.

    scale_a, scale_b: a code for each term, or empty, as `Definition.dot` takes them.
    """

    a: Codes
    b: Codes
    c: Any = 0
    scale_a: Codes = ()
    scale_b: Codes = ()


def code_of(fmt: Format, term: Term) -> Any:
    """A container's code from a term of the bits above its padding; a number where the term is one."""
    if term.is_value():
        return int(term.value(10)) << fmt.padding
    return Integer.unsigned(op(Kind.BV_CONCAT, term, value(0, fmt.padding)) if fmt.padding else term)


class Specified:
    """What a unit's definition returns of operands that are not known.

    assumptions: what holds of these. Raises NotImplementedYet for a unit that the model does not have.
    """

    def __init__(self, unit: Unit, assumptions: Sequence[Term] = ()):
        self.definition, self.assumptions = UnrecordedDefinition(unit, keep=False), assumptions
        self.summaries = Summaries()

    def cases(self, operands: SymbolicOperands) -> list[SpecifiedCase]:
        """The results by the conditions under which they are returned, which are all that there are."""
        scales = (operands.scale_a, operands.scale_b) if operands.scale_a else ()

        def followed() -> tuple[Any, tuple[Met, ...]]:
            self.summaries.called.clear()
            code = self.definition.dot(operands.a, operands.b, operands.c, *scales).code
            return code, tuple(_met(self.summaries.called, given()))

        with self.summaries.within(PLACES):
            found = paths(followed, self.assumptions)
        return [SpecifiedCase(path.condition, *path.result) for path in found]


def _met(called: Sequence[Called], known: Sequence[Term]) -> Iterator[Met]:
    """The numbers that summed up calls returned, each once: those of calls of which all that they knew is known."""
    here, there = {term.id() for term in known}, set[int]()
    for call in called:
        if not all(term.id() in here for term in call.given):
            continue
        for number in call.result if isinstance(call.result, tuple) else (call.result,):
            if isinstance(number, Integer) and number.term.id() not in there:
                there.add(number.term.id())
                yield Met(call.name, number, call.given, number)
                sign = getattr(call.arguments[0], "sign", None) if call.name == "align" else None
                if isinstance(sign, Integer):
                    yield from _complemented(call, number, sign)


def _complemented(call: Called, number: Integer, sign: Integer) -> Iterator[Met]:
    """A term in the window, of which a negative one is complemented only; the sum adds the one that is missing.

    Its bits are those of the magnitude; or more, and then it is a two's complement.
    """
    yield Met(call.name, number, call.given, number - sign, sign)
    bits = max(number.high, -number.low).bit_length()
    less = sign * (1 - (1 << bits))
    if isinstance(less, Integer):
        yield Met(call.name, number, call.given, (number - less).between(0, (1 << bits) - 1), less)


def is_right(got: Term, code: Any, good: Unpromised) -> Term:
    """Whether a result's container is a code, as far as that is promised."""
    found = Integer.unsigned(got)
    right, any_nan, minus_zero = [holds(found == code)], good.nans, good.minus_zero
    if any_nan is not None:
        mask, above = (any_nan.sign_bit - 1) << any_nan.padding, largest_number(any_nan)
        right.append(both(*(holds((as_integer(one) & mask) > above) for one in (code, found))))
    if minus_zero is not None:
        zeros = (either(*(holds(as_integer(one) == zero) for zero in (0, minus_zero))) for one in (code, found))
        right.append(both(*zeros))
    return either(*right)
