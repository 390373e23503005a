"""Tolerances: never exceeded by random and directed data, near what random data reach, and a warning beside zeros."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow

import hwsim
from hwsim.base.errors import InputError
from hwsim.spec import Unit, load_unit
from hwsim.study import tolerance as module
from hwsim.study.accuracy import walk
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


# The largest bound over the largest error, at most: of sums in one window whose results lose bits.
NEAR = [(HOPPER, 32, 4), (HOPPER, 256, 4), (DEEPSEEK, 256, 4), (DEEPSEEK, 1024, 4), ("ada-mma-f16-f32", 32, 4),
        ("ada-mma-e5m2-f16", 32, 4), ("turing-mma-f16-f32", 32, 4)]  # fmt: skip


@pytest.mark.parametrize(("name", "k", "most"), NEAR)
def test_it_is_within_a_factor_of_four_of_what_random_data_reach(name: str, k: int, most: float) -> None:
    unit = load_unit(name)
    for kind in ("both signs", "one sign"):
        a, b, _ = drawn(unit, k, kind, 5, 12)
        ratio = silent(unit, a=a, b=b).atol.max() / errors(unit, a, b, None).max()
        assert 1 <= ratio <= most, (kind, ratio)


def test_methods_without_one_window_are_not() -> None:
    for name in ("cdna3-mfma-f16-f32", "sequential-e4m3-f16", "cdna2-mfma-bf16-f32"):
        unit = load_unit(name)
        a, b, _ = drawn(unit, 64, "both signs", 5)
        assert not walk.walks(unit)
        assert silent(unit, a=a, b=b).atol.max() > 4 * errors(unit, a, b, None).max()


@pytest.mark.parametrize("mutant", ["nothing below", "nothing rounded", "starts from nothing"])
def test_mutants_are_exceeded(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if mutant == "nothing below":
        monkeypatch.setattr(walk.np, "fmod", lambda x, y: np.zeros(np.broadcast_shapes(x.shape, y.shape)))
    elif mutant == "nothing rounded":
        monkeypatch.setattr(walk, "_power", lambda size: np.zeros_like(size))
    else:
        monkeypatch.setattr(
            module, "walked_errors", lambda unit, a, b, c: walk.walked_errors(unit, a, b, np.zeros_like(c))
        )
    name, k = (DEEPSEEK, 128) if mutant == "nothing rounded" else (HOPPER, 40)
    unit = load_unit(name if mutant != "nothing rounded" else "ada-mma-e5m2-f16")
    exceeded = 0
    for seed in range(4):
        a, b, c = drawn(unit, k, "both signs", seed)
        exceeded += int((errors(unit, a, b, c) > silent(unit, a=a, b=b, c=c).atol).sum())
    assert exceeded


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
