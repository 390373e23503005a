"""A study from its tasks to its files: every row is there, is right, and is the same however it was run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from study.study_cases import HOPPER, SHORT, Done, alone, content, study

from hwsim.formats.yamlfile import SpecError
from hwsim.model import Definition
from hwsim.runners import Rows, local
from hwsim.study import results as results_module
from hwsim.study import task as trial_module
from hwsim.study.data import draw
from hwsim.study.plan import Study
from hwsim.study.plan.scaling import QuantizedFactor, apply
from hwsim.study.plan.study import points
from hwsim.study.results import Results, read_results, run
from hwsim.study.task import Disagreement, Task, execute, tasks


def cut(task: Task) -> list[Task]:
    """The task as many: a trial and a point each."""
    return [replace(task, trials=(t,), points=(p,)) for t in task.trials for p in task.points]


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of one trial and one point."""
    whole = results_module.tasks
    monkeypatch.setattr(results_module, "tasks", lambda *given: [one for task in whole(*given) for one in cut(task)])


@pytest.fixture(scope="module")
def through(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(study(), tmp_path_factory.mktemp("through") / "s", alone)


def test_there_is_a_row_for_each_point_and_trial(through: Results) -> None:
    table = through.rows
    assert list(zip(table["point"].to_pylist(), table["trial"].to_pylist(), strict=True)) == [
        (point, trial) for point in range(6) for trial in range(3)
    ]
    row = table.slice(5, 1).to_pylist()[0]
    assert (row["label"], row["length"], row["axis.fraction_bits"]) == ("Hopper fraction_bits=9", 96, "9")
    assert (row["seed"], row["rows"], row["columns"], row["scaling"]) == (7, 4, 5, "direct")
    assert "fraction_bits: 9" in row["specification"] and '"distribution": "normal"' in row["source"]
    assert len(through.points) == 6 and through.points[5]["label"] == "mxfp8-e4m3-f32"


def test_results_are_read_back(through: Results) -> None:
    assert through.folder is not None
    again = read_results(through.folder)
    assert again.rows.equals(through.rows) and repr(again.points) == repr(through.points)
    assert again.study.as_yaml() == through.study.as_yaml()
    assert sorted(path.name for path in through.folder.iterdir()) == [
        ".hwsim-files",
        "results.parquet",
        "study.yaml",
        "summary.parquet",
    ]


# One trial by another way: Python's rationals from the drawn numbers to the measures.


def by_hand(made: Study, index: int, trial: int) -> dict[str, float]:
    point = points(made)[index]
    unit = point.unit
    drawn = draw(point.data, made.seed, trial, point.length, made.rows, made.columns)
    a, b = apply(point.scaling.a, "a", unit, drawn.a), apply(point.scaling.b, "b", unit, drawn.b)
    definition = Definition(unit)
    errors, references, quantized = [], [], []
    for i in range(made.rows):
        for j in range(made.columns):
            scales = []
            for side, of in ((a, a.scales), (b, b.scales)):
                length = 32
                row = [] if of is None else (of[i] if side is a else of[:, j]).tolist()
                scales.append([row[k // length] for k in range(point.length)] if row else [])
            code = definition.dot(a.codes[i].tolist(), b.codes[:, j].tolist(), 0, *scales).code
            value = Fraction(float(unit.output.decode(np.array([code]))[0]))
            fmt_a, fmt_b = unit.operands.a, unit.operands.b
            terms = []
            for k in range(point.length):
                term = Fraction(float(fmt_a.decode(a.codes[i, k]))) * Fraction(float(fmt_b.decode(b.codes[k, j])))
                if scales[0]:
                    term *= Fraction(2) ** (scales[0][k] + scales[1][k] - 254)
                terms.append(term)
            numbers = sum(
                Fraction(float(x)) * Fraction(float(y)) for x, y in zip(drawn.a[i], drawn.b[:, j], strict=True)
            )
            errors.append(value - sum(terms))
            references.append(sum(terms))
            quantized.append((sum(terms) - numbers, numbers))
    relative = [abs(e) / abs(r) for e, r in zip(errors, references, strict=True) if r]
    lost = [abs(e) / abs(r) for e, r in quantized]
    noise, signal = (sum(x * x for x in of) for of in (errors, references))
    return {
        "accumulation_relative_max": float(max(relative)),
        "accumulation_relative_mean": float(sum(relative) / len(relative)),
        "accumulation_bias": float(sum(errors) / sum(map(abs, references))),
        "accumulation_rms": float(noise / signal) ** 0.5,
        "quantization_relative_max": float(max(lost)),
    }


def check_rows(made: Study, rows: Rows) -> None:
    """Rows of all points and trials are what is computed by hand, and differ between trials."""
    found = {(row["point"], row["trial"]): row for row in rows}
    for index in range(len(points(made))):
        for trial in range(made.trials):
            for name, value in by_hand(made, index, trial).items():
                assert np.isclose(found[index, trial][name], value, rtol=1e-11), (index, trial, name)


def rows_of(made: Study) -> Rows:
    return [row for task in tasks(made) for row in execute(task)]


def test_rows_are_what_rationals_say() -> None:
    check_rows(study(**SHORT), rows_of(study(**SHORT)))


def swapped(side: Any, which: str, unit: Any, numbers: Any) -> QuantizedFactor:
    """The scales of neighbouring blocks exchanged."""
    made = apply(side, which, unit, numbers)
    if made.scales is None:
        return made
    axis = 1 if which == "a" else 0
    return replace(made, scales=np.flip(made.scales, axis).copy())


MUTANTS: dict[str, tuple[str, Any]] = {
    "data shared between trials": ("draw", lambda data, seed, _trial, *sizes: draw(data, seed, 0, *sizes)),
    "data that depend on another seed": ("draw", lambda data, seed, *rest: draw(data, seed + 1, *rest)),
    "scales of another block": ("apply", swapped),
    "another matrix for B": (
        "apply",
        lambda side, which, unit, numbers: apply(side, which, unit, numbers if which == "a" else np.flip(numbers, 0)),
    ),
    "a reference that was rounded": (
        "exact_product",
        lambda a, b: trial_module.DoubleDouble.of((a.astype(np.float32) @ b.astype(np.float32)).astype(np.float64)),
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_what_is_wrong_in_a_trial_is_caught(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, wrong = MUTANTS[mutant]
    made = study(**SHORT)
    monkeypatch.setattr(trial_module, name, wrong)
    with pytest.raises(AssertionError):
        check_rows(made, rows_of(made))


def test_a_kernel_that_is_wrong_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    original = trial_module.gemm
    monkeypatch.setattr(trial_module, "gemm", lambda *given: _flipped(original(*given)))
    with pytest.raises(Disagreement, match=r"result \[0, 0\] is .* by the definition and .* by its kernel"):
        execute(tasks(study(**SHORT))[0])


def _flipped(results: Any) -> Any:
    results.view(np.uint32)[0, 0] ^= 1 << 12
    return results


# However it is run.


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("order", ["backwards", "mixed"])
def test_the_order_of_tasks_changes_nothing(order: str, through: Results, tmp_path: Path) -> None:
    def runner(all_tasks: Sequence[Task], done: Done) -> None:
        assert len(all_tasks) == 18
        chosen = all_tasks[::-1] if order == "backwards" else sorted(all_tasks, key=lambda task: task.key)
        alone(chosen, done)

    assert content(run(study(), tmp_path / "s", runner)) == content(through)


@pytest.mark.usefixtures("many")
def test_a_run_that_was_interrupted_goes_on_and_ends_the_same(through: Results, tmp_path: Path) -> None:
    ran: list[str] = []

    def runner(all_tasks: Sequence[Task], done: Done) -> None:
        for task in all_tasks:
            if len(ran) in (5, 11):
                ran.append("interrupted")
                raise KeyboardInterrupt
            ran.append(task.key)
            done(task, execute(task))

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run(study(), tmp_path / "s", runner)
        assert not (tmp_path / "s" / "results.parquet").exists()
    found = run(study(), tmp_path / "s", runner)
    assert content(found) == content(through)
    assert found.resumed == 10 and len(ran) == 18 + 2 and len(set(ran)) == 18 + 1

    def none(*_: Any) -> None:
        raise AssertionError("nothing is left to run")

    again = run(study(), tmp_path / "s", none)
    assert again.finished_before and content(again) == content(through)
    assert not (tmp_path / "s" / ".parts").exists()


def test_a_part_that_is_cut_off_is_made_again(through: Results, tmp_path: Path) -> None:
    made, folder = study(), tmp_path / "s"

    def broken(all_tasks: Sequence[Task], done: Done) -> None:
        alone(all_tasks, done)
        part = next((folder / ".parts").glob("*.parquet"))
        part.write_bytes(part.read_bytes()[:-40])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(made, folder, broken)
    found = run(made, folder, alone)
    assert content(found) == content(through) and found.resumed == 18 - 9


@pytest.mark.usefixtures("many")
def test_a_trial_left_out_or_doubled_is_caught(tmp_path: Path) -> None:
    def without(all_tasks: Sequence[Task], done: Done) -> None:
        alone(all_tasks[:-1], done)

    def another(all_tasks: Sequence[Task], done: Done) -> None:
        alone(all_tasks[:-1], done)
        done(all_tasks[-1], execute(all_tasks[0]))

    with pytest.raises(RuntimeError, match="were lost"):
        run(study(), tmp_path / "a", without)
    with pytest.raises(RuntimeError, match="must have a row for each of 18 points and trials"):
        run(study(), tmp_path / "b", another)


CHANGED: dict[str, dict[str, Any]] = {
    "seed": {"seed": 8},
    "rows": {"rows": 5},
    "columns": {"columns": 4},
    "explained": {"explained": 2},
    "data": {"data": [{"distribution": "uniform", "name": "normal"}]},
    "unit": {"units": [{"unit": HOPPER, "label": "Hopper", "grid": {"fraction_bits": [9, 12]}}, "mxfp8-e4m3-f32"]},
    "scaling": {
        "units": [
            {"unit": HOPPER, "label": "Hopper", "grid": {"fraction_bits": [9, 13]}},
            {"unit": "mxfp8-e4m3-f32", "scaling": [{"rule": "mxfp8-e4m3", "select": "ceil"}]},
        ]
    },
}


@pytest.mark.parametrize("change", CHANGED)
def test_parts_are_of_one_study_alone(change: str) -> None:
    kept = {task.key for task in tasks(study())}
    assert kept == {task.key for task in tasks(study(title="another title, the same numbers"))}
    other = {task.key for task in tasks(study(**CHANGED[change]))}
    assert len(other - kept) == len(other), "a stale part would be taken for another study's"


def test_parts_of_other_code_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    before = tasks(study())[0].key
    monkeypatch.setattr("hwsim.study.task.identity", lambda _: "changed")
    assert tasks(study())[0].key != before


def test_progress_ends_where_it_should(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    run(study(**SHORT), tmp_path / "s", local(1), lambda done, planned, _: seen.append((done, planned)))
    planned = 2 * 2 * 3 * 64 * 3
    assert seen[0] == (0, planned) and seen[-1] == (planned, planned) and seen == sorted(seen)


def test_tasks_cover_the_study_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for work in (1, 1 << 24, 1 << 26, 1 << 40):
        monkeypatch.setattr("hwsim.study.task.WORK", work)
        made = [(p.index, t) for task in tasks(study()) for p in task.points for t in task.trials]
        assert sorted(made) == [(point, trial) for point in range(6) for trial in range(3)]
        for task in tasks(study()):
            assert {(p.data.name, p.length) for p in task.points} == {(task.data.name, task.length)}


def test_too_many_trials_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has 3,000,000 trials, the limit is 1,000,000"):
        run(study(trials=500_000), tmp_path / "s", alone)


def test_wrong_tensors_are_found_before_anything_runs(tmp_path: Path) -> None:
    numbers = np.ones((8, 64), np.float32)
    numbers[3, 5] = np.nan
    np.save(tmp_path / "w.npy", numbers)
    tensor = study(tmp_path, **{**SHORT, "data": ["w.npy"]})
    with pytest.raises(ValueError, match=r"w\.npy.*nan"):
        run(tensor, tmp_path / "s", alone)
    assert not (tmp_path / "s").exists()
    with pytest.raises((ValueError, OSError), match="missing"):
        run(study(tmp_path, **{**SHORT, "data": ["missing.npy"]}), tmp_path / "s", alone)


def test_a_name_in_errors_of_trials(tmp_path: Path) -> None:
    infinite = [{"unit": "mxfp8-e5m2-f32", "scaling": {"rule": "mxfp8-e5m2", "overflow": "infinity"}}]
    made = study(**{**SHORT, "units": infinite, "data": [{"distribution": "log-normal", "sigma": 3}]})
    with pytest.raises(ValueError, match=r"mxfp8-e5m2-f32, .*log-normal.*, K = 64: operands\.[ab]: .* not finite"):
        run(made, tmp_path / "s", alone)
    assert issubclass(SpecError, ValueError)
