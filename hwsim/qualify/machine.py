"""Cases played through a circuit, with each of its mutants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.codewords import WORD, from_words, to_words
from hwsim.formats import FloatFormat
from hwsim.kernels.tiles import threads
from hwsim.qualify.aig import Joined
from hwsim.qualify.netlist import SELECT
from hwsim.qualify.strikes import evaluate, mark_read, roots, strike

TOGETHER = 64  # cases in a word
Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Held:
    """What goes from beat to beat: into which input, and the literals that it comes from."""

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
        """How many there are."""
        return len(self.selects)

    @cached_property
    def _roots(self) -> NDArray[np.int32]:
        found: NDArray[np.int32] = roots(self.left, self.right, self.joined.first, self.selects)
        return found

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
        """The mutants that no result depends on, by what is connected with what."""
        starts, readers = self._readers
        seen = np.zeros(len(starts) - 1, np.bool_)
        literals = np.array([*self.results, *self._state_out], np.int64)
        seen[literals >> 1] = seen[self._roots[literals >> 1] >> 1] = True
        mark_read(starts, readers, seen)
        found: NDArray[np.int64] = np.flatnonzero(~seen[self.selects])
        return found

    def play(self, group: CaseGroup, alive: NDArray[np.int64], pool: ThreadPoolExecutor) -> tuple[NDArray[Any], Words]:
        """What the circuit returns for each case, and for each mutant which cases tell: bit n is the group's nth.

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
        """Of each bit of the states, whether it is of one of some inputs."""
        return np.array([state.input in inputs for state in self.states for _ in state.source], np.bool_)


def _of(values: Words, literals: NDArray[np.int64]) -> Words:
    found: Words = np.where(literals & 1 != 0, ~values[literals >> 1], values[literals >> 1])
    return found


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
    found = parts[places // WORD] >> (places % WORD).astype(np.uint64)[:, None] & np.uint64(1)
    words: Words = (found << np.arange(codes.shape[0], dtype=np.uint64)[None, :]).sum(axis=1, dtype=np.uint64)
    return words


def plain_zero(joined: Joined, fmt: FloatFormat, padded: Sequence[int]) -> tuple[int, ...]:
    """A code with -0 as +0: its sign counts where another bit is set."""
    some, sign = 0, fmt.padding + fmt.bits - 1
    for place, literal in enumerate(padded):
        some = some if place == sign else joined.either(some, literal)
    return tuple(joined.both(literal, some) if place == sign else literal for place, literal in enumerate(padded))


def is_nan(joined: Joined, fmt: FloatFormat, padded: Sequence[int]) -> int:
    """Whether a code is one of a format's NaNs."""
    code = padded[fmt.padding :]
    if fmt.nan == "ieee":
        some, every = 0, 1
        for literal in code[: fmt.fraction_bits]:
            some = joined.either(some, literal)
        for literal in code[fmt.fraction_bits : fmt.fraction_bits + fmt.exponent_bits]:
            every = joined.both(every, literal)
        return joined.both(some, every)
    found = 0
    for nan in fmt.nan:
        here = 1
        for place, literal in enumerate(code):
            here = joined.both(here, literal ^ 1 ^ (nan >> place & 1))
        found = joined.either(found, here)
    return found
