"""Verilog of several modules, for people to read."""

from .modules import modules
from .style import CLOCK_ENABLE, PLAIN, ResetKind, Style

__all__ = ["CLOCK_ENABLE", "PLAIN", "ResetKind", "Style", "modules"]
