"""The command line. A command is a module that adds itself to `hwsim.cli.app.app`, and is imported here."""

from hwsim.cli import capture, codec, cosim, dut, explain, formats, gemm, rtl, units
from hwsim.cli.app import app
from hwsim.cli.entry import main

__all__ = ["app", "capture", "codec", "cosim", "dut", "explain", "formats", "gemm", "main", "rtl", "units"]
