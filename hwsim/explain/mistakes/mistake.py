"""A mistake: its names and its meaning."""

from __future__ import annotations

from typing import NamedTuple

from hwsim.explain.mistakes.flaw import Flaw


class Mistake(NamedTuple):
    """A mistake. name: for reports. description: what a design with it does. flaw: its meaning."""

    name: str
    description: str
    flaw: Flaw
