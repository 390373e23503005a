"""A second opinion: the same question, as SMT-LIB, to z3, which shares nothing with bitwuzla."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable

import bitwuzla as bw

from hwsim.errors import ToolMissing
from hwsim.prove.logic import Term, Word, manager, negated


def demand_z3() -> None:
    """Raise ToolMissing where z3 is not installed."""
    if importlib.util.find_spec("z3") is None:
        raise ToolMissing("z3 missing; install with: pip install 'hwsim[z3]'")


def second_opinion(claim: Term, assumptions: Iterable[Term], seconds: float) -> Word:
    """What z3 says of a claim under assumptions. Raises ToolMissing where it is not installed."""
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
