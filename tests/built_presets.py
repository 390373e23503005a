"""The presets that the RTL can build, and one of each arithmetic among them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from typing import Any

import pytest

from hwsim.rtl import supports
from hwsim.spec import Unit, load_unit, presets

WORDS = {"unit", "summary", "evidence", "source"}


def buildable(name: str) -> bool:
    return bool(supports(load_unit(name)))


def one_of_each(names: list[str]) -> list[str]:
    """Presets of several GPUs may have the same arithmetic: what is built from it differs in its name alone."""
    return sorted(same[0] for same in same_arithmetic(names))


def same_arithmetic(names: list[str]) -> list[list[str]]:
    """The presets of each arithmetic, in their order."""
    same: dict[str, list[str]] = {}
    for name in names:
        same.setdefault(load_unit(name).model_dump_json(exclude=WORDS), []).append(name)
    return list(same.values())


def one_of_each_family(names: list[str]) -> list[str]:
    """Presets with every rule among these, and with every format of a factor.

    A family's presets have the same rules, in other formats, widths and lengths; its shortest stands for it, and of
    those with a format that no such one has, again the shortest.
    """
    shortest = sorted(names, key=lambda name: (load_unit(name).instruction.lanes, load_unit(name).instruction.k, name))
    families: set[str] = set()
    factors: set[str] = set()
    chosen = []
    for fill in (False, True):
        for name in shortest:
            unit = load_unit(name)
            own = {unit.operands.a.name, unit.operands.b.name}
            if (not own <= factors) if fill else (_rules(unit) not in families):
                chosen.append(name)
                families.add(_rules(unit))
                factors |= own
    return sorted(chosen)


LENGTHS_AND_FACTORS = {"a", "b", "k", "lanes", "fraction_bits", "block"}


def _rules(unit: Unit) -> str:
    """A unit without its words, its factors' formats and its lengths; scales count by where they are."""

    def without(data: Any) -> Any:
        if isinstance(data, dict):
            return {key: without(value) for key, value in data.items() if key not in LENGTHS_AND_FACTORS}
        return data

    return json.dumps([without(unit.model_dump(mode="json", exclude=WORDS)), unit.scale is None], sort_keys=True)


BUILDABLE = [name for name in presets() if buildable(name)]

# Families of presets that have one rule in many formats and lengths, each of which other presets have built: of these,
# those that are simulated and linted. The model is tested with all of them.
FAMILIES = re.compile(
    r"(arm|ada-mma-e[45]m[23]xe[45]m[23]|blackwell-(tcgen05|mxf8f6f4|mma-k\d)|geforce-blackwell-mma|turing-mma|rvbna)-"
)
OF_FAMILIES = {
    "arm-bfmmla-bf16-f32",
    "arm-bfmmla-bf16-f32-ebf",
    "arm-fdot-e5m2xe4m3-f16",
    "arm-fmlall-e4m3-f32",
    "blackwell-tcgen05-e2m1-f32",
    "blackwell-tcgen05-e5m2xe4m3-f16",
    "blackwell-mxf8f6f4-e3m2-f32",
    "rvbna-bf16-f32-n16",
    "rvbna-e4m3xe5m2-f32-n4",
}
DISTINCT = one_of_each([name for name in BUILDABLE if name in OF_FAMILIES or not FAMILIES.match(name)])


def others_slow(items: Iterable[Any], always: Collection[Any], soak: Collection[Any] | None = None) -> list[Any]:
    """Parameters of a test: those that run always, those of `make soak`, and what runs where all are asked for.

    Without `soak` it has all but those that run always.
    """

    def marks(item: Any) -> list[pytest.MarkDecorator]:
        if item in always:
            return []
        return [pytest.mark.slow] if soak is None or item in soak else [pytest.mark.slow, pytest.mark.every]

    rows = ((item, item if isinstance(item, tuple) else (item,)) for item in items)
    return [pytest.param(*values, marks=marks(item)) if marks(item) else item for item, values in rows]
