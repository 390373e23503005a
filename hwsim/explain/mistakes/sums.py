"""Mistakes of sums: alignment, addition, rounding, and the ends of the range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal, NamedTuple

from hwsim.cases.case import Case
from hwsim.explain.mistakes.flawed import Flaw, Mistake, Shows, ShowsWhere
from hwsim.formats import Class, FixedFormat, FloatFormat
from hwsim.model.hooks import LastPlace, LastPlaceRule, TermCut, UnpackedResult
from hwsim.model.rounding import overflow_code
from hwsim.model.terms import Term
from hwsim.spec import AlignedSum, ExactSum, LateAdd, RoundedSum, Unit
from hwsim.spec.keys import ROUNDINGS, Lost, Number, Overflow, Rounding, Tininess
from hwsim.spec.parts import First, ScaledPromotion

# To nearest first, then those that no specification says.
RULE_WORDS: dict[LastPlaceRule, tuple[str, str]] = {
    **{rule: (row.after, row.sentence) for rule, row in ROUNDINGS.items() if row.inward == "neither"},
    "ties-odd": ("ties to odd", "to nearest, ties to odd"),
    "ties-up": ("ties up", "to nearest, ties towards plus infinity, as adding half does in two's complement"),
    "ties-down": ("ties towards zero", "to nearest, ties towards zero"),
    **{rule: (row.after, row.sentence) for rule, row in ROUNDINGS.items() if row.inward != "neither"},
}
WIDTHS = 12  # of a sum, of which one is a design's
VANISHED = 1 << 12  # a distance at which nothing is left of a term


class RoundingStep(NamedTuple):
    """A step that rounds numbers, and adds before, if `adds`. place: as `hwsim.cases.bins.outcomes.roundings` has it.

    plus_zero: whether what rounds to zero is +0.
    """

    place: str
    format: Number
    rounding: Rounding
    overflow: Overflow
    adds: bool
    flushes: Tininess | None = None
    plus_zero: bool = False


def adder_of(unit: Unit) -> RoundingStep:
    """The roundings of a unit's sums."""
    rule, result = unit.sum, unit.result
    if isinstance(rule, RoundedSum):
        return RoundingStep("addition", rule.format, rule.rounding, rule.overflow, True, rule.flushes)
    plus_zero = result.tiny == "positive"
    return RoundingStep("result", result.format, result.rounding, result.overflow, False, result.flushes, plus_zero)


def adder_after(unit: Unit) -> RoundingStep | None:
    """The addition after groups: a promotion, or a late one that is rounded; None where there is none."""
    if unit.promotion is not None:
        return RoundingStep("promotion", unit.promotion.format, unit.promotion.rounding, "ieee", True)
    if isinstance(unit.late, LateAdd):
        return RoundingStep("late addition", unit.late.format, unit.late.rounding, "ieee", True, unit.late.flushes)
    return None


def _at_most(most: int, distance: int) -> int:
    return min(distance, most)


def _without_bits(bits: int, distance: int) -> int:
    return distance & ~bits


def _off(by: int, distance: int) -> int:
    return max(0, distance + by) if distance else distance


def _alignment(unit: Unit) -> Iterator[Mistake]:
    if not isinstance(unit.sum, ExactSum):
        yield from _distances()


def _distances() -> Iterator[Mistake]:
    for bits in (5, 4, 3, 6, 2, 7):
        text = f"the distance by which a term is shifted is taken modulo {1 << bits}"
        yield Mistake(f"shift distance modulo {1 << bits}", text, Flaw(distance=partial(_without_bits, -1 << bits)))
    for bit in range(6):
        text = f"the stage of the shifter for {1 << bit} places does nothing"
        yield Mistake(f"shift by {1 << bit} left out", text, Flaw(distance=partial(_without_bits, 1 << bit)))
    for most in (*range(7, 33), 63):
        text = f"a term is never shifted by more than {most} places"
        yield Mistake(f"shift distance at most {most}", text, Flaw(distance=partial(_at_most, most)))
    for by, words in ((1, "one too many"), (-1, "one too few")):
        text = f"a term that is shifted at all is shifted by {words} places"
        yield Mistake(f"shift distance {words}", text, Flaw(distance=partial(_off, by)))


Terms = tuple[Term | None, ...]


def _largest(among: Callable[[tuple[Term, ...], Term | None], Terms], max_exp: int, products: tuple[Term, ...],
             addend: Term | None) -> int:  # fmt: skip
    exps = [term.exp for term in among(products, addend) if term is not None and term.cls is Class.NORMAL]
    return max(exps, default=max_exp)


def _largest_unsigned(max_exp: int, products: tuple[Term, ...], addend: Term | None) -> int:
    exps = [term.exp for term in (*products, addend) if term is not None and term.cls is Class.NORMAL]
    return max(exps, key=lambda exp: (exp < 0, exp), default=max_exp)


MAXIMA: dict[str, Callable[[int, tuple[Term, ...], Term | None], int]] = {
    "without the addend": partial(_largest, lambda products, _: products),
    "of the addend and the first lane": partial(_largest, lambda products, addend: (products[0], addend)),
    "of the first lane alone": partial(_largest, lambda products, _: products[:1]),
    "of exponents without their signs": _largest_unsigned,
}


def _zeros_count(max_exp: int, products: tuple[Term, ...], addend: Term | None) -> int:
    return max([max_exp, *(term.exp for term in products)])


def _vanishing(distance: int) -> int:
    return VANISHED if distance < 0 else distance


def _left_out(lane: int | None, aligned: tuple[int, ...], lanes: int) -> tuple[int, ...]:
    gone = lanes if lane is None else lane
    return tuple(0 if index == gone else term for index, term in enumerate(aligned))


def _maxima(unit: Unit) -> Iterator[Mistake]:
    if not isinstance(unit.sum, AlignedSum):
        return
    if unit.operands.addend is not None:
        text = "the addend takes part in max_exp, and is left out of the sum"
        yield Mistake("addend left out of the sum", text, Flaw(aligned=partial(_left_out, None)))
    for lane in range(unit.instruction.lanes if unit.subgroup is None else 0):
        text = f"the product of lane {lane} takes part in max_exp, and is left out of the sum"
        yield Mistake(f"lane {lane} left out of the sum", text, Flaw(aligned=partial(_left_out, lane)))
    shows = (Shows("zeros move the window"),)
    yield Mistake("max_exp of zeros", "products of zero take part in max_exp", Flaw(max_exp=_zeros_count), shows)
    for words, largest in MAXIMA.items():
        if unit.operands.addend is not None or "addend" not in words:
            text = f"max_exp is taken {words}"
            yield Mistake(f"max_exp {words}", text, Flaw(max_exp=largest))
            # As where a distance below zero wraps.
            lost = Flaw(max_exp=largest, distance=_vanishing)
            yield Mistake(f"max_exp {words}, larger terms lost", f"{text}, and terms above it are lost", lost)


def _cut(extra: int, lost: Lost, subtractions: bool, cut: TermCut | None, precision: int, opposite: bool) -> (
    TermCut | None
):  # fmt: skip
    return TermCut(precision - 1 + extra, lost) if opposite or not subtractions else cut


def _additions(adder: RoundingStep) -> Iterator[Mistake]:
    if not adder.adds:
        return
    precision = adder.format.fraction_bits + 1
    for extra in (0, 1, 2, 3, 4, 5, 6, 8, precision, precision + 1, precision + 2):
        kept = "no bits" if not extra else "one bit" if extra == 1 else f"{extra} bits"
        text = f"of the smaller term of an addition {kept} below the larger one's last place are kept"
        below = f"{extra} bits below the last place"

        def cut(lost: Lost, subtractions: bool = False, extra: int = extra) -> Flaw:
            return Flaw(cut=partial(_cut, extra, lost, subtractions))

        few = {0: "no guard bits in {}", 1: "a guard bit and nothing below it in {}"}
        name = few.get(extra, f"{below} and no sticky bit in {{}}")
        yield Mistake(name.format("additions"), f"{text}, and no sticky bit", cut("truncate"))
        yield Mistake(f"{below}, floored, in additions", f"{text}, and the rest is floored", cut("floor"))
        if extra <= 2:
            words = f"where signs differ, {text}, and no sticky bit"
            yield Mistake(name.format("subtractions"), words, cut("truncate", subtractions=True))
        name, text = f"{below} and the sticky bit in additions", f"{text}, and a lost 1 sets the last of them"
        yield Mistake(name, text, cut("jam"))


def _ones_complement(last: int | None, vanishes: bool, magnitude: tuple[int, int], sign: int) -> tuple[int, int]:
    """last: the exponent of the sum's last place; None: that of a window. vanishes: whether -1 there becomes 0."""
    sig, unit_exp = magnitude
    last = unit_exp if last is None else last
    least = min(last, unit_exp)
    size = max(0, (sig << unit_exp - least) - (1 << last - least))
    return (size, least) if sign and (size or vanishes) else (sig, unit_exp)


def _opposite_infinities(place: int, special: Term | None, terms: tuple[Term, ...]) -> Term | None:
    infinite = [term for term in terms if term.cls is Class.INFINITY]
    if any(term.cls is Class.NAN for term in terms) or len({term.sign for term in infinite}) < 2:
        return special
    return infinite[place]


def sum_wraps(bits: int, last: int | None = None) -> Flaw:
    """A sum keeps its low bits, two's complement. last: the exponent of its last place; None: that of a window."""

    def wrapped(total: int, unit_exp: int) -> int:
        lower = 0 if last is None else last - unit_exp
        half = 1 << max(0, bits - 1 + lower)
        return (total + half) % (2 * half) - half

    return Flaw(total=wrapped)


def last_place(unit: Unit) -> int | None:
    """The exponent of the last place of an exact sum that has one; None of other sums."""
    exact = isinstance(unit.sum, ExactSum) and unit.scale is None
    return sum(fmt.quantum_exp for fmt in unit.operands.multiplied) if exact else None


def _widest_sum(unit: Unit) -> int:
    """Bits of an exact sum of a group's products, with some more for those of several groups and the addend."""
    quantum = sum(fmt.quantum_exp for fmt in unit.operands.multiplied)
    return sum(fmt.emax + 1 for fmt in unit.operands.multiplied) - quantum + unit.instruction.lanes.bit_length() + 4


INFINITIES = ((0, "", " that comes first"), (-1, " that comes last", " that comes last"))


def one_term(unit: Unit) -> bool:
    """True if every sum is of one product alone."""
    chained = unit.instruction.chain is not None or unit.instruction.groups > 1
    return unit.instruction.lanes == 1 and unit.operands.addend is None and not chained


def _infinities_meet(unit: Unit) -> bool:
    """True if more than one term of a sum may be infinite."""
    if one_term(unit):
        return False
    tree = isinstance(unit.sum, RoundedSum) and unit.sum.method == "pairwise"
    limited = unit.sum.product_limit is not None
    return (
        tree
        or limited
        or any(isinstance(fmt, FloatFormat) and fmt.infinities for fmt in (unit.operands.a, unit.operands.b))
    )


WhatIsCut = Literal["sum", "products", "product", "term"]
BEYOND: dict[WhatIsCut, ShowsWhere] = {
    "sum": "sum beyond", "products": "products beyond", "product": "product beyond", "term": "term beyond",
}  # fmt: skip


def beyond(what: WhatIsCut, bits: int) -> tuple[Shows, ...]:
    """The event that shows that a number is cut to so many bits, two's complement."""
    return (Shows(BEYOND[what], bits - 1),)


def _carries(unit: Unit) -> Iterator[Mistake]:
    name, last = "ones' complement of a negative sum", last_place(unit)
    text = "the magnitude of a negative sum is its ones' complement, without the 1 that is added"
    yield Mistake(name, text, Flaw(magnitude=partial(_ones_complement, last, True)))
    text += "; where that is 0, the sum has its magnitude, as what normalises 0 may give"
    yield Mistake(f"{name}, but never zero", text, Flaw(magnitude=partial(_ones_complement, last, False)))
    for place, word, which in INFINITIES if _infinities_meet(unit) else ():
        text = f"infinities of both signs make an infinity, the one{which}"
        flaw = Flaw(special=partial(_opposite_infinities, place))
        yield Mistake(f"opposite infinities give infinity{word}", text, flaw)
    if last is not None:
        widest = _widest_sum(unit)
        for bits in range(max(2, widest - 12), widest + 1):
            text = f"the sum keeps {bits} bits above 2^{last}, two's complement, and loses those above"
            yield Mistake(f"sum modulo 2^{bits}", text, sum_wraps(bits, last), beyond("sum", bits))
    if isinstance(unit.sum, AlignedSum):
        low = unit.sum.fraction_bits + 1
        for bits in range(low, low + 9):
            text = f"the sum keeps {bits} bits, two's complement, and loses those above"
            yield Mistake(f"sum modulo 2^{bits}", text, sum_wraps(bits), beyond("sum", bits))


def _normalized_upwards(
    top: int, last: int | None, complement: bool, magnitude: tuple[int, int], sign: int
) -> tuple[int, int]:
    """top: the place of the leading 1 of a sum that is not shifted, from the window's last place, or from 2^last."""
    sig, unit_exp = magnitude
    if not sig:
        return magnitude
    above = 0 if last is None else unit_exp - last
    leading = (sig - (sign and complement)).bit_length() - 1 + above
    return sig, unit_exp + 2 * (top - leading)


def _normalization(unit: Unit) -> Iterator[Mistake]:
    """Yield the mistakes of the exponent where a sum of some width, which is no float yet, is normalised."""
    if isinstance(unit.output, FixedFormat):
        return
    last = last_place(unit)
    if isinstance(unit.sum, AlignedSum):
        low = unit.sum.fraction_bits
    elif last is not None:
        low = _widest_sum(unit) - WIDTHS
    else:
        return
    for top in range(low, low + WIDTHS):
        text = "its exponent grows by the places that it is shifted, instead of being smaller by them"
        words = f"a sum is normalised to a leading 1 {top} places above its last, and {text}"
        name = f"distance of normalisation added, from place {top}"
        yield Mistake(name, words, Flaw(magnitude=partial(_normalized_upwards, top, last, False)))
        words = f"{words}; of a negative sum the first 0 leads"
        flaw = Flaw(magnitude=partial(_normalized_upwards, top, last, True))
        yield Mistake(f"{name}, in two's complement", words, flaw)


def _rounded_by(rule: LastPlaceRule, concerned: Callable[[LastPlace], bool]) -> Flaw:
    return Flaw(last_place=lambda place: place._replace(rule=rule) if concerned(place) else place)


# What a rounding is of negative numbers.
OF_NEGATIVE: dict[LastPlaceRule, LastPlaceRule] = {"ru": "rz", "ties-up": "ties-down"}


def _roundings(adder: RoundingStep) -> Iterator[Mistake]:
    specified, shows = adder.rounding, (Shows("rounds", place=adder.place),)
    others = [(rule, *words) for rule, words in RULE_WORDS.items() if rule != specified]
    for rule, name, text in others:
        yield Mistake(f"rounded {name}", f"results are rounded {text}", _rounded_by(rule, lambda _: True), shows)
    tiny = (Shows("is tiny and rounds", place=adder.place),)
    for rule, name, text in others:
        words, flaw = f"results below the least normal number are rounded {text}", _rounded_by(rule, lambda p: p.tiny)
        yield Mistake(f"subnormal results rounded {name}", words, flaw, tiny)
    for rule, name, text in others:
        mirrored = OF_NEGATIVE.get(rule, rule)
        if rule in ("rz", "rd", "ru", "ties-down", "rna") and mirrored != OF_NEGATIVE.get(specified, specified):
            flaw = _rounded_by(rule, lambda place: bool(place.sign))
            yield Mistake(f"negative results rounded {name}", f"negative results are rounded {text}", flaw, shows)


def _bits_below(bits: int, place: LastPlace) -> LastPlace:
    unseen = place.shift - bits
    return place._replace(sig=place.sig >> unseen << unseen) if unseen > 0 else place


def _guard_dropped(place: LastPlace) -> LastPlace:
    return place._replace(sig=place.sig & ~(1 << place.shift - 1)) if place.shift > 0 else place


def _carried(down: Callable[[FloatFormat], int], code: int | None, number: UnpackedResult) -> int | None:
    """A smaller magnitude where rounding carries out of the significand. down: by how much smaller."""
    fmt, magnitude = number.format, number.magnitude - down(number.format)
    if number.kept != 2 << fmt.fraction_bits or not 0 <= magnitude < fmt.sign_bit:
        return code
    return number.sign * fmt.sign_bit | magnitude


def _sticky(adder: RoundingStep) -> Iterator[Mistake]:
    if adder.rounding == "rz":
        return  # which looks at nothing below the last place
    shows = (Shows("rounds", place=adder.place),)
    for bits in (1, 0, 2, 3, 4, 6, 8, 12, 16):
        seen = "no bits" if not bits else "one bit" if bits == 1 else f"{bits} bits"
        names = {0: "guard bit missing in the rounding", 1: "sticky bit missing in the rounding"}
        name = names.get(bits, f"sticky bit of {bits - 1} places alone in the rounding")
        flaw = Flaw(last_place=partial(_bits_below, bits))
        text = f"rounding sees {seen} below the last place"
        yield Mistake(name, text, flaw, (Shows("rounds", bits, adder.place),))
    text = "rounding takes the bit below the last place for 0"
    yield Mistake("guard bit taken for zero", text, Flaw(last_place=_guard_dropped), shows)
    text, flaw = "the exponent stays", Flaw(number=partial(_carried, lambda fmt: 1 << fmt.fraction_bits))
    where = "where rounding carries out of the significand"
    yield Mistake("carry of the rounding lost", f"{where}, {text}", flaw, shows)
    text, flaw = "the result is the largest of its binade", Flaw(number=partial(_carried, lambda fmt: 1))
    where = "where rounding would carry out of the significand"
    yield Mistake("carry of the rounding left out", f"{where}, {text}", flaw, shows)


Magnitude = Callable[[UnpackedResult], int]


def _too_large(made: Magnitude, code: int | None, number: UnpackedResult) -> int | None:
    overflows = number.magnitude > number.format.max_magnitude
    return number.sign * number.format.sign_bit | made(number) if overflows else code


def _infinity_magnitude(number: UnpackedResult) -> int:
    return number.format.top_bexp << number.format.fraction_bits


def _exponent_without_top(number: UnpackedResult) -> int:
    return number.magnitude & (number.format.sign_bit - 1)


def _saturated(least: int, value: int, bits: int) -> int:
    """least: what is added to the largest number's opposite."""
    most = (1 << (bits - 1)) - 1
    return min(max(value, least - most), most)


def _low_bits(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


TOO_LARGE: tuple[tuple[str, str, Magnitude], ...] = (
    (
        "overflow wraps the exponent",
        "has an exponent without its top bit",
        _exponent_without_top,
    ),
    ("overflow taken for underflow", "becomes zero", lambda _: 0),
    ("overflow gives the largest", "becomes the largest number", lambda number: number.format.max_magnitude),
    ("overflow gives the top exponent", "gets the top exponent and no fraction", _infinity_magnitude),
    ("overflow gives all ones", "gets a code of ones", lambda number: number.format.sign_bit - 1),
)
SATURATED = partial(_saturated, -1)
TOO_LARGE_FIXED: tuple[tuple[str, str, Callable[[int, int], int]], ...] = (
    ("overflow wraps", "keeps its low bits", _low_bits),
    ("overflow saturates", "becomes the largest", SATURATED),
    ("overflow saturates without the least number", "becomes the largest of its sign", partial(_saturated, 0)),
)


def _overflow(adder: RoundingStep) -> Iterator[Mistake]:
    large, shows = "a result that is too large", (Shows("overflows", place=adder.place),)
    if isinstance(adder.format, FixedFormat):
        for name, text, change in TOO_LARGE_FIXED:
            if (adder.overflow, change) in (("wrap", _low_bits), ("saturate", SATURATED)):
                continue  # as specified
            yield Mistake(name, f"{large} {text}", Flaw(fixed=change), shows)
        return
    for name, text, magnitude in TOO_LARGE:
        if not _is_specified(adder, adder.format, magnitude):
            yield Mistake(name, f"{large} {text}", Flaw(number=partial(_too_large, magnitude)), shows)


def _is_specified(adder: RoundingStep, fmt: FloatFormat, made: Magnitude) -> bool:
    """True if results that are too large are specified to be that, whatever they are."""
    samples = [UnpackedResult(fmt, sign, fmt.max_magnitude + over, 0, 0, 0, 0) for sign in (0, 1) for over in (1, 2)]
    return made is not _exponent_without_top and all(
        overflow_code(fmt, number.sign, adder.rounding, adder.overflow)
        == (number.sign * fmt.sign_bit | made(number)) << fmt.padding
        for number in samples
    )


def _too_small(change: Callable[[UnpackedResult], int | None], code: int | None, number: UnpackedResult) -> int | None:
    """change: None where it is no mistake of this number."""
    changed = change(number) if number.bexp <= 0 else None
    return code if changed is None else changed


def _signed(number: UnpackedResult, magnitude: int = 0) -> int:
    return number.sign * number.format.sign_bit | magnitude


def _subnormal(number: UnpackedResult) -> bool:
    return number.magnitude < 1 << number.format.fraction_bits


def _exponent_wrapped(number: UnpackedResult) -> int:
    """The low bits of the exponent, and the fraction of the normalised number, its other bits cut off."""
    bits = number.format.fraction_bits
    length = number.sig.bit_length() - 1
    sig = number.sig << bits - length if length < bits else number.sig >> length - bits
    fraction = sig & ((1 << bits) - 1)
    return _signed(number, (number.bexp << bits | fraction) & (number.format.sign_bit - 1))


TOO_SMALL: tuple[tuple[str, str, Callable[[UnpackedResult], int | None]], ...] = (
    (
        "subnormal results flushed",
        "{} becomes a zero of its sign",
        lambda number: _signed(number) if _subnormal(number) else None,
    ),
    ("subnormal results flushed to +0", "{} becomes +0", lambda number: 0 if _subnormal(number) else None),
    ("underflow wraps the exponent", "the exponent of {} wraps", _exponent_wrapped),
    (
        "underflow taken for overflow",
        "{} becomes infinite",
        lambda number: _signed(number, _infinity_magnitude(number)),
    ),
    (
        "underflow gives the least",
        "{} becomes the least normal number",
        lambda number: _signed(number, 1 << number.format.fraction_bits),
    ),
)
VANISHING: tuple[tuple[str, str, Callable[[UnpackedResult], int]], ...] = (
    ("sign of an underflowed zero dropped", "becomes +0", lambda _: 0),
    ("sign of an underflowed zero kept", "keeps its sign", _signed),
    ("underflowed zero always negative", "becomes -0", lambda number: number.format.sign_bit),
)


def _tiny_shifted(by: int, place: LastPlace) -> LastPlace:
    return place._replace(shift=place.shift + by) if place.tiny else place


def _vanished(made: Callable[[UnpackedResult], int], code: int | None, number: UnpackedResult) -> int | None:
    return code if number.magnitude else made(number)


def _underflow(adder: RoundingStep) -> Iterator[Mistake]:
    if isinstance(adder.format, FixedFormat):
        return
    below, shows = "a result below the least normal number", (Shows("is tiny", place=adder.place),)
    for name, text, change in TOO_SMALL:
        if adder.flushes and name == f"subnormal results flushed{' to +0' * adder.plus_zero}":
            continue  # as specified
        yield Mistake(name, text.format(below), Flaw(number=partial(_too_small, change)), shows)
    for by, word, amount in ((1, "half", "many"), (-1, "twice", "few")):
        text = f"{below} is shifted by 1 place too {amount}"
        flaw = Flaw(last_place=partial(_tiny_shifted, by))
        yield Mistake(f"subnormal results at {word} their value", text, flaw, shows)
    for name, text, magnitude in VANISHING:
        if name != f"sign of an underflowed zero {'dropped' if adder.plus_zero else 'kept'}":
            text = f"a result that is not zero and rounds to it {text}"
            flaw = Flaw(number=partial(_vanished, magnitude))
            yield Mistake(name, text, flaw, (Shows("vanishes", place=adder.place),))


def _plus(sign: int, terms: tuple[Term, ...]) -> int:
    return 0


ZERO_SIGNS: tuple[tuple[str, str, Callable[[int, tuple[Term, ...]], int]], ...] = (
    ("zero sum always +0", "a sum of exactly zero is +0", _plus),
    (
        "cancelled sum gives -0",
        "a sum of terms that cancel is -0",
        lambda _, terms: int(any(term.cls is not Class.ZERO or term.sign for term in terms)),
    ),
    (
        "zero sum with the sign of its first term",
        "a sum of exactly zero has the sign of its first term",
        lambda _, terms: terms[0].sign,
    ),
    (
        "zero sum with the sign of its last term",
        "a sum of exactly zero has the sign of its last term",
        lambda _, terms: terms[-1].sign,
    ),
    (
        "zero sum negative where all terms are",
        "a sum of exactly zero is -0 where all terms are negative",
        lambda _, terms: int(all(term.sign for term in terms)),
    ),
    (
        "zero sum negative where a term is",
        "a sum of exactly zero is -0 where a term is negative",
        lambda _, terms: int(any(term.sign for term in terms)),
    ),
)


def _positive_zero(code: int, unit: Unit, case: Case) -> int:
    fmt = unit.output
    return 0 if isinstance(fmt, FloatFormat) and code == fmt.sign_bit << fmt.padding else code


def _zeros(unit: Unit) -> Iterator[Mistake]:
    if isinstance(unit.output, FixedFormat) or not unit.output.signed_zero:
        return
    yield from _zero_signs(_zero_rule(unit), one_term(unit))
    text = "a result that is a zero is +0, whatever led to it"
    yield Mistake("zero results always +0", text, Flaw(code=_positive_zero), (Shows("result is -0"),))


def _zero_rule(unit: Unit) -> str:
    """The name of the mistake that is specified."""
    match unit.sum:
        case RoundedSum() as rule:
            return _ieee_rule(rule.rounding)
        case rule:
            return "zero sum always +0" if rule.zero == "positive" else _ieee_rule(unit.result.rounding)


def _ieee_rule(rounding: Rounding) -> str:
    return f"zero sum negative where {'a term is' if rounding == 'rd' else 'all terms are'}"


SHOWN_ZEROS = {
    "zero sum always +0": (Shows("result is -0"),),
    "zero sum with the sign of its last term": (Shows("starts from -0"),),
    "zero sum negative where all terms are": (Shows("starts from -0"),),
}


def _zero_signs(specified: str, alone: bool = False) -> Iterator[Mistake]:
    """alone: whether sums have one term, whose sign they have but for where it is left."""
    for name, text, choose in ZERO_SIGNS:
        if name != specified and (not alone or choose is _plus):
            # Signs of zeros make nothing other than signs of zeros.
            shows = SHOWN_ZEROS.get(name, ())
            yield Mistake(name, text, Flaw(zero_sign=choose), shows)


def _of_multipliers(unit: Unit) -> Iterator[Mistake]:
    """Yield the mistakes of rounding products, where they are rounded: in multipliers alone, and everywhere."""
    if not isinstance(unit.sum, RoundedSum) or unit.sum.product != "rounded":
        return
    adder = adder_of(unit)._replace(place="product", adds=False)
    for part in OF_ROUNDINGS:
        for name, text, flaw, shows in part(adder):
            alone = Flaw(multipliers=flaw)
            yield Mistake(f"{name}, of products alone", f"of products alone: {text}", alone, shows)
            if not name.startswith("zero"):
                everywhere = (*shows, *(event._replace(place="addition") for event in shows))
                yield Mistake(f"{name}, of products too", f"of products and sums: {text}", flaw & alone, everywhere)


def far_dropped(adder: RoundingStep, which: dict[str, bool | None]) -> Iterator[Mistake]:
    """Additions that know nothing of a term far below the other: no sticky bit stands for it.

    which: whether it is the one that the addition goes on from, None for either, by what it is called.
    """
    precision = adder.format.fraction_bits + 1
    for words, of_addend in which.items():
        for least in range(precision - 1, 3 * precision + 4):
            text = f"an addition loses {words} where it is {least} places or more below the other term"
            flaw = Flaw(dropped=partial(_dropped_from, least, of_addend))
            yield Mistake(f"{words} dropped from {least} places below", text, flaw)


def _dropped_from(least: int, of_addend: bool | None, dropped: bool, distance: int, addend: bool) -> bool:
    """of_addend: which of the terms; None: both."""
    return dropped or (distance >= least and of_addend in (None, addend))


# What a promotion with scales may multiply first, as the names of mistakes and of known semantics have it.
FIRST_WORDS: dict[First, str] = {
    "scales": "scales multiplied first",
    "a": "partial sum multiplied by the scale of a first",
    "b": "partial sum multiplied by the scale of b first",
}


def _multiplied_first(first: First, scaling: ScaledPromotion, unit: Unit) -> ScaledPromotion:
    return unit.scaled_first(first) or scaling


def _scaling(unit: Unit) -> Iterator[Mistake]:
    for first, name in FIRST_WORDS.items() if unit.scaled_promotion is not None else ():
        if unit.promotion is not None and unit.promotion.first != first:
            what = "both scales are" if first == "scales" else f"the partial sum and the scale of {first} are"
            text = f"{what} multiplied first, and their product is rounded, before the third number is"
            yield Mistake(name, text, Flaw(scaling=partial(_multiplied_first, first)))


def _after(unit: Unit) -> Iterator[Mistake]:
    """Yield the mistakes of the addition after groups alone."""
    adder = adder_after(unit)
    if adder is None:
        return
    parts = [*(part(adder) for part in OF_ROUNDINGS), _additions(adder), _distances(),
             far_dropped(adder, {"the smaller term": None}), _zero_signs(_ieee_rule(adder.rounding))]  # fmt: skip
    for part in parts:
        for name, text, flaw, shows in part:
            shows = tuple(event for event in shows if event.where != "starts from -0")
            yield Mistake(f"{name}, in the {adder.place}", f"in the {adder.place}: {text}", Flaw(after=flaw), shows)


OF_ROUNDINGS: tuple[Callable[[RoundingStep], Iterator[Mistake]], ...] = (_roundings, _sticky, _overflow, _underflow)


def _adder(unit: Unit) -> Iterator[Mistake]:
    adder = adder_of(unit)
    for part in (_additions, *OF_ROUNDINGS):
        yield from part(adder)


OF_SUMS: tuple[Callable[[Unit], Iterator[Mistake]], ...] = (
    _alignment, _maxima, _adder, _carries, _normalization, _zeros, _of_multipliers, _scaling, _after,
)  # fmt: skip
