"""Gates, depth and clock rate of generated Verilog, by Yosys and nextpnr."""

from hwsim.rtl.synthesis.area import Area, area
from hwsim.rtl.synthesis.designs import STAGES, TOP, FlatModule, datapath_verilog, stage_cuts, unit_parts
from hwsim.rtl.synthesis.flows import GATES, Ecp5, Generic, ecp5, generic, yosys
from hwsim.rtl.synthesis.tools import NEXTPNR, YOSYS, FlowFailed, require

__all__ = [
    "GATES",
    "NEXTPNR",
    "STAGES",
    "TOP",
    "YOSYS",
    "Area",
    "Ecp5",
    "FlatModule",
    "FlowFailed",
    "Generic",
    "area",
    "datapath_verilog",
    "ecp5",
    "generic",
    "require",
    "stage_cuts",
    "unit_parts",
    "yosys",
]
