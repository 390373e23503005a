"""Beats and results as the bits of a port."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from built_presets import BUILDABLE
from cosim.odd_pipelines import odd_pipelines
from cosim.plays import output_words
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_units import IN_RTL, unit, units_of

from hwsim.cosim.bench import PortField, PortMap, bench, port_map, words_of
from hwsim.model.clock import Beat
from hwsim.rtl import beat_layout
from hwsim.spec import load_unit, pipeline
from hwsim.tb.job import Script, Trace

ODD = units_of(IN_RTL)
TINY = unit("tiny")

NOTHING = np.zeros(0, np.uint8)
BY_HAND = Trace(NOTHING, NOTHING, NOTHING)
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


@pytest.mark.parametrize("name", UNITS)
def test_every_bit_of_the_input_belongs_to_one_field(name: str) -> None:
    unit = UNITS[name]
    ports = port_map(unit, pipeline(unit))
    bits = [bit for field in ports.input.fields for bit in range(field.offset, field.offset + field.count * field.bits)]
    assert bits == list(range(ports.input.width))
    assert ports.input.width == beat_layout(unit, pipeline(unit)).size
    assert {field.name for field in ports.input.fields} <= {field.name for field in fields(Beat)}


@pytest.mark.parametrize("contexts", [1, 2, 3, 8, 256])
def test_a_result_is_packed_without_loss(contexts: int) -> None:
    ports = port_map(TINY, pipeline(TINY, contexts=contexts))
    for code in (0, 1, 0x7C00, 0xFFFF):
        for context in {0, 1 % contexts, contexts - 1}:
            words = output_words(Script("one", BY_HAND, results=np.array([[context, code, 0]])), ports)
            assert ports.results(words).tolist() == [[context, code]]
            assert int.from_bytes(words.tobytes(), "little") < 1 << ports.output.width


def test_a_payload_by_hand() -> None:
    # Two FP4 codes each of a and b, an f16 addend, first, last, and a context of two bits.
    ports = port_map(TINY, pipeline(TINY))
    beat = Beat((0x1, 0x2), (0x3, 0x4), 0xABCD, first=True, last=False, context=2)
    assert ports.pack(beat) == 0x21 | 0x43 << 8 | 0xABCD << 16 | 1 << 32 | 0 << 33 | 2 << 34
    assert ports.results(words_of([0x3_1234], 1)).tolist() == [[3, 0x1234]]
    assert (ports.top, ports.input.width, ports.input.words, ports.output.width) == ("tiny", 36, 2, 18)


def test_a_field_takes_what_it_placed() -> None:
    field = PortField("x", offset=3, bits=5)
    assert field.place([0b10110]) == 0b10110_000
    assert field.take(np.array([[field.place([0b10110]) | 0b111 | 1 << 8]], np.uint32)).tolist() == [0b10110]


@pytest.mark.parametrize("offset", [0, 1, 31, 32, 33])
@pytest.mark.parametrize("bits", [1, 31, 32, 33, 63, 64])
def test_a_field_takes_what_stands_in_several_words(offset: int, bits: int) -> None:
    field, all_ones = PortField("x", offset, bits), (1 << 128) - 1
    for value in (0, 1, 1 << bits - 1, (1 << bits) - 1):
        around = all_ones ^ field.place([(1 << bits) - 1])
        assert field.take(words_of([field.place([value]) | around, field.place([value])], 4)).tolist() == [value] * 2


def test_words_are_low_first() -> None:
    words = words_of([0x1_0000_0002, 0xFFFF_FFFF_0000_0000, 0], 2)
    assert (words.dtype, words.tolist()) == (np.uint32, [[2, 1], [0, 0xFFFFFFFF], [0, 0]])
    assert words_of([], 3).shape == (0, 3)
    with pytest.raises(OverflowError):
        words_of([1 << 64], 2)


def test_the_bench_is_for_these_ports() -> None:
    unit = load_unit("mxfp8-e4m3-f32")
    ports = port_map(unit, pipeline(unit))
    text = bench(ports)
    assert "mxfp8_e4m3_f32 dut (" in text
    assert f"reg [{ports.input.width - 1}:0] payloads" in text
    for port in ("clk", "rst", "i__payload", "i__valid", "i__ready", "o__payload", "o__valid", "o__ready", "misuse"):
        assert text.count(f".{port}(") == 1
