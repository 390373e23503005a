"""The port map, bit by bit, against what is written down here by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cosim.dut_files import variant

from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.elaborate import PLAIN, PortBit, read_module
from hwsim.cosim.wiring import wiring
from hwsim.formats.yamlfile import SpecError

MODULE = """package p;
  typedef enum logic [1:0] {A, B} op_t;
  typedef struct packed { logic spare; logic [7:0] code; } lane_t;
  typedef struct packed { op_t op; lane_t [3:0] lanes; logic [3:0][7:0] packed_lanes; } req_t;
endpackage
module m import p::*; (
  input [31:0] low, input [0:31] up, input [7:0] w0, w1, w2, w3, input [7:0] words [0:3],
  input req_t req, input lane_t [3:0] lanes, input signed [7:0] grid [2][1:0], input lane_t held [4], input [63:0] wide,
  input [31:0] c, output [31:0] d);
endmodule
"""


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
        # Fields count from their struct's least significant bit: 32 bits of packed lanes, then lanes of 9 bits.
        ("req.packed_lanes", bits("req", 0), bits("req", 24)),
        ("req.lanes[{}].code", bits("req", 32), bits("req", 59)),
        ("lanes[{}].code", bits("lanes", 0), bits("lanes", 27)),
        ("held[{}].code", bits("held", 0, (0,)), bits("held", 0, (3,))),
        ({"pieces": ["low[15:0]", "up[0:15]"]}, bits("low", 0), bits("up", 24)),
        # The words of an array stand in the order of its declaration, the last dimension fastest.
        ("grid", bits("grid", 0, (0, 1)), bits("grid", 0, (1, 0))),
        ({"pieces": ["grid[1]", "grid[0][0]", "w0"]}, bits("grid", 0, (1, 1)), bits("w0", 0)),
        ({"port": "wide", "bits_at": "low"}, bits("wide", 0), bits("wide", 48)),
        ({"port": "wide", "bits_at": "high"}, bits("wide", 8), bits("wide", 56)),
        ({"port": "wide", "bits_at": "high", "bits": "reversed"}, bits("wide", 15, step=-1), bits("wide", 63, step=-1)),
    ],
)
def test_lanes_are_where_the_file_says(tmp_path: Path, place: Any, lane0: Any, lane3: Any) -> None:
    (tmp_path / "m.v").write_text(MODULE)
    ports = {"a": place, "b": "low", "c": "c", "result": "d"}
    dut = load_dut(variant(tmp_path, "comb", sources=["m.v"], top="m", ports=ports))
    lanes = wiring(dut, read_module(dut.sources, "m")).places["a"]
    assert (lanes[0], lanes[3]) == (lane0, lane3)


@pytest.mark.parametrize(("rest", "held"), [(None, 0), ("zeros", 0), ("ones", 1), ("sign", ("wide", PLAIN, 15))])
def test_the_rest_of_a_wider_lane_is_driven(tmp_path: Path, rest: str | None, held: Any) -> None:
    (tmp_path / "m.v").write_text(MODULE)
    place = {"port": "wide", "bits_at": "high", **({"rest": rest} if rest else {})}
    ports = {"a": place, "b": "low", "c": "c", "result": "d"}
    constants = {"req.op": 2, "req.lanes[3]": 1}
    dut = load_dut(variant(tmp_path, "comb", sources=["m.v"], top="m", ports=ports, constants=constants))
    wired = wiring(dut, read_module(dut.sources, "m"))
    assert [wired.held["wide", PLAIN, bit] for bit in range(8)] == [held] * 8
    # Two bits of an enum above 68 of lanes, and the lane below them.
    driven = {bit: value for (name, _, bit), value in wired.held.items() if name == "req"}
    assert driven == {68: 0, 69: 1, 59: 1, **dict.fromkeys(range(60, 68), 0)}


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("req.none", r"req\.none: req has fields op, lanes, packed_lanes, not none"),
        ("req.op.x", r"req\.op\.x: req has no fields, and not x"),
        ("req[3]", r"req\[3\]: req has fields op, lanes, packed_lanes, not \[3\]"),
        ("req.packed_lanes[4]", r"req has elements 3 to 0, not 4"),
        ("req.packed_lanes[1:0][3]", r"\[3\] selects from several elements"),
        ("words[4]", r"words\[4\]: words has words 0 to 3, not 4"),
        ("words[1:0]", r"must name one word of the array words, or all of it, not words\[1:0\]"),
        ("nothing", r"must name a port of m \(low, .*\), not nothing"),
    ],
)
def test_what_a_port_does_not_have_is_refused(tmp_path: Path, place: str, said: str) -> None:
    (tmp_path / "m.v").write_text(MODULE)
    ports = {"a": place, "b": "low", "c": "c", "result": "d"}
    dut = load_dut(variant(tmp_path, "comb", sources=["m.v"], top="m", ports=ports))
    with pytest.raises(SpecError, match=rf"dut\.yaml:\d+: ports\.a .*{said}"):
        wiring(dut, read_module(dut.sources, "m"))
