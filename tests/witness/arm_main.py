"""`python -m witness.arm_main`: Arm's instructions as QEMU executes them, beside hwsim's. `make witness` runs it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from witness import arm
from witness.emulators import compiler, emulator, fetch, install_compiler

from hwsim.base.errors import ToolMissing

EVERY = 10  # seconds between lines


def main(words: Sequence[str] | None = None) -> int:
    """Compare results; 1 where hwsim is wrong, 3 without QEMU. words: the process's own unless given."""
    parser = argparse.ArgumentParser(prog="make witness ARGS=", description="Arm's instructions, executed by QEMU.")
    parser.add_argument("--count", type=int, default=1_000_000, help="results of an instruction and pair of formats")
    parser.add_argument("--seed", type=int, default=1, help="of the operands; 1 unless given")
    parser.add_argument("--unit", default=arm.EVERY, help="presets, by a pattern")
    parser.add_argument("--json", type=Path, help="a file for the counts and the differences")
    parser.add_argument("--fetch", action="store_true", help="unpack an emulator and a compiler where there are none")
    given = parser.parse_args(words)
    try:
        emulated = _set_up(given.fetch)
    except ToolMissing as error:
        tell(str(error))
        return 3
    tell(f"QEMU {emulated.version}, seed {given.seed}")
    start, count = time.monotonic(), arm.Count()
    told = start
    for _ in arm.campaign(emulated, given.seed, given.count, given.unit, count):
        if time.monotonic() - told > EVERY:
            told = time.monotonic()
            tell(f"{count.results.total():,} results, {count.faults.total():,} differ, {told - start:.0f} s")
    seconds = time.monotonic() - start
    if given.json:
        given.json.write_text(json.dumps(arm.as_json(emulated, given.seed, count, seconds), indent=1) + "\n", "utf-8")
    for difference in count.differences:
        print(arm.words(difference))
    ours, theirs, both = map(count.wrong, ("hwsim", "emulator", "both"))
    print(
        f"{count.results.total():,} results of {len(count.results)} presets, seed {given.seed}, QEMU {emulated.version}"
    )
    print(f"wrong by exact rationals: {ours + both:,} of hwsim, {theirs + both:,} of QEMU")
    print(f"{count.converted.total():,} conversions, {count.unlike.total():,} differ")
    return int(ours + both + count.unlike.total() > 0)


def _set_up(may_fetch: bool) -> arm.Emulator:
    """The emulator and its guest. Raises ToolMissing where either is missing and cannot be had."""
    for find, get in (
        (lambda: emulator("qemu-aarch64", arm.VERSION), lambda: fetch("qemu-user", arm.VERSION)),
        (compiler, install_compiler),
    ):
        try:
            find()
        except ToolMissing as error:
            if not may_fetch:
                raise
            tell(str(error))
            tell(f"unpacked {get()}")
    return arm.Emulator()


def tell(line: str) -> None:
    """Print a line at once."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
