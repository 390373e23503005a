"""What commands print, as JSON: the same as their tables and lines."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cli.cli_run import Run
from uncounted import uncounted  # noqa: F401  a fixture

from hwsim.formats import get_format
from hwsim.spec import load_specified, matching, presets

TINY = """unit: tiny
operands: {a: e2m1, b: e2m1, addend: none}
instruction: {k: 2, lanes: 2}
sum: {method: aligned, fraction_bits: 6, lost: truncate}
result: {format: e5m2, rounding: rz}
"""


def printed(run: Run, *words: str, status: int = 0) -> Any:
    done = run(*words, "--json")
    assert done.status == status, done.err
    return json.loads(done.out)


def test_every_unit_is_listed_by_itself(run: Run) -> None:
    listed = printed(run, "units")
    assert {unit["name"] for unit in listed} >= set(presets())
    shown = [unit["name"] for unit in printed(run, "units", "hopper-*-f16")]
    assert shown == list(matching("hopper-*-f16", sparse=True))


@pytest.mark.parametrize("name", ["hopper-wgmma-e4m3-f32", "mx-any"])
def test_a_unit_has_its_keys_and_sentences(run: Run, name: str) -> None:
    shown = printed(run, "units", name)
    assert type(load_specified(name)).model_validate(shown["keys"]) == load_specified(name)
    assert [f"# {sentence}" for sentence in shown["sentences"]] == [
        line for line in run("units", name).out.splitlines() if line.startswith("# ")
    ]


def test_codes_of_a_format_are_what_it_decodes(run: Run) -> None:
    fmt, shown = get_format("e5m2"), printed(run, "formats", "e5m2")
    assert [float(text) for text in shown["codes"].values() if "nan" not in text.lower()] == [
        value for value in fmt.decode(range(256)).tolist() if value == value
    ]
    assert {row["name"] for row in printed(run, "formats")} >= {"e4m3", "e8m0", "f32"}


def test_codes_and_values_have_the_cells_of_the_tables(run: Run) -> None:
    for words in (("encode", "e4m3", "1.3", "1/3"), ("decode", "f32", "0x7f800000", "1")):
        cells = [re.split(r"\s{2,}", line.strip()) for line in run(*words).out.splitlines()[1:]]
        assert [[cell for cell in row.values() if cell] for row in printed(run, *words)] == cells


def test_tables_and_lines_are_one_object(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    unit, folder = str(tmp_path / "tiny.yaml"), str(tmp_path / "v")
    made = printed(run, "vectors", unit, "-o", folder, "--cases", "20")
    assert made["tables"][0][0] == {"part": "smoke", "cases": "20", "column 2": ""}
    assert made["lines"][-1] == f"again: hwsim vectors {unit} --suite smoke --cases 20 --seed 1 -o {folder}"
    results = (tmp_path / "v/expected.hex").read_text().split()
    (tmp_path / "right.hex").write_text("\n".join(results))
    (tmp_path / "wrong.hex").write_text("\n".join(["7f", *results[1:]]))
    assert printed(run, "check", folder, str(tmp_path / "right.hex"))["lines"][0].startswith("all equal: ")
    # What a command that fails has said is there, too.
    assert printed(run, "check", folder, str(tmp_path / "wrong.hex"), status=1)["lines"][0].startswith("1 wrong: ")


def test_an_error_is_a_line_and_no_json(run: Run, tmp_path: Path) -> None:
    done = run("check", str(tmp_path), "results.hex", "--json")
    assert (done.status, done.out) == (2, "")
