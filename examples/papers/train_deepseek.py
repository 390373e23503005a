"""DeepSeek-V3's FP8 training: Hopper's window by its width, promotion, and tile scales.

DeepSeek-V3 technical report, arXiv 2412.19437, sections 3.3 and B.1; here a transformer that reads characters. Prints
the tables of docs/studies/train-deepseek.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from paper import figure, options
from training import (
    CHARACTERS,
    MEANS,
    Method,
    after_steps,
    by_label,
    gap_curves,
    gradient_table,
    gradients,
    interval,
    runs,
    seeds,
    values,
)  # fmt: skip


def recipe(name: str, forward: str, backward: str, changes: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Scales of tensors; changes: of the unit of gradients, and `more` of both."""

    def product(unit: str, changed: dict[str, Any]) -> dict[str, Any]:
        return {"unit": unit, "changes": changed, "a": "tensor", "b": "tensor"}

    gradient = product(backward, changes | more)
    return {
        "recipe": name,
        "products": {"forward": product(forward, more), "input": gradient, "weight": gradient},
        "output": "bf16",
    }


def bits(width: int) -> dict[str, Any]:
    """Hopper's sum with so many fraction bits, E4M3 forward and E5M2 for gradients, no promotion."""
    more = {"accumulator": width}
    return recipe(f"bits-{width}", "hopper-wgmma-e4m3-f32", "hopper-wgmma-e5m2xe4m3-f32", {}, more)


PROMOTED = recipe("promoted", "deepseek-v3-e4m3-f32", "deepseek-v3-e4m3-f32", {"a": "e5m2"}, {})
METHODS = (
    Method("BF16", "bf16-hopper"),
    Method("DeepSeek-V3", "deepseek-v3"),
    Method("25 bits", bits(25)),
    Method("13 bits, promoted", PROMOTED),
    Method("13 bits", "hopper-unpromoted"),
    *(Method(f"{width} bits", bits(width)) for width in (11, 9, 7)),
)
MEASURED = [METHODS[4], METHODS[3], METHODS[1]]


def main(arguments: Sequence[str] | None = None) -> None:
    args = options(__doc__, arguments)
    problem, steps, of = CHARACTERS[args.size], args.pick(2, 80, 2000), seeds(args, (2, 3, 5))
    records = runs(args, problem, METHODS, of, steps, args.pick(1, 20, 50))
    after_steps(f"After {steps} steps", records, "BF16", share=True, caption=MEANS.format(len(of)))
    before, batches = args.pick(2, 80, 400), args.pick((1, 2), (1, 2, 4, 8), (1, 2, 4))
    errors = gradients(args, problem, [replace(method, pretrained=before) for method in MEASURED], of, batches)
    caption = f"""Error of sums, and of quantisation, over the RMS of the exact gradient; root mean square over all
        layers,
        mean over {len(of)} networks. K: the tokens of a batch, which a gradient sums."""
    gradient_table("Error of the gradient of weights, by K", errors, "Products", caption)
    gap_curves(args, "train-deepseek", records, "BF16")
    points = [
        {"label": label, "length": length}
        | dict(zip(("y", "y_low", "y_high"), interval(values(some, "accumulation"), 0.95), strict=True))
        for label, rows in by_label(errors).items()
        for length, some in by_label(rows, "length").items()
    ]
    look: dict[str, Any] = {"titles": ("K", "RMS error / RMS of the gradient"), "log_x": 2, "log_y": 10}
    title = "Error of sums in the gradient of weights"
    figure(args, "train-deepseek-gradients", title, points, "length", "y", "label", **look)


if __name__ == "__main__":
    main()
