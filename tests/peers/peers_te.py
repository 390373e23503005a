"""Transformer Engine's functions in PyTorch, run without its CUDA library.

Its package imports a library that needs a GPU. Here the two files that compute scales and codes in PyTorch alone are
imported by themselves, and everything else of the package is a stand-in that computes nothing.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

ROOT = "transformer_engine"
# Packages whose files are found, and are not run; the other modules that the two files import.
PACKAGES = ("", ".pytorch", ".pytorch.custom_recipes", ".common")
STANDINS = (".pytorch.constants", ".pytorch.utils", ".pytorch.custom_recipes.gemm", ".common.recipe")


@cache
def transformer_engine(name: str) -> Any:
    """A module of the package `transformer_engine.pytorch`, such as `quantization`, as it is installed."""
    base = Path(str(distribution("transformer_engine").locate_file(ROOT)))
    modules: dict[str, Any] = {f"{ROOT}_torch": MagicMock()}
    for each in PACKAGES:
        package = ModuleType(ROOT + each)
        package.__path__ = [str(base.joinpath(*each.split(".")[1:]))]
        modules[ROOT + each] = package
    modules |= {ROOT + each: MagicMock() for each in STANDINS}
    modules[f"{ROOT}.pytorch.jit"] = _module("jit", jit_fuser=lambda function: function)
    classes = {each: type(each, (), {}) for each in ("QuantizedTensorStorage", "Quantizer")}
    modules[f"{ROOT}.pytorch.quantized_tensor"] = _module("quantized_tensor", **classes)
    sys.modules.update(modules)
    try:
        return import_module(f"{ROOT}.pytorch.{name}")
    finally:
        # Only these: what they import themselves, PyTorch among it, others have too.
        for each in [each for each in sys.modules if each.startswith(ROOT)]:
            del sys.modules[each]


def _module(name: str, **names: Any) -> ModuleType:
    module = ModuleType(f"{ROOT}.pytorch.{name}")
    vars(module).update(names)
    return module
