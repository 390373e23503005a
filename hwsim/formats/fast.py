"""Large arrays through compiled loops, with the reference's bits. The compiler is imported when it is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hwsim.formats.codes import Codes, container_dtype
from hwsim.formats.exact import is_float
from hwsim.formats.format import Format
from hwsim.formats.parameters import Words
from hwsim.formats.stochastic import NAME as STOCHASTIC

LEAST, LEAST_AT_FIRST = 1 << 8, 1 << 13  # elements that pay for a call, and for the import of the compiler
LEAST_OF_A_THREAD = 1 << 20
WORD = (1 << 32) - 1
NOTHING_RANDOM = Words(0, 0, 0, 0, 0)

_Result = TypeVar("_Result")


def worth(count: int) -> bool:
    """Whether the loops are quicker for so many elements."""
    return count >= (LEAST if "hwsim.formats.loops" in sys.modules else LEAST_AT_FIRST)


def split(count: int, size: int, work: Callable[[int, int], _Result]) -> list[_Result]:
    """work(start, end) of parts of range(count), in order, by as many threads as Numba is told to use.

    size: the elements of one of the count.
    """
    import numba

    threads = min(numba.config.NUMBA_NUM_THREADS, count * size // LEAST_OF_A_THREAD, count)
    if threads <= 1:
        return [work(0, count)]
    edges = [count * part // threads for part in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, edges[:-1], edges[1:]))


def flat(array: NDArray[Any], kind: str) -> NDArray[Any]:
    """An array's elements in C order, as unsigned integers of that kind; in a copy where the loops need one."""
    return np.require(np.asarray(array), requirements=["C", "A", "W"]).reshape(-1).view(kind)


def words(bits: int, seed: int, counter: int) -> Words:
    """What the loops are told of random words."""
    return Words(WORD << 32 - bits & WORD, seed & WORD, seed >> 32, counter & WORD, counter >> 32)


def random_words(random: Words, count: int) -> NDArray[np.uint32]:
    """The words at the counter and on, the bits that do not count zero."""
    from hwsim.formats import loops

    out = np.empty(count, np.uint32)
    split(count, 1, lambda start, end: loops.complements(random, start, out[start:end]))
    return np.invert(out, out=out)


def take(table: NDArray[Any], codes: Codes) -> NDArray[Any]:
    """table[codes]."""
    from hwsim.formats import gather

    given, out = flat(codes, codes.dtype.str), np.empty(codes.size, table.dtype)
    split(given.size, 1, lambda start, end: gather.take(given[start:end], table, out[start:end]))
    return out.reshape(codes.shape)


def takes(x: Any) -> bool:
    """Whether x is a large array of floats."""
    return isinstance(x, np.ndarray) and worth(x.size) and x.dtype.isnative and is_float(x.dtype)


def encode(fmt: Format, x: NDArray[Any], mode: Any, overflow: Any, missing: Any) -> Codes | None:
    """Codes of an array that `takes` likes; None for what the loops do not do, and where a number is missing.

    mode: a Rounding; or, for stochastic rounding, random_bits, seed and counter. overflow, missing: as `Overflow` and
    `Missing`.
    """
    out, nearest, size = np.empty(x.size, container_dtype(fmt)), not isinstance(mode, tuple), x.dtype.itemsize
    if nearest and size <= 2:
        done = _by_code(fmt, x, out, mode, overflow, missing)
    else:
        done = size <= 4 and _by_arithmetic(fmt, x, out, mode, overflow, missing)
        if not done and nearest and fmt.container_bits <= 8:
            done = _by_table(fmt, x, out, mode, overflow, missing)
    return out.reshape(x.shape) if done else None


def _by_code(fmt: Format, x: NDArray[Any], out: Codes, rounding: Any, overflow: Any, missing: Any) -> bool:
    from hwsim.formats import gather, lookup

    entries = lookup.by_code(fmt, x.dtype, rounding, overflow, missing)
    if entries is None:
        return False
    codes = flat(x, f"u{x.dtype.itemsize}")
    seen = split(x.size, 1, lambda start, end: gather.take_codes(codes[start:end], entries, out[start:end]))
    return max(seen) >> 8 * out.itemsize == 0


def _by_table(fmt: Format, x: NDArray[Any], out: Codes, rounding: Any, overflow: Any, missing: Any) -> bool:
    from hwsim.formats import gather, lookup

    table = lookup.singles(fmt, rounding, overflow, missing)
    if table is None or (x.dtype.itemsize == 8 and not table.doubles):
        return False
    look = gather.take_singles if x.dtype.itemsize == 4 else gather.take_doubles
    bits = flat(x, f"u{x.dtype.itemsize}")
    seen = split(x.size, 1, lambda start, end: look(bits[start:end], table.entries, table.shift, out[start:end]))
    return max(seen) >> 8 == 0


def _by_arithmetic(fmt: Format, x: NDArray[Any], out: Codes, mode: Any, overflow: Any, missing: Any) -> bool:
    from hwsim.formats import loops
    from hwsim.formats.target import packed, target

    random = words(*mode) if isinstance(mode, tuple) else NOTHING_RANDOM
    found = target(fmt, STOCHASTIC if random.mask else mode, overflow, missing)
    if found is None:
        return False
    told = packed(found)
    with np.errstate(invalid="ignore"):  # a signalling NaN
        bits = flat(x.astype(np.float32, copy=False), "u4")
    return all(split(x.size, 1, lambda start, end: loops.encode(bits[start:end], start, told, random, out[start:end])))
