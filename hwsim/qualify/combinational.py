"""A user's design without a clock: all of its mutants in one circuit, and cases played through it 64 at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.batch import Batch, batches, expected
from hwsim.cases.case import Case
from hwsim.codewords import code_array
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.elaborate import PLAIN, PortBit
from hwsim.qualify.aig import Joined, read_aiger
from hwsim.qualify.machine import TOGETHER, BeatWords, CaseGroup, MutantMachine, Words, is_nan, plain_zero, words_of
from hwsim.qualify.mutants import Mutant
from hwsim.qualify.netlist import AIGER, SELECT, Netlist, written

FIELDS = ("a", "b", "c", "scale_a", "scale_b")


def dut_machine(design: DutDesign, netlist: Netlist, mutants: Sequence[Mutant]) -> MutantMachine:
    """The design as a circuit of ANDs, with mutants in it."""
    (text,) = written([(netlist, mutants)], "aag", AIGER)
    graph = read_aiger(text)
    widths = {name: len(bits) for name, bits in graph.inputs.items() if name != SELECT}
    joined = Joined({**widths, SELECT: len(mutants)})
    outputs = joined.put(graph, joined.inputs)
    (bits,) = design.wiring.places["result"]
    result = (*[0] * design.wiring.shift["result"], *(outputs[name][bit] for name, _, bit in bits))
    fmt, zeros = design.unpromised.nans, design.unpromised.zeros
    nan = None if fmt is None else is_nan(joined, fmt, result)
    return MutantMachine(joined, (), result if zeros is None else plain_zero(joined, zeros, result), nan)


def dut_groups(design: DutDesign, cases: Sequence[Case]) -> Iterator[CaseGroup]:
    """Cases of one beat as words, with the results that the model computes."""
    number = 0
    for batch in batches(design.unit, cases, TOGETHER):
        numbers = np.arange(number, number + len(batch))
        number += len(batch)
        beat = BeatWords(_inputs(design, batch), frozenset(), frozenset())
        yield CaseGroup([beat], _expected(design, batch), numbers)


def _expected(design: DutDesign, batch: Batch) -> NDArray[Any]:
    """What the model returns, -0 as +0 where that is as good."""
    return code_array(design.unpromised.plain_zeros(expected(design.unit, batch)).tolist())


def _inputs(design: DutDesign, batch: Batch) -> dict[str, Words]:
    """A word for each bit of each input port: of a field, or held."""
    every, words = np.uint64((1 << len(batch)) - 1), dict[PortBit, np.uint64]()
    for name in FIELDS:
        codes = getattr(batch, name)
        for at, bits in enumerate(design.wiring.places.get(name, ())):
            shift = design.wiring.shift[name]
            of_bits = words_of(codes if name == "c" else codes[:, at], shift + len(bits))
            words |= dict(zip(bits, of_bits[shift:], strict=True))
    for bit, held in design.wiring.held.items():
        words[bit] = words[held] if isinstance(held, tuple) else every if held else np.uint64(0)
    return {
        port.name: np.array([words.get((port.name, PLAIN, at), np.uint64(0)) for at in range(port.width)], np.uint64)
        for port in design.module.ports
        if port.direction == "in"
    }
