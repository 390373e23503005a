"""Functions of the model in whose place others stand for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


@contextmanager
def given_function(module: ModuleType, name: str, function: Callable[..., Any]) -> Iterator[None]:
    """A module with another function of a name, as long as this lasts."""
    before = getattr(module, name)
    setattr(module, name, function)
    try:
        yield
    finally:
        setattr(module, name, before)
