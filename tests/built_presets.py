"""The presets that the RTL can build, and one of each arithmetic among them."""

from __future__ import annotations

from hwsim.spec import NotImplementedYet, load_unit, presets, refuse_unimplemented_in_hardware

WORDS = {"unit", "summary", "evidence", "source"}


def buildable(name: str) -> bool:
    try:
        refuse_unimplemented_in_hardware(load_unit(name))
    except NotImplementedYet:
        return False
    return True


BUILDABLE = [name for name in presets() if buildable(name)]

# Presets of several GPUs may have the same arithmetic: hardware that is built from it differs in its name alone.
_SAME = {load_unit(name).model_dump_json(exclude=WORDS): name for name in reversed(BUILDABLE)}
DISTINCT = sorted(_SAME.values())
