"""A unit's datapath as netlists, a step each, and all of it as one circuit of ANDs that cases are played through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from amaranth.back import rtlil

from hwsim.qualify.absorbed import absorbed
from hwsim.qualify.aig import Joined, read_aiger
from hwsim.qualify.lanes import of_one_lane
from hwsim.qualify.machine import Held, MutantMachine, is_nan, plain_zero
from hwsim.qualify.mutants import Mutant
from hwsim.qualify.netlist import AIGER, SELECT, Netlist, netlists, written
from hwsim.rtl.datapath import datapath, promotion
from hwsim.rtl.numbers import as_float
from hwsim.rtl.step import DatapathStep
from hwsim.spec import Unit, unpromised

READ = """read_rtlil {name}.il
hierarchy -top top
proc -noopt -norom
"""
# Steps whose lanes are proved to be one term.
BY_LANE = ("decode", "multiply", "distance", "align")


class UnitNetlists:
    """The steps of a unit's datapath, and of its promotion's adder, without registers between them.

    cuts: which divide the trees of maximum and sum. seed: of the bits that control mutants.
    Raises NotImplementedYet for a unit that the RTL cannot build, ToolMissing, and FlowFailed with what Yosys said.
    """

    def __init__(self, unit: Unit, cuts: Sequence[str], seed: int):
        self.unit = unit
        steps: list[DatapathStep] = list(datapath(unit, cuts).steps)
        if unit.promotion is not None:
            steps += promotion(unit, cuts).steps
        files = {f"{step.name}.il": rtlil.convert(step, name="top") for step in steps}
        self.steps = netlists({step.name: READ.format(name=step.name) for step in steps}, files, seed)

    def mutants(self) -> Iterator[Mutant]:
        """Those of one lane and of all that lanes share, by step."""
        for netlist in self.steps:
            if netlist.name in BY_LANE:
                yield from of_one_lane(netlist, self.unit.instruction.lanes)
            else:
                yield from netlist.mutants

    def absorbed(self, mutant: Mutant) -> bool:
        """Whether a mutant changes nothing of its own cell."""
        return absorbed(next(netlist for netlist in self.steps if netlist.name == mutant.step), mutant)

    def machine(self, mutants: Sequence[Mutant]) -> MutantMachine:
        """All steps as one circuit, with mutants in it."""
        return _UnitJoin(self.unit, self.steps, mutants).machine()


class _UnitJoin:
    """What is between the steps of a unit, beat for beat: as its control has it, which is not mutated."""

    def __init__(self, unit: Unit, steps: Sequence[Netlist], mutants: Sequence[Mutant]):
        self.unit = unit
        numbers: dict[str, list[int]] = {netlist.name: [] for netlist in steps}
        for number, mutant in enumerate(mutants):
            numbers[mutant.step].append(number)
        parts = [(netlist, [mutants[number] for number in numbers[netlist.name]]) for netlist in steps]
        graphs = dict(zip(numbers, map(read_aiger, written(parts, "aag", AIGER)), strict=True))
        first = {name: len(bits) for name, bits in graphs["decode"].inputs.items() if name != SELECT}
        self.promotes = unit.promotion is not None
        if self.promotes:
            first["register"] = len(graphs["promote.decode"].inputs["i__register"])
        self.joined = Joined({**first, SELECT: len(mutants)})
        select = self.joined.inputs[SELECT]
        values: dict[str, tuple[int, ...]] = {f"o{name[1:]}": bits for name, bits in self.joined.inputs.items()}
        group: dict[str, tuple[int, ...]] = {}
        for netlist in steps:
            if netlist.name == "promote.decode":
                group = values
                values = {"o__register": self.joined.inputs["register"], "o__partial": group["o__code"]}
            chosen = tuple(select[number] for number in numbers[netlist.name])
            graph = graphs[netlist.name]
            given = {name: values[f"o{name[1:]}"] for name in graph.inputs if name != SELECT}
            values = self.joined.put(graph, {**given, SELECT: chosen})
        self.group, self.last = (group or values), values

    def machine(self) -> MutantMachine:
        """The circuit, what it keeps from beat to beat, and its results."""
        joined = self.joined
        states = [Held("i__carried__code", self.group["o__code"])]
        if self.promotes:
            states.append(Held("register", self.last["o__code"]))
        return MutantMachine(joined, tuple(states), *_result(joined, self.unit, self.last))


def _result(joined: Joined, unit: Unit, last: Mapping[str, tuple[int, ...]]) -> tuple[tuple[int, ...], int | None]:
    """The result's bits, and whether it is NaN where any NaN is as good."""
    fmt = as_float(unit.result.format if unit.promotion is None else unit.promotion.format)
    (says_nan,) = last.get("o__nan", (0,))
    padded = (*[0] * fmt.padding, *last["o__code"])
    result = tuple(
        joined.choose(says_nan, unit.nan >> place & 1, literal) if says_nan else literal
        for place, literal in enumerate(padded)
    )
    good = unpromised(unit)
    nan = None if good.nans is None else is_nan(joined, fmt, padded)
    return result if good.zeros is None else plain_zero(joined, fmt, result), nan
