"""An engine's area: of each of its parts, which stand in it so many times."""

from __future__ import annotations

from typing import NamedTuple

from hwsim.rtl.engine.top import engine_style, engine_verilog, parts
from hwsim.rtl.hierarchy import modules
from hwsim.rtl.methods import supports
from hwsim.rtl.synthesis import FlatModule
from hwsim.rtl.verilog import module_name
from hwsim.spec.engine import Engine

ONCE = ("feed", "control", "drain", "registers")


class EnginePart(NamedTuple):
    """A part by itself, and how many of it an engine has."""

    name: str
    times: int
    module: FlatModule


def engine_parts(engine: Engine) -> list[EnginePart]:
    """The parts of an engine; the top has wires alone. A part is the same text in all engines that have it.

    Raises NotImplementedYet for a unit that the RTL cannot build.
    """
    supports(engine.unit).demand()
    counts = {"row": engine.rows, "column": engine.columns, "element": engine.rows * engine.columns}
    return [
        EnginePart(name, counts.get(name, 1), FlatModule(name, modules(part, name, engine_style(engine)).text))
        for name, part in parts(engine).items()
    ]


def whole_engine(engine: Engine) -> EnginePart:
    """An engine as one design. Raises NotImplementedYet for a unit that the RTL cannot build."""
    return EnginePart("whole", 1, FlatModule(module_name(engine.name), engine_verilog(engine)))


def unshared(engine: Engine, sizes: dict[str, int]) -> int:
    """What an engine's parts would be together, were each element to decode its own factors. sizes: by part."""
    each = sizes["row"] + sizes["column"] + sizes["element"]
    return engine.rows * engine.columns * each + sum(sizes.get(name, 0) for name in ONCE)
