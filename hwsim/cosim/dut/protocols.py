"""The key `protocol` of DUT.yaml: when a design takes beats and gives results, a class for each kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, Strict, model_validator

from hwsim.cosim.dut.dutpart import MOST_CYCLES, Whole
from hwsim.cosim.dut.protocolkind import (
    UNTIL_EMPTY,
    ClockedProtocol,
    Control,
    ControlPort,
    Cycles,
    KindOfProtocol,
    NamedControl,
    as_control,
    named,
    numbered,
)
from hwsim.cosim.dut.serialprotocol import SerialProtocol
from hwsim.errors import InputError
from hwsim.formats.invalid import shown
from hwsim.formats.yamlfile import RuleError

MOST_TAGS = 256
MOST_STAGES = 64  # by which a control comes later than the operands
MOST_READY_LATENCY = 64


class Handshakes(ClockedProtocol):
    """Valid and ready, in cycles that nobody promised; without a ready, that side never waits.

    ready_latency: cycles from one in which `input_ready` is active to that in which a beat may come, and is taken.
    enables: clock enables.
    """

    input_valid: Control
    input_ready: Control | None = None
    ready_latency: Annotated[Whole, Field(le=MOST_READY_LATENCY)] = 0
    output_valid: Control
    output_ready: Control | None = None

    @model_validator(mode="after")
    def _is_ready(self) -> Self:
        if self.ready_latency and self.input_ready is None:
            raise RuleError("ready_latency", "needs input_ready")
        return self

    @property
    def taking(self) -> NamedControl | None:
        """`input_ready`."""
        return named("input_ready", self.input_ready)

    @property
    def giving(self) -> NamedControl | None:
        """`output_valid`."""
        return named("output_valid", self.output_valid)

    @property
    def holding(self) -> tuple[ControlPort, ...]:
        """`output_ready` and `enables`."""
        return (*([self.output_ready] if self.output_ready else []), *self.enables)

    @property
    def empty_after(self) -> int:
        """A guess: nobody promised how long it takes."""
        return UNTIL_EMPTY


class StreamProtocol(Handshakes):
    """Results in the order of their beats."""

    kind: Literal["stream"]


class TaggedProtocol(Handshakes):
    """Results in any order, each with the tag of its beats: `ports.tag` and `ports.result_tag`.

    tags: dot products that may be under way at once. A tag is given again once its result has come.
    """

    kind: Literal["tagged"]
    tags: Annotated[int, Strict(), Field(ge=2, le=MOST_TAGS)]


class LatencyProtocol(ClockedProtocol):
    """A beat in every cycle, its result exactly `cycles` later, counted while the clock enables are active."""

    kind: Literal["latency"]
    cycles: Cycles
    input_valid: Control | None = None
    output_valid: Control | None = None
    enable: Control | None = None

    @property
    def giving(self) -> NamedControl | None:
        """`output_valid`."""
        return named("output_valid", self.output_valid)

    @property
    def clock_enables(self) -> tuple[NamedControl, ...]:
        """`enable` and `enables`."""
        return (*([NamedControl("enable", self.enable)] if self.enable else []), *numbered(self.enables))

    @property
    def promised(self) -> int:
        """`cycles`."""
        return self.cycles


class LateControl(ControlPort):
    """A control port of a later pipeline stage than the operands. at: cycles by which it comes later than they do."""

    at: Annotated[Whole, Field(le=MOST_STAGES)] = 0


class ClearPort(LateControl):
    """A port that makes a new sum begin, and when it is active; with `at`, so many cycles after that.

    when: `first`: while the first beat of a sum is added; `before`: for a cycle of its own before that; `between`: in
    every cycle from the reading of a result to the first beat of the next sum.
    """

    when: Literal["before", "first", "between"] = "before"


class LoadPort(ControlPort):
    """A port that makes a new sum begin with the addend, and when it is active, as of `ClearPort`."""

    when: Literal["before", "first"] = "before"


class AccumulateProtocol(ClockedProtocol):
    """A register that adds a beat in every cycle in which `enable` is active, without a word of the last one.

    The sum is read `cycles` after its last beat; the next sum's pulses of `before` and `between` come after that.
    clear, load: at least one of them; where both are pulses before the first beat, `load` follows `clear`.
    Without `enable` beats follow one another without a pause. enables: clock enables.
    """

    kind: Literal["accumulate"]
    cycles: Annotated[int, Strict(), Field(ge=1, le=MOST_CYCLES)]
    clear: Annotated[ClearPort, BeforeValidator(as_control)] | None = None
    load: Annotated[LoadPort, BeforeValidator(as_control)] | None = None
    enable: Annotated[LateControl, BeforeValidator(as_control)] | None = None
    output_valid: Control | None = None

    @model_validator(mode="after")
    def _begins(self) -> AccumulateProtocol:
        if self.clear is None and self.load is None:
            raise InputError("of kind accumulate needs clear or load")
        return self

    @property
    def accumulates(self) -> bool:
        """Always."""
        return True

    @property
    def giving(self) -> NamedControl | None:
        """`output_valid`."""
        return named("output_valid", self.output_valid)

    @property
    def pauses(self) -> bool:
        """Where there is an `enable`."""
        return self.enable is not None

    @property
    def promised(self) -> int:
        """`cycles`."""
        return self.cycles


class CombinationalProtocol(KindOfProtocol):
    """A result in the same cycle, without a clock."""

    kind: Literal["combinational"]

    @property
    def promised(self) -> int:
        """None at all."""
        return 0


AnyProtocol = (
    StreamProtocol | LatencyProtocol | CombinationalProtocol | AccumulateProtocol | SerialProtocol | TaggedProtocol
)
KINDS = tuple(str(get_args(kind.model_fields["kind"].annotation)[0]) for kind in get_args(AnyProtocol))


def _known_kind(value: Any) -> Any:
    """Refuse a kind that there is not, in the words of the key."""
    if not isinstance(value, Mapping) or value.get("kind") in KINDS:
        return value
    *others, last = map(repr, KINDS)
    rule = f"must be {', '.join(others)} or {last}"
    raise RuleError("kind", f"{rule}, not {shown(value['kind'])}" if "kind" in value else f"is missing; it {rule}")


Protocol = Annotated[AnyProtocol, Field(discriminator="kind"), BeforeValidator(_known_kind)]
