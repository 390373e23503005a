"""Converters and block quantisers, and the suites that try them against the codecs and `quantize`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.drawing import Stream
from hwsim.cosim.design import AMARANTH, BUSY
from hwsim.cosim.streams import StreamDesign, StreamSuite, Words, component_design, packed
from hwsim.formats import FloatFormat, Format
from hwsim.formats.codes import container_dtype
from hwsim.formats.reference import codes_drawn
from hwsim.formats.rounding import Draw, Missing, Overflow, Rounding, numbers_of
from hwsim.formats.stochastic import random_words
from hwsim.quantize.block import BlockDequantization, BlockQuantization
from hwsim.quantize.convert import quantize_reference
from hwsim.quantize.rule import TensorScale
from hwsim.quantize.scales import SINGLE_MAX
from hwsim.rtl import Streamed, StreamedDatapath, stream_plan
from hwsim.rtl.quantizer import tensor_fields
from hwsim.spec.conversion import Conversion

Codes = NDArray[np.int64]
MOST_CODES = 1 << 16  # of codes, with all their words, that are all converted
MOST_BOUNDARIES = 3000  # of a target that are tried


def converted(conversion: Conversion, codes: Codes, words: Codes | None = None) -> Codes:
    """The codecs' conversion of codes; all in containers. words: random ones, of a stochastic rounding."""
    c = conversion
    values = numbers_of(c.source.decode(codes.astype(container_dtype(c.source))))
    rounding = Rounding(c.rounding) if words is None else Draw(c.random_bits, words)
    return codes_drawn(c.target, values, rounding, Overflow(c.overflow), Missing(c.substitute)).astype(np.int64)


def stream_design(of: Streamed, cuts: Sequence[str] | None = None) -> StreamDesign:
    """The RTL of a converter, a quantiser or a dequantiser. Raises as `stream_plan`."""
    plan = stream_plan(of, cuts)
    with AMARANTH:
        return component_design(StreamedDatapath(plan))


def stream_suites(of: Streamed, seed: int, count: int) -> Iterator[StreamSuite]:
    """Yield the suites of a converter, quantiser or dequantiser. count: codes, or blocks, of the random suite."""
    match of:
        case Conversion():
            yield from _converter_suites(of, seed, count)
        case BlockQuantization():
            yield from _quantizer_suites(of, seed, count)
        case BlockDequantization():
            yield from _dequantizer_suites(of, seed, count)
        case _:
            assert_never(of)


def _traffic(few: StreamSuite) -> StreamSuite:
    """The suite under gaps, back-pressure and resets."""
    return replace(few, name="traffic", traffic=BUSY, resets=True)


def _converter_suites(c: Conversion, seed: int, random: int) -> Iterator[StreamSuite]:
    stream = Stream(seed, "converter", c.name)
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
    yield _traffic(_suite(c, "traffic", random_codes(c, stream, few), _words(c, few, stream)))


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
    """The code, without padding and sign, of a magnitude rounded towards zero in a format."""
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
    exact = target.decode((steps << target.padding).astype(container_dtype(target)))
    exact = np.abs(exact[np.isfinite(exact)])
    after = target.decode((np.minimum(steps + 1, last) << target.padding).astype(container_dtype(target)))
    after = np.abs(after[np.isfinite(after)])[: len(exact)]
    largest = float(target.decode(target.max_code))
    ulp = largest - float(target.decode((last - 1) << target.padding)) if last else largest
    beyond = largest + ulp * np.array([0.25, 0.5, 0.75, 1.0, 1.5]) if ulp else np.array([2 * largest])
    least = float(target.decode(1 << target.padding)) if target.has_zero else float(target.decode(target.min_code))
    below = abs(least) * np.array([0.125, 0.25, 0.5, 0.75])
    values = np.concatenate([exact, (exact + after[: len(exact)]) / 2, beyond, below, [0.0]])
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


MOST_PAIRS = 1 << 16  # of codes of elements and scales that are all tried
TENSORS = 5  # that a suite's blocks are of, where a rule has a scale of the tensor


Maker = Callable[[BlockQuantization, Stream, int, np.float32], Codes]


def _quantizer_suites(q: BlockQuantization, seed: int, blocks: int) -> Iterator[StreamSuite]:
    stream = Stream(seed, "quantizer", q.name, q.source.name)
    yield _block_suite(q, "scales", amax_blocks, stream, blocks)
    yield _block_suite(q, "boundaries", boundary_blocks, stream, blocks)
    yield _block_suite(q, "random", any_blocks, stream, blocks)
    yield _traffic(_block_suite(q, "traffic", boundary_blocks, stream, max(blocks // 10, 1)))


def _block_suite(q: BlockQuantization, name: str, make: Maker, stream: Stream, count: int) -> StreamSuite:
    """A suite of so many blocks, of one tensor after the other."""
    payloads, results = [], []
    scales = tensor_scales(q, stream)
    for g in scales:
        blocks = make(q, stream, -(-count // len(scales)), g)
        key = stream.word()
        payloads.append(payload(q, blocks, g, key))
        results.append(quantized(q, blocks, g, key))
    return StreamSuite(name, np.concatenate(payloads), np.concatenate(results))


def tensor_scales(q: BlockQuantization, stream: Stream) -> NDArray[np.float32]:
    """Scales of some tensors; 1 for a rule without."""
    if q.rule.tensor_scale is TensorScale.NONE:
        return np.ones(1, np.float32)
    some = np.ldexp(1 + stream.uniforms(TENSORS), stream.integers(-30, 30, (TENSORS,)).astype(np.intc))
    some[:3] = 1.0, 2.0**-140, 2.0**100
    return some.astype(np.float32)


def payload(q: BlockQuantization, blocks: Codes, g: np.float32, seed: int = 0) -> Words:
    """The payloads of blocks of codes: uint32[blocks, words]. g: the tensor's scale. seed: of random words."""
    drawn = random_words(seed, 0, blocks.size, q.random_bits).reshape(blocks.shape) if q.random_bits else None
    words = [] if drawn is None else [(q.random_bits, drawn)]
    with np.errstate(over="ignore"):
        tensor = {"tensor_scale": g, "tensor_factor": np.minimum(np.float32(1) / g, SINGLE_MAX)}
    brought = [np.full(len(blocks), tensor[field], np.float32).view(np.uint32) for field in tensor_fields(q.rule)]
    return packed((q.source.container_bits, blocks), *words, *((32, field) for field in brought))


def quantized(q: BlockQuantization, blocks: Codes, g: np.float32, seed: int = 0) -> Words:
    """The results of blocks, codes and scales by `quantize`: uint32[blocks, words]."""
    second = None if q.rule.tensor_scale is TensorScale.NONE else g
    random = {"random_bits": q.random_bits, "seed": seed} if q.random_bits else {}
    reference = quantize_reference(numbers(q, blocks), q.row_rule, second_scale=second, **random)
    return packed(
        (q.rule.element.container_bits, reference.codes), (q.rule.scale_format.container_bits, reference.scales)
    )


def numbers(q: BlockQuantization, blocks: Codes) -> NDArray[np.float32]:
    """The numbers that codes stand for, which binary32 holds."""
    return np.asarray(q.source.decode(blocks.astype(container_dtype(q.source)))).astype(np.float32)


def any_blocks(q: BlockQuantization, stream: Stream, count: int, g: np.float32) -> Codes:
    """Any codes; in three of four blocks all of exponents near one another."""
    bits, shape = q.source.bits, (count, q.lanes)
    anything = (stream.words(count * q.lanes) >> 32 - bits).reshape(shape)
    fraction = q.source.fraction_bits
    top = (1 << bits - 1 - fraction) - 1
    middle = stream.integers(0, top, (count, 1))
    field = np.clip(middle - stream.integers(0, 14, shape), 0, top - 1)
    near = field << fraction | anything & ((1 << fraction) - 1) | anything >> bits - 1 << bits - 1
    zero = stream.integers(0, 16, shape) == 0
    near = np.where(zero, near & 1 << bits - 1, near)
    return np.where(stream.integers(0, 4, (count, 1)) == 0, anything, near) << q.source.padding


def amax_blocks(q: BlockQuantization, stream: Stream, count: int, g: np.float32) -> Codes:
    """Blocks whose largest number is in each binade of the source, at both ends and beside the element's largest."""
    source, element = q.float_source, q.rule.element
    fraction, least = source.fraction_bits, 1 << max(source.fraction_bits - element.precision, 0)
    mantissa = int((element.largest / 2.0**q.rule.emax - 1) * (1 << fraction))
    places = {0, 1, 2, (1 << fraction) - 1, (1 << fraction) - 2, (1 << fraction) // 2}
    places |= {place + by for place in (mantissa, (1 << fraction) - least) for by in (-2, -1, 0, 1, 2)}
    fracs = sorted(place for place in places if 0 <= place < 1 << fraction)
    codes = [field << fraction | frac for field in range(1 << source.exponent_bits) for frac in fracs]
    lead = np.array(sorted({*codes, 0, 1, 2, source.max_magnitude}), np.int64)
    rest = (stream.uniforms(len(lead) * q.lanes).reshape(-1, q.lanes) * (lead[:, None] + 1)).astype(np.int64)
    rest = np.where(stream.integers(0, 3, rest.shape) == 0, 0, rest)
    return _placed(q, lead, rest, stream)


def boundary_blocks(q: BlockQuantization, stream: Stream, count: int, g: np.float32) -> Codes:
    """Blocks of numbers at, and next to, those that are half-way between two elements, and of special ones."""
    source = q.float_source
    most = source.max_magnitude
    lead = 1 + (stream.uniforms(count) * most).astype(np.int64)
    alone = _placed(q, lead, np.zeros((count, q.lanes), np.int64), None)
    second = None if q.rule.tensor_scale is TensorScale.NONE else g
    scale = quantize_reference(numbers(q, alone), q.row_rule.replace(rounding="rne"), second_scale=second).scale_values
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        scale = (scale * g).astype(np.float32).astype(np.float64)
    steps = np.abs(q.rule.element.magnitudes()) if q.rule.element.bits <= 8 else np.arange(4.0)
    either = np.concatenate([steps, (steps[1:] + steps[:-1]) / 2])
    chosen = either[stream.integers(0, len(either), (count, q.lanes))]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = chosen * np.nan_to_num(scale, nan=1.0)
    near = source.encode(values, "rz", "saturate", "saturate").astype(np.int64) >> source.padding
    near = np.clip(near + stream.integers(-2, 3, near.shape), 0, lead[:, None])
    blocks = _placed(q, lead, near, stream)
    special = stream.integers(0, 40 * q.lanes, blocks.shape)
    infinity = source.infinity_magnitude if source.infinity_magnitude is not None else most
    for kind, code in enumerate((infinity, infinity | source.sign_bit, source.sign_bit - 1, source.sign_bit)):
        blocks[special == kind] = code << source.padding
    return blocks


def _placed(q: BlockQuantization, lead: Codes, rest: Codes, stream: Stream | None) -> Codes:
    """Put a number into each block of others, with any signs, in containers. Without a stream it is first, positive."""
    blocks = rest.copy()
    if stream is None:
        blocks[:, 0] = lead
        return blocks << q.source.padding
    blocks[np.arange(len(lead)), stream.integers(0, q.lanes, (len(lead),))] = lead
    signs = stream.integers(0, 2, blocks.shape) << q.source.bits - 1
    return (blocks | signs) << q.source.padding


def _dequantizer_suites(d: BlockDequantization, seed: int, blocks: int) -> Iterator[StreamSuite]:
    """Yield the suites: every code of an element under every scale where they are few, and any codes."""
    stream = Stream(seed, "dequantizer", d.name, d.target.name)
    element, scale = d.element, d.scale_format
    pairs = 1 << element.bits + scale.bits
    if pairs <= MOST_PAIRS and not d.tensor:
        yield _dequantized(d, "every code", *_every_pair(d), stream)
    yield _dequantized(d, "random", *_any_codes(d, blocks, stream), stream)
    yield _traffic(_dequantized(d, "traffic", *_any_codes(d, max(blocks // 10, 1), stream), stream))


def _every_pair(d: BlockDequantization) -> tuple[Codes, Codes]:
    """Every code of an element, in order over the lanes, with every scale."""
    codes = np.arange(1 << d.element.bits)
    rows = np.resize(codes, (-(-len(codes) // d.lanes), d.lanes))
    scales = np.repeat(np.arange(1 << d.scale_format.bits), len(rows))
    return np.tile(rows, (1 << d.scale_format.bits, 1)) << d.element.padding, scales << d.scale_format.padding


def _any_codes(d: BlockDequantization, count: int, stream: Stream) -> tuple[Codes, Codes]:
    codes = stream.words(count * d.lanes).reshape(count, d.lanes) >> 32 - d.element.bits << d.element.padding
    return codes, stream.words(count) >> 32 - d.scale_format.bits << d.scale_format.padding


def _dequantized(d: BlockDequantization, name: str, codes: Codes, scales: Codes, stream: Stream) -> StreamSuite:
    tensor = []
    values = d.scale_format.decode(scales.astype(container_dtype(d.scale_format)))
    if d.tensor:
        g = np.ldexp(1 + stream.uniforms(len(scales)), stream.integers(-149, 127, (len(scales),)).astype(np.intc))
        g = g.astype(np.float32)
        tensor = [(32, g.view(np.uint32))]
        values = values * g.astype(np.float64)
    with np.errstate(invalid="ignore"):  # infinity times zero
        exact = d.element.decode(codes.astype(container_dtype(d.element))) * values[:, None]
    rules = Rounding(d.rounding), Overflow(d.overflow), Missing.NAN
    x = codes_drawn(d.target, numbers_of(exact), *rules)
    payloads = packed((d.element.container_bits, codes), (d.scale_format.container_bits, scales), *tensor)
    return StreamSuite(name, payloads, packed((d.target.container_bits, x)))
