"""What directed cases are solved with: landmarks, palettes of products, and the solver."""

import numpy as np
import pytest
from cases.vectors_measure import NAMES, suite, unit_of

from hwsim.cases.palette import Palette, exact_code, infinities, is_finite, nans, negate, numbers, zeros
from hwsim.cases.solver import CaseBuilder
from hwsim.formats import Class, FloatFormat, formats, get_format, parse, unpack

FNUZ = parse({"name": "fnuz", "kind": "float", "exponent_bits": 4, "fraction_bits": 3, "bias": 8, "nan": [0x80],
              "signed_zero": False})  # fmt: skip
FLAT = parse({"name": "flat", "kind": "float", "exponent_bits": 4, "fraction_bits": 3, "bias": 7, "subnormals": False})
FLOATS = [*(fmt for fmt in formats().values() if isinstance(fmt, FloatFormat)), FNUZ, FLAT]


def codes(fmt):
    """Every code of a narrow format, some of a wide one."""
    step = 1 if fmt.bits <= 8 else 13 if fmt.bits <= 16 else (1 << fmt.bits) // 4099
    return [code << fmt.padding for code in range(0, 1 << fmt.bits, step)]


@pytest.mark.parametrize("fmt", FLOATS, ids=lambda fmt: fmt.name)
def test_exact_code_undoes_unpack(fmt):
    for code in codes(fmt):
        sign, exp, sig, cls = unpack(fmt, code)
        if cls in (Class.NORMAL, Class.SUBNORMAL):
            for up in (0, 1, 7):
                assert exact_code(fmt, sign, sig << up, exp - fmt.fraction_bits - up) == code


@pytest.mark.parametrize("fmt", FLOATS, ids=lambda fmt: fmt.name)
def test_exact_code_is_none_between_numbers(fmt):
    """Of the number half way to the next, of twice the largest, and of half the least."""
    for code in codes(fmt):
        sign, exp, sig, cls = unpack(fmt, code)
        if cls in (Class.NORMAL, Class.SUBNORMAL):
            assert exact_code(fmt, sign, 2 * sig + 1, exp - fmt.fraction_bits - 1) is None
    assert exact_code(fmt, 0, 1, fmt.emax + 1) is None
    assert exact_code(fmt, 0, 1, fmt.emin - fmt.fraction_bits - 1) is None


@pytest.mark.parametrize("fmt", [*formats().values(), FNUZ, FLAT], ids=lambda fmt: fmt.name)
def test_landmarks_are_what_their_names_say(fmt):
    if fmt.kind == "exponent":
        assert [unpack(fmt, code).cls for code in nans(fmt)] == [Class.NAN]
        return
    assert {unpack(fmt, code).cls for code in zeros(fmt)} == {Class.ZERO}
    assert {unpack(fmt, code).cls for code in nans(fmt)} <= {Class.NAN}
    assert {unpack(fmt, code).cls for code in infinities(fmt)} <= {Class.INFINITY}
    values = fmt.decode(list(numbers(fmt).values()))
    assert (values > 0).all()
    assert np.isfinite(values).all()
    assert values.max() == fmt.decode(fmt.encode(np.inf))
    assert bool(nans(fmt)) == fmt.has_nan
    assert bool(infinities(fmt)) == fmt.infinities


@pytest.mark.parametrize("fmt", [get_format("e4m3"), get_format("mxint8"), FNUZ, FLAT], ids=lambda fmt: fmt.name)
def test_negate_changes_the_sign_alone(fmt):
    for code in codes(fmt):
        other = negate(fmt, code)
        if other is not None and is_finite(fmt, code):
            assert fmt.decode(other) == -fmt.decode(code)
    # The only numbers without an opposite are fnuz's zero and NaN, and the least of two's complement.
    alone = [code for code in codes(fmt) if negate(fmt, code) is None]
    assert alone == {"fnuz": [0, 0x80], "mxint8": [0x80]}.get(fmt.name, [])


@pytest.mark.parametrize("name", NAMES)
def test_a_palette_has_every_product_once(name):
    reference = suite(name).reference
    palette = Palette(unit_of(name).operands.a, unit_of(name).operands.b)
    assert palette.exps == sorted(reference)
    for exp, sigs in reference.items():
        found = [(one.sign, one.sig) for sign in (0, 1) for one in palette.of(sign, exp)]
        assert len(set(found)) == len(found)
        assert set(found) == sigs
        for one in palette.of(1, exp):
            term = suite(name).definition.product(one.a, one.b)
            assert (term.sign, term.exp, term.sig) == (1, exp, one.sig)


@pytest.mark.parametrize("name", ["f16", "bf16", "tf32"])
def test_a_wide_palette_has_products_of_every_exponent(name):
    fmt = get_format(name)
    palette = Palette(fmt, fmt)
    assert palette.exps == list(range(2 * fmt.emin, 2 * fmt.emax + 1))
    largest = (2 << fmt.fraction_bits) - 1
    assert palette.largest(0, 2 * fmt.emax).sig == largest * largest
    assert palette.of(0, 2 * fmt.emin)[0].sig == 1
    for exp in palette.exps[:: len(palette.exps) // 7]:
        for one in palette.of(1, exp)[::50]:
            x, y = unpack(fmt, one.a), unpack(fmt, one.b)
            assert (x.sign ^ y.sign, x.exp + y.exp, x.sig * y.sig) == (1, exp, one.sig)


@pytest.mark.parametrize("name", ["hopper-wgmma-e4m3-f32", "hopper-wgmma-e5m2-f32", "mxint8-f32"])
def test_decompositions_have_the_sum_that_was_asked_for(name):
    bench = CaseBuilder(unit_of(name), 0)
    palette = bench.palette
    top = palette.exps[-3] if len(palette.exps) > 3 else palette.exps[-1]
    lsb, found = top - 12, 0
    for total in [*range(-5000, 5000, 37), (1 << 16) - 1, -(1 << 15)]:
        products = palette.decompose(total, top, lsb, 32)
        if products is not None:
            found += 1
            places = [one.exp - palette.fraction_bits - lsb for one in products]
            signed = [-one.sig if one.sign else one.sig for one in products]
            assert sum(sig * 2**place for sig, place in zip(signed, places, strict=True)) == total
            assert max(one.exp for one in products) == top
            assert len(products) <= 32
    assert found > 250


def test_powers_are_powers():
    palette = Palette(get_format("e4m3"), get_format("e4m3"))
    for exponent in range(-18, 17):
        for one in palette.powers(0, exponent):
            assert one.sig * 2.0 ** (one.exp - 6) == 2.0**exponent
    assert not palette.powers(0, -19)


@pytest.mark.parametrize("name", NAMES)
def test_addends_are_what_was_asked_for(name):
    """Brought by c, or left by a beat before: the definition decides."""
    bench = CaseBuilder(unit_of(name), 0)
    for sign in (0, 1):
        addend = bench.addend(sign, 0b1011, 0)
        term = addend.term
        assert (term.sign, term.sig * 2.0 ** (term.exp - term.fraction_bits)) == (sign, 11)
        bench.add_beat(f"beside{sign}", [], addend)
    definition = bench.definition
    for case in bench.cases:
        scales = ([127] * len(case.a),) * 2 if bench.unit.scale else ()
        groups = definition.dot(case.a, case.b, case.c, *scales).groups
        if len(groups) == 1:
            assert groups[-1].addend.sig
        else:
            assert bench.unit.promotion


def test_two_cases_of_one_name_are_refused():
    bench = CaseBuilder(unit_of("hopper-wgmma-e4m3-f32"), 0)
    assert bench.add_beat("a", [])
    with pytest.raises(ValueError, match="two cases are named a"):
        bench.add_beat("a", [])


def test_what_does_not_fit_is_refused():
    bench = CaseBuilder(unit_of("hopper-wgmma-e4m3-f32"), 0)
    one = bench.palette.of(0, 0)[0]
    assert not bench.add_beat("many", [one] * 33)
    assert bench.cases == []
