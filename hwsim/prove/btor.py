"""Circuits as word-level terms, read from the BTOR2 that Yosys writes.

The format: Niemetz, Preiner, Wolf, Biere, "Btor2, BtorMC and Boolector 3.0", CAV 2018. What is not read is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from hwsim.errors import InputError
from hwsim.prove.logic import Kind, Term, constant, op, value, width


@dataclass(frozen=True)
class Register:
    """A register: its value now, and the next one; None where nothing writes it. initial: at power-up, if given."""

    now: Term
    next: Term | None = None
    initial: Term | None = None


@dataclass(frozen=True)
class Circuit:
    """A module's ports and registers as terms. Outputs and next values are functions of inputs and registers.

    wires: what other signals that have names are.
    """

    inputs: Mapping[str, Term]
    outputs: Mapping[str, Term]
    states: Mapping[str, Register] = field(default_factory=dict)
    wires: Mapping[str, Term] = field(default_factory=dict)


def _bit(kind: object) -> Callable[..., Term]:
    """A comparison, as one bit."""
    return lambda *terms: op(Kind.ITE, op(kind, *terms), value(1, 1), value(0, 1))


def _condition(bit: Term) -> Term:
    """Whether a bit is set; of a comparison's bit the comparison."""
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

    def line(self, words: list[str]) -> None:
        """One line, without its comment."""
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
                more = int(rest[2])
                return op(extend, self.node(rest[1]), indices=[more]) if more else self.node(rest[1])
            case "slice":
                return op(Kind.BV_EXTRACT, self.node(rest[1]), indices=[int(rest[2]), int(rest[3])])
            case "ite":
                condition, yes, no = map(self.node, rest[1:4])
                return op(Kind.ITE, _condition(condition), yes, no)
            case _ if kind in OPERATIONS:
                made = OPERATIONS[kind](*map(self.node, rest[1:3] if kind not in UNARY else rest[1:2]))
                if width(made) != bits:
                    raise InputError(f"{kind} must have {bits} bits, not {width(made)}")
                return made
            case _:
                raise InputError(f"operations of circuits must be known here: {kind} is not")

    def node(self, number: str) -> Term:
        """A node; with a minus, its complement. Operands without bits, numbered -1, are refused."""
        if number.startswith("-"):
            if number[1:] not in self.nodes:
                raise InputError("an operand has no bits")
            return op(Kind.BV_NOT, self.nodes[number[1:]])
        if number not in self.nodes:
            raise InputError(f"node {number} stands nowhere")
        return self.nodes[number]


UNARY = {"not", "neg", "redor", "redand", "redxor"}


def read_btor(text: str, prefix: str = "") -> Circuit:
    """A module. prefix: of its constants' names. Raises InputError for what this reader does not read."""
    reader = _Reader(prefix)
    for line in text.splitlines():
        words = line.split(";")[0].split()
        if words:
            reader.line(words)
    return Circuit(reader.inputs, reader.outputs, reader.states, reader.wires)
