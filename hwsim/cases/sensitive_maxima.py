"""Cases in which a wrong comparison of exponents shows: one term has the largest, by one, and most of it cancels.

An exponent counts as hardware adds it up, from the fields of its factors and scales. Of two that follow each other the
larger has a bit set, and the smaller all bits below it: to compare them is to look at that bit, and at those above.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from hwsim.cases.bench import Bench
from hwsim.cases.palette import Product
from hwsim.cases.sensitive_scales import exponent_fields, scales_add
from hwsim.cases.solver import Addend, Pair

TURNS = 5  # of comparisons, where there is room for more
TRIES = 64  # of significands that all but cancel


@dataclass(frozen=True)
class ExponentStep:
    """An exponent of the palette, and what scales add to it. field: their sum, as hardware counts it."""

    exp: int
    shift: int
    field: int

    @property
    def place(self) -> int:
        """That of the lowest bit of the field that is set."""
        return (self.field & -self.field).bit_length() - 1


def comparisons(bench: Bench, more: bool = False) -> None:
    """One exponent one above all others, from lane to lane: each bit decides, and those above it are set and cleared.

    Where lanes are compared, on one side or the other a bit is set, and beside it another bit is, or is not.
    """
    by_place = _by_place(bench)
    for place, steps in sorted(by_place.items()):
        for again, lane in product(range(1, TURNS + 1) if more else [0], range(bench.lanes)):
            step = steps[(again + lane.bit_count() % 2) % len(steps)]
            row, addend = _all_but_cancels(bench, step, lane)
            before, c = ((), 0) if addend is None else (addend.before, addend.c)
            filling = bench.filling(row, 0, step.shift, exact=True)
            bench.add(f"sensitive/maximum-{place}-{again}-{lane}", (*before, filling), c)
    if not more:
        _beside_addends(bench, by_place)


def _beside_addends(bench: Bench, by_place: dict[int, list[ExponentStep]]) -> None:
    """An addend's exponent one above those of all products, or one below."""
    for place, steps in sorted(by_place.items()):
        for step, above in product(steps[:4], (True, False)):
            exp = min(step.exp + step.shift - (not above), bench.result.emax)
            addend = last_bit(bench, exp)
            row = [bench.rng.choice(bench.palette.of(0, step.exp - above)) for _ in range(bench.lanes)]
            if addend is not None:
                name = f"sensitive/maximum-addend-{place}-{step.field}-{'above' if above else 'below'}"
                bench.add(name, (*addend.before, bench.filling(row, 0, step.shift, exact=True)), addend.c)


def last_bit(bench: Bench, exp: int) -> Addend | None:
    """An addend of an exponent, with its first bit and the window's last one set."""
    bits = min(bench.window, bench.addend_bits - 1)
    return bench.addend(bench.rng.randrange(2), (1 << bits) | 1, exp - bits) if bits > 0 else None


def _by_place(bench: Bench) -> dict[int, list[ExponentStep]]:
    """Larger exponents by the bit that tells them from the next lower one, in an order that soon shows all bits above.

    Of a scaled unit those that a result can show.
    """
    exps, fields = bench.palette.exps, exponent_fields(bench)
    highs = [exp for exp in exps if exp - 1 in exps and bench.palette.of(0, exp) and bench.palette.of(0, exp - 1)]
    found = defaultdict(list)
    for field in range(fields.visible(), fields.most + 1) if scales_add(bench) else map(fields.field, highs):
        exp = fields.exp(field)
        usable = [one for one in highs if bench.can_shift(exp - one)]
        if usable:
            # Those at the upper end have others below them in the window.
            chosen = max(usable, key=lambda one: (min(one - exps[0], bench.window), bench.rng.random()))
            step = ExponentStep(chosen, exp - chosen, field)
            found[step.place].append(step)
    return {place: _each_bit(bench, some) for place, some in found.items()}


def _each_bit(bench: Bench, steps: Sequence[ExponentStep]) -> list[ExponentStep]:
    """Steps in an order in which each bit of a field is soon seen set and cleared; some of many."""

    def bits(step: ExponentStep) -> set[tuple[int, int]]:
        return {(place, step.field >> place & 1) for place in range(16)}

    left = bench.rng.sample(steps, len(steps))
    found, seen = list[ExponentStep](), set[tuple[int, int]]()
    while left and len(found) <= TURNS:
        best = max(left, key=lambda step: len(bits(step) - seen))
        if not bits(best) - seen and seen:
            seen = set()
            continue
        left.remove(best)
        found.append(best)
        seen |= bits(best)
    return found


def _all_but_cancels(bench: Bench, step: ExponentStep, lane: int) -> tuple[list[Product | Pair], Addend | None]:
    """A row whose largest term is in a lane, next to others one below, and all but a few of its bits cancel.

    Far below is a term that loses its last bit where max_exp is larger: a product, or else an addend.
    """
    sign = bench.rng.randrange(2)
    plain: list[Product | Pair] = [bench.rng.choice(bench.palette.of(0, step.exp - 1)) for _ in range(bench.lanes)]
    plain[lane] = bench.rng.choice(bench.palette.of(0, step.exp))
    cancelling = _nearly(bench, step.exp, sign)
    if cancelling is None or bench.lanes < 4:
        return plain, None
    high, *halves = cancelling
    neighbour = lane ^ 1
    others = [one for one in range(bench.lanes) if one not in (lane, neighbour)]
    others = bench.rng.sample(others, len(others))
    row: list[Product | Pair] = [(0, 0)] * bench.lanes
    row[lane], tail, addend = high, _tail(bench, step.exp, 1 - sign), None
    if tail is not None:
        row[others.pop()] = tail
    elif not step.shift:
        addend = bench.addend(1 - sign, 1, step.exp - bench.window)
    places = [*([neighbour] if neighbour < bench.lanes else []), *others]
    low = [one for one in bench.palette.of(0, step.exp - 1) if bench.palette.opposite(one)]
    for place, half in zip(places, halves, strict=False):
        row[place] = half
    left = places[len(halves) :]
    for first, second in zip(left[::2], left[1::2], strict=False):
        one = bench.rng.choice(low) if low else None
        opposite = one and bench.palette.opposite(one)
        if one and opposite:
            row[first], row[second] = one, opposite
    return row, addend


def _nearly(bench: Bench, exp: int, sign: int) -> tuple[Product, Product, Product] | None:
    """A product, and two of one exponent below and of the other sign: so little is left that a result has a tail, too.

    But some is: else all three could be lost, and nothing would show.
    """
    palette, bits = bench.palette, bench.palette.fraction_bits
    room = bench.result.fraction_bits + 1 - (bench.window - 1 - bits)  # for what is left, above the window's last bit
    if room <= 0:
        return None
    most = 1 << min(room, bits)
    for _ in range(TRIES):
        high, first = (bench.rng.choice(some) if (some := palette.of(*one)) else None
                       for one in ((sign, exp), (1 - sign, exp - 1)))  # fmt: skip
        if high is None or first is None:
            return None
        left = [second for second in palette.of(1 - sign, exp - 1) if 0 < 2 * high.sig - first.sig - second.sig < most]
        if left:
            return high, first, bench.rng.choice(left)
    return None


def _tail(bench: Bench, exp: int, sign: int) -> Product | None:
    """A product whose last bit is the window's last one, below a max_exp."""
    for place in range(bench.palette.fraction_bits + 1):
        low = exp - bench.window + bench.palette.fraction_bits - place
        found = [one for one in bench.palette.of(sign, low) if (one.sig & -one.sig).bit_length() - 1 == place]
        if found and low < exp - 1:
            return bench.rng.choice(found)
    return None
