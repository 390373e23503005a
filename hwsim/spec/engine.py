"""Matrix engines: a tile of elements of one unit, its streams, and what it keeps: the file, its rules, its numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import yaml
from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, PlainValidator, Strict, model_validator

from hwsim.formats.catalog import looks_like_path
from hwsim.formats.yamlfile import Document, RuleError, SpecError, read
from hwsim.spec.catalog import as_yaml, load_specified
from hwsim.spec.fields import loaded
from hwsim.spec.implementation import MAX_CONTEXTS, Pipeline, pipeline
from hwsim.spec.keys import NoneWord, Positive, SpecPart, Values
from hwsim.spec.modes import ModalUnit, Specified, modes_of
from hwsim.spec.standard import canonical
from hwsim.spec.unit import Unit

MOST_ELEMENTS = 1 << 12
Side = Literal["a", "b"]
ResetStyle = Literal["sync", "sync-low", "async", "async-low"]
Word = Annotated[int, Strict(), Field(ge=8, le=1 << 14, multiple_of=8), Values("8 to 16384, a multiple of 8")]


class EnginePorts(SpecPart):
    """Bits of a word of each stream."""

    a: Word
    """Of A."""
    b: Word
    """Of B."""
    c: Annotated[Word | None, NoneWord] = None
    """Of the addends; `none`: every sum starts from +0."""
    d: Word
    """Of the results."""
    scale_a: Annotated[Word | None, NoneWord] = None
    """Of A's scales, as a stream of their own; `none`: they stand behind A's codes."""
    scale_b: Annotated[Word | None, NoneWord] = None
    """Of B's scales; both or none."""


def _unit(value: Any) -> Specified:
    """The unit of a name, of keys or as it is."""
    if isinstance(value, Unit | ModalUnit):
        return value
    if not isinstance(value, str | Mapping):
        raise RuleError("", "must be a unit's name, a path or keys")
    try:
        return load_specified(value)
    except SpecError as error:
        raise RuleError("", f"must be a unit: {error}") from None


def _written(unit: Specified) -> Any:
    return yaml.safe_load(as_yaml(unit))


EngineUnit = Annotated[Unit | ModalUnit, PlainValidator(_unit), PlainSerializer(_written),
                       Values("a unit's name, a path or keys")]  # fmt: skip


def _pair(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


class StreamSizes(NamedTuple):
    """What a stream brings for one step of a sum. slices: of a step. size: bits of a slice. width: of a word."""

    slices: int
    size: int
    width: int

    @property
    def words(self) -> int:
        """Words of a step, the last of which may be filled up."""
        return -(-self.slices * self.size // self.width)


class Engine(SpecPart):
    """A matrix engine: `rows` x `columns` elements of a unit, each of which holds `reuse` sums at once."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    engine: Annotated[str, Values("lower-case letters, digits, `_`, `.`, `-`")] = Field(pattern=r"^[a-z][a-z0-9_.-]*$")
    """Its name."""
    summary: Annotated[str, Values("text")] = ""
    """The engine in a line."""
    unit: EngineUnit
    """The unit of every element."""
    rows: Positive
    """Elements in a column: rows of A at once."""
    columns: Positive
    """Elements in a row: columns of B at once."""
    reuse: Annotated[tuple[Positive, Positive], BeforeValidator(_pair), Values("two whole numbers")] = (1, 1)
    """Slices of A and of B that a step holds: each pair of them is a context of every element."""
    cuts: Annotated[tuple[str, ...] | None, BeforeValidator(_pair), Values("steps of the unit")] = None
    """The unit's registers; its usual ones unless given."""
    ports: EnginePorts
    """Its streams."""
    drain: Positive = 2
    """Tiles of results that can wait."""
    control: Annotated[Literal["axi-lite"] | None, NoneWord] = None
    """`axi-lite`: registers, by which software knows, resets and counts; `none`: there are none."""
    reset: ResetStyle = "sync"
    """When a reset acts, at the clock's edge or at once, and at which level of `rst`, or `rst_n`."""

    @model_validator(mode="after")
    def _rules(self) -> Engine:
        if self.rows * self.columns > MOST_ELEMENTS:
            raise RuleError("rows", f"and columns must make at most {MOST_ELEMENTS} elements, not "
                                    f"{self.rows * self.columns}")  # fmt: skip
        if self.contexts > MAX_CONTEXTS:
            raise RuleError("reuse", f"must make at most {MAX_CONTEXTS} contexts, not {self.contexts}")
        try:
            pipeline(self.unit, self.cuts)
        except ValueError as error:
            raise RuleError("cuts", str(error).removeprefix("cuts ")) from None
        if self.ports.c is not None and self.unit.operands.addend is None:
            raise RuleError("ports.c", f"must be none: {self.unit.name} takes no addend")
        if (self.ports.scale_a is None) != (self.ports.scale_b is None):
            raise RuleError("ports", "must have both scale_a and scale_b, or none of them")
        if self.ports.scale_a is not None and self.unit.scale is None:
            raise RuleError("ports.scale_a", f"must be none: {self.unit.name} has no scales")
        return self

    @property
    def name(self) -> str:
        """The engine's name."""
        return self.engine

    @property
    def contexts(self) -> int:
        """Sums that every element holds."""
        return self.reuse[0] * self.reuse[1]

    @property
    def has_modes(self) -> bool:
        """True if the unit has several modes, one of which each macro tile is of."""
        return isinstance(self.unit, ModalUnit)

    @property
    def resets_at_once(self) -> bool:
        """True if a reset does not wait for the clock's edge."""
        return self.reset.startswith("async")

    @cached_property
    def pipeline(self) -> Pipeline:
        """Every element's registers and contexts."""
        return pipeline(self.unit, self.cuts, self.contexts)

    @property
    def macro(self) -> tuple[int, int]:
        """Rows and columns of results of one sum: the macro tile."""
        return self.rows * self.reuse[0], self.columns * self.reuse[1]

    def code_bits(self, side: Side) -> int:
        """Bits of a factor's code in a slice: of several modes those of the widest."""
        return max(mode.operands.factor(side).container_bits for mode in modes_of(self.unit))

    def scale_bits(self, side: Side) -> int:
        """Bits of a slice that are scales."""
        unit = self.unit
        if unit.scale is None:
            return 0
        return unit.instruction.lanes // unit.lanes_of_scale(side) * unit.scale.of(side).format.container_bits

    def slice_bits(self, side: Side) -> int:
        """Bits of one row's, or column's, codes and scales in a step."""
        return self.unit.instruction.lanes * self.code_bits(side) + self.scale_bits(side)

    def sizes(self) -> dict[str, StreamSizes]:
        """The streams of operands, by name."""
        (rows, columns), (r, c), ports = (self.rows, self.columns), self.reuse, self.ports
        sizes: dict[str, StreamSizes] = {}
        apart: dict[str, StreamSizes] = {}
        sides: tuple[tuple[Side, int, int, int, int | None], ...] = (
            ("a", r, rows, ports.a, ports.scale_a), ("b", c, columns, ports.b, ports.scale_b),
        )  # fmt: skip
        for side, slices, count, width, scale_width in sides:
            scales = 0 if scale_width is None else self.scale_bits(side)
            sizes[side] = StreamSizes(slices, count * (self.slice_bits(side) - scales), width)
            if scale_width is not None:
                apart[f"scale_{side}"] = StreamSizes(slices, count * scales, scale_width)
        if self.ports.c is not None and self.unit.operands.addend is not None:
            bits = rows * columns * self.unit.operands.addend.container_bits
            sizes["c"] = StreamSizes(r * c, bits, self.ports.c)
        return sizes | apart

    @property
    def step_streams(self) -> list[str]:
        """The streams that bring each step: all but that of the addends."""
        return [name for name in self.sizes() if name != "c"]

    @property
    def results(self) -> StreamSizes:
        """The stream of results: a tile for each context."""
        return StreamSizes(1, self.rows * self.columns * self.unit.output.container_bits, self.ports.d)

    def step_cycles(self) -> dict[str, int]:
        """Cycles that each part needs for a step of long sums, the slowest of which sets the pace.

        The beats themselves, the wait of a context for its sum, and every stream's words.
        """
        return {
            "beats": self.contexts,
            "latency": self.pipeline.latency,
            **{f"stream {name}": stream.words for name, stream in self.sizes().items() if name != "c"},
        }

    @property
    def utilisation(self) -> Fraction:
        """The share of cycles in which every element takes a beat, of long sums and streams that never wait."""
        return Fraction(self.contexts, max(self.step_cycles().values()))

    def bytes_a_cycle(self, stream: str) -> Fraction:
        """Bytes that a stream of steps brings in a cycle of long sums, if no stream waits."""
        size = self.sizes()[stream]
        return Fraction(size.words * size.width, 8 * max(self.step_cycles().values()))

    def product_cycles(self, m: int, n: int, k: int) -> int:
        """About how many cycles a product (m, k) @ (k, n) takes, if no stream waits, without those before the first
        beat and after the last. Results that find no place in the queue hold the elements up.
        """
        tiles = -(-m // self.macro[0]) * -(-n // self.macro[1])
        fill, lanes = self.unit.instruction.fill, self.unit.instruction.lanes
        steps = max(1, -(-k // fill)) * fill // lanes
        leaving, sizes = self.results.words, self.sizes()
        addends = sizes["c"].words if "c" in sizes else 0
        held = max(0, self.contexts - self.drain) * (leaving - 1)
        return tiles * max(steps * max(self.step_cycles().values()) + held, self.contexts * leaving, addends)

    @property
    def digest(self) -> str:
        """SHA-256 of what the engine returns and how its ports are: the same for files that differ in words alone."""
        data = self.model_dump(mode="json", exclude={"engine", "summary", "unit"})
        if self.ports.scale_a is None:
            del data["ports"]["scale_a"], data["ports"]["scale_b"]
        data |= {"unit": canonical(self.unit), "cuts": self.pipeline.cuts}
        if self.control is None:
            del data["control"]
        if self.reset == "sync":
            del data["reset"]
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()

    def facts(self) -> Iterator[str]:
        """What a designer asks first, a line each."""
        lanes, elements = self.unit.instruction.lanes, self.rows * self.columns
        m, n = self.macro
        yield f"{elements} elements of {lanes} products: {elements * lanes:,} products a cycle"
        yield f"macro tile {m} x {n}: {self.contexts} contexts, latency {self.pipeline.latency}"
        for name, stream in (*self.sizes().items(), ("d", self.results)):
            whole, more = "tile", ""
            if name in self.step_streams:
                whole, more = "step", f", {float(self.bytes_a_cycle(name)):.3g} bytes a cycle of long sums"
            yield f"stream {name}: {stream.width} bits, {stream.words} words a {whole}{more}"
        if self.control is not None:
            yield "registers: AXI4-Lite, 32 bits"
        if self.reset != "sync":
            yield f"reset: {self.reset}"
        slowest = max(self.step_cycles(), key=lambda part: self.step_cycles()[part])
        share = float(self.utilisation)
        yield f"a product of 1,024 x 1,024 x 1,024: {self.product_cycles(1024, 1024, 1024):,} cycles"
        yield f"utilisation {share:.0%} of long sums" + ("" if share == 1 else f", set by {slowest}")


# What names an engine, for `load_engine`.
EngineLike: TypeAlias = Engine | str | Path | Mapping[str, Any]


def load_engine(given: EngineLike) -> Engine:
    """The engine of a YAML file, of keys as a file has them, or an engine as it is.

    Raises SpecError (a ValueError) for keys that break a rule, naming file, line, key, rule and value; TypeError for
    what is none of these.
    """
    return loaded(Engine, given, "engine", _found)


def is_engine_file(name: str) -> bool:
    """True for the path of a YAML file with the key `engine`."""
    path = Path(name)
    return path.suffix in (".yaml", ".yml") and path.is_file() and "engine" in read(path).data


def _found(document: Document) -> None:
    """Make the path of a unit's file relative to the engine's."""
    unit = document.data.get("unit")
    if isinstance(unit, str) and looks_like_path(unit):
        document.data["unit"] = str(document.path.parent / unit)


def engine_yaml(engine: Engine) -> str:
    """An engine as a YAML file that `load_engine` reads back, its unit written out."""
    data = engine.model_dump(mode="json", exclude_unset=True)
    data["ports"] = {
        name: "none" if bits is None else bits
        for name, bits in data["ports"].items()
        if bits is not None or name == "c"
    }
    if "control" in data:
        data["control"] = data["control"] or "none"
    if data.get("reset") == "sync":
        del data["reset"]
    return yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=110, allow_unicode=True)
