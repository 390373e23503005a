"""Entry of a simulator's Python: cocotb, without pytest, whose import takes longer than most simulations."""

from __future__ import annotations

import os
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

ENTRIES = "PYGPI_USERS"  # the functions that an embedded Python calls, of which cocotb has its own where none is named


class Never(BaseException):
    """Stands in for pytest's exceptions of tests that fail, are skipped or are expected to fail; hwsim raises none."""


# All that cocotb 2.1 takes of pytest where assertions are not rewritten.
NAMES: dict[str, dict[str, Any]] = {
    "pytest": dict.fromkeys(("raises", "skip", "xfail"), SimpleNamespace(Exception=Never)),
    "_pytest": {},
    "_pytest.assertion": {"install_importhook": None},
    "_pytest.config": {"Config": None},
}


def start() -> None:
    """Start cocotb, which imports these modules in place of pytest's."""
    for name, content in NAMES.items():
        module = ModuleType(name)
        vars(module).update(content)
        sys.modules[name] = module
    del os.environ[ENTRIES]
    from pygpi.entry import load_entry

    load_entry()
