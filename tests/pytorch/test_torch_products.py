"""Products of tensors are `hwsim.gemm`'s bits, forward and backward; gradients are those of exact arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pytorch.test_torch_functions import agree, drawn, wide
from torch import Tensor

import hwsim
import hwsim.torch as ht
from hwsim.base.errors import InputError
from hwsim.quantize import quantize
from hwsim.torch.operators import singles
from hwsim.torch.products import transformed


def array(x: Tensor) -> Any:
    return x.detach().numpy()


def bf16(x: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(x)).to(torch.bfloat16).float().numpy()


def by_tensor(unit: str | Any, a: Any, b: Any) -> Any:
    """A product by a unit without scales, one scale for each factor."""
    of_a, of_b = (hwsim.load_unit(unit).operands.factor(side) for side in ("a", "b"))
    qa, qb = quantize(a, f"tensor-{of_a.name}"), quantize(b, f"tensor-{of_b.name}", axis=-2)
    return hwsim.gemm(unit, qa.codes, qb.codes) * (qa.scales.reshape(1, 1) * qb.scales.reshape(1, 1))


def test_the_three_products_of_a_linear_layer_are_gemms_bits() -> None:
    x, weight, gradient = drawn(40, 96), drawn(24, 96, seed=2), drawn(40, 24, seed=3).detach()
    y = ht.linear(x, weight, recipe="fp8-tensorwise")
    y.backward(gradient)
    forward = by_tensor("hopper-wgmma-e4m3-f32", array(x), array(weight).T)
    np.testing.assert_array_equal(array(y), bf16(forward))
    backward = hwsim.load_unit("deepseek-v3-e4m3-f32").replace(a="e5m2")
    np.testing.assert_array_equal(x.grad.numpy(), bf16(by_tensor(backward, array(gradient), array(weight))))
    np.testing.assert_array_equal(weight.grad.numpy(), bf16(by_tensor(backward, array(gradient).T, array(x))))


def test_blocks_with_scales_go_into_the_unit() -> None:
    x, weight = drawn(33, 70), drawn(9, 70, seed=2)  # 70 is filled up to 96
    filled = [np.pad(array(one), ((0, 0), (0, 26))) for one in (x, weight)]
    a = quantize(filled[0], "mxfp8-e4m3", select="rceil")
    b = quantize(filled[1].T, "mxfp8-e4m3", axis=0, select="rceil")
    expected = hwsim.gemm("blackwell-mxf8f6f4-e4m3-f32", a, b)
    np.testing.assert_array_equal(array(ht.linear(x, weight, recipe="mxfp8")), bf16(expected))


def test_a_weight_has_scales_for_squares() -> None:
    x, weight = drawn(20, 64), drawn(40, 64, seed=2)
    a, b = quantize(array(x), "nvfp4"), quantize(array(weight).T, "nvfp4", axis=0, block=(16, 16))
    assert b.scales.shape == (4, 3)
    scales = np.repeat(b.scales, 16, axis=1)[:, :40]
    expected = hwsim.gemm("blackwell-mxf4nvf4-e2m1-f32", a.codes, b.codes, None, a.scales, scales)
    expected = expected * (np.full((1, 1), a.tensor_scale) * np.full((1, 1), b.tensor_scale))
    np.testing.assert_array_equal(array(ht.linear(x, weight, recipe="nvfp4")), bf16(expected))
    # Of the weight's transpose they are the same codes: the gradient of the input sees what the output saw.
    again = quantize(array(weight), "nvfp4", axis=0, block=(16, 16))
    np.testing.assert_array_equal(again.codes, b.codes.T)


@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 4), (4, 5)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)),
     ((2, 1, 3, 4), (6, 4, 5)), ((3, 4), (2, 4, 5)), ((4,), (2, 4, 5)), ((2, 3, 4), (4,))],
)  # fmt: skip
def test_shapes_and_gradients_are_those_of_torch(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    one, other = drawn(*a), drawn(*b, seed=2)
    exact = wide([one, other])
    found, expected = ht.matmul(one, other, "exact"), torch.matmul(*exact)
    assert found.dtype == torch.float32
    np.testing.assert_array_equal(array(found), array(expected).astype(np.float32))
    agree(found, expected, [one, other], exact)


def test_factors_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match=r"a \(3, 4\) and b \(5, 2\) have no matrix product"):
        ht.matmul(torch.ones(3, 4), torch.ones(5, 2), "exact")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_floats_are_taken_and_returned(dtype: torch.dtype) -> None:
    x, weight = drawn(4, 32).detach().to(dtype), drawn(8, 32, seed=2).detach().to(dtype)
    found = ht.linear(x, weight, recipe="bf16-hopper")
    assert found.dtype == dtype
    expected = ht.linear(x.float(), weight.float(), recipe="bf16-hopper")
    np.testing.assert_array_equal(found.double().numpy(), expected.to(dtype).double().numpy())
    with torch.autocast("cpu", torch.bfloat16):
        assert ht.linear(x, weight, recipe="bf16-hopper").dtype == torch.bfloat16


def test_a_product_of_nothing_is_zeros() -> None:
    assert ht.matmul(torch.ones(3, 0), torch.ones(0, 2), "mxfp8").tolist() == [[0.0, 0.0]] * 3
    assert ht.matmul(torch.ones(0, 4), torch.ones(4, 2), "mxfp8").shape == (0, 2)


def test_a_transform_is_orthogonal_and_its_product_the_same() -> None:
    a, b = array(drawn(6, 64)), array(drawn(64, 5, seed=2))
    left, right = transformed(a, -1, 16, 3), transformed(b, -2, 16, 3)
    np.testing.assert_allclose((left**2).sum(1), (a**2).sum(1), rtol=1e-6)
    np.testing.assert_allclose(left @ right, a @ b, atol=1e-5)
    assert np.abs(left - a).max() > 0.1 and not np.allclose(transformed(a, -1, 16, 4), left)
    one = np.zeros((1, 16), np.float32)
    one[0, 5] = 8
    assert set(np.abs(transformed(one, -1, 16, 3)).ravel().tolist()) == {2.0}  # an outlier is spread over all


def test_stochastic_rounding_follows_the_generator_of_torch() -> None:
    x, weight = drawn(16, 32), drawn(16, 32, seed=2)

    def gradient(seed: int) -> Tensor:
        torch.manual_seed(seed)
        x.grad = None
        ht.linear(x, weight, recipe="nvfp4").square().sum().backward()
        assert x.grad is not None
        return x.grad.clone()

    assert torch.equal(gradient(1), gradient(1)) and not torch.equal(gradient(1), gradient(2))


@pytest.mark.quick
def test_casts_are_formats_and_gradients_pass() -> None:
    x = torch.tensor([0.3, 500.0, -0.01], requires_grad=True)
    y = ht.cast(x, "e4m3")
    assert y.tolist() == [0.3125, 448.0, -0.009765625]
    (y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [1, 2, 3]
    z = ht.quantize(torch.tensor([[496.0, 448, 464, 1]]), "mxfp8-e4m3")
    assert z.tolist() == [[448.0, 448.0, 448.0, 1.0]]
    assert ht.cast(torch.ones(2, dtype=torch.bfloat16), "e2m1").dtype == torch.bfloat16


def test_a_contiguous_tensor_is_not_copied() -> None:
    x = drawn(8, 8)
    assert singles(x).ctypes.data == x.data_ptr()
    assert singles(x.T).ctypes.data == x.data_ptr()


def test_the_operator_keeps_pytorchs_rules() -> None:
    products = ht.load_recipe("deepseek-v3").products  # which keeps activations in FP8
    seed = torch.zeros((), dtype=torch.int64)
    a, b, addend = (drawn(*shape, seed=at).detach() for at, shape in enumerate([(6, 128), (128, 5), (5,)]))
    arguments = (a, b, addend, seed, 1.0, products.key, "forward", "layer", 0)
    torch.library.opcheck(torch.ops.hwsim.product, arguments)
    torch.library.opcheck(torch.ops.hwsim.keep, (drawn(6, 128).detach(), products.key))


def test_activations_are_kept_in_few_bits_and_come_back_so() -> None:
    x, weight = drawn(256, 128), drawn(128, 128, seed=2)
    kept: list[Tensor] = []

    def keeps(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keeps, lambda one: one):
        y = ht.linear(x, weight, recipe="deepseek-v3")
    assert not any(one.shape == x.shape and one.dtype == torch.float32 for one in kept)
    assert sum(one.nbytes for one in kept if one.shape[:1] == x.shape[:1]) == 256 * 128 + 4 * 256
    gradient = drawn(256, 128, seed=3).detach()
    y.backward(gradient)
    again = quantize(array(x), "deepseek-v3-1x128").dequantize(np.float32)
    a = quantize(np.ascontiguousarray(array(gradient).T), "deepseek-v3-1x128")
    b = quantize(again, "deepseek-v3-1x128", axis=0)
    unit = hwsim.load_unit("cublas-hopper-e4m3-f32-vec128")
    np.testing.assert_array_equal(weight.grad.numpy(), bf16(hwsim.gemm(unit, a, b)))
