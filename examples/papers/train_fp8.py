"""FP8 training: E4M3 forward and E5M2 backward against BF16, with a scale a tensor and without any.

Micikevicius et al. 2022, FP8 formats for deep learning, arXiv 2209.05433, section 4.1; here a transformer that reads
characters. Prints the table of docs/studies/train-fp8.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paper import options
from training import CHARACTERS, Method, after_steps, gap_curves, runs, seeds


def recipe(name: str, forward: str, backward: dict[str, Any], rule: str = "tensor") -> dict[str, Any]:
    """A recipe that multiplies on Hopper, promoted in gradients. backward: what is changed of the gradients' unit."""
    gradient = {"unit": "deepseek-v3-e4m3-f32", "a": rule, "b": rule, **backward}
    products = {"forward": {"unit": forward, "a": rule, "b": rule}, "input": gradient, "weight": gradient}
    return {"recipe": name, "products": products, "output": "bf16"}


UNSCALED = recipe("unscaled", "hopper-wgmma-e4m3-f32", {"changes": {"a": "e5m2"}}, "direct")
METHODS = (
    Method("BF16", "bf16-hopper"),
    Method("float32, PyTorch"),
    Method("E4M3 / E5M2", "fp8-tensorwise"),
    Method("E4M3", recipe("e4m3-alone", "hopper-wgmma-e4m3-f32", {})),
    Method("E5M2", recipe("e5m2-alone", "hopper-wgmma-e5m2-f32", {"changes": {"a": "e5m2", "b": "e5m2"}})),
    Method("unscaled, loss x 1", UNSCALED),
    Method("unscaled, loss x 2^14", UNSCALED, loss_scale=16384.0),
)


def main(arguments: Sequence[str] | None = None) -> None:
    args = options(__doc__, arguments)
    problem, steps, of = CHARACTERS[args.size], args.pick(4, 120, 2000), seeds(args, (2, 3, 5))
    records = runs(args, problem, METHODS, of, steps, args.pick(2, 20, 50))
    many = problem.batch * problem.context
    caption = f"""Mean over {len(of)} seeds, with the reach of its 95 % t interval. Loss: of {many:,} characters a
        batch,
        in nats a character, of text that was held back. Right: the next character is the most probable one."""
    after_steps(f"After {steps} steps", records, "BF16", batches=True, caption=caption)
    shown = [record for record in records if record["label"] != "unscaled, loss x 1"]
    gap_curves(args, "train-fp8", shown, "BF16")


if __name__ == "__main__":
    main()
