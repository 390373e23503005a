"""Verilog: flat, with stable names, and the same bytes from the same specification."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from amaranth.hdl import Shape
from amaranth.lib.data import ArrayLayout, StructLayout
from amaranth.lib.wiring import Component

from hwsim.base.resources import MIB, Cost
from hwsim.spec import Pipeline, Specified, as_yaml

from .dot_unit import DotUnit, beat_layout, result_port_layout
from .hierarchy import PLAIN, Style, modules
from .keywords import KEYWORDS
from .package import package, package_name, port_type
from .rtlil import rtlil_of
from .support import supports
from .widen import widen
from .yosys import run_yosys

# Amaranth's own Yosys writes it, so that the bytes do not depend on what a machine has installed.
SCRIPT = """read_rtlil <<rtlil
{rtlil}
rtlil
proc -noopt -norom
flatten -separator _
opt_merge
opt_clean -purge
attrmap -remove generator -remove top -remove src -remove amaranth.hierarchy -remove amaranth.decoding \
-remove init -remove keep_hierarchy
attrmap -modattr -remove generator -remove top -remove src -remove amaranth.hierarchy
write_verilog -sv -noattr -norename
"""


# Verilator wants a file for each module, of its name; here they are read one after another.
ONE_FILE = "// verilator lint_off DECLFILENAME\n\n"

# Equal parts of a concatenation, side by side: short to write as a repetition, and fast to simulate.
REPEATED = re.compile(r"(?<=[{,] )([^,{}]+)((?:, \1)+)(?=,| })")


def cost(unit: Specified) -> Cost:
    """What it takes to write a unit's Verilog, as measured with e5m2 products and 64 to 1,024 lanes."""
    lanes = unit.instruction.lanes
    memory, seconds = 200 * MIB + lanes * 3 * MIB / 2, lanes * 0.07
    return Cost(f"the Verilog of {lanes:,} lanes", memory, seconds, "a unit of fewer lanes takes less")


def top_name(unit: Specified) -> str:
    """The module's name: `module_name` of the unit's."""
    return module_name(unit.name)


def module_name(called: str) -> str:
    """A name with what Verilog allows, and `unit_` before what would be none.

    Names that begin with hwsim_ are those of the benches.
    """
    name = re.sub(r"[^A-Za-z0-9_]", "_", called)
    return f"unit_{name}" if name[0].isdigit() or name in KEYWORDS or name.startswith("hwsim_") else name


def convert(component: Component, name: str) -> str:
    """A component as one flat Verilog module called `name`. Raises RuntimeError with what Yosys said."""
    return _flat(rtlil_of(component, name), name)


def _flat(text: str, name: str) -> str:
    try:
        written = run_yosys(SCRIPT.format(rtlil=widen(text)))
    except RuntimeError as error:
        raise RuntimeError(f"Yosys could not write {name}: {error}") from error
    return REPEATED.sub(_repetition, written)


def _repetition(match: re.Match[str]) -> str:
    part, others = match.groups()
    return f"{{{1 + others.count(',')}{{{part}}}}}"


def verilog(unit: Specified, pipeline: Pipeline) -> str:
    """A unit as Verilog; ports clk, rst (synchronous, active high), i__*, o__* and misuse.

    Raises NotImplementedYet for a unit that the RTL cannot build.
    """
    return verilog_of(unit_rtlil(unit, pipeline), unit, pipeline)


def unit_rtlil(unit: Specified, pipeline: Pipeline) -> str:
    """A unit as Amaranth elaborates it, in RTLIL; its top is called `top_name(unit)`.

    Raises NotImplementedYet for a unit that the RTL cannot build.
    """
    # Amaranth warns of a component that nothing uses: none is built of a unit that the RTL lacks.
    supports(unit).demand()
    return rtlil_of(DotUnit(unit, pipeline), top_name(unit))


def verilog_of(text: str, unit: Specified, pipeline: Pipeline) -> str:
    """The same Verilog of what `unit_rtlil` gives."""
    body = _flat(text, top_name(unit))
    return header(unit, pipeline) + body[body.index("module ") :]


def typed(style: Style, unit: Specified, pipeline: Pipeline) -> Style:
    """A style in which a unit's payloads have the types of its package."""
    types = {
        "i__payload": port_type("beat_t", beat_layout(unit, pipeline)),
        "o__payload": port_type("result_t", result_port_layout(unit, pipeline)),
    }
    return replace(style, types=types, package=package_name(top_name(unit)))


def unit_package(unit: Specified, pipeline: Pipeline) -> str:
    """A unit's package: its sizes, and its beats and results as structs."""
    sizes = {"LANES": unit.instruction.lanes, "LATENCY": pipeline.latency, "CONTEXTS": pipeline.contexts}
    types = {
        "beat_t": ("What enters in a cycle; element 0 is lane 0.", beat_layout(unit, pipeline)),
        "result_t": ("A result, and the sum's context.", result_port_layout(unit, pipeline)),
    }
    return package(top_name(unit), sizes, types)


def modular_verilog(unit: Specified, pipeline: Pipeline, style: Style = PLAIN, *, package_apart: bool = False) -> str:
    """A unit as several modules that people read: a module a step, lanes as instances; ports as those of `verilog`.

    style: of registers and ports; ports with types need `unit_package`, which stands before them here unless it is
    `package_apart`.
    Raises NotImplementedYet for a unit that the RTL cannot build.
    """
    supports(unit).demand()
    before = f"{unit_package(unit, pipeline)}\n" if style.types and not package_apart else ""
    return f"{header(unit, pipeline)}\n{ONE_FILE}{before}{modules(DotUnit(unit, pipeline), top_name(unit), style).text}"


def header(unit: Specified, pipeline: Pipeline) -> str:
    """The comment that a file begins with: the specification, the pipeline and the fields of the ports."""
    lines = [
        f"{unit.name}: a dot-product unit, generated by hwsim. Do not edit.",
        f"cuts: {', '.join(pipeline.cuts)} (latency {pipeline.latency}); contexts: {pipeline.contexts}"
        + ("; ready is a register" if pipeline.register_ready else ""),
        "",
        *as_yaml(unit).rstrip().splitlines(),
        "",
    ]
    for port, layout in (
        ("i__payload", beat_layout(unit, pipeline)),
        ("o__payload", result_port_layout(unit, pipeline)),
    ):
        lines += [f"{port}[{high}:{low}]  {field}" for field, high, low in field_table(layout)]
    return "".join(f"// {line}".rstrip() + "\n" for line in lines)


def field_table(layout: StructLayout) -> Iterator[tuple[str, int, int]]:
    """The fields of a port: name, high bit, low bit. `a[0..31]` is an array, its first element in the low bits."""
    for name, field in layout:
        width = Shape.cast(field.shape).width
        label = f"{name}[0..{field.shape.length - 1}]" if isinstance(field.shape, ArrayLayout) else name
        yield label, field.offset + width - 1, field.offset
