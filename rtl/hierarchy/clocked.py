"""Registers as always_ff blocks: those of a stage together, with one enable where they have one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from .expressions import Expressions
from .loops import pieces, unmarked
from .netlist import Assignment, Bits, Choice, RtlModule, Statement
from .style import CLOCK_ENABLE, Style


def stages(module: RtlModule, reset: Bits) -> list[list[str]]:
    """Registers that stand in a block: those of a stage, or with the same enable."""
    found: dict[object, list[str]] = defaultdict(list)
    for wire, register in sorted(module.registers.items(), key=lambda item: _number(item[0])):
        first, *rest = [token for token in re.split("__", re.sub("^[io]__", "", wire)) if token]
        stage = first if rest and not first[-1].isdigit() else ""
        selectors = tuple(
            each.selector for each in register.next if isinstance(each, Choice) and each.selector != reset
        )
        base = re.sub(r"\d+$", "", first)
        found[stage or ("", selectors if selectors[:1] and len(selectors) == 1 else base)].append(wire)
    return _merged(module, list(found.values()))


def _number(name: str) -> tuple[str, int]:
    """Elements of an array in order; sorting keeps the order of all others."""
    found = re.search(r"__(\d+)(?:__|$)|(?<=\D)(\d+)$", name)
    return "", int(found[1] or found[2]) if found else 0


def _merged(module: RtlModule, blocks: list[list[str]]) -> list[list[str]]:
    """Blocks of single registers of one array become one."""
    made: dict[object, list[str]] = {}
    for block in blocks:
        base = re.sub(r"\d+$", "", block[0])
        key = ("array", base) if len(block) == 1 and base != block[0] else tuple(block)
        made.setdefault(key, []).extend(block)
    return list(made.values())


def blocks(module: RtlModule, names: Sequence[str], expressions: Expressions, style: Style) -> Iterator[list[str]]:
    """The always_ff blocks of some registers, as lines: one; or two, where a reset at once is not that of all."""
    reset: list[str] = []
    other: list[str] = []
    for wire in names:
        is_reset = any(isinstance(each, Choice) and each.selector == style.reset_bits
                       for each in module.registers[wire].next)  # fmt: skip
        (reset if is_reset else other).append(wire)
    for some in [other, reset] if style.reset == "async" else [list(names)]:
        if some:
            yield list(_block(module, some, expressions, style))


def _block(module: RtlModule, names: Sequence[str], expressions: Expressions, style: Style) -> Iterator[str]:
    """The lines of an always_ff block."""
    plain: list[tuple[str, Sequence[Statement]]] = []
    resets: list[tuple[str, Sequence[Statement]]] = []
    for wire in names:
        statements = module.registers[wire].next
        reset = [each for each in statements if isinstance(each, Choice) and each.selector == style.reset_bits]
        plain.append((wire, [each for each in statements if each not in reset]))
        resets += [(wire, inside) for each in reset for _, inside in each.cases]
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
        for each in statements:
            if isinstance(each, Assignment):
                assignments.append((wire, each))
            else:
                choices.setdefault(each.selector, []).append((wire, each))
    yield from _assigned(assignments, expressions)
    for selector, chosen in choices.items():
        yield from _chosen(selector, chosen, expressions)


def _chosen(selector: Bits, chosen: Sequence[tuple[str, Choice]], expressions: Expressions) -> Iterator[str]:
    patterns = list(dict.fromkeys(words for _, each in chosen for words, _ in each.cases))
    inside = {
        words: [(wire, body) for wire, each in chosen for found, body in each.cases if found == words]
        for words in patterns
    }
    text = unmarked(expressions.value(selector).words)
    if patterns == [("1",)]:
        yield f"if ({text}) begin"
        yield from _indented(_statements(inside["1",], expressions))
        yield "end"
        return
    either = any("-" in word for words in patterns for word in words)
    yield f"{'casez' if either else 'case'} ({text})"
    for words in patterns:
        label = ", ".join(f"{len(word)}'b{word.replace('-', '?')}" for word in words) or "default"
        yield f"  {label}: begin"
        yield from _indented(_indented(_statements(inside[words], expressions)))
        yield "  end"
    if () not in patterns:
        yield "  default: ;"
    yield "endcase"


def _assigned(assignments: Sequence[tuple[str, Assignment]], expressions: Expressions) -> Iterator[str]:
    places, arrays = expressions.naming.places, expressions.naming.arrays
    texts: dict[str, list[str]] = {}
    values: dict[str, list[Bits]] = {}
    whole: dict[str, list[str]] = {}
    for wire, each in assignments:
        name = places[wire].name
        target = expressions.net(wire, each.low, len(each.value))
        texts.setdefault(name, []).append(f"{target} <= {expressions.value(each.value).words};")
        values.setdefault(name, []).append(each.value)
        whole.setdefault(name, []).append(wire)
    for name, lines in texts.items():
        source = expressions.value(tuple(bit for value in values[name] for bit in value)).words
        if whole[name] == arrays.get(name) and not source.startswith("{"):
            yield f"{name} <= {unmarked(source)};"
            continue
        for at, text, count in pieces(lines):
            some = expressions.value(tuple(bit for value in values[name][at : at + count] for bit in value)).words
            targets = tuple(bit for wire in whole[name][at : at + count] for bit in expressions.module.whole(wire))
            left = expressions.value(targets).words
            if count == 1:
                yield text
            elif "{" in some or "{" in left:
                yield from map(unmarked, lines[at : at + count])
            else:
                yield unmarked(f"{left} <= {some};")
