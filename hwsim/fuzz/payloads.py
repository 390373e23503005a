"""What stands at the input in the cycles of many tiles, made at once: a recorded tile's beats with others' operands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.case import Batch, addend_mask, block_lengths
from hwsim.cosim.bench import PortField, PortMap
from hwsim.cosim.design import Tagged
from hwsim.fuzz.operands import TiledCases
from hwsim.spec import Unit

Elements = NDArray[Any]  # of one field of a beat: (tiles, elements), uint64, or objects of codes that are longer
WORD = 0xFFFF_FFFF


def payload_words(unit: Unit, ports: PortMap, order: Sequence[Tagged], cases: TiledCases) -> NDArray[np.uint32]:
    """The payloads of all tiles, a row for each beat of the order in each tile: uint32[tiles * beats, words].

    order: the beats of one tile, whose places and contexts are those of every tile's.
    """
    words = np.zeros((cases.tiles, len(order), ports.input.words), np.uint64)
    for row, item in enumerate(order):
        fields = dict(_elements(unit, cases.slots[item.case], item))
        for field in ports.input.fields:
            _place(words[:, row], field, fields[field.name])
    return words.astype(np.uint32).reshape(-1, ports.input.words)


def _elements(unit: Unit, batch: Batch, item: Tagged) -> Iterator[tuple[str, Elements]]:
    """The fields of a beat, by name, as `hwsim.cases.case.beats` makes them of one case."""
    here = list(unit.instruction.indices(item.index))
    yield "a", _unsigned(batch.a[:, here])
    yield "b", _unsigned(batch.b[:, here])
    c = _unsigned(batch.c[:, None])
    yield "c", c if item.beat.first else ~c & addend_mask(unit)
    if unit.scale is not None and batch.scale_a is not None and batch.scale_b is not None:
        sides = (("a", batch.scale_a), ("b", batch.scale_b))
        for (side, codes), length in zip(sides, block_lengths(unit), strict=True):
            shared = unit.lanes_of_scale("b" if side == "b" else "a")
            yield f"scale_{side}", _unsigned(codes[:, [at // length for at in here[::shared]]])
    for name in ("first", "last", "context", "mode"):
        yield name, np.full((len(batch), 1), int(getattr(item.beat, name)), np.uint64)


def _unsigned(codes: NDArray[Any]) -> Elements:
    return codes if codes.dtype == object else codes.astype(np.uint64)


def _place(words: NDArray[np.uint64], field: PortField, elements: Elements) -> None:
    """Put a field's elements into payloads, uint64[tiles, words] of 32 bits each."""
    mask = (1 << field.bits) - 1
    for index in range(field.count):
        first, shift = divmod(field.offset + index * field.bits, 32)
        value = elements[:, index] & mask
        words[:, first] |= _low_word(value << shift)
        for place in range(1, -(-(shift + field.bits) // 32)):
            words[:, first + place] |= _low_word(value >> 32 * place - shift)


def _low_word(values: NDArray[Any]) -> NDArray[np.uint64]:
    return (values & WORD).astype(np.uint64)
