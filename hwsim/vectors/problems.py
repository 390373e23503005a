"""The matrix products of a vector set, with every partial result."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.matrices import GemmProblem, gemm_cases
from hwsim.formats import container_dtype
from hwsim.spec import Unit
from hwsim.vectors.block import explain
from hwsim.vectors.folder import Growing


def write_problems(growing: Growing, unit: Unit, problems: Sequence[GemmProblem]) -> None:
    """`gemm/NUMBER.npz` for each product.

    A, B, C, scale_a, scale_b: the operands' codes, as far as the unit has them. D (M, N): the results.
    partials (M, N, groups): every group's result. registers (M, N, additions): the promotion register, or the sum
    with the late addend, after each addition.
    """
    for number, problem in enumerate(problems):
        file = io.BytesIO()
        np.savez(file, **problem_arrays(unit, problem))  # type: ignore[arg-type]
        growing.whole(f"gemm/{number}.npz", file.getvalue())


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
