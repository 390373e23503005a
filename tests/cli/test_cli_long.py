"""Codes of more than 64 bits on the command line: words in files, and every digit shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
from cli.cli_run import Run, fails
from odd_units import ODD, unit
from unit_keys import FIXED73

import hwsim
from hwsim.base.arrays import from_words
from hwsim.cases.matrices import gemm_problem

UNIT = unit("long-73")


def test_a_product_in_files(run: Run, here: Path) -> None:
    Path("unit.yaml").write_text(json.dumps({**ODD["long-73"], "unit": "long-73"}))
    problem, c = gemm_problem(UNIT, 3, 2, 4, 1), np.zeros((3, 2, 2), np.uint64)
    c[0, 1], c[2, 0] = [7, 1 << 8], [0, 1]
    for name, array in (("a", problem.A), ("b", problem.B), ("c", c), ("short", c[..., :1])):
        np.save(f"{name}.npy", array)
    command = ["gemm", "unit.yaml", "a.npy", "b.npy", "-o", "d.npy", "--addend"]
    made = run(*command, "c.npy")
    assert made.status == 0, made.err
    assert "3 x 2 codes of 73 bits" in made.out
    assert (from_words(np.load("d.npy")) == hwsim.gemm(UNIT, problem.A, problem.B, from_words(c))).all()
    rule = "C must be uint64 (..., 2), words of fixed73 codes, not uint64 of shape (3, 2, 1)"
    fails(run(*command, "short.npy"), re.escape(rule))


def test_codes_and_values_in_all_their_digits(run: Run, here: Path) -> None:
    Path("long.yaml").write_text(json.dumps(FIXED73))
    made = run("encode", "./long.yaml", "1/3", "--", "-1e300").out
    assert "0x0000000000055555555  0.3333333332557231  rounded down" in made
    assert "0x1000000000000000000      -1099511627776  rounded up" in made
    shown = run("decode", "./long.yaml", "0x0ffffffffffffffffff").out
    assert f"{(1 << 72) - 1} * 2^-32" in shown
    assert f"-1099511627776 to {(1 << 72) - 1} * 2^-32, in steps of 2^-32" in run("formats", "./long.yaml").out
    low = {"name": "low", "kind": "fixed", "integer_bits": 9, "fraction_bits": -2}
    Path("low.yaml").write_text(json.dumps(low))
    assert "-512 to 508, in steps of 2^2" in run("formats", "./low.yaml").out
    assert "1 * 2^2" in run("decode", "./low.yaml", "1").out
