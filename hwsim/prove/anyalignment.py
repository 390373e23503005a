"""Alignment as a function of which nothing is known: what is shown of it holds of every rule for lost bits.

How the model composes its functions is shown with it: what one alignment leaves is what another leaves of an equal term
and an equal max_exp, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from types import ModuleType
from typing import Any

from hwsim.model.terms import Term as ModelTerm
from hwsim.prove.given import given_function
from hwsim.prove.logic import Kind, Term, manager, width
from hwsim.prove.symbolic import Integer, as_integer

# Bits of each argument: sign, exponent, significand, its fraction bits, max_exp, the window's bits. More than any has.
EXP, SIG, LEFT = 20, 640, 48
GIVEN = EXP, EXP, SIG, EXP, EXP, EXP


@cache
def _function(lost: str) -> Term:
    sorts = [manager().mk_bv_sort(each) for each in GIVEN]
    return manager().mk_const(manager().mk_fun_sort(sorts, manager().mk_bv_sort(LEFT)), f"align.{lost}")


def aligned(term: ModelTerm, max_exp: Any, fraction_bits: int, lost: str) -> Any:
    """What is left of a term: any number, which depends on nothing but what is given; of zero, nothing."""
    if isinstance(term.sig, int) and term.sig == 0:
        return 0
    numbers = (term.sign, term.exp, term.sig, term.fraction_bits, max_exp, fraction_bits)
    given = list(map(as_integer, numbers))
    if any(width(number.term) > bits for number, bits in zip(given, GIVEN, strict=True)):
        raise ValueError("a term is larger than any that is aligned")
    arguments = [number.at(bits) for number, bits in zip(given, GIVEN, strict=True)]
    return Integer.signed(manager().mk_term(Kind.APPLY, [_function(lost), *arguments]))


@contextmanager
def any_alignment(*modules: ModuleType) -> Iterator[None]:
    """In these modules `align` is such a function, as long as this lasts."""
    with ExitStack() as stack:
        for module in modules:
            stack.enter_context(given_function(module, "align", aligned))
        yield
