"""Random cases without end: case i depends on the unit, the seed and i alone, a million and more a second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, overload

import numpy as np

from hwsim.cases.batch import Batch
from hwsim.cases.case import block_lengths
from hwsim.cases.counter import key_of
from hwsim.cases.landmarks import infinities, nans
from hwsim.cases.stochastic import most_beats
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format, container_dtype
from hwsim.formats.codes import Codes
from hwsim.spec import Unit, refuse_unimplemented

CHUNK = 1024  # cases of one length
AROUND = 24  # binades to each side of 1 that wide formats are mostly drawn from
WORD = (1 << 32) - 1
SCALES = 1 << 20  # counters of a case from which its scales are drawn


class Names(Sequence[str]):
    """`random/00000042-spread` and so on, made when they are asked for."""

    def __init__(self, first: int, count: int):
        self._range = range(first, first + count)

    def __len__(self) -> int:
        return len(self._range)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Names: ...
    def __getitem__(self, index: int | slice) -> str | Names:
        found = self._range[index]
        return Names(found.start, len(found)) if isinstance(found, range) else case_name(found)


def case_name(number: int) -> str:
    """The id of a random case."""
    from hwsim.cases.drawing import KINDS

    return f"random/{number:08}-{KINDS[number % len(KINDS)]}"


class _Sides(NamedTuple):
    a: Any
    b: Any
    c: Any
    window: int


def chunk_beats(unit: Unit, chunk: int) -> int:
    """Beats that the cases of a chunk have: one mostly; all lengths up to `most_beats` among the first few."""
    whole, most = unit.instruction.fill // unit.instruction.lanes, most_beats(unit)
    lengths = {1: most, 3: 2 * whole, 6: 3 * whole, 9: most - whole}
    return max(whole, min(lengths.get(chunk % 16, whole), most))


def random_batches(unit: Unit, seed: int, first: int = 0) -> Iterator[Batch]:
    """Batches of random cases without end, from chunk `first` on.

    Case i is of kind i % 8: any numbers, near one another, spread over the window, cancelling, few, straddling the
    window's end, beside a large addend, or with zeros, NaNs and infinities.
    Raises NotImplementedYet for a unit that the model does not have.
    """
    refuse_unimplemented(unit)
    chunk = first
    while True:
        yield random_chunk(unit, seed, chunk)
        chunk += 1


def random_chunk(unit: Unit, seed: int, chunk: int) -> Batch:
    """The CHUNK cases from CHUNK * chunk on."""
    from hwsim.cases.drawing import draw  # Numba takes a while, which those who draw nothing need not wait for

    sides, operands = _sides(unit), unit.operands
    terms = chunk_beats(unit, chunk) * unit.instruction.lanes
    key = key_of(seed, unit.name, "bulk")
    a, b = np.empty((CHUNK, terms), container_dtype(operands.a)), np.empty((CHUNK, terms), container_dtype(operands.b))
    c, head = np.empty(CHUNK, np.int64), np.empty((CHUNK, 2), np.uint32)
    start = chunk * CHUNK
    draw(key & WORD, key >> 32, start, sides.window, sides.a, sides.b, sides.c, a, b, c, head)
    addend = operands.addend
    codes_c = np.zeros(CHUNK, np.uint8) if addend is None else c.astype(container_dtype(addend))
    scales = _scales(unit, key, start, terms, head)
    return Batch(Names(start, CHUNK), a, b, codes_c, *scales)


@lru_cache(maxsize=32)
def _sides(unit: Unit) -> _Sides:
    operands = unit.operands
    addend = operands.addend or operands.a
    window = unit.sum.fraction_bits
    return _Sides(
        _side(operands.a),
        _side(operands.b),
        _side(addend),
        unit.result.format.fraction_bits if window is None else min(window, 2 * AROUND),
    )


def _side(fmt: Format) -> Any:
    from hwsim.cases.drawing import Side

    if isinstance(fmt, FixedFormat):
        sign = 1 << fmt.bits - 1
        first = [0, *(1 << k for k in range(fmt.bits - 1))]
        exps = [k - 1 - fmt.fraction_bits for k in range(fmt.bits)]
        zero, padding, fraction_bits, last_code = 0, 0, 0, sign - 1
    else:
        assert isinstance(fmt, FloatFormat)
        sign, zero = fmt.sign_bit * fmt.signed, int(fmt.signed and fmt.signed_zero)
        padding, fraction_bits, last_code = fmt.padding, fmt.fraction_bits, fmt.max_magnitude
        binades = range((last_code >> fmt.fraction_bits) + 1)
        first = [binade << fmt.fraction_bits for binade in binades]
        exps = [fmt.emin + max(0, binade - int(fmt.subnormals)) for binade in binades]
    last = [*(code - 1 for code in first[1:]), last_code]
    one = min(range(len(exps)), key=lambda at: (abs(exps[at]), -at))
    ends = max(0, one - AROUND), min(len(exps) - 1, one + AROUND)
    # Of a fixed format the number without an opposite, which sign and magnitude do not draw.
    specials = np.array([*nans(fmt), *infinities(fmt)] if isinstance(fmt, FloatFormat) else [sign], np.int64)
    first_codes, last_codes, exponents = (np.array(each, np.int64) for each in (first, last, exps))
    fixed = int(isinstance(fmt, FixedFormat))
    return Side(fixed, sign, zero, padding, fraction_bits, first_codes, last_codes, exponents, *ends, specials)


def _scales(unit: Unit, key: int, start: int, terms: int, head: Any) -> tuple[Codes | None, Codes | None]:
    """Codes (cases, blocks): mostly near one another and near 1, at times anywhere, rarely NaN."""
    from hwsim.cases.drawing import words

    if unit.scale is None:
        return None, None
    sides: list[Codes] = []
    for at, (side, length) in enumerate(zip((unit.scale.a, unit.scale.b), block_lengths(unit), strict=True)):
        blocks = -(-terms // length)
        x, y = np.empty((CHUNK, blocks), np.uint32), np.empty((CHUNK, blocks), np.uint32)
        for case in range(CHUNK):
            words(key & WORD, key >> 32, SCALES * (at + 1), start + case, x[case], y[case])
        sides.append(_scale_codes(side.format, head[:, at].astype(np.int64), x.astype(np.int64), y.astype(np.int64)))
    return sides[0], sides[1]


def _scale_codes(fmt: Any, head: Any, x: Any, y: Any) -> Codes:
    """head: a word for each case; x, y: words for each block."""
    near = ((head >> 8) % 21 - 10)[:, None] + x % 7 - 3
    anywhere, struck = head[:, None] % 12 == 0, (head[:, None] % 16 == 5) & (y % 4 == 0)
    if isinstance(fmt, ExponentFormat):
        span = fmt.max_code - fmt.min_code + 1
        codes = np.where(anywhere, fmt.min_code + (x >> 8) % span, np.clip(fmt.bias + near, fmt.min_code, fmt.max_code))
        nan = list(fmt.nan)
    else:
        assert isinstance(fmt, FloatFormat)
        bexp = np.clip(fmt.bias + near, 0, fmt.top_bexp)
        fraction = (y >> 4) & ((1 << fmt.fraction_bits) - 1)
        around = np.minimum(bexp << fmt.fraction_bits | fraction, fmt.max_magnitude)
        codes = np.where(anywhere, (x * (fmt.max_magnitude + 1)) >> 32, around) << fmt.padding
        nan = nans(fmt)
    return np.where(struck & bool(nan), nan[-1] if nan else 0, codes).astype(container_dtype(fmt))
