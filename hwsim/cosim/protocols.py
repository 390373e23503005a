"""How beats enter a user's design and results leave it: the protocols of a DUT file, as their keys say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, get_args

from pydantic import BeforeValidator, Field, Strict, model_validator

from hwsim.base.errors import InputError
from hwsim.formats.yamlfile import FilePart, RuleError, short, shown

MOST_CYCLES = 4096  # of a latency, and of a schedule
# A port, with fields and indices behind its name.
SELECTED = r"[A-Za-z_][A-Za-z0-9_$]*(?:\.[A-Za-z_][A-Za-z0-9_$]*|\[\d+(?::\d+)?\])*"
Positive = Annotated[int, Strict(), Field(ge=1)]
Whole = Annotated[int, Strict(), Field(ge=0)]
Parameter = Annotated[int, Strict()] | str
Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_$]*$")]
Slice = Annotated[str, Field(pattern=f"^{SELECTED}$")]
Bit = Slice  # of one bit, which only its port knows


MOST_ENABLES = 8
UNTIL_EMPTY = 30  # cycles after which a stream without a reset is taken to be empty


class ControlPort(FilePart):
    """A port of one bit, or a bit of a port, and the level at which it is active."""

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


Control = Annotated[ControlPort, short("port")]
Enables = Annotated[tuple[Control, ...], Field(max_length=MOST_ENABLES)]
Cycles = Annotated[Whole, Field(le=MOST_CYCLES)]


TAGS, CONTEXTS = ("tag", "result_tag"), ("context", "result_context")
NO_TAGS = (TAGS, "which has no tags")


class KindOfProtocol(FilePart):
    """The base of all kinds of protocol: keys that a message calls by their kind.

    meaningless: ports that a kind has no meaning for, and why; needed: those that it must have.
    """

    meaningless: ClassVar[tuple[tuple[tuple[str, ...], str], ...]] = (NO_TAGS,)
    needed: ClassVar[tuple[str, ...]] = ()

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

    def control(self, key: str) -> NamedControl | None:
        """The port of a key, with that key; None where there is none."""
        port: ControlPort | None = getattr(self, key, None)
        return None if port is None else NamedControl(key, port)

    @property
    def taking(self) -> NamedControl | None:
        """The control that says that a beat is taken; None where every beat is."""
        return self.control("input_ready")

    @property
    def giving(self) -> NamedControl | None:
        """The control that says that there is a result; None where only cycles are promised."""
        return self.control("output_valid") or self.control("done")

    @property
    def clock_enables(self) -> tuple[NamedControl, ...]:
        """Ports that stop the whole design while any of them is not active."""
        return ()

    @property
    def holding(self) -> tuple[ControlPort, ...]:
        """Ports that make results wait while they are not active."""
        ready = self.control("output_ready")
        return (*([ready.port] if ready else []), *(enable.port for enable in self.clock_enables))

    def patient(self, cycles: int) -> Self | None:
        """The same protocol, with results awaited for so much longer; None where no cycle is promised."""
        return None

    @property
    def pauses(self) -> bool:
        """True if there may be cycles without a beat between two beats."""
        return True

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
        """Cycles from a closing beat to its result; None where none are promised."""
        return getattr(self, "cycles", None)

    @property
    def empty_after(self) -> int:
        """Cycles after which a design without a reset is taken to be empty; a guess where none are promised."""
        return UNTIL_EMPTY if self.promised is None else self.promised


class ClockedProtocol(KindOfProtocol):
    """A protocol with a clock. enables: clock enables, without any of which the whole design stands still."""

    enables: Enables = ()

    @property
    def clock_enables(self) -> tuple[NamedControl, ...]:
        return tuple(NamedControl(f"enables.{number}", port) for number, port in enumerate(self.enables))


OTHERWISE = "otherwise"
# A cycle, `3..34` for several, or all that no other key names.
CycleKey = Annotated[str, Field(pattern=rf"^(\d{{1,4}}(\.\.\d{{1,4}})?|{OTHERWISE})$")]
FieldPart = Annotated[str, Field(pattern=r"^[a-z_]+(\[\d{1,6}(\.\.\d{1,6})?\])?$")]


def _entry(value: Any) -> Any:
    """Expand the short forms: a number, or a field's name."""
    if isinstance(value, int) and not isinstance(value, bool):
        return {"constant": value}
    return {"field": value} if isinstance(value, str) else value


class SerialEntry(FilePart):
    """The content of a port in the cycles of a key.

    constant: the same number in each of them. field: elements of a field, `a`, `a[3]` or `a[0..15]`, cut into words as
    wide as the port, one in each cycle. first: whether the word of the least significant bits, and of the first
    element, comes first or last.
    """

    constant: Whole | None = None
    field: FieldPart | None = None
    first: Literal["low", "high"] = "low"

    @model_validator(mode="after")
    def _one_form(self) -> SerialEntry:
        if (self.constant is None) == (self.field is None):
            raise InputError("must have one of constant and field")
        return self

    @property
    def part(self) -> tuple[str, int | None, int | None]:
        """The field's name, and the first and the last of its elements; None of all of them."""
        name, _, inside = (self.field or "").rstrip("]").partition("[")
        first, _, last = inside.partition("..")
        return (name, int(first), int(last or first)) if first else (name, None, None)


Schedule = dict[Slice, dict[CycleKey, Annotated[SerialEntry, BeforeValidator(_entry)]]]
ScheduleCycle = Annotated[int, Strict(), Field(ge=1, le=MOST_CYCLES)]


def cycles_of(key: str) -> range:
    """The cycles that a key names; none for `otherwise`."""
    if key == OTHERWISE:
        return range(0)
    first, _, last = key.partition("..")
    return range(int(first), int(last or first) + 1)


def fields_of(schedule: Mapping[str, Mapping[str, SerialEntry]]) -> set[str]:
    return {entry.part[0] for entries in schedule.values() for entry in entries.values() if entry.field is not None}


OPERANDS = ("a", "b", "c", "scale_a", "scale_b")


class SerialProtocol(ClockedProtocol):
    """A dot product in so many cycles, its fields on ports by a schedule, and then its result.

    cycles: from the first cycle of a dot product to the first of the next. inputs, results: for each port or slice what
    it holds in which cycle, counted from 0; `otherwise` in all other cycles, zero unless given. results must not take
    more cycles than that. start: active in cycle 0. done: the cycles of `results` count from the first in which it is
    active after the last of `cycles`. busy: the next begins once it is not active; unless there is one, and there is
    `done`, once the result is read.
    between: whether a design waits for the next dot product, or repeats its cycles by itself from the reset on.
    enables: clock enables.
    """

    meaningless = (NO_TAGS, (("first", "last", *CONTEXTS), "which sends one dot product after another"))

    kind: Literal["serial"]
    cycles: ScheduleCycle
    inputs: Schedule
    results: Schedule
    start: Control | None = None
    busy: Control | None = None
    done: Control | None = None
    between: Literal["waits", "repeats"] = "waits"

    @model_validator(mode="after")
    def _fits(self) -> SerialProtocol:
        for key in ("start", "busy", "done"):
            if self.between == "repeats" and getattr(self, key) is not None:
                raise RuleError(key, "must not be given where between is repeats")
        for name, schedule, known in (("inputs", self.inputs, OPERANDS), ("results", self.results, ("result",))):
            for port, entries in schedule.items():
                for key, entry in entries.items():
                    where = f"{name}.{port}.{key}"
                    if entry.field is not None and entry.part[0] not in known:
                        raise RuleError(where, f"must be of {', '.join(known)}, not {entry.field}")
                    if entry.field is None and name == "results":
                        raise RuleError(where, f"must be of result, not {entry.constant}")
                    if name == "inputs" and cycles_of(key)[-1:] and cycles_of(key)[-1] >= self.cycles:
                        raise RuleError(where, f"must be of cycles below protocol.cycles ({self.cycles})")
        if not self.read:
            raise RuleError("results", "must name a cycle in which the result is read")
        if self.done is None and self.read[-1] - self.read[0] >= self.cycles:
            raise RuleError("results", f"must be of at most protocol.cycles ({self.cycles}) cycles, not more")
        return self

    @property
    def read(self) -> range:
        """The cycles from the first to the last in which a part of the result is read."""
        cycles = [cycle for entries in self.results.values() for key in entries for cycle in cycles_of(key)]
        return range(min(cycles), max(cycles) + 1) if cycles else range(0)

    @property
    def scheduled(self) -> set[str]:
        return fields_of(self.inputs) | fields_of(self.results)

    @property
    def taking(self) -> NamedControl | None:
        if self.busy is None:
            return None
        idle: Literal["high", "low"] = "low" if self.busy.active == "high" else "high"
        return NamedControl("busy", ControlPort(port=self.busy.port, active=idle))

    @property
    def given(self) -> int:
        """The cycle, counted as those of `results`, in which the whole result is there."""
        return self.read[-1] + 1 if self.done else max(self.read[-1] + 1, self.cycles)

    @property
    def promised(self) -> int | None:
        # From the last of `cycles`, in which the operands are taken.
        return None if self.done else self.given - (self.cycles - 1)

    def patient(self, cycles: int) -> Self | None:
        if self.done is not None:
            return None
        return self if self.between == "repeats" else self.model_copy(update={"cycles": self.cycles + cycles})

    @property
    def beat_cycles(self) -> int:
        return self.cycles

    @property
    def empty_after(self) -> int:
        return self.cycles + self.read[-1] + (UNTIL_EMPTY if self.done else 1)


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


class StreamProtocol(Handshakes):
    """Results in the order of their beats."""

    kind: Literal["stream"]


class TaggedProtocol(Handshakes):
    """Results in any order, each with the tag of its beats: `ports.tag` and `ports.result_tag`.

    tags: dot products that may be under way at once. A tag is given again once its result has come.
    """

    meaningless = ((CONTEXTS, "which has tags"),)
    needed = TAGS

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
    def clock_enables(self) -> tuple[NamedControl, ...]:
        enable = self.control("enable")
        return (*([enable] if enable else []), *super().clock_enables)

    def patient(self, cycles: int) -> Self:
        return self


class LateControl(ControlPort):
    """A control port of a later pipeline stage than the operands. at: how many cycles later it is."""

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

    meaningless = (NO_TAGS, (("first", "last", *CONTEXTS), "which clears: see protocol.clear"))

    kind: Literal["accumulate"]
    cycles: Annotated[int, Strict(), Field(ge=1, le=MOST_CYCLES)]
    clear: Annotated[ClearPort, short("port")] | None = None
    load: Annotated[LoadPort, short("port")] | None = None
    enable: Annotated[LateControl, short("port")] | None = None
    output_valid: Control | None = None

    @model_validator(mode="after")
    def _begins(self) -> AccumulateProtocol:
        if self.clear is None and self.load is None:
            raise InputError("of kind accumulate needs clear or load")
        return self

    def patient(self, cycles: int) -> Self:
        return self.model_copy(update={"cycles": self.cycles + cycles})

    @property
    def pauses(self) -> bool:
        return self.enable is not None


class CombinationalProtocol(KindOfProtocol):
    """A result in the same cycle, without a clock."""

    kind: Literal["combinational"]

    @property
    def promised(self) -> int:
        return 0


AnyProtocol = (
    StreamProtocol | LatencyProtocol | CombinationalProtocol | AccumulateProtocol | SerialProtocol | TaggedProtocol
)
KINDS = tuple(str(get_args(kind.model_fields["kind"].annotation)[0]) for kind in get_args(AnyProtocol))


def _known_kind(value: Any) -> Any:
    """Refuse an unknown kind, in the words of the key."""
    if not isinstance(value, Mapping) or value.get("kind") in KINDS:
        return value
    *others, last = map(repr, KINDS)
    rule = f"must be {', '.join(others)} or {last}"
    raise RuleError("kind", f"{rule}, not {shown(value['kind'])}" if "kind" in value else f"is missing; it {rule}")


Protocol = Annotated[AnyProtocol, Field(discriminator="kind"), BeforeValidator(_known_kind)]
