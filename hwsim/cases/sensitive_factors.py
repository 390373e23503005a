"""Cases in which a factor that is wrongly taken for zero shows, or for something else: zeros, and single bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hwsim.cases.bench import Bench
from hwsim.cases.landmarks import largest_code, negate, numbers, zeros
from hwsim.cases.palette import Product
from hwsim.cases.sensitive_maxima import last_bit
from hwsim.cases.sensitive_scales import exponent_fields, scales_add, shifts_of
from hwsim.cases.solver import Pair
from hwsim.formats import FloatFormat
from hwsim.spec.keys import Number

ZEROS = 4  # turns of zeros times other numbers, where there is room for more


def zeros_beside(bench: Bench, more: bool = False) -> None:
    """Zeros times numbers of every exponent, in all lanes, beside a term whose last bit a larger max_exp would lose."""
    least, turn, shifts = bench.palette.exps[0], 0, shifts_of(bench)
    for exp in (*range(least - 4, least), *sorted(bench.tries)):
        for side in range(2):
            for again in range(ZEROS if more else 1):
                shift = shifts[turn % len(shifts)]
                addend, turn = last_bit(bench, exp + shift), turn + 1
                pairs = [_zero_times(bench, side, turn + lane) for lane in range(bench.lanes)]
                if addend is not None:
                    name = f"sensitive/zeros-{'ab'[side]}-{exp}-{again + more}"
                    bench.add(name, (*addend.before, bench.filling(pairs, 0, shift, exact=True)), addend.c)
    _zeros_above(bench, more)
    if not more:
        _zeros_at_each_bit(bench)


def _zeros_above(bench: Bench, more: bool) -> None:
    """Zeros times the largest number, in all lanes but one, beside the least product with its last bit set."""
    lowest = [one for exp in bench.palette.exps[:2] for one in bench.palette.of(0, exp) if one.sig % 2]
    for lane in range(bench.lanes if more else 2) if lowest and bench.lanes > 1 else ():
        for side in range(2):
            zero = bench.rng.choice(zeros(bench.factors[side]))
            largest = largest_code(bench.factors[1 - side])
            row: list[Product | Pair] = [as_pair(side, zero, largest)] * bench.lanes
            row[lane] = bench.rng.choice(lowest)
            bench.add(f"sensitive/zeros-above-{'ab'[side]}-{lane}-{more:d}", (bench.filling(row, 0, exact=True),))


def _zero_times(bench: Bench, side: int, turn: int) -> Pair:
    """A zero of one side, times a number of the other: its exponent's field is that of the turn."""
    zero, fmt = bench.rng.choice(zeros(bench.factors[side])), bench.factors[1 - side]
    largest = largest_code(fmt)
    number = bench.rng.randrange(largest + 1)
    if isinstance(fmt, FloatFormat):
        field = turn % (1 << fmt.exponent_bits)
        number = (field << fmt.fraction_bits | bench.rng.randrange(1 << fmt.fraction_bits)) << fmt.padding
        number = min(number, largest)
    return as_pair(side, zero, number)


def _zeros_at_each_bit(bench: Bench) -> None:
    """Zeros in all lanes whose exponent has a bit that no other term's has, beside an addend that would lose by it."""
    for side in range(2):
        for other in _at_each_bit(bench, 1 - side, 0):
            least = other.exp - other.field + (1 << other.place)  # of those that have that bit
            addend = last_bit(bench, min(least - 4, bench.result.emax))
            pair = as_pair(side, bench.rng.choice(zeros(bench.factors[side])), other.code)
            if addend is not None:
                filling = bench.filling([pair] * bench.lanes, 0, other.shift, exact=True)
                bench.add(f"sensitive/zeros-{'ab'[side]}-bit-{other.place}", (*addend.before, filling), addend.c)


def small_factors(bench: Bench) -> None:
    """Significands of one bit in all lanes: that a factor is not zero hangs on that bit alone."""
    for side, fmt in enumerate(bench.factors):
        if not isinstance(fmt, FloatFormat):
            continue
        for bit in range(fmt.fraction_bits):
            factor = 1 << bit << fmt.padding
            row = [as_pair(side, factor, code_of_one(bench.factors[1 - side]))] * bench.lanes
            bench.add(f"sensitive/factor-{'ab'[side]}-{bit}", (bench.filling(row, 0, exact=True),))
            for other in _at_each_bit(bench, 1 - side, bench.palette.fraction_bits + 1):
                row = _cancelling(bench, side, factor, other.code)
                name = f"sensitive/factor-{'ab'[side]}-{bit}-bit-{other.place}"
                bench.add(name, (bench.filling(row, 0, other.shift, exact=True),))


class Other(NamedTuple):
    """A number by which a zero or a subnormal is multiplied, and what scales add, so that a bit of the sum is set.

    place: of that bit. field: the sum, as hardware counts exponents. exp: of the product, in the end.
    """

    code: int
    shift: int
    place: int
    field: int
    exp: int


def _at_each_bit(bench: Bench, side: int, above: int) -> Iterator[Other]:
    """For each bit of a product's exponent numbers of a side. above: how far results' least number products must be."""
    fmt = bench.factors[side]
    if not isinstance(fmt, FloatFormat):
        return
    fields = exponent_fields(bench)
    low = fields.visible(above)
    lift = 1 - fmt.least_bexp
    tops = range(1, (largest_code(fmt) >> fmt.padding + fmt.fraction_bits) + lift + 1)
    for place in range(fields.most.bit_length()):
        for top in bench.rng.sample(tops, len(tops)):
            plain = fields.least - 1 + top
            reached = range(low, fields.most + 1) if scales_add(bench) else (plain,)
            usable = [field for field in reached if field >> place & 1 and bench.can_shift(field - plain)]
            if usable:
                field = bench.rng.choice(usable)
                fraction = bench.rng.randrange(1 << fmt.fraction_bits)
                code = min((top - lift << fmt.fraction_bits | fraction) << fmt.padding, largest_code(fmt))
                yield Other(code, field - plain, place, field, fields.exp(field))
                break


def _cancelling(bench: Bench, side: int, factor: int, other: int) -> list[Pair]:
    """One product in all lanes, of both signs in turn: of their sum nothing is left, unless one of them is wrong."""
    opposite = negate(bench.factors[1 - side], other)
    pairs = [as_pair(side, factor, one) for one in (other, other if opposite is None else opposite)]
    return (pairs * bench.lanes)[: bench.lanes // 2 * 2 or 1]


def as_pair(side: int, factor: int, other: int) -> Pair:
    """A factor of a side, and one of the other side."""
    return (factor, other) if side == 0 else (other, factor)


def code_of_one(fmt: Number) -> int:
    """The code of 1, or of the number that stands for it."""
    named = numbers(fmt)
    return next(named[name] for name in ("one", "first-normal", "least", "largest") if name in named)
