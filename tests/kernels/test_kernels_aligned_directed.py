"""Kernels of windows on directed cases against the model, and on outputs captured from real GPUs, every one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from kernels.kernel_cases import Codes, Product, by_kernel, fill
from kernels.kernel_units import units
from kernels.window_cases import Rows, codes_in, directed_rows, window_kernel
from odd_for_kernels import FOR_SCALARS, FOR_VECTORS
from odd_units import ODD, units_of
from representatives import with_every_format

import hwsim
from hwsim.cases.captured import CAPTURES
from hwsim.compute import products as facade
from hwsim.model import dot
from hwsim.spec import Unit, load_unit

UNITS = units_of({**FOR_VECTORS, **FOR_SCALARS})

EVERY = [unit.name for unit in units("aligned", "even-odd") if unit.name not in ODD] + [*UNITS]
BLOCK = 48


@pytest.fixture(autouse=True)
def no_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little is computed by the unit's own kernel; what other tests compute by the model stays the model's."""
    monkeypatch.setattr(facade, "FEW", 0)
    monkeypatch.setattr(facade, "SOME", 0)
    monkeypatch.setattr(facade, "_asked", Counter())


def parts(rows: Rows) -> list[Rows]:
    """At most BLOCK rows at once."""
    firsts = range(0, len(rows.a), BLOCK)
    return [Rows(*(None if side is None else side[at : at + BLOCK] for side in rows)) for at in firsts]


def by_gemm(unit: Unit, rows: Rows) -> Codes:
    """A matrix product of rows of a and rows of b, whose diagonal is what was asked for; all of it is one kernel's."""
    c = None
    if rows.c is not None:
        c = np.tile(rows.c, (len(rows.a), 1))
        # Off the diagonal, an addend of another row.
        c = np.where(np.eye(len(c), dtype=bool), c, np.roll(c, 1, axis=1)).astype(rows.c.dtype)
    scale_b = None if rows.scale_b is None else rows.scale_b.T
    got = codes_in(hwsim.gemm(unit, rows.a, rows.b.T, c, of_rows(unit, rows.scale_a), of_columns(unit, scale_b)))
    scalar = window_kernel(unit, vectors=False)
    np.testing.assert_array_equal(got, by_kernel(scalar, unit, Product(rows.a, rows.b.T, c, rows.scale_a, scale_b)))
    return np.diagonal(got)


def of_rows(unit: Unit, scales: Codes | None) -> Codes | None:
    """A scale for each row as a scale for each block of rows; the rows of a block have one."""
    return None if scales is None or unit.scale is None else scales[:: unit.scale.a.block[0]]


def of_columns(unit: Unit, scales: Codes | None) -> Codes | None:
    return None if scales is None or unit.scale is None else scales[:, :: unit.scale.b.block[1]]


def one_scale_a_block(unit: Unit, rows: Rows) -> Rows:
    """Rows whose scales are shared as matrices share them: by all rows of a block."""
    if unit.scale is None or rows.scale_a is None or rows.scale_b is None:
        return rows
    at = np.arange(len(rows.a)) % BLOCK
    first = np.arange(len(rows.a)) - at
    down, across = unit.scale.a.block[0], unit.scale.b.block[1]
    return rows._replace(
        scale_a=rows.scale_a[first + at // down * down], scale_b=rows.scale_b[first + at // across * across]
    )


def check_directed(unit: Unit, seed: int) -> int:
    """How many directed cases are the model's, by the kernel without vectors and by hwsim.compute.products."""
    scalar, count = window_kernel(unit, vectors=False), 0
    for given in directed_rows(unit, seed):
        rows = one_scale_a_block(unit, given)
        want = codes_in(dot(unit, *rows))
        pairs = np.full(len(want), 0xDEADBEEF, np.uint32)
        a, b, _, scale_a, scale_b = fill(
            unit, Product(rows.a, rows.b.T, None, rows.scale_a, transposed(rows.scale_b)), np.uint32
        )
        c = np.zeros(len(want), np.uint32) if rows.c is None else rows.c.astype(np.uint32)
        scalar.pairs((a, scale_a), (b.T, transposed(scale_b)), c, pairs)
        got = np.concatenate([by_gemm(unit, part) for part in parts(rows)])
        for way, result in (("pairs", pairs), ("gemm", got)):
            wrong = np.flatnonzero(result != want)
            assert not wrong.size, (
                f"{unit.name}, {way}: {wrong.size} of {want.size} differ; K {rows.a.shape[1]}, case {wrong[0]}: "
                f"got {result[wrong[0]]:#x}, the model has {want[wrong[0]]:#x}"
            )
        count += want.size
    return count


def transposed(codes: Codes | None) -> Codes | None:
    return None if codes is None else codes.T


@pytest.mark.parametrize(
    "name", others_slow(["ada-mma-e4m3-f16", "deepseek-v3-e4m3-f32", "single-promoted"], ["ada-mma-e4m3-f16"])
)
def test_directed_cases_are_the_models(name: str) -> None:
    assert check_directed(UNITS.get(name) or load_unit(name), 1) > 500


@pytest.mark.parametrize("name", others_slow(EVERY, [], with_every_format(EVERY)))
def test_every_units_directed_cases_are_the_models(name: str) -> None:
    assert check_directed(UNITS.get(name) or load_unit(name), 2) > 500


@pytest.mark.parametrize("name", ["scaled-saturate", "blackwell-mxf4nvf4-e2m1-f32"])
def test_special_addends_of_scaled_parts_are_the_models(name: str) -> None:
    """In strips, though no power of two is as large as the exponent of an infinity says."""
    unit = UNITS[name] if name in UNITS else load_unit(name)
    fmt, scale, k = unit.operands.addend, unit.scale, unit.instruction.k
    assert fmt is not None and scale is not None
    numbers = np.array([np.inf, -np.inf, np.nan, 1.0, fmt.largest, 0.0, -3.0] * 4)
    c = fmt.encode(numbers, overflow="infinity").astype(np.uint32)
    a, b = (np.full((len(c), k), int(side.encode(1.0)), np.uint8) for side in (unit.operands.a, unit.operands.b))
    b[: len(c) // 2, 1:] = 0
    scales = (
        np.full((len(c), k // length), int(side.format.encode(1.0)), np.uint8)
        for side, length in ((scale.a, scale.a.block[1]), (scale.b, scale.b.block[0]))
    )
    rows = Rows(a, b, c, *scales)
    np.testing.assert_array_equal(by_gemm(unit, rows), codes_in(dot(unit, *rows)))


FILES = [(name, gpu) for name, (gpus, _, _) in CAPTURES.items() for gpu in gpus]


@pytest.mark.parametrize(("name", "gpu"), others_slow(FILES, FILES[::3]), ids=[f"{name}-{gpu}" for name, gpu in FILES])
def test_captured_results_are_the_kernels(captured: Mapping[str, Any], name: str, gpu: str) -> None:
    _, factors, result = CAPTURES[name]
    a, b, c, want = (captured[f"{gpu}/{factors}/{part}"] for part in ("a", "b", f"c_{result}", f"d_{result}"))
    unit = load_unit(name)
    assert window_kernel(unit).vectors is not None
    got = np.concatenate([by_gemm(unit, part) for part in parts(Rows(a, b, c, None, None))])
    np.testing.assert_array_equal(got, codes_in(want))
    np.testing.assert_array_equal(codes_in(hwsim.dot(unit, a, b, c)), codes_in(want))
