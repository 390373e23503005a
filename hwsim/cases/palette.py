"""The products that two factor formats can make, by reference exponent: what stimuli are solved with."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import Class, FixedFormat, FloatFormat, unpack
from hwsim.spec.keys import Number

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

    def __init__(self, a: Number, b: Number, offset: int = 0):
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
                for one in self.of(sign, below)[-1:]:
                    if best is None or one.sig << one.exp - best.exp >= best.sig:
                        best = one
                self._largest[sign].append(best)
        index = bisect_right(self.exps, exp) - 1
        return self._largest[sign][index] if index >= 0 else None

    def powers(self, sign: int, exponent: int) -> list[Product]:
        """The products of value (-1)^sign * 2^exponent, that of the largest reference exponent first."""
        found = [
            self.find(sign, exp, 1 << (exponent - exp + self.fraction_bits))
            for exp in range(exponent + self.fraction_bits, exponent - 3, -1)
        ]
        return [product for product in found if product is not None]

    def decompose(self, total: int, top: int, lsb: int, count: int) -> tuple[Product, ...] | None:
        """Products whose sum is total * 2^lsb: at most `count`, all multiples of 2^lsb, the largest exponent `top`.

        None where the search (largest first) finds none.
        """
        finest = self.exps[0] - self.fraction_bits - lsb
        if finest > 0 and total & ((1 << finest) - 1):
            return None
        rest, found = total, list[Product]()
        while rest or not found:
            most = self._ladder(int(rest < 0), top, lsb, False)[0][-1:]
            if not most or abs(rest) > most[0] * (count - len(found)):
                return None
            values, products = self._ladder(int(rest < 0), top, lsb, not found)
            index = bisect_right(values, abs(rest)) - 1
            if index < 0 and (found or not values):
                return None
            # The first product may overshoot: it brings the exponent, and the next ones take back what is too much.
            index = max(index, 0)
            found.append(products[index])
            rest -= -values[index] if products[index].sign else values[index]
        return tuple(found)

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


@lru_cache(maxsize=32)
def _table(a: Number, b: Number) -> tuple[NDArray[np.int64], dict[tuple[int, int], slice]]:
    """Rows (sig, code of a, code of b), without repeats, and where those of each (sign, exponent) stand."""
    pairs = _pairs(_factors(a, isinstance(a, FixedFormat)), _factors(b, True))
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


def _factors(fmt: Number, both_signs: bool) -> _Factors:
    """The factors that are used, other than zero."""
    if isinstance(fmt, FixedFormat):
        codes = set(range(1 << fmt.bits)) if fmt.bits <= EXHAUSTIVE_BITS else _fixed_representatives(fmt)
    else:
        magnitudes = range(fmt.max_magnitude + 1) if fmt.bits <= EXHAUSTIVE_BITS else float_representatives(fmt)
        signs = (0, fmt.sign_bit) if both_signs and fmt.signed else (0,)
        codes = {(sign | magnitude) << fmt.padding for sign in signs for magnitude in magnitudes}
    rows: Any = [(code, *unpack(fmt, code)) for code in sorted(codes)]
    rows = [(code, sign, exp, sig) for code, sign, exp, sig, cls in rows if cls in (Class.NORMAL, Class.SUBNORMAL)]
    return _Factors(*np.array(rows, dtype=np.int64).T)


def _fixed_representatives(fmt: FixedFormat) -> set[int]:
    ends = {value for k in range(fmt.bits - 1) for value in (1 << k, (2 << k) - 1, (2 << k) * 5 // 7)}
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
