"""What hwsim.gemm and hwsim.dot take as arrays and what they return, by their kernels and by the model."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import BroadcastableShapes, mutually_broadcastable_shapes
from kernels.kernel_cases import Product
from kernels.window_cases import by_run
from kernels.window_units import UNITS
from model.model_units import spec
from numpy.typing import NDArray

import hwsim
from hwsim.gemm import engine
from hwsim.gemm.matrix import products
from hwsim.kernels import Unsuited
from hwsim.kernels.aligned import WindowKernel
from hwsim.model import dot as by_model
from hwsim.spec import Unit, as_yaml, load_unit

Array = NDArray[Any]
HOPPER, MX, VOLTA = "hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32", "volta-mma-f16-f16"
# A hundred bits are more than any kernel's integers hold.
WIDE = Unit.model_validate(spec(bits=100))


@pytest.fixture(params=["kernel", "model"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Both ways that a product is computed, however small or large it is."""
    few = {"kernel": -1, "model": 1 << 60}[request.param]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "FEW", few)
        patch.setattr(engine, "_loaded", set())
        yield request.param


@pytest.fixture
def by_kernel() -> Iterator[pytest.MonkeyPatch]:
    """However small a product is, its kernel computes it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "FEW", -1)
        patch.setattr(engine, "_loaded", set())
        yield patch


def codes(seed: int, *shape: int) -> Array:
    """Codes of e4m3: numbers near one, zeros, and a NaN now and then."""
    rng = np.random.default_rng(seed)
    near = rng.integers(0x20, 0x50, shape) | rng.integers(0, 2, shape) << 7
    return np.where(rng.random(shape) < 0.01, 0x7F, np.where(rng.random(shape) < 0.1, 0, near)).astype(np.uint8)


def addends(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def bits(array: Array) -> Array:
    return array.view(f"u{array.itemsize}")


def same(got: Array, want: Array) -> None:
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_array_equal(bits(got), bits(want))


def expected(unit: str | Unit, a: Array, b: Array, c: Array | None = None, *scales: Array) -> Array:
    """Every element by the model. a: (M, K), b: (K, N), c: (M, N), scales as hwsim.gemm takes them, of whole rows."""
    m, n = a.shape[0], b.shape[1]
    i, j = np.repeat(np.arange(m), n), np.tile(np.arange(n), m)
    of_pairs = [scales[0][i], scales[1].T[j]] if scales else []
    return by_model(unit, a[i], b.T[j], None if c is None else c[i, j], *of_pairs).reshape(m, n)


# Shapes


def broadcast(a: Array, b: Array, c: Array | None) -> Array:
    """numpy.matmul's rule, by a loop over the batch."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = np.zeros((*batch, a.shape[-2], b.shape[-1]), np.float32)
    a, b = np.broadcast_to(a, (*batch, *a.shape[-2:])), np.broadcast_to(b, (*batch, *b.shape[-2:]))
    wide = None if c is None else np.broadcast_to(c, out.shape)
    for at in np.ndindex(batch):
        out[at] = expected(HOPPER, a[at], b[at], None if wide is None else wide[at])
    return out


@given(
    shapes=mutually_broadcastable_shapes(signature="(m,k),(k,n)->(m,n)", max_dims=3, min_side=1, max_side=4),
    c_axes=st.integers(0, 4),
    ones=st.integers(0, 7),
    few=st.sampled_from([-1, 1 << 60]),
)
@settings(max_examples=60, deadline=None)
def test_batches_are_broadcast_as_numpy_does(shapes: BroadcastableShapes, c_axes: int, ones: int, few: int) -> None:
    a, b = (codes(seed, *shape) for seed, shape in enumerate(shapes.input_shapes))
    whole = np.matmul(np.zeros(a.shape), np.zeros(b.shape)).shape
    c = None
    if c_axes:
        batch = [1 if ones >> axis & 1 else size for axis, size in enumerate(whole[:-2])]
        c = addends(3, *batch[len(batch) + 1 - c_axes :], *whole[-2:])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "FEW", few)
        patch.setattr(engine, "_loaded", set())
        got = hwsim.gemm(HOPPER, a, b, c)
    assert got.shape == whole
    same(got, broadcast(a, b, c))


def test_scales_are_broadcast_too(way: str) -> None:
    rng = np.random.default_rng(4)
    a, b = codes(1, 2, 1, 3, 64), codes(2, 5, 64, 4)
    scale_a, scale_b = rng.integers(120, 135, (2, 1, 3, 2)), rng.integers(120, 135, (2, 4))
    got = hwsim.gemm(MX, a, b, None, scale_a, scale_b)
    assert got.shape == (2, 5, 3, 4)
    for i, j in np.ndindex(2, 5):
        same(got[i, j], expected(MX, a[i, 0], b[j], None, scale_a[i, 0], scale_b))


@pytest.mark.parametrize(
    ("a", "b"),
    [((0, 40), (40, 3)), ((3, 40), (40, 0)), ((0, 40), (40, 0)), ((0, 2, 40), (40, 3)), ((2, 1, 2, 40), (0, 40, 3))],
)
def test_nothing_to_compute_is_an_empty_result(way: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    calls: list[int] = []
    got = hwsim.gemm(HOPPER, codes(1, *a), codes(2, *b), progress=calls.append)
    assert (got.shape, got.dtype) == (np.matmul(np.zeros(a), np.zeros(b)).shape, np.float32)
    assert sum(calls) == products(a, b) == 0
    assert hwsim.gemm(HOPPER, codes(1, *a), codes(2, *b), np.zeros(got.shape, np.float32)).shape == got.shape
    assert hwsim.dot(HOPPER, codes(1, 0, 5), codes(2, 0, 5)).shape == (0,)


# Memory


class Exporter:
    """An array of another library: DLPack is all that it has."""

    def __init__(self, array: Array):
        self.array = array

    def __dlpack__(self, **keys: Any) -> Any:
        return self.array.__dlpack__(**keys)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def read_only(array: Array) -> Array:
    made = array.copy()
    made.setflags(write=False)
    return made


def apart(array: Array) -> Array:
    """With others between its elements."""
    wide = np.full([2 * size for size in array.shape], 0x7F, array.dtype)
    wide[..., ::2, 1::2] = array
    return wide[..., ::2, 1::2]


LAYOUTS: dict[str, Callable[[Array], Any]] = {
    "fortran": np.asfortranarray,
    "transposed": lambda array: np.ascontiguousarray(array.T).T,
    "apart": apart,
    "backwards": lambda array: np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1],
    "read only": read_only,
    "dlpack": Exporter,
    "e4m3 floats": lambda array: array.view(ml_dtypes.float8_e4m3fn),
    "e4m3 floats, apart": lambda array: apart(array).view(ml_dtypes.float8_e4m3fn),
    "big integers": lambda array: array.astype(">i8"),
    "lists": lambda array: array.tolist(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_does_not_matter(way: str, layout: str) -> None:
    a, b, c = codes(1, 5, 70), codes(2, 70, 6), addends(3, 5, 6)
    want, change = expected(HOPPER, a, b, c), LAYOUTS[layout]
    same(hwsim.gemm(HOPPER, change(a), b, c), want)
    same(hwsim.gemm(HOPPER, a, change(b), c), want)
    same(hwsim.gemm(HOPPER, change(a), change(b), c), want)
    dots = by_model(HOPPER, a, b.T[:5], c[:, 0])
    same(hwsim.dot(HOPPER, change(a), change(b.T[:5]), c[:, 0]), dots)


@pytest.mark.parametrize("layout", ["fortran", "apart", "backwards", "read only", "dlpack", "lists"])
def test_memory_of_addends_and_scales_does_not_matter(way: str, layout: str) -> None:
    change, rng = LAYOUTS[layout], np.random.default_rng(5)
    a, b, c = codes(1, 5, 64), codes(2, 64, 6), bits(addends(3, 5, 6))
    scale_a, scale_b = rng.integers(120, 135, (5, 2), dtype=np.uint8), rng.integers(120, 135, (2, 6), dtype=np.uint8)
    want = expected(MX, a, b, c, scale_a, scale_b)
    same(hwsim.gemm(MX, a, b, change(c), change(scale_a), change(scale_b)), want)
    if layout not in ("apart", "backwards"):
        dots = by_model(MX, a, b.T[:5], c[:, 0], scale_a, scale_b.T[:5])
        same(hwsim.dot(MX, a, b.T[:5], change(c[:, 0]), change(scale_a), change(scale_b.T[:5])), dots)


def test_one_row_may_stand_for_all(way: str) -> None:
    a, b = np.broadcast_to(codes(1, 1, 40), (5, 40)), np.broadcast_to(codes(2, 40, 1), (40, 7))
    same(hwsim.gemm(HOPPER, a, b), expected(HOPPER, a, b))


def test_operands_stay_as_they_are(by_kernel: pytest.MonkeyPatch) -> None:
    a, b, c = codes(1, 5, 70), codes(2, 70, 6), addends(3, 5, 6)
    kept = [side.copy() for side in (a, b, c)]
    hwsim.gemm(HOPPER, a, b, c)
    for side, copy in zip((a, b, c), kept, strict=True):
        same(side, copy)


# Results


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(HOPPER, np.float32), (VOLTA, np.float16), ("hopper-wgmma-e4m3-f16", np.float16), ("far-saturate", np.uint8)],
)
def test_results_are_floats_where_numpy_has_them(way: str, name: str, dtype: type[Any]) -> None:
    unit = UNITS.get(name) or load_unit(name)
    rng = np.random.default_rng(6)
    a, b = (
        rng.integers(0, 1 << side.bits, shape)
        for side, shape in ((unit.operands.a, (3, 16)), (unit.operands.b, (16, 4)))
    )
    got = hwsim.gemm(unit, a, b)
    same(got, expected(unit, a, b))
    assert got.dtype == dtype
    assert hwsim.dot(unit, a[:3], b.T[:3]).dtype == dtype


# Tiles: panels of columns and blocks of rows


@pytest.mark.parametrize(
    ("m", "n"),
    [(1, 1), (1, 63), (2, 64), (3, 65), (1, 129), (255, 64), (256, 65), (257, 3), (513, 130), (3, 511), (2, 513),
     (5, 2100), (300, 1030)],
)  # fmt: skip
def test_edges_of_tiles(by_kernel: pytest.MonkeyPatch, m: int, n: int) -> None:
    unit, rng = load_unit(VOLTA), np.random.default_rng([m, n])
    a, b = (rng.integers(0, 1 << 16, shape).astype(np.uint16) for shape in ((m, 7), (7, n)))
    a[-1, -1], b[-1, -1] = 0x7C00, 0x3C00
    c = rng.integers(0, 1 << 16, (m, n)).astype(np.uint16)
    got = hwsim.gemm(unit, a, b, c)
    np.testing.assert_array_equal(
        bits(got), by_run(WindowKernel(unit, vectors=False), unit, Product(a, b, c, None, None))
    )
    i, j = rng.integers(0, m, 150), rng.integers(0, n, 150)
    i[:4], j[:4] = [0, 0, m - 1, m - 1], [0, n - 1, 0, n - 1]
    same(got[i, j], by_model(unit, a[i], b.T[j], c[i, j]))


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 5), (7, 100), (300, 64)])
def test_blocks_of_scales_do_not_end_where_tiles_do(by_kernel: pytest.MonkeyPatch, rows: int, columns: int) -> None:
    e8m0 = {"format": "e8m0"}
    scale = {"a": {**e8m0, "block": [rows, 32]}, "b": {**e8m0, "block": [32, columns]}}
    unit = load_unit(MX)
    unit = unit.model_validate({**unit.model_dump(exclude_none=True), "scale": scale})
    m, k, n, rng = 260, 64, 150, np.random.default_rng(rows)
    a, b = codes(1, m, k), codes(2, k, n)
    scale_a = rng.integers(110, 140, (-(-m // rows), 2), dtype=np.uint8)
    scale_b = rng.integers(110, 140, (2, -(-n // columns)), dtype=np.uint8)
    got = hwsim.gemm(unit, a, b, None, scale_a, scale_b)
    i, j = rng.integers(0, m, 400), rng.integers(0, n, 400)
    same(got[i, j], by_model(unit, a[i], b.T[j], None, scale_a[i // rows], scale_b.T[j // columns]))


@pytest.mark.parametrize("cores", [1, 2, 3, 8])
def test_as_many_threads_as_there_are_give_the_same(by_kernel: pytest.MonkeyPatch, cores: int) -> None:
    by_kernel.setattr(engine, "threads", lambda: cores)
    a, b, c = codes(1, 37, 70), codes(2, 70, 300), addends(3, 37, 300)
    unit = load_unit(HOPPER)
    want = by_run(WindowKernel(unit, vectors=False), unit, Product(a, b, bits(c), None, None))
    np.testing.assert_array_equal(bits(hwsim.gemm(unit, a, b, c)), want)
    for n in (1, 2, 9, 37):
        same(hwsim.dot(unit, a[:n], b.T[:n], c[:n, 0]), by_model(unit, a[:n], b.T[:n], c[:n, 0]))


THREADS = """
import hashlib, numpy as np, hwsim
from hwsim.gemm import engine
rng = np.random.default_rng(7)
a, b = (rng.integers(0, 0x78, shape, dtype=np.uint8) for shape in ((200, 96), (96, 300)))
got = hwsim.gemm("hopper-wgmma-e4m3-f32", a, b)
dots = hwsim.dot("hopper-wgmma-e4m3-f32", np.tile(a, (40, 1)), np.tile(b.T, (27, 1))[:8000])
print(engine.threads(), hashlib.sha256(got.tobytes() + dots.tobytes()).hexdigest())
"""


def test_the_number_of_threads_is_numbas() -> None:
    results = {}
    for count in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", THREADS],
            env={**os.environ, "NUMBA_NUM_THREADS": count}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        used, results[count] = done.stdout.split()
        assert used == count
    assert results["1"] == results["2"]


# Progress, and what ends early


@pytest.mark.parametrize(("a", "b"), [((5, 40), (40, 6)), ((2, 1, 3, 7), (4, 7, 2)), ((30, 3), (3, 700))])
def test_progress_adds_up(way: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    calls: list[int] = []
    hwsim.gemm(HOPPER, codes(1, *a), codes(2, *b), progress=calls.append)
    assert sum(calls) == products(a, b) == np.matmul(np.zeros(a), np.zeros(b)).size * a[-1]
    assert min(calls) > 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_progress_raises_ends_the_product(way: str, error: type[BaseException]) -> None:
    calls: list[int] = []

    def stop(count: int) -> None:
        calls.append(count)
        if len(calls) == 3:
            raise error("enough")
        time.sleep(0.01)  # as a block of rows takes

    kernel = engine.kernel_for(load_unit(HOPPER))
    assert isinstance(kernel, WindowKernel)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "rows", 1, raising=False)
        patch.setattr(engine, "threads", lambda: 2)
        with pytest.raises(error, match="enough"):
            hwsim.gemm(HOPPER, codes(1, 500, 32), codes(2, 32, 8), progress=stop)
    assert len(calls) < 20
    a, b = codes(1, 5, 32), codes(2, 32, 8)
    same(hwsim.gemm(HOPPER, a, b), expected(HOPPER, a, b))


def test_an_interrupt_of_the_caller_ends_the_product() -> None:
    program = """
import os, signal, threading, time, numpy as np, hwsim
a, b = np.full((1 << 13, 1 << 12), 0x38, np.uint8), np.full((1 << 12, 1 << 13), 0x38, np.uint8)
hwsim.gemm("hopper-wgmma-e4m3-f32", a[:300], b[:, :300])
signal.signal(signal.SIGINT, signal.default_int_handler)
calls = []
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    hwsim.gemm("hopper-wgmma-e4m3-f32", a, b, progress=calls.append)
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start, sum(calls) / 2**38)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NUMBA_NUM_THREADS": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    word, seconds, part = done.stdout.split()
    assert word == "interrupted"
    assert float(part) < 0.5, f"{float(part):.0%} in {seconds} s"


# By which way


def test_few_products_are_the_models_and_more_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Unit] = []
    made = engine.kernel_for
    monkeypatch.setattr(engine, "kernel_for", lambda unit: asked.append(unit) or made(unit))
    monkeypatch.setattr(engine, "_loaded", set())
    monkeypatch.setattr(engine, "FEW", 3 * 32 * 5)
    a, b = codes(1, 3, 33), codes(2, 33, 5)
    same(hwsim.gemm(HOPPER, a[:, :32], b[:32]), expected(HOPPER, a[:, :32], b[:32]))
    assert not asked
    same(hwsim.gemm(HOPPER, a, b), expected(HOPPER, a, b))
    assert len(asked) == 1
    # Its kernel is loaded now, and quicker than the model.
    same(hwsim.gemm(HOPPER, a[:, :1], b[:1]), expected(HOPPER, a[:, :1], b[:1]))
    assert len(asked) == 2
    rows = codes(3, 16, 32)
    same(
        hwsim.dot("hopper-wgmma-e5m2-f32", rows[:15], rows[:15]),
        by_model("hopper-wgmma-e5m2-f32", rows[:15], rows[:15]),
    )
    assert len(asked) == 2
    same(hwsim.dot("hopper-wgmma-e5m2-f32", rows, rows), by_model("hopper-wgmma-e5m2-f32", rows, rows))
    assert len(asked) == 3


def test_a_unit_without_a_kernel_is_the_models(by_kernel: pytest.MonkeyPatch) -> None:
    assert engine.kernel_for(WIDE) is None
    a, b, c = codes(1, 2, 3, 11), codes(2, 11, 4), addends(3, 3, 4)
    calls: list[int] = []
    got = hwsim.gemm(WIDE, a, b, c, progress=calls.append)
    for i in range(2):
        same(got[i], expected(WIDE, a[i], b, c))
    assert sum(calls) == products(a.shape, b.shape)
    same(hwsim.dot(WIDE, a[0], b.T[:3], c[:, 0]), by_model(WIDE, a[0], b.T[:3], c[:, 0]))


def test_what_a_kernel_does_not_hold_is_the_models(by_kernel: pytest.MonkeyPatch) -> None:
    kernel = engine.kernel_for(load_unit(HOPPER))

    def too_long(*_: Any) -> Any:
        raise Unsuited("so many products")

    for name in ("pack_a", "pack_b", "pairs"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel, name, too_long, raising=False)
            a, b, calls = codes(1, 3, 40), codes(2, 40, 5), []
            same(hwsim.gemm(HOPPER, a, b, progress=calls.append), expected(HOPPER, a, b))
            same(hwsim.dot(HOPPER, a, b.T[:3]), by_model(HOPPER, a, b.T[:3]))
            assert sum(calls) == products(a.shape, b.shape)


def test_another_dot_is_told(by_kernel: pytest.MonkeyPatch) -> None:
    # What these tests compare must be able to differ: a kernel with one lane less.
    kernel = engine.kernel_for(load_unit(HOPPER))
    assert isinstance(kernel, WindowKernel)
    a, b = codes(1, 5, 70), codes(2, 70, 6)
    want = expected(HOPPER, a, b)
    by_kernel.setattr(kernel, "rule", kernel.rule._replace(addend=0))
    with pytest.raises(AssertionError):
        same(hwsim.gemm(HOPPER, a, b), want)


# Errors


ONE = np.full((1, 1), 127, np.uint8)
BAD: list[tuple[str, tuple[Any, ...], str]] = [
    (HOPPER, ((40,), (40, 3)), r"^A must have shape \(\.\.\., M, K\), not \(40,\)"),
    (HOPPER, ((3, 40), (40,)), r"^B must have shape \(\.\.\., 40, N\), because A has 40 columns, not \(40,\)"),
    (HOPPER, ((3, 40), (39, 3)), r"^B must have shape \(\.\.\., 40, N\), because A has 40 columns, not \(39, 3\)"),
    (HOPPER, ((2, 3, 40), (3, 40, 3)), r"^B must have shape \(2,\), A's axes .*, not \(3, 40, 3\)"),
    (HOPPER, ((3, 0), (0, 3)), r"^K, the number of products, must be at least 1, not 0"),
    (HOPPER, ((3, 40), (40, 4), (3, 1)), r"^C must have shape \(3, 4\), not \(3, 1\)"),
    (HOPPER, ((3, 40), (40, 4), (4,)), r"^C must have shape \(3, 4\), not \(4,\)"),
    (HOPPER, ((3, 40), (40, 4), (2, 3, 4)), r"^C must have shape \(3, 4\), not \(2, 3, 4\)"),
    (HOPPER, ((5, 3, 40), (40, 4), (2, 3, 4)), r"^C must have shape \(5, 3, 4\), not \(2, 3, 4\)"),
    (HOPPER, ((3, 40), (40, 4), None, (1, 1)), r"^scale_a must be None, because hopper-wgmma-e4m3-f32 has scale none"),
    (HOPPER, ((3, 40), (40, 4), None, None, (1, 1)), r"^scale_b must be None"),
    (MX, ((3, 32), (32, 4)), r"^scale_a is missing: mxfp8-e4m3-f32 takes one scale for every block, shape \(3, 1\)"),
    (MX, ((3, 32), (32, 4), None, (3, 1)), r"^scale_b is missing: .* shape \(1, 4\)"),
    (MX, ((3, 32), (32, 4), None, (3, 2), (1, 4)), r"^scale_a must have shape \(3, 1\), not \(3, 2\)"),
    (MX, ((3, 32), (32, 4), None, (3, 1), (4, 1)), r"^scale_b must have shape \(1, 4\), not \(4, 1\)"),
    (MX, ((3, 32), (32, 4), None, (2, 3, 1), (1, 4)), r"^scale_a must have shape \(3, 1\), not \(2, 3, 1\)"),
    (MX, ((3, 40), (40, 4), None, (3, 1), (1, 4)), r"^K, .* must be a multiple of scale\.a\.block along K"),
    ("rvbna-e4m3-f32-n4", ((3, 4), (4, 4), (3, 4)), r"^C must be None, because rvbna-.* has operands\.addend none"),
    ("rvbna-e4m3-f32-n4", ((3, 5), (5, 4)), r"^K, .* must be at most instruction\.k \(4\)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shapes", "message"), BAD, ids=[bad[2].lstrip("^")[:40] for bad in BAD])
def test_shapes_that_do_not_fit_are_value_errors(way: str, name: str, shapes: tuple[Any, ...], message: str) -> None:
    arguments = [None if shape is None else np.zeros(shape, np.uint8) for shape in shapes]
    if len(arguments) > 2 and arguments[2] is not None:
        arguments[2] = arguments[2].astype(np.uint32)
    with pytest.raises(ValueError, match=message):
        hwsim.gemm(name, *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((3, 4)), codes(1, 4, 3)), r"^A must be integer e4m3 codes or a float8_e4m3fn array, not float64"),
        ((codes(1, 3, 4), np.zeros((4, 3), ml_dtypes.float8_e5m2)), r"^B must be .*, not float8_e5m2"),
        ((codes(1, 3, 4), codes(1, 4, 3), np.zeros((3, 3))), r"^C must be integer f32 codes or a float32 array"),
        ((Exporter(np.zeros((3, 4), np.float32)), codes(1, 4, 3)), r"^A must be .*, not float32"),
    ],
)
def test_other_dtypes_are_type_errors(way: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        hwsim.gemm(HOPPER, *arguments)


def test_codes_out_of_range_are_named(way: str) -> None:
    with pytest.raises(ValueError, match=r"^A\[1, 0, 2\] is 256: e4m3 codes are 0 to 255"):
        hwsim.gemm(HOPPER, [[[0, 0, 0]], [[0, 0, 256]]], codes(1, 3, 2))
    with pytest.raises(ValueError, match=r"^A\[0, 1\] is 16: e2m1 codes are 0 to 15"):
        hwsim.gemm("mxfp4-e2m1-f32", np.array([[0, 16] * 16], np.uint8), codes(1, 32, 2) & 15, None, ONE, [[1, 1]])


def test_a_unit_may_be_a_file(tmp_path: Path, by_kernel: pytest.MonkeyPatch) -> None:
    file = tmp_path / "unit.yaml"
    file.write_text(as_yaml(load_unit(HOPPER)))
    a, b = codes(1, 3, 40), codes(2, 40, 5)
    same(hwsim.gemm(file, a, b), expected(HOPPER, a, b))
