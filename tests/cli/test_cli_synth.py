"""`hwsim synth`: its table, its JSON, and its refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

TINY = (
    "unit: tiny\noperands: {a: e2m1, b: e2m1, addend: f16}\ninstruction: {k: 2, lanes: 2}\n"
    "sum: {method: aligned, fraction_bits: 5, lost: truncate}\nresult: {format: f16, rounding: rz}\n"
)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    (tmp_path / "tiny.yaml").write_text(TINY)
    return tmp_path / "tiny.yaml"
