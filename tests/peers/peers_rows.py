"""What the page on migration says of other packages, row by row, and the numbers that are drawn for it."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from conftest import missing

import hwsim
from hwsim.quantize import Quantized


def version_of(package: str) -> tuple[int, ...]:
    """The version of a peer's package, its first two numbers; its tests are left out where it is not installed."""
    try:
        version = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        missing(f"{package} is not installed: pip install 'hwsim[peers]'")
        raise
    return tuple(int(part) for part in version.split(".")[:2])


def blocks(count: int, length: int, seed: int, low: int = -100, high: int = 120) -> Any:
    """float32[count, length], a block a row, of like magnitudes from 2^low to 2^high.

    Every third amax is a power of two, next to one, or next to where scales and ties change.
    """
    rng = np.random.default_rng(seed)
    sig = rng.integers(1, 1 << 24, (count, length)).astype(np.float64)
    edges = [2.0**23, 2.0**23 + 1, 2.0**24 - 1, 7 * 2.0**21, 7 * 2.0**21 + 1, 2.0**23 + 2**19]
    sig[::3, 0] = rng.choice(edges, len(sig[::3]))
    exp = rng.integers(low, high - 23, (count, 1)) - rng.integers(0, 12, (count, length)) * (np.arange(length) > 0)
    return np.ldexp(rng.choice([-1.0, 1.0], (count, length)) * sig, exp).astype(np.float32)


def next_to_ties(count: int, seed: int, two_levels: bool) -> Any:
    """float32[count, 16]: numbers on ties of E2M1 and next to them, under the scales of NVFP4 that their blocks get."""
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((count, 16)) * np.exp2(rng.integers(-4, 4, (count, 1)))).astype(np.float32)
    amax = np.abs(x).max(axis=1, keepdims=True)
    x = np.clip(x, -amax / 2, amax / 2)
    x[:, :1] = amax  # of every block, and so of the tensor
    g = amax.max() / np.float32(2688) if two_levels else np.float32(1)
    scale = np.clip(amax / np.float32(6) / g, 2.0**-6, 448).astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
    ties = scale * g * rng.choice(np.float32([0.25, 0.75, 1.25, 1.75, 2.5]), (count, 10))
    x[:, 6:] = (ties.view(np.int32) + rng.integers(-1, 2, ties.shape, dtype=np.int32)).view(np.float32)
    return x


PAGE = Path(__file__).parents[2] / "docs" / "migrate.md"
RUN = {"torchao": ("torchao",), "gfloat": ("gfloat",), "pychop, ml_dtypes, PyTorch": ("pychop", "torch")}  # sections


class Row(NamedTuple):
    """A row of a table: what is called there, and here; for an older torchao; and whether bits are the same."""

    section: str
    there: str
    here: str
    older: str
    bits: str

    @property
    def least(self) -> float:
        """The least amax from which the row says that bits are the same."""
        said = re.search(r"same from amax (?:0|2\^(-\d+))", self.bits)
        return 0.0 if said is None or said[1] is None else 2.0 ** int(said[1])


def rows() -> Iterator[Row]:
    for section in PAGE.read_text().split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        pattern = r'^\| `(.+?)` \| `(.+?)`(?:; to 0\.16 `(".+?")`)? \| (.+) \|$'
        for there, here, older, bits in re.findall(pattern, text, re.MULTILINE):
            if title in RUN:
                yield Row(title, there, here, older, bits)


def drawn() -> Any:
    """float32[64, 128], below 256: no element format overflows."""
    return blocks(64, 128, 8, -24, 8)


def whole_range() -> dict[str, Any]:
    """float32[4, 128] by a name: amax of every power of two that binary32 has, and zeros, infinities, NaNs."""
    found: dict[str, Any] = {}
    for exp in range(-149, 128):
        rng = np.random.default_rng([1, exp + 200])
        sig = rng.integers(1 << 23, 1 << 24, (4, 128)).astype(np.float64)
        exps = exp - 23 - rng.integers(0, 12, (4, 128)) * (np.arange(128) % 32 > 0)
        x = np.ldexp(rng.choice([-1.0, 1.0], (4, 128)) * sig, exps).astype(np.float32)
        x[:, 5] = 0
        found[f"2^{exp}"] = x
    found["zeros"] = np.zeros((4, 128), np.float32)
    for name in ("inf", "-inf", "nan"):
        found[name] = found["2^0"].copy()
        found[name][0, 7] = float(name)
    return found


def names(x: Any, amax: float = 3.5) -> dict[str, Any]:
    """What a row may use, of the peers that are installed."""
    import torch

    known: dict[str, Any] = {
        "torch": torch, "np": np, "ml_dtypes": ml_dtypes, "quantize": hwsim.quantize, "get_format": hwsim.get_format,
        "x": torch.from_numpy(x), "row": x[0, :32].astype(np.float64), "amax": amax,
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
