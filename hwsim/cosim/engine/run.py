"""An engine played on a simulator."""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from pathlib import Path

from hwsim.base.errors import InputError
from hwsim.cosim.build import HdlSources
from hwsim.cosim.play import command, errors_in, log_end, simulate
from hwsim.rtl import module_name
from hwsim.rtl.engine.top import engine_style, engine_verilog
from hwsim.spec.engine import Engine
from hwsim.spec.registers import AXI_LITE, PREFIX
from hwsim.tb.engine import SCRIPTS, EngineScript
from hwsim.tb.job import SuiteOutcome, read_outcome

TESTBENCH = "hwsim.tb.engine"
STUCK_AFTER = 120.0  # seconds


def sources(engine: Engine, verilog: str | None = None) -> HdlSources:
    """What simulators read. verilog: of another design of the same ports."""
    streams = [f"{name}_{port}" for name in (*engine.sizes(), "d") for port in ("tdata", "tvalid", "tready", "tlast")]
    control = [f"{PREFIX}{name}" for name in AXI_LITE] if engine.control is not None else []
    mode = ["mode"] if engine.has_modes and not control else []
    ports = ("clk", engine_style(engine).reset_name, "error", *mode, *control, *streams)
    top, text = module_name(engine.name), verilog or engine_verilog(engine)
    once = f"{top}_element" if engine.rows * engine.columns > 1 and f"module {top}_element (" in text else ""
    return HdlSources(top, text, ports, once=once)


def design_of(engine: Engine, files: Sequence[Path]) -> str:
    """The Verilog of another engine, of this one's name and ports. Raises InputError where there is no such module."""
    top, text = module_name(engine.name), ""
    for file in files:
        try:
            text += file.read_text() + "\n"
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{file}: {getattr(error, 'strerror', None) or 'is not text'}") from None
    if not re.search(rf"^\s*module\s+{top}\b", text, re.MULTILINE):
        raise InputError(f"{' or '.join(map(str, files))} must have the module {top}, with the engine's ports")
    return text


def play(
    engine: Engine, scripts: Sequence[EngineScript], folder: Path, simulator: str = "verilator", seed: int = 1,
    verilog: str | None = None,
) -> list[SuiteOutcome]:  # fmt: skip
    """Play scripts on an engine's RTL; an outcome for each. Raises RuntimeError where a simulation did not finish."""
    hdl = sources(engine, verilog)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SCRIPTS).write_bytes(pickle.dumps(list(scripts)))
    simulate(simulator, command(simulator, hdl, trace=False), hdl.top, folder, seed, STUCK_AFTER, TESTBENCH)
    outcomes = []
    for index, script in enumerate(scripts):
        outcome = read_outcome(folder, index)
        if outcome is None:
            lines = "\n".join([*errors_in(folder), *log_end(folder)])
            raise RuntimeError(f"{script.name} did not end on {simulator}:\n{lines}")
        outcomes.append(outcome)
    return outcomes
