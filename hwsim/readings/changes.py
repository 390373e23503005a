"""Changes of a unit's specification, by name, and the units that they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from hwsim.formats import Class, FloatFormat, get_format
from hwsim.model.arrays import definition_of
from hwsim.model.rounding import round_to
from hwsim.model.terms import addend_term
from hwsim.spec import Unit

Changes = Mapping[str, Any]
Proposals = Mapping[str, Changes]

# Keys of Changes that are no part of a specification.
ADDEND_FIRST = "addend is rounded first to"
IN_ONE_SUM = "instructions that make one sum"


@dataclass(frozen=True)
class Candidate:
    """A possible unit: its name, the changes of the specification, and the unit that they give.

    addend: a format that the addend is first rounded to (RNE), or None.
    """

    name: str
    changes: Changes
    unit: Unit
    addend: FloatFormat | None = None


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
        fmt = get_format(changes[ADDEND_FIRST]) if changes.get(ADDEND_FIRST) else None
        assert fmt is None or isinstance(fmt, FloatFormat)
        try:
            other = changed(base, kept)
        except ValidationError:
            if base == unit:
                raise
            continue  # it does not go with a setting in which the base differs from the unit
        if all((candidate.unit, candidate.addend) != (other, fmt) for candidate in candidates):
            candidates.append(Candidate(name, changes, other, fmt))
    if all(candidate.unit != base or candidate.addend for candidate in candidates):
        candidates.insert(0, Candidate("as specified" if base == unit else "as found", {}, base))
    return tuple(candidates)


def _joined(unit: Unit, base: Unit, times: int) -> Changes:
    """The keys of an instruction as long as `times` of the unit's, with groups that grow alike."""
    already = base.instruction.k // unit.instruction.k
    return {"k": times * unit.instruction.k, "lanes": times * base.instruction.lanes // already}


def candidate_result(
    candidate: Candidate,
    a: Sequence[int],
    b: Sequence[int],
    c: int = 0,
    scale_a: Sequence[int] = (),
    scale_b: Sequence[int] = (),
) -> int:
    """The result code of a candidate for a dot product, filled up with zeros to whole groups or instructions.

    a, b, scale_a, scale_b: a code for each term; c: the addend's code.
    """
    if candidate.addend is not None:
        c = rounded_addend(candidate.unit, candidate.addend, c)
    zeros = (0,) * (-len(a) % candidate.unit.instruction.fill)
    scales = (_filled(scale_a, zeros), _filled(scale_b, zeros))
    return definition_of(candidate.unit).dot((*a, *zeros), (*b, *zeros), c, *scales).code


def _filled(scales: Sequence[int], zeros: Sequence[int]) -> tuple[int, ...]:
    """Scales with the last of them repeated for the zeros."""
    return (*scales, *(scales[-1] for _ in zeros)) if scales else ()


def rounded_addend(unit: Unit, fmt: FloatFormat, code: int) -> int:
    """An addend, rounded to nearest even in a narrower format of the same container."""
    own = unit.operands.addend
    assert isinstance(own, FloatFormat) and own.container_bits == fmt.container_bits
    term = addend_term(own, code)
    if term.cls is not Class.NORMAL:
        return code
    return round_to(fmt, term.sign, term.sig, term.exp - term.fraction_bits, "rne", "infinity").code
