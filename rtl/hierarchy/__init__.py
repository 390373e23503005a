"""Verilog of several modules, for people to read."""

from .modules import modules as modules
from .style import PLAIN as PLAIN
from .style import PortType as PortType
from .style import ResetKind as ResetKind
from .style import Style as Style
