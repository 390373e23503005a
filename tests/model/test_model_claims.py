"""What presets and odd units return on numbers that can be checked by hand; the witness says the same."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from built_presets import WORDS
from model.model_units import Case, expected, run

import hwsim
import hwsim.model
from hwsim.spec import load_unit, presets

Claim = tuple[str, str, list[int], list[int], int | None, int]
HOPPER, HOPPER5 = "hopper-wgmma-e4m3-f32", "hopper-wgmma-e5m2-f32"

CLAIMS: list[Claim] = [
    ("a zero product takes no part in max_exp", HOPPER, [0x00, 0x01], [0x7E, 0x01], 0, 0x36800000),
    ("only negative zeros give +0", HOPPER, [0x80], [0x38], 0x80000000, 0),
    ("exact cancellation gives +0", HOPPER, [0x38, 0xB8], [0x38, 0x38], 0, 0),
    ("the addend is one of the terms", HOPPER, [0x38], [0x38], 0x3F800000, 0x40000000),
    # 1 + 2^-18: the window at max_exp 0 ends at 2^-13.
    ("bits below the window are lost", HOPPER, [0x38, 0x01], [0x38, 0x01], 0, 0x3F800000),
    ("a negative term below the window is truncated, not floored", HOPPER, [0x38, 0x81], [0x38, 0x01], 0, 0x3F800000),
    # 2^-6 x 1 and 2^-9 x 1 are aligned from emin = -6: nothing is normalised.
    ("subnormals keep emin", HOPPER, [0x08, 0x01], [0x38, 0x38], 0, 0x3C900000),
    ("an addend far above hides the products", HOPPER, [0x7E], [0x7E], 0x7F000000, 0x7F000000),
    ("an addend below the largest passes cut", HOPPER, [0x00], [0x00], 0x3F800001, 0x3F800000),
    ("NaN wins", HOPPER, [0x7F, 0x38], [0x00, 0x38], 0, 0x7FFFFFFF),
    ("a NaN addend gives the canonical NaN", HOPPER, [0x38], [0x38], 0xFF800001, 0x7FFFFFFF),
    ("infinity times zero is NaN", HOPPER5, [0x7C], [0x00], 0, 0x7FFFFFFF),
    ("infinities of both signs are NaN", HOPPER5, [0x7C, 0xFC], [0x3C, 0x3C], 0, 0x7FFFFFFF),
    ("an infinity against the addend's is NaN", HOPPER5, [0x7C], [0x3C], 0xFF800000, 0x7FFFFFFF),
    ("an infinity wins over finite terms", HOPPER5, [0xFC, 0x7B], [0x3C, 0x7B], 0x7F7FFFFF, 0xFF800000),
    ("the result of one group is the next one's addend", "ada-mma-e4m3-f32", [0x38] * 17, [0x38] * 17, 0, 0x41880000),
    ("the register starts at c, the partial at +0", "deepseek-v3-e4m3-f32", [0x00], [0x00], 0x3F800001, 0x3F800001),
    ("-0 in the register and +0 make +0", "deepseek-v3-e4m3-f32", [0x80], [0x38], 0x80000000, 0),
]

# The same of the settings that few units have; most of these units keep few bits. Codes of e4m3: 0x70 is 2^7.
MORE_CLAIMS: list[Claim] = [
    # 2^-9 is subnormal in e4m3 and normal in f16: max_exp is -9, not emin, and 2^-13 is inside the window of 4 bits.
    ("a converted subnormal has its own exponent", "converted", [0x01, 0x01], [0x38, 0x18], 0, 0x3B080000),
    ("a subnormal factor counts as zero", "daz", [0x03], [0x7E], 0, 0),
    ("infinity times such a factor is NaN", "daz", [0x7C], [0x01], 0, 0x7FFFFFFF),
    ("what is normal once it is converted counts", "daz-converted", [0x01], [0x3C], 0, 0x3B000000),
    ("what is still subnormal once it is converted does not", "daz-converted", [0x38], [0x01], 0, 0),
    # Products 128, 0, -128, 0, 1. The first group holds 128 and 1, which is below its window; the second one -128.
    ("groups take what `order` lists", "emulated", [0x70, 0, 0xF0, 0, 0x38], [0x3C] * 5, 0x3C00, 0x3C00),
    # 1 is below a window that holds 128. An addend that is added late is not in the window.
    ("an addend comes after the last group", "emulated", [0x70], [0x3C], 0x3C00, 0x5808),
    ("the next instruction takes the result late", "emulated", [0x70] + [0] * 7 + [0x38], [0x3C] * 9, 0, 0x5808),
    ("late zeros have signs by IEEE 754", "emulated", [0x80], [0x3C], 0x8000, 0),
    # 0 x 448 has exponent -14 + 8, and 2^-14 is below 2^(-6 - 4).
    ("a zero product counts, its zero factor with emin", "zeros-count", [0x00, 0x04], [0x7E, 0x38], 0, 0),
    # The addend's emin is -14; 2^-22, at exponent -20, is below 2^(-14 - 4).
    ("a zero addend counts with emin", "zeros-count", [0x01], [0x08], 0, 0),
    ("zeros alone make zero", "zeros-count", [0x00], [0x00], 0, 0),
    # At max_exp 3 the window's last bit is 2^-6: half of it goes up, less is lost.
    ("max_exp is at least the floor", "floored", [0x04], [0x38], 0, 0x3C800000),
    ("and what is below its window is lost", "floored", [0x02], [0x38], 0, 0),
    ("negative zeros make -0", "ieee-zero", [0x8, 0x8], [0x2, 0x2], 0x8000, 0x8000),
    ("with a positive one, +0", "ieee-zero", [0x8, 0x8], [0x2, 0x2], 0x0000, 0x0000),
    ("a lane that only fills the group is positive", "ieee-zero", [0x8], [0x2], 0x8000, 0x0000),
    ("cancellation makes +0", "ieee-zero", [0x2, 0xA], [0x2, 0x2], 0x8000, 0x0000),
    ("and -0 rounding down", "ieee-zero-rd", [0x2, 0xA], [0x2, 0x2], 0x0000, 0x8000),
    ("positive zeros make +0 rounding down too", "ieee-zero-rd", [0x0], [0x2], 0x0000, 0x0000),
    ("the +0 that an instruction starts from counts", "bare-from-zero", [0x80] * 9, [0x38] * 9, 0, 0x0000),
    ("a subnormal result is flushed", "flush-signed", [0x81], [0x3C], 0, 0x8000),
    ("to +0 where tiny results are positive", "flush-positive", [0x81], [0x3C], 0, 0x0000),
    # 2^-14 - 2^-26 is below the least normal number, and rounds to it.
    ("what rounds to a normal number is not flushed", "flush-signed", [0x04, 0x81], [0x3C, 0x14], 0, 0x0400),
    ("any NaN is the canonical one", "nan-any", [0x7D], [0x38], 0, 0x7FFF),
]

# Codes: e5m2 0x3c is 1, 0x04 2^-14, 0x10 2^-11; e4m3 0x38 is 1; e4m3fnuz 0x40 is 1; bf16 0x5f80 is 2^64, 0x7f00 2^127;
# f16 0x3c00 is 1, 0x0001 2^-24; f32 0xb3000000 is -2^-25, 0xb2800000 -2^-26.
OF_PRESETS: list[Claim] = [
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

EVERY_CLAIM = [*CLAIMS, *MORE_CLAIMS, *OF_PRESETS]


@pytest.mark.quick(cases=60)
@pytest.mark.parametrize(
    ("name", "a", "b", "c", "code"), [claim[1:] for claim in EVERY_CLAIM], ids=[claim[0] for claim in EVERY_CLAIM]
)
def test_by_hand(name: str, a: list[int], b: list[int], c: int | None, code: int) -> None:
    case = Case(a, b, c or 0, [], [])
    assert [f"{got:#x}" for got in run(name, [case])] == [f"{code:#x}"]
    assert expected(name, [case]) == [code]


def rule(name: str) -> dict[str, Any]:
    """What a preset does, but for its words and for the formats of its factors."""
    dumped = load_unit(name).model_dump(exclude={*WORDS})
    del dumped["operands"]["a"], dumped["operands"]["b"]
    return dumped


MIXED = [name for name in presets() if re.search(r"-e\dm\d\w*xe\dm\d", name) and not name.startswith(("hfp8-", "mx-"))]


def test_mixed_factors_follow_the_rule_of_equal_ones() -> None:
    assert len(MIXED) == 149
    for name in MIXED:
        before, a, b, after = re.split("-(e[^x]*)x(e[^-]*)-", name)
        factors = load_unit(name).operands.a, load_unit(name).operands.b
        assert tuple(fmt.name.removesuffix("-all-finite") for fmt in factors) == (a, b)
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
