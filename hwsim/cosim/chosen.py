"""Which suites a run plays: all, or those that are chosen by name."""

from __future__ import annotations

from collections.abc import Collection

# As `hwsim docs cosim` names them. A suite's own name may go on: `GEMM 6 x 6 x 512`, `dot random, many, part 2`.
SUITES = (
    "dot directed", "dot random", "dot random, gaps and back-pressure", "handshake and reset", "GEMM", "captured",
    "code pairs through every lane", "dot random, many",
)  # fmt: skip
BULK_SUITES = ("code pairs through every lane", "dot random, many")  # what the bulk driver plays, of our own RTL
TABLES = ("codec tables", "products")  # of all formats, in a design of their own


def suite_of(name: str) -> str:
    """The entry of SUITES that a suite's name begins with, the longest of several; else the name itself."""
    fitting = [one for one in SUITES if name == one or name.startswith((f"{one} ", f"{one},"))]
    return max(fitting, key=len, default=name)


def is_chosen(name: str, chosen: Collection[str] | None) -> bool:
    """Whether a suite of that name is played. chosen: entries of SUITES; None for all suites."""
    return chosen is None or suite_of(name) in chosen
