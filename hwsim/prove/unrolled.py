"""A user's design as a circuit, and one beat through it, register by register."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from hwsim.base.errors import InputError
from hwsim.base.files import write_texts
from hwsim.base.processes import scratch_folder
from hwsim.base.text import counted
from hwsim.cosim.adapter import ADAPTER
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.dutfile import Dut
from hwsim.explain.proof import ClaimRow
from hwsim.prove.abstract import packed
from hwsim.prove.circuits import Circuit, Cycle, Machine, cycles, read_btor
from hwsim.prove.terms import (
    Term,
    ask,
    constant,
    constants_of,
    implies,
    is_one,
    negated,
    part,
    same,
    simplified,
    substituted,
    value,
    width,
)
from hwsim.rtl.synthesis.flows import YOSYS, FlowFailed, run_tool

SCRIPT = """read_verilog -sv {options} {files}
hierarchy -check -top {top}
proc -norom
flatten -separator .
memory -nordff
opt_expr -keepdc
opt_merge
opt_clean -purge
select -write latches t:$dlatch t:$adlatch t:$dlatchsr t:$sr
async2sync
dffunmap
opt_clean -purge
write_btor -i clocks design.btor
"""
EDGE = re.compile(r"^(posedge|negedge|event) (\d+)$", re.MULTILINE)
ERROR = re.compile(r"^(?:(?P<where>.*): )?ERROR: (?P<what>.*)$", re.MULTILINE)


def check_language(dut: Dut) -> None:
    """Raise InputError for a source in another language than Verilog."""
    for source in dut.sources.files:
        if source.suffix.lower() in (".vhd", ".vhdl"):
            raise InputError(f"{dut.path}: {source.name} is VHDL: proofs take what Yosys reads, Verilog")


def design_circuit(design: DutDesign, prefix: str = "dut.", seconds: float = 600.0) -> Circuit:
    """The circuit of a design in its adapter. prefix: of its constants' names.

    Raises ToolMissing, and InputError for what Yosys does not read and for what is no circuit of one clock whose
    registers all change at its rising edge.
    """
    text, edges, latches = _written(design, seconds)
    if latches:
        raise _unread(design.dut, f"it has latches ({', '.join(latches)})")
    circuit = read_btor(text, prefix)
    inputs = [line.split() for line in text.splitlines() if " input " in line]
    clocks = {words[0] for words in inputs if words[3:4] == ["clk"]}
    named = [line.split() for line in text.splitlines() if " uext " in line]  # wires, as Yosys writes their names
    clocks |= {words[0] for words in named if words[3] in clocks and words[4] == "0"}
    if any(kind != "posedge" or number not in clocks for kind, number in EDGE.findall(edges)):
        raise _unread(design.dut, "not all of its registers change at the rising edge of its clock, as it comes in")
    if "clk" in circuit.inputs and circuit.inputs["clk"] in constants_of(_all_terms(circuit)):
        raise _unread(design.dut, "its clock is used as data")
    return circuit


def _all_terms(circuit: Circuit) -> list[Term]:
    following = [state.next for state in circuit.states.values() if state.next is not None]
    return [*circuit.outputs.values(), *following]


def _unread(dut: Dut, why: str) -> InputError:
    return InputError(f"{dut.path}: {dut.file.top} cannot be proved: {why}")


@dataclass(frozen=True)
class YosysSources:
    """A design's files for Yosys, which sees its own folder alone. texts: by paths in it. options: of read_verilog."""

    texts: Mapping[str, str]
    names: Sequence[str]
    options: Sequence[str]


def yosys_sources(design: DutDesign) -> YosysSources:
    """A design's sources, and the files that they include."""
    dut = design.dut
    sources = design.module.ordered
    names = [f"source{index}/{source.name}" for index, source in enumerate(sources)]
    texts = {name: _text(source) for name, source in zip(names, sources, strict=True)}
    folders = list[str]()
    for index, place in enumerate(dict.fromkeys([*dut.sources.searched, *(source.parent for source in sources)])):
        inside = [file for file in design.module.files if file.is_relative_to(place.resolve())]
        included = {
            f"include{index}/{file.relative_to(place.resolve())}": _text(file) for file in inside if file not in sources
        }
        texts |= included
        folders += [f"include{index}"] if included else []
    options = [*(f"-I{place}" for place in folders), *(f"-D{define}" for define in dut.sources.defines)]
    return YosysSources(texts, names, options)


def _text(file: Path) -> str:
    """A file's text; what is no UTF-8 in it stays as it is."""
    return file.read_text(encoding="utf-8", errors="surrogateescape")


def _written(design: DutDesign, seconds: float) -> tuple[str, str, list[str]]:
    """A design as BTOR2, the edges of its clocks, and its latches."""
    dut = design.dut
    with scratch_folder() as folder:
        sources = yosys_sources(design)
        write_texts(folder, {**sources.texts, "adapter.v": design.adapter})
        files = " ".join(f'"{source}"' for source in [*sources.names, "adapter.v"])
        script = SCRIPT.format(options=" ".join(sources.options), files=files, top=ADAPTER)
        (folder / "script").write_text(script, encoding="utf-8")
        try:
            run_tool(YOSYS, ["-q", "-s", "script"], folder, seconds)
        except FlowFailed as error:
            raise _unread(dut, f"Yosys does not read it: {_said(str(error))}") from None
        latches = (folder / "latches").read_text(encoding="utf-8").split()
        outputs = (folder / "design.btor", folder / "clocks")
        text, edges = (path.read_text(encoding="utf-8") for path in outputs)
        return text, edges, [name.partition("/")[2] for name in latches]


def _said(error: str) -> str:
    """The complaint of Yosys, with the name of the file."""
    match = ERROR.search(error)
    if match is None:
        return error
    return f"{match['where'].partition('/')[2]}: {match['what']}" if match["where"] else match["what"]


BRIEFLY = 10.0  # seconds of the processor for what is nice to know
MOST_CYCLES = 256  # that a design is followed for
UNNAMED = "dut.input"  # what begins the names of bits that a design leaves undefined
FIXED = {"first": 1, "last": 1, "context": 0}


@dataclass(frozen=True)
class BeatResult:
    """The result that a design has for one beat.

    beat: constants of the beat's fields, one for each element. result: the container's code. cycles: after the beat.
    alone: whether it is the result of a beat alone, after a reset; else of one in any state, among any others.
    rows: the claims about that. hint: what to change in the design's file; empty where nothing is known.
    """

    beat: Mapping[str, tuple[Term, ...]]
    result: Term
    cycles: int
    alone: bool
    rows: tuple[ClaimRow, ...]
    hint: str = ""

    @cached_property
    def undefined(self) -> tuple[Term, ...]:
        """The other constants of the result: bits that the design leaves undefined, or what stood beside the beat."""
        known = {term.symbol() for terms in self.beat.values() for term in terms}
        return tuple(term for term in constants_of([self.result]) if term.symbol() not in known)


def beat_result(design: DutDesign, seconds: float = 60.0) -> BeatResult:
    """Follow a beat. seconds: for each question about control.

    Raises InputError for a design that cannot be read, that takes no beat or gives no result in time, or does either in
    cycles that depend on operands.
    """
    check_language(design.dut)
    return _Unrolled(design, design_circuit(design), seconds).followed()


class _Unrolled:
    def __init__(self, design: DutDesign, circuit: Circuit, seconds: float):
        self.design, self.circuit, self.seconds = design, circuit, seconds
        self.machine, self.protocol = Machine.of(circuit), design.dut.file.protocol
        self.beat: dict[str, tuple[Term, ...]] = {}
        parts = []
        for field in design.ports.input.fields:
            if field.name in FIXED:
                parts.append(value(FIXED[field.name], field.bits))
                continue
            elements = tuple(constant(f"beat.{field.name}.{index}", field.bits) for index in range(field.count))
            self.beat[field.name] = elements
            parts += elements
        self.payload = packed(parts)
        if self.protocol.kind == "combinational" and circuit.states:
            raise self._refused(f"it is said to be combinational and has registers ({', '.join(circuit.states)})")

    def _refused(self, why: str) -> InputError:
        return InputError(f"{self.design.dut.path}: {self.design.dut.file.top} cannot be proved: {why}")

    @property
    def _clocked(self) -> bool:
        return self.protocol.kind != "combinational"

    @property
    def _entering(self) -> dict[str, Term]:
        return {"i__valid": value(1, 1), "i__payload": self.payload, "o__ready": value(1, 1)} | self._running

    @property
    def _running(self) -> dict[str, Term]:
        return {"rst": value(0, 1)} if "rst" in self.circuit.inputs else {}

    def followed(self) -> BeatResult:
        """The result of a beat in any traffic where nothing else is left in it; else of one alone."""
        begun = time.thread_time()
        entered, left = self._alone()
        latency = left - entered
        spent = time.thread_time() - begun
        result = self._result(self.run[left])
        if not self._clocked:
            return BeatResult(self.beat, result, 0, False, ())
        words = f"after a reset a beat is taken, and its result comes {counted(latency, 'cycle')} later"
        row = ClaimRow(
            name="a beat alone", words=words, over="all operands", solver="bitwuzla", seconds=spent, word="proved"
        )
        promises = self.protocol.taking is not None or self.protocol.giving is not None
        alone = BeatResult(self.beat, result, latency, True, (row,) if promises else ())
        begun = time.thread_time()
        among = self._among(latency, BRIEFLY)
        spent = time.thread_time() - begun
        if among is not None:
            words = "the result depends on nothing but the beat"
            row = ClaimRow(
                name="other beats", words=words, over="any state, any beats before and behind",
                solver="terms, or bitwuzla",
                seconds=spent, word="proved",
            )  # fmt: skip
            return BeatResult(self.beat, among, latency, False, (*alone.rows, row))
        return self._late(alone, spent) or replace(alone, hint=self._after_another(entered, alone))

    # Alone.

    def _alone(self) -> tuple[int, int]:
        """The cycles in which a beat enters, and in which its result comes; `run` has them."""
        self.run: list[Cycle] = []
        self.registers = {
            name: term if (first := self.circuit.states[name].initial) is None else first
            for name, term in self.machine.now.items()
        }
        idle = {"i__valid": value(0, 1), "o__ready": value(1, 1)}
        if self.design.dut.file.reset is not None:
            for _ in range(self.design.dut.file.reset.cycles):
                self._step(idle | {"rst": value(1, 1)})
        while not self._always(self._step(self._entering), "i__ready", "takes a beat"):
            pass
        entered = len(self.run) - 1
        if self.protocol.promised is not None:
            for _ in range(self.protocol.promised or 0):
                self._step(idle | self._running)
            if self.protocol.giving is not None and not self._always(self.run[-1], "o__valid", "gives a result"):
                raise self._refused(
                    f"{self.protocol.giving} is not active "
                    f"{counted(self.protocol.promised or 0, 'cycle')} after a beat: see protocol.cycles"
                )
            return entered, len(self.run) - 1
        while not self._always(self.run[-1], "o__valid", "gives a result"):
            self._step(idle | self._running)
        return entered, len(self.run) - 1

    def _step(self, given: Mapping[str, Term]) -> Cycle:
        if len(self.run) > MOST_CYCLES + (self.protocol.promised or 0):
            raise self._refused(f"alone, after a reset, it takes no beat or gives no result in {MOST_CYCLES} cycles")
        if self.run:
            cycle, last = len(self.run), self.run[-1]
            self.registers = {name: last.of(term) for name, term in self.machine.next.items()}
        else:
            cycle = 0
        inputs = {name: constant(f"{term.symbol()}@{cycle}", width(term)) for name, term in self.machine.inputs.items()}
        inputs |= {name: term for name, term in given.items() if name in inputs}
        by = {self.machine.now[name]: term for name, term in self.registers.items()}
        by |= {self.machine.inputs[name]: term for name, term in inputs.items()}
        self.run.append(Cycle(self.registers, by))
        return self.run[-1]

    def _always(self, cycle: Cycle, output: str, what: str) -> bool:
        """True if an output is high in a cycle, whatever the operands are. Raises InputError where they decide."""
        high = is_one(cycle.of(self.circuit.outputs[output]))
        if ask(high, (), self.seconds).word == "proved":
            return True
        if ask(negated(high), (), self.seconds).word == "proved":
            return False
        raise self._refused(f"in which cycle it {what} depends on operands, or on what registers hold at power-up")

    def _result(self, cycle: Cycle) -> Term:
        field = next(field for field in self.design.ports.output.fields if field.name == "result")
        payload = cycle.of(self.circuit.outputs["o__payload"])
        return simplified(part(payload, field.offset, field.bits))

    # Among others.

    def _among(self, latency: int, seconds: float = 0.0) -> Term | None:
        """The result of a beat from any state and among any others; None where it depends on these.

        seconds: in which the solver may show that what else is in the result makes no difference to it.
        """
        taken = {"o__ready": value(1, 1)} | self._running
        run = cycles(self.machine, latency + 1, lambda number: taken if number else self._entering)
        result = self._result(run[latency])
        if others := [term for term in constants_of([result]) if self._is_other(term)]:
            again = substituted(result, {term: constant(f"{term.symbol()}'", width(term)) for term in others})
            if not seconds or ask(same(result, again), (), seconds).word != "proved":
                return None
            result = simplified(substituted(result, {term: value(0, width(term)) for term in others}))
        if self.protocol.giving is not None:
            accepted = is_one(run[0].of(self.circuit.outputs["i__ready"]))
            valid = is_one(run[latency].of(self.circuit.outputs["o__valid"]))
            if ask(implies(accepted, valid), (), self.seconds).word != "proved":
                return None
        return result

    def _after_another(self, entered: int, alone: BeatResult) -> str:
        """Two beats, right after a reset, where the first changes the second's result, in words; empty for none found.

        entered: the cycle in which the beat alone is taken.
        """
        mine = [term for terms in self.beat.values() for term in terms]
        others = {term: constant(f"before.{term.symbol()}", width(term)) for term in mine}
        first = self._entering | {"i__payload": substituted(self.payload, others)}
        idle = {"i__valid": value(0, 1), "o__ready": value(1, 1)} | self._running
        run = cycles(
            self.machine,
            alone.cycles + 2,
            lambda cycle: first if cycle == 0 else self._entering if cycle == 1 else idle,
            lambda cycle: self.run[entered].registers if cycle == 0 else {},
        )
        if ask(is_one(run[1].of(self.circuit.outputs["i__ready"])), (), BRIEFLY).word != "proved":
            return ""
        both_ways = same(self._result(run[-1]), alone.result)
        model = ask(both_ways, (), BRIEFLY, [*mine, *others.values()]).model
        if model is None:
            return ""
        pair = [", ".join(f"{name} {number:#x}" for name, number in model.items() if name.startswith(prefix) and number)
                for prefix in ("before.", "beat.")]  # fmt: skip
        return (
            f"in the netlist a beat changes the result of the one that follows it: {pair[0] or 'all is zero'}; then "
            f"{pair[1] or 'all is zero'} (not played in a simulator)"
        )

    def _is_other(self, term: Term) -> bool:
        return not term.symbol().startswith(("beat.", UNNAMED))

    def _late(self, alone: BeatResult, spent: float) -> BeatResult | None:
        """The result with the latency that it seems to have, where the promised one is another beat's; else None."""
        if self.protocol.kind != "latency" or self.protocol.giving is not None:
            return None
        if not self._is_of_others(alone.result) or (fits := next(self._independent(alone.cycles), None)) is None:
            return None
        words = f"{counted(alone.cycles, 'cycle')} after a beat the result is that beat's, and no other's"
        row = ClaimRow(
            name="latency", words=words, over="any beats behind", solver="bitwuzla", seconds=spent, word="not proved"
        )
        hint = f"its latency seems to be {counted(fits, 'cycle')}, not {alone.cycles}: see protocol.cycles"
        return replace(alone, rows=(*alone.rows, row), hint=hint)

    def _is_of_others(self, result: Term) -> bool:
        """True if what stands beside a beat decides its result, or the beat nothing of it."""
        symbols = constants_of([result])
        if not any(term.symbol().startswith("beat.") for term in symbols):
            return True
        others = {term: constant(f"{term.symbol()}'", width(term)) for term in symbols if self._is_other(term)}
        return ask(same(result, substituted(result, others)), (), self.seconds).word == "refuted"

    def _independent(self, promised: int) -> Iterator[int]:
        """Yield latencies with which the result depends on nothing but the beat, and on some of it."""
        for latency in range(promised + 9):
            result = self._among(latency) if latency != promised else None
            if result is not None and any(term.symbol().startswith("beat.") for term in constants_of([result])):
                yield latency
