"""The key `protocol` of DUT.yaml: when a design takes beats and gives results, a class for each kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import BeforeValidator, Field, Strict, model_validator

from hwsim.cosim.dutpart import Bit, DutPart, Whole
from hwsim.errors import InputError
from hwsim.formats.invalid import shown
from hwsim.formats.yamlfile import RuleError

MOST_CYCLES = 4096  # of a latency
MOST_ENABLES = 8
UNTIL_EMPTY = 30  # cycles after which a stream without a reset is taken to be empty


class ControlPort(DutPart):
    """A port of one bit, or a bit of a port, and whether it is high or low where what it says is so."""

    port: Bit
    active: Literal["high", "low"] = "high"

    def __str__(self) -> str:
        return self.port


class NamedControl(NamedTuple):
    """A control port and its key in `protocol`."""

    key: str
    port: ControlPort

    def __str__(self) -> str:
        return f"{self.port} (protocol.{self.key})"


def named(key: str, port: ControlPort | None) -> NamedControl | None:
    """The port with its key, where there is a port."""
    return None if port is None else NamedControl(key, port)


def _control(value: Any) -> Any:
    """The short form: a port's name."""
    return {"port": value} if isinstance(value, str) else value


Control = Annotated[ControlPort, BeforeValidator(_control)]
Enables = Annotated[tuple[Control, ...], Field(max_length=MOST_ENABLES)]
Cycles = Annotated[Whole, Field(le=MOST_CYCLES)]


class KindOfProtocol(DutPart):
    """What all kinds have: keys that a message calls by their kind."""

    @model_validator(mode="before")
    @classmethod
    def _keys(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        kind = data.get("kind")
        for key in sorted(map(str, data)):
            if key not in cls.model_fields:
                raise InputError(f"of kind {kind} has no {key}")
        for key, field in cls.model_fields.items():
            if field.is_required() and key not in data:
                raise InputError(f"of kind {kind} needs {key}")
        return data

    @property
    def taking(self) -> NamedControl | None:
        """What says that a beat is taken; None where each is."""
        return None

    @property
    def giving(self) -> NamedControl | None:
        """What says that there is a result; None where only cycles are promised."""
        return None

    @property
    def clock_enables(self) -> tuple[NamedControl, ...]:
        """Ports that hold the whole design where it is while any of them is not active."""
        return ()

    @property
    def holding(self) -> tuple[ControlPort, ...]:
        """Ports that make results wait while they are not active."""
        return tuple(enable.port for enable in self.clock_enables)

    @property
    def pauses(self) -> bool:
        """Whether there may be cycles without a beat between two beats."""
        return True

    @property
    def accumulates(self) -> bool:
        """Whether sums of several beats end without a word of the last one."""
        return False

    @property
    def promised(self) -> int | None:
        """Cycles from a closing beat to its result; None where nobody promised any."""
        return None

    @property
    def empty_after(self) -> int:
        """Cycles after which a design without a reset is taken to be empty."""
        return self.promised or 0


def numbered(enables: tuple[ControlPort, ...]) -> tuple[NamedControl, ...]:
    """The ports of `enables`, with their keys."""
    return tuple(NamedControl(f"enables.{number}", port) for number, port in enumerate(enables))


class StreamProtocol(KindOfProtocol):
    """Valid and ready, in cycles that nobody promised; without a ready, that side never waits.

    enables: clock enables.
    """

    kind: Literal["stream"]
    input_valid: Control
    input_ready: Control | None = None
    output_valid: Control
    output_ready: Control | None = None
    enables: Enables = ()

    @property
    def taking(self) -> NamedControl | None:
        """`input_ready`."""
        return named("input_ready", self.input_ready)

    @property
    def giving(self) -> NamedControl | None:
        """`output_valid`."""
        return named("output_valid", self.output_valid)

    @property
    def clock_enables(self) -> tuple[NamedControl, ...]:
        """`enables`."""
        return numbered(self.enables)

    @property
    def holding(self) -> tuple[ControlPort, ...]:
        """`output_ready` and `enables`."""
        return (*([self.output_ready] if self.output_ready else []), *self.enables)

    @property
    def empty_after(self) -> int:
        """A guess: nobody promised how long it takes."""
        return UNTIL_EMPTY


class LatencyProtocol(KindOfProtocol):
    """A beat in every cycle, its result exactly `cycles` later, counted while the clock enables are active."""

    kind: Literal["latency"]
    cycles: Cycles
    input_valid: Control | None = None
    output_valid: Control | None = None
    enable: Control | None = None
    enables: Enables = ()

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


class ClearPort(ControlPort):
    """A port that makes a new sum begin, and when it is active.

    when: `first`: while the first beat of a sum is added; `before`: for a cycle of its own before that; `between`: in
    every cycle from the reading of a result to the first beat of the next sum.
    """

    when: Literal["before", "first", "between"] = "before"


class LoadPort(ControlPort):
    """A port that makes a new sum begin with the addend, and when it is active, as of `ClearPort`."""

    when: Literal["before", "first"] = "before"


class AccumulateProtocol(KindOfProtocol):
    """A register that adds a beat in every cycle in which `enable` is active, without a word of the last one.

    The sum is read `cycles` after its last beat; the next sum's pulses of `before` and `between` come after that.
    clear, load: at least one of them; where both are pulses before the first beat, `load` follows `clear`.
    Without `enable` beats follow one another without a pause. enables: clock enables.
    """

    kind: Literal["accumulate"]
    cycles: Annotated[int, Strict(), Field(ge=1, le=MOST_CYCLES)]
    clear: Annotated[ClearPort, BeforeValidator(_control)] | None = None
    load: Annotated[LoadPort, BeforeValidator(_control)] | None = None
    enable: Control | None = None
    output_valid: Control | None = None
    enables: Enables = ()

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
    def clock_enables(self) -> tuple[NamedControl, ...]:
        """`enables`."""
        return numbered(self.enables)

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


AnyProtocol = StreamProtocol | LatencyProtocol | CombinationalProtocol | AccumulateProtocol
KINDS = tuple(str(get_args(kind.model_fields["kind"].annotation)[0]) for kind in get_args(AnyProtocol))


def _known_kind(value: Any) -> Any:
    """Refuse a kind that there is not, in the words of the key."""
    if not isinstance(value, Mapping) or value.get("kind") in KINDS:
        return value
    *others, last = map(repr, KINDS)
    rule = f"must be {', '.join(others)} or {last}"
    raise RuleError("kind", f"{rule}, not {shown(value['kind'])}" if "kind" in value else f"is missing; it {rule}")


Protocol = Annotated[AnyProtocol, Field(discriminator="kind"), BeforeValidator(_known_kind)]
