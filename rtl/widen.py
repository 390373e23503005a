"""RTLIL whose operands are as wide as what is made of them.

Amaranth trims operands to the bits that they need, and leaves it to Verilog to extend them. That is legal, and every
lint tool warns of it (Verilator's WIDTHEXPAND): here the extension is spelled out. RTLIL is read line by line and word
by word, as Yosys' manual describes it; what is not read raises ValueError.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

ARITHMETIC = {"$add", "$sub", "$mul", "$and", "$or", "$xor", "$xnor", "$not", "$neg"}
COMPARISONS = {"$eq", "$ne", "$lt", "$le", "$gt", "$ge"}
SHIFTS = {"$shl", "$shr", "$sshl", "$sshr"}


def widen(rtlil: str) -> str:
    """The same design, in which every operand of an operation is as wide as the operation."""
    lines: list[str] = []
    module: list[str] = []
    for line in rtlil.splitlines():
        module.append(line)
        if line == "end":
            lines += _widened(module)
            module = []
    return "".join(f"{line}\n" for line in [*lines, *module])


def _widened(module: list[str]) -> Iterator[str]:
    """A module's lines, its cells widened."""
    widths = dict(_wire(line) for line in module if line.startswith("  wire "))
    cell: Cell | None = None
    for line in module:
        if line.startswith("  cell "):
            cell = Cell(line)
        if cell is None:
            yield line
        elif line == "  end":
            cell.widen(widths)
            yield from cell.lines()
            cell = None
        else:
            cell.read(line)


def _wire(line: str) -> tuple[str, int]:
    words = line.split()
    return words[-1], int(words[words.index("width") + 1]) if "width" in words[:-1] else 1


@dataclass
class Cell:
    """A cell of RTLIL: its first line, its parameters and what is connected to its ports, by name."""

    header: str
    parameters: dict[str, str] = field(default_factory=dict)
    ports: dict[str, str] = field(default_factory=dict)

    def read(self, line: str) -> None:
        """Take in one line. Raises ValueError for one that is neither a parameter nor a connection."""
        key, _, rest = line.strip().partition(" ")
        name, _, value = rest.partition(" ")
        if key == "parameter":
            self.parameters[name] = value
        elif key == "connect":
            self.ports[name] = value
        elif key != "cell":
            raise ValueError(f"a line of a cell must be a parameter or a connection, not {line!r}")

    def lines(self) -> Iterator[str]:
        """The cell as RTLIL."""
        yield self.header
        yield from (f"    parameter {name} {value}" for name, value in self.parameters.items())
        yield from (f"    connect {name} {signal}" for name, signal in self.ports.items())
        yield "  end"

    def widen(self, widths: Mapping[str, int]) -> None:
        """Extend the operands of an operation to its width. widths: of the module's wires."""
        kind = self.header.split()[1]
        if kind in ARITHMETIC:
            width, operands = int(self.parameters["\\Y_WIDTH"]), "AB"
        elif kind in COMPARISONS:
            width, operands = max(int(self.parameters[f"\\{name}_WIDTH"]) for name in "AB"), "AB"
        elif kind in SHIFTS:
            width, operands = int(self.parameters["\\Y_WIDTH"]), "A"
        else:
            return
        for name in operands:
            if f"\\{name}" in self.ports:
                self._extend(name, width, widths)

    def _extend(self, operand: str, width: int, widths: Mapping[str, int]) -> None:
        size, port = f"\\{operand}_WIDTH", f"\\{operand}"
        parts = list(_parts(self.ports[port], widths))
        if sum(part.width for part in parts) != int(self.parameters[size]):
            raise ValueError(f"{self.header.strip()}: {self.ports[port]} must be {self.parameters[size]} bits wide")
        missing = width - int(self.parameters[size])
        if missing > 0:
            is_signed = parts and int(self.parameters[f"\\{operand}_SIGNED"])
            fill = parts[0].top if is_signed else "1'0"
            self.ports[port] = f"{{ {' '.join([fill] * missing)} {self.ports[port]} }}"
            self.parameters[size] = str(width)


class SignalPart(NamedTuple):
    """A part of a signal that stands in one place: how wide it is, and its most significant bit."""

    width: int
    top: str


def _parts(signal: str, widths: Mapping[str, int]) -> Iterator[SignalPart]:
    """The parts of a signal, the most significant first: wires, some bits of one, constants, and concatenations."""
    words = [word for word in signal.split() if word not in "{}"]
    for word, after in zip(words, [*words[1:], ""], strict=False):
        if word[0] in "\\$":
            high, low = _slice(after) if after.startswith("[") else (widths[word] - 1, 0)
            yield SignalPart(high - low + 1, f"{word} [{high}]" if widths[word] > 1 else word)
        elif not word.startswith("["):
            width, _, bits = word.partition("'")
            if len(bits) != int(width):
                raise ValueError(f"a constant must have as many bits as it says, not {word}")
            yield SignalPart(int(width), f"1'{bits[0]}")


def _slice(text: str) -> tuple[int, int]:
    high, _, low = text.strip("[]").partition(":")
    return int(high), int(low or high)
