"""What the names of coverage groups, of their bins and of cases mean: a sentence for each, of what a unit has."""

from __future__ import annotations

from hwsim.cases.bins.adders import adders
from hwsim.spec import Unit

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
    "chain": "several groups or beats in a chain",
    "promotion": "partial sums at, before and after the promotion",
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
    """What the bins of a group are, in sentences that speak only of what the unit has; empty for no group's name."""
    has = {
        EVERY: True,
        ADDEND: unit.operands.addend is not None,
        SCALE: unit.scale is not None,
        PROMOTION: unit.promotion is not None,
        ADDS: bool(adders(unit)),
    }
    return " ".join(sentence for part, sentence in GROUP_MEANINGS.get(group, {}).items() if has[part])


def case_meaning(name: str) -> str:
    """What a case of this name is, in words: `random/00000231-growth`, `distance/d08-lost`, `G5/left13`; or nothing."""
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
