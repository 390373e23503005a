"""The NPZ files of a vector set: its cases as arrays, and its matrix products with every partial result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.case import dot
from hwsim.cases.matrices import GemmProblem, gemm_cases
from hwsim.codewords import to_words, words_of
from hwsim.cosim.vectors.block import Block
from hwsim.cosim.vectors.lines import lines_of, operand_fields
from hwsim.formats import Format, container_dtype
from hwsim.model.definition import definition_of
from hwsim.spec import Unit

ARRAYS = "cases.npz"
MOST_ARRAYS = 1_000_000

Arrays = dict[str, NDArray[Any]]


def stored(fmt: Format | None, codes: NDArray[Any]) -> NDArray[Any]:
    """Codes as a file has them: of more than 64 bits as words of 64, the low one first, in a last axis."""
    return codes if fmt is None or codes.dtype != object else to_words(codes, words_of(fmt.container_bits))


def case_arrays(unit: Unit, blocks: Iterable[Block]) -> Arrays:
    """`cases.npz`: a, b, scale_a, scale_b (lines, count); first_line (cases,); c, result, id (cases,).

    Of more than 64 bits, c and result have a last axis of words.
    """
    parts, at = list[Arrays](), 0
    for block in blocks:
        batch, per_case = block.batch, lines_of(unit, block.batch)
        lines = {
            name: values
            for name, values in operand_fields(unit, batch).items()
            if name in ("a", "b", "scale_a", "scale_b")
        }
        ids = np.array(list(batch.ids), dtype=np.bytes_)
        results, c = stored(unit.output, block.results), stored(unit.operands.addend, batch.c)
        cases = {"first_line": at + np.arange(len(batch)) * per_case, "result": results, "id": ids}
        parts.append(lines | cases | ({"c": c} if unit.operands.addend is not None else {}))
        at += len(batch) * per_case
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def problem_arrays(unit: Unit, problem: GemmProblem) -> Arrays:
    """`gemm/NUMBER.npz`: the arrays of one product.

    A, B, C, scale_a, scale_b: the operands' codes, as far as the unit has them. D (M, N): the results.
    partials (M, N, groups): every group's result. registers (M, N, additions): the promotion register, or the sum
    with the late addend, after each addition. Codes of more than 64 bits have a last axis of words.
    """
    m, n = problem.A.shape[0], problem.B.shape[1]
    explained = [dot(definition_of(unit), case) for case in gemm_cases(unit, problem)]
    output, result = container_dtype(unit.output), container_dtype(unit.result.format)
    arrays: Arrays = problem.arrays
    if problem.C is not None:
        arrays["C"] = stored(unit.operands.addend, problem.C)
    arrays["D"] = stored(unit.output, np.array([one.code for one in explained], output).reshape(m, n))
    partials = [[group.code for group in one.groups] for one in explained]
    arrays["partials"] = stored(unit.result.format, np.array(partials, result).reshape(m, n, -1))
    if unit.promotion is not None or unit.late is not None:
        added = [[step.code for step in (one.promotions or one.additions).values()] for one in explained]
        arrays["registers"] = stored(unit.output, np.array(added, output).reshape(m, n, -1))
    return arrays
