"""Prints the table of all faults and what is said of each: cd tests; python -m faults.measure [--unseen] [WORD ...]

--unseen: of the faults that were written after the catalogue; --foreign: of those of first versions. Only those whose
names have one of the words, where there are some.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from faults.judged import judged
from faults.seeded import FAULTS, FOREIGN, UNSEEN, Fault


def main(words: list[str], faults: list[Fault]) -> None:
    """Judge the faults, one after the other."""
    counts: Counter[str] = Counter()
    print("| design | true cause | wrong results | named | offered |\n|---|---|---|---|---|")
    for fault in faults:
        if words and not any(word in fault.id for word in words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = judged(fault, Path(folder))
        counts[found.verdict] += 1
        # Of results without a name, what the most of them have in common.
        facts = [f"({'; '.join(kind.facts)})" for kind in found.diagnosis.kinds if not kind.causes]
        offered = "; ".join([*found.offered, *(f"also {name}" for name in found.others), *facts[:1]])
        print(f"| {fault.design} | {fault.cause} | {found.wrong:,} | {found.verdict} | {offered} |", flush=True)
    print(f"\n{sum(counts.values())} faults: " + ", ".join(f"{count} {word}" for word, count in counts.most_common()))


if __name__ == "__main__":
    which = UNSEEN if "--unseen" in sys.argv else FOREIGN if "--foreign" in sys.argv else FAULTS
    main([word for word in sys.argv[1:] if not word.startswith("--")], which)
