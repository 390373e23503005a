"""How often rounding changes the answer of a network: what its gradients and the errors of its numbers say."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from hwsim.torch import cast, convert
from hwsim.torch.recipe import Recipe
from hwsim.training.problems import evaluating

ONCE = 60  # examples whose gradients are held at a time


def is_direct(recipe: Recipe) -> bool:
    """Whether a recipe rounds every number as it is, without a scale."""
    found = [recipe.products, *(rule.products for rule in recipe.layers)]
    forward = [one.forward for one in found if one is not None and one.forward is not None]
    return all(one.a.direct and one.b.direct for one in forward)


def expected_mismatch(network: nn.Module, x: Tensor, recipe: Recipe) -> float:
    """An upper bound of the share of answers that rounding changes, from gradients and the errors of numbers alone.

    For an answer y, a difference of logits z_i - z_y has, to the first order, the sum of squares of (gradient x error)
    over all rounded weights and activations as its variance; Chebyshev's inequality, for errors of either sign, bounds
    the chance that it changes sign by half of variance / difference^2, and all i together by their sum, or 1. Sums are
    taken as exact. (Sakr, Kim and Shanbhag 2017, theorem 1, with the errors themselves in place of uniform ones; what
    Sun et al. 2019, HFP8, argue with.)
    network: in float32, with linear layers and convolutions that a recipe of direct casts rounds. x: its examples.
    """
    formats = _formats(recipe, network)
    with evaluating(network):
        parts = [_bound(network, some, formats) for some in torch.split(x, ONCE)]
    return float(torch.cat(parts).mean())


def _bound(network: nn.Module, x: Tensor, formats: dict[str, tuple[str, str]]) -> Tensor:
    """For each example, the bound, at most 1."""
    inputs: dict[str, Tensor] = {}
    modules = dict(network.named_modules())
    hooks = []
    for name in formats:

        def keep(_: nn.Module, given: tuple[Tensor, ...], name: str = name) -> tuple[Tensor, ...]:
            inputs[name] = given[0] if given[0].requires_grad else given[0].detach().requires_grad_()
            return (inputs[name],)

        hooks.append(modules[name].register_forward_pre_hook(keep))
    try:
        logits = network(x)
    finally:
        for hook in hooks:
            hook.remove()
    answers = logits.argmax(-1)
    apart = logits - logits.gather(1, answers[:, None])
    weights = {name: modules[name].weight for name in formats}
    variance = torch.zeros_like(logits)
    for name, (of_activations, _) in formats.items():
        error = cast(inputs[name].detach(), of_activations) - inputs[name].detach()
        for i in range(logits.shape[1]):
            (gradient,) = torch.autograd.grad(apart[:, i].sum(), inputs[name], retain_graph=True)
            variance[:, i] += (gradient * error).square().flatten(1).sum(1)
    variance += _of_weights(network, x, answers, {f"{name}.weight": one for name, one in weights.items()}, {
        f"{name}.weight": (cast(one.detach(), formats[name][1]) - one.detach()) for name, one in weights.items()
    })  # fmt: skip
    others = torch.ones_like(logits, dtype=torch.bool).scatter_(1, answers[:, None], False)
    ratio = variance.detach() / (2 * apart.detach().square())
    return torch.where(others, ratio, torch.zeros_like(ratio)).sum(1).clamp(max=1.0)


def _of_weights(
    network: nn.Module, x: Tensor, answers: Tensor, weights: dict[str, Any], errors: dict[str, Tensor]
) -> Tensor:
    """The variances (examples, logits) that errors of weights cause."""

    def differences(some: dict[str, Tensor], one: Tensor, answer: Tensor) -> Tensor:
        logits: Tensor = torch.func.functional_call(network, some, (one[None],))[0]
        return logits - logits.gather(0, answer[None])

    some = {name: one.detach() for name, one in weights.items()}
    each = torch.func.vmap(torch.func.jacrev(differences), (None, 0, 0))(some, x, answers)
    return sum(((each[name] * errors[name]).square().flatten(2).sum(2) for name in each), torch.zeros(()))


def _formats(recipe: Recipe, network: nn.Module) -> dict[str, tuple[str, str]]:
    """The formats of activations and weights, by the name of each layer that the recipe rounds."""
    emulation = convert(copy.deepcopy(network), recipe)
    found = {}
    for name, module in network.named_modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            products = emulation.products_of(name, "linear" if isinstance(module, nn.Linear) else "convolution")
            if products is not None and (forward := products.forward) is not None:
                operands = forward.unit.operands
                found[name] = operands.factor("a").name, operands.factor("b").name
    return found
