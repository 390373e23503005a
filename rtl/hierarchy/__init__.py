"""Verilog of several modules, for people to read."""

from hwsim.rtl.hierarchy.expressions import CLOCK_ENABLE, PLAIN, ResetKind, Style

from .modules import modules

__all__ = ["CLOCK_ENABLE", "PLAIN", "ResetKind", "Style", "modules"]
