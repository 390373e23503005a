"""Mutants of a netlist: the small changes that Yosys' `mutate` knows, each of one bit of one port of one cell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

Mode = Literal["inv", "const0", "const1", "cnot0", "cnot1"]
MODES: tuple[Mode, ...] = get_args(Mode)

FOLDERS = re.compile(r"(?:source\d+)?/(?:[^/$ ]+/)*")  # of paths in the names that Yosys gives


@dataclass(frozen=True)
class Mutant:
    """One change of a circuit.

    step: the circuit's name. bit: of the port. mode: `inv` inverts it, `const0` and `const1` hold it, `cnot0` and
    `cnot1` invert it where the port's bit `control` is 0 or 1. source: `file:line` of what the cell was made from, or
    nothing.
    """

    step: str
    cell: str
    port: str
    bit: int
    mode: Mode
    control: int = -1
    source: str = ""

    @property
    def name(self) -> str:
        """Step, cell, port with bit, and mode."""
        by = f"[{self.control}]" if self.control >= 0 else ""
        return f"{self.step} {FOLDERS.sub('', self.cell)}.{self.port}[{self.bit}] {self.mode}{by}"

    @property
    def place(self) -> str:
        """The file's name and the line of what it was made from."""
        return FOLDERS.sub("", self.source)

    @property
    def command(self) -> str:
        """What makes it in Yosys."""
        control = f" -ctrlbit {self.control}" if self.control >= 0 else ""
        place = f"-cell {self.cell} -port {self.port} -portbit {self.bit}"
        return f"mutate -mode {self.mode} -module top {place}{control}"


def listed(step: str, lines: Iterable[str]) -> Iterator[Mutant]:
    """The mutants that `mutate -list` has written, one a line."""
    for line in lines:
        words = line.split() if '"' not in line else shlex.split(line, posix=False)
        at = {word[1:]: words[place + 1] for place, word in enumerate(words) if word.startswith("-")}
        mode = at["mode"]
        if mode not in MODES:
            continue  # `none`: no change
        yield Mutant(
            step, at["cell"], at["port"], int(at["portbit"]), mode, int(at.get("ctrlbit", -1)), at.get("src", "")
        )
