"""Results as a simulator wrote them: one a line, in order, or each with its case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hwsim.vectors.stored import Stored

COMMENTS = ("#", "//")
UNKNOWN = frozenset("xXzZ?")


class Malformed(ValueError):
    """A file of results cannot be read; says at which line."""


class Answer(NamedTuple):
    """The result of a case: its code, or None where bits of it are unknown. line: where it stands, from 1."""

    case: int
    code: int | None
    line: int
    text: str


def answers(lines: Iterable[str], known: Stored, where: str) -> Iterator[Answer]:
    """The results of lines: `CODE`, in the order of the cases, or `ID ... CODE`, in any order.

    ID: a case's name or its number, from 0. CODE: hexadecimal, with or without 0x, all digits or fewer. What follows #
    or // is left out, so is what else stands between ID and CODE; `@ADDRESS`, as $writememh has it, goes on there.
    where: the file's name, for messages.
    Raises Malformed for what is neither, an unknown case, a case that was there before and a result too many.
    """
    reader = _Reader(known, where)
    for number, line in enumerate(lines, 1):
        text = line
        for mark in COMMENTS:
            text = text.partition(mark)[0]
        words = text.split()
        if words:
            answer = reader.read(number, words)
            if answer is not None:
                yield answer


class _Reader:
    def __init__(self, known: Stored, where: str):
        self.known, self.where = known, where
        self.next = 0
        self.ordered: bool | None = None
        self.seen: dict[int, int] | bytearray = bytearray(known.cases)
        self.places: dict[str, int] | None = None
        self.digits = known.expected.layout.digits
        self.bits = known.expected.layout.bits

    def read(self, line: int, words: list[str]) -> Answer | None:
        if words[0].startswith("@") and len(words) == 1:
            self.next = self._hex(line, words[0][1:])
            return None
        ordered = len(words) == 1
        if self.ordered is None:
            self.ordered = ordered
        elif self.ordered != ordered:
            raise self._wrong(
                line, f"{'an id is missing' if ordered else 'there is an id'}, unlike on the lines before"
            )
        case = self.next if ordered else self._case(line, words[0])
        if case >= self.known.cases:
            raise self._wrong(line, f"a result too many: there are {self.known.cases:,} cases")
        if self.seen[case]:
            raise self._wrong(line, f"{self.known.name(case)} was there before")
        self.seen[case] = 1
        self.next = case + 1
        text = words[-1]
        return Answer(case, self._code(line, text), line, text)

    def _case(self, line: int, word: str) -> int:
        if word.isdecimal():
            return int(word)
        if self.places is None:
            names = self.known.names
            if names is None:
                raise self._wrong(line, f"{word!r} is no number, and the set has no cases.txt that would know the name")
            self.places = {name: at for at, name in enumerate(names)}
        found = self.places.get(word)
        if found is None:
            raise self._wrong(line, f"there is no case {word!r}")
        return found

    def _code(self, line: int, word: str) -> int | None:
        bare = word[2:] if word[:2] in ("0x", "0X") else word
        if UNKNOWN & set(bare) and set(bare) <= UNKNOWN | set("0123456789abcdefABCDEF_"):
            return None
        code = self._hex(line, bare)
        if code >> self.bits:
            raise self._wrong(line, f"{word} has more than the {self.bits} bits of a result")
        return code

    def _hex(self, line: int, word: str) -> int:
        try:
            if word[:1] in "+-":
                raise ValueError(word)
            return int(word, 16)
        except ValueError:
            raise self._wrong(line, f"{word[:40]!r} is not hexadecimal") from None

    def _wrong(self, line: int, what: str) -> Malformed:
        return Malformed(f"{self.where}:{line}: {what}")
