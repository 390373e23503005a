"""A save file for GTKWave beside a waveform, with its signals grouped by stage."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hwsim.files import replaced

WAVEFORM, SAVED = "dump.vcd", "dump.gtkw"
PORTS, CONTROL, BENCH = "ports", "control", "testbench"
PORT = re.compile(r"(clk|rst|[io]__\w+|misuse)$")
BIT, WORD = "@28", "@22"  # how GTKWave shows a signal: binary, hexadecimal
OPEN, CLOSED = ("@800200", "@1000200"), ("@c00200", "@1401200")  # a group's first and last line


@dataclass(frozen=True)
class WaveSignal:
    """A signal of a waveform: the scopes that it is in, its name, and its range where it has one."""

    scopes: tuple[str, ...]
    name: str
    bits: str = ""

    @property
    def path(self) -> str:
        """As GTKWave has it."""
        return ".".join([*self.scopes, self.name]) + self.bits


def signals_of(vcd: Path) -> Iterator[WaveSignal]:
    """The signals that a VCD declares, in its order."""
    scopes: list[str] = []
    with vcd.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            words = line.split()
            match words[:1]:
                case ["$scope"]:
                    scopes.append(words[2])
                case ["$upscope"]:
                    scopes.pop()
                case ["$var"]:
                    # $var wire 8 ! name [7:0] $end; the range may stand at the name, and a bit has none.
                    name, _, bits = "".join(words[4:-1]).partition("[")
                    yield WaveSignal(tuple(scopes), name, f"[{bits}" if bits else "")
                case ["$enddefinitions"]:
                    return


def grouped(signals: Sequence[WaveSignal], stages: Sequence[str]) -> dict[str, list[WaveSignal]]:
    """Signals with a name of their own by group: ports, a group for each stage, control, and what is around.

    stages: in order; a design of which none are known has a group for each of its scopes.
    """
    found: dict[str, list[WaveSignal]] = {PORTS: [], **{stage: [] for stage in stages}}
    depth = min((len(each.scopes) for each in signals), default=1)
    inner = {each.scopes[: depth + 1] for each in signals if len(each.scopes) > depth}
    prefixes = sorted(((stage.replace(".", "_"), stage) for stage in stages), key=lambda item: -len(item[0]))
    for each in signals:
        if "$" in each.name:
            continue
        if each.scopes[: depth + 1] not in inner:
            group = BENCH
        elif len(each.scopes) == depth + 1 and PORT.match(each.name):
            group = PORTS
        else:
            group = _stage(each, depth, prefixes) or (CONTROL if stages else ".".join(each.scopes[depth:]))
        found.setdefault(group, []).append(each)
    last = {BENCH: found.pop(BENCH, [])}
    return {group: members for group, members in (found | last).items() if members}


def _stage(signal: WaveSignal, depth: int, prefixes: Sequence[tuple[str, str]]) -> str:
    """The stage whose name a signal's, or its instance's, begins with; the longest such name."""
    path = "_".join([*(scope.removeprefix("u_") for scope in signal.scopes[depth + 1 :]), signal.name])
    path = re.sub(r"^\\?(datapath|promotion|late)_", "", path)
    return next((stage for prefix, stage in prefixes if path == prefix or path.startswith(f"{prefix}_")), "")


def save_file(vcd: str, groups: dict[str, list[WaveSignal]]) -> str:
    """A save file. vcd: the waveform's name, in the same folder. The ports are open, what is inside is folded."""
    lines = [f'[dumpfile] "{vcd}"', f'[savefile] "{SAVED}"', "[timestart] 0"]
    for group, members in groups.items():
        first, last = OPEN if group == PORTS else CLOSED
        lines += [first, f"-{group}"]
        kind = ""
        for each in members:
            wanted = WORD if each.bits else BIT
            lines += [wanted] * (wanted != kind) + [each.path]
            kind = wanted
        lines += [last, f"-{group}"]
    return "\n".join(lines) + "\n"


def write_save_file(vcd: Path, stages: Sequence[str]) -> Path:
    """Write the save file of a waveform beside it; its path."""
    saved = vcd.with_name(SAVED)
    with replaced(saved) as file:
        file.write(save_file(vcd.name, grouped(list(signals_of(vcd)), stages)).encode())
    return saved
