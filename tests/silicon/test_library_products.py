"""Every product that a GPU's library computed and that was captured: a unit and a plan return its bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from silicon.library_products import Captured, converted

import hwsim
from hwsim.compute.fitting import fit
from hwsim.compute.profiling import CapturedProduct, rows_of
from hwsim.spec.plan import ProductPlan
from hwsim.spec.profile import load_profile

# What is captured, and the profile that has it.
FILES = {
    "h100_cublas_plans": ("h100-cuda-13.0", 105),
    "h200_cublas": ("h200-cuda-13.0", 80),
    "h200_epilogues": ("h200-cuda-13.0", 91),
}


def different(product: CapturedProduct, unit: Any, plan: ProductPlan) -> int:
    """How many elements are not those of the library."""
    numbers = {"C" if name == "c" else name: value for name, value in product.numbers.items()}
    found = hwsim.gemm(unit, product.a, product.b, plan=plan, **numbers)
    return int((found.view(f"u{found.dtype.itemsize}") != product.d).sum())


@pytest.mark.parametrize("file", others_slow(FILES, ["h100_cublas_plans"]))
def test_the_profile_explains_every_product(silicon: Path, file: str) -> None:
    name, count = FILES[file]
    profile, asked = load_profile(name), 0
    for label, product in Captured(silicon / f"{file}.npz").products():
        unit, plan, _ = profile.known(product.call, *product.shape)
        assert different(product, unit, plan) == 0, label
        asked += 1
    assert asked == count


@pytest.mark.parametrize("file", ["h100_cublas_plans", "h200_cublas"])
def test_the_profile_explains_every_product_with_scales_of_blocks(silicon: Path, file: str) -> None:
    profile, kinds = load_profile(FILES[file][0]), Counter[str]()
    for label, product in Captured(silicon / f"{file}.npz").of_blocks():
        unit, plan, _ = profile.known(product.call, *product.shape)
        # Rows of A and columns of B were kept here and there: each has a scale of its own.
        kept = unit.replace({"scale.a.block": [1, 128], "scale.b.block": [128, 1]})
        assert different(product, kept, plan) == 0, label
        kinds[f"{product.call.scaling} {product.call.output}"] += 1
    blocks = {"1x128,1x128 f32": 4, "1x128,1x128 bf16": 4, "1x128,128x128 f32": 3, "128x128,1x128 f32": 3}
    assert kinds == (blocks if file.startswith("h100") else {"1x128,1x128 f32": 6, "1x128,1x128 bf16": 6})


@pytest.mark.slow
def test_profiles_have_no_shape_that_was_not_captured(silicon: Path) -> None:
    captured: dict[str, set[tuple[str, tuple[int, ...]]]] = {}
    for file, (name, _) in FILES.items():
        products = (product for _, product in Captured(silicon / f"{file}.npz").products())
        captured.setdefault(name, set()).update((str(product.call), product.shape) for product in products)
        blocks = (product for _, product in Captured(silicon / f"{file}.npz").of_blocks())
        captured[name].update((str(product.call), product.shape) for product in blocks)
    for name, asked in captured.items():
        profile = load_profile(name)
        calls = dict.fromkeys(row.call for row in profile.rows)
        assert {(str(call), shape) for call in calls for shape, _ in profile.of(call)} == asked


@pytest.mark.parametrize("shape", others_slow(["128x128x8192", "64x64x16384"], []))
def test_rows_are_fitted_as_the_profile_has_them(silicon: Path, shape: str) -> None:
    products = [
        product
        for _, product in Captured(silicon / "h200_cublas.npz").products()
        if "x".join(map(str, product.shape)) == shape and product.call.output == "f32" and product.call.fast
    ]
    rows, left = rows_of(products, "9.0", most_parts=12)
    profile = load_profile("h200-cuda-13.0")
    assert left == []
    for row in rows:
        assert row.known(shape, "p").plan.split == profile.known(row.call, *products[0].shape).plan.split


def test_another_plan_would_show(silicon: Path) -> None:
    """Of a product in three parts: two, four, one; the last part first; a sum in another format; cuts elsewhere."""
    captured = dict(Captured(silicon / "h200_cublas.npz").products())
    product = captured["splitk-128x128x8192/fast-float32"]
    unit, plan, _ = load_profile("h200-cuda-13.0").known(product.call, *product.shape)
    assert plan.split is not None
    assert (plan.split.parts, plan.split.step) == (3, 128)
    others = [None, *({"parts": parts, "step": step} for parts, step in ((2, 128), (4, 128), (3, 32)))]
    others += [{"parts": 3, "step": 128, "order": "interleaved"}, {"parts": 3, "step": 128, "format": "bf16"}]
    for split in others:
        assert different(product, unit, plan.replace(split=split)) > 100, split
    # Sums of FP8's partial sums, of 14 bits, are exact in f32; those of BF16's are rounded.
    product = captured["splitk-128x128x8192/bf16-mm-f32"]
    unit, plan, _ = load_profile("h200-cuda-13.0").known(product.call, *product.shape)
    assert plan.split is not None
    kept = {"parts": plan.split.parts, "step": plan.split.step}
    for other in ({"rounding": "rz"}, {"sum": "halves"}, {"order": "interleaved"}):
        assert different(product, unit, plan.replace(split={**kept, **other})) > 100, other


SPARSE = {"float32": "f32", "bfloat16": "bf16", "float16": "f16", "float8_e4m3fn": "e4m3"}


def kept(a: Any, zero: int) -> Any:
    """The places of two of each four along K: those that are not zero, and the first of the others."""
    used = (a & zero != 0).reshape(len(a), -1, 4)
    order = np.sort(np.argsort(~used, axis=2, kind="stable")[:, :, :2], axis=2)
    assert (used.sum(2) <= 2).all()
    return (order + 4 * np.arange(used.shape[1])[None, :, None]).reshape(len(a), -1)


def sparse(unit: str, a: Any, b: Any, zero: int, plan: dict[str, Any]) -> Iterator[Any]:
    """Rows of a product whose first factor is 2:4 sparse: the dense rule over the factors that are kept."""
    for row, places in zip(a, kept(a, zero), strict=True):
        yield hwsim.gemm(unit, row[places][None], np.ascontiguousarray(b[:, places].T), plan=plan)[0]


def test_sparse_products_of_fp8_are_dense_ones_of_what_is_kept(silicon: Path) -> None:
    """Of K 4,096 in two parts: cuSPARSELt's kernels say `segment_k_on`."""
    captured, asked = Captured(silicon / "h200_sparse.npz"), Counter[str]()
    for call in captured.facts["calls"]:
        base, _, output = call["name"].rpartition("/")
        if "-e4m3-" not in base:
            continue
        parts = 2 if any("segment_k_on" in kernel for kernel in call["kernels"]) else 1
        rounded = {"operation": "round", "format": SPARSE[output]}
        rounded |= {"overflow": "saturate"} if output == "float8_e4m3fn" else {}
        plan = {"split": {"parts": parts, "step": 64}, "epilogue": [] if output == "float32" else [rounded]}
        a, b = captured.arrays[f"{base}/a"], captured.arrays[f"{base}/b"]
        found = np.array([*sparse("hopper-wgmma-e4m3-f32", a, b, 0x7F, plan)])
        returned = captured.arrays[f"{call['name']}/d"]
        assert (found.view(returned.dtype) == returned).all(), call["name"]
        asked[output] += 1
    assert asked == dict.fromkeys(SPARSE, 6)


def test_sparse_products_of_integers_are_exact(silicon: Path) -> None:
    """In int32; to f16 through f32, infinite where they are too large."""
    captured = Captured(silicon / "h200_sparse.npz")
    names = [call["name"] for call in captured.facts["calls"] if "-int8-" in call["name"]]
    assert len(names) == 12
    for name in names:
        base = name.rpartition("/")[0]
        a, b = (captured.arrays[f"{base}/{side}"].view(np.int8).astype(np.int64) for side in "ab")
        exact = a @ b.T
        with np.errstate(over="ignore"):
            found = exact.astype(np.int32) if name.endswith("int32") else exact.astype(np.float32).astype(np.float16)
        returned = captured.arrays[f"{name}/d"]
        assert (found.view(returned.dtype) == returned).all(), name


@pytest.mark.parametrize("fmt", ["e4m3", "int8"])
def test_sparse_units_return_them_by_metadata(silicon: Path, fmt: str) -> None:
    """`hwsim.compress` and `metadata=`, in f32 and int32. A dense unit over all K differs where it rounds."""
    captured, compared, apart = Captured(silicon / "h200_sparse.npz"), 0, 0
    unit, output = (f"hopper-wgmma-sp-{fmt}-{end}" for end in ("f32", "i32")), {"e4m3": "float32", "int8": "int32"}[fmt]
    name = next(one for one in unit if one in hwsim.spec.sparse_presets())
    for call in captured.facts["calls"]:
        base, _, of = call["name"].rpartition("/")
        if f"-{fmt}-" not in base or of != output:
            continue
        a, b, d = (captured.arrays[f"{base}/{key}"] for key in ("a", "b", f"{of}/d"))
        kept = hwsim.compress(name, a)
        parts = 2 if fmt == "e4m3" and any("segment_k_on" in kernel for kernel in call["kernels"]) else 1
        halves = zip(*(np.split(array, parts, axis=1) for array in (kept.codes, b, kept.metadata)), strict=True)
        sums = [hwsim.gemm(name, x, y, metadata=of_x, transposed=True) for x, y, of_x in halves]
        assert np.array_equal(sum(sums[1:], sums[0]).view(np.uint32), d), call["name"]
        apart += int((hwsim.gemm(name.replace("-sp", ""), a, b, transposed=True).view(np.uint32) != d).sum())
        compared += d.size
    assert compared == 6 * 576
    assert (apart > 2000) == (fmt == "e4m3")


@pytest.mark.parametrize("fmt", others_slow(["f16", "bf16"], []))
def test_sparse_products_of_16_bits(silicon: Path, fmt: str) -> None:
    """Results of 16 bits tell few splits apart: of 8,192 in f16 one part is wrong once, eight are right."""
    captured, zero = Captured(silicon / "h200_epilogues.npz"), 0x7FFF
    for shape, parts in (("64x64x512", 1), ("128x64x1024", 1), ("64x128x8192", 8)):
        base = f"epilogue-{shape}"
        a, b = captured.arrays[f"{base}/sparse-{fmt}-a"], converted(captured.arrays[f"{base}/b"], fmt)
        returned = captured.arrays[f"{base}/sparse-{fmt}/d"]
        plan = {"split": {"parts": parts, "step": 64}, "epilogue": [{"operation": "round", "format": fmt}]}
        found = np.array([*sparse(f"hopper-wgmma-{fmt}-f32", a, b, zero, plan)])
        assert (found.view(returned.dtype) == returned).all(), base


@pytest.mark.slow
def test_a_fit_says_what_no_plan_explains(silicon: Path) -> None:
    """Two plans in one result, and three elements of none. Of the second half a few have the first plan's bits."""
    captured = dict(Captured(silicon / "h200_cublas.npz").products())
    product = captured["splitk-128x128x8192/fast-float32"]
    unit, a, b = hwsim.load_unit("hopper-wgmma-e4m3-f32"), product.a[:24], product.b[:, :32]
    mixed = product.d[:24, :32].copy()
    mixed[12:] = hwsim.gemm(unit, a[12:], b, plan={"split": {"parts": 5, "step": 128}}).view(np.uint32)
    mixed[20, [3, 4, 9]] ^= 1
    found = fit(unit, a, b, mixed, hwsim.get_format("f32"), most_parts=5)
    assert found.plans == ()
    first, second = found.shares[:2]
    assert [share.plan.split and (share.plan.split.parts, share.plan.split.step) for share in (first, second)] == [
        (3, 128), (5, 128)
    ]  # fmt: skip
    assert first.elements[:12].all()
    assert first.elements.sum() + second.elements.sum() >= mixed.size - 3
    assert 1 <= found.unexplained <= 3
