"""Mutants of a user's design: which of them do the user's vectors notice, and which change nothing?"""

from __future__ import annotations

import importlib.util
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.base import processes
from hwsim.base.arrays import code_array
from hwsim.base.errors import InputError
from hwsim.base.processes import scratch_folder
from hwsim.cases.case import Batch, Case, batches, expected
from hwsim.cases.drawing import Stream
from hwsim.cosim.adapter import adapter
from hwsim.cosim.design import BUSY, Play, Played, Suite
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.elaborate import PLAIN, Module, Port, PortBit
from hwsim.cosim.play import command, play_simulated
from hwsim.cosim.sources import DesignSources, overrides
from hwsim.cosim.suites import Filter
from hwsim.cosim.vectors.check import Stored
from hwsim.cosim.vectors.make import made_batches
from hwsim.cosim.vectors.plan import Wanted
from hwsim.cosim.wiring import joined
from hwsim.prove.qualify.machine import (
    TOGETHER,
    BeatWords,
    CaseGroup,
    Joined,
    MutantMachine,
    Words,
    WrongCircuit,
    is_nan,
    plain_zero,
    played,
    read_aiger,
    words_of,
)
from hwsim.prove.qualify.mutants import AIGER, SELECT, VERILOG, Mutant, Netlist, absorbed, netlists, written
from hwsim.prove.unrolled import yosys_sources
from hwsim.rtl.synthesis.flows import FlowFailed

if TYPE_CHECKING:
    from hwsim.prove.circuits import Circuit


FIELDS = ("a", "b", "c", "scale_a", "scale_b", "metadata")


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
    """Yield cases of one beat as words, with the results that the model computes."""
    number = 0
    for batch in batches(design.unit, cases, TOGETHER):
        numbers = np.arange(number, number + len(batch))
        number += len(batch)
        beat = BeatWords(_inputs(design, _driven(design, batch)), frozenset(), frozenset())
        yield CaseGroup([beat], _expected(design, batch), numbers)


def _expected(design: DutDesign, batch: Batch) -> NDArray[Any]:
    """The results that the model returns, -0 as +0 where that is as good."""
    return code_array(design.unpromised.plain_zeros(expected(design.unit, batch)).tolist())


def _driven(design: DutDesign, batch: Batch) -> Batch:
    """Cases as the design takes them."""
    if design.dut.sparse is None:
        return batch
    cases = design.driven(list(batch.cases()))
    b, metadata = (np.array([getattr(case, name) for case in cases], batch.b.dtype) for name in ("b", "metadata"))
    return replace(batch, b=b, metadata=metadata)


def _inputs(design: DutDesign, batch: Batch) -> dict[str, Words]:
    """A word for each bit of each input port: of a field, or held."""
    every, words = np.uint64((1 << len(batch)) - 1), dict[PortBit, np.uint64]()
    for name in FIELDS:
        codes = getattr(batch, name)
        for index, bits in enumerate(design.wiring.places.get(name, ())):
            shift = design.wiring.shift[name]
            of_bits = words_of(codes if name == "c" else codes[:, index], shift + len(bits))
            words |= dict(zip(bits, of_bits[shift:], strict=True))
    for bit, held in design.wiring.held.items():
        words[bit] = words[held] if isinstance(held, tuple) else every if held else np.uint64(0)
    return {
        port.name: np.array(
            [words.get((port.name, PLAIN, index), np.uint64(0)) for index in range(port.width)], np.uint64
        )
        for port in design.module.ports
        if port.direction == "in"
    }


EACH, ALTOGETHER = 2.0, 30.0  # seconds of the processor for one question, and for all
BTOR = "design -reset\nread_json {name}.mutated.json\nasync2sync\ndffunmap\nopt_clean\nwrite_btor {name}.btor\n"
CLOCKS = ("CLK", "C")  # ports of registers; BTOR2 has one clock, and so nothing that changes it


@dataclass(frozen=True)
class ChangeOfMutant:
    """The effect of a mutant, as far as it is known. equal: whether it changes nothing; None where that is not known.

    inputs: those that show a change, by port; none unless they are known.
    """

    equal: bool | None
    inputs: tuple[tuple[str, int], ...] = ()


UNKNOWN = ChangeOfMutant(None)


def differences(netlist: Netlist, mutants: Sequence[Mutant], tell: Callable[[int], None]) -> list[ChangeOfMutant]:
    """The change that each of some mutants makes. tell: called with how many are done.

    No change is known where bitwuzla is not installed, and of a design that BTOR2 does not have, as one with latches.
    """
    clocked = clocking(netlist)
    asked = [mutant for mutant in mutants if not _of_clock(mutant, clocked)]
    if not asked or importlib.util.find_spec("bitwuzla") is None:
        return [UNKNOWN] * len(mutants)
    from hwsim.prove.circuits import read_btor

    try:
        (text,) = written([(netlist, asked)], "btor", BTOR)
        changes = dict(zip(asked, _decided(read_btor(text, "mutated."), len(asked), tell), strict=True))
    except (FlowFailed, ValueError):
        return [UNKNOWN] * len(mutants)
    return [changes.get(mutant, UNKNOWN) for mutant in mutants]


def _decided(circuit: Circuit, count: int, tell: Callable[[int], None]) -> list[ChangeOfMutant]:
    from hwsim.prove.terms import all_substituted, ask, both, same, simplified, value

    registers = [state.next for state in circuit.states.values() if state.next is not None]
    terms, select = [*circuit.outputs.values(), *registers], circuit.inputs[SELECT]
    shown = {name: term for name, term in circuit.inputs.items() if name != SELECT}
    plain = [simplified(term) for term in all_substituted(terms, {select: value(0, count)})]
    changes, begun = list[ChangeOfMutant](), time.thread_time()
    for number in range(count):
        left = ALTOGETHER - (time.thread_time() - begun)
        if left <= 0:
            changes.append(UNKNOWN)
            continue
        changed = all_substituted(terms, {select: value(1 << number, count)})
        claim = both(*(same(before, simplified(after)) for before, after in zip(plain, changed, strict=True)))
        answer = ask(claim, (), min(EACH, left), shown.values())
        if answer.word == "proved":
            changes.append(ChangeOfMutant(True))
        elif answer.word == "refuted" and not circuit.states and answer.model is not None:
            values = {term.symbol(): name for name, term in shown.items()}
            changes.append(
                ChangeOfMutant(False, tuple((values[symbol], code) for symbol, code in answer.model.items()))
            )
        else:
            changes.append(UNKNOWN)
        tell(number + 1)
    return changes


def clocking(netlist: Netlist) -> set[str]:
    """The cells on which a clock depends."""
    drivers = {
        bit: name
        for name, cell in netlist.cells.items()
        for port, bits in cell["connections"].items() if cell["port_directions"][port] == "output"
        for bit in bits
    }  # fmt: skip
    left = [bit for cell in netlist.cells.values() for port in CLOCKS for bit in _clock(cell, port)]
    reached = set[str]()
    while left:
        name = drivers.get(left.pop())
        if name is not None and name not in reached:
            reached.add(name)
            cell = netlist.cells[name]
            left += [bit for port, bits in cell["connections"].items()
                     if cell["port_directions"][port] == "input" for bit in bits]  # fmt: skip
    return reached


def _clock(cell: dict[str, object], port: str) -> list[object]:
    """The bits of a register's clock."""
    connections, parameters = cell["connections"], cell["parameters"]
    assert isinstance(connections, dict) and isinstance(parameters, dict)
    return list(connections.get(port, ())) if "CLK_POLARITY" in parameters else []


def _of_clock(mutant: Mutant, clocked: set[str]) -> bool:
    return mutant.port.removeprefix("\\") in CLOCKS or mutant.cell.removeprefix("\\") in clocked


Fate = Literal["killed", "equivalent", "survives", "undecided"]
WORKERS = 2
HELD_CASES = 200  # of the vectors, those that are also played with gaps and back-pressure
MUTATED = "hwsim_mutated"
HELD = "hwsim_held"
# The design with its inputs that are constant, or copies of others, as the adapter holds them, and without outputs that
# nobody reads: what these leave without effect is gone before anything is changed.
AROUND = """module {held} (
{ports}
);
  {top} {parameters}dut ({connections});
{unread}endmodule
"""
READ = """read_verilog -sv {options} {files}
hierarchy -check -top {top}
proc -noopt -norom
memory -nomap
memory_map
flatten -separator .
opt -full
opt_dff -sat
opt -full
wreduce
opt_clean -purge
"""
# The design's own name, and the mutant that the simulator's command line names: none for 0.
WRAPPER = """module {top} (
{ports}
);
  integer which = 0;
  reg [{last}:0] mutants = 0;
  initial if ($value$plusargs("hwsim_mutant=%d", which) && which > 0) mutants[which - 1] = 1'b1;
  {mutated} mutated (.{select}(mutants), {connections});
endmodule
"""


@dataclass(frozen=True)
class DutRow:
    """The fate of a mutant of a user's design.

    fate: `killed` by vectors; `equivalent`, shown to change nothing; `survives`: no vector shows what it changes, and
    inputs are known that do; `undecided`: neither is known. how: the case or the rule of the ports that killed it, or
    inputs that show it.
    """

    mutant: Mutant
    fate: Fate
    how: str = ""

    @property
    def killed(self) -> bool:
        """True if vectors show it."""
        return self.fate == "killed"


class Share(NamedTuple):
    """A share, and the ends of its confidence interval."""

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class DutQualification:
    """The qualification of a user's vectors. of: how many mutants the design has. vectors: what was played."""

    design: str
    vectors: str
    cases: int
    seed: int
    of: int
    rows: tuple[DutRow, ...]

    @property
    def killed(self) -> Share:
        """The share that vectors kill of mutants not shown to change nothing; with 95 % confidence if drawn."""
        count, total = self.count("killed"), len(self.rows) - self.count("equivalent")
        share = count / total if total else 1.0
        return Share(share, share, share) if len(self.rows) == self.of or not total else wilson(count, total)

    @property
    def survivors(self) -> list[DutRow]:
        """The mutants that no vector kills, and that are not shown to change nothing."""
        return [row for row in self.rows if row.fate in ("survives", "undecided")]

    def count(self, fate: Fate) -> int:
        """The number of mutants with that fate."""
        return sum(row.fate == fate for row in self.rows)


def wilson(count: int, total: int, z: float = 1.96) -> Share:
    """A share and its interval, by Wilson's score (E. B. Wilson, JASA 22, 1927). z: 1.96 for 95 % confidence."""
    share, extra = count / total, z * z / total
    middle = (share + extra / 2) / (1 + extra)
    reach = z * math.sqrt(share * (1 - share) / total + extra / (4 * total)) / (1 + extra)
    return Share(share, max(0.0, middle - reach), min(1.0, middle + reach))


def cases_of(design: DutDesign, known: Stored | None) -> tuple[str, list[Case]]:
    """The cases that a design takes: of a user's set, or of the smoke set of its unit. Raises ValueError for none."""
    if known is not None and known.written != (design.dut.sparse or design.dut.unit):
        raise InputError(
            f"{known.folder} has vectors of {known.written.name}, which is not the unit that the design names"
        )
    if known is None:
        where = f"smoke vectors of {design.unit.name}"
        every = (case for batch in made_batches(Wanted(design.drawn_for)) for case in batch.cases())
        offered = design.held.drawn(every, solved=True)
    else:
        where, offered = str(known.folder), [_stored(design, known, number) for number in range(known.cases)]
    taken = [case for _, case in Filter(design).take(offered)]
    if not taken:
        raise InputError(f"the design takes none of the {len(offered):,} cases of {where}")
    return where, taken


def _stored(design: DutDesign, known: Stored, number: int) -> Case:
    """A case of a set, which a sparse design takes under the set's metadata."""
    return known.case(number) if design.dut.sparse is None else design.keep(known.written_case(number))


class DutQualifier:
    """A check of whether vectors kill the mutants of a user's design.

    tell: called with how many mutants are done, how many there are, and what is done.
    Raises ValueError for a design with arrays as ports; ToolMissing, and FlowFailed where Yosys does not read it.
    """

    def __init__(self, design: DutDesign, seed: int, tell: Callable[[int, int, str], None]):
        if any(port.arrays for port in design.module.ports):
            raise InputError(f"{design.dut.path}: arrays as ports are not mutated: Yosys writes none")
        self.design, self.seed, self.tell = design, seed, tell
        tell(0, 0, "Yosys reads the design")
        self.netlist = dut_netlist(design, seed)

    def qualify(self, count: int | None, known: Stored | None = None) -> DutQualification:
        """Find the fates of so many mutants, drawn at random, or of all. known: a user's vectors; smoke unless given.

        Raises ValueError where the design itself, as Yosys reads it, does not pass them.
        """
        where, cases = cases_of(self.design, known)
        every = self.netlist.mutants
        chosen = list(every)
        if count is not None and count < len(every):
            places = Stream(self.seed, self.design.name, "qualify").sample(range(len(every)), count)
            chosen = [every[place] for place in sorted(places)]
        without_clock = self.design.dut.file.protocol.kind == "combinational"
        if without_clock and not self.design.ports.extra and not self.design.wiring.scaled:
            rows = self._played(chosen, cases)
        else:
            with scratch_folder() as folder:
                rows = self._simulated(folder, chosen, cases)
        return DutQualification(
            self.design.name, where, len(cases), self.seed, len(every), tuple(self._looked_at(rows))
        )

    def _looked_at(self, rows: Sequence[DutRow]) -> list[DutRow]:
        """The rows, with the changes of mutants that no vector kills."""
        left = [row.mutant for row in rows if row.fate == "undecided" and not absorbed(self.netlist, row.mutant)]
        self.tell(0, len(left), "asking what survivors change")
        told = differences(self.netlist, left, lambda done: self.tell(done, len(left), "asking what survivors change"))
        changes, looked_at = dict(zip(left, told, strict=True)), list[DutRow]()
        for row in rows:
            what = changes.get(row.mutant)
            if row.fate != "undecided":
                looked_at.append(row)
            elif what is None or what.equal:
                looked_at.append(DutRow(row.mutant, "equivalent"))
            elif what.equal is False and not any(self.design.unpromised.left_out()):
                looked_at.append(DutRow(row.mutant, "survives", self._shown(dict(what.inputs))))
            else:
                looked_at.append(row)
        return looked_at

    def _shown(self, inputs: Mapping[str, int]) -> str:
        """The values at the design's inputs, but for those that are constant, in words."""
        held, shown = self.design.wiring.held, list[str]()

        def bit(name: str, at: int) -> int:
            kept = held.get((name, PLAIN, at), (name, PLAIN, at))
            return kept if isinstance(kept, int) else inputs.get(kept[0], 0) >> kept[2] & 1

        for port in self.design.module.ports:
            free = [at for at in range(port.width) if not isinstance(held.get((port.name, PLAIN, at)), int)]
            if port.name in inputs and free:
                shown.append(f"{port.name} {sum(bit(port.name, at) << at for at in range(port.width)):#x}")
        return ", ".join(shown)

    def _played(self, chosen: Sequence[Mutant], cases: Sequence[Case]) -> list[DutRow]:
        """The rows of mutants that are played all at once, as a circuit without a clock can be."""
        self.tell(0, 0, "building a circuit of all mutants")
        machine, done = dut_machine(self.design, self.netlist, chosen), 0

        def tell(count: int) -> None:
            nonlocal done
            done += count
            self.tell(done, len(cases), "playing cases")

        try:
            killer = played(machine, dut_groups(self.design, cases), tell)
        except WrongCircuit as error:
            raise self._fails(str(error)) from None
        unseen = set(machine.unseen().tolist())
        return [
            DutRow(mutant, "killed", str(cases[place].id))
            if place >= 0
            else DutRow(mutant, "equivalent" if number in unseen else "undecided")
            for number, (mutant, place) in enumerate(zip(chosen, killer.tolist(), strict=True))
        ]

    def _fails(self, said: str) -> InputError:
        return InputError(f"{self.design.name} itself does not pass: {said}; see `hwsim cosim --dut`")

    def _simulated(self, folder: Path, chosen: Sequence[Mutant], cases: Sequence[Case]) -> list[DutRow]:
        """The rows of mutants that are each played in a simulation of its own, of one program."""
        design = mutated_design(self.design, self.netlist, chosen, folder)
        self.tell(0, len(chosen), "Verilator builds the mutants")
        program, plays, done = command("verilator", design.sources("verilator"), trace=False), self._plays(cases), 0

        def play(number: int) -> str:
            """Play a mutant, by its number from 1 on, or the design itself for 0.

            Return how it was noticed; empty where it was not.
            """
            nonlocal done
            job, limit = folder / f"mutant{number}", design.stuck_after
            played = play_simulated(
                "verilator", [*program, f"+hwsim_mutant={number}"], design, plays, job, self.seed, limit
            )
            done += number > 0
            self.tell(done, len(chosen), "simulating mutants")
            return next((notice for suite in played if (notice := _noticed(suite))), "")

        with processes.threads(WORKERS) as pool:
            if notice := play(0):
                raise self._fails(notice)
            how = list(pool.map(play, range(1, len(chosen) + 1)))
        return [
            DutRow(mutant, "killed" if notice else "undecided", notice)
            for mutant, notice in zip(chosen, how, strict=True)
        ]

    def _plays(self, cases: Sequence[Case]) -> list[Play]:
        """The plays of all cases back to back; of a design that can be held some again, with gaps and back-pressure."""
        suites = [Suite("vectors", tuple(cases))]
        if self.design.dut.file.protocol.holding:
            suites.append(Suite("vectors, gaps and back-pressure", tuple(cases[:HELD_CASES]), traffic=BUSY))
        return [self.design.play(suite, Stream(self.seed, suite.name)) for suite in suites]


def _noticed(played: Played) -> str:
    """The sign in a suite that a design is wrong; empty where all is well."""
    if played.stuck:
        return "no cycle ended"
    if not played.outcome.mismatches:
        return ""
    first = played.outcome.mismatches[0]
    owners = played.play.owners
    if first.kind == "result" and first.index < len(owners):
        return str(played.suite.cases[owners[first.index]].id)
    return f"{first.kind} {first.name}".strip()


def dut_netlist(design: DutDesign, seed: int) -> Netlist:
    """A user's design as Yosys reads it, and every mutant of it."""
    sources, around = yosys_sources(design), f"{HELD}.v"
    files = " ".join(f'"{path}"' for path in [*sources.names, around])
    read = READ.format(options=" ".join(sources.options), files=files, top=HELD)
    (netlist,) = netlists({design.name: read}, {**sources.texts, around: held_module(design)}, seed)
    return netlist


def held_module(design: DutDesign) -> str:
    """Verilog of the design with those of its inputs held that its file holds, and unread outputs at 0."""
    module, held = design.module, design.wiring.held
    named = overrides(design.dut.file.parameters)
    connections, unread = [], ""
    for port in module.ports:
        if port.direction == "out" and not re.search(rf"\bport_{re.escape(port.name)}\b", _reading(design)):
            connections.append(f".{port.name}()")
            unread += f"  assign {port.name} = 0;\n"
            continue
        bits = list[str]()
        for index in range(port.width) if port.direction == "in" else ():
            kept = held.get((port.name, PLAIN, index), (port.name, PLAIN, index))
            bits.append(f"1'd{kept}" if isinstance(kept, int) else _bit(module, kept))
        connections.append(f".{port.name}({joined(bits) if bits else port.name})")
    return AROUND.format(
        held=HELD, ports=",\n".join(f"  {_declared(port)}" for port in module.ports), top=module.name,
        parameters=f"#({named}) " if named else "", connections=", ".join(connections), unread=unread,
    )  # fmt: skip


NOT_READING = re.compile(r"^ *(?:(?:wire|bit)(?: signed)? \[\d+:0\] port_|\.|wire unused)")


def _reading(design: DutDesign) -> str:
    """The lines of the adapter that read the design's outputs."""
    return "\n".join(line for line in design.adapter.splitlines() if not NOT_READING.match(line))


def _bit(module: Module, bit: PortBit) -> str:
    name, _, index = bit
    return name if module.by_name[name].width == 1 else f"{name}[{index}]"


def mutated_design(design: DutDesign, netlist: Netlist, mutants: Sequence[Mutant], folder: Path) -> DutDesign:
    """The design with mutants in it; the simulator's argument `+hwsim_mutant=N` chooses one, counted from 1."""
    (text,) = written([(netlist, mutants)], "v", VERILOG, top=MUTATED)
    ports = design.module.ports
    wrapper = WRAPPER.format(
        top=design.module.name, ports=",\n".join(f"  {_declared(port)}" for port in ports), last=len(mutants) - 1,
        mutated=MUTATED, select=SELECT, connections=", ".join(f".{port.name}({port.name})" for port in ports),
    )  # fmt: skip
    source = folder / "mutated.v"
    source.write_text(text + wrapper, encoding="utf-8")
    file = design.dut.file.model_copy(update={"parameters": {}})
    dut = replace(design.dut, file=file, sources=DesignSources(files=(source,)))
    module = replace(design.module, ordered=(source,), files=(source,), inner_arrays=())
    return replace(design, dut=dut, module=module, adapter=adapter(dut, module, design.wiring))


def _declared(port: Port) -> str:
    return f"{port.direction}put {f'[{port.width - 1}:0] ' if port.width > 1 else ''}{port.name}"
