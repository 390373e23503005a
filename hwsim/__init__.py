"""Bit-accurate simulation of FP8 and Microscaling (MX) dot-product units.

>>> import hwsim
>>> unit = hwsim.load_unit("hopper-wgmma-e4m3-f32")
>>> hwsim.dot(unit, [[0x38, 0x40]], [[0x38, 0x38]])  # 1 x 1 + 2 x 1
array([3.], dtype=float32)
"""

from importlib.metadata import version
from typing import TYPE_CHECKING

from hwsim.formats import get_format
from hwsim.formats.yamlfile import SpecError
from hwsim.products import dot, gemm
from hwsim.quantize import Quantized, dequantize
from hwsim.report.explained import Explained, explain
from hwsim.spec import NotImplementedYet, load_unit

if TYPE_CHECKING:  # the package of that name can be called, which type checkers do not know of modules
    from hwsim.quantize import quantize

__version__ = version("hwsim")

__all__ = [
    "Explained",
    "NotImplementedYet",
    "Quantized",
    "SpecError",
    "__version__",
    "dequantize",
    "dot",
    "explain",
    "gemm",
    "get_format",
    "load_unit",
    "quantize",
]
