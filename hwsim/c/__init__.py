"""Units in C: one header that returns what the model returns, and what a harness needs around it."""

from hwsim.c.files import MARK, export_c
from hwsim.c.names import identifier
from hwsim.c.plan import Plan
from hwsim.c.text import HEADER, render

__all__ = ["HEADER", "MARK", "Plan", "export_c", "identifier", "render"]
