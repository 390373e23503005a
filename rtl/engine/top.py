"""An engine as Verilog: the modules that Amaranth makes, one of each kind, and the wires between rows and columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from amaranth.lib.wiring import Component

from hwsim.rtl.engine.control import TileControl
from hwsim.rtl.engine.drain import Drain
from hwsim.rtl.engine.element import TileElement, control_bits
from hwsim.rtl.engine.feed import Feed
from hwsim.rtl.engine.registers import Registers
from hwsim.rtl.engine.side import SideDecode, of_partial, side_elements
from hwsim.rtl.hierarchy import Style, modules
from hwsim.rtl.methods import supports
from hwsim.rtl.numbers import ProductRanges
from hwsim.rtl.verilog import ONE_FILE, header, module_name
from hwsim.spec.engine import Engine, engine_yaml
from hwsim.spec.registers import AXI_LITE, PREFIX


def parts(engine: Engine) -> dict[str, Component]:
    """What an engine is made of, by the ends of the modules' names."""
    unit, pipeline = engine.unit, engine.pipeline
    return {
        "feed": Feed(engine, ProductRanges(unit).mode_bits),
        "control": TileControl(unit, pipeline, engine.control is not None),
        "row": SideDecode(unit, pipeline, 0),
        "column": SideDecode(unit, pipeline, 1),
        "element": TileElement(unit, pipeline),
        "drain": Drain(engine),
        **({"registers": Registers(engine)} if engine.control is not None else {}),
    }


def engine_style(engine: Engine) -> Style:
    """The style of an engine's registers: that of its reset."""
    return Style.of_reset(engine.reset)


def engine_verilog(engine: Engine, style: Style | None = None) -> str:
    """An engine as Verilog; ports clk, rst or rst_n, a_*, b_*, c_*, d_* (AXI-Stream), mode, error; s_axil_*
    (AXI4-Lite), which has the mode, too, where it has registers.

    style: another than its own, of the same engine otherwise, whose hash it has.
    Raises NotImplementedYet for a unit that the RTL cannot build.
    """
    supports(engine.unit).demand()
    top, style = module_name(engine.name), style or engine_style(engine)
    texts = {name: modules(part, f"{top}_{name}", style).text for name, part in parts(engine).items()}
    lines = [f"sha256: {engine.digest}", *engine.facts(), "", *engine_yaml(engine).rstrip().splitlines()]
    subject = f"{engine.name}: {engine.rows} x {engine.columns} elements of {engine.unit.name}"
    whole = "\n".join(_top(engine, style, {name: ports_of(text) for name, text in texts.items()}))
    return f"{header(subject, lines)}\n{ONE_FILE}{whole}\n\n" + "\n\n".join(texts.values())


PORT = re.compile(r"^  (input|output)\s+logic\s+(?:\[(\d+):0\])?\s*(\w+),?$", re.M)


def ports_of(text: str) -> dict[str, tuple[str, int]]:
    """The ports of the first module of a text: direction and bits, by name."""
    found = PORT.findall(text[: text.index(");")])
    return {name: (direction, int(high or 0) + 1) for direction, high, name in found}


Ports = Mapping[str, tuple[str, int]]


def _top(engine: Engine, style: Style, ports: Mapping[str, Ports]) -> Iterator[str]:
    """The lines of the module around them."""
    top, rst = module_name(engine.name), style.reset_name
    streams = [*engine.sizes(), "d"]
    outside: dict[str, tuple[str, int]] = {"clk": ("input", 1), rst: ("input", 1)}
    for name in streams:
        into, source = ("input", "output") if name != "d" else ("output", "input")
        width = engine.results.width if name == "d" else engine.sizes()[name].width
        outside |= {f"{name}_tdata": (into, width), f"{name}_tvalid": (into, 1), f"{name}_tready": (source, 1),
                    f"{name}_tlast": (into, 1)}  # fmt: skip
    if engine.control is not None:
        outside |= {f"{PREFIX}{name}": ("input" if into else "output", bits) for name, (into, bits) in AXI_LITE.items()}
    elif "mode_in" in ports["feed"]:
        outside["mode"] = ports["feed"]["mode_in"]
    outside["error"] = ports["feed"]["error"]
    yield f"// {engine.rows} rows and {engine.columns} columns of elements, decoders for each, and one control."
    yield f"module {top} ("
    every = [f"  {direction:6} logic {_range(bits)}{name}" for name, (direction, bits) in outside.items()]
    yield ",\n".join(every)
    yield ");"
    yield from _wires(engine, style, ports)
    inner = {f"{name}_{port}": f"{name}_{port}" for name in streams for port in ("tdata", "tvalid", "tready", "tlast")}
    beat = {"valid": "beat_valid", "ready": "beat_ready", "first": "beat_first", "last": "beat_last",
            "of_context": "beat_context", "mode_in": "mode", "mode": "beat_mode"}  # fmt: skip
    operands = {name: f"{name}_slices" for name in engine.sizes()}
    core, told = dict[str, str](), dict[str, str]()
    if engine.control is not None:
        core, told = {rst: f"core_{rst}"}, {"busy": "feed_busy"}
        axi = {name: f"{PREFIX}{name}" for name in AXI_LITE} | {"busy": "feed_busy | flying | d_tvalid"}
        yield from _instance(f"{top}_registers", "u_registers", ports["registers"], axi)
    yield from _instance(f"{top}_feed", "u_feed", ports["feed"], core | told | inner | beat | operands)
    control = core | {f"in_{name}": beat[name] for name in ("valid", "ready", "first", "last")}
    control |= {"in_context": "beat_context", "in_mode": "beat_mode", "out_valid": "tile_valid",
                "out_ready": "tile_ready", "out_context": "tile_context"}  # fmt: skip
    yield from _instance(f"{top}_control", "u_control", ports["control"], control)
    yield "  genvar i, j;"
    for at, (kind, index, count) in enumerate((("row", "i", engine.rows), ("column", "j", engine.columns))):
        side = "ab"[at]
        wires = core | {name: f"{name}[{index}]" for name in side_elements(engine.unit, at)}
        wires |= {"codes": _codes(engine, side, index, count), "scale_nan": f"{side}_scale_nan[{index}]",
                  "mode": "beat_mode"}  # fmt: skip
        yield f"  generate for ({index} = 0; {index} < {count}; {index} = {index} + 1) begin : {kind}"
        yield from _instance(f"{top}_{kind}", "u_decode", ports[kind], wires, "    ")
        yield "  end endgenerate"
    bits, place = engine.unit.output.container_bits, f"(i*{engine.columns} + j)"
    wires = core | {name: f"{name}[{'ij'[at]}]" for at in range(2) for name in side_elements(engine.unit, at)}
    wires |= {"result": f"results[{place}*{bits} +: {bits}]", "scale_nan": "a_scale_nan[i] | b_scale_nan[j]"}
    if engine.unit.operands.addend is not None:
        size = engine.unit.operands.addend.container_bits
        wires["c"] = f"c_slices[{place}*{size} +: {size}]" if "c" in engine.sizes() else f"{size}'d0"
    yield f"  generate for (i = 0; i < {engine.rows}; i = i + 1) begin : elements"
    yield f"    for (j = 0; j < {engine.columns}; j = j + 1) begin : element"
    yield from _instance(f"{top}_element", "u_element", ports["element"], wires, "      ")
    yield "    end"
    yield "  end endgenerate"
    drain = core | {"valid": "tile_valid", "ready": "tile_ready", "of_context": "tile_context"}
    drain |= {port: f"d_{port}" for port in ("tdata", "tvalid", "tready", "tlast")}
    yield from _instance(f"{top}_drain", "u_drain", ports["drain"], drain)
    yield "endmodule"


def _codes(engine: Engine, side: str, index: str, count: int) -> str:
    """A row's, or a column's, codes and scales in a beat."""
    parts = []
    for name in (f"scale_{side}", side):
        if name in engine.sizes():
            bits = engine.sizes()[name].size // count
            parts.append(f"{name}_slices[{index}*{bits} +: {bits}]")
    return parts[0] if len(parts) == 1 else f"{{{', '.join(parts)}}}"


def _wires(engine: Engine, style: Style, ports: Mapping[str, Ports]) -> Iterator[str]:
    """The declarations of what stands between the parts."""
    context = ports["control"]["in_context"][1]
    wires = {"beat_valid": 1, "beat_ready": 1, "beat_first": 1, "beat_last": 1, "beat_context": context,
             "tile_valid": 1, "tile_ready": 1, "tile_context": context, "results": engine.results.size}  # fmt: skip
    if "mode" in ports["feed"]:
        wires["beat_mode"] = ports["feed"]["mode"][1]
    if engine.control is not None:
        wires |= {"soft_reset": 1, "clear": 2, "feed_busy": 1, "flying": 1}
        if "mode" in ports["registers"]:
            wires["mode"] = ports["registers"]["mode"][1]
    wires |= {f"{name}_slices": size.size for name, size in engine.sizes().items()}
    shared = control_bits(engine.unit, engine.pipeline)
    if of_partial(engine.unit):
        shared |= {"enters": 1, "opens": 1}
    yield from (f"  wire {_range(bits)}{name};" for name, bits in (wires | shared | {"misuse": 1}).items())
    for at, (kind, count) in enumerate((("row", engine.rows), ("column", engine.columns))):
        elements = {name: bits * number for name, (bits, number) in side_elements(engine.unit, at).items()}
        yield from (f"  wire [{count - 1}:0][{bits - 1}:0] {name};" for name, bits in elements.items())
        if "scale_nan" in ports[kind]:
            yield f"  wire [{count - 1}:0] {'ab'[at]}_scale_nan;"
    yield "  // The feed offers lawful beats alone."
    yield "  wire unused = &{1'b0, misuse};"
    if engine.control is not None:
        resets = "rst_n & ~soft_reset" if style.reset_low else "rst | soft_reset"
        yield f"  wire core_{style.reset_name} = {resets};"


def _range(bits: int) -> str:
    return f"[{bits - 1}:0] " if bits > 1 else ""


def _instance(module: str, name: str, ports: Ports, wires: Mapping[str, str], indent: str = "  ") -> Iterator[str]:
    """An instance whose ports are wires of other names, or of their own."""
    yield f"{indent}{module} {name} ("
    yield ",\n".join(f"{indent}  .{port}({wires.get(port, port)})" for port in ports)
    yield f"{indent});"
