"""Addends that nearly cancel the largest products, beside parts far below: what an addend changes shows there.

It may raise the window, or not; and small sums may lose their bits together, or each for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product as cross

from hwsim.cases.aimed import ZERO, Dyadic, number_of
from hwsim.cases.bins.adder_rows import number_code
from hwsim.cases.case import Rows, Scales, block_lengths
from hwsim.cases.palette import Product, palette_of
from hwsim.formats import ExponentFormat, FloatFormat, Format
from hwsim.spec import AlignedSum, Unit
from hwsim.spec.sums import ExactSubgroup

MOST_SMALL, MOST_LESS = 10, 5  # products of the far part, and of the near one, of different exponents
NVFP4_PRODUCTS = (  # at k, the codes of a and of b; the addend; the scales of a and of b: `hwsim docs silicon`
    (((37, 0x1, 0x7), (58, 0xB, 0x1)), 0xC7C00004, ((0x16, 0x09, 0x70, 0x01), (0x07, 0x05, 0x78, 0x05))),
    (
        ((46, 0x1, 0x9), (51, 0xF, 0x1), (62, 0x1, 0x1)), 0x471A0000,
        ((0x0F, 0x0E, 0x7E, 0x0B), (0x0B, 0x09, 0x7B, 0x05)),
    ),
    (
        ((1, 0x9, 0x1), (33, 0x7, 0x7), (37, 0xE, 0x7), (44, 0xC, 0x5)), 0xC7A20000,
        ((0x0B, 0x0C, 0x74, 0x17), (0x01, 0x03, 0x69, 0x01)),
    ),
)  # fmt: skip


def of_scaled_sums(unit: Unit) -> bool:
    """True if sums of products, scaled by floats or powers of two, are aligned together with an addend."""
    if not isinstance(unit.sum, AlignedSum) or unit.sum.addend != "aligned" or unit.scale is None:
        return False
    formats = unit.scale.a.format, unit.scale.b.format
    scaled = isinstance(unit.subgroup, ExactSubgroup) and all(
        isinstance(fmt, FloatFormat | ExponentFormat) for fmt in formats
    )
    return scaled and isinstance(unit.operands.addend, FloatFormat)


def low_addend_rows(rows: Rows) -> None:
    """Cases in which products of one part and the addend leave little, and another part's products some of it."""
    unit = rows.unit
    if _is_nvfp4(unit):
        _decisive_rows(rows)
    fmt, palette = unit.operands.addend, palette_of(unit.operands.a, unit.operands.b)
    assert fmt is not None
    most, step = palette.of(0, palette.exps[-1])[:1], -(-len(palette.exps) // MOST_SMALL)
    less = [(), *(palette.of(1, exp)[:1] for exp in palette.exps[:: max(2, -(-len(palette.exps) // MOST_LESS))])]
    small = [term for exp in palette.exps[::step] for sign in (0, 1) for term in palette.of(sign, exp)[:1]]
    places, seen = list(_places(unit)), set[object]()
    for (number, scales), (one, other), (at, third) in cross(
        enumerate(_scales(unit)), enumerate(less), enumerate(small)
    ):
        own = [*most, *other]
        total = ZERO
        for term in own:
            total = total.plus(_number(unit, term, *(side[0] for side in scales)))
        c = number_code(fmt, int(total.n > 0), abs(total.n), total.exp) if total.n else None
        for where, lanes in enumerate([] if c is None else places):
            row = [(0, 0)] * rows.lanes
            for lane, term in [*enumerate(own), *((lane, third) for lane in lanes)]:
                row[lane] = term.a, term.b
            if (key := (tuple(row), c, scales)) not in seen:
                seen.add(key)
                rows.add(f"low-addend/{number}-{one}-{at}-{where}", [row], c or 0, 0, scales)


def _decisive_rows(rows: Rows) -> None:
    """The cases that tell apart both published rules of NVFP4."""
    for number, (products, c, scales) in enumerate(NVFP4_PRODUCTS):
        row = [(0, 0)] * rows.lanes
        for k, x, y in products:
            row[k] = x, y
        rows.add(f"low-addend/decisive-{number}", [row], c, 0, scales)


def _number(unit: Unit, term: Product, *scales: int) -> Dyadic:
    """A product times its scales."""
    assert unit.scale is not None
    a, b = number_of(unit.operands.a, term.a), number_of(unit.operands.b, term.b)
    scaled = a.times(b)
    for side, code in zip((unit.scale.a, unit.scale.b), scales, strict=True):
        scaled = scaled.times(number_of(side.format, code))
    return scaled


def _is_nvfp4(unit: Unit) -> bool:
    scale, names = unit.scale, (unit.operands.a.name, unit.operands.b.name)
    blocks = scale is not None and [scale.a.format.name, scale.b.format.name] == ["ue4m3"] * 2
    return names == ("e2m1", "e2m1") and blocks and block_lengths(unit) == (16, 16) and unit.instruction.k == 64


def _places(unit: Unit) -> Iterator[tuple[int, ...]]:
    """Yield lanes of small products, of the second part where there is one: one, and two of each distance."""
    assert isinstance(unit.subgroup, ExactSubgroup)
    part = unit.subgroup.lanes
    first, last = (part, 2 * part - 1) if part < unit.instruction.lanes else (2, part - 1)
    if last < first:
        return
    yield (last,)
    for place in range((last - first).bit_length()):
        yield first, first + (1 << place)


def _scales(unit: Unit) -> Iterator[Scales]:
    """Yield codes of both scales, of the first part and of the others: by as much lower as the window has bits."""
    assert unit.scale is not None and unit.operands.addend is not None and isinstance(unit.sum, AlignedSum)
    formats = unit.scale.a.format, unit.scale.b.format
    blocks = [max(1, unit.instruction.lanes // length) for length in block_lengths(unit)]
    most = [_exps(fmt)[1] for fmt in formats]
    room = _exps(unit.operands.addend)[1] - palette_of(unit.operands.a, unit.operands.b).exps[-1] - 3
    for top in (sum(most), sum(most) - 7):
        near = _split(formats, min(top, room))
        for below in (unit.sum.fraction_bits, unit.sum.fraction_bits - 4):
            # A side of one block has one scale, which is the first part's.
            left = max(0, below)
            codes = list[tuple[int, ...]]()
            for fmt, count, exp in zip(formats, blocks, near, strict=True):
                less = 0 if count == 1 else min(left, exp - _exps(fmt)[0])
                left -= less
                codes.append(tuple(number_code(fmt, 0, 1, at) or 0 for at in (exp, *[exp - less] * (count - 1))))
            yield codes[0], codes[1]


def _exps(fmt: Format) -> tuple[int, int]:
    """The exponents of the least and of the largest power of two of a format, of which no very far ones are needed."""
    if isinstance(fmt, ExponentFormat):
        return max(fmt.min_code - fmt.bias, -30), min(fmt.max_code - fmt.bias, 30)
    assert isinstance(fmt, FloatFormat)
    return max(fmt.emin - fmt.fraction_bits * fmt.subnormals, -60), min(fmt.emax, 60)


def _split(formats: Sequence[Format], exp: int) -> list[int]:
    """Exponents of powers of two of both formats, which together are as near to `exp` as they can be."""
    (low, high), (least, most) = map(_exps, formats)
    first = max(low, min(high, exp - (least + most) // 2))
    second = max(least, min(most, exp - first))
    return [max(low, min(high, exp - second)), second]
