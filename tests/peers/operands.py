"""Operands of thirteen kinds for dot products, drawn for any preset from its formats alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import ExponentFormat, FloatFormat, container_dtype
from hwsim.spec import Unit

Codes = NDArray[Any]
Rng = np.random.Generator


@dataclass(frozen=True)
class Operands:
    """n dot products. a, b: (n, K); c: (n,); scale_a, scale_b: (n, blocks), None of an unscaled unit. Codes."""

    a: Codes
    b: Codes
    c: Codes
    scale_a: Codes | None = None
    scale_b: Codes | None = None


def join(parts: list[Operands]) -> Operands:
    """All rows, one part after the other."""
    names = ("a", "b", "c", "scale_a", "scale_b")
    columns = {name: [getattr(part, name) for part in parts] for name in names}
    return Operands(**{name: None if each[0] is None else np.concatenate(each) for name, each in columns.items()})


def uniform(fmt: Any, shape: tuple[int, ...], rng: Rng) -> Codes:
    """Any codes, special ones included."""
    if isinstance(fmt, ExponentFormat):
        return rng.integers(0, 1 << fmt.bits, shape).astype(np.uint8)
    return rng.integers(0, 1 << fmt.bits, shape, np.uint64).astype(container_dtype(fmt)) << fmt.padding


def numbers(fmt: FloatFormat, exps: Codes, rng: Rng) -> Codes:
    """Numbers of these exponents, as near as the format has them, of any fraction and sign. Subnormals below."""
    most = fmt.max_magnitude >> fmt.fraction_bits
    field = np.clip(exps + fmt.bias, 0, most)
    magnitude = np.minimum(field << fmt.fraction_bits | _fraction(fmt, exps.shape, rng), fmt.max_magnitude)
    return magnitude.astype(container_dtype(fmt)) << fmt.padding | signs(fmt, exps.shape, rng)


def signs(fmt: FloatFormat, shape: tuple[int, ...], rng: Rng) -> Codes:
    """Zeros of both signs, where the format has signs."""
    sign = np.array(fmt.sign_bit << fmt.padding if fmt.signed else 0, container_dtype(fmt))
    return np.where(rng.integers(0, 2, shape) == 1, sign, 0 * sign)


def _fraction(fmt: FloatFormat, shape: tuple[int, ...], rng: Rng) -> Codes:
    """Fractions, half of them with few bits."""
    any_one = rng.integers(0, 1 << fmt.fraction_bits, shape)
    few = any_one & rng.integers(0, 1 << fmt.fraction_bits, shape) & rng.integers(0, 1 << fmt.fraction_bits, shape)
    return np.where(rng.random(shape) < 0.5, any_one, few)


def negated(fmt: FloatFormat, codes: Codes) -> Codes:
    """The same with the other sign."""
    return codes ^ codes.dtype.type(fmt.sign_bit << fmt.padding)


class Drawn:
    """Draws of one unit. n: dot products of each kind. k: products of each."""

    def __init__(self, unit: Unit, n: int, rng: Rng, k: int):
        self.unit, self.n, self.rng, self.k = unit, n, rng, k
        operands = unit.operands
        self.formats: tuple[Any, Any, Any] = (operands.a, operands.b, operands.addend)
        self.shapes = ((n, self.k), (n, self.k), (n,))

    def of(self, spread: float, centre: int = 0, c: Codes | None = None, *, scales: int | None = 0) -> Operands:
        """Numbers of exponents about a centre. scales: about which scales' exponents are, or None for any codes."""
        a, b, addend = (
            numbers(fmt, np.rint(self.rng.normal(centre, spread, shape)).astype(np.int64), self.rng)
            for fmt, shape in zip(self.formats, self.shapes, strict=True)
        )
        return Operands(a, b, addend if c is None else c, *self.scales(scales))

    def scales(self, exp: int | Codes | None = 0, spread: int = 2) -> tuple[Codes | None, Codes | None]:
        """Scales of each side, about 2^exp, or of any codes."""
        scale = self.unit.scale
        if scale is None:
            return None, None
        drawn = []
        for side in ("a", "b"):
            fmt, shape = scale.of(side).format, (self.n, self.k // scale.length(side))
            if exp is None:
                drawn.append(uniform(fmt, shape, self.rng))
                continue
            exps = np.broadcast_to(np.asarray(exp).reshape(-1, 1), shape) + self.rng.integers(
                -spread, spread + 1, shape
            )
            if isinstance(fmt, ExponentFormat):
                drawn.append(np.clip(exps + fmt.bias, fmt.min_code, fmt.max_code).astype(np.uint8))
            else:
                drawn.append(numbers(fmt, exps, self.rng))
        return drawn[0], drawn[1]

    def any(self) -> Operands:
        """Any codes, most of which are numbers where a format has few others."""
        a, b, c = (uniform(fmt, shape, self.rng) for fmt, shape in zip(self.formats, self.shapes, strict=True))
        return Operands(a, b, c, *self.scales(None if self.rng.random() < 0.5 else 0))

    def normal(self) -> Operands:
        """Numbers as of data."""
        return self.of(1.5)

    def cancelling(self) -> Operands:
        """Narrow exponents; products have their opposites beside them, in some rows nearly all."""
        drawn = self.of(0.6)
        self._opposed(drawn, self.rng.choice([0.7, 0.95, 1.0], (self.n, 1)))
        return drawn

    def _opposed(self, drawn: Operands, share: Codes | float) -> None:
        """That share of the products in odd lanes becomes the opposite of the one before."""
        at = self.rng.random((self.n, self.k // 2)) < share
        drawn.a[:, 1::2] = np.where(at, negated(self.formats[0], drawn.a[:, ::2]), drawn.a[:, 1::2])
        drawn.b[:, 1::2] = np.where(at, drawn.b[:, ::2], drawn.b[:, 1::2])

    def zeros(self) -> Operands:
        """Many zeros of both signs, in factors and addends."""
        drawn = self.of(4)
        for fmt, codes in zip(self.formats, (drawn.a, drawn.b, drawn.c), strict=True):
            codes[...] = np.where(self.rng.random(codes.shape) < 0.6, signs(fmt, codes.shape, self.rng), codes)
        sign_bit = self.formats[0].sign_bit << self.formats[0].padding
        drawn.a[self.rng.random(self.n) < 0.3] &= drawn.a.dtype.type(sign_bit)
        return drawn

    def extremes(self) -> Operands:
        """The largest and the least numbers."""
        a, b, c = (
            numbers(fmt, np.where(self.rng.random(shape) < 0.5, fmt.emax, fmt.emin - 1), self.rng)
            for fmt, shape in zip(self.formats, self.shapes, strict=True)
        )
        return Operands(a, b, c, *self.scales(None))

    def with_addend(self, magnitudes: Callable[[FloatFormat], list[int]]) -> Operands:
        """Addends of these magnitudes in both signs, beside products of any size that a format has."""
        fmt = self.formats[2]
        c = self.rng.choice(np.array(magnitudes(fmt), container_dtype(fmt)), self.n) << fmt.padding
        return self.of(6, c=c | signs(fmt, c.shape, self.rng))

    def scaled(self) -> Operands:
        """Any scales; numbers of any exponents where there are none."""
        return self.of(2 if self.unit.scale is not None else 30, scales=None)

    def deep(self) -> Operands:
        """Few products, around the exponents at which zero terms count, with opposites; the addend 0 or tiny."""
        n, k, rng, (a, b, addend) = self.n, self.k, self.rng, self.formats
        least = {16: -20, 32: -132, 64: -1050}[self.unit.result.format.container_bits]
        target = least + rng.integers(-32, 6, (n, 1))
        if self.unit.scale is None:
            exps_a = np.repeat(target // 2 + rng.integers(-8, 9, (n, 1)), k, axis=1)
            exps_b = target - exps_a - rng.integers(0, 20, (n, k))
        else:
            exps_a, exps_b = rng.integers(-1, 3, (2, n, k))
        c = np.where(rng.random(n) < 0.7, 0, rng.integers(0, 4, n)).astype(container_dtype(addend))
        drawn = Operands(numbers(a, exps_a, rng), numbers(b, exps_b, rng), c, *self.scales(target[:, 0] // 2, 3))
        drawn.a[rng.random((n, k)) < rng.random((n, 1))] = 0
        self._opposed(drawn, 0.3)
        return drawn

    def floor(self) -> Operands:
        """Sums at a number or a midpoint of the result, and a term so small that a floor of max_exp may cut it off."""
        n, rng, result = self.n, self.rng, self.unit.result
        a, b, c = (np.zeros(shape, container_dtype(fmt)) for fmt, shape in zip(self.formats, self.shapes, strict=True))
        at = np.full(n, result.format.emin - result.format.fraction_bits)
        scale_a, scale_b = self.scales()
        if self.unit.scale is None or scale_a is None or scale_b is None:
            at += rng.integers(-(result.rounding == "rne"), 2, n)
            products = ((0, at), (min(1, self.k - 1), at - rng.integers(9, 27, n)))
        else:
            # Sixteen products of 2^4 under the first scales, and a small one under the last.
            at -= 8
            last = at - (rng.integers(16, 28, n) if scale_a.shape[1] > 1 else 0)
            for exps, block in ((at, 0), (last, -1)):
                for codes, half in ((scale_a, exps // 2), (scale_b, exps - exps // 2)):
                    codes[:, block] = np.clip(half + 127, 0, 254)
            products = (*((lane, np.full(n, 4)) for lane in range(16)), (self.k - 1, -2 - rng.integers(0, 12, n)))
        sign = signs(self.formats[0], (n,), rng)
        for lane, exps in products:
            half = exps // 2
            a[:, lane], b[:, lane] = self._powers(0, half), self._powers(1, exps - half)
            a[:, lane] |= (
                sign if lane < self.k - 1 and self.unit.scale is not None else signs(self.formats[0], (n,), rng)
            )
        return Operands(a, b, c, scale_a, scale_b)

    def _powers(self, side: int, exps: Codes) -> Codes:
        """Powers of two, as near as a factor's format has them."""
        fmt = self.formats[side]
        codes: Codes = fmt.encode(np.ldexp(1.0, np.clip(exps, fmt.quantum_exp, fmt.emax)))
        return codes


def _tiny(fmt: FloatFormat) -> list[int]:
    hidden = 1 << fmt.fraction_bits
    return [1, 2, 3, hidden - 1, hidden, hidden + 1, 5 * hidden]


def _huge(fmt: FloatFormat) -> list[int]:
    return [fmt.max_magnitude, fmt.max_magnitude - 1, fmt.max_magnitude >> fmt.fraction_bits << fmt.fraction_bits]


KINDS: dict[str, Callable[[Drawn], Operands]] = {
    "any codes": Drawn.any,
    "normal": Drawn.normal,
    "cancelling": Drawn.cancelling,
    "zeros": Drawn.zeros,
    "extremes": Drawn.extremes,
    "addend zero": lambda drawn: drawn.with_addend(lambda fmt: [0]),
    "addend tiny": lambda drawn: drawn.with_addend(_tiny),
    "addend huge": lambda drawn: drawn.with_addend(_huge),
    "addend infinite": lambda drawn: drawn.with_addend(lambda fmt: [fmt.infinity_magnitude or 0]),
    "addend NaN": lambda drawn: drawn.with_addend(lambda fmt: [(fmt.infinity_magnitude or 0) + 1, fmt.sign_bit - 1]),
    "scales": Drawn.scaled,
    "deep": Drawn.deep,
    "floor": Drawn.floor,
}


def drawn(unit: Unit, count: int, seed: int, k: int | None = None) -> Operands:
    """`count` dot products or a few more, as many of each kind. k: products of each; None for an instruction's."""
    rng = np.random.default_rng([seed, *unit.name.encode()])
    each = Drawn(unit, -(-count // len(KINDS)), rng, k or unit.instruction.k)
    return join([draw(each) for draw in KINDS.values()])
