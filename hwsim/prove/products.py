"""A few products of any codes: what the model returns for them, and where a design meets it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import product
from typing import Any, Literal

import hwsim.model.definition
import hwsim.model.late
import hwsim.model.methods
import hwsim.model.scales
import hwsim.model.terms
from hwsim.cases.case import Case, block_lengths
from hwsim.cases.random_cases import random_cases
from hwsim.cocotb.expected import largest_number
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.wiring import operands_of
from hwsim.formats import Class, Fields, Format
from hwsim.formats.blocks import one_code
from hwsim.model.definition import Definition
from hwsim.model.rounding import ResultRounding
from hwsim.model.terms import factor
from hwsim.prove.claims import holds
from hwsim.prove.sweeping import Merging, Replaced
from hwsim.prove.symbolic import Integer, Path, Truth, as_integer, bits_for, given, ite, paths
from hwsim.prove.terms import (
    Decided,
    Evaluated,
    Kind,
    Term,
    Word,
    ask,
    both,
    constant,
    constants_of,
    either,
    nodes_of,
    op,
    same,
    signed,
    simplified,
    substituted,
    true,
    value,
    width,
)
from hwsim.prove.unrolled import BeatResult
from hwsim.spec import AlignedSum, ExactSum, Unit, Unpromised

# A place of a function: what has it, and its name there.
Place = tuple[Any, str]


@dataclass(frozen=True)
class Called:
    """A call that was summed up: the function's name, what it took and returned, and what was known there."""

    name: str
    arguments: tuple[Any, ...]
    result: Any
    given: tuple[Term, ...]


@dataclass(frozen=True)
class _Remembered:
    """A call's results, one for each shape, and calls that it makes itself. held: what its key speaks of."""

    results: list[Path[Any]]
    inner: tuple[Called, ...]
    held: object


class Summaries:
    """Summed up calls, each explored once for what is known where it is made. called: all calls, in order."""

    def __init__(self) -> None:
        self.kept: dict[Any, _Remembered] = {}
        self.called: list[Called] = []

    def of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that returns what another returns, summed up."""

        def summed_up(*arguments: Any, **named: Any) -> Any:
            known, asked = given(), (*arguments, *sorted(named.items()))
            key = function, _key(asked), _key(known)
            if key not in self.kept:
                before, self.called = self.called, []
                results = _joined(paths(lambda: function(*arguments, **named), known))
                self.kept[key] = _Remembered(results, tuple(self.called), (asked, known))
                self.called = before
            kept = self.kept[key]
            result = _chosen(kept.results)
            self.called += [*kept.inner, Called(function.__name__, arguments, result, known)]
            return result

        return summed_up

    @contextmanager
    def within(self, places: Sequence[Place]) -> Iterator[None]:
        """Functions in these places are summed up, as long as this lasts."""
        before = [getattr(owner, name) for owner, name in places]
        for (owner, name), function in zip(places, before, strict=True):
            setattr(owner, name, self.of(function))
        try:
            yield
        finally:
            for (owner, name), function in zip(places, before, strict=True):
                setattr(owner, name, function)


def _key(thing: Any) -> Any:
    """What two arguments have in common that are the same."""
    match thing:
        case Integer():
            return Integer, thing.term.id(), thing.low, thing.high
        case Truth():
            return Truth, thing.term.id()
        case tuple() | list():
            return type(thing), *map(_key, thing)
        case int() | str() | None | Enum():
            return type(thing), thing
        case _:
            return id(thing)


def _shape(result: Any) -> Any:
    """What of a result no term chooses."""
    match result:
        case bool() | Truth():
            return "truth"
        case int() | Integer():
            return "number"
        case tuple() | list():
            return type(result), *map(_shape, result)
        case str() | None | Enum():
            return result
        case _:
            return id(result)


def _joined(found: Sequence[Path[Any]]) -> list[Path[Any]]:
    """One path for each shape."""
    shapes: dict[Any, list[Path[Any]]] = {}
    for path in found:
        shapes.setdefault(_shape(path.result), []).append(path)
    return [
        Path(either(*(one.condition for one in group)), _merged([(one.condition, one.result) for one in group]))
        for group in shapes.values()
    ]


def _merged(choices: Sequence[tuple[Term, Any]]) -> Any:
    """Results of one shape as one; the last one where none of the other conditions holds."""
    last = choices[-1][1]
    match last:
        case bool() | Truth():
            return _truth([(condition, one) for condition, one in choices])
        case int() | Integer():
            made = last
            for condition, one in reversed(choices[:-1]):
                made = made if _key(one) == _key(made) else ite(Truth(condition), one, made)
            return made
        case tuple() | list():
            parts = [_merged([(condition, result[at]) for condition, result in choices]) for at in range(len(last))]
            return last._make(parts) if hasattr(last, "_make") else type(last)(parts)
        case _:
            return last


def _truth(choices: Sequence[tuple[Term, Any]]) -> Any:
    if len({_key(one) for _, one in choices}) == 1:
        return choices[0][1]
    made = holds(choices[-1][1])
    for condition, one in reversed(choices[:-1]):
        made = op(Kind.ITE, condition, holds(one), made)
    return Truth(made)


def _chosen(joined: Sequence[Path[Any]]) -> Any:
    """The result of the shape that is asked for, in the caller."""
    for path in joined[:-1]:
        if Truth(path.condition):
            return path.result
    return joined[-1].result


Codes = Sequence[Any]


class UnrecordedDefinition(Definition):
    """The definition, without the decoded factors of its record: sums are of products."""

    def _recorded(self, decoded: Callable[[int], Fields], codes: Sequence[int]) -> tuple[Fields, ...]:
        return ()


# Functions of the model that are summed up, where its methods find them.
PLACES: tuple[Place, ...] = (
    *((UnrecordedDefinition, name) for name in ("product", "addend", "partial")),
    (hwsim.model.definition, "positive_zero"),
    *((hwsim.model.terms, name) for name in ("max_exponent", "cut_magnitude", "align")),
    *((hwsim.model.late, name) for name in ("max_exponent", "cut_magnitude", "align", "add", "addend_term")),
    *((method, "window") for method in (hwsim.model.methods, hwsim.model.methods)),
    *((method, "total_term") for method in (hwsim.model.methods, hwsim.model.methods, hwsim.model.methods)),
    (hwsim.model.methods, "exact_sum"),
    (hwsim.model.late, "exact_sum"),
    *((hwsim.model.methods, name) for name in ("add", "addend_term")),
    *((hwsim.model.late, name) for name in ("add", "addend_term")),
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


AT_ONCE = 0.4  # seconds after which a question is not tried as it is any more
MOST_GUESSES = 12  # bit vectors that are tried for a number
FEWEST = 12  # samples that a guess is made from
LEAST_SPAN = 4  # of a number that is looked for


@dataclass(frozen=True)
class PlacedQuestion:
    """Whether a claim holds where all assumptions do.

    met: numbers of the model that it is made of. show: constants whose values refute it, if any do.
    """

    claim: Term
    assumptions: tuple[Term, ...]
    met: tuple[Met, ...]
    show: tuple[Term, ...]


@dataclass
class MeetingPoints:
    """Questions about one result of a design.

    samples: of all that it depends on, and of what the model is asked. always: what holds in all questions.
    """

    result: Term
    samples: Evaluated
    always: tuple[Term, ...] = ()
    proved: dict[tuple[int, int, int, tuple[int, ...]], tuple[object, Word]] = field(default_factory=dict)
    refuting: list[Evaluated] = field(default_factory=list)

    def decide(self, question: PlacedQuestion, seconds: float) -> Decided:
        """What becomes of a question, in so many seconds."""
        begun = time.thread_time()
        known = (*self.always, *question.assumptions)
        answer = ask(question.claim, known, min(AT_ONCE, seconds), question.show)
        if answer.word != "undecided" or seconds <= AT_ONCE:
            return answer
        by = self._by_design(question, begun + seconds)
        left = max(AT_ONCE, begun + seconds - time.thread_time())
        claim, *assumptions = (substituted(term, by) for term in (question.claim, *known))
        answer = ask(claim, assumptions, left, question.show)
        return Decided(answer.word, time.thread_time() - begun, answer.model)

    @cached_property
    def _free(self) -> tuple[Term, ...]:
        """All constants that samples know: of others a guess does not depend."""
        known = {term.symbol(): term for term in constants_of([self.result, *self.always])}
        return tuple(known.values())

    def _by_design(self, question: PlacedQuestion, end: float) -> dict[Term, Term]:
        """The model's numbers by the design's bit vectors that stand for them."""
        by: dict[Term, Term] = {}
        for met in question.met:
            if met.number.term in by:
                continue
            here = substituted(met.seen.term, by)
            for vector, apart in self._guesses(met):
                left = end - time.thread_time()
                if left <= 0:
                    return by
                if not self._fits_again(met, vector, apart):
                    continue
                if self._meets(met, here, vector, apart, by, left):
                    stands = _standing(met, vector, apart)
                    by[met.number.term] = stands
                    break
        return by

    def _guesses(self, met: Met) -> Iterator[tuple[Term, int]]:
        """Bit vectors of the design that seem to be a number and a constant, narrow ones first."""
        number = met.seen
        if number.high - number.low < LEAST_SPAN:
            return
        kept = [at for at in range(self.samples.count) if all(self.samples.of(term)[at] for term in met.given)]
        found = self.samples.of(number.term)
        bits = width(number.term)
        wanted = [signed(found[at], bits) for at in kept]
        if len(kept) < FEWEST or len(set(wanted)) < LEAST_SPAN:
            return
        guesses = []
        for vector in self._vectors:
            most = 1 << width(vector)
            if most <= number.high - number.low:
                continue
            numbers = self.samples.of(vector)
            apart = (numbers[kept[0]] - wanted[0]) % most
            if all((numbers[at] - one - apart) % most == 0 for at, one in zip(kept, wanted, strict=True)):
                guesses.append((vector, apart))
        guesses.sort(key=lambda guess: width(guess[0]))
        yield from guesses[:MOST_GUESSES]

    @cached_property
    def _vectors(self) -> Sequence[Term]:
        return [term for term in nodes_of([self.result]) if term.sort().is_bv() and not term.is_value()]

    def _fits_again(self, met: Met, vector: Term, apart: int) -> bool:
        """Whether a guess is not refuted by what refuted another one."""
        most = 1 << width(vector)
        for sample in self.refuting:
            if all(sample.of(term)[0] for term in met.given):
                (number,), (found,) = sample.of(met.seen.term), sample.of(vector)
                if (found - signed(number, width(met.seen.term)) - apart) % most:
                    return False
        return True

    def _meets(self, met: Met, here: Term, vector: Term, apart: int, by: dict[Term, Term], seconds: float) -> bool:
        """Whether a bit vector always is a number and a constant."""
        known = tuple(substituted(term, by) for term in met.given)
        key = here.id(), vector.id(), apart, tuple(term.id() for term in known)
        if key not in self.proved:
            number, bits = met.seen, width(vector)
            sized = Integer(here, number.low, number.high).at(bits)
            equal = same(vector, op(Kind.BV_ADD, sized, value(apart, bits)))
            # The terms are kept: only as long as they are, no other has their numbers.
            answer = ask(equal, (*self.always, *known), seconds, self._free)
            if answer.model is not None:
                self.refuting.append(Evaluated({name: [number] for name, number in answer.model.items()}))
            self.proved[key] = (here, vector, known), answer.word
        return self.proved[key][1] == "proved"


def _standing(met: Met, vector: Term, apart: int) -> Term:
    """The term of a number, made of a bit vector that it is: low + ((vector - apart - low) mod 2^bits)."""
    number, bits = met.seen, width(vector)
    wide = max(bits, bits_for(number.low, number.high)) + 2
    above = op(Kind.BV_SUB, vector, value(apart + number.low, bits))
    whole = op(Kind.BV_ADD, op(Kind.BV_ZERO_EXTEND, above, indices=[wide - bits]), value(number.low, wide))
    found: Integer = Integer(whole, number.low, number.high)
    return (found if met.less is None else found + met.less).at(width(met.number.term))


SAMPLES, LEAST_SAMPLES, SEED = 96, 24, 1  # cases that guesses are made from, for each choice of operands that are zero

Lanes = tuple[int, ...]


def order_counts(unit: Unit) -> bool:
    """Whether which lane of a group a product is in may count."""
    match unit.sum:
        case AlignedSum(subgroup=None) | ExactSum():
            return False
        case _:
            return True


def zeros_count(unit: Unit) -> bool:
    """Whether a product of zero may count by its sign or its exponent."""
    match unit.sum:
        case AlignedSum(zero_terms="skip", zero="positive", subgroup=None) | ExactSum(zero="positive"):
            return False
        case _:
            return True


@dataclass(frozen=True)
class PlacedProducts:
    """Questions about a design with products of any codes in some lanes.

    lanes: theirs. points: of the design's result. questions: they are all answered just if that is the model's.
    """

    lanes: Lanes
    points: MeetingPoints
    questions: tuple[PlacedQuestion, ...]


@dataclass(frozen=True)
class RefutedChoice:
    """Values of constants with which a design's result is not the model's. lanes: those of the products."""

    lanes: Lanes
    model: Mapping[str, int]


class Placing:
    """Products in the lanes of a design. followed: what it makes of a beat."""

    def __init__(self, design: DutDesign, followed: BeatResult):
        self.design, self.unit, self.followed = design, design.unit, followed
        self.formats: dict[str, Format] = {name: fmt for name, (_, fmt) in operands_of(design.dut).items()}
        self.specified = Specified(self.unit)
        self.kept: dict[object, list[SpecifiedCase]] = {}
        self.mergings: dict[object, Merging] = {}
        self.free: dict[str, Term] = {}

    # Operands.

    def _held(self, field: str, at: int) -> Term | None:
        """The code of an operand that is always the same, in an element; None of others."""
        held = self.design.held.by_name.get(field)
        if held is None:
            return None
        fmt = self.formats[field]
        return value(held.codes[at % len(held.codes)] >> fmt.padding, fmt.bits)

    def _any(self, name: str, field: str) -> Term:
        """A code of any value, without its padding: one of a name, whoever asks."""
        if name not in self.free:
            self.free[name] = constant(name, self.formats[field].bits)
        return self.free[name]

    @property
    def _addend(self) -> Term:
        if (held := self._held("c", 0)) is not None:
            return held
        return self._any("c", "c") if self.design.addend else value(0, self.formats["c"].bits)

    def _scales(self, name: str, lanes: Lanes) -> list[Term]:
        """A scale of any code for each block with a lane, and scales of 1."""
        fmt, count = self.formats[name], len(self.followed.beat[name])
        length = block_lengths(self.unit)[name == "scale_b"]
        free = {lane // length for lane in lanes}
        one = one_code(fmt) >> fmt.padding
        held = [self._held(name, at) for at in range(count)]
        if held[0] is not None:
            return [term for term in held if term is not None]
        return [self._any(f"{name}.{at}", name) if at in free else value(one, fmt.bits) for at in range(count)]

    def _terms(self, lanes: Lanes, zeros: bool) -> dict[str, list[Term]]:
        """What each field of the beat holds, by element, above its padding."""
        found: dict[str, list[Term]] = {}
        for side in ("a", "b"):
            bits = self.formats[side].bits
            found[side] = [
                held if (held := self._held(side, lane)) is not None
                else self._any(f"{side}.{lanes.index(lane)}", side) if lane in lanes
                else self._any(f"zero.{side}.{lane}", side) if zeros else value(0, bits)
                for lane in range(self.design.products)
            ]  # fmt: skip
        if "c" in self.formats:
            found["c"] = [self._addend]
        for name in ("scale_a", "scale_b"):
            if name in self.formats:
                found[name] = self._scales(name, lanes)
        return found

    # The model.

    def _key(self, lanes: Lanes) -> object:
        """What two choices of lanes have in common of which the model returns the same."""
        if order_counts(self.unit):
            return lanes
        held = [self.design.held.by_name[name].codes for name in self.design.held.by_name]
        if any(len(codes) > 1 for codes in held):  # the number of a lane counts
            return lanes
        lengths = block_lengths(self.unit) if self.unit.scale is not None else ()
        groups = {
            index: group
            for group in range(self.design.products // self.unit.instruction.lanes)
            for index in self.unit.instruction.indices(group)
        }
        return tuple((groups[lane], *(lane // length for length in lengths)) for lane in lanes)

    def _cases(self, lanes: Lanes) -> list[SpecifiedCase]:
        key = self._key(lanes)
        if key not in self.kept:
            terms = self._terms(lanes, zeros=False)
            codes = {name: [code_of(self.formats[name], term) for term in one] for name, one in terms.items()}
            scales = []
            if self.unit.scale is not None:
                lengths = block_lengths(self.unit)
                scales = [
                    [codes[name][lane // length] for lane in range(self.design.products)]
                    for name, length in zip(("scale_a", "scale_b"), lengths, strict=True)
                ]
            (c,) = codes.get("c", [0])
            self.kept[key] = self.specified.cases(SymbolicOperands(codes["a"], codes["b"], c, *scales))
        return self.kept[key]

    # The design.

    def _contained(self, name: str, term: Term) -> Term:
        padding = self.formats[name].padding
        return op(Kind.BV_CONCAT, term, value(0, padding)) if padding else term

    def result(self, terms: Mapping[str, Sequence[Term]]) -> Term:
        """What the design makes of a beat of these fields."""
        by = {
            element: self._contained(name, term)
            for name, elements in self.followed.beat.items()
            for element, term in zip(elements, terms[name], strict=True)
        }
        return substituted(self.followed.result, by)

    def _decoded(self, side: Literal["a", "b"], term: Term) -> list[Path[Fields]]:
        operands, code = self.unit.operands, code_of(self.formats[side], term)
        return paths(lambda: factor(operands.factor(side), operands.convert, operands.daz, operands.zeros, code))

    def _zero(self, side: Literal["a", "b"], lane: int) -> Term:
        """The code of a factor of a product of zero: any, unless it is always the same."""
        held = self._held(side, lane)
        return self._any(f"zero.{side}.{lane}", side) if held is None else held

    def _is_zero(self, lane: int) -> Term:
        """That a lane's product is zero, with any codes of which that is so."""
        zero, finite = [], []
        sides: tuple[Literal["a", "b"], ...] = ("a", "b")
        for side in sides:
            of_class: dict[Class, list[Term]] = {}
            for path in self._decoded(side, self._zero(side, lane)):
                of_class.setdefault(path.result.cls, []).append(path.condition)
            zero.append(either(*of_class.get(Class.ZERO, [])))
            special = [condition for cls in (Class.NAN, Class.INFINITY) for condition in of_class.get(cls, [])]
            finite.append(op(Kind.NOT, either(*special)) if special else true())
        return either(both(zero[0], finite[1]), both(finite[0], zero[1]))

    def placed(self, lanes: Lanes, zeros: bool) -> PlacedProducts:
        """Products of any codes in these lanes; in the others products of +0 and +0, or any that are zero."""
        terms = self._terms(lanes, zeros)
        result = self.result(terms)
        others = [lane for lane in range(self.design.products) if lane not in lanes] if zeros else []
        known = tuple(self._is_zero(lane) for lane in others)
        show = tuple({term.id(): term for one in terms.values() for term in one if term.is_const()}.values())
        show += tuple(self.followed.undefined)
        points = MeetingPoints(result, self._samples(terms), known)
        questions = tuple(
            PlacedQuestion(is_right(result, case.code, self.design.unpromised), (case.condition,), case.met, show)
            for case in self._cases(lanes)
        )
        return PlacedProducts(lanes, points, questions)

    def alike(self, lanes: Lanes) -> object:
        """What choices of lanes have in common of which design and model return the same; the others hold +0 and +0."""
        key, terms = self._key(lanes), self._terms(lanes, zeros=False)
        if (len(lanes), key) not in self.mergings:
            self.mergings[len(lanes), key] = Merging(self._samples(terms))
        merged = self.mergings[len(lanes), key].merged(simplified(self.result(terms)))
        return len(lanes), key, merged.id()

    def zero_is_plain(self, lane: int, seconds: float) -> bool:
        """Whether a lane's products of zero are as +0 times +0, whatever all else is; False if that is not seen."""
        by: dict[Term, Term] = {}
        zeros: dict[Term, Term] = {}
        sides: tuple[Literal["a", "b"], ...] = ("a", "b")
        for side in sides:
            term = self._zero(side, lane)
            if term.is_const():
                by[term] = value(0, width(term))
            zeros[self.followed.beat[side][lane]] = self._contained(side, term)
        result = simplified(substituted(self.followed.result, zeros))
        return Replaced(by, [self._is_zero(lane)]).leaves(result, seconds)

    # Samples.

    @cached_property
    def _drawn(self) -> list[Case]:
        cases = self.design.held.drawn(random_cases(self.design.drawn_for, SAMPLES, SEED))
        return [cases[at % len(cases)] for at in range(SAMPLES)]  # few are different where operands are constant

    def _samples(self, terms: Mapping[str, Sequence[Term]]) -> Evaluated:
        """All that the questions speak of, in some cases: each of drawn ones, and with some of its operands zero."""
        names = sorted({term.symbol() for one in terms.values() for term in one if term.is_const()})
        slots = sum(name.startswith("a.") for name in names)
        masks = range(1 << slots + 1)
        count = max(LEAST_SAMPLES, SAMPLES >> max(0, slots - 1))
        found: dict[str, list[int]] = {name: [] for name in names}
        for mask, (number, case) in product(masks, enumerate(self._drawn[:count])):
            for name in names:
                found[name].append(self._sample(name, case, mask, number))
        total = len(masks) * count
        return Evaluated(found | {term.symbol(): [0] * total for term in self.followed.undefined})

    def _sample(self, name: str, case: Case, mask: int, number: int) -> int:
        """What stands in a place of a beat, in one case; a bit of the mask for each product, and one for the addend."""
        side, _, place = name.partition(".")
        if side == "c":
            return 0 if mask & 1 else case.c >> self.formats["c"].padding
        if side == "zero":
            return int(number % 3 == "ab".index(place[0]))  # code 1 is a number, beside a zero
        codes, at = getattr(case, side), int(place)
        if side in ("a", "b") and mask >> at + 1 & 1:
            return 0
        return int(codes[at % len(codes)] >> self.formats[side].padding)
