"""DUT files: a user's design in YAML; its sources, what it claims to be, and which of its ports holds what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Strict, model_validator

from hwsim.base.errors import InputError
from hwsim.cosim.design import SuiteKind
from hwsim.cosim.protocols import (
    AccumulateProtocol,
    Control,
    Name,
    Parameter,
    Positive,
    Protocol,
    Slice,
    TaggedProtocol,
)
from hwsim.cosim.sources import EASING, SUFFIXES, DesignSources, is_option, is_there, read_core, read_list
from hwsim.cosim.waivers import Waiver
from hwsim.formats.catalog import looks_like_path
from hwsim.formats.yamlfile import Document, FilePart, Location, RuleError, SpecError, read, short, validated
from hwsim.model.flags import FLAG_NAMES, FlagName, FlagRules, undefined
from hwsim.spec import SparseUnit, Unit, load_any, load_unit


class FileList(FilePart):
    """A file list. base: the folder in which its paths start; that of the design's file unless given."""

    file: str
    base: str = ""


class FusesocCore(FilePart):
    """A core of FuseSoC's, or a design that it resolved. target: of a core."""

    file: str
    target: str | None = None


class SourceKeys(FilePart):
    """The keys for where the sources are.

    sources: files. filelists: lists of files, as simulators take with `-f`. core: of FuseSoC. libraries: folders and
    files in which modules and packages are looked for that no source has. include: folders of included files.
    slang: options that make slang take what simulators take.
    """

    sources: tuple[str, ...] = ()
    filelists: tuple[Annotated[FileList, short("file")], ...] = ()
    core: Annotated[FusesocCore, short("file")] | None = None
    libraries: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    defines: dict[Name, Parameter] = Field(default_factory=dict)
    slang: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _some(self) -> SourceKeys:
        if not (self.sources or self.filelists or self.core):
            raise RuleError("sources", "must name a file, unless filelists or core does")
        for index, option in enumerate(self.slang):
            if not is_option(option):
                raise RuleError(
                    f"slang.{index}", f"must be {', '.join(EASING)} or a -W option of slang's, not {option}"
                )
        return self


def sources_of(keys: SourceKeys, document: Document) -> DesignSources:
    """The sources that a design's file names, by paths from where it is. Raises InputError for what is not there."""
    return _NamedSources(keys, document).all()


class _NamedSources:
    def __init__(self, keys: SourceKeys, document: Document):
        self.keys, self.document, self.here = keys, document, document.path.parent

    def all(self) -> DesignSources:
        keys = self.keys
        sources = DesignSources(
            files=tuple(self._paths("sources", keys.sources, Path.is_file, "no file")),
            include=tuple(self._paths("include", keys.include, Path.is_dir, "no folder")),
            libraries=tuple(self._paths("libraries", keys.libraries, Path.exists, "neither file nor folder")),
            suffixes=(),
            easing=keys.slang,
        )
        for index, named in enumerate(keys.filelists):
            location = ("filelists", index)
            base = self._path((*location, "base"), named.base, Path.is_dir, "no folder") if named.base else self.here
            sources = sources.then(read_list(self._path(location, named.file, Path.is_file, "no file"), base))
        if keys.core is not None:
            core = self._path(("core",), keys.core.file, Path.is_file, "no file")
            sources = sources.then(read_core(core, keys.core.target))
        if not sources.files:
            raise SpecError(f"{self.document.path}: sources, filelists and core name no source")
        own = {name: f"{name}={value}" for name, value in keys.defines.items()}
        listed = [define for define in sources.defines if define.partition("=")[0] not in own]
        return DesignSources(
            files=sources.files, include=sources.include, defines=(*listed, *own.values()), libraries=sources.libraries,
            suffixes=sources.suffixes or SUFFIXES, easing=sources.easing,
        )  # fmt: skip

    def _paths(self, key: str, names: tuple[str, ...], is_one: Callable[[Path], bool], missing: str) -> Iterator[Path]:
        for index, name in enumerate(names):
            yield self._path((key, index), name, is_one, missing).resolve()

    def _path(self, key: Location, name: str, is_one: Callable[[Path], bool], missing: str) -> Path:
        path = self.here / name
        if not is_there(path, is_one):
            raise SpecError(f"{self.document.where(key)}: {'.'.join(map(str, key))} is {missing}: {path.resolve()}")
        return path


class FlagPorts(FilePart):
    """A bit of a port for each flag that is compared.

    tininess: when a result counts as tiny: as it is before rounding, or after it. signaling: which NaN operands raise
    invalid: those that signal (`invalid`), none (`quiet`), or `all`.
    """

    invalid: Slice | None = None
    divide_by_zero: Slice | None = None
    overflow: Slice | None = None
    underflow: Slice | None = None
    inexact: Slice | None = None
    nan: Slice | None = None
    tininess: Literal["before", "after"] = "after"
    signaling: Literal["invalid", "quiet", "all"] = "invalid"

    @model_validator(mode="after")
    def _some(self) -> FlagPorts:
        if not any(True for _ in flagged(self)):
            raise InputError(f"must name a flag ({', '.join(FLAG_NAMES)})")
        return self

    @property
    def rules(self) -> FlagRules:
        """The flags' rules that IEEE 754 leaves open."""
        return FlagRules(self.tininess, self.signaling)


def flagged(ports: FlagPorts | None) -> Iterator[tuple[FlagName, str]]:
    """The flags that a design has, with the bit of each."""
    for name in FLAG_NAMES:
        port = None if ports is None else getattr(ports, name)
        if port is not None:
            yield name, port


Constant = Annotated[int, Strict()]
Rest = Literal["zeros", "ones", "sign"]
MOST_BIAS = 1 << 20
MOST_APART = 64  # cycles of `first` and `last` from their beats
Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
RESULTS_HAVE = {"copies": "copies", "scale": "an integer and a scale"}
INPUTS = ("a", "b", "c", "scale_a", "scale_b")  # fields that may be constant, or whose codes in wider lanes


def _placed(value: Any) -> Any:
    """Expand the short forms: a port's name, or a list of them; a number, or a list of them."""
    if isinstance(value, str):
        return {"each" if "{}" in value else "port": value}
    if isinstance(value, list):
        return {"constant" if value and all(map(_is_number, value)) else "ports": value}
    return {"constant": value} if _is_number(value) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _numbers(value: Any) -> Any:
    return (value,) if _is_number(value) else value


class ScalePlace(FilePart):
    """The scale of a result that is an integer, which stands for integer * 2^(scale - bias).

    port: where the scale is. signed: whether it is in two's complement.
    """

    port: Slice
    bias: Annotated[int, Strict(), Field(ge=-MOST_BIAS, le=MOST_BIAS)]
    signed: Annotated[bool, Strict()] = False


class PortPlace(FilePart):
    """The place of a field of a beat or of a result.

    port: one port, or a part of one, `data[31:0]`, `req.data`, that holds all elements side by side. ports: one port or
    part for each element. each: a port for each element, `{}` standing for its number. pieces: ports or parts that make
    up all elements together, the low bits first.
    lane0: whether element 0 stands in the low or in the high bits of `port`. bits: `reversed`: the least significant
    bit of an element is in the highest place. constant: of an operand that has no port: the number that it always is,
    or one for each element. bits_at: in which bits of a lane that is wider than its code the code
    stands; rest: what the others are driven with. scale: of a result that is an integer and a scale. copies: where the
    same result is once more.
    """

    port: Slice | None = None
    ports: tuple[Slice, ...] | None = None
    each: str | None = None
    pieces: tuple[Slice, ...] | None = None
    constant: Annotated[tuple[Number, ...] | None, BeforeValidator(_numbers)] = None
    lane0: Literal["low", "high"] = "low"
    bits: Literal["normal", "reversed"] = "normal"
    bits_at: Literal["low", "high"] | None = None
    rest: Rest | None = None
    scale: ScalePlace | None = None
    copies: tuple[PlacedField, ...] = ()

    @model_validator(mode="after")
    def _one_form(self) -> PortPlace:
        forms = (self.port, self.ports, self.each, self.pieces, self.constant)
        if sum(form is not None for form in forms) != 1:
            raise InputError("must have one of port, ports, each, pieces and constant")
        if self.constant is not None and self.model_fields_set != {"constant"}:
            raise InputError("must have nothing beside constant, which is at no port")
        if self.rest is not None and self.bits_at is None:
            raise InputError("must not have rest without bits_at")
        if any(copy.copies for copy in self.copies):
            raise InputError("must not have copies of copies")
        return self

    @property
    def named(self) -> str:
        """The place in a few words."""
        return self.port or self.each or ", ".join(self.ports or self.pieces or ())


PlacedField = Annotated[PortPlace, BeforeValidator(_placed)]
PortPlace.model_rebuild()


class ControlPlace(PortPlace):
    """The place and the time of a bit that says something of a beat.

    active: whether the port is high or low where it is so. at: the cycle of its own in which it is so, counted from
    that of the beat; 0 for the beat's.
    """

    active: Literal["high", "low"] = "high"
    at: Annotated[int, Strict(), Field(ge=-MOST_APART, le=MOST_APART)] = 0

    @property
    def plain(self) -> bool:
        """True if the port holds the beat's bit as it is."""
        return self.at == 0 and self.active == "high"


PlacedControl = Annotated[ControlPlace, BeforeValidator(_placed)]


class Ports(FilePart):
    """The places of the fields of a beat and of a result.

    a, b, result: needed, unless a schedule has them; scale_a, scale_b: of a scaled unit; metadata: of a sparse one,
    whose b has all factors. c: without it the addend is +0.
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
    metadata: PlacedField | None = None
    first: PlacedControl | None = None
    last: PlacedControl | None = None
    context: PlacedField | None = None
    result_context: PlacedField | None = None
    tag: PlacedField | None = None
    result_tag: PlacedField | None = None

    @model_validator(mode="after")
    def _where_they_mean_something(self) -> Ports:
        for name in type(self).model_fields:
            place: PortPlace | None = getattr(self, name)
            if place is not None and place.bits_at is not None and name not in INPUTS:
                raise RuleError(f"{name}.bits_at", "must not be given: name the bits, as in y[21:0]")
            if place is not None and place.constant is not None and name not in INPUTS:
                raise RuleError(name, f"must be at a port, not constant: only {', '.join(INPUTS)} may be")
            for key in ("copies", "scale") if place is not None and name != "result" else ():
                if getattr(place, key):
                    raise RuleError(f"{name}.{key}", f"must not be given: only a result has {RESULTS_HAVE[key]}")
        return self


MOST_COPIED = 64  # bits of a result that has copies
MOST_CLOCKS = 16  # ports of one clock


class Reset(FilePart):
    """The reset. It changes just after a rising edge of the clock and stays for `cycles`, synchronous or not."""

    port: Name
    active: Literal["high", "low"] = "high"
    cycles: Positive = 2


def _several(value: Any) -> Any:
    return value if value is None or isinstance(value, (list, tuple)) else (value,)


Clocks = Annotated[tuple[Control, ...], Field(min_length=1, max_length=MOST_CLOCKS)]


class DutFile(SourceKeys):
    """The file's keys, with those of its sources.

    clock: the ports that the clock is at, each as it is or inverted; None of a combinational design.
    products: those of one beat; unless given, a group of the unit's (an instruction, where only
    those are whole). contexts: sums that can be open at once.
    constants: other inputs, or parts of them, and what they are held at. stuck_after: seconds; a simulator in which no
    cycle ends for so long is ended. flags: status flags beside the result. without: kinds of suites that are not run,
    each with the reason. waivers: known differences, which are counted and are no mismatches.
    """

    unit: str
    top: Name
    parameters: dict[Name, Parameter] = Field(default_factory=dict)
    clock: Annotated[Clocks | None, BeforeValidator(_several)] = None
    reset: Annotated[Reset | None, short("port")] = None
    protocol: Protocol
    products: Positive | None = None
    contexts: Annotated[int, Strict(), Field(ge=1, le=256)] = 1
    constants: dict[Slice, Constant] = Field(default_factory=dict)
    stuck_after: Positive | None = None
    ports: Ports = Field(default_factory=Ports)
    flags: FlagPorts | None = None
    waivers: tuple[Waiver, ...] = ()
    without: dict[SuiteKind, Annotated[str, Field(min_length=1)]] = Field(default_factory=dict)

    def has(self, field: str) -> bool:
        """True if the design has a field of a beat or of a result, at a port or in a schedule."""
        return self.known(field) and field not in self.constant_operands

    def known(self, field: str) -> bool:
        """True if the file says where a field is, or what it always is."""
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
        if ports.first is not None and ports.first.at > 0 and self.protocol.kind != "latency":
            rule = "must be 0, or less where it comes before; a later stage has it only for protocol.kind latency"
            raise RuleError("ports.first.at", f"{rule}, not {ports.first.at}")
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
        """Raise RuleError for ports that a protocol has no meaning for, and for those that it needs."""
        protocol, ports = self.protocol, self.ports
        for fields, why in protocol.meaningless:
            for field in fields:
                if getattr(ports, field) is not None:
                    raise RuleError(f"ports.{field}", f"has no meaning for protocol.kind {protocol.kind}, {why}")
        for field in protocol.needed:
            if getattr(ports, field) is None:
                raise RuleError(f"ports.{field}", f"is missing: protocol.kind {protocol.kind} needs it")
        if protocol.control("load") is not None and ports.c is None:
            raise RuleError("protocol.load", "needs ports.c: what it loads must be known")
        for field in sorted(protocol.scheduled):
            if getattr(ports, field) is not None:
                raise RuleError(f"ports.{field}", "must not be given: protocol has it in its schedule")
        if getattr(protocol, "between", None) == "repeats" and self.reset is None:
            raise RuleError("protocol.between", "must not be repeats without a reset, from which cycles count")

    def _pulses_fit(self) -> None:
        """Raise RuleError for a pulse in a cycle of its own of a design that takes a beat in every cycle."""
        for key, place in (("first", self.ports.first), ("last", self.ports.last)):
            if place is not None and place.at and getattr(self.protocol, "input_valid", None) is None:
                raise RuleError(f"ports.{key}.at", "needs protocol.input_valid: what is no beat must be known")


@dataclass(frozen=True)
class Dut:
    """A user's design. path: of its file. sources: paths resolved. document: to say where an error is.

    sparse: the sparse unit that it claims to be, whose dense one `unit` is; None for a dense unit.
    """

    path: Path
    file: DutFile
    unit: Unit
    sources: DesignSources
    document: Document
    sparse: SparseUnit | None = None

    @property
    def products(self) -> int:
        """Products of one beat."""
        return self.file.products or self.unit.instruction.fill

    @property
    def chains(self) -> bool:
        """True if a dot product may have more than one beat."""
        return self.file.ports.last is not None or isinstance(self.file.protocol, AccumulateProtocol)

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
    if "steps" in document.data:
        rule = "is no longer needed: `hwsim prove` finds the numbers of a design without it; leave it out"
        raise SpecError(f"{document.where(('steps',))}: steps {rule}")
    file = validated(DutFile, document)
    unit = _unit(file.unit, document)
    sparse = unit if isinstance(unit, SparseUnit) else None
    dense = unit.dense if isinstance(unit, SparseUnit) else unit
    dut = Dut(path, file, dense, sources_of(file, document), document, sparse)
    _check_unit(dut)
    return dut


def against(dut: Dut, unit: Unit | SparseUnit) -> Dut:
    """A design as one of another unit than its file's. Raises SpecError where its ports do not fit that."""
    sparse = unit if isinstance(unit, SparseUnit) else None
    other = replace(dut, unit=unit.dense if isinstance(unit, SparseUnit) else unit, sparse=sparse)
    _check_unit(other)
    return other


def _unit(name: str, document: Document) -> Unit | SparseUnit:
    """The unit that a file names. Raises SpecError, which says in which line."""
    named = document.path.parent / name if looks_like_path(name) else name
    try:
        loaded = load_any(named)
        return loaded if isinstance(loaded, SparseUnit) else load_unit(named)
    except SpecError as error:
        raise SpecError(f"{document.where(('unit',))}: unit: {error}") from None


def _check_unit(dut: Dut) -> None:
    """Check that ports and unit fit each other. Raises SpecError."""
    unit = dut.unit
    _check_selection(dut)
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


def _check_selection(dut: Dut) -> None:
    """Check that metadata have a port just where the unit is sparse. Raises SpecError."""
    metadata, sparse = dut.file.ports.metadata, dut.sparse
    if sparse is None:
        if metadata is not None:
            raise dut.wrong("ports.metadata", f"must not be given: {dut.unit.name} is dense")
        return
    if metadata is None or dut.file.ports.a is None or dut.file.ports.b is None:
        raise dut.wrong("ports", f"must have a, b and metadata: {sparse.name} is sparse, and no schedule brings these")
    if metadata.constant is not None or dut.file.ports.b.constant is not None:
        raise dut.wrong("ports", f"must have b and metadata that are not constant: {sparse.name} is sparse")
    if dut.products % sparse.sparsity.kept or sparse.dense.instruction.order != "sequential":
        rule = f"must be a multiple of the {sparse.sparsity.kept} that are kept together, in the order of K"
        raise dut.wrong("products", f"{rule}, not {dut.products}")
