"""Small engines that tests share."""

from __future__ import annotations

from typing import Any

from hwsim.spec.engine import Engine, load_engine

SMALL: dict[str, Any] = {
    "unit": "small4",
    "operands": {"a": "e4m3", "b": "e4m3", "addend": "f32"},
    "instruction": {"k": 4, "lanes": 4, "order": "sequential", "start": "addend", "chain": "addend"},
    "sum": {"method": "aligned", "fraction_bits": 13, "lost": "truncate", "addend": "aligned"},
    "result": {"format": "e8m13", "rounding": "rz", "overflow": "infinity", "nan": "canonical", "tiny": "signed"},
}


def engine(unit: Any = SMALL, *, addends: bool = True, **keys: Any) -> Engine:
    """An engine of 2 x 3 elements."""
    ports = {"a": 32, "b": 64, "d": 32} | ({"c": 64} if addends else {})
    data = {"engine": "tiny", "unit": unit, "rows": 2, "columns": 3, "reuse": [2, 2], "ports": ports, **keys}
    return load_engine(data)
