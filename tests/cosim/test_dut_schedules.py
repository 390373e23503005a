"""Schedules of serial protocols in DUT.yaml: what is refused, in words that name the key; and elements as words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cosim.dut_files import design
from hypothesis import given
from hypothesis import strategies as st

from hwsim.cosim.protocollogic import ZERO, cut

UI, UIO = "ui_in", "uio_in"
A, B = {UI: {"0": 1, "3..34": "a"}}, {UIO: {"3..34": "b"}}
RESULTS = {"uo_out": {"37..40": "result"}}
SERIAL = {"kind": "serial", "cycles": 41, "inputs": A | B, "results": RESULTS, "enables": ["ena"]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"inputs": {UI: {"3..34": "a"}}}, r"ports\.b is missing"),
        (
            {"inputs": {**A, UIO: {"3..34": "q"}}},
            r"inputs\.uio_in\.3\.\.34 must be of a, b, c, scale_a, scale_b, not q",
        ),
        (
            {"inputs": {**A, UIO: {"3..34": {"field": "b", "constant": 1}}}},
            r"3\.\.34 must have one of constant and field",
        ),
        ({"inputs": {**A, UIO: {"9..41": "b"}}}, r"9\.\.41 must be of cycles below protocol\.cycles \(41\)"),
        (
            {"inputs": {**A, UIO: {"x": "b"}}},
            r"dut\.yaml:\d+: protocol\.inputs\.uio_in\.x.* must be a cycle, a range of cycles such as 3\.\.34",
        ),
        ({"inputs": {**A, UIO: {"3..33": "b"}}}, r"uio_in\.3\.\.33 must name 32 cycles for b on 8 bits, not 31"),
        ({"inputs": {**A, UIO: {"3..34": "b[0..32]"}}}, r"must be of elements 0 to 31 of b, not b\[0\.\.32\]"),
        ({"inputs": {**A, UIO: {"3..33": "b[0..30]"}}}, r"protocol\.inputs must send all of element 31 of b"),
        (
            {"inputs": {**A, UIO: {"3..34": "b", "9": 3}}},
            r"uio_in\.9 must be of cycles that no other key names, not .* 9",
        ),
        ({"inputs": {**A, UIO: {"3..34": "b", "0": 256}}}, r"uio_in\.0 must have at most 8 bits, not 0x100"),
        ({"inputs": {**A, UIO: {"3..34": "b", "otherwise": "a"}}}, r"otherwise must be a number, not a"),
        (
            {"inputs": {**A, "no": {"3..34": "b"}}},
            r"protocol\.inputs\.no must name a port of serial_dot \(.*\), not no",
        ),
        ({"inputs": {**A, **B, "uio_in[7]": {"0": 1}}}, r"inputs\.uio_in\[7\] drives bit 7 of uio_in, which something"),
        (
            {"inputs": {**A, UIO: {"2": "scale_a", "3..34": "b"}}},
            r"ports\.scale_a must not be given: serial-e4m3 has scale",
        ),
        (
            {"inputs": {**A, UIO: {"2": "c", "3..34": "b"}}},
            r"ports\.c must not be given: serial-e4m3 has operands\.add",
        ),
        ({"results": {"uo_out": {"37..40": 3}}}, r"results\.uo_out\.37\.\.40 must be of result, not 3"),
        ({"results": {"uo_out[6:0]": {"37..40": "result"}}}, r"must name 5 cycles for result on 7 bits, not 4"),
        (
            {"results": {**RESULTS, "uo_out[3:0]": {"3..10": "result"}}},
            r"must be the 32 bits of a result \(f32\), each once, not 64 bits",
        ),
        ({"results": {}}, r"protocol\.results must name a cycle in which the result is read"),
        (
            {"results": {"uo_out": {"1..3": "result[0]", "80": "result"}}},
            r"results must be of at most protocol\.cycles",
        ),
        ({"between": "repeats", "start": "ena"}, r"protocol\.start must not be given where between is repeats"),
        ({"cycles": 0}, r"protocol\.cycles must be greater than or equal to 1, not 0"),
    ],
)
def test_a_schedule_that_does_not_fit_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        design(tmp_path, "serial", protocol={**SERIAL, **changes})


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"ports": {"a": "ui_in"}}, r"ports\.a must not be given: protocol has it in its schedule"),
        ({"ports": {"last": "ui_in[0]"}}, r"ports\.last has no meaning for protocol\.kind serial"),
        (
            {"protocol": {**SERIAL, "between": "repeats"}, "reset": None},
            r"protocol\.between must not be repeats without",
        ),
    ],
)
def test_what_contradicts_a_schedule_is_refused(tmp_path: Path, keys: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        design(tmp_path, "serial", **{"protocol": SERIAL, **keys})


@given(st.integers(1, 9), st.integers(1, 40), st.integers(1, 40))
def test_words_hold_every_bit_once_in_order(count: int, bits: int, width: int) -> None:
    elements = [[f"{element}.{bit}" for bit in range(bits)] for element in range(count)]
    words = cut(elements, width)
    assert all(len(word) == width for word in words)
    assert [bit for word in words for bit in word if bit != ZERO] == [bit for element in elements for bit in element]
    # An element begins a word unless a whole number of elements fills one.
    if width % bits:
        assert sum(word[0].endswith(".0") for word in words) == count
