"""An engine played on a simulator."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

from hwsim.cosim.build import HdlSources
from hwsim.cosim.play import command, errors_in, log_end, simulate
from hwsim.rtl import module_name
from hwsim.rtl.engine.top import engine_verilog
from hwsim.spec.engine import Engine
from hwsim.tb.engine import SCRIPTS, EngineScript
from hwsim.tb.job import SuiteOutcome, read_outcome

TESTBENCH = "hwsim.tb.engine"
STUCK_AFTER = 120.0  # seconds


def sources(engine: Engine, verilog: str | None = None) -> HdlSources:
    """What simulators read. verilog: of another design of the same ports."""
    streams = [f"{name}_{port}" for name in (*engine.sizes(), "d") for port in ("tdata", "tvalid", "tready", "tlast")]
    mode = ["mode"] if engine.has_modes else []
    ports = ("clk", "rst", "error", *mode, *streams)
    top, several = module_name(engine.name), engine.rows * engine.columns > 1
    return HdlSources(top, verilog or engine_verilog(engine), ports, once=f"{top}_element" if several else "")


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
