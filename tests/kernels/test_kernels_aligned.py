"""Kernels of windows against the model, bit for bit: every preset, odd units of every setting, and random ones."""

from __future__ import annotations

import re

import numpy as np
import pytest
from built_presets import FAMILIES, OF_FAMILIES, others_slow
from kernels.kernel_cases import Product, by_kernel, by_model, by_pairs, draw, product
from kernels.kernel_units import units
from kernels.window_cases import (
    addend_sweep,
    addends,
    check,
    code_pairs,
    kernels,
    operands,
    same,
    scales,
    whole,
    window_kernel,
)
from odd_for_kernels import FOR_SCALARS, FOR_VECTORS
from odd_units import ODD, units_of
from representatives import with_every_format, with_every_rule

from hwsim.compute.kernels import kernel_of, supports
from hwsim.compute.kernels.window_kernel import WindowKernel
from hwsim.spec import NotImplementedYet, Unit, load_unit

UNITS = units_of({**FOR_VECTORS, **FOR_SCALARS})

WINDOWS = units("aligned", "even-odd")
PRESETS = [unit for unit in WINDOWS if unit.name not in ODD]
MODEL_ODD = [unit for unit in WINDOWS if unit.name in ODD]


def compare(unit: Unit, made: list[WindowKernel], seed: int, n: int = 19, most: int | None = None) -> int:
    """How many elements of `operands` are the model's."""
    return sum(check(made, unit, given, (seed, what)) for what, given in operands(unit, seed, n, most))


# Others have the rule of one of these in other formats and lengths; the soak has them all.
ALWAYS = [unit.name for unit in PRESETS if unit.name in OF_FAMILIES or not FAMILIES.match(unit.name)]


@pytest.mark.quick
@pytest.mark.parametrize("name", ALWAYS[::30])
def test_presets_are_the_models(name: str) -> None:
    unit = load_unit(name)
    assert compare(unit, kernels(unit), 1) > 600


NAMES = [unit.name for unit in PRESETS]


@pytest.mark.parametrize("name", others_slow(NAMES, [], with_every_format(NAMES)))
def test_every_preset_is_the_models(name: str) -> None:
    unit = load_unit(name)
    made = kernels(unit)
    for seed in (10, 11):
        assert compare(unit, made, seed, 70, 40) > 1500
    if unit.operands.addend is not None:
        check(made, unit, addend_sweep(unit, 5), "every exponent of the addend")
    if unit.operands.a.bits + unit.operands.b.bits <= 16:
        for lane in (0, unit.instruction.lanes - 1):
            check(made, unit, code_pairs(unit, lane), ("every pair of codes", lane))


@pytest.mark.parametrize("name", others_slow(UNITS, [*UNITS][14::28]))
def test_odd_units_are_the_models(name: str) -> None:
    assert compare(UNITS[name], kernels(UNITS[name]), 1) > 600


def kernel_without_vectors(unit: Unit) -> list[WindowKernel]:
    return [window_kernel(unit, vectors=False)] if supports(unit) else []


@pytest.mark.parametrize("unit", others_slow(MODEL_ODD, MODEL_ODD[::17]), ids=lambda unit: unit.name)
def test_the_models_odd_units_are_the_models(unit: Unit) -> None:
    made = kernel_without_vectors(unit)
    if made:
        assert compare(unit, made, 3) > 600
    else:
        assert unit.name in {"wide", "subgroups-signed"}


IN_VECTORS = {unit.name: unit for unit in MODEL_ODD if supports(unit)}


@pytest.mark.parametrize("name", others_slow(IN_VECTORS, [], with_every_rule(IN_VECTORS, NAMES)))
def test_the_models_odd_units_are_the_models_in_vectors(name: str) -> None:
    assert compare(IN_VECTORS[name], kernels(IN_VECTORS[name]), 4, 70, 40) > 1500


# Units whose addends are tried in every binade.
SWEPT = {
    "hopper-wgmma-e5m2-f32", "volta-mma-f16-f16", "cdna3-mfma-e4m3fnuz-f32", "single", "bits-2-subnormal", "floor",
    "ceil", "jam", "late-signed", "count-late",
}  # fmt: skip


@pytest.mark.parametrize("name", others_slow(sorted(SWEPT), ("hopper-wgmma-e5m2-f32", "single")))
def test_an_addend_of_every_exponent_is_the_models(name: str) -> None:
    unit = UNITS.get(name) or load_unit(name)
    assert unit.operands.addend is not None
    assert check(kernels(unit), unit, addend_sweep(unit, 6), "sweep") >= 4 * 3 * 2 << unit.operands.addend.exponent_bits


@pytest.mark.parametrize(
    "name",
    others_slow(
        ["mxfp8-e4m3-f32", "narrow-scaled", "floor-scaled", "blackwell-mxf4nvf4-e2m1-f32"],
        ["mxfp8-e4m3-f32"],
    ),
)
def test_scales_of_every_size_are_the_models(name: str) -> None:
    unit = UNITS.get(name) or load_unit(name)
    rng, made = np.random.default_rng(7), kernels(unit)
    k = whole(unit, 2 * unit.instruction.lanes)
    for profile in ("finite", "small", "large", "sparse"):
        given = product(rng, unit, (30, 33, k), profile)
        c = addends(unit, (30, 33), rng)
        check(made, unit, Product(given.a, given.b, c, *scales(unit, 30, 33, k, rng)), profile)


# Tiles have 16 columns; 64 are worked on at once.
@pytest.mark.parametrize(
    "n", others_slow([1, 2, 15, 16, 17, 31, 33, 48, 63, 64, 65, 79, 81, 127, 130], [1, 15, 17, 33, 64, 81])
)
@pytest.mark.parametrize("name", ["hopper-wgmma-e4m3-f32", "volta-mma-f16-f16", "narrow-scaled"])
def test_edges_of_tiles_are_the_models(name: str, n: int) -> None:
    unit = UNITS.get(name) or load_unit(name)
    rng, made = np.random.default_rng(n), kernels(unit)
    k = whole(unit, unit.instruction.lanes + 1)
    given = product(rng, unit, (3, n, k), "special")
    a, b = given.a.copy(), given.b.copy()
    # A NaN in the last row and one in the last column, beside numbers.
    a[-1, -1] = b[0, -1] = unit.operands.a.canonical_nan
    check(made, unit, given._replace(a=a, b=b, c=addends(unit, (3, n), rng)), n)


@pytest.mark.parametrize(
    "name",
    others_slow(
        ["hopper-wgmma-e4m3-f32", "deepseek-v3-e4m3-f32", "ampere-mma-f16-f16", "mxfp8-e5m2-f32", "floor-narrow"],
        ("hopper-wgmma-e4m3-f32", "deepseek-v3-e4m3-f32"),
    ),
)
def test_long_chains_are_the_models(name: str) -> None:
    unit = UNITS.get(name) or load_unit(name)
    rng, made = np.random.default_rng(8), kernels(unit)
    for profile in ("middle", "cancel", "finite"):
        given = product(rng, unit, (2, 3, whole(unit, 4100)), profile)
        check(made, unit, given, profile)


def test_addends_and_results_may_be_views() -> None:
    unit = load_unit("hopper-wgmma-e4m3-f32")
    rng = np.random.default_rng(9)
    given = product(rng, unit, (3, 5, 32), "finite")
    want = by_model(unit, given)
    assert given.c is not None
    for kernel in kernels(unit):
        c, out = np.zeros((2, 6, 9), np.uint32)
        c[::2, 2:7] = given.c
        kernel.run(kernel.pack_a(given.a, None), kernel.pack_b(given.b, None), c[::2, 2:7], out[::2, 2:7])
        same(unit, given, out[::2, 2:7], want, "views")
        assert not out[1::2].any() and not out[:, :2].any() and not out[:, 7:].any()
        turned = np.asfortranarray(given.a), np.ascontiguousarray(given.b.T).T
        kernel.run(*(pack(side, None) for pack, side in zip((kernel.pack_a, kernel.pack_b), turned, strict=True)),
                   given.c.astype(np.uint32), out[:3, :5])  # fmt: skip
        same(unit, given, out[:3, :5], want, "strides")


def test_both_ways_are_one_where_the_model_is_slow() -> None:
    # 130 x 200 results of 2048 products: neighbours and chunks beyond what the model is asked for.
    for name in ("deepseek-v3-e4m3-f32", "mxfp8-e4m3-f32"):
        unit = load_unit(name)
        scalar, vectors = kernels(unit)
        given = product(np.random.default_rng(10), unit, (70, 130, 1024), "special")
        want = by_kernel(scalar, unit, given)
        same(unit, given, by_kernel(vectors, unit, given), want, "vectors")
        same(unit, given, by_pairs(vectors, unit, given), want, "pairs")


@pytest.mark.parametrize("bits", [56, 100])
def test_what_64_bits_do_not_hold_is_refused(bits: int) -> None:
    reason = f"sum.fraction_bits: {bits} (a window that does not fit 64 bits)"
    unit = Unit.model_validate(
        {
            "unit": "odd",
            "operands": {"a": "e4m3", "b": "e4m3", "addend": "f32"},
            "instruction": {"k": 5, "lanes": 5},
            "result": {"format": "f32", "rounding": "rz"},
            "sum": {"method": "aligned", "fraction_bits": bits},
        }
    )
    assert supports(unit).lacks == (reason,)
    with pytest.raises(NotImplementedYet, match=f"odd: {re.escape(reason)} is in the model, but not in compiled code"):
        kernel_of(unit)


def test_presets_have_kernels_in_vectors() -> None:
    without = [unit.name for unit in PRESETS if not window_kernel(unit).in_vectors]
    assert without == ["blackwell-mxf4nvf4-e2m1-f32-fours"]  # low addends are asked for one by one
    assert draw(np.random.default_rng(0), load_unit("mxint8-f32").operands.a, (2,), "any").dtype == np.uint8
