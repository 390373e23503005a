"""Which implementations compute a unit, and what the others lack."""

from __future__ import annotations

from importlib import import_module
from typing import Literal

from hwsim.base.errors import InputError
from hwsim.spec import SparseLike, SparseUnit, Support, UnitLike, load_any, load_unit

Implementation = Literal["model", "clock", "kernels", "cuda", "rtl", "c"]
IN_BEATS: tuple[Implementation, ...] = ("clock", "rtl")  # which take sparse units beat by beat
# Imported when they are asked: each takes a while.
HOMES: dict[Implementation, str] = {
    "model": "hwsim.model",
    "clock": "hwsim.model.clock",
    "kernels": "hwsim.compute.kernels",
    "cuda": "hwsim.compute.cuda",
    "rtl": "hwsim.rtl",
    "c": "hwsim.compute.c",
}


def supports(unit: UnitLike | SparseLike, by: Implementation) -> Support:
    """Support of a unit by an implementation: true if it has all of it.

    unit: a unit, a preset's name, the path of a unit's file, or its keys.
    by: `model`, the definition; `clock`, the same on a clock; `kernels`, compiled code on the host; `cuda`, products of
    tensors on a GPU, in `hwsim.gemm`, `hwsim.dot` and `hwsim.torch`; `rtl`; `c`, the header of `hwsim export-c`.
    Returns what has `lacks`, the settings that the implementation lacks, each as `key: value`, and `reason`, a sentence
    about the first of them; both are empty for a unit that is supported.
    Raises as `load_unit` does, and ValueError for another word.
    """
    if by not in HOMES:
        raise InputError(f"by must be one of {', '.join(HOMES)}, not {by!r}")
    loaded, home = load_any(unit), import_module(HOMES[by])
    if not isinstance(loaded, SparseUnit):
        support: Support = home.supports(load_unit(unit))
    elif by == "cuda":
        support = Support(loaded.name, "is not implemented yet", ("sparsity",))
    else:
        support = home.supports(loaded if by in IN_BEATS else loaded.dense)
    return support
