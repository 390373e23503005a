"""Mistakes of sums: alignment, addition, rounding, and the ends of the range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from hwsim.cases.case import Case
from hwsim.explain.mistakes.flawed import Flaw, Mistake
from hwsim.formats import Class, FixedFormat, FloatFormat
from hwsim.model.hooks import LastPlace, LastPlaceRule, TermCut, UnpackedResult
from hwsim.model.terms import Term
from hwsim.spec import AlignedSum, ExactSum, RoundedSum, Unit
from hwsim.spec.keys import ROUNDINGS, Lost

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


def _at_most(most: int, distance: int) -> int:
    return min(distance, most)


def _without_bits(bits: int, distance: int) -> int:
    return distance & ~bits


def _off(by: int, distance: int) -> int:
    return max(0, distance + by) if distance else distance


def _alignment(unit: Unit) -> Iterator[Mistake]:
    if isinstance(unit.sum, ExactSum):
        return
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
    return tuple(0 if at == gone else term for at, term in enumerate(aligned))


def _maxima(unit: Unit) -> Iterator[Mistake]:
    if not isinstance(unit.sum, AlignedSum):
        return
    if unit.operands.addend is not None:
        text = "the addend takes part in max_exp, and is left out of the sum"
        yield Mistake("addend left out of the sum", text, Flaw(aligned=partial(_left_out, None)))
    for lane in range(unit.instruction.lanes if unit.subgroup is None else 0):
        text = f"the product of lane {lane} takes part in max_exp, and is left out of the sum"
        yield Mistake(f"lane {lane} left out of the sum", text, Flaw(aligned=partial(_left_out, lane)))
    yield Mistake("max_exp of zeros", "products of zero take part in max_exp", Flaw(max_exp=_zeros_count))
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


def _additions(unit: Unit) -> Iterator[Mistake]:
    if not isinstance(unit.sum, RoundedSum):
        return
    precision = unit.sum.format.fraction_bits + 1
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
    made = max(0, (sig << unit_exp - least) - (1 << last - least))
    return (made, least) if sign and (made or vanishes) else (sig, unit_exp)


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


def _carries(unit: Unit) -> Iterator[Mistake]:
    name, last = "ones' complement of a negative sum", last_place(unit)
    text = "the magnitude of a negative sum is its ones' complement, without the 1 that is added"
    yield Mistake(name, text, Flaw(magnitude=partial(_ones_complement, last, True)))
    text += "; where that is 0, the sum has its magnitude, as what normalises 0 may give"
    yield Mistake(f"{name}, but never zero", text, Flaw(magnitude=partial(_ones_complement, last, False)))
    for place, word, which in ((0, "", " that comes first"), (-1, " that comes last", " that comes last")):
        text = f"infinities of both signs make an infinity, the one{which}"
        flaw = Flaw(special=partial(_opposite_infinities, place))
        yield Mistake(f"opposite infinities give infinity{word}", text, flaw)
    if last is not None:
        widest = _widest_sum(unit)
        for bits in range(max(2, widest - 12), widest + 1):
            text = f"the sum keeps {bits} bits above 2^{last}, two's complement, and loses those above"
            yield Mistake(f"sum modulo 2^{bits}", text, sum_wraps(bits, last))
    if isinstance(unit.sum, AlignedSum):
        low = unit.sum.fraction_bits + 1
        for bits in range(low, low + 9):
            text = f"the sum keeps {bits} bits, two's complement, and loses those above"
            yield Mistake(f"sum modulo 2^{bits}", text, sum_wraps(bits))


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
    """What becomes of the exponent where a sum of some width, which is no float yet, is normalised."""
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


def _roundings(unit: Unit) -> Iterator[Mistake]:
    own = unit.sum.rounding if isinstance(unit.sum, RoundedSum) else unit.result.rounding
    others = [(rule, *words) for rule, words in RULE_WORDS.items() if rule != own]
    for rule, name, text in others:
        yield Mistake(f"rounded {name}", f"results are rounded {text}", _rounded_by(rule, lambda _: True))
    for rule, name, text in others:
        words, flaw = f"results below the least normal number are rounded {text}", _rounded_by(rule, lambda it: it.tiny)
        yield Mistake(f"subnormal results rounded {name}", words, flaw)
    for rule, name, text in others:
        if rule in ("rz", "rd", "ru", "ties-down", "rna"):
            flaw = _rounded_by(rule, lambda place: bool(place.sign))
            yield Mistake(f"negative results rounded {name}", f"negative results are rounded {text}", flaw)


def _bits_below(bits: int, place: LastPlace) -> LastPlace:
    unseen = place.shift - bits
    return place._replace(sig=place.sig >> unseen << unseen) if unseen > 0 else place


def _guard_dropped(place: LastPlace) -> LastPlace:
    return place._replace(sig=place.sig & ~(1 << place.shift - 1)) if place.shift > 0 else place


def _carried(down: Callable[[FloatFormat], int], code: int | None, number: UnpackedResult) -> int | None:
    """A smaller magnitude where rounding carries out of the significand. down: by how much smaller."""
    fmt, magnitude = number.format, number.magnitude - down(number.format)
    if number.kept != 2 << fmt.fraction_bits or magnitude >= fmt.sign_bit:
        return code
    return number.sign * fmt.sign_bit | magnitude


def _sticky(unit: Unit) -> Iterator[Mistake]:
    for bits in (1, 0, 2, 3, 4, 6, 8, 12, 16):
        seen = "no bits" if not bits else "one bit" if bits == 1 else f"{bits} bits"
        names = {0: "guard bit missing in the rounding", 1: "sticky bit missing in the rounding"}
        name = names.get(bits, f"sticky bit of {bits - 1} places alone in the rounding")
        flaw = Flaw(last_place=partial(_bits_below, bits))
        yield Mistake(name, f"rounding sees {seen} below the last place", flaw)
    text = "rounding takes the bit below the last place for 0"
    yield Mistake("guard bit taken for zero", text, Flaw(last_place=_guard_dropped))
    text, flaw = "the exponent stays", Flaw(number=partial(_carried, lambda fmt: 1 << fmt.fraction_bits))
    yield Mistake("carry of the rounding lost", f"where rounding carries out of the significand, {text}", flaw)
    text, flaw = "the result is the largest of its binade", Flaw(number=partial(_carried, lambda fmt: 1))
    yield Mistake("carry of the rounding left out", f"where rounding would carry out of the significand, {text}", flaw)


Magnitude = Callable[[UnpackedResult], int]


def _too_large(made: Magnitude, code: int | None, number: UnpackedResult) -> int | None:
    overflows = number.magnitude > number.format.max_magnitude
    return number.sign * number.format.sign_bit | made(number) if overflows else code


def _infinity_magnitude(number: UnpackedResult) -> int:
    return number.format.top_bexp << number.format.fraction_bits


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
        lambda number: number.magnitude & (number.format.sign_bit - 1),
    ),
    ("overflow taken for underflow", "becomes zero", lambda _: 0),
    ("overflow gives the largest", "becomes the largest number", lambda number: number.format.max_magnitude),
    ("overflow gives the top exponent", "gets the top exponent and no fraction", _infinity_magnitude),
    ("overflow gives all ones", "gets a code of ones", lambda number: number.format.sign_bit - 1),
)
TOO_LARGE_FIXED: tuple[tuple[str, str, Callable[[int, int], int]], ...] = (
    ("overflow wraps", "keeps its low bits", _low_bits),
    ("overflow saturates", "becomes the largest", partial(_saturated, -1)),
    ("overflow saturates without the least number", "becomes the largest of its sign", partial(_saturated, 0)),
)


def _overflow(unit: Unit) -> Iterator[Mistake]:
    large = "a result that is too large"
    if isinstance(unit.output, FixedFormat):
        for name, text, change in TOO_LARGE_FIXED:
            yield Mistake(name, f"{large} {text}", Flaw(fixed=change))
        return
    for name, text, made in TOO_LARGE:
        yield Mistake(name, f"{large} {text}", Flaw(number=partial(_too_large, made)))


def _too_small(change: Callable[[UnpackedResult], int | None], code: int | None, number: UnpackedResult) -> int | None:
    """change: None where it is no mistake of this number."""
    made = change(number) if number.bexp <= 0 else None
    return code if made is None else made


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


def _underflow(unit: Unit) -> Iterator[Mistake]:
    if isinstance(unit.output, FixedFormat):
        return
    below = "a result below the least normal number"
    for name, text, change in TOO_SMALL:
        yield Mistake(name, text.format(below), Flaw(number=partial(_too_small, change)))
    for by, word, amount in ((1, "half", "many"), (-1, "twice", "few")):
        text = f"{below} is shifted by 1 place too {amount}"
        flaw = Flaw(last_place=partial(_tiny_shifted, by))
        yield Mistake(f"subnormal results at {word} their value", text, flaw)
    for name, text, made in VANISHING:
        text = f"a result that is not zero and rounds to it {text}"
        yield Mistake(name, text, Flaw(number=partial(_vanished, made)))


ZERO_SIGNS: tuple[tuple[str, str, Callable[[int, tuple[Term, ...]], int]], ...] = (
    ("zero sum always +0", "a sum of exactly zero is +0", lambda _, terms: 0),
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
    for name, text, choose in ZERO_SIGNS:
        yield Mistake(name, text, Flaw(zero_sign=choose))
    text = "a result that is a zero is +0, whatever led to it"
    yield Mistake("zero results always +0", text, Flaw(code=_positive_zero))


def _of_multipliers(unit: Unit) -> Iterator[Mistake]:
    """What is wrong with the rounding of products, where these are rounded: in multipliers alone, and everywhere."""
    if not isinstance(unit.sum, RoundedSum) or unit.sum.product != "rounded":
        return
    for part in (_roundings, _sticky, _overflow, _underflow):
        for name, text, flaw in part(unit):
            alone = Flaw(multipliers=flaw)
            yield Mistake(f"{name}, of products alone", f"of products alone: {text}", alone)
            yield Mistake(f"{name}, of products too", f"of products and sums: {text}", flaw & alone)


OF_SUMS: tuple[Callable[[Unit], Iterator[Mistake]], ...] = (
    _alignment, _maxima, _additions, _carries, _normalization, _roundings, _sticky, _overflow, _underflow, _zeros,
    _of_multipliers,
)  # fmt: skip
