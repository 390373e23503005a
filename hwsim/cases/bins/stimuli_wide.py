"""Stimuli from significands rather than from a palette, which for wide formats holds a few products only."""

from __future__ import annotations

from itertools import product as cross

from hwsim.cases.bench import Bench
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.solver import Pair
from hwsim.formats import FloatFormat

SIGNS = (0, 1)


def _code(fmt: FloatFormat, sig: int, exp: int, sign: int = 0) -> int | None:
    """A number of this significand and reference exponent; a significand without its high bit is a subnormal's."""
    hidden = 1 << fmt.fraction_bits
    if sig < hidden and (exp != fmt.emin or not fmt.subnormals):
        return None
    if not fmt.emin <= exp <= fmt.emax:
        return None
    magnitude = (exp - fmt.emin) * hidden + sig if fmt.subnormals else (exp - fmt.emin - 1) * hidden + sig + hidden
    return (magnitude | sign * fmt.sign_bit) << fmt.padding if 0 < magnitude <= fmt.max_magnitude else None


def last_bits(bench: Bench, facts: UnitFacts) -> None:
    """Products whose lost bits are 0...01 or all ones, for each number of them that straddles, below a product."""
    a, b = bench.factors
    if not isinstance(a, FloatFormat) or not isinstance(b, FloatFormat) or bench.lanes < 2:
        return
    for places in range(2, facts.width):
        d = places + facts.window - facts.bits
        for sign, field in cross(SIGNS, (1, (1 << places) - 1)):
            pair = _ending(a, b, places, field, sign)
            if pair and d >= 0:
                top = bench.definition.product(*pair, bench.neutral).exp + d
                high = bench.palette.of(0, top)[:1]
                bench.one(
                    f"G4/last-{field:x}-{places:02}-{sign}", [*((one.a, one.b) for one in high), pair][: bench.lanes]
                )


def _ending(a: FloatFormat, b: FloatFormat, places: int, field: int, sign: int) -> Pair | None:
    """Two factors whose significands' product is `field` modulo 2^places. field: odd."""
    for x in range(1, 1 << a.precision, 2):
        y = pow(x, -1, 1 << places) * field % (1 << places)
        if y < 1 << b.precision:
            exps = [fmt.emin if sig >> fmt.fraction_bits == 0 else 0 for fmt, sig in ((a, x), (b, y))]
            codes = _code(a, x, exps[0], sign), _code(b, y, exps[1])
            if codes[0] is not None and codes[1] is not None:
                return codes[0], codes[1]
    return None


def highest(bench: Bench, facts: UnitFacts) -> None:
    """All lanes one large product, and an addend that brings the sum just into the highest binade, with low bits."""
    a, b = bench.factors
    if not isinstance(a, FloatFormat) or not isinstance(b, FloatFormat) or facts.window < facts.bits:
        return
    whole, cut = 1 << facts.window + facts.most_growth, facts.most_cut
    low = {0} | {1 << place | guard << cut - 1 for place in range(cut - 1) for guard in (0, 1)}
    for ones, pattern, sign in cross(range(2, min(a.precision, b.precision) + 1), sorted(low), SIGNS):
        filled = (1 << ones) - 1
        pair = _code(a, filled << a.precision - ones, 0, sign), _code(b, filled << b.precision - ones, 0)
        sig = filled * filled << facts.bits - 2 * ones + 2
        rest = whole + pattern - (bench.lanes * sig << facts.window - facts.bits)
        added = bench.addend(sign, rest, bench.neutral - bench.window)
        if pair[0] is not None and pair[1] is not None and added and added.term.exp <= bench.neutral:
            bench.one(f"G6/highest-{ones:02}-{pattern:x}-{sign}", [(pair[0], pair[1])] * bench.lanes, added)


def _exactly(bench: Bench, sig: int, unit_exp: int, sign: int = 0) -> Pair | None:
    """Factors of (-1)^sign * sig * 2^unit_exp: all of its bits in one, a power of two the other, both normal."""
    a, b = bench.factors
    if not isinstance(a, FloatFormat) or not isinstance(b, FloatFormat) or sig.bit_length() > a.precision:
        return None
    exp = unit_exp + sig.bit_length() - 1
    part = min(max(exp // 2, b.emin), b.emax)
    x = _code(a, sig << a.precision - sig.bit_length(), exp - part, sign)
    y = _code(b, 1 << b.fraction_bits, part)
    return None if x is None or y is None else (x, y)


def bits_apart(bench: Bench, facts: UnitFacts) -> None:
    """Two products that cancel, one for the result's first bit, and one for guard and one sticky bit."""
    if bench.lanes < 4 or bench.unit.scale is not None:
        return
    for cut in range(2, facts.most_cut + 1):
        lead = cut + bench.result.fraction_bits
        for place, guard, sign in cross(range(cut - 1), (0, 1), SIGNS if lead < bench.window else ()):
            low = (1 << cut - 1 - place | 1) if guard else 1
            row = [
                _exactly(bench, 1, 0),
                _exactly(bench, 1, 0, 1),
                _exactly(bench, 1, lead - bench.window, sign),
                _exactly(bench, low, place - bench.window, sign),
            ]
            pairs = [pair for pair in row if pair is not None]
            if len(pairs) == len(row):
                bench.one(f"G7/apart-{cut}-{place}-{guard}-{sign}", pairs)


def deepest(bench: Bench, facts: UnitFacts) -> None:
    """The least product beside the largest, and beside an addend far above."""
    exps = bench.palette.exps
    least, most = bench.palette.of(0, exps[0])[:1], bench.palette.of(0, exps[-1])[-1:]
    if bench.lanes > 1:
        bench.one("G4/deepest", (*most, *least))
    added = bench.addend(0, 1, exps[0] + bench.window + facts.width * 2)
    if added:
        bench.one("G4/deepest-addend", least, added)
