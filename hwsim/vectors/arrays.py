"""A vector set as NumPy arrays."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import numpy as np

from hwsim.spec import Unit
from hwsim.vectors.block import Block
from hwsim.vectors.folder import Growing
from hwsim.vectors.lines import lines_of, operand_fields

ARRAYS = "cases.npz"
MOST_ARRAYS = 1_000_000


def write_arrays(growing: Growing, unit: Unit, blocks: Iterable[Block]) -> None:
    """`cases.npz`: a, b, scale_a, scale_b (lines, count); first_line (cases,); c, result, id (cases,)."""
    lines: dict[str, list[Any]] = {}
    cases: dict[str, list[Any]] = {"first_line": [], "result": [], "id": []}
    if unit.operands.addend is not None:
        cases["c"] = []
    at = 0
    for block in blocks:
        batch = block.batch
        for name, values in operand_fields(unit, batch).items():
            if name in ("a", "b", "scale_a", "scale_b"):
                lines.setdefault(name, []).append(values)
        cases["first_line"].append(at + np.arange(len(batch)) * lines_of(unit, batch))
        cases["result"].append(block.results)
        cases["id"].append(np.array(list(batch.ids), dtype=np.bytes_))
        if "c" in cases:
            cases["c"].append(batch.c)
        at += block.lines
    file = io.BytesIO()
    # NumPy gives every member of an archive the same date, so that the bytes depend on the arrays alone.
    arrays = {name: np.concatenate(parts) for name, parts in {**lines, **cases}.items()}
    np.savez(file, **arrays)  # type: ignore[arg-type]
    growing.whole(ARRAYS, file.getvalue())
