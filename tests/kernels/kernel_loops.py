"""Loops that only tests need, compiled once and kept beside hwsim's own compiled code."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

from hwsim.base.compiled import code_folder, keep

Function = TypeVar("Function", bound=Callable[..., Any])


def loop(module: str) -> Callable[[Function], Function]:
    """Decorates a loop over compiled functions of a module of hwsim; kept by the contents of its file and of that."""

    def decorate(function: Function) -> Function:
        own = hashlib.sha256(Path(inspect.getfile(function)).read_bytes()).hexdigest()[:16]
        folder = code_folder(module)
        dispatcher: Any = numba.njit(error_model="numpy")(function)
        keep(dispatcher, function, folder.with_name(f"{folder.name}-{own}"))
        kept: Function = dispatcher
        return kept

    return decorate
