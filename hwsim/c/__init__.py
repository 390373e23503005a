"""Units in C: one header that returns what the model returns, and what a harness needs around it."""

from hwsim.c.files import MARK, export_c
from hwsim.c.names import identifier
from hwsim.c.support import supports
from hwsim.c.text import HEADER, render
from hwsim.c.unit import UnitInC

__all__ = ["HEADER", "MARK", "UnitInC", "export_c", "identifier", "render", "supports"]
