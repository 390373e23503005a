"""What all protocols of DUT.yaml have in common: ports that control, and what an adapter and a bench ask of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, model_validator

from hwsim.cosim.dut.dutpart import MOST_CYCLES, Bit, DutPart, Whole
from hwsim.errors import InputError

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


def as_control(value: Any) -> Any:
    """The short form: a port's name."""
    return {"port": value} if isinstance(value, str) else value


Control = Annotated[ControlPort, BeforeValidator(as_control)]
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
    def scheduled(self) -> set[str]:
        """Fields that stand at ports in some cycles only."""
        return set()

    @property
    def beat_cycles(self) -> int:
        """Cycles that a beat takes."""
        return 1

    @property
    def promised(self) -> int | None:
        """Cycles from a closing beat to its result; None where nobody promised any."""
        return None

    @property
    def empty_after(self) -> int:
        """Cycles after which a design without a reset is taken to be empty."""
        return self.promised or 0


class ClockedProtocol(KindOfProtocol):
    """A protocol with a clock. enables: clock enables, without any of which the whole design stands still."""

    enables: Enables = ()

    @property
    def clock_enables(self) -> tuple[NamedControl, ...]:
        """`enables`."""
        return numbered(self.enables)


def numbered(enables: tuple[ControlPort, ...]) -> tuple[NamedControl, ...]:
    """The ports of `enables`, with their keys."""
    return tuple(NamedControl(f"enables.{number}", port) for number, port in enumerate(enables))
