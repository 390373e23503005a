"""Quantisation: real numbers to codes and scales, by published rules."""

from hwsim.quantize.convert import quantize
from hwsim.quantize.delayed import DelayedScaling, LossScaling, overflowed
from hwsim.quantize.hfp8 import softmax_input, split_residual, update_residual
from hwsim.quantize.presets import get_rule, rules
from hwsim.quantize.quantized import Quantized, dequantize
from hwsim.quantize.rule import Apply, Rule, Select, Special, TensorScale
from hwsim.quantize.search import Search, flexible_format, search_format

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
    "quantize",
    "rules",
    "search_format",
    "softmax_input",
    "split_residual",
    "update_residual",
]
