"""What the bins must know of each rule for lost bits: a new rule is to be added here."""

from __future__ import annotations

from typing import assert_never

from hwsim.formats import Class
from hwsim.model.terms import Term, align
from hwsim.spec.keys import Lost


def changes_what_is_kept(lost: Lost) -> bool:
    """Whether bits below the window can change those in it."""
    match lost:
        case "truncate" | "ones-complement":
            return False
        case "floor" | "ceil" | "jam" | "rne" | "rna":
            return True
        case _:
            assert_never(lost)


def keeps_what_fits(lost: Lost) -> bool:
    """Whether a term without bits below the window is in it as it is."""
    match lost:
        case "truncate" | "floor" | "ceil" | "jam" | "rne" | "rna":
            return True
        case "ones-complement":
            return False
        case _:
            assert_never(lost)


def drops_what_is_far_below(lost: Lost) -> bool:
    """Whether a term of less than half of the window's last place leaves nothing in it."""
    match lost:
        case "truncate" | "rne" | "rna":
            return True
        case "floor" | "ceil" | "jam" | "ones-complement":
            return False
        case _:
            assert_never(lost)


def in_window(lost: Lost, sign: int, sig: int, fraction_bits: int, window: int) -> int:
    """The magnitude of a term at max_exp in a window of so many fraction bits."""
    return abs(align(Term(sign, 0, sig, fraction_bits, Class.NORMAL), 0, window, lost))
