"""The example of pyuvm: the right design passes, the one with a fault is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from benches.ran import assert_said, ran


@pytest.mark.simulator
def test_a_bench_of_pyuvm_passes(icarus: None, tmp_path: Path) -> None:
    passed, printed = ran("uvm", tmp_path)
    assert passed, printed
    assert "78 of 78 reachable bins hit" in printed


@pytest.mark.simulator
def test_a_bench_of_pyuvm_finds_the_fault(icarus: None, tmp_path: Path) -> None:
    passed, printed = ran("uvm", tmp_path, fault=1)
    assert not passed
    assert_said("int8mac", printed)
