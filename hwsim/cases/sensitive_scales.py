"""Cases in which a small mistake in scaled exponents shows: scales at their ends, and sums that overflow or vanish."""

from __future__ import annotations

from itertools import product

from hwsim.cases.bench import Bench
from hwsim.cases.landmarks import nans
from hwsim.cases.palette import Product
from hwsim.cases.solver import Pair

TURNS = 8  # of lanes, where there is room for more


def highest_shift(bench: Bench) -> int:
    """What scales add at most to exponents."""
    scale = bench.unit.scale
    if scale is None or scale.at != "product":
        return 0
    beat = bench.filling(())
    formats = scale.a.format, scale.b.format
    return sum(fmt.max_code for fmt in formats) - sum(beat.scale_a[:1] + beat.scale_b[:1])


def shifts_of(bench: Bench) -> list[int]:
    """What scales add to exponents: 0 first, and where any do, what brings each bit of a field to change in between."""
    beat, exps = bench.filling(()), bench.palette.exps
    scale = bench.unit.scale
    if scale is None or scale.at != "product":
        return [0]
    middle = 2 + sum(beat.scale_a[:1] + beat.scale_b[:1]) + exps[len(exps) // 2] - exps[0]
    # What overflows shows a wrong exponent, too; what underflows shows nothing.
    low, high = bench.result.emin - exps[0] + 5, highest_shift(bench)
    found = [0]
    for place in range(5, middle.bit_length() + 1):
        odd = (2 * round((middle / (1 << place) - 1) / 2) + 1) << place
        if low <= odd - middle <= high:
            found.append(odd - middle)
    return found


def ends_of_scales(bench: Bench) -> None:
    """The least and the largest scales, the next to them, and NaN, of either side or both, beside other products."""
    scale = bench.unit.scale
    if scale is None or scale.at != "product":
        return
    formats = scale.a.format, scale.b.format
    ends = [sorted({0, 1, fmt.max_code - 1, fmt.max_code, *nans(fmt)[:1]}) for fmt in formats]
    low, high = bench.palette.exps[0], bench.palette.exps[-1]
    least, largest = ([*bench.palette.of(0, exp)[-1:]] for exp in (low, high))
    plain = bench.filling(())
    for x, y in [
        *product(ends[0], ends[1]),
        *product(plain.scale_a[:1], ends[1]),
        *product(ends[0], plain.scale_b[:1]),
    ]:
        for number, row in enumerate((least, largest, largest * bench.lanes)):
            beat = bench.filling(row, 0, exact=True)
            scaled = beat._replace(scale_a=(x,) * len(beat.scale_a), scale_b=(y,) * len(beat.scale_b))
            bench.add(f"sensitive/scales-{x}-{y}-{number}", (scaled,))


def cancelled_maxima(bench: Bench, more: bool = False) -> None:
    """The largest term cancels, far up, where all that is left overflows: what is left tells its exponent."""
    exps, highest, window = bench.palette.exps, highest_shift(bench), bench.window
    if not highest or bench.lanes < 4:
        return
    top = exps[-1] - 1
    tails = [exp for exp in exps if 6 < top - exp <= window - 2 * bench.palette.fraction_bits]
    halves = {one.sig: one for one in bench.palette.of(1, top - 1)}
    pairs = [(one, halves[one.sig]) for one in bench.palette.of(0, top) if one.sig in halves]
    for turn, lane in product(range(1, TURNS + 1) if more else range(2), range(bench.lanes if pairs and tails else 0)):
        high, half = bench.rng.choice(pairs)
        tail = bench.rng.choice(bench.palette.of(turn % 2, tails[0] if turn % 2 else bench.rng.choice(tails)))
        places = bench.rng.sample([one for one in range(bench.lanes) if one != lane], 3)
        row: list[Product | Pair] = [(0, 0)] * bench.lanes
        row[lane] = high
        for place, term in zip(places, (half, half, tail), strict=True):
            row[place] = term
        shift = highest - bench.rng.randrange(24)
        bench.add(f"sensitive/cancelled-{lane}-{turn}-{more:d}", (bench.filling(row, 0, shift, exact=True),))
