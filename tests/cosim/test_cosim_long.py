"""Results of more than 64 bits: the RTL against exact rationals, the port's words, and the files of a job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cosim.plays import bulk_outcomes, design_of, nothing, recorded, stream
from model.witness_numbers import Form, fixed, read
from odd_units import unit

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.bench import PortField, words_of
from hwsim.cosim.design import Suite
from hwsim.spec import pipeline
from hwsim.tb.job import (
    COPY,
    FLAG,
    LOST,
    UNKNOWN,
    ExtraOutputs,
    SuiteOutcome,
    read_answers,
    read_script,
    write_answers,
    write_job,
)
from hwsim.tb.order import ExtraOutputsBoard

UNIT = unit("long-73")
RESULT = Form(0, 32, 0, "fixed", 73)


def by_rationals(case: Case) -> int:
    products = (
        read("e5m2-finite", a).value * read("e5m2-finite", b).value for a, b in zip(case.a, case.b, strict=True)
    )
    return fixed(RESULT, sum(products) + read("fixed73", case.c).value, "rne", "wrap")


def cases() -> list[Case]:
    return [*random_cases(UNIT, 300, 3), *directed(UNIT, 3)[::20]]


def outcome_of(expected: list[int]) -> SuiteOutcome:
    play = design_of(UNIT).play(Suite("suite", tuple(cases()), tuple(expected)), stream(), nothing)
    (outcome,) = bulk_outcomes(design_of(UNIT), [play])
    return outcome


@pytest.mark.simulator
def test_the_rtl_has_every_bit_of_exact_rationals(verilator: None) -> None:
    expected = [by_rationals(case) for case in cases()]
    assert {code >> 64 for code in expected} >= {0, 0x1FF, 0x100, 0xFF}
    outcome = outcome_of(expected)
    assert (outcome.mismatches, outcome.results) == ([], len(expected))
    for bit in (0, 63, 72):
        wrong = [*expected]
        wrong[100] ^= 1 << bit
        assert [mismatch.got ^ mismatch.expected for mismatch in outcome_of(wrong).mismatches] == [1 << bit]


@pytest.mark.parametrize("offset", [0, 1, 31, 33])
@pytest.mark.parametrize("bits", [63, 64, 65, 73, 200])
def test_a_field_of_any_width_is_taken(bits: int, offset: int) -> None:
    field, values = PortField("result", offset, bits), [0, 1, 1 << bits - 1, (1 << bits) - 1]
    low = (1 << offset) - 1
    words = words_of([field.place([value]) | low for value in values], -(-(offset + bits) // 32))
    assert field.take(words).tolist() == values


def test_the_files_of_a_job_keep_every_bit(tmp_path: Path) -> None:
    play = recorded(UNIT, pipeline(UNIT), random_cases(UNIT, 40, 1))
    write_job(tmp_path, [play.script], 100)
    again = read_script(tmp_path, 0, play.script.name)
    assert again.results.tolist() == play.script.results.tolist()
    codes = [1 << 72, 5, UNKNOWN, LOST, (1 << 73) - 1]
    write_answers(tmp_path, 0, codes, b"")
    assert read_answers(tmp_path, 0)[0].tolist() == codes


def test_copies_of_long_results_are_compared_in_every_bit(tmp_path: Path) -> None:
    bits, codes = 73, [(1 << 72) + 5, 3]
    whole = np.array([[(1 << bits) - 1, 1]] * 2, object)
    flags = np.array([[code, 1] for code in codes], object)
    extra = ExtraOutputs(np.array(["copy", "inexact"]), np.array([COPY, FLAG]), np.array([bits, 1]), flags, whole)
    play = recorded(UNIT, pipeline(UNIT), random_cases(UNIT, 40, 1))
    write_job(tmp_path, [replace(play.script, extra=extra)], 100)
    again = read_script(tmp_path, 0, play.script.name).extra
    assert again is not None
    assert (again.expected.tolist(), again.mask.tolist()) == (flags.tolist(), whole.tolist())
    board = ExtraOutputsBoard(again, lambda index, code: False)
    assert not list(board.wrong(0, 1 << bits | codes[0]))
    assert list(board.wrong(0, 1 << bits | 5)) == [(COPY, "copy", 5, codes[0])]
    assert list(board.wrong(1, 3)) == [(FLAG, "inexact", 0, 1)]
