"""The examples in pyuvm: right designs pass, and each with a fault is found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benches.ran import DESIGNS, assert_said, ran
from built_presets import others_slow


@pytest.mark.simulator
@pytest.mark.parametrize("design", others_slow(DESIGNS, []))
def test_a_bench_of_pyuvm_passes(design: str, icarus: None, tmp_path: Path) -> None:
    passed, printed = ran("uvm", design, tmp_path)
    assert passed, printed
    hit, reachable = re.findall(r"([\d,]+) of ([\d,]+) reachable bins hit", printed)[0]
    assert hit == reachable


@pytest.mark.simulator
@pytest.mark.parametrize("design", others_slow(DESIGNS, []))
def test_a_bench_of_pyuvm_finds_the_fault(design: str, icarus: None, tmp_path: Path) -> None:
    passed, printed = ran("uvm", design, tmp_path, fault=1)
    assert not passed
    assert_said(design, "DotTest", printed)
