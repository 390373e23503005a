"""The table of keys, the page that names them, and the limits that pages state: each implementation is asked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli.cli_run import Run

from hwsim.cli.units import implementations, settings
from hwsim.spec import Support, Unit, load_unit, presets
from hwsim.spec.table import spec_keys

ROOT = Path(__file__).parents[2]


def test_the_page_has_every_section_and_the_table_every_key(run: Run) -> None:
    page = (ROOT / "docs" / "units.md").read_text(encoding="utf-8")
    sections = re.findall(r"^\| (?:the file|`([\w.]+)`) \|", page, re.MULTILINE)
    assert sections == list(dict.fromkeys(key.path.rpartition(".")[0] for key in spec_keys()))
    printed = re.findall(r"^\| `([\w.]+)` \|", run("units", "--keys").out, re.MULTILINE)
    assert printed == [key.path for key in spec_keys()]


def test_a_setting_that_the_rtl_lacks_has_an_asterisk(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert "The RTL and co-simulation have every setting that the model has. " in readme

    def lacks_jam(unit: Unit) -> Support:
        jams = getattr(unit.sum, "lost", "") == "jam"
        return Support(unit.name, "is in the model, but not in the RTL yet", ("sum.lost: jam",) if jams else ())

    assert "\\*" not in run("units", "--keys").out
    monkeypatch.setattr("hwsim.rtl.supports", lacks_jam)
    assert "**jam**\\*," in run("units", "--keys").out


def test_every_key_has_a_meaning_and_values() -> None:
    assert [key.path for key in spec_keys() if not key.meaning or not key.values] == []


def test_every_choice_of_every_key_has_an_example() -> None:
    # What no example shows would be said of no implementation.
    without = [f"{key.path}: {word}" for key, word, units in settings() if key.choices and not units]
    assert without == ["result.nan: a NaN code"]


def test_every_key_of_a_preset_is_in_the_table() -> None:
    paths = {key.path for key in spec_keys()}
    sections = {path.rpartition(".")[0] for path in paths}
    for name in presets():
        for section, part in load_unit(name).model_dump(mode="json", exclude_unset=True).items():
            for path in [f"{section}.{key}" for key in part] if isinstance(part, dict) else [section]:
                assert path in paths | sections or part is None, f"{name}: {path}"


@pytest.mark.parametrize("name", presets()[::9])
def test_what_implementations_say_agrees_with_what_they_do(name: str, run: Run) -> None:
    unit, printed = load_unit(name), run("units", name).out
    for what, supports in implementations().items():
        assert (f"# {what} refuse" in printed) == (not supports(unit))
