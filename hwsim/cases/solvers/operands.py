"""Solves for operands: class against class, each lane, zeros, NaN and infinities."""

from __future__ import annotations

from itertools import product as cross

from hwsim.cases.bench import Bench
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.operands import classes, pairs_of_classes
from hwsim.cases.landmarks import infinities, nans, negate, numbers, zeros
from hwsim.cases.solver import Pair
from hwsim.cases.solvers.beats import ends
from hwsim.formats import FloatFormat
from hwsim.spec.keys import Number

SPECIAL = ("NaN", "Inf")


def named(fmt: Number) -> dict[str, int]:
    """One code of every class, both signs: zeros, numbers, NaN and infinities."""
    found = {f"zero{index}": code for index, code in enumerate(zeros(fmt))}
    for name, code in numbers(fmt).items():
        found[name] = code
        other = negate(fmt, code)
        if other is not None:
            found[f"neg-{name}"] = other
    for index, code in enumerate(infinities(fmt)):
        found["neg-inf" if index else "inf"] = code
    found |= {f"nan{index}": code for index, code in enumerate(nans(fmt)[:1])}
    if isinstance(fmt, FloatFormat):
        return found
    return {**found, "most-negative": 1 << fmt.bits - 1}


def class_pairs(bench: Bench) -> None:
    """Every class of one factor times every class of the other, in all signs, in lanes that vary."""
    a, b = bench.factors
    for index, ((x, code), (y, other)) in enumerate(cross(named(a).items(), named(b).items())):
        bench.add(f"class/{x}-{y}", [bench.filling([(code, other)], index % bench.lanes, exact=True)])


def class_rows(bench: Bench, facts: UnitFacts) -> None:
    """Every pair of classes of numbers through every lane, a pair in each lane of a row."""
    finite = [pair for pair in pairs_of_classes(facts) if not any(pair_of[1:] in SPECIAL for pair_of in pair)]
    for row in range(len(finite)):
        held = [finite[(row + lane) % len(finite)] for lane in range(bench.lanes)]
        bench.add(f"G1/numbers{row:03}", [bench.filling([_codes(facts, pair, row) for pair in held], 0, exact=True)])


def class_specials(bench: Bench, facts: UnitFacts) -> None:
    """Every pair of classes with NaN or an infinity through every lane, alone beside numbers, so that it shows."""
    special = [pair for pair in pairs_of_classes(facts) if any(one[1:] in SPECIAL for one in pair)]
    plain = ends(bench)[0]
    for index, pair in enumerate(special):
        for lane in range(bench.lanes):
            row = [_codes(facts, pair, index + lane), *[(plain.a, plain.b)] * (bench.lanes > 1)]
            bench.add(f"G1/special{index:03}-lane{lane:02}", [bench.filling(row, lane, exact=True)])


def _codes(facts: UnitFacts, pair: tuple[str, str], turn: int) -> Pair:
    """Codes of two classes, in turn."""
    a, b = (classes(fmt)[name] for fmt, name in zip(facts.factors, pair, strict=True))
    return a[turn % len(a)], b[turn * 7 % len(b)]


def zeros_alone(bench: Bench) -> None:
    """All lanes zero, with every sign of zero in a, in b and in the addend."""
    a, b = bench.factors
    fmt = bench.unit.operands.addend
    addends = zeros(fmt) if fmt else [0]
    patterns = {"plus": (0,), "minus": (1,), "mixed": (0, 1)}
    for (x, signs), (y, others), (k, c) in cross(patterns.items(), patterns.items(), enumerate(addends)):
        pairs = [
            (zeros(a)[signs[i % len(signs)] % len(zeros(a))], zeros(b)[others[i // 2 % len(others)] % len(zeros(b))])
            for i in range(bench.lanes)
        ]
        bench.add(f"zero/{x}-{y}-c{k}", [bench.filling(pairs, 0, exact=True)], c)


def nan(bench: Bench) -> None:
    """Each NaN code, NaN in each lane of a and of b and in the addend; beside and times zeros, numbers, infinities."""
    for side, fmt in enumerate(bench.factors):
        others = list(named(bench.factors[1 - side]).items())
        codes = nans(fmt)
        for lane in range(bench.lanes) if codes else ():
            code, other = codes[lane % len(codes)], others[lane % len(others)]
            _nan_in(bench, f"nan/{'ab'[side]}-lane{lane:02}", side, code, other, lane)
        for index, (code, other) in enumerate(cross(codes, others)):
            _nan_in(bench, f"nan/{'ab'[side]}-{code:x}", side, code, other, index % bench.lanes)
    addend = bench.unit.operands.addend
    one = bench.palette.of(0, bench.palette.exps[-1])[-1]
    for code in nans(addend) if addend else ():
        bench.add(f"nan/addend-{code:x}", [bench.filling([one])], code)
        bench.add(f"nan/addend-{code:x}-zero", [bench.filling([])], code)


def _nan_in(bench: Bench, name: str, side: int, code: int, other: tuple[str, int], lane: int) -> None:
    pair = (other[1], code) if side else (code, other[1])
    beside = bench.palette.of(lane % 2, bench.palette.exps[-1])
    row = [pair, *[(one.a, one.b) for one in beside[-1:]]][: bench.lanes]
    bench.add(f"{name}-{other[0]}", [bench.filling(row, lane, exact=True)])


def infinity(bench: Bench) -> None:
    """Inf in each lane; with Inf of the other sign in another lane and in the addend; beside NaN; times zero."""
    for side, fmt in enumerate(bench.factors):
        for index, code in enumerate(infinities(fmt)):
            for lane in range(bench.lanes):
                _infinity_in(bench, f"inf/{'ab'[side]}{index}-lane{lane:02}", side, code, lane)
    addend = bench.unit.operands.addend
    one, minus = (bench.palette.of(sign, bench.palette.exps[-1])[-1] for sign in (0, 1))
    for index, code in enumerate(infinities(addend) if addend else []):
        for name, pairs in (("zero", []), ("product", [one]), ("against", [minus]), ("both", [one, minus])):
            if len(pairs) <= bench.lanes:
                bench.add(f"inf/addend{index}-{name}", [bench.filling(pairs)], code)
        for name, special in _specials(bench):
            bench.add(f"inf/addend{index}-{name}", [bench.filling([special])], code)


def _specials(bench: Bench) -> list[tuple[str, tuple[int, int]]]:
    """Products that are NaN or infinite."""
    a, b = bench.factors
    x, y = (numbers(fmt).get("one", 1) for fmt in bench.factors)
    return [
        *((f"a{code:x}", (code, y)) for code in infinities(a) + nans(a)),
        *((f"b{code:x}", (x, code)) for code in infinities(b) + nans(b)),
        *((f"a{code:x}-times-zero", (code, 0)) for code in infinities(a)),
        *((f"b{code:x}-times-zero", (0, code)) for code in infinities(b)),
    ]


def _infinity_in(bench: Bench, name: str, side: int, code: int, lane: int) -> None:
    """An infinite product in a lane: alone, against its opposite in the next one, and beside one other special term."""
    other = list(numbers(bench.factors[1 - side]).values())[lane % 4 - 1]
    pair = (other, code) if side else (code, other)
    bench.add(name, [bench.filling([pair], lane, exact=True)])
    opposed = negate(bench.factors[side], code)
    if bench.lanes > 1 and opposed is not None:
        against = (other, opposed) if side else (opposed, other)
        bench.add(f"{name}-against-next", [bench.filling([pair, against], lane, exact=True)])
    fmt = bench.unit.operands.addend
    specials: list[tuple[str, list[tuple[int, int]], int]] = [
        *((f"addend{index}", [], c) for index, c in enumerate(infinities(fmt) if fmt else [])),
        *((f"and-{word}", [special], 0) for word, special in _specials(bench) if bench.lanes > 1),
    ]
    for word, pairs, c in specials[lane % len(specials) :][:1] if specials else []:
        bench.add(f"{name}-{word}", [bench.filling([pair, *pairs], lane, exact=True)], c)


def nan_beside_infinity(bench: Bench, facts: UnitFacts) -> None:
    """NaN in one lane and an infinity in another, of either factor."""
    x, y = (numbers(fmt).get("one", 1) for fmt in bench.factors)
    special = [
        [*((code, y) for code in codes(bench.factors[0])[:1]), *((x, code) for code in codes(bench.factors[1])[:1])]
        for codes in (nans, infinities)
    ]
    for index, pair in enumerate(cross(*special) if bench.lanes > 1 else ()):
        bench.add(f"G10/beside{index}", [bench.filling(pair, exact=True)])
