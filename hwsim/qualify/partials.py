"""Which partial sums there can be before a promotion: so few instructions make one that most codes never occur.

An argument of magnitudes, not the solver's. A group adds at most its lanes' largest products, and what its window and
its rounding add, to the partial sum that it takes over. And every partial sum is a multiple of the least product's last
bit, or of its last bit in the window where that is more. What falls out of a window leaves multiples of the window's
last bit, and so does rounding: both are powers of two, and no multiple of a larger one is none of a smaller one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hwsim.formats import FloatFormat
from hwsim.prove.logic import Term, both, either, implies
from hwsim.prove.relations import exactly, holds
from hwsim.prove.symbolic import Integer, as_integer
from hwsim.rtl.numbers import WindowRanges
from hwsim.spec import Unit


@dataclass(frozen=True)
class PartialSums:
    """The partial sums of a unit. lsb: the exponent of a bit of which all are multiples. most: their largest exponent.
    special: codes of NaN and infinities, without padding.
    """

    fmt: FloatFormat
    lsb: int
    most: int
    special: tuple[int, ...]

    def are(self, code: Term) -> Term:
        """That a code, without padding, is one."""
        fmt, bits = self.fmt, Integer.unsigned(code)
        size = as_integer(bits & ((1 << fmt.bits - 1) - 1))
        least = self.lsb + fmt.bias << fmt.fraction_bits
        within = exactly(size, least, ((self.most + fmt.bias + 1) << fmt.fraction_bits) - 1)
        field, whole = size >> fmt.fraction_bits, list[Term]()
        for exp in range(self.lsb, min(self.lsb + fmt.fraction_bits, self.most + 1)):
            below = self.lsb + fmt.fraction_bits - exp
            whole.append(implies(holds(field == exp + fmt.bias), holds(bits & ((1 << below) - 1) == 0)))
        finite = either(holds(bits == 0), both(within, *whole))  # the sum of a group is never -0
        return either(finite, *(holds(bits == special) for special in self.special))


def partial_sums(unit: Unit) -> PartialSums | None:
    """Those of a unit; None where all codes of their format may occur."""
    beats, n = unit.promotion_beats, WindowRanges(unit)
    fmt = n.result
    if not beats or n.window_addend is not None or n.fraction_bits < fmt.fraction_bits or fmt.canonical_nan is None:
        return None
    most = _most(unit, n, beats)
    lsb = n.product_least - n.product_bias - min(n.fraction_bits, n.product_fraction_bits)
    if most > fmt.emax or lsb + fmt.bias < 1:
        return None
    special = [fmt.canonical_nan >> fmt.padding]
    if any(each.infinity_magnitude is not None for each in (n.a, n.b)):
        if fmt.infinity_magnitude is None:
            return None
        special += [fmt.infinity_magnitude, fmt.infinity_magnitude | 1 << fmt.bits - 1]
    return PartialSums(fmt, lsb, most, tuple(special))


def _most(unit: Unit, n: WindowRanges, beats: int) -> int:
    """The exponent of the largest partial sum."""
    top = n.product_most - n.product_bias
    product = n.most_product * Fraction(2) ** (top - n.product_fraction_bits)
    found = Fraction(0)
    for _ in range(beats):
        max_exp = max(top, _exponent(found)) if found else top
        lost = Fraction(0) if n.truncates else (n.lanes + 1) * Fraction(2) ** (max_exp - n.fraction_bits)
        found += n.lanes * product + lost
        if unit.result.rounding != "rz":
            found *= 1 + Fraction(1, 1 << n.result.fraction_bits)
    return _exponent(found)


def _exponent(number: Fraction) -> int:
    """The exponent of a positive number."""
    near = number.numerator.bit_length() - number.denominator.bit_length()
    return near if number >= Fraction(2) ** near else near - 1
