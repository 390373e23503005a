"""PyTorch's products with the bits of a GPU's library: what was captured, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from silicon.library_products import Captured

import hwsim.torch as ht
from hwsim.spec.profile import NotCaptured, ProfiledCall
from hwsim.torch import library
from hwsim.torch.functional import layer_by
from hwsim.torch.operators import multiplied
from hwsim.torch.products import coded

H200 = "h200-cuda-13.0"
E4M3 = torch.float8_e4m3fn


def tensor(codes: Any, dtype: torch.dtype) -> torch.Tensor:
    words = np.ascontiguousarray(codes)
    return torch.from_numpy(words.view(f"i{words.itemsize}") if words.itemsize > 1 else words).view(dtype)


@pytest.fixture(scope="module")
def arrays(silicon: Path) -> Any:
    return {file: Captured(silicon / f"{file}.npz").arrays for file in ("h200_cublas", "h200_epilogues")}


@pytest.mark.parametrize("scaling", ["tensor", "row"])
@pytest.mark.parametrize("fast", [True, False])
def test_scaled_products(arrays: Any, scaling: str, fast: bool) -> None:
    of, base = arrays["h200_epilogues"], "epilogue-128x64x1024"
    a, b = tensor(of[f"{base}/a"], E4M3), tensor(of[f"{base}/b"], E4M3)
    scales = [tensor(of[f"{base}/{name}"], torch.float32) for name in ("ra", "rb")]
    if scaling == "tensor":
        scales = [*tensor(of[f"{base}/s"], torch.float32)]
    bias = tensor(of[f"{base}/bias16"], torch.bfloat16)
    for added, dtype, name in (
        (None, torch.float32, "float32"),
        (None, torch.float16, "float16"),
        (bias, torch.bfloat16, "b16-bfloat16"),
    ):
        found = library.scaled_mm(a, b.t(), *scales, added, None, dtype, fast, profile=H200)
        returned = of[f"{base}/{'fast' if fast else 'slow'}-{scaling}-{name}/d"]
        assert torch.equal(found.view(torch.uint8), tensor(returned, dtype).view(torch.uint8))


def test_products_with_scales_of_blocks(arrays: Any) -> None:
    of, base = arrays["h200_cublas"], "blocks1x128-steps-64x64x4096"
    a, b = tensor(of[f"{base}/a"], E4M3), tensor(of[f"{base}/b"], E4M3)
    scales = tensor(of[f"{base}/sa"], torch.float32), tensor(of[f"{base}/sb"], torch.float32).t()
    for dtype, name in ((torch.float32, "float32"), (torch.bfloat16, "bfloat16")):
        found = library.scaled_mm(a, b.t(), *scales, out_dtype=dtype, profile=H200)
        assert torch.equal(found.view(torch.uint8), tensor(of[f"{base}/{name}/d"], dtype).view(torch.uint8))


@pytest.mark.slow
def test_products_of_bfloat16_with_an_addend(arrays: Any) -> None:
    of, base = arrays["h200_epilogues"], "epilogue-64x128x8192"
    x, y = (tensor(of[f"{base}/{side}"], E4M3).to(torch.bfloat16) for side in "ab")
    c = tensor(of[f"{base}/c"], torch.float32)
    found = library.addmm(c, x, y.t(), beta=0.7, alpha=1.3, out_dtype=torch.float32, profile=H200)
    assert torch.equal(found.view(torch.int32), tensor(of[f"{base}/bf16-addmm-f32/d"], torch.int32))
    halves = library.mm(x.half(), y.half().t(), profile=H200)
    assert torch.equal(halves.view(torch.int16), tensor(of[f"{base}/f16-mm/d"], torch.int16))
    single = library.mm(x.float(), y.float().t(), profile=H200)
    assert torch.equal(single.view(torch.int32), tensor(of[f"{base}/tf32-mm/d"], torch.int32))


class OfGpu(torch.Tensor):
    """A tensor that says that it is on a GPU, until it is copied to the host."""

    is_cuda = True

    def cpu(self, *_: Any) -> torch.Tensor:  # type: ignore[override]
        return self.as_subclass(torch.Tensor)


def test_tensors_of_a_gpu_are_taken_to_the_host() -> None:
    ones, c = torch.ones(64, 8192, dtype=torch.bfloat16), torch.full((64, 128), 2.0)
    of_gpu = [tensor.as_subclass(OfGpu) for tensor in (c, ones, ones.repeat(2, 1).t())]
    assert (library.addmm(*of_gpu, out_dtype=torch.float32, profile=H200) == 8194).all()


def test_what_was_not_captured_is_not_known() -> None:
    a, one = torch.ones(64, 640).to(E4M3), torch.ones(())
    with pytest.raises(NotCaptured, match="does not know scaled_mm e4m3 to f32, scales tensor of 64 x 8 x 640"):
        library.scaled_mm(a, a[:8].t(), one, one, out_dtype=torch.float32, use_fast_accum=True, profile=H200)
    wide, third = a.float().to(torch.float8_e5m2), torch.full((64, 512), 1 / 3)
    with pytest.raises(NotCaptured, match="knows nothing of scaled_mm e5m2"):
        library.scaled_mm(wide, wide[:8].t(), one, one, out_dtype=torch.float32, profile=H200)
    with pytest.raises(NotCaptured, match="does not know scaled_mm e4m3 to f32, scales 1x128,1x128, promoted"):
        library.scaled_mm(a, a.t(), torch.ones(64, 5), torch.ones(5, 64), out_dtype=torch.float32, profile=H200)
    with pytest.raises(NotCaptured, match=r"scales of shapes \(64, 20\) and \(20, 64\) are of no kind"):
        library.scaled_mm(a, a.t(), torch.ones(64, 20), torch.ones(20, 64), out_dtype=torch.float32, profile=H200)
    with pytest.raises(NotCaptured, match="a scale of the result"):
        library.scaled_mm(a, a.t(), one, one, scale_result=one, profile=H200)
    with pytest.raises(NotCaptured, match=r"float32 must be TF32's"):
        library.mm(third, third.t(), profile=H200)
    with pytest.raises(ValueError, match="have no matrix product"):
        library.mm(torch.ones(3, 4), torch.ones(3, 4), profile=H200)


def test_batch_invariance_is_asserted() -> None:
    fast = ProfiledCall(operation="scaled_mm", a="e4m3", b="e4m3", output="f32", scaling="tensor", fast=True)
    library.same_rows("h100-cuda-13.0", fast, 4096, [(16, 4096), (128, 4096), (2048, 4096)])
    with pytest.raises(AssertionError, match=r"not batch invariant on h100-cuda-13.0: .*16 x 4096 is 2 parts of K"):
        library.same_rows("h100-cuda-13.0", fast, 14336, [(16, 4096), (128, 4096)])


SCALED = {"unit": "hopper-wgmma-e4m3-f32", "a": {"rule": "tensor"}, "b": {"rule": "tensor"}}


def recipe(product: dict[str, Any], **keys: Any) -> ht.Recipe:
    products = {"forward": product, "input": "none", "weight": "none"}
    return ht.load_recipe({"recipe": "own", "products": products, "output": "bf16", "profile": H200, **keys})


@pytest.mark.parametrize("fast", [True, False])
def test_a_recipe_takes_a_profile(arrays: Any, fast: bool) -> None:
    of, base = arrays["h200_epilogues"], "epilogue-128x64x1024"
    a, b = (tensor(of[f"{base}/{side}"], E4M3).float() for side in "ab")
    scales = of[f"{base}/s"].view(np.float32).ravel().tolist()
    bias = tensor(of[f"{base}/bias16"], torch.bfloat16)
    factors = {side: {"rule": "tensor", "scale": scale} for side, scale in zip("ab", scales, strict=True)}
    own = recipe({"unit": "hopper-wgmma-e4m3-f32" if fast else "deepseek-v3-e4m3-f32", **factors})
    found = ht.linear(a * scales[0], b * scales[1], bias, recipe=own).to(torch.bfloat16)
    returned = tensor(of[f"{base}/{'fast' if fast else 'slow'}-tensor-b16-bfloat16/d"], torch.bfloat16)
    assert torch.equal(found.view(torch.int16), returned.view(torch.int16))


@pytest.mark.parametrize(
    ("name", "profile", "shape", "differs"),
    [
        ("fp8-tensorwise", H200, (64, 128, 8192), True),  # three parts of K
        ("fp8-rowwise", H200, (64, 128, 8192), False),  # one sum, and scales that are powers of two
        ("bf16-hopper", H200, (16, 16, 16384), True),
        ("deepseek-v3", "h100-cuda-13.0", (128, 2048, 1024), False),
    ],
)
def test_a_recipe_of_a_profile_is_what_the_library_makes_of_its_codes(
    name: str, profile: str, shape: tuple[int, int, int], differs: bool
) -> None:
    m, n, k = shape
    torch.manual_seed(1)
    x, w = torch.randn(m, k), torch.randn(n, k)
    plain = ht.load_recipe(name).with_products(output="f32")
    product = plain.products.forward
    assert product is not None
    a, b = coded(product.a, product.unit, "a", x.numpy(), 0), coded(product.b, product.unit, "b", w.T.numpy(), 0)
    found = ht.linear(x, w, recipe=plain.with_profile(profile))
    if name == "bf16-hopper":
        factors = tensor(a.codes, torch.bfloat16), tensor(b.codes, torch.bfloat16)
        returned = library.mm(*factors, out_dtype=torch.float32, profile=profile)
    else:
        scales = (a.factor, b.factor) if a.scales is None else (a.scales, b.scales)
        factors = tensor(a.codes, E4M3), tensor(b.codes, E4M3)
        of_each = [tensor(each, torch.float32) for each in scales]
        returned = library.scaled_mm(
            *factors, *of_each, None, None, torch.float32, product.unit.promotion is None, profile=profile
        )
    assert torch.equal(found, returned)
    assert bool((found != ht.linear(x, w, recipe=plain)).any()) == differs


def test_what_a_profile_does_not_know_of_a_recipe() -> None:
    x, w = torch.ones(64, 640), torch.ones(8, 640)
    own = recipe(SCALED)
    with pytest.raises(NotCaptured, match="does not know scaled_mm e4m3 to bf16, scales tensor of 64 x 8 x 640"):
        ht.linear(x, w, recipe=own)
    model = torch.nn.Sequential(torch.nn.Linear(640, 8))
    with pytest.raises(NotCaptured, match=r"^0: profile h200"), ht.emulate(model, own):
        model(x)
    one_sum = recipe(SCALED, profile={"name": H200, "unknown": "one-sum"})
    with pytest.warns(UserWarning, match="64 x 8 x 640.*; computed as one sum"):
        found = ht.linear(x, w, recipe=one_sum)
    assert torch.equal(found, ht.linear(x, w, recipe=one_sum.with_products(library=None)))
    for product, message in (
        ({**SCALED, "unit": "ada-mma-e4m3-f32"}, "by hopper-wgmma-e4m3-f32 or deepseek-v3-e4m3-f32, not by ada-mma"),
        ({**SCALED, "b": "channel"}, "profiles know scales of both tensors, or of rows and columns"),
        ({"unit": "hopper-mma-tf32-f32", "a": "direct", "b": "direct"}, "rounds float32 to TF32 was not captured"),
        ({"unit": "blackwell-mxf8f6f4-e4m3-f32", "a": "block", "b": "block"}, "scales of 1 x 32 and 32 x 1"),
    ):
        with pytest.raises(NotCaptured, match=message):
            ht.linear(x, w, recipe=recipe(product))
    with pytest.raises(NotCaptured, match="not batches of them, nor convolutions"):
        ht.matmul(torch.ones(2, 64, 512), torch.ones(2, 512, 64), own)
    layer = layer_by(own)
    with pytest.raises(NotCaptured, match="no factor and no addend but a bias"):
        multiplied(torch.ones(64, 512), torch.ones(512, 64), torch.ones(64, 64), 1.0, layer)
    with pytest.raises(ValueError, match="profile: unknown profile 'h300'"):
        recipe(SCALED, profile="h300")
    with pytest.raises(ValueError, match="unknown must be refuse or one-sum, not 'guess'"):
        own.with_profile(H200, "guess")  # type: ignore[arg-type]
