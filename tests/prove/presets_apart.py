"""All pairs of presets of equal operands: `python tests/prove/presets_apart.py` asks those that are new, with
`--all` every one, and writes the page.

presets_apart.json has a row for each pair of classes: the verdict, and the case that tells them apart.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

from hwsim.cases.case import Case
from hwsim.explain.mismatches import number
from hwsim.formats.blocks import one_code
from hwsim.prove.apart import UnitPair
from hwsim.prove.difference import UnitDifference, arithmetic, diff
from hwsim.spec import Unit, load_unit, presets

FILE = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).parents[2] / "docs" / "presets-apart.md"
BEGIN, END = "<!-- table -->\n", "\n<!-- end of table -->\n"
Row = dict[str, Any]


def classes() -> dict[str, list[list[str]]]:
    """The presets by their operands, in words, and there by their arithmetic, as files say it; single ones left out."""
    found: dict[str, dict[str, list[str]]] = {}
    for name in presets():
        unit = load_unit(name)
        same = json.dumps(arithmetic(unit), sort_keys=True)
        found.setdefault(operands(unit), {}).setdefault(same, []).append(name)
    return {what: list(of.values()) for what, of in found.items() if len(of) > 1}


def operands(unit: Unit) -> str:
    """A unit's operands in words."""
    addend = unit.operands.addend.name if unit.operands.addend else "no addend"
    said = f"{unit.operands.a.name} x {unit.operands.b.name} + {addend}"
    if unit.scale is None:
        return said
    a, b = unit.scale.a, unit.scale.b
    return f"{said}, scales {a.format.name} of {list(a.block)} and {b.format.name} of {list(b.block)}"


def pairs() -> Iterator[tuple[str, str]]:
    """A preset of each two classes."""
    for of in classes().values():
        yield from combinations([names[0] for names in of], 2)


def row(found: UnitDifference) -> Row:
    """What the file keeps of a pair."""
    kept = found.as_json()
    return {key: kept[key] for key in ("first", "second", "verdict", "proof", "case", "codes")}


def case_of(one: Row) -> Case:
    """The case of a row."""
    unit, kept = load_unit(one["first"]), one["case"]
    a, b = [0] * kept["k"], [0] * kept["k"]
    for product in kept["products"]:
        a[product["index"]], b[product["index"]] = int(product["a"], 16), int(product["b"], 16)
    scales = [[int(code, 16) for code in kept[name]] for name in ("scale_a", "scale_b")] if unit.scale else [(), ()]
    return Case("row", tuple(a), tuple(b), int(kept["c"], 16), *map(tuple, scales))


def shown(one: Row) -> str:
    """The case of a row as the page has it: products at their places in K, addend, scales other than 1."""
    unit, case = load_unit(one["first"]), case_of(one)
    parts = [
        f"{'' if place == lane else f'[{lane}] '}{_short(unit, 'a', case.a[lane])} * {_short(unit, 'b', case.b[lane])}"
        for place, lane in enumerate(lane for lane in range(len(case.a)) if case.a[lane] or case.b[lane])
    ]
    parts += [f"c {case.c:#x}"] if case.c else []
    if unit.scale is not None:
        for name, side in (("scale_a", unit.scale.a), ("scale_b", unit.scale.b)):
            codes = getattr(case, name)
            parts += (
                [f"{name} {', '.join(map(hex, codes))}"] if any(code != one_code(side.format) for code in codes) else []
            )
    return "; ".join(parts)


def _short(unit: Unit, side: str, code: int) -> str:
    fmt = unit.operands.factor(side)  # type: ignore[arg-type]
    digits, value = number(fmt, code)
    return value if len(value) <= 8 else digits


def table(rows: list[Row]) -> str:
    """The page's table: groups of operands whose presets differ in their formats alone once, by the first of them."""
    by_pair = {(one["first"], one["second"]): one for one in rows}
    groups: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for what, of in classes().items():
        groups.setdefault(tuple(tuple(_pattern(name, what) for name in names) for names in of), []).append(what)
    lines = ["| presets | from those above |", "|---|---|"]
    for patterns, whats in groups.items():
        firsts = [names[0] for names in classes()[whats[0]]]
        for number_of, names in enumerate(patterns):
            cells = [_cell(by_pair[first, firsts[number_of]], place) for place, first in enumerate(firsts[:number_of])]
            said = ", ".join(names if len(whats) > 1 else classes()[whats[0]][number_of])
            begun = "" if number_of else f"**{'; '.join(whats)}** "
            lines.append(f"| {begun}{number_of + 1}: {said} | {' &#124; '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _pattern(name: str, what: str) -> str:
    """A preset's name without its factors' formats."""
    a, b = re.split(r" x | \+ |, ", what)[:2]
    return re.sub(rf"(?<=-)({a}x{b}|{a})(?=-)", "*", name)


def _cell(one: Row, place: int) -> str:
    if one["verdict"] == "differ":
        return f"{place + 1}: {shown(one)}"
    return f"{place + 1}: **{'the same' if one['verdict'] == 'same' else 'not decided'}**"


def write_page() -> None:
    """Write the table into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(
        f"{before}{BEGIN}\n{table(json.loads(FILE.read_text(encoding='utf-8')))}{END}{rest.partition(END)[2]}",
        encoding="utf-8",
    )


def main(again: bool = False) -> None:
    """Ask every pair that the file has no row of, and write both files. again: ask all."""
    kept = [] if again else json.loads(FILE.read_text(encoding="utf-8"))
    known = {(one["first"], one["second"]): one for one in kept if one["verdict"] != "differ" or differs(one)}
    rows = []
    for pair in pairs():
        rows.append(known.get(pair) or row(diff(*pair, seconds=20)))
        if pair not in known:
            print(*pair, rows[-1]["verdict"], flush=True)
    FILE.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")
    write_page()


def differs(one: Row) -> bool:
    """True if the two units' results of the case are those of the row, by the model, and differ."""
    from hwsim.cases.case import dot
    from hwsim.explain.candidate import filled
    from hwsim.model.definition import definition_of

    units = load_unit(one["first"]), load_unit(one["second"])
    case = case_of(one)
    codes = [dot(definition_of(unit), filled(unit, case, unit.instruction.fill)).code for unit in units]
    UnitPair(*units)
    return codes == [int(code, 16) for code in one["codes"]] and codes[0] != codes[1]


if __name__ == "__main__":
    main(again="--all" in sys.argv)
