"""DUT.yaml: a user's design, how it is driven, and the unit that it claims to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, assert_never

from pydantic import BeforeValidator, Field, Strict, ValidationError, model_validator

from hwsim.cosim.dutpart import DutPart, Name, Positive, Slice
from hwsim.cosim.protocols import (
    AccumulateProtocol,
    CombinationalProtocol,
    LatencyProtocol,
    Protocol,
    StreamProtocol,
    TaggedProtocol,
)
from hwsim.cosim.serialprotocol import SerialProtocol
from hwsim.cosim.stepsfile import DesignBoundaries
from hwsim.cosim.suitekinds import SuiteKind
from hwsim.cosim.waivers import Waiver
from hwsim.errors import InputError
from hwsim.formats.catalog import looks_like_path
from hwsim.formats.invalid import explain_invalid
from hwsim.formats.yamlfile import Document, RuleError, SpecError, read
from hwsim.spec import Unit, load_unit

MOST_APART = 64  # cycles of `first` and `last` from their beats
Parameter = Annotated[int, Strict()] | str


def _placed(value: Any) -> Any:
    """The short forms: a port's name, or a list of them."""
    if isinstance(value, str):
        return {"each" if "{}" in value else "port": value}
    return {"ports": value} if isinstance(value, list) else value


class PortPlace(DutPart):
    """Where a field of a beat or of a result is.

    port: one port, or a slice of one, `data[31:0]`, that holds all elements side by side. ports: one port or slice for
    each element. each: a port for each element, `{}` standing for its number.
    lane0: whether element 0 stands in the low or in the high bits of `port`. bits: `reversed`: the least significant
    bit of an element is in the highest place.
    """

    port: Slice | None = None
    ports: tuple[Slice, ...] | None = None
    each: str | None = None
    lane0: Literal["low", "high"] = "low"
    bits: Literal["normal", "reversed"] = "normal"

    @model_validator(mode="after")
    def _one_form(self) -> PortPlace:
        if sum(form is not None for form in (self.port, self.ports, self.each)) != 1:
            raise InputError("must have one of port, ports and each")
        return self


PlacedField = Annotated[PortPlace, BeforeValidator(_placed)]


class ControlPlace(PortPlace):
    """Where a bit of a beat is that says something of the beat, and when.

    active: whether the port is high or low where it is so. at: the cycle of its own in which it is so, counted from
    that of the beat; 0 for the beat's.
    """

    active: Literal["high", "low"] = "high"
    at: Annotated[int, Strict(), Field(ge=-MOST_APART, le=MOST_APART)] = 0

    @property
    def plain(self) -> bool:
        """Whether the port holds the beat's bit as it is."""
        return self.at == 0 and self.active == "high"


PlacedControl = Annotated[ControlPlace, BeforeValidator(_placed)]


class Reset(DutPart):
    """The reset. It changes just after a rising edge of the clock and stays for `cycles`, synchronous or not."""

    port: Name
    active: Literal["high", "low"] = "high"
    cycles: Positive = 2


def _reset(value: Any) -> Any:
    return {"port": value} if isinstance(value, str) else value


class Ports(DutPart):
    """Where the fields of a beat and of a result are.

    a, b, result: needed, unless a schedule has them; scale_a, scale_b: of a scaled unit.
    c: without it the addend is +0.
    first, last: without `last`, a dot product is one beat; `first` may be a pulse in a cycle before it, `last` in one
    after it. context: of beats; result_context: of results. tag, result_tag: the same of dot
    products whose results come in any order.
    """

    a: PlacedField | None = None
    b: PlacedField | None = None
    result: PlacedField | None = None
    c: PlacedField | None = None
    scale_a: PlacedField | None = None
    scale_b: PlacedField | None = None
    first: PlacedControl | None = None
    last: PlacedControl | None = None
    context: PlacedField | None = None
    result_context: PlacedField | None = None
    tag: PlacedField | None = None
    result_tag: PlacedField | None = None


class DutFile(DutPart):
    """The file's keys.

    products: those of one beat; unless given, a group of the unit's (an instruction, where only
    those are whole). contexts: sums that can be open at once.
    constants: other inputs, and what they are held at. stuck_after: seconds; a simulator in which no cycle ends for so
    long is ended. steps: which signals hold what the steps of a datapath make; proofs take them. without: kinds of
    suites that are not run, each with the reason. waivers: known differences, which are counted and are no mismatches.
    """

    unit: str
    sources: Annotated[tuple[str, ...], Field(min_length=1)]
    include: tuple[str, ...] = ()
    defines: dict[Name, Parameter] = Field(default_factory=dict)
    top: Name
    parameters: dict[Name, Parameter] = Field(default_factory=dict)
    clock: Name | None = None
    reset: Annotated[Reset | None, BeforeValidator(_reset)] = None
    protocol: Protocol
    products: Positive | None = None
    contexts: Annotated[int, Strict(), Field(ge=1, le=256)] = 1
    constants: dict[Name, Annotated[int, Strict()]] = Field(default_factory=dict)
    stuck_after: Positive | None = None
    ports: Ports = Field(default_factory=Ports)
    steps: DesignBoundaries | None = None
    waivers: tuple[Waiver, ...] = ()
    without: dict[SuiteKind, Annotated[str, Field(min_length=1)]] = Field(default_factory=dict)

    def has(self, field: str) -> bool:
        """Whether the design has a field of a beat or of a result, at a port or in a schedule."""
        return getattr(self.ports, field) is not None or field in self.protocol.scheduled

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
            if not self.has(field):
                raise RuleError(f"ports.{field}", "is missing")
        if (self.clock is None) != (self.protocol.kind == "combinational"):
            raise RuleError("clock", f"must {'not ' if self.clock else ''}be given, for protocol.kind combinational")
        if self.reset is not None and self.clock is None:
            raise RuleError("reset", "must not be given without a clock")
        if ports.first is not None and ports.last is None:
            raise RuleError("ports.first", "needs ports.last: what closes a sum must be known")
        if ports.first is not None and ports.first.at > 0:
            raise RuleError("ports.first.at", f"must be 0, or less where it comes before, not {ports.first.at}")
        if ports.last is not None and ports.last.at < 0:
            raise RuleError("ports.last.at", f"must be 0, or more where it comes after, not {ports.last.at}")
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
    """A user's design. path: of its file. sources, include: paths resolved. document: to say where an error is."""

    path: Path
    file: DutFile
    unit: Unit
    sources: tuple[Path, ...]
    include: tuple[Path, ...]
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
        location = tuple(key.split("."))
        return SpecError(f"{self.document.where(location)}: {key} {rule}")


def load_dut(path: str | Path) -> Dut:
    """A user's design, from its YAML file (`hwsim docs dut`). Paths in the file start where the file is.

    Raises SpecError for a file that breaks a rule, naming file, line, key, rule and value.
    """
    path = Path(path)
    document = read(path)
    try:
        file = DutFile.model_validate(document.data)
    except ValidationError as error:
        raise explain_invalid(error, document) from None
    here = path.parent
    unit = _unit(file.unit, document)
    sources = tuple((here / source).resolve() for source in file.sources)
    for index, source in enumerate(sources):
        if not _there(source, Path.is_file):
            raise SpecError(f"{document.where(('sources', index))}: sources.{index} is no file: {source}")
    for index, folder in enumerate(file.include):
        if not _there(here / folder, Path.is_dir):
            raise SpecError(f"{document.where(('include', index))}: include.{index} is no folder: {here / folder}")
    include = tuple((here / folder).resolve() for folder in file.include) or tuple(
        dict.fromkeys(source.parent for source in sources)
    )
    dut = Dut(path, file, unit, sources, include, document)
    _check_unit(dut)
    return dut


def _there(path: Path, is_one: Callable[[Path], bool]) -> bool:
    """Whether there is a file or a folder; none has a name that is too long."""
    try:
        return is_one(path)
    except OSError:
        return False


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
        given = dut.file.has(side)
        if given != (unit.scale is not None):
            rule = "is missing" if unit.scale is not None else "must not be given"
            raise dut.wrong(f"ports.{side}", f"{rule}: {unit.name} has scale {'a, b' if unit.scale else 'none'}")
    if dut.file.has("c") and unit.operands.addend is None:
        raise dut.wrong("ports.c", f"must not be given: {unit.name} has operands.addend none")
    if dut.products % unit.instruction.fill:
        raise dut.wrong("products", f"must be a multiple of {unit.instruction.fill}, not {dut.products}")
    if unit.instruction.chain is None and dut.products > unit.instruction.k:
        raise dut.wrong("products", f"must be at most instruction.k ({unit.instruction.k}), not {dut.products}")
