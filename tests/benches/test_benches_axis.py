"""AXI4-Stream: the right design passes, the one with a fault is found; where fields stand in a frame."""

from __future__ import annotations

from pathlib import Path

import pytest
from benches.ran import assert_said, ran

from hwsim.base.errors import InputError
from hwsim.cocotb.axis import beat_fields


@pytest.mark.slow
@pytest.mark.simulator
def test_a_bench_of_axi_stream_passes(icarus: None, tmp_path: Path) -> None:
    passed, printed = ran("axis", "int8axis", tmp_path)
    assert passed, printed


@pytest.mark.slow
@pytest.mark.simulator
def test_a_bench_of_axi_stream_finds_a_result_that_does_not_wait(icarus: None, tmp_path: Path) -> None:
    passed, printed = ran("axis", "int8axis", tmp_path, fault=1)
    assert not passed
    assert_said("int8axis", "dot", printed)


def test_the_fields_of_a_beat_stand_side_by_side() -> None:
    places = {field.name: (field.offset, field.bits, field.count) for field in beat_fields("hopper-wgmma-e4m3-f32")}
    assert places == {"a": (0, 8, 32), "b": (256, 8, 32), "c": (512, 32, 1)}
    scaled = beat_fields("mxfp8-e4m3-f32", order=("scale_a", "scale_b", "a", "b", "c"))
    assert {field.name: (field.offset, field.bits, field.count) for field in scaled} == {
        "scale_a": (0, 8, 1),
        "scale_b": (8, 8, 1),
        "a": (16, 8, 32),
        "b": (272, 8, 32),
        "c": (528, 32, 1),
    }


def test_an_order_has_the_fields_of_the_unit() -> None:
    with pytest.raises(InputError, match="order must have a, b, c, not a, b"):
        beat_fields("hopper-wgmma-e4m3-f32", order=("a", "b"))
