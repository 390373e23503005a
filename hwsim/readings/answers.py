"""The results of a candidate for cases: by the model, or for many by a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hwsim.cases.batch import Batch, batches
from hwsim.cases.case import Case, block_lengths, term_scales
from hwsim.codewords import code_array
from hwsim.formats.codes import Codes
from hwsim.kernels.tiles import multiply_pairs
from hwsim.model.arrays import definition_of
from hwsim.products import kernel_for
from hwsim.readings.changes import Candidate
from hwsim.readings.mistakes.flaw import NO_FLAW
from hwsim.readings.mistakes.machine import flawed_definition
from hwsim.spec import Unit, WindowSum

# At most so many cases are left to the model: kernels of windows are compiled once for all, others for each rounding.
FEW, FEW_OF_OTHERS = 8, 2000


def results(
    candidate: Candidate, cases: Sequence[Case], whole: bool = False, before: Sequence[int | None] = ()
) -> list[int]:
    """The result codes of a candidate for cases, filled up with zeros to whole groups or instructions.

    whole: to whole instructions, even where whole groups would do. before: the device's result before each case, None
    where nobody knows it, or empty.
    """
    unit, edit = candidate.unit, candidate.edit
    multiple = unit.instruction.k if whole else unit.instruction.fill
    asked = [edit.case(unit, filled(unit, case, multiple)) for case in cases]
    if candidate.flaw != NO_FLAW:
        definition = flawed_definition(unit, candidate.flaw)
        earlier = before or [None] * len(asked)
        rows = zip(cases, asked, earlier, strict=True)
        return [edit.code(came, definition.code_of(case, one)) for came, case, one in rows]
    if len(cases) <= (FEW if isinstance(unit.sum, WindowSum) else FEW_OF_OTHERS):
        return [edit.code(case, code) for case, code in zip(cases, by_model(unit, asked), strict=True)]
    codes, order = [0] * len(asked), sorted(range(len(asked)), key=lambda i: len(asked[i].a))
    at = iter(order)
    for batch in batches(unit, [asked[i] for i in order]):
        for code in batch_results(unit, batch).tolist():
            place = next(at)
            codes[place] = edit.code(cases[place], code)
    return codes


def batch_results(unit: Unit, batch: Batch) -> Codes:
    """The result codes (n,) of a unit: by its kernel, or by the model where it has none."""
    kernel = kernel_for(unit)
    if kernel is None or batch.a.shape[1] > kernel.longest:
        return code_array(by_model(unit, batch.cases()), unit.output.container_bits)
    scales = None if batch.scale_a is None or batch.scale_b is None else (batch.scale_a, batch.scale_b)
    return multiply_pairs(kernel, batch.a, batch.b, batch.c, scales)


def by_model(unit: Unit, cases: Iterable[Case]) -> list[int]:
    """The result codes of a unit for cases that need no filling up, by the model."""
    definition = definition_of(unit)
    return [definition.dot(case.a, case.b, case.c, *term_scales(unit, case)).code for case in cases]


def filled(unit: Unit, case: Case, multiple: int) -> Case:
    """A case with zero terms up to a multiple of so many; their blocks have the last block's scales."""
    missing = -len(case.a) % multiple
    if not missing:
        return case
    a, b = ((*side, *(0,) * missing) for side in (case.a, case.b))
    if unit.scale is None:
        return replace(case, a=a, b=b)
    length_a, length_b = block_lengths(unit)
    scale_a, scale_b = (
        (*side, *side[-1:] * (-(-len(a) // length) - len(side)))
        for side, length in ((case.scale_a, length_a), (case.scale_b, length_b))
    )
    return replace(case, a=a, b=b, scale_a=scale_a, scale_b=scale_b)
