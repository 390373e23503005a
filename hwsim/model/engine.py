"""The cycle-level model of a matrix engine: which word is taken, and which one leaves, in which cycle.

The arithmetic is the unit's, and no number is computed here: a result is known by the steps whose products it sums.
What is modelled is when: banks of operands, beat after beat, the flight through the elements, a queue of results.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hwsim.spec.engine import Engine

LENGTHS, FRAMES = 1, 2  # bits of `error`


@dataclass(slots=True)
class BankCycles:
    """Two banks of a stream, which fill and are read in turn. words: of a step."""

    words: int
    full: list[bool] = field(default_factory=lambda: [False, False])
    ends: list[bool] = field(default_factory=lambda: [False, False])
    steps: list[int] = field(default_factory=lambda: [0, 0])
    into: int = 0
    of: int = 0
    at: int = 0
    begun: int = 0  # steps whose first word was taken, or is next

    @property
    def ready(self) -> bool:
        """True if a word would be taken in this cycle."""
        return not self.full[self.into]

    @property
    def valid(self) -> bool:
        """True if a whole step stands here."""
        return self.full[self.of]

    @property
    def last(self) -> bool:
        """True if the step that stands here ends its frame."""
        return self.ends[self.of]

    def fill(self, last: bool) -> bool:
        """Take a word. Returns whether it ends a frame in the middle of a step."""
        self.at += 1
        if self.at < self.words:
            return last
        bank = self.into
        self.full[bank], self.ends[bank], self.steps[bank] = True, last, self.begun
        self.into, self.at, self.begun = 1 - bank, 0, self.begun + 1
        return False

    def release(self) -> None:
        """Give up the step that stands here."""
        self.full[self.of] = False
        self.of = 1 - self.of


@dataclass
class MacroTile:
    """The sums of all contexts of a macro tile. steps: those that they sum, each by its number since the reset in every
    stream of `Engine.step_streams`. addends: the number of the frame of C. mode: of a unit of several.
    """

    number: int
    steps: list[tuple[int, ...]] = field(default_factory=list)
    addends: int | None = None
    mode: int = 0


class InTile(NamedTuple):
    """A beat in the elements."""

    tile: MacroTile
    context: int
    last: bool


class WordSeen(NamedTuple):
    """A word at the output: of which macro tile, of which context's tile, the number of the word, and tlast."""

    tile: MacroTile
    context: int
    word: int
    last: bool


class EngineCycles:
    """A matrix engine, cycle by cycle: look at `ready`, `word` and `error`, then `tick`.

    Cycle 0 is the first after reset is released.
    """

    def __init__(self, engine: Engine):
        self.engine = engine
        self.sizes = {name: size.words for name, size in engine.sizes().items()}
        self.latency, self.contexts = engine.pipeline.latency, engine.contexts
        self.tile_words = engine.results.words
        self.reset()

    def reset(self) -> None:
        """Empty the engine, as a cycle with `rst` high does."""
        self.banks = {name: BankCycles(words) for name, words in self.sizes.items()}
        self.position, self.continues, self.kept_mode = 0, False, 0
        self.tiles = 0
        self.tile = MacroTile(0)
        self.flying: list[InTile | None] = [None] * self.latency
        self.queue: deque[InTile] = deque()
        self.at, self.error = 0, 0
        self.beats = 0
        self.events: list[str] = []

    @property
    def ready(self) -> dict[str, bool]:
        """Whether each stream of operands would be taken."""
        return {name: bank.ready for name, bank in self.banks.items()}

    @property
    def _streams(self) -> list[BankCycles]:
        return [bank for name, bank in self.banks.items() if name != "c"]

    @property
    def word(self) -> WordSeen | None:
        """The word at the output; None where none is valid."""
        if not self.queue:
            return None
        first, ends = self.queue[0], self.at == self.tile_words - 1
        return WordSeen(first.tile, first.context, self.at, ends and first.context == self.contexts - 1)

    @property
    def busy(self) -> bool:
        """True if a word, an open sum or a result is in the engine."""
        held = any(any(bank.full) or bank.at for bank in self.banks.values())
        return held or self.continues or any(self.flying) or bool(self.queue)

    def tick(self, offered: Mapping[str, bool], take: bool, mode: int = 0, clear: int = 0) -> None:
        """One rising edge. offered: the streams whose word is valid, and whether it ends a frame. clear: bits of
        `error`. `events` are then what registers count of this cycle, where the engine has some.
        """
        self.events = []
        if self.engine.control is not None:
            self.events = ["cycles", *self._of_ports(offered, take)]
        space, leaving = len(self.queue) < self.engine.drain, self.flying[-1]
        held = leaving is not None and leaving.last and not space
        words = self._taken(take)
        entering, error = self._beat(held, mode)
        if not held:
            if leaving is not None and leaving.last:
                self.queue.append(leaving)
            self.flying = [entering, *self.flying[:-1]]
        for name, last in offered.items():
            bank = self.banks[name]
            # Taken where it was ready before this edge: what is released now is free in the next cycle.
            if name in words and bank.fill(last):
                error |= FRAMES
        self.error = self.error & ~clear | error

    def _of_ports(self, offered: Mapping[str, bool], take: bool) -> Iterator[str]:
        """Yield what is counted of each stream, and of macro tiles."""
        word = self.word
        streams = [(name, name in offered, bank.ready) for name, bank in self.banks.items()]
        for name, valid, ready in (*streams, ("d", word is not None, take)):
            if valid or ready:
                yield f"{('waits' if valid else 'idles') if valid != ready else 'words'}_{name}"
        if word is not None and word.last and take:
            yield "tiles"

    def _taken(self, take: bool) -> set[str]:
        """The streams whose banks take a word now; and let a word of the first tile go."""
        ready = {name for name, bank in self.banks.items() if bank.ready}
        if take and self.queue:
            self.at += 1
            if self.at == self.tile_words:
                self.at = 0
                self.queue.popleft()
        return ready

    def _beat(self, held: bool, mode: int) -> tuple[InTile | None, int]:
        """The beat that enters the elements in this cycle, and errors that show with it."""
        streams, c = self._streams, self.banks.get("c")
        first, context = not self.continues, self.position
        if first and not context:
            self.kept_mode = mode
        if held:
            self.events.append("waits_results")
            return None, 0
        if not (all(bank.valid for bank in streams) and (c is None or self.continues or c.valid)):
            self.events.append("waits_steps")
            return None, 0
        waits = any(each is not None and not each.last and each.context == context for each in self.flying[:-1])
        if self.continues and waits:
            self.events.append("waits_sums")
            return None, 0
        self.events.append("beats")
        if not self.position:
            if first:
                self.tile = MacroTile(self.tiles, addends=None if c is None else c.steps[c.of], mode=self.kept_mode)
                self.tiles += 1
            self.tile.steps.append(tuple(bank.steps[bank.of] for bank in streams))
        last = any(bank.last for bank in streams)
        beat, error = InTile(self.tile, context, last), 0
        self.beats += 1
        self.position += 1
        if self.position == self.contexts:
            self.position = 0
            error = self._step_ends(first, last)
        return beat, error

    def _step_ends(self, first: bool, last: bool) -> int:
        c = self.banks.get("c")
        error = LENGTHS if len({bank.last for bank in self._streams}) > 1 else 0
        if c is not None and first:
            error |= 0 if c.last else FRAMES
            c.release()
        for bank in self._streams:
            bank.release()
        self.continues = not last
        return error
