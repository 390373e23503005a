"""Quantisation: real numbers to codes and scales, by published rules.

`hwsim.quantize` is this package and, called, its function `quantize`.
"""

import sys
from types import ModuleType
from typing import Any

from hwsim.quantize.convert import quantize
from hwsim.quantize.layouts import pack_codes, swizzle_scales, unpack_codes, unswizzle_scales
from hwsim.quantize.quantized import Quantized, dequantize
from hwsim.quantize.rule import Apply, Rule, Select, Special, TensorScale, get_rule, rules
from hwsim.quantize.search import Search, flexible_format, search_format
from hwsim.quantize.training import (
    DelayedScaling,
    LossScaling,
    overflowed,
    softmax_input,
    split_residual,
    update_residual,
)

__all__ = [
    "Apply",
    "DelayedScaling",
    "LossScaling",
    "Quantized",
    "Rule",
    "Search",
    "Select",
    "Special",
    "TensorScale",
    "dequantize",
    "flexible_format",
    "get_rule",
    "overflowed",
    "pack_codes",
    "quantize",
    "rules",
    "search_format",
    "softmax_input",
    "split_residual",
    "swizzle_scales",
    "unpack_codes",
    "unswizzle_scales",
    "update_residual",
]


class CallablePackage(ModuleType):
    """This package, which can be called as its function `quantize`: both have the name `hwsim.quantize`."""

    def __call__(self, x: Any, rule: str | Rule, axis: int = -1, **options: Any) -> Quantized:
        """Codes and scales of real numbers; see `hwsim.quantize.quantize`."""
        return quantize(x, rule, axis, **options)


sys.modules[__name__].__class__ = CallablePackage
