"""Cases that are solved for: what a unit can reach, sensitive cases, rows of lost bits, and what is refused."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from cases.vectors_measure import NAMES, suite, unit_of
from unit_keys import odd_unit, window

from hwsim.cases.bins.facts import range_report
from hwsim.cases.case import dot, draws, one_window, supports, term_scales, window_of, windows
from hwsim.cases.matrices import gemm_problem
from hwsim.cases.palette import Palette, exact_code, infinities, is_finite, nans, negate, numbers, zeros
from hwsim.cases.random_cases import random_cases
from hwsim.cases.sensitive import sensitive
from hwsim.cases.solver import CaseBuilder
from hwsim.cosim.vectors.plan import plan as set_plan
from hwsim.formats import Class, FloatFormat, formats, get_format, parse, unpack
from hwsim.model.definition import Definition, definition_of
from hwsim.spec import NotImplementedYet, Unit, load_unit, presets

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


@pytest.mark.parametrize(
    "name",
    ["hopper-wgmma-e4m3-f32", "hopper-wgmma-e5m2-f32", "hopper-wgmma-e4m3xe5m2-f32", "ada-mma-e4m3-f32",
     "ada-mma-e5m2-f32", "deepseek-v3-e4m3-f32"],
)  # fmt: skip
def test_fp8_without_scales_reaches_neither_end_of_binary32(name):
    report = range_report(load_unit(name))
    assert (report.overflow, report.underflow) == (False, False)
    assert (report.overflow_witness, report.underflow_witness) == (None, None)
    assert "2^-126" in report.reasons[1]


def altered(**parts):
    """Hopper's e4m3 unit with settings of some parts changed."""
    unit = load_unit("hopper-wgmma-e4m3-f32")
    new = {name: getattr(unit, name).model_copy(update=settings) for name, settings in parts.items()}
    return Unit.model_validate(unit.model_dump(mode="json") | {k: v.model_dump(mode="json") for k, v in new.items()})


def witnessed(unit):
    """A report whose witnesses do what they are for, checked through the definition."""
    report, definition = range_report(unit), Definition(unit)
    for case, claimed, flag in (
        (report.overflow_witness, report.overflow, "overflow"),
        (report.underflow_witness, report.underflow, "tiny"),
    ):
        assert (case is not None) == claimed
        if case is not None:
            group = definition.dot(case.a, case.b, case.c, *term_scales(unit, case)).groups[-1]
            assert getattr(group.rounded, flag)
            assert flag == "overflow" or group.total
    return report


@pytest.mark.parametrize("lost", ["floor", "jam"])
def test_bits_lost_upwards_reach_overflow(lost):
    """The largest addend, and products that are lost: each still takes a place away, or adds one."""
    report = witnessed(altered(sum={"lost": lost}))
    assert (report.overflow, report.underflow) == (True, False)


def test_truncation_and_rounding_to_nearest():
    assert not witnessed(altered(sum={"lost": "truncate"})).overflow
    # The largest binary32 rounds up to 2^128 where the window or the result has fewer bits.
    assert witnessed(altered(sum={"lost": "rne"})).overflow
    assert not witnessed(altered(result={"rounding": "rne"})).overflow
    assert witnessed(altered(sum={"fraction_bits": 20}, result={"rounding": "rne"})).overflow


def test_binary16_results_are_left_at_both_ends():
    report = witnessed(unit_of("odd-e4m3-f16"))
    assert (report.overflow, report.underflow) == (True, True)


@pytest.mark.parametrize("name", ["mxfp8-e4m3-f32", "mxfp4-e2m1-f32", "mxint8-f32", "mxfp8-e5m2-f32"])
def test_scales_reach_both_ends(name):
    report = witnessed(load_unit(name))
    assert (report.overflow, report.underflow) == (True, True)


def tiny(lanes=2, addend="result", chain=None, window=3, lost="truncate", rounding="rz", **fmt):
    """A few lanes of e2m1 with a result of six bits or so: small enough to try every sum. fmt: parts of its format."""
    small = {"name": "small", "kind": "float", "exponent_bits": 3, "fraction_bits": 2, "bias": 3}
    result = parse({**small, "infinities": True, "nan": "ieee", **fmt})
    return Unit.model_validate(
        {
            "unit": "tiny",
            "operands": {"a": "e2m1", "b": "e2m1", "addend": result if addend == "result" else addend},
            "instruction": {"k": lanes, "lanes": lanes, "chain": chain},
            "sum": {"method": "aligned", "fraction_bits": window, "lost": lost},
            "result": {"format": result, "rounding": rounding},
        }
    )


def every_sum(unit):
    """Whether any sum overflows, and whether any in which a product counts is tiny, over all operands of one beat.

    Distinct products stand for all pairs of codes that make them, and their order does not matter.
    """
    definition = Definition(unit)
    codes = range(1 << unit.operands.a.bits)
    of = {definition.product(x, y): (x, y) for x, y in product(codes, codes)}
    pairs = [of[term] for term in of if term.cls is not Class.ZERO or term.sign == 0]
    addend = unit.operands.addend
    finite = [c for c in range(1 << addend.bits) if not _special(definition, c)] if addend else [0]
    overflow = underflow = False
    for chosen in combinations_with_replacement(pairs, unit.instruction.lanes):
        a, b = zip(*chosen, strict=True)
        for c in finite:
            group = definition.group(a, b, definition.addend(c))
            overflow |= group.overflow
            underflow |= group.rounded.tiny and any(group.aligned[: len(a)])
        if overflow and underflow:
            break
    return overflow, underflow


def _special(definition, code):
    return definition.addend(code).cls in (Class.NAN, Class.INFINITY)


RULES = [(3, "truncate", "rz"), (1, "jam", "rne"), (4, "floor", "ru")]
SUMS = [(*rule, bias, lanes) for rule in RULES for bias in (-2, 1, 3, 6) for lanes in (1, 2)]


@pytest.mark.parametrize(("window", "lost", "rounding", "bias", "lanes"), others_slow(SUMS, SUMS[5::5]))
def test_reports_agree_with_every_sum(window, lost, rounding, bias, lanes):
    """Of results that are too small for the products, too large for them, and neither."""
    unit = tiny(lanes=lanes, bias=bias, window=window, lost=lost, rounding=rounding)
    report = witnessed(unit)
    assert (report.overflow, report.underflow) == every_sum(unit)


@pytest.mark.parametrize("bias", [-3, -1, 0, 1, 3])
def test_reports_agree_with_every_sum_without_an_addend(bias):
    unit = tiny(addend=None, bias=bias, exponent_bits=4, lanes=2)
    report = witnessed(unit)
    assert (report.overflow, report.underflow) == every_sum(unit)


def test_both_answers_are_among_the_tiny_units():
    """Else the comparison above would say nothing."""
    reports = [range_report(tiny(bias=bias)) for bias in (-2, 1, 3, 6)]
    assert {report.overflow for report in reports} == {True, False} or {r.underflow for r in reports} == {True, False}


@pytest.mark.parametrize(("chain", "over"), [(None, False), ("addend", True)])
def test_a_chain_overflows_where_one_beat_does_not(chain, over):
    """6 * 6 * 2 = 72 in a format up to 240: four beats of it are too much, and one is not."""
    unit = tiny(addend=None, chain=chain, exponent_bits=4, bias=7, fraction_bits=3, window=8)
    report = range_report(unit)
    assert report.overflow == over
    if over:
        groups = Definition(unit).dot(report.overflow_witness.a, report.overflow_witness.b).groups
        assert [group.overflow for group in groups] == [False, False, False, True]


def test_a_chain_that_stands_still_does_not_overflow():
    """Products that are lost below a large enough partial sum: the bound holds for any number of beats."""
    unit = tiny(addend=None, chain="addend", exponent_bits=5, bias=15)
    report = range_report(unit)
    assert not report.overflow
    assert "however many beats" in report.reasons[0]


UNITS: dict[str, tuple[str, str, int, int, str]] = {
    # Factors, addend, lanes, fraction bits, result. The window ends far below the last place of a narrow result.
    "wide": ("e5m2", "bf16", 8, 20, "bf16"),
    "wider than a word": ("e2m1", "f16", 2, 35, "f16"),
    "wider than two words": ("e2m1", "f16", 4, 75, "bf16"),
    # Places of the window, and distances at which one bit says that a term is far, are the same.
    "none": ("e2m1", "f32", 2, 0, "f16"),
}


def unit_named(name: str, **result: Any) -> Unit:
    factors, addend, lanes, bits, fmt = UNITS[name]
    return Unit.model_validate(
        {
            "unit": name.replace(" ", "-"),
            "operands": {"a": factors, "b": factors, "addend": addend},
            "instruction": {"k": lanes, "lanes": lanes},
            "sum": {"method": "aligned", "fraction_bits": bits},
            "result": {"format": fmt, "rounding": "rne", **result},
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rounding"),
    [("wide", "rne"), ("wider than a word", "rto"), ("wider than two words", "rd"), ("none", "rz")],
)
def test_each_has_cases_that_the_unit_takes(name: str, rounding: str) -> None:
    some = unit_named(name, rounding=rounding)
    cases = sensitive(some, 1)
    assert len({case.id for case in cases}) == len(cases) > 100
    codes = {dot(definition_of(some), case).code for case in cases[:: max(1, len(cases) // 100)]}
    assert len(codes) > 20


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("cdna3-mfma-e4m3fnuz-f32", "sum.method: even-odd"),
        ("cdna2-mfma-bf16-f32", "sum.method: pairwise"),
        ("exact-e4m3-f32", "sum.method: exact"),
        ("hfp8-forward-e4m3-dlfloat16", "sum.method: sequential"),
        ("hopper-mma-e4m3-f16", "operands.convert"),
        ("blackwell-mma-e4m3-f32", "sum.addend: late"),
        ("blackwell-mxf4nvf4-e2m1-f32", "sum.subgroup"),
    ],
)
def test_units_of_other_rules_have_no_window_bins(name, lacks):
    unit = load_unit(name)
    assert lacks in windows(unit).lacks
    assert supports(unit)
    assert not one_window(unit)
    with pytest.raises(NotImplementedYet, match=f"unit {name}: .* is in the model, but has no window bins"):
        window_of(unit)


def test_every_preset_with_window_bins_has_one_window():
    supported = [unit for unit in map(load_unit, presets()) if one_window(unit)]
    assert len(supported) > 50
    assert all(window_of(unit) is unit.sum for unit in supported)
    assert {"hopper-wgmma-e4m3-f32", "mxint8-f32", "deepseek-v3-e4m3-f32"} <= {unit.name for unit in supported}


def test_units_with_codes_of_64_bits_have_cases_and_no_window_bins():
    unit = odd_unit("wide", "f64", "f64", window(60), "f64", 2)
    assert draws(unit) and supports(unit)
    assert windows(unit).lacks == ("operands.a: f64", "operands.b: f64", "operands.addend: f64", "result.format: f64")
    with pytest.raises(NotImplementedYet, match=r"unit wide: operands\.a: f64 is in the model, but has no window bins"):
        window_of(unit)
    assert all(draws(load_unit(name)) for name in presets())


def test_what_no_implementation_has_has_no_cases():
    data = load_unit("hopper-wgmma-e4m3-f32").model_dump(mode="json", exclude_unset=True)
    unit = Unit.model_validate({**data, "operands": {"a": "ue4m3", "b": "e4m3", "addend": "f32"}})
    message = "unit hopper-wgmma-e4m3-f32: unsigned factors is not implemented yet"
    of_sets = [lambda suite=suite: set_plan(unit, suite, 1) for suite in ("smoke", "random", "gemm")]
    for refused in (lambda: random_cases(unit, 1, 1), lambda: gemm_problem(unit, 2, 2, 2, 1), *of_sets):
        with pytest.raises(NotImplementedYet, match=message):
            refused()
