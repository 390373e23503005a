"""What a testbench of one's own uses, under cocotb: stimuli of a unit, what drives valid and ready, the model beside
the design with what explains a mismatch, and coverage.

`hwsim cosim` compares, explains and counts with the same functions. `hwsim.cocotb.uvm` has components for pyuvm,
`hwsim.cocotb.axis` AXI4-Stream by cocotbext-axi. None of these libraries is needed for the rest.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hwsim.cocotb.coverage import Coverage
    from hwsim.cocotb.scoreboard import Mismatched, Scoreboard
    from hwsim.cocotb.stimuli import Stimulus, sometimes, stimulus
    from hwsim.tb.pins import Transfer, ValidReadyMonitor, ValidReadySink, ValidReadySource

# Where each name is: the simulator's side is imported where it is asked for, since it needs a simulator around it.
_HOMES = {
    "Coverage": "hwsim.cocotb.coverage",
    "Mismatched": "hwsim.cocotb.scoreboard",
    "Scoreboard": "hwsim.cocotb.scoreboard",
    "Stimulus": "hwsim.cocotb.stimuli",
    "Transfer": "hwsim.tb.pins",
    "ValidReadyMonitor": "hwsim.tb.pins",
    "ValidReadySink": "hwsim.tb.pins",
    "ValidReadySource": "hwsim.tb.pins",
    "sometimes": "hwsim.cocotb.stimuli",
    "stimulus": "hwsim.cocotb.stimuli",
}

__all__ = [
    "Coverage",
    "Mismatched",
    "Scoreboard",
    "Stimulus",
    "Transfer",
    "ValidReadyMonitor",
    "ValidReadySink",
    "ValidReadySource",
    "sometimes",
    "stimulus",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
