"""What the published and designed presets return on numbers that can be checked by hand."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from built_presets import WORDS

import hwsim
import hwsim.model
from hwsim.spec import load_unit, presets


def code(name: str, a: list[int], b: list[int], c: int | None = None) -> int:
    """One result's code."""
    out = hwsim.model.dot(name, [a], [b], None if c is None else [c])
    return int(out.view({2: np.uint16, 4: np.uint32}[out.itemsize])[0])


# Codes: e5m2 0x3c is 1, 0x04 2^-14, 0x10 2^-11; e4m3 0x38 is 1; e4m3fnuz 0x40 is 1; bf16 0x5f80 is 2^64, 0x7f00 2^127;
# f16 0x3c00 is 1, 0x0001 2^-24; f32 0xb3000000 is -2^-25, 0xb2800000 -2^-26.
CLAIMS: list[tuple[str, str, list[int], list[int], int | None, int]] = [
    # fraction_bits 25: 1 + 2^-25 stands in the window, and rounds to odd in 24 bits.
    ("rvbna rounds to odd", "rvbna-e5m2-f32-n4", [0x3C, 0x04], [0x3C, 0x10], None, 0x3F800001),
    # 2^-14 x 2^-14 is below the window of 4 products, and jams into its last bit.
    ("rvbna jams", "rvbna-e5m2-f32-n4", [0x3C, 0x84], [0x3C, 0x04], None, 0x3F7FFFFF),
    ("rvbna has the NaN of RISC-V", "rvbna-e4m3-f32-n8", [0xFF], [0x00], None, 0x7FC00000),
    ("rvbna overflows to infinity", "rvbna-bf16-f32-n16", [0x7F00, 0xFF00], [0x4000, 0x0000], None, 0x7F800000),
    ("rvbna's zero is positive", "rvbna-e4m3xe5m2-f32-n4", [0x80, 0x80], [0x3C, 0x3C], None, 0),
    ("a product of 2^128 is infinite", "cdna3-mfma-bf16-f32", [0x5F80], [0x5F80], 0, 0x7F800000),
    ("and one less is not", "cdna3-mfma-bf16-f32", [0x5F80, 0xDF80], [0x5F00, 0x5F00], 0, 0),
    ("two of them of both signs are NaN", "cdna3-mfma-bf16-f32", [0x5F80, 0xDF80], [0x5F80, 0x5F80], 0, 0x7FFFFFFF),
    # At E = 0 the addend keeps 24 bits, floored: -2^-25 becomes -2^-24.
    ("a late addend is floored", "cdna3-mfma-e4m3fnuz-f32", [0x40], [0x40], 0xB3000000, 0x3F7FFFFF),
    ("one 26 places down is dropped", "cdna3-mfma-e4m3fnuz-f32", [0x40], [0x40], 0xB2800000, 0x3F800000),
    ("but not for f16", "cdna3-mfma-f16-f32", [0x3C00], [0x3C00], 0xB2800000, 0x3F7FFFFF),
    # 1 + 2^-24 is a tie in binary32; with -1, 2^-24 is left of the exact sum alone.
    ("one reading of CDNA1", "cdna1-mfma-f16-f32", [0x3C00, 0x0001, 0xBC00], [0x3C00] * 3, 0, 0x33800000),
    ("and the other", "cdna1-mfma-f16-f32-tree", [0x3C00, 0x0001, 0xBC00], [0x3C00] * 3, 0, 0),
    ("CDNA2 flushes factors", "cdna2-mfma-f16-f32", [0x0001], [0x3C00], 0, 0),
    ("and addends", "cdna2-mfma-f16-f32", [0x3C00], [0x3C00], 0x00000001, 0x3F800000),
    ("AMX flushes factors", "intel-amx-e4m3-f32", [0x01], [0x38], 0x3F800000, 0x3F800000),
    ("and addends, with their sign", "intel-amx-e4m3-f32", [0x80], [0x38], 0x80000001, 0),
    # 64 products exactly, and then the addend: 2^-12 - 2^-12 is nothing, and 448 x 448 did not hide it.
    ("AMX sums exactly", "intel-amx-e4m3-f32", [0x7E, 0x08, 0xFE], [0x7E, 0x08, 0x7E], 0, 0x39800000),
    # 2^-9 x 1, and then an addend of -2^-149, which counts as zero.
    ("AMX's other reading keeps factors", "intel-amx-e4m3-f32-subnormals", [0x01], [0x38], 0x80000001, 0x3B000000),
    # As e4m3, 0x38 is 1 and 0x3c is 1.5; as e5m2, 1/2 and 1. 2^-14 is 14 places below 1, and lost; 13 below 1/2.
    ("mixed factors", "ada-mma-e4m3xe5m2-f32", [0x38, 0x38], [0x3C, 0x04], 0, 0x3F800000),
    ("and the other way round", "ada-mma-e5m2xe4m3-f32", [0x38, 0x04], [0x3C, 0x38], 0, 0x3F400400),
    ("mixed factors to f16", "ada-mma-e5m2xe4m3-f16", [0x38], [0x3C], 0x3C00, 0x3F00),
    ("integers", "int8-i32", [0x80], [0x80], 0xFFFFFFFF, 0x3FFF),
]


@pytest.mark.parametrize(
    ("name", "a", "b", "c", "want"), [claim[1:] for claim in CLAIMS], ids=[claim[0] for claim in CLAIMS]
)
def test_by_hand(name: str, a: list[int], b: list[int], c: int | None, want: int) -> None:
    assert f"{code(name, a, b, c):#x}" == f"{want:#x}"


def rule(name: str) -> dict[str, Any]:
    """What a preset does, but for its words and for the formats of its factors."""
    dumped = load_unit(name).model_dump(exclude={*WORDS})
    del dumped["operands"]["a"], dumped["operands"]["b"]
    return dumped


MIXED = [name for name in presets() if re.search(r"-e\dm\d\w*xe\dm\d", name) and not name.startswith(("hfp8-", "mx-"))]


def test_mixed_factors_follow_the_rule_of_equal_ones() -> None:
    assert len(MIXED) == 129
    for name in MIXED:
        before, a, b, after = re.split("-(e[^x]*)x(e[^-]*)-", name)
        assert (load_unit(name).operands.a.name, load_unit(name).operands.b.name) == (a, b)
        assert rule(name) == rule(f"{before}-{a}-{after}") == rule(f"{before}-{b}-{after}")


def test_readings_of_amx_differ_in_subnormal_factors_alone() -> None:
    kept = [name for name in presets() if name.endswith("-subnormals")]
    assert len(kept) == 4
    for name in kept:
        one, other = load_unit(name), load_unit(name.removesuffix("-subnormals"))
        assert (one.operands.daz, other.operands.daz) == (False, True)
        flushing = one.operands.model_copy(update={"daz": True})
        assert flushing == other.operands
        assert rule(name) | {"operands": {}} == rule(other.name) | {"operands": {}}


@pytest.mark.parametrize("n", [4, 8, 16])
def test_rvbna_takes_at_most_n_products_and_no_addend(n: int) -> None:
    name, one = f"rvbna-e4m3-f32-n{n}", [[0x38] * n]
    assert hwsim.model.dot(name, one, one).tolist() == [float(n)]
    assert load_unit(name).sum.fraction_bits == 23 + int(np.ceil(np.log2(n)))
    longer: Any = [[0x38] * (n + 1)]
    with pytest.raises(ValueError, match=rf"K, .* at most instruction\.k \({n}\)"):
        hwsim.model.dot(name, longer, longer)
    with pytest.raises(ValueError, match=r"^c must be None, because .* has operands.addend none"):
        hwsim.model.dot(name, one, one, [0])


def test_hfp8_rounds_ties_away_in_chunks_of_64() -> None:
    # 1-6-9 has 10 bits: at 1024 the ulp is 2, so that 1024 + 1 is a tie, and goes up: 1026, and then 1028.
    fmt, wide = hwsim.get_format("hfp8-e4m3"), hwsim.get_format("dlfloat16")
    a = fmt.encode([16.0] * 4 + [1.0] * 60 + [1.0] * 2)
    b = fmt.encode([16.0] * 4 + [1.0] * 60 + [1.0] * 2)
    name = "hfp8-forward-e4m3-dlfloat16"
    assert wide.decode(hwsim.model.dot(name, a[None, :6], b[None, :6])).tolist() == [1028.0]
    # The ones of the second chunk are summed among themselves: 1024 + 2 x 60, and 2 more.
    assert wide.decode(hwsim.model.dot(name, a[None], b[None])).tolist() == [1146.0]
    assert wide.decode(hwsim.model.dot(name, a[None, :1], b[None, :1], wide.encode([0.25]))).tolist() == [256.5]


def test_mixed_elements_have_scales_of_their_own() -> None:
    # e2m1 code 7 is 6, e3m2 code 0x0c is 1; scales 2 and 4.
    a, b = [[7] * 32], [[0x0C] * 32]
    assert hwsim.model.dot("mx-e2m1xe3m2-f32", a, b, None, [[128]], [[129]]).tolist() == [6.0 * 32 * 8]
