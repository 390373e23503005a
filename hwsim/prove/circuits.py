"""Circuits as word-level terms: read from Yosys, of one step or of a unit, and followed from cycle to cycle."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from amaranth.back import rtlil
from amaranth.lib.wiring import Component

from hwsim.base.errors import InputError
from hwsim.base.processes import scratch_folder
from hwsim.prove.terms import Kind, Term, all_substituted, constant, constants_of, op, substituted, value, width
from hwsim.rtl import convert, datapath, module_name, promotion, supports, top_name, unit_rtlil, verilog
from hwsim.rtl.accumulate import accumulation
from hwsim.rtl.step import Datapath
from hwsim.rtl.synthesis.flows import YOSYS, run_tool
from hwsim.spec import Pipeline, Specified


@dataclass(frozen=True)
class Register:
    """A register: its value now, and the next one; None where nothing writes it. initial: at power-up, if given."""

    now: Term
    next: Term | None = None
    initial: Term | None = None


@dataclass(frozen=True)
class Circuit:
    """A module's ports and registers as terms. Outputs and next values are functions of inputs and registers.

    wires: the terms of other signals that have names.
    """

    inputs: Mapping[str, Term]
    outputs: Mapping[str, Term]
    states: Mapping[str, Register] = field(default_factory=dict)
    wires: Mapping[str, Term] = field(default_factory=dict)


def _bit(kind: object) -> Callable[..., Term]:
    """A comparison, as one bit."""
    return lambda *terms: op(Kind.ITE, op(kind, *terms), value(1, 1), value(0, 1))


def _condition(bit: Term) -> Term:
    """The condition that a bit is set; of a comparison's bit, the comparison itself."""
    if bit.kind() == Kind.ITE and [child.is_value() and child.value(10) for child in bit.children()[1:]] == ["1", "0"]:
        return bit.children()[0]
    return op(Kind.EQUAL, bit, value(1, 1))


def _plain(kind: object) -> Callable[..., Term]:
    return lambda *terms: op(kind, *terms)


OPERATIONS: Mapping[str, Callable[..., Term]] = {
    "not": _plain(Kind.BV_NOT), "neg": _plain(Kind.BV_NEG),
    "redor": _plain(Kind.BV_REDOR), "redand": _plain(Kind.BV_REDAND), "redxor": _plain(Kind.BV_REDXOR),
    "and": _plain(Kind.BV_AND), "or": _plain(Kind.BV_OR), "xor": _plain(Kind.BV_XOR), "xnor": _plain(Kind.BV_XNOR),
    "nand": _plain(Kind.BV_NAND), "nor": _plain(Kind.BV_NOR),
    "add": _plain(Kind.BV_ADD), "sub": _plain(Kind.BV_SUB), "mul": _plain(Kind.BV_MUL),
    "sll": _plain(Kind.BV_SHL), "srl": _plain(Kind.BV_SHR), "sra": _plain(Kind.BV_ASHR),
    "concat": _plain(Kind.BV_CONCAT),
    "eq": _bit(Kind.EQUAL), "neq": _bit(Kind.DISTINCT),
    "ult": _bit(Kind.BV_ULT), "ulte": _bit(Kind.BV_ULE), "ugt": _bit(Kind.BV_UGT), "ugte": _bit(Kind.BV_UGE),
    "slt": _bit(Kind.BV_SLT), "slte": _bit(Kind.BV_SLE), "sgt": _bit(Kind.BV_SGT), "sgte": _bit(Kind.BV_SGE),
}  # fmt: skip


class _Reader:
    def __init__(self, prefix: str):
        self.prefix = prefix
        self.sorts: dict[str, int] = {}
        self.nodes: dict[str, Term] = {}
        self.inputs: dict[str, Term] = {}
        self.outputs: dict[str, Term] = {}
        self.names: dict[str, str] = {}
        self.states: dict[str, Register] = {}
        self.wires: dict[str, Term] = {}
        self.empty = {"-1"}  # what has no bits
        # By a choice: the selector, what is chosen by each of its numbers so far, and by all others.
        self.chains: dict[int, tuple[Term, dict[int, Term], Term]] = {}

    def line(self, words: list[str]) -> None:
        """Read one line, without its comment."""
        number, kind, *rest = words
        match kind:
            case "sort":
                if rest[0] != "bitvec":
                    raise InputError(f"sorts must be bit vectors here, not {rest[0]}")
                self.sorts[number] = int(rest[1])
            case "output":
                name = rest[1] if len(rest) > 1 else number
                if rest[0] not in self.empty:  # a port without bits is none
                    self.outputs[name] = self.node(rest[0])
            case "input" if not self.sorts[rest[0]]:
                self.empty.add(number)
            case "input" | "state":
                self._free(number, kind, rest)
            case "next":
                name = self.names[rest[1]]
                self.states[name] = replace(self.states[name], next=self.node(rest[2]))
            case "init":
                name = self.names[rest[1]]
                self.states[name] = replace(self.states[name], initial=self.node(rest[2]))
            case _:
                self.nodes[number] = self._made(kind, rest)
                if kind == "uext" and len(rest) > 3:  # so Yosys says what a wire's name is
                    self.wires[rest[3]] = self.nodes[number]

    def _free(self, number: str, kind: str, rest: list[str]) -> None:
        name = rest[1] if len(rest) > 1 else f"{kind}{number}"
        self.names[number] = name
        self.nodes[number] = term = constant(f"{self.prefix}{name}", self.sorts[rest[0]])
        if kind == "input":
            self.inputs[name] = term
        else:
            self.states[name] = Register(term)

    def _made(self, kind: str, rest: list[str]) -> Term:
        bits = self.sorts[rest[0]]
        if rest[1:2] and rest[1] in self.empty and kind in ("uext", "redor"):
            return value(0, bits)  # of no bits: Yosys numbers such an operand -1, or has an input of none
        match kind:
            case "const":
                return value(int(rest[1], 2), bits)
            case "constd":
                return value(int(rest[1]), bits)
            case "consth":
                return value(int(rest[1], 16), bits)
            case "zero":
                return value(0, bits)
            case "one":
                return value(1, bits)
            case "ones":
                return value(-1, bits)
            case "uext" | "sext":
                extend = Kind.BV_ZERO_EXTEND if kind == "uext" else Kind.BV_SIGN_EXTEND
                added = int(rest[2])
                return op(extend, self.node(rest[1]), indices=[added]) if added else self.node(rest[1])
            case "slice":
                return op(Kind.BV_EXTRACT, self.node(rest[1]), indices=[int(rest[2]), int(rest[3])])
            case "ite":
                condition, yes, no = map(self.node, rest[1:4])
                return self._chosen(_condition(condition), yes, no)
            case "concat" if (high := self.node(rest[1])).is_value() and int(high.value(2), 2) == 0:
                return op(Kind.BV_ZERO_EXTEND, self.node(rest[2]), indices=[width(high)])  # as it is written elsewhere
            case _ if kind in OPERATIONS:
                term = OPERATIONS[kind](*map(self.node, rest[1:3] if kind not in UNARY else rest[1:2]))
                if width(term) != bits:
                    raise InputError(f"{kind} must have {bits} bits, not {width(term)}")
                return term
            case _:
                raise InputError(f"operations of circuits must be known here: {kind} is not")

    def _chosen(self, condition: Term, yes: Term, no: Term) -> Term:
        """One term or the other. A table, which comes as a choice for each number of a selector, is made of its bits.

        Of a chain of choices few random numbers tell one from the next.
        """
        made = op(Kind.ITE, condition, yes, no)
        sides = condition.children() if condition.kind() == Kind.EQUAL and yes.is_value() else []
        if len(sides) != 2 or not sides[1].is_value() or not LEAST_SELECTOR <= width(sides[0]) <= MOST_SELECTOR:
            return made
        number = int(sides[1].value(2), 2)
        before = self.chains.get(no.id())
        rows = before[1] if before is not None and before[0] == sides[0] else {}
        first = no if not rows else before[2]  # type: ignore[index]
        if not first.is_value():
            return made
        self.chains[made.id()] = (sides[0], {**rows, number: yes}, first)
        if len(rows) + (number not in rows) < (1 << width(sides[0])) - 1:
            return made
        every = {**dict.fromkeys(range(1 << width(sides[0])), first), **rows, number: yes}
        return _by_bits(sides[0], [every[index] for index in range(len(every))])

    def node(self, number: str) -> Term:
        """The term of a node; with a minus, its complement.

        Raises InputError for an operand without bits, numbered -1, and for a node that is not known.
        """
        if number.startswith("-"):
            if number[1:] not in self.nodes:
                raise InputError("an operand has no bits")
            return op(Kind.BV_NOT, self.nodes[number[1:]])
        if number not in self.nodes:
            raise InputError(f"node {number} stands nowhere")
        return self.nodes[number]


LEAST_SELECTOR, MOST_SELECTOR = 4, 12  # bits


def _by_bits(selector: Term, rows: Sequence[Term]) -> Term:
    """The row that a selector chooses, by its bits, from the last on."""
    if len(rows) == 1:
        return rows[0]
    half = len(rows) // 2
    low, high = _by_bits(selector, rows[:half]), _by_bits(selector, rows[half:])
    place = half.bit_length() - 1
    bit = op(Kind.EQUAL, op(Kind.BV_EXTRACT, selector, indices=[place, place]), value(1, 1))
    return low if low == high else op(Kind.ITE, bit, high, low)


UNARY = {"not", "neg", "redor", "redand", "redxor"}


def read_btor(text: str, prefix: str = "") -> Circuit:
    """The circuit of a module. prefix: of its constants' names. Raises InputError for what is not read here."""
    reader = _Reader(prefix)
    for line in text.splitlines():
        words = line.split(";")[0].split()
        if words:
            reader.line(words)
    return Circuit(reader.inputs, reader.outputs, reader.states, reader.wires)


READ_RTLIL = """design -reset
read_rtlil {name}.il
hierarchy -top {top}
proc -noopt -norom
"""
# Instances in the top become ports of it, named `instance.port`, and are gone.
CUT_OUT = """expose -evert -sep . {instances}
hierarchy -top {top}
"""
READ_VERILOG = """read_verilog -sv {name}.sv
hierarchy -auto-top
proc -noopt -norom
"""
CLEAN = """flatten -separator .
async2sync
opt_clean -purge
"""
# What nothing drives as registers that nothing writes: else bits of ports beside it are taken for bits of it.
UNDRIVEN = "setundef -undriven -anyseq\n"
NAMELESS = re.compile(r"(input|state)\d+")  # as read_btor calls them
WRITE = f"{CLEAN}dffunmap\nwrite_btor {{name}}.btor\n"


def circuits(components: Mapping[str, Component], seconds: float = 600) -> dict[str, Circuit]:
    """The circuits of components, each by itself, by the components' names; constants are named `name.port`.

    Raises ToolMissing, and FlowFailed with what Yosys said.
    """
    with scratch_folder() as folder:
        script = []
        for index, component in enumerate(components.values()):
            text = rtlil.convert(component, name="top", emit_src=False)
            (folder / f"c{index}.il").write_text(text, encoding="utf-8")
            script.append((READ_RTLIL + WRITE).format(name=f"c{index}", top="top"))
        (folder / "script").write_text("".join(script), encoding="utf-8")
        run_tool(YOSYS, ["-q", "-s", "script"], folder, seconds)
        return {
            name: read_btor((folder / f"c{index}.btor").read_text(encoding="utf-8"), f"{name}.")
            for index, name in enumerate(components)
        }


def surroundings(text: str, top: str, parts: Sequence[str], prefix: str = "", seconds: float = 600) -> Circuit:
    """The circuit of a component, as RTLIL, without some submodules, whose ports it has instead, named `part.port`.

    An output of a submodule is an input here, and may be anything in each cycle; an input of it is an output.
    Raises ToolMissing, and FlowFailed with what Yosys said.
    """
    instances = " ".join(f"{top}/c:{part}" for part in parts)
    script = (READ_RTLIL + CUT_OUT + WRITE).format(name="c", top=top, instances=instances)
    return _written("c.il", text, script, prefix, seconds)


def verilog_circuit(text: str, prefix: str = "", seconds: float = 600, undriven: bool = False) -> Circuit:
    """The circuit of a file of Verilog with one module.

    undriven: what nothing drives is a register that nothing writes.
    Raises ToolMissing, and FlowFailed with what Yosys said.
    """
    script = READ_VERILOG + CLEAN + UNDRIVEN * undriven + "dffunmap\nwrite_btor {name}.btor\n"
    return _written("c.sv", text, script.format(name="c"), prefix, seconds)


def without_undriven(circuit: Circuit) -> Circuit:
    """A circuit without inputs that have no name and that nothing depends on.

    Yosys makes them of bits of nets that nothing drives: of fields that a unit has no use for.
    """
    nexts = (state.next for state in circuit.states.values() if state.next is not None)
    used = {term.symbol() for term in constants_of([*circuit.outputs.values(), *nexts])}
    kept = {
        name: term for name, term in circuit.inputs.items() if not NAMELESS.fullmatch(name) or term.symbol() in used
    }
    return replace(circuit, inputs=kept)


def _written(file: str, text: str, script: str, prefix: str, seconds: float) -> Circuit:
    with scratch_folder() as folder:
        (folder / file).write_text(text, encoding="utf-8")
        (folder / "script").write_text(script, encoding="utf-8")
        run_tool(YOSYS, ["-q", "-s", "script"], folder, seconds)
        return read_btor((folder / "c.btor").read_text(encoding="utf-8"), prefix)


def connected(steps: Sequence[Circuit]) -> Circuit:
    """Steps one after another, as one circuit: the inputs `i__x` of each are the outputs `o__x` of the one before."""
    whole = steps[0]
    for step in steps[1:]:
        by = {term: whole.outputs[f"o{name[1:]}"] for name, term in step.inputs.items()}
        whole = replace(whole, outputs=_substituted(step, by))
    return whole


def fixed(circuit: Circuit, values: Mapping[str, Term]) -> Circuit:
    """The circuit with terms in the place of some of its inputs."""
    by = {circuit.inputs[name]: term for name, term in values.items()}
    return replace(circuit, outputs=_substituted(circuit, by))


def _substituted(circuit: Circuit, by: Mapping[Term, Term]) -> dict[str, Term]:
    return dict(zip(circuit.outputs, all_substituted(circuit.outputs.values(), by), strict=True))


def datapath_circuits(unit: Specified, cuts: Sequence[str]) -> dict[str, Circuit]:
    """The steps of a unit's datapath, each by itself, by their names."""
    return written_steps(datapath(unit, cuts))


def adder_circuits(unit: Specified, cuts: Sequence[str]) -> dict[str, Circuit]:
    """The steps of the adder of a unit's groups' sums, each by itself, by their names."""
    return written_steps(promotion(unit, cuts))


def written_steps(path: Datapath, seconds: float = 600) -> dict[str, Circuit]:
    """Steps as files have them, each by itself, by their names; constants are named `name.port`.

    Raises ToolMissing, and FlowFailed with what Yosys said.
    """
    return {
        step.name: verilog_circuit(convert(step, module_name(step.name)), f"{step.name}.", seconds)
        for step in path.steps
    }


class Elaborated:
    """The RTL of a unit, as circuits and as text. Code that changes the RTL makes a new object.

    Raises NotImplementedYet for a unit that the RTL cannot build; the properties raise ToolMissing, and FlowFailed with
    what Yosys said.
    """

    def __init__(self, unit: Specified, pipeline: Pipeline):
        supports(unit).demand()
        self.unit, self.pipeline = unit, pipeline
        self.after = accumulation(unit)

    @cached_property
    def datapath(self) -> Mapping[str, Circuit]:
        """The steps of the unit's datapath, each by itself, by their names."""
        return datapath_circuits(self.unit, self.pipeline.cuts)

    @cached_property
    def adder(self) -> Mapping[str, Circuit]:
        """The steps of the adder of the unit's groups' sums; none where nothing adds them."""
        return {} if self.after is None else adder_circuits(self.unit, self.pipeline.cuts)

    @cached_property
    def whole(self) -> str:
        """The whole unit, as RTLIL."""
        return unit_rtlil(self.unit, self.pipeline)

    @cached_property
    def around(self) -> Circuit:
        """The unit without its datapath and the adder of its sums, whose ports it has instead."""
        parts = ["datapath"] if self.after is None else ["datapath", self.after.part]
        return surroundings(self.whole, top_name(self.unit), parts, "unit.")

    @cached_property
    def cut_out(self) -> Mapping[str, Circuit]:
        """The circuits that `around` lacks: the datapath, and the adder of its sums, with their registers."""
        components = {"datapath": datapath(self.unit, self.pipeline.cuts)}
        if self.after is not None:
            components[self.after.part] = promotion(self.unit, self.pipeline.cuts)
        return circuits(components)

    @cached_property
    def file(self) -> str:
        """The unit's Verilog, as `hwsim.rtl.verilog` writes it."""
        return verilog(self.unit, self.pipeline)


@dataclass(frozen=True)
class Machine:
    """Registers now and in the next cycle, and inputs. Next values are functions of both."""

    now: Mapping[str, Term]
    next: Mapping[str, Term]
    inputs: Mapping[str, Term]

    @classmethod
    def of(cls, circuit: Circuit) -> Machine:
        """A circuit's registers. Raises InputError for one that nothing writes: it would be an input."""
        written = {name: state.next for name, state in circuit.states.items() if state.next is not None}
        if free := sorted(circuit.states.keys() - written.keys()):
            raise InputError(f"registers must be written by something, which {', '.join(free)} are not")
        return cls({name: circuit.states[name].now for name in written}, written, circuit.inputs)

    def after(self, term: Term) -> Term:
        """The value in the next cycle of a function of registers alone."""
        return substituted(term, {self.now[name]: self.next[name] for name in self.now})


@dataclass(frozen=True)
class Cycle:
    """One cycle: the values of registers, and `by`, the values by the terms of registers and inputs."""

    registers: Mapping[str, Term]
    by: Mapping[Term, Term]

    def of(self, term: Term) -> Term:
        """The value of a function of registers and inputs in this cycle."""
        return substituted(term, self.by)


def nothing(_: int) -> Mapping[str, Term]:
    """No inputs, in any cycle."""
    return {}


def cycles(
    machine: Machine,
    count: int,
    given: Callable[[int], Mapping[str, Term]] = nothing,
    replaced: Callable[[int], Mapping[str, Term]] = nothing,
) -> list[Cycle]:
    """`count` cycles of a machine, the first from any state.

    given: inputs in a cycle, by name; others are any. replaced: registers that hold something else in a cycle.
    """
    registers, run = dict(machine.now), []
    for number in range(count):
        registers |= replaced(number)
        inputs = {name: constant(f"{term.symbol()}@{number}", width(term)) for name, term in machine.inputs.items()}
        inputs |= given(number)
        by = {machine.now[name]: term for name, term in registers.items()}
        by |= {machine.inputs[name]: term for name, term in inputs.items()}
        run.append(Cycle(registers, by))
        registers = dict(zip(machine.next, all_substituted(machine.next.values(), by), strict=True))
    return run
