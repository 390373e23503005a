"""The codes of a format at which something begins or ends, and the products that two factor formats can make."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import Class, FixedFormat, FloatFormat, Format, TableFormat, unpack
from hwsim.formats.codes import all_codes
from hwsim.formats.listed import written
from hwsim.spec.keys import Factor


def zeros(fmt: Format) -> list[int]:
    """Every code of zero."""
    if isinstance(fmt, TableFormat):
        return [code for code, x in enumerate(fmt.numbers) if x == 0]
    return [0, 1 << fmt.container_bits - 1] if fmt.signed and fmt.signed_zero else [0]


def nans(fmt: Format) -> list[int]:
    """NaN codes: all of a format that lists them; of the others signalling, quiet and canonical, in both signs."""
    if not isinstance(fmt, FloatFormat):
        return [code for code in all_codes(fmt) if fmt.is_nan(code >> fmt.padding)] if fmt.has_nan else []
    if fmt.nan != "ieee":
        return [code << fmt.padding for code in fmt.nan]
    top, last = fmt.top_bexp << fmt.fraction_bits, (1 << fmt.fraction_bits) - 1
    positive = {(top | frac) << fmt.padding for frac in (1, (last + 1) >> 1, last) if frac}
    signed = {code | fmt.sign_bit << fmt.padding for code in positive} if fmt.signed else set()
    return sorted(positive | signed | ({fmt.canonical_nan} if fmt.canonical_nan is not None else set()))


def infinities(fmt: Format) -> list[int]:
    """The codes of +Inf and, of a signed format, -Inf; none where the format has no infinity."""
    if isinstance(fmt, TableFormat):
        return sorted((code for code, x in enumerate(fmt.numbers) if math.isinf(x)), key=lambda c: -fmt.numbers[c])
    if not isinstance(fmt, FloatFormat) or fmt.infinity_magnitude is None:
        return []
    plus = fmt.infinity_magnitude << fmt.padding
    return [plus, plus | fmt.sign_bit << fmt.padding] if fmt.signed else [plus]


@lru_cache(maxsize=64)
def numbers(fmt: Factor) -> dict[str, int]:
    """Positive codes by name: the ends of the subnormals and of the normal numbers, and what lies between."""
    if isinstance(fmt, TableFormat):
        positive = sorted((x, code) for code, x in enumerate(fmt.numbers) if 0 < x < math.inf)
        longest = max(positive, key=lambda at: math.frexp(at[0])[0].as_integer_ratio()[1])
        one = min(positive, key=lambda at: abs(math.log2(at[0])))
        ends = {"first-normal": positive[0], "normal": longest, "one": one, "largest": positive[-1]}
        return distinct({name: code for name, (_, code) in ends.items()})
    if isinstance(fmt, FixedFormat):
        largest = fmt.max_code
        unity = min(1 << max(fmt.fraction_bits, 0), largest)  # or the number nearest to it
        named = {"least": 1, "one": unity, "mixed": largest * 5 // 7, "largest": largest}
    else:
        hidden, most = 1 << fmt.fraction_bits, fmt.max_magnitude
        first = hidden if fmt.subnormals else 1
        named = {
            "first-normal": first,
            "normal": min(((fmt.bias << fmt.fraction_bits) + hidden * 5 // 7) | 1, most),
            "one": min(max(fmt.bias << fmt.fraction_bits, first), most),
            "largest": most,
        }
        if fmt.subnormals and fmt.fraction_bits:
            below = {"least": 1, "last-subnormal": hidden - 1, "subnormal": max(hidden // 2, 1)}
            named = {**below, **named}
    return distinct({name: code << fmt.padding for name, code in named.items() if code > 0})


def largest_code(fmt: Factor) -> int:
    """The code of the largest number, which may be 1 or the least normal one too."""
    return fmt.max_code if isinstance(fmt, TableFormat) else max(numbers(fmt).values())


def distinct(named: Mapping[str, int]) -> dict[str, int]:
    """Each value once, under the first of its names."""
    names: dict[int, str] = {}
    for name, value in named.items():
        names.setdefault(value, name)
    return {name: value for value, name in names.items()}


def negate(fmt: Format, code: int) -> int | None:
    """The code of the number of the other sign, or None where the format has none."""
    if isinstance(fmt, TableFormat):
        return negatives(fmt).get(code)
    sign_bit = 1 << fmt.container_bits - 1
    if fmt.twos_complement:
        return None if code == sign_bit else -code & 2 * sign_bit - 1
    if not fmt.signed or code & ((1 << fmt.padding) - 1):
        return None  # no sign, or the canonical NaN, whose padding is not zero
    if not fmt.signed_zero and not code & sign_bit - 1:
        return None
    return code ^ sign_bit


@lru_cache(maxsize=32)
def negatives(fmt: TableFormat) -> dict[int, int]:
    """Codes of numbers and infinities, each with that of the other sign, as far as there are such."""
    codes = _codes_by_text(fmt)
    found = ((code, codes.get(written(-x))) for code, x in enumerate(fmt.numbers) if not math.isnan(x))
    return {code: other for code, other in found if other is not None}


@lru_cache(maxsize=32)
def _codes_by_text(fmt: TableFormat) -> dict[str, int]:
    return {written(x): code for code, x in reversed(list(enumerate(fmt.numbers)))}


def table_code(fmt: TableFormat, sign: int, sig: int, exp: int) -> int | None:
    """The code of (-1)^sign * sig * 2^exp; None where a table has no such number. sig > 0."""
    if sig.bit_length() > fmt.precision + 64 or not fmt.quantum_exp - 64 <= exp <= fmt.emax:
        return None
    return _codes_by_text(fmt).get(written(math.ldexp(-sig if sign else sig, exp)))


def is_finite(fmt: Format, code: int) -> bool:
    """True if a code is a number, zero counted."""
    return unpack(fmt, code).cls not in (Class.NAN, Class.INFINITY)


def exact_code(fmt: FloatFormat, sign: int, sig: int, unit_exp: int) -> int | None:
    """The code of (-1)^sign * sig * 2^unit_exp, or None where the format has none. sig > 0."""
    if sign and not fmt.signed:
        return None
    binade = max(sig.bit_length() - 1 + unit_exp, fmt.emin)
    shift = binade - fmt.fraction_bits - unit_exp
    if shift > 0 and sig & ((1 << shift) - 1):
        return None
    whole = sig >> shift if shift > 0 else sig << -shift
    magnitude = ((binade - fmt.emin) << fmt.fraction_bits) + whole
    if not fmt.subnormals:
        # Biased exponent 0 is an ordinary binade, except its first code, which is zero.
        magnitude -= 1 << fmt.fraction_bits
        if magnitude <= 0:
            return None
    if magnitude > fmt.max_magnitude:
        return None
    return (sign * fmt.sign_bit | magnitude) << fmt.padding


def factors_ending(
    a: Factor, b: Factor, places: int, field: int, sign: int, *, normal: bool = False
) -> tuple[int, int] | None:
    """Two factors whose significands' product is `field` modulo 2^places. field: odd. normal: not both subnormal.

    None where there are none, and for formats other than floats.
    """
    if not (isinstance(a, FloatFormat) and isinstance(b, FloatFormat)):
        return None
    for x in range(1, 1 << a.precision, 2):
        y = pow(x, -1, 1 << places) * field % (1 << places)
        if y < 1 << b.precision and (not normal or x >> a.fraction_bits or y >> b.fraction_bits):
            # A significand without its high bit is a subnormal's.
            exps = [0 if sig >> fmt.fraction_bits else fmt.emin for fmt, sig in ((a, x), (b, y))]
            codes = (
                exact_code(a, sign, x, exps[0] - a.fraction_bits),
                exact_code(b, 0, y, exps[1] - b.fraction_bits),
            )
            if codes[0] is not None and codes[1] is not None:
                return codes[0], codes[1]
    return None


EXHAUSTIVE_BITS = 8  # of formats up to so wide every code is used, of wider ones representatives
MOST_PAIRS = 1 << 17


class Product(NamedTuple):
    """A product other than zero, and two codes that make it: (-1)^sign * sig * 2^(exp - fraction_bits)."""

    sign: int
    exp: int
    sig: int
    a: int
    b: int


class _Factors(NamedTuple):
    code: NDArray[np.int64]
    sign: NDArray[np.int64]
    exp: NDArray[np.int64]
    sig: NDArray[np.int64]


class Palette:
    """Every product of two formats of up to 8 bits, one pair of codes for each; of wider formats, representatives.

    offset: added to every reference exponent; for scaled units, the exponent of the scales that count as neutral.
    exps: the reference exponents that products other than zero have, ascending.
    """

    def __init__(self, a: Factor, b: Factor, offset: int = 0):
        self.a, self.b, self.offset = a, b, offset
        self.fraction_bits = a.fraction_bits + b.fraction_bits
        self._rows, self._places = _table(a, b)
        self._of: dict[tuple[int, int], tuple[Product, ...]] = {}
        self._ladders: dict[tuple[int, int, int, bool], tuple[list[int], list[Product]]] = {}
        self._largest: dict[int, list[Product | None]] = {}
        self.exps = sorted({exp + offset for _, exp in self._places})

    def of(self, sign: int, exp: int) -> tuple[Product, ...]:
        """The products of one sign and reference exponent, by significand."""
        key = (sign, exp)
        if key not in self._of:
            here = self._places.get((sign, exp - self.offset), slice(0))
            self._of[key] = tuple(Product(sign, exp, sig, a, b) for sig, a, b in self._rows[here].tolist())
        return self._of[key]

    def find(self, sign: int, exp: int, sig: int) -> Product | None:
        """The product of that sign, reference exponent and significand."""
        products = self.of(sign, exp)
        index = bisect_left(products, sig, key=lambda product: product.sig)
        return products[index] if index < len(products) and products[index].sig == sig else None

    def opposite(self, product: Product) -> Product | None:
        """The product of the other sign, or None (MXINT8's -2 times -2 has none)."""
        return self.find(1 - product.sign, product.exp, product.sig)

    def largest(self, sign: int, exp: int) -> Product | None:
        """The product of the largest magnitude among those of at most this reference exponent."""
        if sign not in self._largest:
            best: Product | None = None
            self._largest[sign] = []
            for below in self.exps:
                for product in self.of(sign, below)[-1:]:
                    if best is None or product.sig << product.exp - best.exp >= best.sig:
                        best = product
                self._largest[sign].append(best)
        index = bisect_right(self.exps, exp) - 1
        return self._largest[sign][index] if index >= 0 else None

    def powers(self, sign: int, exponent: int) -> list[Product]:
        """The products of value (-1)^sign * 2^exponent, that of the largest reference exponent first."""
        products = [
            self.find(sign, exp, 1 << (exponent - exp + self.fraction_bits))
            for exp in range(exponent + self.fraction_bits, exponent - 3, -1)
        ]
        return [product for product in products if product is not None]

    def decompose(self, total: int, top: int, lsb: int, count: int) -> tuple[Product, ...] | None:
        """Products whose sum is total * 2^lsb: at most `count`, all multiples of 2^lsb, the largest exponent `top`.

        None where the search (largest first) finds none.
        """
        finest = self.exps[0] - self.fraction_bits - lsb
        if finest > 0 and total & ((1 << finest) - 1):
            return None
        rest, chosen = total, list[Product]()
        while rest or not chosen:
            most = self._ladder(int(rest < 0), top, lsb, False)[0][-1:]
            if not most or abs(rest) > most[0] * (count - len(chosen)):
                return None
            values, products = self._ladder(int(rest < 0), top, lsb, not chosen)
            index = bisect_right(values, abs(rest)) - 1
            if index < 0 and (chosen or not values):
                return None
            # The first product may overshoot: it brings the exponent, and the next ones take back what is too much.
            index = max(index, 0)
            chosen.append(products[index])
            rest -= -values[index] if products[index].sign else values[index]
        return tuple(chosen)

    def _ladder(self, sign: int, top: int, lsb: int, first: bool) -> tuple[list[int], list[Product]]:
        """Magnitudes in units of 2^lsb, ascending, and their products; `first`: only those of exponent `top`."""
        key = (sign, top, lsb, first)
        if key not in self._ladders:
            rungs: dict[int, Product] = {}
            for exp in (top,) if first else [exp for exp in self.exps if lsb - 2 <= exp <= top]:
                shift = exp - self.fraction_bits - lsb
                for product in self.of(sign, exp):
                    if shift >= 0 or not product.sig & ((1 << -shift) - 1):
                        value = product.sig << shift if shift >= 0 else product.sig >> -shift
                        rungs[value] = product
            values = sorted(rungs)
            self._ladders[key] = values, [rungs[value] for value in values]
        return self._ladders[key]


@lru_cache(maxsize=2)
def palette_of(a: Factor, b: Factor) -> Palette:
    """The palette of two formats, kept for the next call."""
    return Palette(a, b)


@lru_cache(maxsize=32)
def _table(a: Factor, b: Factor) -> tuple[NDArray[np.int64], dict[tuple[int, int], slice]]:
    """Rows (sig, code of a, code of b), without repeats, and where those of each (sign, exponent) stand."""
    pairs = _pairs(_factors(a, not isinstance(a, FloatFormat)), _factors(b, True))
    sign, exp, sig = pairs[:, 0], pairs[:, 1], pairs[:, 2]
    order = np.lexsort((sig, exp, sign))
    pairs = pairs[order]
    new = np.ones(len(pairs), dtype=bool)
    new[1:] = (pairs[1:, :3] != pairs[:-1, :3]).any(axis=1)
    pairs = pairs[new]
    starts = np.flatnonzero(np.r_[True, (pairs[1:, :2] != pairs[:-1, :2]).any(axis=1)])
    ends = [*starts[1:].tolist(), len(pairs)]
    heads = pairs[starts, :2].tolist()
    places = {(head[0], head[1]): slice(start, end) for head, start, end in zip(heads, starts, ends, strict=True)}
    return pairs[:, 2:], places


def _pairs(a: _Factors, b: _Factors) -> NDArray[np.int64]:
    """Rows (sign, exponent, sig, code of a, code of b)."""
    if len(a.code) * len(b.code) <= MOST_PAIRS:
        return _outer(a, b)
    parts = []
    groups_a, groups_b = _by_exponent(a), _by_exponent(b)
    for total in range(min(groups_a) + min(groups_b), max(groups_a) + max(groups_b) + 1):
        reachable = [exp for exp in groups_a if total - exp in groups_b]
        # One split in the middle, and the two ends, where subnormals are.
        splits = {reachable[len(reachable) // 2], reachable[0], reachable[-1]} if reachable else set()
        parts += [_outer(groups_a[exp], groups_b[total - exp]) for exp in sorted(splits)]
    return np.concatenate(parts)


def _outer(a: _Factors, b: _Factors) -> NDArray[np.int64]:
    shape = (len(a.code), len(b.code))
    columns = [
        a.sign[:, None] ^ b.sign,
        a.exp[:, None] + b.exp,
        a.sig[:, None] * b.sig,
        np.broadcast_to(a.code[:, None], shape),
        np.broadcast_to(b.code, shape),
    ]
    return np.stack([column.ravel() for column in columns], axis=1)


def _by_exponent(factors: _Factors) -> dict[int, _Factors]:
    return {
        int(exp): _Factors(*(column[factors.exp == exp] for column in factors))
        for exp in np.unique(factors.exp).tolist()
    }


def _factors(fmt: Factor, both_signs: bool) -> _Factors:
    """The factors that are used, other than zero."""
    if isinstance(fmt, FixedFormat):
        codes = set(range(1 << fmt.bits)) if fmt.bits <= EXHAUSTIVE_BITS else _fixed_representatives(fmt)
    elif isinstance(fmt, TableFormat):
        codes = set(range(1 << fmt.bits)) if fmt.bits <= EXHAUSTIVE_BITS else _table_representatives(fmt)
    else:
        magnitudes = range(fmt.max_magnitude + 1) if fmt.bits <= EXHAUSTIVE_BITS else float_representatives(fmt)
        signs = (0, fmt.sign_bit) if both_signs and fmt.signed else (0,)
        codes = {(sign | magnitude) << fmt.padding for sign in signs for magnitude in magnitudes}
    rows: Any = [(code, *unpack(fmt, code)) for code in sorted(codes)]
    rows = [(code, sign, exp, sig) for code, sign, exp, sig, cls in rows if cls in (Class.NORMAL, Class.SUBNORMAL)]
    return _Factors(*np.array(rows, dtype=np.int64).T)


def _table_representatives(fmt: TableFormat) -> set[int]:
    """Of every exponent and sign the least and the largest number, and the one in the middle."""
    groups: dict[tuple[bool, int], list[tuple[float, int]]] = {}
    for code, x in enumerate(fmt.numbers):
        if math.isfinite(x) and x:
            groups.setdefault((x < 0, math.frexp(x)[1]), []).append((x, code))
    ordered = [sorted(group) for group in groups.values()]
    return {group[index][1] for group in ordered for index in (0, len(group) // 2, -1)}


def _fixed_representatives(fmt: FixedFormat) -> set[int]:
    ends = {value for k in range(fmt.precision) for value in (1 << k, (2 << k) - 1, (2 << k) * 5 // 7)}
    return {value & ((1 << fmt.bits) - 1) for end in ends for value in (end, -end, -end - 1)}


def float_representatives(fmt: FloatFormat) -> list[int]:
    """Magnitudes of a wide format: subnormals of every length, and of each binade its ends and what lies between.

    Among the fractions is, for each s, one whose product with 1 + 3 ulp ends in s ones.
    """
    hidden = 1 << fmt.fraction_bits
    last = hidden - 1
    fractions = {0, 1, 3, hidden >> 1, last, last - 1, hidden * 5 // 7}
    for s in range(1, fmt.fraction_bits + 1):
        fractions.add(-pow(hidden + 3, -1, 1 << s) % (1 << s))
    subnormals = {value for k in range(fmt.fraction_bits) for value in (1 << k, (2 << k) - 1)}
    binades = range(0 if not fmt.subnormals else 1, (fmt.max_magnitude >> fmt.fraction_bits) + 1)
    normals = {bexp << fmt.fraction_bits | frac & last for bexp in binades for frac in fractions}
    return sorted(m for m in subnormals | normals | {fmt.max_magnitude} if 0 < m <= fmt.max_magnitude)
