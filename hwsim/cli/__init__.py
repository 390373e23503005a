"""The command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hwsim.base.errors import INTERRUPTED


def main(argv: Sequence[str] | None = None) -> int:
    """Run hwsim with these arguments (the process's own, unless given). Returns the exit status."""
    try:
        from hwsim.cli.entry import run  # an interrupt while commands are imported is one of the run, too

        return run(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return INTERRUPTED
