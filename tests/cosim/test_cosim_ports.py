"""Beats, results and what stands beside these as the bits of a port."""

from __future__ import annotations

from pathlib import Path

import pytest
from built_presets import BUILDABLE
from cosim.dut_files import design
from cosim.plays import odd_pipelines
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_units import IN_RTL, unit, units_of

from hwsim.cases.case import Case
from hwsim.cosim.bench import PortMap, port_map, words_of
from hwsim.cosim.dutdesign import extra
from hwsim.model.clock import Beat
from hwsim.spec import load_unit, pipeline
from hwsim.tb.fields import Field
from hwsim.tb.job import COPY, FLAG, ExtraOutputs
from hwsim.tb.order import ExtraOutputsBoard

ODD = units_of(IN_RTL)
TINY = unit("tiny")

UNITS = {**{name: load_unit(name) for name in BUILDABLE}, **ODD}


def unpacked(ports: PortMap, word: int) -> Beat:
    """The beat that a payload is, field by field."""
    values: dict[str, object] = {}
    for field in ports.input.fields:
        places = range(field.offset, field.offset + field.count * field.bits, field.bits)
        elements = tuple(word >> place & (1 << field.bits) - 1 for place in places)
        vector = field.name in {"a", "b", "scale_a", "scale_b"}
        values[field.name] = elements if vector else elements[0]
    return Beat(**values)  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_beat_is_packed_without_loss(data: st.DataObject) -> None:
    unit = UNITS[data.draw(st.sampled_from(sorted(UNITS)))]
    ports = port_map(unit, data.draw(st.sampled_from(list(odd_pipelines(unit).values()))))
    word = data.draw(st.integers(0, (1 << ports.input.width) - 1))
    beat = unpacked(ports, word)
    assert ports.pack(beat) == word
    assert len(beat.a) == len(beat.b) == unit.instruction.lanes


def test_a_payload_by_hand() -> None:
    # Two FP4 codes each of a and b, an f16 addend, first, last, and a context of two bits.
    ports = port_map(TINY, pipeline(TINY))
    beat = Beat((0x1, 0x2), (0x3, 0x4), 0xABCD, first=True, last=False, context=2)
    assert ports.pack(beat) == 0x21 | 0x43 << 8 | 0xABCD << 16 | 1 << 32 | 0 << 33 | 2 << 34
    context, code = ports.results(words_of([0x3_1234], 1))
    assert (context.tolist(), code.tolist()) == ([3], [0x1234])
    assert (ports.top, ports.input.width, ports.input.words, ports.output.width) == ("tiny", 36, 2, 18)


@pytest.mark.parametrize("offset", [0, 1, 31, 32, 33])
@pytest.mark.parametrize("bits", [1, 31, 32, 33, 63, 64])
def test_a_field_takes_what_stands_in_several_words(offset: int, bits: int) -> None:
    field, all_ones = Field("x", offset, bits), (1 << 128) - 1
    for value in (0, 1, 1 << bits - 1, (1 << bits) - 1):
        around = all_ones ^ field.place([(1 << bits) - 1])
        assert field.take(words_of([field.place([value]) | around, field.place([value])], 4)).tolist() == [value] * 2


NAN = 0x7E00
BESIDE = ExtraOutputs(
    [(COPY, "twin", 16), (FLAG, "invalid", 1), (FLAG, "inexact", 1)], [(0x3C00, 0, 1), (NAN, None, 0)]
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
    assert said.signals[0][::2] == (COPY, 16)
    names = ("invalid", "divide_by_zero", "overflow", "underflow", "inexact")
    assert said.signals[1:] == [(FLAG, name, 1) for name in names]
    assert said.promised == [(0x3C00, 0, 0, 0, 0, 1), (NAN, 1, 0, 0, 0, 0), (NAN, None, 0, 0, 0, 0)]
    assert made.ports.extra_width == 16 + 5
