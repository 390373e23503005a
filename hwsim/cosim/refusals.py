"""Why a simulator refuses a design, in one line: its first error, and what it is that the simulator does not take."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

LOCATION = re.compile(r"(?P<file>[^\s:]+):(?P<line>\d+):(?:\d+:)? *(?P<words>.*)")
ERROR = re.compile(r"error|sorry|syntax", re.IGNORECASE)
# How a program ends that finds itself wrong, as it and the shell say it.
CRASH = re.compile(r"[Aa]ssertion (\S+ )?failed|Assertion `.*' failed|Segmentation fault|core dumped|[Ii]nternal error")
MOST_SHOWN = 60  # characters of a source line


@dataclass(frozen=True)
class NotTaken:
    """Something that Icarus does not take. source: what its line of Verilog looks like. words: what it is."""

    source: re.Pattern[str]
    words: str


# Icarus 11 calls most of these a syntax error and says no more.
NOT_TAKEN = tuple(
    NotTaken(re.compile(source), words)
    for source, words in (
        (r"\b(assert|assume|cover|restrict)\s+(property|sequence)\b", "concurrent assertions (SVA)"),
        (r"\b(property|sequence|clocking|disable\s+iff|default\s+disable)\b", "concurrent assertions (SVA)"),
        (r"\b(cross|covergroup|coverpoint)\b", "covergroups"),
        (r"\bparameter\s+type\b", "type parameters"),
        (r"\b(modport|interface|virtual)\b", "interfaces"),
        (r"^\s*bind\b", "bind"),
        (r"\b(break|continue)\s*;", "break and continue"),
        (r"\bparameter\s+(\w+::)?\w+_t\b", "parameters of a struct's type"),
        (r"\bunique0?\s+(if|case)|\bpriority\s+(if|case)", "unique and priority"),
        (r"\binside\b", "inside"),
        (r"\b(foreach|return)\b", "this statement"),
        (r"\{\s*(<<|>>)", "streaming operators"),
    )
)


def refusal(simulator: str, message: str) -> str:
    """One line: which simulator refuses which line of the design, and why.

    message: the end of its log. What Icarus is known not to take is named by the source line that it refuses.
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if crash := next((line for line in lines if CRASH.search(line)), None):
        before = next(filter(LOCATION.search, lines), crash)
        where = f", after {before}" if before != crash else ""
        return f"{simulator} crashes on the design, a defect of its own: {crash}{where}"
    first = next((line for line in lines if ERROR.search(line) and LOCATION.search(line)), None)
    if first is None:
        said = next((line for line in lines if ERROR.search(line)), lines[-1] if lines else "")
        return f"{simulator} refuses the design: {said}"
    at = LOCATION.search(first)
    assert at is not None
    where, source = f"{at['file']}:{at['line']}", _source(Path(at["file"]), int(at["line"]))
    if simulator == "icarus":
        for known in NOT_TAKEN:
            if known.source.search(source):
                return f"icarus does not take {known.words}: {where}: {_shown(source)}; leave it out for Icarus"
    said = at["words"].strip() or "an error"
    return f"{simulator} refuses the design: {where}: {said}{f': {_shown(source)}' if source else ''}"


def _source(path: Path, number: int) -> str:
    """A line of a file without its comment; empty where it cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return lines[number - 1].split("//")[0].strip() if 0 < number <= len(lines) else ""


def _shown(source: str) -> str:
    return source if len(source) <= MOST_SHOWN else f"{source[:MOST_SHOWN]}..."
