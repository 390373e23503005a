"""Answer the capture program in a GPU's place: read batches of cases, give `hwsim.dot`'s codes.

capture/standin.cpp says what is read and written. A word on the command line asks for a fault in the second run of
every instruction:

changed   another code for the case whose b is the greatest
torn      two codes for it, as from a tile whose elements differ
garbage   text that is no code
dies      the end, without an answer
hangs     no answer before its input ends, after a line `hangs` on the standard error
apart     in every run, 1 for everything
as:UNIT   no fault: in every run, another unit's results
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
from hwsim.formats import Format
from hwsim.formats.codes import container_dtype

# How long compiling takes, and so whether it is said, is a matter of the machine.
logging.getLogger("hwsim.base.compiled").setLevel(logging.ERROR)

load = cache(hwsim.load_unit)
# Products after which the model has taken longer than compiled code takes to load: it computes those that follow.
MANY = 1 << 17


def matrix(texts: list[str], fmt: Format) -> NDArray[Any]:
    """Rows of codes from rows of hexadecimal digits."""
    letters = np.frombuffer("".join(texts).encode(), np.uint8)
    digits = ((letters & 15) + 9 * (letters >= ord("a"))).reshape(len(texts), -1, -(-fmt.container_bits // 4))
    codes = np.zeros(digits.shape[:2], np.uint32)
    for place in range(digits.shape[2]):
        codes = codes << 4 | digits[:, :, place]
    return codes.astype(container_dtype(fmt))


def results(name: str, lines: list[str]) -> list[str]:
    """The results of the cases `K C A B`, or `K C A B SA SB`, in hexadecimal."""
    unit = load(name)
    addend, scale = unit.operands.addend, unit.scale
    assert addend is not None
    wide = addend.container_bits
    sides = [unit.operands.a, unit.operands.b, *((scale.a.format, scale.b.format) if scale is not None else ())]
    words = [line.split() for line in lines]
    answers = [""] * len(lines)
    for k in {row[0] for row in words}:
        rows = [at for at, row in enumerate(words) if row[0] == k]
        a, b, *scales = (matrix([words[at][2 + side] for at in rows], fmt) for side, fmt in enumerate(sides))
        c = matrix([words[at][1].replace("-", "0" * (wide // 4)) for at in rows], addend)[:, 0]
        found: NDArray[Any] = hwsim.dot(unit, a, b, c, *scales)
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
        answers = results(fault[3:] if fault.startswith("as:") else unit, lines)
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
