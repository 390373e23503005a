"""Results are known by the code that made them, not by its version."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from built_presets import others_slow

from hwsim.base.package import PACKAGE, digest_of, identity, reachable_modules

# What only shows or starts what was computed.
SHOWING = ("hwsim.cli", "hwsim.explain", "hwsim.study.report")
RUNS = {
    "hwsim.study.task": """
from hwsim.study.plan.study import load_study
from hwsim.study.task import tasks
from hwsim.study.task import execute
units = [{"unit": "mxfp8-e4m3-f32", "scaling": ["block"]},
         {"unit": "hopper-wgmma-e4m3-f32", "grid": {"interval": [None, 32]}}]
study = {"study": "s", "units": units, "data": ["normal"], "lengths": [64], "trials": 1,
         "rows": 2, "columns": 2, "seed": 1, "explained": 1}
for task in tasks(load_study(study)):
    execute(task)
""",
    "hwsim.cosim.vectors.make": """
from pathlib import Path
from hwsim.spec import load_unit
from hwsim.cosim.vectors.make import Wanted, make
make(Wanted(load_unit("rvbna-e4m3-f32-n4"), "coverage", 1), Path("set"))
""",
}


@pytest.mark.parametrize("module", others_slow(RUNS, ["hwsim.study.task"]))
def test_what_a_result_is_computed_by_is_in_its_identity(module: str, tmp_path: Path) -> None:
    # Packages are loaded for their parts; what is in them is a module of its own.
    modules = "(name for name, one in sys.modules.items() if name.startswith('hwsim') and not hasattr(one, '__path__'))"
    listed = f"\nimport sys\nprint(*{modules})"
    command = [sys.executable, "-c", RUNS[module] + listed]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    loaded = {name for name in out.split() if not name.startswith(SHOWING)}
    assert len(loaded) > 50
    assert loaded <= reachable_modules(module)


def test_a_change_of_code_or_of_a_unit_is_another_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity("hwsim.study.task")
    assert before == identity("hwsim.study.task") and len(before) == 32
    with monkeypatch.context() as patch:
        patch.setattr("hwsim.base.package.digest_of", lambda _: "other code")
        assert identity.__wrapped__("hwsim.study.task") != before
    (tmp_path / "unit.yaml").write_text("unit: another\n")
    monkeypatch.setattr("hwsim.base.package.PACKAGE", tmp_path)
    assert identity.__wrapped__("hwsim.study.task") != before


def test_what_only_shows_results_does_not_change_them() -> None:
    assert "hwsim.cli.app" not in reachable_modules("hwsim.study.task")
    assert digest_of("hwsim.study.task", PACKAGE) != digest_of("hwsim.cosim.vectors.make", PACKAGE)
