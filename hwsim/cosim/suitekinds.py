"""The kinds of suites, and which of them a run is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from hwsim.errors import InputError


class SuiteKind(StrEnum):
    """A kind of suite, as command lines and files name it."""

    TABLES = "tables"
    DIRECTED = "directed"
    RANDOM = "random"
    GAPS = "gaps"
    RESET = "reset"
    GEMM = "gemm"
    CAPTURED = "captured"
    PAIRS = "pairs"
    MANY = "many"

    @property
    def suite(self) -> str:
        """What suites of the kind are called, as rows and reports have it."""
        return NAMES[self]


NAMES = {
    SuiteKind.TABLES: "tables of codes",
    SuiteKind.DIRECTED: "dot directed",
    SuiteKind.RANDOM: "dot random",
    SuiteKind.GAPS: "dot random, gaps and back-pressure",
    SuiteKind.RESET: "handshake and reset",
    SuiteKind.GEMM: "GEMM",
    SuiteKind.CAPTURED: "captured",
    SuiteKind.PAIRS: "code pairs through every lane",
    SuiteKind.MANY: "dot random, many",
}
BULK_KINDS = (SuiteKind.PAIRS, SuiteKind.MANY)  # which the bulk driver plays, of our own RTL
NOT_ASKED = "not asked for"


@dataclass(frozen=True)
class AskedSuites:
    """Which suites a user asks for.

    only: these kinds; all where it is empty. without: kinds that are left out, each with the user's reason.
    """

    only: frozenset[SuiteKind] = frozenset()
    without: Mapping[SuiteKind, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        both = sorted(self.only & self.without.keys())
        if both:
            raise InputError(f"suite {both[0]} must not be asked for and left out at once")

    def left_out(self, kind: SuiteKind) -> str:
        """Why the user wants no suite of a kind; empty where it is wanted."""
        if kind in self.without:
            return self.without[kind]
        return NOT_ASKED if self.only and kind not in self.only else ""

    def and_without(self, without: Mapping[SuiteKind, str]) -> AskedSuites:
        """The same, less what a design's file leaves out; what a command line asks for by name runs all the same."""
        return AskedSuites(
            self.only, {**{kind: why for kind, why in without.items() if kind not in self.only}, **self.without}
        )

    @property
    def arguments(self) -> list[str]:
        """The arguments of a command line that asks for the same."""
        asked = [word for kind in sorted(self.only) for word in ("--suite", kind.value)]
        return [*asked, *(word for kind in sorted(self.without) for word in ("--without", kind.value))]


EVERY_SUITE = AskedSuites()
