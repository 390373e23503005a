"""Why a likely mistake changes no result of a unit: arguments from ranges, and enumerations of all codes.

A reason is a proof for every operand, or it is not given: what only no case shows is open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from functools import lru_cache
from itertools import product as cross

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.bins.adders import PARTIAL, PRODUCT, REGISTER, TIES, RoundedPair, adders
from hwsim.cases.bins.outcomes import RoundingPlace, impossible, no_negative_zero, roundings
from hwsim.cases.bins.plan import plan
from hwsim.cases.case import one_window
from hwsim.explain.mistakes.flawed import NO_FLAW, Flaw, Mistake, Shows
from hwsim.explain.mistakes.sums import one_term
from hwsim.formats import FixedFormat, FloatFormat, Format
from hwsim.model.definition import Definition
from hwsim.model.hooks import Hooks, LastPlace, Side, TermCut, passed, rounded_magnitude
from hwsim.model.terms import addend_term
from hwsim.spec import AlignedSum, EvenOddSum, ExactSum, LateAdd, LateInWindow, RoundedSum, SequentialSum, Unit
from hwsim.spec.keys import Factor
from hwsim.spec.ranges import span_of

MOST_BITS = 16  # of codes that are enumerated
MOST_ALONE, MOST_ROUNDED = 8, 1 << 18  # bits of significands of which all products are rounded; roundings
BINADES = 4  # from the least normal number down, of those from which a rounding may reach it
MOST_SIG_BITS = 12  # of significands of which all products are enumerated


def why_equal(unit: Unit, mistake: Mistake) -> str:
    """The reason why a design with a mistake returns what its unit does, whatever the operands; empty for none."""
    reasons, flaw = [_never(unit, shows) for shows in mistake.shows], mistake.flaw
    if reasons and all(reasons):
        return reasons[0]
    if flaw.after is not None and replace(flaw, after=None) == NO_FLAW:
        place = "promotion" if unit.promotion is not None else "late addition"
        return _additions_equal(unit, flaw.after, place) if _asks_only(flaw.after, PAIR) else ""
    if _asks_only(flaw, PAIR) and isinstance(unit.sum, RoundedSum):
        return _additions_equal(unit, flaw, "addition")
    if _asks_only(flaw, {"distance"}):
        return _window_equal(unit, flaw)
    if _asks_only(flaw, {"factor", "addend"}):
        return _decoders_equal(unit, flaw)
    if _asks_only(flaw, {"last_place"}):
        return _products_rounded_alike(unit, flaw)
    return ""


PAIR = {"distance", "dropped", "cut"}


def _asks_only(flaw: Hooks, places: set[str]) -> bool:
    """True if a flaw changes only what passes these places."""
    return all(getattr(flaw, field.name) is None for field in fields(Flaw) if field.name not in places)


# What never happens.


def _never(unit: Unit, shows: Shows) -> str:
    place = roundings(unit).get(shows.place)
    match shows.where:
        case "result is -0":
            return no_negative_zero(unit) or ""
        case "wraps":
            wraps = _wraps(unit) and unit.output.bits <= shows.bits
            return f"results are taken modulo 2^{unit.output.bits} themselves" if wraps else ""
        case "sum beyond" | "products beyond" | "product beyond" | "term beyond":
            return _fits(unit, shows)
        case "overflows":
            return "" if place is None else _bin(unit, place, "overflow") or impossible(unit, place, shows.where) or ""
        case "starts from -0":
            return _starts_positive(unit)
        case "bits below":
            return _alone_below(unit, shows.bits) or _numbers_above(unit, shows.bits)
        case "bits below, floored":
            why = _alone_below(unit, shows.bits) or _numbers_above(unit, shows.bits)
            return why or _floored_below(unit, shows.bits)
        case "zeros move the window":
            return _zeros_lose_nothing(unit)
        case "rounds" if shows.bits:
            cut = None if place is None else _most_cut(unit, place)
            few = cut is not None and cut <= shows.bits
            return f"at most {cut} places are cut off" if few else _never(unit, shows._replace(bits=0))
        case "rounds":
            exact = None if place is None else impossible(unit, place, "rounds to the larger")
            if place is None:
                return ""
            whole = isinstance(place.format, FixedFormat) or bool(_tiny(unit, place, False))
            return exact if exact is not None and whole else _short_products(unit, place)
        case "vanishes":
            return "" if place is None else _tiny(unit, place, False)
        case "is tiny and rounds":
            return "" if place is None else _tiny(unit, place, False) or _short_products(unit, place)
        case _:
            return "" if place is None else _tiny(unit, place, shows.where == "is tiny")


def _short_products(unit: Unit, place: RoundingPlace) -> str:
    """The reason why products alone are never rounded to another number: they fit, or become zero anyway."""
    fmt, bits = place.format, unit.operands.a.sig_bits + unit.operands.b.sig_bits
    if place.name != "product" or place.flushes is None or unit.scale is not None or not isinstance(fmt, FloatFormat):
        return ""
    # Of those below the least normal number only the binade next to it could be rounded up to it.
    fits = fmt.subnormals and bits < fmt.precision
    return f"products have {bits} bits, {fmt.name} {fmt.precision}; what is subnormal becomes zero" if fits else ""


def _bin(unit: Unit, place: RoundingPlace, word: str) -> str:
    """The reason why both signs' bins of a window's result are unreachable."""
    if place.name != "result" or not one_window(unit):
        return ""
    reasons = [every.unreachable for every in plan(unit).bins if every.name in (f"+ {word}", f"- {word}")]
    return reasons[0] or "" if len(reasons) == 2 and all(reasons) else ""


def _tiny(unit: Unit, place: RoundingPlace, whole: bool) -> str:
    """The reason why results below the least normal number do not exist, or, unless `whole`, are exact."""
    fmt = place.format
    if not isinstance(fmt, FloatFormat):
        return f"{fmt.name} has no such numbers"
    exact = place.name == "addition" and not whole and fmt.subnormals
    if exact and (why := _numbers_above(unit, fmt.quantum_exp)):
        return why
    vanishes = impossible(unit, place, "vanishes")
    # Where such results become zero, what never vanishes is never below; else it only has no bits to lose.
    if vanishes is not None and fmt.subnormals and (place.flushes is not None or not whole):
        return vanishes
    least = _window_unit(unit) if place.name == "result" else None
    if least is None or place.flushes is not None or least < (fmt.emin if whole else fmt.quantum_exp):
        return ""
    word = "least normal number" if whole else "least number"
    return f"every sum is a multiple of 2^{least}, and {fmt.name}'s {word} is not more"


def _window_unit(unit: Unit) -> int | None:
    """The least exponent of the last place of a window that all terms of a sum are in; None where it is not known."""
    rule, scale = unit.sum, unit.scale
    exps = _product_exps(unit)
    if not isinstance(rule, AlignedSum) or rule.subgroup is not None or exps is None or rule.sticky:
        return None
    if (scale is not None and scale.at != "promotion") or isinstance(unit.late, LateInWindow):
        return None  # a sum in another window, which has the addend, is what is rounded
    added = [fmt for fmt in _added(unit) if isinstance(fmt, FloatFormat) and not _is_partial(unit)]
    last = min(exps[0], *(fmt.emin for fmt in added)) - rule.fraction_bits if added else exps[0] - rule.fraction_bits
    if rule.lost == "ones-complement":
        return last
    # Where the window ends below all bits of its terms, these are all.
    return max(last, min([_product_quantum(unit), *(fmt.quantum_exp for fmt in added)]))


def _product_quantum(unit: Unit) -> int:
    return unit.operands.a.quantum_exp + unit.operands.b.quantum_exp


def _is_partial(unit: Unit) -> bool:
    """True if products are added to sums of products alone, whose bits all are in a window that they make."""
    rule, fmt = unit.sum, unit.result.format
    return (
        (unit.promotion is not None or unit.late is not None)
        and isinstance(rule, AlignedSum)
        and isinstance(fmt, FloatFormat)
        and fmt.precision <= rule.fraction_bits + 1
        and rule.cut is None
        and rule.lost != "ones-complement"
    )


def _alone_below(unit: Unit, exp: int) -> str:
    """The reason why a lone product's bits below a power of two do not count: one that has some rounds to zero."""
    rule, result, (a, b) = unit.sum, unit.result, unit.operands.multiplied
    fmt = result.format
    if not one_term(unit) or not isinstance(rule, ExactSum) or unit.scale is not None or unit.late is not None:
        return ""
    if not isinstance(a, FloatFormat) or not isinstance(b, FloatFormat) or not isinstance(fmt, FloatFormat):
        return ""
    # A zero has the sign of the product, or none has one; a format without subnormals may round to its least number.
    if (
        (rule.zero == "positive") != (result.tiny == "positive")
        or not fmt.subnormals
        or result.rounding in ("ru", "rd", "rto")
    ):
        return ""
    least = fmt.quantum_exp - 1 - a.sig_bits - b.sig_bits
    return f"a product with bits below 2^{exp} is less than half of {fmt.name}'s least number" if exp <= least else ""


def _numbers_above(unit: Unit, exp: int) -> str:
    """The reason why no term of a rounded addition has bits below 2^exp: each is a number of the sums' format."""
    rule = unit.sum
    if not isinstance(rule, RoundedSum) or rule.product != "rounded" or exp > rule.format.quantum_exp:
        return ""
    return f"terms are numbers of {rule.format.name}, multiples of 2^{rule.format.quantum_exp}"


def _floored_below(unit: Unit, exp: int) -> str:
    """The reason why sums may be rounded down to multiples of 2^exp: no product with lower bits is just above an edge.

    Edges are the multiples of half of the format's least number. A sum that a product leaves less than 2^exp above one
    would be rounded down to it, and no other. Above the edge at zero is a product alone, or beside a number, which
    stays itself, as zeros keep the signs that they have.
    """
    rule, (a, b) = unit.sum, unit.operands.multiplied
    if not isinstance(rule, SequentialSum) or rule.product != "fused" or rule.rounding not in TIES or rule.flushes:
        return ""
    fmt, quantum, bits = rule.format, _product_quantum(unit), a.sig_bits + b.sig_bits
    edge = fmt.quantum_exp - 1
    if not fmt.subnormals or exp > edge or unit.scale is not None or rule.subgroup is not None:
        return ""
    least = f"half of {fmt.name}'s least number, 2^{edge}"
    if exp - 1 + bits < edge:
        return f"a product with bits below 2^{exp} is less than 2^{exp - 1 + bits}, and {least}"
    if max(a.sig_bits, b.sig_bits) > MOST_SIG_BITS:
        return ""
    odd = _odd_products(a.sig_bits, b.sig_bits)
    for low in range(quantum, exp):
        places, above = edge - low, 1 << exp - low
        below, far = odd & (1 << places) - 1, odd >> places > 0
        if ((far & (below < above)) | (below > (1 << places) - above)).any():
            return ""
    return f"none of the products of {a.name} and {b.name} with bits below 2^{exp} is so near to a multiple of {least}"


@lru_cache(maxsize=4)
def _odd_products(bits_a: int, bits_b: int) -> NDArray[np.int64]:
    """All odd products of integers of at most so many bits, ascending."""
    return np.unique(np.multiply.outer(np.arange(1, 1 << bits_a, 2), np.arange(1, 1 << bits_b, 2)))


def _zeros_lose_nothing(unit: Unit) -> str:
    """The reason why a window that a product of zero moves up loses no bits: it ends below them all."""
    rule, (a, b) = unit.sum, unit.operands.multiplied
    if not isinstance(rule, AlignedSum) or not isinstance(a, FloatFormat) or not isinstance(b, FloatFormat):
        return ""
    if rule.subgroup is not None or (unit.scale is not None and unit.scale.at != "promotion"):
        return ""
    if rule.lost == "ones-complement" or (_added(unit) and not _is_partial(unit)):
        return ""
    last, quantum = max(a.emin + b.emax, a.emax + b.emin) - rule.fraction_bits, _product_quantum(unit)
    return f"the window of a zero ends at 2^{last}, and terms are multiples of 2^{quantum}" if last <= quantum else ""


def _starts_positive(unit: Unit) -> str:
    """The reason why a group in whose window sums of zero are +0 adds its products to no -0."""
    rule, fmt = unit.sum, unit.result.format
    if not isinstance(rule, AlignedSum) or rule.zero != "positive" or not (unit.promotion or unit.late):
        return ""
    if isinstance(unit.late, LateInWindow):  # that window's last term is the addend, which may be -0
        return ""
    small = "" if not isinstance(fmt, FloatFormat) else _tiny(unit, roundings(unit)["result"], False)
    return small and f"sums start from +0, and none becomes -0: {small}"


def _most_cut(unit: Unit, place: RoundingPlace) -> int | None:
    """The most places below the last one that a result's rounding has; None where nothing bounds them."""
    fmt, late = place.format, unit.late
    if not isinstance(fmt, FloatFormat) or not fmt.subnormals or place.name != "result":
        return None
    if isinstance(late, LateInWindow):
        return None if late.total_bits is None else late.total_bits - fmt.fraction_bits
    most, least = _most(unit, Shows("sum beyond")), _window_unit(unit)
    if most is None or least is None or not isinstance(unit.sum, AlignedSum):
        return None
    return max(most.bit_length() - fmt.precision, fmt.quantum_exp - least)


def _product_exps(unit: Unit) -> tuple[int, int] | None:
    """The least and the largest exponents of products of floats."""
    low, high = 0, 0
    for source, fmt in zip((unit.operands.a, unit.operands.b), unit.operands.multiplied, strict=True):
        if not isinstance(source, FloatFormat) or not isinstance(fmt, FloatFormat):
            return None
        # A conversion makes subnormal numbers normal.
        low += max(fmt.emin, source.quantum_exp) if fmt != source else fmt.emin
        high += source.emax
    return low, high


def _added(unit: Unit) -> list[Format]:
    """The formats of what a group's products are added to."""
    chained = unit.instruction.chain is not None or unit.instruction.groups > 1
    c = unit.operands.addend
    addends = [c] if c is not None and unit.sum.addend == "aligned" and unit.promotion is None else []
    return [*addends, *([unit.result.format] if chained else [])]


# Widths.


def _fits(unit: Unit, shows: Shows) -> str:
    """The reason why a sum, or a term, is an integer of so many bits and a sign."""
    most, fmt = _most(unit, shows), unit.output
    if most is None or most >= 1 << shows.bits:
        if _wraps(unit) and shows.bits + 1 >= fmt.bits:
            return f"results are taken modulo 2^{fmt.bits} themselves"
        return ""
    words = {"term beyond": "a term", "product beyond": "a product", "products beyond": "a sum of products"}
    word = words.get(shows.where, "the sum")
    return f"{word} is at most {most} last places in magnitude, less than 2^{shows.bits}"


def _wraps(unit: Unit) -> bool:
    """True if a result is its sum, exactly, modulo a power of two."""
    fmt, formats = unit.result.format, (unit.operands.a, unit.operands.b, *_added(unit))
    return (
        isinstance(fmt, FixedFormat)
        and unit.result.overflow == "wrap"
        and isinstance(unit.sum, ExactSum)
        and unit.scale is None
        and unit.late is None
        and unit.promotion is None
        and all(isinstance(number, FixedFormat) and number.quantum_exp == 0 == fmt.quantum_exp for number in formats)
    )


def _most(unit: Unit, shows: Shows) -> int | None:
    """The largest number that the mistake gives a width, in units of its last place; None where nothing bounds it."""
    rule, (a, b) = unit.sum, unit.operands.multiplied
    if shows.where == "product beyond":
        fixed = isinstance(a, FixedFormat) and isinstance(b, FixedFormat)
        return span_of(a).most * span_of(b).most if fixed else None
    if unit.scale is not None and unit.scale.at != "promotion" and not isinstance(rule, AlignedSum):
        return None
    floats = isinstance(a, FloatFormat) and isinstance(b, FloatFormat)
    if isinstance(rule, AlignedSum) and rule.subgroup is None and floats:
        sources = unit.operands.a, unit.operands.b
        # Of factors that are converted the last places are zeros.
        product = 1
        for source, fmt in zip(sources, (a, b), strict=True):
            product *= (2 << source.fraction_bits) - 1 << fmt.fraction_bits - source.fraction_bits
        products = [_placed(product, a.fraction_bits + b.fraction_bits, rule.fraction_bits)]
        added = [
            _placed((2 << fmt.fraction_bits) - 1, fmt.fraction_bits, rule.fraction_bits)
            for fmt in _added(unit)
            if isinstance(fmt, FloatFormat)
        ]
        if any(isinstance(fmt, FixedFormat) for fmt in _added(unit)):
            return None
        if rule.lost == "ones-complement" or rule.cut is not None:
            return None
        if shows.where == "term beyond":
            return max((*products, *added))
        return unit.instruction.lanes * products[0] + (max(added) if added and shows.where == "sum beyond" else 0)
    if isinstance(rule, ExactSum) and shows.where != "term beyond":
        top = unit.instruction.lanes * _largest_units(a) * _largest_units(b)
        if shows.where == "products beyond":
            return top
        if rule.rounded == "end":
            return None if unit.operands.addend is not None or unit.instruction.chain else top * unit.instruction.groups
        # What it is added to is a number of a format.
        last, terms = _product_quantum(unit), [fmt for fmt in _added(unit) if isinstance(fmt, FloatFormat)]
        if len(terms) < len(_added(unit)) or any(fmt.quantum_exp < last for fmt in terms):
            return None
        return top + max((1 << fmt.emax + 1 - last for fmt in terms), default=0)
    return None


def _placed(sig: int, places: int, window: int) -> int:
    """A significand in units of a window's last place, rounded up."""
    return sig << window - places if window >= places else -(-sig >> places - window)


def _largest_units(fmt: FloatFormat | FixedFormat) -> int:
    """The largest magnitude of a format in units of its least number."""
    if isinstance(fmt, FixedFormat):
        return span_of(fmt).most
    return (2 << fmt.emax - fmt.quantum_exp) - 1


# Decoders.


@lru_cache(maxsize=8)
def _plain(unit: Unit) -> Definition:
    return Definition(unit)


def _decoders_equal(unit: Unit, flaw: Flaw) -> str:
    """The reason why decoders do as specified: each code is tried, one by one."""
    operands, plain = unit.operands, _plain(unit)
    sides: tuple[tuple[Side, Factor], ...] = (("a", operands.a), ("b", operands.b))
    for side, fmt in sides if flaw.factor is not None else ():
        if fmt.bits > MOST_BITS:
            return ""
        for code in _codes(fmt):
            decoded = plain.factor(side, code)
            if passed(flaw.factor, decoded, side, fmt, code) != decoded:
                return ""
    added = {fmt.name: fmt for fmt in (*_added(unit), *([] if operands.addend is None else [operands.addend]))}
    for addend_format in added.values() if flaw.addend is not None else ():
        if addend_format.bits > MOST_BITS:
            return ""
        for code in _codes(addend_format):
            term = addend_term(addend_format, code)
            if passed(flaw.addend, term, addend_format, code) != term:
                return ""
    return "every code is decoded as specified: all were asked"


def _codes(fmt: Format) -> Iterator[int]:
    """Every code of a format's container."""
    return (code << fmt.padding for code in range(1 << fmt.bits))


# Distances in a window.


def _window_equal(unit: Unit, flaw: Flaw) -> str:
    """The reason why terms shifted by other distances leave the same in a window: at either, nothing is left."""
    exps, rule = _product_exps(unit), unit.sum
    if exps is None or flaw.distance is None or not isinstance(rule, AlignedSum | EvenOddSum):
        return ""
    if isinstance(rule, AlignedSum) and rule.subgroup is not None:
        return ""
    low, high = exps
    scale = unit.scale
    if scale is not None and scale.at != "promotion":
        ends = [(fmt.min_code - fmt.bias, fmt.max_code - fmt.bias) for fmt in (scale.a.format, scale.b.format)
                if not isinstance(fmt, FloatFormat | FixedFormat)]  # fmt: skip
        if len(ends) < 2:
            return ""
        low, high = low + sum(end[0] for end in ends), high + sum(end[1] for end in ends)
    for fmt in _added(unit) if isinstance(rule, AlignedSum) else ():
        if not isinstance(fmt, FloatFormat):
            return ""
        least, most = fmt.emin, fmt.emax
        if _is_partial(unit):
            groups = unit.restart or unit.instruction.groups
            # A product is less than 4, and so few roundings make a sum less than twice as large.
            grown = high + 3 + (groups * unit.instruction.lanes).bit_length()
            least = max(low - rule.fraction_bits, _product_quantum(unit))
            most = min(most, grown) if groups <= 1 << max(0, fmt.fraction_bits - 1) else most
        low, high = min(low, least), max(high, most)
    if rule.max_exp_floor is not None:
        high = max(high, rule.max_exp_floor)
    if rule.zero_terms != "skip":
        return ""
    # Products are less than 4: from here on a term is less than the window's last place, or than a quarter of it.
    gone = rule.fraction_bits + (2 if rule.lost == "truncate" else 4)
    if isinstance(rule, EvenOddSum):  # sums of half of the products each, which are more
        gone = max(gone, rule.combine.fraction_bits + 4 + unit.instruction.lanes.bit_length())
    for distance in range(high - low + 1):
        changed = flaw.distance(distance)
        if changed != distance and not (distance >= gone and changed >= gone):
            return ""
    return f"terms stand at most {high - low} places below max_exp, and of one {gone} places below nothing is left"


# Products that are rounded alone.


def _products_rounded_alike(unit: Unit, flaw: Flaw) -> str:
    """The reason why results of one product each are rounded alike: all products of significands are tried.

    A flaw of a last place takes another rule, or less bits, or shifts by one place. Where results below the least
    normal number become zero, those some binades below it cannot be rounded up to it then.
    """
    result, (a, b) = unit.result, unit.operands.multiplied
    fmt, exact = result.format, isinstance(unit.sum, ExactSum) and one_term(unit)
    if not exact or unit.scale is not None or unit.late is not None or unit.promotion is not None:
        return ""
    if not isinstance(a, FloatFormat) or not isinstance(b, FloatFormat) or not isinstance(fmt, FloatFormat):
        return ""
    if not fmt.subnormals or result.flushes == "after" or max(a.sig_bits, b.sig_bits) > MOST_ALONE:
        return ""
    whole, last = 1 << fmt.fraction_bits, max(0, fmt.quantum_exp - _product_quantum(unit))
    sigs = {x * y for x in range(1, 1 << a.sig_bits) for y in range(1, 1 << b.sig_bits)}
    if result.flushes is None and len(sigs) * last > MOST_ROUNDED:
        return ""
    for sig in sigs:
        cut = sig.bit_length() - fmt.precision
        for shift, sign in cross(range(cut, cut + BINADES if result.flushes else max(cut, last) + 1), (0, 1)):
            place = LastPlace(sig, shift, sign, result.rounding, shift > cut)
            kept = [rounded_magnitude(variant) for variant in (place, passed(flaw.last_place, place))]
            if place.tiny and result.flushes is not None:
                kept = [number if number >= whole and result.flushes == "result" else 0 for number in kept]
            if kept[0] != kept[1]:
                return ""
    return f"all products of significands of {a.name} and {b.name} are rounded alike, wherever the last place is"


# Additions of two terms.


def _additions_equal(unit: Unit, flaw: Hooks, place: str) -> str:
    """The reason why a smaller term that is shifted, cut or lost changes no result, at any distance of two terms."""
    pairs = [pair for pair in adders(unit) if pair.place == place]
    before = roundings(unit)[place].flushes == "before"
    for pair in pairs:
        fmt, top = pair.format, pair.of_larger.top
        if not pair.larger.endswith(PRODUCT) and isinstance(fmt, FloatFormat):
            top = max(top, fmt.emax)  # sums grow
        lower = _leading_lower(unit, pair)
        if not all(_same(pair, flaw, distance, before, lower) for distance in range(top - pair.of_smaller.low + 1)):
            return ""
    return NEAR if pairs else ""


NEAR = (
    "at every distance of the terms the smaller one loses nothing, or it is nearer to nothing than any place at which "
    "the rounding changes"
)


def _same(pair: RoundedPair, flaw: Hooks, distance: int, before: bool, lower: int) -> bool:
    """True if the sum is rounded alike where the smaller term's leading one stands so far below the larger one's.

    The larger term is a multiple of its last place, and the rounding changes at multiples of half the last place of
    the sum, in the binade below too: between two multiples of both it does not depend on how large the smaller term is.
    A number of the sum's format stays itself, to nearest, beside less than half a last place of the binade below.
    A distance of exponent fields is that of leading ones, or less where the smaller term is subnormal.
    lower: how many places lower than that the larger term may have its leading one.
    before: whether what is below the least normal number, not rounded yet, becomes zero: that number less anything is.
    """
    p = pair.precision
    of_addend = not pair.smaller.endswith(PRODUCT)
    changed = distance if flaw.distance is None else flaw.distance(distance)
    dropped = flaw.dropped is not None and flaw.dropped(False, distance, of_addend)
    apart = max(pair.of_larger.bits, p + 2)
    edge = before and isinstance(pair.format, FloatFormat) and pair.of_smaller.least + distance <= pair.format.emin
    alone = pair.is_number and pair.ties and not edge and min(distance, changed) - lower >= p + 2
    if dropped:
        return alone
    if changed != distance and not (min(distance, changed) - lower >= apart or alone):
        return False
    if flaw.cut is None:
        return True
    cuts = [flaw.cut(None, p, opposite) for opposite in (False, True)]
    return changed == distance and all(_cut_same(pair, cut, distance, alone, lower) for cut in cuts)


def _cut_same(pair: RoundedPair, cut: TermCut | None, distance: int, alone: bool, lower: int) -> bool:
    """True if the cut of the smaller term changes no rounding."""
    if cut is None or alone:
        return True
    if cut.bits >= distance + pair.of_smaller.bits - 1:
        return True  # nothing is lost
    kept = cut.bits - lower >= max(pair.of_larger.bits, pair.precision + 2)
    return cut.lost == "jam" and distance - lower >= 2 and kept


def _leading_lower(unit: Unit, pair: RoundedPair) -> int:
    """The places that a larger term's leading one may be below its exponent, being another format's subnormal.

    A subnormal has the least exponent of its format, and none of the smaller term's is less where its format's least
    is not. A partial sum is no subnormal where the least one, less what a window cuts off, is a normal number.
    """
    if pair.place not in ("promotion", "late addition") or pair.larger == REGISTER:
        return 0
    fmt, rule, emins = unit.result.format, unit.sum, [_emins(unit, role) for role in (pair.larger, pair.smaller)]
    bits = pair.of_larger.bits - 1
    if unit.scale is not None or not isinstance(fmt, FloatFormat) or not all(emins):
        return bits
    window = rule.fraction_bits + 2 if isinstance(rule, AlignedSum) else 0
    normal = pair.larger == PARTIAL and window and pair.of_larger.least - window >= fmt.emin
    return 0 if normal or max(emins[0]) <= min(emins[1]) else bits


def _emins(unit: Unit, role: str) -> list[int]:
    """The least exponents of the formats that a term of an addition after groups may be of; none where one is fixed."""
    c, late, promotion = unit.operands.addend, unit.late, unit.promotion
    if role == PARTIAL:
        formats: list[Format | None] = [unit.result.format]
    else:
        formats = [promotion.format if promotion is not None else c, late.format if isinstance(late, LateAdd) else None]
    held = [fmt for fmt in formats if fmt is not None]
    floats = [fmt.emin for fmt in held if isinstance(fmt, FloatFormat)]
    return floats if len(floats) == len(held) else []
