"""Partial sums that overflow: which infinite and NaN addends the bins say that there are, and that there are those."""

from __future__ import annotations

import pytest
from unit_keys import odd_unit, window

from hwsim.cases.bins.plan import Counter, plan
from hwsim.cases.case import Case

PLUS, MINUS, NAN = (f"{what} addend, finite products" for what in ("+ infinite", "- infinite", "NaN"))

# By format, rounding and policy: whether a partial sum of finite products is ever infinite, of either sign.
WANT = {
    ("f16", "rne", "infinity"): (True, True),
    ("f16", "rne", "saturate"): (False, False),
    ("f16", "rne", "propagate"): (False, False),
    ("f16", "rz", "ieee"): (False, False),
    ("f16", "ru", "ieee"): (True, False),
    ("f16", "rd", "ieee"): (False, True),
    ("f16", "rto", "ieee"): (False, False),
    ("f16", "rna", "ieee"): (True, True),
    ("e4m3", "rne", "ieee"): (False, False),
}


def counter_of(factors: str, fmt: str, rounding: str, overflow: str) -> Counter:
    unit = odd_unit("partial", factors, "none", window(20), fmt, 2, rounding=rounding, overflow=overflow)
    return Counter(plan.__wrapped__(unit))


def unreachable(counter: Counter) -> set[str]:
    return {one.name for one in counter.plan.bins if one.unreachable}


def two_beats(largest: int, one: int, sign: int) -> Case:
    """The largest products of a sign, and then ones."""
    return Case("", (largest | sign << 7,) * 2 + (one,) * 2, (largest,) * 2 + (one,) * 2)


@pytest.mark.parametrize("way", WANT)
def test_bins_of_infinite_partial_sums_are_those_that_there_are(way: tuple[str, str, str]) -> None:
    counter = counter_of("e4m3", *way)
    for sign in (0, 1):
        counter.sample(two_beats(0x7E, 0x38, sign))
    assert counter.contradicted() == []
    for name, there in zip((PLUS, MINUS), WANT[way], strict=True):
        assert (name not in unreachable(counter)) == there == (counter.counts[name] > 0)


@pytest.mark.parametrize(
    ("rounding", "overflow", "there"),
    [
        ("rne", "nan", True),
        ("rne", "ieee", True),
        ("ru", "ieee", True),
        ("rz", "ieee", False),
        ("rne", "saturate", False),
        ("rne", "propagate", False),
    ],
)
def test_numbers_alone_make_nan_by_an_overflow(rounding: str, overflow: str, there: bool) -> None:
    counter = counter_of("hfp8-e4m3", "e4m3", rounding, overflow)  # every code of it is a number
    for sign in (0, 1):
        counter.sample(two_beats(0x7F, 0x58, sign))
    assert counter.contradicted() == []
    assert (NAN not in unreachable(counter)) == there == (counter.counts[NAN] > 0)


def test_infinite_factors_reach_the_next_group_unless_they_saturate() -> None:
    for overflow, there in (("propagate", True), ("saturate", False)):
        counter = counter_of("e5m2", "f16", "rne", overflow)
        counter.sample(two_beats(0x7C, 0x3C, 0))
        assert counter.contradicted() == []
        assert (PLUS not in unreachable(counter)) == there == (counter.counts[PLUS] > 0)
