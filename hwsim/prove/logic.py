"""Bit vectors and questions about them: bitwuzla's terms, and its answers with what they cost."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import bitwuzla as bw

Term = Any  # bitwuzla ships no types
Kind: Any = bw.Kind
Word = Literal["proved", "refuted", "undecided"]


@cache
def manager() -> Any:
    """The one manager of terms: only terms of one manager can meet. Equal terms are one object there."""
    return bw.TermManager()


def constant(name: str, width: int) -> Term:
    """A bit vector of any value; another one at each call, whatever the name."""
    return manager().mk_const(manager().mk_bv_sort(width), name)


def value(number: int, width: int) -> Term:
    """A number, modulo 2^width."""
    return manager().mk_bv_value(manager().mk_bv_sort(width), number % (1 << width))


def op(kind: Any, *terms: Term, indices: Iterable[int] = ()) -> Term:
    """One operation."""
    return manager().mk_term(kind, list(terms), list(indices))


def is_bits(term: Term) -> bool:
    """Whether a term is a bit vector, and no condition."""
    return bool(term.sort().is_bv())


def rebuilt(term: Term, children: Sequence[Term]) -> Term:
    """The operation that a term is, of other terms; the term itself where they are its own."""
    if all(new.id() == old.id() for new, old in zip(children, term.children(), strict=True)):
        return term
    return op(term.kind(), *children, indices=term.indices() if term.num_indices() else ())


def width(term: Term) -> int:
    """Bits of a bit vector."""
    return int(term.sort().bv_size())


def true() -> Term:
    """What holds always."""
    return manager().mk_true()


def false() -> Term:
    """What never holds."""
    return manager().mk_false()


def both(*terms: Term) -> Term:
    """Whether all hold."""
    kept = [term for term in terms if not term.is_true()]
    return true() if not kept else kept[0] if len(kept) == 1 else op(Kind.AND, *kept)


def either(*terms: Term) -> Term:
    """Whether one holds."""
    return negated(both(*map(negated, terms)))


def negated(term: Term) -> Term:
    """Whether it does not hold."""
    return op(Kind.NOT, term)


def implies(first: Term, second: Term) -> Term:
    """Whether the second holds where the first does."""
    return op(Kind.IMPLIES, first, second)


def same(first: Term, second: Term) -> Term:
    """Whether two terms of one sort are equal."""
    return true() if first == second else op(Kind.EQUAL, first, second)


def is_one(bit: Term) -> Term:
    """Whether a bit is set."""
    return same(bit, value(1, 1))


def substituted(term: Term, by: Mapping[Term, Term]) -> Term:
    """A term with others in the place of some."""
    return manager().substitute_term(term, dict(by)) if by else term


def all_substituted(terms: Iterable[Term], by: Mapping[Term, Term]) -> list[Term]:
    """Terms with others in the place of some: all at once, because they share most of what they are made of."""
    return list(manager().substitute_terms(list(terms), dict(by)))


def evaluated(term: Term, by: Mapping[Term, Term]) -> int:
    """What a bit vector is where all its constants are given."""
    known = substituted(term, by)
    if not known.is_value():
        known = bw.Bitwuzla(manager(), bw.Options()).simplify_term(known)
    return int(known.value(10))


def below(first: Term, second: Term) -> Term:
    """Whether one unsigned number is less than another."""
    return op(Kind.BV_ULT, first, second)


def choose(condition: Term, yes: Term, no: Term) -> Term:
    """One of two terms."""
    return op(Kind.ITE, condition, yes, no)


def as_bit(condition: Term) -> Term:
    """A condition as one bit."""
    return choose(condition, value(1, 1), value(0, 1))


def part(term: Term, low: int, bits: int) -> Term:
    """Some bits of a bit vector."""
    return op(Kind.BV_EXTRACT, term, indices=[low + bits - 1, low])


@dataclass(frozen=True)
class Decided:
    """What the solver said of a question, and after how many seconds. model: values of constants that refute it."""

    word: Word
    seconds: float
    model: Mapping[str, int] | None = None


def ask(claim: Term, assumptions: Iterable[Term] = (), seconds: float = 60.0, show: Iterable[Term] = ()) -> Decided:
    """Whether a claim holds wherever the assumptions do. show: constants whose values refute it, if any do.

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
    """Whether terms can hold together; also where the solver does not know after so many seconds of the processor."""
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
    """An equal term, in which what is known of it is worked out."""
    return bw.Bitwuzla(manager(), bw.Options()).simplify_term(term)
