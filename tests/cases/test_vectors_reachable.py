"""What can leave the result's range, against every sum of tiny units, and with witnesses that do."""

from itertools import combinations_with_replacement, product

import pytest
from built_presets import others_slow
from cases.vectors_measure import unit_of

from hwsim.cases.bins.facts import range_report
from hwsim.cases.case import term_scales
from hwsim.formats import Class, parse
from hwsim.model.definition import Definition
from hwsim.spec import Unit, load_unit


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
# No sum of these is tiny, so that all are tried; one of that kind is enough.
SOAKED = {(1, "jam", "rne", 3, 2), (1, "jam", "rne", 6, 2), (4, "floor", "ru", 6, 2)}


@pytest.mark.parametrize(
    ("window", "lost", "rounding", "bias", "lanes"),
    others_slow(SUMS, [rule for rule in SUMS if rule not in SOAKED][::3]),
)
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
