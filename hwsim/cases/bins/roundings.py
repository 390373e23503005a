"""G7 and G8: how a sum is rounded, and results next to where a format changes."""

from __future__ import annotations

from hwsim.cases.bins.declare import Declared, Hits
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.sampled import SampledGroup

SIGNS = ("+", "-")
MOST_CUT = 12  # up to so many places cut off, each sticky place of each has a bin


def declare(facts: UnitFacts, out: Declared) -> None:
    """Last, guard and sticky bits; single sticky bits; carries into the next binade; runs of zeros; near misses."""
    _rounding(facts, out)
    _near(facts, out)


def _uncut(facts: UnitFacts, places: int) -> str | None:
    """Why rounding never cuts off so many places, or None."""
    if facts.most_cut >= places or facts.range.underflow:
        return None
    fraction = facts.result.fraction_bits
    return (
        f"a sum has {facts.window} fraction bits and grows by at most {facts.most_growth}, and {facts.result.name} has "
        f"{fraction}: of a normal result at most {max(facts.most_cut, 0)} places are cut off, and none is subnormal"
    )


def _rounding(facts: UnitFacts, out: Declared) -> None:
    tables = {}
    for sign in (0, 1):
        for last in (0, 1):
            for guard in (0, 1):
                for sticky in (0, 1):
                    cut = guard or sticky  # nothing else needs a place that is cut off
                    why = (_exact(facts) or _uncut(facts, 2 if sticky else 1)) if cut else None
                    name = f"{SIGNS[sign]}, last {last}, guard {guard}, sticky {sticky}"
                    tables[sign, last, guard, sticky] = out.bin("G7", name, why)
    fraction = facts.result.fraction_bits
    ones = {
        (sign, guard): out.bin(
            "G7",
            f"{SIGNS[sign]} all ones, guard {guard}",
            (_exact(facts) or _uncut(facts, 1)) if guard else None,
        )
        for sign in (0, 1)
        for guard in (0, 1)
    }
    runs = [out.bin("G7", f"result ends in {zeros} zeros") for zeros in range(fraction + 1)]
    cuts = min(max(facts.most_cut, 0), MOST_CUT)
    single = {
        (cut, place, guard): out.bin(
            "G7", f"{cut} places cut off, sticky from place {place} alone, guard {guard}", _exact(facts)
        )
        for cut in range(2, cuts + 1)
        for place in range(cut - 1)
        for guard in (0, 1)
    }
    all_ones, emin, window = (2 << fraction) - 1, facts.result.emin, facts.window

    def sample(sampled: SampledGroup, hits: Hits) -> None:
        rounded, total = sampled.group.rounded, sampled.group.total
        if sampled.top is None or not total or rounded.exp is None:
            return
        sign, size = int(total < 0), abs(total)
        cut = max(rounded.exp, emin) - fraction - (sampled.top - window)
        if cut <= 0:
            kept, guard, low = size << -cut, 0, 0
        else:
            kept, guard, low = size >> cut, size >> cut - 1 & 1, size & ((1 << cut - 1) - 1)
        hits.add(tables[sign, kept & 1, guard, 1 if low else 0])
        if rounded.exp < emin:
            return
        if kept == all_ones:
            hits.add(ones[sign, guard])
        hits.add(runs[(kept & -kept).bit_length() - 1])
        if low and not low & (low - 1) and (cut, low.bit_length() - 1, guard) in single:
            hits.add(single[cut, low.bit_length() - 1, guard])

    out.groups.append(sample)


def _exact(facts: UnitFacts) -> str | None:
    """Why every sum fits into the result's significand, or None."""
    if facts.shallow is None or facts.range.underflow:
        return None
    bits = min(facts.shallow[0], facts.window) + facts.most_growth + 1
    if bits > facts.result.fraction_bits + 1:
        return None
    return f"a sum of products of {facts.names} has at most {bits} bits, and {facts.result.name} keeps as many"


def _near(facts: UnitFacts, out: Declared) -> None:
    """Results on a code at which something changes, and on the codes next to it."""
    fmt = facts.result
    first, one = 1 << fmt.fraction_bits, fmt.bias << fmt.fraction_bits
    places = {
        1: "the least number",
        2: "one above the least number",
        first - 1: "one below the least normal",
        first: "the least normal",
        first + 1: "one above the least normal",
        one - 1: "one below 1",
        one: "1",
        one + 1: "one above 1",
        fmt.max_magnitude - 1: "one below the largest",
        fmt.max_magnitude: "the largest",
    }
    at = {
        (magnitude, sign): out.bin("G8", f"result {SIGNS[sign]}{word}", _never(facts, magnitude))
        for magnitude, word in places.items()
        for sign in (0, 1)
    }
    powers = {
        (step, sign): out.bin("G8", f"result {SIGNS[sign]}{word} another power of two")
        for step, word in ((-1, "one below"), (0, "on"), (1, "one above"))
        for sign in (0, 1)
    }
    low, padding = first - 1, fmt.padding

    def sample(sampled: SampledGroup, hits: Hits) -> None:
        rounded = sampled.group.rounded
        if sampled.top is None or rounded.overflow or rounded.exp is None:
            return
        code = rounded.code >> padding
        magnitude, sign = code & (fmt.sign_bit - 1), int(code & fmt.sign_bit != 0)
        if (magnitude, sign) in at:
            hits.add(at[magnitude, sign])
        elif magnitude > first:
            step = {low: -1, 0: 0, 1: 1}.get(magnitude & low)
            if step is not None:
                hits.add(powers[step, sign])

    out.groups.append(sample)


def _never(facts: UnitFacts, magnitude: int) -> str | None:
    """Why no result has a magnitude near the ends of the format, or None."""
    fmt = facts.result
    if facts.bench.addend_format is not None:
        return None
    unit_exp, why = facts.unit_of_sums
    if magnitude <= (1 << fmt.fraction_bits) + 1 and unit_exp > fmt.emin:
        return f"every sum is 0 or a multiple of 2^{unit_exp}, {why}, and the least normal is 2^{fmt.emin}"
    most = facts.largest_sum
    if magnitude >= fmt.max_magnitude - 1 and most is not None and most < 1 << fmt.emax:
        exact = most.numerator.bit_length() - most.denominator.bit_length() + 1
        return f"no sum of products that the unit can be given reaches 2^{exact}, far below the largest number"
    return None
