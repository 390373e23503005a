"""Deliberate faults of the products, each of which a comparison with exact arithmetic, or with `hwsim.gemm`, shows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from pytorch import test_torch_derivatives as derivatives
from pytorch import test_torch_models as models
from pytorch.test_torch_functions import EXACT
from pytorch.test_torch_functions import drawn as random_numbers
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import CheckpointError

import hwsim.torch as ht
from hwsim.torch import checkpoints as again
from hwsim.torch import functional as convolution
from hwsim.torch import operators, products
from hwsim.torch import products as operands

Wrong = Callable[[Callable[..., Any]], Callable[..., Any]]


def weight_error(recipe: str) -> float:
    """The relative error of a weight's gradient."""
    x, weight = random_numbers(64, 64), random_numbers(32, 64, seed=2)
    gradient = random_numbers(64, 32, seed=3).detach()
    ht.linear(x, weight, recipe=recipe).backward(gradient)
    exact = gradient.T @ x.detach()
    assert weight.grad is not None
    return float((weight.grad - exact).norm() / exact.norm())


def convolution_error() -> float:
    """The relative error of the gradient of a convolution's input."""
    x, weight = random_numbers(1, 2, 6, 6), random_numbers(3, 2, 3, 3, seed=2)
    y = convolution.convolution_at(x, weight, None, 2, 1, 1, 1, EXACT)
    y.square().sum().backward()
    plain = x.detach().double().requires_grad_()
    functional.conv2d(plain, weight.detach().double(), stride=2, padding=1).square().sum().backward()
    assert x.grad is not None and plain.grad is not None
    return float((x.grad - plain.grad).norm() / plain.grad.norm())


def test_one_factor_alone_is_transformed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert weight_error("nvfp4") < 0.3
    right = products.transformed
    monkeypatch.setattr(products, "transformed", lambda x, axis, *more: right(x, axis, *more) if axis == -1 else x)
    assert weight_error("nvfp4") > 0.8


def test_what_is_kept_loses_its_scales(monkeypatch: pytest.MonkeyPatch) -> None:
    assert weight_error("deepseek-v3") < 0.1
    monkeypatch.setattr(operators, "dequantize", lambda kept, dtype: kept.element.decode(kept.codes).astype(np.float32))
    assert weight_error("deepseek-v3") > 0.5


def test_taps_are_not_turned_round(monkeypatch: pytest.MonkeyPatch) -> None:
    assert convolution_error() < 1e-6

    def plain(weight: Tensor, groups: int) -> Tensor:
        return weight.unflatten(0, (groups, -1)).transpose(1, 2).flatten(0, 1)

    monkeypatch.setattr(convolution, "_turned", plain)
    assert convolution_error() > 0.1


def test_a_broadcast_factor_gets_a_gradient_that_is_not_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = random_numbers(3, 2, 4), random_numbers(1, 4, 5, seed=2)
    ht.matmul(a, b, "exact").sum().backward()
    exact = b.grad
    monkeypatch.setattr(operators, "_summed", lambda gradient, shape: gradient[: shape[0]])
    b.grad = None
    ht.matmul(a, b, "exact").sum().backward()
    assert exact is not None and b.grad is not None and not torch.equal(exact, b.grad)


def test_what_is_computed_again_is_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    # By its name as a module: `hwsim.torch.convert` is a function.
    monkeypatch.setattr(sys.modules["hwsim.torch.convert"], "within_backward", lambda: False)
    with pytest.raises(AssertionError):
        models.test_what_a_recipe_computes_again_is_the_same_and_is_not_kept("fp8-tensorwise-delayed", "Small")


@pytest.mark.parametrize("forgotten", ["scale_of_first", "called", "_here"])
def test_what_a_checkpoint_forgets(forgotten: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scales of the first time, the modules that are called, or the module that calls."""
    whole, inner = (False, None) if forgotten == "called" else (None, True)
    if forgotten == "scale_of_first":
        monkeypatch.setattr(operands, forgotten, lambda key: None)
    elif forgotten == "called":
        monkeypatch.setattr(again, forgotten, lambda module, surrounding: None)
    else:
        monkeypatch.setattr(ht.Emulation, forgotten, lambda self: nullcontext)
    with pytest.raises((AssertionError, CheckpointError)):
        derivatives.test_a_checkpoint_changes_no_gradient("fp8-tensorwise-delayed", whole, inner)
