"""Chains and trees of rounded additions against the model, NumPy's loops, apytypes, and mutants of themselves."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import apytypes
import numpy as np
import pytest
from built_presets import others_slow
from kernels.kernel_cases import Product, by_kernel, compare_all, draw
from kernels.kernel_loops import loop
from kernels.kernel_units import units
from numpy.typing import NDArray
from unit_keys import E6M9, chained, odd

from hwsim.compute.kernels import additions, kernel_of, supports
from hwsim.compute.kernels.additions import AdditionsKernel, FmaKernel
from hwsim.compute.kernels.floats import NATIVE, round_in, sum_in, target_of
from hwsim.formats import FloatFormat
from hwsim.spec import NotImplementedYet, PairwiseSum, RoundedSum, Unit, load_unit

# But for those of the processor's own FMAs: test_kernels_fma.py.
UNITS = [one for one in units("sequential", "pairwise") if supports(one) and not isinstance(kernel_of(one), FmaKernel)]


def additions_kernel(unit: Unit) -> AdditionsKernel:
    kernel = kernel_of(unit)
    assert isinstance(kernel, AdditionsKernel)
    return kernel


def fused(kernel: AdditionsKernel) -> bool:
    rule = kernel.unit.sum
    assert isinstance(rule, RoundedSum)
    return rule.product == "fused"


def unit_of(*arguments: Any, **more: Any) -> Unit:
    return Unit.model_validate(odd(*arguments, **more))


@pytest.mark.quick
@pytest.mark.parametrize("unit", others_slow(UNITS, UNITS[::11]), ids=lambda unit: unit.name)
def test_kernel_is_the_model(unit: Unit) -> None:
    assert compare_all(additions_kernel(unit), unit, seed=1) > 250


def test_presets_stand_in_float32() -> None:
    # What makes them fast: of a format's own additions nothing is left to do, or one step in vectors of 32 bits.
    carriers = {unit.name: additions_kernel(unit).carrier for unit in UNITS}
    for name, carrier in carriers.items():
        if name.startswith(("cdna", "sequential", "hfp8")):
            assert carrier.kind is np.float32 and carrier.exact, name
    assert carriers["cdna2-mfma-f16-f32"].mode == NATIVE
    assert carriers["chain-f16-rz"].kind is np.float64


def finite(rng: np.random.Generator, unit: Unit, m: int, k: int, n: int, profile: str) -> Product:
    a, b = draw(rng, unit.operands.a, (m, k), profile), draw(rng, unit.operands.b, (k, n), profile)
    return Product(a, b, draw(rng, unit.operands.addend, (m, n), profile), None, None)


@pytest.mark.parametrize(
    ("factors", "fmt", "dtype"), [("bf16", "f32", np.float32), ("e4m3", "f32", np.float32), ("f16", "f16", np.float16)]
)
def test_a_long_chain_is_a_loop_of_numpy(factors: str, fmt: str, dtype: Any) -> None:
    # Larger than a tile, and K more than one pass. Products are rounded, as NumPy's are.
    unit = unit_of(factors, fmt, chained("sequential", fmt, product="rounded"), fmt, 1)
    given = finite(np.random.default_rng(1), unit, 70, 2 * additions.PASS + 9, 37, "middle")
    words = np.uint16 if dtype is np.float16 else np.uint32
    assert given.c is not None
    a, b = (fmt.decode(codes).astype(dtype) for fmt, codes in ((unit.operands.a, given.a), (unit.operands.b, given.b)))
    total = given.c.astype(words).view(dtype)
    for k in range(a.shape[1]):
        total = total + a[:, k : k + 1] * b[k]
    np.testing.assert_array_equal(by_kernel(additions_kernel(unit), unit, given), total.view(words))
    assert np.isfinite(total).mean() > 0.9


QUANTIZATION = {
    "rne": apytypes.QuantizationMode.TIES_EVEN, "rna": apytypes.QuantizationMode.TIES_AWAY,
    "rz": apytypes.QuantizationMode.TO_ZERO, "ru": apytypes.QuantizationMode.TO_POS,
    "rd": apytypes.QuantizationMode.TO_NEG, "rto": apytypes.QuantizationMode.JAM_UNBIASED,
}  # fmt: skip


SUM_FORMATS: dict[str, Any] = {"bf16": "bf16", "f16": "f16", "e6m9": E6M9}
# Of bf16, which stands in float32; each mode in float64 is compiled anew.
MODES = others_slow(
    [(name, mode) for name in SUM_FORMATS for mode in QUANTIZATION], [("bf16", m) for m in [*QUANTIZATION][::3]]
)


@pytest.mark.parametrize(("name", "mode"), MODES)
def test_a_chain_is_a_loop_of_apytypes(name: str, mode: str) -> None:
    fmt = SUM_FORMATS[name]
    unit = unit_of((fmt, fmt), fmt, chained("sequential", fmt, mode, "rounded"), fmt, 1)
    assert isinstance(unit.sum, RoundedSum)
    form = unit.sum.format
    assert isinstance(form, FloatFormat)
    given = finite(np.random.default_rng(2), unit, 8, 12, 40, "middle")
    shape = form.exponent_bits, form.fraction_bits, form.bias
    i, j = np.repeat(np.arange(8), 40), np.tile(np.arange(40), 8)
    assert given.c is not None
    with apytypes.APyFloatQuantizationContext(QUANTIZATION[mode]):
        total = apytypes.APyFloatArray.from_bits(given.c[i, j].tolist(), *shape)
        for k in range(12):
            a = apytypes.APyFloatArray.from_bits(given.a[i, k].tolist(), *shape)
            total = total + a * apytypes.APyFloatArray.from_bits(given.b[k, j].tolist(), *shape)
    assert by_kernel(additions_kernel(unit), unit, given).ravel().tolist() == total.to_bits()


@loop("hwsim.compute.kernels.floats")
def add_both(x: Any, y: Any, narrow: Any, wide: Any, t: Any, u: Any) -> None:
    for i in range(x.size):
        narrow[i] = round_in(x[i] + y[i], t, t.mode)
        wide[i] = round_in(sum_in(np.float64(x[i]), np.float64(y[i]), u.mode, False), u, u.mode)


@pytest.mark.parametrize(("bits", "wrong"), [(10, False), (11, True)])
def test_two_roundings_are_one_where_the_proof_says_so(bits: int, wrong: bool) -> None:
    # Sums of numbers of p = 11 bits in binary32, which has 2p + 2: one beside a midpoint, at every distance. With
    # p = 12 it has 2p, and the same sums go wrong.
    p = bits + 1
    fmt = target_format(bits)
    rng = np.random.default_rng(3)
    count = 200_000
    x = np.ldexp(rng.integers(1 << p - 1, 1 << p, count).astype(np.float64), 2)
    y = np.ldexp(rng.integers(1 << p - 1, 1 << p, count).astype(np.float64), rng.integers(-2 * p, 1, count))
    near = np.ldexp(1.0, 1) - np.ldexp(1.0, rng.integers(1 - p, 1, count))  # half an ulp of x, all ones
    y = np.where(rng.random(count) < 0.5, y, near) * rng.choice([-1, 1], count)
    narrow, wide = np.zeros(count, np.float32), np.zeros(count)
    for rounding in ("rne", "rna"):
        targets = target_of(fmt, rounding, carrier=np.float32), target_of(fmt, rounding)
        add_both(x.astype(np.float32), y.astype(np.float32), narrow, wide, *targets)
        assert (narrow != wide).any() == wrong


def target_format(fraction_bits: int) -> FloatFormat:
    keys = {**E6M9, "name": "wide", "fraction_bits": fraction_bits}
    return FloatFormat.model_validate(keys)


@pytest.mark.parametrize(("method", "kept"), [("pairwise", False), ("sequential", True)])
def test_a_product_far_below_decides_a_tie_of_subnormals(method: str, kept: bool) -> None:
    # 2^-150 is half the least number of binary32, and 2^-266 is 116 places below: together more than half.
    unit = unit_of("bf16", "f32", chained(method, "f32"), "f32", 2)
    kernel = kernel_of(unit)
    a, b = np.array([[0x3380, 0x0001], [0x3380, 0x8001]], np.uint16), np.array([[0x0080], [0x0001]], np.uint16)
    given = Product(a, b, np.zeros((2, 1), np.uint32), None, None)
    # A chain rounds the first product, a tie, before it knows of the second, of which it then has the sign.
    assert by_kernel(kernel, unit, given).ravel().tolist() == ([0, 0x80000000] if kept else [1, 0])
    if isinstance(kernel, AdditionsKernel):
        assert kernel.carrier.exact == kept


def mutated(kernel: AdditionsKernel, change: Callable[[AdditionsKernel], None]) -> AdditionsKernel:
    change(kernel)
    return kernel


def one_bit_less(kernel: AdditionsKernel) -> None:
    target = kernel.carrier.target
    less = target._replace(unit=2 * target.unit, shift=2 * target.shift, drop=target.drop + 1)
    kernel.carrier = kernel.carrier._replace(target=less)


def no_rounding_to_odd(kernel: AdditionsKernel) -> None:
    kernel.additions = additions.chains_of(kernel.carrier.mode, True, fused(kernel))


def products_not_rounded(kernel: AdditionsKernel) -> None:
    loop = additions.trees_of if isinstance(kernel.unit.sum, PairwiseSum) else additions.chains_of
    kernel.additions = loop(kernel.carrier.mode, kernel.carrier.exact, True)


def subnormals_kept(kernel: AdditionsKernel) -> None:
    target = kernel.carrier.target
    kernel.carrier = kernel.carrier._replace(target=target._replace(least=target.none))


def addend_dropped(kernel: AdditionsKernel) -> None:
    kernel.unit = kernel.unit.model_copy(update={"operands": kernel.unit.operands.model_copy(update={"addend": None})})


def promoted_once(kernel: AdditionsKernel) -> None:
    kernel.span = lambda k: k  # type: ignore[method-assign]


MUTANTS = [
    (one_bit_less, "sequential-e4m3-f16"), (one_bit_less, "sequential-e4m3-bf16"),
    (one_bit_less, "hfp8-forward-e4m3-dlfloat16"), (one_bit_less, "chain-f32-rz"),
    (no_rounding_to_odd, "chain-rd"), (no_rounding_to_odd, "chain-f32-rz"),
    (products_not_rounded, "chain-f16-mul-add"), (products_not_rounded, "chain-fixed"),
    (subnormals_kept, "cdna2-mfma-bf16-f32"), (subnormals_kept, "chain-bare"), (subnormals_kept, "chain-flush"),
    (addend_dropped, "sequential-e4m3-f16"), (addend_dropped, "tree-4"), (addend_dropped, "chain-late-fnuz"),
    (promoted_once, "chain-f16-chunks"), (promoted_once, "chain-bf16-chunks"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("mutant", "name"), others_slow(MUTANTS, MUTANTS[::2]), ids=lambda value: getattr(value, "__name__", value)
)
def test_mutants_are_caught(mutant: Callable[[AdditionsKernel], None], name: str) -> None:
    unit = next(unit for unit in UNITS if unit.name == name)
    with pytest.raises(AssertionError, match=f"{name}, seed"):
        compare_all(mutated(additions_kernel(unit), mutant), unit, seed=1)


def test_what_is_below_a_tie_decides_it() -> None:
    # 1 + 2^-8 is halfway between numbers of bf16. An addend of 2^-40 is below the last place of float32, and float64's.
    unit = next(unit for unit in UNITS if unit.name == "chain-bf16-f16")
    kernel = additions_kernel(unit)
    given = Product(
        np.array([[0x3C04], [0x3C04 | 0x8000]], np.uint16), np.array([[0x3C00] * 3], np.uint16),
        np.array([[0x2B80, 0, 0xAB80]] * 2, np.uint16), None, None,
    )  # fmt: skip
    want = [[0x3F81, 0x3F80, 0x3F80], [0xBF80, 0xBF80, 0xBF81]]
    assert by_kernel(kernel, unit, given).tolist() == want
    no_rounding_to_odd(kernel)
    assert by_kernel(kernel, unit, given).tolist() == [[0x3F80] * 3, [0xBF80] * 3]


def test_what_is_refused() -> None:
    rule = chained("sequential", "f32")
    limited = supports(unit_of("e4m3", "f32", {**rule, "product_limit": 4}, "f32"))
    assert limited.lacks == ("sum.product_limit: 4",)
    wide = {"name": "wide", "kind": "fixed", "integer_bits": 31, "fraction_bits": 0}
    products = "operands: products of 62 bits (float64 has 53)"
    assert supports(unit_of((wide, wide), "f32", rule, "f32")).lacks == (products,)
    with pytest.raises(NotImplementedYet, match=r"products of 62 bits"):
        kernel_of(unit_of((wide, wide), "f32", rule, "f32"))


def test_tiles_may_be_parts_of_matrices_and_come_from_threads() -> None:
    unit = load_unit("sequential-e4m3-f16")
    kernel = additions_kernel(unit)
    given = finite(np.random.default_rng(5), unit, 8, 40, 60, "middle")
    assert given.c is not None
    whole, c = by_kernel(kernel, unit, given), given.c.astype(np.uint32)
    out = np.zeros_like(whole)

    def tile(at: tuple[int, int]) -> None:
        rows, columns = slice(at[0], at[0] + 4), slice(at[1], at[1] + 20)
        a, b = kernel.pack_a(given.a[rows], None), kernel.pack_b(given.b[:, columns], None)
        kernel.run(a, b, c[rows, columns], out[rows, columns])

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(tile, [(i, j) for i in (0, 4) for j in (0, 20, 40)]))
    np.testing.assert_array_equal(out, whole)
    reversed_b: NDArray[Any] = np.asfortranarray(given.b)
    kernel.run(kernel.pack_a(given.a, None), kernel.pack_b(reversed_b, None), c, out)
    np.testing.assert_array_equal(out, whole)
