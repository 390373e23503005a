"""Reads a file line by line, with errors that name the line."""

from __future__ import annotations

import re
from pathlib import Path

from hwsim.errors import InputError

HEX = re.compile(r"[0-9a-f]*\Z")


class CheckedLines:
    """The lines of a file, read in order. Every line ends with LF, and the last line is `end`."""

    def __init__(self, path: Path, data: bytes):
        self.path, self.number_of = path, 0
        try:
            self._lines = data.decode("ascii").split("\n")
        except UnicodeDecodeError as error:
            self.number_of = data.count(b"\n", 0, error.start) + 1
            raise self.error("holds something else than ASCII text") from None
        # After the last line's end there is nothing, or a line that was cut off.
        self._rest = self._lines.pop()

    def error(self, message: str) -> InputError:
        """The error `FILE:LINE: MESSAGE`, for the line read last."""
        return InputError(f"{self.path}:{self.number_of}: {message}")

    def next(self, wanted: str) -> str:
        """Read the next line. Raises ValueError at the end of the file."""
        self.number_of += 1
        if self.number_of > len(self._lines):
            cut = ", in the middle of a line" if self._rest else ""
            raise self.error(f"the file ends here{cut}, where {wanted} should be: it is not whole")
        return self._lines[self.number_of - 1]

    def expect(self, line: str, otherwise: str) -> None:
        """Read the next line, which must be `line`."""
        got = self.next(repr(line))
        if got != line:
            raise self.error(f"{otherwise}: the line must be {line!r}, not {got[:60]!r}")

    def field(self, key: str) -> str:
        """The value of the next line, `KEY VALUE`."""
        line = self.next(f"{key!r}")
        name, _, value = line.partition(" ")
        if name != key or not value:
            raise self.error(f"must be '{key} ...', not {line[:60]!r}")
        return value

    def number(self, key: str) -> int:
        """The number of the next line, `KEY NUMBER`."""
        value = self.field(key)
        if not (value.isascii() and value.isdigit()):
            raise self.error(f"{key} must be a number, not {value!r}")
        return int(value)

    def peek(self) -> str:
        """The first word of the next line, which is not read yet."""
        return self._lines[self.number_of].partition(" ")[0] if self.number_of < len(self._lines) else ""

    def ends(self) -> bool:
        """Whether the next line is `end`; if so, reads it, and nothing may follow."""
        if self.peek() != "end":
            return False
        self.expect("end", "the file must end")
        if self.number_of != len(self._lines) or self._rest:
            self.number_of += 1
            raise self.error("nothing may follow 'end'")
        return True

    def codes(self, name: str, text: str, count: int, digits: int) -> tuple[int, ...]:
        """Codes of `digits` hexadecimal digits each, without separators."""
        if len(text) != count * digits or not HEX.match(text):
            raise self.error(f"{name} must be {count * digits} hexadecimal digits in lower case, not {text[:40]!r}")
        return tuple(int(text[i : i + digits], 16) for i in range(0, len(text), digits))
