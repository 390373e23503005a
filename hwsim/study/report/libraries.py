"""The libraries that draw, imported where they are needed: `hwsim --help` does not wait for them."""

from __future__ import annotations

import importlib
from typing import Any

from hwsim.errors import ToolMissing


def library(name: str) -> Any:
    """A module of the extra `study`. Raises ToolMissing, with the command that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ToolMissing(f"{name} is missing; install it with: pip install 'hwsim[study]'") from error
