"""A block: some cases, and what every file of a set holds of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hwsim.cases.batch import Batch, expected
from hwsim.cases.case import Case, term_scales
from hwsim.formats import container_dtype
from hwsim.formats.codes import Codes
from hwsim.kernels import AnyKernel
from hwsim.model.arrays import definition_of
from hwsim.model.record import Explanation
from hwsim.spec import Unit
from hwsim.vectors.hexlines import packed
from hwsim.vectors.layout import partial_layout
from hwsim.vectors.linefields import lines_of, operand_lines, result_lines
from hwsim.vectors.stages import partial_fields, stage_fields, stage_layout
from hwsim.vectors.text import json_lines, text_lines

OPERANDS, EXPECTED, PARTIAL, STAGES = "operands.hex", "expected.hex", "partial.hex", "stages.hex"
TEXT, JSON = "cases.txt", "cases.jsonl"


@dataclass(frozen=True)
class Block:
    """files: the bytes that follow in each file. cases, lines: how many there are. results: the expected codes.

    explained: every stage of each case, or nothing.
    """

    files: dict[str, bytes]
    cases: int
    lines: int
    batch: Batch
    results: Codes
    explained: tuple[Explanation, ...] = ()


def explain(unit: Unit, case: Case) -> Explanation:
    """Every stage of a case, by the definition."""
    return definition_of(unit).dot(case.a, case.b, case.c, *term_scales(unit, case))


def explained_block(
    unit: Unit, batch: Batch, wanted: Sequence[str], kernel: AnyKernel | None, answers: dict[str, int] | None
) -> Block:
    """A block by the definition, with partial results and stages.

    kernel: computes the same once more. answers: results that come from elsewhere, by case id.
    Raises RuntimeError where definition and kernel differ, which is a defect of hwsim.
    """
    cases = list(batch.cases())
    explained = tuple(explain(unit, case) for case in cases)
    results: Codes = np.array([one.code for one in explained], container_dtype(unit.output))
    if kernel is not None:
        _compare(batch, results, computed(unit, batch, kernel))
    if answers is not None:
        results = np.array([answers[case.id] for case in cases], container_dtype(unit.output))
    files = _files(unit, batch, results, wanted)
    if PARTIAL in wanted:
        fields = partial_fields(unit, definition_of(unit), batch.c.tolist(), explained)
        files[PARTIAL] = packed(partial_layout(unit), fields)
    if STAGES in wanted:
        files[STAGES] = packed(stage_layout(unit), stage_fields(unit, explained))
    return Block(files, len(batch), len(batch) * lines_of(unit, batch), batch, results, explained)


def computed_block(unit: Unit, batch: Batch, wanted: Sequence[str], kernel: AnyKernel | None) -> Block:
    """A block by the unit's kernel; by the definition where there is none."""
    results = computed(unit, batch, kernel)
    files = _files(unit, batch, results, wanted)
    return Block(files, len(batch), len(batch) * lines_of(unit, batch), batch, results)


def computed(unit: Unit, batch: Batch, kernel: AnyKernel | None) -> Codes:
    """The results' codes."""
    if kernel is None or batch.a.shape[1] > kernel.longest:
        return expected(unit, batch)
    out = np.empty(len(batch), np.uint32)
    kernel.pairs((batch.a, batch.scale_a), (batch.b, batch.scale_b), batch.c.astype(np.uint32), out)
    return out.astype(container_dtype(unit.output))


def _compare(batch: Batch, results: Codes, others: Codes) -> None:
    wrong = np.flatnonzero(results != others)
    if wrong.size:
        at = int(wrong[0])
        raise RuntimeError(f"model and kernel differ at {batch.ids[at]}: {results[at]:#x} and {others[at]:#x}")


def _files(unit: Unit, batch: Batch, results: Codes, wanted: Sequence[str]) -> dict[str, bytes]:
    made = {OPERANDS: operand_lines(unit, batch), EXPECTED: result_lines(unit, results)}
    if TEXT in wanted:
        made[TEXT] = text_lines(unit, batch, results).encode()
    if JSON in wanted:
        made[JSON] = json_lines(unit, batch, results).encode()
    return {name: data for name, data in made.items() if name in wanted}
