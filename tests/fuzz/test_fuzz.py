"""A sample of mutated inputs for every reader; and faults that the fuzzer must find."""

from __future__ import annotations

import contextlib
from pathlib import Path
from random import Random

import numpy as np
import pytest
import yaml
from fuzz import bases, containers, inputs, octets, oracles, trees
from fuzz.__main__ import main
from fuzz.campaign import Campaign
from fuzz.inputs import Key
from fuzz.judge import Ended, faults
from fuzz.plants import PLANTS
from fuzz.targets import BY_NAME

from hwsim.cli import main as hwsim_main
from hwsim.formats import yamlfile
from hwsim.formats.yamlfile import Document
from hwsim.spec import as_yaml

COUNT = 1  # inputs of each target in `make test`; `make fuzz` tries thousands


@pytest.mark.simulator
def test_no_input_of_a_sample_is_a_fault(
    icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    status = main(["--seed", "1", "--count", str(COUNT), "--seconds", "1000", "--workers", "1"])
    said = capsys.readouterr()
    assert status == 0, said.err
    rows = [line.split() for line in said.out.splitlines() if line.split()[0] in BY_NAME]
    assert [row[0] for row in rows] == list(BY_NAME)
    assert all(int(row[1]) == COUNT for row in rows)
    # A sample that only ever sees one answer tells nothing of the other.
    assert min(sum(int(row[at]) for row in rows) for at in (2, 3)) > 6
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_planted_faults_are_found_and_kept(tmp_path: Path) -> None:
    count = len(PLANTS)
    campaign = Campaign(
        [BY_NAME["format"]], 1, tmp_path, count=count, limit=2, patience=2, plant="fuzz.plants:by_number"
    )
    campaign.run()
    for number, (plant, fault) in enumerate(PLANTS):
        found = campaign.failed.get(f"format:1:{number}", {"faults": []})["faults"]
        assert any(fault in one for one in found), (plant, found)
        folder = tmp_path / f"format-1-{number}"
        assert (folder / "FOUND.json").is_file() and (folder / "f.yaml").is_file()


def test_an_input_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["--replay", "format:9:1"]) == 0
    assert '"faults": []' in capsys.readouterr().out
    assert (tmp_path / "build" / "fuzz" / "format-9-1" / "f.yaml").is_file()


def test_readers_that_disagree_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "u.yaml").write_text(bases.UNIT)
    assert oracles.unit(tmp_path, ()) == []

    def read(path: Path) -> Document:
        document = yamlfile.read(path)
        document.data["result"]["rounding"] = "rz"
        return document

    monkeypatch.setattr("hwsim.spec.catalog.read", read)
    assert oracles.unit(tmp_path, ()) == ["load_unit of the file's keys is not load_unit of the file"]
    monkeypatch.undo()
    monkeypatch.setattr("fuzz.oracles.as_yaml", lambda unit: as_yaml(unit).replace("rne", "rz"))
    assert oracles.unit(tmp_path, ()) == ["the unit that was written is another one"]
    monkeypatch.setattr("fuzz.oracles.as_yaml", lambda unit: as_yaml(unit).replace("rne", "x"))
    assert "the unit that was written is refused" in oracles.unit(tmp_path, ())[0]


def test_a_product_that_is_another_is_found(tmp_path: Path) -> None:
    bases.matrices(tmp_path)
    folder = tmp_path / "npz"
    words = ["gemm", "hopper-wgmma-e4m3-f32", "a.npz", "b.npz", "--addend", "c.npz", "-o", "d.npy"]
    with contextlib.chdir(folder):
        assert hwsim_main(words) == 0
    assert oracles.product(folder, words) == []
    made = np.load(folder / "d.npy")
    made[0, 0] += 1
    np.save(folder / "d.npy", made)
    assert oracles.product(folder, words) == ["the product is not what hwsim.gemm makes of the same arrays"]


def test_an_input_is_the_same_again(tmp_path: Path) -> None:
    made: list[dict[str, bytes]] = []
    for attempt, names in enumerate((["unit", "format", "study"], ["study", "unit"])):  # beside other targets, too
        prepared = tmp_path / f"valid-{attempt}"
        inputs.prepare(prepared, inputs.chosen(names))
        pool = inputs.pool_of(prepared)
        for name in ("unit", "study"):
            for index in range(30):
                into = tmp_path / f"{attempt}-{name}-{index}"
                into.mkdir()
                inputs.make(Key(name, 3, index), prepared, into, pool)
                made.append({path.name: path.read_bytes() for path in sorted(into.iterdir())})
    assert made[:60] == made[60:]
    assert len({str(sorted(files.items())) for files in made}) > 50


def test_mutations_are_many_and_end() -> None:
    tree = {"a": {"b": [1, 2, {"c": "x"}]}, "d": 1.5}
    pool = trees.gathered([tree, {"e": [1]}])
    seen = set()
    for seed in range(400):
        rng = Random(seed)
        changed = trees.mutate(yaml.safe_load(yaml.safe_dump(tree)), rng, pool)
        seen.add(trees.as_yaml(changed, rng)[:500])
        assert (
            len(octets.mutated(b"abc\n" * 9, rng)) <= octets.MOST
            and len(octets.lines(b"1 2\n3 4\n", rng)) <= octets.MOST
        )
    assert len(seen) > 250
    assert containers.npy(b"no array", Random(1)) != b"no array"


@pytest.mark.parametrize(
    ("ended", "fault"),
    [
        (Ended(0, "fine", ""), None),
        (Ended(2, "", "note: x\nerror: u.yaml:1: wrong\n"), None),
        (Ended(0, "fine", "compiling code for units of this kind; it is kept in /x, and loaded from now on\n"), None),
        (Ended(2, "", "error: wrong\n"), "the message names no file"),
        (Ended(2, "", "error: u.yaml: wrong\nerror: u.yaml: again\n"), "2 lines of error"),
        (Ended(1, "", ""), "exit status 1"),
        (Ended(130, "", "error: u.yaml: interrupted\n"), "exit status 130"),
        (Ended(2, "Traceback (most recent call last):", "error: u.yaml: x\n"), "a traceback, or a defect of hwsim"),
        (Ended(2, "", f"error: u.yaml: {'x' * 5000}\n"), "a message of 5,015 characters"),
        (Ended(2, "", "error: u.yaml: \x1b[31m\n"), "control characters in the message"),
        (Ended(0, "", "", {"u.yaml": "1"}, {}), "file u.yaml is gone"),
        (Ended(0, "", "", {}, {"out/x": "1"}), None),
        (Ended(2, "", "error: u.yaml: x\n", {}, {"out/x": "1"}), "file out/x is left"),
    ],
)  # fmt: skip
def test_what_is_right_and_what_is_not(ended: Ended, fault: str | None) -> None:
    found = faults(ended, BY_NAME["unit"], ("u.yaml",))
    assert found == ([] if fault is None else [fault])
