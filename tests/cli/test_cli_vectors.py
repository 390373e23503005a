"""`hwsim vectors` and `hwsim check`, as they are typed."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from cli.cli_run import fails
from patience import LIMIT

from hwsim.cosim.vectors.check import stored
from hwsim.spec import load_unit

TINY = """unit: tiny-e2m1-f16
operands: {a: e2m1, b: e2m1, addend: f16}
instruction: {k: 4, lanes: 4}
sum: {method: aligned, fraction_bits: 3, lost: truncate}
result: {format: f16, rounding: rz}
"""


@pytest.fixture
def unit(here):
    (here / "tiny.yaml").write_text(TINY)
    (here / "unsigned.yaml").write_text(TINY.replace("a: e2m1", "a: ue4m3"))
    return "tiny.yaml"


def answered(folder: str, **changes: Any) -> list[str]:
    """What a device answers that follows the unit with other settings of its sum."""
    known = stored(folder)
    data = known.unit.model_dump(mode="json", exclude_unset=True)
    data["sum"] |= changes
    Path("device.yaml").write_text(json.dumps(data))
    from hwsim.model.definition import Definition

    device = Definition(load_unit("device.yaml"))
    cases = (known.case(number) for number in range(known.cases))
    return [f"{number} {device.dot(case.a, case.b, case.c).code:#x}" for number, case in enumerate(cases)]


def test_a_set_is_made_and_what_it_expects_passes(run, unit):
    done = run("vectors", unit, "-o", "set", "--cases", "700", "--stages")
    assert done.status == 0
    assert "set: 700 cases on" in done.out
    assert "again: hwsim vectors tiny.yaml --suite smoke --cases 700 --seed 1 --stages -o set" in done.out
    files = {path.name for path in Path("set").iterdir()}
    assert files == {
        ".hwsim-vectors", "manifest.yaml", "operands.hex", "expected.hex", "partial.hex", "stages.hex", "cases.txt",
        "cases.jsonl",
        "cases.npz", "gemm", "codecs", "unit.yaml", "vectors_pkg.sv", "replay_dut.sv", "replay_tb.sv",
    }  # fmt: skip
    done = run("check", "set", "set/expected.hex")
    first, likely = done.out.splitlines()
    assert (done.status, first) == (0, "all equal: 700 of 700 results compared, smoke of tiny-e2m1-f16")
    assert likely.startswith("the first 700 cases: kills ") and "likely mistakes" in likely
    assert len(np.load("set/cases.npz")["result"]) == 700


EXPLAINS = r"explains ([\d,]+) of \1 wrong results looked at and agrees with [\d,]+ results that match:"


READINGS = [({"lost": "floor"}, "lost bits floored"), ({"fraction_bits": 2}, "2 fraction bits")]


@pytest.mark.parametrize(("changes", "named"), others_slow(READINGS, READINGS[:1]))
def test_a_wrong_reading_is_named(run, unit, changes, named):
    run("vectors", unit, "-o", "set", "--cases", "600")
    Path("results.txt").write_text("\n".join(answered("set", **changes)))
    done = run("check", "set", "results.txt", "--report", "found")
    assert done.status == 1
    first, explained, cause = done.out.splitlines()[:3]
    assert first.endswith("wrong: 600 of 600 results compared, smoke of tiny-e2m1-f16")
    assert re.fullmatch(EXPLAINS, explained)
    assert cause.startswith(f"  {named}: ")
    assert "expected 0x" in done.out
    explain = next(line for line in done.out.splitlines() if "every stage: hwsim explain set/unit.yaml" in line)
    assert run(*explain.split()[3:]).status == 0
    report = json.loads(Path("found/results.json").read_text())
    assert report["summary"]["mismatches"] == int(first.split()[0])
    assert report["kinds"][0]["causes"][0]["name"] == named
    assert report["summary"]["bins_hit"] > 100
    assert "<html" in Path("found/report.html").read_text()


def test_results_that_nothing_explains_are_said_to_be_that(run, unit):
    run("vectors", unit, "-o", "set", "--cases", "300")
    codes = [int(line, 16) for line in Path("set/expected.hex").read_text().split()]
    Path("results.hex").write_text("\n".join(f"{code ^ (number * 7 & 0xFF):04x}" for number, code in enumerate(codes)))
    done = run("check", "set", "results.hex")
    assert done.status == 1
    unnamed = re.findall(r"^nothing known explains (\d+) of 298 wrong results looked at", done.out, re.MULTILINE)
    assert sum(map(int, unnamed)) == 298  # by what is expected and what came


def test_missing_results_are_a_failure(run, unit):
    run("vectors", unit, "-o", "set", "--cases", "300")
    Path("results.hex").write_text("\n".join(Path("set/expected.hex").read_text().split()[:200]))
    done = run("check", "set", "results.hex")
    assert done.status == 1
    assert "0 wrong: 200 of 300 results compared" in done.out
    assert "missing: 100 results, the first of them that of" in done.out
    assert "the last one that came is at line 200" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("vectors", "tiny.yaml", "-o", "set", "--suite", "all"),
            "unknown suite 'all'; there are smoke, standard, soak",
        ),
        (("vectors", "tiny.yaml", "-o", "set", "--format", "hex,csv"), "--format must be of hex, text, json, npz"),
        (("vectors", "tiny.yaml", "-o", "set", "--format", "npz"), "--format must name hex"),
        (("vectors", "tiny.yaml", "-o", "set", "--cases", "0"), "Invalid value for '--cases'"),
        (("vectors", "tiny.yaml", "-o", "-", "--stages"), "--format and --stages go with a folder"),
        (("vectors", "no-such-unit", "-o", "set"), "unknown unit 'no-such-unit'"),
        (("vectors", "tiny.yaml", "-o", "tiny.yaml"), "tiny.yaml is a file, which stays as it is"),
        (("vectors", "tiny.yaml", "-o", "."), "holds tiny.yaml, which `hwsim vectors` did not write"),
        (("vectors", "unsigned.yaml", "-o", "set"), "unit tiny-e2m1-f16: unsigned factors is not implemented yet"),
        (("check", ".", "tiny.yaml"), "holds no vector set: there is no manifest"),
        (("check", "-", "tiny.yaml"), "-:1: must be `# hwsim vectors 1`"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(run, unit, arguments, message):
    fails(run(*arguments), message)


def test_results_that_are_no_text_are_refused(run, unit):
    run("vectors", unit, "-o", "set", "--suite", "random", "--cases", "10")
    Path("results.bin").write_bytes(b"\x80\x01")
    fails(run("check", "set", "results.bin"), r"results.bin must be text: line 1 has the byte 0x80")
    Path("results.hex").write_text("12\nfoo\n")
    fails(run("check", "set", "results.hex"), r"results.hex:2: 'foo' is not hexadecimal")
    fails(run("check", "set", "nothing"), "nothing: No such file")


DEVICE = """
import sys
for line in sys.stdin:
    print(line.rstrip() if line[0] == "#" else line.rstrip() + " 0000")
"""


@pytest.mark.slow
def test_a_pipe_from_end_to_end(here, unit):
    """In processes of their own, a device that always returns 0 between them."""
    hwsim = [sys.executable, "-m", "hwsim"]
    made = subprocess.run(
        [*hwsim, "vectors", unit, "-o", "-", "--suite", "random", "--cases", "50"], capture_output=True, check=True
    )
    back = subprocess.run([sys.executable, "-c", DEVICE], input=made.stdout, capture_output=True, check=True)
    check = [*hwsim, "check", "-", "-", "--report", "found"]
    done = subprocess.run(check, input=back.stdout, capture_output=True, check=False)
    assert done.returncode == 1
    # The command on the page needs what came through the pipe, and the page says so.
    assert "The results came through a pipe" in Path("found/report.html").read_text()
    assert b"50 of 50 results compared" in done.stdout
    early = subprocess.Popen(
        [*hwsim, "vectors", unit, "-o", "-", "--suite", "random", "--cases", "3000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert early.stdout is not None and early.stderr is not None
    early.stdout.read(200)
    early.stdout.close()
    assert (early.wait(timeout=LIMIT), early.stderr.read()) == (0, b"")
