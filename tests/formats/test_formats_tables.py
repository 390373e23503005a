import functools
import hashlib
import itertools
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from formats.formats_witness import EVERY

from hwsim.formats import formats, get_format, tables

FOLDER = Path(__file__).parents[2] / "vectors" / "codecs"
TEXT = tables.text


@functools.cache
def whole(name):
    """The file of all codes of a format: of up to 16 bits; of wider ones, of the landmarks."""
    return TEXT(get_format(name))


def table(name):
    lines = whole(name).splitlines()
    return lines[0].split(","), [line.split(",") for line in lines[1:]]


@pytest.fixture(scope="module")
def manifest():
    return yaml.safe_load((FOLDER / "manifest.yaml").read_text())


def sums(data):
    return {"rows": data.count(b"\n") - 1, "sha256": hashlib.sha256(data).hexdigest()}


def test_committed_files_are_what_the_generator_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "text", lambda fmt: whole(fmt.name))  # of which other tests need the same
    tables.write(tmp_path, short=True)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(path.name for path in FOLDER.iterdir())
    assert names == sorted(["manifest.yaml", *(f"{name}.csv" for name in formats())])
    for name in names:
        assert (FOLDER / name).read_bytes() == (tmp_path / name).read_bytes(), name


def test_the_manifest_has_every_file_with_its_sum_and_rows(manifest):
    assert (manifest["generator"], manifest["version"]) == ("hwsim.formats.tables", tables.VERSION)
    assert sorted(manifest["files"]) == sorted(path.name for path in FOLDER.glob("*.csv"))
    for name, entry in manifest["files"].items():
        assert {key: entry[key] for key in ("rows", "sha256")} == sums((FOLDER / name).read_bytes())


@pytest.mark.parametrize("name", formats())
def test_the_digest_of_all_codes_is_committed(name, manifest):
    entry, wide = manifest["files"][f"{name}.csv"], get_format(name).container_bits
    assert ("all_codes" in entry) == (8 < wide <= 16)
    assert entry.get("all_codes", {key: entry[key] for key in ("rows", "sha256")}) == sums(whole(name).encode())
    landmarks = (FOLDER / f"{name}.csv").read_text().splitlines()
    assert set(landmarks) <= set(whole(name).splitlines())
    if wide > 8:
        assert {int(line.split(",")[0], 16) for line in landmarks[1:]} == set(tables.boundary_codes(get_format(name)))


@pytest.mark.parametrize("name", ["f16", "bf16", "dlfloat16", "e5m6"])
def test_landmarks_are_where_something_begins_or_ends(name):
    # Between two neighbours among the landmarks, classes do not change, and in a binade no power of two stands.
    codes, (_, rows) = set(tables.boundary_codes(get_format(name))), table(name)
    for below, above in itertools.pairwise(rows):
        powers = [row[4].startswith("1") and int(row[4]) & (int(row[4]) - 1) == 0 for row in (below, above)]
        if below[1] != above[1] or (below[2] == above[2] and below[3] != above[3]) or powers[1]:
            assert int(above[0], 16) in codes, above
        if below[1] != above[1] or below[3] != above[3]:
            assert int(below[0], 16) in codes, below


@pytest.mark.parametrize("fields", [{"integer_bits": 3, "fraction_bits": 20}, {"integer_bits": 15, "fraction_bits": 0}])
def test_a_fixed_format_of_the_user_has_a_table(fields):
    fmt = type(get_format("mxint8"))(name="fixed", **fields)
    rows = tables.rows(fmt)
    codes = [int(row.code, 16) for row in rows]
    assert {0, 1, (1 << fmt.bits) - 1, 1 << (fmt.bits - 1), (1 << (fmt.bits - 1)) - 1} <= set(codes)
    assert [float.fromhex(row.value) for row in rows] == fmt.decode(codes).tolist()


def test_formats_of_the_user_can_be_written(tmp_path):
    tables.write(tmp_path, [EVERY["ue5m3"], EVERY["e4m3inf"]])
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["e4m3inf.csv", "manifest.yaml", "ue5m3.csv"]
    assert (tmp_path / "ue5m3.csv").read_text().splitlines()[1:3] == [
        "0x00,zero,0,-14,0,0x0.0p+0",
        "0x01,subnormal,0,-14,1,0x1.0000000000000p-17",
    ]
    assert (tmp_path / "e4m3inf.csv").read_text().splitlines()[127:129] == [
        "0x7e,infinity,0,0,0,inf",
        "0x7f,nan,0,0,0,nan",
    ]


def test_the_module_runs_as_a_program(tmp_path):
    run = [sys.executable, "-m", "hwsim.formats.tables"]
    assert subprocess.run([*run, tmp_path / "codecs", "e4m3", "e5m6"], check=False).returncode == 0
    assert (tmp_path / "codecs" / "e4m3.csv").read_bytes() == (FOLDER / "e4m3.csv").read_bytes()
    assert (tmp_path / "codecs" / "e5m6.csv").read_text() == whole("e5m6")
    assert tables.main(["--landmarks", str(tmp_path / "codecs"), "e5m6"]) == 0
    assert (tmp_path / "codecs" / "e5m6.csv").read_bytes() == (FOLDER / "e5m6.csv").read_bytes()
    bare = subprocess.run(run, check=False, capture_output=True, text=True)
    usage = "usage: python -m hwsim.formats.tables [--landmarks] DIR [FORMAT ...]\n"
    assert (bare.returncode, bare.stderr) == (2, usage)
