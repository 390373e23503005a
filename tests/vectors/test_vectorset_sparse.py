"""Vector sets of sparse units: lines have all factors of b, and metadata; results are of what these select."""

from __future__ import annotations

import inspect
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from built_presets import others_slow
from cosim.mutants import of_lanes

import hwsim
import hwsim.model
from hwsim.base.errors import InputError
from hwsim.cases import matrices
from hwsim.cases.captured import SPARSE, SPARSE_FILE, sparse_captured
from hwsim.cases.case import multiplied
from hwsim.cases.random_cases import random_cases
from hwsim.compute.sparse import compress
from hwsim.cosim.vectors.check import check, judge, stored, stream
from hwsim.cosim.vectors.lines import case_of_words
from hwsim.cosim.vectors.make import made_batches, make
from hwsim.cosim.vectors.plan import Wanted
from hwsim.rtl import top_name, verilog
from hwsim.spec import SparseUnit, load_sparse, pipeline


def sparse(name: str, dense: str, lanes: int, **sparsity: int) -> SparseUnit:
    return load_sparse({"unit": name, "dense": of_lanes(dense, lanes), "sparsity": sparsity})


UNITS = {
    "two-of-four": sparse("two-of-four", "hopper-wgmma-e4m3-f32", 4, keep=2, of=4),
    "pairs": sparse("pairs", "ampere-mma-int4-i32", 8, keep=2, of=4, run=2),
}
CASES = 60


def wanted(name: str, cases: int = CASES, suite: str = "random", formats: tuple[str, ...] | None = None) -> Wanted:
    unit = UNITS[name]
    return Wanted(unit.dense, suite, 1, cases, formats, sparse=unit)


def results_of(name: str, words: list[list[str]]) -> list[int]:
    """What a device returns that reads the columns, and asks the public model."""
    unit, found = UNITS[name], list[int]()
    for row in words:
        case = case_of_words(unit, row)
        code = hwsim.model.dot(unit, [case.a], [case.b], [case.c], metadata=[case.metadata])
        found.append(int(code.view(f"u{code.dtype.itemsize}")[0]))
    return found


@pytest.mark.parametrize("name", others_slow(UNITS, ["pairs"]))
def test_a_set_is_of_what_the_metadata_select(name: str, tmp_path: Path) -> None:
    unit = UNITS[name]
    folder = make(wanted(name), tmp_path / "set").folder
    lines = (folder / "cases.txt").read_text().splitlines()
    assert lines[3] == "# columns id a b metadata c result"
    rows = [line.split() for line in lines if not line.startswith("#")]
    assert [int(row[-1], 16) for row in rows] == results_of(name, [row[:-1] for row in rows])
    known, drawn = stored(folder), random_cases(unit.dense, CASES, 1)
    assert known.written == unit and [known.case(number) for number in range(CASES)] == drawn
    for number in range(0, CASES, 7):
        assert multiplied(unit, case_of_words(unit, rows[number][:-1])) == drawn[number]
    fields = yaml.safe_load((folder / "manifest.yaml").read_text())["files"]["operands.hex"]["fields"]
    lanes, rule = unit.dense.instruction.lanes, unit.sparsity
    assert [fields[name]["count"] for name in ("a", "b", "metadata")] == [
        lanes, rule.whole_of(lanes), lanes // rule.run,
    ]  # fmt: skip
    arrays = np.load(folder / "cases.npz")
    assert arrays["b"].shape[1] == rule.whole_of(lanes) and arrays["metadata"].max() < rule.of
    shown = check(known, [f"{row[-1]}\n" for row in rows], "results")
    assert (shown.wrong, shown.compared, shown.row.unit) == (0, CASES, name)
    wrong = check(known, [f"{(int(row[-1], 16) ^ 1):x}\n" for row in rows], "results")
    assert wrong.wrong == CASES and wrong.first[0].case == drawn[0]


def test_a_longer_set_begins_with_a_shorter_one(tmp_path: Path) -> None:
    short, long = (make(wanted("pairs", cases, formats=("hex",)), tmp_path / f"{cases}").folder for cases in (21, 50))
    for file in ("operands.hex", "expected.hex"):
        assert (long / file).read_text().startswith((short / file).read_text())


def test_a_stream_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(stream(UNITS["pairs"], made_batches(wanted("pairs", 40)))).splitlines()
    sent = [line.split() for line in lines if not line.startswith("#")]
    back = [f"{' '.join(row)} {code:x}" for row, code in zip(sent, results_of("pairs", sent), strict=True)]
    found = judge([*lines[:4], *back], lambda unit: None)
    assert (found.compared, found.wrong, found.named) == (40, 0, UNITS["pairs"])
    swapped = [word.split() for word in back]
    for row in swapped:
        row[3] = row[3][::-1]
    assert judge([*lines[:4], *(" ".join(row) for row in swapped)], lambda unit: None).wrong > 20


def rows_of(folder: Path) -> list[list[str]]:
    """The words of each case in cases.txt, its result at the end."""
    return [line.split() for line in (folder / "cases.txt").read_text().splitlines() if not line.startswith("#")]


def check_matrices(name: str, folder: Path) -> None:
    """Matrices are those of `hwsim.gemm` with metadata, and a case has the factors and the metadata of its own row."""
    unit, rows = UNITS[name], {row[0]: row for row in rows_of(folder)}
    for path in sorted((folder / "gemm").iterdir()):
        held = np.load(path)
        product = hwsim.gemm(unit, held["A"], held["B"], held["C"], metadata=held["metadata"])
        assert np.array_equal(product.view(held["D"].dtype), held["D"])
        for (i, j), code in np.ndenumerate(held["D"]):
            row = rows.get(f"gemm/{path.stem}/d[{i},{j}]")
            if row is None:
                continue
            case = case_of_words(unit, row[:-1])
            assert (case.a, case.metadata) == tuple(tuple(held[key][i].tolist()) for key in ("A", "metadata"))
            assert (case.b, case.c, int(row[-1], 16)) == (tuple(held["B"][:, j].tolist()), held["C"][i, j], code)


@pytest.mark.parametrize("name", others_slow(UNITS, ["pairs"]))
def test_matrices_come_with_their_metadata(name: str, tmp_path: Path) -> None:
    folder = make(wanted(name, suite="gemm"), tmp_path / "set").folder
    assert len(rows_of(folder)) == CASES and len(list((folder / "gemm").iterdir())) == 2
    check_matrices(name, folder)


def test_the_metadata_of_another_row_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right, made = "metadata=metadata[i]", dict[str, Any]()
    source = inspect.getsource(matrices.gemm_cases)
    assert source.count(right) == 1
    exec(source.replace(right, "metadata=metadata[i - 1]"), vars(matrices), made)
    monkeypatch.setattr("hwsim.cosim.vectors.plan.gemm_cases", made["gemm_cases"])
    folder = make(wanted("pairs", suite="gemm"), tmp_path / "set").folder
    with pytest.raises(AssertionError):
        check_matrices("pairs", folder)


def captured(folder: Path, monkeypatch: pytest.MonkeyPatch, **changed: Any) -> dict[str, Any]:
    """A file of a product of "two-of-four", 3 x 3 x 16, as a GPU's library would have returned it. Its arrays.

    changed: arrays instead of these, by the last part of their names.
    """
    unit, rng, name = UNITS["two-of-four"], np.random.default_rng(4), "sparse-e4m3-drawn-3x3x16"
    a, b = (unit.dense.operands.a.encode(rng.normal(0, 3, (3, 16))) for _ in range(2))
    a[np.tile(rng.permuted(np.tile([True, True, False, False], (3, 4, 1)), axis=2).reshape(3, 16), 1)] = 0
    kept = hwsim.compress(unit, a)
    d = hwsim.gemm(unit, kept.codes, b.T, metadata=kept.metadata).view(np.uint32)
    facts = np.array(json.dumps({"calls": [{"name": f"{name}/float32", "kernels": ["gemm"]}]}))
    arrays = {"a": a, "b": b, "d": d, "facts": facts} | changed
    names = {"a": f"{name}/a", "b": f"{name}/b", "d": f"{name}/float32/d", "facts": "facts"}
    folder.mkdir(exist_ok=True)
    np.savez(folder / SPARSE_FILE, **{names[key]: array for key, array in arrays.items()})
    monkeypatch.setitem(SPARSE, unit.name, ("e4m3", "float32"))
    monkeypatch.setenv("HWSIM_SILICON", str(folder))
    return arrays


def captured_set(folder: Path) -> Path:
    unit = UNITS["two-of-four"]
    return make(Wanted(unit.dense, "captured", sparse=unit), folder).folder


def test_a_set_holds_what_a_gpu_returned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = captured(tmp_path, monkeypatch)
    folder = captured_set(tmp_path / "set")
    rows = rows_of(folder)
    assert [int(row[-1], 16) for row in rows] == arrays["d"].ravel().tolist()
    unit, known = UNITS["two-of-four"], stored(folder)
    for number, row in enumerate(rows):
        i, j = divmod(number, 3)
        case, a = case_of_words(unit, row[:-1]), np.zeros(16, int)
        places = [4 * (place // 2) + index for place, index in enumerate(case.metadata)]
        a[places] = case.a
        assert a.tolist() == arrays["a"][i].tolist() and list(case.b) == arrays["b"][j].tolist()
        assert known.case(number) == multiplied(unit, case)
    assert np.array_equal(np.load(folder / "cases.npz")["result"], arrays["d"].ravel())
    results = results_of("two-of-four", [row[:-1] for row in rows])
    assert check(known, [f"{code:x}\n" for code in results], "results").wrong == 0


def test_a_captured_result_that_was_changed_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    d = captured(tmp_path, monkeypatch)["d"].copy()
    d[1, 2] ^= 1 << 12
    captured(tmp_path, monkeypatch, d=d)
    folder = captured_set(tmp_path / "set")
    results = results_of("two-of-four", [row[:-1] for row in rows_of(folder)])
    found = check(stored(folder), [f"{code:x}\n" for code in results], "results")
    assert [wrong.case.id for wrong in found.first] == ["captured/h200/sparse-e4m3-drawn-3x3x16-1-2"]
    assert np.array_equal(np.load(folder / "cases.npz")["result"], d.ravel())


def test_captured_results_under_the_metadata_of_another_row_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rolled(unit: SparseUnit, a: Any) -> Any:
        kept = compress(unit, a)
        return kept._replace(metadata=np.roll(kept.metadata, 1, axis=0))

    captured(tmp_path, monkeypatch)
    monkeypatch.setattr("hwsim.compute.sparse.compress", rolled)
    folder = captured_set(tmp_path / "set")
    results = results_of("two-of-four", [row[:-1] for row in rows_of(folder)])
    assert check(stored(folder), [f"{code:x}\n" for code in results], "results").wrong > 5


def test_what_is_no_captured_product_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unit, arrays = UNITS["two-of-four"], captured(tmp_path, monkeypatch)
    a, b, d = (arrays[name] for name in "abd")
    full = a.copy()
    full[2, 4:8] = 0x38
    for changed, words in (
        ({"a": full}, r"-3x3x16/a: a\[2, 4:8\] has more than 2 numbers other than zero of 4"),
        ({"a": a[:, :12], "b": b[:, :12]}, r"/a must be codes \(3, 12\), K a multiple of 8, not uint8 \(3, 12\)"),
        ({"b": b[:2]}, r"/b must be codes \(3, 16\), K a multiple of 8, not uint8 \(2, 16\)"),
        ({"d": d.view(np.float32)}, r"/d must be codes \(3, 3\), not float32 \(3, 3\)"),
        ({"d": d[0]}, r"/d must be codes \(1, 1\), not uint32 \(3,\)"),
        ({"facts": np.array("[]")}, "facts must be JSON, with the names and kernels of calls"),
    ):
        captured(tmp_path, monkeypatch, **changed)
        with pytest.raises(InputError, match=words) as refused:
            sparse_captured(unit)
        assert str(refused.value).startswith(f"{tmp_path / SPARSE_FILE}: ") and "\n" not in str(refused.value)


def test_without_captured_results_there_is_no_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWSIM_SILICON", str(tmp_path))
    with pytest.raises(InputError, match="no captured results of pairs are at hand: HWSIM_SILICON names the folder"):
        make(wanted("pairs", suite="captured"), tmp_path / "set")


@pytest.mark.parametrize("name", others_slow(SPARSE, ["hopper-wgmma-sp-e4m3-f32"]))
def test_lines_hold_every_result_of_cusparselt(name: str, silicon: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file's own arrays, read here: what a keeps stands where the metadata say, beside the GPU's column of b."""
    monkeypatch.setenv("HWSIM_SILICON", str(silicon))
    unit, factors = load_sparse(name), SPARSE[name][0]
    with np.load(silicon / SPARSE_FILE) as data:
        arrays = {key: data[key] for key in data.files if key.startswith(f"sparse-{factors}-")}
    count = 0
    for batch in made_batches(Wanted(unit.dense, "captured", sparse=unit)):
        assert batch.metadata is not None
        for row, ident in enumerate(batch.ids):
            product, i, j = ident.removeprefix("captured/h200/").rsplit("-", 2)
            places = np.arange(batch.a.shape[1]) // 2 * 4 + batch.metadata[row]
            a = np.zeros(batch.b.shape[1], np.uint8)
            a[places] = batch.a[row]
            given = arrays[f"{product}/a"][int(i)]
            if factors == "e4m3":  # a zero may be negative, and is kept or not
                a, given = (np.where(side == 0x80, 0, side) for side in (a, given))
            assert np.array_equal(a, given)
            assert np.array_equal(batch.b[row], arrays[f"{product}/b"][int(j)])
        count += len(batch)
    assert count == {"e4m3": 4, "int8": 6}[factors] * 576


@pytest.mark.slow
@pytest.mark.simulator
@pytest.mark.parametrize("suite", ["random", "gemm", "captured"])
def test_the_testbench_replays_our_rtl(
    icarus: None, suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    captured(tmp_path, monkeypatch)
    count = 9 if suite == "captured" else 100
    unit, place = UNITS["two-of-four"], make(wanted("two-of-four", count, suite), tmp_path / "set").folder
    (place / f"{top_name(unit)}.sv").write_text(verilog(unit, pipeline(unit)))
    files = ["vectors_pkg.sv", f"{top_name(unit)}.sv", "replay_dut.sv", "replay_tb.sv"]

    def run(*command: str) -> Any:
        return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)

    assert run(str(shutil.which("iverilog")), "-g2012", "-o", "replay", *files).returncode == 0
    assert f"PASS: {count} results equal" in run(str(shutil.which("vvp")), "replay", "+stall=40").stdout
    lines = (place / "expected.hex").read_text().split()
    (place / "expected.hex").write_text("\n".join([*lines[:5], f"{int(lines[5], 16) ^ 0x400:08x}", *lines[6:]]) + "\n")
    assert f"FAIL: 1 of {count} results wrong" in run(str(shutil.which("vvp")), "replay").stdout
