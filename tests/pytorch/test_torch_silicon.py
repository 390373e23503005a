"""A network that was trained on a GPU's tensor cores is trained here on units: its weights are the same bits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from built_presets import others_slow
from torch import Tensor

import hwsim.torch as ht

ROOT = Path(__file__).parents[2]
CAPTURED = sorted((ROOT / "vectors" / "silicon").glob("*/training.json"))


def program() -> ModuleType:
    """The program that was run on the GPU."""
    path, module = ROOT / "capture" / "training.py", ModuleType("capture_training")
    exec(compile(path.read_text(), str(path), "exec"), vars(module))
    return module


def on_units(recipe: Any) -> Callable[[Tensor, Tensor], tuple[Tensor, Callable[[Tensor], Any]]]:
    """A layer of the program, by the units of a recipe."""

    def layer(x: Tensor, weight: Tensor) -> tuple[Tensor, Callable[[Tensor], Any]]:
        given = x.detach().requires_grad_(), weight.detach().requires_grad_()
        made = ht.linear(*given, recipe=recipe)
        return made.detach(), lambda gradient: torch.autograd.grad(made, given, gradient)

    return layer


@pytest.mark.parametrize(
    "recipe", others_slow(["fp8-tensorwise", "hopper-unpromoted", "bf16-hopper"], ["fp8-tensorwise"])
)
def test_weights_are_the_gpus_after_every_step(recipe: str) -> None:
    assert CAPTURED, "no training was captured"
    digests, losses = program().train(torch, on_units(recipe), "cpu")
    assert losses[-1] < losses[0] * 0.9
    for path in CAPTURED:
        assert digests == json.loads(path.read_text())["weights"][recipe]


def test_one_bit_less_of_a_window_is_seen_in_the_first_step() -> None:
    plain = {"unit": "hopper-wgmma-e4m3-f32", "changes": {"fraction_bits": 12}, "a": "tensor", "b": "tensor"}
    back = {"unit": "hopper-wgmma-e5m2xe4m3-f32", "a": "tensor", "b": "tensor"}
    recipe = {"recipe": "narrow", "products": {"forward": plain, "input": back, "weight": back}, "output": "bf16"}
    digests, _ = program().train(torch, on_units(recipe), "cpu", steps=1)
    assert digests[0] != json.loads(CAPTURED[0].read_text())["weights"]["hopper-unpromoted"][0]
