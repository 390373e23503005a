"""What hwsim.gemm and hwsim.dot take as arrays and what they return, by their kernels and by the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import BroadcastableShapes, mutually_broadcastable_shapes
from odd_for_kernels import FOR_SCALARS, FOR_VECTORS
from odd_units import NAMED, units_of
from odd_units import unit as odd_unit
from products.gemm_cases import HOPPER, MX, VOLTA, Array, addends, bits, codes, expected, same

import hwsim
from hwsim.compute import products as facade
from hwsim.compute.products import products
from hwsim.formats import container_dtype
from hwsim.formats.blocks import one_code
from hwsim.model import dot as by_model
from hwsim.model.definition import definition_of
from hwsim.spec import as_yaml, load_unit

FP4 = "blackwell-mxf4nvf4-e2m1-f32"
UNITS = units_of({**FOR_VECTORS, **FOR_SCALARS})

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
@settings(max_examples=12, deadline=None)
def test_batches_are_broadcast_as_numpy_does(shapes: BroadcastableShapes, c_axes: int, ones: int, few: int) -> None:
    a, b = (codes(seed, *shape) for seed, shape in enumerate(shapes.input_shapes))
    whole = np.matmul(np.zeros(a.shape), np.zeros(b.shape)).shape
    c = None
    if c_axes:
        batch = [1 if ones >> axis & 1 else size for axis, size in enumerate(whole[:-2])]
        c = addends(3, *batch[len(batch) + 1 - c_axes :], *whole[-2:])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facade, "FEW", few)
        patch.setattr(facade, "SOME", few)
        patch.setattr(facade, "_asked", Counter())
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


# Packed and transposed factors, and none


def test_packed_codes_and_transposed_weights_are_those_that_they_stand_for(way: str) -> None:
    a, b = codes(1, 3, 64) % 16, codes(2, 64, 5) % 16
    scale_a, scale_b = codes(3, 3, 4) % 0x70, codes(4, 4, 5) % 0x70
    want = hwsim.gemm(FP4, a, b, None, scale_a, scale_b)
    low_first = (a[:, 0::2] | a[:, 1::2] << 4, b[0::2] | b[1::2] << 4)
    ways: dict[Any, tuple[Any, Any]] = {"": (a, b), "a": (low_first[0], b), "b": (a, low_first[1]), "ab": low_first}
    for packed, (x, w) in ways.items():
        assert np.array_equal(hwsim.gemm(FP4, x, w, None, scale_a, scale_b, packed=packed), want, equal_nan=True)
        turned = hwsim.gemm(FP4, x, w.T, None, scale_a, scale_b.T, packed=packed, transposed=True)
        assert np.array_equal(turned, want, equal_nan=True)
    batch = np.stack([w.T, w.T])
    assert hwsim.gemm(FP4, x, batch, None, scale_a, scale_b.T, packed="ab", transposed=True).shape == (2, 3, 5)
    # Another order of nibbles, or of axes, is another product.
    high_first = low_first[0] >> 4 | low_first[0] << 4
    assert not np.array_equal(hwsim.gemm(FP4, high_first, b, None, scale_a, scale_b, packed="a"), want, equal_nan=True)


def test_what_was_quantised_along_the_rows_of_weights_may_be_transposed() -> None:
    x, w = np.linspace(-1, 1, 2 * 64).reshape(2, 64), np.linspace(0, 9, 64 * 3).reshape(64, 3)
    a = hwsim.quantize(x, "mxfp8-e4m3")
    by_rows, by_columns = hwsim.quantize(w.T, "mxfp8-e4m3"), hwsim.quantize(w, "mxfp8-e4m3", axis=-2)
    want = hwsim.gemm(MX, a, by_columns)
    assert np.array_equal(hwsim.gemm(MX, a, by_rows, transposed=True), want)
    with pytest.raises(ValueError, match="B must not be packed: it is quantised"):
        hwsim.gemm(FP4, np.zeros((2, 64), np.uint8), by_rows, packed="b")


def test_pairs_of_pytorch_are_packed_without_saying_so() -> None:
    torch = pytest.importorskip("torch")
    a, b = codes(1, 3, 64) % 16, codes(2, 64, 5) % 16
    scales = np.full((3, 4), 0x38, np.uint8), np.full((4, 5), 0x38, np.uint8)
    x, w = (torch.from_numpy(hwsim.quantize.pack_codes(one, "e2m1")) for one in (a, b.T))
    x, w = x.view(torch.float4_e2m1fn_x2), w.view(torch.float4_e2m1fn_x2)
    want = hwsim.gemm(FP4, a, b, None, *scales)
    assert np.array_equal(hwsim.gemm(FP4, x, w.t(), None, *scales), want)
    assert np.array_equal(hwsim.gemm(FP4, x, w, None, scales[0], scales[1].T, transposed=True), want)
    with pytest.raises(TypeError, match="A must be codes of e4m3, not float4_e2m1fn_x2"):
        hwsim.gemm(HOPPER, x, b)


@pytest.mark.parametrize(
    ("name", "keys", "message"),
    [
        (HOPPER, {"packed": "a"}, "A must not be packed: a code of e4m3 takes a byte or more"),
        (FP4, {"packed": "c"}, "packed must be a, b or ab, the factors that are, or empty, not 'c'"),
        (FP4, {"transposed": 1}, "transposed must be True or False, not 1"),
        ("blackwell-mxf8f6f4-e3m2-f32", {"packed": "b"}, "B must hold whole groups of 4 codes of e3m2, not 64 bytes"),
    ],
)
def test_what_cannot_be_packed_is_refused(name: str, keys: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        hwsim.gemm(name, np.zeros((2, 64), np.uint8), np.zeros((64, 2), np.uint8), **keys)


@pytest.mark.parametrize("name", [HOPPER, "hopper-wgmma-e4m3-f16", MX, "deepseek-v3-e4m3-f32-scaled", "cut-counted"])
def test_no_products_leave_what_a_group_of_zeros_leaves(name: str) -> None:
    unit = odd_unit(name) if name in NAMED else load_unit(name)
    addend = unit.operands.addend
    assert addend is not None
    every = np.array([0, 1, addend.sign_bit << addend.padding, *addend.encode([1.0, -3.0, 1e30, np.inf]).tolist()])
    c = every.astype(container_dtype(addend))[None, :]
    a, b = np.zeros((1, 0), np.uint8), np.zeros((0, c.size), np.uint8)
    scales: tuple[Any, ...] = ()
    one: tuple[Any, ...] = ()
    if unit.scale is not None:
        scales = tuple(np.zeros((rows, columns), container_dtype(side.format).str) for side, rows, columns in (
            (unit.scale.a, 1, 0), (unit.scale.b, 0, -(-c.size // unit.scale.b.block[1]))))  # fmt: skip
        one = tuple([one_code(side.format)] * unit.instruction.fill for side in (unit.scale.a, unit.scale.b))
    got = hwsim.gemm(unit, a, b, c, *scales)
    zeros = [0] * unit.instruction.fill
    want = [definition_of(unit).dot(zeros, zeros, code, *one).code for code in c[0].tolist()]
    assert got.view(container_dtype(unit.output))[0].tolist() == want
    assert not hwsim.gemm(unit, a, b, None, *scales).view(container_dtype(unit.output)).any()
    if name == HOPPER:
        assert got[0, 3:5].tolist() == [1.0, -3.0]
        assert hwsim.gemm(unit, np.zeros((4, 1, 2, 0), np.uint8), np.zeros((0, 3), np.uint8)).shape == (4, 1, 2, 3)


# Errors


ONE = np.full((1, 1), 127, np.uint8)
BAD: list[tuple[str, tuple[Any, ...], str]] = [
    (HOPPER, ((40,), (40, 3)), r"^A must have shape \(\.\.\., M, K\), not \(40,\)"),
    (HOPPER, ((3, 40), (40,)), r"^B must have shape \(\.\.\., 40, N\), because A has 40 columns, not \(40,\)"),
    (HOPPER, ((3, 40), (39, 3)), r"^B must have shape \(\.\.\., 40, N\), because A has 40 columns, not \(39, 3\)"),
    (HOPPER, ((2, 3, 40), (3, 40, 3)), r"^B must have shape \(2,\), A's axes, .*, not \(3, 40, 3\)"),
    (HOPPER, ((3, 40), (4, 40)), r"^B must have .*, not \(4, 40\); if it is \(N, K\), say that it is transposed"),
    (FP4, ((3, 64), (32, 4)), r"^B must have .*; if each byte of B holds two codes, say that it is packed"),
    (FP4, ((3, 32), (64, 4)), r"^B must have .*; if each byte of A holds two codes, say that it is packed"),
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


@pytest.mark.quick
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
