"""G1: classes of operands, pair by pair and lane by lane."""

from __future__ import annotations

from functools import lru_cache
from itertools import product as cross

from hwsim.cases.bench import Bench
from hwsim.cases.bins.declare import Declared, Family, Hits
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.sampled import SampledGroup
from hwsim.cases.landmarks import infinities, nans, negate, numbers, zeros
from hwsim.cases.palette import EXHAUSTIVE_BITS
from hwsim.cases.solver import Pair
from hwsim.formats import Class, FixedFormat, FloatFormat, unpack
from hwsim.formats.codes import all_codes
from hwsim.spec.keys import Number

SPECIAL = ("NaN", "Inf")


def classify(fmt: Number, code: int) -> str:
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
    magnitude = code >> fmt.padding & (fmt.sign_bit - 1)
    if cls is Class.SUBNORMAL:
        ends = {1: "least subnormal", (1 << fmt.fraction_bits) - 1: "largest subnormal"}
        return word + (ends.get(magnitude, "subnormal") if magnitude != 1 else ends[1])
    first = 1 << fmt.fraction_bits if fmt.subnormals else 1
    ends = {fmt.bias << fmt.fraction_bits: "one", first: "least normal", fmt.max_magnitude: "largest normal"}
    return word + ends.get(magnitude, "normal")


def _fixed(fmt: FixedFormat, sign: int, sig: int) -> str:
    most = (1 << fmt.bits - 1) - 1
    if sig == 0:
        return "zero"
    if sign and sig > most:
        return "most negative"
    return {1 << fmt.fraction_bits: "one", 1: "least", most: "largest"}.get(sig, "number")


@lru_cache(maxsize=64)
def classes(fmt: Number) -> dict[str, tuple[int, ...]]:
    """The classes that a format has codes of, in the order of the codes, with codes of each.

    Every code of a format up to 8 bits, of a wider one those at which something begins or ends.
    """
    found: dict[str, list[int]] = {}
    for code in _codes(fmt):
        found.setdefault(classify(fmt, code), []).append(code)
    return {name: tuple(codes) for name, codes in found.items()}


def _codes(fmt: Number) -> list[int]:
    if fmt.bits <= EXHAUSTIVE_BITS:
        return list(all_codes(fmt))
    plain = [code >> fmt.padding for code in (*zeros(fmt), *numbers(fmt).values(), *infinities(fmt))]
    if isinstance(fmt, FloatFormat):
        if all(classify(fmt, code << fmt.padding) != "+normal" for code in plain):
            # Whatever the bias is, there are numbers that are none of the others.
            plain += [(1 << fmt.fraction_bits) + 1, fmt.max_magnitude - 1]
        plain += [code | fmt.sign_bit for code in plain]
    else:
        plain += [-code & ((1 << fmt.bits) - 1) for code in plain] + [1 << fmt.bits - 1]
    return sorted({code << fmt.padding for code in plain} | {code for code in nans(fmt) if not code & _pad(fmt)})


def _pad(fmt: Number) -> int:
    return (1 << fmt.padding) - 1


class _Table(dict[int, int]):
    """The index of a code's class, found once for each code."""

    def __init__(self, fmt: Number, order: dict[str, int]):
        self.fmt, self.order = fmt, order

    def __missing__(self, code: int) -> int:
        self[code] = self.order[classify(self.fmt, code)]
        return self[code]


def pairs_of_classes(facts: UnitFacts) -> list[tuple[str, str]]:
    """Every pair of a class of a and one of b, in the order of the parts."""
    a, b = facts.factors
    return [(x, y) for x in classes(a) for y in classes(b)]


def declare_operands(facts: UnitFacts, out: Declared) -> None:
    """Each pair of classes; all of them through each lane; the top binade that an IEEE decoder takes for Inf and NaN.

    A part of the lanes' bins is lane * pairs + pair.
    """
    a, b = facts.factors
    every = pairs_of_classes(facts)
    count, width = len(every), len(classes(b))
    at = [out.bin("G1", f"{x} x {y}") for x, y in every]
    for lane in range(facts.lanes):
        out.bin("G1", f"every pair of classes through lane {lane}", parts=count)
    table_a = _Table(a, {name: width * index for index, name in enumerate(classes(a))})
    table_b = _Table(b, {name: index for index, name in enumerate(classes(b))})
    tops = [(side, _top_binade(fmt, out, "ab"[side])) for side, fmt in enumerate((a, b))]

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        hits.update([at[table_a[x] + table_b[y]] for x, y in zip(sampled.a, sampled.b, strict=True)])
        for side, top in tops:
            for code, index in top.items():
                if code in (sampled.b if side else sampled.a):
                    hits.add(index)

    def parts(sampled: SampledGroup) -> list[int]:
        lanes = zip(sampled.a, sampled.b, strict=True)
        return [lane * count + table_a[x] + table_b[y] for lane, (x, y) in enumerate(lanes)]

    out.parts = parts


def _top_binade(fmt: Number, out: Declared, side: str) -> dict[int, int]:
    """The finite codes of the top exponent, of a format that has them, and the bin of each."""
    if not isinstance(fmt, FloatFormat) or fmt.nan == "ieee" or fmt.bits > EXHAUSTIVE_BITS:
        return {}
    top = fmt.top_bexp << fmt.fraction_bits
    magnitudes = range(top, fmt.max_magnitude + 1)
    bins = {m: out.bin("G1", f"finite top binade: {m:#x} in {side}") for m in magnitudes}
    signs = (0, fmt.sign_bit) if fmt.signed else (0,)
    return {(m | sign) << fmt.padding: index for m, index in bins.items() for sign in signs}


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
        bench.add(f"G1/numbers{row:03}", [bench.filling([_codes_of(facts, pair, row) for pair in held], 0, exact=True)])


def class_specials(bench: Bench, facts: UnitFacts) -> None:
    """Every pair of classes with NaN or an infinity through every lane, alone beside numbers, so that it shows."""
    special = [pair for pair in pairs_of_classes(facts) if any(one[1:] in SPECIAL for one in pair)]
    plain = bench.ends()[0]
    for index, pair in enumerate(special):
        for lane in range(bench.lanes):
            row = [_codes_of(facts, pair, index + lane), *[(plain.a, plain.b)] * (bench.lanes > 1)]
            bench.add(f"G1/special{index:03}-lane{lane:02}", [bench.filling(row, lane, exact=True)])


def _codes_of(facts: UnitFacts, pair: tuple[str, str], turn: int) -> Pair:
    """Codes of two classes, in turn."""
    a, b = (classes(fmt)[name] for fmt, name in zip(facts.factors, pair, strict=True))
    return a[turn % len(a)], b[turn * 7 % len(b)]


OPERANDS = Family(
    "operands",
    groups={"G1": "operands"},
    declare=declare_operands,
    directed=(class_pairs,),
    rest=(class_rows, class_specials),
)
