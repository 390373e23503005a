"""What stands beside results, without a simulator: what is promised, and what is compared of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cosim.dut_files import design

from hwsim.cases.case import Case
from hwsim.cosim.dutdesign import extra
from hwsim.tb.job import COPY, FLAG, ExtraOutputs
from hwsim.tb.order import ExtraOutputsBoard

NAN = 0x7E00
BESIDE = ExtraOutputs(
    names=np.array(["twin", "invalid", "inexact"]),
    kinds=np.array([COPY, FLAG, FLAG]),
    bits=np.array([16, 1, 1], np.int64),
    expected=np.array([[0x3C00, 0, 1], [NAN, 1, 0]], np.uint64),
    mask=np.array([[0xFFFF, 1, 1], [0xFFFF, 0, 1]], np.uint64),
)


@pytest.mark.parametrize(
    ("index", "seen", "wrong"),
    [
        (0, 0x3C00 | 1 << 17, []),
        (0, 0x3C01 | 1 << 17, [(COPY, "twin", 0x3C01, 0x3C00)]),
        (0, 0x3C00 | 1 << 16, [(FLAG, "invalid", 1, 0), (FLAG, "inexact", 0, 1)]),
        # The second result may be any NaN, and whether it is invalid is open.
        (1, NAN | 1 << 16, []),
        (1, 0x7FFF, []),
        (1, 0x7C00 | 1 << 16, [(COPY, "twin", 0x7C00, NAN)]),
    ],
)
def test_each_signal_is_compared_as_it_is_promised(
    index: int, seen: int, wrong: list[tuple[str, str, int, int]]
) -> None:
    board = ExtraOutputsBoard(BESIDE, lambda result, code: result == 1 and code & 0x7FFF > 0x7C00)
    assert list(board.wrong(index, seen)) == wrong


def test_what_a_design_promises_is_the_models(tmp_path: Path) -> None:
    # 1 * 1 + 2^-24; infinity times zero; a quiet NaN beside infinity times zero, of which IEEE 754 leaves invalid open.
    cases = [
        Case("inexact", (0x3C, 0), (0x3C, 0), 0x0001),
        Case("invalid", (0x7C, 0), (0x00, 0), 0),
        Case("open", (0x7C, 0x7E), (0x00, 0x3C), 0),
    ]
    ports = {"a": "req_i.pairs[{}].factor", "b": "req_i.pairs[{}].other", "c": "req_i.addend"}
    result = {"port": "resp_o.result", "copies": [{"pieces": ["resp_o.result[7:0]", "resp_o.result[15:8]"]}]}
    made = design(tmp_path, "sdotp", ports={**ports, "result": result})
    said = extra(made.dut, cases, [0x3C00, NAN, NAN])
    assert said.names.tolist()[1:] == ["invalid", "divide_by_zero", "overflow", "underflow", "inexact"]
    assert said.expected.tolist() == [[0x3C00, 0, 0, 0, 0, 1], [NAN, 1, 0, 0, 0, 0], [NAN, 0, 0, 0, 0, 0]]
    assert said.mask.tolist() == [[0xFFFF, 1, 1, 1, 1, 1], [0xFFFF, 1, 1, 1, 1, 1], [0xFFFF, 0, 1, 1, 1, 1]]
    assert made.ports.extra_width == 16 + 5
