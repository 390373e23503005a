"""Directed cases in which a single 1, at each place below half a last place, decides how a sum is rounded.

A design whose sticky bit does not see some of these places is right in all other cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as cross

from hwsim.cases.landmarks import exact_code
from hwsim.cases.rows import Pair, Rows
from hwsim.formats import FloatFormat
from hwsim.spec import RoundedSum, Unit
from hwsim.spec.keys import Number

MOST_DEPTH = 64  # places below half a last place
TOPS = 2  # exponents of sums


def sticky_rows(rows: Rows) -> None:
    """A power of two, half a last place of it, and a 1 of either sign at each place below that.

    All three are products; of units with an addend the power of two is that once more; and where a factor has the
    digits, half a last place and the 1 are one product, as chains of additions need it.
    """
    unit = rows.unit
    fmt = unit.sum.format if isinstance(unit.sum, RoundedSum) else unit.result.format
    floats = all(isinstance(one, FloatFormat) for one in (fmt, unit.operands.a, unit.operands.b))
    if not floats or not isinstance(fmt, FloatFormat) or unit.scale is not None:
        return
    for top in _tops(unit, fmt):
        for depth, sign in cross(range(1, MOST_DEPTH + 1), (0, 1)):
            _three(rows, fmt, top, depth, sign)
            _two(rows, fmt, top, depth, sign)


def _tops(unit: Unit, fmt: FloatFormat) -> list[int]:
    """Exponents of sums: one of which half a last place is a product, and the largest one."""
    low, high = (sum(ends) for ends in zip(_ends(unit.operands.a), _ends(unit.operands.b), strict=True))
    usable = [exp for exp in range(high, low, -1) if fmt.emin < exp < fmt.emax]
    half = [exp for exp in usable if exp - fmt.precision >= low]
    return list(dict.fromkeys([*half[: TOPS - 1], *half[len(half) // 2 :][: TOPS - 1]]))


def _ends(fmt: Number) -> tuple[int, int]:
    """Exponents of the least and of the largest power of two of a format."""
    return fmt.quantum_exp, fmt.emax - 1 if isinstance(fmt, FloatFormat) else fmt.integer_bits - 2


def _power(unit: Unit, sign: int, sig: int, exp: int) -> Pair | None:
    """Codes whose product is (-1)^sign * sig * 2^exp, all of sig being a's; None where there are none."""
    a, b = unit.operands.a, unit.operands.b
    if not isinstance(a, FloatFormat) or not isinstance(b, FloatFormat):
        return None
    low, high = _ends(b)
    for at in (0, *range(high, low - 1, -1)):
        one, other = exact_code(a, sign, sig, exp - at), exact_code(b, 0, 1, at)
        if one is not None and other is not None:
            return one, other
    return None


def _starts(rows: Rows, top: int) -> Iterator[tuple[str, Pair | None, int]]:
    """How the power of two enters: as a product, or as the addend."""
    if (pair := _power(rows.unit, 0, 1, top)) is not None:
        yield "product", pair, 0
    addend = rows.unit.operands.addend
    if isinstance(addend, FloatFormat) and (c := exact_code(addend, 0, 1, top)) is not None:
        yield "addend", None, c


def _three(rows: Rows, fmt: FloatFormat, top: int, depth: int, sign: int) -> None:
    half, low = _power(rows.unit, 0, 1, top - fmt.precision), _power(rows.unit, sign, 1, top - fmt.precision - depth)
    if half is None or low is None:
        return
    for name, pair, c in _starts(rows, top):
        terms = [half, low] if pair is None else [pair, half, low]
        beats = [terms] if len(terms) <= rows.lanes else [[term] for term in terms]
        rows.add(f"sticky/{name}-{top}-{depth:02}-{sign}", beats, c, depth % rows.lanes)


def _two(rows: Rows, fmt: FloatFormat, top: int, depth: int, sign: int) -> None:
    sig = (1 << depth) + (-1 if sign else 1)
    both = _power(rows.unit, 0, sig, top - fmt.precision - depth)
    if both is None:
        return
    for name, pair, c in _starts(rows, top):
        terms = [both] if pair is None else [pair, both]
        beats = [terms] if len(terms) <= rows.lanes else [[term] for term in terms]
        rows.add(f"sticky/{name}-together-{top}-{depth:02}-{sign}", beats, c, depth % rows.lanes)
