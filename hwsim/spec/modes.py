"""Units of several modes: what a beat may choose, which is the formats of its factors, and whether its scales count.

Each mode is a unit of its own for the model, compiled code and C. In hardware all share one datapath, and every beat
says which mode it is of.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Self, TypeAlias

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from hwsim.base.text import facts, titled
from hwsim.formats.blocks import as_written, one_code, reference
from hwsim.formats.catalog import nearest
from hwsim.formats.yamlfile import RuleError, SpecError, broken_rule
from hwsim.spec.fields import worded
from hwsim.spec.keys import Factor, Flag
from hwsim.spec.parts import Factors, SharedKeys
from hwsim.spec.unit import Unit

MOST_MODES = 256
ANY = "any"  # in the place of modes: a mode for every pair of some formats


class Mode(Factors):
    """The factors of one mode's beats."""

    scales: Flag = True
    """Whether a beat's scales count; where they do not, every scale is 1."""


def _expanded(value: Any) -> Any:
    """Modes by name, also of `any: [formats]`, which stands for a mode for every pair of these."""
    if not isinstance(value, Mapping) or value.keys() != {ANY} or not isinstance(value[ANY], list):
        return value
    formats = [reference(fmt) for fmt in value[ANY]]
    pairs = itertools.product(formats, formats)
    return {a.name if a == b else f"{a.name}x{b.name}": {"a": as_written(a), "b": as_written(b)} for a, b in pairs}


ModeName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
Modes = Annotated[dict[ModeName, Mode], Field(min_length=2, max_length=MOST_MODES), BeforeValidator(_expanded)]


class ModalUnit(SharedKeys):
    """A unit whose beats choose a mode. All keys but the factors' formats are those of every mode."""

    modes: Modes

    def __hash__(self) -> int:
        return hash((self.unit, *self.modes))

    @model_validator(mode="after")
    def _rules(self) -> Self:
        kinds: dict[tuple[Factor, Factor, bool], str] = {}
        for name, mode in self.modes.items():
            if (same := kinds.setdefault((mode.a, mode.b, mode.scales), name)) != name:
                raise RuleError(f"modes.{name}", f"must differ from mode {same}")
            if not mode.scales:
                self._check_unscaled(name)
        if self.scale is not None and not any(mode.scales for mode in self.modes.values()):
            raise RuleError("scale", "must be none: no mode has scales")
        for name in self.modes:
            self._check_unit(name)
        return self

    def _check_unscaled(self, name: str) -> None:
        """Raise RuleError where a scale of 1 is not what beats without scales have."""
        where = f"modes.{name}.scales"
        if self.scale is None:
            raise RuleError(where, "must be true: there is no scale")
        for side in (self.scale.a, self.scale.b):
            if side.format.decode([one_code(side.format)])[0] != 1:
                raise RuleError(where, f"must be true: {side.format.name} has no 1")

    def _check_unit(self, name: str) -> None:
        """Raise RuleError for a mode that is no unit."""
        try:
            self.mode(name)
        except ValidationError as error:
            first = error.errors()[0]
            inside, rule = broken_rule(first)
            key = ".".join(map(str, (*first["loc"], *inside)))
            raise RuleError(f"modes.{name}", f"must make a unit: {key} {rule}") from None

    def mode(self, name: str) -> Unit:
        """One mode as a unit of its own. Raises SpecError for an unknown name, naming the nearest."""
        if name not in self.modes:
            raise SpecError(f"unit {self.name}: {nearest('mode', name, self.modes)}")
        mode = self.modes[name]
        data = worded(self.model_dump(mode="json", exclude_unset=True, exclude={"modes"}))
        factors = mode.model_dump(mode="json", include={"a", "b"})
        named = all(isinstance(fmt, str) for fmt in factors.values())
        factor_names = f"{factors['a']} x {factors['b']}" if named else name
        data |= {
            "unit": f"{self.name}-{name}",
            "summary": f"mode {name} of {self.name}: {factor_names}{'' if mode.scales else ', without scales'}",
            "operands": {**factors, **data.get("operands", {})},
        }
        if not mode.scales:
            data["scale"] = "none"
        return Unit.model_validate(data)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Every mode as a unit; a beat's mode is a number, counted from 0 in this order."""
        return tuple(map(self.mode, self.modes))

    @property
    def mode_bits(self) -> int:
        """Bits of a beat's mode."""
        return (len(self.modes) - 1).bit_length()

    def _repr_html_(self) -> str:
        modes = self.model_dump(mode="json", include={"modes"})["modes"]
        return titled(self.name, self.summary, facts((name, str(mode)) for name, mode in modes.items()))


# A specification, of one mode or of several.
Specified: TypeAlias = Unit | ModalUnit


def modes_of(unit: Specified) -> tuple[Unit, ...]:
    """Every mode of a specification as a unit, by the number that a beat gives; of a unit, itself."""
    return unit.units if isinstance(unit, ModalUnit) else (unit,)
