"""PyTorch's own products with the bits of a GPU's library, as a profile knows them, on tensors of any device.

>>> scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=True, profile="h200-cuda-13.0")

A product that was not captured raises NotCaptured; a plan of one's own goes to `hwsim.gemm`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, cast, get_args

import numpy as np
import torch
from torch import Tensor

from hwsim.base.errors import InputError
from hwsim.compute.gemm import gemm
from hwsim.formats import get_format
from hwsim.spec.profile import NotCaptured, Operation, ProfiledCall, ProfileLike, Scaling, load_profile

NAMES = {
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "e4m3",
    torch.float8_e5m2: "e5m2",
}


def mm(a: Tensor, b: Tensor, *, out_dtype: torch.dtype | None = None, profile: ProfileLike) -> Tensor:
    """`torch.mm`: (M, K) @ (K, N) of float16, bfloat16 or float32, which is multiplied as TF32."""
    call = _call("mm", a, b, out_dtype or a.dtype)
    return _multiplied(call, a, b, profile)


def addmm(
    c: Tensor,
    a: Tensor,
    b: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    out_dtype: torch.dtype | None = None,
    profile: ProfileLike,
) -> Tensor:
    """`torch.addmm`: beta * c + alpha * (a @ b). c: (M, N)."""
    call = _call("addmm", a, b, out_dtype or a.dtype)
    return _multiplied(call, a, b, profile, C=c, alpha=alpha, beta=beta)


def scaled_mm(
    a: Tensor,
    b: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
    *,
    profile: ProfileLike,
) -> Tensor:
    """`torch._scaled_mm`: a (M, K), b (K, N) of FP8.

    scale_a, scale_b: of the whole factors; or of rows and columns, (M, 1) and (1, N); or of blocks of 1 x 128 or
    128 x 128, (M or M / 128, K / 128) and (K / 128, N or N / 128).
    """
    if scale_result is not None:
        raise NotCaptured("no profile knows a scale of the result")
    scaling = _scaling(a.shape[0], b.shape[1], a.shape[1], tuple(scale_a.shape), tuple(scale_b.shape))
    added = "none" if bias is None else _name("bias", bias.dtype)
    call = _call("scaled_mm", a, b, out_dtype or a.dtype, scaling=scaling, fast=use_fast_accum, bias=added)
    return _multiplied(call, a, b, profile, scale_a=scale_a, scale_b=scale_b, bias=bias)


def _scaling(m: int, n: int, k: int, of_a: tuple[int, ...], of_b: tuple[int, ...]) -> Scaling:
    """The kind of scaling that scales of these shapes belong to. Raises NotCaptured for other shapes."""
    if math.prod(of_a) == math.prod(of_b) == 1:
        return "tensor"
    if (of_a, of_b) == ((m, 1), (1, n)):
        return "row"
    blocks = -(-k // BLOCK)
    kinds_a: dict[tuple[int, ...], str] = {(m, blocks): "1x128", (-(-m // BLOCK), blocks): "128x128"}
    kinds_b: dict[tuple[int, ...], str] = {(blocks, n): "1x128", (blocks, -(-n // BLOCK)): "128x128"}
    named = f"{kinds_a.get(of_a)},{kinds_b.get(of_b)}"
    for scaling in get_args(Scaling):
        if scaling == named:
            return cast(Scaling, scaling)
    raise NotCaptured(f"scales of shapes {of_a} and {of_b} are of no kind that was captured (hwsim docs plans)")


BLOCK = 128  # numbers that share a scale, along K


def _name(what: str, dtype: torch.dtype) -> str:
    if dtype not in NAMES:
        raise InputError(f"{what} must be of {', '.join(str(allowed) for allowed in NAMES)}, not {dtype}")
    return NAMES[dtype]


def _call(operation: Operation, a: Tensor, b: Tensor, output: torch.dtype, **more: Any) -> ProfiledCall:
    if a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[0]:
        raise InputError(f"a {tuple(a.shape)} and b {tuple(b.shape)} have no matrix product")
    factors = (_name(what, tensor.dtype) for what, tensor in (("a", a), ("b", b)))
    of_a, of_b = ("tf32" if name == "f32" else name for name in factors)
    return ProfiledCall(operation=operation, a=of_a, b=of_b, output=_name("the result", output), **more)


def _multiplied(call: ProfiledCall, a: Tensor, b: Tensor, profile: ProfileLike, **numbers: Any) -> Tensor:
    unit, plan, _ = load_profile(profile).known(call, a.shape[0], b.shape[1], a.shape[1])
    factors = [_tf32(tensor) if call.a == "tf32" else tensor.cpu() for tensor in (a, b)]
    present: dict[str, Any] = {
        name: value.cpu() if isinstance(value, Tensor) else value
        for name, value in numbers.items()
        if value is not None
    }
    result = np.ascontiguousarray(gemm(unit, *factors, plan=plan, **present))
    dtype = {name: torch_dtype for torch_dtype, name in NAMES.items()}[call.output]
    words = result.view(f"i{result.dtype.itemsize}") if result.dtype.itemsize > 1 else result.view(np.uint8)
    return torch.from_numpy(words).view(dtype).to(a.device)


def _tf32(tensor: Tensor) -> Any:
    """Codes of TF32 of numbers of float32. Raises ValueError for a number that TF32 does not hold."""
    numbers = tensor.detach().cpu().numpy()
    codes = get_format("tf32").encode(numbers)
    if (codes.view(np.float32) != numbers).any():
        raise NotCaptured("float32 must be TF32's, the low 13 bits zero: how a library rounds others was not captured")
    return codes


def same_rows(profile: ProfileLike, call: ProfiledCall, k: int, shapes: Iterable[tuple[int, int]]) -> None:
    """Assert batch invariance: products of these (M, N) give the same row of A and column of B the same element.

    Raises AssertionError, with the shapes that differ, where captures show another split or another unit; NotCaptured
    for a shape that was not captured.
    """
    known = load_profile(profile)
    products = {(m, n): known.known(call, m, n, k) for m, n in shapes}
    classes = {(product.unit, product.plan.split): shape for shape, product in products.items()}
    assert len(classes) <= 1, f"{call} of K {k} is not batch invariant on {known.name}: " + "; ".join(
        f"{m} x {n} is {_parts(products[m, n].parts)}" for m, n in classes.values()
    )


def _parts(parts: tuple[int, ...]) -> str:
    return "one sum" if parts[0] == 1 else f"{parts[0]} parts of K"
