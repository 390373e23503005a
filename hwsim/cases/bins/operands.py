"""G1 and G10: classes of operands, NaN, infinities and zeros of both signs."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product as cross
from typing import assert_never

from hwsim.cases.bins.declare import MARKS, Declared, Hits, SampledCase, SampledGroup, Subject, window_family
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.palette import EXHAUSTIVE_BITS, infinities, nans, negate, numbers, zeros
from hwsim.cases.solver import CaseBuilder, Pair
from hwsim.formats import Class, FixedFormat, FloatFormat, Format, TableFormat, unpack
from hwsim.formats.codes import all_codes
from hwsim.model.rounding import rounds_inward
from hwsim.spec import Unit
from hwsim.spec.keys import Factor

SPECIAL = ("NaN", "Inf")


def classify(fmt: Factor, code: int) -> str:
    """The one class, with a sign, that a code of a factor is in."""
    sign, _, sig, cls = unpack(fmt, code)
    word = "-" if sign else "+"
    if isinstance(fmt, FixedFormat):
        return word + _fixed(fmt, sign, sig)
    if cls is Class.ZERO:
        return f"{word}zero"
    if cls is Class.NAN:
        return f"{word}NaN"
    if cls is Class.INFINITY:
        return f"{word}Inf"
    if isinstance(fmt, TableFormat):
        magnitude, least = abs(fmt.numbers[code]), math.ldexp(1.0, fmt.emin)
        return word + {1.0: "one", least: "least normal", abs(fmt.largest): "largest normal"}.get(magnitude, "normal")
    magnitude = code >> fmt.padding & (fmt.sign_bit - 1)
    if cls is Class.SUBNORMAL:
        ends = {1: "least subnormal", (1 << fmt.fraction_bits) - 1: "largest subnormal"}
        return word + (ends.get(magnitude, "subnormal") if magnitude != 1 else ends[1])
    first = 1 << fmt.fraction_bits if fmt.subnormals else 1
    ends = {fmt.bias << fmt.fraction_bits: "one", first: "least normal", fmt.max_magnitude: "largest normal"}
    return word + ends.get(magnitude, "normal")


def _fixed(fmt: FixedFormat, sign: int, sig: int) -> str:
    most = fmt.max_code
    if sig == 0:
        return "zero"
    if sign and sig > most:
        return "most negative"
    return {1 << fmt.fraction_bits: "one", 1: "least", most: "largest"}.get(sig, "number")


@lru_cache(maxsize=64)
def classes(fmt: Factor) -> dict[str, tuple[int, ...]]:
    """The classes that a format has codes of, in the order of the codes, with codes of each.

    Every code of a format up to 8 bits, of a wider one those at which something begins or ends.
    """
    by_class: dict[str, list[int]] = {}
    for code in _codes(fmt):
        by_class.setdefault(classify(fmt, code), []).append(code)
    return {name: tuple(codes) for name, codes in by_class.items()}


def _codes(fmt: Factor) -> list[int]:
    if fmt.bits <= EXHAUSTIVE_BITS:
        return list(all_codes(fmt))
    plain = [code >> fmt.padding for code in (*zeros(fmt), *numbers(fmt).values(), *infinities(fmt))]
    if isinstance(fmt, TableFormat):
        opposite = (negate(fmt, code) for code in plain)
        return sorted({*plain, *(code for code in opposite if code is not None), *fmt.nan[:3]})
    if isinstance(fmt, FloatFormat):
        if all(classify(fmt, code << fmt.padding) != "+normal" for code in plain):
            # Whatever the bias is, there are numbers that are none of the others.
            plain += [(1 << fmt.fraction_bits) + 1, fmt.max_magnitude - 1]
        plain += [code | fmt.sign_bit for code in plain]
    elif fmt.signed:
        plain += [-code & ((1 << fmt.bits) - 1) for code in plain] + [fmt.sign_bit]
    return sorted({code << fmt.padding for code in plain} | {code for code in nans(fmt) if not code & _pad(fmt)})


def _pad(fmt: Factor) -> int:
    return (1 << fmt.padding) - 1


class _Table(dict[int, int]):
    """The index of a code's class, found once for each code."""

    def __init__(self, fmt: Factor, order: dict[str, int]):
        self.fmt, self.order = fmt, order

    def __missing__(self, code: int) -> int:
        self[code] = self.order[classify(self.fmt, code)]
        return self[code]


def pairs_of_classes(unit: Unit) -> list[tuple[str, str]]:
    """Every pair of a class of a and one of b, in the order of the parts."""
    return list(cross(classes(unit.operands.a), classes(unit.operands.b)))


def _tables(unit: Unit) -> tuple[_Table, _Table]:
    """Of codes of a and of b, numbers whose sum is that of their pair of classes."""
    of_a, of_b = classes(unit.operands.a), classes(unit.operands.b)
    table_a = _Table(unit.operands.a, {name: len(of_b) * index for index, name in enumerate(of_a)})
    return table_a, _Table(unit.operands.b, {name: index for index, name in enumerate(of_b)})


def declare_pairs(subject: Subject, out: Declared) -> None:
    """Each pair of classes."""
    out.section("pairs")
    bins = [out.bin("G1", f"{x} x {y}") for x, y in pairs_of_classes(subject.unit)]
    table_a, table_b = _tables(subject.unit)

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        for group in sampled.explanation.groups:
            pairs = zip(group.codes_a, group.codes_b, strict=True)
            hits.update([bins[table_a[x] + table_b[y]] for x, y in pairs])


def declare_operands(facts: UnitFacts, out: Declared) -> None:
    """All pairs of classes through each lane; the top binade that an IEEE decoder takes for Inf and NaN.

    A part of the lanes' bins is lane * pairs + pair.
    """
    count = len(pairs_of_classes(facts.unit))
    out.section("pairs by lane")
    for lane in range(facts.lanes):
        out.bin("G1", f"every pair of classes through lane {lane}", parts=count)
    table_a, table_b = _tables(facts.unit)
    out.section("top binade")
    tops = [_top_binade(fmt, out, "ab"[side]) for side, fmt in enumerate(facts.factors)]

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        for top, codes in zip(tops, (sampled.group.codes_a, sampled.group.codes_b), strict=True):
            hits.update([index for code, index in top.items() if code in codes])

    def parts(sampled: SampledGroup) -> list[int]:
        lanes = zip(sampled.group.codes_a, sampled.group.codes_b, strict=True)
        return [lane * count + table_a[x] + table_b[y] for lane, (x, y) in enumerate(lanes)]

    out.parts = parts


def _top_binade(fmt: Factor, out: Declared, side: str) -> dict[int, int]:
    """The finite codes of the top exponent, of a format that has them, and the bin of each."""
    bins = {m: out.bin("G1", f"finite top binade: {m:#x} in {side}") for m in top_binade(fmt)}
    if not isinstance(fmt, FloatFormat):
        return {}
    signs = (0, fmt.sign_bit) if fmt.signed else (0,)
    return {(m | sign) << fmt.padding: index for m, index in bins.items() for sign in signs}


def top_binade(fmt: Factor) -> range:
    """The finite magnitudes of the top exponent, which an IEEE decoder takes for Inf and NaN, of a narrow format."""
    if not isinstance(fmt, FloatFormat) or fmt.nan == "ieee" or fmt.bits > EXHAUSTIVE_BITS:
        return range(0)
    return range(fmt.top_bexp << fmt.fraction_bits, fmt.max_magnitude + 1)


def named(fmt: Factor) -> dict[str, int]:
    """One code of every class, both signs: zeros, numbers, NaN and infinities."""
    named = {f"zero{index}": code for index, code in enumerate(zeros(fmt))}
    for name, code in numbers(fmt).items():
        named[name] = code
        opposite = negate(fmt, code)
        if opposite is not None:
            named[f"neg-{name}"] = opposite
    for index, code in enumerate(infinities(fmt)):
        named["neg-inf" if index else "inf"] = code
    named |= {f"nan{index}": code for index, code in enumerate(nans(fmt)[:1])}
    if not isinstance(fmt, FixedFormat) or not fmt.signed:
        return named
    return {**named, "most-negative": fmt.sign_bit}


def class_pairs(builder: CaseBuilder) -> None:
    """Every class of one factor times every class of the other, in all signs, in lanes that vary."""
    a, b = builder.factors
    for index, ((x, code), (y, code_b)) in enumerate(cross(named(a).items(), named(b).items())):
        builder.add(f"class/{x}-{y}", [builder.filling([(code, code_b)], index % builder.lanes, exact=True)])


def class_rows(builder: CaseBuilder, facts: UnitFacts) -> None:
    """Every pair of classes of numbers through every lane, a pair in each lane of a row."""
    finite = [pair for pair in pairs_of_classes(facts.unit) if not any(pair_of[1:] in SPECIAL for pair_of in pair)]
    for row in range(len(finite)):
        held = [finite[(row + lane) % len(finite)] for lane in range(builder.lanes)]
        builder.add(
            f"G1/numbers{row:03}", [builder.filling([_codes_of(facts, pair, row) for pair in held], 0, exact=True)]
        )


def class_specials(builder: CaseBuilder, facts: UnitFacts) -> None:
    """Every pair of classes with NaN or an infinity through every lane, alone beside numbers, so that it shows."""
    special = [pair for pair in pairs_of_classes(facts.unit) if any(cls[1:] in SPECIAL for cls in pair)]
    plain = builder.ends()[0]
    for index, pair in enumerate(special):
        for lane in range(builder.lanes):
            row = [_codes_of(facts, pair, index + lane), *[(plain.a, plain.b)] * (builder.lanes > 1)]
            builder.add(f"G1/special{index:03}-lane{lane:02}", [builder.filling(row, lane, exact=True)])


def _codes_of(facts: UnitFacts, pair: tuple[str, str], turn: int) -> Pair:
    """Codes of two classes, in turn."""
    a, b = (classes(fmt)[name] for fmt, name in zip(facts.factors, pair, strict=True))
    return a[turn % len(a)], b[turn * 7 % len(b)]


OPERANDS = window_family("operands", declare_operands, (class_pairs,), (class_rows, class_specials), groups=("G1",))


def declare_specials(facts: UnitFacts, out: Declared) -> None:
    """NaN at each lane and in the addend; infinities against zero and each other; signs of zeros."""
    _nan(facts, out)
    _infinity(facts, out)
    _zeros(facts, out)


def no_nan(fmt: Format) -> str | None:
    """The reason why no code of a format is NaN, or None."""
    return None if fmt.has_nan else f"{fmt.name} has no NaN"


def no_infinity(fmt: Format) -> str | None:
    """The reason why no code of a format is infinite, or None."""
    return None if fmt.infinities else f"{fmt.name} has no infinity"


def declare_nan_lanes(unit: Unit, out: Declared, lacking: bool) -> None:
    """NaN in each lane of a and of b. lacking: of formats without NaN too, as unreachable."""
    factors, lanes = (unit.operands.a, unit.operands.b), range(unit.instruction.lanes)
    bins = [
        [out.bin("G10", f"NaN in {'ab'[side]} at lane {lane}", no_nan(fmt)) for lane in lanes if lacking or fmt.has_nan]
        for side, fmt in enumerate(factors)
    ]

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        for group in sampled.explanation.groups:
            for of_side, codes in zip(bins, (group.a, group.b), strict=True):
                hits.update([of_side[lane] for lane, factor in enumerate(codes) if factor.cls is Class.NAN])


def declare_infinite_lanes(unit: Unit, out: Declared, lacking: bool) -> None:
    """Infinities times zero, and in each lane. lacking: of formats without infinities too, as unreachable."""
    none = [no_infinity(fmt) for fmt in (unit.operands.a, unit.operands.b)]
    neither = none[0] if none[1] else None
    times = [out.bin("G10", f"infinite {'ab'[side]} times zero", none[side]) if lacking or not none[side] else -1
             for side in (0, 1)]  # fmt: skip
    lanes = [
        [out.bin("G10", f"{sign} infinite product at lane {lane}", neither) for lane in range(unit.instruction.lanes)]
        for sign in MARKS
        if lacking or not neither
    ]

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        for group in sampled.explanation.groups if lanes else ():
            for lane, (x, y, product) in enumerate(zip(group.a, group.b, group.products, strict=True)):
                if product.cls is Class.INFINITY:
                    hits.add(lanes[product.sign][lane])
                elif x.cls is Class.INFINITY and y.cls is Class.ZERO:
                    hits.add(times[0])
                elif y.cls is Class.INFINITY and x.cls is Class.ZERO:
                    hits.add(times[1])


def _nan(facts: UnitFacts, out: Declared) -> None:
    out.section("nan")
    declare_nan_lanes(facts.unit, out, lacking=True)
    addend = out.bin("G10", "NaN addend, finite products", _no_nan_addend(facts)) if facts.addends else None
    inf = [no_infinity(fmt) for fmt in facts.factors]
    nan = [no_nan(fmt) for fmt in facts.factors]
    none = (inf[0] if inf[0] and inf[1] else None) or (nan[0] if nan[0] and nan[1] else None)
    both = out.bin("G10", "NaN in one lane, infinity in another", none or facts.single)

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if sampled.finite:
            return
        special, term = {term.cls for term in sampled.group.products}, sampled.group.addend
        if (
            term is not None
            and term.cls is Class.NAN
            and addend is not None
            and not special & {Class.NAN, Class.INFINITY}
        ):
            hits.add(addend)
        if {Class.NAN, Class.INFINITY} <= special:
            hits.add(both)


def _infinity(facts: UnitFacts, out: Declared) -> None:
    none = [no_infinity(fmt) for fmt in facts.factors]
    neither = none[0] if none[0] and none[1] else None
    out.section("infinity")
    declare_infinite_lanes(facts.unit, out, lacking=True)
    opposed = out.bin("G10", "infinities of both signs in two lanes", neither or facts.single)
    against, alike, addend = -1, -1, [-1, -1]
    if facts.addends:
        special = [_no_infinite_addend(facts, sign) for sign in (0, 1)]
        both = special[0] and special[1]
        against = out.bin("G10", "infinite product against an infinite addend", neither or both)
        alike = out.bin("G10", "infinite product and an infinite addend of its sign", neither or both)
        addend = [
            out.bin("G10", f"{mark} infinite addend, finite products", special[sign]) for sign, mark in enumerate(MARKS)
        ]

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if sampled.finite:
            return
        products, term = sampled.group.products, sampled.group.addend
        signs = {product.sign for product in products if product.cls is Class.INFINITY}
        if len(signs) == 2:
            hits.add(opposed)
        if term is not None and term.cls is Class.INFINITY:
            if signs and against >= 0:
                hits.update([alike if sign == term.sign else against for sign in signs])
            elif not signs and not any(product.cls is Class.NAN for product in products):
                hits.add(addend[term.sign])


def _no_infinite_addend(facts: UnitFacts, sign: int) -> str | None:
    """The reason why no addend of a group is an infinity of that sign, or None."""
    fmt, rule = facts.builder.addend_format, facts.unit.result
    if fmt is not None and (infinities(fmt) or not facts.goes_on):
        return no_infinity(fmt)
    if facts.range.overflow and _beyond(facts, sign) is Class.INFINITY:
        return None
    infinite = any(infinities(factor) for factor in facts.factors)
    if infinite and rule.overflow != "saturate" and facts.result.infinities:
        return None
    if not facts.range.overflow and not infinite:
        return f"an addend is a partial sum, {facts.names} has no infinity, and sums of finite products never overflow"
    return (
        f"an addend is a partial sum in {facts.result.name}, and none is infinite with result.overflow: {rule.overflow}"
    )


def _beyond(facts: UnitFacts, sign: int) -> Class:
    """The class of a result whose finite sum is too large, by its sign."""
    fmt, rule = facts.result, facts.unit.result
    match rule.overflow:
        case "saturate" | "propagate" | "wrap":
            return Class.NORMAL
        case "infinity":
            return Class.INFINITY
        case "nan":
            return Class.NAN
        case "ieee":
            if rounds_inward(fmt, sign, rule.rounding):
                return Class.NORMAL
            return Class.INFINITY if fmt.infinities else Class.NAN
        case _:
            assert_never(rule.overflow)


def _no_nan_addend(facts: UnitFacts) -> str | None:
    """The reason why no addend of a group is NaN, or None."""
    fmt = facts.builder.addend_format
    if fmt is not None and (no_nan(fmt) is None or not facts.goes_on):
        return no_nan(fmt)
    scales = () if facts.unit.scale is None else facts.builder.scale_formats
    overflows = facts.range.overflow and Class.NAN in (_beyond(facts, 0), _beyond(facts, 1))
    if overflows or any(no_nan(f) is None or infinities(f) for f in facts.factors) or any(f.nan for f in scales):
        return None
    return f"an addend is a partial sum, none overflows to NaN, and no operand of {facts.names} is NaN or infinite"


def _zeros(facts: UnitFacts, out: Declared) -> None:
    """Sums of zeros, by the signs of the products and of the addend; exact zeros of other terms are in G5."""
    fmt = facts.unit.operands.addend if facts.builder.addend_format is None else facts.builder.addend_format
    addends, named = {0: "+0"}, facts.addends
    if facts.builder.addend_format is not None and fmt is not None and len(zeros(fmt)) > 1:
        addends[1] = "-0"
    out.section("zeros alone")
    bins = {
        (kind, c): out.bin("G10", f"zero products, {kind}{f', addend {word}' if named else ''}", _no_zeros(facts, kind))
        for kind in ("all +", "all -", "both signs")
        for c, word in addends.items()
    }

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if not sampled.finite or sampled.top is not None:
            return
        signs = {term.sign for term in sampled.group.products}
        kind = "both signs" if len(signs) > 1 else "all -" if 1 in signs else "all +"
        term = sampled.group.addend
        key = (kind, 0 if term is None else term.sign)
        if key in bins:
            hits.add(bins[key])


def _no_zeros(facts: UnitFacts, kind: str) -> str | None:
    """The reason why zero products never have such signs, or None."""
    if kind == "both signs" and facts.single:
        return facts.single
    a, b = facts.factors
    # A zero times a negative number is -0.
    if kind == "all +" or any(len(zeros(fmt)) > 1 or fmt.twos_complement for fmt in (a, b)):
        return None
    return f"neither {a.name} nor {b.name} has a zero of each sign"


def zeros_alone(builder: CaseBuilder) -> None:
    """All lanes zero, with every sign of zero in a, in b and in the addend."""
    a, b = builder.factors
    fmt = builder.unit.operands.addend
    addends = zeros(fmt) if fmt else [0]
    patterns = {"plus": (0,), "minus": (1,), "mixed": (0, 1)}
    for (x, signs), (y, others), (k, c) in cross(patterns.items(), patterns.items(), enumerate(addends)):
        pairs = [
            (zeros(a)[signs[i % len(signs)] % len(zeros(a))], zeros(b)[others[i // 2 % len(others)] % len(zeros(b))])
            for i in range(builder.lanes)
        ]
        builder.add(f"zero/{x}-{y}-c{k}", [builder.filling(pairs, 0, exact=True)], c)
    if len(zeros(a)) == len(zeros(b)) == 1 and b.twos_complement:
        # Where no zero has a sign, a zero times a negative number is -0.
        numbers = (b.max_code, 1 << b.bits - 1)
        for (x, signs), (k, c) in cross(patterns.items(), enumerate(addends)):
            pairs = [(0, numbers[signs[i % len(signs)]]) for i in range(builder.lanes)]
            builder.add(f"zero/times-{x}-c{k}", [builder.filling(pairs, 0, exact=True)], c)


def nan(builder: CaseBuilder) -> None:
    """Each NaN code, NaN in each lane of a and of b and in the addend; beside and times zeros, numbers, infinities."""
    for side, fmt in enumerate(builder.factors):
        others = list(named(builder.factors[1 - side]).items())
        codes = nans(fmt)
        for lane in range(builder.lanes) if codes else ():
            code, partner = codes[lane % len(codes)], others[lane % len(others)]
            _nan_in(builder, f"nan/{'ab'[side]}-lane{lane:02}", side, code, partner, lane)
        for index, (code, partner) in enumerate(cross(codes, others)):
            _nan_in(builder, f"nan/{'ab'[side]}-{code:x}", side, code, partner, index % builder.lanes)
    addend = builder.unit.operands.addend
    product = builder.palette.of(0, builder.palette.exps[-1])[-1]
    for code in nans(addend) if addend else ():
        builder.add(f"nan/addend-{code:x}", [builder.filling([product])], code)
        builder.add(f"nan/addend-{code:x}-zero", [builder.filling([])], code)


def _nan_in(builder: CaseBuilder, name: str, side: int, code: int, other: tuple[str, int], lane: int) -> None:
    pair = (other[1], code) if side else (code, other[1])
    neighbours = builder.palette.of(lane % 2, builder.palette.exps[-1])
    row = [pair, *[(product.a, product.b) for product in neighbours[-1:]]][: builder.lanes]
    builder.add(f"{name}-{other[0]}", [builder.filling(row, lane, exact=True)])


def infinity(builder: CaseBuilder) -> None:
    """Inf in each lane; with Inf of the other sign in another lane and in the addend; beside NaN; times zero."""
    for side, fmt in enumerate(builder.factors):
        for index, code in enumerate(infinities(fmt)):
            for lane in range(builder.lanes):
                _infinity_in(builder, f"inf/{'ab'[side]}{index}-lane{lane:02}", side, code, lane)
    addend = builder.unit.operands.addend
    plus, minus = (builder.palette.of(sign, builder.palette.exps[-1])[-1] for sign in (0, 1))
    for index, code in enumerate(infinities(addend) if addend else []):
        for name, pairs in (("zero", []), ("product", [plus]), ("against", [minus]), ("both", [plus, minus])):
            if len(pairs) <= builder.lanes:
                builder.add(f"inf/addend{index}-{name}", [builder.filling(pairs)], code)
        for name, special in _specials(builder):
            builder.add(f"inf/addend{index}-{name}", [builder.filling([special])], code)


def _specials(builder: CaseBuilder) -> list[tuple[str, tuple[int, int]]]:
    """Products that are NaN or infinite."""
    a, b = builder.factors
    x, y = (numbers(fmt).get("one", 1) for fmt in builder.factors)
    return [
        *((f"a{code:x}", (code, y)) for code in infinities(a) + nans(a)),
        *((f"b{code:x}", (x, code)) for code in infinities(b) + nans(b)),
        *((f"a{code:x}-times-zero", (code, 0)) for code in infinities(a)),
        *((f"b{code:x}-times-zero", (0, code)) for code in infinities(b)),
    ]


def _infinity_in(builder: CaseBuilder, name: str, side: int, code: int, lane: int) -> None:
    """An infinite product in a lane: alone, against its opposite in the next one, and beside one other special term."""
    factor = list(numbers(builder.factors[1 - side]).values())[lane % 4 - 1]
    pair = (factor, code) if side else (code, factor)
    builder.add(name, [builder.filling([pair], lane, exact=True)])
    opposed = negate(builder.factors[side], code)
    if builder.lanes > 1 and opposed is not None:
        against = (factor, opposed) if side else (opposed, factor)
        builder.add(f"{name}-against-next", [builder.filling([pair, against], lane, exact=True)])
    fmt = builder.unit.operands.addend
    specials: list[tuple[str, list[tuple[int, int]], int]] = [
        *((f"addend{index}", [], c) for index, c in enumerate(infinities(fmt) if fmt else [])),
        *((f"and-{word}", [special], 0) for word, special in _specials(builder) if builder.lanes > 1),
    ]
    for word, pairs, c in specials[lane % len(specials) :][:1] if specials else []:
        builder.add(f"{name}-{word}", [builder.filling([pair, *pairs], lane, exact=True)], c)


def nan_beside_infinity(builder: CaseBuilder, facts: UnitFacts) -> None:
    """NaN in one lane and an infinity in another, of either factor."""
    x, y = (numbers(fmt).get("one", 1) for fmt in builder.factors)
    special = [
        [*((code, y) for code in codes(builder.factors[0])[:1]), *((x, code) for code in codes(builder.factors[1])[:1])]
        for codes in (nans, infinities)
    ]
    for index, pair in enumerate(cross(*special) if builder.lanes > 1 else ()):
        builder.add(f"G10/beside{index}", [builder.filling(pair, exact=True)])


SPECIALS = window_family(
    "operands", declare_specials, (zeros_alone, nan, infinity), (nan_beside_infinity,), groups=("G10",)
)
