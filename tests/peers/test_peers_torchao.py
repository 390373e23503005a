"""torchao as a program, on the CPU: the same codes and scales, but for its defects, which are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from peers.peers_rows import version_of
from peers.peers_torchao import (
    ELEMENTS,
    SELECTS,
    SHAPES,
    mx_blocks,
    nvfp4_blocks,
    scale_codes,
    special_blocks,
    torchaos,
)

import hwsim
from hwsim.quantize import pack_codes, swizzle_scales, unpack_codes

LEAST_SCALE = 0x00  # E8M0's 2^-127, a subnormal number of binary32


@pytest.fixture(scope="module")
def version() -> tuple[int, ...]:
    return version_of("torchao")


def as_stored(name: str, codes: Any) -> Any:
    return unpack_codes(codes, "e2m1") if name == "mxfp4-e2m1" else codes


def rounded_logarithm_is_low(name: str, x: Any) -> Any:
    """Where torchao's ceil(log2(amax / largest)), of a logarithm in binary32, is one too small."""
    torch = pytest.importorskip("torch")
    largest = np.float32(hwsim.get_format(name.split("-")[1]).largest)
    quotient = np.abs(x).max(axis=1, keepdims=True) / largest
    sig, exp = np.frexp(quotient)
    exact = exp - (sig == 0.5)
    return np.clip(torch.ceil(torch.log2(torch.from_numpy(quotient))).numpy(), -127, 127) < np.clip(exact, -127, 127)


@pytest.mark.parametrize("select", SELECTS)
@pytest.mark.parametrize("name", ELEMENTS)
def test_mx_blocks(version: tuple[int, ...], name: str, select: str) -> None:
    x = mx_blocks()
    scales, codes = torchaos(version)["mx", name, select]
    got = hwsim.quantize(x, name, select=select)
    low = rounded_logarithm_is_low(name, x) if select == "rceil" else np.zeros(scales.shape, bool)
    assert np.array_equal(scales.astype(int), got.scales.astype(int) - low)
    same = ~low & (got.scales != LEAST_SCALE)
    assert same.sum() > 2000
    each = np.repeat(same, 32, axis=1)
    assert np.array_equal(as_stored(name, codes)[each], got.codes[each])


def test_its_rceil_takes_a_logarithm_in_binary32(version: tuple[int, ...]) -> None:
    # 7168.0005 / 448 is above 16, and its logarithm is rounded to 4: 131, and the right scale is 132.
    x = mx_blocks()
    low = rounded_logarithm_is_low("mxfp8-e4m3", x)
    assert low.any()
    assert hwsim.quantize(np.float32([7168.0005]), "mxfp8-e4m3", select="rceil").scales.tolist() == [132]
    assert rounded_logarithm_is_low("mxfp8-e4m3", np.float32([[7168.0005]])).all()


@pytest.mark.parametrize("select", SELECTS)
def test_under_the_least_scale_it_divides_by_another(version: tuple[int, ...], select: str) -> None:
    # By 2^-126 in place of 2^-127, which gives half the numbers; under rceil it multiplies by 1, which gives zeros.
    x = mx_blocks()
    scales, codes = torchaos(version)["mx", "mxfp8-e4m3", select]
    got = hwsim.quantize(x, "mxfp8-e4m3", select=select)
    least = np.flatnonzero((scales == LEAST_SCALE) & (got.scales == LEAST_SCALE))
    assert len(least) > 10
    scale = 1.0 if select == "rceil" else 2.0**-126
    wrong = hwsim.quantize(x[least], "channel-e4m3", apply="exact", scale=np.full((len(least), 1), scale))
    assert np.array_equal(codes[least], wrong.codes) and (codes[least] != got.codes[least]).any()


@pytest.mark.parametrize("select", SELECTS)
@pytest.mark.parametrize("name", ELEMENTS)
def test_infinities_nans_and_zeros(version: tuple[int, ...], name: str, select: str) -> None:
    scales, codes = torchaos(version)["special", name, select]
    got = hwsim.quantize(special_blocks(), name, select=select, infinity="amax")
    assert np.array_equal(scales, got.scales)
    stored = as_stored(name, codes)
    assert np.array_equal(stored[[0, 1, 3]], got.codes[[0, 1, 3]])


@pytest.mark.parametrize(
    ("kind", "rule", "given"),
    [
        ("nvfp4", "nvfp4", {}),
        ("nvfp4-block", "nvfp4-block", {}),
        ("nvfp4-fixed", "nvfp4", {"second_scale": np.float32(0.0123)}),
    ],
)
def test_nvfp4_by_its_version(version: tuple[int, ...], kind: str, rule: str, given: dict[str, Any]) -> None:
    x, (scales, codes, *tensor_scale) = nvfp4_blocks(two_levels=rule == "nvfp4"), torchaos(version)[kind]
    ours, others = ("-0.17", "") if version >= (0, 17) else ("", "-0.17")
    got = hwsim.quantize(x, f"{rule}-torchao{ours}", **given)
    assert np.array_equal(got.scales, scales) and np.array_equal(pack_codes(got.codes, "e2m1"), codes)
    assert tensor_scale in ([], [got.tensor_scale])
    other = hwsim.quantize(x, f"{rule}-torchao{others}", **given)
    # Given a scale, both versions do the same.
    assert (pack_codes(other.codes, "e2m1") != codes).any() != bool(given), "the other version would not be noticed"


@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
def test_float8_training_multiplies_by_a_factor(version: tuple[int, ...], name: str) -> None:
    # Its `_scale` is the factor; hwsim's scale is the reciprocal.
    x, (factor, codes) = mx_blocks()[:2000], torchaos(version)["channel", name]
    ordinary = np.abs(x).max(axis=1) > 1e-12  # of a smaller amax it takes 1e-12
    got = hwsim.quantize(x[ordinary], f"channel-{name}", apply="multiply")
    assert ordinary.sum() > 1000
    assert np.array_equal(got.scales, np.float32(1) / factor[ordinary]) and np.array_equal(got.codes, codes[ordinary])


@pytest.mark.parametrize("shape", SHAPES)
def test_scales_in_tiles(version: tuple[int, ...], shape: tuple[int, int]) -> None:
    assert np.array_equal(swizzle_scales(scale_codes(shape)), torchaos(version)["tiles", shape])


def test_codes_of_fp4_in_bytes(version: tuple[int, ...]) -> None:
    assert np.array_equal(pack_codes(scale_codes((40, 60)) & 15, "e2m1"), torchaos(version)["packed"])
