"""What takes the place of numbers that are too large, and of infinities, in every rounding and by every policy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from formats.formats_witness import EVERY, ROUNDINGS, every_policy, expected, inward, overflows
from numpy.typing import NDArray

from hwsim.formats import FloatFormat, Kind, floats, get_format, p3109
from hwsim.formats import fixed as exponent
from hwsim.formats.rounding import Beyond, Overflow, Rounding, go_beyond, rounds_inward

INF = math.inf


def ends(fmt: Kind) -> NDArray[np.float64]:
    """Numbers about the largest of each sign, and beyond: its halves and wholes of an ulp, huge ones, infinities."""
    top = np.array([fmt.largest], np.float64)
    below = float(fmt.values(np.array([(fmt.max_code >> fmt.padding) - 1]))[0])
    gap = fmt.largest - below
    places = top + gap * np.array([-0.5, 0, 0.25, 0.5, 0.75, 1, 1.5, 2])
    x = np.concatenate([places, np.nextafter(places, INF), np.nextafter(places, 0), [1e39, 1e300, INF]])
    return np.concatenate([x, -x]) if fmt.signed else x


def check(name: str, mode: str, overflow: str) -> None:
    fmt = EVERY[name]
    x = ends(fmt)
    want = [expected(fmt, value, mode, overflow) for value in x.tolist()]
    assert fmt.encode(x, mode, overflow).tolist() == want
    exact = [value if math.isinf(value) else Fraction(value) for value in x.tolist()]
    assert fmt.encode(exact, mode, overflow).tolist() == want


@pytest.mark.parametrize("name", others_slow(EVERY, [*EVERY][::3]))
def test_the_ends_of_every_format_are_those_of_the_witness(name: str) -> None:
    for mode, overflow in every_policy(name):
        check(name, mode, overflow)


# IEEE 754-2019, section 7.4: "roundTowardZero carries all overflows to the format's largest finite number with the
# sign of the intermediate result", towards negative: positive ones to the largest, towards positive: negative ones.
IEEE = {
    "rne": (INF, -INF), "rna": (INF, -INF), "rz": (1, -1), "ru": (INF, -1), "rd": (1, -INF),
    "rto": (1, -1),  # not IEEE 754's; Boldo and Melquiond 2008: of the largest number and infinity, the odd one
}  # fmt: skip


@pytest.mark.parametrize("mode", IEEE)
@pytest.mark.parametrize("name", ["f32", "f16", "bf16", "e5m2", "tf32"])
def test_overflow_in_formats_of_ieee_754(name: str, mode: str) -> None:
    fmt = get_format(name)
    want = [math.copysign(fmt.largest, end) if math.isfinite(end) else end for end in IEEE[mode]]
    assert fmt.decode(fmt.encode([1e300, -1e300], mode, "ieee")).tolist() == want
    assert fmt.decode(fmt.encode([INF, -INF], mode, "ieee")).tolist() == [INF, -INF]
    assert fmt.decode(fmt.encode([1e300, -1e300], mode, "infinity")).tolist() == [INF, -INF]
    assert fmt.decode(fmt.encode([1e300, INF, -INF], mode, "propagate")).tolist() == [fmt.largest, INF, -INF]


def test_to_odd_is_p3109_s() -> None:
    # Interim report 3.2, Saturate: under ToOdd and OvfInf unsigned formats give the largest number, signed infinity.
    for precision in range(1, 8):
        assert p3109(precision).decode(p3109(precision).encode([1e300, -1e300], "rto", "ieee")).tolist() == [INF, -INF]
        unsigned = p3109(precision, signed=False)
        assert unsigned.decode(unsigned.encode(1e300, "rto", "ieee")) == unsigned.largest


def test_without_an_infinity_nan_is_outside_and_nothing_is_kept() -> None:
    e4m3 = get_format("e4m3")
    assert e4m3.encode([1e9, -1e9, INF], "rz", "ieee").tolist() == [0x7E, 0xFE, 0x7F]
    assert e4m3.encode([1e9, -1e9, -INF], "ru", "ieee").tolist() == [0x7F, 0xFE, 0x7F]
    assert e4m3.encode([1e9, -1e9, INF], "rto", "ieee").tolist() == [0x7F, 0x7F, 0x7F]
    assert e4m3.encode([1e9, -1e9, INF], "rz", "propagate").tolist() == [0x7E, 0xFE, 0x7E]
    assert get_format("mxint8").encode([9, -9, INF], overflow="propagate").tolist() == [0x7F, 0x80, 0x7F]
    assert get_format("e8m0").encode([2.0**128, INF], "rz", "ieee").tolist() == [0xFE, 0xFF]
    with pytest.raises(ValueError, match=r"overflow must be one of saturate, propagate for e2m1, not 'ieee'"):
        get_format("e2m1").encode(1.0, overflow="ieee")


def test_stochastic_overflow_is_infinite() -> None:
    fmt, draws = get_format("e5m2"), {"random_bits": 4, "seed": 5}
    assert fmt.encode([1e9, -1e9], "stochastic", "ieee", **draws).tolist() == [0x7C, 0xFC]
    many = np.resize(np.array([1e9, -1e9, np.inf], np.float32), 1 << 15)
    for overflow, want in (("ieee", [0x7C, 0xFC, 0x7C]), ("propagate", [0x7B, 0xFB, 0x7C])):
        assert fmt.encode(many, "stochastic", overflow, **draws)[:3].tolist() == want


# Faults that the tests above must see.


def inward_with(**other: Any) -> Any:
    def faulty(rounding: Any, negative: Any, infinity: int | None) -> Any:
        return other[rounding](negative, infinity) if rounding in other else rounds_inward(rounding, negative, infinity)

    return faulty


def infinities_saturate(overflow: Overflow, over: Any, infinite: Any, inward: Any, infinities: bool) -> Beyond:
    return go_beyond(overflow, over, infinite & False, inward, infinities)


FAULTS = {
    "rz goes outside": ("e5m2", "rz", "ieee", "rounds_inward", inward_with(rz=lambda neg, _: neg & False)),
    "ru and rd swapped": ("e5m2", "ru", "ieee", "rounds_inward", inward_with(ru=lambda neg, _: ~neg)),
    "rd without a sign": ("e4m3", "rd", "ieee", "rounds_inward", inward_with(rd=lambda neg, _: neg | True)),
    "rto always inside": ("binary8p1se", "rto", "ieee", "rounds_inward", inward_with(rto=lambda neg, _: neg | True)),
    "rto always outside": ("f16", "rto", "ieee", "rounds_inward", inward_with(rto=lambda neg, _: neg & False)),
    "infinities are finite": ("f16", "rz", "ieee", "go_beyond", infinities_saturate),
    "infinities do not stay": ("f16", "rne", "propagate", "go_beyond", infinities_saturate),
    "e8m0 outside": ("e8m0", "rz", "ieee", "rounds_inward", inward_with(rz=lambda neg, _: neg & False)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_overflow_is_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, mode, overflow, attribute, replacement = FAULTS[fault]
    check(name, mode, overflow)
    for place in (floats, exponent):
        monkeypatch.setattr(place, attribute, replacement)
    with pytest.raises(AssertionError):
        check(name, mode, overflow)


def test_the_witness_knows_every_rounding_and_policy() -> None:
    assert [str(mode) for mode in Rounding] == ROUNDINGS
    assert {policy for fmt in EVERY.values() for policy in overflows(fmt)} == {str(one) for one in Overflow}
    f16 = get_format("f16")
    assert isinstance(f16, FloatFormat) and inward(f16, False, "rd") and not inward(f16, True, "rd")
