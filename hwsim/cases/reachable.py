"""Whether a unit's sums can leave the range of its result format: a proof by exact integer bounds, or a witness.

The terms of a sum are independent of one another, so that for each max_exp the largest sum is that of each term's
largest, with one of them at max_exp. That is computed, for every max_exp that there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hwsim.cases.bench import Bench
from hwsim.cases.bins.lostrules import keeps_what_fits
from hwsim.cases.case import Case
from hwsim.cases.landmarks import exact_code
from hwsim.cases.palette import Product
from hwsim.cases.solver import Addend, Filling, Solution
from hwsim.formats import Class, FloatFormat
from hwsim.model.terms import Term, addend_term, align, lost_part
from hwsim.spec import Unit
from hwsim.spec.rules import embeds
from hwsim.words import counted

MOST_BEATS = 4096  # of a witness by a chain


@dataclass(frozen=True)
class RangeReport:
    """What the sums of finite operands can reach in the result format, before promotion.

    overflow: whether a rounded sum can be too large. underflow: whether a sum in which a product counts can be below
    the smallest normal number and not zero; an addend that passes through beside nothing does not count.
    False is proved. True has a witness, a case whose last beat does it, unless the bounds only do not exclude it.
    reasons: a sentence for each.
    """

    overflow: bool
    underflow: bool
    reasons: tuple[str, str]
    overflow_witness: Case | None = None
    underflow_witness: Case | None = None


def range_report(unit: Unit) -> RangeReport:
    """Whether a unit's result format can overflow and underflow.

    Raises NotImplementedYet for a unit without bins.
    """
    bench = Bench(unit, 0)
    overflow, why_overflow, large = _overflow(bench)
    underflow, why_underflow, small = _underflow(bench)
    return RangeReport(overflow, underflow, (why_overflow, why_underflow), large, small)


# Overflow.


@dataclass(frozen=True)
class _Largest:
    """The largest result of one beat: its magnitude's bits, and what makes it; overflow counts as larger than any."""

    magnitude: int
    found: Solution
    overflow: bool


def _overflow(bench: Bench) -> tuple[bool, str, Case | None]:
    fmt = bench.addend_format
    largest = [_largest(bench, sign, fmt, None) for sign in (0, 1)]
    over = next((one for one in largest if one.overflow), None)
    if over is not None:
        return True, "overflow: one beat reaches it", _witness(bench, "overflow", over.found)
    if bench.partials and not (fmt is not None and embeds(bench.result, fmt)):
        return _chained_overflow(bench, max(one.magnitude for one in largest))
    return False, f"overflow: {_bound(bench, largest)}", None


def _bound(bench: Bench, largest: list[_Largest]) -> str:
    most = bench.definition.result.decode([max(one.magnitude for one in largest) << bench.result.padding])[0]
    return f"for every max_exp the largest sum of {bench.lanes} products and an addend rounds to at most {most:g}"


def _chained_overflow(bench: Bench, magnitude: int) -> tuple[bool, str, Case | None]:
    """Overflow by partial sums, which no addend stands for: they may have any value up to a bound that grows."""
    fmt, beats = bench.result, min(bench.beats, bench.unit.promotion_beats or bench.beats)
    for beat in range(1, beats):
        # Any partial sum of the largest one's binade or below, reachable or not.
        exp = max((magnitude >> fmt.fraction_bits) - fmt.bias, fmt.emin)
        largest = [_largest(bench, sign, fmt, exp) for sign in (0, 1)]
        if any(one.overflow for one in largest):
            witness = _chained_witness(bench, min(beats, MOST_BEATS))
            return True, f"overflow: not excluded after {counted(beat + 1, 'beat')}", witness
        grown = max(magnitude, *(one.magnitude for one in largest))
        if grown >> fmt.fraction_bits == magnitude >> fmt.fraction_bits:
            return False, f"overflow: {_bound(bench, largest)}, however many beats there are", None
        magnitude = grown
    return False, f"overflow: {_bound(bench, largest)}, after all {counted(beats, 'beat')}", None


def _chained_witness(bench: Bench, beats: int) -> Case | None:
    """A chain of beats that each add as much as can be to the partial sum before, if it overflows."""
    low, high = _product_exps(bench)
    for sign in (0, 1):
        fillings: list[Filling] = []
        partial = bench.definition.partial(0)
        for _ in range(beats):
            addend = Addend(partial) if partial.sig else None
            least = max(low, partial.exp) if addend else low
            tops = {*range(least, high + 1), *([partial.exp] if addend else [])}
            able = [one for top in sorted(tops) for one in _of_top(bench, sign, top, addend)]
            one = max(able, key=lambda one: (one.overflow, one.magnitude))
            fillings.append(bench.filling(one.found.products, 0, one.found.shift))
            if one.overflow:
                return bench.cases[-1] if bench.add(f"reachable/overflow{sign}", fillings) else None
            partial = bench.definition.partial(bench.measure(one.found).code)
    return None


def _product_exps(bench: Bench) -> tuple[int, int]:
    """The least and the largest reference exponent of a product, with the scales' ends."""
    exps = bench.palette.exps
    low, high = bench.scale_ends
    return exps[0] - bench.neutral + low, exps[-1] - bench.neutral + high


def _largest(bench: Bench, sign: int, fmt: FloatFormat | None, addend_exp: int | None) -> _Largest:
    """The largest result of a sign, over every max_exp. addend_exp: the addend's largest exponent, or None for any."""
    low, high = _product_exps(bench)
    if fmt is not None:
        low, high = min(low, fmt.emin), max(high, fmt.emax if addend_exp is None else addend_exp)
    floor = bench.rule.max_exp_floor
    if floor is not None:
        low, high = max(low, floor), max(high, floor)
    best = _Largest(0, Solution(()), False)
    for top in range(low, high + 1):
        most = top if addend_exp is None else min(top, addend_exp)
        addend = None if fmt is None else _largest_addend(sign, fmt, most)
        for one in _of_top(bench, sign, top, addend):
            best = max(best, one, key=lambda one: (one.overflow, one.magnitude))
    return best


def _largest_addend(sign: int, fmt: FloatFormat, exp: int) -> Addend | None:
    """The largest number of an addend's format, or of a partial sum's, with at most this exponent."""
    if exp < fmt.emin or (sign and not fmt.signed):
        return None
    code = exact_code(fmt, sign, (2 << fmt.fraction_bits) - 1, exp - fmt.fraction_bits)
    if code is None:
        code = (fmt.max_magnitude | sign * fmt.sign_bit) << fmt.padding
    return Addend(addend_term(fmt, code), code)


def _of_top(bench: Bench, sign: int, top: int, addend: Addend | None) -> Iterator[_Largest]:
    """The largest sum whose max_exp is `top`: of each term the largest, one of them at `top` unless the floor is."""
    least, most = (end - bench.neutral for end in bench.scale_ends)
    # Scales bring one of the largest exponents to `top`, as far as they go.
    for shift in {min(max(top - exp, least), most) for exp in bench.palette.exps[-3:]}:
        largest = bench.palette.largest(sign, top - shift)
        first = largest
        if (addend is None or addend.term.exp != top) and top != bench.rule.max_exp_floor:
            at_top = bench.palette.of(sign, top - shift)
            if not at_top:
                continue
            first = at_top[-1]
        products = (first, *[largest] * (bench.lanes - 1)) if first and largest else ()
        terms = [_term(bench, one, shift) for one in products] + ([addend.term] if addend else [])
        total = sum([align(term, top, bench.window, bench.rule.term_lost) for term in terms])
        sticky = bench.rule.sticky and any(lost_part(term, top, bench.window) for term in terms)
        rounded = bench.definition.round(total, top, sticky)
        magnitude = rounded.code >> bench.result.padding & (bench.result.sign_bit - 1)
        yield _Largest(magnitude, Solution(products, addend, shift), rounded.overflow)


def _term(bench: Bench, one: Product, shift: int) -> Term:
    return Term(one.sign, one.exp + shift, one.sig, bench.palette.fraction_bits, Class.NORMAL)


def _witness(bench: Bench, name: str, found: Solution) -> Case | None:
    """What was found, as a case of one beat."""
    return bench.cases[-1] if bench.add_solution(f"reachable/{name}", found) else None


# Underflow.


def _underflow(bench: Bench) -> tuple[bool, str, Case | None]:
    unit_exp, why = granule(bench)
    least = bench.result.emin
    if unit_exp >= least:
        return False, f"underflow: every sum with a product is a multiple of 2^{unit_exp} >= 2^{least}, {why}", None
    for found in _tiny(bench, unit_exp):
        group = bench.measure(found)
        if group.rounded.tiny and any(group.aligned[: len(found.products)]):
            return True, "underflow: one sum reaches it", _witness(bench, "underflow", found)
    return True, f"underflow: not excluded, because sums are multiples of 2^{unit_exp}", None


def granule(bench: Bench) -> tuple[int, str]:
    """The exponent of a power of two that every sum with a product is a multiple of, and why."""
    least = _product_exps(bench)[0]
    product = least - bench.palette.fraction_bits
    fmt = bench.addend_format
    # A partial sum is a multiple of what its products and the first addend are multiples of: rounding only coarsens.
    term = product if fmt is None else min(product, fmt.emin - fmt.fraction_bits)
    floor = bench.rule.max_exp_floor
    window = (least if floor is None else max(least, floor)) - bench.window
    if window >= term or not keeps_what_fits(bench.rule.term_lost):
        lowest = "a product's" if window == least - bench.window else f"its floor, {floor}"
        return window, f"because max_exp is at least {lowest}"
    return term, "because every term is"


def _tiny(bench: Bench, unit_exp: int) -> Iterator[Solution]:
    """Sums that may be tiny: the smallest products alone, and with addends or other products that leave little."""
    emin, exps = bench.result.emin, bench.palette.exps
    shifts = sorted({0, max(bench.scale_ends[0] - bench.neutral, emin - 1 - exps[0])}) if bench.unit.scale else [0]
    for shift in shifts:
        if bench.can_shift(shift):
            yield from (Solution((one,), None, shift) for exp in exps[:3] for one in bench.palette.of(0, exp)[:4])
    for place in range(emin - 1, unit_exp - 1, -1):
        for exp in exps[:4]:
            for one in bench.palette.of(0, exp):
                unit = min(place, one.exp - bench.palette.fraction_bits)
                size = (one.sig << one.exp - bench.palette.fraction_bits - unit) - (1 << place - unit)
                addend = bench.addend(1, size, unit)
                if addend and not addend.before:
                    yield Solution((one,), addend)
        one, little = bench.palette.of(0, exps[0])[0], bench.addend(0, 1, place)
        back = bench.palette.find(1, one.exp, one.sig)
        if back and little and not little.before and bench.lanes > 1:
            yield Solution((one, back), little)
        found = bench.solved(1, place)
        if found is not None and not (found.addend and found.addend.before):
            yield found
