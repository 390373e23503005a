"""How a network is trained: its products, its steps, and what becomes of its weights and gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import torch
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass
from torch import Tensor, nn
from torch.optim import SGD, Optimizer

from hwsim.errors import InputError
from hwsim.quantize import LossScaling
from hwsim.torch import AdamW, LossScaler, NarrowWeights, convert, load_recipe
from hwsim.torch.recipe import LayerKeys, LayerRule, Recipe

NONE = "none"  # no recipe: PyTorch, in float32
MOMENTUM, BETAS, WARM, LEAST = 0.9, (0.9, 0.95), 0.1, 0.1
Steps: TypeAlias = Optimizer | NarrowWeights


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class TrainingMethod:
    """How a network is trained.

    label: for people. recipe: of its products, as `hwsim.torch.load_recipe` takes it, or `none`. The products within
    attention, of queries and keys and of shares and values, are PyTorch's in float32 whatever the recipe.
    rate: the highest rate of learning; it rises over the first tenth of all steps, and falls to a tenth as a cosine.
    optimizer: AdamW, or SGD with momentum. moments: the format of AdamW's. update: how weights are kept in the format
    `weights` (`hwsim.torch.NarrowWeights`); none keeps them in float32. loss_scale: a factor of the loss; `dynamic`
    lets it grow and shrink. learners: processes that share each batch and HFP8's update, that by residuals.
    pretrained: steps in float32 before, at a rate of `pretrained_rate`; `rate` unless given. outliers: what a few
    channels of the activations are multiplied by then.
    Raises ValueError for a key that is none, a value out of its kind, and settings that do not go together.
    """

    label: str
    recipe: str | Mapping[str, Any] = NONE
    rate: float = 3e-3
    optimizer: Literal["adamw", "sgd"] = "adamw"
    moments: Literal["f32", "bf16"] = "f32"
    update: Literal["nearest", "stochastic", "residual"] | None = None
    weights: str = "hfp8-e4m3"
    loss_scale: float | Literal["dynamic"] | None = None
    learners: int = 1
    pretrained: int = 0
    pretrained_rate: float | None = None
    outliers: float = 1.0

    def __post_init__(self) -> None:
        if self.learners > 1 and (self.update != "residual" or self.loss_scale == "dynamic"):
            raise InputError(f"{self.label}: several learners have update: residual, and a constant loss_scale")
        if self.outliers != 1 and not self.pretrained:
            raise InputError(f"{self.label}: outliers are of a network that has been pretrained")

    @property
    def in_float32(self) -> TrainingMethod:
        """The steps in float32 before."""
        rate = self.rate if self.pretrained_rate is None else self.pretrained_rate
        return TrainingMethod(label="float32", rate=rate, optimizer=self.optimizer)

    def convert(self, network: nn.Module) -> None:
        """Send the products of a network through the recipe's units."""
        if self.recipe != NONE:
            convert(network, without_attention(load_recipe(self.recipe)))

    def rate_at(self, step: int, steps: int) -> float:
        """The rate of learning in a step."""
        rising = min(1.0, (step + 1) / max(1.0, WARM * steps))
        return self.rate * rising * (LEAST + (1 - LEAST) * (1 + math.cos(math.pi * step / steps)) / 2)

    def optimizer_of(self, parameters: Iterable[Tensor]) -> Optimizer:
        """An optimiser of whole numbers."""
        if self.optimizer == "sgd":
            return SGD(parameters, lr=self.rate, momentum=MOMENTUM)
        return AdamW(parameters, lr=self.rate, betas=BETAS, moments=self.moments)

    def steps_of(self, network: nn.Module, seed: int) -> Steps:
        """What takes steps: matrices, kernels and tables in narrow weights, where they are; never norms and biases."""
        steps = self.optimizer_of(network.parameters())
        if self.update is None:
            return steps
        return NarrowWeights(steps, self.weights, self.update, seed=seed, only=lambda one: one.ndim > 1)

    def scaler(self) -> LossScaler:
        """What scales the loss."""
        if self.loss_scale == "dynamic":
            return LossScaler()
        return LossScaler(LossScaling(scale=self.loss_scale or 1.0, window=1 << 30))


def without_attention(recipe: Recipe) -> Recipe:
    """A recipe that leaves the products within attention, many and small, to PyTorch."""
    rule = LayerRule(LayerKeys(kind="attention", recipe=NONE), None)
    return replace(recipe, layers=(rule, *recipe.layers))


@contextmanager
def reproducible(seed: int) -> Iterator[None]:
    """Within the block PyTorch draws from this seed, and adds in one order: with one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)
