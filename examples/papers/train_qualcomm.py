"""8 bits after training and while training: FP8 splits against INT8, with outliers and without.

Kuzmin et al. 2022, FP8 Quantization: The Power of the Exponent, arXiv 2208.09225, sections 5 and 6; here a transformer
that reads characters. Activations have one scale a tensor, weights one a row, sums are exact. Outliers: four channels
of what goes into the layers behind norms are 50 times as large, and their weights that much smaller. EnMm: the splits
of 8 bits as IEEE P3109 has them, finite. Prints the tables of docs/studies/train-qualcomm.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from paper import options
from training import CHARACTERS, MEANS, Method, after_steps, cast_table, casts, curves, runs, seeds

OUTLIERS = 50.0


def forward(name: str, product: dict[str, Any]) -> dict[str, Any]:
    """A recipe whose gradients are PyTorch's."""
    return {"recipe": name, "products": {"forward": product, "input": "none", "weight": "none"}}


def split(name: str, precision: int) -> dict[str, Any]:
    fmt = f"binary8p{precision}sf"
    return forward(name, {"unit": "exact-e4m3-f32", "changes": {"a": fmt, "b": fmt}, "a": "tensor", "b": "channel"})


METHODS = (
    Method("float32"),
    Method("INT8", forward("int8-forward", {"unit": "int8-i32", "a": "int8-tensor", "b": "int8-channel"})),
    *(
        Method(name.upper(), split(name, precision))
        for name, precision in (("e2m5", 6), ("e3m4", 5), ("e4m3", 4), ("e5m2", 3))
    ),
)


def main(arguments: Sequence[str] | None = None) -> None:
    args = options(__doc__, arguments)
    problem, of = CHARACTERS[args.size], seeds(args, (2, 3, 5))
    before, after, every = args.pick(2, 200, 2000), args.pick(2, 20, 300), args.pick(1, 10, 50)
    answers = "Other answers: characters of which another is the most probable than in float32."
    for words, factor in (("", 1.0), (", with outliers", OUTLIERS)):
        methods = [replace(method, pretrained=before, outliers=factor) for method in METHODS]
        cast_table(f"Cast after training{words}", casts(args, problem, methods, of), "float32", "Format", answers)
    for words, factor in (("", 1.0), (", with outliers", OUTLIERS)):
        aware = {"rate": 0.001, "pretrained": before, "pretrained_rate": 0.004, "outliers": factor}
        methods = [replace(method, **aware) for method in METHODS]
        records = runs(args, problem, methods, of, after, every)
        after_steps(f"Trained on with rounding{words}", records, "float32", "Format", caption=MEANS.format(len(of)))
    curves(args, "train-qualcomm", "Loss while trained on with rounding, with outliers", records)


if __name__ == "__main__":
    main()
