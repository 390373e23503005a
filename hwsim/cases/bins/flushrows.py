"""Directed cases of units that flush: numbers just below the least normal one, by how far they are below it.

Whether such a number becomes zero hangs on what is judged: it, before its rounding or after it, or the result. The
distances are eighths of the subnormals' last place, at which one of these begins or ends, and what lies between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from hwsim.cases.bins.outcomes import roundings
from hwsim.cases.landmarks import exact_code
from hwsim.cases.rows import Pair, Rows
from hwsim.formats import FloatFormat

EIGHTHS = 9  # of a last place: how far below the least normal number
SIGNIFICANDS = 128  # of one factor, that are tried


def flush_rows(rows: Rows) -> None:
    """Cases for each format in which a rounding of the unit flushes."""
    places = roundings(rows.unit).values()
    formats = {one.format.name: one.format for one in places if one.flushes is not None and one.format.subnormals}
    a, b = rows.unit.operands.a, rows.unit.operands.b
    for fmt in formats.values():
        if isinstance(fmt, FloatFormat) and isinstance(a, FloatFormat) and isinstance(b, FloatFormat):
            _products(rows, fmt, a, b)
            _differences(rows, fmt, a, b)


def _products(rows: Rows, fmt: FloatFormat, a: FloatFormat, b: FloatFormat) -> None:
    """One product for each distance below the least normal number."""
    found: dict[str, Pair] = {}
    for x, y, value in _below(fmt, a, b):
        eighths = ((1 << fmt.fraction_bits) - value) * 8
        whole = eighths.numerator // eighths.denominator
        if 0 <= eighths <= EIGHTHS:
            found.setdefault(f"{whole}{'' if eighths == whole else '+'}", (x, y))
    for index, (distance, (x, y)) in enumerate(sorted(found.items())):
        for sign in (0, 1):
            rows.add(f"flush/{fmt.name}-{distance}-{sign}", [[(x ^ sign * _sign(a), y)]], 0, index % rows.lanes)


def _sign(fmt: FloatFormat) -> int:
    return fmt.sign_bit << fmt.padding


def _below(fmt: FloatFormat, a: FloatFormat, b: FloatFormat) -> Iterator[tuple[int, int, Fraction]]:
    """Normal factors of products about the least normal number, and these in last places of its subnormals."""
    least, hidden_a, hidden_b = 1 << fmt.fraction_bits, 1 << a.fraction_bits, 1 << b.fraction_bits
    exp = _split(fmt.emin, a, b)
    if exp is None:
        return
    step = max(1, hidden_a // SIGNIFICANDS) | 1
    for sig_a in range(hidden_a, 2 * hidden_a, step if hidden_a > SIGNIFICANDS else 1):
        for eighths in range(2 * EIGHTHS + 1):
            # The significand of the other factor, of the exponent that makes it a normal one.
            wanted = (least - Fraction(eighths, 16)) / least * (2 * hidden_a * hidden_b) / sig_a
            low = wanted.numerator // wanted.denominator
            for sig_b in (low, low + 1):
                x = exact_code(a, 0, sig_a, exp - a.fraction_bits)
                y = exact_code(b, 0, sig_b, fmt.emin - exp - 1 - b.fraction_bits) if sig_b >= hidden_b else None
                if x is not None and y is not None:
                    yield x, y, Fraction(sig_a * sig_b * least, 2 * hidden_a * hidden_b)


def _split(exp: int, a: FloatFormat, b: FloatFormat) -> int | None:
    """The exponent of a normal factor a whose product with a normal one of b is about 2^exp; None where none is."""
    low, high = max(a.emin, exp - b.emax), min(a.emax, exp - 1 - b.emin)
    return None if low > high else min(max(exp // 2, low), high)


def _differences(rows: Rows, fmt: FloatFormat, a: FloatFormat, b: FloatFormat) -> None:
    """The least normal number less a small product: as the addend, or as the product of another lane."""
    addend = rows.unit.operands.addend
    c = exact_code(addend, 0, 1, fmt.emin) if isinstance(addend, FloatFormat) else None
    least = _power(a, b, 1, fmt.emin)
    for eighths in range(1, EIGHTHS + 1):
        small = _power(a, b, eighths, fmt.quantum_exp - 3)
        if small is None:
            continue
        x, y = small
        for sign in (0, 1):
            minus = (x ^ (1 - sign) * _sign(a), y)
            name = f"flush/{fmt.name}-less-{eighths}-{sign}"
            if c is not None and isinstance(addend, FloatFormat):
                rows.add(f"{name}-addend", [[minus]], c ^ sign * _sign(addend), eighths % rows.lanes)
            if least is not None and rows.lanes > 1:
                rows.add(name, [[(least[0] ^ sign * _sign(a), least[1]), minus]], 0, eighths % rows.lanes)


def _power(a: FloatFormat, b: FloatFormat, sig: int, unit_exp: int) -> Pair | None:
    """Factors whose product is sig * 2^unit_exp, both normal where that can be."""
    exp = _split(unit_exp + sig.bit_length(), a, b)
    if exp is None:
        return None
    x, y = exact_code(a, 0, sig, exp - sig.bit_length() + 1), exact_code(b, 0, 1, unit_exp + sig.bit_length() - 1 - exp)
    return None if x is None or y is None else (x, y)
