"""`sum.method: even-odd`: a window for the even lanes, one for the odd lanes, and one for both sums."""

from __future__ import annotations

from collections.abc import Iterator

from hwsim.kernels.late_kernel import LateKernel, late_vectors_of
from hwsim.kernels.lost import lost_number
from hwsim.kernels.window_kernel import WindowKernel
from hwsim.kernels.windows import MOST_BITS, WITHOUT, growth_of, window_lacks, window_numbers
from hwsim.spec import EvenOddSum, Unit


def lacks(unit: Unit, rule: EvenOddSum) -> Iterator[str]:
    """What this kernel does not hold, as keys with their values."""
    yield from window_lacks(unit, rule)
    if rule.combine.fraction_bits + growth_of(unit) > MOST_BITS:
        yield f"sum.combine.fraction_bits: {rule.combine.fraction_bits} (a window that does not fit 64 bits)"


def kernel(unit: Unit, rule: EvenOddSum) -> WindowKernel:
    """The kernel of a unit of this method that lacks nothing."""
    numbers = window_numbers(unit, rule)._replace(
        addend=WITHOUT,
        even_odd=1,
        combine_bits=rule.combine.fraction_bits,
        combine_lost=lost_number(rule.combine.lost),
    )
    vectors = late_vectors_of(unit, rule)
    return WindowKernel(unit, numbers) if vectors is None else LateKernel(unit, numbers, vectors)
