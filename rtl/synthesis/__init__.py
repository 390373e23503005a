"""Gates and clock rate of generated Verilog, by Yosys and nextpnr; area, delay and power in cells, by OpenSTA."""

from hwsim.rtl.synthesis.area import Area, area
from hwsim.rtl.synthesis.cells import CONDITIONS, Mapped, mapped, require_cells
from hwsim.rtl.synthesis.designs import STAGES, TOP, FlatModule, datapath_verilog, stage_cuts, unit_parts
from hwsim.rtl.synthesis.flows import GATES, Ecp5, Generic, ecp5, generic, yosys
from hwsim.rtl.synthesis.tools import NEXTPNR, YOSYS, FlowFailed, require

__all__ = [
    "CONDITIONS",
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
    "Mapped",
    "area",
    "datapath_verilog",
    "ecp5",
    "generic",
    "mapped",
    "require",
    "require_cells",
    "stage_cuts",
    "unit_parts",
    "yosys",
]
