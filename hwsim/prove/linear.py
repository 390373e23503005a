"""Sums as linear forms, and trees of comparisons: what a solver of bits does not decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from hwsim.base.errors import InputError
from hwsim.prove.terms import Kind, Term, constant, op, same, substituted, width


@dataclass(frozen=True)
class Variable:
    """A variable: an input's bits from `low` up, `bits` of them; or the same of a form that is not one input's."""

    of: object
    low: int
    bits: int


@dataclass(frozen=True)
class Bounded:
    """A sum of variables, each times its factor, that is known to be from low to high."""

    factors: Mapping[Variable, int]
    low: int
    high: int


@dataclass(frozen=True)
class Form:
    """A linear form, constant + the sum of factor * variable: the bits are that integer modulo 2^bits.

    cut: a variable that is the unsigned integer of these bits, where they are the low end of another form.
    """

    bits: int
    constant: int
    factors: Mapping[Variable, int] = field(default_factory=dict)
    cut: Variable | None = None

    def key(self) -> tuple[object, ...]:
        """The form modulo 2^bits: two forms with the same key have equal bits."""
        most = 1 << self.bits
        kept = frozenset((variable, factor % most) for variable, factor in self.factors.items() if factor % most)
        return self.bits, self.constant % most, kept

    def bounds(self, known: Sequence[Bounded] = ()) -> tuple[int, int]:
        """The least and the largest integer that it can be. known: bounds of sums of variables."""
        low = high = self.constant
        left = dict(self.factors)
        for bounded in known:
            first = next(iter(bounded.factors))
            times = left.get(first, 0) // bounded.factors[first]
            if times and all(left.get(variable, 0) == times * factor for variable, factor in bounded.factors.items()):
                ends = times * bounded.low, times * bounded.high
                low, high = low + min(ends), high + max(ends)
                left = {variable: factor for variable, factor in left.items() if variable not in bounded.factors}
        for variable, factor in left.items():
            end = factor * ((1 << variable.bits) - 1)
            low, high = low + min(0, end), high + max(0, end)
        return low, high

    def within(self, low: int, high: int, known: Sequence[Bounded] = ()) -> Form | None:
        """The form as an integer from low to high, which are 2^bits numbers; None where it is not known to be there.

        The integer is the one that the bits are.
        """
        half = 1 << self.bits >> 1
        flipped = {variable: half if factor == -half else factor for variable, factor in self.factors.items()}
        for factors in (self.factors, flipped):  # modulo 2^bits they are the same
            same = Form(self.bits, self.constant, factors)
            least, most = same.bounds(known)
            moved = self.constant - ((least - low) >> self.bits << self.bits)
            if most - self.constant + moved <= high:
                return replace(same, constant=moved)
        return None


def form(bits: int, constant: int, factors: Mapping[Variable, int], cut: Variable | None = None) -> Form:
    """A form with the least factors, modulo 2^bits."""
    half = 1 << bits >> 1
    least = {variable: (factor + half) % (1 << bits) - half for variable, factor in factors.items()}
    return Form(bits, constant, {variable: factor for variable, factor in least.items() if factor}, cut)


def equal(first: Form, second: Form) -> bool:
    """True if the bits of two forms are equal, whatever parts of bit vectors their variables are."""
    if first.key() == second.key():
        return True
    variables = [*first.factors, *second.factors]
    return _refined(first, variables).key() == _refined(second, variables).key()


def _refined(given: Form, variables: Sequence[Variable]) -> Form:
    """A form whose variables end wherever one of these does, and begin where one of them begins."""
    factors: dict[Variable, int] = {}
    for variable, factor in given.factors.items():
        ends = {end for rival in variables if rival.of == variable.of for end in (rival.low, rival.low + rival.bits)}
        inside = sorted(end for end in ends if variable.low < end < variable.low + variable.bits)
        for low, high in pairwise([variable.low, *inside, variable.low + variable.bits]):
            piece = Variable(variable.of, low, high - low)
            factors[piece] = factors.get(piece, 0) + (factor << low - variable.low)
    return Form(given.bits, given.constant, factors)


def _together(bits: int, first: Form, second: Form, by: int) -> Form:
    """first + by * second."""
    factors = dict(first.factors)
    for variable, factor in second.factors.items():
        factors[variable] = factors.get(variable, 0) + by * factor
    return form(bits, first.constant + by * second.constant, factors)


def _sign_extended(term: Term) -> Term | None:
    """The term that a concatenation extends by its own top bit, once or more often; None of any other term."""
    *_, bit = _beginnings(term)
    rest = term
    while rest.kind() == Kind.BV_CONCAT and len(rest.children()) == 2 and _repeats(rest.children()[0], bit):
        rest = rest.children()[1]
    if bit.kind() != Kind.BV_EXTRACT:
        return None
    whole = bit.children()[0]
    top = width(whole) - 1
    return rest if list(bit.indices()) == [top, top] and whole in _beginnings(rest) else None


def _beginnings(term: Term) -> Iterator[Term]:
    """Yield a term, its first part if it is a concatenation, and so on: all have one top bit."""
    yield term
    while term.kind() == Kind.BV_CONCAT:
        term = term.children()[0]
        yield term


def _repeats(term: Term, bit: Term) -> bool:
    """True if a term is a bit, once or more often."""
    return term == bit or (term.kind() == Kind.BV_CONCAT and all(_repeats(part, bit) for part in term.children()))


class FullAdders(NamedTuple):
    """A row of full adders, which adds three words bit by bit. carries: whether a term is its carries, not its sums."""

    carries: bool
    words: tuple[Term, Term, Term]


def full_adders(term: Term) -> FullAdders | None:
    """The row of full adders that a term is the output of, `a ^ b ^ c` or `a ^ b ? c : a`; None of any other term."""
    kinds, children = [child.kind() for child in term.children()], term.children()
    if term.kind() == Kind.BV_XOR and Kind.BV_XOR in kinds:
        place = kinds.index(Kind.BV_XOR)
        return FullAdders(False, (*children[place].children(), children[1 - place]))
    if term.kind() != Kind.BV_OR or kinds != [Kind.BV_AND, Kind.BV_AND]:
        return None
    for yes, no in (children, reversed(children)):
        for half, third in (yes.children(), reversed(yes.children())):
            for complement, first in (no.children(), reversed(no.children())):
                inverted = complement.kind() == Kind.BV_NOT and complement.children()[0] == half
                if inverted and half.kind() == Kind.BV_XOR and first in half.children():
                    return FullAdders(True, (*half.children(), third))
    return None


class Forms:
    """Terms as linear forms, each read once.

    inputs: forms of constants by their names, where they are not variables of their own. known: bounds of sums.
    """

    def __init__(self, inputs: Mapping[str, Form] | None = None, known: Sequence[Bounded] = ()) -> None:
        self.inputs, self.known = inputs or {}, list(known)
        self.read: dict[int, tuple[Term, Form]] = {}
        self.whole: dict[tuple[object, ...], Form] = {}

    def of(self, term: Term) -> Form:
        """A term's form. Raises InputError for what is not linear."""
        stack = [term]
        while stack:
            here = stack[-1]
            row = full_adders(here)
            made_of = here.children() if row is None else row.words
            missing = [child for child in made_of if child.id() not in self.read]
            if here.id() in self.read or not missing:
                stack.pop()
                if here.id() not in self.read:
                    self.read[here.id()] = here, self._form(here) if row is None else self._of_row(row)
            else:
                stack += missing
        return self.read[term.id()][1]

    def _of_row(self, row: FullAdders) -> Form:
        """Three words are their sums and twice their carries, bit by bit: the carries are a variable of their own."""
        words = [self._unsigned(self.read[word.id()][1]) for word in row.words]
        bits = words[0].bits
        carries = Variable(("carries", frozenset(Counter(word.key() for word in words).items())), 0, bits)
        if row.carries:
            return Form(bits, 0, {carries: 1})
        whole = _together(bits + 2, replace(words[0], bits=bits + 2), replace(words[1], bits=bits + 2), 1)
        whole = _together(bits + 2, whole, replace(words[2], bits=bits + 2), 1)
        sums = _together(bits + 2, whole, Form(bits + 2, 0, {carries: 1}), -2)
        if sums.constant:
            raise InputError("a row of full adders adds words without a constant")
        self.known.append(Bounded(sums.factors, 0, (1 << bits) - 1))
        return Form(bits, 0, sums.factors)

    def _form(self, term: Term) -> Form:
        bits, kind = width(term), term.kind()
        children = [self.read[child.id()][1] for child in term.children()]
        if term.is_value():
            return Form(bits, int(term.value(10)))
        if term.is_const() and term.symbol() in self.inputs:
            return self.inputs[term.symbol()]
        if term.is_const():
            return Form(bits, 0, {Variable(term.symbol(), 0, bits): 1})
        match kind:
            case Kind.BV_ADD:
                return _together(bits, children[0], children[1], 1)
            case Kind.BV_SUB:
                return _together(bits, children[0], children[1], -1)
            case Kind.BV_NOT:
                return self._inverted(children[0])
            case Kind.BV_NEG:
                return _together(bits, Form(bits, 0), children[0], -1)
            case Kind.BV_ZERO_EXTEND:
                return replace(self._unsigned(children[0]), bits=bits, cut=None)
            case Kind.BV_SIGN_EXTEND:
                return replace(self._signed(children[0]), bits=bits, cut=None)
            case Kind.BV_EXTRACT:
                high, low = term.indices()
                return self._slice(children[0], high, low)
            case Kind.BV_CONCAT:
                extended = _sign_extended(term)
                if extended is not None:
                    return replace(self._signed(self.read[extended.id()][1]), bits=bits, cut=None)
                return self._joined(children)
            case _:
                raise InputError(f"a sum is made of additions, not of {kind}")

    def _inverted(self, given: Form) -> Form:
        """2^bits - 1 less the integer that the bits are, where that is known; else modulo 2^bits."""
        most = (1 << given.bits) - 1
        known = given.within(0, most, self.known)
        if known is None:
            return _together(given.bits, Form(given.bits, -1), given, -1)
        return Form(
            given.bits, most - known.constant, {variable: -factor for variable, factor in known.factors.items()}
        )

    def _unsigned(self, given: Form) -> Form:
        """The unsigned integer of the bits."""
        known = given.within(0, (1 << given.bits) - 1, self.known)
        if known is not None:
            return known
        variable = self._part(given, 0, given.bits) if given.cut is None else given.cut
        return Form(given.bits, 0, {variable: 1})

    def _signed(self, given: Form) -> Form:
        """The two's complement of the bits."""
        half = 1 << given.bits - 1
        known = given.within(-half, half - 1, self.known)
        if known is not None:
            return known
        if not given.constant and len(given.factors) == 1:
            ((variable, factor),) = given.factors.items()
            if variable.bits > 1 and factor << variable.bits == 1 << given.bits:  # above zeros, with the same top bit
                low = Variable(variable.of, variable.low, variable.bits - 1)
                top = Variable(variable.of, variable.low + variable.bits - 1, 1)
                return Form(given.bits, 0, {low: factor, top: -half})
        low, top = self._part(given, 0, given.bits - 1), self._part(given, given.bits - 1, 1)
        return Form(given.bits, 0, {low: 1, top: -half} if given.bits > 1 else {top: -1})

    def _part(self, given: Form, low: int, bits: int) -> Variable:
        """Bits of a form as a variable; those of one input's part, or of an equal form, are the same variable."""
        if not given.constant and len(given.factors) == 1:
            ((variable, factor),) = given.factors.items()
            if factor == 1 and low + bits <= variable.bits:
                return Variable(variable.of, variable.low + low, bits)
        self.whole.setdefault(given.key(), given)
        return Variable(given.key(), low, bits)

    def _slice(self, given: Form, high: int, low: int) -> Form:
        bits = high - low + 1
        if low == 0 and bits == given.bits:
            return given
        part = self._part(given, low, bits)
        # Modulo fewer bits the low end is the same form.
        return Form(bits, 0, {part: 1}) if low else form(bits, given.constant, given.factors, part)

    def _joined(self, children: list[Form]) -> Form:
        """The form of a concatenation, high part first: high * 2^(bits of low) + low; parts of one form become one."""
        whole = children[0]
        for low in children[1:]:
            whole = self._pair(whole, self._unsigned(low))
        return whole

    def _pair(self, high: Form, low: Form) -> Form:
        bits = high.bits + low.bits
        whole = _together(bits, low, high, 1 << low.bits)
        factors, constant = dict(whole.factors), whole.constant
        for variable in whole.factors:
            factor = factors.get(variable, 0)
            for upper in whole.factors:
                follows = upper.of == variable.of and upper.low == variable.low + variable.bits
                if not follows or not factor or (factors[upper] - (factor << variable.bits)) % (1 << bits):
                    continue
                factors[variable] = factors[upper] = 0
                joined = Variable(variable.of, variable.low, variable.bits + upper.bits)
                original = self._original(joined, factor, bits)
                if original is None:
                    factors[joined] = factors.get(joined, 0) + factor
                else:
                    constant += factor * original.constant
                    for inner, by in original.factors.items():
                        factors[inner] = factors.get(inner, 0) + factor * by
                break
        return form(bits, constant, factors)

    def _original(self, joined: Variable, factor: int, bits: int) -> Form | None:
        """The form of which a variable is the lowest bits, as far as factor * variable depends on it modulo 2^bits.

        None where there is none.
        """
        original = self.whole.get(joined.of) if isinstance(joined.of, tuple) else None
        if original is None or joined.low != 0:
            return None
        if (factor << joined.bits) % (1 << bits) == 0 and joined.bits < original.bits:
            return original
        if joined.bits != original.bits:
            return None
        known = original.within(0, (1 << original.bits) - 1, self.known)
        return original if known is None and (factor << original.bits) % (1 << bits) == 0 else known


def children_first(term: Term) -> list[Term]:
    """A term and all terms that it is made of, each once, after its own children."""
    ordered: dict[int, Term] = {}
    stack = [term]
    while stack:
        here = stack[-1]
        missing = [child for child in here.children() if child.id() not in ordered]
        if here.id() in ordered or not missing:
            stack.pop()
            ordered.setdefault(here.id(), here)
        else:
            stack += missing
    return list(ordered.values())


def constants(term: Term) -> list[Term]:
    """The constants that a term depends on."""
    return [node for node in children_first(term) if node.is_const()]


class WithoutMaxima(NamedTuple):
    """A term with a new constant for each largest of some leaves.

    groups: the leaves of each such constant that is left, and of each leaf that stands by itself. known: what holds of
    the constants, where one is the larger of two that are left too.
    """

    term: Term
    groups: Mapping[Term, frozenset[Term]]
    known: tuple[Term, ...]


def without_maxima(term: Term, leaves: Iterable[Term]) -> WithoutMaxima:
    """Replace choices of the larger of two leaves, or of two such choices, by constants.

    The larger of two is `x < y ? y : x`, unsigned.
    """
    leaves = list(leaves)
    groups: dict[int, frozenset[Term]] = {leaf.id(): frozenset([leaf]) for leaf in leaves}
    largest: dict[Term, Term] = {}
    for node in children_first(term):
        if node.kind() != Kind.ITE:
            continue
        condition, yes, no = node.children()
        if condition.kind() != Kind.BV_ULT or list(condition.children()) != [no, yes]:
            continue
        first, second = groups.get(yes.id()), groups.get(no.id())
        if first is not None and second is not None:
            groups[node.id()] = first | second
            largest[node] = constant(f"largest{len(largest)}", width(node))
    # The largest ones first: what is inside of them goes with them.
    by = dict(sorted(largest.items(), key=lambda pair: -len(groups[pair[0].id()])))
    for node, new in by.items():
        term = substituted(term, {node: new})
    stands_for = {new.id(): groups[node.id()] for node, new in largest.items()}
    stands_for |= {leaf.id(): groups[leaf.id()] for leaf in leaves}
    left = {symbol: stands_for[symbol.id()] for symbol in constants(term) if symbol.id() in stands_for}
    known = []
    for node, new in largest.items():
        pair = [largest.get(child, child) for child in node.children()[1:]]
        if all(symbol in left for symbol in (new, *pair)):
            known.append(same(new, op(Kind.ITE, op(Kind.BV_ULT, pair[1], pair[0]), pair[0], pair[1])))
    return WithoutMaxima(term, left, tuple(known))
