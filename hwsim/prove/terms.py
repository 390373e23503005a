"""Bit vectors and questions about them: terms, what they are made of and worth, and the solvers' answers."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import add, and_, eq, ge, gt, le, lt, mul, ne, or_, sub, xor
from typing import Any, Literal

import bitwuzla as bw

from hwsim.base.errors import InputError, ToolMissing

Term = Any  # bitwuzla ships no types
Kind: Any = bw.Kind
Word = Literal["proved", "refuted", "undecided"]


@cache
def manager() -> Any:
    """Return the one manager of terms: only terms of one manager can meet. Equal terms are one object there."""
    return bw.TermManager()


def constant(name: str, width: int) -> Term:
    """Return a bit vector of any value; another one at each call, whatever the name."""
    return manager().mk_const(manager().mk_bv_sort(width), name)


def value(number: int, width: int) -> Term:
    """Return a number, modulo 2^width, as a bit vector."""
    return manager().mk_bv_value(manager().mk_bv_sort(width), number % (1 << width))


def op(kind: Any, *terms: Term, indices: Iterable[int] = ()) -> Term:
    """Return one operation on terms."""
    return manager().mk_term(kind, list(terms), list(indices))


def is_bits(term: Term) -> bool:
    """True if a term is a bit vector, and no condition."""
    return bool(term.sort().is_bv())


def rebuilt(term: Term, children: Sequence[Term]) -> Term:
    """Return a term's operation on other terms; the term itself where they are its own."""
    if all(new.id() == old.id() for new, old in zip(children, term.children(), strict=True)):
        return term
    return op(term.kind(), *children, indices=term.indices() if term.num_indices() else ())


def width(term: Term) -> int:
    """Return the number of bits of a bit vector."""
    return int(term.sort().bv_size())


def true() -> Term:
    """Return the condition that always holds."""
    return manager().mk_true()


def false() -> Term:
    """Return the condition that never holds."""
    return manager().mk_false()


def both(*terms: Term) -> Term:
    """Return the condition that all hold."""
    kept = [term for term in terms if not term.is_true()]
    return true() if not kept else kept[0] if len(kept) == 1 else op(Kind.AND, *kept)


def either(*terms: Term) -> Term:
    """Return the condition that at least one holds."""
    return negated(both(*map(negated, terms)))


def negated(term: Term) -> Term:
    """Return the condition that another one does not hold."""
    return op(Kind.NOT, term)


def implies(first: Term, second: Term) -> Term:
    """Return the condition that the second holds where the first does."""
    return op(Kind.IMPLIES, first, second)


def same(first: Term, second: Term) -> Term:
    """Return the condition that two terms of one sort are equal."""
    return true() if first == second else op(Kind.EQUAL, first, second)


def is_one(bit: Term) -> Term:
    """Return the condition that a bit is set."""
    return same(bit, value(1, 1))


def substituted(term: Term, by: Mapping[Term, Term]) -> Term:
    """Return a term with others in the place of some."""
    return manager().substitute_term(term, dict(by)) if by else term


def all_substituted(terms: Iterable[Term], by: Mapping[Term, Term]) -> list[Term]:
    """Return terms with others in the place of some: all at once, because they share most of what they are made of."""
    return list(manager().substitute_terms(list(terms), dict(by)))


def evaluated(term: Term, by: Mapping[Term, Term]) -> int:
    """Return the number that a bit vector is where all its constants are given."""
    known = substituted(term, by)
    if not known.is_value():
        known = bw.Bitwuzla(manager(), bw.Options()).simplify_term(known)
    return int(known.value(10))


def below(first: Term, second: Term) -> Term:
    """Return the condition that one unsigned number is less than another."""
    return op(Kind.BV_ULT, first, second)


def choose(condition: Term, yes: Term, no: Term) -> Term:
    """Return one of two terms, by a condition."""
    return op(Kind.ITE, condition, yes, no)


def as_bit(condition: Term) -> Term:
    """Return a condition as one bit."""
    return choose(condition, value(1, 1), value(0, 1))


def part(term: Term, low: int, bits: int) -> Term:
    """Return some bits of a bit vector."""
    return op(Kind.BV_EXTRACT, term, indices=[low + bits - 1, low])


@dataclass(frozen=True)
class Decided:
    """A solver's answer to a question, and the seconds it took. model: values of constants that refute it."""

    word: Word
    seconds: float
    model: Mapping[str, int] | None = None


def ask(claim: Term, assumptions: Iterable[Term] = (), seconds: float = 60.0, show: Iterable[Term] = ()) -> Decided:
    """Decide whether a claim holds wherever the assumptions do. show: constants whose values refute it, if any do.

    seconds: of the processor, so that what is decided does not depend on what else the machine does.
    """
    start = time.thread_time()
    solver = _solver([*assumptions, negated(claim)], seconds)
    result = solver.check_sat()
    spent = time.thread_time() - start
    if result == bw.Result.UNSAT:
        return Decided("proved", spent)
    if result != bw.Result.SAT:
        return Decided("undecided", spent)
    model = {term.symbol(): int(solver.get_value(term).value(10)) for term in show}
    return Decided("refuted", spent, model)


def possible(terms: Iterable[Term], seconds: float = 60.0) -> bool:
    """True if terms can hold together, or where the solver does not know after so many seconds of the processor."""
    return bool(_solver(terms, seconds).check_sat() != bw.Result.UNSAT)


def _solver(terms: Iterable[Term], seconds: float) -> Any:
    """A solver of which all these terms are asked, and which gives up after so many seconds of this thread's."""
    options = bw.Options()
    options.set(bw.Option.PRODUCE_MODELS, True)
    solver, end = bw.Bitwuzla(manager(), options), time.thread_time() + seconds
    solver.configure_terminator(lambda: time.thread_time() > end)
    for term in terms:
        solver.assert_formula(term)
    return solver


def simplified(term: Term) -> Term:
    """Return an equal term, simplified by what is known of it."""
    return bw.Bitwuzla(manager(), bw.Options()).simplify_term(term)


def nodes_of(terms: Iterable[Term]) -> list[Term]:
    """Return all nodes of terms, the terms themselves too, each once."""
    nodes: dict[int, Term] = {}
    stack = list(terms)
    while stack:
        here = stack.pop()
        if here.id() not in nodes:
            nodes[here.id()] = here
            stack += here.children()
    return list(nodes.values())


def constants_of(terms: Iterable[Term]) -> list[Term]:
    """Return the bit vectors of any value that terms depend on."""
    return [term for term in nodes_of(terms) if term.is_const()]


def parts_of(claim: Term, conditions: tuple[Term, ...] = ()) -> Iterator[tuple[Term, tuple[Term, ...]]]:
    """Yield the conditions whose conjunction a claim is, each with those under which it must hold."""
    if claim.kind() == Kind.AND:
        for child in claim.children():
            yield from parts_of(child, conditions)
    elif claim.kind() == Kind.IMPLIES:
        condition, then = claim.children()
        yield from parts_of(then, (*conditions, condition))
    else:
        yield claim, conditions


def is_known(term: Term) -> bool:
    """True if a term is a number, or a condition that holds always or never."""
    return bool(term.is_value() or term.is_true() or term.is_false())


Numbers = Sequence[int]


def signed(number: int, bits: int) -> int:
    """Return the two's complement that an unsigned number of so many bits is."""
    return number - (1 << bits) if number >> bits - 1 else number


def _shifted_left(number: int, by: int, bits: int) -> int:
    return number << by if by < bits else 0


def _shifted_right(number: int, by: int, bits: int) -> int:
    return number >> by if by < bits else 0


def _shifted_signed(number: int, by: int, bits: int) -> int:
    return signed(number, bits) >> min(by, bits)


# Of unsigned numbers, modulo 2^bits; of conditions, which are 0 and 1, the last bit.
FOLDED: Mapping[object, Callable[[int, int], int]] = {
    Kind.BV_ADD: add, Kind.BV_SUB: sub, Kind.BV_MUL: mul, Kind.BV_AND: and_, Kind.BV_OR: or_, Kind.BV_XOR: xor,
    Kind.AND: and_, Kind.OR: or_, Kind.XOR: xor, Kind.IMPLIES: lambda x, y: 1 - x | y,
}  # fmt: skip
NEGATED: Mapping[object, Callable[[int, int], int]] = {Kind.BV_NAND: and_, Kind.BV_NOR: or_, Kind.BV_XNOR: xor}
COMPARED: Mapping[object, Callable[[int, int], bool]] = {
    Kind.EQUAL: eq, Kind.DISTINCT: ne,
    Kind.BV_ULT: lt, Kind.BV_ULE: le, Kind.BV_UGT: gt, Kind.BV_UGE: ge,
}  # fmt: skip
COMPARED_SIGNED: Mapping[object, Callable[[int, int], bool]] = {
    Kind.BV_SLT: lt, Kind.BV_SLE: le, Kind.BV_SGT: gt, Kind.BV_SGE: ge,
}  # fmt: skip
SHIFTED: Mapping[object, Callable[[int, int, int], int]] = {
    Kind.BV_SHL: _shifted_left, Kind.BV_SHR: _shifted_right, Kind.BV_ASHR: _shifted_signed,
}  # fmt: skip


class Evaluated:
    """Terms' values in some samples, each worked out once. known: values of constants, by name."""

    def __init__(self, known: Mapping[str, Numbers]):
        self.known, self.count = known, len(next(iter(known.values()), ()))
        self.found: dict[int, tuple[Term, Numbers]] = {}

    def of(self, term: Term) -> Numbers:
        """Return a number for each sample, unsigned; 0 or 1 of a condition. Raises InputError for what is not known."""
        stack = [term]
        while stack:
            here = stack[-1]
            missing = [child for child in here.children() if child.id() not in self.found]
            if missing and here.id() not in self.found:
                stack += missing
                continue
            stack.pop()
            if here.id() not in self.found:
                self.found[here.id()] = here, self._one(here)
        return self.found[term.id()][1]

    def _one(self, term: Term) -> Numbers:
        if term.is_true() or term.is_false():
            return [int(bool(term.is_true()))] * self.count
        if term.is_value():
            return [int(term.value(10))] * self.count
        if term.is_const():
            if term.symbol() not in self.known:
                raise InputError(f"{term.symbol()} must be known here")
            return self.known[term.symbol()]
        return self._computed(term, [self.found[child.id()][1] for child in term.children()])

    def _computed(self, term: Term, of: list[Numbers]) -> Numbers:
        kind, children = term.kind(), term.children()
        bits = width(term) if term.sort().is_bv() else 1
        mask = (1 << bits) - 1
        if (fold := FOLDED.get(kind) or NEGATED.get(kind)) is not None:
            total = list(of[0])
            for numbers in of[1:]:
                total = list(map(fold, total, numbers))
            return [(~number if kind in NEGATED else number) & mask for number in total]
        if (compare := COMPARED.get(kind)) is not None:
            return [int(compare(x, y)) for x, y in zip(*of, strict=True)]
        if (compare := COMPARED_SIGNED.get(kind)) is not None:
            wide = width(children[0])
            return [int(compare(signed(x, wide), signed(y, wide))) for x, y in zip(*of, strict=True)]
        if (shift := SHIFTED.get(kind)) is not None:
            return [shift(x, by, bits) & mask for x, by in zip(*of, strict=True)]
        if kind == Kind.ITE:
            return [yes if condition else no for condition, yes, no in zip(*of, strict=True)]
        if kind == Kind.BV_CONCAT:
            total = list(of[0])
            for child, numbers in zip(children[1:], of[1:], strict=True):
                total = [high << width(child) | low for high, low in zip(total, numbers, strict=True)]
            return total
        return self._of_one(term, kind, of[0], mask)

    def _of_one(self, term: Term, kind: object, numbers: Numbers, mask: int) -> Numbers:
        child = term.children()[0]
        if kind == Kind.NOT:
            return [1 - number for number in numbers]
        wide = width(child)
        if kind == Kind.BV_NOT:
            return [~number & mask for number in numbers]
        if kind == Kind.BV_NEG:
            return [-number & mask for number in numbers]
        if kind == Kind.BV_ZERO_EXTEND:
            return numbers
        if kind == Kind.BV_SIGN_EXTEND:
            return [signed(number, wide) & mask for number in numbers]
        if kind == Kind.BV_EXTRACT:
            return [number >> term.indices()[1] & mask for number in numbers]
        if kind == Kind.BV_REDOR:
            return [int(number != 0) for number in numbers]
        if kind == Kind.BV_REDAND:
            return [int(number == (1 << wide) - 1) for number in numbers]
        if kind == Kind.BV_REDXOR:
            return [number.bit_count() & 1 for number in numbers]
        raise InputError(f"operations must be known here: {kind} is not")


def sliced(term: Term, low: int, bits: int) -> Term:
    """Return bits of a bit vector; itself where they are all of it."""
    return term if (low, bits) == (0, width(term)) else part(term, low, bits)


def demand_z3() -> None:
    """Raise ToolMissing where z3 is not installed."""
    if importlib.util.find_spec("z3") is None:
        raise ToolMissing("z3 missing; install with: pip install 'hwsim[z3]'")


def second_opinion(claim: Term, assumptions: Iterable[Term], seconds: float) -> Word:
    """Return z3's answer to a claim under assumptions. Raises ToolMissing where it is not installed."""
    demand_z3()
    import z3

    written = bw.Bitwuzla(manager(), bw.Options())
    for term in (*assumptions, negated(claim)):
        written.assert_formula(term)
    solver = z3.SolverFor("QF_BV")
    solver.set("timeout", max(1, int(seconds * 1000)))
    solver.from_string(written.print_formula("smt2"))
    answer = solver.check()
    return "proved" if answer == z3.unsat else "refuted" if answer == z3.sat else "undecided"
