"""Gates, depth and clock rate of generated Verilog, by Yosys and nextpnr."""

from hwsim.synthesis.designs import STAGES, TOP, datapath_verilog, stage_cuts
from hwsim.synthesis.flows import GATES, Ecp5, Generic, ecp5, generic, yosys
from hwsim.synthesis.tools import NEXTPNR, YOSYS, FlowFailed, require

__all__ = [
    "GATES",
    "NEXTPNR",
    "STAGES",
    "TOP",
    "YOSYS",
    "Ecp5",
    "FlowFailed",
    "Generic",
    "datapath_verilog",
    "ecp5",
    "generic",
    "require",
    "stage_cuts",
    "yosys",
]
