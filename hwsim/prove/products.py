"""A few products of any codes: what the model returns for them, and where a design meets it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Literal

from hwsim.cases.case import Case, block_lengths
from hwsim.cases.drawing import Stream
from hwsim.cases.random_cases import random_cases
from hwsim.cocotb.expected import largest_number
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.wiring import operands_of
from hwsim.formats import Class, Fields, Format
from hwsim.formats.blocks import one_code
from hwsim.model.terms import factor
from hwsim.prove.claims import holds
from hwsim.prove.composition import Unmet
from hwsim.prove.meeting import Meeting
from hwsim.prove.summaries import Specified, SpecifiedCase, SymbolicOperands, code_of
from hwsim.prove.sweeping import Merging, Replaced
from hwsim.prove.symbolic import Integer, OutOfTime, Path, as_integer, paths, until
from hwsim.prove.terms import (
    Decided,
    Evaluated,
    Kind,
    Term,
    both,
    constant,
    either,
    op,
    simplified,
    substituted,
    true,
    value,
    width,
)
from hwsim.prove.unrolled import BeatResult
from hwsim.spec import AlignedSum, ExactSum, Unit, Unpromised


def is_right(got: Term, code: Any, good: Unpromised) -> Term:
    """The condition that a result's container is a code, as far as that is promised."""
    result = Integer.unsigned(got)
    right, any_nan, minus_zero = [holds(result == code)], good.nans, good.minus_zero
    if any_nan is not None:
        mask, above = (any_nan.sign_bit - 1) << any_nan.padding, largest_number(any_nan)
        right.append(both(*(holds((as_integer(number) & mask) > above) for number in (code, result))))
    if minus_zero is not None:
        zeros = (either(*(holds(as_integer(number) == zero) for zero in (0, minus_zero))) for number in (code, result))
        right.append(both(*zeros))
    return either(*right)


SAMPLES, LEAST_SAMPLES, SEED = 96, 24, 1  # cases that guesses are made from, for each choice of operands that are zero
MOST_MASKED, MANY, MIXED = 3, 320, 4  # products of which all choices are made; samples of more; kinds of these

Lanes = tuple[int, ...]


def order_counts(unit: Unit) -> bool:
    """True if the result may depend on which lane of a group a product is in."""
    match unit.sum:
        case AlignedSum(subgroup=None) | ExactSum():
            return False
        case _:
            return True


def zeros_count(unit: Unit) -> bool:
    """True if the sign or the exponent of a product of zero may count."""
    match unit.sum:
        case AlignedSum(zero_terms="skip", zero="positive", subgroup=None) | ExactSum(zero="positive"):
            return False
        case _:
            return True


@dataclass(frozen=True)
class RefutedChoice:
    """A counterexample: values of constants for which a design's result is not the model's. lanes: of the products."""

    lanes: Lanes
    model: Mapping[str, int]


class Placing:
    """A placing of products in the lanes of a design. followed: the result that the design has for a beat."""

    def __init__(self, design: DutDesign, followed: BeatResult):
        self.design, self.unit, self.followed = design, design.unit, followed
        self.formats: dict[str, Format] = {name: fmt for name, (_, fmt) in operands_of(design.dut).items()}
        self.specified = Specified(self.unit)
        self.kept: dict[object, list[SpecifiedCase]] = {}
        self.meetings: dict[object, Meeting] = {}
        self.mergings: dict[object, Merging] = {}
        self.free: dict[str, Term] = {}

    # Operands.

    def _held(self, field: str, at: int) -> Term | None:
        """The code of an operand that is always the same, in an element; None for others."""
        held = self.design.held.by_name.get(field)
        if held is None:
            return None
        fmt = self.formats[field]
        return value(held.codes[at % len(held.codes)] >> fmt.padding, fmt.bits)

    def _any(self, name: str, field: str) -> Term:
        """A code of any value, without its padding: the same term for each call with a name."""
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
        scale = one_code(fmt) >> fmt.padding
        held = [self._held(name, block) for block in range(count)]
        if held[0] is not None:
            return [term for term in held if term is not None]
        return [
            self._any(f"{name}.{block}", name) if block in free else value(scale, fmt.bits) for block in range(count)
        ]

    def _terms(self, lanes: Lanes, zeros: bool) -> dict[str, list[Term]]:
        """The terms of each field of the beat, by element, above its padding."""
        terms: dict[str, list[Term]] = {}
        for side in ("a", "b"):
            bits = self.formats[side].bits
            terms[side] = [
                held if (held := self._held(side, lane)) is not None
                else self._any(f"{side}.{lanes.index(lane)}", side) if lane in lanes
                else self._any(f"zero.{side}.{lane}", side) if zeros else value(0, bits)
                for lane in range(self.design.products)
            ]  # fmt: skip
        if "c" in self.formats:
            terms["c"] = [self._addend]
        for name in ("scale_a", "scale_b"):
            if name in self.formats:
                terms[name] = self._scales(name, lanes)
        return terms

    # The model.

    def _key(self, lanes: Lanes) -> object:
        """A key of choices of lanes: where two have the same, the model returns the same."""
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
            codes = {name: [code_of(self.formats[name], term) for term in elements] for name, elements in terms.items()}
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
        """The design's result for a beat of these fields."""
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
        """The condition that a lane's product is zero, for any codes of which that is so."""
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

    def decide(self, lanes: Lanes, zeros: bool, seconds: float) -> Decided:
        """Decide whether the result is the model's for products of any codes in these lanes.

        The other lanes have products of +0 and +0, or any that are zero. It is undecided, too, where the model asks of
        terms together what only single ones are asked.
        """
        begun = time.thread_time()
        try:
            with until(begun + seconds):
                cases = self._cases(lanes)
        except (OutOfTime, Unmet):
            return Decided("undecided", time.thread_time() - begun)
        terms = self._terms(lanes, zeros)
        others = [lane for lane in range(self.design.products) if lane not in lanes] if zeros else []
        known = tuple(self._is_zero(lane) for lane in others)
        show = tuple({term.id(): term for elements in terms.values() for term in elements if term.is_const()}.values())
        show += tuple(self.followed.undefined)

        def right(got: Term, code: object) -> Term:
            return is_right(got, code, self.design.unpromised)

        meeting = Meeting(self.specified, self.result(terms), self._samples(terms), right, known)
        return meeting.decide(cases, seconds - (time.thread_time() - begun), show)

    def alike(self, lanes: Lanes) -> object:
        """A key of choices of lanes: where two have the same, design and model return the same.

        The other lanes hold +0 and +0.
        """
        key, terms = self._key(lanes), self._terms(lanes, zeros=False)
        if (len(lanes), key) not in self.mergings:
            self.mergings[len(lanes), key] = Merging(self._samples(terms))
        merged = self.mergings[len(lanes), key].merged(simplified(self.result(terms)))
        return len(lanes), key, merged.id()

    def zero_is_plain(self, lane: int, seconds: float) -> bool:
        """True if a lane's products of zero are as +0 times +0, whatever all else is; False if that is not seen."""
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
        return [cases[index % len(cases)] for index in range(SAMPLES)]  # few are different where operands are constant

    def _samples(self, terms: Mapping[str, Sequence[Term]]) -> Evaluated:
        """Samples of all constants in the questions: each of drawn cases, and with some of its operands zero."""
        names = sorted({term.symbol() for elements in terms.values() for term in elements if term.is_const()})
        slots = sum(name.startswith("a.") for name in names)
        if slots > MOST_MASKED:
            samples = {name: [self._mixed(name, number) for number in range(MANY)] for name in names}
            return Evaluated(samples | {term.symbol(): [0] * MANY for term in self.followed.undefined})
        masks = range(1 << slots + 1)
        count = max(LEAST_SAMPLES, SAMPLES >> max(0, slots - 1))
        samples = {name: [] for name in names}
        for mask, (number, case) in product(masks, enumerate(self._drawn[:count])):
            for name in names:
                samples[name].append(self._sample(name, case, mask, number))
        total = len(masks) * count
        return Evaluated(samples | {term.symbol(): [0] * total for term in self.followed.undefined})

    def _mixed(self, name: str, number: int) -> int:
        """The code in a place of a beat of many products: as drawn, any code, or now and then zero."""
        case, kind = self._drawn[number % len(self._drawn)], number % MIXED
        if kind == 1 and not name.startswith("zero"):
            return Stream(number, name).word() % (1 << self.formats[name.partition(".")[0]].bits)
        drop = kind == 2 and Stream(number, name).word() % 2
        return self._sample(name, case, -1 if drop else 0, number)

    def _sample(self, name: str, case: Case, mask: int, number: int) -> int:
        """The code in a place of a beat, in one case.

        mask: a bit for each product, and one for the addend; where it is set the code is zero.
        """
        side, _, place = name.partition(".")
        if side == "c":
            return 0 if mask & 1 else case.c >> self.formats["c"].padding
        if side == "zero":
            return int(number % 3 == "ab".index(place[0]))  # code 1 is a number, beside a zero
        codes, index = getattr(case, side), int(place)
        if side in ("a", "b") and mask >> index + 1 & 1:
            return 0
        return int(codes[index % len(codes)] >> self.formats[side].padding)
