"""Operands for kernels of windows: traps, sweeps and directed cases; and what plays them, element by element and not.

Beside the random products of `kernel_cases`, whose operands these are too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from kernels.kernel_cases import (
    PROFILES,
    Codes,
    Product,
    by_kernel,
    by_model,
    by_pairs,
    draw,
    lengths,
    mismatch,
    product,
)

from hwsim.cases import palette as landmarks
from hwsim.cases.bins.covering import directed
from hwsim.compute.kernels import kernel_of
from hwsim.compute.kernels.scaled import ScaledKernel
from hwsim.compute.kernels.window_kernel import WindowKernel
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format, container_dtype
from hwsim.formats.blocks import one_code
from hwsim.spec import NotImplementedYet, Unit


def codes_in(out: Codes) -> Codes:
    """Results' codes as uint32."""
    bits = out.view(f"u{out.itemsize}") if out.dtype.kind == "f" else out
    return bits.astype(np.uint32)


def window_kernel(unit: Unit, vectors: bool = True) -> WindowKernel:
    """The unit's kernel, with vectors where they hold its window, or without."""
    kernel = kernel_of(unit)
    assert isinstance(kernel, WindowKernel)
    if not vectors:
        kernel.vectors, kernel.single = None, None
        if isinstance(kernel, ScaledKernel):
            kernel.layout = None
    return kernel


def kernels(unit: Unit) -> list[WindowKernel]:
    """The kernel without vectors, and that with them where the unit has them."""
    scalar, vectors = window_kernel(unit, vectors=False), window_kernel(unit)
    return [scalar, vectors] if vectors.in_vectors else [scalar]


def same(unit: Unit, given: Product, got: Codes, want: Codes, what: Any) -> None:
    """Raise AssertionError with the first element that differs."""
    if (got != want).any():
        raise AssertionError(mismatch(unit, given, got, want, what))


def check(made: Sequence[WindowKernel], unit: Unit, given: Product, what: Any) -> int:
    """How many elements are the model's, by every kernel: all."""
    want = by_model(unit, given)
    for kernel in made:
        same(unit, given, by_kernel(kernel, unit, given), want, what)
        if not kernel.in_vectors:
            same(unit, given, by_pairs(kernel, unit, given), want, (what, "pairs"))
    return want.size


def rows_of(fmt: Format, k: int, rng: np.random.Generator, specials: bool) -> Codes:
    """Rows of k codes: zeros, one number throughout, one among zeros or smaller ones, pairs that cancel, and ramps.

    specials: rows with a NaN, or with infinities, as well.
    """
    numbers = list(landmarks.numbers(fmt).values())
    least, largest = numbers[0], max(numbers)
    one = landmarks.numbers(fmt).get("one", largest)
    minus = {code: landmarks.negate(fmt, code) or code for code in numbers}
    rows = [[code] * k for code in [*landmarks.zeros(fmt), *numbers, *(minus[code] for code in (least, one, largest))]]
    rows += [[code, *[0] * k] for code in (least, numbers[len(numbers) // 3], minus[largest])]
    for code in (one, largest):
        rows += [[code, minus[code]] * k, [least, *[code, minus[code]] * k]]
    rows += [[largest, *[least] * k], [0] * (k - 1) + [minus[least]], [0] * (k - 1) + [one]]
    rows += [[largest] * (k - 1) + [minus[least]]]
    ramp = (np.linspace(least >> fmt.padding, largest >> fmt.padding, k).round().astype(int) << fmt.padding).tolist()
    rows += [ramp, [code if i % 2 else landmarks.negate(fmt, code) or code for i, code in enumerate(ramp)]]
    if isinstance(fmt, FixedFormat):
        rows.append([1 << fmt.bits - 1] * k)
    if specials:
        rows += _special_rows(fmt, k, rng, one)
    return np.array([row[:k] for row in rows]).astype(container_dtype(fmt))


def _special_rows(fmt: Format, k: int, rng: np.random.Generator, one: int) -> list[list[int]]:
    """A NaN or an infinity among ones, in any lane, and among zeros; infinities of both signs."""
    rows, infinities = [], landmarks.infinities(fmt)
    for code in [*landmarks.nans(fmt)[:2], *infinities]:
        row = [one] * k
        row[int(rng.integers(k))] = code
        rows += [row, [0] * (k - 1) + [code]]
    if infinities:
        rows.append([infinities[i % len(infinities)] if i in (0, k - 1) else one for i in range(k)])
    return rows


def addends(unit: Unit, shape: tuple[int, ...], rng: np.random.Generator, modest: bool = False) -> Codes | None:
    """Zeros of both signs, the ends of the format and its specials, and numbers near the products' exponents.

    modest: zeros and numbers near the products' alone.
    """
    fmt = unit.operands.addend
    if fmt is None:
        return None
    if isinstance(fmt, FixedFormat):
        return draw(rng, fmt, shape, "small" if modest else "any")
    numbers = list(landmarks.numbers(fmt).values())
    ends = [*numbers, *(code - (1 << fmt.padding) for code in numbers if code >> fmt.padding > 1)]
    ends += [code + (1 << fmt.padding) for code in numbers if code >> fmt.padding < fmt.max_magnitude]
    ends += [landmarks.negate(fmt, code) or code for code in ends] + landmarks.zeros(fmt) * 4
    specials = [*landmarks.nans(fmt), *landmarks.infinities(fmt)] or [0]
    if modest:
        ends = specials = landmarks.zeros(fmt)
    a, b = unit.operands.multiplied
    low, high = (sum(getattr(side, key, 0) for side in (a, b)) for key in ("emin", "emax"))
    beyond = (2, 4) if modest else (12, 36)
    first = max(fmt.emin, low - beyond[0])
    exps = rng.integers(first, max(min(fmt.emax, high + beyond[1]), first) + 1, shape)
    last = (1 << fmt.fraction_bits) - 1
    fractions = np.where(rng.random(shape) < 0.3, rng.choice([0, 1, last], shape), rng.integers(0, last + 1, shape))
    magnitude = np.minimum((exps + fmt.bias << fmt.fraction_bits) | fractions, fmt.max_magnitude)
    signs = rng.integers(0, 2, shape).astype(np.uint64) * np.uint64(fmt.sign_bit)
    near = (magnitude.astype(np.uint64) | signs) << np.uint64(fmt.padding)
    kind = rng.random(shape)
    of_ends, of_specials = (rng.choice(np.array(codes, np.uint64), shape) for codes in (ends, specials))
    codes = np.where(kind < 0.5, near, np.where(kind < 0.92, of_ends, of_specials))
    return codes.astype(container_dtype(fmt))


def scales(unit: Unit, m: int, n: int, k: int, rng: np.random.Generator) -> tuple[Codes | None, Codes | None]:
    """Scales of a product: most of an element's of one size, from the ends of their format too."""
    if unit.scale is None:
        return None, None
    sides = []
    for side, count, length in ((unit.scale.a, m, unit.scale.a.block[1]), (unit.scale.b, n, unit.scale.b.block[0])):
        ends = np.array(scale_ends(side.format))
        size = rng.choice(ends, (count, 1))
        drawn = np.where(rng.random((count, k // length)) < 0.8, size, rng.choice(ends, (count, k // length)))
        plain = draw(rng, side.format, (count, k // length), "middle")
        sides.append(np.where(rng.random((count, 1)) < 0.6, plain, drawn).astype(container_dtype(side.format)))
    return sides[0], sides[1].T


def scale_ends(fmt: Format) -> list[int]:
    """Codes of scales at the ends of their format, and about one; NaN."""
    if isinstance(fmt, ExponentFormat):
        near = [0, 1, 2, 63, 64, 126, 127, 128, 190, 191, 253, 254]
        return [code for code in near if fmt.min_code <= code <= fmt.max_code] + landmarks.nans(fmt)
    if isinstance(fmt, FixedFormat):
        least = 1 << fmt.bits - 1
        return [0, 1, least - 1, least, 2 * least - 1]
    assert isinstance(fmt, FloatFormat)
    numbers = list(landmarks.numbers(fmt).values())
    minus = [landmarks.negate(fmt, code) or code for code in numbers]
    return [*landmarks.zeros(fmt), *numbers, *minus, *landmarks.nans(fmt)[:1], *landmarks.infinities(fmt)[:1]]


def whole(unit: Unit, k: int) -> int:
    """k, or the next multiple of both scales' blocks that the unit takes."""
    if unit.scale is None:
        return k
    block = int(np.lcm(unit.scale.a.block[1], unit.scale.b.block[0]))
    return -(-k // block) * block


def longest(unit: Unit) -> int:
    """A K that has a group and a product more than two groups, or than two promotions; or what the unit takes."""
    count = 2 * (unit.promotion.interval if unit.promotion else unit.instruction.lanes) + 1
    return count if unit.instruction.chain is not None else min(unit.instruction.k, count)


def traps(unit: Unit, seed: int, most: int = 1 << 20) -> Iterator[Product]:
    """Rows against columns of `rows_of`, with addends and scales of all kinds: a group, less, and several.

    Specials are in A, or in B, or nowhere; there addends are modest too. most: of the rows, and of the columns, so many
    at random.
    """
    rng = np.random.default_rng(seed)
    lanes = unit.instruction.lanes
    for k in sorted({whole(unit, k) for k in (lanes, max(lanes - 1, 1), longest(unit))}):
        if unit.instruction.chain is None and k > unit.instruction.k:
            continue
        for special in ("a", "b", ""):
            a, b = (
                rng.permutation(rows_of(getattr(unit.operands, side), k, rng, side == special))[:most] for side in "ab"
            )
            c = addends(unit, (len(a), len(b)), rng, modest=not special)
            yield Product(a, b.T, c, *scales(unit, len(a), len(b), k, rng))


def operands(unit: Unit, seed: int, n: int = 19, most: int | None = None) -> Iterator[tuple[str, Product]]:
    """Random products of every profile, of n columns; some of 66 with modest addends; and traps.

    most: rows and columns of the traps; None for few.
    """
    rng = np.random.default_rng(seed)
    chosen = sorted(set(lengths(unit, rng, max(40, longest(unit)))))
    for profile in PROFILES:
        yield profile, product(rng, unit, (2, n, int(rng.choice(chosen))), profile)
    for profile in ("middle", "cancel", "finite"):
        given = product(rng, unit, (1, 66, int(rng.choice(chosen))), profile)
        yield f"{profile}, modest", given._replace(c=addends(unit, (1, 66), rng, modest=True))
    for given in traps(unit, seed, most or 7):
        yield "traps", given


def addend_sweep(unit: Unit, seed: int) -> Product:
    """Every exponent of the addend, its fraction all zeros, one and all ones, beside four sums of products."""
    fmt = unit.operands.addend
    assert fmt is not None
    last = (1 << fmt.fraction_bits) - 1
    magnitudes = [exp << fmt.fraction_bits | frac for exp in range(1 << fmt.exponent_bits) for frac in {0, 1, last}]
    codes = [(code | sign * fmt.sign_bit) << fmt.padding for code in magnitudes for sign in (0, 1)]
    k = whole(unit, unit.instruction.lanes)
    numbers_a, numbers_b = (list(landmarks.numbers(side).values()) for side in (unit.operands.a, unit.operands.b))
    a = np.zeros((4, k), container_dtype(unit.operands.a))
    a[0, -1], a[1, 0], a[2, :2] = numbers_a[0], max(numbers_a), [max(numbers_a), numbers_a[0]][:k]
    a[3] = landmarks.negate(unit.operands.a, numbers_a[len(numbers_a) // 2]) or 0
    column = np.full(k, numbers_b[-1], container_dtype(unit.operands.b))
    column[-1] = numbers_b[0]
    n = len(codes)
    c = np.tile(np.array(codes, np.uint64), (4, 1)).astype(container_dtype(fmt))
    rng = np.random.default_rng(seed)
    return Product(a, np.repeat(column[:, None], n, axis=1), c, *scales(unit, 4, n, k, rng))


def code_pairs(unit: Unit, lane: int) -> Product:
    """Every code of a in that lane against every code of b, beside a product of the smallest normal numbers."""
    k = whole(unit, unit.instruction.lanes)
    every = [np.arange(1 << side.bits) for side in (unit.operands.a, unit.operands.b)]
    a, b = np.zeros((len(every[0]), k), np.uint8), np.zeros((k, len(every[1])), np.uint8)
    beside = (lane + 1) % k
    a[:, beside], b[beside] = (smallest_normal(side) for side in (unit.operands.a, unit.operands.b))
    a[:, lane], b[lane] = every
    shape = len(a), b.shape[1]
    fmt = unit.operands.addend
    c = None if fmt is None else np.zeros(shape, container_dtype(fmt))
    if unit.scale is None:
        return Product(a, b, c, None, None)
    ones = [
        np.full(size, one_code(side.format), container_dtype(side.format))
        for side, size in (
            (unit.scale.a, (shape[0], k // unit.scale.a.block[1])),
            (unit.scale.b, (k // unit.scale.b.block[0], shape[1])),
        )
    ]
    return Product(a, b, c, *ones)


def plain(unit: Unit) -> Unit:
    """A unit of the same formats, lanes and window, of which directed cases can be made."""
    operands, instruction, result = unit.operands, unit.instruction, unit.result
    fmt = result.format if result.format.subnormals else "f32"
    return Unit.model_validate(
        {
            "unit": "plain",
            "operands": {"a": operands.a, "b": operands.b, "addend": operands.addend},
            "instruction": {"k": instruction.k, "lanes": instruction.lanes, "chain": instruction.chain},
            "sum": {"method": "aligned", "fraction_bits": unit.sum.fraction_bits, "lost": unit.sum.lost},
            "result": {"format": fmt, "rounding": result.rounding, "overflow": result.overflow},
        }
    )


class Rows(NamedTuple):
    """Dot products of one length: a, b codes (n, K); c (n,), or None; scales (n, blocks), or None."""

    a: Codes
    b: Codes
    c: Codes | None
    scale_a: Codes | None
    scale_b: Codes | None


def smallest_normal(fmt: Any) -> int:
    """Its code; the least number of a fixed format, which has no exponents."""
    named = landmarks.numbers(fmt)
    return named.get("first-normal") or named["least"]


def directed_rows(unit: Unit, seed: int) -> Iterator[Rows]:
    """The unit's directed cases by their lengths; those of `plain` where it has none of its own."""
    try:
        cases, own = directed(unit, seed), True
    except NotImplementedYet:
        cases, own = directed(plain(unit), seed), False
    by_length = defaultdict(list)
    for case in cases:
        by_length[len(case.a)].append(case)
    rng = np.random.default_rng(seed)
    for k, listed in by_length.items():
        n, fmt = len(listed), unit.operands.addend
        c = None if fmt is None else np.array([case.c for case in listed]).astype(container_dtype(fmt))
        a, b = (
            np.pad(np.array([getattr(case, side) for case in listed]), ((0, 0), (0, whole(unit, k) - k)))
            for side in ("a", "b")
        )
        if own and unit.scale is not None:
            # Zero terms that fill an instruction have scales too, those of the blocks before them.
            lengths = [a.shape[1] // unit.scale.length(side) for side in ("a", "b")]
            given = [np.array([getattr(case, side) for case in listed]) for side in ("scale_a", "scale_b")]
            filled = (
                np.pad(one, ((0, 0), (0, most - one.shape[1])), mode="edge")
                for one, most in zip(given, lengths, strict=True)
            )
            yield Rows(a, b, c, *filled)
        else:
            scale_a, scale_b = scales(unit, n, n, a.shape[1], rng)
            yield Rows(a, b, c, scale_a, None if scale_b is None else scale_b.T)
