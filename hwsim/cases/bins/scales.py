"""G9: shared scales."""

from __future__ import annotations

from itertools import product as cross

from hwsim.cases.bins.declare import Declared, Hits, SampledGroup, window_family
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.operands import no_nan
from hwsim.cases.palette import Product, infinities, nans
from hwsim.cases.solver import SIGN, CaseBuilder, Filling, Pair
from hwsim.formats import ExponentFormat


def declare_scales(facts: UnitFacts, out: Declared) -> None:
    """Exponents that both scales add together, NaN in either, and products far out with a result inside."""
    out.section("scales")
    low, high = facts.builder.scale_ends
    a, b = facts.builder.scale_formats
    least, most = far_scales(facts)
    bins = {exp: out.bin("G9", f"scales together 2^{exp}") for exp in scale_marks(facts)}
    nan = [out.bin("G9", f"NaN scale of {word}", no_nan(fmt)) for word, fmt in (("a", a), ("b", b))]
    both = out.bin("G9", "NaN scale of a and of b", no_nan(a) or no_nan(b))
    far = [
        out.bin("G9", f"scales together above 2^{most}, result inside the range", _within(high, most)),
        out.bin("G9", f"scales together below 2^{least}, result inside the range", _within(least, low)),
    ]

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        exps = sampled.group.scale_exp
        for exp in set(exps):
            if exp is None:
                _nan(sampled, hits)
            else:
                if exp in bins:
                    hits.add(bins[exp])
                rounded = sampled.group.rounded
                if sampled.terms and not rounded.overflow and not rounded.tiny and sampled.group.total:
                    if exp > most:
                        hits.add(far[0])
                    elif exp < least:
                        hits.add(far[1])

    def _nan(sampled: SampledGroup, hits: Hits) -> None:
        sides = (a, sampled.case.scale_a), (b, sampled.case.scale_b)
        nans = [any(fmt.is_nan(code) for code in codes) for fmt, codes in sides]
        if all(nans):
            hits.add(both)
        elif any(nans):
            hits.add(nan[nans.index(True)])


def far_scales(facts: UnitFacts) -> tuple[int, int]:
    """The exponents below and above which both scales together are far out: the ends of one scale."""
    a, _ = facts.builder.scale_formats
    return -a.bias, a.max_code - a.bias


def scale_marks(facts: UnitFacts) -> list[int]:
    """Exponents of both scales together that have bins."""
    (low, high), (least, most) = facts.builder.scale_ends, far_scales(facts)
    return sorted(exp for exp in {low, high, least, least + 1, -1, 0, 1, most - 1, most} if low <= exp <= high)


def _within(high: int, most: int) -> str | None:
    return f"both scales together are at most 2^{high}" if high <= most else None


def landmarks(fmt: ExponentFormat) -> list[int]:
    """The ends of a scale's codes and their neighbours, and those around 2^0."""
    near = {fmt.min_code, fmt.min_code + 1, fmt.bias - 1, fmt.bias, fmt.bias + 1, fmt.max_code - 1, fmt.max_code}
    return sorted(code for code in near if fmt.min_code <= code <= fmt.max_code)


def scaled(
    builder: CaseBuilder, products: tuple[Product | Pair, ...], x: int, y: int, lane: int | None = None
) -> Filling:
    """A beat with scale code x in every block of a and y in every block of b."""
    filling = builder.filling(products, lane)
    return filling._replace(scale_a=(x,) * builder.blocks[0], scale_b=(y,) * builder.blocks[1])


def codes(builder: CaseBuilder) -> None:
    """The landmark codes of both sides, crossed, with small and large products, few and all lanes, and an addend."""
    a, b = builder.scale_formats
    exps = builder.palette.exps
    least, most = builder.palette.of(0, exps[0])[0], builder.palette.of(0, exps[-1])[-1]
    minus = builder.palette.of(1, exps[-1])[-1]
    addend = builder.addend(0, 1, 0)
    for x, y in cross(landmarks(a), landmarks(b)):
        name = f"scale/{x}-{y}"
        builder.add(f"{name}-least", [scaled(builder, (least,), x, y)])
        builder.add(f"{name}-most", [scaled(builder, (most,), x, y)])
        builder.add(f"{name}-all-neg", [scaled(builder, (minus,) * builder.lanes, x, y)])
        builder.add(f"{name}-zero", [scaled(builder, (), x, y)])
        if addend:
            builder.add(f"{name}-addend", [*addend.before, scaled(builder, (minus,), x, y)], addend.c)


def nan(builder: CaseBuilder) -> None:
    """A NaN scale in each block of each side, with numbers, zeros, a NaN element and an infinite addend."""
    most = builder.palette.of(0, builder.palette.exps[-1])[-1]
    elements: dict[str, tuple[tuple[Product | Pair, ...], int]] = {"number": ((most,), 0), "zeros": ((), 0)}
    for fmt, side in zip(builder.factors, (0, 1), strict=True):
        for code in nans(fmt)[:1]:
            elements[f"nan-{'ab'[side]}"] = (((most.a, code) if side else (code, most.b),), 0)
    addend = builder.unit.operands.addend
    for index, code in enumerate(infinities(addend) if addend else []):
        elements[f"addend-inf{index}"] = ((most,), code)
    for (name, (products, c)), which in cross(elements.items(), ("a", "b", "ab")):
        blocks = max(builder.blocks[side] for side in (0, 1) if "ab"[side] in which)
        for block in range(blocks):
            filling = _nan_scale(builder, builder.filling(products, block * builder.lanes // blocks), which, block)
            if filling:
                builder.add(f"scale/nan-{which}-block{block}-{name}", [filling], c)


def _nan_scale(builder: CaseBuilder, filling: Filling, which: str, block: int) -> Filling | None:
    """A beat with NaN in one block of the sides that `which` names, or None where the format has no NaN."""
    sides = [list(filling.scale_a), list(filling.scale_b)]
    for side, fmt in enumerate(builder.scale_formats):
        if "ab"[side] in which:
            if not fmt.nan:
                return None
            sides[side][block % len(sides[side])] = fmt.nan[-1]
    return filling._replace(scale_a=tuple(sides[0]), scale_b=tuple(sides[1]))


def far(builder: CaseBuilder) -> None:
    """Scales beyond the result's range with a result inside, by small or large elements, and by cancellation."""
    fmt, exps = builder.result, builder.palette.exps
    ends = {"top": fmt.emax - 1, "one": 0, "least-normal": fmt.emin, "least": fmt.emin - fmt.fraction_bits}
    ends |= {"most": fmt.emax, "below-least": fmt.emin - fmt.fraction_bits - 1}
    for (name, target), sign in cross(ends.items(), (0, 1)):
        for size, exp in (("small", exps[0]), ("large", exps[-1])):
            for product in builder.palette.of(sign, exp)[:1]:
                # Its leading one comes to stand at the target.
                shift = target - (exp - builder.palette.fraction_bits + product.sig.bit_length() - 1)
                if builder.can_shift(shift):
                    builder.add_beat(f"scale/far-{name}-{size}-{SIGN[sign]}", (product,), shift=shift)
    for d in builder.distances:
        _cancelled(builder, d)


def _cancelled(builder: CaseBuilder, d: int) -> None:
    """X - X + t, with X above the result's largest and t below it."""
    for exp in reversed(builder.palette.exps):
        pair, low = builder.cancelling(exp), builder.palette.of(d % 2, exp - d)
        shift = builder.result.emax + d - 2 - exp
        if pair and low and builder.can_shift(shift):
            builder.add_beat(f"scale/far-cancelled-d{d:02}", (*pair, low[0]), shift=shift)
            return


def blocks(builder: CaseBuilder) -> None:
    """Blocks of one beat with scales of their own: a distance between lanes that only scales make."""
    if max(builder.blocks) < 2:
        return
    side = 0 if builder.blocks[0] > 1 else 1
    count, fmt = builder.blocks[side], builder.scale_formats[side]
    plus = builder.palette.of(0, builder.palette.exps[-1])[-1]
    back = builder.palette.opposite(plus)
    for d, block in cross(range(builder.window + builder.palette.fraction_bits + 4), range(count)):
        for word, second in (("add", plus), ("sub", back)):
            filling = builder.filling((), 0)
            row = [(0, 0)] * builder.lanes
            places = [block * builder.lanes // count, (block + 1) % count * builder.lanes // count]
            scales = list((filling.scale_a, filling.scale_b)[side])
            scales[(block + 1) % count] = max(fmt.min_code, scales[block] - d)
            if second:
                row[places[0]], row[places[1]] = (plus.a, plus.b), (second.a, second.b)
                sides = (filling.scale_a, tuple(scales)) if side else (tuple(scales), filling.scale_b)
                beat = Filling(tuple(row), 0, *sides)
                builder.add(f"scale/block{block}-d{d:02}-{word}", [beat])


def beats(builder: CaseBuilder) -> None:
    """Beats of one sum with scales of their own: rising, falling, and from one end of the range to the other."""
    if not builder.partials:
        return
    exps = builder.palette.exps
    plus, minus = (builder.palette.of(sign, exps[-1])[-1] for sign in (0, 1))
    window = builder.window
    paths = {
        "rising": (-4, 0, 4, 8),
        "falling": (8, 4, 0, -4),
        "swamped": (window + 2, 0, 0, window + 2),
        "straddled": (window, 1, window - 1, 2),
        "ends": (builder.result.emin, builder.result.emax - 24, builder.result.emin, 0),
        "overflowing": (0, builder.result.emax + 1, 0, 0),
        "infinities": (builder.result.emax + 1, 0, builder.result.emax + 1, 0),
    }
    for (name, shifts), signs in cross(paths.items(), ((0, 0), (0, 1), (1, 1))):
        if all(builder.can_shift(shift) for shift in shifts):
            terms = zip(((plus, minus)[signs[i % 2]] for i in range(builder.beats)), shifts, strict=False)
            fillings = [builder.filling([term], shift=shift) for term, shift in terms]
            builder.add(f"scale/beats-{name}-{signs[0]}{signs[1]}", fillings)


SCALES = window_family(
    "scales",
    declare_scales,
    (codes, nan, far, blocks, beats),
    groups=("G9",),
    units=lambda unit: unit.scale is not None,
)
