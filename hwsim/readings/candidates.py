"""All that a wrong result may be explained by: readings of the specification, and mistakes of the catalogue."""

from __future__ import annotations

from functools import lru_cache, partial

from hwsim.readings.changes import Candidate, changed
from hwsim.readings.known import Semantic, semantics
from hwsim.readings.mistakes.catalogue import catalogue
from hwsim.readings.mistakes.mistake import Mistake
from hwsim.readings.mistakes.wiring import NotCleared
from hwsim.spec import Unit


@lru_cache(maxsize=8)
def candidates(unit: Unit) -> tuple[Semantic, ...]:
    """All that a result may be explained by, the likeliest first: single changes before several, then mistakes."""
    known = list(semantics(unit)[1:])
    made = [_semantic(unit, mistake) for mistake in catalogue(unit)]
    plain = [one for one in known if one.changes == 1 and not one.name.startswith("result bit")]
    bits = [one for one in known if one.changes == 1 and one.name.startswith("result bit")]
    several = sorted((one for one in known if one.changes > 1), key=lambda one: one.changes)
    names: dict[str, Semantic] = {}
    for one in (*plain, *made, *bits, *several):
        names.setdefault(one.name, one)
    return tuple(names.values())


def _semantic(unit: Unit, mistake: Mistake) -> Semantic:
    on = partial(_flawed, mistake)
    return Semantic(mistake.name, mistake.description, on(unit), on)


def _flawed(mistake: Mistake, unit: Unit) -> Candidate:
    if isinstance(mistake.flaw, NotCleared) and unit.operands.addend is None:
        # What a sum goes on from enters as an addend does, also where the unit takes none.
        unit = changed(unit, {"operands": {"addend": unit.model_dump(mode="json")["result"]["format"]}})
    return Candidate(mistake.name, unit, flaw=mistake.flaw)
