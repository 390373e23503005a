"""A block: some cases, and what every file of a set holds of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from hwsim.cases.case import Batch, dot, expected
from hwsim.compute.kernels import AnyKernel
from hwsim.cosim.vectors.lines import (
    EXPECTED,
    OPERANDS,
    PARTIAL,
    STAGES,
    layouts,
    operand_fields,
    partial_fields,
    stage_fields,
)
from hwsim.cosim.vectors.text import json_lines, text_lines
from hwsim.formats import container_dtype
from hwsim.formats.codes import Codes
from hwsim.model.definition import definition_of
from hwsim.model.record import Explanation
from hwsim.spec import Unit

TEXT, JSON = "cases.txt", "cases.jsonl"


@dataclass(frozen=True)
class Block:
    """files: the bytes that follow in each file. results: the expected codes. explained: every stage, or nothing."""

    files: dict[str, bytes]
    batch: Batch
    results: Codes
    explained: tuple[Explanation, ...] = ()


def explained_block(
    unit: Unit, batch: Batch, wanted: Collection[str], kernel: AnyKernel | None, answers: dict[str, int] | None
) -> Block:
    """A block by the definition, with partial results and stages.

    kernel: computes the same once more. answers: results that come from elsewhere, by case id.
    Raises RuntimeError where definition and kernel differ, which is a defect of hwsim.
    """
    definition, cases = definition_of(unit), list(batch.cases())
    explained = tuple(dot(definition, case) for case in cases)
    results: Codes = np.array([one.code for one in explained], container_dtype(unit.output))
    if kernel is not None:
        _compare(batch, results, computed(unit, batch, kernel))
    if answers is not None:
        results = np.array([answers[case.id] for case in cases], container_dtype(unit.output))
    files, layout = _files(unit, batch, results, wanted), layouts(unit, wanted)
    if PARTIAL in wanted:
        files[PARTIAL] = layout[PARTIAL].packed(partial_fields(unit, definition, batch.c.tolist(), explained))
    if STAGES in wanted:
        files[STAGES] = layout[STAGES].packed(stage_fields(unit, explained))
    return Block(files, batch, results, explained)


def computed_block(unit: Unit, batch: Batch, wanted: Collection[str], kernel: AnyKernel | None) -> Block:
    """A block by the unit's kernel; by the definition where there is none."""
    results = computed(unit, batch, kernel)
    return Block(_files(unit, batch, results, wanted), batch, results)


def computed(unit: Unit, batch: Batch, kernel: AnyKernel | None) -> Codes:
    """The results' codes."""
    if kernel is None or batch.a.shape[1] > kernel.longest:
        return expected(unit, batch)
    out = np.empty(len(batch), kernel.word)
    kernel.pairs((batch.a, batch.scale_a), (batch.b, batch.scale_b), batch.c.astype(kernel.word), out)
    return out.astype(container_dtype(unit.output))


def _compare(batch: Batch, results: Codes, others: Codes) -> None:
    wrong = np.flatnonzero(results != others)
    if wrong.size:
        at = int(wrong[0])
        raise RuntimeError(f"model and kernel differ at {batch.ids[at]}: {results[at]:#x} and {others[at]:#x}")


def _files(unit: Unit, batch: Batch, results: Codes, wanted: Collection[str]) -> dict[str, bytes]:
    layout, files = layouts(unit, ()), {}
    if OPERANDS in wanted:
        files[OPERANDS] = layout[OPERANDS].packed(operand_fields(unit, batch))
    if EXPECTED in wanted:
        files[EXPECTED] = layout[EXPECTED].packed({"result": results[:, None]})
    if TEXT in wanted:
        files[TEXT] = text_lines(unit, batch, results).encode()
    if JSON in wanted:
        files[JSON] = json_lines(unit, batch, results).encode()
    return files
