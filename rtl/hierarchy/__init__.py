"""Verilog of several modules, for people to read."""

from .modules import modules as modules
from .style import CLOCK_ENABLE as CLOCK_ENABLE
from .style import PLAIN as PLAIN
from .style import ResetKind as ResetKind
from .style import Style as Style
