"""Launches on a GPU: that tensors reach the kernel as they are, by the host's build; and, on a GPU, its results."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
import torch
from cuda.test_host import as_codes, by_gemm, in_blocks, unit_of
from kernels.kernel_cases import Product
from kernels.window_cases import operands

import hwsim
from hwsim.base.errors import InputTypeError
from hwsim.compute.cuda import device, host, variants
from hwsim.compute.cuda.settings import Variant, shape_of, tables_of
from hwsim.spec import Unit


class HostKernel:
    """A launch of the host's build, on tensors of the host, with a GPU kernel's arguments."""

    def __init__(self, unit: Unit, variant: Variant, _device: Any) -> None:
        self.library, self.shape = host._library(unit, variant), shape_of(unit, variant)
        self.tables = [torch.from_numpy(table.view("int32").copy()) for table in tables_of(unit)]

    def launch(self, arguments: list[Any], m: int, n: int) -> None:
        codes, tables, out = arguments[:5], arguments[5:10], arguments[10]
        has_c, *sizes = arguments[11:16]
        assert sizes[:2] == [m, n]
        at = [tensor.data_ptr() for tensor in codes]
        if not has_c:
            at[2] = None
        self.library.run(
            (ctypes.c_void_p * 5)(*at), (ctypes.c_void_p * 5)(*(table.data_ptr() for table in tables)),
            ctypes.c_void_p(out.data_ptr()), (ctypes.c_int * 4)(*sizes), (ctypes.c_int * 10)(*arguments[16:]),
            0, -(-m // self.shape.side),
        )  # fmt: skip


def tensors(given: Product, to: str = "cpu") -> list[torch.Tensor | None]:
    return [None if codes is None else torch.from_numpy(np.ascontiguousarray(codes)).to(to) for codes in given]


@pytest.mark.parametrize(
    "name", ["deepseek-v3-e4m3-f32-scaled", "mxfp8-e4m3-f32", "ada-mma-e4m3-f16", "rvbna-e4m3-f32-n16"]
)
def test_tensors_reach_the_kernel_as_they_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "kernel_on", HostKernel)
    monkeypatch.setattr(device, "_on_gpu", lambda _: True)
    unit = unit_of(name)
    for _, drawn in operands(unit, 6, n=5, most=5):
        given = in_blocks(unit, drawn)
        a, b, *rest = tensors(given)
        assert a is not None and b is not None
        got = device.gemm_on_gpu(unit, a, b.T.contiguous().T, *rest)
        want = by_gemm(unit, given, compiled=True)
        np.testing.assert_array_equal(as_codes(got.numpy()), want)
        assert got.numpy().dtype == hwsim.gemm(unit, *given).dtype


def test_floats_of_the_formats_dtype_are_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "kernel_on", HostKernel)
    monkeypatch.setattr(device, "_on_gpu", lambda _: True)
    a, b = (torch.randn(70, 40).to(torch.float8_e4m3fn), torch.randn(40, 66).to(torch.float8_e4m3fn))
    got = device.gemm_on_gpu("hopper-wgmma-e4m3-f32", a, b)
    want = hwsim.gemm("hopper-wgmma-e4m3-f32", a.view(torch.uint8).numpy(), b.view(torch.uint8).numpy())
    np.testing.assert_array_equal(got.numpy().view(np.uint32), want.view(np.uint32))


def test_a_tensor_of_the_host_is_refused() -> None:
    a = torch.zeros(4, 4, dtype=torch.uint8)
    with pytest.raises(InputTypeError, match="A must be a tensor on a GPU"):
        device.gemm_on_gpu("hopper-wgmma-e4m3-f32", a, a)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU that PyTorch can use")
@pytest.mark.parametrize(
    "name",
    ["hopper-wgmma-e4m3-f32", "deepseek-v3-e4m3-f32", "deepseek-v3-e4m3-f32-scaled", "mxfp8-e4m3-f32",
     "ada-mma-e4m3-f16", "blackwell-mxf4nvf4-e2m1-f32", "cdna3-mfma-e4m3fnuz-f32", "rvbna-e4m3-f32-n16", "ceil-late"],
)  # fmt: skip
def test_a_gpu_returns_what_gemm_returns(name: str) -> None:
    unit = unit_of(name)
    for _, drawn in operands(unit, 7, n=70, most=9):
        given = in_blocks(unit, drawn)
        for variant in variants(unit):
            got = device.gemm_on_gpu(unit, *tensors(given, "cuda"), variant=variant).cpu().numpy()
            np.testing.assert_array_equal(as_codes(got), by_gemm(unit, given, compiled=True))
