"""The unit in hardware: Amaranth components, generated from a specification.

Nothing here imports the model: that the two agree is what the testbenches show.
"""

from hwsim.rtl.quantizer import BlockDequantizer, BlockQuantizer, supports_dequantizer, supports_quantizer
from hwsim.rtl.streamed import StreamedDatapath

from .converter import Converter, supports_conversion
from .datapath import datapath, promotion
from .dot_unit import DotUnit, beat_layout, result_port_layout
from .format_bench import FormatBench, decode_fields, port_names, product_fields
from .hierarchy import CLOCK_ENABLE, PLAIN, Style
from .methods import supports
from .package import fields_of, member_name
from .project import Project, timing
from .stochastic import StochasticConvert, StochasticRound, Threefry
from .verilog import (
    convert,
    cost,
    module_name,
    pipeline_options,
    stream_verilog,
    style_options,
    top_name,
    unit_package,
    unit_rtlil,
    verilog,
)

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
    "stream_verilog",
    "style_options",
    "supports",
    "supports_conversion",
    "supports_dequantizer",
    "supports_quantizer",
    "timing",
    "top_name",
    "unit_package",
    "unit_rtlil",
    "verilog",
]
