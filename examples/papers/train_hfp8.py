"""HFP8: 1-4-3 and 1-5-2, chunks of 1-6-9, residual updates and direct casts, on handwritten digits.

Sun et al. 2019, Hybrid 8-bit floating point (HFP8) training and inference for deep neural networks, NeurIPS; Wang et
al. 2018, arXiv 1812.08011. All products are in units, those of the first and the last layer in 1-6-9; the hybrid has
1-4-3 forward, 1-5-2 for gradients, and FMAs in 1-6-9 in chunks of 64, ties away from zero. Expected: the bound of Sakr,
Kim and Shanbhag 2017, theorem 1. Prints the tables of docs/studies/train-hfp8.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from paper import Record, options, table
from torch import Tensor, nn
from training import (
    Digits,
    Method,
    after_steps,
    by_label,
    casts,
    curves,
    gradient_table,
    gradients,
    mean_and_reach,
    percents,
    runs,
    seeds,
    values,
)  # fmt: skip

import hwsim.torch as ht

ENDS = [{"place": "first", "recipe": "dlfloat16"}, {"place": "last", "recipe": "dlfloat16"}]
EVEN = {"sum.rounding": "rne", "result.rounding": "rne"}
FORWARD, BACKWARD = "hfp8-forward-e4m3-dlfloat16", "hfp8-backward-e4m3xe5m2-dlfloat16"
BATCH = 64
ONCE = 60  # examples whose gradients are held at a time


def recipe(name: str, forward: dict[str, Any], gradient: dict[str, Any] | str, unit: str = FORWARD) -> dict[str, Any]:
    """forward, gradient: what is changed of the units; `none` leaves gradients to PyTorch."""
    back = (
        gradient if isinstance(gradient, str) else {"unit": BACKWARD, "changes": gradient, "a": "direct", "b": "direct"}
    )
    front = {"unit": unit, "changes": forward, "a": "direct", "b": "direct"}
    return {"recipe": name, "products": {"forward": front, "input": back, "weight": back}, "layers": ENDS}


def even(name: str, more: dict[str, Any]) -> dict[str, Any]:
    return recipe(name, EVEN | more, {"a": "hfp8-e5m2", "b": "hfp8-e4m3", **EVEN, **more})


TIES, FLAT_TIES = even("hfp8-even", {"promotion.rounding": "rne"}), even("hfp8-flat-even", {"promotion": "none"})
NARROW = recipe("fp8-152", {"a": "hfp8-e5m2", "b": "hfp8-e5m2"}, {"a": "hfp8-e5m2", "b": "hfp8-e5m2"}, BACKWARD)
BIAS_7 = recipe("e4m3", {"a": "e4m3", "b": "e4m3"}, "none")
SHORT = recipe("e3m2", {"a": "e3m2", "b": "e3m2"}, "none")
LEARNING: Any = {"rate": 0.02, "optimizer": "sgd"}
TRAINED = (
    Method("float32"),
    Method("hybrid", "hfp8"),
    Method("hybrid, flat", "hfp8-flat"),
    Method("hybrid, ties to even", TIES),
    Method("hybrid, flat, ties to even", FLAT_TIES),
    Method("1-5-2 alone", NARROW),
    *(Method(f"hybrid, 8-bit weights, {how}", "hfp8", update=how) for how in ("nearest", "stochastic", "residual")),
    Method("hybrid, residual, four learners", "hfp8", update="residual", learners=4),
)
# What all layers but the first and the last multiply.
FORMATS = {
    **dict.fromkeys(("1-4-3", "1-4-3, flat", "1-4-3, ties to even"), "hfp8-e4m3"),
    "1-4-3, bias 7": "e4m3",
    "1-5-2": "hfp8-e5m2",
    "1-3-2": "e3m2",
}
CASTS = (
    Method("float32"),
    Method("1-4-3", "hfp8"),
    Method("1-4-3, flat", "hfp8-flat"),
    Method("1-4-3, ties to even", TIES),
    Method("1-4-3, bias 7", BIAS_7),
    Method("1-5-2", NARROW),
    Method("1-3-2", SHORT),
)
SUMS = (
    Method("chunks of 64", "hfp8"),
    Method("flat", "hfp8-flat"),
    Method("chunks of 64, ties to even", TIES),
    Method("flat, ties to even", FLAT_TIES),
)


def main(arguments: Sequence[str] | None = None) -> None:
    args = options(__doc__, arguments)
    problem = Digits(args.pick(4, 16, 32), args.pick(16, BATCH, BATCH))
    of, steps = seeds(args, (2, 3, 10)), args.pick(2, 150, 1000)
    records = runs(
        args,
        problem,
        [replace(method, loss_scale=1024.0, **LEARNING) for method in TRAINED],
        of,
        steps,
        args.pick(1, 15, 50),
    )
    caption = f"""Mean over {len(of)} seeds, with the reach of its 95 % t interval. Loss: in nats, of 360 digits that
        were held
        back."""
    after_steps(f"After {steps} steps", records, "float32", "Training", batches=True, caption=caption)
    before = args.pick(10, 150, 1000)
    cast_digits(
        casts(
            args, problem, [replace(method, pretrained=before, **LEARNING) for method in CASTS], of, estimate=estimate
        )
    )
    before, batches = args.pick(2, 20, 100), args.pick((1, 2), (1, 4, 16), (1, 4, 16, 64))
    methods = [replace(method, pretrained=before, loss_scale=1024.0, **LEARNING) for method in SUMS]
    errors = gradients(args, problem, methods, of, batches, "6:conv2d")  # the widest, 16 places of each digit
    caption = f"""Error of sums, and of quantisation, over the RMS of the exact gradient of the last convolution's
        weights,
        mean over {len(of)} networks. K: the places of all digits of a batch, which a gradient sums."""
    gradient_table("Error of the gradient of weights, by K", errors, "Sums", caption)
    curves(args, "train-hfp8", "Loss while training, by format and sum", records, log_y=10)


def cast_digits(records: Sequence[Record]) -> None:
    rows = []
    for label, of_label in by_label(records).items():
        cells = [percents(of_label, "right"), percents(of_label, "right_tuned")]
        cells += [mean_and_reach(values(of_label, name)) for name in ("validation", "validation_tuned")]
        rows.append(
            [label, *cells, *(percents(of_label, name) for name in ("mismatch", "mismatch_tuned", "estimated"))]
        )
    heads = [
        "Right, %",
        "tuned again",
        "Loss",
        "tuned again",
        "Other answers, %",
        "tuned again",
        "at most, expected, %",
    ]
    caption = """Tuned again: the statistics of batch norms, by 20 batches, after the cast. Other answers: of all 1,797
        digits,
        those that are not answered as in float32: the mismatch probability as it was measured. Expected: the bound from
        gradients and the errors of numbers, sums taken as exact."""
    table("Direct casts of networks trained in float32", ["Forward", *heads], rows, 8, caption)


def estimate(network: nn.Sequential, probes: Tensor, method: Method) -> float:
    """An upper bound of the share of answers that rounding changes, from gradients and the errors of numbers alone.

    For an answer y, a difference of logits z_i - z_y has, to the first order, the sum of squares of (gradient x error)
    over all rounded weights and activations as its variance; Chebyshev's inequality, for errors of either sign, bounds
    the chance that it changes sign by half of variance / difference^2, and all i together by their sum, or 1.
    """
    if method.recipe is None:
        return float("nan")
    names = [name for name, module in network.named_modules() if isinstance(module, (nn.Linear, nn.Conv2d))]
    formats = dict.fromkeys(names, FORMATS[method.label]) | dict.fromkeys((names[0], names[-1]), "dlfloat16")
    network.eval()
    parts = [bound(network, some, formats) for some in probes.split(ONCE)]
    network.train()
    return float(torch.cat(parts).mean())


def bound(network: nn.Sequential, x: Tensor, formats: dict[str, str]) -> Tensor:
    """For each example, the bound, at most 1."""
    inputs: dict[str, Tensor] = {}
    state = x
    for name, module in network.named_children():  # what goes into each rounded layer
        if name in formats:
            inputs[name] = state = state if state.requires_grad else state.detach().requires_grad_()
        state = module(state)
    answers = state.argmax(-1)
    apart = state - state.gather(1, answers[:, None])
    variance = torch.zeros_like(state)
    for name, entered in inputs.items():
        error = ht.cast(entered.detach(), formats[name]) - entered.detach()
        for i in range(state.shape[1]):
            (gradient,) = torch.autograd.grad(apart[:, i].sum(), entered, retain_graph=True)
            variance[:, i] += (gradient * error).square().flatten(1).sum(1)

    def differences(some: dict[str, Tensor], example: Tensor, answer: Tensor) -> Tensor:
        logits: Tensor = torch.func.functional_call(network, some, (example[None],))[0]
        return logits - logits.gather(0, answer[None])

    weights = {f"{name}.weight": network.get_parameter(f"{name}.weight").detach() for name in formats}
    each = torch.func.vmap(torch.func.jacrev(differences), (None, 0, 0))(weights, x, answers)
    for name, fmt in formats.items():
        weight = weights[f"{name}.weight"]
        variance = variance + (each[f"{name}.weight"] * (ht.cast(weight, fmt) - weight)).square().flatten(2).sum(2)
    others = torch.ones_like(state, dtype=torch.bool).scatter_(1, answers[:, None], False)
    ratio = variance.detach() / (2 * apart.detach().square())
    return torch.where(others, ratio, torch.zeros_like(ratio)).sum(1).clamp(max=1.0)


if __name__ == "__main__":
    main()
