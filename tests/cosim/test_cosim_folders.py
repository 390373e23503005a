"""A run's folder: what is refused before anything is built, and results that take their place whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cosim.small_runs import TINY, junit, one_row, options, shrink, small_run
from unit_keys import odd_unit, window

from hwsim.base.errors import ToolMissing
from hwsim.cosim import run
from hwsim.explain import NAMES
from hwsim.spec import NotImplementedYet, pipeline


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)


@pytest.fixture
def nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def built(*_: Any) -> None:
        raise AssertionError("something was built")

    monkeypatch.setattr(run, "_Run", built)


@pytest.mark.usefixtures("nothing_is_built", "icarus")
def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    usual = (TINY, pipeline(TINY))
    unsigned = odd_unit("unsigned", ("ue4m3", "e4m3"), "f32", window(13), "f32", 2)
    with pytest.raises(NotImplementedYet, match="unit unsigned: unsigned factors is not implemented yet"):
        small_run(folder, usual, (unsigned, pipeline(unsigned)), simulators=("icarus",))
    with pytest.raises(ValueError, match="cases must be at least 1, not 0: a run of none proves nothing"):
        small_run(folder, simulators=("icarus",), cases=0)
    other = (TINY, pipeline(TINY, contexts=1))
    with pytest.raises(ValueError, match="units must have names of their own, not tiny more than once"):
        small_run(folder, usual, other, simulators=("icarus",))
    # No build is left, and no results; kernels that were compiled on the way stay.
    assert {path.name for path in tmp_path.iterdir()} <= {"cache"}
    assert {path.name for path in (tmp_path / "cache").glob("*")} <= {"kernels"}


@pytest.mark.usefixtures("nothing_is_built", "icarus")
@pytest.mark.parametrize("kind", ["a file in it", "a folder in it", "a file"])
def test_a_folder_that_holds_something_else_is_left_alone(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "thesis"
    if kind == "a file":
        folder.write_text("mine")
    else:
        folder.mkdir()
        (folder / "results.xml").write_text("mine") if kind == "a file in it" else (folder / "sub").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match=r"thesis (holds|is a file).* `hwsim cosim` "):
        small_run(folder, simulators=("icarus",))
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("nothing_is_built")
@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_a_missing_simulator_is_named(simulator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="is missing; install it with: "):
        small_run(tmp_path / "out", simulators=(simulator,))
    # No build is left, and no results; kernels that were compiled on the way stay.
    assert {path.name for path in tmp_path.iterdir()} <= {"cache"}
    assert {path.name for path in (tmp_path / "cache").glob("*")} <= {"kernels"}


def quick(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str = "suite") -> None:
    """A run that is over at once."""
    with monkeypatch.context() as patched:
        patched.setattr(run, "require", lambda _: None)
        patched.setattr(run._Run, "all", lambda self: run._Found([one_row(suite=name)]))
        assert run.run(options(folder)).passed


def test_results_replace_those_of_an_earlier_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "deep" / "out"
    quick(folder, monkeypatch)
    (folder / "mine").write_text("")
    quick(folder, monkeypatch, "another")
    assert {path.name for path in folder.iterdir()} == {".hwsim-cosim", "mine", *NAMES}
    assert list(junit(folder)) == ["tiny.none/another"]
    assert [path.name for path in folder.parent.iterdir()] == ["out"]
    assert folder.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_run_that_fails_leaves_the_earlier_results(
    error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick(tmp_path / "out", monkeypatch)

    def fails(_: Any) -> None:
        raise error

    monkeypatch.setattr(run, "require", lambda _: None)
    monkeypatch.setattr(run._Run, "all", fails)
    with pytest.raises(error):
        run.run(options(tmp_path / "out"))
    assert list(junit(tmp_path / "out")) == ["tiny.none/suite"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
