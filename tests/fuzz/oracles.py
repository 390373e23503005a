"""What must be true of an input besides how its command ends: readers agree, and what is written reads back."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

import hwsim
from hwsim.base.errors import InputError
from hwsim.formats import get_format
from hwsim.formats.yamlfile import read
from hwsim.spec import as_yaml, load_unit
from hwsim.study.plan.study import load_study


def unit(folder: Path, words: Sequence[str]) -> list[str]:
    """A unit says the same from its file, from a mapping of the same keys, and after it was written."""
    path = folder / "u.yaml"
    try:
        loaded = load_unit(path)
    except InputError:
        loaded = None
    try:
        keys: Any = read(path).data
    except InputError:
        return [] if loaded is None else ["load_unit takes a file that cannot be read"]
    wrong = []
    if not any(str(value).endswith((".yaml", ".yml")) or "/" in str(value) for value in _leaves(keys)):
        try:
            given = load_unit(keys)
        except InputError:
            given = None
        if given != loaded:
            wrong.append("load_unit of the file's keys is not load_unit of the file")
    if loaded is not None:
        again = folder / "again.yaml"
        again.write_text(as_yaml(loaded), encoding="utf-8")
        try:
            if load_unit(again) != loaded:
                wrong.append("the unit that was written is another one")
        except InputError as error:
            wrong.append(f"the unit that was written is refused: {error}")
        again.unlink()
    return wrong


def number_format(folder: Path, words: Sequence[str]) -> list[str]:
    """Every code of a format that loads is what its number encodes to."""
    with contextlib.suppress(InputError):
        fmt = get_format(folder / "f.yaml")
        codes = np.arange(min(1 << fmt.container_bits, 256), dtype=np.uint32)
        try:
            values = fmt.decode(codes)
        except ValueError:  # padding that must be zero
            return []
        numbers = np.isfinite(values)
        again = fmt.encode(values[numbers])
        if not np.array_equal(fmt.decode(again), values[numbers]):
            return ["codes do not encode to what they decode to"]
    return []


def study(folder: Path, words: Sequence[str]) -> list[str]:
    """A study that loads is the same after it was written."""
    try:
        loaded = load_study(folder / "s.yaml")
    except InputError:
        return []
    again = folder / "again.yaml"
    again.write_text(loaded.as_yaml(), encoding="utf-8")
    try:
        if load_study(again).as_yaml() != loaded.as_yaml():
            return ["the study that was written is another one"]
    except InputError as error:
        return [f"the study that was written is refused: {error}"]
    finally:
        again.unlink()
    return []


def product(folder: Path, words: Sequence[str]) -> list[str]:
    """A product of files is what hwsim.gemm makes of the arrays that other readers find in them."""
    made = folder / "d.npy"
    if "--addend" not in words or not made.exists():
        return []
    try:
        arrays = [_array(folder / words[at]) for at in (2, 3, 5)]
    except ValueError:  # NumPy takes no archive behind other bytes
        return []
    if any(array.dtype.kind not in "iu" for array in arrays):
        return []
    wanted = hwsim.gemm(words[1], arrays[0], arrays[1], C=arrays[2])
    found = np.load(made)
    same = found.shape == wanted.shape and found.tobytes() == np.asarray(wanted, found.dtype).tobytes()
    return [] if same else ["the product is not what hwsim.gemm makes of the same arrays"]


def _array(path: Path) -> Any:
    if path.suffix == ".safetensors":
        return next(iter(load_file(path).values()))
    loaded = np.load(path)
    return loaded if path.suffix == ".npy" else loaded[loaded.files[0]]


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for value in tree.values() for leaf in _leaves(value)]
    return [leaf for value in tree for leaf in _leaves(value)] if isinstance(tree, list) else [tree]
