"""Broken files and odd options are each answered with one line that names what is wrong, and leave nothing behind."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import yaml
from built_presets import others_slow
from cli.cli_run import Run, fails
from cli.small_files import STUDY, UNIT
from patience import LIMIT
from pydantic import TypeAdapter
from uncounted import uncounted  # noqa: F401  a fixture

from hwsim.base.errors import InputError
from hwsim.base.resources import GIB, Cost, demand_disk, duration, free_memory, size
from hwsim.cosim.campaign.file import CampaignFile
from hwsim.cosim.dutfile import DutFile
from hwsim.formats.yamlfile import PATTERNS
from hwsim.spec import Unit
from hwsim.study.plan import Study

GEMM = "gemm hopper-wgmma-e4m3-f32 a.{} b.npy -o d.npy"
LONG = "9" * 5000  # more digits than Python converts
HUGE_SCALE = f"[{{unit: hopper-wgmma-e4m3-f32, scaling: {{rule: tensor, scale: 1{'0' * 400}}}}}]"
NPY, UNITS, DRY = GEMM.format("npy"), "units u.yaml", "study s.yaml --dry-run"
NO_ARRAY, NO_HEADER = "a.npy: cannot be read as a .npy file", "a.npy: .*its header is no description"
PLAY = "cosim --dut dut.yaml -o out"
COMPLEX = "{'descr': '<c8', 'fortran_order': True, 'shape': (4, 8)}\n"


def npy(header: str, data: bytes = b"") -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def array(shape: str) -> bytes:
    return npy(f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}}}\n", b"\0" * 256)


def tensor(**keys: object) -> bytes:
    held = {"dtype": "U8", "shape": [4, 32], "data_offsets": [0, 128], **keys}
    header = json.dumps({"a": held}).encode()
    return struct.pack("<Q", len(header)) + header + b"\0" * 128


def unit(old: str, new: str) -> dict[str, str | bytes]:
    return {"u.yaml": UNIT.replace(old, new)}


def study(old: str, new: str) -> dict[str, str | bytes]:
    return {"s.yaml": STUDY.replace(old, new)}


def design(unit: str) -> dict[str, str | bytes]:
    text = f"unit: {unit}\n" if "sources" in unit else f"unit: {unit}\nsources: [t.v]\n"
    ports = "top: t\nprotocol: {kind: combinational}\nports: {a: a, b: b, result: y}\n"
    return {"t.v": "module t(input [63:0] a, b, output [15:0] y); endmodule\n", "dut.yaml": text + ports}


# name, files, command, what the error says
CASES: list[tuple[str, dict[str, str | bytes], str, str]] = [
    (
        "comments without end",
        {"l.f": "/* " * 200_000},
        "dut-init -f l.f -o d.yaml",
        r"l.f:1: the comment .* has no end",
    ),
    ("error at the end", {"u.yaml": UNIT + "# c\n" * 500_000 + "a: [}\n"}, UNITS, r"u.yaml:500006: not YAML"),
    ("many values", {"u.yaml": UNIT + f"a: [{'1, ' * 300_000}]\n"}, UNITS, r"u.yaml:6: .* 100,000 values"),
    ("hexadecimal", unit("k: 8", f"k: 0x{'f' * 3_998}"), UNITS, r"u.yaml:3: instruction.k: .* 4,000 digits"),
    ("sexagesimal", unit("k: 8", f"k: {'59:' * 600}5.5"), UNITS, r"u.yaml:3: .* a float can hold"),
    ("code of many digits", {}, f"decode e4m3 0x{'f' * 3_998}", r"a code must have at most 4,000 digits in decimal"),
    ("underscore in a code", {}, "decode e4m3 1_0", r"a code must be an integer such as .*, not '1_0'"),
    ("digits before a letter", {}, f"encode e4m3 {'1' * 3_999}x", r"a value must be a number"),
    ("folder as a source", {"rtl/m.v": ""}, "dut-init rtl -o d.yaml", r"rtl: is a folder, not a source"),
    ("unit as a design", {"u.yaml": UNIT}, "cosim --dut u.yaml", r"u.yaml:1: is a unit, not a design"),
    ("empty unit", {"u.yaml": ""}, UNITS, r"u.yaml:1: must be a YAML mapping"),
    ("UTF-16", {"u.yaml": UNIT.encode("utf-16")}, UNITS, r"u.yaml: cannot be read: .*0xff"),
    ("NUL", {"u.yaml": UNIT + "\0"}, UNITS, r"u.yaml:1: not YAML: unacceptable character"),
    ("key twice", {"u.yaml": UNIT + "unit: x\n"}, UNITS, r"u.yaml:6: unit stands twice"),
    ("two documents", {"u.yaml": UNIT + "---\nx: 1\n"}, UNITS, r"u.yaml:6: not YAML: .*another document"),
    ("merge key", {"u.yaml": UNIT + "<<: {unit: x}\n"}, UNITS, r"u.yaml:6: << is not a key here"),
    ("tab", {"u.yaml": "unit: x\nsum:\n\ta: 1\n"}, UNITS, r"u.yaml:3: not YAML: .*cannot start any token"),
    ("true for 8", unit("k: 8", "k: true"), UNITS, r"u.yaml:3: instruction.k must be an integer, not True"),
    ("NaN for 8", unit("k: 8", "k: .nan"), UNITS, r"u.yaml:3: instruction.k must be an integer, not nan"),
    ("a date", unit("k: 8", "k: 2001-13-45"), UNITS, r"u.yaml:3: instruction.k: month must be in 1..12"),
    ("a path for a name", unit("small", "../x"), UNITS, r"u.yaml:1: unit must be of letters, .*not '../x'"),
    ("a folder for a format", unit("a: e5m2", "a: /"), UNITS, r"u.yaml:2: operands.a /: .*directory"),
    ("surrogate key", {"u.yaml": UNIT + '"\\ud800": 1\n'}, UNITS, r"u.yaml:1: .*\\ud800"),
    (
        "no character",
        unit("unit: small", 'unit: small\nsummary: "\\ud800"'),
        "export-c u.yaml -o c",
        r"u.yaml:2: summary",
    ),
    ("no room", {"u.yaml": UNIT}, "rtl u.yaml -o /dev/full", r"/dev/full: No space left on device"),
    ("output over the unit", {"u.yaml": UNIT}, "rtl u.yaml -o u.yaml", r"u.yaml.*(read from|another file)"),
    ("output is a file", {"u.yaml": UNIT, "f": ""}, "vectors u.yaml -o f", r"f is a file, which stays as it is"),
    ("name too long", {"u.yaml": UNIT}, f"rtl u.yaml -o {'n' * 300}", r"nnn: File name too long"),
    ("cases huge", {"u.yaml": UNIT}, f"vectors u.yaml -o v --cases {'9' * 30}", r"--cases|GiB"),
    ("seed too large", {"u.yaml": UNIT}, "vectors u.yaml -o v --seed 4294967296", r"--seed"),
    ("products huge", {"u.yaml": UNIT}, f"explain u.yaml --products {10**15}", r"GiB of memory|--products"),
    ("digits of a number", {}, f"encode e4m3 {LONG}", r"digits|a value must"),
    ("digits of a ratio", {}, f"encode e4m3 1/{LONG}", r"digits|a value must"),
    ("digits of a fraction", {}, f"encode e4m3 .{'0' * 5000}1", r"digits|a value must"),
    ("digits of a code", {}, f"decode e4m3 0x{'f' * 5000}", r"digits|e4m3 codes are 0 to 255"),
    ("complex", {"a.npy": npy(COMPLEX, b"\0" * 256)}, NPY, r"a.npy: must hold integers.* not complex64"),
    ("no axes", {"a.npy": array("()")}, NPY, r"a.npy: A must have shape \(..., M, K\), not \(\)"),
    ("K does not fit", {"a.npy": array("(4, 31)")}, NPY, r"b.npy: B must have shape \(..., 31, N\)"),
    ("cut", {"a.npy": array("(4, 65)")}, NPY, r"a.npy: .*its header promises 260 bytes"),
    ("header of brackets", {"a.npy": npy("(" * 9000)}, NPY, NO_ARRAY),
    ("a folder", {"a.npy/x": ""}, NPY, r"a.npy: Is a directory"),
    ("no zip", {"a.npz": b"PK\3\4"}, GEMM.format("npz"), r"a.npz: cannot be read as a .npz file"),
    (
        "tensor cut",
        {"a.safetensors": tensor(data_offsets=[0, 256])},
        GEMM.format("safetensors"),
        r"a.safetensors: cannot",
    ),
    (
        "tensor of truths",
        {"a.safetensors": tensor(dtype="BOOL")},
        GEMM.format("safetensors"),
        r"a.safetensors: .*not BOOL",
    ),
    ("output over A", {"a.npy": array("(4, 32)")}, NPY.replace("d.npy", "a.npy"), r"--output a.npy is where"),
    ("study without units", study("[hopper-wgmma-e4m3-f32]", "[]"), DRY, r"s.yaml:6: units"),
    ("NUL in a study", study("[hopper-wgmma-e4m3-f32]", '["a\\0.yaml"]'), DRY, r"s.yaml:6: units|a.*yaml"),
    ("scale huge", study("[hopper-wgmma-e4m3-f32]", HUGE_SCALE), DRY, r"s.yaml:6: .*scal"),
    ("digits of a length", study("", ""), f"study s.yaml --length {LONG} --dry-run", r"length"),
    (
        "a unit that is not there",
        study("hopper-wgmma-e4m3-f32", "missing.yaml"),
        DRY,
        r"s.yaml:6: units.0.unit: .*No such",
    ),
    ("a size beyond floats", {"s.yaml": STUDY.replace("rows: 2", f"rows: 1{'0' * 400}")}, DRY, r"s.yaml:\d+: rows"),
    ("a design's unit", design("hoper"), PLAY, r"dut.yaml:1: unit: unknown unit 'hoper'"),
    ("a design's unit's file", design("u.yaml"), PLAY, r"dut.yaml:1: unit: u.yaml: cannot be read: No such file"),
    ("a long source", design(f"int8-i32\nsources: [{'n' * 300}]"), PLAY, r"dut.yaml:2: sources.0 is no file: /.*nnn"),
    ("a long folder", design(f"int8-i32\ninclude: [{'n' * 300}]"), PLAY, r"dut.yaml:2: include.0 is no folder: /.*nnn"),
    ("sum in a header", {"a.npy": array("(4 * 2, 8)")}, NPY, NO_HEADER),
    ("key in a header", {"a.npy": array("(8, 8), None: 1")}, NPY, NO_HEADER),
    ("blanks in a header", {"a.npy": array(f"(8,){' ' * 20_000}")}, NPY, NO_HEADER),
    ("no elements", {"a.npy": array("(1099511627776, 1073741824, 0)")}, NPY, r".* no array can have"),
    ("empty array", {"a.npy": ""}, NPY, NO_ARRAY),
    ("version of an array", {"a.npy": b"\x93NUMPY\x09\x00"}, NPY, NO_ARRAY),
    ("objects", {"a.npy": npy(COMPLEX.replace("<c8", "|O"), b"x")}, NPY, NO_ARRAY),
    ("negative axis", {"a.npy": array("(-1, 4)")}, NPY, NO_ARRAY),
    ("no dtype", {"a.npy": npy(COMPLEX.replace("<c8", "nonsense"))}, NPY, NO_ARRAY),
    ("huge axes", {"a.npy": array(f"({10**9}, {10**9})")}, NPY, r"header promises .*000,000,000 bytes"),
    ("huge instruction", unit("k: 8", f"k: {10**21}"), UNITS, r"u.yaml:3: instruction.k must be .* 65536"),
    ("huge range", {}, "study --unit int8-i32 --grid k=0:99999999999 -o s", r"a range must have at most 10,000"),
    ("a set that is a file", {"r": "0\n"}, "check r r", r"r holds no vector set: there is no manifest.yaml"),
]


@pytest.mark.parametrize(("files", "command", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_it_is_refused_in_a_line(
    run: Run, here: Path, files: dict[str, str | bytes], command: str, message: str
) -> None:
    files = {"b.npy": array("(32, 4)"), **files}
    for name, content in files.items():
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    before = sorted(here.rglob("*"))
    if "--cases 999" in command:  # what does not end must not hold up the others
        fails_alone(command, message)
    else:
        fails(run(*shlex.split(command)), message)
    assert sorted(here.rglob("*")) == before
    assert all((here / name).read_bytes() == (c if isinstance(c, bytes) else c.encode()) for name, c in files.items())


def alone(command: str, redirect: str = "") -> subprocess.CompletedProcess[str]:
    """hwsim in a process of its own, with redirections."""
    line = f"exec {shlex.quote(sys.executable)} -m hwsim {command} {redirect}"
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=LIMIT, check=False)


def fails_alone(command: str, message: str) -> None:
    done = alone(command)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and message.split("|")[0] in done.stderr, done


def test_a_deep_document_is_refused(here: Path) -> None:
    Path("u.yaml").write_text("a: " + "[" * 100_000)
    done = alone("units u.yaml")
    assert done.returncode == 2 and done.stderr == "error: u.yaml:1: must not be nested more than 50 deep\n", done


@pytest.mark.parametrize("redirect", [">/dev/full", ">&-"])
def test_an_output_that_takes_nothing_is_no_defect(here: Path, redirect: str) -> None:
    done = alone("units", redirect)
    assert done.returncode in (0, 1, 2) and "defect" not in done.stderr and "Traceback" not in done.stderr, done


def encrypted(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + at] |= 1
    path.write_bytes(data)


def another_method(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        data[data.index(mark) + at] = zipfile.ZIP_BZIP2
    path.write_bytes(data)


def half_of_it(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:60] + data[data.index(b"PK\x01\x02") :])


def lzma_damaged(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.npy", array("(4, 32)"))
    data = bytearray(path.read_bytes())
    data[44] ^= 0xFF  # of the filter's properties
    path.write_bytes(data)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def twice_in_it(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("a.npy", array("(4, 32)"))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("broken", [encrypted, another_method, half_of_it, lzma_damaged, twice_in_it])
def test_an_archive_that_cannot_be_read_is_refused(run: Run, here: Path, broken: object) -> None:
    Path("b.npy").write_bytes(array("(32, 4)"))
    with zipfile.ZipFile("a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", array("(4, 32)"))
    assert callable(broken)
    broken(Path("a.npz"))
    fails(run(*GEMM.format("npz").split()), r"a.npz")
    assert not Path("d.npy").exists()


def test_a_member_larger_than_memory_is_refused(run: Run, here: Path) -> None:
    Path("b.npy").write_bytes(array("(32, 4)"))
    with zipfile.ZipFile("a.npz", "w") as archive:
        archive.writestr("a.npy", array(f"(4, {1 << 46})"))
        archive.filelist[0].file_size = 1 << 49
    fails(run(*GEMM.format("npz").split()), r"a.npz: .*(memory|cannot be read)")


@pytest.fixture
def vectors(run: Run, here: Path) -> list[str]:
    """A small set in v; its expected results."""
    Path("u.yaml").write_text(UNIT)
    assert run("vectors", "u.yaml", "-o", "v", "--suite", "random", "--cases", "20").status == 0
    return Path("v/expected.hex").read_text().split()


@pytest.mark.parametrize("end", others_slow(["\n", "\r\n", "\r", "\n\n", "  # right\n"], ["\r", "  # right\n"]))
def test_results_in_other_lines_are_the_same(run: Run, vectors: list[str], end: str) -> None:
    for text in (end.join(vectors), end.join(vectors).upper() if "#" not in end else end.join(vectors)):
        Path("r").write_bytes(text.encode())
        assert run("check", "v", "r").status == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\xff\xfe0\0", r"r must be text: line 1 has the byte 0xff"),
        (b"\x1f\x8b\x08", r"r must be text"),
        (b"7c00\0\n", r"r:1: .*is not hexadecimal"),
        (b"-001\n", r"r:1: '-001' is not hexadecimal"),
        (b"1" + b"0" * 50, r"r:1: .*has more than the 16 bits"),
        (b"0\n" * 21, r"r:21: a result too many: there are 20 cases"),
        (b"0 0\n0 0\n", r"r:2: .* was there before"),
        (LONG.encode() + b" 0\n", r"r:1: .*(20 cases|no case)"),
    ],
)
def test_results_that_cannot_be_read_are_refused(run: Run, vectors: list[str], text: bytes, message: str) -> None:
    Path("r").write_bytes(text)
    fails(run("check", "v", "r"), message)


def test_results_in_no_file_are_refused(run: Run, vectors: list[str]) -> None:
    fails(run("check", "v", ""), r"RESULTS|No such file")


def test_a_closed_input_is_no_defect(vectors: list[str]) -> None:
    done = alone("check v -", "<&-")
    assert done.returncode in (1, 2) and "defect" not in done.stderr, done


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("cases", 10**12, r"expected.hex must have|manifest.yaml:\d+: cases"),
        ("cases", "many", r"manifest.yaml:\d+: cases must be an integer, not 'many'"),
        ("unit", None, r"manifest.yaml:\d+: unit is missing"),
        (
            "coverage",
            {"cases": 20, "groups": {"G1": 5}},
            r"manifest.yaml:\d+: coverage.groups.G1 must be a mapping .* not 5",
        ),
        ("files", {}, r"manifest.yaml:\d+: files must name operands.hex"),
    ],
)
def test_a_manifest_that_was_changed_is_refused(
    run: Run, vectors: list[str], key: str, value: object, message: str
) -> None:
    path = Path("v/manifest.yaml")
    manifest = {**yaml.safe_load(path.read_text()), key: value}
    path.write_text(yaml.safe_dump({name: kept for name, kept in manifest.items() if kept is not None}))
    fails(run("check", "v", "v/expected.hex"), f"v/({message})")


@pytest.mark.parametrize("names", [b"", b"one\ntwo\n", b"\xff\xfe\0\n" * 20])
def test_names_of_other_cases_are_refused(run: Run, vectors: list[str], names: bytes) -> None:
    Path("v/cases.txt").write_bytes(names)
    Path("r").write_text("\n".join(["0001", *vectors[1:]]))
    fails(run("check", "v", "r"), r"v/cases.txt")


@pytest.mark.parametrize("name", ["expected.hex", "operands.hex"])
def test_lines_that_are_no_digits_are_refused(run: Run, vectors: list[str], name: str) -> None:
    path, manifest = Path("v", name), Path("v/manifest.yaml")
    path.write_bytes(b"zz" + path.read_bytes()[2:])
    data = yaml.safe_load(manifest.read_text())
    data["files"][name]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(yaml.safe_dump(data))
    Path("r").write_text("\n".join(["0001", *vectors[1:]]))
    fails(run("check", "v", "r"), f"v/{name}")


DUT = """unit: {unit}
sources: [{source}]
include: [{include}]
top: t
clock: clk
protocol: {{kind: latency, cycles: {cycles}}}
ports: {{a: "{a}", b: b, result: y}}
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": '"a\\0b"'}, r"dut.yaml:2: sources.0"),
        ({"include": '"a\\0b"'}, r"dut.yaml:3: include"),
        ({"unit": '"a\\0b.yaml"'}, r"dut.yaml:1: unit|a.*b.yaml"),
        ({"include": "no_folder"}, r"dut.yaml:3: include.0 is no folder"),
        ({"include": "t.v"}, r"dut.yaml:3: include.0 is no folder"),
        ({"cycles": "1000000"}, r"dut.yaml:6: protocol.cycles must be less than or equal to 4096, not 1000000"),
        ({"source": "missing.v"}, r"dut.yaml:2: sources.0 is no file"),
        ({"cycles": "-1"}, r"dut.yaml:6: protocol.cycles must be greater than or equal to 0, not -1"),
        ({"a": "a[0"}, r"dut.yaml:7: ports.a"),
    ],
)
def test_a_design_is_refused(run: Run, here: Path, change: dict[str, str], message: str) -> None:
    Path("u.yaml").write_text(UNIT)
    Path("t.v").write_text("module t(input clk, input [63:0] a, b, output [15:0] y); endmodule\n")
    keys = {"unit": "u.yaml", "source": "t.v", "include": ".", "cycles": "1", "a": "a", **change}
    Path("dut.yaml").write_text(DUT.format(**keys))
    fails(run("cosim", "--dut", "dut.yaml", "--sim", "icarus", "-o", "out"), message)
    assert not os.path.exists("out")


@pytest.mark.parametrize("text", ["", "module t(", "entity t is end;", '`include "t.v"\nmodule t; endmodule'])
def test_a_source_that_is_no_verilog_is_refused(run: Run, here: Path, text: str) -> None:
    Path("t.v").write_text(text)
    fails(run("dut-init", "t.v", "-o", "d.yaml"), r"t.v")
    assert not Path("d.yaml").exists()


def test_an_archive_of_two_arrays_asks_for_a_name(run: Run, here: Path) -> None:
    np.savez("a.npz", x=np.zeros((4, 32), np.uint8), y=np.zeros(1))
    Path("b.npy").write_bytes(array("(32, 4)"))
    fails(run(*GEMM.format("npz").split()), r"a.npz: holds 2 arrays, name one, as a.npz:x: x, y")


@pytest.mark.parametrize("threads", ["0", "-1"])
def test_a_number_of_threads_that_cannot_be_is_no_defect(
    here: Path, monkeypatch: pytest.MonkeyPatch, threads: str
) -> None:
    Path("a.npy").write_bytes(array("(256, 256)")[:-256] + b"\0" * 65536)
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    done = alone("gemm hopper-wgmma-e4m3-f32 a.npy a.npy -o d.npy")
    assert done.returncode == 2 and "NUMBA_NUM_THREADS" in done.stderr and done.stderr.count("\n") == 1, done


def patterns(model: type) -> set[str]:
    """The patterns that the keys of a model have, in models inside too."""
    return set(re.findall(r'"pattern": ("(?:[^"\\]|\\.)*")', json.dumps(TypeAdapter(model).json_schema())))


@pytest.mark.parametrize("model", [Unit, DutFile, CampaignFile, Study], ids=lambda one: one.__name__)
def test_no_pattern_is_shown_to_people(model: type) -> None:
    found = {json.loads(one) for one in patterns(model)}
    assert found and found <= set(PATTERNS)


def test_what_takes_more_memory_than_there_is_is_refused_before_it_begins(run: Run, here: Path) -> None:
    path = "u.yaml"
    Path(path).write_text(UNIT.replace("k: 8, lanes: 8", "k: 65536, lanes: 65536"))
    for command in (("rtl", path, "-o", "x.v"), ("vectors", path, "-o", "v"), ("vectors", path, "-o", "-")):
        done = run(*command)
        assert done.status == 2 and "GiB of memory, and " in done.err and "takes less" in done.err, command
    assert [path.name for path in Path().iterdir()] == ["u.yaml"]


def test_what_takes_long_is_announced(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hwsim.base.resources.LONG", 0.001)
    Path("u.yaml").write_text(UNIT)
    done = run("rtl", "u.yaml", "-o", "x.v")
    assert done.status == 0 and done.err.startswith("note: the Verilog of 8 lanes takes about ")


def test_a_result_that_finds_no_room_is_refused_before_it_is_computed(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save("a.npy", np.zeros((64, 64), np.uint8))
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    done = run("gemm", "hopper-wgmma-e4m3-f32", "a.npy", "a.npy", "-o", "d.npy")
    assert done.status == 2 and done.err.startswith("error: d.npy: takes 16 KiB, and 1 KiB are free in ")
    assert not Path("d.npy").exists()


def test_costs_are_said_in_words() -> None:
    assert Cost("work", 0, 29).demand() is None
    assert Cost("work", 0, 300).demand() == "work takes about 5 minutes"
    with pytest.raises(InputError, match=r"work takes about 9,313 GiB of memory, and .* are free; take less"):
        Cost("work", 1e13, instead="take less").demand()
    assert [duration(s) for s in (59, 130, 9_000, 1e6)] == ["59 seconds", "2 minutes", "2 hours", "12 days"]
    assert [size(b) for b in (2048, 3 << 20, 1.5 * GIB)] == ["2 KiB", "3.0 MiB", "1.5 GiB"]
    assert 0 < free_memory() < 1 << 50
    with pytest.raises(InputError, match=r"x: takes 1,073,741,824 GiB, and .* are free in "):
        demand_disk(Path("no/such/folder/x"), 1 << 60)
