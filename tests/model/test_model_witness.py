"""hwsim.model.dot against the witness in exact rationals, bit for bit."""

from __future__ import annotations

import os
from itertools import product
from math import isfinite

import numpy as np
import pytest
from built_presets import others_slow
from model.model_units import ALWAYS, NAMES, Case, cases, expected, run
from model.model_witness import FORMS, Witness
from odd_units import unit
from representatives import with_every_shape
from unit_keys import odd, window

import hwsim
import hwsim.model
from hwsim.spec import Unit
from hwsim.spec.keys import ALIGNED_LOST

SEED = int(os.environ.get("HWSIM_SEED", "1"))
COUNT = 105  # every profile with every kind of addend, three times


def differences(name: str, given: list[Case]) -> list[str]:
    """What to print of the cases in which model and witness differ."""
    pairs = zip(given, run(name, given), expected(name, given), strict=True)
    return [f"{case} got {got:#x} expected {want:#x}" for case, got, want in pairs if got != want]


@pytest.mark.quick(cases=16)
@pytest.mark.parametrize("name", others_slow(NAMES, sorted(ALWAYS)[::7]))
def test_random_operands_give_the_witness_bits(name: str) -> None:
    wrong = differences(name, list(cases(name, COUNT, SEED)))
    assert not wrong, f"seed {SEED}: {len(wrong)} of {COUNT} differ, first: {wrong[0]}"


@pytest.mark.slow
def test_the_random_operands_reach_what_they_are_meant_to() -> None:
    # A suite of zeros and NaNs would agree with anything.
    for name in with_every_shape(NAMES):
        results = run(name, list(cases(name, 4 * COUNT, SEED)))  # a share of so many is not of chance
        numbers = unit(name).output.decode(np.array(results)).tolist()  # of long codes fractions
        assert len(set(results[:COUNT])) > COUNT // 5, name
        assert sum(map(isfinite, numbers)) > 0.3 * len(numbers), name


FP4 = {
    # Both lose bits: products of e2m1 span exponents 0 to 4 and have 4 significand bits, at most 2 fraction bits.
    "window": odd("e2m1", "none", window(2), "f16", 2),
    # 6 x 6 + 6 x 6 = 72 is far beyond 6, and 0.25 below the least number: rounding, saturation and -0.
    "result": odd("e2m1", "none", window(8), "e2m1", 2, overflow="saturate"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("which", "swapped"), [*product(FP4, [False, True])])
def test_every_pair_of_fp4_products(which: str, swapped: bool) -> None:
    # Products by their codes a and b, the first one's not above the second's, or below.
    second, first = np.tril_indices(256)
    if swapped:
        first, second = np.tril_indices(256, -1)
    a = np.stack([first & 15, second & 15], axis=1)
    b = np.stack([first >> 4, second >> 4], axis=1)
    got = hwsim.model.dot(Unit.model_validate(FP4[which]), a, b)
    bits = got.view(np.uint16) if got.dtype == np.float16 else got
    witness = Witness(FP4[which])
    want = [witness.dot(x, y, 0, (), ()) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    np.testing.assert_array_equal(bits, want)


@pytest.mark.quick(cases=9)
@pytest.mark.parametrize("lost", ALIGNED_LOST)
@pytest.mark.parametrize("rounding", ["rne", "rna", "rz", "ru", "rd", "rto"])
@pytest.mark.parametrize(("result", "overflow"), [("e5m2", "infinity"), ("e4m3", "nan"), ("e4m3", "saturate")])
def test_every_lost_rounding_and_overflow(lost: str, rounding: str, result: str, overflow: str) -> None:
    mapping = odd(("e5m2", "e4m3"), "f16", window(4, lost), result, 3, rounding=rounding, overflow=overflow)
    random = np.random.default_rng([SEED, len(lost), len(rounding)])
    # Operands about 1, so that products lie up to 8 places apart, and some about the largest, so that results overflow.
    a = random.integers(0x2C, 0x4C, (40, 3)) | random.integers(0, 2, (40, 3)) << 7
    b = random.integers(0x28, 0x48, (40, 3)) | random.integers(0, 2, (40, 3)) << 7
    a[30:], b[30:] = a[30:] + 0x14, b[30:] + 0x20
    c = random.integers(0x2C00, 0x4C00, 40) | random.integers(0, 2, 40) << 15
    got = hwsim.model.dot(Unit.model_validate(mapping), a, b, c)
    witness = Witness(mapping)
    want = [witness.dot(*row, (), ()) for row in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)]
    assert got.tolist() == want


# Directed: what section 2 says of zeros, signs, subnormals and specials, one claim a row. Codes of e4m3: 0x38 is 1,
# 0x01 is 2^-9, 0x7e 448, 0x7f NaN; of e5m2: 0x3c is 1, 0x7c infinity; c in f32.
HOPPER, HOPPER5 = "hopper-wgmma-e4m3-f32", "hopper-wgmma-e5m2-f32"


def test_scales_add_exponents_and_do_not_overflow_before_the_sum() -> None:
    # 2^127 x 2^-127 is 1, and 2^127 x 2^127 overflows binary32, whose largest exponent is 127.
    unit_codes = [[0x38] + [0] * 31]
    assert hwsim.model.dot("mxfp8-e4m3-f32", unit_codes, unit_codes, None, [[254]], [[0]]).tolist() == [1.0]
    assert hwsim.model.dot("mxfp8-e4m3-f32", unit_codes, unit_codes, None, [[254]], [[254]]).tolist() == [np.inf]
    # Code 0 is 2^-127, a binary32 subnormal, and not zero.
    got = hwsim.model.dot("mxfp8-e4m3-f32", unit_codes, unit_codes, None, [[0]], [[127]])
    assert got.view(np.uint32).tolist() == [0x00400000]
    # -2^-254 rounds to zero, towards zero, and keeps its sign; NVIDIA's units would drop it.
    negative = [[0xB8] + [0] * 31]
    got = hwsim.model.dot("mxfp8-e4m3-f32", negative, unit_codes, None, [[0]], [[0]])
    assert got.view(np.uint32).tolist() == [0x80000000]
    got = hwsim.model.dot("mxfp8-e4m3-f32", unit_codes, unit_codes, None, [[255]], [[127]])
    assert got.view(np.uint32).tolist() == [0x7FFFFFFF]


def test_mxint8_products_reach_four() -> None:
    # -2 x -2 is the one product that is 4 and not below.
    got = hwsim.model.dot("mxint8-f32", [[-128] * 32], [[-128] * 32], None, [[127]], [[127]])
    assert got.tolist() == [128.0]


def test_the_witness_has_every_format_of_the_presets() -> None:
    for name in NAMES:
        used = unit(name)
        for fmt in (used.operands.a, used.operands.b, used.result.format, used.output):
            assert FORMS[fmt.name].container == fmt.container_bits
