"""G9: the ends of the result's range."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product as cross

from hwsim.cases.bench import SIGN, SIGN_PAIRS, SIGNS, Bench
from hwsim.cases.bins.declare import MARKS, Declared, Family, Hits
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.lostrules import drops_what_is_far_below
from hwsim.cases.bins.sampled import SampledGroup
from hwsim.cases.palette import Product
from hwsim.formats import FloatFormat, unpack

NEAR = 3  # codes of an addend's format that count as near
ZONES = ("near the largest", "near the least normal", "subnormal")
PUSHES = ("out of the range", "back into it")


def declare_ranges(facts: UnitFacts, out: Declared) -> None:
    """Addends near the ends of the range that products push; overflow and underflow."""
    if facts.addends:
        _pushed(facts, out)
    _results(facts, out)


def _pushed(facts: UnitFacts, out: Declared) -> None:
    """Addends near an end, with products that count beside them: both have bits in the window."""
    fmt = facts.bench.addend_format or facts.result
    at = {
        (zone, push): out.bin("G9", f"addend {ZONES[zone]}, products push {PUSHES[push]}", _swamped(facts, fmt, zone))
        for zone in range(3)
        for push in (0, 1)
    }
    first, most = 1 << fmt.fraction_bits, fmt.max_magnitude

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        # A partial sum in another format than c's has other ends.
        if sampled.addend is None or not sampled.group.aligned[-1] or sampled.group.addend_format != fmt:
            return
        pushed = sum(sampled.group.aligned[:-1])
        if not pushed:
            return
        _, term, _, _ = sampled.addend
        magnitude = (term.exp - fmt.emin << fmt.fraction_bits) + term.sig
        apart = int((pushed < 0) != bool(term.sign))
        if most - magnitude <= NEAR:
            hits.add(at[0, apart])
        elif magnitude < first:
            hits.add(at[2, 1 - apart])
        elif magnitude - first <= NEAR:
            hits.add(at[1, 1 - apart])


def _swamped(facts: UnitFacts, fmt: FloatFormat, zone: int) -> str | None:
    """Why an addend near an end and products never count both, or None."""
    if not drops_what_is_far_below(facts.lost):
        return None
    low, high = facts.bench.scale_ends
    least, most = facts.exps[0] + low, facts.exps[-1] + high
    lowest, whose = least, "a product's"
    if facts.floor is not None and facts.floor > least:
        lowest, whose = facts.floor, "its floor"
    if facts.bench.addend_format is None:
        return _no_partial(facts, zone)
    # A place more, for what nearest rounds up.
    if zone == 0 and fmt.emax - facts.window > most + 2:
        return (
            f"the window of such an addend ends at 2^{fmt.emax - facts.window}, above twice the largest product, "
            f"which is below 2^{most + 2}"
        )
    if zone and lowest - facts.window > fmt.emin + 2:
        return (
            f"max_exp is at least {whose}, {lowest}, so that the window ends at 2^{lowest - facts.window} or above, "
            f"more than twice such an addend"
        )
    return None


def _no_partial(facts: UnitFacts, zone: int) -> str | None:
    fmt, most = facts.result, facts.largest_sum
    if zone == 0 and most is not None and most < Fraction(2) ** fmt.emax:
        return f"an addend is a partial sum, which is below {float(most):.3g}"
    unit_exp, why = facts.unit_of_sums
    if zone and unit_exp > fmt.emin:
        return f"an addend is a partial sum, a multiple of 2^{unit_exp}, {why}"
    return None


def _results(facts: UnitFacts, out: Declared) -> None:
    over = None if facts.range.overflow else facts.range.reasons[0].removeprefix("overflow: ")
    under = None if facts.range.underflow else facts.range.reasons[1].removeprefix("underflow: ")
    overflow = [out.bin("G9", f"{sign} overflow", over) for sign in MARKS]
    subnormal = [out.bin("G9", f"{sign} subnormal result beside a product that counts", under) for sign in MARKS]
    zero = [
        out.bin("G9", f"{word} sum that rounds to zero", under or _never_zero(facts, sign))
        for sign, word in enumerate(MARKS)
    ]

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        group = sampled.group
        if sampled.top is None or not group.total:
            return
        sign = int(group.total < 0)
        if group.overflow:
            hits.add(overflow[sign])
        elif group.rounded.tiny and any(group.aligned[: len(group.products)]):
            small = group.code >> facts.result.padding & (facts.result.sign_bit - 1)
            hits.add(subnormal[sign] if small else zero[sign])


def _never_zero(facts: UnitFacts, sign: int) -> str | None:
    """Why a sum of a sign, other than zero, never rounds to zero, or None."""
    fmt, (unit_exp, why) = facts.result, facts.unit_of_sums
    rounding = facts.unit.result.rounding
    if rounding == "rto" or rounding == ("rd" if sign else "ru"):
        return f"rounding {rounding} takes what is below the least number to the least number"
    if fmt.subnormals and unit_exp >= fmt.emin - fmt.fraction_bits:
        least = fmt.emin - fmt.fraction_bits
        return (
            f"every sum with a product is a multiple of 2^{unit_exp}, {why}, and {fmt.name}'s least number is 2^{least}"
        )
    return None


def magnitudes(bench: Bench) -> Iterator[tuple[str, int, int]]:
    """Numbers near the ends of the result's range, and of every subnormal length.

    Name, integer, and the exponent of its unit.
    """
    fmt = bench.result
    ulp = fmt.emax - fmt.fraction_bits - 2
    most = ((fmt.max_magnitude & (1 << fmt.fraction_bits) - 1) | 1 << fmt.fraction_bits) << 2
    for name, step in (("-ulp", -4), ("", 0), ("+quarter", 1), ("+half", 2), ("+three-quarters", 3), ("+ulp", 4)):
        yield f"largest{name}", most + step, ulp
    yield "twice-largest", most, ulp + 1
    least = fmt.emin - fmt.fraction_bits
    for place in range(fmt.fraction_bits + 4):
        lead = fmt.emin + 1 - place
        kept = max(0, lead - least)
        yield f"lead{place:02}", 1, lead
        yield f"lead{place:02}-ones", (2 << bench.window) - 1, lead - bench.window
        yield f"lead{place:02}-half", (1 << kept + 1) | 1, lead - kept - 1
        yield f"lead{place:02}-odd-half", (1 << kept + 1) | 3, lead - kept - 1
        yield f"lead{place:02}-above-half", (1 << kept + 3) | 5, lead - kept - 3
        yield f"lead{place:02}-below-half", (1 << kept + 3) | 3, lead - kept - 3


def ends(bench: Bench) -> None:
    """Results at the ends of the range: overflow and just not, and underflow through every subnormal place to zero."""
    for (name, size, unit_exp), sign in cross(magnitudes(bench), SIGNS):
        bench.add_solution(f"range/{name}-{SIGN[sign]}", bench.solved(-size if sign else size, unit_exp))


def pushed(bench: Bench, facts: UnitFacts) -> None:
    """Addends near the ends of their format's range, and products of about their size that push them over or back."""
    fmt = bench.addend_format or bench.result
    first, most = 1 << fmt.fraction_bits, fmt.max_magnitude
    zones = {"largest": most - 1, "least-normal": first + 1, "subnormal": first - 1, "middle-subnormal": first // 2}
    for (word, magnitude), signs in cross(zones.items(), SIGN_PAIRS):
        _, exp, sig, _ = unpack(fmt, magnitude << fmt.padding)
        added = bench.addend(signs[0], sig, exp - fmt.fraction_bits)
        one = beside(bench, signs[1], exp) if added else None
        if added and one:
            bench.add_beat(f"G9/{word}-{signs[0]}{signs[1]}", one[:1], added, shift=one[1])


def beside(bench: Bench, sign: int, exp: int) -> tuple[Product, int] | None:
    """A product whose exponent, scaled, is near this one; and the shift of the scales."""
    for source in bench.tries:
        products = bench.palette.of(sign, source)
        for step in (0, -1, 1, -2, 2, -3, -4, -5, -6):
            shift = exp + step - source if bench.unit.scale is not None else 0
            if products and bench.can_shift(shift) and abs(source + shift - exp) <= bench.window - 2:
                return products[-1], shift
    return None


RANGES = Family(
    "ranges",
    groups={"G9": "range"},
    declare=declare_ranges,
    directed=(ends,),
    rest=(pushed,),
)
