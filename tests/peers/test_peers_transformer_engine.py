"""Transformer Engine's own PyTorch functions beside hwsim's: NVFP4, the factors of delayed and of current scaling.

What its CUDA kernels compute has no witness that runs on a CPU: the fused kernel of delayed scaling, and codes. Its
package imports a library that needs a GPU: here the two files that compute scales and codes in PyTorch alone are
imported by themselves, and everything else of the package is a stand-in that computes nothing.
"""

from __future__ import annotations

import sys
from collections import deque
from functools import cache
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from built_presets import others_slow
from peers.peers_rows import blocks, next_to_ties, version_of, whole_range

import hwsim
from hwsim.quantize import DelayedScaling, unpack_codes

ROOT = "transformer_engine"
# Packages whose files are found, and are not run; the other modules that the two files import.
PACKAGES = ("", ".pytorch", ".pytorch.custom_recipes", ".common")
STANDINS = (".pytorch.constants", ".pytorch.utils", ".pytorch.custom_recipes.gemm", ".common.recipe")


@cache
def transformer_engine(name: str) -> Any:
    """A module of the package `transformer_engine.pytorch`, such as `quantization`, as it is installed."""
    base = Path(str(distribution("transformer_engine").locate_file(ROOT)))
    modules: dict[str, Any] = {f"{ROOT}_torch": MagicMock()}
    for each in PACKAGES:
        package = ModuleType(ROOT + each)
        package.__path__ = [str(base.joinpath(*each.split(".")[1:]))]
        modules[ROOT + each] = package
    modules |= {ROOT + each: MagicMock() for each in STANDINS}
    modules[f"{ROOT}.pytorch.jit"] = _module("jit", jit_fuser=lambda function: function)
    classes = {each: type(each, (), {}) for each in ("QuantizedTensorStorage", "Quantizer")}
    modules[f"{ROOT}.pytorch.quantized_tensor"] = _module("quantized_tensor", **classes)
    sys.modules.update(modules)
    try:
        return import_module(f"{ROOT}.pytorch.{name}")
    finally:
        # Only these: what they import themselves, PyTorch among it, others have too.
        for each in [each for each in sys.modules if each.startswith(ROOT)]:
            del sys.modules[each]


def _module(name: str, **names: Any) -> ModuleType:
    module = ModuleType(f"{ROOT}.pytorch.{name}")
    vars(module).update(names)
    return module


SEED = 7


@pytest.fixture(autouse=True, scope="module")
def installed() -> None:
    version_of("transformer_engine")
    version_of("torch")


def tensors() -> list[Any]:
    """float32 matrices: of like magnitudes, with blocks of zeros, next to ties, tiny and large as a whole."""
    rng = np.random.default_rng(SEED)
    sparse = np.where(rng.random((64, 128)) < 0.02, rng.standard_normal((64, 128)), 0).astype(np.float32)
    tiny, huge = (rng.standard_normal((32, 64)) * 2.0**exp for exp in (-130, 100))
    return [
        blocks(512, 16, SEED, -10, 30).reshape(64, 128),
        next_to_ties(1024, SEED, two_levels=True).reshape(128, 128),
        sparse,
        tiny.astype(np.float32),
        huge.astype(np.float32),
    ]


@pytest.mark.parametrize("rows", [1, 16])
def test_nvfp4_is_that_of_the_reference(rows: int) -> None:
    """Of numbers without -0, for which the reference has the code of +0, and PTX's conversion, in kernels, has not."""
    import torch

    reference = transformer_engine("custom_recipes.reference_nvfp4").NVFP4QuantizerRef
    compared = 0
    for x in tensors():
        given = torch.from_numpy(x)
        codes, scales = reference._quantize_blockwise_reference(
            given, given.abs().max(), 16, rows, pow_2_scales=False, eps=0.0
        )
        ours = hwsim.quantize(x, "nvfp4-transformer-engine", block=(rows, 16))
        np.testing.assert_array_equal(ours.scales, scales.view(torch.uint8).numpy()[::rows])
        np.testing.assert_array_equal(ours.codes, unpack_codes(codes.numpy(), "e2m1"))
        compared += x.size
    assert compared > 30_000


@pytest.mark.parametrize("rows", [1, 16])
def test_nvfp4_is_that_of_the_reference_at_every_amax(rows: int) -> None:
    import torch

    reference = transformer_engine("custom_recipes.reference_nvfp4").NVFP4QuantizerRef
    for name, x in whole_range().items():
        if not np.isfinite(x).all():
            continue
        wide = np.tile(x, (4, 1))
        given = torch.from_numpy(wide)
        codes, scales = reference._quantize_blockwise_reference(
            given, given.abs().max(), 16, rows, pow_2_scales=False, eps=0.0
        )
        ours = hwsim.quantize(wide, "nvfp4-transformer-engine", block=(rows, 16))
        np.testing.assert_array_equal(ours.scales, scales.view(torch.uint8).numpy()[::rows], name)
        # Its reference has -0 for some of the numbers that are rounded to zero: signs of zeros are not compared.
        got, theirs = (np.where(found == 8, 0, found) for found in (ours.codes, unpack_codes(codes.numpy(), "e2m1")))
        np.testing.assert_array_equal(got, theirs, name)


@pytest.mark.parametrize("algorithm", others_slow(["max", "most_recent"], ["max"]))
@pytest.mark.parametrize(("fmt", "margin", "length"), [("e4m3", 0, 4), ("e5m2", 2, 1), ("e4m3", -1, 16)])
def test_unfused_delayed_scaling_is_theirs(algorithm: str, fmt: str, margin: int, length: int) -> None:
    import torch

    rng = np.random.default_rng([SEED, length])
    update = transformer_engine("quantization")._amax_and_scale_update
    recipe = SimpleNamespace(amax_compute_algo=algorithm, scaling_factor_compute_algo=None, margin=margin)
    own = DelayedScaling(
        format=hwsim.get_format(fmt), margin=margin, length=length, algorithm=algorithm, kernel="unfused"
    )
    history, scale = torch.zeros(length, 1), torch.ones(1)
    seen: deque[float] = deque(maxlen=2)
    for _ in range(1500):
        special = float(rng.choice([0.0, np.inf, np.nan, 3e38, 1e-45]))
        amax = float(np.float32(special if rng.random() < 0.1 else np.exp2(rng.uniform(-140, 127))))
        history[0] = torch.maximum(history[0], torch.tensor([amax]))
        update(history, scale, own.format.largest, recipe)
        own = own.update(amax)
        assert np.float32(own.factor).tobytes() == scale.numpy().tobytes(), (amax, own)
        np.testing.assert_array_equal(np.float32(own.history), history[:, 0].numpy())
        seen.append(own.factor)


def test_factors_of_current_scaling_are_theirs() -> None:
    import torch

    theirs = transformer_engine("custom_recipes.reference_current_scaling")._scale_from_amax_tensor
    for x in (*tensors(), *(one for one in whole_range().values() if np.isfinite(one).all())):
        amax = torch.from_numpy(x).abs().max()
        scale, _, _ = theirs(torch.float32, amax, torch.float8_e4m3fn, eps=0.0, pow_2_scales=False)
        codes = (torch.from_numpy(x) * scale).to(torch.float8_e4m3fn).view(torch.uint8).numpy()
        np.testing.assert_array_equal(hwsim.quantize(x, "tensor-e4m3", apply="multiply").codes, codes)


def test_a_defect_of_its_powers_of_two() -> None:
    """A logarithm in binary32: next above a power of two, its ceiling is that power, and the block overflows."""
    import torch

    x = np.float32([6 * 2**10 * (1 + 2.0**-22)] + [0] * 31)
    (theirs,) = transformer_engine("custom_recipes.reference_nvfp4").cast_to_e8(torch.tensor([x[0] / np.float32(6)]))
    assert theirs == 2**10
    assert hwsim.quantize(x, "mxfp4-e2m1", select="rceil").scales.tolist() == [127 + 11]
