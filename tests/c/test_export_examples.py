"""The examples of an export, built as its README says, print what the unit returns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from c.export_examples import exported, readme_commands, shell

REST = ("hopper-wgmma-e4m3-f32", "rvbna-bf16-f32-n16", "hopper-mma-tf32-f32", "hfp8-forward-e4m3-dlfloat16")


@pytest.mark.parametrize(
    "name",
    ["deepseek-v3-e4m3-f32-scaled", "int8-i32", *(pytest.param(name, marks=pytest.mark.slow) for name in REST)],
)
def test_examples_print_what_the_unit_returns(name: str, tmp_path: Path) -> None:
    result = exported(name, tmp_path)
    for command in readme_commands(tmp_path)[:4]:
        printed = shell(command, tmp_path)
        assert command.startswith(("gcc", "g++")) or int(re.findall("0x[0-9a-f]+", printed)[0], 16) == result
    assert "the same" in printed
