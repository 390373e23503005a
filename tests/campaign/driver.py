"""A campaign of fake jobs as a program that tests may kill: `python -m campaign.driver FOLDER SIZE DEED...`"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from campaign.fake_jobs import fakes, run

MOST = "--most="  # bytes of a file that the program may write


def main(arguments: list[str]) -> None:
    """Run, with one worker where a file may not grow: which outcome does not fit is the same every time then."""
    most = [int(one.removeprefix(MOST)) for one in arguments if one.startswith(MOST)]
    folder, size, *deeds = [one for one in arguments if not one.startswith(MOST)]
    if most:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most[0], most[0]))
    result = run(Path(folder), fakes(Path(folder), *deeds, size=int(size)), workers=1 if most else 2)  # type: ignore[arg-type]
    print(result.results.summary.passed)


if __name__ == "__main__":
    main(sys.argv[1:])
