"""hwsim.dot against outputs captured from real GPUs: every case, every bit.

The captures stand outside the project; tests/conftest.py finds them. Without them these tests are skipped, and fail
where CI is true.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model.model_units import spec

import hwsim
from hwsim.spec import Unit

CASES = 1000  # in every file of the source


@pytest.fixture(scope="module")
def captured(silicon: Path) -> Mapping[str, Any]:
    loaded: Mapping[str, Any] = np.load(silicon / "captured.npz")
    return loaded


def check(captured: Mapping[str, Any], unit: Unit | str, key: str, result: str) -> None:
    """Compare all cases of one file, of its result in `f32` or `f16`, with hwsim.dot."""
    a, b, c, want = (captured[f"{key}/{part}"] for part in ("a", "b", f"c_{result}", f"d_{result}"))
    assert a.shape[0] == CASES
    got = hwsim.dot(unit, a, b, c)
    wrong = np.flatnonzero(got.view(want.dtype) != want)
    assert not wrong.size, f"{key}: {wrong.size} of {CASES} differ, first: case {wrong[0]}"


@pytest.mark.parametrize("fmt", ["e4m3", "e5m2"])
@pytest.mark.parametrize("gpu", ["h100", "h200"])
def test_hopper_wgmma(captured: Mapping[str, Any], gpu: str, fmt: str) -> None:
    check(captured, f"hopper-wgmma-{fmt}-f32", f"{gpu}/{fmt}", "f32")


@pytest.mark.parametrize("fmt", ["e4m3", "e5m2"])
def test_ada_mma(captured: Mapping[str, Any], fmt: str) -> None:
    check(captured, f"ada-mma-{fmt}-f32", f"ada/{fmt}", "f32")


# Units that hwsim does not ship yet, by the rules that the captures' README states: the model is right for them too.
# GPU, format, result, lanes, fraction_bits.
OTHERS = [
    ("v100", "f16", "f32", 4, 23),
    ("v100", "f16", "f16", 4, 23),
    *((gpu, "f16", result, 8, 24) for gpu in ("a100", "a2", "ada") for result in ("f32", "f16")),
    *((gpu, "bf16", "f32", 8, 24) for gpu in ("a100", "a2", "ada")),
    *((gpu, "tf32", "f32", 4, 24) for gpu in ("a100", "a2", "ada")),
    ("ada", "e4m3", "f16", 16, 13),
    ("ada", "e5m2", "f16", 16, 13),
    *((gpu, "f16", result, 16, 25) for gpu in ("h100", "h200", "b200") for result in ("f32", "f16")),
    *((gpu, "bf16", "f32", 16, 25) for gpu in ("h100", "h200", "b200")),
    *((gpu, "tf32", "f32", 8, 25) for gpu in ("h100", "h200", "b200")),
]


@pytest.mark.parametrize(("gpu", "fmt", "result", "lanes", "bits"), OTHERS)
def test_other_units(captured: Mapping[str, Any], gpu: str, fmt: str, result: str, lanes: int, bits: int) -> None:
    rounding = "rz" if result == "f32" else "rne"
    mapping = spec(fmt, fmt, result, lanes, bits=bits, result=result, rounding=rounding, tiny="positive")
    check(captured, Unit.model_validate(mapping), f"{gpu}/{fmt}", result)


@pytest.mark.parametrize("change", [{"fraction_bits": 12}, {"fraction_bits": 14}, {"lost": "floor"}])
def test_the_captures_tell_other_units(captured: Mapping[str, Any], change: dict[str, Any]) -> None:
    real = hwsim.load_unit("hopper-wgmma-e4m3-f32")
    other = Unit.model_validate(real.model_dump() | {"sum": real.sum.model_dump() | change})
    with pytest.raises(AssertionError, match="of 1000 differ"):
        check(captured, other, "h100/e4m3", "f32")
