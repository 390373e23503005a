"""What a device may compute instead of a unit: changed settings, edited operands or results, a flaw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from operator import and_, or_, xor
from typing import Any

from pydantic import ValidationError

from hwsim.base.arrays import code_array
from hwsim.base.errors import InputError
from hwsim.cases.case import Batch, Case, batches, block_lengths, term_scales
from hwsim.compute.kernels.tiles import multiply_pairs
from hwsim.compute.products import kernel_for
from hwsim.explain.mistakes.flawed import NO_FLAW, Flaw, flawed_definition
from hwsim.formats import Class, FloatFormat, get_format
from hwsim.formats.codes import Codes
from hwsim.model.definition import definition_of
from hwsim.model.hooks import passed
from hwsim.model.rounding import round_to
from hwsim.model.terms import Term, addend_term
from hwsim.spec import Unit, WindowSum


# Functions of the module, not lambdas: candidates go to other processes.
def _without_addend(case: Case, unit: Unit, before: int | None) -> Case:
    return replace(case, c=0)


def _addend(code: int, unit: Unit, case: Case) -> int:
    return case.c


ADDEND_DROPPED = Flaw(case=_without_addend)
ADDEND_RETURNED = Flaw(code=_addend)


@lru_cache(maxsize=64)
def addend_rounded(fmt: FloatFormat) -> Flaw:
    """The flaw that the addend is first rounded, to nearest even, to a narrower format."""
    return Flaw(case=partial(_with_rounded_addend, fmt))


def _with_rounded_addend(fmt: FloatFormat, case: Case, unit: Unit, before: int | None) -> Case:
    addend_format = unit.operands.addend
    if not isinstance(addend_format, FloatFormat):
        raise InputError(f"unit {unit.name}: an addend is rounded first where it is a float")
    term = addend_term(addend_format, case.c)
    if term.cls is not Class.NORMAL:
        return case
    return replace(case, c=_in_format(addend_format, addend_term(fmt, _in_format(fmt, term))))


def _in_format(fmt: FloatFormat, term: Term) -> int:
    """A term's code in a format, rounded to nearest even; what is too large is infinity, or the largest number."""
    if term.cls is Class.ZERO:
        return (term.sign * fmt.sign_bit if fmt.signed_zero else 0) << fmt.padding
    sig, exp = (term.sig, term.exp - term.fraction_bits) if term.cls is Class.NORMAL else (1, 1 << 16)
    return round_to(fmt, term.sign, sig, exp, "rne", "infinity" if fmt.infinities else "saturate").code


def lane_dropped(lane: int) -> Flaw:
    """The flaw that the product of a lane of each group is left out."""
    return Flaw(case=partial(_without_lane, lane))


def _without_lane(lane: int, case: Case, unit: Unit, before: int | None) -> Case:
    groups = map(unit.instruction.indices, range(len(case.a) // unit.instruction.lanes))
    gone = {group[lane] for group in groups if lane < len(group)}
    a, b = (tuple(0 if i in gone else code for i, code in enumerate(side)) for side in (case.a, case.b))
    return replace(case, a=a, b=b)


def bit_faults(bit: int) -> dict[str, Flaw]:
    """The flaws that a bit of every result may have, by name."""
    mask = 1 << bit
    return {
        "always 0": Flaw(code=partial(_with_bits, and_, ~mask)),
        "always 1": Flaw(code=partial(_with_bits, or_, mask)),
        "inverted": Flaw(code=partial(_with_bits, xor, mask)),
    }


def _with_bits(operator: Callable[[int, int], int], mask: int, code: int, unit: Unit, case: Case) -> int:
    return operator(code, mask)


Changes = Mapping[str, Any]
Proposals = Mapping[str, Changes]

# Keys of Changes that are no part of a specification.
ADDEND_FIRST = "addend is rounded first to"
IN_ONE_SUM = "instructions that make one sum"


@dataclass(frozen=True)
class Candidate:
    """The results that a device may compute: a unit's, with a flaw or without."""

    name: str
    unit: Unit
    flaw: Flaw = NO_FLAW


def changed(unit: Unit, changes: Changes) -> Unit:
    """A unit with changed settings. A mapping changes a part of the specification; None removes it.

    Raises pydantic.ValidationError for settings that do not go together.
    """
    data = unit.model_dump(mode="json", exclude_unset=True)
    for key, value in changes.items():
        if isinstance(value, Mapping) and isinstance(data.get(key), dict):
            data[key] = {**data[key], **value}
        else:
            data[key] = value
    return Unit.model_validate(data)


def among(proposals: Proposals, unit: Unit, base: Unit | None = None) -> tuple[Candidate, ...]:
    """The candidates that proposals give: the first of equal candidates, and always the base itself.

    unit: as specified, which the proposals were made for. base: the unit to change, if other than `unit`.
    """
    base = base or unit
    candidates: list[Candidate] = []
    for name, changes in proposals.items():
        kept = {key: value for key, value in changes.items() if key not in (ADDEND_FIRST, IN_ONE_SUM)}
        if IN_ONE_SUM in changes:
            kept["instruction"] = _joined(unit, base, changes[IN_ONE_SUM])
        flaw = addend_rounded(_float(changes[ADDEND_FIRST])) if ADDEND_FIRST in changes else NO_FLAW
        try:
            varied = changed(base, kept)
        except ValidationError:
            continue  # it does not go with another setting
        if all((candidate.unit, candidate.flaw) != (varied, flaw) for candidate in candidates):
            candidates.append(Candidate(name, varied, flaw))
    if all((candidate.unit, candidate.flaw) != (base, NO_FLAW) for candidate in candidates):
        candidates.insert(0, Candidate("as specified" if base == unit else "as found", base))
    return tuple(candidates)


def _float(name: str) -> FloatFormat:
    fmt = get_format(name)
    if not isinstance(fmt, FloatFormat):
        raise TypeError(f"an addend is rounded to a float format, not {name}")
    return fmt


def _joined(unit: Unit, base: Unit, times: int) -> Changes:
    """The keys of an instruction as long as `times` of the unit's, with groups that grow alike."""
    already = base.instruction.k // unit.instruction.k
    return {"k": times * unit.instruction.k, "lanes": times * base.instruction.lanes // already}


# At most so many cases are left to the model: kernels of windows are compiled once for all, others for each rounding.
FEW, FEW_OF_OTHERS = 8, 2000


def results(
    candidate: Candidate, cases: Sequence[Case], whole: bool = False, before: Sequence[int | None] = ()
) -> list[int]:
    """The result codes of a candidate for cases, filled up with zeros to whole groups or instructions.

    whole: to whole instructions, even where whole groups would do. before: the device's result before each case, None
    where nobody knows it, or empty.
    """
    unit, flaw = candidate.unit, candidate.flaw
    multiple = unit.instruction.k if whole else unit.instruction.fill
    padded, earlier = [filled(unit, case, multiple) for case in cases], before or [None] * len(cases)
    if not flaw.outside:
        definition = flawed_definition(unit, flaw)
        return [definition.code_of(case, previous) for case, previous in zip(padded, earlier, strict=True)]
    taken = [passed(flaw.case, case, unit, previous) for case, previous in zip(padded, earlier, strict=True)]
    if len(cases) <= (FEW if isinstance(unit.sum, WindowSum) else FEW_OF_OTHERS):
        return [passed(flaw.code, code, unit, case) for case, code in zip(padded, by_model(unit, taken), strict=True)]
    codes, order = [0] * len(taken), sorted(range(len(taken)), key=lambda i: len(taken[i].a))
    places = iter(order)
    for batch in batches(unit, [taken[i] for i in order]):
        for code in batch_results(unit, batch).tolist():
            place = next(places)
            codes[place] = passed(flaw.code, code, unit, padded[place])
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
