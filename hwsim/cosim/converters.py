"""Converters against the codecs: every code where they are few, every boundary, and random codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.drawing import Stream
from hwsim.cosim.design import AMARANTH, BUSY
from hwsim.cosim.streams import StreamDesign, StreamSuite, packed, stream_design
from hwsim.formats import FloatFormat, Format
from hwsim.formats.codes import container_dtype
from hwsim.formats.exact import numbers_of
from hwsim.formats.reference import codes_drawn
from hwsim.formats.rounding import Draw, Missing, Overflow, Rounding
from hwsim.rtl import Converter, supports_conversion
from hwsim.spec.conversion import Conversion

Codes = NDArray[np.int64]
MOST_CODES = 1 << 16  # of codes, with all their words, that are all converted
MOST_BOUNDARIES = 3000  # of a target that are tried
RANDOM = 20_000


def converted(conversion: Conversion, codes: Codes, words: Codes | None = None) -> Codes:
    """What codes are converted to, by the codecs; all in containers. words: random ones, of a stochastic rounding."""
    c = conversion
    values = numbers_of(c.source.decode(codes.astype(container_dtype(c.source))))
    rounding = Rounding(c.rounding) if words is None else Draw(c.random_bits, words)
    return codes_drawn(c.target, values, rounding, Overflow(c.overflow), Missing(c.substitute)).astype(np.int64)


def converter_design(
    conversion: Conversion, cuts: Sequence[str] | None = None, *, by_modules: bool = False
) -> StreamDesign:
    """The RTL of a converter. Raises NotImplementedYet for formats that the RTL does not have."""
    supports_conversion(conversion)
    with AMARANTH:
        return stream_design(Converter(conversion, cuts), by_modules=by_modules)


def converter_suites(conversion: Conversion, seed: int, random: int = RANDOM) -> Iterator[StreamSuite]:
    """The suites of a converter. random: codes of the random suites."""
    c, stream = conversion, Stream(seed, "converter", conversion.name)
    most = 1 << c.source.bits + c.random_bits
    if most <= MOST_CODES:
        rows = np.arange(most)
        codes, words = rows >> c.random_bits << c.source.padding, rows & (1 << c.random_bits) - 1
        yield _suite(c, "every code", codes, words)
    else:
        edges = with_neighbours(c.source, boundaries(c, stream))
        yield _suite(c, "boundaries", edges, _edge_words(c, len(edges), stream))
        yield _suite(c, "random", random_codes(c, stream, random), _words(c, random, stream))
    few = min(most, max(random // 10, 1))
    suite = _suite(c, "traffic", random_codes(c, stream, few), _words(c, few, stream))
    yield StreamSuite("traffic", suite.payloads, suite.results, BUSY, resets=True)


def _suite(c: Conversion, name: str, codes: Codes, words: Codes) -> StreamSuite:
    drawn = [(c.random_bits, words)] if c.random_bits else []
    results = converted(c, codes, words if c.random_bits else None)
    return StreamSuite(
        name, packed((c.source.container_bits, codes), *drawn), packed((c.target.container_bits, results))
    )


def _words(c: Conversion, count: int, stream: Stream) -> Codes:
    return stream.words(count) >> 32 - c.random_bits if c.random_bits else np.zeros(count, np.int64)


def _edge_words(c: Conversion, count: int, stream: Stream) -> Codes:
    """Random words, of which some are the first, the last, or half."""
    words, most = _words(c, count, stream), (1 << c.random_bits) - 1
    kinds = stream.integers(0, 6, (count,))
    for kind, word in enumerate((0, most, (most + 1) // 2)):
        words[kinds == kind] = word
    return words


def random_codes(c: Conversion, stream: Stream, count: int) -> Codes:
    """Codes of the source: half of them any, half of numbers that the target does not take to its ends."""
    bits = c.source.bits
    anything = (stream.words(count) << 32 | stream.words(count)) >> 64 - bits - 1 & (1 << bits) - 1
    low, high = (_magnitude(c.source, float(c.target.decode(code))) for code in (c.target.min_code, c.target.max_code))
    if low >= high:
        return anything << c.source.padding
    near = max(low - (high - low) // 8, 0) + (stream.uniforms(count) * (high - low) * 1.25).astype(np.int64)
    signs = (
        stream.integers(0, 2, (count,))
        if c.source.signed and not c.source.twos_complement
        else np.zeros(count, np.int64)
    )
    near = np.minimum(near, (1 << bits - c.source.signed) - 1) | signs << bits - 1
    return np.where(stream.integers(0, 2, (count,)) == 0, anything, near) << c.source.padding


def _magnitude(fmt: Format, value: float) -> int:
    """The code without padding and sign of the number of a format that is nearest to zero from a magnitude."""
    return int(fmt.encode(abs(value), "rz", "saturate", "saturate")) >> fmt.padding


def boundaries(c: Conversion, stream: Stream) -> Codes:
    """Codes of the source at numbers of the target, half-way between them, and at both ends; without padding."""
    target, source = c.target, c.source
    last = int(target.max_code) >> target.padding
    steps = np.arange(last + 1)
    if len(steps) > MOST_BOUNDARIES:
        some = stream.integers(0, len(steps), (MOST_BOUNDARIES,))
        # The first and the last ones, and those on both sides of the least normal number.
        normal = 1 << target.fraction_bits if isinstance(target, FloatFormat) else 0
        ends = [0, 1, 2, normal - 1, normal, normal + 1, last - 2, last - 1, last]
        steps = np.unique(np.concatenate([some, np.clip(ends, 0, last)]))
    own = target.decode((steps << target.padding).astype(container_dtype(target)))
    own = np.abs(own[np.isfinite(own)])
    after = target.decode((np.minimum(steps + 1, last) << target.padding).astype(container_dtype(target)))
    after = np.abs(after[np.isfinite(after)])[: len(own)]
    largest = float(target.decode(target.max_code))
    ulp = largest - float(target.decode((last - 1) << target.padding)) if last else largest
    beyond = largest + ulp * np.array([0.25, 0.5, 0.75, 1.0, 1.5]) if ulp else np.array([2 * largest])
    least = float(target.decode(1 << target.padding)) if target.has_zero else float(target.decode(target.min_code))
    below = abs(least) * np.array([0.125, 0.25, 0.5, 0.75])
    values = np.concatenate([own, (own + after[: len(own)]) / 2, beyond, below, [0.0]])
    codes = source.encode(values, "rz", "saturate", "saturate").astype(np.int64) >> source.padding
    return np.unique(codes)


def with_neighbours(fmt: Format, codes: Codes) -> Codes:
    """Codes, the two on both sides of each, and specials; of both signs; in containers."""
    near = np.unique(np.concatenate([codes + by for by in (-2, -1, 0, 1, 2)]))
    most = (1 << fmt.bits) - 1
    if isinstance(fmt, FloatFormat):
        infinity = fmt.infinity_magnitude if fmt.infinity_magnitude is not None else fmt.max_magnitude
        special = [0, 1, 2, fmt.max_magnitude, infinity, infinity + 1, fmt.sign_bit - 1, 1 << fmt.fraction_bits]
        near = np.concatenate([near, special, [(1 << fmt.fraction_bits) - 1]])
    near = near[(near >= 0) & (near <= most)]
    if fmt.twos_complement:
        near = np.concatenate([near, -near & most])
    elif fmt.signed:
        near = np.concatenate([near, near | 1 << fmt.bits - 1])
    return np.unique(near) << fmt.padding
