"""A unit's coverage plan: every bin, once, what its name means, and counts of what cases hit."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypedDict

import numpy as np

from hwsim.base.errors import InputError
from hwsim.cases.bins.adders import adders
from hwsim.cases.bins.declare import (
    CaseSampler,
    CoverageBin,
    Declared,
    GroupSampler,
    How,
    PartSampler,
    Subject,
    sampled_case,
)
from hwsim.cases.bins.families import families_of
from hwsim.cases.case import Case, dot, supports
from hwsim.model.definition import definition_of
from hwsim.model.record import Explanation
from hwsim.spec import Unit

# The groups of bins, by name.
TITLES = (
    "operands", "alignment distance", "reference exponent", "lost bits", "cancellation", "growth", "rounding",
    "near misses", "range", "specials", "accumulation", "interface",
)  # fmt: skip
GROUPS = {f"G{number}": title for number, title in enumerate(TITLES, 1)}

# Sentences of every unit, and of those that have an addend or a sum so far, scales, a promotion, rounded additions.
EVERY, ADDEND, SCALE, PROMOTION, ADDS = "", "addend", "scale", "promotion", "adds"

GROUP_MEANINGS: dict[str, dict[str, str]] = {
    "G1": {EVERY: "Which classes of numbers are multiplied, with their signs; a bin is named a x b."},
    "G2": {
        EVERY: "How far apart terms stand: d is how many places a term is below max_exp, the largest exponent of the "
        "sum; it is added or subtracted, and its bits stay in the window (exact) or are lost below it.",
        ADDEND: "The addend's distance is counted above or below the largest product.",
    },
    "G3": {
        EVERY: "Which term sets max_exp, the exponent that the window hangs from, and which other term straddles the "
        "window's end: one part of its bits is kept, the other lost."
    },
    "G4": {
        EVERY: "What is lost below the window: d as in G2, the bits that are lost of a term as a number beside half of "
        "the window's last place, and how many lanes lose."
    },
    "G5": {EVERY: "How far the sum falls below max_exp where terms cancel; a place of the sum's leading one each."},
    "G6": {EVERY: "How far the sum grows above max_exp; a place of its leading one each."},
    "G7": {
        EVERY: "What the last rounding sees: the result's last bit, the bit below it (guard), and whether any bit "
        "below that is a one (sticky).",
        ADDS: "Of each addition whether the last bit of the smaller term alone decides, at each distance of both.",
    },
    "G8": {
        EVERY: "Results at and next to the numbers where formats change: the least, the least normal, 1, the largest."
    },
    "G9": {
        EVERY: "Results at the ends of the range: overflow, subnormal results, sums that become zero.",
        ADDEND: "Addends near those ends too, which products push out or back.",
        SCALE: "Scales and their products near the ends of their range, and scales that are NaN.",
    },
    "G10": {EVERY: "NaN, infinities and zeros with signs, in each lane."},
    "G11": {
        EVERY: "What is carried from group to group, and from beat to beat.",
        PROMOTION: "Where a partial sum goes into the register, and how that is rounded.",
    },
    "G12": {EVERY: "What happens at the ports, whatever the numbers: beats back to back, gaps, back-pressure, resets."},
}

DIRECTED = {
    "covering": "drawn at random, for something that no directed case does",
    "class": "each class of a times each of b",
    "distance": "two products that many places apart (d), with or without lost bits",
    "addend": "an addend that many places above or below the products",
    "extreme": "the least and the largest products, alone and together",
    "lane": "one lane sets max_exp, or straddles the window's end",
    "zero-times": "a zero times a number, which must not set max_exp",
    "subnormal": "subnormal factors by their leading zeros, at distance d",
    "lost": "bits lost below the window, in every pattern",
    "edge": "terms around the window's last place",
    "normalize": "sums whose leading one is that many places below max_exp",
    "growth": "sums that grow as far above max_exp as so many equal terms can",
    "carry": "a carry or a borrow through every place above the given one",
    "cancel": "terms that cancel exactly",
    "residue": "sums that vanish in the window and not exactly",
    "sticky": "sums that a term's lost 1 alone rounds otherwise",
    "flush": "numbers at and just below the least normal one, where subnormal results become zero",
    "tie": "results at, just below and just above half of their last place",
    "range": "results at the ends of the range",
    "scale": "scales at the ends of their range",
    "zero": "zeros of either sign alone",
    "nan": "NaN in one place",
    "inf": "infinities, alone and against each other",
    "decide": "the last bit of the smaller term, so many places below the larger, alone decides a rounding",
    "alone": "a tie, or a number, and one bit alone that decides the rounding",
    "past": "a sum that reaches the next power of two and ends there at a tie, or just beside it",
    "odd": "a product alone whose last bit is a one, of each exponent",
    "bits": "an addend of one bit, of all but one, one bit off infinity, or NaN",
    "apart": "two products at each distance, and what cancels the larger one",
    "handed": "NaN, or a sum that is too large, which another beat goes on from",
    "vanish": "the least products, negative ones, beside zeros of their sign",
    "aimed": "terms that are drawn so that their sum is at a place where a rounding changes",
    "near": "a number beside a tie, and a term so far below that it must not decide the rounding, or must",
    "halves": "one lane far above others that are alike and large, or two that cancel above the least product",
    "chain": "several groups or beats in a chain",
    "promotion": "partial sums at, before and after the promotion",
    "first": "a partial sum times the scale that it is multiplied by first: each outcome of that rounding",
    "product": "one pair of codes",
    "gemm": "an element of a matrix product: its row and column",
    "reachable": "shows that a result can overflow or underflow",
    "captured": "what a GPU was asked, and returned",
}

KINDS = {
    "any": "any numbers",
    "near": "products of about one size",
    "spread": "products spread over the window",
    "cancel": "products that cancel",
    "sparse": "few products",
    "straddle": "products at the window's end",
    "addend": "a large addend",
    "special": "with zeros, NaN and infinities",
    "rounding": "around half of the result's last place",
    "tie": "at half of the result's last place",
    "edge": "terms at the window's end",
    "ladder": "each term below the one before",
    "opposite": "the largest terms cancel",
    "below": "an addend above the products",
    "few": "one or two small terms",
    "subnormal": "subnormal factors",
    "growth": "many terms of one sign and size, whose sum grows",
    "zeros": "zeros beside small numbers",
    "empty": "zeros alone",
    "floor": "where the result's numbers end below",
    "halfway": "at half of the result's least number, and a little",
    "tiny": "about the least results",
    "vanishing": "results that vanish",
    "overflow": "results at the upper end of the range",
    "specials": "with NaN and infinities",
}


def group_meaning(unit: Unit, group: str) -> str:
    """Describe the bins of a group, in sentences that speak only of what the unit has; empty for no group's name."""
    has = {
        EVERY: True,
        ADDEND: unit.operands.addend is not None,
        SCALE: unit.scale is not None,
        PROMOTION: unit.promotion is not None,
        ADDS: bool(adders(unit)),
    }
    return " ".join(sentence for part, sentence in GROUP_MEANINGS.get(group, {}).items() if has[part])


def case_meaning(name: str) -> str:
    """Describe a case by its name: `random/00000231-growth`, `distance/d08-lost`, `G5/left13`; or nothing."""
    family, _, rest = name.partition(", mode")[0].partition("/")
    number, _, kind = rest.partition("-")
    if family == "random":
        return (
            f"random case {int(number):,}: {KINDS[kind]}" if number.isdecimal() and kind in KINDS else "a random case"
        )
    if family == "G13":
        drawn = f", drawn at random: {KINDS[kind]}" if kind in KINDS else ""
        return f"tells readings of the specification apart (G13 is that group of cases){drawn}"
    if family in GROUP_MEANINGS:
        return f"made for a bin of coverage group {family}"
    return f"directed: {DIRECTED[family]}" if family in DIRECTED else ""


LANES = re.compile(r"lane (\d+) sets max_exp, lane (\d+) straddles the window")
AXES = {"G3": ("lane of max_exp", "lane that straddles")}


@dataclass(frozen=True)
class CoveragePlan:
    """Events that can happen in a unit, as bins. `hwsim.cases.bins.Counter` counts them.

    bins: in the order of their families. sections: where each section of them begins. group_samplers, case_samplers,
    parts: what a counter asks for hits, as indices of bins; parts are those of the bins that have several, numbered
    through.
    """

    unit: Unit
    bins: tuple[CoverageBin, ...]
    group_samplers: tuple[GroupSampler, ...] = field(repr=False)
    case_samplers: tuple[CaseSampler, ...] = field(repr=False)
    parts: PartSampler = field(repr=False)
    sections: Mapping[str, int] = field(repr=False)

    def __getitem__(self, name: str) -> CoverageBin:
        """The bin of a name. Raises KeyError."""
        named = next((bin_ for bin_ in self.bins if bin_.name == name), None)
        if named is None:
            raise KeyError(name)
        return named

    def of(self, group: str) -> list[CoverageBin]:
        """The bins of one group."""
        return [bin_ for bin_ in self.bins if bin_.group == group]


@lru_cache(maxsize=16)
def plan(unit: Unit) -> CoveragePlan:
    """The coverage plan of a unit: the bins of all families that it has.

    Raises NotImplementedYet for a unit without bins (`hwsim.cases.case`).
    """
    supports(unit).demand()
    out, subject = Declared(), Subject(unit)
    for family in families_of(unit):
        if family.declare is not None:
            family.declare(subject, out)
    return CoveragePlan(unit, tuple(out.bins), tuple(out.groups), tuple(out.cases), out.parts, out.sections)


# What a report says of bins: their states, and which are cells of a table of pairs.


class Labels(TypedDict):
    """Labels of groups and bins in reports, beside their names.

    titles, meanings, axes: by group; axes are what the rows and columns of places are. places: by the bin's name.
    """

    titles: Mapping[str, str]
    meanings: Mapping[str, str]
    places: Mapping[str, tuple[str, str]]
    axes: Mapping[str, tuple[str, str]]


def labels(unit: Unit, names: Iterable[str]) -> Labels:
    """The labels of the bins of these names, and of all groups."""
    pairs = {name: LANES.fullmatch(name) for name in names}
    return Labels(
        titles=GROUPS,
        meanings={group: group_meaning(unit, group) for group in GROUPS},
        places={name: (match[1], match[2]) for name, match in pairs.items() if match},
        axes=AXES,
    )


def planned(bins: Iterable[CoverageBin], reached: Container[str]) -> list[tuple[str, str, bool | None, str]]:
    """Group, name, whether it can be reached (None: not known) and the proof that it cannot, of each bin.

    reached: the names of bins that something has hit. A proof that this contradicts does not count.
    """
    return [
        (bin_.group, bin_.name, True, "")
        if bin_.name in reached
        else (bin_.group, bin_.name, None if bin_.unreachable is None else False, bin_.unreachable or "")
        for bin_ in bins
    ]


class Hit(NamedTuple):
    """The hits of one case: the indices of bins, and the parts of those that have several."""

    bins: frozenset[int]
    parts: tuple[int, ...]


class Summary(NamedTuple):
    """Numbers of bins of one group: all, those that nothing proves unreachable, and those that were hit."""

    bins: int
    reachable: int
    hit: int


class Counter:
    """Counts the cases that hit each bin of a plan.

    counts: by the bin's name, every bin in the plan's order. A bin of several parts counts how often each of them was
    hit at least. cases: how many were sampled.
    """

    def __init__(self, plan: CoveragePlan):
        self.plan = plan
        self.cases = 0
        self._counts = np.zeros(len(plan.bins), np.int64)
        self._composed = [index for index, bin_ in enumerate(plan.bins) if bin_.parts > 1]
        self._parts = np.zeros(sum(plan.bins[index].parts for index in self._composed), np.int64)
        self._index = {bin_.name: index for index, bin_ in enumerate(plan.bins)}
        self._definition = definition_of(plan.unit)

    def sample(self, case: Case, explanation: Explanation | None = None) -> Hit:
        """Count every bin that a case hits, once. explanation: what the definition makes of it, if it is at hand."""
        hit = self.hit(case, explanation)
        self.count(hit)
        return hit

    def hit(self, case: Case, explanation: Explanation | None = None) -> Hit:
        """The hits of a case, without counting it."""
        sampled = sampled_case(case, explanation or dot(self._definition, case))
        hits, parts = set[int](), list[int]()
        for group in sampled.groups:
            for sampler in self.plan.group_samplers:
                sampler(group, hits)
            parts += self.plan.parts(group)
        for whole in self.plan.case_samplers:
            whole(sampled, hits)
        return Hit(frozenset(hits), tuple(parts))

    def count(self, hit: Hit) -> None:
        """Count a case by what it hits."""
        self.cases += 1
        self._counts[list(hit.bins)] += 1
        self._parts[list(hit.parts)] += 1

    def is_new(self, hit: Hit) -> bool:
        """True if any of it has not been hit yet."""
        return not (self._counts[list(hit.bins)].all() and self._parts[list(hit.parts)].all())

    def add(self, name: str, count: int = 1) -> None:
        """Count a bin that is sampled elsewhere, from a trace.

        Raises ValueError for a name that is no such bin's.
        """
        index = self._index.get(name)
        if index is None or self.plan.bins[index].how == "model":
            raise InputError(f"{self.plan.unit.name} has no bin {name!r} that traces are counted in")
        self._counts[index] += count

    @property
    def counts(self) -> dict[str, int]:
        """The number of hits of each bin."""
        counts, start = self._counts.copy(), 0
        for index in self._composed:
            parts = self.plan.bins[index].parts
            counts[index] = self._parts[start : start + parts].min(initial=1 << 62)
            start += parts
        return dict(zip(self._index, counts.tolist(), strict=True))

    def missed(self, how: How = "model") -> list[CoverageBin]:
        """The bins that were not hit, and that nothing proves unreachable. how: those sampled in that way."""
        counts = self.counts
        return [bin_ for bin_ in self.plan.bins if bin_.how == how and bin_.reachable and not counts[bin_.name]]

    def contradicted(self) -> list[CoverageBin]:
        """The bins that were hit although they are said to be unreachable: a proof is wrong."""
        counts = self.counts
        return [bin_ for bin_ in self.plan.bins if not bin_.reachable and counts[bin_.name]]

    def summary(self) -> dict[str, Summary]:
        """Bins, those not proven unreachable, and those hit, by group."""
        counts = self.counts
        summaries = {}
        for group in GROUPS:
            bins = self.plan.of(group)
            hit = sum(counts[bin_.name] > 0 for bin_ in bins)
            summaries[group] = Summary(len(bins), sum(bin_.reachable for bin_ in bins), hit)
        return summaries

    def merge(self, other: Counter) -> None:
        """Count what another counter of the same plan has counted too.

        Raises ValueError for another plan's.
        """
        if self.plan.bins != other.plan.bins:
            raise InputError(f"counts of {other.plan.unit.name} do not fit the bins of {self.plan.unit.name}")
        self.cases += other.cases
        self._counts += other._counts
        self._parts += other._parts

    def state(self) -> dict[str, Any]:
        """All of it as JSON's types, for `restore`: cases, counts by name, and the counts of parts."""
        return {"cases": self.cases, "counts": self.counts, "parts": self._parts.tolist()}

    @classmethod
    def restore(cls, plan: CoveragePlan, state: Mapping[str, Any]) -> Counter:
        """The counter that `state` was made of.

        Raises ValueError for another plan's.
        """
        counter = cls(plan)
        counts, parts = state["counts"], state["parts"]
        if list(counts) != list(counter._index) or len(parts) != len(counter._parts):
            raise InputError(f"counts: must be those of the {len(plan.bins)} bins of {plan.unit.name}")
        counter.cases = int(state["cases"])
        counter._counts[:] = list(counts.values())
        counter._counts[counter._composed] = 0
        counter._parts[:] = parts
        return counter
