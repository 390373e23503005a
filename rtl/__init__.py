"""The unit in hardware: Amaranth components, one stage a file, generated from a specification.

Nothing here imports the model: that the two agree is what the testbenches show.
"""

from .datapath import datapath, promotion
from .dot_unit import DotUnit, beat_layout, result_port_layout
from .verilog import field_table, top_name, verilog

__all__ = ["DotUnit", "beat_layout", "datapath", "field_table", "promotion", "result_port_layout", "top_name", "verilog"]
