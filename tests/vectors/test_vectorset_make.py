"""Making sets: the same bytes again, beginnings of one another, whole or not at all."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from built_presets import others_slow
from vectors.vectorset_units import TINY, made, unit_of

import hwsim
from hwsim.cosim.vectors import make as making
from hwsim.cosim.vectors.make import FORMATS, computed, make
from hwsim.cosim.vectors.plan import Wanted
from hwsim.spec import Unit


def content(folder: Path) -> dict[str, bytes]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".hwsim-vectors"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_set_is_the_same_bytes_every_time(tmp_path):
    one = made(tmp_path / "one", "tiny", suite="smoke", cases=400)
    other = made(tmp_path / "other", "tiny", suite="smoke", cases=400)
    assert content(one.folder) == content(other.folder)
    operands = content(made(tmp_path / "seed", "tiny", suite="smoke", cases=200, seed=2).folder)["operands.hex"]
    assert not content(one.folder)["operands.hex"].startswith(operands)


def test_a_set_is_the_same_bytes_on_every_machine(tmp_path):
    """Written down once: another machine, another version of Python or NumPy must not change them."""
    folder = made(tmp_path / "set", "tiny", suite="random", cases=3000).folder
    digests = {name: hashlib.sha256(data).hexdigest()[:16] for name, data in content(folder).items()}
    assert digests["operands.hex"] == "2909a3ab163574a4"
    assert digests["expected.hex"] == "0313331b47684224"


@pytest.mark.parametrize("suite", others_slow(["smoke", "random"], ["random"]))
def test_a_set_is_the_beginning_of_a_longer_one(tmp_path, suite):
    short = made(tmp_path / "short", "tiny", suite=suite, cases=1100).folder
    long = made(tmp_path / "long", "tiny", suite=suite, cases=2100).folder
    for name in ("operands.hex", "expected.hex", "partial.hex", "cases.txt", "cases.jsonl"):
        assert (long / name).read_bytes().startswith((short / name).read_bytes())
        assert (long / name).stat().st_size > (short / name).stat().st_size


def test_suites_are_of_one_sequence(tmp_path):
    texts = [
        (made(tmp_path / suite, "tiny", suite=suite, cases=400).folder / "cases.txt").read_bytes()
        for suite in ("smoke", "standard", "soak")
    ]
    assert texts[0] == texts[1] == texts[2]


@pytest.fixture(scope="module")
def products(tmp_path_factory):
    """The set of matrix products of a unit with promotion."""
    return made(tmp_path_factory.mktemp("products") / "set", "deepseek-v3-e4m3-f32", suite="gemm", cases=None).folder


def test_the_manifest_says_all_there_is(products):
    folder, manifest = products, yaml.safe_load((products / "manifest.yaml").read_text())
    assert Unit.model_validate(manifest["unit"]) == unit_of("deepseek-v3-e4m3-f32")
    assert set(manifest["formats"]) == {"e4m3", "f32", "e8m13"}
    found = {
        name: hashlib.sha256(data).hexdigest() for name, data in content(folder).items() if name != "manifest.yaml"
    }
    assert found == {name: file["sha256"] for name, file in manifest["files"].items()}
    assert manifest["cases"] == len((folder / "expected.hex").read_text().split())
    assert manifest["lines"] == len((folder / "operands.hex").read_text().split())
    assert manifest["parts"] == {"gemm": {"cases": manifest["cases"]}}


def test_matrix_products_come_with_every_partial_result(products):
    unit = unit_of("deepseek-v3-e4m3-f32")
    for path in sorted((products / "gemm").iterdir()):
        held = np.load(path)
        product = hwsim.gemm(unit, held["A"], held["B"], held["C"])
        assert (product.view(np.uint32) == held["D"]).all()
        for group in range(0, held["partials"].shape[2], 5):
            end = 32 * (group + 1)
            first = group // 4 * 128
            # Within an interval, Hopper's own sum from the last promotion on.
            part = hwsim.gemm("hopper-wgmma-e4m3-f32", held["A"][:, first:end], held["B"][first:end])
            assert (part.view(np.uint32) == held["partials"][:, :, group]).all()
        intervals = held["registers"].shape[2]
        for interval in range(intervals - 1, -1, -5):
            end = 128 * (interval + 1)
            part = hwsim.gemm(unit, held["A"][:, :end], held["B"][:end], held["C"])
            assert (part.view(np.uint32) == held["registers"][:, :, interval]).all()


class Stop(Exception):
    pass


def interrupted(folder, after, **wanted):
    """Begin a set and stop after so many cases."""

    def progress(done, planned, what):
        if done >= after:
            raise Stop

    with pytest.raises(Stop):
        make(Wanted(TINY, **wanted), folder, progress)


def test_an_interrupted_run_leaves_nothing_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(making, "NOTED", 1)
    wanted = {"suite": "random", "cases": 2300, "formats": tuple(FORMATS)}
    whole = make(Wanted(TINY, **wanted), tmp_path / "whole").folder
    folder = tmp_path / "set"
    interrupted(folder, 2000, **wanted)
    assert not folder.exists()
    assert [path.name for path in tmp_path.iterdir() if path.name != "whole"] == [".set.part"]
    assert not (tmp_path / ".set.part" / "manifest.yaml").exists()
    # What was written after the last note is torn, as a crash may leave it.
    with (tmp_path / ".set.part" / "operands.hex").open("ab") as file:
        file.write(b"torn")
    went_on = make(Wanted(TINY, **wanted), folder)
    assert 1024 <= went_on.resumed <= 2048
    assert content(folder) == content(whole)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["set", "whole"]


def test_work_on_another_set_is_thrown_away(tmp_path, monkeypatch):
    monkeypatch.setattr(making, "NOTED", 1)
    interrupted(tmp_path / "set", 1000, suite="random", cases=1200)
    other = make(Wanted(TINY, suite="random", cases=1200, seed=5), tmp_path / "set")
    assert other.resumed == 0
    assert content(other.folder) == content(
        make(Wanted(TINY, suite="random", cases=1200, seed=5), tmp_path / "b").folder
    )


@pytest.mark.parametrize("damage", others_slow(["truncate", "progress"], ["progress"]))
def test_damaged_remains_are_not_built_upon(tmp_path, monkeypatch, damage):
    monkeypatch.setattr(making, "NOTED", 1)
    interrupted(tmp_path / "set", 1000, suite="random", cases=1200)
    part = tmp_path / ".set.part"
    if damage == "truncate":
        (part / "operands.hex").write_bytes(b"0")
    else:
        (part / "progress.json").write_text("{")
    assert make(Wanted(TINY, suite="random", cases=1200), tmp_path / "set").resumed == 0


def test_a_set_replaces_a_set_and_nothing_else(tmp_path):
    folder = made(tmp_path / "set", "tiny", cases=10).folder
    made(folder, "tiny", cases=20)
    assert len((folder / "expected.hex").read_text().split()) == 20
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match=r"mine holds thesis\.tex, which `hwsim vectors` did not write"):
        made(tmp_path / "mine", "tiny")
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="file is a file, which stays as it is"):
        made(tmp_path / "file", "tiny")
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"


def test_two_runs_do_not_write_one_set(tmp_path):
    def progress(done, planned, what):
        if done:
            with pytest.raises(ValueError, match="another run is writing"):
                make(Wanted(TINY, suite="random", cases=50), tmp_path / "set")
            raise Stop

    with pytest.raises(Stop):
        make(Wanted(TINY, suite="random", cases=50), tmp_path / "set", progress)


def test_what_cannot_be_made_is_refused(tmp_path):
    for wanted, message in (
        ({"cases": 0}, "cases must be at least 1, not 0"),
        ({"suite": "everything"}, "unknown suite 'everything'; there are smoke, standard, soak"),
        ({"cases": 2_000_000, "formats": ("hex", "npz")}, "an npz file holds up to 1,000,000 cases, not 2,000,000"),
    ):
        with pytest.raises(ValueError, match=message):
            made(tmp_path / "set", "tiny", **wanted)
    with pytest.raises(ValueError, match="stage values are those of one aligned window"):
        made(tmp_path / "set", "exact-e4m3-f32", stages=True)
    assert list(tmp_path.iterdir()) == []


def test_model_and_kernel_must_agree(tmp_path, monkeypatch):
    def wrong(unit, batch, kernel):
        return computed(unit, batch, kernel) ^ (np.arange(len(batch)) == 7).astype(np.uint16)

    monkeypatch.setattr("hwsim.cosim.vectors.make.computed", wrong)
    with pytest.raises(RuntimeError, match="model and kernel differ at random/00000007-special"):
        made(tmp_path / "set", "tiny", cases=2000)
    assert not (tmp_path / "set").exists()


def test_captured_results_are_those_of_the_hardware(tmp_path, silicon):
    name = "hopper-wgmma-e4m3-f32"
    folder = made(tmp_path / "set", name, suite="captured", cases=300).folder
    captured = np.load(silicon / "captured.npz")
    results = [int(line, 16) for line in (folder / "expected.hex").read_text().split()]
    assert results == captured["h100/e4m3/d_f32"][:300].tolist()
    with pytest.raises(ValueError, match="no captured results of tiny-e2m1-f16"):
        made(tmp_path / "none", "tiny", suite="captured")


def test_json_is_json(tiny_set):
    for line in (tiny_set / "cases.jsonl").read_text().splitlines():
        assert set(json.loads(line)) == {"id", "a", "b", "c", "result"}
