"""`python -m fuzz`: mutated inputs for hwsim, until a time is over. `make fuzz` runs it."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fuzz import inputs
from fuzz.campaign import Campaign
from fuzz.inputs import Key
from fuzz.targets import BY_NAME

KEPT = Path("build/fuzz")


def main(words: Sequence[str] | None = None) -> int:
    """Run a campaign, or one input of it again. words: the process's own unless given. Returns 1 where one failed."""
    parser = argparse.ArgumentParser(prog="make fuzz ARGS=", description="Mutated inputs for every reader of hwsim.")
    parser.add_argument("--seconds", type=float, default=300, help="how long; 300 unless given")
    parser.add_argument("--seed", type=int, default=None, help="of the mutations; drawn and printed unless given")
    parser.add_argument("--target", action="append", default=[], choices=list(BY_NAME), help="several times")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1), help="processes")
    parser.add_argument("--count", type=int, default=sys.maxsize, help="inputs of each target, at most")
    parser.add_argument("--replay", metavar="TARGET:SEED:INDEX", help="one input again")
    given = parser.parse_args(words)
    if given.replay:
        return replay(Key.parsed(given.replay))
    seed = int(time.time()) % 1_000_000 if given.seed is None else given.seed
    campaign = Campaign(inputs.chosen(given.target), seed, KEPT, given.seconds, given.count, workers=given.workers)
    tell(f"seed {seed}, {given.seconds:g} seconds, {given.workers} workers; failing inputs go to {KEPT}/")
    campaign.run(tell)
    for line in campaign.table():
        print(line)
    taken = sum(campaign.taken.values())
    print(f"{taken:,} inputs, seed {seed}: {f'{len(campaign.failed)} failed' if campaign.failed else 'none failed'}")
    for name in campaign.failed:
        print(f"again: make fuzz ARGS='--replay {name}'")
    return int(bool(campaign.failed))


def replay(key: Key) -> int:
    """One input again, in a fresh process, with what was found."""
    found = Campaign([BY_NAME[key.target]], key.seed, KEPT).replay(key)
    print(json.dumps(found, indent=1))
    print(f"input: {shlex.quote(str(KEPT / str(key).replace(':', '-')))}")
    return int(bool(found["faults"]))


def tell(line: str) -> None:
    """Print a line at once."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
