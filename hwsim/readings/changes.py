"""Changes of a unit's specification, by name, and the units that they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from hwsim.formats import FloatFormat, get_format
from hwsim.readings.edits import NO_EDIT, AddendRounded, Edit
from hwsim.readings.mistakes.flaw import NO_FLAW, Flaw
from hwsim.spec import Unit

Changes = Mapping[str, Any]
Proposals = Mapping[str, Changes]

# Keys of Changes that are no part of a specification.
ADDEND_FIRST = "addend is rounded first to"
IN_ONE_SUM = "instructions that make one sum"


@dataclass(frozen=True)
class Candidate:
    """Something that a device may compute: a unit's results, with operands or results edited, or with a flaw."""

    name: str
    unit: Unit
    edit: Edit = NO_EDIT
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
        edit = AddendRounded(_float(changes[ADDEND_FIRST])) if ADDEND_FIRST in changes else NO_EDIT
        try:
            other = changed(base, kept)
        except ValidationError:
            if base == unit:
                raise
            continue  # it does not go with a setting in which the base differs from the unit
        if all((candidate.unit, candidate.edit) != (other, edit) for candidate in candidates):
            candidates.append(Candidate(name, other, edit))
    if all((candidate.unit, candidate.edit) != (base, NO_EDIT) for candidate in candidates):
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
