"""Files that the fuzzer found readers to stumble over, a kind each: refused in a line that names the file."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from cli.cli_run import Run, fails
from cli.small_files import STUDY, UNIT
from silicon.capture_samples import WGMMA, machine, results_file, section, written
from uncounted import uncounted  # noqa: F401  a fixture

import hwsim
from hwsim.base.errors import InputError
from hwsim.cli.output import MOST_WORDS, one_line
from hwsim.cosim.vectors.make import Growing
from hwsim.explain import read_json


@pytest.fixture
def captured(run: Run, here: Path) -> Path:
    """Imported results of a GPU."""
    _, cases = written(here, section(count=3))
    results_file(here, cases, machine(cases))
    assert run("capture", "import", "cases.txt", "results.txt", "-o", "kept").status == 0
    return Path("kept/h200")


def resealed(folder: Path, **arrays: Any) -> Path:
    """An instruction's file with other arrays, None for none, and the digest that fits."""
    (path,) = folder.glob("*.npz")
    held = {**np.load(path), **arrays}
    np.savez(path, **{name: array for name, array in held.items() if array is not None})
    manifest = yaml.safe_load((folder / "manifest.yaml").read_text())
    manifest["instructions"][path.stem]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "manifest.yaml").write_text(yaml.safe_dump(manifest))
    return path


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"k": None}, "holds no 'k'"),
        ({"d": np.array(["x"])}, "d is an array of <U1"),
        ({"d": np.zeros((3, 1), np.uint32)}, r"d is an array of uint32, shape \(3, 1\)"),
        ({"d": np.array([1, None])}, "d cannot be read: it holds Python objects"),
        ({"k": np.zeros(3, np.uint16), "a": np.zeros(0, np.uint8), "b": np.zeros(0, np.uint8)}, "k is no multiple"),
        ({"tag": np.full(3, 99, np.uint8)}, "tag holds 99"),
        ({"a": np.zeros(5, np.uint8)}, "a has 5 elements, not"),
    ],
)  # fmt: skip
def test_captured_results_of_other_arrays_are_refused(run: Run, captured: Path, arrays: Any, message: str) -> None:
    path = resealed(captured, **arrays)
    fails(run("capture", "judge", str(captured)), rf"kept/h200/{path.name}: {message}")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sha256:", "sha:", r"manifest.yaml:\d+: instructions.wgmma.*sha256 is missing"),
        ("wgmma.m64n8k32", "wgmma.m64n8k33", r"manifest.yaml:\d+: instructions.wgmma.m64n8k33.* is no instruction"),
        ("instructions:", "\tinstructions:", r"manifest.yaml:\d+: not YAML"),
        (WGMMA, "/dev/zero", r"kept/h200: the results of .* are of '/dev/zero', a unit that does not ship"),
        (WGMMA, "mxfp8-e4m3-f32", r"kept/h200: mxfp8-e4m3-f32 is no unit of wgmma"),
    ],
)
def test_a_manifest_of_captured_results_is_checked(run: Run, captured: Path, old: str, new: str, message: str) -> None:
    path = captured / "manifest.yaml"
    path.write_text(path.read_text().replace(old, new))
    fails(run("capture", "judge", str(captured)), message)


def test_a_bomb_of_aliases_in_a_manifest_is_refused(run: Run, captured: Path) -> None:
    bomb = "b0: &b0 [x, x]\n" + "".join(f"b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 9)}]\n" for n in range(1, 9))
    (captured / "manifest.yaml").write_text(bomb + "instructions: {}\n")
    fails(run("capture", "judge", str(captured)), "must not hold more than 100,000 values")


def published(**changes: Any) -> None:
    """The published results of two GPUs, with other arrays."""
    arrays: dict[str, Any] = {}
    for gpu in ("h100", "h200"):
        arrays |= {f"{gpu}/e4m3/{side}": np.full((2, 32), 0x38, np.uint8) for side in "ab"}
        arrays |= {f"{gpu}/e4m3/{name}": np.zeros(2, np.uint32) for name in ("c_f32", "d_f32")}
    arrays |= {f"h100/e4m3/{name}": array for name, array in changes.items()}
    np.savez("captured.npz", **{name: array for name, array in arrays.items() if array is not None})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a": None}, "holds no 'h100/e4m3/a'"),
        ({"a": np.zeros(2, np.uint8)}, r"h100/e4m3/a must be codes, \(cases, K\)"),
        ({"b": np.zeros((2, 8), np.uint8)}, r"h100/e4m3/b must be codes"),
        ({"d_f32": np.zeros(2, np.float32)}, r"h100/e4m3/d_f32 must be codes"),
        ({"a": np.full((2, 32), 999, np.uint16)}, r"h100/e4m3/a\[0, 0\] is 0x3e7|h100/e4m3/a"),
    ],
)
def test_published_results_of_other_arrays_are_refused(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch, changes: Any, message: str
) -> None:
    monkeypatch.setenv("HWSIM_SILICON", ".")
    published()
    captured = ("vectors", WGMMA, "-o", "v", "--suite", "captured", "--format", "hex")
    assert run(*captured).status == 0
    published(**changes)
    fails(run(*captured), f"captured.npz: {message}")


def test_an_end_that_comes_too_early_is_no_interrupt(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # typer takes an EOFError for the end of what a user types.
    def ends(_: object) -> None:
        raise EOFError("No data left in file")

    monkeypatch.setattr("hwsim.cli.units.load_any", ends)
    done = run("units", WGMMA)
    assert done.status == 70 and "unexpected EOFError: No data left in file" in done.err


@pytest.mark.parametrize("byte", [b"\xa2", b"\xff\xfe", b"\xed\xa0\x80"])
def test_bytes_that_are_no_text_come_back_through_a_pipe(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch, byte: bytes
) -> None:
    made = run("vectors", WGMMA, "-o", "-", "--suite", "random", "--cases", "2").out
    comments = "".join(line for line in made.splitlines(keepends=True) if line.startswith("#"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(comments.encode() + byte), encoding="utf-8"))
    fails(run("check", "-", "-"), r"- must be text: line \d+ has the byte 0x")


def test_a_message_does_not_steer_a_terminal(run: Run, here: Path) -> None:
    Path("u.yaml").write_text(UNIT + '"\\e[31mred\\u202e": 1\n')
    fails(run("units", "u.yaml"), r"u.yaml:6: \\x1b\[31mred\\u202e is not a key here")
    Path("u.yaml").write_text(UNIT + f"? {'x' * 900} {'y' * 70_000}\n: 1\n")
    done = run("units", "u.yaml")
    fails(done, r"u.yaml:6: xxx.* \.\.\. .*is not a key here")
    assert len(done.err) < MOST_WORDS + 50
    assert one_line("é 𝟘 – µ") == "é 𝟘 – µ"


def test_a_part_of_a_compressed_array_is_said_without_numbers_of_the_system(run: Run, here: Path) -> None:
    np.save("b.npy", np.zeros((32, 4), np.uint8))
    with zipfile.ZipFile("a.npz", "w") as archive:
        archive.writestr("a.npy", b"")
    data = bytearray(Path("a.npz").read_bytes())
    data[-6:-2] = (int.from_bytes(data[-6:-2], "little") + 1000).to_bytes(4, "little")  # where the directory starts
    Path("a.npz").write_bytes(data)
    done = run("gemm", WGMMA, "a.npz", "b.npy", "-o", "d.npy")
    fails(done, "a.npz")
    assert "Errno" not in done.err


@pytest.mark.slow
def test_verilog_is_written_where_addresses_are_bounded(here: Path) -> None:
    Path("u.yaml").write_text(UNIT)
    line = f"ulimit -v 3000000; exec {sys.executable} -m hwsim rtl u.yaml -o"
    done = [
        subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=False)
        for words in (f"{line} bounded.v", f"{line.partition('; ')[2]} free.v")
    ]
    assert [one.returncode for one in done] == [0, 0], done
    assert Path("bounded.v").read_text() == Path("free.v").read_text()


@pytest.mark.parametrize("command", [("rtl", "-o", "out/new/"), ("export-c", "-o", "out/new")])
def test_a_name_too_long_leaves_no_folder(run: Run, here: Path, command: tuple[str, ...]) -> None:
    Path("u.yaml").write_text(UNIT.replace("small", "n" * 300))
    fails(run(command[0], "u.yaml", *command[1:]), r"out/new/n+\.\w+: File name too long")
    assert not Path("out").exists()


@pytest.mark.slow
def test_an_output_that_cannot_be_is_named_as_it_was_typed(run: Run, here: Path) -> None:
    Path("u.yaml").write_text(UNIT)
    fails(run("rtl", "u.yaml", "-o", "/proc/x"), r"^error: /proc/x: No such file or directory$")
    fails(run("vectors", "u.yaml", "-o", "/proc/x", "--cases", "3"), r"^error: /proc/x[:/]")
    with pytest.raises(OSError, match=r"No such file or directory: '/proc/x'$"), Growing(Path("/proc/x"), {}):
        pass


def test_a_progress_that_cannot_be_called_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="progress must be a function of a number of products, not int"):
        hwsim.gemm(WGMMA, None, None, progress=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["a\0.yaml", "a\ud800.yaml"])
def test_a_name_that_no_file_has_is_refused(name: str) -> None:
    for load in (hwsim.load_unit, hwsim.get_format):
        with pytest.raises(InputError, match="is the name of no file"):
            load(name)


def test_numbers_of_a_name_that_no_file_has_are_refused() -> None:
    from hwsim.quantize.tensors import read

    with pytest.raises(InputError, match="is the name of no file: it has a NUL"):
        read(f"a{os.sep}\0.npy")


@pytest.mark.parametrize("damage", ["page", "cell", "column", "study", "schema"])
def test_damaged_results_of_a_study_stay_until_they_are_moved(run: Run, here: Path, damage: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    Path("s.yaml").write_text(STUDY)
    command = ("study", "s.yaml", "-o", "out", "--no-report", "--workers", "1")
    assert run(*command).status == 0
    path = Path("out/results.parquet")
    right = path.read_bytes()
    table = parquet.read_table(path)
    match damage:
        case "page":
            path.write_bytes(right[:8] + bytes([right[8] ^ 0x40, right[9] ^ 0x40]) + right[10:])
        case "cell":
            parquet.write_table(table.set_column(table.num_columns - 4, "columns", pa.array([3], pa.int32())), path)
        case "column":
            parquet.write_table(table.drop_columns(["label"]), path)
        case "schema":
            path.write_bytes(right.replace(b"accumulation_", b"accumulation\xe5"))
        case "study":
            metadata = {**table.schema.metadata, b"study": b"{"}
            parquet.write_table(table.replace_schema_metadata(metadata), path)
    before = sorted(Path("out").iterdir())
    # What is not as it was written is nobody's to replace but the user's, who moves it.
    for again in (command, (*command, "--overwrite")):
        fails(run(*again), "out/results.parquet.* was changed.* move it, or name another ")
        assert sorted(Path("out").iterdir()) == before
    path.rename("damaged.parquet")
    assert run(*command).status == 0
    assert path.read_bytes() == right


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "9" * 5000, "\x00", '"\\ud800"'], ids=["deep", "digits", "NUL", "half"]
)
def test_json_that_python_stops_at_is_refused(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    Path("results.json").write_text(text)
    with pytest.raises(InputError, match=r"results.json: "):
        read_json(Path("results.json"))
    head = run("vectors", WGMMA, "-o", "-", "--suite", "random", "--cases", "1").out.partition("\n")[0]
    lines = f"{head}\n# unit {text}\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode()), encoding="utf-8"))
    fails(run("check", "-", "-"), r"-:2: must be `# unit` and the unit's specification")
