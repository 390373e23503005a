"""Exact sums against the model, exact rationals, NumPy's integers and BLAS, and mutants of themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from kernels.kernel_cases import Product, by_kernel, compare, compare_all, draw
from kernels.kernel_loops import loop
from kernels.kernel_units import units
from model.witness_numbers import read, rounded
from unit_keys import I32, INT8, exact_sum, mx, odd

from hwsim.compute.kernels import exact, kernel_of, supports
from hwsim.compute.kernels.exact import LONG, ExactKernel, SumPlan, as_integers, collect, levels_for, plan_of, spread
from hwsim.compute.kernels.fixed import FixedKernel
from hwsim.compute.kernels.tiles import multiply_pairs
from hwsim.formats import container_dtype
from hwsim.spec import Unit, load_unit
from hwsim.spec.ranges import Extent

UNITS = [unit for unit in units("exact") if supports(unit) and not as_integers(unit)]


def exact_kernel(unit: Unit) -> ExactKernel:
    kernel = kernel_of(unit)
    assert isinstance(kernel, ExactKernel)
    return kernel


def unit_of(*arguments: Any, **more: Any) -> Unit:
    return Unit.model_validate(odd(*arguments, **more))


def named(name: str) -> Unit:
    return next(unit for unit in UNITS if unit.name == name)


@pytest.mark.quick
@pytest.mark.parametrize("unit", others_slow(UNITS, UNITS[::9]), ids=lambda unit: unit.name)
def test_kernel_is_the_model(unit: Unit) -> None:
    assert compare_all(exact_kernel(unit), unit, seed=1, m=2) > 250


# 49 bits from the least to the most: sums of 8 products are the longest that two float64s are planned for.
E5M19 = {
    "name": "e5m19", "kind": "float", "exponent_bits": 5, "fraction_bits": 19, "bias": 15, "infinities": True,
    "nan": "ieee",
}  # fmt: skip
LONG_SUMS: dict[str, tuple[dict[str, Any], int, SumPlan]] = {
    "one": (odd("e4m3", "f32", exact_sum(), "f32", 1), 300, SumPlan(300, False, False)),
    "two": (odd("e5m2", "f32", exact_sum(), "f32", 1), 300, SumPlan(300, True, False)),
    "levels-of-one": (odd("e2m1", "f32", exact_sum(), "f32", 32, **mx(32, 32)), 320, SumPlan(32, False, True)),
    "levels-of-two": (odd("f16", "f32", exact_sum(), "f32", 500), 5000, SumPlan(4096, True, True)),
    "levels-of-products": (odd("bf16", "f32", exact_sum(), "f32", 1), 300, SumPlan(1, False, True)),
    "at-the-end-of-two": (
        odd((E5M19, E5M19), "f32", exact_sum(rounded="group"), "f32", 8),
        64,
        SumPlan(8, True, False),
    ),
    "past-the-end-of-two": (
        odd((E5M19, E5M19), "f32", exact_sum(rounded="group"), "f32", 16),
        64,
        SumPlan(8, True, True),
    ),
}


@pytest.mark.parametrize("name", others_slow(LONG_SUMS, [*LONG_SUMS][3::3]))
def test_long_sums_are_the_models(name: str) -> None:
    mapping, k, plan = LONG_SUMS[name]
    unit = Unit.model_validate(mapping)
    kernel = exact_kernel(unit)
    count = unit.instruction.lanes if kernel.rule.rounded == "group" else k
    assert plan_of(kernel.products.span, count, kernel.shared) == plan
    for profile in ("finite", "cancel", "large", "special"):
        compare(kernel, unit, 3, (1, 3, k), profile)


@pytest.mark.parametrize("name", ["exact-f32", "exact-f16-group", "exact-bf16", "exact-tf32"])
def test_sums_are_those_of_exact_rationals(name: str) -> None:
    unit = named(name)
    lanes = unit.instruction.lanes
    rng = np.random.default_rng(4)
    kernel = exact_kernel(unit)
    for profile in ("finite", "cancel", "tiny", "huge"):
        k = 8 if unit.instruction.chain is None else 4 * lanes
        a, b = draw(rng, unit.operands.a, (3, k), profile), draw(rng, unit.operands.b, (k, 5), profile)
        c = None if unit.operands.addend is None else draw(rng, unit.operands.addend, (3, 5), profile)
        got = by_kernel(kernel, unit, Product(a, b, c, None, None))
        for i, j in np.ndindex(3, 5):
            left = [read(unit.operands.a.name, int(code)).value for code in a[i]]
            right = [read(unit.operands.b.name, int(code)).value for code in b[:, j]]
            total = Fraction(0) if c is None else read(unit.operands.addend.name, int(c[i, j])).value
            step = lanes if kernel.rule.rounded == "group" else k
            code = 0
            for start in range(0, k, step):
                total += sum(
                    x * y for x, y in zip(left[start : start + step], right[start : start + step], strict=True)
                )
                fmt = unit.result.format.name
                code = rounded(fmt, total, unit.result.rounding, "infinity") if total else 0
                if read(fmt, code).kind != "finite":
                    break
                total = read(fmt, code).value
            else:
                assert int(got[i, j]) == code


ALONE = {
    "factors": odd("bf16", "f32", exact_sum(), "f32", 1),
    "scales": odd("e4m3", "f32", exact_sum(), "f32", 2, k=2, **mx(1, 1)),
}


@pytest.mark.parametrize("name", ALONE)
def test_the_last_bit_of_a_product_is_kept_wherever_levels_begin(name: str) -> None:
    # Products of the largest significands, at as many exponents as two levels have; the sum of each is its product.
    unit = Unit.model_validate(ALONE[name])
    kernel, k, places = exact_kernel(unit), 4, np.arange(100)
    assert plan_of(kernel.products.span, k, kernel.shared) == SumPlan(1, False, True)
    a, b, scales = np.zeros((len(places), k), np.uint16), np.zeros((len(places), k), np.uint16), None
    if name == "factors":
        a[:, 1], b[:, 1], bits, least = (places + 77) << 7 | 127, 127 << 7 | 127, 8, -50
    else:
        of_a = np.full((len(places), k), 127)
        of_a[:, 1] += places - 50
        scales, bits, least = (of_a.astype(np.uint8), np.full_like(of_a, 127, np.uint8)), 4, -50
        a[:, 1], b[:, 1] = 7 << 3 | 7, 7 << 3 | 7
    a, b = (side.astype(container_dtype(unit.operands.a)) for side in (a, b))
    none, got = np.zeros(1, np.uint32), np.zeros(len(places), np.uint32)
    for at in range(len(places)):  # columns that are multiplied at once share their levels
        one = slice(at, at + 1)
        given = None if scales is None else (scales[0][one], scales[1][one])
        got[one] = multiply_pairs(kernel, a[one], b[one], none, given)
    want = np.float32(((1 << bits) - 1) ** 2 * 2.0 ** (places + least - 2 * (bits - 1)))
    np.testing.assert_array_equal(got.view(np.float32), want)


def test_integers_are_numpys() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(-128, 128, (40, 700)), rng.integers(-128, 128, (700, 70))
    c = rng.integers(-(1 << 31), 1 << 31, (40, 70))
    given = Product(
        (a & 255).astype(np.uint8), (b & 255).astype(np.uint8), (c & 0xFFFFFFFF).astype(np.uint32), None, None
    )
    want = ((a @ b + c) & 0xFFFFFFFF).astype(np.uint32)
    unit = load_unit("int8-i32")
    np.testing.assert_array_equal(by_kernel(exact_kernel(unit), unit, given), want)
    saturating = unit_of((INT8, INT8), I32, exact_sum(), I32, 4, overflow="saturate")
    want = (np.clip(a @ b + c, -(1 << 31), (1 << 31) - 1) & 0xFFFFFFFF).astype(np.uint32)
    np.testing.assert_array_equal(by_kernel(exact_kernel(saturating), saturating, given), want)


def test_sums_of_blocks_are_those_of_float64() -> None:
    # With all scales 1, 1024 products of e4m3 have 46 bits: a float64 product of matrices has no error, in any order.
    unit = load_unit("exact-e4m3-f32")
    rng = np.random.default_rng(6)
    a, b = (draw(rng, unit.operands.a, shape, "finite") for shape in ((40, 1024), (1024, 300)))
    given = Product(a, b, np.zeros((40, 300), np.uint32), np.full((40, 32), 127), np.full((32, 300), 127))
    want = (unit.operands.a.decode(a) @ unit.operands.b.decode(b)).astype(np.float32)
    np.testing.assert_array_equal(by_kernel(exact_kernel(unit), unit, given), want.view(np.uint32))


def test_plans_are_as_wide_as_they_say() -> None:
    assert plan_of(36, 1 << 17) == SumPlan(1 << 17, False, False)
    assert plan_of(36, (1 << 17) + 1) == SumPlan((1 << 17) + 1, True, False)
    assert plan_of(80, 1 << 12) == SumPlan(1 << 12, True, False)
    assert plan_of(80, 10**6) == SumPlan(1 << 12, True, True)
    assert plan_of(522, 1) == SumPlan(1, False, False)
    assert plan_of(522, 2) == SumPlan(2, True, False)
    assert plan_of(522, 3) == SumPlan(1, False, True)
    assert plan_of(36, 10**6, 32) == SumPlan(32, False, True)
    assert plan_of(36, 32, 32) == SumPlan(32, False, False)
    assert plan_of(64, 64, 12) == SumPlan(12, True, True)


@loop("hwsim.compute.kernels.exact")
def summed_in_levels(numbers: Any, shifts: Any) -> Any:
    """The sums of columns."""
    n = numbers.shape[1]
    levels, special, total = np.zeros((shifts.shape[0], n)), np.zeros(n), np.zeros(n)
    for k in range(numbers.shape[0]):
        spread(numbers[k].copy(), special, levels, shifts, 0, shifts.shape[0] - 1)
    collect(total, special, levels, shifts)
    return total


@pytest.mark.parametrize("count", [3, 200])
def test_levels_lose_nothing(count: int) -> None:
    # Exponents from -180 to 170, and halves that take one another out down to what was drawn last.
    rng = np.random.default_rng(7)
    n = 150
    numbers = np.ldexp(rng.integers(-(1 << 40), 1 << 40, (count, n)).astype(float), rng.integers(-180, 130, (count, n)))
    numbers[count // 2 : 2 * (count // 2)] = -numbers[: count // 2]
    numbers[-1] = np.where(rng.random(n) < 0.2, 0, np.ldexp(1.0, rng.integers(-180, 170, n)))
    numbers[0] += np.where(rng.random(n) < 0.3, np.ldexp(numbers[0], -50), 0)
    levels = levels_for(Extent(53, -260, 172), count)
    got = summed_in_levels(numbers, levels.shifts)
    for column in range(n):
        want = Fraction(sum(int(math.ldexp(number, 260)) for number in numbers[:, column].tolist()), 1 << 260)
        result = float(got[column])
        if Fraction(result) != want:
            assert abs(Fraction(result) - want) < abs(want) / (1 << 51)
            assert abs(int(np.float64(result).view(np.int64))) % 2 == 1
        with np.errstate(over="ignore"):
            code = int(np.float32(result).view(np.uint32)) if result else 0
        assert code == (rounded("f32", want, "rne", "infinity") if want else 0)


def test_infinities_and_nans_are_kept_beside_the_levels() -> None:
    numbers = np.array([[1.0, np.inf, np.inf, np.nan], [2.0, -3.0, -np.inf, 1.0], [0.5, np.inf, 7.0, np.inf]])
    got = summed_in_levels(numbers, levels_for(Extent(53, -10, 10), 3).shifts)
    np.testing.assert_array_equal(got, [3.5, np.inf, np.nan, np.nan])


def one_float64(kernel: ExactKernel, patch: pytest.MonkeyPatch) -> None:
    """Errors of additions are lost."""
    patch.setattr(exact, "plan_of", lambda *given: plan_of(*given)._replace(pair=False))


def wrong_scale(kernel: ExactKernel, patch: pytest.MonkeyPatch) -> None:
    """Scales of the first block for all."""
    patch.setattr(exact, "each", lambda scales, *rest: exact_each(scales[:1, :1] + 0 * scales, *rest))


def too_few_levels(kernel: ExactKernel, patch: pytest.MonkeyPatch) -> None:
    """What is below the last level is rounded to it."""

    def fewer(numbers: Extent, count: int) -> Any:
        made = levels_for(numbers, count)
        return made._replace(shifts=made.shifts[: -len(made.shifts) // 2])

    patch.setattr(exact, "levels_for", fewer)


def positive_zeros(kernel: ExactKernel, patch: pytest.MonkeyPatch) -> None:
    kernel.rule = kernel.rule.model_copy(update={"zero": "positive"})


def one_bit_less(kernel: ExactKernel, patch: pytest.MonkeyPatch) -> None:
    kernel.target = kernel.target._replace(unit=2 * kernel.target.unit, shift=2 * kernel.target.shift)


def addend_dropped(kernel: ExactKernel, patch: pytest.MonkeyPatch) -> None:
    operands = kernel.unit.operands.model_copy(update={"addend": None})
    kernel.unit = kernel.unit.model_copy(update={"operands": operands})


def never_wraps(kernel: ExactKernel, patch: pytest.MonkeyPatch) -> None:
    kernel.range = kernel.range._replace(turn=0.0)


def rounded_at_the_end(kernel: ExactKernel, patch: pytest.MonkeyPatch) -> None:
    kernel.rule = kernel.rule.model_copy(update={"rounded": "end"})


exact_each = exact.each
MUTANTS = [
    (one_float64, "exact-f32"), (one_float64, "cdna1-mfma-f16-f32"), (one_float64, "exact-e5m2-scaled"),
    (wrong_scale, "exact-e4m3-f32"), (wrong_scale, "exact-mx-group"), (too_few_levels, "exact-e4m3-f32"),
    (too_few_levels, "exact-bf16"), (positive_zeros, "exact-zero"), (positive_zeros, "exact-e4m3-f32"),
    (one_bit_less, "exact-e4m3-f32"), (one_bit_less, "intel-amx-e4m3-f32"), (one_bit_less, "int16-saturate"),
    (addend_dropped, "cdna1-mfma-bf16-f32"), (addend_dropped, "int8-i32"), (never_wraps, "i12-wrap"),
    (rounded_at_the_end, "cdna1-mfma-f16-f32"), (rounded_at_the_end, "exact-bf16-group"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("mutant", "name"), others_slow(MUTANTS, MUTANTS[::3]), ids=lambda value: getattr(value, "__name__", value)
)
def test_mutants_are_caught(
    mutant: Callable[[ExactKernel, pytest.MonkeyPatch], None], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = exact_kernel(named(name))
    mutant(kernel, monkeypatch)
    with pytest.raises(AssertionError, match=f"{name}, seed"):
        compare_all(kernel, named(name), seed=1, m=2)


def test_what_is_refused() -> None:
    assert supports(unit_of("e4m3", "f32", {**exact_sum(), "product_limit": 4}, "f32")).lacks == (
        "sum.product_limit: 4",
    )
    wide = {"name": "wide", "kind": "fixed", "integer_bits": 31, "fraction_bits": 0}
    products = "operands: products of 62 bits (float64 has 53)"
    assert products in supports(unit_of((wide, wide), "f32", exact_sum(), "f32")).lacks
    i24 = {"name": "i24", "kind": "fixed", "integer_bits": 23, "fraction_bits": 0}
    # Floats hold no sum that wraps of so many products, and integers of two words do.
    assert isinstance(kernel_of(unit_of((i24, i24), "none", exact_sum(), I32, overflow="wrap")), FixedKernel)
    assert exact_kernel(unit_of((i24, i24), "none", exact_sum(), I32, overflow="saturate")).longest > LONG


def test_a_sum_that_wraps_says_how_long_it_may_be() -> None:
    # Products of int8 are below 2^16: so many of them are below 2^50, and 51 bits hold them with their sign.
    assert exact_kernel(load_unit("int8-i32")).longest == (1 << 34) - 1
