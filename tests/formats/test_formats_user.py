"""Any format that validates has an exact codec: random formats and numbers, against the witness."""

import math
from fractions import Fraction

import numpy as np
import pytest
from formats.formats_witness import EVERY, ROUNDINGS, expected, largest_rung, overflows, rung_value
from formats.test_formats_kind import check_answers
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hwsim.formats import Class, ExponentFormat, FixedFormat, parse, unpack

SETTINGS = settings(max_examples=150, deadline=None, derandomize=True)


@st.composite
def float_formats(draw):
    exponent_bits = draw(st.integers(1, 6) | st.sampled_from([8, 11]))
    signed = draw(st.booleans())
    fraction_bits = draw(st.integers(0, 6) | st.integers(0, 31 - exponent_bits).filter(lambda bits: bits <= 28))
    top = (1 << exponent_bits) - 1
    bias = draw(st.just(top // 2) | st.integers(max(top - 1024, -40), min(max(1075 - fraction_bits, 1024), top + 40)))
    magnitudes = 1 << (exponent_bits + fraction_bits)
    special = draw(st.sampled_from(["none", "ieee", "top", "negative zero", "infinity"]))
    fields = {"signed_zero": signed}
    if special == "ieee" and fraction_bits:
        fields |= {"nan": "ieee", "infinities": True}
    elif special == "infinity" and not fraction_bits:
        fields |= {"infinities": True}
    elif special == "negative zero" and signed:
        fields |= {"nan": [magnitudes], "signed_zero": False}
    elif special == "top":
        count = draw(st.integers(1, 3))
        codes = [code for code in range(magnitudes - count, magnitudes) if code > 1]
        fields |= {"nan": codes + [code + magnitudes for code in codes] * signed}
    if special in ("negative zero", "top"):
        fields |= {"infinities": draw(st.booleans())}
    subnormals = draw(st.booleans())
    if not subnormals:
        fields |= {"underflow": draw(st.sampled_from(["nearby", "zero"]))}
    bits = signed + exponent_bits + fraction_bits
    container = draw(st.sampled_from([None, *[width for width in (8, 16, 32) if width >= bits]]))
    data = {"name": "random", "kind": "float", "signed": signed, "subnormals": subnormals, "bias": bias}
    return build(
        {**data, **fields, "exponent_bits": exponent_bits, "fraction_bits": fraction_bits, "container": container}
    )


def build(data):
    """The format, or None where the draw broke a rule (almost none does)."""
    try:
        return parse(data)
    except ValidationError:
        return None


@st.composite
def exponent_formats(draw):
    bits, count = draw(st.integers(2, 9)), draw(st.integers(0, 2))
    nan = tuple(range(count)) if draw(st.booleans()) else tuple(range((1 << bits) - count, 1 << bits))
    return ExponentFormat(name="random", exponent_bits=bits, bias=draw(st.integers(-500, 1000)), nan=nan)


fixed_formats = st.builds(
    lambda integer, fraction: FixedFormat(name="random", integer_bits=integer, fraction_bits=fraction),
    st.integers(0, 15),
    st.integers(0, 16),
)
floats = float_formats().filter(lambda fmt: fmt is not None)
formats = floats | floats | fixed_formats | exponent_formats()


@st.composite
def numbers(draw, fmt):
    """Rationals next to codes and midpoints, anywhere, and far out."""
    end = largest_rung(fmt, False) + 1
    rung = draw(st.integers(0, end) | st.integers(0, min(end, 40)) | st.integers(max(0, end - 40), end))
    if isinstance(fmt, ExponentFormat):
        rung = draw(st.integers(max(1, end - (1 << fmt.bits) - 20), end))
    low, high = rung_value(fmt, rung), rung_value(fmt, rung + 1)
    near = low + (high - low) * draw(st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1)]))
    nudge = Fraction(draw(st.integers(-2, 2)), 2 ** draw(st.sampled_from([3, 30, 52, 80, 1200])))
    far = draw(st.sampled_from([Fraction(1), Fraction(1), Fraction(1), Fraction(2**1500), Fraction(1, 2**1500)]))
    sign = draw(st.sampled_from([1, -1]))
    return sign * near * (1 + nudge) * far


@SETTINGS
@given(st.data(), formats, st.sampled_from(ROUNDINGS))
def test_encode_of_a_fraction_in_any_format(data, fmt, mode):
    x = data.draw(numbers(fmt))
    overflow = data.draw(st.sampled_from(overflows(fmt)))
    want = expected(fmt, x, mode, overflow)
    if want is None:
        with pytest.raises(ValueError, match="for which random has no code"):
            fmt.encode(x, mode, overflow)
    else:
        assert fmt.encode(x, mode, overflow) == want


@SETTINGS
@given(st.data(), formats, st.sampled_from(ROUNDINGS), st.floats(allow_nan=False))
def test_encode_of_a_float_in_any_format(data, fmt, mode, wild):
    near = data.draw(numbers(fmt))
    x = float(near) if abs(near) < 2**1000 and data.draw(st.booleans()) else wild
    overflow = data.draw(st.sampled_from(overflows(fmt)))
    want = expected(fmt, x, mode, overflow)
    if want is None:
        with pytest.raises(ValueError, match="for which random has no code"):
            fmt.encode(np.array([x]), mode, overflow)
    else:
        assert fmt.encode(np.array([x]), mode, overflow).tolist() == [want]


@SETTINGS
@given(formats)
@example(EVERY["e5m0"])
@example(EVERY["e5m0nosub"])
def test_codes_of_any_format_decode_and_come_back(fmt):
    codes = np.arange(0, 1 << fmt.bits, max(1, (1 << fmt.bits) // 101)) << fmt.padding
    values = fmt.decode(codes)
    for code, value in zip(codes.tolist(), values.tolist(), strict=True):
        sign, exp, sig, cls = unpack(fmt, code)
        if cls is Class.NAN:
            assert math.isnan(value)
            continue
        unit = 0 if isinstance(fmt, ExponentFormat) else fmt.fraction_bits
        want = math.inf if cls is Class.INFINITY else math.ldexp(sig, exp - unit)
        assert (value, math.copysign(1, value)) == (-want if sign else want, -1 if sign else 1)
    numbers = ~np.isnan(values)
    back = fmt.encode(values[numbers], "rto", "infinity" if fmt.infinities else "saturate")
    assert np.array_equal(back, codes[numbers])


@settings(SETTINGS, max_examples=60)
@given(floats.filter(lambda fmt: fmt.bits <= 12))
def test_the_properties_of_a_format_are_those_of_its_codes(fmt):
    check_answers(fmt)


@pytest.mark.slow
@settings(SETTINGS, max_examples=1000)
@given(floats.filter(lambda fmt: fmt.bits <= 14))
def test_the_properties_of_more_formats_are_those_of_their_codes(fmt):
    check_answers(fmt)
