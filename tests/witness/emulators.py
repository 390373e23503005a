"""Programs of a newer Debian, unpacked beside the system's, and compilers of other architectures' guest programs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from hwsim.base.errors import ToolMissing

ROOT = Path(__file__).parents[2]
UNPACKED = ROOT / "build" / "witness"
# Archives that are newer than this machine's, the nearest first.
SUITES = ("stable-backports", "testing", "unstable")
APT = Path("/etc/apt")


def archives() -> Iterator[str]:
    """The machine's own archives of Debian as stanzas of apt's sources, without their suites."""
    one_line = re.compile(r"^deb\s+(?:\[(?P<options>[^]]*)\]\s+)?(?P<uri>\S*/debian/?)\s+\S+\s+(?:.*\s)?main\b")
    for path in [APT / "sources.list", *sorted((APT / "sources.list.d").glob("*"))]:
        text = path.read_text("utf-8") if path.is_file() else ""
        if path.suffix == ".sources":
            for stanza in re.split(r"\n\s*\n", text):
                keys = dict(re.findall(r"^([\w-]+):[ \t]*(.+)$", stanza, re.MULTILINE))
                if re.search(r"/debian/?$", keys.get("URIs", "")) and "main" in keys.get("Components", ""):
                    yield _stanza(keys["URIs"], keys.get("Signed-By"))
        elif path.suffix == ".list":
            for found in filter(None, map(one_line.match, text.splitlines())):
                signed = re.search(r"signed-by=(\S+)", found["options"] or "")
                yield _stanza(found["uri"], signed and signed[1])


def _stanza(uris: str, signed: str | None) -> str:
    return f"Types: deb\nURIs: {uris}\nComponents: main\n" + (f"Signed-By: {signed}\n" if signed else "")


def fetch(package: str, version: str, folder: Path = UNPACKED) -> str:
    """Unpack a package of Debian, of the nearest suite that has it in this version or a newer one, and return its name.

    Nothing is installed. Raises ToolMissing where the machine has no apt, or no suite has it.
    """
    if not shutil.which("apt-get"):
        raise ToolMissing(f"{package} {version} or newer is wanted, and this machine has no apt-get")
    own = next(archives(), None)
    if own is None:
        raise ToolMissing(f"{package} {version} or newer is wanted, and apt's sources name no archive of Debian")
    for suite in SUITES:
        state = folder / suite
        for part in ("lists/partial", "cache/archives/partial"):
            (state / part).mkdir(parents=True, exist_ok=True)
        (state / "suite.sources").write_text(f"{own}Suites: {suite}\n", "utf-8")
        # Its own lists and cache, which root's downloads may write as well as a user's.
        settings = {
            "Dir::Etc::sourcelist": state / "suite.sources", "Dir::Etc::sourceparts": state / "none",
            "Dir::State::lists": state / "lists", "Dir::Cache": state / "cache", "Acquire::Languages": "none",
            "APT::Sandbox::User": "root",
        }  # fmt: skip
        options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
        if _run(["apt-get", *options, "-qq", "update"], state) is None:
            continue
        policy = _run(["apt-cache", *options, "policy", package], state) or ""
        found = re.search(r"Candidate: (?:\d+:)?(\d\S*)", policy)
        if found is None or not _new_enough(found[1], version):
            continue
        if _run(["apt-get", *options, "-qq", "download", package], state) is not None:
            for file in state.glob(f"{package}_*.deb"):
                _run(["dpkg-deb", "-x", str(file), str(folder)], state)
            shutil.rmtree(state)
            return f"{package} {found[1]} of {suite}"
    raise ToolMissing(f"no suite of Debian ({', '.join(SUITES)}) gave {package} {version} or newer")


def _new_enough(version: str, least: str) -> bool:
    def numbers(text: str) -> list[int]:
        return [int(number) for number in re.findall(r"\d+", text.partition("+")[0].partition("-")[0])]

    return numbers(version) >= numbers(least)


def _run(words: list[str], folder: Path) -> str | None:
    """What a program prints; None where it fails."""
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    return None if done.returncode else done.stdout


def emulator(name: str, version: str) -> tuple[Path, str]:
    """An emulator of QEMU's and its version. Raises ToolMissing where none is at hand that is new enough."""
    for path in filter(None, (shutil.which(name, path=UNPACKED / "usr" / "bin"), shutil.which(name))):
        said = re.search(r"version (\d[\d.]*)", _run([path, "--version"], ROOT) or "")
        if said is not None and _new_enough(said[1], version):
            return Path(path), said[1]
    raise ToolMissing(f"{name} {version} or newer is not installed: `make witness` unpacks it")


def build_guest(source: Path, program: Path) -> Path:
    """Build a program for AArch64 that needs no library. Raises ToolMissing where no compiler is at hand."""
    flags = ["-march=armv8-a", "-O2", "-Wall", "-Werror", "-ffreestanding", "-fno-builtin", "-nostdlib", "-static"]
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([*compiler(), *flags, str(source), "-o", str(program)], check=True, stdin=subprocess.DEVNULL)
    return program


def compiler() -> list[str]:
    """A command that compiles for AArch64. Raises ToolMissing where none is at hand."""
    if shutil.which("clang") and shutil.which("ld.lld"):
        return ["clang", "--target=aarch64-linux-none", "-fuse-ld=lld"]
    if shutil.which("aarch64-linux-gnu-gcc"):
        return ["aarch64-linux-gnu-gcc", "-fno-stack-protector", "-fno-pie", "-no-pie"]
    if find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-none"]
    raise ToolMissing(
        "no compiler for AArch64: apt-get install clang lld, or gcc-aarch64-linux-gnu, or pip install ziglang"
    )


def install_compiler() -> str:
    """Install a compiler for AArch64 from PyPI, and return its name. Raises ToolMissing where it cannot be had."""
    if _run([sys.executable, "-m", "pip", "install", "--quiet", "ziglang"], ROOT) is None:
        raise ToolMissing("ziglang cannot be installed")
    return "ziglang of PyPI"
