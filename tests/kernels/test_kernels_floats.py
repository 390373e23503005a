"""Rounding and sums of carriers, against exact rationals, on values beside every code and every midpoint."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from kernels.kernel_loops import loop
from model.witness_numbers import add, read, rounded, write
from numpy.typing import NDArray
from unit_keys import NEARBY

from hwsim.compute.kernels.float_kernel import round_all
from hwsim.compute.kernels.floats import CUT, add_odd, has_room, round_in, round_to, sum_in, target_of
from hwsim.compute.kernels.values import codes_of, values_of
from hwsim.formats import FloatFormat, get_format, parse

MODES = ("rne", "rna", "rz", "ru", "rd", "rto")
FORMATS = ("e4m3", "e5m2", "e4m3fnuz", "f16", "tf32", "e8m13", "f32", "dlfloat16", "bare-nearby")
TININESS = ("result", "after", "before")
# Every code of a format of 8 bits; of others so many.
CODES = 60


def fmt_of(name: str) -> FloatFormat:
    fmt = parse(NEARBY) if name == "bare-nearby" else get_format(name)
    assert isinstance(fmt, FloatFormat)
    return fmt


def numbers(fmt: FloatFormat) -> NDArray[np.float64]:
    """Finite numbers of a format, one and two of float64's ulps beside them and their midpoints; and what is beyond."""
    top = fmt.max_magnitude
    if top <= 256:
        magnitudes = np.arange(top + 1)
    else:
        edges = [0, 1, 2, 3, top - 1, top, *(1 << n for n in range(fmt.exponent_bits + fmt.fraction_bits - 1))]
        magnitudes = np.unique([*edges, *np.random.default_rng(1).integers(0, top + 1, CODES)])
    values = np.abs(fmt.decode(magnitudes << fmt.padding))
    above = np.abs(fmt.decode(np.minimum(magnitudes + 1, top) << fmt.padding))
    most, quantum = values.max(), 2.0 ** (fmt.emin - fmt.fraction_bits)
    ulp = 2.0 ** (fmt.emax - fmt.fraction_bits)
    middles = [*((values + above) / 2), most + ulp / 2, most + ulp, 2.0**fmt.emin + quantum / 2, quantum / 2]
    centres = np.array([*values, *middles, 4 * most, 2.0**400, 2.0**-400, 2.0**fmt.emin, quantum / 4])
    beside = [centres, np.nextafter(centres, 0), np.nextafter(centres, np.inf)]
    beside += [np.nextafter(beside[1], 0), np.nextafter(beside[2], np.inf)]
    every = np.unique(np.concatenate(beside))
    return np.concatenate([every, -every])


def as_codes(values: NDArray[np.float64], fmt: FloatFormat) -> list[int]:
    out = np.zeros((1, values.size), np.uint32)
    codes_of(values.reshape(1, -1), fmt, out)
    return out[0].tolist()  # type: ignore[no-any-return]


def expected(name: str, x: float, mode: str, overflow: str, tiny: str, flush: str | None) -> int:
    if x == 0:
        return write(name, math.copysign(1, x) < 0, Fraction(0))
    return rounded(name, Fraction(x), mode, overflow, tiny, flush)


@loop("hwsim.compute.kernels.floats")
def round_each(values: Any, t: Any) -> None:
    for i in range(values.size):
        values[i] = round_to(values[i], t)


@loop("hwsim.compute.kernels.floats")
def round_carried(values: Any, t: Any) -> None:
    for i in range(values.size):
        values[i] = round_in(values[i], t, t.mode)


@loop("hwsim.compute.kernels.floats")
def add_each(x: Any, y: Any, out: Any, t: Any) -> None:
    for i in range(x.size):
        out[i] = round_in(sum_in(x[i], y[i], t.mode, False), t, t.mode)


@loop("hwsim.compute.kernels.floats")
def add_odd_each(x: Any, y: Any, out: Any) -> None:
    for i in range(x.size):
        out[i] = add_odd(x[i], y[i])


@pytest.mark.parametrize("name", others_slow(FORMATS, FORMATS[:1]))
@pytest.mark.parametrize("mode", MODES)
def test_one_rounding_is_that_of_exact_rationals(name: str, mode: str) -> None:
    fmt = fmt_of(name)
    judged = TININESS[(MODES.index(mode) + FORMATS.index(name)) % 3] if fmt.subnormals else None
    rules = [("nan" if fmt.nan else "saturate", "signed", None), ("saturate", "positive", judged)]
    rules += [("infinity", "signed", None)] if fmt.infinities else []
    values = numbers(fmt)
    # All but one: which, turns with the rounding.
    turn = MODES.index(mode) % 3
    for overflow, tiny, flush in [*rules[:turn], *rules[turn + 1 :], ("ieee", "signed", None)]:
        target = target_of(fmt, mode, overflow, tiny, flush)
        got = values.copy().reshape(1, -1)
        round_all(got, target)
        want = [expected(name, x, mode, overflow, tiny, flush) for x in values.tolist()]
        assert as_codes(got, fmt) == want
        one_by_one = values.copy()
        round_each(one_by_one, target)
        np.testing.assert_array_equal(one_by_one.view(np.int64), got[0].view(np.int64))


def test_a_bit_less_of_precision_is_found() -> None:
    fmt = fmt_of("f16")
    values = numbers(fmt)
    less = fmt.model_copy(update={"fraction_bits": 9, "exponent_bits": 6, "bias": 15})
    for mode in MODES:
        wrong = values.copy().reshape(1, -1)
        round_all(wrong, target_of(less, mode, "saturate")._replace(most=65504.0, over_plus=65504.0))
        assert as_codes(wrong, fmt) != [expected("f16", x, mode, "saturate", "signed", None) for x in values.tolist()]


@pytest.mark.parametrize("overflow", ["infinity", "nan", "saturate", "propagate", "ieee"])
@pytest.mark.parametrize("mode", MODES)
def test_infinities_and_nans(mode: str, overflow: str) -> None:
    values = np.array([[np.inf, -np.inf, np.nan]])
    target = target_of(fmt_of("f16"), mode, overflow)
    round_all(values, target)
    most = {"saturate": [65504.0, -65504.0]}.get(overflow, [np.inf, -np.inf])
    np.testing.assert_array_equal(values, [[*most, np.nan]])


# IEEE 754-2019, section 7.4; to odd, the largest number has the odd code.
BEYOND = {
    "rne": (np.inf, -np.inf), "rna": (np.inf, -np.inf), "rz": (65504.0, -65504.0), "ru": (np.inf, -65504.0),
    "rd": (65504.0, -np.inf), "rto": (65504.0, -65504.0),
}  # fmt: skip


@pytest.mark.parametrize("carrier", [np.float64, np.float32])
@pytest.mark.parametrize("mode", MODES)
def test_additions_overflow_as_ieee_754_has_it(mode: str, carrier: Any) -> None:
    target, most = target_of(fmt_of("f16"), mode, carrier=carrier), 65504.0
    x, y = (
        np.array([most, -most, np.inf, -np.inf, np.inf], carrier),
        np.array([most, -most, -most, 0, -np.inf], carrier),
    )
    got = np.empty(5, carrier)
    add_each(x, y, got, target)
    np.testing.assert_array_equal(got, [*BEYOND[mode], np.inf, -np.inf, np.nan])
    swapped = target._replace(over_plus=target.over_minus, over_minus=target.over_plus)
    add_each(x, y, got, swapped)
    assert (got[0] == BEYOND[mode][0]) == (mode not in ("ru", "rd"))


def test_without_an_infinity_what_is_outside_is_nan() -> None:
    for mode, want in {"rz": (8573157376.0, -8573157376.0), "ru": (np.nan, -8573157376.0)}.items():
        values = np.array([[1e30, -1e30, np.inf]])
        round_all(values, target_of(fmt_of("dlfloat16"), mode))
        np.testing.assert_array_equal(values, [[*want, np.nan]])
    kept = np.array([[1e30, np.inf]])
    round_all(kept, target_of(fmt_of("dlfloat16"), "rne", "propagate"))
    assert (kept == get_format("dlfloat16").largest).all()


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "f16", "dlfloat16", "bare-nearby", "bf16", "tf32"])
def test_float32_carries_what_float64_does(name: str) -> None:
    fmt = fmt_of(name)
    bits = np.random.default_rng(2).integers(0, 1 << 32, 4000, np.uint32)
    with np.errstate(over="ignore", invalid="ignore"):
        given = np.concatenate([numbers(fmt).astype(np.float32), bits.view(np.float32)])
        exact = given.astype(np.float64)
    for mode in MODES if name not in ("bf16", "tf32") else ("rne",):
        narrow, wide = given.copy(), exact.copy()
        target = target_of(fmt, mode, carrier=np.float32)
        assert (target.mode == CUT) == (name in ("bf16", "tf32"))
        round_carried(narrow, target)
        round_carried(wide, target_of(fmt, mode))
        np.testing.assert_array_equal(narrow, wide.astype(np.float32))
        signs = ~np.isnan(wide)
        np.testing.assert_array_equal(np.signbit(narrow)[signs], np.signbit(wide)[signs])


def pairs(rng: np.random.Generator, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums with and without errors: exponents near one another, far away, cancelling."""
    x = np.ldexp(rng.integers(-(1 << 53), 1 << 53, count).astype(np.float64), rng.integers(-60, 60, count))
    y = np.ldexp(rng.integers(-(1 << 53), 1 << 53, count).astype(np.float64), rng.integers(-120, 60, count))
    few = np.ldexp(rng.integers(-255, 256, count).astype(np.float64), rng.integers(-110, 40, count))
    y = np.select([rng.random(count) < 0.4, rng.random(count) < 0.2], [few, -np.nextafter(x, 0)], y)
    return x, y


def test_a_sum_rounded_to_odd_is_exact_or_odd() -> None:
    x, y = pairs(np.random.default_rng(3), 4000)
    got = np.empty_like(x)
    add_odd_each(x, y, got)
    inexact = 0
    for a, b, total in zip(x.tolist(), y.tolist(), got.tolist(), strict=True):
        exact = Fraction(a) + Fraction(b)
        if Fraction(total) == exact:
            continue
        inexact += 1
        assert abs(int(np.float64(total).view(np.int64))) % 2 == 1
        low, high = sorted([Fraction(total), Fraction(np.nextafter(total, math.inf if exact > total else -math.inf))])
        assert low < exact < high
    assert 1000 < inexact < 3900


@pytest.mark.parametrize("name", others_slow(["e4m3", "e5m2", "dlfloat16", "bare-nearby"], ("e4m3",)))
@pytest.mark.parametrize("mode", MODES)
def test_an_addition_is_that_of_exact_rationals(name: str, mode: str) -> None:
    # Numbers of e5m2 reach from below the least of each of these formats to above the largest. Some of the right ones
    # are 2^-60 of that, so that a sum has more bits than float64.
    codes = [code | sign for code in (*range(0, 124, 4), 0x7B, 0x7C, 0x7D) for sign in (0, 0x80)]
    left, right = (side.ravel() for side in np.meshgrid(codes, codes))
    small = np.arange(left.size) % 3 == 0
    x, y = (values_of(get_format("e5m2"), side) for side in (left, right))
    got = np.empty_like(x)
    add_each(x, np.where(small, np.ldexp(y, -60), y), got, target_of(fmt_of(name), mode))
    want = []
    for a, b, shift in zip(left.tolist(), right.tolist(), (60 * small).tolist(), strict=True):
        second = read("e5m2", b)
        want.append(add(name, [read("e5m2", a), second._replace(value=second.value / 2**shift)], mode))
    assert as_codes(got, fmt_of(name)) == want


def test_formats_without_room_are_refused() -> None:
    wide = parse({"name": "wide", "kind": "float", "exponent_bits": 11, "fraction_bits": 8, "bias": 1030})
    assert isinstance(wide, FloatFormat) and not has_room(wide, "rne")
    assert has_room(fmt_of("f32"), "rz") and not has_room(fmt_of("f32"), "rz", np.float32)
    assert has_room(fmt_of("f16"), "rz", np.float32)
