"""DUT.yaml: a user's design, how it is driven, and the unit that it claims to be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, assert_never

from pydantic import BeforeValidator, Field, Strict, model_validator

from hwsim.cosim.design import SuiteKind
from hwsim.cosim.dut.dutpart import DutPart, Name, Parameter, Positive, Slice
from hwsim.cosim.dut.flagkeys import FlagPorts, flagged
from hwsim.cosim.dut.places import INPUTS, Constant, Ports
from hwsim.cosim.dut.protocolkind import Control
from hwsim.cosim.dut.protocols import (
    AccumulateProtocol,
    CombinationalProtocol,
    LatencyProtocol,
    Protocol,
    StreamProtocol,
    TaggedProtocol,
)
from hwsim.cosim.dut.serialprotocol import SerialProtocol
from hwsim.cosim.dut.sourcekeys import SourceKeys, sources_of
from hwsim.cosim.dut.stepsfile import DesignBoundaries
from hwsim.cosim.dut.waivers import Waiver
from hwsim.cosim.sources.designsources import DesignSources
from hwsim.formats.catalog import looks_like_path
from hwsim.formats.invalid import validated
from hwsim.formats.yamlfile import Document, RuleError, SpecError, read
from hwsim.model.flags import undefined
from hwsim.spec import Unit, load_unit

MOST_COPIED = 64  # bits of a result that has copies
MOST_CLOCKS = 16  # ports of one clock


class Reset(DutPart):
    """The reset. It changes just after a rising edge of the clock and stays for `cycles`, synchronous or not."""

    port: Name
    active: Literal["high", "low"] = "high"
    cycles: Positive = 2


def _reset(value: Any) -> Any:
    return {"port": value} if isinstance(value, str) else value


def _several(value: Any) -> Any:
    """The short form: one port."""
    return value if value is None or isinstance(value, (list, tuple)) else (value,)


Clocks = Annotated[tuple[Control, ...], Field(min_length=1, max_length=MOST_CLOCKS)]


class DutFile(SourceKeys):
    """The file's keys, with those of its sources.

    clock: the ports that the clock is at, each as it is or inverted; None of a combinational design.
    products: those of one beat; unless given, a group of the unit's (an instruction, where only
    those are whole). contexts: sums that can be open at once.
    constants: other inputs, or parts of them, and what they are held at. stuck_after: seconds; a simulator in which no
    cycle ends for so long is ended. flags: status flags beside the result. steps: which signals hold what the steps of
    a datapath make; proofs take them. without: kinds of suites that are not run, each with the reason. waivers: known
    differences, which are counted and are no mismatches.
    """

    unit: str
    top: Name
    parameters: dict[Name, Parameter] = Field(default_factory=dict)
    clock: Annotated[Clocks | None, BeforeValidator(_several)] = None
    reset: Annotated[Reset | None, BeforeValidator(_reset)] = None
    protocol: Protocol
    products: Positive | None = None
    contexts: Annotated[int, Strict(), Field(ge=1, le=256)] = 1
    constants: dict[Slice, Constant] = Field(default_factory=dict)
    stuck_after: Positive | None = None
    ports: Ports = Field(default_factory=Ports)
    flags: FlagPorts | None = None
    steps: DesignBoundaries | None = None
    waivers: tuple[Waiver, ...] = ()
    without: dict[SuiteKind, Annotated[str, Field(min_length=1)]] = Field(default_factory=dict)

    def has(self, field: str) -> bool:
        """Whether the design has a field of a beat or of a result, at a port or in a schedule."""
        return self.known(field) and field not in self.constant_operands

    def known(self, field: str) -> bool:
        """Whether the file says where a field is, or what it always is."""
        return getattr(self.ports, field) is not None or field in self.protocol.scheduled

    @property
    def constant_operands(self) -> dict[str, tuple[float, ...]]:
        """Operands at no port, and the numbers that they always are: one for each element, or one for all."""
        places = {name: getattr(self.ports, name) for name in INPUTS}
        return {name: place.constant for name, place in places.items() if place is not None and place.constant}

    @property
    def labels(self) -> int:
        """Contexts, or tags."""
        return self.protocol.tags if isinstance(self.protocol, TaggedProtocol) else self.contexts

    @property
    def label_keys(self) -> tuple[str, str]:
        """The keys of `ports` that say which context, or which tag, a beat and a result are of."""
        return ("tag", "result_tag") if isinstance(self.protocol, TaggedProtocol) else ("context", "result_context")

    @model_validator(mode="after")
    def _rules(self) -> DutFile:
        ports = self.ports
        for field in ("a", "b", "result"):
            if not self.known(field):
                raise RuleError(f"ports.{field}", "is missing")
        if not self.has("a") and not self.has("b"):
            raise RuleError("ports.b", "must be at a port where a is constant")
        for side in ("a", "b"):
            if 0 in self.constant_operands.get(side, ()):
                raise RuleError(f"ports.{side}", "must not be constant 0: a product would be nothing")
        if (self.clock is None) != (self.protocol.kind == "combinational"):
            raise RuleError("clock", f"must {'not ' if self.clock else ''}be given, for protocol.kind combinational")
        if self.reset is not None and self.clock is None:
            raise RuleError("reset", "must not be given without a clock")
        if ports.first is not None and ports.last is None:
            raise RuleError("ports.first", "needs ports.last: what closes a sum must be known")
        if ports.first is not None and ports.first.at > 0 and not isinstance(self.protocol, LatencyProtocol):
            rule = "must be 0, or less where it comes before; a later stage has it only for protocol.kind latency"
            raise RuleError("ports.first.at", f"{rule}, not {ports.first.at}")
        if ports.last is not None and ports.last.at < 0:
            raise RuleError("ports.last.at", f"must be 0, or more where it comes after, not {ports.last.at}")
        if self.steps is not None and self.constant_operands:
            raise RuleError(
                "steps", f"must not be given where operands are constant ({', '.join(self.constant_operands)})"
            )
        self._pulses_fit()
        self._sums_fit()
        if self.contexts > 1 and (ports.context is None or ports.result_context is None or ports.last is None):
            raise RuleError("contexts", "above 1 needs ports.context, ports.result_context and ports.last")
        if self.protocol.kind == "combinational" and ports.last is not None:
            raise RuleError("ports.last", "has no meaning for protocol.kind combinational, which keeps no sum")
        return self

    def _sums_fit(self) -> None:
        """Raise RuleError for ports that a protocol has no meaning for."""
        protocol, ports = self.protocol, self.ports
        if not isinstance(protocol, TaggedProtocol):
            self._refuse(("tag", "result_tag"), "which has no tags")
        match protocol:
            case AccumulateProtocol():
                self._refuse(("first", "last", "context", "result_context"), "which clears: see protocol.clear")
                if protocol.load is not None and ports.c is None:
                    raise RuleError("protocol.load", "needs ports.c: what it loads must be known")
            case SerialProtocol():
                self._refuse(
                    ("first", "last", "context", "result_context"), "which sends one dot product after another"
                )
                for field in sorted(protocol.scheduled):
                    if getattr(ports, field) is not None:
                        raise RuleError(f"ports.{field}", "must not be given: protocol has it in its schedule")
                if protocol.between == "repeats" and self.reset is None:
                    raise RuleError("protocol.between", "must not be repeats without a reset, from which cycles count")
            case TaggedProtocol():
                self._refuse(("context", "result_context"), "which has tags")
                for key in ("tag", "result_tag"):
                    if getattr(ports, key) is None:
                        raise RuleError(f"ports.{key}", "is missing: protocol.kind tagged needs it")
            case StreamProtocol() | LatencyProtocol() | CombinationalProtocol():
                pass
            case _:
                assert_never(protocol)

    def _refuse(self, fields: tuple[str, ...], why: str) -> None:
        for field in fields:
            if getattr(self.ports, field) is not None:
                raise RuleError(f"ports.{field}", f"has no meaning for protocol.kind {self.protocol.kind}, {why}")

    def _pulses_fit(self) -> None:
        """Raise RuleError for a pulse in a cycle of its own of a design that takes a beat in every cycle."""
        for key, place in (("first", self.ports.first), ("last", self.ports.last)):
            if place is not None and place.at and getattr(self.protocol, "input_valid", None) is None:
                raise RuleError(f"ports.{key}.at", "needs protocol.input_valid: what is no beat must be known")


@dataclass(frozen=True)
class Dut:
    """A user's design. path: of its file. sources: paths resolved. document: to say where an error is."""

    path: Path
    file: DutFile
    unit: Unit
    sources: DesignSources
    document: Document

    @property
    def products(self) -> int:
        """Products of one beat."""
        return self.file.products or self.unit.instruction.fill

    @property
    def chains(self) -> bool:
        """Whether a dot product may have more than one beat."""
        return self.file.ports.last is not None or self.file.protocol.accumulates

    def wrong(self, key: str, rule: str) -> SpecError:
        """An error: `FILE:LINE: KEY RULE`."""
        part, _, name = key.partition(".")
        location = (part, name) if part == "constants" else tuple(key.split("."))  # dots in names of ports
        return SpecError(f"{self.document.where(location)}: {key} {rule}")


def load_dut(path: str | Path) -> Dut:
    """A user's design, from its YAML file (`hwsim docs dut`). Paths in the file start where the file is.

    Raises SpecError for a file that breaks a rule, naming file, line, key, rule and value.
    """
    path = Path(path)
    document = read(path)
    if "operands" in document.data and "ports" not in document.data:
        rule = "is a unit, not a design: a DUT file names its unit, and `hwsim dut-init TOP.v` begins one"
        raise SpecError(f"{path}:1: {rule}")
    file = validated(DutFile, document)
    dut = Dut(path, file, _unit(file.unit, document), sources_of(file, document), document)
    _check_unit(dut)
    return dut


def _unit(name: str, document: Document) -> Unit:
    """The unit that a file names. Raises SpecError, which says in which line."""
    try:
        return load_unit(document.path.parent / name if looks_like_path(name) else name)
    except SpecError as error:
        raise SpecError(f"{document.where(('unit',))}: unit: {error}") from None


def _check_unit(dut: Dut) -> None:
    """What ports and unit ask of each other. Raises SpecError."""
    unit = dut.unit
    for side in ("scale_a", "scale_b"):
        given = dut.file.known(side)
        if given != (unit.scale is not None):
            rule = "is missing" if unit.scale is not None else "must not be given"
            raise dut.wrong(f"ports.{side}", f"{rule}: {unit.name} has scale {'a, b' if unit.scale else 'none'}")
    result = dut.file.ports.result
    if result is not None and result.copies and unit.output.container_bits > MOST_COPIED:
        raise dut.wrong("ports.result.copies", f"must not be given: results have more than {MOST_COPIED} bits")
    if dut.file.flags is not None and result is None:
        raise dut.wrong("flags", "must not be given: protocol has the result in its schedule, and not the flags")
    for name, _ in flagged(dut.file.flags):
        if reason := undefined(unit, name, None if dut.chains else dut.products):
            raise dut.wrong(f"flags.{name}", f"must not be given: {reason}")
    if dut.file.known("c") and unit.operands.addend is None:
        raise dut.wrong("ports.c", f"must not be given: {unit.name} has operands.addend none")
    if dut.products % unit.instruction.fill:
        raise dut.wrong("products", f"must be a multiple of {unit.instruction.fill}, not {dut.products}")
    if unit.instruction.chain is None and dut.products > unit.instruction.k:
        raise dut.wrong("products", f"must be at most instruction.k ({unit.instruction.k}), not {dut.products}")
