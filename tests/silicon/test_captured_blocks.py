"""FP8 products with FP32 scales of 1 x 128 numbers of both factors, as cuBLAS returned them on an H100 and an H200."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from c.export_library import Library
from conftest import missing
from numpy.typing import NDArray

import hwsim
from hwsim.explain.candidate import changed
from hwsim.spec import load_unit

UNIT = "cublas-hopper-e4m3-f32-vec128"
FILES = {"h200_cublas.npz": "blocks1x128-", "h100_cublas_plans.npz": "vec-vec-"}
Codes = NDArray[np.unsignedinteger]


class BlockProduct(NamedTuple):
    """Codes of rows of A (m, K) and columns of B (K, n), of their scales, and of the results in f32 and in bf16."""

    a: Codes
    b: Codes
    scale_a: Codes
    scale_b: Codes
    single: Codes
    half: Codes


@pytest.fixture(scope="module")
def products(silicon: Path) -> dict[str, BlockProduct]:
    return dict(_products(silicon))


def _products(folder: Path) -> Iterator[tuple[str, BlockProduct]]:
    for file, prefix in FILES.items():
        if not (folder / file).is_file():
            missing(f"no {file}: HWSIM_SILICON names its folder")
        with np.load(folder / file) as arrays:
            for name in sorted({key.split("/")[0] for key in arrays.files if key.startswith(prefix)}):
                a, b, scale_a, scale_b = (arrays[f"{name}/{key}"] for key in ("a", "b", "sa", "sb"))
                results = (arrays[f"{name}/{key}/d"] for key in ("float32", "bfloat16"))
                yield name, BlockProduct(a, b.T, scale_a, scale_b.T, *results)


def gemm(unit: hwsim.Unit, product: BlockProduct) -> Codes:
    """The codes of a product's results."""
    a, b, scale_a, scale_b = map(np.ascontiguousarray, product[:4])
    return np.asarray(hwsim.gemm(unit, a, b, scale_a=scale_a, scale_b=scale_b)).view(np.uint32)


def as_bf16(codes: Codes) -> Codes:
    """Codes of finite f32 rounded to bf16, to nearest, ties to even."""
    wide = codes.astype(np.uint64)
    return (wide + 0x7FFF + (wide >> 16 & 1) >> 16).astype(np.uint16)


def test_every_result_is_cublass(products: dict[str, BlockProduct]) -> None:
    unit, count = load_unit(UNIT), 0
    for product in products.values():
        got = gemm(unit, product)
        assert (got == product.single).all()
        # A result in bf16 is rounded once more.
        assert (as_bf16(got) == product.half).all()
        count += 2 * got.size
    assert (len(products), count) == (10, 53_760)


@pytest.mark.parametrize("change", [{"first": "scales"}, {"first": "b"}, {"rounding": "rz"}])
def test_another_order_would_show(products: dict[str, BlockProduct], change: dict[str, str]) -> None:
    product = products["blocks1x128-normal-64x64x1024"]
    got = gemm(changed(load_unit(UNIT), {"promotion": change}), product)
    assert (got == product.single).mean() < 0.9


def test_the_model_and_c_return_some_of_them(products: dict[str, BlockProduct], tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        missing("no gcc")
    library = Library(load_unit(UNIT), tmp_path)
    for name in ("blocks1x128-codes-64x64x1024", "vec-vec-64x256x1024"):
        a, b, scale_a, scale_b, single, _ = products[name]
        rows = np.arange(4)
        got = hwsim.model.dot(UNIT, a[rows], b.T[rows], None, scale_a[rows], scale_b.T[rows])
        assert np.asarray(got).view(np.uint32).tolist() == single[rows, rows].tolist()
        made = library.dots(a[rows], b.T[rows], np.zeros(4), scale_a[rows], scale_b.T[rows])
        assert made == single[rows, rows].tolist()
