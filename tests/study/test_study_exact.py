"""Exact products: against rationals, on what rounds, cancels and overflows otherwise; and mutants that round."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from study.study_fractions import fraction, product_of, rational

from hwsim.cases.drawing import Stream
from hwsim.study.accuracy import exact
from hwsim.study.accuracy.exact import DoubleDouble, difference, exact_product, magnitude, slice_widths, slices, times

Array = NDArray[np.float64]


def random_bits(stream: Stream, count: int) -> int:
    """An integer of so many random bits."""
    words = -(-count // 32)
    return sum(stream.word() << 32 * at for at in range(words)) >> 32 * words - count


def wide(stream: Stream, shape: tuple[int, int], bits: int, span: int) -> Array:
    """Numbers of random significands of so many bits, and random exponents from -span to span."""
    count = shape[0] * shape[1]
    values = [
        (random_bits(stream, bits) - (1 << bits - 1)) * 2.0 ** (stream.randrange(2 * span + 1) - span - bits)
        for _ in range(count)
    ]
    return np.array(values).reshape(shape)


def holds(a: Array, b: Array) -> int:
    """Check a product against rationals. How many of its elements are sums of two float64, and so must be equal."""
    made, right = exact_product(a, b), product_of(a, b)
    equal = 0
    for at, number in np.ndenumerate(right):
        hi, lo = fraction(made.hi[at]), fraction(made.lo[at])
        assert made.hi[at] == float(number)
        assert abs(lo) <= fraction(np.spacing(abs(made.hi[at]))) / 2
        nearest = Fraction(float(number - hi))
        assert abs(hi + lo - number) <= abs(number) / 2**105
        if hi + nearest == number:
            assert lo == nearest
            equal += 1
    return equal


@pytest.mark.quick
@pytest.mark.parametrize(
    ("bits", "span"), [(4, 8), (24, 0), (24, 12), (53, 0), (53, 40), (53, 200), (11, 300)], ids=str
)
def test_random_products_are_those_of_rationals(bits: int, span: int) -> None:
    stream = Stream(1, "exact", f"{bits}/{span}")
    for shape in ((3, 1, 2), (1, 7, 1), (2, 33, 3), (5, 64, 4)):
        m, k, n = shape
        a, b = wide(stream, (m, k), bits, span), wide(stream, (k, n), bits, span)
        holds(a, b)
        a[:, ::2] = b[1::3] = 0.0  # which have no lowest bit
        holds(a, b)


@pytest.mark.parametrize("scale_a", [-400, -300, 0, 300])
@pytest.mark.parametrize("scale_b", [-300, 0, 300, 600])
def test_what_cancels_to_the_last_bit_stays(scale_a: int, scale_b: int) -> None:
    stream = Stream(2, "cancel")
    a, b = wide(stream, (3, 20), 53, 3), wide(stream, (20, 3), 53, 3)
    # The product of both and of their negatives, and one product far below every ulp of it.
    a = np.hstack([a, -a[:, ::-1], np.full((3, 1), 2.0**-160)]) * 2.0**scale_a
    b = np.vstack([b, b[::-1], np.full((1, 3), 2.0**-150)]) * 2.0**scale_b
    assert (exact_product(a, b).hi == 2.0 ** (scale_a + scale_b - 310)).all()
    assert holds(a, b) == 9


def test_a_number_of_53_bits_times_1_is_itself() -> None:
    # A slice of 53 bits would not be rounded to its grid, and lose the last of them.
    number = -(2.0**52) - 1
    for left, right in ((1.0, number), (number, 1.0), (number, number)):
        made = exact_product(np.array([[left]]), np.array([[right]]))
        assert rational(made, (0, 0)) == Fraction(left) * Fraction(right)


finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-(2.0**400), max_value=2.0**400)


@given(st.data(), st.integers(1, 3), st.integers(1, 6), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_any_numbers(data: st.DataObject, m: int, k: int, n: int) -> None:
    a = np.array(data.draw(st.lists(finite, min_size=m * k, max_size=m * k))).reshape(m, k)
    b = np.array(data.draw(st.lists(finite, min_size=k * n, max_size=k * n))).reshape(k, n)
    made = exact_product(a, b)
    for at, number in np.ndenumerate(product_of(a, b)):
        assert made.hi[at] == float(number)
        missing = abs(rational(made, at) - number)
        assert missing <= max(abs(number) / 2**105, Fraction(1, 2**1075))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("low", [2.0**-80, -(2.0**-80)])
@pytest.mark.parametrize("number", [2.0**54 + 4, 2.0**54 + 8])
def test_what_even_the_second_number_lost_decides_a_tie(number: float, low: float, sign: float) -> None:
    a, b = sign * np.array([[number, 2.0, low]]), np.ones((3, 1))
    made = exact_product(a, b)
    exact = sum(map(Fraction, a[0]))
    assert made.hi[0, 0] == float(exact)
    assert rational(made, (0, 0)) == exact - Fraction(sign * low)


def test_a_range_beyond_slices_goes_through_integers() -> None:
    stream = Stream(3, "range")
    a, b = wide(stream, (2, 9), 53, 450), wide(stream, (9, 2), 53, 40)
    a[0, 0], a[1, 1] = 2.0**-1000, 2.0**900
    assert holds(a, b) == 0
    a[:], b[:] = 2.0**-1074, 0.75
    assert (exact_product(a, b).hi == 7 * 2.0**-1074).all()  # 9 x 0.75 = 6.75


@pytest.mark.parametrize("shape", [(0, 3, 2), (2, 0, 3), (2, 3, 0)])
def test_nothing_makes_zeros(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    made = exact_product(np.ones((m, k)), np.ones((k, n)))
    assert made.hi.shape == made.lo.shape == (m, n)
    assert not made.hi.any()


def test_columns_come_in_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(4, "panels")
    a, b = wide(stream, (3, 40), 53, 3), wide(stream, (40, 70), 53, 3)
    whole = exact_product(a, b)
    monkeypatch.setattr(exact, "PANEL", 64)
    parts = exact_product(a, b)
    assert (whole.hi == parts.hi).all() and (whole.lo == parts.lo).all()


def full(length: int, bits: int) -> tuple[Array, Array]:
    """One-signed integers of so many bits, all ones but for one: their product is odd, and as large as it can be."""
    a, b = np.full((1, length), 2.0**bits - 1), np.full((length, 1), 2.0**bits - 1)
    b[0, 0] -= 1.0
    return a, b


@pytest.mark.parametrize("length", [1, 2, 3, 32, 1000, 4096])
@pytest.mark.parametrize("bits", [4, 21, 24, 27, 53])
def test_no_partial_sum_leaves_the_integers(length: int, bits: int) -> None:
    a, b = full(length, bits)
    span = bits
    width_a, width_b = slice_widths(span, span, length)
    parts_a = slices(np.ldexp(a, -bits), span, width_a)
    parts_b = slices(np.ldexp(b, -bits), span, width_b)
    assert (sum(part for _, part in parts_a) == np.ldexp(a, -bits)).all()
    for grid_a, part_a in parts_a:
        for grid_b, part_b in parts_b:
            whole_a = [int(x) for x in np.ldexp(np.abs(part_a), -grid_a).ravel()]
            whole_b = [int(x) for x in np.ldexp(np.abs(part_b), -grid_b).ravel()]
            assert (np.ldexp(part_a, -grid_a) % 1 == 0).all() and (np.ldexp(part_b, -grid_b) % 1 == 0).all()
            assert sum(x * y for x, y in zip(whole_a, whole_b, strict=True)) <= 2**53
    holds(a, b)


@pytest.mark.parametrize("more", [1, 2])
def test_mutant_slices_with_a_bit_more_are_caught(monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    monkeypatch.setattr(exact, "EXACT_BITS", 53 + more)
    caught = 0
    for bits in range(20, 28):
        a, b = full(1 << 12, bits)
        caught += rational(exact_product(a, b), (0, 0)) != product_of(a, b)[0, 0]
    assert caught


@pytest.mark.parametrize("mutant", ["slice", "error", "least"])
def test_mutants_that_drop_bits_are_caught(monkeypatch: pytest.MonkeyPatch, mutant: str) -> None:
    if mutant == "slice":
        count = exact._count
        monkeypatch.setattr(exact, "_count", lambda span, width: max(1, count(span, width) - 1))
    elif mutant == "error":
        monkeypatch.setattr(exact, "two_sum", lambda x, y: (x + y, np.zeros_like(x + y)))
    else:
        add = exact._add_digits
        monkeypatch.setattr(exact, "_add_digits", lambda *given: add(*given) if given[-1] else None)
    stream = Stream(5, "mutants")
    with pytest.raises(AssertionError):
        holds(wide(stream, (3, 40), 53, 8), wide(stream, (40, 3), 53, 8))


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match=r"a and b must fit: a is \(2, 3\), b is \(2, 3\)"):
        exact_product(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"b must be a matrix, not of shape \(3,\)"):
        exact_product(np.ones((2, 3)), np.ones(3))
    with pytest.raises(ValueError, match="a must be finite"):
        exact_product(np.array([[np.nan]]), np.ones((1, 1)))
    with pytest.raises(ValueError, match=r"below 2\^1024"):
        exact_product(np.array([[2.0**600]]), np.array([[2.0**600]]))
    with pytest.raises(ValueError, match=r"below 2\^1024"):
        times(DoubleDouble.of(np.array([2.0**600])), np.array(2.0**600))


@given(st.lists(finite, min_size=4, max_size=4), st.sampled_from([0.0, 2.0**-53, 2.0**-106, 1.0, 2.0**-170]))
@settings(max_examples=300, deadline=None)
def test_differences_are_right_however_much_cancels(numbers: list[float], part: float) -> None:
    def pair(hi: float, lo: float) -> DoubleDouble:
        total = hi + lo * 2.0**-60
        return DoubleDouble(np.array([total]), np.array([lo * 2.0**-60 - (total - hi)]))

    first, second = pair(*numbers[:2]), pair(*numbers[2:])
    close = pair(numbers[0], numbers[1] * (1 - part))
    for x, y in ((first, second), (first, close), (close, first), (first, first), (first, DoubleDouble.of(first.hi))):
        right = rational(x, 0) - rational(y, 0)
        assert abs(fraction(difference(x, y)[0]) - right) <= abs(right) / 2**50


@given(finite, finite, st.floats(2.0**-300, 2.0**300), st.booleans())
@settings(max_examples=200, deadline=None)
def test_products_with_a_factor(hi: float, lo: float, factor: float, negative: bool) -> None:
    total = hi + lo * 2.0**-60
    x = DoubleDouble(np.array([[total]]), np.array([[lo * 2.0**-60 - (total - hi)]]))
    factor = -factor if negative else factor
    made, right = times(x, np.array(factor)), rational(x, (0, 0)) * Fraction(factor)
    assert abs(rational(made, (0, 0)) - right) <= max(abs(right) / 2**100, Fraction(1, 2**1073))


def test_magnitudes_are_sums_of_magnitudes() -> None:
    stream = Stream(6, "magnitude")
    a, b = wide(stream, (3, 50), 53, 20), wide(stream, (50, 2), 53, 20)
    right = product_of(np.abs(a), np.abs(b))
    assert [[float(x) for x in row] for row in right] == magnitude(a, b).tolist()
