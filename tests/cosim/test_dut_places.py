"""The port map, bit by bit, against what is written down here by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cosim.dut_files import variant

from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.elaborate import read_module
from hwsim.cosim.portbits import PLAIN, PortBit
from hwsim.cosim.wiring import wiring

MODULE = """module m (
  input [31:0] low, input [0:31] up, input [7:0] w0, w1, w2, w3, input [7:0] words [0:3],
  input [31:0] c, output [31:0] d);
endmodule
"""
REST = {"low": 0, "up": 0, "w0": 0, "w1": 0, "w2": 0, "w3": 0}


def bits(port: str, first: int, word: tuple[int, ...] = PLAIN, step: int = 1) -> tuple[PortBit, ...]:
    return tuple((port, word, first + step * index) for index in range(8))


@pytest.mark.parametrize(
    ("place", "lane0", "lane3"),
    [
        ("low", bits("low", 0), bits("low", 24)),
        ({"port": "low", "lane0": "high"}, bits("low", 24), bits("low", 0)),
        ({"port": "low", "bits": "reversed"}, bits("low", 7, step=-1), bits("low", 31, step=-1)),
        ("up", bits("up", 0), bits("up", 24)),
        # Index 0 of a vector that is declared from 0 up is its most significant bit.
        (["up[0:7]", "up[8:15]", "up[16:23]", "up[24:31]"], bits("up", 24), bits("up", 0)),
        ("w{}", bits("w0", 0), bits("w3", 0)),
        (["w3", "w2", "w1", "w0"], bits("w3", 0), bits("w0", 0)),
        ("words", bits("words", 0, (0,)), bits("words", 0, (3,))),
        ({"ports": ["words[3]", "words[2]", "words[1]", "words[0]"]}, bits("words", 0, (3,)), bits("words", 0, (0,))),
    ],
)
def test_lanes_are_where_the_file_says(tmp_path: Path, place: Any, lane0: Any, lane3: Any) -> None:
    (tmp_path / "m.v").write_text(MODULE)
    ports = {"a": place, "b": "low", "c": "c", "result": "d"}
    dut = load_dut(variant(tmp_path, "comb", sources=["m.v"], top="m", ports=ports))
    lanes = wiring(dut, read_module(dut.sources, "m")).places["a"]
    assert (lanes[0], lanes[3]) == (lane0, lane3)
