"""Cases in which a small mistake of a promotion's adder shows: sums of a register and a partial sum, bit by bit."""

from __future__ import annotations

from collections.abc import Iterator

from hwsim.cases.bench import Bench
from hwsim.cases.landmarks import exact_code
from hwsim.cases.solver import Filling
from hwsim.formats import FloatFormat

EXPONENTS = (0, 3, -4)  # of partial sums, beside that of 1


def _register(bench: Bench) -> FloatFormat | None:
    """The format of a register that the addend starts."""
    fmt = bench.unit.operands.addend
    return fmt if bench.unit.promotion is not None and isinstance(fmt, FloatFormat) else None


def _partial(bench: Bench, sign: int, size: int, unit: int) -> Filling | None:
    """A beat whose result is (-1)^sign * size * 2^unit."""
    code = exact_code(bench.result, sign, size, unit)
    solution = None if code is None else bench.solved(-size if sign else size, unit)
    if solution is None or solution.addend is not None or bench.measure(solution).code != code:
        return None
    return bench.filling(solution.products, 0, solution.shift)


def cancelling_registers(bench: Bench, more: bool = False) -> None:
    """What is left of a register and a partial sum is one bit, or two: where the leading one is, and the next."""
    fmt = _register(bench)
    if fmt is None:
        return
    places = fmt.precision  # a register just below a power of two has a last bit of this place below it
    for high in range(places):
        lows = list(range(high))
        some = lows if more else [high - (1 << place) for place in range(high.bit_length())][high % 3 :: 3]
        for number, low in enumerate(some if more else [None, *some]):
            left = 1 << high | (0 if low is None else 1 << low)
            sign, exp = (high + number) % 2, EXPONENTS[(high + number) % len(EXPONENTS)]
            filling = _partial(bench, sign, 1, exp)
            c = exact_code(fmt, 1 - sign, (1 << places) - left, exp - places)
            if filling is not None and c is not None:
                name = f"sensitive/left-{high}-{'alone' if low is None else low}{'-more' * more}"
                bench.add(name, [filling], c)


def _odd_bits(places: int, more: bool) -> Iterator[int]:
    """Of the places below a tie: that of a bit that decides it, or of none."""
    yield -1
    yield from range(places) if more else sorted({0, places // 2, places - 1} & set(range(places)))


def tied_registers(bench: Bench, more: bool = False) -> None:
    """Ties of a register and a partial sum at every distance, and each bit that decides them alone, both ways round."""
    fmt = _register(bench)
    if fmt is None:
        return
    bits, partial_bits = fmt.fraction_bits, bench.result.fraction_bits
    for distance in range(1, bits + 3):
        exp, odd = EXPONENTS[distance % len(EXPONENTS)], distance % 2
        large = _partial(bench, 0, 2 + odd, exp - 1)
        for place in _odd_bits(min(distance - 1, bits), more):
            half = 1 << distance - 1 if distance <= bits else 0
            small = 1 << bits | half | (0 if place < 0 else 1 << place)
            c = exact_code(fmt, 0, small, exp - distance - bits)
            if large is not None and c is not None:
                bench.add(f"sensitive/tie-register-{distance}-{place}{'-more' * more}", [large], c)
        above = distance - (bits - partial_bits) - 1  # the place in a partial sum of half of the register's last
        for place in _odd_bits(min(above, partial_bits), more) if above >= 0 else ():
            half = 1 << above if above < partial_bits else 0
            small = 1 << partial_bits | half | (0 if place < 0 else 1 << place)
            # The register stands as far above as it must: partial sums have few exponents.
            filling = _partial(bench, 0, small, exp - partial_bits)
            c = exact_code(fmt, 0, 1 << bits | odd | bench.rng.randrange(1 << bits - 1) << 1, exp + distance - bits)
            if filling is not None and c is not None:
                bench.add(f"sensitive/tie-partial-{distance}-{place}{'-more' * more}", [filling], c)


def partial_bits(bench: Bench) -> None:
    """Partial sums with one bit of the fraction, at every exponent that products reach, beside a register of zero."""
    if _register(bench) is None:
        return
    bits = bench.result.fraction_bits
    for number, exp in enumerate(range(bench.inside[0], bench.inside[-1] + 1)):
        place = number % (bits + 1)
        filling = _partial(bench, number % 2, 1 << bits | (1 << place if place < bits else 0), exp - bits)
        if filling is not None:
            bench.add(f"sensitive/partial-{exp}-{place}", [filling], 0)
