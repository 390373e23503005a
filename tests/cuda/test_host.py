"""The source for GPUs, built for the host, returns what `hwsim.gemm` returns, bit for bit, in every arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count, islice

import numpy as np
import pytest
from built_presets import others_slow
from kernels.kernel_cases import Codes, Product, mismatch
from kernels.window_cases import addend_sweep, code_pairs, operands
from odd_for_kernels import FOR_KERNELS, FOR_SCALARS, FOR_VECTORS
from odd_units import ODD
from unit_keys import odd_unit, window

import hwsim
from hwsim.base.errors import InputError, ToolMissing
from hwsim.compute.cuda import Variant, gemm_on_host, host, supports, variants
from hwsim.compute.cuda.settings import source_of
from hwsim.compute.products import no_progress
from hwsim.compute.products import product as by_kernels
from hwsim.cosim.fuzz.draw import drawn_unit
from hwsim.formats import FloatFormat
from hwsim.spec import NotImplementedYet, Unit, load_unit, presets

# One of every rule: how windows are cut, where scales and addends enter, how results are rounded.
RULES = (
    "hopper-wgmma-e4m3-f32", "deepseek-v3-e4m3-f32", "mxfp8-e4m3-f32", "cdna3-mfma-bf16-f32",
    "cdna3-mfma-e4m3fnuz-f32", "rvbna-e4m3-f32-n16", "blackwell-mxf4nvf4-e2m1-f32", "blackwell-mma-e4m3-f16",
    "deepseek-v3-e4m3-f32-scaled", "ceil-late", "sticky-bare", "flush-after", "pairs-scaled", "cdna2-mfma-f16-f32",
    "hfp8-forward-e4m3-dlfloat16", "chain-late-fnuz", "tree-6-rd", "late-window-jam",
    "intel-amx-e4m3-f32", "cdna3-mfma-f32-f32", "exact-mx-group", "exact-bf16", "hopper-mma-f64-f64",
    "cdna1-mfma-f16-f32-tree", "int8-i32", "integers-saturate", "exact-blocks-group", "long-coarse",
    "unsigned", "ampere-mma-uint8xint8-i32-sat",
)  # fmt: skip


def unit_of(name: str) -> Unit:
    groups = {**ODD, **FOR_KERNELS, **FOR_VECTORS, **FOR_SCALARS}
    return Unit.model_validate({**groups[name], "unit": name}) if name in groups else load_unit(name)


def with_sum(name: str, lanes: int, **keys: object) -> Unit:
    """A unit with other lanes and with other keys of its sum."""
    unit = unit_of(name)
    given = {"instruction": {"k": lanes, "lanes": lanes}, "sum": {**unit.sum.model_dump(), **keys}}
    return Unit.model_validate({**unit.model_dump(), **given, "unit": f"{name}-{lanes}"})


def in_blocks(unit: Unit, given: Product) -> Product:
    """Scales of blocks, where each row of A and column of B has its own."""
    if unit.scale is None or given.scale_a is None or given.scale_b is None:
        return given
    rows, columns = unit.scale.a.block[0], unit.scale.b.block[1]
    return given._replace(scale_a=given.scale_a[::rows], scale_b=given.scale_b[:, ::columns])


def directed(unit: Unit) -> Iterator[tuple[str, Product]]:
    """Operands that random ones hardly are."""
    if unit.name == "flush-after":
        # 1023 * 2^-24 + 2^-25 + 2^-26 = 2^-14 - 2^-26, which is a tie of numbers of 11 bits.
        a, b = np.array([[12, 12, 0]], np.uint8), np.array([[8], [4], [0]], np.uint8)
        yield "a tie below the least normal number", Product(a, b, np.array([[0x3FF]], np.uint16), None, None)
    if unit.name == "exact-bf16":
        # 2^84 + 2^60 is a tie of numbers of 24 bits, but for 2^-60.
        a = np.array([[(127 + 30) << 7, (127 - 30) << 7, 0]], np.uint16)
        yield "a bit far below a tie", Product(a, a.T, np.array([[(127 + 84) << 23]], np.uint32), None, None)
    if unit.name == "blackwell-mxf4nvf4-e2m1-f32":
        # 0.5 * 0.5 * 2^-9 * 2^-9, beside products of zeros whose scales are the largest, 2^36 and more times that.
        a, b, scale = np.zeros((1, 64), np.uint8), np.zeros((64, 1), np.uint8), np.array([[0x7E, 1, 0, 0]], np.uint8)
        a[0, [0, 16]] = b[[1, 16], 0] = 1
        yield "zeros on either side", Product(a, b, np.zeros((1, 1), np.uint32), scale, scale.T)
    if unit.name == "fine":
        # 2^16 * 2^8 is 2^64 of the result's units.
        a, b = np.array([[0x7C, 0]], np.uint8), np.array([[0x78], [0]], np.uint8)
        yield "beyond 64 bits", Product(a, b, None, None, None)
    if unit.name == "chain-late-fnuz":
        a, b = np.array([[1, 56, 184]], np.uint8), np.full((3, 1), 129, np.uint8)
        yield "a negative subnormal where zero has no sign", Product(a, b, np.array([[133]], np.uint8), None, None)
    if unit.name == "late-window-jam":
        a, b = np.full((1, 7), 184, np.uint8), np.array([[1], [126], [254], [126], [254], [126], [254]], np.uint8)
        yield "a late addend that takes all out", Product(a, b, np.array([[0x803F]], np.uint16), None, None)


def as_codes(out: Codes) -> Codes:
    return out.view(f"u{out.itemsize}") if out.dtype.kind == "f" else out


def by_gemm(unit: Unit, given: Product, compiled: bool = False) -> Codes:
    """What `gemm` returns, which computes few products by the model. compiled: as it computes many, by its kernels."""
    if not compiled:
        return as_codes(hwsim.gemm(unit, *given))
    return as_codes(by_kernels(unit, *given, progress=no_progress, again=True))


def check(unit: Unit, products: Iterator[tuple[str, Product]], seed: object, compiled: bool = False) -> int:
    """How many results of every arithmetic are those of `gemm`: all."""
    held, checked = variants(unit), 0
    for what, drawn in products:
        given = in_blocks(unit, drawn)
        want = by_gemm(unit, given, compiled)
        for variant in held:
            got = as_codes(gemm_on_host(unit, *given, variant=variant))
            assert (got == want).all(), (variant, what, mismatch(unit, drawn, got, want, seed))
            checked += want.size
    return checked


@pytest.mark.quick(cases=2)
@pytest.mark.parametrize("name", others_slow(RULES, RULES[::6]))
def test_results_are_those_of_gemm(name: str) -> None:
    unit = unit_of(name)
    assert check(unit, chain(operands(unit, 1, n=5, most=5), directed(unit)), 1) >= 300


@pytest.mark.parametrize(
    "unit",
    [
        with_sum("cdna3-mfma-f32-f32", 3, product="rounded"),
        pytest.param(with_sum("tree-4", 5), marks=pytest.mark.slow),
    ],
    ids=["products", "trees"],
)
def test_rounded_products_and_odd_trees_are_those_of_gemm(unit: Unit) -> None:
    assert check(unit, operands(unit, 1, n=5, most=5), 1) >= 300


EVERY = [name for name in (*presets(), *ODD, *FOR_KERNELS, *FOR_VECTORS, *FOR_SCALARS) if supports(unit_of(name))]


def of_their_own() -> list[str]:
    """Units of which no other has the same source, but for scales, whose tables differ."""
    found: dict[tuple[str, ...], str] = {}
    for name in EVERY:
        unit = unit_of(name)
        text = *(source_of(unit, variant) for variant in variants(unit)), unit.model_dump_json(include={"scale"})
        found.setdefault(text, name)
    return [*found.values()]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_every_units_results_are_those_of_gemm(part: int) -> None:
    for name in of_their_own()[part::8]:
        unit = unit_of(name)
        assert check(unit, operands(unit, 10, n=70, most=9), 10, compiled=True) > 900, name
        if isinstance(unit.operands.addend, FloatFormat) and unit.operands.addend.exponent_bits <= 8:
            check(unit, iter([("addends of every exponent", addend_sweep(unit, 5))]), 5, compiled=True)
        if unit.operands.a.bits + unit.operands.b.bits <= 16:
            check(unit, iter([("every pair of codes", code_pairs(unit, unit.instruction.lanes - 1))]), 0, compiled=True)


@pytest.mark.slow
def test_random_units_results_are_those_of_gemm() -> None:
    drawn = (drawn_unit(29, number).unit for number in count())
    for unit in islice((unit for unit in drawn if supports(unit)), 150):
        check(unit, operands(unit, 3, n=9, most=5), unit.model_dump_json(exclude={"source"}), True)


# Matrices about a block's edges, with tails of K, of groups, of instructions and of tiles.
SIZES = ((1, 1, 1), (2, 3, 0), (0, 3, 5), (63, 65, 33), (64, 64, 64), (130, 67, 95))


EDGED = ["hopper-wgmma-e4m3-f32", "blackwell-mma-e4m3-f16", "lanes-100-floor"]


@pytest.mark.parametrize("name", others_slow(EDGED, EDGED[:2]))
def test_edges_and_strides_are_met(name: str) -> None:
    unit, rng = unit_of(name), np.random.default_rng(4)
    fmt = unit.operands.addend
    assert fmt is not None
    for m, n, k in SIZES:
        a, b = (rng.integers(0, 120, shape, np.uint8) for shape in ((m, k), (k, n)))
        c = fmt.encode(rng.normal(size=(m, n)))
        want = by_gemm(unit, Product(a, b, c, None, None), compiled=True)
        wide = np.repeat(np.repeat(a, 2, axis=0), 3, axis=1)
        for variant in variants(unit):
            for given in ((a, b, c), (wide[::2, ::3], np.asfortranarray(b), c[::-1][::-1])):
                np.testing.assert_array_equal(as_codes(gemm_on_host(unit, *given, variant=variant)), want)


def bits_of_window(bits: int, lost: str) -> Unit:
    return odd_unit(f"window-{bits}-{lost}", "e4m3", "f32", window(bits, lost), "f32", 32, rounding="rz")


@pytest.mark.parametrize(
    ("lost", "bits"), others_slow([("truncate", 16), ("floor", 15), ("ceil", 15)], [("floor", 15)])
)
def test_a_window_of_one_bit_more_than_is_proved_needs_the_next_arithmetic(lost: str, bits: int) -> None:
    """32 products of 1.875^2 at most and an addend below 2 stay within the float's 2^23 units, or half of them."""
    unit, wider = bits_of_window(bits, lost), bits_of_window(bits + 1, lost)
    assert variants(unit)[0] == "single" and variants(wider)[0] == "double"
    wrong = 0
    for sign in (0, 0x80):
        a, b = np.full((1, 32), 0x7E | sign, np.uint8), np.full((32, 1), 0x7E, np.uint8)
        c = np.array([[np.float32(2 - 2.0**-23) * np.float32(2.0**16) * (-1 if sign else 1)]], np.float32)
        for case in (c, c * 0):
            want = hwsim.gemm(unit, a, b, case).view(np.uint32)
            assert gemm_on_host(unit, a, b, case).view(np.uint32) == want
            # One bit more is wrong: the proof is not looser than it has to be.
            forced = host.built(source_of(wider, "single"), wider.name)
            got = gemm_on_host(wider, a, b, case, library=forced)
            wrong += int(got.view(np.uint32)[0, 0] != hwsim.gemm(wider, a, b, case).view(np.uint32)[0, 0])
    assert wrong


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("hopper-wgmma-e4m3-f32", "single"),
        ("mxfp8-e4m3-f32", "double"),
        ("rvbna-e4m3-f32-n16", "double"),
        ("blackwell-mxf4nvf4-e2m1-f32", "double"),
        ("hopper-mma-f64-f64", "double"),
        ("cdna2-mfma-f16-f32", "single"),
        ("sequential-e4m3-f16", "integers"),
    ],
)
def test_the_first_arithmetic_is_the_quickest_that_holds(name: str, first: Variant) -> None:
    assert variants(load_unit(name))[0] == first


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("wide", "sum.fraction_bits: 256"),
        ("chain-scaled", "scale.at: product of sum.method: sequential"),
        ("long-73", "result.format: fixed73"),
        ("tree-blocks", "sum.subgroup of sum.method: pairwise"),
    ],
)
def test_units_without_a_kernel_say_why(name: str, lacks: str) -> None:
    support = supports(unit_of(name))
    assert not support and support.lacks[0].startswith(lacks) and variants(unit_of(name)) == ()
    with pytest.raises(NotImplementedYet, match="not in the source for GPUs"):
        gemm_on_host(unit_of(name), [[0]], [[0]])


def test_every_preset_has_a_kernel() -> None:
    assert [name for name in presets() if not supports(load_unit(name))] == []


def test_an_arithmetic_that_does_not_hold_is_refused() -> None:
    with pytest.raises(InputError, match="variant must be double or integers"):
        gemm_on_host("mxfp8-e4m3-f32", [[0]], [[0]], variant="single")


def test_without_a_compiler_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "COMPILERS", ("no-such-compiler",))
    host.compiler.cache_clear()
    try:
        with pytest.raises(ToolMissing, match=r"install g\+\+"):
            host.compiler()
    finally:
        host.compiler.cache_clear()


@pytest.mark.slow
def test_clang_builds_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    if shutil.which("clang++") is None:
        pytest.skip("clang++ is not installed")
    monkeypatch.setattr(host, "COMPILERS", ("clang++",))
    for cached in (host.compiler, host._machine, host._library):
        cached.cache_clear()
    try:
        unit = unit_of("deepseek-v3-e4m3-f32")
        for _, given in operands(unit, 2, n=5, most=5):
            got = gemm_on_host(unit, *given)
            np.testing.assert_array_equal(as_codes(got), by_gemm(unit, given, compiled=True))
    finally:
        for cached in (host.compiler, host._machine, host._library):
            cached.cache_clear()
