"""Verilog of several modules, for people to read."""

from .modules import modules as modules
