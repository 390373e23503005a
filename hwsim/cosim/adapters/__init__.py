"""Verilog around a user's design that makes streams of its ports, whatever its protocol."""
