"""Chains, trees and integer sums against NumPy's and ml_dtypes' own arithmetic, bit for bit."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from unit_keys import chained, odd, promoted

import hwsim
import hwsim.model
from hwsim.spec import Unit

DTYPES: dict[str, Any] = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
WORDS: dict[str, Any] = {"f32": np.uint32, "f16": np.uint16, "bf16": np.uint16}
NANS = {"f32": 0x7FFFFFFF, "f16": 0x7FFF, "bf16": 0x7FFF}
# bfloat16 and binary16 operations round binary32's: 24 bits are at least 2 x 11 + 2, so that one rounding hides the
# other (Figueroa 1995), for sums and products.


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
    unit = Unit.model_validate(odd(fmt, fmt, chained("sequential", fmt, product="rounded"), fmt, lanes))
    a, b, c = operands(fmt, 400, 12, lanes)
    total = c.view(DTYPES[fmt])
    with np.errstate(all="ignore"):
        for k in range(12):
            total = total + a[:, k].view(DTYPES[fmt]) * b[:, k].view(DTYPES[fmt])
    compare(hwsim.model.dot(unit, a, b, c), total, fmt)


@pytest.mark.parametrize("fmt", ["f16", "bf16"])
def test_chunks_go_into_a_register(fmt: str) -> None:
    rule = chained("sequential", fmt, product="rounded")
    unit = Unit.model_validate(odd(fmt, fmt, rule, fmt, 1, **promoted(5, fmt)))
    a, b, c = operands(fmt, 400, 12, 5)
    register = c.view(DTYPES[fmt])
    with np.errstate(all="ignore"):
        for start in (0, 5, 10):
            chunk = np.zeros(400, DTYPES[fmt])
            for k in range(start, min(start + 5, 12)):
                chunk = chunk + a[:, k].view(DTYPES[fmt]) * b[:, k].view(DTYPES[fmt])
            register = register + chunk
    compare(hwsim.model.dot(unit, a, b, c), register, fmt)


def test_fused_products_of_narrow_factors_are_exact_in_binary32() -> None:
    # A product of bf16 factors has 16 bits: with exponents near 0 binary32 holds it, and so FMA is mul and add.
    a, b, c = (side.view(ml_dtypes.bfloat16) for side in operands("bf16", 400, 8, 3))
    a, b = (np.clip(np.nan_to_num(side.astype(np.float32)), -4, 4).astype(ml_dtypes.bfloat16) for side in (a, b))
    keep = (np.abs(a.astype(np.float32)) > 1e-6) & (np.abs(b.astype(np.float32)) > 1e-6)
    a, b = (np.where(keep, side, np.zeros_like(side)) for side in (a, b))
    unit = Unit.model_validate(odd("bf16", "f32", chained("sequential", "f32"), "f32", 4))
    total = np.nan_to_num(c.astype(np.float32), posinf=1, neginf=1)
    start = total
    for k in range(8):
        total = total + a[:, k].astype(np.float32) * b[:, k].astype(np.float32)
    compare(hwsim.model.dot(unit, a, b, start), total, "f32")


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


def test_an_exact_sum_rounds_once_over_the_whole_of_k() -> None:
    # Products of e4m3 are multiples of 2^-18 below 2^18: binary64 sums 128 of them exactly, and binary32 rounds once.
    unit = Unit.model_validate(odd("e4m3", "f32", {"method": "exact"}, "f32", 32))
    random = np.random.default_rng(13)
    a, b = random.integers(0, 0x7F, (2, 300, 128)) | random.integers(0, 2, (2, 300, 128)) << 7
    c = random.normal(size=300).astype(np.float16).astype(np.float32)
    fmt = hwsim.get_format("e4m3")
    exact = (fmt.decode(a) * fmt.decode(b)).sum(axis=1) + c.astype(np.float64)
    compare(hwsim.model.dot(unit, a, b, c), exact.astype(np.float32), "f32")


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
