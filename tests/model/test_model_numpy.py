"""hwsim.model.dot against NumPy's and ml_dtypes' own arithmetic, where one rounding or none makes them comparable."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from built_presets import others_slow
from numpy.typing import NDArray
from unit_keys import chained, odd_unit, window

import hwsim
import hwsim.model

HOPPER = "hopper-wgmma-e4m3-f32"
DTYPES: dict[str, Any] = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


WORDS: dict[str, Any] = {"f32": np.uint32, "f16": np.uint16, "bf16": np.uint16}


NANS = {"f32": 0x7FFFFFFF, "f16": 0x7FFF, "bf16": 0x7FFF}


def bits(array: NDArray[Any]) -> list[int]:
    codes: list[int] = array.view({2: np.uint16, 4: np.uint32}[array.itemsize]).tolist()
    return codes


FACTORS = [("e4m3", "e5m2"), ("mxint8", "e4m3"), ("e4m3", "e4m3"), ("e5m2", "e5m2")]


@pytest.mark.parametrize(
    ("a", "b", "step"), others_slow([(*FACTORS[0], 5), *((*pair, 1) for pair in FACTORS)], [(*FACTORS[0], 5)])
)
def test_every_single_product_is_exact(a: str, b: str, step: int) -> None:
    # At most 8 bits, in a window of at least 14 below max_exp, and far inside e8m13's range: nothing to round.
    unit = odd_unit("odd", (a, b), "f32", window(13), "e8m13", 1, rounding="rz")
    left, right = (side.ravel() for side in np.meshgrid(np.arange(256), np.arange(0, 256, step), indexing="ij"))
    got = hwsim.model.dot(unit, left[:, None], right[:, None])
    with np.errstate(invalid="ignore"):
        want = (unit.operands.a.decode(left) * unit.operands.b.decode(right)).astype(np.float32)
    nan = np.isnan(want)
    assert set(bits(got[nan])) <= {0x7FFFFFFF}
    # A sum that is exactly zero is +0, whatever the signs of its terms.
    assert bits(got[~nan]) == bits(want[~nan] + np.float32(0))


@pytest.mark.parametrize("k", [128, 160, 257, 384])
def test_promotion_is_binary32_addition(k: int) -> None:
    random = np.random.default_rng(k)
    a, b = random.integers(0, 0x60, (2, 60, k)) | random.integers(0, 2, (2, 60, k)) << 7
    c = random.normal(size=60).astype(np.float32)
    register = c
    for start in range(0, k, 128):
        register = register + hwsim.model.dot(HOPPER, a[:, start : start + 128], b[:, start : start + 128])
    assert register.dtype == np.float32
    assert bits(hwsim.model.dot("deepseek-v3-e4m3-f32", a, b, c)) == bits(register)


def test_promotion_rounds_once_at_the_ends_of_binary32() -> None:
    # Ties, cancellation to subnormals, infinities and NaN, through the register's addition alone: partials are exact.
    fmt = hwsim.get_format("e4m3")
    partial = np.array([1, -1, 448, -448, 2.0**-9, -(2.0**-9), 0], dtype=np.float32)
    edges = np.array(
        [0x33800000, 0xB3800000, 0x4B800000, 0x4B7FFFFF, 0x4F800001, 0x00000001, 0x7F7FFFFF, 0xFF7FFFFF, 0x80000000],
        dtype=np.uint32,
    ).view(np.float32)
    c, p = (side.ravel() for side in np.meshgrid(edges, partial))
    got = hwsim.model.dot("deepseek-v3-e4m3-f32", fmt.encode(p)[:, None], fmt.encode(np.ones(p.size))[:, None], c)
    assert bits(got) == bits(c + (p + np.float32(0)))


def operands(fmt: str, n: int, k: int, seed: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Codes: a third about 1, a third any, a third small, with zeros of both signs."""
    random = np.random.default_rng([seed, k])
    word, bits = WORDS[fmt], 8 * np.dtype(WORDS[fmt]).itemsize

    def codes(*shape: int) -> NDArray[Any]:
        near = random.normal(size=shape).astype(DTYPES[fmt]).view(word)
        every = random.integers(0, 1 << bits, shape, dtype=np.uint64).astype(word)
        small = (random.normal(size=shape) * float(ml_dtypes.finfo(DTYPES[fmt]).tiny) ** 0.5).astype(DTYPES[fmt])
        kind = random.integers(0, 3, shape[0]).reshape(-1, *[1] * (len(shape) - 1))
        made = np.select([kind == 0, kind == 1], [near, every], small.view(word))
        return np.where(random.random(shape) < 0.1, made & word(1 << bits - 1), made).astype(word)

    return codes(n, k), codes(n, k), codes(n)


def compare(got: NDArray[Any], want: NDArray[Any], fmt: str) -> None:
    bits, expected = got.view(WORDS[fmt]), want.view(WORDS[fmt])
    expected = np.where(np.isnan(want.astype(np.float32)), WORDS[fmt](NANS[fmt]), expected)
    np.testing.assert_array_equal(bits, expected)
    assert len(set(bits.tolist())) > len(bits) // 3


@pytest.mark.parametrize("fmt", DTYPES)
@pytest.mark.parametrize("lanes", [1, 4])
def test_a_chain_is_a_loop_over_k(fmt: str, lanes: int) -> None:
    unit = odd_unit("chain", fmt, fmt, chained("sequential", fmt, product="rounded"), fmt, lanes)
    a, b, c = operands(fmt, 400, 12, lanes)
    total = c.view(DTYPES[fmt])
    with np.errstate(all="ignore"):
        for k in range(12):
            total = total + a[:, k].view(DTYPES[fmt]) * b[:, k].view(DTYPES[fmt])
    compare(hwsim.model.dot(unit, a, b, c), total, fmt)


@pytest.mark.parametrize(
    ("name", "fmt", "lanes"), [("cdna1-mfma-f16-f32-tree", "f16", 4), ("cdna1-mfma-bf16-f32-tree", "bf16", 2)]
)
def test_a_tree_adds_neighbours(name: str, fmt: str, lanes: int) -> None:
    a, b, _ = operands(fmt, 400, 8, 7)
    _, _, c = operands("f32", 400, 8, 8)
    total = c.view(np.float32)
    with np.errstate(all="ignore"):
        for start in range(0, 8, lanes):
            part = [
                a[:, i].view(DTYPES[fmt]).astype(np.float32) * b[:, i].view(DTYPES[fmt]).astype(np.float32)
                for i in range(start, start + lanes)
            ]
            tree = part[0] + part[1] if lanes == 2 else (part[0] + part[1]) + (part[2] + part[3])
            total = tree + total
    compare(hwsim.model.dot(name, a, b, c), total, "f32")


def flushed(x: NDArray[Any], least: float) -> NDArray[Any]:
    return np.where(np.abs(x) < least, np.copysign(x.dtype.type(0), x), x)


def test_cdna2_flushes_factors_addend_and_partial_sums() -> None:
    a, b, _ = operands("bf16", 600, 8, 9)
    _, _, c = operands("f32", 600, 8, 10)
    c[::3] &= 0x807FFFFF
    tiny = 2.0**-126
    x, y = (flushed(side.view(ml_dtypes.bfloat16).astype(np.float32), tiny) for side in (a, b))
    total = flushed(c.view(np.float32), tiny)
    with np.errstate(all="ignore"):
        for start in (0, 4):
            p = [flushed(x[:, i] * y[:, i], tiny) for i in range(start, start + 4)]
            tree = flushed(flushed(p[0] + p[1], tiny) + flushed(p[2] + p[3], tiny), tiny)
            total = flushed(tree + total, tiny)
    compare(hwsim.model.dot("cdna2-mfma1k-bf16-f32", a, b, c), total, "f32")


def test_integers_wrap_as_numpy_wraps() -> None:
    random = np.random.default_rng(12)
    a, b = random.integers(-128, 128, (2, 60, 90))
    c = random.choice([0, 2**31 - 1, -(2**31), 12345, -1], 60).astype(np.int32)
    want = (a * b).sum(axis=1).astype(np.int32) + c
    assert hwsim.model.dot("int8-i32", a, b, c).view(np.int32).tolist() == want.tolist()
    got = hwsim.gemm("int8-i32", a[:5], b[:7].T)
    assert got.view(np.int32).tolist() == (a[:5] @ b[:7].T).tolist()


def test_scaled_promotions_are_fmas() -> None:
    # s has 24 bits and a partial 14: binary64 holds the product, and a register that is near it, exactly.
    random = np.random.default_rng(14)
    a, b = random.integers(0x20, 0x50, (2, 60, 256)) | random.integers(0, 2, (2, 60, 256)) << 7
    scale_a, scale_b = random.uniform(0.5, 2, (2, 60, 2)).astype(np.float32)
    register = np.zeros(60, np.float32)
    for block in range(2):
        here = slice(128 * block, 128 * block + 128)
        partial = hwsim.model.dot("hopper-wgmma-e4m3-f32", a[:, here], b[:, here]).astype(np.float64)
        both = (scale_a[:, block] * scale_b[:, block]).astype(np.float64)
        total = partial * both + register
        near = np.abs(np.frexp(total)[1] - np.frexp(partial * both)[1]) < 12
        register = total.astype(np.float32)
        assert near.mean() > 0.8
    got = hwsim.model.dot("deepseek-v3-e4m3-f32-scaled", a, b, None, scale_a, scale_b)
    compare(got, register, "f32")
