"""A unit for testbenches in SystemVerilog: the model by DPI-C, bins that C counts, covergroups, and constraints.

The bins are those of the unit's plan that operands and the stages of a sum show alone: pairs of classes (G1) and, of a
sum in one plain window, distances (G2), where its leading one stands (G5, G6), and what its rounding sees (G7). The C
around them samples what the header of `hwsim export-c` computes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hwsim.cases.bins.declare import CoverageBin
from hwsim.cases.bins.exponents import addend_bin, beyond_bin, distance_bin, most_addend
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.operands import classes, classify, pair_bin
from hwsim.cases.bins.plan import CoveragePlan, plan
from hwsim.cases.bins.roundings import rounding_bin
from hwsim.cases.bins.sums import growth_bin, shift_bin
from hwsim.cases.case import one_window
from hwsim.compute.c import UnitInC, export_c, render, supports
from hwsim.formats import Class, FloatFormat, Format, unpack
from hwsim.spec import Support, Unit
from hwsim.spec.keys import Number

PACKAGE = "hwsim.cocotb"
MOST_BITS = 8  # of a factor: the class of each code is in a table


def bins_in_c(unit: Unit) -> Support:
    """Support of a unit by the bins that C counts: the C header's, of factors of up to 8 bits."""
    if not (support := supports(unit)):
        return support
    lacks = [
        f"operands.{side}: {fmt.name}, of more than {MOST_BITS} bits"
        for side, fmt in (("a", unit.operands.a), ("b", unit.operands.b))
        if fmt.bits > MOST_BITS or fmt.padding
    ]
    return Support(unit.name, "has no bins in SystemVerilog", tuple(lacks))


def _window(unit: Unit) -> UnitFacts | None:
    """What bins of a window are made of; None where C counts none: with sums of several parts, or of over 64 bits."""
    if not one_window(unit) or not isinstance(unit.result.format, FloatFormat) or UnitInC(unit, "").words:
        return None
    facts = UnitFacts(unit)
    return None if facts.sticky else facts


@dataclass
class Chosen:
    """The bins of a plan that C counts. starts: the number of the first bin of each family."""

    plan: CoveragePlan
    bins: list[CoverageBin] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)

    def add(self, family: str, names: Sequence[str]) -> None:
        """Choose bins, numbered on."""
        self.starts[family] = len(self.bins)
        self.bins += [self.plan[name] for name in names]


def export_sv(unit: Unit, version: str) -> dict[str, str]:
    """The files, by name: those of `hwsim export-c`, and beside them the bins in C and the package of a testbench.

    Raises NotImplementedYet for a unit that `bins_in_c` says something lacks of.
    """
    bins_in_c(unit).demand()
    c, chosen = UnitInC(unit, version), Chosen(plan(unit))
    a, b, facts = unit.operands.a, unit.operands.b, _window(unit)
    chosen.add("PAIR", [pair_bin(x, y) for x in classes(a) for y in classes(b)])
    windowed = {} if facts is None else _of_window(facts, chosen)
    scale = unit.scale
    drawn = {"a": a, "b": b} | ({} if scale is None else {"scale_a": scale.a.format, "scale_b": scale.b.format})
    values = {
        "operands": unit.operands,
        "drawn": {name: fmt.bits for name, fmt in drawn.items()},
        "arguments": ", ".join(["a", "b", *["c"] * (unit.operands.addend is not None), *list(drawn)[2:]]),
        "bins": chosen.bins,
        "starts": chosen.starts,
        "window": facts is not None,
        "class_a": _class_table(a, len(classes(b))),
        "class_b": _class_table(b, 1),
        "masks": [f"{(1 << fmt.bits) - 1:#x}" for fmt in (a, b)],
        "by_group": _by_group(chosen.bins),
        "group_strings": [f'"{one.group}"' for one in chosen.bins],
        "unreachable": [str(int(not one.reachable)) for one in chosen.bins],
        "a": FactorInSv(a),
        "b": FactorInSv(b),
        "classes_a": _class_sets(a),
        "classes_b": _class_sets(b),
        "addends": c.group_addend,
        "two": None,
        **windowed,
    }
    templates = {
        f"{c.prefix}_bins.h": "bins.h",
        f"{c.prefix}_bins.c": "bins.c",
        f"{c.prefix}_verify_pkg.sv": "verify_pkg.sv",
    }
    texts = {name: render(f"{template}.jinja", c, PACKAGE, **values) for name, template in templates.items()}
    return {**export_c(unit, version), **texts}


def _of_window(facts: UnitFacts, chosen: Chosen) -> dict[str, Any]:
    """Choose the bins of a window; what templates name of it."""
    last, most = facts.distances[-1], most_addend(facts)
    signs = (0, 1)
    chosen.add("DISTANCE", [distance_bin(d, sub, lost) for d in facts.distances for sub in signs for lost in signs])
    chosen.add("BEYOND", [beyond_bin(last, sub) for sub in signs])
    chosen.add(
        "ADDEND", [addend_bin(d, most, s) for d in range(-most, most + 1) for s in signs] if facts.addends else []
    )
    shifts = range(1, facts.window + 1)
    chosen.add("SHIFT", [shift_bin(shift, sign, lost) for shift in shifts for sign in signs for lost in signs])
    chosen.starts["GROWTH"] = len(chosen.bins)
    growth = list(_growth(facts, chosen))
    chosen.add(
        "ROUNDING", [rounding_bin(s, last_bit, g, t) for s in signs for last_bit in signs for g in signs for t in signs]
    )
    return {
        "farthest": last,
        "farthest_addend": most,
        "growth": growth,
        "emin": facts.result.emin,
        "fraction": facts.result.fraction_bits,
        "two": _two(facts),
    }


def _growth(facts: UnitFacts, chosen: Chosen) -> Iterator[list[list[int]]]:
    """The bin of each growth, without and with an addend, by sign; -1 where there is none."""
    kinds = ("without", "with") if facts.addends else ("",)
    grown = [[facts.grown(sign, addend=kind == "with") for sign in (0, 1)] for kind in kinds]
    longest = max(max(row) for row in grown) + 1
    for kind, row in zip(kinds, grown, strict=True):
        table = []
        for sign, most in enumerate(row):
            first = len(chosen.bins)
            chosen.bins += [chosen.plan[growth_bin(growth, sign, kind)] for growth in range(most + 1)]
            table.append([first + growth if growth <= most else -1 for growth in range(longest)])
        yield table
    if len(kinds) == 1:
        yield [[-1] * longest] * 2


def _class_table(fmt: Number, step: int) -> list[str]:
    """For each code the number of its class, times a step."""
    order = {name: step * index for index, name in enumerate(classes(fmt))}
    return [str(order[classify(fmt, code)]) for code in range(1 << fmt.bits)]


def _class_sets(fmt: Number) -> dict[str, str]:
    """The codes of each class, as a set of SystemVerilog."""
    return {name: _set(fmt, codes) for name, codes in classes(fmt).items()}


def _set(fmt: Format, codes: Sequence[int]) -> str:
    """Codes as ranges: 8'h1, [8'h3:8'h7]."""
    parts: list[list[int]] = []
    for code in sorted(codes):
        if parts and code == parts[-1][1] + 1:
            parts[-1][1] = code
        else:
            parts.append([code, code])
    literal = f"{fmt.bits}'h".__add__
    return ", ".join(
        literal(f"{low:x}") if low == high else f"[{literal(f'{low:x}')}:{literal(f'{high:x}')}]" for low, high in parts
    )


@dataclass(frozen=True)
class FactorInSv:
    """A factor's format in constraints."""

    fmt: Number

    @property
    def bits(self) -> int:
        """Of a code."""
        return self.fmt.bits

    @property
    def special(self) -> str:
        """The codes of NaN and infinities, as a set; empty where there are none."""
        every = range(1 << self.fmt.bits)
        return _set(self.fmt, [code for code in every if unpack(self.fmt, code).cls in (Class.NAN, Class.INFINITY)])

    def exp(self, code: str) -> str:
        """The biased exponent of a code, at least 1."""
        field = self._exponent(code)
        return f"(({field} == 0) ? 10'd1 : 10'({field}))"

    def sig(self, code: str, width: int) -> str:
        """The significand of a code, in so many bits."""
        fraction = self._fraction_bits
        low = f", {code}[{fraction - 1}:0]" if fraction else ""
        return f"{width}'({{{self._exponent(code)} != 0{low}}})"

    def sign(self, code: str) -> str:
        """The sign of a code."""
        return f"{code}[{self.fmt.bits - 1}]" if self.fmt.signed else "1'b0"

    @property
    def _fraction_bits(self) -> int:
        return self.fmt.fraction_bits

    def _exponent(self, code: str) -> str:
        high = self.fmt.bits - 1 - int(self.fmt.signed)
        return f"{code}[{high}:{self._fraction_bits}]"


@dataclass(frozen=True)
class TwoProducts:
    """What constraints of two products need. width: bits of a product. below: how many of them are below the window,
    at each distance.
    """

    width: int
    below: tuple[tuple[int, int], ...]


def _two(facts: UnitFacts) -> TwoProducts | None:
    """None where exponents of factors are no fields of their codes, or a group has one product."""
    plain = all(isinstance(fmt, FloatFormat) and fmt.subnormals and fmt.exponent_bits for fmt in facts.factors)
    if not plain or facts.lanes < 2 or facts.floor is not None:
        return None
    return TwoProducts(facts.width, tuple((d, facts.below(d)) for d in facts.distances))


def _by_group(bins: Sequence[CoverageBin]) -> dict[str, list[tuple[int, CoverageBin, str]]]:
    """The bins of each group, with their numbers and names that are identifiers."""
    groups: dict[str, list[tuple[int, CoverageBin, str]]] = {}
    for index, one in enumerate(bins):
        word = re.sub(r"\W+", "_", one.name.replace("+", "plus ").replace("-", "minus "))
        groups.setdefault(one.group, []).append((index, one, f"b{index}_{word}"))
    return groups
