"""The rows of docs/migrate.md, and what they give."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from peers.peers_draws import blocks

import hwsim
from hwsim.quantize import Quantized

PAGE = Path(__file__).parents[2] / "docs" / "migrate.md"
RUN = {"torchao": ("torchao",), "gfloat": ("gfloat",), "pychop, ml_dtypes, PyTorch": ("pychop", "torch")}  # sections


class Row(NamedTuple):
    """A row of a table: what is called there, and here; and for an older version of torchao."""

    section: str
    there: str
    here: str
    older: str


def rows() -> Iterator[Row]:
    for section in PAGE.read_text().split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        for there, here, older in re.findall(r'^\| `(.+?)` \| `(.+?)`(?:; to 0\.16 `(".+?")`)? \|', text, re.MULTILINE):
            if title in RUN:
                yield Row(title, there, here, older)


def drawn() -> Any:
    """float32[64, 128], below 256: no element format overflows."""
    return blocks(64, 128, 8, -24, 8)


def names(x: Any) -> dict[str, Any]:
    """What a row may use, of the peers that are installed."""
    import torch

    known: dict[str, Any] = {
        "torch": torch, "np": np, "ml_dtypes": ml_dtypes, "quantize": hwsim.quantize, "get_format": hwsim.get_format,
        "x": torch.from_numpy(x), "row": x[0, :32].astype(np.float64), "amax": 3.5,
    }  # fmt: skip
    return known


def parts(value: Any) -> list[Any]:
    """Scales and codes, or codes or numbers alone, as arrays of integers or numbers."""
    if isinstance(value, Quantized):
        return [value.scales, value.codes]
    if isinstance(value, tuple):
        return [part for each in value for part in parts(each)]
    if hasattr(value, "_scale"):
        return [(1 / value._scale).reshape(1, 1).numpy(), *parts(value._data)]
    if hasattr(value, "detach"):
        import torch

        return [(value.view(torch.uint8) if value.itemsize == 1 else value).numpy()]
    array = np.asarray(value if isinstance(value, np.ndarray) else list(value))
    return [array.view(np.uint8) if array.itemsize == 1 else array]
