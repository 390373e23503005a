"""A unit as the CUDA source sees it: its numbers, its formats, and which arithmetic holds its windows."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from math import prod
from typing import Literal, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError
from hwsim.compute.kernels import aligned, chain, floats, lanes, lost, windows
from hwsim.compute.kernels.values import decode_table, factor_words, is_binary32, words_lack
from hwsim.formats import FixedFormat, FloatFormat, Format, container_dtype, formats
from hwsim.formats.blocks import BlockScale, one_code
from hwsim.spec import (
    AlignedReadingSum,
    AlignedSum,
    EvenOddSum,
    ExactSum,
    LateAdd,
    LateInWindow,
    PairwiseSum,
    RoundedSum,
    Support,
    Unit,
)
from hwsim.spec.arguments import Side
from hwsim.spec.keys import Overflow, Rounding, Tininess
from hwsim.spec.ranges import exponent_range, extent, product_span, products_of, scaled_products, scales_at, span_of
from hwsim.spec.sums import ExactSubgroup

# What the source does windows in: the arithmetic of binary32 or binary64, or integers.
Variant = Literal["single", "double", "integers"]
WHERE = "is in the model, but not in the source for GPUs"
MOST_LANES = 256
MOST_PRODUCTS = 1 << 31  # of a sum: K is an int
# The fraction bits of each arithmetic.
PLACES: dict[Variant, int] = {"single": 23, "double": 52}
# Exponents of factors with their scales, and products of two of them, are in binary64's range.
FARTHEST = 480
# The source's names for roundings, and its rule for one's complements.
ROUNDINGS = {"RNE": floats.RNE, "RNA": floats.RNA, "RZ": floats.RZ, "RU": floats.RU, "RD": floats.RD, "RTO": floats.RTO}
ONES = 6
CUTS = {
    lost.TRUNCATE: floats.RZ, lost.FLOOR: floats.RD, lost.CEIL: floats.RU, lost.JAM: floats.RTO,
    lost.NEAREST_EVEN: floats.RNE, lost.NEAREST_AWAY: floats.RNA, lost.ONES_COMPLEMENT: ONES,
}  # fmt: skip
SCALES_AT = {"product": chain.AT_PRODUCTS, "subgroup": chain.AT_SUBGROUPS, "promotion": chain.AT_PROMOTIONS}
SIDES: tuple[Side, Side] = ("a", "b")
FLUSHES: dict[Tininess | None, int] = {None: 0, "result": 1, "after": 2, "before": 3}
# Floats whose own additions are those of a unit, and the most products of a tree of these.
OWN: dict[str, Variant] = {"f32": "single", "f64": "double"}
MOST_OF_A_TREE = 8
# The most products of a part of signed bytes: bits of a word.
MOST_OF_A_PART = 32
# Bytes that the tiles of a block may take on every GPU from compute capability 8.0 on; many take more.
SHARED = 99 * 1024


class Shape(NamedTuple):
    """side: rows and columns of a block. rows, columns: of a thread. blocks: that a processor takes, at least."""

    side: int
    rows: int
    columns: int
    shared_bytes: int
    blocks: int

    @property
    def threads(self) -> int:
        return (self.side // self.rows) * (self.side // self.columns)


def supports(unit: Unit) -> Support:
    """Support of a unit by the source for GPUs, with the settings that it lacks."""
    return Support(unit.name, WHERE, tuple(dict.fromkeys(_lacks(unit))))


def _lacks(unit: Unit) -> Iterator[str]:
    rule, operands, scale = unit.sum, unit.operands, unit.scale
    late, promotion = unit.late, unit.promotion
    if unit.instruction.lanes > MOST_LANES:
        yield f"instruction.lanes: {unit.instruction.lanes} (more than {MOST_LANES})"
    if _own_sums(unit) is not None:
        return
    # Formats whose codes are looked up as numbers of binary32, or are these; and all that must be such numbers.
    decoded: dict[str, Format | None] = {"operands.addend": operands.addend}
    if scale is not None and scale.at == "promotion":
        decoded |= {"scale.a.format": scale.a.format, "scale.b.format": scale.b.format}
    formats: dict[str, Format | None] = {
        "result.format": unit.result.format,
        "late.format": late.format if isinstance(late, LateAdd) else None,
        "promotion.format": None if promotion is None else promotion.format,
    }
    match rule:
        case AlignedReadingSum():
            yield "a reading of sum.method: aligned"
        case AlignedSum():
            yield from aligned.lacks(unit, rule)
        case EvenOddSum():
            yield from aligned.even_odd_lacks(unit, rule)
        case RoundedSum():
            yield from floats.targets_lack(unit)
            if rule.subgroup is not None:
                yield f"sum.subgroup of sum.method: {rule.method}"
            if scale is not None and scale.at != "promotion":
                yield f"scale.at: {scale.at} of sum.method: {rule.method}"
            decoded |= {"operands.a": operands.a, "operands.b": operands.b}
            formats["sum.format"] = rule.format
        case ExactSum():
            yield from _parts_lack(unit, rule)
            if isinstance(unit.result.format, FixedFormat):
                yield from _fixed_lacks(unit)
                return
            for key, factor, to in zip("ab", (operands.a, operands.b), operands.multiplied, strict=True):
                yield from words_lack(f"operands.{key}", factor, to)
            yield from floats.targets_lack(unit)
        case _:
            assert_never(rule)
    for key, fmt in (formats | decoded).items():
        if fmt is not None and not extent(fmt).are_float32s:
            yield f"{key}: {fmt.name} (numbers beyond binary32)"
    for key, fmt in decoded.items():
        if fmt is not None and fmt.container_bits > 16 and not (isinstance(fmt, FloatFormat) and is_binary32(fmt)):
            yield f"{key}: {fmt.name} (more than 16 bits, and not binary32's)"


def _parts_lack(unit: Unit, rule: ExactSum) -> Iterator[str]:
    """What terms of an exact sum do not hold: exact sums of parts, times scales, in 64 bits."""
    if unit.scale is not None and unit.scale.at != "promotion":
        for side in (unit.scale.a, unit.scale.b):
            yield from words_lack("scale", side.format, side.format)
    if rule.subgroup is not None:
        products, scales = products_of(unit, scaled_products(unit)), scales_at(unit, "subgroup")
        bits = products.span + rule.subgroup.lanes.bit_length() + sum(scale.significant_bits for scale in scales)
        if bits > windows.MOST_BITS:
            yield f"sum.subgroup.lanes: {rule.subgroup.lanes} (exact sums that do not fit 64 bits)"


def _fixed_lacks(unit: Unit) -> Iterator[str]:
    """What integers of 64 bits as results do not hold."""
    result, addend, operands = unit.result.format, unit.operands.addend, unit.operands
    for key, factor, to in zip("ab", (operands.a, operands.b), operands.multiplied, strict=True):
        yield from words_lack(f"operands.{key}", factor, to)
    for key, fmt in (("result.format", result), ("operands.addend", addend)):
        if fmt is not None and not (isinstance(fmt, FixedFormat) and fmt.bits <= 64):
            yield f"{key}: {fmt.name}"
    for key, part in (("late", unit.late), ("promotion", unit.promotion)):
        if part is not None:
            yield f"{key} of result.format: {result.name}"


def _own_sums(unit: Unit) -> Variant | None:
    """The arithmetic whose own rounded additions are the unit's; None where there is none."""
    rule, operands, result = unit.sum, unit.operands, unit.result
    if not isinstance(rule, RoundedSum):
        return None
    variant = next((variant for name, variant in OWN.items() if rule.format == formats()[name]), None)
    if variant is None:
        return None
    parts = unit.scale, unit.late, unit.promotion, unit.restart, rule.product_limit, rule.subgroup, result.flushes
    if any(part is not None for part in parts) or operands.addend is None or result.format != rule.format:
        return None
    if {rule.rounding, result.rounding} != {"rne"} or not {rule.overflow, result.overflow} <= {"ieee", "infinity"}:
        return None
    if rule.flushes not in ((None,) if variant == "double" else (None, "result")):
        return None
    if isinstance(rule, PairwiseSum) and rule.chains is not None:
        return None
    tree = rule.method == "pairwise"
    if tree and (rule.product == "fused" or unit.instruction.lanes > MOST_OF_A_TREE):
        return None
    read = [operands.a, operands.b, operands.addend]
    wide = [fmt for fmt in read if variant == "double" and fmt == rule.format]
    if wide and (operands.daz or operands.zeros == "positive"):
        return None
    return variant if all(fmt in wide or _is_looked_up(fmt) for fmt in read) else None


def _is_looked_up(fmt: Format) -> bool:
    """True if codes are those of binary32, or few enough for a table of its numbers."""
    own = isinstance(fmt, FloatFormat) and is_binary32(fmt)
    return extent(fmt).are_float32s and (fmt.container_bits <= 16 or own)


def variants(unit: Unit) -> tuple[Variant, ...]:
    """Every arithmetic that is proved to hold a unit's windows, the quickest on a GPU first; none of no support.

    A float holds a window whose sum, in units of its last place, stays in the accumulator's binade whatever the
    operands are. Exponents that would leave the float's range are met at run time, in integers.
    """
    if not supports(unit):
        return ()
    own = _own_sums(unit)
    if own is not None:
        return (own,) if own == "double" else (own, "integers")
    return *(variant for variant in PLACES if _float_holds(unit, PLACES[variant])), "integers"


def chosen(unit: Unit, variant: Variant | None) -> Variant:
    """A variant that holds a unit's windows: the given one, or the first. Raises for none, and without support."""
    supports(unit).demand()
    held = variants(unit)
    if variant is not None and variant not in held:
        raise InputError(f"variant must be {' or '.join(held)} for {unit.name}, not {variant}")
    return variant or held[0]


def _float_holds(unit: Unit, place: int) -> bool:
    rule, (a, b) = unit.sum, unit.operands.multiplied
    if not isinstance(rule, AlignedSum) or rule.lost not in ("truncate", "floor", "ceil", "jam"):
        return False
    if rule.cut is not None or rule.zero_terms == "count":
        return False
    if rule.zero == "ieee" and isinstance(unit.late, LateInWindow):  # a late zero's sign is that of all products
        return False
    scaled = scales_at(unit, "product") + scales_at(unit, "subgroup")
    single = place == PLACES["single"]
    if single and (scaled or rule.subgroup is not None or not (extent(a).are_float32s and extent(b).are_float32s)):
        return False
    reaches = [max(map(abs, exponent_range(fmt))) + fmt.fraction_bits for fmt in (a, b)]
    if max(reaches) + sum(max(abs(scale.low), abs(scale.high)) for scale in scaled) > FARTHEST:
        return False
    # The largest product and the largest addend, in units of the window at their own exponents, rounded up.
    most, terms = span_of(a).most * span_of(b).most, unit.instruction.lanes
    up = rule.fraction_bits - a.fraction_bits - b.fraction_bits
    if rule.subgroup is not None:
        if not _bytes_hold(unit):
            return False
        products, scales, length = product_span(unit), scales_at(unit, "subgroup"), rule.subgroup.lanes
        most = length * prod((products.largest_in(products.least_exp), *(scale.most for scale in scales)))
        up = rule.fraction_bits + products.least_exp - sum(scale.fraction_bits for scale in scales)
        terms //= length
        if most >= 1 << place:
            return False
    term = most << up if up >= 0 else (most >> -up) + 1
    total = terms * term + (2 << rule.fraction_bits)
    # Sums of signed numbers start in the middle of the binade. Those to odd have half as many units, rounded up.
    return total < 1 << (place if rule.lost == "truncate" else place - 1)


def _bytes_hold(unit: Unit) -> bool:
    """True if factors are signed bytes, in units of their format's least number, of parts that are summed exactly."""
    rule, factors = unit.sum, [span_of(fmt) for fmt in unit.operands.multiplied]
    if (
        not isinstance(rule, AlignedSum)
        or not isinstance(rule.subgroup, ExactSubgroup)
        or rule.subgroup.asks_addend
        or rule.subgroup.lanes > MOST_OF_A_PART
    ):
        return False
    if rule.product_limit is not None or scales_at(unit, "product"):
        return False
    # Only fixed formats, in two's complement, have an even largest magnitude, 2^7 or less, which is negative.
    return all((span.largest_in(span.least_exp) - 1).bit_length() <= 7 for span in factors)


def _in_bytes(unit: Unit) -> bool:
    """True if a group's products are summed exactly as signed bytes, and added to integers."""
    fixed = all(isinstance(fmt, FixedFormat) and fmt.precision <= 7 for fmt in unit.operands.multiplied)
    plain = unit.scale is None and unit.subgroup is None and unit.instruction.lanes <= MOST_OF_A_PART
    return fixed and plain and isinstance(unit.result.format, FixedFormat)


def _in_parts(unit: Unit, variant: Variant) -> bool:
    """True if tiles have signed bytes by fours."""
    if variant == "integers":
        return _in_bytes(unit)
    return isinstance(unit.sum, AlignedSum) and unit.sum.subgroup is not None


def shape_of(unit: Unit, variant: Variant, shared: int = SHARED) -> Shape:
    """How results are shared out among blocks and threads. shared: bytes that the tiles of a block may take."""
    count = unit.instruction.lanes
    groups = max(1, 32 // count)
    depth = groups * count
    if _in_parts(unit, variant):
        length = count if unit.subgroup is None else unit.subgroup.lanes
        numbers = -(-length // 4) + (4 if variant == "double" else 3)
        row = depth // length * 4 * numbers + 2 * groups
    elif variant == "integers":
        row = 4 * depth  # words
    elif isinstance(unit.sum, RoundedSum):
        row = (4 if variant == "single" else 8) * depth
    else:
        # Numbers, their exponents by twos, and two flags of each group.
        numbers = 3 * depth if unit.sum.lost == "truncate" else depth + 2  # type: ignore[union-attr]
        row = (4 if variant == "single" else 8) * numbers + 4 * groups * (-(-count // 2)) + 2 * groups
    exact = isinstance(unit.sum, ExactSum) and not _in_bytes(unit)  # a thread has few of such sums
    side = 16 if exact else next((side for side in (64, 32) if 2 * side * row <= shared), 16)
    rows, columns = {64: (8, 4) if variant == "single" else (4, 4), 32: (4, 4), 16: (2, 2)}[side]
    # Of binary32's, three have enough registers where nothing is added after a group, and results are only cut.
    plain = unit.promotion is None and unit.late is None and unit.result.rounding == "rz"
    most = 3 if variant == "single" and side == 64 and plain else 2
    size = 2 * side * row
    return Shape(side, rows, columns, size, max(1, min(most if variant != "double" else 1, shared // size)))


def _sum_numbers(unit: Unit) -> dict[str, int]:
    rule = unit.sum
    if isinstance(rule, EvenOddSum):
        numbers = windows.window_numbers(unit, rule)._replace(
            addend=windows.WITHOUT, even_odd=1, combine_bits=rule.combine.fraction_bits,
            combine_lost=lost.lost_number(rule.combine.lost),
        )  # fmt: skip
    elif isinstance(rule, AlignedSum):
        numbers = aligned.aligned_numbers(unit, rule)
    else:
        assert isinstance(rule, RoundedSum | ExactSum)
        # No window: its numbers say nothing but how many products there are, and what is aligned with them.
        window = AlignedSum(method="aligned", fraction_bits=0, addend=rule.addend, product_limit=rule.product_limit)
        if isinstance(rule, ExactSum):
            whole = ExactSubgroup(lanes=unit.instruction.lanes, method="exact") if _in_bytes(unit) else rule.subgroup
            window = window.model_copy(update={"subgroup": whole})
        numbers = aligned.aligned_numbers(unit, window)
        numbers = numbers._replace(ieee_zero=int(isinstance(rule, ExactSum) and rule.zero == "ieee"))
    named = {name.upper(): value for name, value in numbers._asdict().items()}
    cuts = {name: CUTS[value] for name, value in named.items() if name == "LOST" or name.endswith("_LOST")}
    exact = numbers.product_fraction - numbers.subgroup_least
    own = exact if numbers.own_bits == windows.NO_WINDOW else numbers.own_bits
    return {
        **named, **cuts, "PART_FRACTION": own + numbers.subgroup_fraction,
        "WINDOW": 0, "SEQUENTIAL": 1, "PAIRWISE": 2,
        "EXACT": 3,
        "METHOD": {"sequential": 1, "pairwise": 2, "exact": 3}.get(rule.method, 0),
        **_exact_numbers(unit),
        "FUSED": int(isinstance(rule, RoundedSum) and rule.product == "fused"),
        "CHAINS": (rule.chains or 0) if isinstance(rule, PairwiseSum) else 0,
    }  # fmt: skip


def _exact_numbers(unit: Unit) -> dict[str, int]:
    """The words of an exact sum, which holds addends, as terms of 23 fraction bits, and MOST_PRODUCTS products."""
    rule = unit.sum
    if not isinstance(rule, ExactSum):
        return {"EXACT_UNIT": 0, "EXACT_WORDS": 1, "EACH_ROUNDED": 0}
    starts = [fmt for fmt in (unit.operands.addend, unit.result.format) if fmt is not None]
    products = products_of(unit, scaled_products(unit))
    for scale in scales_at(unit, "subgroup"):
        products = products.times(scale.extent)
    fixed = isinstance(unit.result.format, FixedFormat)
    low = min(products.low, *(extent(fmt).low if fixed else exponent_range(fmt)[0] - 23 for fmt in starts))
    high = max(products.high + MOST_PRODUCTS.bit_length(), *(extent(fmt).high for fmt in starts))
    # Two bits more: of the sum of both, and of its sign.
    return {"EXACT_UNIT": low, "EXACT_WORDS": -(-(high + 2 - low) // 32), "EACH_ROUNDED": int(rule.rounded == "group")}


def _code_numbers(unit: Unit) -> dict[str, int]:
    """How the codes of factors become places in their tables: of words, or of floats by the whole container."""
    a, b = unit.operands.a, unit.operands.b
    if isinstance(unit.sum, RoundedSum):
        bits = min(a.container_bits, 16), min(b.container_bits, 16)
        return {"PADDING_A": 0, "PADDING_B": 0, "MASK_A": (1 << bits[0]) - 1, "MASK_B": (1 << bits[1]) - 1}
    return {
        "PADDING_A": a.padding, "PADDING_B": b.padding, "MASK_A": (1 << a.bits) - 1, "MASK_B": (1 << b.bits) - 1,
    }  # fmt: skip


def _chain_numbers(unit: Unit) -> dict[str, int]:
    numbers, operands, late = chain.chain_numbers(unit), unit.operands, unit.late
    if isinstance(unit.result.format, FixedFormat):
        lows = (extent(fmt).low for fmt in (operands.addend or unit.result.format, unit.result.format))
        numbers = numbers._replace(**dict(zip(("emin_c", "emin"), lows, strict=True)))
    return {
        "CHAIN": numbers.kind, "EVERY": numbers.every, "RESTART": numbers.restart, "EMIN_C": numbers.emin_c,
        "EMIN": numbers.emin, "FIRST": numbers.first,
        "FLUSHES_ADDEND": int(isinstance(late, LateAdd) and late.flush),
        "REGISTER_EMIN": late.format.emin if isinstance(late, LateAdd) else 0,
        "SIGNED_C": int(isinstance(operands.addend, FloatFormat) and operands.addend.signed_zero),
        "POSITIVE_ZEROS": int(operands.zeros == "positive"), "FLUSHES_INPUT": int(unit.flushes_addends),
    }  # fmt: skip


def _unit_numbers(unit: Unit) -> dict[str, int]:
    """Fraction bits of a factor, and in parts of its scale too; and the exponent of the factors' least numbers."""
    bits = [scale.fraction_bits for scale in scales_at(unit, "subgroup")] or [0, 0]
    numbers = [*zip("AB", unit.operands.multiplied, bits, strict=True)]
    return {f"UNIT_{side}": fmt.fraction_bits + of_scale for side, fmt, of_scale in numbers} | {
        f"LEAST_{side}": exponent_range(fmt)[0] for side, fmt, _ in numbers
    }


def _scale_numbers(unit: Unit) -> dict[str, int]:
    scale = unit.scale
    numbers = {"SCALES": chain.NO_SCALES if scale is None else SCALES_AT[scale.at]}
    for side in SIDES:
        rule: BlockScale | None = None if scale is None else scale.of(side)
        across, along, one, padding, bits = 1, 1, 0, 0, 0
        if rule is not None:
            across, along = rule.block if side == "a" else rule.block[::-1]
            one, padding, bits = one_code(rule.format), rule.format.padding, rule.format.bits
            if scale is not None and scale.at == "promotion":
                one, bits = _bits(float(rule.format.decode(one))), min(rule.format.container_bits, 16)
        numbers |= {
            f"SCALE_ROWS_{side.upper()}": across,
            f"SCALE_BLOCK_{side.upper()}": along,
            f"SCALE_PADDING_{side.upper()}": padding,
            f"SCALE_MASK_{side.upper()}": (1 << bits) - 1,
            f"ONE_{side.upper()}": one,
        }
    return numbers


def _bits(x: float) -> int:
    """The bits of a number of binary32; of its NaN, those of one that is quiet."""
    return 0x7FC00000 if x != x else int(struct.unpack("<I", struct.pack("<f", x))[0])


def _target(
    name: str, fmt: FloatFormat, rounding: Rounding, overflow: Overflow = "ieee", positive: bool = False,
    flush: Tininess | None = None,
) -> str:  # fmt: skip
    """The struct of a format that numbers are rounded to, and of the rounding."""
    target = floats.target_of(fmt, rounding, overflow)
    return _struct(name, {
        "FRACTION": fmt.fraction_bits, "EMIN": fmt.emin, "MOST": fmt.max_magnitude, "SUBNORMALS": fmt.subnormals,
        "NEARBY": not fmt.subnormals and fmt.underflow == "nearby", "SIGNED_ZERO": fmt.signed_zero,
        "ROUNDING": floats.mode_of(rounding), "TINY_POSITIVE": positive, "FLUSH": FLUSHES[flush],
        "OVER_PLUS": _bits(target.over_plus), "OVER_MINUS": _bits(target.over_minus),
        "INFINITY_IS": _bits(target.infinite),
    })  # fmt: skip


def _output(unit: Unit) -> str:
    fmt = _rounded_to(unit, unit.output)
    return _struct("Output", {
        "FRACTION": fmt.fraction_bits, "EMIN": fmt.emin, "SUBNORMALS": fmt.subnormals, "PADDING": fmt.padding,
        "SIGN": fmt.sign_bit << fmt.padding, "INFINITY_CODE": (fmt.infinity_magnitude or 0) << fmt.padding,
        "NAN_CODE": unit.nan,
    })  # fmt: skip


def _rounded_to(unit: Unit, fmt: Format) -> FloatFormat:
    """A format that integers are rounded to; binary32 in the place of those that they are not rounded to."""
    if _own_sums(unit) == "double" or isinstance(fmt, FixedFormat):
        fmt = formats()["f32"]
    assert isinstance(fmt, FloatFormat)
    return fmt


def _struct(name: str, numbers: Mapping[str, int]) -> str:
    return f"struct {name} {{ enum : long long {{ {_listed(numbers)} }}; }};"


def _listed(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {int(value)}" for name, value in numbers.items())


def _code_type(fmt: Format | None) -> str:
    return "u8" if fmt is None else f"u{8 * container_dtype(fmt).itemsize}"


@lru_cache(maxsize=64)
def source_of(unit: Unit, variant: Variant, shared: int = SHARED) -> str:
    """The source for a unit: its settings, and then the text that all units share.

    shared: as of `shape_of`. Raises NotImplementedYet for a unit without support.
    """
    supports(unit).demand()
    operands, instruction, shape, scale = unit.operands, unit.instruction, shape_of(unit, variant, shared), unit.scale
    result, promotion, late = unit.result, unit.promotion, unit.late
    fmt, is_fixed = _rounded_to(unit, result.format), isinstance(result.format, FixedFormat)
    own_sums = isinstance(unit.sum, RoundedSum) and variant != "integers"
    order = [index for group in range(instruction.groups) for index in instruction.indices(group)]
    sides = (None, None) if scale is None else (scale.a.format, scale.b.format)
    typed: dict[str, Format | None] = {
        "code_a": operands.a,
        "code_b": operands.b,
        "code_c": operands.addend,
        "code_out": unit.output,
    }
    typed |= {"scale_code_a": sides[0], "scale_code_b": sides[1]}
    numbers = {
        **ROUNDINGS, "ONES": ONES, "FLUSH_RESULT": 1, "FLUSH_AFTER": 2, "FLUSH_BEFORE": 3,
        "NO_EXP": lanes.NO_EXP, "NO_LIMIT": windows.NO_LIMIT, "NO_WINDOW": windows.NO_WINDOW, "UNCUT": windows.UNCUT,
        "ALIGNED": windows.ALIGNED, "LATER": windows.LATER, "PROMOTED": chain.PROMOTED,
        "ADDED_LATE": chain.ADDED_LATE, "LATE_WINDOW": chain.LATE_WINDOW, "AT_PRODUCTS": chain.AT_PRODUCTS,
        "NOT_SCALED": floats.NOT_SCALED, "SCALES_FIRST": floats.SCALES_FIRST, "A_FIRST": floats.A_FIRST,
        **_sum_numbers(unit), **_chain_numbers(unit), **_scale_numbers(unit),
        "INSTRUCTION": instruction.k, "ORDERED": int(order != sorted(order)),
        # Of bits that are no part of a code nothing is looked at: no index is outside its table.
        **_code_numbers(unit), "DAZ": int(operands.daz),
        "MASK_C": 0 if operands.addend is None else (1 << min(operands.addend.container_bits, 16)) - 1,
        **_unit_numbers(unit), "C_BITS": 64 if operands.addend is None else operands.addend.bits,
        "RESULT_BITS": result.format.bits, "RESULT_FRACTION": result.format.fraction_bits,
        "WRAPS": int(result.overflow == "wrap"),
        "SIDE": shape.side, "TM": shape.rows, "TN": shape.columns, "BLOCKS": shape.blocks,
    }  # fmt: skip
    own = fmt, result.rounding, "ieee" if is_fixed else result.overflow, result.tiny == "positive", result.flushes
    register = _target("Register", fmt, result.rounding)
    if promotion is not None:
        register = _target("Register", promotion.format, promotion.rounding)
    elif isinstance(late, LateAdd):
        register = _target("Register", late.format, late.rounding, flush=late.flushes)
    sums = _target("Sums", fmt, result.rounding)
    if isinstance(unit.sum, RoundedSum):
        rule = unit.sum
        sums = _target("Sums", _rounded_to(unit, rule.format), rule.rounding, rule.overflow, flush=rule.flushes)
    lines = [
        "typedef unsigned char u8; typedef unsigned short u16; typedef unsigned u32;",
        "typedef unsigned long long u64; typedef long long i64;",
        *(f"typedef {_code_type(fmt)} {name};" for name, fmt in typed.items()),
        *(f"#define IN_{name.upper()} {index}" for index, name in enumerate((*PLACES, "integers"))),
        f"#define VARIANT IN_{variant.upper()}",
        f"#define OWN_SUMS {int(own_sums)}",
        f"#define FIXED {int(is_fixed)}",
        f"#define IN_PARTS {int(_in_parts(unit, variant))}",
        "#define IN_WINDOWS (VARIANT != IN_INTEGERS && !OWN_SUMS)",
        f"#define ORDER {{ {', '.join(map(str, order if numbers['ORDERED'] else [0]))} }}",
        f"enum {{ {_listed(numbers)} }};",
        _target("Result", *own),
        register,
        sums,
        _output(unit),
    ]
    return "\n".join(lines) + "\n\n" + (files(__package__) / "product.cu").read_text(encoding="utf-8")


Table = NDArray[np.uint32]


@lru_cache(maxsize=32)
def tables_of(unit: Unit) -> tuple[Table, ...]:
    """Tables that the source looks codes up in: of a, b, c, and both scales; of one entry where it looks nothing up.

    Words of a window's factors, and of scales that enter at products or subgroups; else bits of binary32.
    """
    operands, scale = unit.operands, unit.scale
    to_a, to_b = operands.multiplied
    positive, rounded = operands.zeros == "positive", isinstance(unit.sum, RoundedSum)
    made = [
        _floats(fmt, to, operands.daz, positive) if rounded else factor_words(fmt, to, operands.daz, positive)
        for fmt, to in ((operands.a, to_a), (operands.b, to_b))
    ]
    made.append(_floats(operands.addend))
    for side in () if scale is None else (scale.a, scale.b):
        promotes = scale is not None and scale.at == "promotion"
        made.append(_floats(side.format) if promotes else factor_words(side.format, side.format))
    none = np.zeros(1, np.uint32)
    return *made, *[none] * (5 - len(made))


def _floats(fmt: Format | None, to: Format | None = None, daz: bool = False, positive: bool = False) -> Table:
    """The bits of the numbers of a format's codes. to, daz, positive: as of `factor_words`."""
    if fmt is None or fmt.container_bits > 16:
        return np.zeros(1, np.uint32)
    numbers = decode_table(fmt).astype(np.float32)
    if daz and isinstance(to, FloatFormat):
        numbers = np.where(np.abs(numbers) < np.float32(2.0**to.emin), np.copysign(np.float32(0), numbers), numbers)
    if positive:
        numbers = np.where(numbers == 0, np.float32(0), numbers)
    return numbers.view(np.uint32)
