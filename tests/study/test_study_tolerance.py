"""Tolerances: never exceeded by random and directed data, near what orders of random data reach, and a warning beside
zeros.
"""

from __future__ import annotations

import warnings
from fractions import Fraction
from math import fsum, lcm
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from study.study_units import operands, positive
from unit_keys import odd_unit

import hwsim
from hwsim.base.errors import InputError
from hwsim.cases.drawing import Stream, normals
from hwsim.cosim.fuzz.draw import drawn_unit
from hwsim.spec import Unit, load_unit, presets
from hwsim.study.accuracy import orders
from hwsim.study.task import as_numbers
from hwsim.study.tolerance import ToleranceWarning, tolerance

HOPPER, DEEPSEEK = "hopper-wgmma-e4m3-f32", "deepseek-v3-e4m3-f32"
UNITS = (HOPPER, "blackwell-tcgen05-e4m3-f32", DEEPSEEK, "ada-mma-f16-f32", "turing-mma-f16-f16", "ada-mma-e5m2-f16",
         "cdna3-mfma-f16-f32", "sequential-e4m3-f16", "cdna2-mfma-bf16-f32", "hopper-wgmma-tf32-f32",
         "intel-amx-e4m3-f32", "volta-mma-f16-f32")  # fmt: skip
Array = Any


def drawn(unit: Unit, k: int, kind: str, seed: int, rows: int = 12) -> tuple[Array, Array, Array]:
    """Codes of a, b and c: of one sign, of both, or spread over many binades."""
    rng = np.random.default_rng([seed, k, len(kind)])
    a, b = rng.standard_normal((rows, k)), rng.standard_normal((k, rows))
    if kind == "one sign":
        a, b = np.abs(a), np.abs(b)
    if kind == "spread":
        a, b = a * 2.0 ** rng.integers(-6, 5, a.shape), b * 2.0 ** rng.integers(-6, 5, b.shape)
    c = rng.standard_normal((rows, rows)) * 2.0 ** rng.integers(-8, 5, (rows, rows))
    addend = unit.operands.addend
    assert addend is not None
    return unit.operands.a.encode(a), unit.operands.b.encode(b), addend.encode(c)


def errors(unit: Unit, a: Array, b: Array, c: Array | None) -> Array:
    """|result - exact|, by rationals, in float64 rounded down by at most an ulp."""
    values = [fmt.decode(codes) for fmt, codes in ((unit.operands.a, a), (unit.operands.b, b))]
    left, right = ([[Fraction(float(x)) for x in row] for row in side] for side in (values[0], values[1].T))
    result = hwsim.gemm(unit, a, b, c)
    got = result if result.dtype.kind == "f" else unit.output.decode(result)
    start = np.zeros(got.shape) if c is None else unit.operands.addend.decode(c)  # type: ignore[union-attr]
    exact = [[sum(x * y for x, y in zip(row, column, strict=True)) for column in right] for row in left]
    return np.array(
        [
            [
                abs(float(Fraction(float(got[i, j])) - Fraction(float(start[i, j])) - exact[i][j]))
                for j in range(got.shape[1])
            ]
            for i in range(got.shape[0])
        ]
    )


def silent(*args: Any, **named: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceWarning)
        return tolerance(*args, **named)


@pytest.mark.parametrize("name", others_slow(UNITS, UNITS[:4]))
def test_no_error_exceeds_it(name: str) -> None:
    unit = load_unit(name)
    for k in (1, 7, 40, 200):
        for kind in ("both signs", "one sign", "spread"):
            a, b, c = drawn(unit, k, kind, 1, 5)
            for addend in (None, c):
                found = silent(unit, a=a, b=b, c=addend)
                error = errors(unit, a, b, addend)
                assert (error <= found.atol).all(), (k, kind, addend is None)


# Units that `hwsim fuzz` draws, which exceeded bounds before: ones' complements move sums off the products' grid,
# integers do not hold a last bit, a floor or an addend of zero raises windows, a chain has but some of its lanes,
# addends are flushed, products are infinite (in these nothing is bounded).
EXCEEDED = (0, 489, 508, 524, 527, 833, 859, 1109, 1111, 1194, 1252, 1287, 1300, 1312, 1313, 1338, 1450, 1495)
UNBOUNDED = (508, 527, 833)
TENS = [f"{10 * ten} to {10 * ten + 9}" for ten in range(60)]


@pytest.mark.parametrize("number", EXCEEDED)
def test_a_drawn_unit_keeps_it_in_every_order_that_is_tried(number: int) -> None:
    assert bool(orders_tried(drawn_unit(1, number).unit)) == (number not in UNBOUNDED)


@pytest.mark.slow
@pytest.mark.parametrize("numbers", TENS)
def test_drawn_units_keep_it_in_every_order_that_is_tried(numbers: str) -> None:
    first, last = (int(word) for word in numbers.split(" to "))
    assert sum(orders_tried(drawn_unit(1, number).unit) for number in range(first, last + 1))


@pytest.mark.slow
@pytest.mark.parametrize("name", presets())
def test_a_preset_keeps_it_in_every_order_that_is_tried(name: str) -> None:
    assert orders_tried(load_unit(name))


def orders_tried(unit: Unit) -> int:
    """Compare bounds with errors, in the unit's order and in others, of numbers of several kinds: how many."""
    stream, compared = Stream(7, "tolerance", unit.unit), 0
    block = 1 if unit.scale is None else lcm(unit.scale.a.block[1], unit.scale.b.block[0])
    for kind, spread in enumerate((0, 0, 4, 9, 14)):
        length = -(-(1, 3, 17, 40, 130)[kind] // block) * block
        if not unit.instruction.chain:
            length = min(length, unit.instruction.k)
        try:
            given = operands(unit, stream, (3, 3), length, spread)
        except InputError:  # a format without a code for what is drawn
            continue
        given = positive(given) if kind == 1 else given
        c = None
        if unit.operands.addend is not None and kind % 2:
            c = unit.operands.addend.encode(normals(stream, (3, 3)) * 2.0 ** stream.integers(-8, 8, (3, 3)))
        named = {"c": c, "scale_a": given.scale_a, "scale_b": given.scale_b}
        bound = silent(unit, a=given.a, b=given.b, **named).atol
        own = np.arange(length)
        by_size = np.argsort(np.abs(products(unit, given.a[0], given.b[:, 0])))
        for order in (
            [own]
            if unit.scale is not None
            else [own, np.random.default_rng(kind).permutation(length), by_size, by_size[::-1]]
        ):
            error = silent(unit, a=given.a[:, order], b=given.b[order], order="unit", **named).atol
            assert (error <= bound).all(), (kind, length, order.tolist())
            compared += int(np.isfinite(bound).sum())
    return compared


SMALL = {
    "window": {"method": "aligned", "fraction_bits": 2},
    "nearest window": {"method": "aligned", "fraction_bits": 2, "lost": "rne"},
    "floored window": {"method": "aligned", "fraction_bits": 2, "lost": "floor"},
    "sticky window": {"method": "aligned", "fraction_bits": 1, "lost": "sticky"},
    "complements": {"method": "aligned", "fraction_bits": 2, "lost": "ones-complement"},
    "chain": {"method": "sequential", "product": "fused", "format": "e4m3", "rounding": "rne"},
    "rounded products": {"method": "sequential", "product": "rounded", "format": "e5m2", "rounding": "rz"},
    "tree": {"method": "pairwise", "product": "rounded", "format": "e5m2", "rounding": "rne"},
    "exact": {"method": "exact"},
}  # fmt: skip


def small(name: str) -> Unit:
    """Products of FP4, in groups of two, with results of two fraction bits."""
    return odd_unit(f"small-{name}".replace(" ", "-"), "e2m1", "e2m1", SMALL[name], "e5m2", 2)


@pytest.mark.parametrize("name", others_slow(list(SMALL), ["window"]))
def test_no_operands_of_a_small_unit_exceed_it(name: str) -> None:
    """All of the 16^4 two products, and 16^3 times 16 three."""
    unit = small(name)
    codes = np.arange(16, dtype=np.uint8)
    pairs = np.stack(np.meshgrid(codes, codes), axis=-1).reshape(-1, 2)
    triples = np.stack(np.meshgrid(codes, codes[::3], codes[::5]), axis=-1).reshape(-1, 3)
    for a, b in ((pairs, pairs), (triples, triples[::7])):
        bound, error = (silent(unit, a=a, b=b.T, order=order).atol for order in ("any", "unit"))
        assert (error <= bound).all() and (error > 0).any()
        anywhere = silent(unit, a.shape[1]).atol
        assert error.max() <= anywhere or not np.isfinite(anywhere)


def test_directed_cases_do_not_exceed_it() -> None:
    from hwsim.cases.bins.covering import directed
    from hwsim.cases.case import dot
    from hwsim.model.definition import definition_of

    unit = load_unit(HOPPER)
    compared = 0
    for case in directed(unit, 1)[::7]:
        a, b, c = np.array([case.a], np.uint8), np.array([case.b], np.uint8).T, np.array([[case.c]], np.uint32)
        values = [
            fmt.decode(codes) for fmt, codes in ((unit.operands.a, a), (unit.operands.b, b), (unit.operands.addend, c))
        ]  # type: ignore[union-attr]
        if not all(np.isfinite(value).all() for value in values):
            continue
        exact = sum(
            (Fraction(float(x)) * Fraction(float(y)) for x, y in zip(values[0][0], values[1][:, 0], strict=True)),
            Fraction(float(values[2][0, 0])),
        )
        code = dot(definition_of(unit), case).code
        got = float(unit.output.decode(np.array(code)))
        found = silent(unit, a=a, b=b, c=c)
        assert not np.isfinite(found.atol).all() or abs(Fraction(got) - exact) <= Fraction(float(found.atol[0, 0]))
        compared += bool(np.isfinite(found.atol).all())
    assert compared > 100


# The bound over the largest error of the orders that are tried, at most, of normal numbers of both signs and of one.
NEAR = {
    (HOPPER, 128): 4, (HOPPER, 1024): 4, ("hopper-wgmma-f16-f32", 256): 4, ("turing-mma-f16-f16", 128): 4,
    ("volta-mma-f16-f32", 128): 4, ("blackwell-tcgen05-f16-f32", 256): 4, ("cdna1-mfma-f16-f32", 128): 4,
    ("cdna2-mfma-bf16-f32", 256): 4, ("cdna3-mfma-f16-f32", 256): 4, ("sequential-e4m3-f16", 128): 4,
    (DEEPSEEK, 256): 4, (DEEPSEEK, 1024): 9, ("intel-amx-bf16-f32", 128): 8,
    ("blackwell-tcgen05-e4m3-f32", 1024): 27,
}  # fmt: skip


@pytest.mark.parametrize(("name", "k"), others_slow(list(NEAR), [(HOPPER, 128), ("turing-mma-f16-f16", 128)]))
def test_an_order_of_random_data_is_near_it_and_none_exceeds_it(name: str, k: int) -> None:
    unit = load_unit(name)
    for one_sign in (False, True):
        a, b = vectors(unit, k, one_sign)
        found = silent(unit, a=a[None], b=b[:, None]).atol[0, 0]
        error = max(error_of(unit, a, b, orders_that_lose(unit, a, b)))
        assert 1 <= found / error <= NEAR[name, k], found / error


def vectors(unit: Unit, k: int, one_sign: bool) -> tuple[Array, Array]:
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal(k), rng.standard_normal(k)
    a, b = (np.abs(a), np.abs(b)) if one_sign else (a, b)
    return unit.operands.a.encode(a), unit.operands.b.encode(b)


def products(unit: Unit, a: Array, b: Array) -> Array:
    return np.asarray(unit.operands.a.decode(a)) * np.asarray(unit.operands.b.decode(b))


def error_of(unit: Unit, a: Array, b: Array, orders: list[Array]) -> Array:
    """|result - exact| of the products in other orders; the sums of `vectors` are exact in float64."""
    places = np.array(orders)
    return np.abs(as_numbers(unit, hwsim.dot(unit, a[places], b[places])) - fsum(products(unit, a, b)))


def orders_that_lose(unit: Unit, a: Array, b: Array) -> list[Array]:
    """Orders that lose much: sorted ones, by sign, by size; and those built up so that each step loses much."""
    values = products(unit, a, b)
    size, sign = np.abs(values), np.sign(values)
    orders = [np.argsort(by) for by in (values, -values, size, -size)]
    orders += [np.lexsort((upwards * size, first * sign)) for first in (1, -1) for upwards in (1, -1)]
    return orders + [
        order_that_loses(unit, a, b, sign_first, weight, seed)
        for sign_first in (1, -1)
        for seed, weight in enumerate((0.0, 1e-7, 1e-5, 1e-3, 1e-2))
    ]


def order_that_loses(unit: Unit, a: Array, b: Array, sign: int, weight: float, seed: int) -> Array:
    """Group by group that of some of the products left which, in the sum so far, is off most in one direction.

    Products of one sign come first. weight: of the size of what a group adds, beside what it loses.
    """
    rng, values, addend = np.random.default_rng(seed), products(unit, a, b), unit.operands.addend
    assert addend is not None
    instruction = unit.instruction
    own = unit.promotion is not None or instruction.start == "zero"
    stretch = (unit.restart or 1) * instruction.lanes if own else instruction.fill
    group = 1 if getattr(unit.sum, "chains", None) else min(instruction.lanes, stretch)
    left, order, done, sum_so_far = np.arange(len(values)), list[Array](), np.zeros(0, np.int64), 0.0
    start = addend.encode(np.zeros(1))
    while len(left):
        count = min(group, len(left))
        alike = left[values[left] * sign > 0]
        pool = alike if len(alike) >= count else left
        pool = pool[np.argsort(-np.abs(values[pool]))]
        if group == 1:
            tried = pool[:96, None]
        else:
            shares = rng.choice([0.25, 0.5, 1.0], 48)
            drawn = [rng.permutation(pool[: max(count, int(len(pool) * share))])[:count] for share in shares]
            tried = np.array([pool[:count], pool[:count][::-1], *drawn])
        places = np.concatenate([np.repeat(done[None], len(tried), 0), tried], axis=1)
        got = as_numbers(unit, hwsim.dot(unit, a[places], b[places], np.repeat(start, len(tried))))
        off = sign * (got - (sum_so_far + values[places].sum(axis=1)))
        best = int(np.argmax(off + weight * np.abs(values[tried]).sum(axis=1)))
        done, left = places[best], np.setdiff1d(left, tried[best])
        if len(done) >= stretch or not len(left):
            order.append(done)
            sum_so_far, start, done = got[best], addend.encode(got[best : best + 1]), np.zeros(0, np.int64)
    return np.concatenate(order)


@pytest.mark.parametrize("one_sign", [False, True])
def test_sums_of_stretches_are_no_larger_in_any_order(one_sign: bool) -> None:
    """The kth largest of the stretches' sums after so many products, in sorted and random orders."""
    unit, stretches, after = load_unit(DEEPSEEK), 4, np.arange(1, 5) * 32
    codes = vectors(unit, 512, one_sign)
    a, b = unit.operands.a.decode(codes[0])[None], unit.operands.b.decode(codes[1])[None]
    none = np.zeros((1, 1))
    terms = orders._terms(unit, orders._sides(unit, a, b.T, None, None), slice(1), none, False)
    most = -np.sort(-orders._sums(unit, terms, after, stretches, none).reshape(stretches, 4), axis=0)
    values = (a * b)[0]
    tried = [np.argsort(values), np.argsort(-np.abs(values)), np.random.default_rng(1).permutation(512)]
    for order in tried:
        sums = np.abs(values[order].reshape(stretches, 128).cumsum(axis=1)[:, after - 1])
        assert (orders._power(-np.sort(-sums, axis=0)) <= most).all()


def test_what_is_exact_has_next_to_no_bound_in_any_order() -> None:
    unit = load_unit("blackwell-tcgen05-e4m3-f32")
    a, b = vectors(unit, 256, False)
    assert silent(unit, a=a[None], b=b[:, None]).atol[0, 0] < 1e-40


@pytest.mark.parametrize("name", others_slow([*UNITS, "int8-i32", "cdna1-mfma-f16-f32"], UNITS[:3]))
def test_in_a_units_own_order_it_is_the_error(name: str) -> None:
    unit = load_unit(name)
    for kind in ("both signs", "spread"):
        a, b, c = drawn(unit, 70, kind, 3, 4)
        found, error = silent(unit, a=a, b=b, c=c, order="unit").atol, errors(unit, a, b, c)
        assert ((error <= found) & (found <= error * (1 + 2.0**-38))).all()
        assert (found <= silent(unit, a=a, b=b, c=c).atol).all()


def test_of_two_units_it_is_their_difference_in_their_own_orders() -> None:
    unit = load_unit(HOPPER)
    a, b, c = drawn(unit, 96, "both signs", 2)
    found = silent(unit, a=a, b=b, c=c, other=DEEPSEEK, order="unit").atol
    first, second = (hwsim.gemm(name, a, b, c).astype(np.float64) for name in (HOPPER, DEEPSEEK))
    assert found == pytest.approx(np.abs(first - second)) and (found >= np.abs(first - second)).all() and found.any()
    for wrong, said in (({"k": 8}, "goes with given data"), ({"a": a, "b": b, "order": "mine"}, "must be 'any' or")):
        with pytest.raises(InputError, match=said):
            tolerance(unit, **{"order": "unit", **wrong})


MUTANTS = {
    "products lose nothing": ("_below", lambda terms, loss, highest: np.zeros_like(terms.values)),
    "sums are as high as their last": ("_sums", lambda unit, terms, after, *rest, **named: np.repeat(
        orders._height(unit, np.abs(terms.total))[..., None], len(after), axis=2)),
    "nothing is rounded": ("_of_events", lambda terms, sums, place: np.zeros(sums.shape[:2])),
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_exceeded(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "sequential-e4m3-f16" if mutant == "nothing is rounded" else HOPPER
    unit = load_unit(name)
    a, b = vectors(unit, 128, False)
    error = max(error_of(unit, a, b, orders_that_lose(unit, a, b)))
    assert error <= silent(unit, a=a[None], b=b[:, None]).atol[0, 0]
    monkeypatch.setattr(orders, *MUTANTS[mutant])
    assert error > silent(unit, a=a[None], b=b[:, None]).atol[0, 0]


def test_two_units_differ_by_no_more() -> None:
    unit = load_unit(HOPPER)
    a, b, c = drawn(unit, 96, "both signs", 2)
    found = silent(unit, a=a, b=b, c=c, other=DEEPSEEK)
    first, second = (hwsim.gemm(name, a, b, c).astype(np.float64) for name in (HOPPER, DEEPSEEK))
    assert (np.abs(first - second) <= found.atol).all()
    with pytest.raises(InputError, match="take other factors or scales"):
        tolerance(HOPPER, a=a, b=b, other="hopper-wgmma-e5m2-f32")


def test_of_bounds_it_holds_for_all_data_within_them() -> None:
    unit = load_unit(HOPPER)
    found = tolerance(unit, 64, largest_a=2.0, largest_b=2.0, largest_c=4.0)
    assert found.exact is None and found.zeros_pass == 0
    assert tolerance(unit, 64, largest_a=2, largest_b=2, largest_c=4).atol == found.atol
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="largest_b must be a magnitude, finite and at least 0"):
            tolerance(unit, 64, largest_b=wrong)
    for seed in range(3):
        a, b, c = drawn(unit, 64, "both signs", seed)
        a, b = (unit.operands.a.encode(np.clip(unit.operands.a.decode(side), -2, 2)) for side in (a, b))
        c = unit.operands.addend.encode(np.clip(unit.operands.addend.decode(c), -4, 4))  # type: ignore[union-attr]
        assert errors(unit, a, b, c).max() <= found.atol
    with pytest.raises(InputError, match="k is missing"):
        tolerance(unit)


def test_it_warns_where_zeros_would_pass() -> None:
    unit = load_unit(HOPPER)
    a = unit.operands.a.encode(np.array([[16.0] + [1.0] * 31 + [16.0]]))
    b = unit.operands.b.encode(np.array([[16.0]] + [[2.0**-8]] * 31 + [[-16.0]]))
    with pytest.warns(ToleranceWarning, match="a result of zeros would be within the tolerance of 1 of 1 results"):
        found = tolerance(unit, a=a, b=b)
    assert found.zeros_pass == found.results == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tolerance(unit, a=a[:, :32], b=b[:32]).zeros_pass == 0


def test_what_may_overflow_has_no_bound() -> None:
    unit = load_unit("hopper-wgmma-e4m3-f16")
    a, b = unit.operands.a.encode(np.full((1, 2), 448.0)), unit.operands.b.encode(np.full((2, 1), 448.0))
    assert silent(unit, a=a, b=b).atol[0, 0] == np.inf
    a[0, 0] = 0x7F
    with pytest.raises(InputError, match="must be finite"):
        tolerance(unit, a=a, b=b)


# Sparse units.


def test_of_a_sparse_product_each_row_has_its_own_factors_of_b() -> None:
    generator = np.random.default_rng(3)
    a, b = generator.integers(0x20, 0x40, (3, 32), np.uint8), generator.integers(0x20, 0x40, (64, 2), np.uint8)
    metadata = np.sort(np.argsort(generator.random((3, 16, 4)), axis=2)[:, :, :2], axis=2).reshape(3, 32)
    unit = "hopper-wgmma-sp-e4m3-f32"
    found = tolerance(unit, a=a, b=b, metadata=metadata)
    for row, kept in enumerate(metadata):
        places = np.arange(32) // 2 * 4 + kept
        dense = tolerance(HOPPER, a=a[row : row + 1], b=b[places])
        assert (found.atol[row] == dense.atol[0]).all() and (found.exact[row] == dense.exact[0]).all()
    assert (np.abs(hwsim.gemm(unit, a, b, metadata=metadata) - found.exact) <= found.atol).all()
    assert tolerance(unit, 32).atol == tolerance(HOPPER, 32).atol
    for wrong in ({"a": a, "b": b}, {"k": 32, "metadata": metadata}):
        with pytest.raises(InputError, match="metadata"):
            tolerance(unit, **wrong)
