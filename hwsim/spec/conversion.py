"""Conversions: the code of a number in one format to its code in another, rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from hwsim.base.errors import InputError
from hwsim.formats import FieldFormat, get_format
from hwsim.formats.blocks import NO_TABLE, OF_OPERANDS
from hwsim.formats.reference import choices
from hwsim.spec.keys import Overflow, Rounding

AnyRounding = Rounding | Literal["stochastic"]
Missing = Literal["nan", "zero", "saturate"]
STEPS = ("decode", "normalize", "round")


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """A converter's results: for a code, what `target.encode` returns for the number that the code is.

    source, target: formats, or their names.
    rounding, overflow: as `Format.encode` takes them. random_bits: of `stochastic`, 0 of other roundings: a word of so
    many bits comes with each code.
    missing: what a number becomes that the target has no code for, as `encode` has it but for `error`; None for the
    first of NaN, zero and the nearest number that the target has.
    Raises ValueError for settings that the target does not have.
    """

    source: FieldFormat
    target: FieldFormat
    rounding: AnyRounding = "rne"
    overflow: Overflow = "saturate"
    missing: Missing | None = None
    random_bits: int = 0

    def __post_init__(self) -> None:
        for key in ("source", "target"):
            object.__setattr__(self, key, get_format(getattr(self, key)))
            if not isinstance(getattr(self, key), FieldFormat):
                raise InputError(f"{key} {NO_TABLE}, not {getattr(self, key).name}, which is a table")
            if not getattr(self, key).of_operands:
                raise InputError(f"{key} {OF_OPERANDS}; {getattr(self, key).name} has others")
        target = self.target
        if self.missing is not None and self.missing not in get_args(Missing):
            raise InputError(f"missing must be nan, zero or saturate, not {self.missing!r}")
        stochastic = self.rounding == "stochastic"
        drawn: dict[str, Any] = {"random_bits": self.random_bits or None}
        drawn |= {"random_bits": self.random_bits, "seed": 0} if stochastic else {}
        choices(target, self.rounding, self.overflow, self.substitute, **drawn)

    @property
    def substitute(self) -> Missing:
        """The substitute for a number that the target lacks."""
        if self.missing is not None:
            return self.missing
        return "nan" if self.target.has_nan else "zero" if self.target.has_zero else "saturate"

    @property
    def name(self) -> str:
        """`f32-to-e4m3`, and every setting that is not the usual one."""
        usual = Conversion(source=self.source, target=self.target)
        keys = ("rounding", "overflow", "substitute")
        words = [word for key in keys if (word := getattr(self, key)) != getattr(usual, key)]
        bits = [str(self.random_bits)] if self.random_bits else []
        return "-".join([f"{self.source.name}-to-{self.target.name}", *words, *bits])


def chosen_cuts(steps: Sequence[str], cuts: Sequence[str] | None, usual: Sequence[str]) -> tuple[str, ...]:
    """The steps after which there is a register, in order; the last step always has one.

    cuts: in any order; `usual` where it is None. Raises ValueError for a cut that is no step.
    """
    chosen = {*(usual if cuts is None else cuts), steps[-1]}
    if unknown := sorted(chosen - set(steps)):
        raise InputError(f"cuts must be among {', '.join(steps)}, not {', '.join(unknown)}")
    return tuple(step for step in steps if step in chosen)


def conversion_cuts(cuts: Sequence[str] | None = None) -> tuple[str, ...]:
    """The registers of a converter; after `normalize` and `round` unless given. Raises as `chosen_cuts`."""
    return chosen_cuts(STEPS, cuts, ("normalize", "round"))
