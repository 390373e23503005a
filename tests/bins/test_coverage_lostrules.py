"""What the bins say of each rule for lost bits, against the model's window, term by term."""

from __future__ import annotations

from typing import get_args

import pytest

from hwsim.cases.bins.facts import changes_what_is_kept, drops_what_is_far_below, in_window, keeps_what_fits
from hwsim.formats import Class
from hwsim.model.terms import Term, align
from hwsim.spec.keys import Lost

BITS, WINDOW = 6, 3  # three bits of each term are below the window


@pytest.fixture(params=get_args(Lost))
def lost(request: pytest.FixtureRequest) -> Lost:
    """Every rule that a specification can name."""
    rule: Lost = request.param
    return rule


def aligned(sign: int, sig: int, lost: Lost, top: int = 0) -> int:
    return align(Term(sign, 0, sig, BITS, Class.NORMAL), top, WINDOW, lost)


def test_lost_bits_change_what_is_kept(lost: Lost) -> None:
    sigs = [(sign, sig) for sign in (0, 1) for sig in range(1 << BITS, 2 << BITS)]
    changed = any(aligned(sign, sig, lost) != aligned(sign, sig & ~7, lost) for sign, sig in sigs)
    assert changed == changes_what_is_kept(lost)


def test_a_term_far_below_leaves_nothing(lost: Lost) -> None:
    """Of less than half of the window's last place, in both signs."""
    far = [aligned(sign, sig, lost, top=6) for sign in (0, 1) for sig in (1 << BITS, (2 << BITS) - 1)]
    assert any(far) != drops_what_is_far_below(lost)


def test_a_term_without_bits_below_is_kept_as_it_is(lost: Lost) -> None:
    exact = [(sign, kept) for sign in (0, 1) for kept in range(8, 16)]
    same = all(aligned(sign, kept << 3, lost) == (-kept if sign else kept) for sign, kept in exact)
    assert same == keeps_what_fits(lost)


def test_magnitudes_are_those_of_the_window(lost: Lost) -> None:
    for sign in (0, 1):
        for sig in range(1 << BITS, 2 << BITS):
            assert in_window(lost, sign, sig, BITS, WINDOW) == abs(aligned(sign, sig, lost))
