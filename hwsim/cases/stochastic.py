"""Random cases: uniform codes, normal values and cancelling sums, with addends and scales to match."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import count as counting
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.case import Case, block_lengths
from hwsim.cases.counter import Ints, Stream, normals
from hwsim.cases.landmarks import infinities, nans, numbers, zeros
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.spec import Unit, refuse_unimplemented

CHUNK = 48  # cases that are drawn together, from one stream
KINDS = ("uniform", "normal", "cancelling")
WIDEST_BAND = 24  # binades to each side of 1 that the numbers of wide formats are drawn from
Bools = NDArray[np.bool_]


class _Factors(NamedTuple):
    """Codes (cases, terms) of a and b."""

    a: Ints
    b: Ints


def random_cases(unit: Unit, count: int, seed: int) -> list[Case]:
    """`count` random cases: a third of uniform finite codes, of normal values and of cancelling sums each.

    The first n cases of a longer list are those of a list of n. NaN and infinities are in a few cases in a hundred.
    Sums have 1 to 4 beats, up to whole instructions where the unit takes only those; with promotion, up to two
    intervals and one beat.
    Raises NotImplementedYet for a unit that the model does not have.
    """
    refuse_unimplemented(unit)
    return list(islice(_cases(unit, seed), count))


def _cases(unit: Unit, seed: int) -> Iterator[Case]:
    for chunk in counting():
        yield from _chunk(unit, seed, chunk)


def most_beats(unit: Unit) -> int:
    """The longest sum, in beats, that random cases have."""
    instruction = unit.instruction
    most = 2 * unit.promotion_beats + 1 if unit.promotion_beats else 4
    most = most if instruction.chain else min(most, instruction.groups)
    return -(-most // _whole(unit)) * _whole(unit)


def _whole(unit: Unit) -> int:
    """The beats of which a sum has a multiple."""
    return unit.instruction.fill // unit.instruction.lanes


def _chunk(unit: Unit, seed: int, chunk: int) -> list[Case]:
    """Cases CHUNK * chunk and those that follow; case i is of kind i % 3."""
    rng = Stream(seed, unit.name, "random", chunk)
    lanes, most = unit.instruction.lanes, most_beats(unit)
    beats = -(-rng.integers(1, most + 1, CHUNK) // _whole(unit)) * _whole(unit)
    a, b = np.zeros((2, CHUNK, most * lanes), dtype=np.int64)
    for kind, draw in enumerate((_uniform, _normal, _cancelling)):
        here = slice(kind, CHUNK, len(KINDS))
        a[here], b[here] = draw(unit, rng, len(range(CHUNK)[here]), most)
    _specials(unit, rng, beats * lanes, a, b)
    addends = _addends(unit, rng, a, b)
    scale_a, scale_b = _scales(unit, rng, most * lanes)
    cases = []
    for i, n in enumerate((beats * lanes).tolist()):
        name = f"random/{CHUNK * chunk + i:06}-{KINDS[i % len(KINDS)]}"
        blocks = [-(-n // length) for length in block_lengths(unit)] if unit.scale else [0, 0]
        scales = (tuple(scale_a[i, : blocks[0]].tolist()), tuple(scale_b[i, : blocks[1]].tolist()))
        cases.append(Case(name, tuple(a[i, :n].tolist()), tuple(b[i, :n].tolist()), int(addends[i]), *scales))
    return cases


# Factors.


def _codes(fmt: Format, steps: Ints, negative: Bools) -> Ints:
    """Codes of numbers that are so many codes away from zero."""
    if isinstance(fmt, FixedFormat):
        return np.asarray(np.where(negative, -steps, steps) & ((1 << fmt.bits) - 1))
    assert isinstance(fmt, FloatFormat)
    signed = negative & fmt.signed & ((steps != 0) | fmt.signed_zero)
    return np.asarray((np.where(signed, fmt.sign_bit, 0) | steps) << fmt.padding)


def _most(fmt: Format) -> int:
    """How many codes the largest number is away from zero."""
    return (1 << fmt.bits - 1) - 1 if isinstance(fmt, FixedFormat) else fmt.max_magnitude  # type: ignore[union-attr]


def _signs(rng: Stream, shape: tuple[int, ...]) -> Bools:
    return np.asarray(rng.integers(0, 2, shape) == 1)


def _band(rng: Stream, fmt: Format, cases: int, binades: int) -> tuple[Ints, Ints]:
    """For each case the first and the last code, counted from zero, of a range of so many binades around 1."""
    most = _most(fmt)
    if isinstance(fmt, FixedFormat):
        some = np.left_shift(2, rng.integers(1, max(2, fmt.bits - 1), cases)) - 1
        return np.zeros(cases, dtype=np.int64), np.minimum(some if binades < fmt.bits else most, most)
    assert isinstance(fmt, FloatFormat)
    if binades >= fmt.top_bexp:
        return np.zeros(cases, dtype=np.int64), np.full(cases, most)
    near = min(fmt.top_bexp - binades, 2 * WIDEST_BAND)
    middle = min(max(fmt.bias, (near + binades) // 2), fmt.top_bexp - (near + binades) // 2)
    first = np.maximum(middle - (near + binades) // 2 + rng.integers(0, near + 1, cases), 0) << fmt.fraction_bits
    return first, np.minimum(first + (binades << fmt.fraction_bits), most)


def _in_band(rng: Stream, fmt: Format, cases: int, terms: int, binades: int) -> Ints:
    first, last = _band(rng, fmt, cases, binades)
    steps = rng.integers(first[:, None], np.maximum(last, first + 1)[:, None], (cases, terms), endpoint=True)
    return _codes(fmt, np.minimum(steps, _most(fmt)), _signs(rng, (cases, terms)))


def _uniform(unit: Unit, rng: Stream, cases: int, beats: int) -> _Factors:
    """Every finite code alike; in every second case only those of a few binades."""
    terms = beats * unit.instruction.lanes
    a, b = (_in_band(rng, fmt, cases, terms, 2 * WIDEST_BAND) for fmt in _factors(unit))
    narrow_a, narrow_b = (_in_band(rng, fmt, cases, terms, 6) for fmt in _factors(unit))
    a[::2], b[::2] = narrow_a[::2], narrow_b[::2]
    return _Factors(a, b)


def _normal(unit: Unit, rng: Stream, cases: int, beats: int) -> _Factors:
    """Normal values of a magnitude that differs from case to case, encoded."""
    shape = (cases, beats * unit.instruction.lanes)
    a, b = (fmt.encode(normals(rng, shape) * _magnitudes(rng, fmt, cases)[:, None]) for fmt in _factors(unit))
    return _Factors(a.astype(np.int64), b.astype(np.int64))


def _magnitudes(rng: Stream, fmt: Format, cases: int) -> NDArray[np.float64]:
    least, most = (-fmt.fraction_bits, 1) if isinstance(fmt, FixedFormat) else (fmt.emin, fmt.emax)
    least, most = max(least, -WIDEST_BAND), min(most, WIDEST_BAND)
    return np.asarray(np.ldexp(1.0, rng.integers(least, max(most, least + 1), cases).astype(np.intc)))


def _cancelling(unit: Unit, rng: Stream, cases: int, beats: int) -> _Factors:
    """In each beat products of a few binades with their opposites, and a small remainder, shuffled."""
    lanes = unit.instruction.lanes
    rows = cases * beats
    a, b = (_in_band(rng, fmt, rows, lanes, 2) for fmt in _factors(unit))
    small_a, small_b = (_codes(fmt, *_small(rng, fmt, (rows, lanes))) for fmt in _factors(unit))
    pairs = lanes // 2
    a[:, pairs : 2 * pairs] = _negated(unit.operands.a, a[:, :pairs])
    b[:, pairs : 2 * pairs] = b[:, :pairs]
    # A few lanes, and often none, hold the remainder in place of a product that cancels.
    rest = rng.integers(0, lanes, (rows, lanes)) < (rng.integers(0, 6, (rows, 1)) + 1) // 2
    a, b = np.where(rest, small_a, a), np.where(rest, small_b, b)
    order = rng.permuted(np.broadcast_to(np.arange(lanes), (rows, lanes)))
    shape = (cases, beats * lanes)
    return _Factors(*(np.take_along_axis(side, order, axis=1).reshape(shape) for side in (a, b)))


def _small(rng: Stream, fmt: Format, shape: tuple[int, ...]) -> tuple[Ints, Bools]:
    most = max(1, _most(fmt) // 8)
    return rng.integers(0, most, shape, endpoint=True), _signs(rng, shape)


def _negated(fmt: Format, codes: Ints) -> Ints:
    if isinstance(fmt, FixedFormat):
        return -codes & ((1 << fmt.bits) - 1)
    assert isinstance(fmt, FloatFormat)
    magnitude = (fmt.sign_bit - 1) << fmt.padding
    return np.where((codes & magnitude == 0) & (not fmt.signed_zero), codes, codes ^ fmt.sign_bit << fmt.padding)


def _factors(unit: Unit) -> tuple[Format, Format]:
    return unit.operands.a, unit.operands.b


# Specials, addends and scales.


@lru_cache(maxsize=32)
def _special_codes(fmt: Format) -> tuple[int, ...]:
    return (*nans(fmt), *infinities(fmt) * max(1, len(nans(fmt))))


def _specials(unit: Unit, rng: Stream, terms: Ints, a: Ints, b: Ints) -> None:
    """Put one or two NaNs or infinities into one case of 24, in place."""
    for i in range(CHUNK):
        struck, places = rng.integers(0, 24) == 0, rng.integers(0, terms[i], 2)
        for place, (codes, fmt) in zip(places.tolist(), zip((a, b), _factors(unit), strict=True), strict=True):
            special, keep = _special_codes(fmt), rng.integers(0, 3) == 0
            which = int(rng.integers(0, max(1, len(special))))
            if struck and special and not keep:
                codes[i, place] = special[which]


def _addends(unit: Unit, rng: Stream, a: Ints, b: Ints) -> list[int]:
    """An addend for each case: near the products mostly, or zero, any number, a landmark, and rarely a special."""
    fmt = unit.operands.addend
    if not isinstance(fmt, FloatFormat):
        return [0] * CHUNK
    values = np.abs(_finite_values(unit.operands.a, a) * _finite_values(unit.operands.b, b)).max(axis=1)
    exps = np.clip(np.frexp(values)[1] + rng.integers(-8, 6, CHUNK), fmt.emin - fmt.fraction_bits, fmt.emax)
    magnitudes = np.ldexp(1 + rng.integers(0, 1 << 30, CHUNK) / (1 << 30), exps.astype(np.intc))
    signs = np.where(_signs(rng, (CHUNK,)) & fmt.signed, -1.0, 1.0)
    near = fmt.encode(magnitudes * signs).astype(np.int64)
    anywhere = _codes(fmt, rng.integers(0, fmt.max_magnitude, CHUNK, endpoint=True), _signs(rng, (CHUNK,)))
    fixed = [zeros(fmt), list(numbers(fmt).values()), list(_special_codes(fmt)) or zeros(fmt)]
    kinds, which = rng.integers(0, 64, CHUNK), rng.integers(0, 1 << 16, CHUNK)
    chosen = []
    for i, kind in enumerate(kinds.tolist()):
        if kind < 50:
            chosen.append(int((near if kind < 38 else anywhere)[i]))
        else:
            codes = fixed[0 if kind < 59 else 1 if kind < 63 else 2]
            chosen.append(codes[int(which[i]) % len(codes)])
    return chosen


def _finite_values(fmt: Format, codes: Ints) -> NDArray[np.float64]:
    return np.nan_to_num(fmt.decode(codes), nan=0.0, posinf=0.0, neginf=0.0)


def _scales(unit: Unit, rng: Stream, terms: int) -> tuple[Ints, Ints]:
    """Scale codes (cases, blocks): mostly near one another and near 2^0, at times anywhere, rarely NaN."""
    none = np.zeros((CHUNK, 0), dtype=np.int64)
    if unit.scale is None:
        return none, none
    sides: list[Any] = []
    for side, length in zip((unit.scale.a, unit.scale.b), block_lengths(unit), strict=True):
        fmt, shape = side.format, (CHUNK, -(-terms // length))
        near = rng.integers(-10, 10, (CHUNK, 1)) + rng.integers(-3, 4, shape)
        if isinstance(fmt, ExponentFormat):
            least, most, around, special = fmt.min_code, fmt.max_code, fmt.bias + near, list(fmt.nan)
        else:
            assert isinstance(fmt, FloatFormat)
            least, most, special = 0, fmt.max_magnitude, nans(fmt)
            fraction = rng.integers(0, 1 << fmt.fraction_bits, shape)
            around = np.clip(fmt.bias + near, 0, fmt.top_bexp) << fmt.fraction_bits | fraction
        anywhere = rng.integers(least, most, shape, endpoint=True)
        codes = np.clip(np.where(rng.integers(0, 12, (CHUNK, 1)) == 0, anywhere, around), least, most)
        if isinstance(fmt, FloatFormat):
            codes = codes << fmt.padding
        struck = rng.integers(0, 24 * shape[1], shape) == 0
        sides.append(np.where(struck & bool(special), special[-1] if special else 0, codes))
    return sides[0], sides[1]
