"""Mutations of bytes, whatever they mean, and of lines of words."""

from __future__ import annotations

import re
from random import Random

MOST = 1 << 20  # bytes of a mutated file
STRANGE = (
    b"\0", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\t", b"\x1b[31m", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80",
    b"'", b'"', b"{", b"[", b"&a ", b"*a", b"---\n", b"<<: ", b"!!python/object/apply:os.system ['touch written']",
    b"PK\x03\x04", b"PK\x05\x06", b"\x93NUMPY\x01\x00", b"PAR1", b"\x7f\xff\xff\xff\xff\xff\xff\xff", b"\n" * 1000,
    b"9" * 5000, b"e" * 70_000, "\u202e".encode(), "\N{ARABIC-INDIC DIGIT FIVE}".encode(),
)  # fmt: skip
WORDS = (
    "", "-1", "0", "1", "0x", "0xffffffff", "1" + "0" * 30, "9" * 5000, "nan", "-", "x", "X", "zz", "1e999", "\u0665",
    "unstable", "end", "skipped", "instruction", "unit", "../x", "/dev/zero", "\x1b[31m", "#", "//", "-0",
)  # fmt: skip


def flip(data: bytes, rng: Random) -> bytes:
    """Other bits in a few bytes."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8) if changed else 0):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def overwrite(data: bytes, rng: Random) -> bytes:
    """Strange bytes in the place of others."""
    at, new = _at(data, rng), rng.choice(STRANGE)
    return data[:at] + new + data[at + len(new) :]


def insert(data: bytes, rng: Random) -> bytes:
    """Strange bytes between others."""
    at = _at(data, rng)
    return data[:at] + rng.choice(STRANGE) + data[at:]


def truncate(data: bytes, rng: Random) -> bytes:
    """The beginning alone."""
    return data[: _at(data, rng)]


def behead(data: bytes, rng: Random) -> bytes:
    """The end alone."""
    return data[_at(data, rng) :]


def remove(data: bytes, rng: Random) -> bytes:
    """Without some bytes in the middle."""
    at = _at(data, rng)
    return data[:at] + data[at + rng.choice((1, 2, 16, 300)) :]


def repeat(data: bytes, rng: Random) -> bytes:
    """Some bytes many times."""
    at = _at(data, rng)
    part = data[at : at + rng.choice((1, 8, 100, len(data) or 1))]
    return data[:at] + part * rng.choice((2, 3, 50, 1000)) + data[at:]


def splice(data: bytes, rng: Random) -> bytes:
    """A part of the file in another place of it."""
    at, start = _at(data, rng), _at(data, rng)
    return data[:at] + data[start : start + rng.choice((4, 64, 1000))] + data[at:]


def nothing(data: bytes, rng: Random) -> bytes:
    """An empty file."""
    return b""


ANY = (flip, flip, overwrite, overwrite, insert, insert, truncate, behead, remove, repeat, splice, nothing)


def mutated(data: bytes, rng: Random) -> bytes:
    """A file with one to three mutations of its bytes."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        data = rng.choice(ANY)(data, rng)
    return data[:MOST]


def lines(data: bytes, rng: Random) -> bytes:
    """A text with lines dropped, repeated or moved, and words changed."""
    rows = data.decode("latin-1").split("\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(rows))
        match rng.randrange(10):
            case 0:
                del rows[at : at + rng.choice((1, 3, len(rows) // 2 + 1))]
            case 1:
                rows[at:at] = [rows[at]] * rng.choice((1, 2, 1000))
            case 2:
                other = rng.randrange(len(rows))
                rows[at], rows[other] = rows[other], rows[at]
            case 3:
                rows.insert(at, rng.choice(WORDS))
            case 4:
                rows[at] = rows[at] + rng.choice((" ", "\r", " # x", " // x", "\t0"))
            case 5:
                rows[at] = rows[at].upper()
            case 6:
                rows = rows[:at] + rows[at:][::-1]
            case _:
                rows[at] = _reworded(rows[at], rng)
        rows = rows or [""]
    return "\n".join(rows).encode("utf-8", "surrogatepass")[:MOST]


def _reworded(line: str, rng: Random) -> str:
    parts = re.split(r"(\W+)", line)
    at = rng.randrange(len(parts))
    word = parts[at]
    parts[at] = rng.choice((rng.choice(WORDS), rng.choice(WORDS), word[:-1], word + word, word + "0", word[::-1]))
    return "".join(parts)


def _at(data: bytes, rng: Random) -> int:
    """A place: anywhere, or near an end."""
    near = rng.choice((len(data), len(data), 16, 128))
    at = rng.randint(0, min(near, len(data)))
    return at if rng.random() < 0.8 else len(data) - at
