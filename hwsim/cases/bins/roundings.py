"""G7, G8 and G9: how a sum is rounded, results next to where a format changes, and the ends of its range."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product as cross

from hwsim.base.text import counted
from hwsim.cases.bins.declare import MARKS, Declared, Hits, SampledGroup, window_family
from hwsim.cases.bins.facts import UnitFacts, drops_what_is_far_below
from hwsim.cases.palette import Product, distinct, exact_code
from hwsim.cases.solver import SIGN, SIGN_PAIRS, SIGNS, CaseBuilder, Pair
from hwsim.formats import FloatFormat, unpack

MOST_CUT = 12  # up to so many places cut off, each sticky place of each has a bin
FEW = 8  # exponents of products up to which each is tried as the largest


def declare_roundings(facts: UnitFacts, out: Declared) -> None:
    """Last, guard and sticky bits; single sticky bits; carries into the next binade; runs of zeros; near misses."""
    _rounding(facts, out)
    _near(facts, out)


def _uncut(facts: UnitFacts, places: int) -> str | None:
    """The reason why rounding never cuts off so many places, or None."""
    if facts.most_cut >= places or facts.range.underflow:
        return None
    fraction = facts.result.fraction_bits
    return (
        f"a sum has {facts.window} fraction bits and grows by at most {facts.most_growth}, and {facts.result.name} has "
        f"{fraction}: of a normal result at most {max(facts.most_cut, 0)} places are cut off, and none is subnormal"
    )


def most_cut(facts: UnitFacts) -> int:
    """The most places cut off of which each sticky place has a bin."""
    return min(max(facts.most_cut, 0), MOST_CUT)


def _rounding(facts: UnitFacts, out: Declared) -> None:
    out.section("rounding")
    tables = {
        (sign, last, guard, sticky): out.bin(
            "G7", f"{MARKS[sign]}, last {last}, guard {guard}, sticky {sticky}", _no_bits(facts, guard, sticky)
        )
        for sign, last, guard, sticky in cross((0, 1), repeat=4)
    }
    fraction = facts.result.fraction_bits
    out.section("all ones")
    ones = {
        (sign, guard): out.bin(
            "G7",
            f"{MARKS[sign]} all ones, guard {guard}",
            (_exact(facts) or _uncut(facts, 1)) if guard else None,
        )
        for sign, guard in cross((0, 1), repeat=2)
    }
    out.section("runs of zeros")
    runs = [out.bin("G7", f"result ends in {counted(zeros, 'zero')}") for zeros in range(fraction + 1)]
    out.section("single sticky bits")
    single = {
        (cut, place, guard): out.bin(
            "G7", f"{counted(cut, 'place')} cut off, sticky from place {place} alone, guard {guard}", _exact(facts)
        )
        for cut in range(2, most_cut(facts) + 1)
        for place in range(cut - 1)
        for guard in (0, 1)
    }
    all_ones, emin, window = (2 << fraction) - 1, facts.result.emin, facts.window

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        rounded, total = sampled.group.rounded, sampled.group.total
        if sampled.top is None or not total or rounded.exp is None:
            return
        sign, size = int(total < 0), abs(total)
        cut = max(rounded.exp, emin) - fraction - (sampled.top - window)
        if cut <= 0:
            whole, guard, low = size << -cut, 0, 0
        else:
            whole, guard, low = size >> cut, size >> cut - 1 & 1, size & ((1 << cut - 1) - 1)
        hits.add(tables[sign, whole & 1, guard, 1 if low or sampled.group.sticky else 0])
        if rounded.exp < emin:
            return
        if whole == all_ones:
            hits.add(ones[sign, guard])
        hits.add(runs[(whole & -whole).bit_length() - 1])
        if low and not low & (low - 1) and (cut, low.bit_length() - 1, guard) in single:
            hits.add(single[cut, low.bit_length() - 1, guard])


def _no_bits(facts: UnitFacts, guard: int, sticky: int) -> str | None:
    """The reason why rounding never sees these bits, or None: each needs a place cut off, or sticky a 1 lost."""
    sticky_alone = facts.sticky and facts.loses is None
    places = 2 if sticky and not sticky_alone else 1 if guard else 0
    return (_exact(facts) or _uncut(facts, places)) if places else None


def _exact(facts: UnitFacts) -> str | None:
    """The reason why every sum fits into the result's significand, or None."""
    if facts.shallow is None or facts.range.underflow:
        return None
    bits = min(facts.shallow[0], facts.window) + facts.most_growth + 1
    if bits > facts.result.fraction_bits + 1:
        return None
    return f"a sum of products of {facts.names} has at most {bits} bits, and {facts.result.name} keeps as many"


def near_magnitudes(fmt: FloatFormat) -> dict[int, str]:
    """The magnitudes at which something changes, and those next to them, in words."""
    first, unity = 1 << fmt.fraction_bits, fmt.bias << fmt.fraction_bits
    return {
        1: "the least number",
        2: "one above the least number",
        first - 1: "one below the least normal",
        first: "the least normal",
        first + 1: "one above the least normal",
        unity - 1: "one below 1",
        unity: "1",
        unity + 1: "one above 1",
        fmt.max_magnitude - 1: "one below the largest",
        fmt.max_magnitude: "the largest",
    }


def _near(facts: UnitFacts, out: Declared) -> None:
    """Results on a code at which something changes, and on the codes next to it."""
    fmt, first = facts.result, 1 << facts.result.fraction_bits
    out.section("near")
    bins = {
        (magnitude, sign): out.bin("G8", f"result {MARKS[sign]}{word}", _never(facts, magnitude))
        for magnitude, word in near_magnitudes(fmt).items()
        for sign in (0, 1)
    }
    out.section("powers of two")
    powers = {
        (step, sign): out.bin("G8", f"result {MARKS[sign]}{word} another power of two")
        for step, word in ((-1, "one below"), (0, "on"), (1, "one above"))
        for sign in (0, 1)
    }
    low, padding = first - 1, fmt.padding

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        rounded = sampled.group.rounded
        if sampled.top is None or rounded.overflow or rounded.exp is None:
            return
        code = rounded.code >> padding
        magnitude, sign = code & (fmt.sign_bit - 1), int(code & fmt.sign_bit != 0)
        if (magnitude, sign) in bins:
            hits.add(bins[magnitude, sign])
        elif magnitude > first:
            step = {low: -1, 0: 0, 1: 1}.get(magnitude & low)
            if step is not None:
                hits.add(powers[step, sign])


def _never(facts: UnitFacts, magnitude: int) -> str | None:
    """The reason why no result has a magnitude near the ends of the format, or None."""
    fmt, addend = facts.result, facts.builder.addend_format
    unit_exp, why = facts.unit_of_sums
    if addend is not None:
        unit_exp, why = min(unit_exp, addend.quantum_exp), f"as {addend.name} addends are, and {why}"
    if magnitude <= (1 << fmt.fraction_bits) + 1 and unit_exp > fmt.emin:
        return f"every sum is 0 or a multiple of 2^{unit_exp}, {why}, and the least normal is 2^{fmt.emin}"
    most = facts.largest_sum
    if magnitude >= fmt.max_magnitude - 1 and most is not None and most < Fraction(2) ** fmt.emax:
        exact = most.numerator.bit_length() - most.denominator.bit_length() + 1
        return f"no sum of products that the unit can be given reaches 2^{exact}, far below the largest number"
    return None


def cut_fields(places: int) -> dict[str, int]:
    """Patterns of the bits that rounding cuts off: each single bit, half and each bit below it, ones, half less one."""
    half = 1 << places - 1
    fields = {"exact": 0, "half": half, "ones": 2 * half - 1, "below-half": half - 1}
    for k in range(places - 1):
        fields[f"sticky{k}"] = 1 << k
        fields[f"half-sticky{k}"] = half | 1 << k
    return distinct({name: value for name, value in fields.items() if value >= 0})


def ties(builder: CaseBuilder) -> None:
    """Each field of bits that rounding cuts off, below an even and an odd last bit, and below all ones."""
    fraction = builder.result.fraction_bits
    last = 1 << fraction
    mixed = (last * 5 // 3) & ~1 | last
    kepts = {"even": last, "odd": last + 1, "mixed-even": mixed, "mixed-odd": mixed + 1, "ones": 2 * last - 1}
    for places in range(1, builder.window - fraction + builder.growths + 1):
        for (field, low), (kind, whole), sign in cross(cut_fields(places).items(), kepts.items(), SIGNS):
            if "sticky" in field and kind != ("even", "odd", "mixed-even", "mixed-odd")[low.bit_length() % 4]:
                continue
            total = whole << places | low
            _total(builder, f"tie/cut{places}-{field}-{kind}-{SIGN[sign]}", -total if sign else total)


def _total(builder: CaseBuilder, name: str, total: int) -> None:
    """A case of a sum, by products alone or else with an addend."""
    builder.add_solution(name, builder.either(total, builder.tops(abs(total).bit_length() - 1 - builder.window)))


def cut(builder: CaseBuilder, facts: UnitFacts) -> None:
    """Sums with each pattern of last, guard and sticky bits, and with every run of zeros."""
    fraction = builder.result.fraction_bits
    for places in range(max(facts.most_cut, 0) + 1):
        for last, low, sign in cross((0, 1), sorted(_patterns(places)), SIGNS):
            total = (1 << fraction | last) << places | low
            _total(builder, f"G7/cut{places}-{last}-{low:x}-{SIGN[sign]}", -total if sign else total)
    for zeros in range(fraction + 1):
        total = 1 << fraction | 1 << zeros
        for places in range(max(facts.most_cut, 0) + 1):
            _total(builder, f"G7/zeros{zeros:02}-cut{places}", total << places)


def _patterns(places: int) -> set[int]:
    half = 1 << places - 1 if places else 0
    single = {1 << place for place in range(places - 1)}
    return {0, half, *single, *(half | bit for bit in single)}


def sticky(builder: CaseBuilder, facts: UnitFacts) -> None:
    """Cases of as few large products as grow so far, or two that cancel, and one that ends in guard and sticky bits."""
    fraction = builder.result.fraction_bits
    for cut, top in cross(range(2, facts.most_cut + 1), builder.tops(facts.most_growth)[:2]):
        growth = cut + fraction - builder.window
        length = builder.window + growth + 1 if growth < 0 else None
        row = builder.cancelling(top) if growth < 0 else _growing(builder, top, growth, cut)
        for place, guard in cross(range(cut - 1), (0, 1)) if row and len(row) < builder.lanes else ():
            product = _ending(builder, top, 1 << place | guard << cut - 1, cut, length)
            if product and row:
                builder.add_beat(f"G7/sticky-{cut}-{place}-{guard}-{top}", (*row, product))


def _growing(builder: CaseBuilder, top: int, growth: int, cut: int) -> tuple[Product, ...] | None:
    """The largest product without bits in the last `cut` places, as often as its sum needs to grow so far."""
    low = (1 << max(0, cut - (builder.window - builder.palette.fraction_bits))) - 1
    high = [product for product in builder.palette.of(0, top) if not product.sig & low]
    return (high[-1],) * -(-(1 << growth + builder.palette.fraction_bits) // high[-1].sig) if high else None


def _ending(builder: CaseBuilder, top: int, field: int, places: int, length: int | None) -> Product | None:
    """A product with nothing below the window, whose last places in it are so. length: its bits in the window."""
    mask = (1 << places) - 1
    for exp in builder.palette.exps:
        shift = exp - builder.palette.fraction_bits - (top - builder.window)
        for product in builder.palette.of(0, exp) if 0 <= shift < places and exp <= top else ():
            if product.sig << shift & mask == field and length in (None, product.sig.bit_length() + shift):
                return product
    return None


def bits_apart(builder: CaseBuilder, facts: UnitFacts) -> None:
    """Two products that cancel, one for the result's first bit, and one for guard and one sticky bit."""
    if builder.lanes < 4 or builder.unit.scale is not None:
        return
    for cut in range(2, facts.most_cut + 1):
        lead = cut + builder.result.fraction_bits
        for place, guard, sign in cross(range(cut - 1), (0, 1), SIGNS if lead < builder.window else ()):
            low = (1 << cut - 1 - place | 1) if guard else 1
            terms = ((1, 0, 0), (1, 0, 1), (1, lead - builder.window, sign), (low, place - builder.window, sign))
            pairs = [pair for term in terms if (pair := _exactly(builder, *term))]
            if len(pairs) == len(terms):
                builder.add_beat(f"G7/apart-{cut}-{place}-{guard}-{sign}", pairs)


def _exactly(builder: CaseBuilder, sig: int, unit_exp: int, sign: int) -> Pair | None:
    """Factors of (-1)^sign * sig * 2^unit_exp: all of its bits in one, a power of two the other, both normal."""
    a, b = builder.factors
    if not isinstance(a, FloatFormat) or not isinstance(b, FloatFormat) or sig.bit_length() > a.precision:
        return None
    exp = unit_exp + sig.bit_length() - 1
    part = min(max(exp // 2, b.emin), b.emax)
    if exp - part < a.emin:
        return None
    x, y = exact_code(a, sign, sig, unit_exp - part), exact_code(b, 0, 1, part)
    return None if x is None or y is None else (x, y)


def near(builder: CaseBuilder, facts: UnitFacts) -> None:
    """Results on the codes at which a format changes, and next to them: by products, or by the addend alone."""
    fmt = builder.result
    first, unity = 1 << fmt.fraction_bits, fmt.bias << fmt.fraction_bits
    most = fmt.max_magnitude
    steps = (1, 2, first - 1, first, first + 1, unity - 1, unity, unity + 1, 2 * unity, most - 1, most)
    # Formats of few bits have one code at several of them.
    for magnitude, sign in cross(dict.fromkeys(step for step in steps if 0 < step <= most), SIGNS):
        _result(builder, f"G8/{magnitude:x}-{SIGN[sign]}", magnitude, sign)
    for step, sign, binade in cross((-1, 0, 1), SIGNS, range(2, 12)):
        magnitude = unity + (binade << fmt.fraction_bits) + step
        if magnitude < most:
            _result(builder, f"G8/binade{binade}{step:+}-{SIGN[sign]}", magnitude, sign)


def _result(builder: CaseBuilder, name: str, magnitude: int, sign: int) -> None:
    """Cases whose result is a code: by products, beside an addend, and by an addend alone."""
    fmt = builder.result
    _, exp, sig, _ = unpack(fmt, magnitude << fmt.padding)
    unit = exp - fmt.fraction_bits
    builder.add_solution(name, builder.solved(-sig if sign else sig, unit))
    # Sums that are rounded to it, or to its neighbours; what is new is kept.
    for top in builder.palette.exps if len(builder.palette.exps) < FEW else ():
        down = top - builder.window - unit
        for step in (0, 1):
            total = (sig >> down if down >= 0 else sig << -down) + step
            if total:
                builder.add_solution(f"{name}-top{top}-{step}", builder.total(-total if sign else total, [top]))
    builder.add_solution(f"{name}-addend", builder.with_addend((), sign, sig, unit))


ROUNDINGS = window_family("roundings", declare_roundings, (ties,), (cut, sticky, bits_apart, near), groups=("G7", "G8"))


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
    out.section("pushed")
    fmt = facts.builder.addend_format or facts.result
    bins = {
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
            hits.add(bins[0, apart])
        elif magnitude < first:
            hits.add(bins[2, 1 - apart])
        elif magnitude - first <= NEAR:
            hits.add(bins[1, 1 - apart])


def _swamped(facts: UnitFacts, fmt: FloatFormat, zone: int) -> str | None:
    """The reason why an addend near an end and products never count both, or None."""
    if not drops_what_is_far_below(facts.lost):
        return None
    least, most = facts.product_exps
    lowest, whose = least, "a product's"
    if facts.floor is not None and facts.floor > least:
        lowest, whose = facts.floor, "its floor"
    if facts.builder.addend_format is None:
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
    out.section("range")
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
    """The reason why a sum of a sign, other than zero, never rounds to zero, or None."""
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


def magnitudes(builder: CaseBuilder) -> Iterator[tuple[str, int, int]]:
    """Numbers near the ends of the result's range, and of every subnormal length.

    Name, integer, and the exponent of its unit.
    """
    fmt = builder.result
    ulp = fmt.emax - fmt.fraction_bits - 2
    most = ((fmt.max_magnitude & (1 << fmt.fraction_bits) - 1) | 1 << fmt.fraction_bits) << 2
    for name, step in (("-ulp", -4), ("", 0), ("+quarter", 1), ("+half", 2), ("+three-quarters", 3), ("+ulp", 4)):
        yield f"largest{name}", most + step, ulp
    yield "twice-largest", most, ulp + 1
    least = fmt.emin - fmt.fraction_bits
    for place in range(fmt.fraction_bits + 4):
        lead = fmt.emin + 1 - place
        places = max(0, lead - least)
        yield f"lead{place:02}", 1, lead
        yield f"lead{place:02}-ones", (2 << builder.window) - 1, lead - builder.window
        yield f"lead{place:02}-half", (1 << places + 1) | 1, lead - places - 1
        yield f"lead{place:02}-odd-half", (1 << places + 1) | 3, lead - places - 1
        yield f"lead{place:02}-above-half", (1 << places + 3) | 5, lead - places - 3
        yield f"lead{place:02}-below-half", (1 << places + 3) | 3, lead - places - 3


def ends(builder: CaseBuilder) -> None:
    """Results at the ends of the range: overflow and just not, and underflow through every subnormal place to zero."""
    for (name, size, unit_exp), sign in cross(magnitudes(builder), SIGNS):
        builder.add_solution(f"range/{name}-{SIGN[sign]}", builder.solved(-size if sign else size, unit_exp))


def pushed(builder: CaseBuilder, facts: UnitFacts) -> None:
    """Addends near the ends of their format's range, and products of about their size that push them over or back."""
    fmt = builder.addend_format or builder.result
    first, most = 1 << fmt.fraction_bits, fmt.max_magnitude
    zones = {"largest": most - 1, "least-normal": first + 1, "subnormal": first - 1, "middle-subnormal": first // 2}
    for (word, magnitude), signs in cross(zones.items(), SIGN_PAIRS):
        _, exp, sig, _ = unpack(fmt, magnitude << fmt.padding)
        added = builder.addend(signs[0], sig, exp - fmt.fraction_bits)
        pushing = beside(builder, signs[1], exp) if added else None
        if added and pushing:
            builder.add_beat(f"G9/{word}-{signs[0]}{signs[1]}", pushing[:1], added, shift=pushing[1])


def beside(builder: CaseBuilder, sign: int, exp: int) -> tuple[Product, int] | None:
    """A product whose exponent, scaled, is near this one; and the shift of the scales."""
    for source in builder.tries:
        products = builder.palette.of(sign, source)
        for step in (0, -1, 1, -2, 2, -3, -4, -5, -6):
            shift = exp + step - source if builder.unit.scale is not None else 0
            if products and builder.can_shift(shift) and abs(source + shift - exp) <= builder.window - 2:
                return products[-1], shift
    return None


RANGES = window_family("ranges", declare_ranges, (ends,), (pushed,), groups=("G9",))
