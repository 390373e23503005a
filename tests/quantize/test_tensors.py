"""Tensors of PyTorch are taken wherever arrays are: the same codes and results, and words where that cannot be."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import hwsim
from hwsim.formats import get_format
from hwsim.quantize import quantize


class _Torch:
    """PyTorch, imported when it is asked for something: to collect tests should not take seconds."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("torch"), name)


torch = _Torch()

FP8 = {
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "float8_e4m3fnuz": "e4m3fnuz",
    "float8_e5m2fnuz": "e5m2fnuz",
    "float8_e8m0fnu": "e8m0",
}


def every() -> Any:
    """All codes of a byte."""
    return torch.arange(256, dtype=torch.uint8)


@pytest.mark.parametrize("dtype", FP8)
def test_every_code_of_an_fp8_tensor_is_itself(dtype: str) -> None:
    fmt, tensor = get_format(FP8[dtype]), every().view(getattr(torch, dtype))
    values = fmt.decode(tensor)
    np.testing.assert_array_equal(
        values, np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, dtype)).astype(np.float64)
    )
    np.testing.assert_array_equal(values, fmt.decode(np.arange(256, dtype=np.uint8)))
    finite = np.isfinite(values)
    np.testing.assert_array_equal(fmt.decode(fmt.encode(tensor))[finite], values[finite])


def test_every_bfloat16_tensor_is_its_bits() -> None:
    words = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16)
    values = get_format("bf16").decode(words.view(torch.bfloat16))
    np.testing.assert_array_equal(values, words.numpy().view(ml_dtypes.bfloat16).astype(np.float64))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_quantising_a_tensor_is_quantising_its_numbers(dtype: str) -> None:
    drawn = np.random.default_rng(1).normal(size=(32, 64)).astype(np.float32)
    tensor = torch.tensor(drawn).to(getattr(torch, dtype))
    for given in (tensor, tensor.requires_grad_(), torch.nn.Parameter(tensor), tensor.T.T, tensor[:, :64:1]):
        found, wanted = quantize(given, "mxfp8-e4m3"), quantize(tensor.detach().double().numpy(), "mxfp8-e4m3")
        np.testing.assert_array_equal(found.codes, wanted.codes)
        np.testing.assert_array_equal(found.scales, wanted.scales)


def test_a_matrix_product_takes_tensors_of_codes_and_of_fp8() -> None:
    unit = "hopper-wgmma-e4m3-f32"
    draw = np.random.default_rng(2)
    a, b = draw.integers(0, 0x7F, (4, 64), np.uint8), draw.integers(0, 0x7F, (64, 8), np.uint8)
    wanted = hwsim.gemm(unit, a, b)
    for dtype in (torch.uint8, torch.float8_e4m3fn):
        given = [torch.tensor(one).view(dtype) for one in (a, b)]
        np.testing.assert_array_equal(hwsim.gemm(unit, *given), wanted)
    # A transposed tensor is not contiguous.
    turned = torch.tensor(np.ascontiguousarray(b.T)).view(torch.float8_e4m3fn).T
    np.testing.assert_array_equal(hwsim.gemm(unit, a, turned), wanted)
    added = torch.ones(4, 8, requires_grad=True)
    np.testing.assert_array_equal(hwsim.gemm(unit, a, b, added), hwsim.gemm(unit, a, b, np.ones((4, 8), np.float32)))


def test_a_negation_that_is_still_to_be_done_is_done() -> None:
    x, w = (torch.randn(4, 32, generator=torch.Generator().manual_seed(seed)).to(torch.bfloat16) for seed in (1, 2))
    unit = "hopper-mma-bf16-f32"
    np.testing.assert_array_equal(hwsim.gemm(unit, torch._neg_view(x), w.T), -hwsim.gemm(unit, x, w.T))
    for other in (x.to("meta"), x.to_sparse()):
        with pytest.raises(TypeError, match="A is a tensor of bfloat16 that has no elements for NumPy"):
            hwsim.gemm(unit, other, w.T)


def test_an_error_of_a_product_takes_what_a_model_has() -> None:
    draw = torch.Generator().manual_seed(3)
    layer = torch.nn.Linear(64, 8, bias=False, dtype=torch.bfloat16)
    x = torch.randn(4, 64, generator=draw).to(torch.bfloat16)
    found = hwsim.error("hopper-wgmma-e4m3-f32", x, layer.weight.T)
    wanted = hwsim.error("hopper-wgmma-e4m3-f32", x.float().numpy(), layer.weight.detach().float().numpy().T)
    assert str(found) == str(wanted)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda: torch.ones(2, 2, device="meta"), "x is a tensor of float32 that has no elements for NumPy"),
        (lambda: torch.ones(2, 2).to_sparse(), "x is a tensor of float32 that has no elements for NumPy"),
        (lambda: torch.ones(2, 2, dtype=torch.complex64), "not complex64"),
        (lambda: torch.ones(2, 2, dtype=torch.bool), "not bool"),
    ],
)
def test_a_tensor_that_has_no_numbers_is_refused_in_words(given: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        quantize(given(), "mxfp8-e4m3")


def test_a_tensor_of_another_format_is_no_codes() -> None:
    with pytest.raises(TypeError, match="must be integer e4m3 codes or a float8_e4m3fn array, not float8_e5m2"):
        get_format("e4m3").decode(every().view(torch.float8_e5m2))
    with pytest.raises(TypeError, match="not bfloat16"):
        hwsim.gemm("hopper-wgmma-e4m3-f32", torch.ones(2, 32, dtype=torch.bfloat16), np.zeros((32, 2), np.uint8))


def test_hwsim_does_not_import_pytorch() -> None:
    code = (
        "import sys, numpy, hwsim; "
        "hwsim.gemm('hopper-wgmma-e4m3-f32', numpy.zeros((1, 32), 'u1'), numpy.zeros((32, 1), 'u1'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print('torch' in sys.modules)"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
