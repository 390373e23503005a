"""Results as a simulator wrote them: one a line, in order, or each with its case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from hwsim.cosim.vectors.stored import Stored
from hwsim.errors import InputError

MOST_DIGITS = 20  # of a case's number
COMMENTS = ("#", "//")
UNKNOWN = frozenset("xXzZ?")


class Malformed(InputError):
    """A file of results cannot be read; says at which line."""


class Answer(NamedTuple):
    """The result of a case: its code, or None where bits of it are unknown. line: where it stands, from 1."""

    case: int
    code: int | None
    line: int
    text: str


class Answers:
    """The results of lines: `CODE`, in the order of the cases, or `ID ... CODE`, in any order.

    ID: a case's name or its number, from 0. CODE: hexadecimal, with or without 0x, all digits or fewer. What follows #
    or // is left out, so is what else stands between ID and CODE; `@ADDRESS`, as $writememh has it, goes on there.
    where: the file's name, for messages. seen: of each case whether its result was read.
    """

    def __init__(self, known: Stored, where: str):
        self.known, self.where = known, where
        self.seen = bytearray(known.cases)
        self._next = 0
        self._ordered: bool | None = None

    def read(self, lines: Iterable[str]) -> Iterator[Answer]:
        """Raises Malformed for what is no result, an unknown case, one that was there before and one too many."""
        for number, line in enumerate(lines, 1):
            text = line
            for mark in COMMENTS:
                text = text.partition(mark)[0]
            words = text.split()
            if len(words) == 1 and words[0].startswith("@"):
                self._next = self._hex(number, words[0][1:])
            elif words:
                yield self._answer(number, words)

    def _answer(self, line: int, words: list[str]) -> Answer:
        ordered = len(words) == 1
        if self._ordered not in (None, ordered):
            raise self._wrong(
                line, f"{'an id is missing' if ordered else 'there is an id'}, unlike on the lines before"
            )
        self._ordered = ordered
        case = self._next if ordered else self._case(line, words[0])
        if case >= self.known.cases:
            raise self._wrong(line, f"a result too many: there are {self.known.cases:,} cases")
        if self.seen[case]:
            raise self._wrong(line, f"{self.known.name(case)} was there before")
        self.seen[case] = 1
        self._next = case + 1
        return Answer(case, self._code(line, words[-1]), line, words[-1])

    def _case(self, line: int, word: str) -> int:
        if word.isdecimal():
            return int(word) if len(word) < MOST_DIGITS else self.known.cases
        if self._places is None:
            raise self._wrong(line, f"{word!r} is no number, and the set has no cases.txt that would know the name")
        if word not in self._places:
            raise self._wrong(line, f"there is no case {word!r}")
        return self._places[word]

    @cached_property
    def _places(self) -> dict[str, int] | None:
        """The numbers of the cases by name."""
        names = self.known.names
        return None if names is None else {name: at for at, name in enumerate(names)}

    def _code(self, line: int, word: str) -> int | None:
        bare = word[2:] if word[:2] in ("0x", "0X") else word
        if UNKNOWN & set(bare) and set(bare) <= UNKNOWN | set("0123456789abcdefABCDEF_"):
            return None
        code, bits = self._hex(line, bare), self.known.unit.output.container_bits
        if code >> bits:
            raise self._wrong(line, f"{word} has more than the {bits} bits of a result")
        return code

    def _hex(self, line: int, word: str) -> int:
        try:
            if word[:1] in "+-":
                raise InputError(word)
            return int(word, 16)
        except ValueError:
            raise self._wrong(line, f"{word[:40]!r} is not hexadecimal") from None

    def _wrong(self, line: int, what: str) -> Malformed:
        return Malformed(f"{self.where}:{line}: {what}")
