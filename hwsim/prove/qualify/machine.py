"""Cases played through a circuit of ANDs and inverters, 64 to a word, with each of its mutants."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.base.arrays import WORD, from_words, to_words
from hwsim.base.compiled import compiled, inlined
from hwsim.base.errors import InputError
from hwsim.compute.kernels.tiles import threads
from hwsim.formats import FloatFormat
from hwsim.prove.qualify.mutants import SELECT

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
    """Read a circuit without latches, with symbols. Raises InputError for what is none."""
    head, _, rest = text.partition("\n")
    words = head.split()
    if words[0] != "aag" or words[3] != "0":
        raise InputError("a circuit must be an ASCII AIGER file without latches")
    _, inputs, _, outputs, ands = map(int, words[1:6])
    lines = rest.split("\n")
    literals = [int(line) for line in lines[: inputs + outputs]]
    end = inputs + outputs + ands
    gates = np.array(" ".join(lines[inputs + outputs : end]).split(), np.int32).reshape(-1, 3)
    if literals[:inputs] != list(range(2, 2 * inputs + 2, 2)) or (gates[:, 1:] > gates[:, :1]).any():
        raise InputError("a circuit's nodes must be numbered from its inputs on")
    if (gates[:, 0] != np.arange(inputs + 1, inputs + ands + 1) * 2).any():
        raise InputError("a circuit's ANDs must be numbered without gaps")
    ports: dict[str, dict[str, dict[int, int]]] = {"i": {}, "o": {}}
    for line in lines[end:]:
        if line == "c" or not line:
            break
        match = SYMBOL.match(line)
        if match is None:
            raise InputError(f"a circuit's symbols must name ports, not {line!r}")
        kind, index, port, bit = match.groups()
        literal = literals[int(index) + (inputs if kind == "o" else 0)]
        ports[kind].setdefault(port, {})[int(bit or 0)] = literal
    taken, driven = ({name: _in_order(bits) for name, bits in ports[kind].items()} for kind in "io")
    return Graph(taken, driven, gates[:, 1].copy(), gates[:, 2].copy())


def _in_order(bits: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(bits[index] for index in range(len(bits)))


class Joined:
    """Circuits put together: inputs of the whole first, then what is put between and behind them.

    left, right: literals of each AND, `first` the first AND's node.
    """

    def __init__(self, inputs: Mapping[str, int]):
        """inputs: how many bits each has."""
        self.inputs: dict[str, tuple[int, ...]] = {}
        node = 1
        for name, bits in inputs.items():
            self.inputs[name] = tuple(range(2 * node, 2 * (node + bits), 2))
            node += bits
        self.first = self._nodes = node
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
        """The literal of the AND of two literals."""
        self._left.append(np.array([first], np.int32))
        self._right.append(np.array([second], np.int32))
        self._nodes += 1
        return 2 * (self._nodes - 1)

    def either(self, first: int, second: int) -> int:
        """The literal of the OR of two literals."""
        return self.both(first ^ 1, second ^ 1) ^ 1

    def choose(self, condition: int, yes: int, no: int) -> int:
        """The literal of one of two, chosen by a condition."""
        return self.either(self.both(condition, yes), self.both(condition ^ 1, no))

    @property
    def left(self) -> Literals:
        """The first literal of each AND."""
        return np.concatenate([*self._left, np.zeros(0, np.int32)])

    @property
    def right(self) -> Literals:
        """The second literal of each AND."""
        return np.concatenate([*self._right, np.zeros(0, np.int32)])


ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
ZERO, ONE = np.uint64(0), np.uint64(1)
# A number with one bit set, times this one, has that bit's place in its top six bits: de Bruijn's.
SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
TOP = np.uint64(58)


def _places() -> NDArray[np.int64]:
    places = np.zeros(64, np.int64)
    for bit in range(64):
        places[(int(SEQUENCE) << bit & int(ALL)) >> int(TOP)] = bit
    return places


PLACES = _places()


@inlined
def lowest(word: Any) -> Any:
    """The place of the lowest bit that is set; one is."""
    return PLACES[(word & (~word + ONE)) * SEQUENCE >> TOP]


@inlined
def of_literal(values: Any, literal: Any) -> Any:
    """The values of a literal in 64 cases."""
    word = values[literal >> 1]
    return ~word if literal & 1 else word


@compiled
def evaluate(left: Any, right: Any, first: int, values: Any) -> None:
    """Evaluate all ANDs of a circuit. values: uint64[nodes], those below `first` given."""
    for index in range(len(left)):
        values[first + index] = of_literal(values, left[index]) & of_literal(values, right[index])


@compiled
def roots(left: Any, right: Any, first: int, selects: Any) -> Any:
    """For each node, a literal that it equals as long as no mutant is there: of an earlier node, or of its own.

    Most nodes are there for mutants alone, and equal what is before them: int32[nodes].
    """
    equal = np.arange(0, 2 * (first + len(left)), 2).astype(np.int32)
    for node in selects:
        equal[node] = 0
    for index in range(len(left)):
        a = equal[left[index] >> 1] ^ (left[index] & 1)
        b = equal[right[index] >> 1] ^ (right[index] & 1)
        if a == 0 or b == 0 or a == b ^ 1:
            equal[first + index] = 0
        elif a == 1 or a == b:
            equal[first + index] = b
        elif b == 1:
            equal[first + index] = a
    return equal


@compiled
def mark_read(starts: Any, readers: Any, seen: Any) -> None:
    """Mark the nodes that marked nodes depend on. starts, readers: as those of `strike`. seen: bool[nodes]."""
    for node in range(len(seen) - 1, -1, -1):
        for index in range(starts[node], starts[node + 1]):
            if seen[readers[index]]:
                seen[node] = True
                break


@inlined
def struck(values: Any, root: Any, changed: Any, stamp: Any, mark: Any, literal: Any) -> Any:
    """The values of a literal in 64 cases with a mutant: what was changed, or else the values of its root."""
    node = literal >> 1
    if stamp[node] == mark:
        word = changed[node]
    else:
        origin = root[node] >> 1
        word = changed[origin] if stamp[origin] == mark else values[origin]
        word = ~word if root[node] & 1 else word
    return ~word if literal & 1 else word


@inlined
def tell(node: Any, starts: Any, readers: Any, pending: Any, places: Any) -> Any:
    """Note the nodes that read a node, and the places from which and up to which there are any."""
    for index in range(starts[node], starts[node + 1]):
        reader = readers[index]
        pending[reader >> 6] |= ONE << np.uint64(reader & 63)
        places[0] = min(places[0], reader >> 6)
        places[1] = max(places[1], reader >> 6)


@compiled
def strike(
    left: Any, right: Any, first: int, root: Any, starts: Any, readers: Any, values: Any,
    selects: Any, alive: Any, loads: Any, stores: Any, state_in: Any, state_out: Any, state: Any,
    results: Any, nan: int, valid: Any, is_last: bool, killed: Any,
) -> None:  # fmt: skip
    """Play one beat of 64 cases through the circuit with each mutant.

    left, right, first: as those of `Joined`. root: as `roots` finds it. starts, readers: the nodes that read node n are
    those from starts[n] to starts[n + 1]; of a node that is its own root they are those that do so through nodes that
    equal it. values: of all nodes without a mutant. selects: each mutant's input node. alive: the mutants that
    are played. loads, stores: bool[states], whether a state's input is what the beat before left, and whether this beat
    leaves it anew. state_in: input nodes. state_out: literals. state: uint64[mutants, states].
    results: literals that are compared in the last beat. nan: a literal that says whether a result is NaN, where one
    NaN is as good as another; else -1. valid: the cases that there are. killed: uint64[mutants], the cases that tell.
    """
    changed = np.empty(len(values), np.uint64)
    stamp = np.zeros(len(values), np.int32)
    pending = np.zeros((len(values) >> 6) + 1, np.uint64)
    places = np.zeros(2, np.int64)
    mark = 0
    for mutant in alive:
        mark += 1
        places[0], places[1] = len(pending), -1
        node = selects[mutant]
        changed[node], stamp[node] = ALL, mark
        tell(node, starts, readers, pending, places)
        for index in range(len(state_in)):
            node = state_in[index]
            if loads[index] and state[mutant, index] != values[node]:
                changed[node], stamp[node] = state[mutant, index], mark
                tell(node, starts, readers, pending, places)
        place = places[0]
        # Each node comes after all that it reads; what reads it may be noted in the very word that is looked at.
        while place <= places[1]:
            word = pending[place]
            if word == ZERO:
                place += 1
                continue
            pending[place] = word & (word - ONE)
            node = (place << 6) + lowest(word)
            new = struck(values, root, changed, stamp, mark, left[node - first])
            new &= struck(values, root, changed, stamp, mark, right[node - first])
            # What a node would be without more ado: as before, or as its root is now.
            if new != struck(values, root, changed, stamp, mark, 2 * node):
                changed[node], stamp[node] = new, mark
                tell(node, starts, readers, pending, places)
        for index in range(len(state_in)):
            if stores[index]:
                state[mutant, index] = struck(values, root, changed, stamp, mark, state_out[index])
        if is_last:
            differ = ZERO
            for literal in results:
                differ |= struck(values, root, changed, stamp, mark, literal) ^ of_literal(values, literal)
            if nan >= 0:
                differ &= ~(struck(values, root, changed, stamp, mark, nan) & of_literal(values, nan))
            killed[mutant] = differ & valid


TOGETHER = 64  # cases in a word
Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Held:
    """A state that goes from beat to beat: the input that it enters, and the literals that it comes from."""

    input: str
    source: tuple[int, ...]


@dataclass(frozen=True)
class BeatWords:
    """A beat of up to 64 cases. inputs: a word for each bit. loads, stores: of the states, by input: whether the input
    is what was stored before, instead of its word; and whether this beat stores what it makes.
    """

    inputs: Mapping[str, Words]
    loads: frozenset[str]
    stores: frozenset[str]


@dataclass(frozen=True)
class CaseGroup:
    """Up to 64 cases of one length. expected: codes (cases,), as `code_array` has them. numbers: of the cases."""

    beats: Sequence[BeatWords]
    expected: NDArray[Any]
    numbers: NDArray[np.int64]


class MutantMachine:
    """A circuit with mutants, and what it keeps from beat to beat.

    results: literals of the result's bits. nan: one that says whether the result is NaN, where any NaN is as good.
    """

    def __init__(self, joined: Joined, states: tuple[Held, ...], results: tuple[int, ...], nan: int | None = None):
        self.joined, self.states, self.results, self.nan = joined, states, results, nan
        self.left, self.right = joined.left, joined.right
        self.selects = np.array(joined.inputs[SELECT], np.int64) >> 1
        self._state_in = np.array([bit >> 1 for state in states for bit in joined.inputs[state.input]], np.int64)
        self._state_out = np.array([bit for state in states for bit in state.source], np.int64)

    @property
    def mutants(self) -> int:
        """The number of mutants."""
        return len(self.selects)

    @cached_property
    def _roots(self) -> NDArray[np.int32]:
        literals: NDArray[np.int32] = roots(self.left, self.right, self.joined.first, self.selects)
        return literals

    @cached_property
    def _readers(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The nodes that read each node: of one that is its own root, those whose operand's root it is."""
        first, root = self.joined.first, self._roots
        count = first + len(self.left)
        nodes, read = np.arange(first, count), np.stack([self.left >> 1, self.right >> 1])
        is_root = root >> 1 == np.arange(count)
        # Nodes that stand for themselves are told by roots, and nodes beside those by what they read.
        by_root = np.where(is_root[first:], root[read] >> 1, -1)
        direct = np.where(is_root[read], -1, read)
        told, by = np.concatenate([nodes] * 4), np.concatenate([*by_root, *direct])
        told, by = told[by > 0], by[by > 0]
        order = np.argsort(by, kind="stable")
        return np.searchsorted(by[order], np.arange(count + 1)), told[order]

    def unseen(self) -> NDArray[np.int64]:
        """The mutants that no result depends on, by what is connected with what, in one beat and from beat to beat."""
        starts, readers = self._readers
        seen = np.zeros(len(starts) - 1, np.bool_)
        wanted = np.array(self.results, np.int64) >> 1
        while not seen[wanted].all():
            seen[wanted] = seen[self._roots[wanted] >> 1] = True
            mark_read(starts, readers, seen)
            # Of what a beat leaves, that is seen which the next one shows.
            wanted = self._state_out[seen[self._state_in]] >> 1
        mutants: NDArray[np.int64] = np.flatnonzero(~seen[self.selects])
        return mutants

    def play(self, group: CaseGroup, alive: NDArray[np.int64], pool: ThreadPoolExecutor) -> tuple[NDArray[Any], Words]:
        """The circuit's codes for the cases, and for each mutant the cases that tell: bit n is the group's nth.

        alive: the numbers of the mutants that are played.
        """
        values: Words = np.zeros(self.joined.first + len(self.left), np.uint64)
        killed: Words = np.zeros(self.mutants, np.uint64)
        state: Words = np.zeros((self.mutants, len(self._state_in)), np.uint64)
        plain: Words = np.zeros(len(self._state_in), np.uint64)
        valid = np.uint64((1 << len(group.numbers)) - 1)
        starts, readers = self._readers
        nan = -1 if self.nan is None else self.nan
        for place, beat in enumerate(group.beats):
            for name, words in beat.inputs.items():
                values[np.array(self.joined.inputs[name]) >> 1] = words
            loads, stores = self._which(beat.loads), self._which(beat.stores)
            values[self._state_in[loads]] = plain[loads]
            evaluate(self.left, self.right, self.joined.first, values)
            plain[stores] = _of(values, self._state_out[stores])
            is_last = place == len(group.beats) - 1

            def some(part: NDArray[np.int64], loads=loads, stores=stores, is_last=is_last) -> None:  # type: ignore[no-untyped-def]
                strike(
                    self.left, self.right, self.joined.first, self._roots, starts, readers, values,
                    self.selects, part, loads, stores, self._state_in, self._state_out, state,
                    np.array(self.results, np.int64), nan, valid, is_last, killed,
                )  # fmt: skip

            list(pool.map(some, np.array_split(alive, threads()) if len(alive) > threads() else [alive]))
        return _codes(_of(values, np.array(self.results, np.int64)), len(group.numbers)), killed

    def _which(self, inputs: frozenset[str]) -> NDArray[np.bool_]:
        """For each bit of the states, True if it is of one of some inputs."""
        return np.array([state.input in inputs for state in self.states for _ in state.source], np.bool_)


def _of(values: Words, literals: NDArray[np.int64]) -> Words:
    words: Words = np.where(literals & 1 != 0, ~values[literals >> 1], values[literals >> 1])
    return words


def _codes(words: Words, cases: int) -> NDArray[Any]:
    """A word for each bit as a number for each case, as `from_words` has it."""
    bits = words[:, None] >> np.arange(cases, dtype=np.uint64) & np.uint64(1)
    parts = [bits[first : first + WORD] for first in range(0, len(words), WORD)]
    places = np.arange(WORD, dtype=np.uint64)[:, None]
    return from_words(np.stack([(part << places[: len(part)]).sum(axis=0, dtype=np.uint64) for part in parts], axis=-1))


def words_of(codes: NDArray[Any], bits: int) -> Words:
    """Up to 64 codes as a word for each of their bits, the first code in the lowest bit."""
    places = np.arange(bits)
    parts = to_words(codes, -(-bits // WORD)).T
    spread = parts[places // WORD] >> (places % WORD).astype(np.uint64)[:, None] & np.uint64(1)
    words: Words = (spread << np.arange(codes.shape[0], dtype=np.uint64)[None, :]).sum(axis=1, dtype=np.uint64)
    return words


def plain_zero(joined: Joined, fmt: FloatFormat, padded: Sequence[int]) -> tuple[int, ...]:
    """A code with -0 as +0: its sign counts where another bit is set."""
    some, sign = 0, fmt.padding + fmt.bits - 1
    for place, literal in enumerate(padded):
        some = some if place == sign else joined.either(some, literal)
    return tuple(joined.both(literal, some) if place == sign else literal for place, literal in enumerate(padded))


def is_nan(joined: Joined, fmt: FloatFormat, padded: Sequence[int]) -> int:
    """The literal that says whether a code is one of a format's NaNs."""
    code = padded[fmt.padding :]
    if fmt.nan == "ieee":
        some, every = 0, 1
        for literal in code[: fmt.fraction_bits]:
            some = joined.either(some, literal)
        for literal in code[fmt.fraction_bits : fmt.fraction_bits + fmt.exponent_bits]:
            every = joined.both(every, literal)
        return joined.both(some, every)
    any_nan = 0
    for nan in fmt.nan:
        here = 1
        for place, literal in enumerate(code):
            here = joined.both(here, literal ^ 1 ^ (nan >> place & 1))
        any_nan = joined.either(any_nan, here)
    return any_nan


class WrongCircuit(RuntimeError):
    """Raised where a circuit without mutants does not return what the model does: no mutant of it says anything."""


def played(machine: MutantMachine, cases: Iterable[CaseGroup], progress: Callable[[int], None]) -> NDArray[np.int64]:
    """For each mutant, the number of a case that kills it, or -1.

    Raises WrongCircuit where the circuit itself does not return what is expected.
    """
    killer: NDArray[np.int64] = np.full(machine.mutants, -1, np.int64)
    alive: NDArray[np.int64] = np.arange(machine.mutants)
    with ThreadPoolExecutor(threads()) as pool:
        for group in cases:
            codes, tells = machine.play(group, alive, pool)
            for mutant in np.flatnonzero(tells).tolist():
                word = int(tells[mutant])
                killer[mutant] = group.numbers[(word & -word).bit_length() - 1]
            wrong = codes != group.expected
            if wrong.any():
                at = int(np.flatnonzero(wrong)[0])
                raise WrongCircuit(
                    f"case {group.numbers[at]}: the circuit returns {codes[at]:#x}, the model {group.expected[at]:#x}"
                )
            alive = alive[killer[alive] < 0]
            progress(len(group.numbers))
    return killer
