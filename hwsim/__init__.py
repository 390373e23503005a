"""Bit-accurate simulation of FP8 and Microscaling (MX) dot-product units.

>>> import hwsim
>>> unit = hwsim.load_unit("hopper-wgmma-e4m3-f32")
>>> hwsim.dot(unit, [[0x38, 0x40]], [[0x38, 0x38]])  # 1 x 1 + 2 x 1
array([3.], dtype=float32)
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hwsim.compute.gemm import gemm
    from hwsim.compute.products import dot
    from hwsim.compute.sparse import compress
    from hwsim.compute.support import supports
    from hwsim.explain.explained import Explained, explain
    from hwsim.formats import get_format
    from hwsim.formats.yamlfile import SpecError
    from hwsim.prove.difference import UnitDifference, diff
    from hwsim.quantize import Quantized, dequantize, quantize
    from hwsim.spec import NotImplementedYet, load_unit
    from hwsim.study.product_error import ProductError, error
    from hwsim.study.tolerance import Tolerance, ToleranceWarning, tolerance

    __version__: str

__all__ = [
    "Explained",
    "NotImplementedYet",
    "ProductError",
    "Quantized",
    "SpecError",
    "Tolerance",
    "ToleranceWarning",
    "UnitDifference",
    "__version__",
    "compress",
    "dequantize",
    "diff",
    "dot",
    "error",
    "explain",
    "gemm",
    "get_format",
    "load_unit",
    "quantize",
    "supports",
    "tolerance",
]

# Where each name is. It is imported when it is asked for: a simulator's process needs the testbench alone, and starts
# a third sooner without the others.
_HOMES = {
    "Explained": "hwsim.explain.explained",
    "NotImplementedYet": "hwsim.spec",
    "ProductError": "hwsim.study.product_error",
    "Quantized": "hwsim.quantize",
    "SpecError": "hwsim.formats.yamlfile",
    "Tolerance": "hwsim.study.tolerance",
    "ToleranceWarning": "hwsim.study.tolerance",
    "UnitDifference": "hwsim.prove.difference",
    "compress": "hwsim.compute.sparse",
    "dequantize": "hwsim.quantize",
    "diff": "hwsim.prove.difference",
    "dot": "hwsim.compute.products",
    "error": "hwsim.study.product_error",
    "explain": "hwsim.explain.explained",
    "gemm": "hwsim.compute.gemm",
    "get_format": "hwsim.formats",
    "load_unit": "hwsim.spec",
    "supports": "hwsim.compute.support",
    "tolerance": "hwsim.study.tolerance",
}


def __getattr__(name: str) -> Any:
    """A public name, or a package: `hwsim.quantize` can be called, too."""
    value: Any
    if name == "__version__":
        value = import_module("importlib.metadata").version("hwsim")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif find_spec(f"{__name__}.{name}"):
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
