"""And-inverter graphs: circuits of ANDs and inverters, as arrays, and several of them put together.

The format that Yosys writes: Biere, "The AIGER And-Inverter Graph (AIG) Format", 2007.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.errors import InputError

Literals = NDArray[np.int32]
SYMBOL = re.compile(r"([io])(\d+) (.*?)(?:\[(\d+)\])?$")


@dataclass(frozen=True)
class Graph:
    """One circuit. A literal is twice its node's number, plus 1 where it is inverted; node 0 is false.

    Inputs are the nodes from 1 on, by port and bit. left, right: literals (ands,), of the nodes that follow the inputs;
    each depends on earlier nodes alone. outputs: literals, by port and bit.
    """

    inputs: Mapping[str, tuple[int, ...]]
    outputs: Mapping[str, tuple[int, ...]]
    left: Literals
    right: Literals

    @property
    def first(self) -> int:
        """The first AND's node."""
        return 1 + sum(map(len, self.inputs.values()))


def read_aiger(text: str) -> Graph:
    """A circuit without latches, with symbols. Raises InputError for what is none."""
    head, _, rest = text.partition("\n")
    words = head.split()
    if words[0] != "aag" or words[3] != "0":
        raise InputError("a circuit must be an ASCII AIGER file without latches")
    _, inputs, _, outputs, ands = map(int, words[1:6])
    lines = rest.split("\n")
    given = [int(line) for line in lines[: inputs + outputs]]
    end = inputs + outputs + ands
    gates = np.array(" ".join(lines[inputs + outputs : end]).split(), np.int32).reshape(-1, 3)
    if given[:inputs] != list(range(2, 2 * inputs + 2, 2)) or (gates[:, 1:] > gates[:, :1]).any():
        raise InputError("a circuit's nodes must be numbered from its inputs on")
    if (gates[:, 0] != np.arange(inputs + 1, inputs + ands + 1) * 2).any():
        raise InputError("a circuit's ANDs must be numbered without gaps")
    ports: dict[str, dict[str, dict[int, int]]] = {"i": {}, "o": {}}
    for line in lines[end:]:
        if line == "c" or not line:
            break
        found = SYMBOL.match(line)
        if found is None:
            raise InputError(f"a circuit's symbols must name ports, not {line!r}")
        kind, index, port, bit = found.groups()
        literal = given[int(index) + (inputs if kind == "o" else 0)]
        ports[kind].setdefault(port, {})[int(bit or 0)] = literal
    taken, made = ({name: _in_order(bits) for name, bits in ports[kind].items()} for kind in "io")
    return Graph(taken, made, gates[:, 1].copy(), gates[:, 2].copy())


def _in_order(bits: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(bits[at] for at in range(len(bits)))


class Joined:
    """Circuits put together: inputs of the whole first, then what is put between and behind them.

    left, right: literals of each AND, `first` the first AND's node.
    """

    def __init__(self, inputs: Mapping[str, int]):
        """inputs: how many bits each has."""
        self.inputs: dict[str, tuple[int, ...]] = {}
        at = 1
        for name, bits in inputs.items():
            self.inputs[name] = tuple(range(2 * at, 2 * (at + bits), 2))
            at += bits
        self.first = self._nodes = at
        self._left: list[Literals] = []
        self._right: list[Literals] = []

    def put(self, graph: Graph, given: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
        """Add a circuit. given: literals for its inputs. Returns those of its outputs."""
        moved = np.zeros(graph.first + len(graph.left), np.int32)
        for name, nodes in graph.inputs.items():
            # Yosys leaves out no bit of a port, and of one bit may call it a port without an index.
            for node, literal in zip(nodes, given[name], strict=True):
                moved[node >> 1] = literal
        moved[graph.first :] = 2 * np.arange(self._nodes, self._nodes + len(graph.left))
        self._left.append(moved[graph.left >> 1] ^ (graph.left & 1))
        self._right.append(moved[graph.right >> 1] ^ (graph.right & 1))
        self._nodes += len(graph.left)
        return {
            name: tuple(int(moved[literal >> 1]) ^ (literal & 1) for literal in literals)
            for name, literals in graph.outputs.items()
        }

    def both(self, first: int, second: int) -> int:
        """Whether two literals are true."""
        self._left.append(np.array([first], np.int32))
        self._right.append(np.array([second], np.int32))
        self._nodes += 1
        return 2 * (self._nodes - 1)

    def either(self, first: int, second: int) -> int:
        """Whether one of two is."""
        return self.both(first ^ 1, second ^ 1) ^ 1

    def choose(self, condition: int, yes: int, no: int) -> int:
        """One of two."""
        return self.either(self.both(condition, yes), self.both(condition ^ 1, no))

    @property
    def left(self) -> Literals:
        """Of each AND the first literal."""
        return np.concatenate([*self._left, np.zeros(0, np.int32)])

    @property
    def right(self) -> Literals:
        """And the second."""
        return np.concatenate([*self._right, np.zeros(0, np.int32)])
