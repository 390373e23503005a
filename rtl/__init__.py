"""The unit in hardware: Amaranth components, generated from a specification.

Nothing here imports the model: that the two agree is what the testbenches show.
"""

from hwsim.rtl.converter import Converter, StreamedDatapath, StreamPlan
from hwsim.rtl.dot_unit import DotUnit, beat_layout, result_port_layout
from hwsim.rtl.hierarchy.names import fields_of, member_name
from hwsim.rtl.methods import datapath, promotion, supports
from hwsim.rtl.quantizer import BlockDequantizer, BlockQuantizer, Streamed, stream_plan
from hwsim.rtl.verilog import (
    Project,
    convert,
    cost,
    module_name,
    pipeline_options,
    stream_verilog,
    style_options,
    timing,
    top_name,
    unit_package,
    unit_rtlil,
    verilog,
)

from .format_bench import FormatBench, decode_fields, port_names, product_fields
from .hierarchy import CLOCK_ENABLE, PLAIN, Style
from .stochastic import StochasticConvert, StochasticRound, Threefry

__all__ = [
    "CLOCK_ENABLE",
    "PLAIN",
    "BlockDequantizer",
    "BlockQuantizer",
    "Converter",
    "DotUnit",
    "FormatBench",
    "Project",
    "StochasticConvert",
    "StochasticRound",
    "StreamPlan",
    "Streamed",
    "StreamedDatapath",
    "Style",
    "Threefry",
    "beat_layout",
    "convert",
    "cost",
    "datapath",
    "decode_fields",
    "fields_of",
    "member_name",
    "module_name",
    "pipeline_options",
    "port_names",
    "product_fields",
    "promotion",
    "result_port_layout",
    "stream_plan",
    "stream_verilog",
    "style_options",
    "supports",
    "timing",
    "top_name",
    "unit_package",
    "unit_rtlil",
    "verilog",
]
