"""Operations as expressions of SystemVerilog, each exactly as wide as what it gives.

Operands are as wide as their operation, so that no expression depends on what stands around it. Every index stands
between MARK and END until statements that differ in indices alone have become a loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from .names import Naming
from .netlist import Bits, Operation, RtlModule

MARK, END = "\x01", "\x02"
EACH = "\x03"  # behind an array of which each element has a driver, until it is known whether it is read whole, too

BINARY = {"$add": "+", "$sub": "-", "$mul": "*", "$and": "&", "$or": "|", "$xor": "^", "$eq": "==", "$ne": "!=",
          "$lt": "<", "$le": "<=", "$gt": ">", "$ge": ">=", "$shl": "<<", "$shr": ">>", "$sshr": ">>>"}  # fmt: skip
GROUPING = {"$add", "$and", "$or", "$xor"}


class Run(NamedTuple):
    """Neighbouring bits: of one wire from `low` on, or one constant or bit `width` times (`wire` is empty)."""

    wire: str
    low: int
    width: int
    digits: str = ""


class Text(NamedTuple):
    """An expression, and the operation that is outermost in it; empty for what needs no parentheses."""

    words: str
    outer: str = ""

    @property
    def closed(self) -> str:
        """With parentheses where an operation stands around it."""
        return f"({self.words})" if self.outer else self.words


def runs(bits: Bits) -> list[Run]:
    """Bits as runs, the least significant first."""
    found: list[Run] = []
    for bit in bits:
        last = found[-1] if found else None
        if isinstance(bit, str):
            if last and last.digits:
                found[-1] = last._replace(width=last.width + 1, digits=bit + last.digits)
            else:
                found.append(Run("", 0, 1, bit))
        elif last and last.wire == bit.wire and last.low + last.width == bit.at:
            found[-1] = last._replace(width=last.width + 1)
        else:
            found.append(Run(bit.wire, bit.at, 1))
    return found


def constant(digits: str) -> str:
    """A constant, the most significant bit first."""
    width, number = len(digits), int(digits.replace("x", "0"), 2)
    if width == 1:
        return f"1'b{number}"
    if number > 9 and set(digits) == {"1"}:
        return f"{{{width}{{1'b1}}}}"
    return f"{width}'d{number}" if number < 10 else f"{width}'h{number:x}"


def is_number(bits: Bits) -> bool:
    """Whether some bits are a constant."""
    return all(isinstance(bit, str) and bit in "01" for bit in bits)


def number_bits(number: int, like: Bits) -> Bits:
    """A number in as many bits as others have."""
    return tuple("01"[number >> at & 1] for at in range(len(like)))


class Expressions:
    """The expressions of a module.

    inlined: wires that are written where they are read. spread: arrays of which each element has a driver of its own;
    they are unpacked, which simulators are faster with. joined: those of them that are read whole, too.
    """

    def __init__(self, module: RtlModule, naming: Naming, inlined: Mapping[str, Operation]):
        self.module, self.naming, self.inlined = module, naming, inlined
        self.spread, self.joined = set[str](), set[str]()

    def net(self, wire: str, low: int = 0, width: int | None = None) -> str:
        """A net that is declared, or some of its bits."""
        place, whole = self.naming.places[wire], self.module.widths[wire]
        width = whole if width is None else width
        each = EACH if place.name in self.spread else ""
        text = place.name if place.number is None else f"{place.name}{each}[{MARK}{place.number}{END}]"
        if width == whole:
            return text
        return f"{text}[{MARK}{low}{END}]" if width == 1 else f"{text}[{low + width - 1}:{low}]"

    def is_net(self, bits: Bits) -> bool:
        """Whether some bits are those of a net that is declared."""
        found = runs(bits)
        return len(found) == 1 and found[0].wire in self.naming.places

    def value(self, bits: Bits) -> Text:
        """Some bits."""
        parts = list(self._parts(runs(bits)))
        if len(parts) == 1:
            return parts[0]
        words = []
        for part, same in groupby(reversed(parts)):
            times = len(list(same))
            words.append(part.words if times == 1 else f"{{{times}{{{part.words}}}}}")
        return Text(words[0] if len(words) == 1 else f"{{{', '.join(words)}}}")

    def _parts(self, found: list[Run]) -> Iterator[Text]:
        at = 0
        while at < len(found):
            run = found[at]
            count = self._elements(found[at:])
            if run.digits:
                yield Text(constant(run.digits))
            elif count > 1:
                name, first = self.naming.places[run.wire]
                assert first is not None
                self.joined.add(name)
                whole = count == len(self.naming.arrays[name])
                yield Text(name if whole else f"{name}[{first + count - 1}:{first}]")
            elif run.wire in self.inlined:
                inner = self.operation(self.inlined[run.wire])
                cut = run.width < self.module.widths[run.wire]
                yield Text(f"{run.width}'({inner.words})") if cut else inner
            else:
                yield Text(self.net(run.wire, run.low, run.width))
            at += count

    def _elements(self, found: list[Run]) -> int:
        """How many elements of one array follow one another."""
        place = self.naming.places.get(found[0].wire)
        if place is None or place.number is None:
            return 1
        count = 0
        for run in found:
            here = self.naming.places.get(run.wire)
            if here != (place.name, place.number + count) or run.width != self.module.widths[run.wire]:
                break
            count += 1
        return max(count, 1)

    def operation(self, operation: Operation) -> Text:
        """What an operation gives."""
        kind, operands = operation.kind, operation.operands
        if kind == "$pos":
            return self.value(operands[0])
        if kind == "$not":
            return self._inverted(operands[0])
        if kind in {"$reduce_or", "$reduce_and", "$reduce_xor"}:
            return self._reduction(kind, operands[0])
        if kind in {"$add", "$sub"} and (less := self._with_constant(operation)) is not None:
            return less
        texts = [self.value(each) for each in operands]
        if kind == "$neg":
            return Text(f"-{texts[0].closed}", kind)
        if kind == "$mux":
            otherwise = texts[1].words if texts[1].outer == "$mux" else texts[1].closed
            return Text(f"{texts[0].closed} ? {texts[2].closed} : {otherwise}", kind)
        left, right = (each.words if each.outer == kind and kind in GROUPING else each.closed for each in texts)
        if operation.signed:
            left = f"$signed({texts[0].words})"
            if kind == "$sshr":
                return Text(f"$unsigned({left} >>> {right})")
            right = f"$signed({texts[1].words})"
        return Text(f"{left} {BINARY[kind]} {right}", kind)

    def _with_constant(self, operation: Operation) -> Text | None:
        """A sum or difference with a constant, which is written in decimals; one that is negative with its sign."""
        left, right = operation.operands
        if not is_number(right):
            return None
        width, number = len(right), int("".join(map(str, reversed(right))), 2)
        sign, other = BINARY[operation.kind], {"$add": "-", "$sub": "+"}[operation.kind]
        if number >> width - 1 and width > 1:
            sign, number = other, (1 << width) - number
        return Text(f"{self.value(left).closed} {sign} {width}'d{number}", "$sub" if sign == "-" else "$add")

    def _inverted(self, bits: Bits) -> Text:
        found = runs(bits)
        inner = self.inlined.get(found[0].wire) if len(found) == 1 else None
        if inner is not None and inner.kind == "$reduce_or" and len(bits) == 1:
            return self._any(inner.operands[0], "==")
        return Text(f"~{self.value(bits).closed}", "$not") if len(bits) > 1 else Text(f"~{self.value(bits).closed}")

    def _reduction(self, kind: str, bits: Bits) -> Text:
        if kind == "$reduce_or":
            return self._any(bits, "!=")
        return Text(f"{'&' if kind == '$reduce_and' else '^'}{self.value(bits).closed}", kind)

    def _any(self, bits: Bits, sign: str) -> Text:
        return Text(f"{self.value(bits).closed} {sign} {len(bits)}'d0", "$eq")
