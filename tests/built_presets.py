"""The presets that the RTL can build, and one of each arithmetic among them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

import pytest

from hwsim.spec import NotImplementedYet, load_unit, presets, refuse_unimplemented_in_hardware

WORDS = {"unit", "summary", "evidence", "source"}


def buildable(name: str) -> bool:
    try:
        refuse_unimplemented_in_hardware(load_unit(name))
    except NotImplementedYet:
        return False
    return True


def one_of_each(names: list[str]) -> list[str]:
    """Presets of several GPUs may have the same arithmetic: what is built from it differs in its name alone."""
    same = {load_unit(name).model_dump_json(exclude=WORDS): name for name in reversed(names)}
    return sorted(same.values())


BUILDABLE = [name for name in presets() if buildable(name)]

# Families of presets that have one rule in many formats and lengths, each of which other presets have built: of these,
# those that are simulated and linted. The model is tested with all of them.
FAMILIES = re.compile(r"(ada-mma-e[45]m[23]xe[45]m[23]|blackwell-(tcgen05|mxf8f6f4)|geforce-blackwell-mma|rvbna)-")
OF_FAMILIES = {
    "blackwell-tcgen05-e2m1-f32",
    "blackwell-tcgen05-e5m2xe4m3-f16",
    "blackwell-mxf8f6f4-e3m2-f32",
    "rvbna-bf16-f32-n16",
    "rvbna-e4m3xe5m2-f32-n4",
}
DISTINCT = one_of_each([name for name in BUILDABLE if name in OF_FAMILIES or not FAMILIES.match(name)])


def others_soaked(items: Iterable[Any], always: Collection[Any]) -> list[Any]:
    """Parameters of a test: those that run always, and the others in the soak."""
    rows = ((item, item if isinstance(item, tuple) else (item,)) for item in items)
    return [item if item in always else pytest.param(*values, marks=pytest.mark.soak) for item, values in rows]
