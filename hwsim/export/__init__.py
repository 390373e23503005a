"""Units in C: one header that returns what the model returns, and what a harness needs around it."""

from hwsim.export.files import MARK, export_c
from hwsim.export.names import identifier
from hwsim.export.plan import Plan
from hwsim.export.text import HEADER, render

__all__ = ["HEADER", "MARK", "Plan", "export_c", "identifier", "render"]
