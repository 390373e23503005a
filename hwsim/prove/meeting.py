"""Points at which a design meets the model: bit vectors that are numbers of the model, one by one, up to its result.

Samples say which bit vectors seem to be a number of the model, moved or shifted. Each is shown to be it, with what was
met before as numbers that may be anything; then it stands for the number, and the number for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hwsim.prove.claims import exactly, holds
from hwsim.prove.multiplications import in_one_form
from hwsim.prove.summaries import Met, Specified, SpecifiedCase
from hwsim.prove.sweeping import is_one_sum
from hwsim.prove.symbolic import Integer
from hwsim.prove.terms import (
    Decided,
    Evaluated,
    Kind,
    Term,
    as_bit,
    ask,
    both,
    choose,
    constant,
    constants_of,
    either,
    false,
    implies,
    is_bits,
    is_known,
    negated,
    nodes_of,
    op,
    part,
    possible,
    same,
    signed,
    substituted,
    true,
    value,
    width,
)

AT_ONCE = 0.4  # seconds after which a question is not tried as it is any more
LARGE = 2000  # terms of a result that is never asked about as it is
AGAIN = 0.2  # seconds for a bit vector that another makes, perhaps
A_MEETING = 10.0  # seconds for one bit vector
FEWEST = 12  # samples that a guess is made from
LEAST_SPAN = 4  # of a number that is looked for
WORD = 64  # bits that are compared first
ELSEWHERE = "met.elsewhere"
MOST_GUESSES = 16  # bit vectors that are tried for a form of a number


@dataclass(frozen=True)
class LikelyPlace:
    """A bit vector that seems to be a form of a number, shifted left, plus a constant. form: of `Met.seen`."""

    vector: Term
    form: int
    shift: int
    apart: int

    def number(self, form: Integer) -> Term:
        """The form as a function of the vector: low + ((vector - apart) / 2^shift - low) mod 2^bits."""
        moved = op(Kind.BV_SUB, self.vector, value(self.apart, width(self.vector)))
        moved = part(moved, self.shift, width(moved) - self.shift)
        above = op(Kind.BV_SUB, moved, value(form.low, width(moved)))
        wide = max(width(moved), width(form.term)) + 1
        whole = op(Kind.BV_ZERO_EXTEND, above, indices=[wide - width(moved)])
        return Integer(op(Kind.BV_ADD, whole, value(form.low, wide)), form.low, form.high).at(width(form.term))

    def of(self, form: Term | Integer) -> Term:
        """The vector as a function of the form."""
        bits = width(self.vector)
        term = form.at(bits) if isinstance(form, Integer) else form
        term = op(Kind.BV_SHL, term, value(self.shift, bits)) if self.shift else term
        return op(Kind.BV_ADD, term, value(self.apart, bits)) if self.apart else term


@dataclass
class World:
    """The numbers met under a condition.

    assumed: the condition. by_model, by_design: what stands for the model's numbers and for the design's bit vectors.
    facts: known conditions, and the constants that they speak of. tried: ids of the model's numbers that were tried.
    found: the model's numbers as terms of the design. factors: bit vectors that are significands of factors, which stay
    what they are, and where they are that.
    """

    assumed: Term
    by_model: dict[Term, Term] = field(default_factory=dict)
    by_design: dict[Term, Term] = field(default_factory=dict)
    facts: list[tuple[Term, frozenset[int]]] = field(default_factory=list)
    tried: set[int] = field(default_factory=set)
    found: dict[Term, Term] = field(default_factory=dict)
    factors: dict[Term, tuple[Term, Term]] = field(default_factory=dict)

    def where(self, assumed: Term) -> World:
        """A copy of this world, under another condition."""
        copies = {**self.by_model}, {**self.by_design}, [*self.facts], {*self.tried}, {**self.found}, {**self.factors}
        return World(assumed, *copies)

    def learn(self, fact: Term) -> None:
        """Add a known condition. Scales, which are of all products, do not keep it from a question about a few."""
        fact = substituted(fact, self.by_model)
        about = (term for term in constants_of([fact]) if not term.symbol().startswith("scale_"))
        self.facts.append((fact, frozenset(term.id() for term in about)))

    def known(self, *about: Term) -> list[Term]:
        """The known conditions that speak of nothing but what some terms speak of."""
        here = {term.id() for term in constants_of(about)}
        return [fact for fact, of in self.facts if of <= here]


class Meeting:
    """A comparison of a design's result with the model's in every case.

    samples: of all that both depend on. always: conditions on it. right: that a design's result is a code.
    """

    def __init__(
        self, specified: Specified, result: Term, samples: Evaluated, right: Callable[[Term, object], Term],
        always: Sequence[Term] = (),
    ):  # fmt: skip
        self.specified, self.result, self.samples, self.right, self.always = specified, result, samples, right, always

    def decide(self, cases: Sequence[SpecifiedCase], seconds: float, show: Sequence[Term]) -> Decided:
        """Decide whether the result is the model's in all cases."""
        begun = time.thread_time()
        self.end = begun + seconds
        left, at_once = [], len(nodes_of([self.result])) < LARGE
        for case in sorted(cases, key=lambda case: -len(case.met)):
            if not at_once:
                left.append(case)
                continue
            claim = self.right(self.result, case.code)
            answer = ask(claim, (*self.always, *case.conditions), min(AT_ONCE, self._left), show)
            if answer.word == "refuted":
                return Decided("refuted", time.thread_time() - begun, answer.model)
            if answer.word != "proved":
                left.append(case)
        for case in left:
            if not self._met(case):
                answer = self._as_it_is(case, show) if at_once else Decided("undecided", 0.0)
                if answer.word != "proved":
                    return Decided(answer.word, time.thread_time() - begun, answer.model)
        return Decided("proved", time.thread_time() - begun)

    @property
    def _left(self) -> float:
        return max(0.01, self.end - time.thread_time())

    def _as_it_is(self, case: SpecifiedCase, show: Sequence[Term]) -> Decided:
        known = (*self.always, *case.conditions)
        if self.end < time.thread_time():
            return Decided("undecided", 0.0)
        return ask(self.right(self.result, case.code), known, self._left, show)

    # Worlds: without anything special, with a product other than zero and without one.

    def _met(self, case: SpecifiedCase) -> bool:
        """True if the result is shown to be the model's, with what stands for the numbers on the way."""
        nowhere = self.specified.nowhere(case.conditions)
        finite = [met.finite for met in case.met if met.finite is not None]
        if any(term.children()[0].id() not in nowhere for term in finite if not _is_nothing(term)):
            return self._special(case)
        if self._worlds is None:
            self._worlds = list(self._first_worlds(case))
        for world in self._worlds:
            exponents = [met for met in case.met if met.of_product and met.name.endswith(".exp")]
            for met in case.met:
                self._meet(world, met, case.conditions, exponents)
            if not self._right(world, case):
                return False
        return True

    _worlds: list[World] | None = None

    def _first_worlds(self, case: SpecifiedCase) -> Iterator[World]:
        world = World(true())
        for met in case.met:
            if met.finite is not None:
                world.learn(met.finite)
        products = [met for met in case.met if met.of_product]
        for met in products:
            self._meet(world, met, ())
        counts = either(false(), *(met.condition for met in products if met.name.endswith(".exp")))
        if not any(met.finite is not None and not met.of_product for met in case.met):
            yield world
            return
        yield world.where(counts)
        yield world.where(negated(counts))

    def _special(self, case: SpecifiedCase) -> bool:
        """True if a special case's result is shown whatever numbers the design has, or the case is impossible."""
        made = (vector for world in self._worlds or () for vector in world.by_design if is_bits(vector))
        vectors = [vector for vector in made if not all(child.is_const() for child in vector.children())]
        known = (*self.always, *case.conditions)
        for cut in (vectors, [vector for vector in vectors if width(vector) > 1]):  # the sign of an infinity is a bit
            anything = {vector: constant("anything", width(vector)) for vector in cut}
            claim = self.right(substituted(self.result, anything), case.code)
            if ask(claim, known, min(A_MEETING, self._left)).word == "proved":
                return True
        return not possible(known, min(A_MEETING, self._left))

    def _right(self, world: World, case: SpecifiedCase) -> bool:
        code = case.code
        if isinstance(code, Integer):
            code = Integer(substituted(code.term, world.by_model), code.low, code.high)
        claim = self.right(substituted(self.result, world.by_design), code)
        conditions = (*self.always, *case.conditions, world.assumed)
        assumed = [substituted(condition, world.by_model) for condition in conditions]
        if ask(claim, (*assumed, *world.known(claim, *assumed)), min(A_MEETING, self._left / 2)).word == "proved":
            return True
        # With the design's own bit vectors in the place of the model's numbers, and nothing cut.
        code = case.code
        if isinstance(code, Integer):
            code = Integer(substituted(code.term, world.found), code.low, code.high)
        whole = [substituted(condition, world.found) for condition in conditions]
        return ask(self.right(self.result, code), whole, self._left).word == "proved"

    # One number.

    def _meet(self, world: World, met: Met, given: Sequence[Term], products: Sequence[Met] = ()) -> None:
        """Put constants in the place of a number, and of the design's bit vectors that are it.

        products: of the largest exponent, those of products.
        """
        if met.number.term.id() in world.tried or self.end < time.thread_time():
            return
        world.tried.add(met.number.term.id())
        if met.name == "factor.sig":
            world.factors |= dict(self._factors(world, met, given))
            return
        where = true() if met.finite is not None and met.name.endswith(".sig") else met.condition
        cut = met.number
        stood = Integer(constant(f"met.{met.name}", width(cut.term)), cut.low, cut.high)
        forms = [stood if form is met.number else _with(form, {met.number.term: stood.term}) for form in met.seen]
        places = self._shown(world, met, where, self._guesses(world, met, given), forms)
        if not places and met.name != "total":
            return
        if met.cut is not None and all(guess.form for guess in places) and self._follows(world, met):
            cut, stood = met.cut, Integer(constant(f"met.{met.name}", width(met.cut.term)), met.cut.low, met.cut.high)
            forms = [*met.of_cut(stood)]
        here = substituted(where, world.by_model)
        if ask(implies(world.assumed, where), (), 1.0).word == "proved":
            where = true()  # the largest exponent, beside a product other than zero
        parts = self._shown(world, met, where, self._guesses(world, met, given, low_parts=True), forms, places)
        stands: dict[Term, Term] = {}
        if not places:
            stands = self._high_parts(world, met, given, parts, stood)
            if not stands:
                return
        for guess in (*places, *parts):
            stands[guess.vector] = guess.of(_with(forms[guess.form], world.by_model))
            if not where.is_true():
                elsewhere = self._elsewhere(met, where, guess.vector)
                stands[guess.vector] = choose(here, stands[guess.vector], elsewhere)
        known_by = [(vector, substituted(vector, world.by_design), of) for vector, of in stands.items()]
        known_by.sort(key=lambda known: any(map(_is_elsewhere, constants_of([known[2]]))))  # those that say most first
        if cut is not met.number:
            known_by.append((cut.term, substituted(cut.term, world.by_model), stood.term))
        for bit, of in self._bits_of(world, known_by, self._kept(world, met, given)):
            elsewhere = self._elsewhere(met, where, bit) if any(map(_is_elsewhere, constants_of([of]))) else of
            stands[bit] = choose(here, of, elsewhere) if elsewhere.is_value() else of
        if not where.is_true() and met.finite is not None:
            stands |= dict(self._conditions_of(world, met.finite, where, here))
        shown = [fact for fact in met.likely if self._holds(world, fact)]
        world.by_design |= stands
        if places and places[0].form == 0:
            standing = places[0].number(met.number)
            world.found[met.number.term] = standing if where.is_true() else choose(where, standing, met.number.term)
        world.by_model[met.number.term] = forms[0].at(width(met.number.term))
        world.learn(exactly(Integer.signed(stood.term), cut.low, cut.high))
        for fact in (*met.facts, *shown):
            world.learn(fact)
        if met.facts_alone and products:
            self._learn_least(world, stood, min(other.number.low for other in products))

    def _factors(self, world: World, met: Met, given: Sequence[Term]) -> Iterator[tuple[Term, tuple[Term, Term]]]:
        """Yield bit vectors that are shown to be a factor's significand, with it and where they are it.

        What is multiplied is then the same in model and design: no solver sees that two long products are equal that
        are not one.
        """
        form, bits = met.number, met.number.bits
        for guess in self._guesses(world, met, given):
            stands = guess.of(form)
            if bits is not None and not guess.shift and not guess.apart:
                stands = op(Kind.BV_ZERO_EXTEND, bits, indices=[width(guess.vector) - width(bits)])
            claim = implies(met.condition, same(guess.vector, stands))
            if ask(claim, self.always, min(A_MEETING, self._left)).word == "proved":
                yield guess.vector, (stands, met.condition)

    def _follows(self, world: World, met: Met) -> bool:
        """True if a number, and every form in which a design may have it, is shown to follow from its cut."""
        assert met.cut is not None
        bits = 1 + max(width(form.term) for form in met.seen)
        pairs = zip(met.seen, met.of_cut(met.cut), strict=True)
        return self._holds(world, both(*(same(form.at(bits), of_cut.at(bits)) for form, of_cut in pairs)))

    def _holds(self, world: World, condition: Term) -> bool:
        """True if a condition is shown of the model's numbers."""
        claim = substituted(condition, world.by_model)
        return ask(claim, world.known(claim), min(A_MEETING, self._left)).word == "proved"

    def _high_parts(
        self, world: World, met: Met, given: Sequence[Term], low_parts: Sequence[LikelyPlace], stood: Integer
    ) -> dict[Term, Term]:
        """What stands for bit vectors above one of low bits, which together are all bits of a sum; empty for none.

        Yosys works out the high bits by themselves where the design adds something to them alone.
        """
        kept = self._kept(world, met, given)
        bits = width(met.number.term)
        every = self.samples.of(met.number.term)
        for guess in low_parts:
            low = width(guess.vector)
            if guess.form or guess.shift or guess.apart:
                continue
            lower, found = substituted(guess.vector, world.by_design), dict[Term, Term]()
            for vector in (*self._vectors, *(bit for bit in self._of_truths if is_bits(bit))):
                if width(vector) > bits - low or vector in world.by_design:
                    continue
                mask, seen = (1 << width(vector)) - 1, self.samples.of(vector)
                if any(seen[place] != every[place] >> low & mask for place in kept):
                    continue
                upper = substituted(vector, world.by_design)
                wholes = (op(Kind.BV_CONCAT, upper, each) for each in (lower, *_lower_bits(upper, low)))
                if any(self._is_sum(world, met, LikelyPlace(whole, 0, 0, 0)) for whole in wholes):
                    found[vector] = part(stood.term, low, width(vector))
            if any(width(vector) == bits - low for vector in found):
                return found
        return {}

    def _learn_least(self, world: World, number: Integer, least: int) -> None:
        """Note that a number is at least the least exponent of a product, where that is shown."""
        claim = holds(number >= least)
        assumed = substituted(world.assumed, world.by_model)
        if ask(claim, (assumed, *world.known(claim, assumed, *world.by_model.values())), 1.0).word == "proved":
            world.learn(claim)

    def _shown(
        self, world: World, met: Met, where: Term, guesses: Iterable[LikelyPlace], forms: Sequence[Integer],
        before: Sequence[LikelyPlace] = (),
    ) -> list[LikelyPlace]:  # fmt: skip
        """The guesses that are shown, by themselves or as functions of one that was shown. before: shown already."""
        stands = {guess.vector: guess.of(forms[guess.form]) for guess in before}
        shown = []
        for guess in guesses:
            number = guess.of(forms[guess.form])
            again = bool(stands) and same(substituted(guess.vector, stands), number)
            if (again and ask(again, (), AGAIN).word == "proved") or self._is_number(world, met, where, guess, forms):
                shown.append(guess)
                stands[guess.vector] = number
        return shown

    def _is_number(self, world: World, met: Met, where: Term, guess: LikelyPlace, forms: Sequence[Integer]) -> bool:
        """True if a bit vector is shown to be a number, where that is claimed of it."""
        if guess.vector in world.by_design or self.end < time.thread_time():
            return False
        for by_model, by_design in ((world.by_model, world.by_design), ({}, {})):
            vector, known, conditions = substituted(guess.vector, by_design), list[Term](), [where]
            needed = list[Term]()
            if met.name == "product.sig":
                inside = {node.id() for node in nodes_of([vector])}
                used = {node: new for node, new in world.factors.items() if node.id() in inside}
                needed = [condition for _, condition in used.values()]
                vector = substituted(vector, {node: new for node, (new, _) in used.items()})
            form = _with(met.seen[guess.form], by_model)
            if met.facts_alone:  # what is the largest of all is known by that alone
                form, new = forms[guess.form], {met.number.term: forms[0].term}
                known = [substituted(substituted(fact, new), by_model) for fact in met.facts]
                known.append(exactly(Integer.signed(forms[0].term), met.number.low, met.number.high))
                conditions.append(world.assumed)
            claim = same(vector, guess.of(form))
            if needed:
                claim = both(in_one_form(claim), *needed)
            if claim.is_true() or self._is_sum(world, met, guess):
                return True
            if met.as_sum is not None and width(guess.vector) < width(met.number.term) - 1:
                return False
            claim = implies(substituted(both(*conditions), by_model), claim)
            if by_model:
                known += world.known(claim, *known)
            else:
                known += [*self.always, *([] if met.finite is None else [met.finite])]
            if ask(claim, known, min(A_MEETING, self._left)).word == "proved":
                return True
            if not by_model or not met.of_product:
                return False
        return False

    @staticmethod
    def _is_sum(world: World, met: Met, guess: LikelyPlace) -> bool:
        """True if a bit vector is seen to be a sum, moved: to be the same sum of the same terms."""
        if met.as_sum is None or guess.form:
            return False
        vector = substituted(guess.vector, world.by_design)
        sums = (Integer(term, met.number.low, met.number.high) for term in (met.number.term, met.as_sum))
        return any(is_one_sum(vector, guess.of(_with(each, world.by_model))) for each in sums)

    def _elsewhere(self, met: Met, where: Term, vector: Term) -> Term:
        """The value of a bit vector where it is not the number: any, unless it is a single one there."""
        finite = true() if met.finite is None else met.finite
        there = both(finite, negated(where))
        numbers = {code for code, holds in zip(self.samples.of(vector), self.samples.of(there), strict=True) if holds}
        if len(numbers) == 1:
            number = value(numbers.pop(), width(vector))
            if ask(implies(there, same(vector, number)), self.always, min(1.0, self._left)).word == "proved":
                return number
        return constant(ELSEWHERE, width(vector))

    def _bits_of(
        self, world: World, known_by: Sequence[tuple[Term, Term, Term]], kept: NDArray[np.int64]
    ) -> Iterator[tuple[Term, Term]]:
        """Yield bits of bit vectors, which Yosys works out by themselves, and what stands for them.

        known_by: bit vectors, as they are, with what stands for numbers in them, and what stands for them. kept: the
        samples in which they must be alike.
        """
        done = set[int]()
        for vector, within, stands_for in known_by:
            for place in range(width(vector)):
                wanted = np.array(self.samples.of(part(vector, place, 1)), dtype=bool)[kept]
                alike = ~(self._truths[:, kept] ^ wanted).any(axis=1) & (wanted.any() & ~wanted.all())
                for index in np.flatnonzero(alike):
                    bit = self._of_truths[index]
                    if not is_bits(bit) or bit in world.by_design or bit.id() in done:
                        continue
                    claim = same(substituted(bit, world.by_design), part(within, place, 1))
                    if ask(claim, world.known(claim), min(1.0, self._left)).word == "proved":
                        done.add(bit.id())
                        yield bit, part(stands_for, place, 1)

    def _conditions_of(self, world: World, finite: Term, where: Term, here: Term) -> Iterator[tuple[Term, Term]]:
        """Yield conditions and bits that say whether a term is zero, or other than zero; and what stands for each."""
        kept, wanted = (np.array(self.samples.of(term), dtype=bool) for term in (finite, where))
        unlike = (self._truths ^ wanted)[:, kept]
        for complement, alike in ((False, ~unlike.any(axis=1)), (True, unlike.all(axis=1))):
            claimed, stands = (negated(where), negated(here)) if complement else (where, here)
            for index in np.flatnonzero(alike):
                node = self._of_truths[index]
                if node in world.by_design:
                    continue
                mine = as_bit(claimed) if is_bits(node) else claimed
                if ask(implies(finite, same(node, mine)), self.always, min(1.0, self._left)).word == "proved":
                    yield node, as_bit(stands) if is_bits(node) else stands

    @cached_property
    def _of_truths(self) -> list[Term]:
        """Conditions and bits that the result is made of."""
        return [
            term for term in nodes_of([self.result])
            if (not is_bits(term) or width(term) == 1) and not is_known(term) and not term.is_const()
        ]  # fmt: skip

    @cached_property
    def _truths(self) -> NDArray[np.bool_]:
        """The values of these conditions and bits: [conditions, samples]."""
        return np.array([self.samples.of(term) for term in self._of_truths], dtype=bool)

    # Guesses.

    @cached_property
    def _vectors(self) -> list[Term]:
        return [term for term in nodes_of([self.result]) if is_bits(term) and not term.is_value() and width(term) > 1]

    @cached_property
    def _numbers(self) -> NDArray[np.uint64]:
        """The low bits of every bit vector: [vectors, samples]."""
        most = (1 << WORD) - 1
        return np.array([[word & most for word in self.samples.of(term)] for term in self._vectors], dtype=np.uint64)

    @cached_property
    def _widths(self) -> NDArray[np.int64]:
        return np.array([width(term) for term in self._vectors])

    def _guesses(self, world: World, met: Met, given: Sequence[Term], low_parts: bool = False) -> Iterator[LikelyPlace]:
        """Yield bit vectors that seem to be a number; those that are not parts of others first, and narrow ones.

        low_parts: bit vectors that seem to be its low bits alone, instead, which Yosys works out by themselves.
        """
        places = self._kept(world, met, given)
        if len(places) < FEWEST:
            return
        for form, number in enumerate(met.seen):
            if number.high - number.low < LEAST_SPAN:
                continue
            every, bits = self.samples.of(number.term), width(number.term)
            wanted = [signed(every[place], bits) for place in places.tolist()]
            if len(set(wanted)) >= LEAST_SPAN:
                found = self._like(form, number, wanted, places, low_parts)
                yield from sorted(found, key=self._rank)[:MOST_GUESSES]

    def _kept(self, world: World, met: Met, given: Sequence[Term]) -> NDArray[np.int64]:
        """The samples in which a design has a number."""
        kept = np.ones(self.samples.count, dtype=bool)
        for term in (met.condition, world.assumed, *given):
            kept &= np.array(self.samples.of(term), dtype=bool)
        return np.flatnonzero(kept)

    @staticmethod
    def _rank(guess: LikelyPlace) -> tuple[bool, int, int]:
        parts = (Kind.BV_EXTRACT, Kind.BV_CONCAT, Kind.BV_ZERO_EXTEND, Kind.BV_SIGN_EXTEND)
        return guess.vector.kind() in parts, width(guess.vector), guess.shift

    def _like(
        self, form: int, number: Integer, wanted: Sequence[int], places: NDArray[np.int64], low_parts: bool
    ) -> Iterator[LikelyPlace]:
        """Yield vectors whose differences from sample to sample are a number's, times a power of two."""
        most, first = (1 << WORD) - 1, wanted[0]
        numbers = self._numbers[:, places]
        apart = numbers - numbers[:, :1]
        masks = np.array([(1 << min(bits, WORD)) - 1 for bits in self._widths.tolist()], dtype=np.uint64)
        changed = next(index for index, sample in enumerate(wanted) if sample != first)
        span = (number.high - number.low).bit_length()
        for shift in range(1 if low_parts else max(1, min(WORD, int(self._widths.max()) - span + 1))):
            steps = np.array([(sample - first << shift) & most for sample in wanted], dtype=np.uint64)
            wide = self._widths >= span + shift
            fits = (wide != low_parts) & ((apart[:, changed] ^ steps[changed]) & masks == 0)
            for index in np.flatnonzero(fits):
                if ((apart[index] ^ steps) & masks[index]).any():
                    continue
                vector = self._vectors[index]
                whole, size = self.samples.of(vector), 1 << width(vector)
                moved = (whole[int(places[0])] - (first << shift)) % size
                if all((whole[int(place)] - (sample << shift) - moved) % size == 0
                       for place, sample in zip(places, wanted, strict=True)):  # fmt: skip
                    yield LikelyPlace(vector, form, shift, moved)


def _with(form: Integer, by: Mapping[Term, Term]) -> Integer:
    return Integer(substituted(form.term, by), form.low, form.high)


def _is_elsewhere(term: Term) -> bool:
    return bool(term.symbol() == ELSEWHERE)


def _is_nothing(finite: Term) -> bool:
    """True if a term never is special."""
    return bool(finite.children()[0].is_false())


def _lower_bits(upper: Term, low: int) -> Iterator[Term]:
    """Yield the bits below those, from one on, of which a bit vector is made: bits below its own, perhaps."""
    for node in nodes_of([upper]):
        if node.kind() == Kind.BV_EXTRACT and node.indices()[1] == low:
            yield part(node.children()[0], 0, low)
