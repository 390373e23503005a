"""What `hwsim warm` has compiled, later processes do not compile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli.cli_run import Run, fails

FIRST = """
import numpy as np
import hwsim
import numba
from numba.core import event

compiled = []


class Listener(event.Listener):
    def on_start(self, started):
        compiled.append(started.data)

    def on_end(self, ended):
        pass


event.register("numba:compile", Listener())
x = np.linspace(-3, 3, 65 * 4096, dtype=np.float32).reshape(65, 4096)
hwsim.error("sequential-e4m3-f16", x, x.T)
codes = hwsim.get_format("e4m3").encode(x)
hwsim.gemm("sequential-e4m3-f16", codes, codes.T)
hwsim.dot("sequential-e4m3-f16", codes, codes)
print(len(compiled))
numba.njit(lambda x: x)(1)
print(len(compiled))
"""


def of_a_process(cache: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words], env={**os.environ, "HWSIM_CACHE": str(cache)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_what_was_compiled_beforehand_is_not_compiled_again(tmp_path: Path) -> None:
    assert "1 unit in " in of_a_process(tmp_path / "warm", "-m", "hwsim", "warm", "sequential-e4m3-f16")
    # What is compiled there is told.
    assert of_a_process(tmp_path / "warm", "-c", FIRST) == "0\n1\n"


def test_patterns_and_modes_name_every_unit_that_computes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    warmed: list[str] = []
    monkeypatch.setattr("hwsim.compute.products.warm", lambda unit: warmed.append(unit.name))  # none has a kernel
    assert run("warm", "fp8-a*", "hopper-wgmma-e4m3-f32", "hopper-wgmma-e4m3-f3?").status == 0
    assert warmed == [
        *(f"fp8-any-{mode}" for mode in ("e4m3", "e4m3xe5m2", "e5m2xe4m3", "e5m2")),
        "hopper-wgmma-e4m3-f32",
    ]


def test_a_unit_that_is_none_is_an_error(run: Run) -> None:
    fails(run("warm", "hopper"), "unknown unit 'hopper'")
    fails(run("warm", "nothing-*"), "no unit's name matches 'nothing-\\*'")
