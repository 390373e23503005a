"""Chains of the processor's own FMAs against the model, a loop of rationals, and mutants of themselves."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from kernels.kernel_cases import by_kernel, by_pairs, compare, compare_all, product
from kernels.kernel_units import units
from unit_keys import chained, late, mx, odd, promoted

import hwsim
from hwsim.compute.kernels import additions, kernel_of, supports
from hwsim.compute.kernels.additions import FmaKernel
from hwsim.spec import Unit, load_unit

UNITS = {one.name: one for one in units("sequential") if supports(one) and isinstance(kernel_of(one), FmaKernel)}


def test_the_units() -> None:
    assert set(UNITS) == {
        *(
            "ada-mma-f64-f64",
            "cdna1-mfma-f32-f32",
            "chain-f32",
            "chain-f32-bf16",
            "chain-f32-lanes",
            "chain-f32-converted",
        ),
        *("arm-bfmlal-bf16-f32", "arm-fmlal-f16-f32", "riscv-zvfbdota32f-f32-f32-fused"),
        *("chain-f64-mixed", "chain-f64-int8"),
    }


@pytest.mark.quick
@pytest.mark.parametrize("name", others_slow(UNITS, [*UNITS][4::4]))
def test_kernel_is_the_model(name: str) -> None:
    kernel = kernel_of(UNITS[name])
    for seed in range(1, 4):
        assert compare_all(kernel, UNITS[name], seed) > 250
    for k in (257, 2 * additions.PASS + 3):  # more than one pass, with a rest of fours
        compare(kernel, UNITS[name], 1, (3, 5, k), "cancel")


@pytest.mark.parametrize("name", ["ada-mma-f64-f64", "cdna1-mfma-f32-f32"])
def test_a_chain_is_a_loop_of_rationals(name: str) -> None:
    unit = UNITS[name]
    fmt: Any = unit.output
    given = product(np.random.default_rng(7), unit, (2, 9, 12), "middle")
    assert given.c is not None
    got = by_kernel(kernel_of(unit), unit, given)
    for (i, j), code in np.ndenumerate(got):
        total = Fraction(float(fmt.decode(given.c[i, j])))
        for x, y in zip(fmt.decode(given.a[i]).tolist(), fmt.decode(given.b[:, j]).tolist(), strict=True):
            rounded = fmt.encode([total + Fraction(x) * Fraction(y)], "rne", "infinity")
            total = Fraction(float(fmt.decode(rounded)[0]))
        assert fmt.decode(code) == total


def test_what_the_two_carriers_hold() -> None:
    carriers = {name: kernel.kind for name, unit in UNITS.items() if isinstance(kernel := kernel_of(unit), FmaKernel)}
    assert {name for name, carrier in carriers.items() if carrier is np.float64} == {
        name for name in UNITS if "f64" in name
    }


F32 = chained("sequential", "f32")


@pytest.mark.parametrize(
    "keys",
    [
        odd("f32", "f32", chained("sequential", "f32", "rz"), "f32"),
        odd("f32", "f32", chained("sequential", "f32", product="rounded"), "f32"),
        odd("bf16", "f32", chained("sequential", "f32", flush=True), "f32"),
        odd("bf16", "f32", F32, "bf16"),
        odd("bf16", "f32", F32, "f32", overflow="saturate"),
        odd("bf16", "f32", F32, "f32", subnormals="flush"),
        odd("bf16", "f32", F32, "f32", **promoted(8, "f32")),
        odd("bf16", "f32", F32, "f32", **late("f32", "rne")),
        odd("e2m1", "f32", F32, "f32", **mx(4, 4)),
        odd("bf16", "f32", chained("sequential", "tf32"), "tf32"),
        odd("bf16", "f32", chained("sequential", "bf16"), "bf16"),
    ],
    ids=lambda keys: "-".join(map(str, keys["sum"].values())),
)
def test_other_units_have_other_kernels(keys: Any) -> None:
    unit = Unit.model_validate(keys)
    assert not supports(unit) or not isinstance(kernel_of(unit), FmaKernel)


def test_what_binary64_does_not_hold_is_refused() -> None:
    unit = Unit.model_validate(odd("f64", "f64", chained("sequential", "f64", "rz"), "f64"))
    assert {"sum.format: f64", "operands: products of 106 bits (float64 has 53)"} < set(supports(unit).lacks)
    # The model computes it.
    one, third = np.full((3, 5), 1.0), np.full((3, 5), 1 / 3)
    got = hwsim.dot(unit, one, third)
    assert got.dtype == np.float64 and 5 / 3 - 2**-50 < got[0] < 5 / 3  # towards zero, five times
    assert np.array_equal(got, hwsim.gemm(unit, one, third.T)[:, 0])


def test_results_are_float64() -> None:
    unit = load_unit("hopper-mma-f64-f64")
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(300, 40)), rng.normal(size=(40, 200))  # enough for the kernel
    c = rng.normal(size=(300, 200))
    got = hwsim.gemm(unit, a, b, c)
    assert got.dtype == np.float64
    assert np.array_equal(
        got[:2, :3], hwsim.dot(unit, a[[0, 0, 0, 1, 1, 1]], b.T[[0, 1, 2] * 2], c[:2, :3].ravel()).reshape(2, 3)
    )
    np.testing.assert_allclose(got, c + a @ b, rtol=1e-12, atol=1e-12)


def not_fused(sums: Any, a: Any, b: Any, first: int, last: int) -> None:
    with np.errstate(all="ignore"):
        for k in range(first, last):
            sums += a[:, k : k + 1] * b[k]


def backwards(sums: Any, a: Any, b: Any, first: int, last: int) -> None:
    CHAINS(sums, np.ascontiguousarray(a[:, ::-1]), np.ascontiguousarray(b[::-1]), first, last)


def without_the_rest(sums: Any, a: Any, b: Any, first: int, last: int) -> None:
    CHAINS(sums, a, b, first, first + (last - first) // 4 * 4)


def without_subnormals(sums: Any, a: Any, b: Any, first: int, last: int) -> None:
    CHAINS(sums, a, b, first, last)
    sums[np.abs(sums) < np.finfo(sums.dtype).tiny] = 0


CHAINS = additions._chains


@pytest.mark.parametrize("mutant", [not_fused, backwards, without_the_rest, without_subnormals])
@pytest.mark.parametrize("name", ["ada-mma-f64-f64", "cdna1-mfma-f32-f32"])
def test_mutants_are_caught(mutant: Callable[..., None], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(additions, "_chains", mutant)
    with pytest.raises(AssertionError, match=f"{name}, seed"):
        compare_all(kernel_of(UNITS[name]), UNITS[name], seed=1)


def test_another_nan_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = UNITS["chain-f64-mixed"]
    given = product(np.random.default_rng(3), unit, (2, 5, 4), "special")
    given.a[0, 0] = 0x7F800001
    kernel = kernel_of(unit)
    assert set(by_kernel(kernel, unit, given)[0].tolist()) == {0x7FF8000000000000}
    assert set(by_pairs(kernel, unit, given)[0].tolist()) == {0x7FF8000000000000}
