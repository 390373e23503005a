"""Directed cases of the operands: zeros, subnormals, class against class, NaN and infinities."""

from __future__ import annotations

from itertools import product as cross

from hwsim.cases.bench import Bench
from hwsim.cases.landmarks import infinities, nans, negate, numbers, zeros
from hwsim.cases.solver import Addend
from hwsim.formats import FloatFormat, Format

Codes = dict[str, int]


def named(fmt: Format) -> Codes:
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


def classes(bench: Bench) -> None:
    """Every class of one factor times every class of the other, in all signs, in lanes that vary."""
    a, b = bench.factors
    for index, ((x, code), (y, other)) in enumerate(cross(named(a).items(), named(b).items())):
        bench.put(f"class/{x}-{y}", [bench.filling([(code, other)], index % bench.lanes, exact=True)])


def zero(bench: Bench) -> None:
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
        bench.put(f"zero/{x}-{y}-c{k}", [bench.filling(pairs, 0, exact=True)], c)


def zero_times(bench: Bench) -> None:
    """A zero product with a large other factor beside a tiny term: it must have no part in max_exp."""
    a, b = bench.factors
    tiny = bench.palette.of(0, bench.palette.exps[0])[0]
    small = bench.addend(0, 1, bench.palette.exps[0] - 3)
    for i, (x, y) in enumerate(cross(zeros(a), _largest(b))):
        _beside(bench, f"a{i}", (x, y), (tiny.a, tiny.b), small)
    for i, (x, y) in enumerate(cross(_largest(a), zeros(b))):
        _beside(bench, f"b{i}", (x, y), (tiny.a, tiny.b), small)


def _beside(bench: Bench, name: str, empty: tuple[int, int], tiny: tuple[int, int], small: Addend | None) -> None:
    for lane in sorted({0, bench.lanes // 2, bench.lanes - 1}):
        if bench.lanes > 1:
            bench.put(f"zero-times/{name}-lane{lane:02}", [bench.filling([empty, tiny], lane, exact=True)])
        if small:
            filling = bench.filling([empty], lane, exact=True)
            bench.put(f"zero-times/{name}-lane{lane:02}-addend", [*small.before, filling], small.c)
    if bench.lanes > 1:
        row = [*[empty] * (bench.lanes - 1), tiny]
        bench.put(f"zero-times/{name}-all", [bench.filling(row, bench.lanes // 3, exact=True)])


def _largest(fmt: Format) -> list[int]:
    code = list(numbers(fmt).values())[-1]
    other = negate(fmt, code)
    return [code] if other is None else [code, other]


def subnormal(bench: Bench) -> None:
    """A subnormal factor whose product has the largest reference exponent, and leading zeros, beside a larger term."""
    for side, fmt in enumerate(bench.factors):
        if not isinstance(fmt, FloatFormat) or not fmt.subnormals or not fmt.fraction_bits:
            continue
        largest = list(numbers(bench.factors[1 - side]).values())[-1]
        for lead in sorted({0, 1, 2, fmt.fraction_bits // 2, fmt.fraction_bits - 1} & set(range(fmt.fraction_bits))):
            for kind, code in (("one", 1 << lead), ("ones", (2 << lead) - 1)):
                code <<= fmt.padding
                pair = (largest, code) if side else (code, largest)
                if kind == "one" or lead:
                    _leading_zeros(bench, f"{'ab'[side]}-lead{lead}-{kind}", pair)


def _leading_zeros(bench: Bench, name: str, pair: tuple[int, int]) -> None:
    term = bench.definition.product(*pair, bench.neutral)
    near = {0, 1, 2, 3, bench.window - 1, bench.window, bench.window + 1}
    for d, sign in cross(sorted(d for d in near if d >= 0), (0, 1)):
        low = bench.palette.of(sign, term.exp - d)
        word = f"subnormal/{name}-d{d:02}-{'neg' if sign else 'pos'}"
        if low:
            bench.one(word, [pair, low[-1]])
        added = bench.addend(sign, (1 << bench.addend_bits) - 1, term.exp - d - bench.addend_bits + 1)
        if added:
            bench.one(f"{word}-addend", [pair], added)


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
        bench.put(f"nan/addend-{code:x}", [bench.filling([one])], code)
        bench.put(f"nan/addend-{code:x}-zero", [bench.filling([])], code)


def _nan_in(bench: Bench, name: str, side: int, code: int, other: tuple[str, int], lane: int) -> None:
    pair = (other[1], code) if side else (code, other[1])
    beside = bench.palette.of(lane % 2, bench.palette.exps[-1])
    row = [pair, *[(one.a, one.b) for one in beside[-1:]]][: bench.lanes]
    bench.put(f"{name}-{other[0]}", [bench.filling(row, lane, exact=True)])


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
                bench.put(f"inf/addend{index}-{name}", [bench.filling(pairs)], code)
        for name, special in _specials(bench):
            bench.put(f"inf/addend{index}-{name}", [bench.filling([special])], code)


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
    bench.put(name, [bench.filling([pair], lane, exact=True)])
    opposed = negate(bench.factors[side], code)
    if bench.lanes > 1 and opposed is not None:
        against = (other, opposed) if side else (opposed, other)
        bench.put(f"{name}-against-next", [bench.filling([pair, against], lane, exact=True)])
    fmt = bench.unit.operands.addend
    specials: list[tuple[str, list[tuple[int, int]], int]] = [
        *((f"addend{index}", [], c) for index, c in enumerate(infinities(fmt) if fmt else [])),
        *((f"and-{word}", [special], 0) for word, special in _specials(bench) if bench.lanes > 1),
    ]
    for word, pairs, c in specials[lane % len(specials) :][:1] if specials else []:
        bench.put(f"{name}-{word}", [bench.filling([pair, *pairs], lane, exact=True)], c)
