"""Verilog of several modules, for people to read."""
