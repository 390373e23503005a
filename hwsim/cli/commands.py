"""The commands. Each is a module that adds itself to `hwsim.cli.app.app`, and is imported here."""

from hwsim.cli import (
    campaign,
    capture,
    check,
    codec,
    converter,
    cosim,
    docs,
    doctor,
    dut,
    explain,
    export,
    formats,
    fuzz,
    gemm,
    prove,
    qualify,
    quantizer,
    recipes,
    rtl,
    study,
    synth,
    units,
    vectors,
    verilator,
)
from hwsim.cli.app import app

__all__ = [
    "app", "campaign", "capture", "check", "codec", "converter", "cosim", "docs", "doctor", "dut", "explain", "export",
    "formats", "fuzz", "gemm", "prove", "qualify", "quantizer", "recipes", "rtl", "study", "synth", "units", "vectors",
    "verilator",
]  # fmt: skip
