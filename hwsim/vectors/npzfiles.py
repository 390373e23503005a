"""The NPZ files of a vector set: its cases as arrays, and its matrix products with every partial result."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.matrices import GemmProblem, gemm_cases
from hwsim.formats import container_dtype
from hwsim.spec import Unit
from hwsim.vectors.block import Block, explain
from hwsim.vectors.folder import Growing
from hwsim.vectors.linefields import lines_of, operand_fields

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
    growing.whole(ARRAYS, _npz({name: np.concatenate(parts) for name, parts in {**lines, **cases}.items()}))


def _npz(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """NumPy gives every member of an archive the same date, so that the bytes depend on the arrays alone."""
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def write_problems(growing: Growing, unit: Unit, problems: Sequence[GemmProblem]) -> None:
    """`gemm/NUMBER.npz` for each product.

    A, B, C, scale_a, scale_b: the operands' codes, as far as the unit has them. D (M, N): the results.
    partials (M, N, groups): every group's result. registers (M, N, additions): the promotion register, or the sum
    with the late addend, after each addition.
    """
    for number, problem in enumerate(problems):
        growing.whole(f"gemm/{number}.npz", _npz(problem_arrays(unit, problem)))


def problem_arrays(unit: Unit, problem: GemmProblem) -> dict[str, NDArray[np.generic]]:
    """The arrays of one product's file."""
    m, n = problem.A.shape[0], problem.B.shape[1]
    explained = [explain(unit, case) for case in gemm_cases(unit, problem)]
    given = {"A": problem.A, "B": problem.B, "C": problem.C, "scale_a": problem.scale_a, "scale_b": problem.scale_b}
    arrays: dict[str, NDArray[np.generic]] = {name: array for name, array in given.items() if array is not None}
    output, result = container_dtype(unit.output), container_dtype(unit.result.format)
    arrays["D"] = np.array([one.code for one in explained], output).reshape(m, n)
    partials = [[group.code for group in one.groups] for one in explained]
    arrays["partials"] = np.array(partials, result).reshape(m, n, -1)
    if unit.promotion is not None or unit.late is not None:
        added = [[step.code for step in (one.promotions or one.additions).values()] for one in explained]
        arrays["registers"] = np.array(added, output).reshape(m, n, -1)
    return arrays
