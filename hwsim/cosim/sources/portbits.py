"""Which bits of a module's ports a name in a design's file means: `data[7:0]`, `words[2]`, `req.op[3:0]`."""

from __future__ import annotations

import re
from typing import Literal

from hwsim.cosim.sources.elaborate import Module, Port
from hwsim.cosim.sources.shapes import STEP, selected
from hwsim.errors import InputError

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")

# A bit of a port: the port, the indices of the word of it where it is an array of words, and the place in that.
PortBit = tuple[str, tuple[int, ...], int]
PLAIN: tuple[int, ...] = ()  # the word of a port that is no array


def named_bits(module: Module, text: str, direction: Literal["in", "out"]) -> tuple[PortBit, ...]:
    """The bits that a name means, the least significant first; of an array the first word as declared first.

    Raises InputError, a rule without its key, for a name that means none of the module's, and for another direction.
    """
    name = NAME.match(text)
    port = module.by_name.get(name[0]) if name else None
    if port is None:
        raise InputError(f"must name a port of {module.name} ({', '.join(module.by_name)}), not {text}")
    if port.direction != direction:
        raise InputError(f"must be an {direction}put of {module.name}, not {text} ({port.direction})")
    word, path = _word(port, text[len(port.name) :], text)
    try:
        part = selected(port.shape, path)
    except InputError as error:
        raise InputError(f"{text}: {port.name} {error}") from None
    chosen = [one for one in port.words if one[: len(word)] == word]
    return tuple((port.name, one, part.low + bit) for one in chosen for bit in range(part.width))


def _word(port: Port, path: str, text: str) -> tuple[tuple[int, ...], str]:
    """The indices of a word that begin a path, and the rest of it. Raises InputError for indices that are not there."""
    word = list[int]()
    for span in port.arrays:
        step = STEP.match(path)
        if step is None:
            break
        if step["left"] is None or step["right"] is not None:
            raise InputError(f"must name one word of the array {port.name}, or all of it, not {text}")
        try:
            span.place(int(step["left"]))
        except InputError as error:
            raise InputError(f"{text}: {port.name} has words {error}") from None
        word.append(int(step["left"]))
        path = path[step.end() :]
    return tuple(word), path
