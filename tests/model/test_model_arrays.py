"""What hwsim.dot and hwsim.gemm take, what they refuse and what they return."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from odd_units import unit
from unit_keys import late, odd_unit, promoted, window

import hwsim
from hwsim.model import Definition
from hwsim.spec import as_yaml

HOPPER, MX = "hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32"
random = np.random.default_rng(11)
A = random.integers(0, 256, (6, 40), dtype=np.uint8)
B = random.integers(0, 256, (6, 40), dtype=np.uint8)
C = random.normal(size=6).astype(np.float32)


def same(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> bool:
    return got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()


WANT = hwsim.dot(HOPPER, A, B, C)


def test_a_unit_is_named_loaded_or_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "unit.yaml"
    file.write_text(as_yaml(hwsim.load_unit(HOPPER)))
    for given in (hwsim.load_unit(HOPPER), file, str(file)):
        assert same(hwsim.dot(given, A, B, C), WANT)
    with pytest.raises(TypeError, match=r"unit must be a unit's name, a path, keys or a unit, not int"):
        hwsim.dot(3, A, B)  # type: ignore[arg-type]
    with pytest.raises(hwsim.SpecError, match=r"did you mean hopper-wgmma-e4m3-f32"):
        hwsim.dot("hopper-wgmma-e4m3", A, B)


def test_floats_of_the_own_dtype_are_taken_by_their_bits() -> None:
    a, b = A.view(ml_dtypes.float8_e4m3fn), B.view(ml_dtypes.float8_e4m3fn)
    assert same(hwsim.dot(HOPPER, a, b, C.view(np.uint32)), WANT)
    scales = random.integers(120, 135, (6, 1), dtype=np.uint8)
    want = hwsim.dot(MX, A[:, :32], B[:, :32], C, scales, scales)
    e8m0 = scales.view(ml_dtypes.float8_e8m0fnu)
    assert same(hwsim.dot(MX, a[:, :32], b[:, :32], C, e8m0, e8m0), want)
    fp4 = (A[:, :32] & 15).view(np.uint8)
    want = hwsim.dot("mxfp4-e2m1-f32", fp4, fp4, None, scales, scales)
    small = fp4.astype(np.uint8).view(ml_dtypes.float4_e2m1fn)
    assert same(hwsim.dot("mxfp4-e2m1-f32", small, small, None, scales, scales), want)


def test_values_are_not_codes() -> None:
    with pytest.raises(TypeError, match=r"^c must be integer f32 codes or a float32 array, not float64"):
        hwsim.dot(HOPPER, A, B, np.zeros(6))
    with pytest.raises(TypeError, match=r"^a must be integer e4m3 codes"):
        hwsim.dot(HOPPER, [[1.0, 2.0]], [[1.0, 2.0]])
    with pytest.raises(TypeError, match=r"^scale_a must be integer e8m0 codes"):
        hwsim.dot(MX, A[:, :32], B[:, :32], None, np.ones((6, 1)), np.full((6, 1), 127))


ONE = np.full((6, 1), 127)
WIDE = [[0] * 17]
BAD: list[tuple[str, tuple[Any, ...], str]] = [
    (HOPPER, ([[256]], [[0]]), r"^a\[0, 0\] is 256: e4m3 codes are 0 to 255"),
    (HOPPER, ([[0]], [[-1]]), r"^b\[0, 0\] is -1: e4m3 codes are 0 to 255"),
    ("mxint8-f32", ([[-129] * 32], [[0] * 32], None, [[127]], [[127]]), r"^a\[0, 0\] is -129: .* -128 to 255"),
    (MX, (A[:, :32], B[:, :32], None, ONE + 200, ONE), r"^scale_a\[0, 0\] is 327: e8m0 codes are 0 to 255"),
    (HOPPER, (A, B, [2**32] * 6), r"^c\[0\] is 4294967296: f32 codes"),
    (HOPPER, (A[0], B[0]), r"^a must have shape \(n, K\), not \(40,\)"),
    (HOPPER, (A[None], B[None]), r"^a must have shape \(n, K\), not \(1, 6, 40\)"),
    (HOPPER, (A, B[:, :39]), r"^b must have shape \(6, 40\), as a, not \(6, 39\)"),
    (HOPPER, (A, B[:5]), r"^b must have shape \(6, 40\), as a, not \(5, 40\)"),
    (HOPPER, (A, B, C[:5]), r"^c must have shape \(6,\), not \(5,\)"),
    (HOPPER, (A, B, C[:, None]), r"^c must have shape \(6,\), not \(6, 1\)"),
    (HOPPER, (A, B, 0), r"^c must have shape \(6,\), not \(\)"),
    (HOPPER, (A[:, :0], B[:, :0]), r"^K, the number of products, must be at least 1, not 0"),
    (MX, (A, B, None, ONE, ONE), r"^K, .* must be a multiple of scale\.a\.block along K \(32\), not 40"),
    (MX, (A[:, :32], B[:, :32]), r"^scale_a is missing: mxfp8-e4m3-f32 takes .* shape \(6, 1\)"),
    (MX, (A[:, :32], B[:, :32], None, ONE), r"^scale_b is missing"),
    (MX, (A[:, :32], B[:, :32], None, ONE[0], ONE), r"^scale_a must have shape \(6, 1\), not \(1,\)"),
    (MX, (A[:, :32], B[:, :32], None, ONE, ONE[:5]), r"^scale_b must have shape \(6, 1\), not \(5, 1\)"),
    (HOPPER, (A, B, None, ONE), r"^scale_a must be None, because hopper-wgmma-e4m3-f32 has scale none"),
    (HOPPER, (A, B, None, None, ONE), r"^scale_b must be None"),
    ("jam-rto", (A[:, :16], B[:, :16], C), r"^c must be None, because jam-rto has operands\.addend none"),
    ("jam-rto", (WIDE, WIDE), r"^K, .* at most instruction\.k \(16\), because jam-rto has .*chain none, not 17"),
    ("tf32-factors", ([[1 << 12]], [[0]]), r"^a\[0, 0\] is 0x1000: the low 13 bits .* tf32.* must be zero"),
    ("tf32-factors", ([[0]], [[0]], np.array([1e-3], np.float32)), r"^c\[0\] is .*: the low 13 bits"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), BAD, ids=[bad[2].lstrip("^")[:30] for bad in BAD])
def test_what_does_not_fit_is_a_value_error(name: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hwsim.dot(unit(name), *arguments)


def test_what_is_not_implemented_is_refused_by_name() -> None:
    other = odd_unit("odd", "e4m3", "f32", window(13), "f32", 5, **late("f32", "rne"), **promoted(5, "f32"))
    with pytest.raises(
        hwsim.NotImplementedYet, match=r"unit odd: sum\.addend: late with a promotion is not implemented"
    ):
        hwsim.dot(other, A, B)


@pytest.mark.parametrize("name", ["emulated", "late-sequential", "ordered-chain", "ada-mma-e4m3-f32"])
def test_a_short_k_is_filled_to_what_the_unit_takes(name: str) -> None:
    used = unit(name)
    k = 5
    rest = -k % used.instruction.fill
    assert used.instruction.fill == (used.instruction.lanes if name.startswith("ada") else used.instruction.k)
    short, whole = ([np.pad(side[:, :k], ((0, 0), (0, more))) for side in (A & 0x7B, B & 0x7B)] for more in (0, rest))
    assert same(hwsim.dot(used, *short), hwsim.dot(used, *whole))
    assert same(hwsim.gemm(used, short[0], short[1].T), hwsim.gemm(used, whole[0], whole[1].T))
    groups = hwsim.explain(used, short[0][0], short[1][0]).groups
    assert sum(group.used for group in groups) == k
    assert len(groups) * used.instruction.lanes == k + rest


def test_products_of_wide_factors_are_not_kept() -> None:
    # A pair of f16 codes is one of 2^32: keeping what was multiplied would fill the memory.
    for name, kept in (("f16-factors", False), ("mxfp8-e4m3-f32", True)):
        definition = Definition(unit(name))
        lanes = unit(name).instruction.lanes
        definition.group([1] * lanes, [1] * lanes, None, [127] * lanes, [127] * lanes)
        assert bool(definition._products) == kept


def test_arguments_stay_as_they_are() -> None:
    a, b, c = A.copy(), B.copy(), C.copy()
    for array in (a, b, c):
        array.setflags(write=False)
    assert same(hwsim.dot(HOPPER, a, b, c), WANT)
    assert a.tobytes() == A.tobytes()


def test_a_scale_format_without_one_fills_with_its_least() -> None:
    # bias 300: codes 0 to 254 are 2^-300 to 2^-46, and a zero term is zero at any scale.
    fmt = {"kind": "exponent", "name": "tiny", "exponent_bits": 8, "bias": 300, "nan": [255]}
    side = {"format": fmt, "block": [1, 1]}
    used = odd_unit("odd", "e4m3", "f32", window(13), "f32", scale={"a": side, "b": side})
    assert hwsim.dot(used, [[0x38]], [[0x38]], None, [[254]], [[254]]).tolist() == [2.0**-92]
