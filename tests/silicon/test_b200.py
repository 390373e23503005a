"""The 48 results of a B200 that were published with tcgen05-model, in model, kernels, C and RTL, every bit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from c.export_library import Library
from conftest import missing
from cosim.plays import bulk_outcomes, design_of, recorded

import hwsim
import hwsim.model
from hwsim.cases.case import Batch, Case, batches
from hwsim.explain.candidate import Candidate, changed, results
from hwsim.formats.codes import Codes
from hwsim.spec import Unit, load_unit, pipeline

FILE = "b200_tcgen05.json"
# Units whose rule their publications agree on: these results make them captured.
CAPTURED = {
    **{f"blackwell-tcgen05-{fmt}-f32": 7 for fmt in ("tf32", "bf16", "f16", "e5m2")},
    "blackwell-tcgen05-e4m3-f32": 5,
    **{f"blackwell-tcgen05-{fmt}-f32": 2 for fmt in ("e2m3", "e3m2", "e2m1")},
    "blackwell-mxf8f6f4-e2m1-f32": 2,
}
# Units of which tcgen05-model has another rule: these results fit both.
OPEN = {
    "blackwell-mxf4-e2m1-f32": 2,
    "blackwell-mxf4nvf4-e2m1-f32": 4,
    "blackwell-mxf4nvf4-e2m1-e8m0-f32": 1,
}
COUNTS = {**CAPTURED, **OPEN}
Known = Sequence[tuple[Case, int]]


@pytest.fixture(scope="module")
def known(silicon: Path) -> dict[str, list[tuple[Case, int]]]:
    """The cases of each unit with the GPU's results."""
    path = silicon / FILE
    if not path.is_file():
        missing(f"no {FILE}: HWSIM_SILICON names its folder")
    cases: dict[str, list[tuple[Case, int]]] = {}
    for row in json.loads(path.read_text("utf-8"))["cases"]:
        a, b, scale_a, scale_b = (_codes(row.get(key, [])) for key in ("a", "b", "scale_a", "scale_b"))
        case = Case(row["name"], a, b, int(row["c"], 16), scale_a, scale_b)
        cases.setdefault(row["unit"], []).append((case, int(row["d"], 16)))
    return cases


def operands(batch: Batch) -> list[Codes | None]:
    """Codes of a, b and c, and of both scales, as the model takes them."""
    return [batch.a, batch.b, batch.c, batch.scale_a, batch.scale_b]


def _codes(words: Sequence[str]) -> tuple[int, ...]:
    return tuple(int(word, 16) for word in words)


def test_every_result_belongs_to_a_unit(known: dict[str, Any]) -> None:
    assert {name: len(cases) for name, cases in known.items()} == COUNTS
    assert sum(COUNTS.values()) == 48 and sum(CAPTURED.values()) == 41
    assert {name: load_unit(name).evidence for name in COUNTS} == {
        **dict.fromkeys(CAPTURED, "captured"), **dict.fromkeys(OPEN, "published")
    }  # fmt: skip
    for name, count in COUNTS.items():
        assert any(line.startswith(f"{count} result") and "B200" in line for line in load_unit(name).source), name


@pytest.mark.parametrize("name", COUNTS)
def test_model_and_kernels_return_the_gpus_codes(known: dict[str, Known], name: str) -> None:
    unit = load_unit(name)
    (batch,) = batches(unit, [case for case, _ in known[name]])
    codes = [code for _, code in known[name]]
    assert hwsim.supports(unit, by="kernels")
    assert hwsim.model.dot(unit, *operands(batch)).view(np.uint32).tolist() == codes
    for index, code in enumerate(codes):
        row = [None if side is None else side[index : index + 1] for side in operands(batch)]
        a, b, c, scale_a, scale_b = (None if side is None else np.atleast_2d(side) for side in row)
        assert a is not None and b is not None
        product = hwsim.gemm(unit, a, b.T, c, scale_a, None if scale_b is None else scale_b.T)
        assert np.asarray(product).view(np.uint32).tolist() == [[code]]


@pytest.mark.parametrize("name", COUNTS)
def test_c_returns_the_gpus_codes(known: dict[str, Known], name: str, tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        missing("no gcc")
    unit = load_unit(name)
    (batch,) = batches(unit, [case for case, _ in known[name]])
    sides = [side for side in operands(batch) if side is not None]
    made = Library(unit, tmp_path, flags=("-O0",)).dots(*sides)
    assert made == [code for _, code in known[name]]


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(COUNTS, ["blackwell-tcgen05-tf32-f32"]))
def test_the_rtl_returns_the_gpus_codes(verilator: None, known: dict[str, Known], name: str) -> None:
    unit = load_unit(name)
    cases, codes = zip(*known[name], strict=True)
    play = recorded(unit, pipeline(unit), cases, expected=codes)
    (outcome,) = bulk_outcomes(design_of(unit), [play])
    assert (outcome.mismatches, outcome.results) == ([], len(cases))


# What the results of each unit tell from its specification, and what none of them does.
TOLD: list[tuple[str, dict[str, Any], bool]] = [
    ("blackwell-tcgen05-tf32-f32", {"sum": {"fraction_bits": 24}}, True),
    ("blackwell-tcgen05-tf32-f32", {"sum": {"lost": "floor"}}, True),
    ("blackwell-tcgen05-tf32-f32", {"result": {"rounding": "rne"}}, True),
    ("blackwell-tcgen05-bf16-f32", {"operands": {"daz": True}}, True),
    ("blackwell-tcgen05-f16-f32", {"result": {"nan": 0x7FC00000}}, True),
    ("blackwell-tcgen05-e4m3-f32", {"sum": {"lost": "rne"}}, True),
    ("blackwell-tcgen05-e5m2-f32", {"sum": {"fraction_bits": 26}}, True),
    ("blackwell-tcgen05-e5m2-f32", {"result": {"overflow": "saturate"}}, True),
    ("blackwell-tcgen05-e2m3-f32", {"result": {"format": "e8m13"}}, True),
    ("blackwell-tcgen05-e3m2-f32", {"sum": {"fraction_bits": 34}}, True),
    ("blackwell-tcgen05-e2m1-f32", {"sum": {"lost": "floor"}}, True),
    ("blackwell-mxf4nvf4-e2m1-f32", {"result": {"rounding": "rne"}}, True),
    ("blackwell-mxf4-e2m1-f32", {"result": {"rounding": "rne"}}, True),
    ("blackwell-mxf4nvf4-e2m1-e8m0-f32", {"result": {"rounding": "rne"}}, True),
    ("blackwell-mxf8f6f4-e2m1-f32", {"operands": {"daz": True}}, True),
    ("blackwell-mxf8f6f4-e2m1-f32", {"sum": {"fraction_bits": 24}}, False),
    ("blackwell-mxf4nvf4-e2m1-f32", {"sum": {"fraction_bits": 34}}, False),
    ("blackwell-tcgen05-bf16-f32", {"sum": {"fraction_bits": 24}}, False),
    ("blackwell-tcgen05-tf32-f32", {"instruction": {"lanes": 4}}, False),
]


@pytest.mark.parametrize(("name", "change", "told"), TOLD, ids=[f"{name} {change}" for name, change, _ in TOLD])
def test_what_so_few_results_tell(known: dict[str, Known], name: str, change: dict[str, Any], told: bool) -> None:
    other: Unit = changed(load_unit(name), change)
    cases, codes = zip(*known[name], strict=True)
    assert (results(Candidate("changed", other), cases, whole=True) != list(codes)) is told
