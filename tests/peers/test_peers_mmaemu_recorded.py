"""What an RTX 4060 returned for FP8 products, as mmaemu's authors recorded it: instructions, and cuBLASLt 12.8's calls.

The recordings are in the source package of mmaemu 0.1.0 alone (Apache 2.0), which `make test` fetches.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from conftest import missing
from peers.test_peers_mmaemu import Call, plan_of, unit_of

import hwsim

RECORDED = Path(sys.prefix) / "mmaemu-0.1.0" / "tests" / "data" / "hw_mini"
if not RECORDED.is_dir():
    missing(f"what mmaemu's authors recorded is not in {RECORDED}: see the Makefile")

INDEX = json.loads((RECORDED / "index.json").read_text())
FORMATS = {"float32": "f32", "bfloat16": "bf16", "float16": "f16", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}
# PyTorch fills a product of no terms with zeros and asks no library: a scale that is no number is not looked at.
ZEROS_BY_PYTORCH = "zeroK_scale_nan", "zeroK_scale_inf", "zeroK_scale_minf"


@cache
def shard(name: str) -> Mapping[str, Any]:
    return np.load(RECORDED / name)


def array(place: list[str]) -> Any:
    name, key = place
    return shard(name)[key]


def single(bits: int) -> np.float32:
    return np.uint32(bits).view(np.float32)


def call_of(a: str, b: str, output: str, fast: bool, split: Any, k: int) -> Call:
    parts, scheme = split or (1, "none")
    return Call("ada", a, b, FORMATS[output], fast, int(parts), scheme, k)


def results(case: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The name, hwsim's words and those recorded, of each result of a case, without calls that were refused."""
    a, b = (array(case["inputs"][side]) for side in "ab") if case["inputs"] else (None, None)
    if case["kind"] == "mma":
        given = case["params"]
        unit = unit_of(call_of(given["fmt_a"], given["fmt_b"], "float32", True, None, a.shape[-1]))
        c = array(case["inputs"]["c"]).view(np.float32)
        words = hwsim.gemm(unit, a, b.swapaxes(-1, -2), c) if given["layout"] == "tile" else hwsim.dot(unit, a, b, c)
        yield "", words, array(case["expect"]["bits"])
        return
    for output in case.get("outputs", [{"name": "", "expect": case.get("expect")}]):
        recorded = output["expect"]
        if isinstance(recorded, str) or "error" in recorded:  # which cuBLASLt or PyTorch refused
            continue
        if case["kind"] == "gemm":
            given = {**case["params"], **output.get("params", {})}
            split = given["splitk"]["S"], given["splitk"]["scheme"]
            call = call_of(given["fmt_a"], given["fmt_b"], given["out_dtype"], given["fast"], split, a.shape[-1])
            scales = [single(given[f"scale_{side}_bits"]) for side in "ab"]
            bits = given.get("scale_result_bits")
            of_result = None if bits is None else single(bits)
        else:
            given = {**INDEX["call_defaults"], **case["call"], **output.get("call_diff", {})}
            formats = [FORMATS[given[side]["dtype"]] for side in ("mat1", "mat2")]
            call = call_of(*formats, output["out_dtype"], output["fast"], output.get("splitk"), a.shape[-1])
            scales = [
                np.float32({**INDEX["call_defaults"][name], **given[name]}["value"]) for name in ("scale_a", "scale_b")
            ]
            of_result = None if given["scale_result"] is None else np.float32(given["scale_result"]["value"])
        scaled = of_result is not None and call.output in ("e4m3", "e5m2")
        words = hwsim.gemm(
            unit_of(call), a, b.T, plan=plan_of(call, scaled), scale_a=scales[0], scale_b=scales[1],
            alpha=of_result if scaled else None,
        )  # fmt: skip
        words = np.diagonal(words) if given.get("out_select") == "diagonal" else words
        yield output["name"], words, array(recorded["bits"])


RUNS = sorted({case["truth_id"] for case in INDEX["cases"]})


@pytest.mark.parametrize("run", others_slow(RUNS, RUNS[1::12]))
def test_products_are_those_of_an_rtx_4060(run: str) -> None:
    for case in INDEX["cases"]:
        if case["truth_id"] != run or any(name in case["id"] for name in ZEROS_BY_PYTORCH):
            continue
        for name, words, recorded in results(case):
            found = np.ascontiguousarray(words).view(recorded.dtype).reshape(recorded.shape)
            assert np.array_equal(found, recorded), (case["id"], name, int((found != recorded).sum()))


def test_what_was_recorded_is_what_is_compared() -> None:
    kinds = [case["kind"] for case in INDEX["cases"]]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"mma": 116, "gemm": 948, "gemm_call": 1455}
    recorded = [output["expect"] for case in INDEX["cases"] for output in case.get("outputs", [])]
    assert sum(isinstance(each, dict) and "bits" in each for each in recorded) > 4000
