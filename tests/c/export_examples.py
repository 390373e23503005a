"""What an export's README says to do with its examples, done."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from documents import FENCE

import hwsim
from hwsim.compute.c import UnitInC, export_c
from hwsim.spec import load_unit


def readme_commands(folder: Path) -> list[str]:
    """The commands that an export's README shows."""
    return [line for found in FENCE.finditer((folder / "README.md").read_text()) for line in found[2].splitlines()]


def exported(name: str, folder: Path) -> int:
    """Write a unit's files. Returns the result that its examples must print."""
    plan = UnitInC(load_unit(name), "0.0.0")
    for file, text in export_c(plan.u, "0.0.0").items():
        (folder / file).write_text(text)
    u, k = plan.u, plan.sample_k
    a, b = ([0.0, 0.5, 1.0, 1.5], [1.0, 0.0, -1.0])
    codes_a = u.operands.a.encode([a[i % 4] for i in range(k)])
    codes_b = u.operands.b.encode([b[i % 3] for i in range(k)])
    c = None if u.operands.addend is None else u.operands.addend.encode([0.75])
    scales = (
        [[[one] * (k // length)] for one, length in zip(plan.ones, plan.scale_blocks, strict=True)] if u.scale else []
    )
    out = hwsim.dot(u, [codes_a.tolist()], [codes_b.tolist()], None if c is None else c.tolist(), *scales)
    return int(out.view(f"uint{8 * out.itemsize}")[0])


def shell(command: str, folder: Path, **environment: str) -> str:
    done = subprocess.run(
        command.split(), cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout
