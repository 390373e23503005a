"""What stands at the input while all tiles are played: made at once, and the same as beat by beat."""

from __future__ import annotations

from dataclasses import replace

import pytest
from odd_units import unit

from hwsim.cases.case import beats
from hwsim.cosim.bench import port_map, words_of
from hwsim.cosim.design import interleave
from hwsim.cosim.fuzz.hardware import payload_words, tiled_cases
from hwsim.spec import pipeline


@pytest.mark.parametrize("name", ["long-73", "subgroups-e8m0", "pairs-scaled"])
def test_payloads_of_all_tiles_are_those_of_their_beats(name: str) -> None:
    made, ports = unit(name), port_map(unit(name), pipeline(unit(name)))
    cases = tiled_cases(made, 60, 3)
    order = list(interleave(made, cases.tile(0), 1, None))
    expected = []
    for number in range(cases.tiles):
        brought = [tuple(beats(made, case)) for case in cases.tile(number)]
        expected += [ports.pack(replace(brought[item.case][item.index], context=item.beat.context)) for item in order]
    words = payload_words(made, ports, order, cases)
    assert words.tolist() == words_of(expected, ports.input.words).tolist()
    if name == "long-73":
        assert max(int(code) for batch in cases.slots for code in batch.c) >> 64
