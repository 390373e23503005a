"""Support of a unit by an implementation: which settings it lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from hwsim.base.errors import InputError
from hwsim.formats import ExponentFormat, FloatFormat
from hwsim.formats.kind import Kind
from hwsim.spec.modes import Specified, modes_of
from hwsim.spec.sparse import AnyUnit, SparseUnit
from hwsim.spec.sums import AlignedReadingSum, LateAdd, RoundedSum
from hwsim.spec.unit import Unit

WORD_BITS = 32


class NotImplementedYet(InputError):
    """Raised for a setting of a valid specification that this version of hwsim does not support."""


@dataclass(frozen=True)
class Support:
    """Support of a unit by an implementation; true if nothing is lacking.

    unit: the unit's name. lacks: the settings that the implementation lacks, as keys with their values.
    where: the end of a sentence about such a setting, as `is not implemented yet`.
    unseen: settings that it leaves out because no result of the unit shows them.
    """

    unit: str
    where: str
    lacks: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.lacks

    @property
    def reason(self) -> str:
        """A sentence about the first setting that is lacking; empty for a unit that is supported."""
        return f"unit {self.unit}: {self.lacks[0]} {self.where}" if self.lacks else ""

    def demand(self) -> None:
        """Raise NotImplementedYet with the reason for a unit that is not supported."""
        if self.lacks:
            raise NotImplementedYet(self.reason)


def of_modes(unit: Specified, supports: Callable[[Unit], Support]) -> Support:
    """The support of the first mode that an implementation lacks; else of the first mode. supports: of a unit."""
    answers = [supports(mode) for mode in modes_of(unit)]
    return next((answer for answer in answers if not answer), replace(answers[0], unit=unit.name))


def in_beats(unit: AnyUnit, dense: Support) -> Support:
    """Support of a unit by hardware, by that of its dense unit: a sparse unit must select within each beat."""
    if not isinstance(unit, SparseUnit):
        return dense
    if not dense or unit.in_whole_beats:
        return replace(dense, unit=unit.name)
    rule, instruction = unit.sparsity, unit.dense.instruction
    parted = f"sparsity of {rule.kept} kept together in groups of {instruction.lanes}"
    lacks = parted if instruction.order == "sequential" else "sparsity with instruction.order other than sequential"
    return Support(unit.name, "is in the model, but not in hardware yet", (lacks,))


def implemented(unit: Unit) -> Support:
    """The support of a unit by any implementation without readings."""
    general = described(unit)
    if general and isinstance(unit.sum, AlignedReadingSum):
        return Support(unit.name, "is in the model and in compiled code alone", ("a reading of sum.method: aligned",))
    return general


def wide_codes(unit: Unit) -> Iterator[str]:
    """Formats of a unit with codes of more than 32 bits, as keys with their values."""
    operands, promotion, scale = unit.operands, unit.promotion, unit.scale
    formats: dict[str, Kind | None] = {
        "operands.a": operands.a,
        "operands.b": operands.b,
        "operands.addend": operands.addend,
        "scale.a.format": None if scale is None else scale.a.format,
        "scale.b.format": None if scale is None else scale.b.format,
        "result.format": unit.result.format,
        "late.format": unit.late.format if isinstance(unit.late, LateAdd) else None,
        "promotion.format": None if promotion is None else promotion.format,
    }
    return (f"{key}: {fmt.name}" for key, fmt in formats.items() if fmt is not None and fmt.container_bits > WORD_BITS)


def described(unit: Unit) -> Support:
    """The settings of a unit that no implementation supports yet."""
    scale, promotion = unit.scale, unit.promotion
    sides = (scale.a, scale.b) if scale is not None and scale.at == "product" else ()
    formats: dict[str, Kind | None] = {
        "result": unit.result.format,
        "sum": unit.sum.format if isinstance(unit.sum, RoundedSum) else None,
        "late": unit.late.format if isinstance(unit.late, LateAdd) else None,
        "promotion": None if promotion is None else promotion.format,
    }
    rounded = {key: fmt for key, fmt in formats.items() if isinstance(fmt, FloatFormat)}
    lacks = {
        "scale formats other than a power of two": not all(isinstance(side.format, ExponentFormat) for side in sides),
        # Ties go to the even code, whose last bit would be the exponent's.
        **{f"{key} formats without a fraction": fmt.fraction_bits == 0 for key, fmt in rounded.items()},
        "unsigned factors": any(
            isinstance(fmt, FloatFormat) and not fmt.signed for fmt in (unit.operands.a, unit.operands.b)
        ),
        "sum.addend: late with a promotion": unit.late is not None and unit.promotion is not None,
    }
    return Support(unit.name, "is not implemented yet", tuple(setting for setting, lacking in lacks.items() if lacking))
