"""hwsim.model.dot against outputs captured from real GPUs: every case, every bit.

The captures stand outside the project; tests/conftest.py finds them. Without them these tests are skipped, and fail
where CI is true.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from silicon import test_b200

import hwsim
import hwsim.model
from hwsim.cases.captured import CAPTURES
from hwsim.explain.silicon.results import PROMOTED, SCALED, load
from hwsim.spec import Unit, load_unit, presets

H200 = Path(__file__).parents[2] / "vectors" / "silicon" / "h200"
CASES = 1000  # in every file of the source
FILES = [(name, gpu) for name, (gpus, _, _) in CAPTURES.items() for gpu in gpus]


def check(captured: Mapping[str, Any], unit: Unit | str, key: str, result: str, step: int) -> None:
    """Compare every `step`th case of one file, of its result in `f32` or `f16`, with hwsim.model.dot."""
    assert len(captured[f"{key}/a"]) == CASES
    a, b, c, want = (captured[f"{key}/{part}"][::step] for part in ("a", "b", f"c_{result}", f"d_{result}"))
    got = hwsim.model.dot(unit, a, b, c)
    wrong = np.flatnonzero(got.view(want.dtype) != want)
    assert not wrong.size, f"{key}: {wrong.size} of {CASES} differ, first: case {step * wrong[0]}"


@pytest.mark.quick
@pytest.mark.parametrize("step", others_slow([5, 1], [5]))
@pytest.mark.parametrize(("name", "gpu"), FILES, ids=[f"{name}-{gpu}" for name, gpu in FILES])
def test_cases_of_a_captured_preset(captured: Mapping[str, Any], name: str, gpu: str, step: int) -> None:
    _, factors, result = CAPTURES[name]
    check(captured, name, f"{gpu}/{factors}", result, step)


def test_captured_presets_are_those_with_captures() -> None:
    ours = {one.unit for one in load(H200)}
    # Of promotions whole matrix products were captured: tests/silicon/test_capture_gemms.py, test_captured_blocks.py.
    of_products = {PROMOTED, SCALED, "cublas-hopper-e4m3-f32-vec128"}
    # Of Intel's processors: tests/witness/test_witness_x86.py.
    of_processors = {name for name in presets() if name.startswith("intel-") and name not in CAPTURES}
    of_processors &= {name for name in presets() if load_unit(name).evidence == "captured"}
    captured = {name for name in presets() if load_unit(name).evidence == "captured"}
    assert set(CAPTURES) | ours | of_products | of_processors | set(test_b200.CAPTURED) == captured


def test_every_captured_result_is_a_presets(captured: Mapping[str, Any]) -> None:
    shown = {f"{gpu}/{factors}/d_{result}" for gpus, factors, result in CAPTURES.values() for gpu in gpus}
    assert shown == {name for name in captured if name.split("/")[-1].startswith("d_")}


# A unit, one of its files, and a change that this file must tell; docs/arithmetic.md names what no file tells.
ORDER = {"modulo": 4, "groups": [[2, 3], [0, 1]]}
CHANGES: list[tuple[str, str, dict[str, dict[str, Any]]]] = [
    *(
        (name, CAPTURES[name][0][0], {"sum": {"fraction_bits": load_unit(name).sum.fraction_bits + more}})
        for name in CAPTURES
        for more in (-1, 1)
        if name.endswith("f32") and load_unit(name).operands.convert is None
    ),
    ("hopper-wgmma-e4m3-f32", "h100", {"sum": {"lost": "floor"}}),
    ("hopper-wgmma-e5m2-f32", "h200", {"instruction": {"lanes": 16}}),
    ("blackwell-mma-f16-f32", "b200", {"instruction": {"lanes": 8}}),
    ("volta-mma-f16-f16", "v100", {"result": {"rounding": "rz"}}),
    ("ada-mma-e4m3-f16", "ada", {"operands": {"daz": True}}),
    ("hopper-mma-e4m3-f16", "h100", {"instruction": {"order": "sequential"}}),
    ("hopper-mma-e5m2-f16", "h200", {"instruction": {"order": ORDER}}),
    ("blackwell-mma-e5m2-f16", "b200", {"instruction": {"order": ORDER}}),
    ("blackwell-mma-e4m3-f16", "b200", {"result": {"rounding": "rz"}}),
    ("blackwell-mma-e4m3-f32", "b200", {"late": {"rounding": "rz"}}),
]


@pytest.mark.parametrize(("name", "gpu", "change"), CHANGES, ids=[f"{name} {change}" for name, _, change in CHANGES])
def test_the_captures_tell_other_units(
    captured: Mapping[str, Any], name: str, gpu: str, change: dict[str, dict[str, Any]]
) -> None:
    data = load_unit(name).model_dump(exclude_none=True)
    other = Unit.model_validate(data | {part: data[part] | keys for part, keys in change.items()})
    _, factors, result = CAPTURES[name]
    a, b, c, want = (captured[f"{gpu}/{factors}/{part}"] for part in ("a", "b", f"c_{result}", f"d_{result}"))
    # Most changes show in the first few cases.
    parts = [slice(at, at + 50) for at in range(0, CASES, 50)]
    assert any((hwsim.model.dot(other, a[at], b[at], c[at]).view(want.dtype) != want[at]).any() for at in parts)
