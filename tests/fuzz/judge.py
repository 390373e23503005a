"""What is right of how a command ended, and what is a fault of hwsim."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fuzz.targets import Target

LONGEST = 2000  # characters of an error that a person reads
# Words of pydantic, NumPy and Python that say nothing to a user.
RAW = re.compile(
    r"pydantic|discriminator|[Ii]nput should|[Vv]alue error,|valid (tuple|dict|dictionary|list|string|set)\b|NoneType|"
    r"<class|object at 0x|Errno|validation error|literal\[|not subscriptable|has no attribute|unhashable|"
    r"allow_pickle|numpy\.|np\.|KeyError|be an instance of",
)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
NOTES = re.compile(r"(note: |\[\d+/\d+\] |compiling code for units of this kind; )")


@dataclass
class Ended:
    """How a command ended. before, after: files below its folder, with digests. outside: what it wrote elsewhere."""

    status: int
    out: str
    err: str
    before: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    outside: Sequence[str] = ()


def faults(ended: Ended, target: Target, names: Sequence[str]) -> list[str]:
    """What is wrong; nothing is right. names: one of which an error must have."""
    return [*_of_status(ended, target), *_of_words(ended, names), *_of_files(ended, target)]


def _of_status(ended: Ended, target: Target) -> list[str]:
    right = {0, 2, 3} | ({1} if target.differs else set())
    found = [] if ended.status in right else [f"exit status {ended.status}"]
    if "Traceback (most recent call last)" in ended.out + ended.err or "defect of hwsim" in ended.err:
        found.append("a traceback, or a defect of hwsim")
    return found


def _of_words(ended: Ended, names: Sequence[str]) -> list[str]:
    lines = ended.err.splitlines()
    errors = [line for line in lines if not NOTES.match(line)]
    found = ["control characters in the message"] if CONTROL.search(ended.err) else []
    if ended.status in (0, 1):
        return found + [f"unexpected words: {line[:200]}" for line in errors]
    if len(errors) != 1 or not errors[0].startswith("error: "):
        return [*found, f"{len(errors)} lines of error"]
    (error,) = errors
    if not any(name in error for name in names):
        found.append("the message names no file")
    if len(error) > LONGEST:
        found.append(f"a message of {len(error):,} characters")
    if raw := RAW.search(error):
        found.append(f"raw words: {raw[0]}")
    return found


def _of_files(ended: Ended, target: Target) -> list[str]:
    found = [f"outside: {one}" for one in ended.outside]
    for name in sorted({*ended.before, *ended.after}):
        if ended.before.get(name) == ended.after.get(name):
            continue
        asked = name.rpartition("/")[2].startswith(".hwsim-") or any(
            name == one or name.startswith(f"{one}/") for one in target.written
        )
        if not asked or ended.status not in (0, 1):
            how = "is left" if name not in ended.before else "is gone" if name not in ended.after else "has changed"
            found.append(f"file {name} {how}")
    return found
