"""Whether an implementation has a unit, and what it lacks, in words."""

from __future__ import annotations

from dataclasses import dataclass

from hwsim.formats import ExponentFormat, FloatFormat
from hwsim.spec.unit import Unit


class NotImplementedYet(ValueError):
    """A valid specification asks for something that this version of hwsim does not have."""


@dataclass(frozen=True)
class Support:
    """What one implementation says of one unit; true where it has the unit.

    unit: its name. where: what is said of it after what it lacks, as `is not implemented yet`.
    lacks: the settings that it does not have, as keys of the specification with their values.
    """

    unit: str
    where: str
    lacks: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.lacks

    @property
    def reason(self) -> str:
        """What is said of the first setting that is lacking; nothing of a unit that is supported."""
        return f"unit {self.unit}: {self.lacks[0]} {self.where}" if self.lacks else ""

    def demand(self) -> None:
        """Raise NotImplementedYet with the reason for a unit that is not supported."""
        if self.lacks:
            raise NotImplementedYet(self.reason)


def implemented(unit: Unit) -> Support:
    """What is in the schema, and in no implementation yet."""
    scale, result = unit.scale, unit.result.format
    sides = (scale.a, scale.b) if scale is not None and scale.at == "product" else ()
    lacks = {
        "scale formats other than a power of two": not all(isinstance(side.format, ExponentFormat) for side in sides),
        "result formats without a fraction": isinstance(result, FloatFormat) and result.fraction_bits == 0,
        "unsigned factors": not all(fmt.signed for fmt in (unit.operands.a, unit.operands.b)),
        "sum.addend: late with a promotion": unit.late is not None and unit.promotion is not None,
    }
    return Support(unit.name, "is not implemented yet", tuple(what for what, lacking in lacks.items() if lacking))
