"""Units in C: one header that returns what the model returns, and what a harness needs around it."""

from hwsim.compute.c.sums import supports
from hwsim.compute.c.text import HEADER, MARK, export_c, render
from hwsim.compute.c.unit import UnitInC, identifier

__all__ = ["HEADER", "MARK", "UnitInC", "export_c", "identifier", "render", "supports"]
