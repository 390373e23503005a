"""G9: the ends of the result's range, and shared scales."""

from __future__ import annotations

from hwsim.cases.bins.declare import Declared, Hits
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.lostrules import drops_what_is_far_below
from hwsim.cases.bins.sampled import SampledGroup
from hwsim.formats import ExponentFormat, FloatFormat

SIGNS = ("+", "-")
NEAR = 3  # codes of an addend's format that count as near
ZONES = ("near the largest", "near the least normal", "subnormal")
PUSHES = ("out of the range", "back into it")


def declare(facts: UnitFacts, out: Declared) -> None:
    """Addends near the ends of the range that products push; overflow and underflow; the scales' landmarks."""
    if facts.addends:
        _pushed(facts, out)
    _results(facts, out)
    if facts.unit.scale is not None:
        _scales(facts, out)


def _pushed(facts: UnitFacts, out: Declared) -> None:
    """Addends near an end, with products that count beside them: both have bits in the window."""
    fmt = facts.bench.addend_format or facts.result
    at = {
        (zone, push): out.bin("G9", f"addend {ZONES[zone]}, products push {PUSHES[push]}", _swamped(facts, fmt, zone))
        for zone in range(3)
        for push in (0, 1)
    }
    first, most = 1 << fmt.fraction_bits, fmt.max_magnitude

    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if sampled.addend is None or not sampled.group.aligned[-1]:
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

    out.groups.append(sample)


def _swamped(facts: UnitFacts, fmt: FloatFormat, zone: int) -> str | None:
    """Why an addend near an end and products never count both, or None."""
    if not drops_what_is_far_below(facts.lost):
        return None
    low, high = facts.bench.scale_ends
    least, most = facts.exps[0] + low, facts.exps[-1] + high
    if facts.bench.addend_format is None:
        return _no_partial(facts, zone)
    # A place more, for what nearest rounds up.
    if zone == 0 and fmt.emax - facts.window > most + 2:
        return (
            f"the window of such an addend ends at 2^{fmt.emax - facts.window}, above twice the largest product, "
            f"which is below 2^{most + 2}"
        )
    if zone and least - facts.window > fmt.emin + 2:
        return (
            f"max_exp is at least a product's, {least}, so that the window ends at 2^{least - facts.window} or above, "
            f"more than twice such an addend"
        )
    return None


def _no_partial(facts: UnitFacts, zone: int) -> str | None:
    fmt, most = facts.result, facts.largest_sum
    if zone == 0 and most is not None and most < 1 << fmt.emax:
        return f"an addend is a partial sum, which is below {float(most):.3g}"
    unit_exp, why = facts.unit_of_sums
    if zone and unit_exp > fmt.emin:
        return f"an addend is a partial sum, a multiple of 2^{unit_exp}, {why}"
    return None


def _results(facts: UnitFacts, out: Declared) -> None:
    over = None if facts.range.overflow else facts.range.reasons[0].removeprefix("overflow: ")
    under = None if facts.range.underflow else facts.range.reasons[1].removeprefix("underflow: ")
    overflow = [out.bin("G9", f"{sign} overflow", over) for sign in SIGNS]
    subnormal = [out.bin("G9", f"{sign} subnormal result beside a product that counts", under) for sign in SIGNS]
    zero = [
        out.bin("G9", f"{word} sum that rounds to zero", under or _never_zero(facts, sign))
        for sign, word in enumerate(SIGNS)
    ]

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

    out.groups.append(sample)


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


def _scales(facts: UnitFacts, out: Declared) -> None:
    """Exponents that both scales add together, NaN in either, and products far out with a result inside."""
    low, high = facts.bench.scale_ends
    a, b = facts.bench.scale_formats
    least, most = -a.bias, a.max_code - a.bias
    marks = {low, high, least, least + 1, -1, 0, 1, most - 1, most}
    at = {exp: out.bin("G9", f"scales together 2^{exp}") for exp in sorted(marks) if low <= exp <= high}
    nan = [out.bin("G9", f"NaN scale of {word}", _no_nan(fmt)) for word, fmt in (("a", a), ("b", b))]
    both = out.bin("G9", "NaN scale of a and of b", _no_nan(a) or _no_nan(b))
    far = [
        out.bin("G9", f"scales together above 2^{most}, result inside the range", _within(high, most)),
        out.bin("G9", f"scales together below 2^{least}, result inside the range", _within(least, low)),
    ]

    def sample(sampled: SampledGroup, hits: Hits) -> None:
        exps = sampled.group.scale_exp
        for exp in set(exps):
            if exp is None:
                _nan(sampled, hits)
            else:
                if exp in at:
                    hits.add(at[exp])
                rounded = sampled.group.rounded
                if sampled.terms and not rounded.overflow and not rounded.tiny and sampled.group.total:
                    if exp > most:
                        hits.add(far[0])
                    elif exp < least:
                        hits.add(far[1])

    def _nan(sampled: SampledGroup, hits: Hits) -> None:
        found = [any(fmt.is_nan(code) for code in codes) for fmt, codes in _sides(sampled)]
        if all(found):
            hits.add(both)
        elif any(found):
            hits.add(nan[found.index(True)])

    def _sides(sampled: SampledGroup) -> list[tuple[ExponentFormat, tuple[int, ...]]]:
        return [(a, sampled.case.scale_a), (b, sampled.case.scale_b)]

    out.groups.append(sample)


def _no_nan(fmt: ExponentFormat) -> str | None:
    return None if fmt.nan else f"{fmt.name} has no NaN"


def _within(high: int, most: int) -> str | None:
    return f"both scales together are at most 2^{high}" if high <= most else None
