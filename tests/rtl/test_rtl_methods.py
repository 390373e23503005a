"""Every method and rule of the RTL in Amaranth's simulator, and faults in each, which cases catch."""

from __future__ import annotations

from typing import Any

import pytest
from built_presets import others_slow
from cosim.mutants import Mutant
from cosim.plays import amaranth_play, recorded
from odd_units import NAMED, unit
from representatives import with_every_format
from unit_keys import chained, exact_sum, odd_unit, scaled, window

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.design import Traffic
from hwsim.cosim.diagnose import first_difference
from hwsim.rtl import (
    accumulate,
    addition,
    aligned,
    arithmetic,
    dot_unit,
    exact,
    latewindow,
    normalize,
    products,
    rounded,
    step,
    supports,
    terms,
    windows,
)  # fmt: skip
from hwsim.spec import Unit, pipeline, steps

BUILT = list(NAMED)
# One of each method and rule; the others in the soak.
ALWAYS = ["promoted-f16", "chain-f16-mul-add", "integers-saturate", "chain-late-fnuz"]
BUSY = Traffic(0.75, 0.7, bursts=True)


def test_nothing_is_missing() -> None:
    # A low addend can stand above its window.
    assert [name for name in NAMED if not supports(unit(name)) and not name.startswith("subgroups-low")] == []


def count_of(odd: Unit) -> int:
    """Random cases: as many as a second or two allows."""
    return max(12, 320 // odd.instruction.lanes)


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize("name", others_slow(BUILT, ALWAYS[::22], with_every_format(BUILT)))
def test_every_rule_is_the_models(name: str) -> None:
    odd = unit(name)
    built = pipeline(odd)
    cases = random_cases(odd, count_of(odd), 11)
    # Back to back, and with gaps and back-pressure, contexts interleaved.
    plays = [recorded(odd, built, cases), recorded(odd, built, cases[:24], BUSY, shuffled=True)]
    for play, outcome in zip(plays, amaranth_play(odd, built, *plays), strict=True):
        assert outcome.mismatches == []
        assert outcome.results == play.script.planned > 0


CUT = [
    "chain-f16-mul-add", "tree-f16-7", "exact-zero", "even-odd-add", "late-window-cut", "emulated", "tiny-promoted",
    "exact-mx-folded", "subgroups", "chain-f64-mixed", "rna-1",
]  # fmt: skip
EVERY, EVEN, ODD, NONE = slice(None), slice(0, None, 2), slice(1, None, 2), slice(0)
CUTS = {"every register": EVERY, "one register": NONE, "even ones": EVEN, "odd ones": ODD}


@pytest.mark.parametrize(
    ("name", "cuts"),
    others_slow(
        [(name, cuts) for name in CUT for cuts in CUTS],
        [("chain-f16-mul-add", "every register"), ("even-odd-add", "every register")],
    ),
)
def test_every_cut_returns_the_same(name: str, cuts: str) -> None:
    odd = unit(name)
    built = pipeline(odd, cuts=steps(odd)[CUTS[cuts]], contexts=3)
    play = recorded(odd, built, random_cases(odd, 16, 5), BUSY, shuffled=True)
    (outcome,) = amaranth_play(odd, built, play)
    assert outcome.mismatches == []
    assert outcome.results == play.script.planned > 0


# What is broken where registers stand inside a shifter, an adder, a normalisation or a tree: in which unit, behind
# which cuts, by which words of the RTL's source.
ROUNDED_AWAY = odd_unit("inner-rna", "e4m3", "f32", window(8, "rna", zero="ieee"), "f32", 2)
CUT_OFF = odd_unit("inner-rz", "f16", "f16", chained("sequential", "f16", "rz"), "f16", 1)
POWERS = {"name": "e3", "kind": "exponent", "exponent_bits": 3, "bias": 3, "nan": [7]}
SCALED = odd_unit("inner-scaled", "e2m1", "f16", exact_sum(), "f16", 4, **scaled("product", (POWERS, 1), (POWERS, 4)))
INSIDE: dict[str, tuple[str | Unit, str, Any, str, str]] = {
    "the highest lost bit": (ROUNDED_AWAY, "align.1", arithmetic.Shifter.begin, "Cat(sticky, guard,", "Cat(sticky, 0,"),
    "the other lost bits": (CUT_OFF, "align.1", arithmetic.Shifter.begin, "Cat(sticky, guard,", "Cat(0, guard,"),
    "a carry between halves": (CUT_OFF, "sum.1", addition.FloatAdder.sum_high, "+ i.low[self.half :]", ""),
    "zeros are not counted": (
        "exact-zero",
        "normalize.1",
        normalize.CountZeros.compute,
        "zeros.eq(shift)",
        "zeros.eq(shift ^ 1)",
    ),
    "a sum of a tree": ("zeros-count", "sum.1", aligned.Sum.compute, '"][taken]', '"][taken.start : taken.start + 1]'),
    "an exact sum of a tree": (
        "exact-f32",
        "sum.1",
        step.TreeSums.compute,
        "values[term] for",
        "values[group[0]] for",
    ),
    "a tree's exponents": (
        "zeros-count",
        "maximum.1",
        aligned.TreeMaximum.compute,
        "candidates(self.n, self.i, window)",
        "candidates(self.n, self.i, window)[:1] * 2",
    ),
    "a scaled part": (SCALED, "sum.1", exact.ExactScaled.compute, "scaled[term] for", "scaled[group[0]] for"),
}


@pytest.mark.parametrize("name", others_slow(list(INSIDE), ["a sum of a tree"]))
def test_a_fault_between_inner_registers_is_caught(name: str) -> None:
    which, inner, function, old, new = INSIDE[name]
    odd = which if isinstance(which, Unit) else unit(which)
    built = pipeline(odd, cuts=tuple(step for step in steps(odd) if step.endswith(inner)), contexts=1)
    assert built.latency > 1
    known = directed(odd, 3)
    beside = [case for case in known if "-odd-" in case.id]  # numbers with a last bit, at every distance
    play = recorded(odd, built, [*random_cases(odd, 40, 3), *known[:: len(known) // 40], *beside])
    with fault(name, function, old, new).applied():
        (outcome,) = amaranth_play(odd, built, play)
    assert outcome.count > 0


def fault(name: str, function: Any, old: str, new: str) -> Mutant:
    return Mutant(name, name, (), function, old, new)


# What is broken, in which unit, by which words of the RTL's source.
FAULTS: dict[str, tuple[str, Any, str, str]] = {
    "lost bits of an addition": ("chain-f16-rz", addition.FloatAdder.align, '0, "jam")', '0, "truncate")'),
    "sign of a zero sum": ("chain-rd", addition.pair_specials, 'int(rounding == "rd")', "0"),
    "infinities that meet": ("chain-f16-mul-add", addition.pair_specials, "(x.inf & x.sign)", "(x.inf & 0)"),
    "products are not normalised": ("chain-f32", addition.normalized, "(sig << zeros)[: len(sig)]", "sig"),
    "exponent of a product": ("chain-converted", addition.product_move, "n.sig_bits - 1", "n.sig_bits"),
    "a NaN scale": ("chain-scaled", rounded.RoundedMultiply._numbers, "| self.i.scale_nan", "| 0"),
    "flushed addends": ("chain-flush-fused", rounded.RoundedDecode._rounded, "flush=n.rule.flushes", "flush=None"),
    "flushed sums": ("chain-flush-fused", rounded.additions, "rule.flushes, rule", "None, rule"),
    "an odd product goes first": (
        "tree-f16-7",
        rounded._tree_levels,
        "operands = [pair.sum for pair in pairs] + operands[2 * len(pairs) :]",
        "operands = operands[2 * len(pairs) :] + [pair.sum for pair in pairs]",
    ),
    "no addend is +0": ("tree-6-rd", rounded._absent, 'rule.rounding != "rd"', 'rule.rounding == "rd"'),
    "subnormals count": (
        "daz",
        products.FactorDecode.elaborate,
        "self.o.sig.eq(0)",
        "self.o.sig.eq(decoded.sig)",
    ),
    "signs of zeros": (
        "window-positive",
        products.FactorDecode.elaborate,
        "self.o.sign.eq(0)",
        "self.o.sign.eq(decoded.sign)",
    ),
    "converted subnormals": ("daz-converted", products.Converted.elaborate, "Mux(room < zeros, room, zeros)", "zeros"),
    "magnitude of a negative integer": ("chain-fixed", products.FixedDecode.elaborate, "flipped + sign", "flipped"),
    "a product at the limit": ("product-limit", products.LaneProduct._exceeds, "- limit -", "- limit - 1 -"),
    "what is below the least number": (
        "chain-bare",
        normalize.Round._nearest,
        "return nonzero & (last | up)",
        "return nonzero & 0",
    ),
    "flushed results": (
        "flush-signed",
        normalize.Round.compute,
        "if target.flush is not None and not target.bare",
        "if False",
    ),
    "sign of what vanishes": ("flush-positive", normalize.Round._sign, 'target.tiny == "signed"', "True"),
    "first addend in its own format": (
        "late-sequential",
        dot_unit.accumulate,
        "entering.first | starts.of(context)",
        "0",
    ),
    "late flush": (
        "exact-late",
        accumulate.AccumulateDecode._kept,
        "if addition.flush and addition.format.subnormals",
        "if False",
    ),
    "partial sums are not scaled": (
        "scaled-promotion",
        accumulate.AccumulateDecode._scaled,
        "decode.code.eq(getattr(self.i, name))",
        "decode.code.eq(0x3F800000 if name == 'scale' else getattr(self.i, name))",
    ),
    "what is multiplied first": (
        "sum-by-a-first",
        accumulate.FirstProduct.elaborate,
        "decode.code.eq(getattr(self, name))",
        "decode.code.eq(0x3C if name == 'scale_a' else getattr(self, name))",
    ),
    "the first scale": (
        "narrow-fma",
        dot_unit.scale_of_partial,
        "kept.of(context)",
        "scale ^ 0x800000",
    ),
    "addend of another format": (
        "promoted-f16",
        accumulate.Accumulation.entering,
        "return rounded.o.code",
        "return code",
    ),
    "an exact sum is not carried": (
        "exact-zero",
        exact.ExactDecode.compute,
        "start.total.eq(self.i.carried.total)",
        "start.total.eq(0)",
    ),
    "an exact sum's special values": (
        "exact-ieee",
        exact.ExactDecode.compute,
        "*assign(start.special, self.i.carried.special),",
        "",
    ),
    "sign of an exact zero": ("exact-zero", exact.ExactMultiply._zero_sign, "Mux(every, 1,", "Mux(every, 0,"),
    "a segment's scale": (
        "exact-scaled",
        exact._scaled,
        "part << exp",
        "part << i.scale_exp[0]",
    ),
    "an integer saturates": ("integers-saturate", normalize.RoundFixed.compute, "most + sign", "most + 1"),
    "an integer's rounding": ("i12-rne", normalize.RoundFixed._rounded, "below[:-1].any()", "0"),
    "the odd lanes' maximum": (
        "even-odd",
        aligned.Distance.compute,
        "near[n.window_of(lane)]",
        "near[n.names[0]]",
    ),
    "zeros do not count": ("zeros-count", terms.Multiply.compute, "if n.flagged:  # those", "if False:  # those"),
    "sign of a window's zero": ("ieee-zero-rd", terms.Multiply._zero_sign, "Mux(every, 1,", "Mux(every, 0,"),
    "sums that cancel": (
        "subgroups-cancelled",
        windows.drive_scaled,
        "to.sig.any() | cancels",
        "to.sig.any()",
    ),
    "an infinite scale": (
        "subgroups-signed",
        windows.drive_scaled,
        "*(scale.inf for scale in scales)",
        "*()",
    ),
    "a subgroup's scale": (
        "subgroups",
        windows.drive_scaled,
        "sig = sig * scale.sig",
        "sig = sig * 8",
    ),
    "lost bits of a pair": ("pairs-floor", windows._in_window, "rule.lost)", '"truncate")'),
    "a pair at another exponent": (
        "pairs",
        windows.drive_scaled,
        "*part.exp, *(",
        "*[top - 1 for top in part.exp], *(",
    ),
    "zero products count in a pair": ("pairs", windows._in_window, "some | none, some", "1, some"),
    "pairs that cancel": ("pairs-floor", windows.drive_scaled, "to.sig.any() | cancels", "to.sig.any()"),
    "a block's exponent in a tree": (
        "tree-blocks",
        windows.PartNumber.elaborate,
        "exp + self.move",
        "exp + self.move + 1",
    ),
    "a NaN in a block": ("tree-blocks", windows.PartNumber.elaborate, "self.special.nan |", "0 |"),
    "a block elsewhere": ("exact-blocks", exact.ExactMultiply._parts, "part.exp - PRODUCT", "part.exp - PRODUCT + 1"),
    "a dropped late addend": (
        "late-window-jam",
        latewindow.LateSum.compute,
        "if rule.drop_below is not None",
        "if False",
    ),
    "a late addend of zero": (
        "late-16",
        latewindow.LateSum.compute,
        "counts = counts | total.nonzero | nonzero",
        "counts = counts",
    ),
    "what both lose": ("late-window-total", windows.cut, "up = sign & any_lost", "up = 0"),
    "a lane has its neighbour's scale": (
        "ordered-blocks",
        products.scale_exponents,
        "decoders[lane // length].bexp",
        "decoders[lane // (2 * length)].bexp",
    ),
    "products of 64 bits lose a bit": (
        "chain-f64-mixed",
        addition.normalized,
        "(sig << zeros)[: len(sig)]",
        "(sig << zeros)[: len(sig)] & ~1",
    ),
    "halves in one window": ("even-odd-total", latewindow.CombineHalves.compute, "both[0] + both[1]", "both[0]"),
    "a part that is zero counts": ("subgroups", aligned.candidates, "n.flagged and not n.counting", "False"),
}


def cases_of(odd: Unit, every: bool = False) -> list[Case]:
    """Random and directed cases that seconds simulate: fewer of integers that are as long as scales make them."""
    known, some = directed(odd, 1), 40 if odd.sum.method == "exact" and odd.scale is not None else 200
    return [*random_cases(odd, some, 3), *known[:: 1 if every else max(1, len(known) // some)]]


@pytest.mark.parametrize("name", others_slow(list(FAULTS), ["a part that is zero counts"]))
def test_a_fault_is_caught(name: str) -> None:
    which, function, old, new = FAULTS[name]
    odd = unit(which)
    built = pipeline(odd)
    play = recorded(odd, built, cases_of(odd, name in RARE))
    with fault(name, function, old, new).applied():
        (outcome,) = amaranth_play(odd, built, play)
    assert outcome.count > 0


RARE = {
    "what is below the least number",
    "pairs that cancel",
    "sign of a window's zero",
}  # which few of the directed cases show


def test_every_fault_is_one_of_the_code_that_there_is() -> None:
    """Those that the soak alone plays too."""
    for name, (_, function, old, new) in FAULTS.items():
        with fault(name, function, old, new).applied():
            pass


# The stage that a diagnosis names.
STAGES = {
    "lost bits of an addition": "add.",
    "subnormals count": "decode",
    "converted subnormals": "decode",
    "an integer's rounding": "round",
    "late flush": "late",
}


@pytest.mark.parametrize("name", others_slow(list(STAGES), ["an integer's rounding"]))
def test_the_stage_of_a_fault_is_named(name: str) -> None:
    which, function, old, new = FAULTS[name]
    odd = unit(which)
    with fault(name, function, old, new).applied():
        found = next(one for case in cases_of(odd) if (one := first_difference(odd, case)) is not None)
    assert found.stage.startswith(STAGES[name])


@pytest.mark.parametrize("name", others_slow(["chain-f16-mul-add", "exact-zero", "even-odd-add"], ["even-odd-add"]))
def test_without_a_fault_no_stage_differs(name: str) -> None:
    odd = unit(name)
    assert not [case.id for case in random_cases(odd, 4, 3) if first_difference(odd, case) is not None]
