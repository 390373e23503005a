"""What a unit takes of a quantisation rule, and matrices quantised part by part; their values are in tests/cli."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from hwsim.formats import codes_of
from hwsim.quantize import get_rule
from hwsim.quantize import tensors as quantized
from hwsim.quantize.tensors import read
from hwsim.spec import load_unit


@pytest.mark.parametrize("rule", ["tensor-e4m3", "mxfp8-e4m3"])
def test_numbers_are_quantised_part_by_part(tmp_path: Path, rule: str) -> None:
    x = np.random.default_rng(20).standard_normal((2048, 1024))
    np.save(tmp_path / "x.npy", x)
    unit = load_unit("hopper-wgmma-e4m3-f32" if rule == "tensor-e4m3" else "mxfp8-e4m3-f32")
    found, chosen = read(f"{tmp_path}/x.npy"), get_rule(rule)
    made = quantized.quantized(unit, "a", found, chosen, False)
    tracemalloc.start()
    try:
        quantized.PART, before = 1 << 16, quantized.PART
        quantized.quantized(unit, "a", found, chosen, False)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        quantized.PART = before
        tracemalloc.stop()
    # The codes, 2 MiB, their scales, and parts of half a MiB; the numbers have 16.
    assert made.codes.nbytes < peak < 7 << 20, peak


def test_what_a_format_calls_itself_does_not_matter() -> None:
    int8 = load_unit("int8-i32").operands.a
    assert quantized.suits(load_unit("int8-i32"), "a", get_rule("int8-tensor"))
    assert not quantized.suits(load_unit("mxint8-f32"), "a", get_rule("int8-tensor"))
    assert codes_of(int8, [-128]).tolist() == [128]
