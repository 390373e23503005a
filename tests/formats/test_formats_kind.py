"""What every kind of format answers, against its codes one by one."""

import math
from fractions import Fraction

import numpy as np
import pytest
from formats.formats_witness import EVERY

from hwsim.formats import Class, FloatFormat, unpack

SMALL = [name for name, fmt in EVERY.items() if fmt.bits <= 12]


def every(fmt):
    """The fields of every code, by the code as it is stored."""
    return {code << fmt.padding: unpack(fmt, code << fmt.padding) for code in range(1 << fmt.bits)}


def number(fmt, fields):
    return (-1) ** fields.sign * Fraction(fields.sig) * Fraction(2) ** (fields.exp - fmt.fraction_bits)


@pytest.mark.parametrize("name", SMALL)
def test_a_format_s_answers_are_those_of_its_codes(name):
    check_answers(EVERY[name])


def check_answers(fmt):
    codes = every(fmt)
    finite = {code: fields for code, fields in codes.items() if fields.cls not in (Class.NAN, Class.INFINITY)}
    values = {code: number(fmt, fields) for code, fields in finite.items()}
    assert fmt.has_nan == any(fields.cls is Class.NAN for fields in codes.values())
    assert fmt.has_nan == (fmt.canonical_nan is not None)
    assert fmt.infinities == any(fields.cls is Class.INFINITY for fields in codes.values())
    assert fmt.subnormals == any(fields.cls is Class.SUBNORMAL for fields in codes.values()) or not fmt.fraction_bits
    zeros = [fields.sign for fields in finite.values() if fields.cls is Class.ZERO]
    assert (fmt.has_zero, fmt.signed_zero) == (0 in zeros, 1 in zeros)
    assert fmt.signed == any(value < 0 for value in values.values())
    assert fmt.largest == max(values.values()) == values[fmt.max_code]
    assert abs(values[fmt.min_code]) == min(map(abs, values.values()))
    assert fmt.emax == max(fields.exp for fields in finite.values())
    widest = max(fields.sig for fields in finite.values()).bit_length()
    assert fmt.sig_bits == widest + all(fields.cls is not Class.NORMAL for fields in finite.values())
    if isinstance(fmt, FloatFormat):
        assert fmt.max_magnitude << fmt.padding == fmt.max_code
        if fmt.fraction_bits or fmt.subnormals:  # else the lowest binade holds zero alone
            assert fmt.emin == min(f.exp for f in finite.values() if f.cls is not Class.ZERO or fmt.subnormals)
        if fmt.signed:
            assert sorted(v for v in values.values() if v) == sorted(-v for v in values.values() if v)


@pytest.mark.parametrize("name", SMALL)
def test_values_are_multiples_of_the_quantum_with_the_precision(name):
    fmt = EVERY[name]
    values = [abs(number(fmt, fields)) for fields in every(fmt).values() if fields.sig]
    in_quanta = [value / Fraction(2) ** fmt.quantum_exp for value in values]
    assert all(count.denominator == 1 for count in in_quanta)
    if fmt.fraction_bits or fmt.subnormals:  # else the lowest binade holds zero alone
        assert math.gcd(*(count.numerator for count in in_quanta)) == 1
    trimmed = [(count.numerator // (count.numerator & -count.numerator)).bit_length() for count in in_quanta]
    assert fmt.precision == max(trimmed)


@pytest.mark.parametrize("name", EVERY)
def test_the_kinds_differ_in_what_their_codes_are(name):
    fmt = EVERY[name]
    low = np.arange(min(1 << fmt.bits, 64)) << fmt.padding
    doubles = np.all(fmt.decode(low[4:]) == 2 * fmt.decode(low[3:-1]))
    assert fmt.powers_of_two == bool(doubles and not fmt.has_zero)
    top = (1 << fmt.bits) - 1 << fmt.padding
    minus_one_step = fmt.twos_complement and fmt.decode(top) == -(2.0**fmt.quantum_exp)
    assert fmt.twos_complement == bool(minus_one_step)
