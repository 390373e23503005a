"""An engine's Verilog, read back: its parts by themselves, how they are joined, and one element with its decoders."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hwsim.base.errors import InputError
from hwsim.base.processes import scratch_folder
from hwsim.prove.circuits import WRITE, Circuit, Register, read_btor, without_undriven
from hwsim.prove.claims import Claim
from hwsim.prove.shown import Noted
from hwsim.prove.styles import Restyled
from hwsim.prove.terms import Kind, Term, both, false, op, part, same, value, width
from hwsim.rtl import beat_layout, fields_of, module_name, result_port_layout
from hwsim.rtl.engine.element import latencies
from hwsim.rtl.engine.side import of_partial
from hwsim.rtl.engine.top import Ports, engine_style, engine_verilog, ports_of
from hwsim.rtl.hierarchy import PLAIN, Style
from hwsim.rtl.synthesis.flows import YOSYS, run_tool
from hwsim.spec import modes_of
from hwsim.spec.engine import Engine
from hwsim.spec.registers import AXI_LITE, PREFIX

KINDS = ("feed", "control", "row", "column", "element", "drain")
EDGE, CLOCK = re.compile(r"@\s*\(([^)]*)\)"), re.compile(r"\.clk\s*\(([^)]*)\)")
READ_ALL = "read_verilog -sv c.sv\ndesign -save all\n"
READ_TOP = """hierarchy -top {top}
select -write {kinds}
proc -noopt -norom
check -assert
expose -evert -sep . {top}/t:{top}_*
hierarchy -top {top}
"""
READ_PART = """design -load all
hierarchy -top {module}
proc -noopt -norom
"""
OF_FEED = {"in_valid": "valid", "in_first": "first", "in_last": "last", "in_context": "of_context", "in_mode": "mode"}
OF_CONTROL = {"valid": "out_valid", "of_context": "out_context"}  # ports of the drain


@dataclass(frozen=True)
class EngineFile:
    """An engine's file as circuits.

    top: the module around all parts, which has their ports as its own, named `instance.port`. instances: which part
    each instance is. ports: of the parts. element: one element behind decoders of its row and column and the tile's
    control, with the ports of a unit's file.
    Parts are those of the same engine with a reset at the clock's edge, active high. restyled: where its own is
    another, what the text has in their places.
    """

    engine: Engine
    text: str
    top: Circuit
    instances: Mapping[str, str]
    ports: Mapping[str, Ports]
    feed: Circuit
    control: Circuit
    row: Circuit
    column: Circuit
    drain: Circuit
    element: Circuit
    registers: Circuit | None = None
    restyled: Mapping[str, Restyled] = field(default_factory=dict)

    @classmethod
    def read(cls, engine: Engine, text: str, seconds: float = 600) -> EngineFile:
        """Read a file. Raises InputError for one without the parts of an engine; ToolMissing, and FlowFailed with what
        Yosys said.
        """
        style, restyled = engine_style(engine), dict[str, Restyled]()
        own = plain = _read(engine, text, style, seconds)
        if style != PLAIN:
            text_of_parts = engine_verilog(engine, PLAIN)
            plain = _read(engine, text_of_parts, PLAIN, seconds)
            for kind in plain.circuits:
                if kind in ("top", "row", "column"):  # decoders are beside the element, too
                    continue
                beside, styled = (without_undriven(each.circuits[kind]) for each in (plain, own))
                restyled[kind] = Restyled(f"{engine.name}'s {kind}", beside, styled, style, f"{kind}: reset style")
        shown = _registers(engine) | dict(SHOWN.findall(text if style == PLAIN else text_of_parts))
        found = {kind: _renamed(circuit, shown) for kind, circuit in plain.circuits.items() if kind != "top"}
        return cls(engine, text, own.circuits["top"], own.instances, own.ports, **found, restyled=restyled)

    @property
    def style(self) -> Style:
        """The style of its registers."""
        return engine_style(self.engine)

    # What the specification says of the top: which instance stands where, and what each of its ports is.

    @property
    def rows(self) -> list[str]:
        """The instances of the rows' decoders."""
        return [f"row[{i}].u_decode" for i in range(self.engine.rows)]

    @property
    def columns(self) -> list[str]:
        """The instances of the columns' decoders."""
        return [f"column[{j}].u_decode" for j in range(self.engine.columns)]

    def elements(self, i: int) -> list[str]:
        """The instances of a row's elements."""
        return [f"elements[{i}].element[{j}].u_element" for j in range(self.engine.columns)]

    @property
    def wanted_instances(self) -> dict[str, str]:
        """The part that each instance must be."""
        every = {"u_feed": "feed", "u_control": "control", "u_drain": "drain"}
        if self.engine.control is not None:
            every["u_registers"] = "registers"
        every |= dict.fromkeys(self.rows, "row") | dict.fromkeys(self.columns, "column")
        return every | {name: "element" for i in range(self.engine.rows) for name in self.elements(i)}

    @property
    def outside(self) -> dict[str, int]:
        """The ports that the engine's file says, and their bits."""
        engine = self.engine
        every = {"clk": 1, self.style.reset_name: 1, "error": 2}
        for name, bits in (*((name, size.width) for name, size in engine.sizes().items()), ("d", engine.results.width)):
            every |= {f"{name}_tdata": bits, f"{name}_tvalid": 1, f"{name}_tready": 1, f"{name}_tlast": 1}
        if engine.control is not None:
            return every | {f"{PREFIX}{name}": bits for name, (_, bits) in AXI_LITE.items()}
        modes = len(modes_of(engine.unit))
        return every | ({"mode": (modes - 1).bit_length()} if modes > 1 else {})

    def output(self, instance: str, port: str) -> Term:
        """What an instance drives. Raises InputError where it has no such port."""
        if f"{instance}.{port}" not in self.top.inputs:
            raise InputError(f"{self.engine.name}: {instance} must have an output {port}")
        return self.top.inputs[f"{instance}.{port}"]

    def _slice(self, stream: str, index: int, count: int) -> Term:
        """Of what the feed brings of a stream in a beat, that of one row, column or element."""
        size = self.engine.sizes()[stream].size // count
        return part(self.output("u_feed", stream), index * size, size)

    def _codes(self, side: str, index: int, count: int) -> Term:
        """Of what the feed brings in a beat, a row's or a column's codes, and above them its scales."""
        streams = [name for name in (f"scale_{side}", side) if name in self.engine.sizes()]
        every = [self._slice(name, index, count) for name in streams]
        return op(Kind.BV_CONCAT, *every) if len(every) > 1 else every[0]

    def _given(self, kind: str, port: str, i: int, j: int) -> Term:
        """What a port of an instance must be driven with."""
        engine = self.engine
        if port == self.style.reset_name and engine.control is not None and kind != "registers":
            soft = self.output("u_registers", "soft_reset")
            if self.style.reset_low:
                return op(Kind.BV_AND, self.top.inputs[port], op(Kind.BV_NOT, soft))
            return op(Kind.BV_OR, self.top.inputs[port], soft)
        if port in ("clk", self.style.reset_name):
            return self.top.inputs[port]
        match kind, port:
            case "registers", _:
                return self._watched(port)
            case "feed", "clear":
                return self.output("u_registers", "clear")
            case "feed", "mode_in" if engine.control is not None:
                return self.output("u_registers", "mode")
            case "feed", "ready":
                return self.output("u_control", "in_ready")
            case "feed", _:
                return self.top.inputs["mode" if port == "mode_in" else port]
            case "control", "out_ready":
                return self.output("u_drain", "ready")
            case "control", _ if port in OF_FEED:
                return self.output("u_feed", OF_FEED[port])
            case "drain", "tready":
                return self.top.inputs["d_tready"]
            case "drain", "results":
                every = [self.output(name, "result") for row in range(engine.rows) for name in self.elements(row)]
                return op(Kind.BV_CONCAT, *reversed(every)) if len(every) > 1 else every[0]
            case "drain", _ if port in OF_CONTROL:
                return self.output("u_control", OF_CONTROL[port])
            case "row", "codes":
                return self._codes("a", i, engine.rows)
            case "column", "codes":
                return self._codes("b", j, engine.columns)
            case (("row" | "column"), "mode"):
                return self.output("u_feed", "mode")
            case "element", "c" if "c" in engine.sizes():
                return self._slice("c", i * engine.columns + j, engine.rows * engine.columns)
            case "element", "c":
                return value(0, self.ports["element"]["c"][1])
            case "element", "scale_nan":
                sides = self.output(self.rows[i], port), self.output(self.columns[j], port)
                return op(Kind.BV_OR, *sides)
            case "element", _ if port in self.ports["row"]:
                if self.ports["row"][port][0] == "output":
                    return self.output(self.rows[i], port)
            case "element", _ if port in self.ports["column"]:
                if self.ports["column"][port][0] == "output":
                    return self.output(self.columns[j], port)
        return self.output("u_control", port)

    def _watched(self, port: str) -> Term:
        """What a port of the registers must be driven with."""
        if port in AXI_LITE:
            return self.top.inputs[f"{PREFIX}{port}"]
        if port == "busy":
            every = self.output("u_feed", "busy"), self.output("u_control", "flying"), self.output("u_drain", "tvalid")
            return op(Kind.BV_OR, *every)
        of = {"enable": ("u_control", "enable"), "beat_valid": ("u_feed", "valid"), "error": ("u_feed", "error"),
              "beat_ready": ("u_control", "in_ready"), "d_tvalid": ("u_drain", "tvalid"),
              "d_tlast": ("u_drain", "tlast")}  # fmt: skip
        of |= {f"{name}_tready": ("u_feed", f"{name}_tready") for name in self.engine.sizes()}
        return self.output(*of[port]) if port in of else self.top.inputs[port]

    def _joined(self, instance: str, i: int = 0, j: int = 0) -> Iterator[Term]:
        """Yield the conditions that an instance's inputs are driven with what they must be."""
        kind = self.wanted_instances[instance]
        for port, (direction, _) in self.ports[kind].items():
            if direction == "input":
                yield equal(self.top.outputs.get(f"{instance}.{port}"), self._given(kind, port, i, j))

    def _clocked(self) -> Noted:
        edges, clocks = set(EDGE.findall(self.text)), set(CLOCK.findall(self.text))
        words = "all registers take their values at the rising edge of `clk`"
        allowed = {self.style.events("clk", is_reset) for is_reset in (False, True)}
        if self.style.reset == "async":
            words += f", or what a reset sets as `{self.style.reset_name}` begins"
        fits = bool(edges) and edges <= allowed and clocks == {"clk"}
        return Noted("file: clock", words, "every block of every module", fits)

    def claims(self) -> Iterator[Claim | Noted]:
        """Yield the claims about the top module: its ports, its parts, and every port of each of them."""
        engine, over = self.engine, "the module around all parts"
        ends = {name: width(term) for name, term in (*self.top.inputs.items(), *self.top.outputs.items())
                if "." not in name}  # fmt: skip
        fits = ends == self.outside and not self.top.states and self.instances == self.wanted_instances
        yield self._clocked()
        yield Claim(
            "top: parts", "the ports are those that the engine's file says; there are a feed, a control, a drain, a "
            f"decoder for each of {engine.rows} rows and {engine.columns} columns, an element for each of both, and no "
            "other register", over, (), same(value(int(fits), 1), value(1, 1)),
        )  # fmt: skip
        slices = all(self.ports[kind]["codes"][1] == engine.slice_bits(side)  # type: ignore[arg-type]
                     for kind, side in (("row", "a"), ("column", "b")))  # fmt: skip
        inside = [*self._joined("u_feed"), *self._joined("u_control"), *self._joined("u_drain")]
        yield Claim(
            "top: feed, control, drain", "beats go from the feed into the control, results from all elements, row by "
            "row, to the drain, and what is ready goes back", over, (), both(*inside),
        )  # fmt: skip
        outs = {"error": ("u_feed", "error")} | {
            f"d_{name}": ("u_drain", name) for name in ("tdata", "tvalid", "tlast")
        }
        outs |= {f"{name}_tready": ("u_feed", f"{name}_tready") for name in engine.sizes()}
        if engine.control is not None:
            outs |= {f"{PREFIX}{name}": ("u_registers", name) for name, (into, _) in AXI_LITE.items() if not into}
            yield Claim(
                "top: registers", "they see the engine's own signals; a soft reset does in every other part what "
                f"`{self.style.reset_name}` does, by the same port, and they alone clear errors and say the mode",
                over, (),
                both(*self._joined("u_registers")),
            )  # fmt: skip
        yield Claim(
            "top: streams", "streams are the feed's and the drain's", over, (),
            both(*(equal(self.top.outputs.get(name), self.output(*of)) for name, of in outs.items())),
        )  # fmt: skip
        rows = [term for i, name in enumerate(self.rows) for term in self._joined(name, i=i)]
        columns = [term for j, name in enumerate(self.columns) for term in self._joined(name, j=j)]
        yield Claim(
            "top: decoders", "each row's decoder has its own part of A's slice, each column's its own part of B's",
            over, (), both(same(value(int(slices), 1), value(1, 1)), *rows, *columns),
        )  # fmt: skip
        for i in range(engine.rows):
            here = [term for j, name in enumerate(self.elements(i)) for term in self._joined(name, i, j)]
            yield Claim(
                f"top: elements of row {i}", "each has what its row and its column decoded, its own addend, and what "
                "the control tells all", over, (), both(*here),
            )  # fmt: skip


class _FileRead(NamedTuple):
    """What Yosys read of a file: circuits, which part each instance is, and the parts' ports."""

    circuits: dict[str, Circuit]
    instances: dict[str, str]
    ports: dict[str, Ports]


def _read(engine: Engine, text: str, style: Style, seconds: float) -> _FileRead:
    """Read a file of a style. Raises as `EngineFile.read`."""
    top, kinds = module_name(engine.name), (*KINDS, *(["registers"] if engine.control is not None else []))
    ports = {kind: _ports(text, f"{top}_{kind}") for kind in kinds}
    modules = {kind: f"{top}_{'alone' if kind == 'element' else kind}" for kind in kinds}
    alone = "\n".join(_alone(engine, style, ports))
    write = WRITE.format(name="{0}").format
    script = READ_ALL + READ_TOP.format(top=top, kinds=f"every.txt {top}/t:{top}_*") + write("top")
    script += "".join(f"design -load all\nhierarchy -top {top}\nselect -write {kind}.txt {top}/t:{top}_{kind}\n"
                      for kind in kinds)  # fmt: skip
    script += "".join(READ_PART.format(module=module) + write(kind) for kind, module in modules.items())
    with scratch_folder() as folder:
        (folder / "c.sv").write_text(f"{text}\n{alone}\n", encoding="utf-8")
        (folder / "script").write_text(script, encoding="utf-8")
        run_tool(YOSYS, ["-q", "-s", "script"], folder, seconds)
        before = "" if style == PLAIN else "style."
        circuits = {
            name: read_btor((folder / f"{name}.btor").read_text(encoding="utf-8"), f"{before}{name}.")
            for name in ("top", *modules)
        }
        instances = {line.partition("/")[2]: kind for kind in ("every", *kinds)
                     for line in (folder / f"{kind}.txt").read_text(encoding="utf-8").split()}  # fmt: skip
    return _FileRead(circuits, instances, ports)


def equal(first: Term | None, second: Term) -> Term:
    """The condition that two terms are one; never where there is no first one, or one of other bits."""
    return false() if first is None or width(first) != width(second) else same(first, second)


def _ports(text: str, module: str) -> Ports:
    found = re.search(rf"^module {re.escape(module)} \(", text, re.M)
    if found is None:
        raise InputError(f"the file must have a module {module}")
    return ports_of(text[found.start() :])


def _alone(engine: Engine, style: Style, ports: Mapping[str, Ports]) -> Iterator[str]:
    """The lines of a module of one element, its decoders and the control: its ports are those of a unit's file."""
    top, unit, pipeline = module_name(engine.name), engine.unit, engine.pipeline
    i, o = beat_layout(unit, pipeline), result_port_layout(unit, pipeline)
    into = {f"in_{field.name}": field.bits * (field.elements or 1) for field in fields_of(i)}
    out = {f"out_{field.name}": field.bits * (field.elements or 1) for field in fields_of(o)}
    outside = [("input", 1, name) for name in ("clk", style.reset_name, "in_valid", "out_ready")]
    outside += [("output", 1, name) for name in ("in_ready", "out_valid", "misuse")]
    outside += [("input", bits, name) for name, bits in into.items()]
    outside += [("output", bits, name) for name, bits in out.items()]
    yield f"module {top}_alone ("
    yield ",\n".join(f"  {direction} [{bits - 1}:0] {name}" for direction, bits, name in outside)
    yield ");"
    known, wires, instances = {name for *_, name in outside}, dict[str, int](), list[str]()
    kinds = ("control", "row", "column", "element")
    for kind in kinds:
        names = {"mode": "in_mode", "c": "in_c", "result": "out_result", "scale_nan": f"{kind}_scale_nan"}
        if kind == "element":
            names["scale_nan"] = "row_scale_nan | column_scale_nan"
        elif kind != "control":
            side = "ab"[kind == "column"]
            names["codes"] = f"{{in_scale_{side}, in_{side}}}" if f"in_scale_{side}" in into else f"in_{side}"
        for port, (direction, bits) in ports[kind].items():
            name = names.get(port, port)
            if direction == "output" and name not in known:
                wires[name] = bits
        joined = ", ".join(f".{port}({names.get(port, port)})" for port in ports[kind])
        instances.append(f"  {top}_{kind} u_{kind} ({joined});")
    yield from (f"  wire [{bits - 1}:0] {name};" for name, bits in wires.items())
    yield from instances
    yield "endmodule"


REGISTER = re.compile(r"(valid|flight|count|carried|register|starts|scale_[ab]|opened)\w*")
BESIDE = re.compile(r"(c|scale_[ab])_flight(\d+)")  # what goes along with a beat outside of the control
UNNAMED = re.compile(r"state\d+")
SHOWN = re.compile(r"^  assign (\w+) = (\w+);$", re.M)  # an output that shows a register


def _registers(engine: Engine) -> dict[str, str]:
    """The registers that outputs are, and whose names outputs took."""
    stage = latencies(engine.unit, engine.pipeline)
    names = {"carries_context": f"flight{stage['carried']}_context"}
    if "kept" in stage:
        fields = {"adds": ("first", "context"), "kept": ("first", "promotes", "context")}
        names |= {f"{'adds' if at == 'adds' else 'keeps'}_{name}": f"flight{stage[at]}_{name}"
                  for at, each in fields.items() for name in each} | {"keeps": f"valid{stage['kept']}"}  # fmt: skip
    if of_partial(engine.unit):
        names |= {f"scale_{side}_q": f"scale_{side}" for side in "ab"}
        names |= {f"scale_{side}": f"scale_{side}_flight{stage['adds']}" for side in "ab"}
    return names


def _renamed(circuit: Circuit, shown: Mapping[str, str]) -> Circuit:
    """A circuit whose registers have the names that parts give them. Wrong names make claims fail.

    Yosys names a register after what it is joined to. shown: the registers that outputs are.
    """
    states = dict[str, Register]()
    ports = {term.symbol(): name for name, term in circuit.outputs.items() if term.is_const()}
    for name, state in circuit.states.items():
        own = ports.get(state.now.symbol(), name).rpartition(".")[2]
        own = BESIDE.sub(r"flight\2_\1", shown.get(own, own))
        better = REGISTER.fullmatch(own) or UNNAMED.fullmatch(name)
        states[own if better and own not in states else name] = state
    return Circuit(circuit.inputs, circuit.outputs, states, circuit.wires)
