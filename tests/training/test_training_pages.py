"""The studies that train: every page can be planned and filled, and one is run, interrupted and taken up."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from hwsim.cli import main
from hwsim.errors import ToolMissing
from hwsim.runners import OtherCode, Rows, _execute, local
from hwsim.study.part import StudyPart
from hwsim.study.parts import StudyInParts, run_parts
from hwsim.study.presets import Context, Size
from hwsim.study.report import StudyReport, TextTable, markdown, specification
from hwsim.torch import load_recipe
from hwsim.training import problems, runs
from hwsim.training.casts import DirectCast
from hwsim.training.gradients import GradientErrors
from hwsim.training.learner import Course
from hwsim.training.pages import NAMES
from hwsim.training.problems import Characters
from hwsim.training.runs import TrainingRun
from hwsim.training.study import plan, report

STUDIES = Path(__file__).parents[2] / "docs" / "studies"
CHEAP = "train-nvfp4"
SIZES: tuple[Size, ...] = get_args(Size)
CASTS = [f"{name}{end}" for name in ("validation", "right", "mismatch") for end in ("", "_tuned")] + ["estimated"]


def drawn(part: StudyPart) -> Rows:
    """Rows as a part would make them, with numbers that nobody trained."""
    chance = random.Random(part.key)

    def numbers(names: Sequence[str]) -> dict[str, float]:
        return {name: chance.uniform(0.01, 1) for name in names}

    if isinstance(part, TrainingRun):
        names = ("loss", "validation", "right", "skipped")
        return part.rows({step: numbers(names) for step in part.recorded})
    if isinstance(part, DirectCast):
        return [{"point": at, "trial": part.trial, **numbers(CASTS)} for at in range(part.count)]
    assert isinstance(part, GradientErrors)
    # Of a digit the last convolution has 16 places.
    each = part.problem.batch * (part.problem.context if isinstance(part.problem, Characters) else 16)
    return [
        {"point": at, "trial": part.trial, "length": float(each * part.batches[at % len(part.batches)]),
         **numbers(("quantization", "accumulation", "total", "shrink"))}
        for at in range(part.count)
    ]  # fmt: skip


def filled(name: str, size: Size, folder: Path) -> StudyReport:
    def rows(study: StudyInParts) -> Rows:
        return [row for part in study.parts for row in drawn(part)]

    return report(name, context(name, size, folder, rows))


def context(name: str, size: Size, folder: Path, rows: Callable[[StudyInParts], Rows]) -> Context:
    def nothing(_: object) -> Any:
        pytest.fail("no grid is run")

    command = f"hwsim study --preset {name} -o {name}"
    return Context(folder=folder, size=size, command=command, run=nothing, run_parts=rows)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_every_page_is_filled_and_drawn(name: str, size: Size, tmp_path: Path) -> None:
    made = filled(name, size, tmp_path)
    assert made.verdict and made.key and all("{" not in text for text in (made.verdict, *made.summary))
    assert made.tables and made.charts and all(specification(one) for one in made.charts)
    labels = {one.label for study in plan(name, size) for part in study.parts for one in methods(part)}
    assert {row[0] for one in made.tables for row in one.rows} == labels


def methods(part: Any) -> tuple[Any, ...]:
    return (part.method,) if isinstance(part, TrainingRun) else part.methods


@pytest.mark.parametrize("name", NAMES)
def test_networks_of_another_seed_are_other_networks(name: str) -> None:
    seeds = [{part.seed for study in plan(name, "quick", seed) for part in study.parts} for seed in (1, 2, 1_000_000)]
    assert seeds[0] == {1, 2, 3}
    assert all(len(one) == len(seeds[0]) for one in seeds) and not seeds[0] & seeds[1] | seeds[1] & seeds[2]


@pytest.mark.parametrize("name", NAMES)
def test_the_quick_form_has_three_seeds_and_batches_as_long_as_it_says(name: str) -> None:
    for size in ("quick", "full"):
        for study in plan(name, size):
            assert len({part.trial for part in study.parts}) >= 3
            for part in study.parts:
                if part.problem.kind == "characters":
                    assert 2048 <= part.problem.batch * part.problem.context <= 8192
                    assert 0.35e6 < part.problem.weights < 2e6
                for one in methods(part):
                    assert one.recipe == "none" or load_recipe(one.recipe)


def cells(table: str) -> list[list[str]]:
    return [re.split(r" *\| *", line.strip("| ")) for line in table.splitlines() if line[:1] == "|"]


def tables_of(name: str) -> list[list[list[str]]]:
    """The cells of a page's tables."""
    found = re.findall(r"(?:^\|.*\n)+", (STUDIES / f"{name}.md").read_text("utf-8"), re.MULTILINE)
    return [cells(one) for one in found]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_the_rows_of_the_quick_form(name: str, tmp_path: Path) -> None:
    for made in filled(name, "quick", tmp_path).tables:
        wanted = cells(markdown(made))
        heads = [row[0] for row in wanted]
        of_it = [one for one in tables_of(name) if [row[0] for row in one] == heads and one[0] == wanted[0]]
        assert of_it and all(len(row) == len(wanted[0]) for one in of_it for row in one), made.title


def test_a_study_is_interrupted_taken_up_and_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (study,) = plan(CHEAP, "tiny")
    few = StudyInParts(study.name, study.said, study.parts[:4], lambda rows: rows[:1])
    trained: list[str] = []
    whole = runs.trained

    def counted(course: Course) -> Any:
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append(course.method.label)
        return whole(course)

    monkeypatch.setattr(runs, "trained", counted)
    with pytest.raises(KeyboardInterrupt):
        run_parts(few, tmp_path, local(1))
    monkeypatch.setattr(runs, "trained", lambda course: trained.append(course.method.label) or whole(course))
    rows = run_parts(few, tmp_path, local(1))
    assert trained == [part.method.label for part in few.parts]  # each once
    monkeypatch.setattr(runs, "trained", lambda _: pytest.fail("trained again"))
    assert run_parts(few, tmp_path, local(1)) == rows
    monkeypatch.undo()
    assert rows == [row for part in few.parts for row in part.execute()]
    assert yaml.safe_load((tmp_path / "study.yaml").read_text())["kind"] == "runs"


def test_what_is_missing_is_told_before_anything_is_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problems._digits.cache_clear()
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ToolMissing, match=r"scikit-learn is not installed: pip install 'hwsim\[models\]'"):
        report("train-hfp8", context("train-hfp8", "tiny", tmp_path, lambda _: pytest.fail("trained")))


def test_without_pytorch_it_is_told_how_to_get_it(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['torch'] = None; from hwsim.cli import main;"
        f"sys.exit(main(['study', '--preset', '{CHEAP}', '-o', 'out']))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 3 and "pip install 'hwsim[torch]'" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_worker_of_a_cluster_trains_the_same_or_says_that_its_code_is_another() -> None:
    run = plan(CHEAP, "tiny")[0].parts[1]
    from hwsim.sources import identity

    assert _execute(run, identity(run.code)) == run.execute()
    with pytest.raises(OtherCode, match="another hwsim"):
        _execute(run, "0")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_tiny_form_ends(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["study", "--preset", name, "--size", "tiny", "-o", str(tmp_path / "out")]
    assert main(words) == 0, capsys.readouterr().err
    first = capsys.readouterr().out
    assert "<html" in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert main(words) == 0
    assert capsys.readouterr().out == first


NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")


def alike(written: str, made: str) -> bool:
    """Whether two cells say the same: means with a reach within both of them, other numbers within a tenth."""
    if NUMBER.sub("", written) != NUMBER.sub("", made):
        return False
    numbers, others = ([float(one.replace(",", "")) for one in NUMBER.findall(cell)] for cell in (written, made))
    last = max(10.0 ** -len(one.partition(".")[2]) for one in NUMBER.findall(written) or [""])
    if " ± " in written:
        return abs(numbers[0] - others[0]) <= numbers[1] + others[1] + last
    return all(abs(one - other) <= 0.1 * abs(one) + last for one, other in zip(numbers, others, strict=True))


def tables_alike(written: Sequence[Sequence[str]], made: Sequence[Sequence[str]]) -> bool:
    rows = zip(written[2:], made[2:], strict=False)
    same = all(one[0] == other[0] and all(map(alike, one[1:], other[1:])) for one, other in rows)
    return same and written[0] == made[0] and len(written) == len(made)


def test_what_is_another_number_is_seen() -> None:
    assert alike("2.532 ± 0.056", "2.531 ± 0.058") and alike("5.87% of 5.6%", "5.88% of 5.6%")
    assert alike("-0.000 ± 0.003", "+0.000 ± 0.002") and alike("-", "-")
    assert not alike("0.126 ± 0.033", "0.047 ± 0.022") and not alike("5.87% of 5.6%", "0.63% of 5.6%")
    assert not alike("diverged, 1 of 3", "+0.018 ± 0.005") and not alike("-", "0.1")
    table = cells("| a | b |\n| --- | --- |\n| x | 1.0 ± 0.1 |\n| y | 3.0 ± 0.1 |\n")
    assert tables_alike(table, table) and not tables_alike(table, [*table[:2], *table[:1:-1]])
    assert not tables_alike(table, table[:3])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_the_tables_of_the_quick_form(name: str, tmp_path: Path) -> None:
    """What is not in units is PyTorch's, in float32: its last bits are those of one kind of processor.

    They grow while a network trains, so the numbers of another processor are another draw of the same.
    """

    def rows(study: StudyInParts) -> Rows:
        return run_parts(study, tmp_path / study.name, local())

    made = report(name, context(name, "quick", tmp_path, rows))
    for table in made.tables:
        if isinstance(table, TextTable):
            assert any(tables_alike(one, cells(markdown(table))) for one in tables_of(name)), markdown(table)
