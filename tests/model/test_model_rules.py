"""An unknown rule is an error, and never taken for another one; every rule that there is has a method or a rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest

from hwsim.formats import FixedFormat, FloatFormat, get_format
from hwsim.model.rounding import infinity_code, overflow_code, round_fixed, round_to
from hwsim.model.terms import addend_term, align, cut_magnitude, max_exponent, round_magnitude
from hwsim.spec import Lost, Rounding

F32 = get_format("f32")
assert isinstance(F32, FloatFormat)
BARE = get_format("dlfloat16")
assert isinstance(BARE, FloatFormat)
FIXED = FixedFormat(kind="fixed", name="i8", integer_bits=7, fraction_bits=0)
UNKNOWN: Any = "unknown"

USES: dict[str, Callable[[], object]] = {
    "rounding of a magnitude": lambda: round_magnitude(5, 1, 0, UNKNOWN),
    "rounding of a result": lambda: round_to(F32, 0, (1 << 25) + 1, 0, UNKNOWN, "infinity"),
    "rounding to zero or the least number": lambda: round_to(
        BARE.model_copy(update={"underflow": "nearby"}), 0, 1, -60, UNKNOWN, "nan"
    ),
    "lost bits": lambda: align(addend_term(F32, 0x3F800001), 0, 4, UNKNOWN),
    "zero terms": lambda: max_exponent([addend_term(F32, 0x3F800000)], UNKNOWN),
    "overflow of a float format": lambda: overflow_code(F32, 0, "rz", UNKNOWN),
    "infinity of a float format": lambda: infinity_code(F32, 0, UNKNOWN),
    "overflow of a fixed format": lambda: round_fixed(FIXED, 0, 1000, 0, "rz", UNKNOWN),
}


@pytest.mark.parametrize("use", USES)
def test_an_unknown_rule_is_refused(use: str) -> None:
    with pytest.raises(AssertionError, match="unreachable"):
        USES[use]()


def test_every_rule_loses_bits_in_a_way_of_its_own() -> None:
    # 5/2, 7/2 and 9/4 and their negatives, and 2: no two rules agree on all of them.
    numbers = [(sig, shift, sign) for sig, shift in ((5, 1), (7, 1), (9, 2), (4, 1)) for sign in (0, 1)]
    for cut, rules in ((cut_magnitude, get_args(Lost)), (round_magnitude, get_args(Rounding))):
        results = {tuple(cut(*number, rule) for number in numbers) for rule in rules}
        assert len(results) == len(rules) >= 5
