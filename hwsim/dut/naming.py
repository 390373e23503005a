"""The name of what a design does instead: the semantics that explain its results."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from hwsim.spec import Unit
from hwsim.vectors.case import Case

MOST_CASES = 4000
MOST_NAMES = 3


def explanations(unit: Unit, cases: Sequence[Case], codes: Sequence[int]) -> list[str]:
    """Semantics by how many of the results they explain, the best first, in a line each; empty where none can be had.

    cases, codes: what was asked, and what the design returned.
    """
    consistent: Any = getattr(importlib.import_module("hwsim.semantics"), "consistent", None)
    found = consistent(unit, cases, codes) if consistent else []
    return [str(one) for one in found[:MOST_NAMES]]
