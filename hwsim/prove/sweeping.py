"""SAT sweeping: bit vectors inside of two circuits that are equal are found, proved, and put together."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hwsim.base.errors import InputError
from hwsim.cases.drawing import WORD, Stream
from hwsim.prove.claims import Claim
from hwsim.prove.linear import Forms, children_first, equal
from hwsim.prove.symbolic import OutOfTime
from hwsim.prove.terms import (
    Decided,
    Evaluated,
    Kind,
    Term,
    ask,
    both,
    constant,
    constants_of,
    evaluated,
    is_bits,
    is_one,
    nodes_of,
    op,
    parts_of,
    rebuilt,
    same,
    simplified,
    value,
    width,
)

# Seconds of a processor for a question about what two terms do not share; and about all of them, at least.
NEAR, FAR = 0.05, 0.3
BOTH = 3  # of two circuits
MOST_ALIKE = 4  # terms that another is compared with
MOST_UNDECIDED = 12  # questions about all of two terms, before no more are asked

# What extends, cuts and adds: what a sum is made of.
EXTENDING = frozenset([Kind.BV_CONCAT, Kind.BV_ZERO_EXTEND, Kind.BV_SIGN_EXTEND, Kind.BV_EXTRACT])
ADDING = EXTENDING | {Kind.BV_ADD, Kind.BV_SUB, Kind.BV_NOT, Kind.BV_NEG}


class Merging:
    """Terms over some constants, each as the one that stands for all that are equal to it as far as is known.

    samples: of the constants. until: when, by this thread's time, OutOfTime is raised; what was merged stays. sides: of
    terms by their numbers, which of two circuits they are in, as bits; a question that is not about both circuits has a
    short time alone. far: seconds of a processor for a question about all of two terms. Terms are kept: only as long as
    they are, no other has their numbers.
    """

    def __init__(
        self,
        samples: Evaluated,
        until: float = math.inf,
        sides: Mapping[int, int] | None = None,
        far: float = FAR,
    ):
        self.samples, self.until, self.sides, self.far = samples, until, sides or {}, far
        self.stands: dict[int, tuple[Term, Term]] = {}
        self.alike: dict[tuple[int, tuple[int, ...]], list[tuple[Term, int]]] = {}
        self.refuting: list[Evaluated] = []
        self.undecided = 0

    def merged(self, term: Term) -> Term:
        """Return an equal term, made of terms that stand for others."""
        for node in children_first(term):
            if node.id() in self.stands:
                continue
            built = rebuilt(node, [self.stands[child.id()][1] for child in node.children()])
            if built.id() not in self.stands:
                self.stands[built.id()] = built, self._standing(built, self.sides.get(node.id(), BOTH))
            self.stands[node.id()] = node, self.stands[built.id()][1]
        return self.stands[term.id()][1]

    def _standing(self, term: Term, side: int) -> Term:
        """The term that stands for a new one: another, where that is proved to be equal."""
        if not is_bits(term) or term.is_value() or term.is_const():
            return term
        numbers = tuple(self.samples.of(term))
        alike = self.alike.setdefault((width(term), numbers), [])
        fixed = [(value(numbers[0], width(term)), BOTH - side or BOTH)] if len(set(numbers)) == 1 else []
        others = sorted(alike, key=lambda earlier: side | earlier[1] != BOTH)
        for earlier, its in (*fixed, *others[:MOST_ALIKE]):
            if self._equal(term, earlier, side | its == BOTH):
                return earlier
        alike.append((term, side))
        return term

    def _equal(self, term: Term, other: Term, of_both: bool) -> bool:
        if time.thread_time() > self.until:
            raise OutOfTime
        if any(sample.of(term) != sample.of(other) for sample in self.refuting):
            return False
        if is_one_sum(term, other) or ask(same(*_apart(term, other)), (), NEAR).word == "proved":
            return True
        if not of_both or self.undecided >= MOST_UNDECIDED:
            return False
        answer = ask(same(term, other), (), self.far, constants_of([term, other]))
        self.undecided += answer.word == "undecided"
        if answer.model is not None:
            self._sampled(answer.model)
        return answer.word == "proved"

    def _sampled(self, model: Mapping[str, int]) -> None:
        """Add a model that tells two terms apart as a sample.

        It joins earlier ones where there are no more of them: one is as much work to look at as a few.
        """
        known = {name: [model.get(name, 0)] for name in self.samples.known}
        while self.refuting and self.refuting[-1].count <= len(next(iter(known.values()))):
            earlier = self.refuting.pop().known
            known = {name: [*earlier[name], *numbers] for name, numbers in known.items()}
        self.refuting.append(Evaluated(known))


def is_one_sum(first: Term, second: Term) -> bool:
    """True if two bit vectors are seen to be one sum of the same terms."""
    inside = _without((first, second), lambda node: is_bits(node) and node.kind() not in ADDING)
    if not any(node.kind() == Kind.BV_ADD for node in nodes_of(inside)):
        return False
    forms = Forms()
    try:
        return equal(forms.of(inside[0]), forms.of(inside[1]))
    except InputError:
        return False


def _apart(term: Term, other: Term) -> Sequence[Term]:
    """Two terms, with a new constant for each of the outermost bit vectors that they share.

    A term's number is higher than those of what it is made of: from the highest on, it is known of each term, when it
    is looked at, which of the two have it, and what lies below what they share is not looked at.
    """
    by: dict[Term, Term] = {}
    has: dict[int, int] = {}
    waiting: list[tuple[int, Term]] = []
    apart: list[Term] = []

    def reached(node: Term, sides: int) -> None:
        number = -node.id()
        if number not in has:
            heapq.heappush(waiting, (number, node))
        has[number] = has.get(number, 0) | sides

    reached(term, 1)
    reached(other, 2)
    while waiting:
        number, node = heapq.heappop(waiting)
        if node.is_value():
            continue
        if has[number] == BOTH and is_bits(node) and node.kind() not in EXTENDING:
            by[node] = constant(f"cut{len(by)}", width(node))
            continue
        apart.append(node)
        for child in node.children():
            reached(child, has[number])
    return _cut_out((term, other), apart, by)


def _cut_out(terms: Sequence[Term], apart: Iterable[Term], by: Mapping[Term, Term]) -> Sequence[Term]:
    """Terms with others for some. apart: the nodes above these; nothing else is made anew."""
    built = {node.id(): cut for node, cut in by.items()}
    for node in sorted(apart, key=lambda node: int(node.id())):
        built[node.id()] = rebuilt(node, [built.get(child.id(), child) for child in node.children()])
    return [built.get(term.id(), term) for term in terms]


def _without(terms: Sequence[Term], cut: Callable[[Term], bool]) -> Sequence[Term]:
    """Terms with a new constant for each of the outermost bit vectors that are cut out."""
    by: dict[Term, Term] = {}
    above: dict[int, Term] = {}
    seen: set[int] = set()
    stack = list(terms)
    while stack:
        node = stack.pop()
        if node.id() in seen or node.is_value():
            continue
        seen.add(node.id())
        if cut(node):
            by[node] = constant(f"cut{len(by)}", width(node))
        else:
            above[node.id()] = node
            stack += node.children()
    return _cut_out(terms, above.values(), by)


# Seconds that the solver has for a claim as it is, and for one whose parts are put together: either may be by far the
# sooner, so each has a little, then more. At last it has a tenth of all the time as it is, and then the rest in parts.
TURNS, AT_LAST = ((1.0, 3.0), (10.0, 10.0)), 0.1
A_QUESTION = 0.01  # of the seconds in parts, for a question about all of two; a few may stay undecided
SAMPLES, SEED = 256, 1
# One sample of so many repeats a few bits, by turns so many: lanes then hold the same codes, and sums become as large
# as they can be. Where no sample sets a sum's high bits, the solver is asked whether any operands do, which is hard.
REPEATING, PERIODS = 4, (8, 4, 6, 16, 32)


@dataclass(frozen=True)
class Alike(Claim):
    """A claim of two circuits that are alike inside.

    No solver sees from the outputs that two long products, or the sums of long chains, are equal; it does see that
    their parts are, one after another from the inputs on.
    """

    solver = "bitwuzla, part by part where need be"

    def decide(self, seconds: float) -> Decided:
        """The solver's answer."""
        begun = time.thread_time()
        answer = Decided("undecided", 0.0)
        merging = self._merging(seconds)
        for as_it_is, in_parts in (*TURNS, (AT_LAST * seconds, math.inf)):
            left = begun + seconds - time.thread_time()
            answer = super().decide(min(as_it_is, left / 2))
            left = begun + seconds - time.thread_time()
            if answer.word == "undecided" and left > 0:
                merging.until = time.thread_time() + min(in_parts, left)
                answer = self._part_by_part(merging)
            if answer.word != "undecided" or begun + seconds < time.thread_time():
                break
        return Decided(answer.word, time.thread_time() - begun, answer.model)

    def _merging(self, seconds: float) -> Merging:
        """A merging with nothing merged yet; turns go on where the one before ended."""
        stream = Stream(SEED, "alike")
        samples = {
            term.symbol(): [_drawn(stream, width(term), number) for number in range(SAMPLES)]
            for term in constants_of([*self.assumptions, self.claim])
        }
        return Merging(Evaluated(samples), math.inf, _sides(self.claim), max(FAR, A_QUESTION * seconds))

    def _part_by_part(self, merging: Merging) -> Decided:
        try:
            *assumed, claim = [merging.merged(term) for term in (*self.assumptions, self.claim)]
        except OutOfTime:
            return Decided("undecided", 0.0)
        left = merging.until - time.thread_time()
        return ask(claim, assumed, left, self.show) if left > 0 else Decided("undecided", 0.0)


def _sides(claim: Term) -> Mapping[int, int]:
    """The sides of a claim's equations on which terms, by their numbers, stand: 1, 2, or 3 for both.

    What stands in its conditions has no side.
    """
    sides: dict[int, int] = {}
    for part, _ in parts_of(claim):
        for side, term in enumerate(part.children() if part.kind() == Kind.EQUAL else (), 1):
            for node in nodes_of([term]):
                sides[node.id()] = sides.get(node.id(), 0) | side
    return sides


def _drawn(stream: Stream, bits: int, at: int) -> int:
    """A number of so many bits. at: of which sample."""
    number = sum(stream.word() << low for low in range(0, bits, WORD)) % (1 << bits)
    turn, rest = divmod(at, REPEATING)
    period = PERIODS[turn % len(PERIODS)]
    if rest or period >= bits:
        return number
    few = number % (1 << period)
    return sum(few << low for low in range(0, bits, period)) % (1 << bits)


@dataclass(frozen=True)
class SameProducts(Claim):
    """A claim of two circuits that multiply alike.

    Products whose factors are equal, which is asked first, are one number; nothing else is known of a product. What
    does not hold so is asked again with all that is known of products by a constant, as where an element of an array
    is found, and then as it is.
    """

    def decide(self, seconds: float) -> Decided:
        """The solver's answer."""
        begun = time.thread_time()
        for claim, conditions in parts_of(self.claim):
            if not _shown(claim, (*self.assumptions, *conditions), begun + seconds):
                break
        else:
            return Decided("proved", time.thread_time() - begun)
        left = begun + seconds - time.thread_time()
        return super().decide(left) if left > 0 else Decided("undecided", seconds)


def _shown(claim: Term, conditions: Sequence[Term], end: float) -> bool:
    """True if a claim holds of any products, or else of any but those by a constant. end: by this thread's time."""
    if (left := end - time.thread_time()) <= 0:
        return False
    if _holds_of_any_products(claim, conditions, left / 2, constants=True):
        return True
    return any(map(_by_a_constant, nodes_of([*conditions, claim]))) and _holds_of_any_products(
        claim, conditions, end - time.thread_time(), constants=False
    )


def _by_a_constant(term: Term) -> bool:
    return bool(term.kind() == Kind.BV_MUL and any(factor.is_value() for factor in term.children()))


def _holds_of_any_products(claim: Term, conditions: Sequence[Term], seconds: float, *, constants: bool) -> bool:
    """True if a claim is shown to hold, whatever numbers products are. constants: those by a constant too."""
    end = time.thread_time() + seconds
    built: dict[int, Term] = {}
    products: list[tuple[Sequence[Term], Term]] = []
    assumed = list[Term]()

    def same_as(factors: Sequence[Term], other: Sequence[Term]) -> bool:
        alike = [same(*pair) for pair in zip(factors, other, strict=True)]
        return ask(both(*alike), assumed, max(0.001, end - time.thread_time())).word == "proved"

    for term in (*conditions, claim):
        for node in children_first(term):
            if node.id() in built:
                continue
            factors = [built[child.id()] for child in node.children()]
            if node.kind() != Kind.BV_MUL or (not constants and _by_a_constant(node)):
                built[node.id()] = rebuilt(node, factors)
                continue
            bits = width(node)
            product = next(
                (number for other, number in products if width(number) == bits and same_as(factors, other)), None
            )
            if product is None:
                product = constant("product", bits)
                products.append((factors, product))
            built[node.id()] = product
        assumed.append(built[term.id()])
    return ask(assumed.pop(), assumed, max(0.001, end - time.thread_time())).word == "proved"


AT_ONCE = 0.2  # seconds of a processor for a question
MOST_APART = 200  # terms that are different, after which no more are looked at


@dataclass
class Replaced:
    """A replacement of constants by numbers that are to make the same of a term.

    by: the constants, and the numbers. known: conditions on the constants. pairs: the two sides of each term that
    depends on them; equal ones where it is a number. free: what stands for other terms.
    """

    by: Mapping[Term, Term]
    known: Sequence[Term]
    pairs: dict[int, tuple[Term, Term, Term]] = field(default_factory=dict)
    free: dict[int, tuple[Term, Term]] = field(default_factory=dict)
    bits: list[Term] = field(default_factory=list)
    apart: int = 0

    def leaves(self, term: Term, seconds: float) -> bool:
        """True if a term stays the same; False, too, where that is not seen in so many seconds."""
        end = time.thread_time() + seconds
        for node in children_first(term):
            if node in self.by:
                self.pairs[node.id()] = node, node, self.by[node]
            elif any(child.id() in self.pairs for child in node.children()):
                if self.apart >= MOST_APART or time.thread_time() > end:
                    return False
                self._follow(node)
        first, second = self._sides(term)
        return bool(first.id() == second.id())

    def _follow(self, node: Term) -> None:
        """Note the two sides of a term that depends on the constants."""
        sides = [self._sides(child) for child in node.children()]
        first, second = (rebuilt(node, [side[index] for side in sides]) for index in (0, 1))
        plain = simplified(second)
        if first.id() == second.id() or self._same(first, second):
            if plain.is_value():
                self.pairs[node.id()] = node, plain, plain
            return
        self.apart += 1
        if is_bits(node) and plain.is_value():
            first, second = self._by_a_bit(first, plain), plain
            if width(node) == 1 and not int(plain.value(10)):
                self.bits.append(first)
        self.pairs[node.id()] = node, first, second

    def _sides(self, node: Term) -> tuple[Term, Term]:
        """The two sides of a term.

        Where it depends on none of the constants, both are one term of any value, but for sums.
        """
        if node.id() in self.pairs:
            return self.pairs[node.id()][1:]
        if node.is_value() or node.is_true() or node.is_false():
            return node, node
        if node.id() not in self.free:
            if node.kind() in ADDING:
                side = rebuilt(node, [self._sides(child)[1] for child in node.children()])
            else:
                side = constant(f"any{len(self.free)}", width(node) if is_bits(node) else 1)
                side = side if is_bits(node) else is_one(side)
            self.free[node.id()] = node, side
        return self.free[node.id()][1], self.free[node.id()][1]

    def _same(self, first: Term, second: Term) -> bool:
        if is_bits(first) and is_one_sum(first, second):
            return True
        return ask(same(first, second), self.known, AT_ONCE).word == "proved"

    def _by_a_bit(self, first: Term, number: Term) -> Term:
        """A side as bits that all are one bit or its complement, for sums; the side itself where it is not so."""
        model = ask(same(first, number), self.known, AT_ONCE, constants_of([first])).model
        if model is None:
            return first
        by = {term: value(model[term.symbol()], width(term)) for term in constants_of([first])}
        otherwise = evaluated(first, by)
        for bit in self.bits[-1:]:
            chosen = _chosen(bit, otherwise, int(number.value(10)), width(first))
            if ask(same(first, chosen), self.known, AT_ONCE).word == "proved":
                return chosen
        return first


def _chosen(bit: Term, yes: int, no: int, bits: int) -> Term:
    """One of two numbers, chosen by a bit, bit by bit."""

    def places() -> Iterator[Term]:
        for place in reversed(range(bits)):
            match yes >> place & 1, no >> place & 1:
                case 1, 0:
                    yield bit
                case 0, 1:
                    yield op(Kind.BV_NOT, bit)
                case same_one, _:
                    yield value(same_one, 1)

    parts = list(places())
    return op(Kind.BV_CONCAT, *parts) if len(parts) > 1 else parts[0]
