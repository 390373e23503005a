"""Bins of units that have more, or other, than one plain window: what goes in, what roundings do and cannot do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product as cross
from typing import NamedTuple, assert_never

from hwsim.cases.bins.declare import MARKS, Declared, Hits, SampledCase, Subject
from hwsim.cases.bins.operands import declare_infinite_lanes, declare_nan_lanes, no_infinity, no_nan
from hwsim.cases.case import Case, block_lengths, dot
from hwsim.cases.palette import zeros
from hwsim.formats import Class, ExponentFormat, FieldFormat, FixedFormat, FloatFormat, Format, TableFormat, unpack
from hwsim.formats.blocks import one_code
from hwsim.model.definition import definition_of
from hwsim.model.late import exact_product, promoted_term
from hwsim.model.record import Explanation, Group
from hwsim.model.rounding import Rounded, flushed_code, infinity_code, round_to, tiny_after
from hwsim.model.terms import Term, addend_term
from hwsim.spec import AlignedSum, EvenOddSum, ExactSum, LateAdd, LateInWindow, RoundedSum, Unit
from hwsim.spec.keys import Factor, Number, Rounding, Tininess

# Of a number below the least normal one, where subnormal results become zero: it is rounded up to the least normal one
# in the places of subnormals alone, or in those that a normal number of its size would have, too.
RAISED = ("reaches the least normal in the places of subnormals", "reaches the least normal in places of its own")
LONGEST = 64  # a sum has fewer groups than two to the power of this


FIRST = "scaled partial sum"  # times the scale that it is multiplied by first


class RoundingPlace(NamedTuple):
    """One rounding in a unit: what bins call it, the format and the way of rounding, and whether terms are added.

    flushes: what makes a result zero by being subnormal; None where nothing does.
    """

    name: str
    format: Number
    rounding: Rounding
    adds: bool = True
    flushes: Tininess | None = None


class Addends(NamedTuple):
    """The terms of a rounded sum.

    quantum: products, and sums of them, are multiples of 2^quantum. top: all of them together are less than 2^top;
    None where a sum may have any length. number: the quantum of a number of any size that is added to them, or None.
    words: what they are. subnormal: whether that number may be a subnormal one.
    """

    quantum: int
    top: int | None
    number: int | None
    words: str
    subnormal: bool = True

    @property
    def least(self) -> int:
        """Every sum is a multiple of a power of two with this exponent."""
        return self.quantum if self.number is None else min(self.quantum, self.number)


def impossible(unit: Unit, place: RoundingPlace, word: str) -> str | None:
    """The reason why no operands make a rounding of a sum do what a word says; None where nothing is known."""
    added = _addends(unit, place)
    if added is None:
        return None
    if word == "vanishes":
        return _vanishes(place, added)
    if word == "is subnormal" and isinstance(place.format, FloatFormat) and added.least >= place.format.emin:
        return f"{added.words} are multiples of 2^{added.least}, and {place.format.name}'s least normal number is less"
    if word == "overflows":
        return _overflows(unit, place, added)
    if word == "is not finite" and isinstance(unit.sum, RoundedSum) and place.name in ("addition", "product"):
        return _special(unit, place, added)
    if word in RAISED:
        return _raised(unit, place, added, word) or _exact(unit, place, added)
    if word.endswith(("larger", "smaller", "is subnormal")):
        return _exact(unit, place, added)
    return None


def negative_zero(unit: Unit, zeros_make_one: bool) -> str | None:
    """The reason why no dot product of a unit is -0, or None. zeros_make_one: whether zeros, all negative, give -0."""
    last = _last(unit)
    if zeros_make_one or last is None or last.rounding == "rd":
        return None
    added = _addends(unit, last)
    if (unit.promotion is not None or isinstance(unit.late, LateAdd)) and _partial_vanishes(unit):
        return None  # into a -0, to which another is added
    if unit.result.tiny == "positive" and unit.late is None and unit.promotion is None:
        return "negative zeros add up to +0, and so does what rounds to zero"
    if added is None or (why := _vanishes(last, added)) is None:
        return None
    return f"negative zeros add up to +0; no other sum rounds to zero, as {why}"


def _partial_vanishes(unit: Unit) -> bool:
    """True if a partial sum that is negative may round to -0, before it is promoted or added to a late addend."""
    if unit.result.tiny == "positive":
        return False
    place = _of_groups(unit)
    added = None if place is None else _addends(unit, place)
    return place is None or added is None or _vanishes(place, added) is None


def _of_groups(unit: Unit) -> RoundingPlace | None:
    """The rounding that makes a group's result; None where two do."""
    result = unit.result
    if not isinstance(unit.sum, RoundedSum):
        return RoundingPlace("result", result.format, result.rounding, False, result.flushes)
    if result.format != unit.sum.format:  # a result may then vanish that no addition makes vanish
        return None
    return RoundingPlace("addition", unit.sum.format, unit.sum.rounding, flushes=unit.sum.flushes)


def _last(unit: Unit) -> RoundingPlace | None:
    """The rounding that makes a dot product's result."""
    result = unit.result
    match unit.late:
        case LateAdd() as late:
            return RoundingPlace("late addition", late.format, late.rounding, flushes=late.flushes)
        case LateInWindow():
            return RoundingPlace("result", result.format, result.rounding, False, result.flushes)
        case None:
            pass
    if unit.promotion is not None:
        return RoundingPlace("promotion", unit.promotion.format, unit.promotion.rounding)
    return _of_groups(unit)


def _addends(unit: Unit, place: RoundingPlace) -> Addends | None:
    """The terms of a rounded sum; None where scales, or other rules, leave no bounds."""
    if place.name == FIRST:
        x, y = (ends_of(fmt) for fmt in _first_factors(unit))
        return Addends(x[0] + y[0], x[1] + y[1], None, "partial sums times a scale")
    products = _products(unit)
    if products is None:
        return None
    quantum, top = products
    sums = f"sums of products of {unit.operands.a.name} and {unit.operands.b.name}"
    groups = unit.restart or (None if unit.instruction.chain else unit.instruction.groups)
    # Where sums have any length a partial sum is a number of any size, to which one group's products are added.
    several = _several(unit, top, groups or 1)
    if several is not None and groups is None and isinstance(unit.sum, ExactSum) and unit.sum.rounded == "end":
        several += LONGEST  # a partial sum is no number of the result's format, but all products before
    if several is not None:
        several = max([several, *map(_top, _saturated(unit, place, groups or 1))])
    addend = None if unit.operands.addend is None else unit.operands.addend.quantum_exp
    inside = _inside(unit, addend, groups)
    match place.name:
        case "product":
            return Addends(quantum, top, None, sums.removeprefix("sums of "))
        case "late addition":
            number, rounded = _with_results(addend, unit), max(quantum, unit.result.format.quantum_exp)
            if is_raised(unit.result.format, quantum):
                rounded = unit.result.format.quantum_exp
            subnormal = place.flushes is None or unit.operands.addend != place.format
            return Addends(rounded, several, number, f"{sums}, rounded, and addends", subnormal)
        case "promotion":
            if unit.scale is not None and unit.scale.at == "promotion":
                return None
            start = place.format.quantum_exp if addend is None else min(addend, place.format.quantum_exp)
            return Addends(quantum, several, start, f"{sums} and registers", place.format.subnormals)
        case "addition":
            assert isinstance(unit.sum, RoundedSum)
            if unit.sum.product == "rounded" and not unit.sum.flush and unit.sum.format.subnormals:
                quantum = max(quantum, unit.sum.format.quantum_exp)
            subnormal = unit.sum.format.subnormals and not (unit.sum.flush and unit.flushes_addends)
            return Addends(quantum, several, inside, sums, subnormal)
        case "result" if isinstance(unit.late, LateInWindow):
            return Addends(quantum, several, _in_window(unit, _with_results(addend, unit)), f"{sums} and addends")
        case _:
            return Addends(quantum, several, inside, sums)


def _first_factors(unit: Unit) -> list[FieldFormat]:
    """The formats of the factors that a promotion with scales multiplies first; none of other units."""
    scaling = unit.scaled_promotion
    return [] if scaling is None else [fmt for _, fmt in scaling.first]


def _products(unit: Unit) -> tuple[int, int] | None:
    """Exponents of powers of two: every product is a multiple of the one and less than the other, or no more."""
    scales = [] if unit.scale is None or unit.scale.at == "promotion" else [unit.scale.a.format, unit.scale.b.format]
    rule = unit.sum
    window = rule.fraction_bits if isinstance(rule, AlignedSum | EvenOddSum) else 0
    cut = rule.cut if isinstance(rule, AlignedSum) else None
    # Of a sum that loses nothing, ones' complement takes a unit of the places that are left.
    if window < 0 or (cut is not None and cut.lost == "ones-complement"):
        return None
    ends = [ends_of(fmt) for fmt in (unit.operands.a, unit.operands.b, *scales)]
    quantum, top = sum(least for least, _ in ends), sum(most for _, most in ends)
    if (places := _complemented(unit)) is not None:
        emin = sum(fmt.emin for fmt in (unit.operands.a, unit.operands.b)) + sum(least for least, _ in ends[2:])
        quantum = min(quantum, emin - places)
    if isinstance(rule, AlignedSum) and rule.max_exp_floor is not None:
        top = max(top, rule.max_exp_floor - window)
    if cut is not None:
        top += max(0, cut.bits - window)  # what is rounded up may be a unit of the places that are left
    return quantum, top


def _complemented(unit: Unit) -> int | None:
    """Fraction bits of a window in which a negative term, exact or not, is a unit more; None where there is none."""
    rule, held = unit.sum, list[tuple[int, str]]()
    if isinstance(rule, AlignedSum | EvenOddSum):
        held.append((rule.fraction_bits, rule.lost))
    if isinstance(rule, EvenOddSum):
        held.append((rule.combine.fraction_bits, rule.combine.lost))
    if isinstance(unit.late, LateInWindow):
        held.append((max(unit.late.sum_bits, unit.late.addend_bits), unit.late.lost))
    return max((places for places, lost in held if lost == "ones-complement"), default=None)


def _several(unit: Unit, top: int, groups: int) -> int | None:
    """The exponent of a power of two that no sum of so many groups reaches; None where it is not bounded."""
    rule, lanes = unit.sum, unit.instruction.lanes
    fmt, roundings = (rule.format, groups * lanes) if isinstance(rule, RoundedSum) else (unit.result.format, groups)
    # So few roundings together make a sum less than twice as large.
    if isinstance(fmt, FloatFormat) and roundings > 1 << max(0, fmt.fraction_bits - 1):
        return None
    # Twice for those, and twice for what windows round up.
    return top + (groups * lanes).bit_length() + 2


def _saturated(unit: Unit, place: RoundingPlace, groups: int) -> list[Number]:
    """The formats whose largest number takes an infinite product's place before a rounding."""
    if not (unit.operands.a.infinities or unit.operands.b.infinities):
        return []
    rules = [unit.sum] if isinstance(unit.sum, RoundedSum) else []
    results = [unit.result] if groups > 1 or place.name in ("late addition", "promotion") else []
    return [
        rule.format
        for rule in (*rules, *results)
        if isinstance(rule.format, FloatFormat) and infinity_code(rule.format, 0, rule.overflow) == rule.format.max_code
    ]


def ends_of(fmt: Format) -> tuple[int, int]:
    """Exponents of powers of two: every number is a multiple of the one, and none exceeds the other."""
    if isinstance(fmt, ExponentFormat):
        return fmt.min_code - fmt.bias, fmt.max_code - fmt.bias
    return fmt.quantum_exp, _top(fmt)


def _top(fmt: Factor) -> int:
    """The exponent of a power of two that no number of a format exceeds."""
    return fmt.integer_bits if isinstance(fmt, FixedFormat) else fmt.emax + 1


def _inside(unit: Unit, addend: int | None, groups: int | None) -> int | None:
    """The quantum of a number of any size that is added to a group's products; None where there is none."""
    aligned = addend if addend is not None and unit.sum.addend == "aligned" and unit.promotion is None else None
    # Other partial sums are sums of products, rounded.
    return _in_window(unit, _with_results(aligned, unit) if groups is None else aligned)


def _in_window(unit: Unit, number: int | None) -> int | None:
    """The quantum of what a window makes of an addend, or a result, that is a multiple of 2^number."""
    if number is None or (places := _complemented(unit)) is None:
        return number
    formats = [unit.output] if unit.operands.addend is None else [unit.output, unit.operands.addend]
    return min(number, *(fmt.emin - places for fmt in formats))


def _with_results(quantum: int | None, unit: Unit) -> int | None:
    """The quantum of an addend, or of a result that is the next one's addend."""
    if not unit.instruction.chain:
        return quantum
    # A result is a multiple of what its addends are multiples of, or of its own format's least number.
    return unit.output.quantum_exp if quantum is None else min(quantum, unit.output.quantum_exp)


def is_raised(fmt: Number, least: int) -> bool:
    """True if 2^least, or less, may be rounded to a format's least number, which has a bit in its last place."""
    return isinstance(fmt, FloatFormat) and not fmt.subnormals and fmt.underflow == "nearby" and least <= fmt.emin


def _vanishes(place: RoundingPlace, added: Addends) -> str | None:
    fmt = place.format
    if isinstance(fmt, FloatFormat) and (place.flushes is not None or not fmt.subnormals):
        # Without subnormals 2^emin itself may be none of the format's numbers.
        least, apart = fmt.emin + (not fmt.subnormals), added.quantum - 1 - fmt.fraction_bits
        if added.number is None and added.quantum >= least:
            return f"{added.words} are multiples of 2^{added.quantum}, a normal number of {fmt.name}"
        if added.number is not None and not added.subnormal and apart >= least:
            # A number so near to a multiple of 2^quantum has its last place at 2^apart or above.
            return f"a number of {fmt.name} next to a multiple of 2^{added.quantum} differs by 2^{apart} or more"
        return None
    if added.least < fmt.quantum_exp:
        return None
    return f"{added.words} are multiples of {fmt.name}'s least number"


def _raised(unit: Unit, place: RoundingPlace, added: Addends, word: str) -> str | None:
    """The reason why a number below the least normal one is not rounded up to it: no bits are below a last place."""
    fmt, quantum, number = place.format, added.quantum, added.number
    if not isinstance(fmt, FloatFormat):
        return None
    # What is rounded before it is added is a number of the format; no place of a normal number is below its last one.
    rounded = isinstance(unit.sum, RoundedSum) and place.name == "addition"
    if number is not None and (rounded or not added.subnormal):
        number = max(number, fmt.quantum_exp)
    if rounded and isinstance(unit.sum, RoundedSum) and unit.sum.product == "rounded":
        quantum = max(quantum, fmt.quantum_exp)
    least = quantum if number is None else min(quantum, number)
    last = fmt.quantum_exp - RAISED.index(word)
    return f"{added.words} are multiples of 2^{least}, and not less" if least >= last else None


def _overflows(unit: Unit, place: RoundingPlace, added: Addends) -> str | None:
    fmt = place.format
    if isinstance(fmt, FixedFormat) or added.top is None or place.rounding in ("ru", "rd", "rto"):
        return None
    addend, limit, products = unit.operands.addend, unit.sum.product_limit, _products(unit)
    enters = addend is not None and (added.number is not None or place.name != "result")
    if enters and addend is not None and (_top(addend) > _top(fmt) or _rounds_above(addend, fmt)):
        return None
    if limit is not None and (products is None or limit <= products[1]):  # which makes products infinite
        return None
    if added.number is not None and place.name == "result" and _rounds_up(unit, fmt.fraction_bits + 2):
        return None
    # Beside a number of the format they, and what a window rounds up, are less than half of its last place.
    if added.top <= (fmt.emax - fmt.fraction_bits - 2 if added.number is not None else fmt.emax):
        return f"{added.words} are less than 2^{added.top}, too little to take {fmt.name}'s largest number further"
    return None


def _rounds_above(addend: Number, fmt: FloatFormat) -> bool:
    """True if an addend may be above a format's largest number, in the same binade."""
    if isinstance(addend, FixedFormat) or _top(addend) < _top(fmt):
        return False
    places = max(addend.fraction_bits, fmt.fraction_bits)
    most, largest = (
        (each.max_magnitude & ~(-1 << each.fraction_bits)) << places - each.fraction_bits for each in (addend, fmt)
    )
    return most > largest


def _rounds_up(unit: Unit, bits: int) -> bool:
    """True if a window that holds a large number may round a small one up to more than its place of that number."""
    rule, late = unit.sum, unit.late
    held = list[int]()
    if isinstance(late, LateInWindow):
        if late.lost != "truncate":
            held += [late.sum_bits, *([] if late.total_bits is None else [late.total_bits])]
    elif isinstance(rule, AlignedSum | EvenOddSum):
        held += [rule.fraction_bits] * (rule.lost != "truncate")
        held += [rule.combine.fraction_bits] if isinstance(rule, EvenOddSum) else []
        if isinstance(rule, AlignedSum) and rule.cut is not None and rule.cut.lost != "truncate":
            held.append(rule.fraction_bits - rule.cut.bits)
    return any(places < bits for places in held)


def _special(unit: Unit, place: RoundingPlace, added: Addends) -> str | None:
    inputs = (unit.operands.a, unit.operands.b)
    if unit.promotion is None and unit.late is None and unit.operands.addend is not None:
        return None
    if any(fmt.infinities or fmt.has_nan for fmt in inputs) or unit.scale is not None:
        return None
    if _overflows(unit, place, added) is None:
        return None
    return f"{added.words} are finite, and none overflows"


def _exact(unit: Unit, place: RoundingPlace, added: Addends) -> str | None:
    """The reason why a rounding never rounds: all of its bits fit, wherever they stand."""
    fmt, operands = place.format, unit.operands
    if isinstance(fmt, FixedFormat):
        least = fmt.quantum_exp
        return f"{added.words} are multiples of 2^{least}, as all of {fmt.name} are" if added.least >= least else None
    if place.name == FIRST:
        bits = [factor.sig_bits for factor in _first_factors(unit)]
        fits = sum(bits) - (1 in bits) <= fmt.precision and added.quantum >= fmt.quantum_exp
        return f"{added.words} have no more bits than {fmt.name}" if fits else None
    if place.name != "product" or unit.scale is not None or operands.a.sig_bits + operands.b.sig_bits > fmt.precision:
        return None
    # What is too small becomes zero, and what is too large infinite: neither is rounded.
    low = (added.quantum >= fmt.emin or place.flushes is not None) and not is_raised(fmt, added.quantum)
    high = added.top is not None and (added.top <= fmt.emax or fmt.infinities)
    return f"{added.words} have no more bits than {fmt.name}" if low and high else None


def no_negative_zero(unit: Unit) -> str | None:
    """The reason why no dot product of a unit is -0, or None where one is, or may be."""
    return negative_zero(unit, zeros_make_one=any(_is_negative_zero(unit, case) for case in _zeros_alone(unit)))


def _zeros_alone(unit: Unit) -> list[Case]:
    """Zeros in all lanes, by every kind of zero times every kind of number, beside every kind of negative addend.

    Among these are a zero and the ends of the subnormal numbers, which a unit may take for zeros.
    """
    k, addend = unit.instruction.fill, unit.operands.addend
    scales: list[tuple[int, ...]] = [(), ()]
    if unit.scale is not None:
        sides = zip((unit.scale.a, unit.scale.b), block_lengths(unit), strict=True)
        scales = [(one_code(side.format),) * -(-k // length) for side, length in sides]
    addends = [0] if addend is None else [zeros(addend)[-1], *_subnormal(addend)]
    triples = cross(_zeros_and_ends(unit.operands.a), _zeros_and_ends(unit.operands.b), addends)
    return [Case("zeros", (a,) * k, (b,) * k, c, scales[0], scales[1]) for a, b, c in triples]


def _subnormal(fmt: Number) -> list[int]:
    """The least and the largest of a format's negative subnormal numbers; none where it has none."""
    if not isinstance(fmt, FloatFormat) or not (fmt.subnormals and fmt.signed):
        return []
    sign = 1 << fmt.container_bits - 1
    return [sign | magnitude << fmt.padding for magnitude in (1, (1 << fmt.fraction_bits) - 1)]


def _zeros_and_ends(fmt: Factor) -> list[int]:
    """Zeros, the largest number and, where there is one, the largest negative one."""
    if isinstance(fmt, TableFormat):
        minus = fmt.numbers.index(min(x for x in fmt.numbers if math.isfinite(x)))
    elif isinstance(fmt, FloatFormat):
        minus = fmt.max_code | 1 << fmt.container_bits - 1 if fmt.signed else fmt.max_code
    else:
        minus = 1 << fmt.bits - 1
    return [*zeros(fmt), fmt.max_code, minus]


def _is_negative_zero(unit: Unit, case: Case) -> bool:
    explained = dot(definition_of(unit), case)
    if not all(term.cls is Class.ZERO for term in explained.groups[0].products):
        return False
    sign, _, _, cls = unpack(unit.output, explained.code)
    return cls is Class.ZERO and bool(sign)


SPECIAL = (Class.NAN, Class.INFINITY)
# Of the sum of several terms, and of the rounding of one.
TOGETHER = ("cancels to 0", "leaves one term as it was", "is of zeros alone")
EVERY = (
    "is exact", "rounds to the larger", "rounds to the smaller", "ties, to the larger", "ties, to the smaller",
    "is subnormal", "vanishes", "overflows", "is not finite",
)  # fmt: skip


def roundings(unit: Unit) -> dict[str, RoundingPlace]:
    """The roundings of a unit, by name."""
    places, result = [], unit.result
    match unit.sum:
        case RoundedSum() as rule:
            places.append(RoundingPlace("addition", rule.format, rule.rounding, flushes=rule.flushes))
            if rule.product == "rounded":
                places.append(RoundingPlace("product", rule.format, rule.rounding, False, rule.flushes))
        case AlignedSum() | EvenOddSum() | ExactSum():
            if not isinstance(unit.late, LateInWindow):
                places.append(RoundingPlace("result", result.format, result.rounding, False, result.flushes))
        case _:
            assert_never(unit.sum)
    match unit.late:
        case LateAdd() as late:
            places.append(RoundingPlace("late addition", late.format, late.rounding, flushes=late.flushes))
        case LateInWindow():
            places.append(RoundingPlace("result", result.format, result.rounding, False, result.flushes))
        case None:
            pass
        case _:
            assert_never(unit.late)
    if unit.promotion is not None:
        if unit.promotion.first != "scales":
            places.append(RoundingPlace(FIRST, unit.promotion.format, unit.promotion.rounding, False))
        places.append(RoundingPlace("promotion", unit.promotion.format, unit.promotion.rounding))
    return {place.name: place for place in places}


def never(place: RoundingPlace, word: str) -> str | None:
    """The reason why a rounding never does what a word says, or None."""
    if word.endswith("to the larger") and place.rounding == "rz":
        return "rounding towards zero makes nothing larger"
    if word == "ties, to the smaller" and place.rounding == "rna":
        return "ties go away from zero"
    if isinstance(place.format, FixedFormat):
        if word in ("is subnormal", "is not finite"):
            return f"{place.format.name} has no such numbers"
        return None
    if word in RAISED and place.rounding in ("rz", "rto"):
        return f"{place.rounding} takes no number to a power of two above it"
    if word == "is subnormal" and (place.flushes or not place.format.subnormals):
        return "subnormal results become zero" if place.flushes else f"{place.format.name} has no subnormals"
    return None


def outcome(place: RoundingPlace, terms: Sequence[Term], code: int, overflow: bool | None = None) -> list[str]:
    """A rounding's outcomes, in the words of its bins. terms: added exactly. code: the rounded sum."""
    after = addend_term(place.format, code)
    if any(term.cls in SPECIAL for term in terms):
        return ["is not finite"]
    low = min(term.exp - term.fraction_bits for term in (*terms, after))
    sizes = [in_units(term, low) for term in terms]
    total = sum(sizes)
    if total == 0:
        return (["cancels to 0"] if any(sizes) else ["is of zeros alone"]) if place.adds else []
    outcomes, got = [], in_units(after, low)
    if isinstance(place.format, FloatFormat):
        number = place.format, int(total < 0), abs(total), low, place.rounding
        whole = round_to(*number, "saturate")
        overflow = whole.overflow if overflow is None else overflow
        if place.flushes is not None and _raises(place.format, whole):
            outcomes.append(RAISED[0 if tiny_after(*number) else 1])
    if overflow:
        return ["overflows"]
    if place.adds and all(sizes) and len(sizes) > 1 and got in sizes:
        outcomes.append("leaves one term as it was")
    if not got:
        return [*outcomes, "vanishes"]
    if (
        isinstance(place.format, FloatFormat)
        and place.format.subnormals
        and not after.sig >> place.format.fraction_bits
    ):
        outcomes.append("is subnormal")
    if got == total:
        return [*outcomes, "is exact"]
    way = "larger" if abs(got) > abs(total) else "smaller"
    # Between a power of two and what is below it, places are half as long.
    ulp = 1 << max(after.exp - after.fraction_bits - low, 0)
    if way == "larger" and after.exp > place.format.emin and after.sig == 1 << after.fraction_bits:
        ulp >>= 1
    if 2 * abs(got - total) == ulp:
        return [*outcomes, f"ties, to the {way}"]
    return [*outcomes, f"rounds to the {way}"]


def _raises(fmt: FloatFormat, rounded: Rounded) -> bool:
    """True if a rounding took a number below the least normal one to that."""
    return rounded.tiny and rounded.code >> fmt.padding & fmt.sign_bit - 1 == 1 << fmt.fraction_bits


def in_units(term: Term, unit_exp: int) -> int:
    """A term in units of 2^unit_exp, with its sign; bits below that are dropped."""
    shift = term.exp - term.fraction_bits - unit_exp
    size = term.sig << shift if shift >= 0 else term.sig >> -shift
    return -size if term.sign else size


def declare_lanes(subject: Subject, out: Declared) -> None:
    """Each lane alone."""
    out.section("lanes alone")
    lanes = [out.bin("G1", f"only lane {lane} has a product other than zero") for lane in range(subject.rows.lanes)]

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        for group in sampled.explanation.groups:
            holding = [lane for lane, term in enumerate(group.products) if term.cls is not Class.ZERO]
            if len(holding) == 1:
                hits.add(lanes[holding[0]])


def declare_outcomes(subject: Subject, out: Declared) -> None:
    """What each rounding does."""
    unit, every = subject.unit, roundings(subject.unit)
    bins = {
        (place.name, word): out.bin("G7", f"{place.name} {word}", never(place, word) or impossible(unit, place, word))
        for place in every.values()
        for word in _words(place)
    }

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        for name, terms, code, overflow in rounded(sampled.explanation):
            for word in outcome(every[name], terms, code, overflow):
                hits.add(bins[name, word])


def _words(place: RoundingPlace) -> Iterator[str]:
    """The words of the bins of a rounding."""
    yield from EVERY
    if place.adds:
        yield from TOGETHER
    if place.flushes is not None and place.format.subnormals:
        yield from RAISED


def rounded(explanation: Explanation) -> Iterator[tuple[str, Sequence[Term], int, bool | None]]:
    """Every rounding of a dot product: its name, the terms that were added exactly, the code, and whether it overflows.

    None: as the code says.
    """
    unit = explanation.unit
    for index, group in enumerate(explanation.groups):
        yield from _of_group(unit, group)
        if (added := explanation.additions.get(index)) is not None:
            if isinstance(unit.late, LateInWindow):
                if added.window is not None and added.window.unit_exp is not None:
                    yield "result", [_total(added.window.total, added.window.unit_exp)], added.code, None
                elif added.window is None:
                    yield "result", [_special_term(unit.result.format, added.code)], added.code, None
            elif unit.late is not None:
                addend, fmt = added.addend, added.addend_format
                if unit.late.flush and isinstance(fmt, FloatFormat):
                    addend = flushed_code(fmt, addend)
                terms = addend_term(fmt, addend), addend_term(unit.result.format, added.partial)
                yield "late addition", terms, added.code, None
        if (promoted := explanation.promotions.get(index)) is not None and unit.promotion is not None:
            register, fmt, scaling = promoted.register, unit.promotion.format, unit.scaled_promotion
            if scaling is not None and promoted.first is not None and promoted.scaled is not None:
                (_, of_sum), (_, of_scale) = scaling.first
                yield FIRST, [exact_product(of_sum, of_scale, promoted.partial, promoted.first)], promoted.scaled, None
            yield "promotion", (addend_term(fmt, register), promoted_term(unit, promoted)), promoted.code, None


def _of_group(unit: Unit, group: Group) -> Iterator[tuple[str, Sequence[Term], int, bool | None]]:
    """The roundings of one group's sum."""
    if isinstance(unit.sum, RoundedSum):
        for step in group.steps:
            if len(step.terms) > 1:
                yield "addition", step.terms, step.code, None
            elif unit.sum.product == "rounded" and not step.name.endswith("addend"):
                yield "product", step.terms, step.code, None
    elif isinstance(unit.late, LateInWindow):
        return
    elif group.special is not None:
        yield "result", [group.special], group.code, None
    elif group.unit_exp is not None:
        yield "result", [_total(group.total, group.unit_exp)], group.code, group.rounded.overflow


def _total(total: int, unit_exp: int) -> Term:
    return Term(int(total < 0), unit_exp, abs(total), 0, Class.NORMAL if total else Class.ZERO)


def _special_term(fmt: Format, code: int) -> Term:
    """A term that is special, as its result is; infinite where the result is a number."""
    cls = unpack(fmt, code).cls
    return Term(0, 0, 0, 0, cls if cls in SPECIAL else Class.INFINITY)


def declare_results(subject: Subject, out: Declared) -> None:
    """Classes of results."""
    unit, fmt = subject.unit, subject.unit.output
    words = {
        (Class.ZERO, 0): "+0", (Class.ZERO, 1): "-0", (Class.NORMAL, 0): "positive", (Class.NORMAL, 1): "negative",
        (Class.INFINITY, 0): "+infinity", (Class.INFINITY, 1): "-infinity", (Class.NAN, 0): "NaN",
    }  # fmt: skip
    minus = no_negative_zero(unit) if fmt.signed_zero else None
    bins = {
        key: out.bin(
            "G9", f"the result is {word}", _no_result(fmt, *key) or (minus if key == (Class.ZERO, 1) else None)
        )
        for key, word in words.items()
    }
    ends = {}
    if isinstance(fmt, FixedFormat) and unit.operands.addend == fmt:
        half = 1 << fmt.bits - 1
        ends = {
            code: out.bin("G9", f"the result is the {word} number")
            for code, word in ((half, "least"), (half - 1, "largest"))
        }

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        if (end := ends.get(sampled.explanation.code)) is not None:
            hits.add(end)
        sign, _, _, cls = unpack(fmt, sampled.explanation.code)
        cls = Class.NORMAL if cls is Class.SUBNORMAL else cls
        hits.add(bins[cls, 0 if cls is Class.NAN else sign])


def _no_result(fmt: Number, cls: Class, sign: int) -> str | None:
    if cls is Class.ZERO and sign and not fmt.signed_zero:
        return f"{fmt.name} has one zero"
    return no_infinity(fmt) if cls is Class.INFINITY else no_nan(fmt) if cls is Class.NAN else None


def declare_specials(subject: Subject, out: Declared) -> None:
    """NaN and infinities in each lane and in the addend; zeros by their signs."""
    unit, fmt = subject.unit, subject.unit.operands.addend
    declare_nan_lanes(unit, out, lacking=False)
    declare_infinite_lanes(unit, out, lacking=False)
    if fmt is None:
        return
    words = {(Class.NAN, 0): "NaN", (Class.INFINITY, 0): "+infinite", (Class.INFINITY, 1): "-infinite"}
    addends = {
        key: out.bin("G10", f"{word} addend, finite products")
        for key, word in words.items()
        if (fmt.has_nan if key[0] is Class.NAN else fmt.infinities)
    }
    both = (unit.operands.a.infinities or unit.operands.b.infinities) and fmt.infinities
    against = out.bin("G10", "infinite product against an infinite addend") if both else -1
    zero = [out.bin("G10", f"zeros alone, the first product's {mark}0, the addend's {second}0")
            for mark in MARKS for second in MARKS if fmt.signed_zero]  # fmt: skip

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        groups, addend = sampled.explanation.groups, addend_term(fmt, sampled.explanation.c)
        kinds = {(term.cls, term.sign) for group in groups for term in group.products}
        every = {cls for cls, _ in kinds}
        if addend.cls in SPECIAL and every.isdisjoint(SPECIAL):
            hits.add(addends[addend.cls, addend.sign if addend.cls is Class.INFINITY else 0])
        if addend.cls is Class.INFINITY and (Class.INFINITY, 1 - addend.sign) in kinds and against >= 0:
            hits.add(against)
        if zero and addend.cls is Class.ZERO and every == {Class.ZERO}:
            hits.add(zero[2 * groups[0].products[0].sign + addend.sign])


def declare_cut(subject: Subject, out: Declared) -> None:
    """The bits that a window's sum loses before it is rounded, by its sign."""
    rule = subject.unit.sum
    assert isinstance(rule, AlignedSum) and rule.cut is not None
    bins = [out.bin("G4", f"a {word} sum loses ones in its lowest places") for word in ("positive", "negative")]
    below = (1 << rule.cut.bits) - 1

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        for group in sampled.explanation.groups:
            if group.uncut is not None and abs(group.uncut) & below:
                hits.add(bins[group.uncut < 0])


def declare_late_window(subject: Subject, out: Declared) -> None:
    """What a late addend's window drops and cuts."""
    late = subject.unit.late
    assert isinstance(late, LateInWindow)
    dropped = out.bin("G4", "the late addend is dropped") if late.drop_below is not None else -1
    cut = out.bin("G4", "sum and addend together are cut") if late.total_bits is not None else -1

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        for added in sampled.explanation.additions.values():
            if added.window is not None:
                hits.update([dropped] * added.window.dropped + [cut] * (cut >= 0 and added.window.cut > 0))


def declare_halves(_subject: Subject, out: Declared) -> None:
    """The higher of two windows."""
    words = ("even lanes stand higher", "odd lanes stand higher", "even and odd lanes stand alike")
    bins = [out.bin("G3", word) for word in words]

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        for group in sampled.explanation.groups:
            if group.halves is not None:
                even, odd = group.halves.even.max_exp, group.halves.odd.max_exp
                if even is not None and odd is not None:
                    hits.add(bins[0 if even > odd else 1 if odd > even else 2])
