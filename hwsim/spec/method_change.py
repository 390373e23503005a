"""Changes the method by which a unit sums, with the other keys that must change with it."""

from __future__ import annotations

from typing import Any

from hwsim.formats.blocks import reference

WINDOW, CHAIN = ("aligned", "even-odd"), ("sequential", "pairwise")
GUARD = 2  # bits of a window below the result's, where the unit had none


def change_method(data: dict[str, Any], method: Any) -> None:
    """Give a unit's keys a `sum` of that method: what both methods have is kept, the rest is as presets have it.

    aligned, even-odd: the window that the unit had, or two bits more than its result. sequential, pairwise: exact
    products, additions rounded as the result is, in its format. even-odd: one group an instruction, whose addend is
    added late in f32.
    """
    old = data["sum"]
    if old["method"] == method:
        return
    new = {key: old[key] for key in ("addend", "product_limit") if key in old}
    new["method"] = method
    if method in WINDOW:
        new |= {key: old[key] for key in ("fraction_bits", "lost", "zero_terms", "max_exp_floor") if key in old}
        new.setdefault("fraction_bits", reference(data["result"]["format"]).fraction_bits + GUARD)
    if method in CHAIN:
        result = data["result"]
        new |= {"product": "fused", "format": result["format"], "rounding": result["rounding"]}
    elif "zero" in old:
        new["zero"] = old["zero"]
    late = data.get("late")
    if late and late["operation"] == "window" and method not in WINDOW:
        _add_aligned(data, new)
    if method == "even-odd":
        new["combine"] = {"fraction_bits": new["fraction_bits"], "lost": new.get("lost", "truncate")}
        _add_late(data, new)
    data["sum"] = new


def _add_aligned(data: dict[str, Any], new: dict[str, Any]) -> None:
    del data["late"]
    data["instruction"]["start"] = "addend"
    new["addend"] = "aligned"


def _add_late(data: dict[str, Any], new: dict[str, Any]) -> None:
    instruction = data["instruction"]
    instruction |= {"lanes": instruction["k"], "start": "zero", "order": "sequential"}
    if data["operands"].get("addend") in (None, "none"):
        instruction["chain"] = "none"
    elif not data.get("late"):
        data["late"] = {"operation": "add", "format": "f32", "rounding": "rne"}
        new["addend"] = "late"
