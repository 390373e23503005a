"""MX formats: training, direct casts and fine-tuning in MXFP8, MXFP6 and MXFP4, by the rule of scales.

Rouhani et al. 2023, Microscaling data formats for deep learning, arXiv 2310.10537, section 6: with models up to 1.5
billion weights; here a transformer that reads characters. Prints the tables of docs/studies/train-mx.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from paper import options
from training import CHARACTERS, MEANS, Method, after_steps, cast_table, casts, gap_curves, runs, seeds

UNIT = "blackwell-mxf8f6f4-{}-f32"


def product(factors: str, a: Any, b: Any) -> dict[str, Any]:
    return {"unit": UNIT.format(factors), "a": a, "b": b}


def all_three(name: str, forward: dict[str, Any], weight: dict[str, Any] | None = None) -> dict[str, Any]:
    """A recipe whose products are all in the format."""
    return {
        "recipe": name,
        "products": {"forward": forward, "input": forward, "weight": weight or forward},
        "output": "bf16",
    }


def alone(name: str, forward: dict[str, Any]) -> dict[str, Any]:
    """A recipe whose gradients are PyTorch's."""
    return {"recipe": name, "products": {"forward": forward, "input": "none", "weight": "none"}}


C8, C6, C4 = ({"rule": rule, "select": "ceil"} for rule in ("mxfp8-e4m3", "mxfp6-e3m2", "mxfp4-e2m1"))
EIGHT = all_three("mxfp8-floor", product("e4m3", "mxfp8-e4m3", "mxfp8-e4m3"))
FOUR_UP = all_three("mxfp4-ceil", product("e3m2xe2m1", C6, C4), product("e3m2", C6, C6))
FOUR = alone("mxfp4-both", product("e2m1", "mxfp4-e2m1", "mxfp4-e2m1"))
TRAINED = (
    Method("float32"),
    Method("MXFP8, floor", EIGHT),
    Method("MXFP8, ceil", all_three("mxfp8-ceil", product("e4m3", C8, C8))),
    Method("MXFP6, floor", "mxfp6"),
    Method("MXFP6, ceil", all_three("mxfp6-ceil", product("e3m2", C6, C6))),
    Method("MXFP4 weights, MXFP6, floor", "mxfp4"),
    Method("MXFP4 weights, MXFP6, ceil", FOUR_UP),
)
CAST = (
    Method("float32"),
    Method("MXFP8 E4M3", EIGHT),
    Method("MXFP8 E5M2", alone("mxfp8-e5m2", product("e5m2", "mxfp8-e5m2", "mxfp8-e5m2"))),
    Method("MXFP6 E2M3", alone("mxfp6-e2m3", product("e2m3", "mxfp6-e2m3", "mxfp6-e2m3"))),
    Method("MXFP6 E3M2", "mxfp6"),
    Method("MXFP4 weights, MXFP6", "mxfp4"),
    Method("MXFP4 weights, MXFP6, ceil", FOUR_UP),
    Method("MXFP4", FOUR),
    Method("MXINT8", alone("mxint8", {"unit": "mxint8-f32", "a": "mxint8", "b": "mxint8"})),
)
FINE_TUNED = (
    Method("float32"),
    Method("MXFP6", "mxfp6"),
    Method("MXFP4 weights, MXFP6", "mxfp4"),
    Method("MXFP4 forward", FOUR),
)


def main(arguments: Sequence[str] | None = None) -> None:
    args = options(__doc__, arguments)
    problem, of = CHARACTERS[args.size], seeds(args, (2, 3, 5))
    steps, before, after = args.pick(2, 60, 2000), args.pick(2, 150, 2000), args.pick(2, 20, 300)
    records = runs(args, problem, TRAINED, of, steps, args.pick(1, 15, 50))
    after_steps(f"After {steps} steps", records, "float32")
    cast = casts(args, problem, [replace(method, pretrained=before) for method in CAST], of)
    caption = (
        "Other answers: characters of which another is the most probable than in float32. Scales by floor unless said."
    )
    cast_table(f"Direct casts after {before} steps in float32", cast, "float32", "Forward", caption)
    tuned = [replace(method, rate=0.001, pretrained=before, pretrained_rate=0.004) for method in FINE_TUNED]
    more = runs(args, problem, tuned, of, after, args.pick(1, 10, 50))
    after_steps(f"Fine-tuned by {after} steps more", more, "float32", caption=MEANS.format(len(of)))
    gap_curves(args, "train-mx", records, "float32")


if __name__ == "__main__":
    main()
