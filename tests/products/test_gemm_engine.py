"""How hwsim.gemm goes about a product: tiles, threads, progress, and which way computes it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
from kernels.kernel_cases import Product
from kernels.kernel_cases import by_kernel as run_of
from kernels.window_cases import window_kernel
from products.gemm_cases import HOPPER, MX, VOLTA, WIDE, addends, bits, codes, expected, same

import hwsim
from hwsim.compute import products as facade
from hwsim.compute.kernels import tiles
from hwsim.compute.kernels.window_kernel import WindowKernel
from hwsim.compute.products import products
from hwsim.model import dot as by_model
from hwsim.spec import Unit, load_unit

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
        bits(got), run_of(window_kernel(unit, vectors=False), unit, Product(a, b, c, None, None))
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
    by_kernel.setattr(tiles, "threads", lambda: cores)
    a, b, c = codes(1, 37, 70), codes(2, 70, 300), addends(3, 37, 300)
    unit = load_unit(HOPPER)
    want = run_of(window_kernel(unit, vectors=False), unit, Product(a, b, bits(c), None, None))
    np.testing.assert_array_equal(bits(hwsim.gemm(unit, a, b, c)), want)
    for n in (1, 2, 9, 37):
        same(hwsim.dot(unit, a[:n], b.T[:n], c[:n, 0]), by_model(unit, a[:n], b.T[:n], c[:n, 0]))


THREADS = """
import hashlib, numpy as np, hwsim
from hwsim.compute.kernels.tiles import threads
rng = np.random.default_rng(7)
a, b = (rng.integers(0, 0x78, shape, dtype=np.uint8) for shape in ((200, 96), (96, 300)))
got = hwsim.gemm("hopper-wgmma-e4m3-f32", a, b)
dots = hwsim.dot("hopper-wgmma-e4m3-f32", np.tile(a, (40, 1)), np.tile(b.T, (27, 1))[:8000])
print(threads(), hashlib.sha256(got.tobytes() + dots.tobytes()).hexdigest())
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
        time.sleep(0.01 if len(calls) < 3 else 0.5)  # as a block of rows takes; later ones let the error come first

    kernel = facade.kernel_for(load_unit(HOPPER))
    assert isinstance(kernel, WindowKernel)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "rows", 1, raising=False)
        patch.setattr(tiles, "threads", lambda: 2)
        with pytest.raises(error, match="enough"):
            hwsim.gemm(HOPPER, codes(1, 500, 32), codes(2, 32, 8), progress=stop)
    assert len(calls) < 20
    a, b = codes(1, 5, 32), codes(2, 32, 8)
    same(hwsim.gemm(HOPPER, a, b), expected(HOPPER, a, b))


def test_an_interrupt_of_the_caller_ends_the_product() -> None:
    program = """
import os, signal, threading, numpy as np, hwsim
a, b = np.full((1 << 13, 1 << 12), 0x38, np.uint8), np.full((1 << 12, 1 << 13), 0x38, np.uint8)
hwsim.gemm("hopper-wgmma-e4m3-f32", a[:300], b[:, :300])
signal.signal(signal.SIGINT, signal.default_int_handler)
calls = []
def progress(count):
    if not calls:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    calls.append(count)
try:
    hwsim.gemm("hopper-wgmma-e4m3-f32", a, b, progress=progress)
except KeyboardInterrupt:
    print("interrupted", sum(calls) / 2**38)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NUMBA_NUM_THREADS": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    word, part = done.stdout.split()
    assert word == "interrupted"
    assert float(part) < 0.5


# By which way


def test_few_products_are_the_models_and_more_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Unit] = []
    made = facade.kernel_for
    monkeypatch.setattr(facade, "kernel_for", lambda unit: asked.append(unit) or made(unit))
    monkeypatch.setattr(facade, "_asked", Counter())
    monkeypatch.setattr(facade, "FEW", 3 * 32 * 5)
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


def test_code_of_a_units_own_is_for_many_products(monkeypatch: pytest.MonkeyPatch) -> None:
    unit, few = load_unit(HOPPER), facade.FEW
    monkeypatch.setattr(facade, "_asked", Counter())
    first = facade.chosen(unit, few + 1, 32)
    assert isinstance(first, WindowKernel) and first.vectors is None
    # Much at once, or little again and again.
    much = facade.chosen(load_unit(VOLTA), facade.SOME + 1, 32)
    assert isinstance(much, WindowKernel) and much.vectors is not None
    assert facade.chosen(unit, facade.SOME - few - 1, 32) is first
    then = facade.chosen(unit, 1, 32)
    assert isinstance(then, WindowKernel) and then.vectors is not None
    a, b, c = codes(1, 5, 70), codes(2, 70, 6), addends(3, 5, 6)
    given = Product(a, b, c, None, None)
    np.testing.assert_array_equal(run_of(first, unit, given), run_of(then, unit, given))


def test_a_unit_without_a_kernel_is_the_models(by_kernel: pytest.MonkeyPatch) -> None:
    assert facade.kernel_for(WIDE) is None
    a, b, c = codes(1, 2, 3, 11), codes(2, 11, 4), addends(3, 3, 4)
    calls: list[int] = []
    got = hwsim.gemm(WIDE, a, b, c, progress=calls.append)
    for i in range(2):
        same(got[i], expected(WIDE, a[i], b, c))
    assert sum(calls) == products(a.shape, b.shape)
    same(hwsim.dot(WIDE, a[0], b.T[:3], c[:, 0]), by_model(WIDE, a[0], b.T[:3], c[:, 0]))


def test_what_a_kernel_does_not_hold_is_the_models(by_kernel: pytest.MonkeyPatch) -> None:
    kernel = facade.kernel_for(load_unit(HOPPER))

    assert kernel is not None
    by_kernel.setattr(kernel, "longest", 39)
    for name in ("pack_a", "pack_b", "pairs"):
        by_kernel.setattr(kernel, name, None)
    a, b, calls = codes(1, 3, 40), codes(2, 40, 5), list[int]()
    same(hwsim.gemm(HOPPER, a, b, progress=calls.append), expected(HOPPER, a, b))
    same(hwsim.dot(HOPPER, a, b.T[:3]), by_model(HOPPER, a, b.T[:3]))
    assert sum(calls) == products(a.shape, b.shape)
    with pytest.raises(TypeError):
        hwsim.gemm(HOPPER, a[:, :39], b[:39])


def test_another_dot_is_told(by_kernel: pytest.MonkeyPatch) -> None:
    # What these tests compare must be able to differ: a kernel with one lane less.
    kernel = facade.kernel_for(load_unit(HOPPER))
    assert isinstance(kernel, WindowKernel)
    a, b = codes(1, 5, 70), codes(2, 70, 6)
    want = expected(HOPPER, a, b)
    rules = kernel.rules._replace(window=kernel.rules.window._replace(addend=0))
    by_kernel.setattr(kernel, "rules", rules)
    with pytest.raises(AssertionError):
        same(hwsim.gemm(HOPPER, a, b), want)
