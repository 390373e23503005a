"""Small engines that tests share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conftest import at_hand

from hwsim.cosim.build import BuildFailed
from hwsim.cosim.engine.run import play
from hwsim.spec.engine import Engine, load_engine
from hwsim.tb.engine import EngineScript

SMALL: dict[str, Any] = {
    "unit": "small4",
    "operands": {"a": "e4m3", "b": "e4m3", "addend": "f32"},
    "instruction": {"k": 4, "lanes": 4, "order": "sequential", "start": "addend", "chain": "addend"},
    "sum": {"method": "aligned", "fraction_bits": 13, "lost": "truncate", "addend": "aligned"},
    "result": {"format": "e8m13", "rounding": "rz", "overflow": "infinity", "nan": "canonical", "tiny": "signed"},
}


def engine(unit: Any = SMALL, *, addends: bool = True, **keys: Any) -> Engine:
    """An engine of 2 x 3 elements."""
    ports = {"a": 32, "b": 64, "d": 32} | ({"c": 64} if addends else {})
    data = {"engine": "tiny", "unit": unit, "rows": 2, "columns": 3, "reuse": [2, 2], "ports": ports, **keys}
    return load_engine(data)


def notice(built: Engine, every: Sequence[EngineScript], folder: Path, verilog: str) -> bool:
    """True if suites notice what is wrong with an engine's Verilog: a port or a word differs, or they never end."""
    with at_hand():
        try:
            outcomes = play(built, every, folder, "icarus", verilog=verilog)
        except BuildFailed:
            raise  # a change that is no Verilog says nothing
        except RuntimeError:
            return True
    return any(outcome.count for outcome in outcomes)
