"""What stands beside an engine's Verilog: FuseSoC's core, timing, and a driver in C that packs and unpacks matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from hwsim.base.errors import InputError
from hwsim.cases.case import block_lengths
from hwsim.compute.c.text import short
from hwsim.formats import Format, container_dtype
from hwsim.formats.blocks import one_code
from hwsim.rtl import Project, module_name, timing
from hwsim.rtl.engine.top import engine_style
from hwsim.spec import ModalUnit, modes_of
from hwsim.spec.engine import Engine, Side
from hwsim.spec.registers import (
    AXI_LITE,
    CLEAR,
    IDENTITY,
    PREFIX,
    RESET,
    VERSION,
    register_lines,
    registers,
)

FILES = "driver.h", "driver.c"


def engine_files(engine: Engine, period: float, version: str) -> dict[str, str]:
    """The files beside `TOP.sv`, by name. period: of the clock, in ns. version: hwsim's."""
    top = module_name(engine.name)
    streams = [(name, size.width) for name, size in (*engine.sizes().items(), ("d", engine.results))]
    data = [f"{name}_tdata[*]" for name, _ in streams]
    inputs = [port for name, _ in streams[:-1] for port in (f"{name}_tvalid", f"{name}_tlast")] + data[:-1]
    outputs = [f"{name}_tready" for name, _ in streams[:-1]] + [data[-1], "d_tvalid", "d_tlast", "error[*]"]
    mode = ["mode[*]"] if engine.has_modes and engine.control is None else []
    for name, (into, bits) in AXI_LITE.items() if engine.control is not None else ():
        (inputs if into else outputs).append(f"{PREFIX}{name}" + "[*]" * (bits > 1))
    words = f"{engine.name}: {engine.rows} x {engine.columns} elements of {engine.unit.name}"
    project = Project(top=top, sources=[f"{top}.sv"], checks=[], constraints=f"{top}.sdc", words=words, version=version)
    constraints = timing(top, period, [*inputs, *mode, "d_tready"], outputs, engine_style(engine))
    return {f"{top}.core": project.core(), f"{top}.sdc": constraints, **driver_files(engine)}


def driver_files(engine: Engine) -> dict[str, str]:
    """The driver in C99, as TOP.h and TOP.c. Raises InputError for codes of more than 64 bits."""
    low, values = module_name(engine.name), _values(engine)
    environment = Environment(loader=PackageLoader("hwsim.cosim.engine"), undefined=StrictUndefined,
                              trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)  # fmt: skip
    made = {}
    for name in FILES:
        text = environment.get_template(f"{name}.jinja").render(values)
        lines = [part for line in text.splitlines() for part in short(line)]
        made[name.replace("driver", low)] = "\n".join(lines) + "\n"
    return made


def _type(fmt: Format) -> str:
    if fmt.container_bits > 64:
        raise InputError(f"a driver in C has codes of at most 64 bits, not {fmt.name}'s {fmt.container_bits}")
    return f"{container_dtype(fmt).name}_t"


def _values(engine: Engine) -> dict[str, Any]:
    """What the templates say."""
    unit, low = engine.unit, module_name(engine.name)
    types, scaled = {}, unit.scale is not None
    for side in ("a", "b"):
        formats = [mode.operands.factor(side) for mode in modes_of(unit)]
        types[side] = _type(max(formats, key=lambda fmt: fmt.container_bits))
        if unit.scale is not None:
            types[f"scale_{side}"] = _type(unit.scale.of(side).format)
    has_c = "c" in engine.sizes()
    if has_c and unit.operands.addend is not None:
        types["c"] = _type(unit.operands.addend)
    types["d"] = _type(unit.output)
    named = ["a", "b", *(["c"] if has_c else []), *(["scale_a", "scale_b"] if scaled else [])]
    arguments = ", ".join([*(f"const {low}_{name} *{name}" for name in named), f"{low}_d *d"])
    streams = [{"name": name, "bytes": size.width // 8, "words": size.words}
               for name, size in (*engine.sizes().items(), ("d", engine.results))]  # fmt: skip
    instruction = unit.instruction
    table = list(registers(engine).values()) if engine.control is not None else []
    return {
        "registers": list(register_lines(engine)) if table else [], "RESET": RESET, "CLEAR": CLEAR,
        "hash": [f"{each.value:#010x}u" for each in table if each.name.startswith("hash_")],
        "identity": f"{IDENTITY:#x}u", "version": VERSION,
        "mode_register": any(each.name == "mode" for each in table),
        "subject": f"{engine.name}, {engine.rows} x {engine.columns} elements of {unit.name}",
        "facts": list(engine.facts()), "sha256": engine.digest, "low": low, "UP": low.upper(), "rows": engine.rows,
        "columns": engine.columns, "macro": engine.macro, "reuse": engine.reuse, "lanes": instruction.lanes,
        "modes": list(unit.modes) if isinstance(unit, ModalUnit) else [unit.name], "types": types, "scaled": scaled,
        "blocks": block_lengths(unit) if scaled else None, "has_c": has_c, "arguments": arguments, "streams": streams,
        "packed": list(_packed(engine)), "order": [instruction.indices(group) for group in range(instruction.groups)],
        "instruction": instruction.k, "fill": instruction.fill, "c_words": engine.sizes()["c"].words if has_c else 0,
        "result_words": engine.results.words, "result_bits": unit.output.container_bits,
        "addend_bits": unit.operands.addend.container_bits if has_c and unit.operands.addend else 0,
    }  # fmt: skip


def _packed(engine: Engine) -> Iterator[dict[str, Any]]:
    """What the templates say of each stream that brings steps: codes, scales, or both."""
    unit, low, sizes = engine.unit, module_name(engine.name), engine.sizes()
    for number, name in enumerate(("a", "b", "c", "scale_a", "scale_b")):
        if name not in engine.step_streams:
            continue
        side: Side = "a" if name.endswith("a") else "b"
        at = "ab".index(side)
        size = f"{low.upper()}_MACRO_{'ROWS' if at == 0 else 'COLUMNS'}"
        takes: list[str] = [side] if name == side else []
        said: dict[str, Any] = {
            "name": name, "number": number, "side": side, "codes": name == side, "words": sizes[name].words,
            "rows": size, "bits": engine.code_bits(side), "all": "mn"[at], "scales": False,
            "first": f"at_{name}.tile {'/ across' if at == 0 else '% across'} * {size}",
        }  # fmt: skip
        if unit.scale is not None and (name != side or f"scale_{side}" not in sizes):
            fmt = unit.scale.of(side).format
            takes.append(f"scale_{side}")
            said |= {"scales": True, "block": block_lengths(unit)[at], "one": one_code(fmt),
                     "lanes_of_scale": unit.lanes_of_scale(side), "scale_bits": fmt.container_bits}  # fmt: skip
        arguments = ", ".join(f"const {low}_{array} *{array}" for array in takes)
        yield said | {"passed": ", ".join(takes), "arguments": arguments}
