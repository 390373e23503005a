"""A unit for testbenches in SystemVerilog: the model by DPI-C, bins that C counts, covergroups, and constraints.

The bins are those of the unit's plan that one dot product shows: pairs of classes (G1) and, of a sum in one plain
window, all that its stages show (G1 to G11). The C around them samples what the header of `hwsim export-c` computes,
by tables that are made here of what declares the bins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hwsim.cases.bins.accumulation import chain_lengths, fine_bits
from hwsim.cases.bins.declare import CoverageBin
from hwsim.cases.bins.exponents import most_addend
from hwsim.cases.bins.facts import UnitFacts, changes_what_is_kept
from hwsim.cases.bins.lostbits import (
    KINDS,
    depths,
    kinds,
    losing_counts,
    most_addend_places,
    most_beside,
    straddling_places,
    telling_signs,
)
from hwsim.cases.bins.operands import classes, classify, top_binade
from hwsim.cases.bins.plan import CoveragePlan, plan
from hwsim.cases.bins.roundings import NEAR, most_cut, near_magnitudes
from hwsim.cases.bins.scales import far_scales, scale_marks
from hwsim.cases.bins.sums import largest_products
from hwsim.cases.case import one_window
from hwsim.compute.c import UnitInC, export_c, render, supports
from hwsim.formats import Class, FloatFormat, Format, TableFormat, unpack
from hwsim.spec import Support, Unit
from hwsim.spec.keys import Factor

PACKAGE = "hwsim.cocotb"
MOST_BITS = 8  # of a factor: the class of each code is in a table
# Sections of a plan that take several dot products, what follows a window, or ports.
LEFT_OUT = ("pairs by lane", "promotions", "smaller terms", "interface")


def bins_in_c(unit: Unit) -> Support:
    """Support of a unit by the bins that C counts: the C header's, of factors of up to 8 bits."""
    if not (support := supports(unit)):
        return support
    lacks = [
        f"operands.{side}: {fmt.name}, of more than {MOST_BITS} bits"
        for side, fmt in (("a", unit.operands.a), ("b", unit.operands.b))
        if fmt.bits > MOST_BITS or fmt.padding
    ]
    lacks += [
        f"operands.{side}: {fmt.name}, a table"
        for side, fmt in (("a", unit.operands.a), ("b", unit.operands.b))
        if isinstance(fmt, TableFormat)
    ]
    return Support(unit.name, "has no bins in SystemVerilog", tuple(lacks))


def _window(unit: Unit) -> UnitFacts | None:
    """The facts of a window's bins; None where C counts none: for sums of several parts, or of over 64 bits."""
    if not one_window(unit) or not isinstance(unit.result.format, FloatFormat) or UnitInC(unit, "").words:
        return None
    return UnitFacts(unit)


def chosen(of: CoveragePlan, window: bool) -> tuple[list[CoverageBin], dict[str, int]]:
    """The bins of a plan that C counts, and the number of the first bin of each section, by its name in C."""
    bins: list[CoverageBin] = []
    starts: dict[str, int] = {}
    ends = [*list(of.sections.values())[1:], len(of.bins)]
    for (name, first), end in zip(of.sections.items(), ends, strict=True):
        if name == "pairs" or (window and name not in LEFT_OUT):
            starts[name.upper().replace(" ", "_")] = len(bins)
            bins += of.bins[first:end]
    return bins, starts


def export_sv(unit: Unit, version: str) -> dict[str, str]:
    """The files, by name: those of `hwsim export-c`, the bins in C, and the package of a testbench.

    Raises NotImplementedYet for a unit that `bins_in_c` says something lacks of.
    """
    bins_in_c(unit).demand()
    c, a, b, facts = UnitInC(unit, version), unit.operands.a, unit.operands.b, _window(unit)
    bins, starts = chosen(plan(unit), facts is not None)
    scale = unit.scale
    drawn = {"a": a, "b": b} | ({} if scale is None else {"scale_a": scale.a.format, "scale_b": scale.b.format})
    values = {
        "operands": unit.operands,
        "drawn": {name: fmt.bits for name, fmt in drawn.items()},
        "arguments": ", ".join(["a", "b", *["c"] * (unit.operands.addend is not None), *list(drawn)[2:]]),
        "bins": bins,
        "starts": starts,
        "w": None if facts is None else _of_window(facts, starts),
        "class_a": _class_table(a, len(classes(b))),
        "class_b": _class_table(b, 1),
        "masks": [f"{(1 << fmt.bits) - 1:#x}" for fmt in (a, b)],
        "by_group": _by_group(bins),
        "group_strings": [f'"{bin_.group}"' for bin_ in bins],
        "unreachable": [str(int(not bin_.reachable)) for bin_ in bins],
        "a": FactorInSv(a),
        "b": FactorInSv(b),
        "classes_a": _class_sets(a),
        "classes_b": _class_sets(b),
        "addends": facts is not None and facts.addends,
        "two": None if facts is None else _two(facts),
    }
    templates = {
        f"{c.prefix}_bins.h": "bins.h",
        f"{c.prefix}_bins.c": "bins.c",
        f"{c.prefix}_verify_pkg.sv": "verify_pkg.sv",
    }
    texts = {name: render(f"{template}.jinja", c, PACKAGE, **values) for name, template in templates.items()}
    return {**export_c(unit, version), **texts}


def _of_window(facts: UnitFacts, starts: Mapping[str, int]) -> dict[str, Any]:
    """The numbers and the tables of a window's bins."""
    unit, result, k = facts.unit, facts.result, facts.lanes
    ties, losing, signs = list(facts.landmarks()), losing_counts(facts), telling_signs(facts)
    most, scaled = most_beside(facts) or Fraction(0), unit.scale is not None
    lost_places = most.denominator.bit_length()
    ends = facts.builder.addend_format or result
    first = unit.operands.addend if unit.restart is None else None
    # Of the highest sums the leading one alone; of the most that is lost an integer in units of lost_places.
    return {
        "result": result,
        "sticky": facts.sticky,
        "farthest": facts.distances[-1],
        "farthest_addend": most_addend(facts),
        "tops": _tops(facts),
        "subnormals": [fmt.fraction_bits if fmt.subnormals else 0 for fmt in facts.factors],
        "tied": _cells(ties.index(n) if n in ties else -1 for n in range(k + 1)),
        "tie_counts": len(ties),
        "floor": facts.floor,
        "lost": _cells(map(_cells, _lost_fields(facts, starts["LOST_FIELDS"]))),
        "lost_addend": _cells(_by_kind(most_addend_places(facts), starts["LOST_ADDEND_FIELDS"])),
        "deepest": starts["LOSING_LANES"] - starts["SINGLE_LOST_BITS"] - 1 - max(0, facts.builder.addend_bits - 1),
        "addend_bits": facts.builder.addend_bits,
        "shows": changes_what_is_kept(facts.lost),
        "losing": _cells(1 + losing.index(n) if n in losing else -1 for n in range(k + 1)),
        "lost_places": lost_places,
        "zones": 6 if k > 4 else 5,
        "most": int(most * (1 << lost_places)),
        "growth": _cells(_cells(row) for row in _growth(facts, starts["GROWTH"])),
        "highest": [1 << facts.window + growth for growth in facts.growths],
        "highest_exp": None if scaled else facts.exps[-1],
        "largest": largest_products(facts),
        "most_cut": most_cut(facts),
        "near": [f"{magnitude:#x}u" for magnitude in near_magnitudes(result)],
        "sticky_signs": signs,
        "depths": depths(facts.builder) if signs else [],
        "ends": ends,
        "ends_of_first": int((first or result) == ends),
        "ends_of_next": int(result == ends),
        "near_ends": NEAR,
        "scale_marks": scale_marks(facts) if scaled else [],
        "far_scales": far_scales(facts) if scaled else (),
        "signed_addend": starts["ADDEND_BESIDE_PRODUCTS"] - starts["ZEROS_ALONE"] == 6 if facts.addends else False,
        "fine": fine_bits(facts),
        "lengths": chain_lengths(facts),
    }


def _cells(values: Iterable[object]) -> str:
    """Values as a C initialiser of an array."""
    return f"{{{', '.join(map(str, values))}}}"


def _tops(facts: UnitFacts) -> list[tuple[str, dict[str, int]]]:
    """The bins of finite top binades: side, and the range of their magnitudes."""
    tops, offset = [], 0
    for side, fmt in zip("ab", facts.factors, strict=True):
        if magnitudes := top_binade(fmt):
            mask = (1 << fmt.bits - fmt.signed) - 1
            tops.append((side, {"mask": mask, "first": magnitudes[0], "last": magnitudes[-1], "offset": offset}))
            offset += len(magnitudes)
    return tops


def _lost_fields(facts: UnitFacts, first: int) -> Iterator[list[int]]:
    """Yield the bins of positive products by their lost bits: for each number of places, from 1 on, and each kind."""
    places = straddling_places(facts)
    for count in range(1, facts.width):
        yield _by_kind(count, first) if count in places else [-1] * len(KINDS)
        first += 2 * len(kinds(count)) * (count in places)


def _by_kind(places: int, first: int) -> list[int]:
    """Numbers of pairs of bins, one pair for each kind of so many lost bits: the first of each pair, or -1."""
    there = kinds(places)
    return [first + 2 * there.index(kind) if kind in there else -1 for kind in KINDS]


def _growth(facts: UnitFacts, first: int) -> Iterator[list[int]]:
    """Yield the bins of a leading one at max_exp, without and with an addend, by sign."""
    for addend in (False, True):
        row = []
        for sign in (0, 1):
            row.append(first if facts.addends or not addend else -1)
            first += facts.grown(sign, addend=addend) + 1
        yield row


def _class_table(fmt: Factor, step: int) -> list[str]:
    """The number of each code's class, times a step."""
    order = {name: step * index for index, name in enumerate(classes(fmt))}
    return [str(order[classify(fmt, code)]) for code in range(1 << fmt.bits)]


def _class_sets(fmt: Factor) -> dict[str, str]:
    """The codes of each class, as a set in SystemVerilog."""
    return {name: _set(fmt, codes) for name, codes in classes(fmt).items()}


def _set(fmt: Format, codes: Sequence[int]) -> str:
    """Codes as ranges in SystemVerilog: 8'h1, [8'h3:8'h7]."""
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
    """A factor's format, for expressions in constraints."""

    fmt: Factor

    @property
    def bits(self) -> int:
        """The width of a code."""
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
    """The values in constraints of two products.

    width: bits of a product. below: how many of them are below the window, at each distance.
    """

    width: int
    below: tuple[tuple[int, int], ...]


def _two(facts: UnitFacts) -> TwoProducts | None:
    """The values; None where exponents of factors are no fields of their codes, or a group has one product."""
    plain = all(isinstance(fmt, FloatFormat) and fmt.subnormals and fmt.exponent_bits for fmt in facts.factors)
    if not plain or facts.lanes < 2 or facts.floor is not None:
        return None
    return TwoProducts(facts.width, tuple((d, facts.below(d)) for d in facts.distances))


def _by_group(bins: Sequence[CoverageBin]) -> dict[str, list[tuple[int, CoverageBin, str]]]:
    """The bins of each group, with their numbers and with identifiers as names."""
    groups: dict[str, list[tuple[int, CoverageBin, str]]] = {}
    for index, bin_ in enumerate(bins):
        word = re.sub(r"\W+", "_", bin_.name.replace("+", "plus ").replace("-", "minus "))
        groups.setdefault(bin_.group, []).append((index, bin_, f"b{index}_{word}"))
    return groups
