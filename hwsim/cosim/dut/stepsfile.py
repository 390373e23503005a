"""The key `steps` of DUT.yaml: which signals of a design hold what the steps of a datapath make."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, model_validator

from hwsim.errors import InputError

MOST_CYCLE, MOST_APART = 4096, 1 << 16
Signal = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\s;]+$")]


class StepPart(BaseModel):
    """A part of the key: frozen, with no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _placed(value: Any) -> Any:
    """The short forms: a signal's name, a list of them, or a number."""
    if isinstance(value, str):
        return {"each" if "{}" in value else "signal": value}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"constant": value}
    return {"signals": value} if isinstance(value, list) else value


class SignalPlace(StepPart):
    """Which signals hold a field.

    signal: one, or a slice of one, `core.sums[31:0]`, that holds all elements side by side. signals: one for each
    element. each: a signal for each element, `{}` standing for its number. constant: what it always is.
    Names start at the design's top; bits of a slice count from the least significant, 0.
    lane0: whether element 0 stands in the low or in the high bits of `signal`. signed: whether the design's number is
    in two's complement; unless given, as the field's is, and not with `plus`: what the field is more than the design's.
    cycle: after the one in which the beat was taken; unless given, the first in which the signal is the beat's alone.
    """

    signal: Signal | None = None
    signals: Annotated[tuple[Signal, ...], Field(min_length=1)] | None = None
    each: Signal | None = None
    constant: Annotated[int, Strict(), Field(ge=0, le=MOST_APART)] | None = None
    lane0: Literal["low", "high"] = "low"
    signed: Annotated[bool, Strict()] | None = None
    plus: Annotated[int, Strict(), Field(ge=-MOST_APART, le=MOST_APART)] = 0
    cycle: Annotated[int, Strict(), Field(ge=0, le=MOST_CYCLE)] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> SignalPlace:
        if sum(form is not None for form in (self.signal, self.signals, self.each, self.constant)) != 1:
            raise InputError("must have one of signal, signals, each and constant")
        if self.constant is not None and len(self.model_fields_set) > 1:
            raise InputError("must have no other key beside constant")
        return self


PlacedSignal = Annotated[SignalPlace, BeforeValidator(_placed)]
NOTHING = SignalPlace(constant=0)


class TermSignals(StepPart):
    """A term: (-1)^sign * sig * 2^(exp - bias)."""

    sign: PlacedSignal
    exp: PlacedSignal
    sig: PlacedSignal


class SpecialSignals(StepPart):
    """Whether a term is NaN (or infinities of both signs, or zero times infinity), +Inf, or -Inf."""

    nan: PlacedSignal
    positive: PlacedSignal = NOTHING
    negative: PlacedSignal = NOTHING


class MultiplyStep(StepPart):
    """What `multiply` makes: a term of each lane, the addend, and what is special."""

    terms: TermSignals
    addend: TermSignals | None = None
    special: SpecialSignals


class MaximumStep(StepPart):
    """What `maximum` makes."""

    max_exp: PlacedSignal


class AlignedSignals(StepPart):
    """A term in the window is ones + carry; without `carry`, ones is the number in two's complement."""

    ones: PlacedSignal
    carry: PlacedSignal | None = None


class AlignStep(StepPart):
    """What `align` makes of each lane's term, and last of the addend."""

    aligned: AlignedSignals


class SumStep(StepPart):
    """What `sum` makes."""

    total: PlacedSignal


class DesignBoundaries(StepPart):
    """The steps of a datapath that a design has, and where it has what they make."""

    multiply: MultiplyStep
    maximum: MaximumStep
    align: AlignStep
    sum: SumStep
