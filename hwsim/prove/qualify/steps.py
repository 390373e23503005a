"""The steps of a unit as one circuit with mutants, and cases as the words that enter it, beat by beat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from amaranth.back import rtlil
from numpy.typing import NDArray

from hwsim.cases.case import Batch, Case, beats, expected
from hwsim.cases.selection import placed_batch
from hwsim.formats import FloatFormat
from hwsim.formats.codes import Codes
from hwsim.model.clock import Beat
from hwsim.prove.qualify.machine import (
    TOGETHER,
    BeatWords,
    CaseGroup,
    Graph,
    Held,
    Joined,
    MutantMachine,
    Words,
    is_nan,
    plain_zero,
    read_aiger,
    words_of,
)
from hwsim.prove.qualify.mutants import AIGER, SELECT, Mutant, absorbed, netlists, of_one_lane, written
from hwsim.rtl.accumulate import EnteringCode, accumulation
from hwsim.rtl.methods import datapath, promotion
from hwsim.rtl.selector import FactorSelect
from hwsim.spec import AnyUnit, SparseUnit, Unit, dense_of, modes_of, unpromised
from hwsim.spec.implementation import one_plain_window

READ = """read_rtlil {name}.il
hierarchy -top top
proc -noopt -norom
"""
# Steps whose lanes are proved to be one circuit: of any sum, and of one plain window.
BY_LANE = {False: ("decode", "multiply"), True: ("decode", "multiply", "distance", "align")}
SELECTOR = "select"  # of a sparse unit, what stands before the first step
ENTERING = "entering"  # what makes a register's code of an addend: its mutants are not asked for
# Inputs of the whole beside those of the first step: of the adder behind a group's sum.
OPENS, ADDEND = "opens", "addend"
CARRIED = "i__carried__"


class UnitNetlists:
    """The steps of a unit's datapath, and of what adds its groups' sums up, without registers between them.

    given: the unit, of which `unit` is the dense one. cuts: which divide trees of maximum and sum. seed: of the bits
    that control mutants.
    Raises NotImplementedYet for a unit that the RTL cannot build, ToolMissing, and FlowFailed with what Yosys said.
    """

    def __init__(self, given: AnyUnit, cuts: Sequence[str], seed: int):
        self.sparse = given if isinstance(given, SparseUnit) else None
        self.unit = unit = dense_of(given)
        self.after = accumulation(unit)
        self.group = list(datapath(unit, cuts).steps)
        self.adder = [] if self.after is None else list(promotion(unit, cuts).steps)
        components = {step.name: step for step in (*self.group, *self.adder)}
        if self.after is not None:
            components |= {ENTERING: EnteringCode(self.after)}
        if self.sparse is not None:
            components = {SELECTOR: FactorSelect(self.sparse), **components}
        files = {f"{name}.il": rtlil.convert(component, name="top") for name, component in components.items()}
        self.steps = netlists({name: READ.format(name=name) for name in components}, files, seed)

    def mutants(self) -> Iterator[Mutant]:
        """Yield the mutants of one lane and of all that lanes share, by step."""
        unit = modes_of(self.unit)[0]
        by_lane = BY_LANE[one_plain_window(unit)]
        for netlist in self.steps:
            if netlist.name in by_lane:
                yield from of_one_lane(netlist, unit.instruction.lanes)
            elif netlist.name != ENTERING:
                yield from netlist.mutants

    def absorbed(self, mutant: Mutant) -> bool:
        """True if a mutant changes nothing of its own cell."""
        return absorbed(next(netlist for netlist in self.steps if netlist.name == mutant.step), mutant)

    def groups(self, unit: Unit, made: Iterable[Batch], machine: MutantMachine, mode: int = 0) -> Iterator[CaseGroup]:
        """As `groups`; of a sparse unit the dense one's cases, put among other factors of b."""
        return groups(unit, made, machine, mode, self.sparse)

    def machine(self, mutants: Sequence[Mutant], mode: Unit | None = None) -> MutantMachine:
        """All steps as one circuit, with mutants in it. mode: of several, that whose results are compared."""
        return _joined(self, mutants, modes_of(self.unit)[0] if mode is None else mode)


def _joined(nets: UnitNetlists, mutants: Sequence[Mutant], unit: Unit) -> MutantMachine:
    """The steps of a unit joined beat for beat as its control, which is not mutated, has it."""
    numbers: dict[str, list[int]] = {netlist.name: [] for netlist in nets.steps}
    for number, mutant in enumerate(mutants):
        numbers[mutant.step].append(number)
    parts = [(netlist, [mutants[number] for number in numbers[netlist.name]]) for netlist in nets.steps]
    graphs: dict[str, Graph] = dict(zip(numbers, map(read_aiger, written(parts, "aag", AIGER)), strict=True))
    inputs = {name: len(bits) for name, bits in graphs[nets.group[0].name].inputs.items() if name != SELECT}
    if nets.sparse is not None:
        selecting = {name: len(bits) for name, bits in graphs[SELECTOR].inputs.items() if name != SELECT}
        inputs = {name: bits for name, bits in inputs.items() if not name.startswith("i__b__")} | selecting
    if nets.after is not None:
        adder = {name: len(bits) for name, bits in graphs[nets.adder[0].name].inputs.items() if name != SELECT}
        inputs |= {f"{nets.after.name}.{name}": bits for name, bits in adder.items() if name != "i__partial"}
        inputs |= {OPENS: 1, ADDEND: len(graphs[ENTERING].inputs.get("c", ()))}
    joined = Joined({**inputs, SELECT: len(mutants)})

    def put(name: str, given: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
        chosen = tuple(joined.inputs[SELECT][number] for number in numbers[name])
        taken = {port: given[port] for port in graphs[name].inputs if port != SELECT}
        return joined.put(graphs[name], {**taken, SELECT: chosen})

    def chain(names: Iterable[str], given: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
        outputs: dict[str, tuple[int, ...]] = {}
        for name in names:
            outputs = put(name, given)
            given = {f"i{port[1:]}": bits for port, bits in outputs.items()}
        return outputs

    first = dict(joined.inputs)
    if nets.sparse is not None:
        first |= {f"i{port[1:]}": bits for port, bits in put(SELECTOR, first).items()}
    last = group = chain((step.name for step in nets.group), first)
    states = [Held(name, group[f"o__{name.removeprefix(CARRIED)}"]) for name in inputs if name.startswith(CARRIED)]
    if nets.after is not None:
        prefix = f"{nets.after.name}."
        given = {name.removeprefix(prefix): bits for name, bits in joined.inputs.items() if name.startswith(prefix)}
        held = given["i__register"]
        entering = put(ENTERING, {"c": joined.inputs[ADDEND]})["o"]
        (opens,) = joined.inputs[OPENS]
        register = tuple(joined.choose(opens, *pair) for pair in zip(entering, held, strict=True))
        last = chain(
            (step.name for step in nets.adder), {**given, "i__register": register, "i__partial": group["o__code"]}
        )
        code = last["o__code"]
        states.append(Held(f"{prefix}i__register", (*code, *[0] * (len(held) - len(code)))))
    return MutantMachine(joined, tuple(states), *_result(joined, unit, last))


def _result(joined: Joined, unit: Unit, last: Mapping[str, tuple[int, ...]]) -> tuple[tuple[int, ...], int | None]:
    """The result's bits, and the literal that says whether it is NaN, where any NaN is as good."""
    fmt = unit.output
    (says_nan,) = last.get("o__nan", (0,))
    padded = (*[0] * fmt.padding, *last["o__code"])
    result = tuple(
        joined.choose(says_nan, unit.nan >> place & 1, literal) if says_nan else literal
        for place, literal in enumerate(padded)
    )
    if not isinstance(fmt, FloatFormat):
        return result, None
    good = unpromised(unit)
    nan = None if good.nans is None else is_nan(joined, fmt, padded)
    return result if good.zeros is None else plain_zero(joined, fmt, result), nan


@dataclass(frozen=True)
class _Some:
    """Cases of one length, with their numbers and results."""

    batch: Batch
    numbers: NDArray[np.int64]
    results: Codes

    def part(self, taken: slice) -> _Some:
        batch = self.batch
        more = (None if side is None else side[taken] for side in (batch.scale_a, batch.scale_b, batch.metadata))
        cut = Batch((), batch.a[taken], batch.b[taken], batch.c[taken], *more)
        return _Some(cut, self.numbers[taken], self.results[taken])

    def joined(self, other: _Some) -> _Some:
        sides = zip(self._arrays, other._arrays, strict=True)
        batch = Batch((), *(None if mine is None else np.concatenate([mine, theirs]) for mine, theirs in sides))  # type: ignore[arg-type]
        numbers, results = np.concatenate([self.numbers, other.numbers]), np.concatenate([self.results, other.results])
        return _Some(batch, numbers, results)

    @property
    def _arrays(self) -> tuple[Codes | None, ...]:
        batch = self.batch
        return batch.a, batch.b, batch.c, batch.scale_a, batch.scale_b, batch.metadata


def groups(
    unit: Unit, made: Iterable[Batch], machine: MutantMachine, mode: int = 0, sparse: SparseUnit | None = None
) -> Iterator[CaseGroup]:
    """Yield cases in groups of one length, with the results that the model computes.

    They are in their order, but that those of a length wait until a group of them is full, or no case is left.
    mode: the number of the unit's, of a unit of several. sparse: the unit among whose factors of b they are put.
    """
    waiting: dict[int, _Some] = {}
    number = 0
    for batch in made:
        results = unpromised(unit).plain_zeros(expected(unit, batch))
        batch = batch if sparse is None else placed_batch(sparse, batch, number)
        some = _Some(batch, np.arange(number, number + len(batch)), results)
        number += len(batch)
        terms = batch.a.shape[1]
        some = waiting.pop(terms).joined(some) if terms in waiting else some
        whole = len(some.numbers) // TOGETHER * TOGETHER
        for first in range(0, whole, TOGETHER):
            yield _group(sparse or unit, some.part(slice(first, first + TOGETHER)), machine, mode)
        if whole < len(some.numbers):
            waiting[terms] = some.part(slice(whole, None))
    for _, some in sorted(waiting.items()):
        yield _group(sparse or unit, some, machine, mode)


def _group(given: Unit | SparseUnit, some: _Some, machine: MutantMachine, mode: int) -> CaseGroup:
    """A group with its beats: `beats` says where each takes its operands, for all cases at once."""
    batch = some.batch
    sides = (batch.a, batch.b, batch.scale_a, batch.scale_b, batch.metadata)
    a, b, scale_a, scale_b, metadata = (() if side is None else tuple(range(side.shape[1])) for side in sides)
    pattern = list(beats(given, Case("", a, b, 0, scale_a, scale_b, metadata=metadata)))
    after = accumulation(given.dense if isinstance(given, SparseUnit) else given)
    per_sum = len(pattern) if after is None else after.groups
    inputs = machine.joined.inputs
    carried = frozenset(state.input for state in machine.states if state.input.startswith(CARRIED))
    kept = frozenset(state.input for state in machine.states) - carried
    in_words, opens, begins = list[BeatWords](), True, pattern[0]
    for number, beat in enumerate(pattern):
        continues, adds = number % per_sum != 0, beat.last or number % per_sum == per_sum - 1
        begins = begins if continues else beat
        words = _words(batch, beat, begins, {name: len(bits) for name, bits in inputs.items()})
        every = np.uint64((1 << len(batch.a)) - 1)
        flags = {"i__chain": continues, OPENS: opens, **{n: opens for n in inputs if n.endswith(".i__starts")}}
        words |= {name: np.array([every * value], np.uint64) for name, value in flags.items() if name in inputs}
        if "i__mode" in inputs:
            words["i__mode"] = words_of(np.full(len(batch.a), mode, np.uint64), len(inputs["i__mode"]))
        loads = (carried if continues else frozenset()) | (frozenset() if opens else kept)
        in_words.append(BeatWords(words, loads, carried | (kept if adds else frozenset())))
        opens = opens and not adds
    return CaseGroup(in_words, some.results.astype(np.uint64), some.numbers)


def _words(batch: Batch, beat: Beat, begins: Beat, bits: Mapping[str, int]) -> dict[str, Words]:
    """The inputs of one beat. beat, begins: this one, and that which begins its group; their codes are places in cases.

    bits: of each input.
    """
    words: dict[str, Words] = {}
    every = np.uint64((1 << len(batch.a)) - 1)
    for name, size in bits.items():
        port, _, index = name.removeprefix("i__").partition("__")
        if name.startswith(CARRIED):
            words[name] = np.zeros(size, np.uint64)
        elif port in ("a", "b", "scale_a", "scale_b", "metadata"):
            codes = getattr(batch, port)[:, getattr(beat, port)[int(index or 0)]]
            words[name] = words_of(codes, size)
        elif port == "c":
            c = words_of(batch.c, size)
            words[name] = c if beat.first else ~c & every
        elif port == ADDEND:
            words[name] = words_of(batch.c, size)
        elif name.endswith((".i__scale_a", ".i__scale_b")):
            side = name[-len("scale_a") :]
            words[name] = words_of(getattr(batch, side)[:, getattr(begins, side)[0]], size)
        elif name.endswith(".i__register"):
            words[name] = np.zeros(size, np.uint64)
    return words
