"""Answer the capture program in a GPU's place: read batches of cases, give `hwsim.dot`'s codes.

capture/standin.cpp says what is read and written. A word on the command line asks for a fault in the second run of
every instruction:

changed   another code for the case whose b is the greatest
torn      two codes for it, as from a tile whose elements differ
garbage   text that is no code
dies      the end, without an answer
hangs     no answer before its input ends, after a line `hangs` on the standard error
apart     in every run, 1 for everything
"""

from __future__ import annotations

import logging
import sys
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hwsim
from hwsim.compute import products

# How long compiling takes, and so whether it is said, is a matter of the machine.
logging.getLogger("hwsim.base.compiled").setLevel(logging.ERROR)

load = cache(hwsim.load_unit)
# Products after which the model has taken longer than compiled code takes to load: it computes those that follow.
MANY = 1 << 17


def matrix(texts: list[str], bits: int) -> NDArray[Any]:
    """Rows of codes from rows of hexadecimal digits."""
    codes = np.frombuffer(bytes.fromhex("".join(texts)), dtype=f">u{bits // 8}")
    return codes.reshape(len(texts), -1).astype(f"uint{bits}")


def results(name: str, lines: list[str]) -> list[str]:
    """The results of the cases `K C A B`, in hexadecimal."""
    unit = load(name)
    addend = unit.operands.addend
    assert addend is not None
    bits, wide = unit.operands.a.container_bits, addend.container_bits
    words = [line.split() for line in lines]
    answers = [""] * len(lines)
    for k in {row[0] for row in words}:
        rows = [at for at, row in enumerate(words) if row[0] == k]
        a, b = (matrix([words[at][side] for at in rows], bits) for side in (2, 3))
        c = matrix([words[at][1].replace("-", "0" * (wide // 4)) for at in rows], wide)[:, 0]
        found: NDArray[Any] = hwsim.dot(unit, a, b, c)
        for at, code in zip(rows, found.view(f"uint{wide}").tolist(), strict=True):
            answers[at] = f"{code:0{wide // 4}x}"
    return answers


def main() -> None:
    fault = sys.argv[1] if len(sys.argv) > 1 else ""
    asked = 0
    while header := sys.stdin.readline():
        _, order, instruction, unit, count = header.split()
        lines = [sys.stdin.readline() for _ in range(int(count))]
        asked += sum(int(line.split(maxsplit=1)[0]) for line in lines)
        if asked > MANY:
            products.FEW = 0
        answers = results(unit, lines)
        if fault == "apart":
            answers = ["3f800000" if ".f32." in instruction else "3c00"] * len(lines)
        if order == "shuffled" and fault:
            victim = max(range(len(lines)), key=lambda at: lines[at].split()[3])
            other = f"{int(answers[victim], 16) ^ 1:0{len(answers[victim])}x}"
            if fault == "changed":
                answers[victim] = other
            elif fault == "torn":
                answers[victim] += f" {other}"
            elif fault == "garbage":
                answers[victim] = "none"
            elif fault == "dies":
                return
            elif fault == "hangs":
                print("hangs", file=sys.stderr, flush=True)
                sys.stdin.read()
                return
        sys.stdout.write("".join(f"{answer}\n" for answer in answers))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
