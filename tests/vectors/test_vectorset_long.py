"""Codes of more than 64 bits in vector sets: every bit, there and back."""

from __future__ import annotations

import numpy as np
from odd_units import unit

import hwsim
from hwsim.base.arrays import from_words
from hwsim.cases.case import batches
from hwsim.cases.case import expected as by_the_model
from hwsim.cases.matrices import gemm_problem
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.vectors.lines import (
    EXPECTED,
    OPERANDS,
    case_of,
    case_of_words,
    operand_layout,
    result_layout,
    text_lines,
)
from hwsim.cosim.vectors.make import case_arrays, computed_block, problem_arrays

UNIT = unit("long-73")


def test_lines_and_text_have_every_bit() -> None:
    cases = random_cases(UNIT, 60, 5)
    assert max(case.c for case in cases) >> 72
    for batch in batches(UNIT, cases):
        block, results = computed_block(UNIT, batch, (OPERANDS, EXPECTED), None), by_the_model(UNIT, batch)
        lines = block.files[EXPECTED].split()
        assert [result_layout(UNIT).unpacked(line)["result"][0] for line in lines] == results.tolist()
        operands = block.files[OPERANDS].split()
        each = len(operands) // len(batch)
        for at, (case, text) in enumerate(
            zip(batch.cases(), text_lines(UNIT, batch, results).splitlines(), strict=True)
        ):
            assert case_of(UNIT, case.id, operands[at * each : (at + 1) * each]) == case
            assert case_of_words(UNIT, text.split()[:-1]) == case
            assert int(text.split()[-1], 16) == results[at]
        # Only the first line's addend counts: the others carry its complement.
        fields = [operand_layout(UNIT).unpacked(line) for line in operands[:each]]
        assert [field["c"][0] for field in fields[1:]] == [(1 << 73) - 1 - int(batch.c[0])] * (each - 1)


def test_arrays_hold_words() -> None:
    batch = next(batches(UNIT, random_cases(UNIT, 8, 5)))
    block = computed_block(UNIT, batch, (), None)
    arrays = case_arrays(UNIT, [block])
    assert (arrays["result"].shape, arrays["c"].dtype) == ((len(batch), 2), np.uint64)
    assert from_words(arrays["c"]).tolist() == batch.c.tolist()
    problem = gemm_problem(UNIT, 3, 2, 4, 1)
    held = problem_arrays(UNIT, problem)
    assert {name: held[name].shape for name in ("C", "D", "partials")} == {
        "C": (3, 2, 2), "D": (3, 2, 2), "partials": (3, 2, 2, 2),
    }  # fmt: skip
    assert (from_words(held["D"]) == hwsim.gemm(UNIT, problem.A, problem.B, problem.C)).all()
