"""Bounds: never exceeded by any preset, near what the worst data reach, and mutants that the worst data exceed."""

from __future__ import annotations

from math import lcm
from typing import Any

import numpy as np
import pytest
from built_presets import one_of_each_family, others_slow
from odd_units import ODD
from odd_units import unit as odd_unit
from study.study_units import Given, operands, positive

from hwsim.cases.drawing import Stream
from hwsim.formats import FloatFormat
from hwsim.spec import Unit, load_unit, presets
from hwsim.study.accuracy import bounds as module
from hwsim.study.accuracy.bounds import bounds, counted_magnitude, overflow_limit, worst_errors
from hwsim.study.accuracy.exact import DoubleDouble, difference
from hwsim.study.accuracy.measures import trial_measures
from hwsim.study.plan.study import measurable

pytestmark = pytest.mark.filterwarnings("error")


def full(fmt: Any, most: float) -> Any:
    """Positive codes below `most` whose fraction is all ones: what loses most where it is cut."""
    codes = np.arange(1 << fmt.container_bits - fmt.padding) << fmt.padding if fmt.container_bits <= 16 else None
    if codes is None or not isinstance(fmt, FloatFormat):
        values = (2 - 2.0**-fmt.fraction_bits) * 2.0 ** np.arange(-12, np.log2(most))
        return np.unique(fmt.encode(values))
    values = fmt.decode(codes)
    ones = (codes >> fmt.padding & ((1 << fmt.fraction_bits) - 1)) == (1 << fmt.fraction_bits) - 1
    return codes[np.isfinite(values) & (values > 0) & ones & (values < most) & (values > 2.0**-13)]


def straddling(unit: Unit, stream: Stream, shape: tuple[int, int], length: int) -> Given:
    """One large product first, and then positive ones of full fractions and any exponents."""
    given = operands(unit, stream, shape, length, 6)
    rows, columns = shape
    large, most = (16.0, 2.0) if unit.output.name == "f16" else (256.0, 2.0**13)
    largest_a, largest_b = full(unit.operands.a, most), full(unit.operands.b, most)
    a = largest_a[stream.integers(0, len(largest_a), (rows, length))]
    b = largest_b[stream.integers(0, len(largest_b), (length, columns))]
    a[:, 0], b[0] = unit.operands.a.encode(large), unit.operands.b.encode(large)
    return given._replace(a=a.astype(given.a.dtype), b=b.astype(given.b.dtype))


def reached(given: Given) -> float:
    """The largest part of the worst case that any result reaches; NaN where no result is finite."""
    measured = trial_measures(given.outcome())
    assert measured["nonfinite"] < given.a.shape[0] * given.b.shape[1]
    return measured["accumulation_of_worst"]


def kept(name: str, rows: int) -> None:
    unit = load_unit(name)
    length = 192 if unit.instruction.chain else unit.instruction.k
    if unit.scale is not None and unit.scale.at == "promotion":
        length = 256
    stream, small = Stream(1, "bounds", name, rows), unit.output.name == "f16"
    shape = rows, 2
    cases = [operands(unit, stream, shape, length, spread) for spread in (0, 3 if small else 9)]
    cases += [positive(cases[0]), straddling(unit, stream, shape, length)]
    for case in cases:
        assert reached(case) <= 1.0


FAMILIES = one_of_each_family(presets())


@pytest.mark.parametrize("name", others_slow(FAMILIES, FAMILIES[::3]))
def test_no_error_exceeds_the_worst_case(name: str) -> None:
    kept(name, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", presets())
def test_no_error_exceeds_the_worst_case_in_many(name: str) -> None:
    kept(name, 12)


def test_ones_complement_takes_a_unit_of_the_window_from_a_negative_term_that_it_holds() -> None:
    # -1 in a window of 3 fraction bits becomes -1 - 1/8, though the window holds the whole product.
    unit = Unit.model_validate(
        {
            "unit": "complemented",
            "operands": {"a": "e2m1", "b": "e2m1", "addend": "f32"},
            "instruction": {"k": 1, "lanes": 1},
            "sum": {"method": "aligned", "fraction_bits": 3, "lost": "ones-complement"},
            "result": {"format": "f32", "rounding": "rz"},
        }
    )
    a, b = (unit.operands.a.encode(np.array([[value]])) for value in (-1.0, 1.0))
    given = Given(unit, a, b)
    assert given.outcome().returned.tolist() == [[-1.125]]
    assert 0.99 < reached(given) <= 1


MEASURABLE = [name for name in ODD if measurable(odd_unit(name))]


@pytest.mark.parametrize("name", others_slow(MEASURABLE, MEASURABLE[::6]))
def test_no_error_of_odd_units_exceeds_the_worst_case(name: str) -> None:
    unit = odd_unit(name)
    blocks = [1, 1] if unit.scale is None else [unit.scale.a.block[1], unit.scale.b.block[0]]
    whole = lcm(unit.instruction.k, *blocks)
    length = whole * (max(1, 48 // whole) if unit.instruction.chain else 1)
    stream = Stream(5, "odd", name)
    given = operands(unit, stream, (2, 2), length, 2)
    for case in (given, positive(given), straddling(unit, stream, (2, 2), length)):
        made = case.outcome()
        sides = made.values_a, made.values_b, made.scales_a, made.scales_b
        limit = worst_errors(unit, *sides)
        safe = counted_magnitude(unit, *sides) + limit < overflow_limit(unit)
        assert np.isfinite(made.returned[safe]).all()
        error = np.abs(difference(DoubleDouble.of(np.where(safe, made.returned, 0.0)), made.quantized))
        assert (error <= limit)[safe].all()


def products(unit: Unit, exponents: tuple[int, int], count: int, factor: float) -> Given:
    """2^e first, and then `count` products just below 2^d, of two numbers of fractions `factor`; e, d: exponents."""
    big, small = exponents
    a, b = np.full((1, count + 1), factor), np.full((count + 1, 1), factor)
    a *= 2.0 ** (small // 2 - 1)
    b *= 2.0 ** (small - small // 2 - 1)
    a[0, 0], b[0, 0] = 2.0 ** (big // 2), 2.0 ** (big - big // 2)
    fmt_a, fmt_b = unit.operands.a, unit.operands.b
    given = Given(unit, fmt_a.encode(a), fmt_b.encode(b))
    assert (fmt_a.decode(given.a) == a).all() and (fmt_b.decode(given.b) == b).all()
    return given


def hopper(count: int) -> Given:
    """1.875^2 / 4 = 0.879 of the window's unit, lost at every one of `count` products."""
    return products(load_unit("hopper-wgmma-e4m3-f32"), (16, 3), count, 1.875)


@pytest.mark.parametrize(("length", "least"), [(32, 0.84), (256, 0.81), (512, 0.78), (4096, 0.45)])
def test_one_signed_data_come_near_hoppers_worst_case(length: int, least: float) -> None:
    assert least <= reached(hopper(length - 1)) <= 1.0


def sequential(name: str, length: int) -> Given:
    """1 and then products of exactly half an ulp, all of which a chain of additions to nearest even loses."""
    unit = load_unit(name)
    bits = unit.result.format.fraction_bits + 1
    a, b = np.full((1, length), 2.0 ** -(bits // 2)), np.full((length, 1), 2.0 ** -(bits - bits // 2))
    a[0, 0] = b[0, 0] = 1.0
    given = Given(unit, unit.operands.a.encode(a), unit.operands.b.encode(b))
    assert (unit.operands.a.decode(given.a) == a).all()
    return given


@pytest.mark.parametrize(
    ("name", "length", "least"),
    [("sequential-e4m3-f16", 64, 0.95), ("sequential-e4m3-f16", 512, 0.7), ("sequential-e4m3-bf16", 64, 0.7)],
)
def test_what_is_half_an_ulp_comes_near_a_chains_worst_case(name: str, length: int, least: float) -> None:
    assert least <= reached(sequential(name, length)) <= 1.0


def volta() -> Given:
    """One group of four with a window of 20 bits: three products of nearly one unit each are lost; the rest is fine."""
    unit = load_unit("volta-mma-f16-f32")
    cut = unit.model_copy(update={"sum": unit.sum.model_copy(update={"fraction_bits": 20})})
    return products(cut, (8, -12), 3, 2 - 2.0**-10)


def test_one_group_comes_near_its_worst_case() -> None:
    assert 0.95 <= reached(volta()) <= 1.0


def promoted() -> Given:
    given = hopper(511)
    return given._replace(unit=load_unit("deepseek-v3-e4m3-f32"))


def test_a_promotion_bounds_a_chunk_by_itself() -> None:
    # The first chunk loses what Hopper does in 128 products; later ones have no large product beside them.
    assert bounds(load_unit("deepseek-v3-e4m3-f32"), 4096).worst < bounds(load_unit("hopper-wgmma-e4m3-f32"), 160).worst
    assert 0.8 <= reached(promoted()) <= 1.0


def with_less(unit: Unit, what: str) -> Unit:
    """The unit that a wrong bound thinks it has before it."""
    if what == "window":
        update: dict[str, Any] = {"fraction_bits": getattr(unit.sum, "fraction_bits", 0) + 1}
    else:
        update = {"lost": "rne"}
    return unit.model_copy(update={"sum": unit.sum.model_copy(update=update)})


@pytest.mark.parametrize("what", ["window", "nearest", "lane", "groups"])
def test_mutants_are_exceeded(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    from hwsim.study.accuracy import roundings

    lengths = roundings.lengths
    if what == "lane":
        monkeypatch.setattr(
            module, "lengths", lambda unit, k, **_: lengths(unit, k)._replace(lanes=lengths(unit, k).lanes - 1)
        )
    elif what == "groups":
        monkeypatch.setattr(
            module, "lengths", lambda unit, k, **_: lengths(unit, k)._replace(groups=lengths(unit, k).groups // 2)
        )
    given = volta() if what == "lane" else hopper(255)
    made = given.outcome()
    unit = with_less(given.unit, what) if what in ("window", "nearest") else given.unit
    error = np.abs(difference(DoubleDouble.of(made.returned), made.quantized))
    assert (error > worst_errors(unit, made.values_a, made.values_b)).all()


@pytest.mark.parametrize("rule", ["rne", "rz", "rto"])
def test_mutant_roundings_are_exceeded(rule: str) -> None:
    # Chains that round towards zero, or to odd, lose all of what is just below an ulp: more than what nearest can.
    unit = load_unit("sequential-e4m3-f16")
    cut = unit.model_copy(update={"sum": unit.sum.model_copy(update={"rounding": rule})})
    given = products(cut, (0, -10), 40, 1.875)
    made = given.outcome()
    error = np.abs(difference(DoubleDouble.of(made.returned), made.quantized))
    assert (error <= worst_errors(cut, made.values_a, made.values_b)).all()
    assert bool((error > worst_errors(unit, made.values_a, made.values_b)).all()) == (rule != "rne")


def test_signed_data_keep_the_probabilistic_bound_and_one_signed_data_do_not() -> None:
    unit = load_unit("hopper-wgmma-e4m3-f32")
    given = operands(unit, Stream(2, "probabilistic"), (4, 4), 2048)
    measured = trial_measures(given.outcome())
    assert measured["accumulation_normalized_max"] < measured["bound_probabilistic"] / 2
    one_signed = trial_measures(positive(given).outcome())
    assert one_signed["accumulation_normalized_max"] > 1.5 * one_signed["bound_probabilistic"]
    assert one_signed["accumulation_of_worst"] < 1.0


def test_roundings_to_nearest_keep_the_probabilistic_bound() -> None:
    unit = load_unit("sequential-e4m3-f16")
    given = operands(unit, Stream(3, "nearest"), (4, 4), 512)
    for case in (given, positive(given)):
        measured = trial_measures(case.outcome())
        assert measured["accumulation_normalized_max"] < measured["bound_probabilistic"] < measured["bound_worst"] / 4


def test_the_probabilistic_bound_is_higham_and_marys() -> None:
    # exp(3 sqrt(n) u + n u^2 / (1 - u)) - 1 for the 1023 roundings of a chain of 1024 exact products, u = 2^-11.
    u, n = 2.0**-11, 1023
    found = bounds(load_unit("sequential-e4m3-f16"), 1024)
    assert found.probabilistic == pytest.approx(np.expm1(3 * np.sqrt(n) * u + n * u**2 / (1 - u)), rel=1e-12)
    assert found.worst == pytest.approx((1 + u) ** n - 1, rel=1e-12)
    assert bounds(load_unit("sequential-e4m3-f16"), 1024, lam=1.0).probabilistic < found.probabilistic


def test_integers_have_no_error_and_a_bound_of_zero() -> None:
    unit = load_unit("int8-i32")
    measured = trial_measures(operands(unit, Stream(4, "integers"), (4, 4), 128).outcome())
    assert measured["bound_worst"] == measured["bound_probabilistic"] == measured["accumulation_of_worst"] == 0.0


def test_subnormals_count_as_the_least_normal_number() -> None:
    unit = load_unit("hopper-wgmma-e4m3-f32")
    a, b = np.array([[2.0**-9, 0.0, 4.0]]), np.array([[3 * 2.0**-9], [5.0], [0.5]])
    assert counted_magnitude(unit, a, b)[0, 0] == pytest.approx(2.0**-12 + 2.0, rel=1e-12)
    # Converted to binary16 they are normal.
    assert counted_magnitude(load_unit("hopper-mma-e4m3-f32"), a, b)[0, 0] == pytest.approx(
        3 * 2.0**-18 + 2.0, rel=1e-12
    )


def test_units_with_scales_need_them() -> None:
    unit = load_unit("mxfp8-e4m3-f32")
    with pytest.raises(ValueError, match="mxfp8-e4m3-f32: scales must be given"):
        worst_errors(unit, np.ones((1, 32)), np.ones((32, 1)))
    with pytest.raises(ValueError, match="length must be at least 1, not 0"):
        bounds(unit, 0)


def test_results_that_float64_does_not_hold_are_refused() -> None:
    reason = measurable(odd_unit("long-73")).reason
    assert reason == (
        "unit long-73: a result of 73 bits (fixed73) is in the model, but not in studies, which compute in float64"
    )
    assert measurable(odd_unit("long-43"))
