import functools
import hashlib
import itertools
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import yaml
from formats.formats_witness import EVERY
from gfloat import decode_float
from gfloat import formats as gf

from hwsim.formats import formats, get_format, tables

FOLDER = Path(__file__).parents[2] / "vectors" / "codecs"
DTYPES = {
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "e8m0": ml_dtypes.float8_e8m0fnu,
    "mxint8": np.int8,
    "int8": np.int8,
    "i32": np.int32,
    "e4m3-ieee": ml_dtypes.float8_e4m3,
    "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz,
    "e3m4": ml_dtypes.float8_e3m4,
    "ue4m3": ml_dtypes.float8_e4m3fn,
    "ue8m0": ml_dtypes.float8_e8m0fnu,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    **dict.fromkeys(["tf32", "e8m13", "f32"], np.float32),
    "f64": np.float64,
}
GFLOAT = {
    "e4m3": gf.format_info_ocp_e4m3,
    "e5m2": gf.format_info_ocp_e5m2,
    "e3m2": gf.format_info_ocp_e3m2,
    "e2m3": gf.format_info_ocp_e2m3,
    "e2m1": gf.format_info_ocp_e2m1,
    "e8m0": gf.format_info_ocp_e8m0,
    "mxint8": gf.format_info_ocp_int8,
}


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


@pytest.mark.parametrize("name", formats())
def test_values_are_those_of_other_decoders(name):
    header, rows = table(name)
    assert header == ["code", "class", "sign", "exp", "sig", "value"]
    fmt = get_format(name)
    codes = np.array([int(row[0], 16) for row in rows], np.uint64 if fmt.bits == 64 else np.int64)
    values = np.array([float.fromhex(row[5]) for row in rows])
    if fmt.container_bits <= 16:
        assert codes.tolist() == list(range(1 << fmt.container_bits))
    assert np.array_equal(values, fmt.decode(codes), equal_nan=True)
    if name in GFLOAT:
        assert np.array_equal(values, [decode_float(GFLOAT[name], int(code)).fval for code in codes], equal_nan=True)
    if name in FORMULAS:
        assert np.array_equal(values, FORMULAS[name](codes), equal_nan=True)
        return
    with np.errstate(invalid="ignore"):
        container = f"u{max(1, fmt.container_bits // 8)}"
        theirs = codes.astype(container).view(DTYPES[name]).astype(np.float64) / (64 if name == "mxint8" else 1)
    assert np.array_equal(values, theirs, equal_nan=True)
    assert np.array_equal(np.signbit(values)[values == 0], np.signbit(theirs)[values == 0])


def at_every_binade(codes, fraction_bits, bias, nan):
    """Values of a format in which every biased exponent is an ordinary binade, all of code 0 excepted."""
    top = 1 << (7 if max(codes) < 256 else 15)
    magnitude, sign = codes & (top - 1), np.where(codes & top, -1.0, 1.0)
    size = (1 + magnitude % (1 << fraction_bits) / (1 << fraction_bits)) * 2.0 ** ((magnitude >> fraction_bits) - bias)
    return sign * np.where(magnitude == nan, np.nan, np.where(magnitude == 0, 0, size))


# Formats that no other decoder has: their definition, or a wider format's decoder with zeros below.
FORMULAS = {
    "e5m6": lambda codes: (codes << 4).astype(np.uint16).view(np.float16).astype(np.float64),
    "e3m4-finite": lambda codes: np.where(
        codes & 0x7F == 0x7F,
        np.nan,
        np.where(
            codes & 0x70 == 0x70,
            np.where(codes & 0x80, -1.0, 1.0) * (16 + codes % 16),
            codes.astype(np.uint8).view(ml_dtypes.float8_e3m4).astype(np.float64),
        ),
    ),
    "dlfloat16": lambda codes: at_every_binade(codes, 9, 31, 0x7FFF),
    "hfp8-e4m3": lambda codes: at_every_binade(codes, 3, 11, None),
    "hfp8-e5m2": lambda codes: at_every_binade(codes, 2, 15, 0x7F),
}


@pytest.mark.parametrize("name", formats())
def test_fields_make_the_value(name):
    unit = get_format(name).fraction_bits
    for code, cls, sign, exp, sig, value in table(name)[1]:
        if cls in ("nan", "infinity"):
            assert value == {"nan": "nan", "infinity": "-inf" if sign == "1" else "inf"}[cls], code
        else:
            want = float.fromhex(value)
            assert abs(want) == int(sig) * 2.0 ** (int(exp) - unit), code
            assert value.startswith("-") == (sign == "1"), code
            assert (cls == "zero") == (want == 0), code


@pytest.mark.parametrize("name", ["tf32", "e8m13", "f32"])
def test_boundary_codes_of_a_wide_format(name):
    fmt = get_format(name)
    codes = {int(row[0], 16) for row in table(name)[1]}
    step = 1 << fmt.padding
    wanted = {0, step, 0x00800000 - step, 0x00800000, 0x3F800000 - step, 0x3F800000, 0x7F800000 - step}
    wanted |= {0x7F800000, 0x7F800000 + step, 0x7FC00000, 0x7F800000 | (0x800000 - step)}
    wanted |= {bexp << 23 for bexp in range(256)} | {(bexp << 23) - step for bexp in range(1, 256)}
    assert wanted | {code | 0x80000000 for code in wanted} <= codes
    assert 0x7FFFFFFF in codes


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
