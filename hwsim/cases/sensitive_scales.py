"""Cases in which a small mistake in scaled exponents shows: scales at their ends, and sums that overflow or vanish."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from hwsim.cases.bench import Bench
from hwsim.cases.landmarks import nans
from hwsim.cases.palette import Product
from hwsim.cases.solver import Pair

TURNS = 8  # of lanes, where there is room for more


def scales_add(bench: Bench) -> bool:
    """Whether scales add to the exponents of products."""
    scale = bench.unit.scale
    return scale is not None and scale.at == "product"


def highest_shift(bench: Bench) -> int:
    """What scales add at most to exponents."""
    return bench.scale_ends[1] - bench.neutral if scales_add(bench) else 0


@dataclass(frozen=True)
class ExponentFields:
    """Exponents as hardware counts them: the fields of both factors, each at least 1, and of both scales.

    least, most: those of products, the least of neutral scales. down: how far scales go below those.
    lowest: the exponent that the least one stands for. result: the exponent of the least number of the unit's results.
    """

    least: int
    most: int
    lowest: int
    down: int
    result: int

    @property
    def lowest_exp(self) -> int:
        """The exponent of the least field that there is."""
        return self.exp(self.least - self.down)

    def exp(self, field: int) -> int:
        """The exponent that a field stands for."""
        return self.lowest + field - self.least

    def field(self, exp: int) -> int:
        """And the other way round."""
        return self.least + exp - self.lowest

    def visible(self, above: int = 0) -> int:
        """The field of an exponent that is so far above that of the least number of results; at least 1."""
        return max(1, self.field(self.result + above))


def exponent_fields(bench: Bench) -> ExponentFields:
    """Those of a unit."""
    exps, neutral, down = bench.palette.exps, 0, 0
    if scales_add(bench):
        beat = bench.filling(())
        neutral, down = sum(beat.scale_a[:1] + beat.scale_b[:1]), bench.neutral - bench.scale_ends[0]
    least = 2 + neutral
    most = least + exps[-1] - exps[0] + highest_shift(bench)
    return ExponentFields(least, most, exps[0], down, bench.result.emin - bench.result.fraction_bits)


def shifts_of(bench: Bench) -> list[int]:
    """What scales add to exponents: 0 first, and where any do, what brings each bit of a field to change in between."""
    if not scales_add(bench):
        return [0]
    exps, fields = bench.palette.exps, exponent_fields(bench)
    middle = fields.field(exps[len(exps) // 2])
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
    if not scales_add(bench):
        return
    formats = bench.scale_formats
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
    _nearly_nan(bench)


def _nearly_nan(bench: Bench) -> None:
    """Scales that differ from NaN in one bit, beside those that bring products back into the middle."""
    for side, fmt in enumerate(bench.scale_formats):
        other, row = bench.scale_formats[1 - side], [bench.palette.of(0, bench.palette.exps[-1])[-1]]
        for nan, bit in product(nans(fmt)[:1], range(fmt.bits)):
            code = nan ^ 1 << bit
            back = min(max(bench.neutral - (code - fmt.bias) + other.bias, other.min_code), other.max_code)
            filling = bench.filling(row, 0, exact=True)
            sides = ((code,) * bench.blocks[0], (back,) * bench.blocks[1])
            x, y = sides if side == 0 else ((back,) * bench.blocks[0], (code,) * bench.blocks[1])
            bench.add(f"sensitive/scale-{'ab'[side]}-nan-but-{bit}", (filling._replace(scale_a=x, scale_b=y),))


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
