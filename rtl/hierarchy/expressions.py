"""Expressions and clocked blocks as text, and statements that differ in indices alone as loops."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

from hwsim.rtl.hierarchy.names import Naming
from hwsim.rtl.hierarchy.netlist import (
    Assignment,
    Bits,
    Choice,
    Hierarchy,
    Operation,
    RtlModule,
    Statement,
    WireBit,
    renamed,
)

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
        """The expression, in parentheses where an operation stands around it."""
        return f"({self.words})" if self.outer else self.words


def runs(bits: Bits) -> list[Run]:
    """Bits as runs, the least significant first."""
    result: list[Run] = []
    for bit in bits:
        last = result[-1] if result else None
        if isinstance(bit, str):
            if last and last.digits:
                result[-1] = last._replace(width=last.width + 1, digits=bit + last.digits)
            else:
                result.append(Run("", 0, 1, bit))
        elif last and last.wire == bit.wire and last.low + last.width == bit.at:
            result[-1] = last._replace(width=last.width + 1)
        else:
            result.append(Run(bit.wire, bit.at, 1))
    return result


def constant(digits: str) -> str:
    """A constant, the most significant bit first."""
    width, number = len(digits), int(digits.replace("x", "0"), 2)
    if width == 1:
        return f"1'b{number}"
    if number > 9 and set(digits) == {"1"}:
        return f"{{{width}{{1'b1}}}}"
    return f"{width}'d{number}" if number < 10 else f"{width}'h{number:x}"


def is_number(bits: Bits) -> bool:
    """True if some bits are a constant."""
    return all(isinstance(bit, str) and bit in "01" for bit in bits)


def number_bits(number: int, like: Bits) -> Bits:
    """A number in as many bits as others have."""
    return tuple("01"[number >> index & 1] for index in range(len(like)))


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
        index = EACH if place.name in self.spread else ""
        text = place.name if place.number is None else f"{place.name}{index}[{MARK}{place.number}{END}]"
        if width == whole:
            return text
        return f"{text}[{MARK}{low}{END}]" if width == 1 else f"{text}[{low + width - 1}:{low}]"

    def is_net(self, bits: Bits) -> bool:
        """True if some bits are those of a net that is declared."""
        bit_runs = runs(bits)
        return len(bit_runs) == 1 and bit_runs[0].wire in self.naming.places

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

    def _parts(self, bit_runs: list[Run]) -> Iterator[Text]:
        index = 0
        while index < len(bit_runs):
            run = bit_runs[index]
            count = self._elements(bit_runs[index:])
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
            index += count

    def _elements(self, bit_runs: list[Run]) -> int:
        """The number of elements of one array that follow one another."""
        place = self.naming.places.get(bit_runs[0].wire)
        if place is None or place.number is None:
            return 1
        count = 0
        for run in bit_runs:
            here = self.naming.places.get(run.wire)
            if here != (place.name, place.number + count) or run.width != self.module.widths[run.wire]:
                break
            count += 1
        return max(count, 1)

    def operation(self, operation: Operation) -> Text:
        """The expression of an operation."""
        kind, operands = operation.kind, operation.operands
        if kind == "$pos":
            return self.value(operands[0])
        if kind == "$not":
            return self._inverted(operands[0])
        if kind in {"$reduce_or", "$reduce_and", "$reduce_xor"}:
            return self._reduction(kind, operands[0])
        if kind in {"$add", "$sub"} and (less := self._with_constant(operation)) is not None:
            return less
        texts = [self.value(operand) for operand in operands]
        if kind == "$neg":
            return Text(f"-{texts[0].closed}", kind)
        if kind == "$mux":
            otherwise = texts[1].words if texts[1].outer == "$mux" else texts[1].closed
            return Text(f"{texts[0].closed} ? {texts[2].closed} : {otherwise}", kind)
        left, right = (
            operand.words if operand.outer == kind and kind in GROUPING else operand.closed for operand in texts
        )
        if operation.signed:
            left = f"$signed({texts[0].words})"
            if kind == "$sshr":
                return Text(f"$unsigned({left} >>> {right})")
            right = f"$signed({texts[1].words})"
        return Text(f"{left} {BINARY[kind]} {right}", kind)

    def table(self, target: str, operation: Operation) -> str:
        """The block that assigns a target the row that a selector chooses."""
        selector, *rows = operation.operands
        begin, labels = _cases(self.value(selector).words, operation.labels)
        lines = [f"  {label}: {target} = {self.value(row).words};" for label, row in zip(labels, rows, strict=True)]
        return "\n".join([f"always_comb {begin}", *lines, "endcase"])

    def _with_constant(self, operation: Operation) -> Text | None:
        """A sum or difference with a constant, which is written in decimals; one that is negative with its sign."""
        left, right = operation.operands
        if not is_number(right):
            return None
        width, number = len(right), int("".join(map(str, reversed(right))), 2)
        sign, opposite = BINARY[operation.kind], {"$add": "-", "$sub": "+"}[operation.kind]
        if number >> width - 1 and width > 1:
            sign, number = opposite, (1 << width) - number
        return Text(f"{self.value(left).closed} {sign} {width}'d{number}", "$sub" if sign == "-" else "$add")

    def _inverted(self, bits: Bits) -> Text:
        bit_runs = runs(bits)
        inner = self.inlined.get(bit_runs[0].wire) if len(bit_runs) == 1 else None
        if inner is not None and inner.kind == "$reduce_or" and len(bits) == 1:
            return self._any(inner.operands[0], "==")
        return Text(f"~{self.value(bits).closed}", "$not") if len(bits) > 1 else Text(f"~{self.value(bits).closed}")

    def _reduction(self, kind: str, bits: Bits) -> Text:
        if kind == "$reduce_or":
            return self._any(bits, "!=")
        return Text(f"{'&' if kind == '$reduce_and' else '^'}{self.value(bits).closed}", kind)

    def _any(self, bits: Bits, sign: str) -> Text:
        return Text(f"{self.value(bits).closed} {sign} {len(bits)}'d0", "$eq")


INDEX = re.compile(f"{MARK}(\\d+){END}")


def unmarked(text: str) -> str:
    """A text without the marks of its indices."""
    return INDEX.sub(r"\1", text)


def rolled(texts: Sequence[str], variable: str = "i") -> str | None:
    """One text for all texts, in which indices are expressions of the text's number.

    None where there is no such text.
    """
    if len({INDEX.sub("", text) for text in texts}) > 1 or len(texts) < 2:
        return None
    columns = list(zip(*([int(number) for number in INDEX.findall(text)] for text in texts), strict=True))
    expressions = [_affine(column, variable) for column in columns]
    if None in expressions or all(
        expression == str(column[0]) for expression, column in zip(expressions, columns, strict=True)
    ):
        return None
    indices = iter(expressions)
    return INDEX.sub(lambda _: str(next(indices)), texts[0])


def _affine(numbers: Sequence[int], variable: str) -> str | None:
    first, step = numbers[0], numbers[1] - numbers[0]
    if any(number != first + step * index for index, number in enumerate(numbers)):
        return None
    if not step:
        return str(first)
    times = variable if abs(step) == 1 else f"{abs(step)} * {variable}"
    if step < 0:
        return f"{first} - {times}"
    return f"{times} + {first}" if first else times


def pieces(texts: Sequence[str]) -> list[tuple[int, str, int]]:
    """Texts in order, as many as can be in each loop: the first one's index, the text, and the count; 1 for no loop."""
    keys = [INDEX.sub("", text) for text in texts]
    numbers = [[int(number) for number in INDEX.findall(text)] for text in texts]
    loops: list[tuple[int, str, int]] = []
    first = 0
    while first < len(texts):
        stop = first + 1
        while stop < len(texts) and keys[stop] == keys[first] and _goes_on(numbers[first : stop + 1]):
            stop += 1
        loop = rolled(texts[first:stop])
        stop = stop if loop is not None else first + 1
        loops.append((first, loop or unmarked(texts[first]), stop - first))
        first = stop
    return loops


def _goes_on(rows: Sequence[Sequence[int]]) -> bool:
    """True if the last of some rows is as far from the one before as the second is from the first."""
    steps = [second - first for first, second in zip(rows[0], rows[1], strict=True)]
    return [last - before for before, last in zip(rows[-2], rows[-1], strict=True)] == steps


ResetKind = Literal["sync", "async"]
CLOCK_ENABLE = "clk_en"


@dataclass(frozen=True, kw_only=True)
class Style:
    """The style of registers and ports.

    reset: whether it acts at a rising edge of the clock, or at once. reset_low: whether it is active low, as `rst_n`.
    clock_enable: whether registers keep their values in cycles in which `clk_en` is low; reset acts in these too.
    package: whether payloads are structs of a package.
    """

    reset: ResetKind = "sync"
    reset_low: bool = False
    clock_enable: bool = False
    package: bool = False

    @classmethod
    def of_reset(cls, reset: str, **others: bool) -> Style:
        """The style of a reset's name: `sync`, `sync-low`, `async` or `async-low`. others: as of the class."""
        kind, _, level = reset.partition("-")
        return cls(reset="async" if kind == "async" else "sync", reset_low=bool(level), **others)

    @property
    def reset_style(self) -> str:
        """The reset's name, of which `of_reset` makes the style."""
        return self.reset + "-low" * self.reset_low

    @property
    def reset_name(self) -> str:
        """The port of the reset."""
        return "rst_n" if self.reset_low else "rst"

    @property
    def reset_bits(self) -> Bits:
        """The selector of a reset's statements, in a netlist."""
        return (WireBit(self.reset_name, 0),)

    @property
    def reset_condition(self) -> str:
        """The condition of a reset."""
        return "!rst_n" if self.reset_low else "rst"

    def events(self, clock: str, is_reset: bool) -> str:
        """The events of a block of registers. is_reset: its registers have a reset."""
        edge = "negedge" if self.reset_low else "posedge"
        at_once = f" or {edge} {self.reset_name}" if is_reset and self.reset == "async" else ""
        return f"posedge {clock}{at_once}"


PLAIN = Style()


def apply_style(design: Hierarchy, style: Style) -> None:
    """Give the modules of a design the ports that a style asks for."""
    if style.reset_low:
        for module in design.modules.values():
            if "rst" in module.widths:
                renamed(module, {"rst": style.reset_name})
            for instance in module.instances.values():
                if "rst" in instance.ports:
                    instance.ports[style.reset_name] = instance.ports.pop("rst")
    if style.clock_enable:
        clocked: set[str] = set()
        for name, module in design.modules.items():  # those inside come first
            inside = [inner for inner in module.instances.values() if inner.module in clocked]
            if module.registers or inside or name == design.top:
                _add_input(module, CLOCK_ENABLE)
                clocked.add(name)
            for instance in inside:
                instance.ports[CLOCK_ENABLE] = module.whole(CLOCK_ENABLE)


def _add_input(module: RtlModule, name: str) -> None:
    module.widths[name], module.directions[name] = 1, "input"


def stages(module: RtlModule, reset: Bits) -> list[list[str]]:
    """Registers that stand in a block: those of a stage, or with the same enable."""
    by_stage: dict[object, list[str]] = defaultdict(list)
    for wire, register in sorted(module.registers.items(), key=lambda item: _number(item[0])):
        first, *rest = [token for token in re.split("__", re.sub("^[io]__", "", wire)) if token]
        stage = first if rest and not first[-1].isdigit() else ""
        selectors = tuple(
            statement.selector
            for statement in register.next
            if isinstance(statement, Choice) and statement.selector != reset
        )
        base = re.sub(r"\d+$", "", first)
        by_stage[stage or ("", selectors if selectors[:1] and len(selectors) == 1 else base)].append(wire)
    return _merged(module, list(by_stage.values()))


def _number(name: str) -> tuple[str, int]:
    """Elements of an array in order; sorting keeps the order of all others."""
    number = re.search(r"__(\d+)(?:__|$)|(?<=\D)(\d+)$", name)
    return "", int(number[1] or number[2]) if number else 0


def _merged(module: RtlModule, blocks: list[list[str]]) -> list[list[str]]:
    """Blocks, with single registers of one array joined into one block."""
    merged: dict[object, list[str]] = {}
    for block in blocks:
        base = re.sub(r"\d+$", "", block[0])
        key = ("array", base) if len(block) == 1 and base != block[0] else tuple(block)
        merged.setdefault(key, []).extend(block)
    return list(merged.values())


def blocks(module: RtlModule, names: Sequence[str], expressions: Expressions, style: Style) -> Iterator[list[str]]:
    """The always_ff blocks of some registers, as lines: one; or two, where a reset at once is not that of all."""
    reset: list[str] = []
    plain: list[str] = []
    for wire in names:
        is_reset = any(isinstance(statement, Choice) and statement.selector == style.reset_bits
                       for statement in module.registers[wire].next)  # fmt: skip
        (reset if is_reset else plain).append(wire)
    for some in [plain, reset] if style.reset == "async" else [list(names)]:
        if some:
            yield list(_block(module, some, expressions, style))


def _block(module: RtlModule, names: Sequence[str], expressions: Expressions, style: Style) -> Iterator[str]:
    """The lines of an always_ff block."""
    plain: list[tuple[str, Sequence[Statement]]] = []
    resets: list[tuple[str, Sequence[Statement]]] = []
    for wire in names:
        statements = module.registers[wire].next
        reset = [
            statement
            for statement in statements
            if isinstance(statement, Choice) and statement.selector == style.reset_bits
        ]
        plain.append((wire, [statement for statement in statements if statement not in reset]))
        resets += [(wire, inside) for statement in reset for _, inside in statement.cases]
    clock = expressions.value((module.registers[names[0]].clock,)).words
    usual, at_reset = list(_statements(plain, expressions)), list(_statements(resets, expressions))
    yield f"always_ff @({style.events(clock, bool(resets))}) begin"
    if resets and style.reset == "async":
        yield from _indented(_under(style.reset_condition, at_reset, ends=False))
        enabled = f"end else if ({CLOCK_ENABLE}) begin" if style.clock_enable else "end else begin"
        yield from _indented([enabled, *_indented(usual), "end"])
    else:
        yield from _indented(_under(CLOCK_ENABLE, usual) if style.clock_enable else usual)
        if resets:
            yield from _indented(_under(style.reset_condition, at_reset))
    yield "end"


def _under(condition: str, lines: Sequence[str], *, ends: bool = True) -> list[str]:
    """Lines that count where a condition holds."""
    return [f"if ({condition}) begin", *_indented(lines), *["end"] * ends]


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _statements(about: Sequence[tuple[str, Sequence[Statement]]], expressions: Expressions) -> Iterator[str]:
    """The statements of some registers, what is chosen by the same selector together."""
    assignments: list[tuple[str, Assignment]] = []
    choices: dict[Bits, list[tuple[str, Choice]]] = {}
    for wire, statements in about:
        for statement in statements:
            if isinstance(statement, Assignment):
                assignments.append((wire, statement))
            else:
                choices.setdefault(statement.selector, []).append((wire, statement))
    yield from _assigned(assignments, expressions)
    for selector, chosen in choices.items():
        yield from _chosen(selector, chosen, expressions)


def _chosen(selector: Bits, chosen: Sequence[tuple[str, Choice]], expressions: Expressions) -> Iterator[str]:
    patterns = list(dict.fromkeys(words for _, choice in chosen for words, _ in choice.cases))
    inside = {
        words: [(wire, body) for wire, choice in chosen for labels, body in choice.cases if labels == words]
        for words in patterns
    }
    text = unmarked(expressions.value(selector).words)
    if patterns == [("1",)]:
        yield f"if ({text}) begin"
        yield from _indented(_statements(inside["1",], expressions))
        yield "end"
        return
    begin, labels = _cases(text, patterns)
    yield begin
    for words, label in zip(patterns, labels, strict=True):
        yield f"  {label}: begin"
        yield from _indented(_indented(_statements(inside[words], expressions)))
        yield "  end"
    if () not in patterns:
        yield "  default: ;"
    yield "endcase"


def _cases(selector: str, patterns: Sequence[tuple[str, ...]]) -> tuple[str, list[str]]:
    """The line that a choice begins with, and the labels of its cases."""
    either = any("-" in word for words in patterns for word in words)
    labels = [", ".join(f"{len(word)}'b{word.replace('-', '?')}" for word in words) or "default" for words in patterns]
    return f"{'casez' if either else 'case'} ({selector})", labels


def _assigned(assignments: Sequence[tuple[str, Assignment]], expressions: Expressions) -> Iterator[str]:
    places, arrays = expressions.naming.places, expressions.naming.arrays
    texts: dict[str, list[str]] = {}
    values: dict[str, list[Bits]] = {}
    whole: dict[str, list[str]] = {}
    for wire, assignment in assignments:
        name = places[wire].name
        target = expressions.net(wire, assignment.low, len(assignment.value))
        texts.setdefault(name, []).append(f"{target} <= {expressions.value(assignment.value).words};")
        values.setdefault(name, []).append(assignment.value)
        whole.setdefault(name, []).append(wire)
    for name, lines in texts.items():
        source = expressions.value(tuple(bit for value in values[name] for bit in value)).words
        if whole[name] == arrays.get(name) and not source.startswith("{"):
            yield f"{name} <= {unmarked(source)};"
            continue
        for first, text, count in pieces(lines):
            some = expressions.value(tuple(bit for value in values[name][first : first + count] for bit in value)).words
            targets = tuple(
                bit for wire in whole[name][first : first + count] for bit in expressions.module.whole(wire)
            )
            target = expressions.value(targets).words
            if count == 1:
                yield text
            elif "{" in some or "{" in target:
                yield from map(unmarked, lines[first : first + count])
            else:
                yield unmarked(f"{target} <= {some};")
