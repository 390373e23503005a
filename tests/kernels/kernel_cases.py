"""Small matrix products for kernels, drawn for what goes wrong, and compared with the model bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.compute.kernels import AnyKernel
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format, container_dtype
from hwsim.model import dot
from hwsim.spec import RoundedSum, Unit
from hwsim.spec.arguments import filled

Codes = NDArray[Any]
# What factors are drawn from. `tiny` and `huge`: their products are about the least, and the largest, of the sums'
# format. `cancel` and `swamp`: products that take one another out, with few, or small ones, left over. `zeros`: of both
# signs, and nothing else.
PROFILES = (
    *("finite", "middle", "small", "large", "sparse", "special"),
    *("any", "tiny", "huge", "cancel", "swamp", "zeros"),
)
# How much of a matrix is zero.
ZEROS = {"sparse": 0.7, "zeros": 1.0}


class Product(NamedTuple):
    """A matrix product's codes: a (m, K), b (K, n), c (m, n) or None, scales (m, blocks) and (blocks, n) or None."""

    a: Codes
    b: Codes
    c: Codes | None
    scale_a: Codes | None
    scale_b: Codes | None


def draw(rng: np.random.Generator, fmt: Format, shape: tuple[int, ...], profile: str, about: int = 0) -> Codes:
    """Codes of a format. `special`: finite, with a NaN or an infinity here and there; `any`: every code.

    about: the exponent that `tiny` and `huge` numbers have, more or less.
    """
    if isinstance(fmt, ExponentFormat):
        return _draw_scale(rng, fmt, shape, profile)
    if isinstance(fmt, FixedFormat) or profile == "any":
        return _draw_bits(rng, fmt, shape, profile)
    top = fmt.max_magnitude
    low, high = {
        "middle": ((fmt.bias - 3) << fmt.fraction_bits, (fmt.bias + 3) << fmt.fraction_bits),
        "cancel": ((fmt.bias - 2) << fmt.fraction_bits, (fmt.bias + 2) << fmt.fraction_bits),
        "tiny": ((fmt.bias + about - 5) << fmt.fraction_bits, (fmt.bias + about + 3) << fmt.fraction_bits),
        "huge": ((fmt.bias + about - 3) << fmt.fraction_bits, (fmt.bias + about + 2) << fmt.fraction_bits),
        "small": (0, 2 << fmt.fraction_bits),
        "large": (top - (2 << fmt.fraction_bits), top),
    }.get(profile, (0, top))
    high = min(max(high, 1 << fmt.fraction_bits), top)
    magnitude = rng.integers(min(max(low, 0), high - 1), high + 1, shape)
    magnitude = np.where(rng.random(shape) < ZEROS.get(profile, 0), 0, magnitude)
    negative = rng.integers(0, 2, shape) * fmt.signed * ((magnitude > 0) | fmt.signed_zero)
    codes = magnitude.astype(np.uint64) | negative.astype(np.uint64) * np.uint64(fmt.sign_bit)
    if profile == "special":
        codes = np.where(rng.random(shape) < 0.01, rng.choice(np.array(_specials(fmt), np.uint64), shape), codes)
    return (codes << fmt.padding).astype(container_dtype(fmt))


def _specials(fmt: FloatFormat) -> list[int]:
    """NaNs and infinities of both signs, without padding; zero where there are none."""
    found = list(fmt.nan) if fmt.nan != "ieee" else [fmt.sign_bit - 1]
    if fmt.infinity_magnitude is not None:
        found += [fmt.infinity_magnitude, fmt.infinity_magnitude | fmt.sign_bit * fmt.signed] * 3
    return found or [0]


def _draw_bits(rng: np.random.Generator, fmt: Format, shape: tuple[int, ...], profile: str) -> Codes:
    codes = rng.integers(0, 1 << fmt.bits, shape, np.uint64 if fmt.bits == 64 else np.int64)
    if isinstance(fmt, FixedFormat):
        if profile == "small":
            codes = rng.integers(-2 * fmt.signed, 3, shape).astype(np.uint64) & np.uint64((1 << fmt.bits) - 1)
        elif profile in ("large", "any"):
            ends = np.array([1 << fmt.bits - 1, fmt.max_code, (1 << fmt.bits - 1) + 1], np.uint64)
            codes = np.where(rng.random(shape) < 0.7, rng.choice(ends, shape), codes.astype(np.uint64))
        codes = np.where(rng.random(shape) < ZEROS.get(profile, 0), 0, codes)
    elif isinstance(fmt, FloatFormat) and not fmt.signed:
        codes = rng.integers(0, fmt.max_magnitude + 1, shape)
    return (codes << fmt.padding).astype(container_dtype(fmt))


def _draw_scale(rng: np.random.Generator, fmt: ExponentFormat, shape: tuple[int, ...], profile: str) -> Codes:
    if profile == "any":
        return rng.integers(0, 1 << fmt.bits, shape).astype(container_dtype(fmt))
    middle = {"small": fmt.bias - 65, "large": fmt.bias + 58, "sparse": fmt.bias - 20}.get(profile, fmt.bias)
    codes = np.clip(middle + rng.integers(-6, 7, shape), fmt.min_code, fmt.max_code)
    if profile == "special" and fmt.nan:
        codes = np.where(rng.random(shape) < 0.03, fmt.nan[0], codes)
    return codes.astype(container_dtype(fmt))


def product(rng: np.random.Generator, unit: Unit, size: tuple[int, int, int], profile: str) -> Product:
    """A matrix product of that size: m, n, K. `cancel`: products that take one another out."""
    m, n, k = size
    target = unit.sum.format if isinstance(unit.sum, RoundedSum) else unit.result.format
    about = 0
    if isinstance(target, FloatFormat):
        about = {"tiny": (target.emin - target.fraction_bits // 2) // 2, "huge": target.emax // 2}.get(profile, 0)
    a, b = draw(rng, unit.operands.a, (m, k), profile, about), draw(rng, unit.operands.b, (k, n), profile, about)
    if profile == "cancel" and k > 2:
        half = (k - 1) // 2
        a[:, half : 2 * half] = a[:, :half]
        b[half : 2 * half] = _negated(unit.operands.b, b[:half])
    if profile == "swamp" and k > 2:
        a[:, 1::3] = draw(rng, unit.operands.a, a[:, 1::3].shape, "small")
        b[1::3] = draw(rng, unit.operands.b, b[1::3].shape, "small")
        a[:, 2::3] = a[:, : k - 2 : 3]
        b[2::3] = _negated(unit.operands.b, b[: k - 2 : 3])
    if profile == "zeros":
        a[:, 1:], b[1:] = a[:, :1], b[:1]
    c = None
    if unit.operands.addend is not None:
        c = _addends(rng, unit.operands.addend, (m, n), profile)
    if unit.scale is None:
        return Product(a, b, c, None, None)
    kind = profile if rng.random() < 0.7 else str(rng.choice(PROFILES))
    scale_a = draw(rng, unit.scale.a.format, (m, k // unit.scale.a.block[1]), kind)
    scale_b = draw(rng, unit.scale.b.format, (k // unit.scale.b.block[0], n), kind)
    return Product(a, b, c, scale_a, scale_b)


def _addends(rng: np.random.Generator, fmt: Format, shape: tuple[int, ...], profile: str) -> Codes:
    """Addends of several profiles beside one another, zeros of both signs among them."""
    kinds = ["middle", "small", "large", "sparse", "any" if profile in ("any", "special") else "finite"]
    kinds += ["zeros"] * (15 if profile in ("zeros", "swamp") else 1)
    drawn = np.array([draw(rng, fmt, shape, kind) for kind in kinds])
    which = rng.integers(0, len(kinds), shape)
    return np.take_along_axis(drawn, which[None], axis=0)[0].astype(container_dtype(fmt))


def _negated(fmt: Format, codes: Codes) -> Codes:
    """The codes of the numbers with their signs turned round."""
    if isinstance(fmt, FixedFormat):
        if not fmt.signed:
            return codes
        return (-codes.astype(np.int64) & ((1 << fmt.bits) - 1)).astype(codes.dtype)
    assert isinstance(fmt, FloatFormat)
    flipped = codes ^ codes.dtype.type(fmt.sign_bit << fmt.padding)
    return flipped if fmt.signed_zero else np.where(codes == 0, codes, flipped)


def lengths(unit: Unit, rng: np.random.Generator, most: int = 40) -> Iterator[int]:
    """Some K that the unit takes: one group and a tail, several, one product; multiples of the scales' blocks."""
    lanes, block = unit.instruction.lanes, 1
    if unit.scale is not None:
        block = int(np.lcm(unit.scale.a.block[1], unit.scale.b.block[0]))
    longest = unit.instruction.k if unit.instruction.chain is None else max(most, 2 * lanes)
    for k in (1, lanes, lanes + 1, int(rng.integers(1, longest + 1)), longest):
        yield min(-(-k // block) * block, longest // block * block or block)


def fill(unit: Unit, given: Product, word: Any) -> Product:
    """A product's operands, filled up along K as kernels want them, and addends as words."""
    missing = -given.a.shape[1] % unit.instruction.fill
    a, b = np.pad(given.a, ((0, 0), (0, missing))), np.pad(given.b, ((0, missing), (0, 0)))
    shape = given.a.shape[0], given.b.shape[1]
    c = np.zeros(shape, word) if given.c is None else given.c.astype(word)
    if unit.scale is None or given.scale_a is None or given.scale_b is None:
        return Product(a, b, c, None, None)
    k = a.shape[1]
    scale_a, scale_b = filled(given.scale_a, unit.scale, "a", k), filled(given.scale_b.T, unit.scale, "b", k).T
    return Product(a, b, c, scale_a, scale_b)


def every_pair(given: Product) -> tuple[Any, ...]:
    """Rows of A, columns of B, addends and scales of all elements, row after row."""
    m, n = given.a.shape[0], given.b.shape[1]
    i, j = np.repeat(np.arange(m), n), np.tile(np.arange(n), m)
    c = None if given.c is None else given.c[i, j]
    if given.scale_a is None or given.scale_b is None:
        return given.a[i], given.b.T[j], c, None, None
    return given.a[i], given.b.T[j], c, given.scale_a[i], given.scale_b.T[j]


def by_kernel(kernel: AnyKernel, unit: Unit, given: Product) -> Codes:
    """The kernel's results, as codes (m, n)."""
    a, b, c, scale_a, scale_b = fill(unit, given, kernel.word)
    assert c is not None
    out = np.full(c.shape, 0xDEADBEEF, kernel.word)
    kernel.run(kernel.pack_a(a, scale_a), kernel.pack_b(b, scale_b), c, out)
    return out


def by_pairs(kernel: AnyKernel, unit: Unit, given: Product) -> Codes:
    """The same results, from every pair of a row and a column."""
    a, b, c, scale_a, scale_b = every_pair(fill(unit, given, kernel.word))
    out = np.full(c.shape, 0xDEADBEEF, kernel.word)
    kernel.pairs((a, scale_a), (b, scale_b), c, out)
    return out.reshape(given.a.shape[0], given.b.shape[1])


def by_model(unit: Unit, given: Product) -> Codes:
    """The model's results, as codes (m, n)."""
    out = dot(unit, *every_pair(given))
    bits = out.view(f"u{out.itemsize}") if out.dtype.kind == "f" else out
    return bits.reshape(given.a.shape[0], given.b.shape[1])


def mismatch(unit: Unit, given: Product, got: Codes, want: Codes, seed: Any) -> str:
    """The first element that differs, and what it is made of."""
    i, j = (int(index) for index in np.argwhere(got != want)[0])
    scales = "" if given.scale_a is None or given.scale_b is None else (
        f"\nscale_a = {given.scale_a[i].tolist()}\nscale_b = {given.scale_b[:, j].tolist()}"
    )  # fmt: skip
    c = None if given.c is None else int(given.c[i, j])
    return (
        f"{unit.name}, seed {seed}, {np.count_nonzero(got != want)} of {got.size} differ; [{i}, {j}]: "
        f"got {int(got[i, j]):#x}, the model has {int(want[i, j]):#x}\n"
        f"a = {given.a[i].tolist()}\nb = {given.b[:, j].tolist()}\nc = {c}{scales}"
    )


def compare(kernel: AnyKernel, unit: Unit, seed: Any, size: tuple[int, int, int], profile: str) -> int:
    """How many elements of a matrix product of that size (m, n, K), drawn by that seed, are the model's: all.

    Raises AssertionError with the first that is not.
    """
    given = product(np.random.default_rng(seed), unit, size, profile)
    want = by_model(unit, given)
    for got in (by_kernel(kernel, unit, given), by_pairs(kernel, unit, given)):
        if (got != want).any():
            raise AssertionError(mismatch(unit, given, got, want, seed))
    return want.size


def compare_all(kernel: AnyKernel, unit: Unit, seed: int, m: int = 1, n: int = 17, most: int = 40) -> int:
    """`compare` for every profile, each with two of several K."""
    chosen = sorted(set(lengths(unit, np.random.default_rng([seed, 0]), most)))
    count = 0
    for index, profile in enumerate(PROFILES):
        for k in {chosen[index % len(chosen)], chosen[-1 - index // 2 % len(chosen)]}:
            count += compare(kernel, unit, [seed, index, k], (m, n, k), profile)
    return count
