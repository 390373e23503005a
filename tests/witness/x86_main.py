"""`python -m witness.x86_main`: x86 instructions as Bochs and this machine's processor execute them, beside hwsim's."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from witness.emulators import fetch
from witness.x86 import INSTRUCTIONS, PACKAGES, UNPACKED, Bochs, Place, Processor, campaign, drawn, results

from hwsim.base.errors import ToolMissing

app = typer.Typer(add_completion=False)


def places() -> Iterator[Place]:
    """What can execute instructions here; the reasons where something cannot go to standard error."""
    for kind in (lambda: Bochs(), lambda: Processor(UNPACKED / "x86")):
        try:
            yield kind()
        except ToolMissing as error:
            print(error, file=sys.stderr)


@app.command()
def unpack() -> None:
    """Unpack Bochs, and what it is linked with, from a newer Debian."""
    for package in PACKAGES:
        print(fetch(package, "3.1" if package == "bochs" else "0"))


@app.command()
def run(seed: int = 1, count: int = 1_000_000, only: str = "*") -> None:
    """Compare so many results of each instruction in each place. only: a pattern of instructions' names."""
    wrong = False
    for place in places():
        for instruction in (one for one in INSTRUCTIONS if fnmatchcase(one.name, only)):
            start = time.monotonic()
            try:
                *_, compared = campaign(place, instruction, seed, count)
            except ToolMissing as error:
                print(f"{place.version}: {error}")
                continue
            print(
                f"{place.version}: {instruction.name}, {instruction.preset}: {compared.results} results, "
                f"{compared.different} differ, {time.monotonic() - start:.0f} s",
                flush=True,
            )
            for difference in compared.differences:
                print(f"    {difference}")
            wrong |= any(line.endswith("hwsim is wrong") for line in compared.differences)
    sys.exit(wrong)


@app.command()
def record(out: Annotated[Path, typer.Argument()], seed: int = 1, cases: int = 1024) -> None:
    """Write what this machine's processor returns: of each of its instructions so many results."""
    place, arrays = Processor(UNPACKED / "x86"), {}
    for instruction in INSTRUCTIONS:
        try:
            found = results(place, instruction, drawn(instruction, seed, 0, cases))
        except ToolMissing as error:
            print(error)
            continue
        each = len(found.d) // cases  # of tiles, whose rows meet every column; here each another one
        index = np.arange(cases) * each + np.arange(cases) % each
        arrays |= {f"{instruction.name}/{name}": getattr(found, name)[index] for name in "abcd"}
    np.savez_compressed(out, processor=np.array(place.version), seed=np.array(seed), **arrays)


if __name__ == "__main__":
    app()
