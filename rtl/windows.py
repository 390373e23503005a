"""Windows of a few terms: their largest exponent, terms shifted below it, bits cut off a sum; and sums of parts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, assert_never

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out, PureInterface

from hwsim.formats import FloatFormat
from hwsim.rtl.addition import NumberRange, normalized
from hwsim.rtl.arithmetic import Shifter, balanced, clamp, leading_zeros, lost_bits, shifted, tree_maximum
from hwsim.rtl.numbers import SPECIAL, FieldRange, ProductRanges, signed_shape
from hwsim.rtl.products import LaneProduct, decoder
from hwsim.rtl.step import assign
from hwsim.spec.keys import Lost
from hwsim.spec.ranges import span_of
from hwsim.spec.sums import ExactSubgroup, SubgroupRule, WindowSubgroup


class WindowTerm(NamedTuple):
    """A term: (-1)^sign * sig * 2^(exp - fraction_bits).

    counts: whether it takes part in the maximum. nonzero: whether it counts as other than zero.
    low: its least exponent.
    """

    sign: Value
    exp: Value
    sig: Value
    fraction_bits: int
    counts: Value
    nonzero: Value
    low: int


def maximum(m: Module, name: str, terms: Sequence[WindowTerm], span: tuple[int, int]) -> Signal:
    """The largest exponent of the terms that count. span: its ends; the lowest for none."""
    left: list[Value] = [Const(span[0], signed_shape(*span))]
    for index, term in enumerate(terms):
        exp = Signal(signed_shape(*span), name=f"{name}_exp{index}")
        m.d.comb += exp.eq(Mux(term.counts, term.exp, span[0]))
        left.append(exp)
    (found,) = tree_maximum(m, left, len(terms).bit_length(), f"_{name}")
    result = Signal(signed_shape(*span), name=f"{name}_max_exp")
    m.d.comb += result.eq(found)
    return result


def aligned(m: Module, name: str, term: WindowTerm, max_exp: Value, most: int, fraction_bits: int, lost: Lost) -> Value:
    """A term in units of 2^(max_exp - fraction_bits), signed. most: the largest max_exp."""
    place = shifter_of(len(term.sig), term.fraction_bits, fraction_bits, lost)
    ones, carry = shifted(m, name, *unshifted(m, name, term, place, max_exp, most), place.drop, lost)
    kept = Signal(ones.shape(), name=f"{name}_ones")
    result = Signal(signed_shape(-(1 << len(ones) - 1), 1 << len(ones) - 1), name=f"{name}_aligned")
    m.d.comb += [kept.eq(ones), result.eq(kept + carry)]
    return result


def shifter_of(sig_bits: int, term_fraction_bits: int, fraction_bits: int, lost: Lost) -> Shifter:
    """The shifter that moves terms of significands of so many bits into a window of so many fraction bits."""
    place = max(fraction_bits, term_fraction_bits)
    top = max(1, sig_bits - term_fraction_bits)
    bits = max(1, (fraction_bits + top + lost_bits(lost).guard_bits).bit_length())
    return Shifter(place - term_fraction_bits + sig_bits, bits, place - fraction_bits, lost)


def unshifted(
    m: Module, name: str, term: WindowTerm, place: Shifter, max_exp: Value, most: int
) -> tuple[Value, Value, Value]:
    """A term's magnitude where max_exp is its own exponent, its sign, and how far it is below max_exp."""
    difference = Signal(max(1, (most - term.low).bit_length()), name=f"{name}_distance")
    m.d.comb += difference.eq(max_exp - term.exp)
    magnitude = Cat(Const(0, place.bits - len(term.sig)), term.sig)
    return magnitude, term.sign, clamp(difference, place.distance_bits)


def aligned_bits(sig_bits: int, term_fraction_bits: int, fraction_bits: int) -> int:
    """Bits of an aligned term, its sign counted, and one for what rounding adds."""
    return max(1, sig_bits - term_fraction_bits + fraction_bits) + 2


def cut(m: Module, total: Value, places: Value | int, lost: Lost) -> Value:
    """A sum with so many of its low places lost, as `lost` has it of magnitudes; unchanged where `places` is 0.

    places: a number is at least 1, and less than the sum's bits.
    """
    sign = total[-1]
    magnitude = Signal(len(total), name="uncut")
    m.d.comb += magnitude.eq((total ^ sign.replicate(len(total))) + sign)
    kept, below = Signal(len(total), name="kept"), Signal(len(total), name="below")
    # What is lost beside half of the last place that is kept.
    twice, whole = Cat(Const(0, 1), below), Signal(len(total) + 1, name="whole")
    if isinstance(places, int):
        m.d.comb += [kept.eq(magnitude[places:]), below.eq(magnitude[:places]), whole.eq(1 << places)]
    else:
        m.d.comb += [kept.eq(magnitude >> places), below.eq(magnitude - (kept << places)[: len(total)])]
        m.d.comb += whole.eq((Const(1, 1) << places)[: len(total) + 1])
    any_lost, is_cut = below.any(), Const(1) if isinstance(places, int) else places.any()
    match lost:
        case "truncate":
            up: Value = Const(0)
        case "floor":
            up = sign & any_lost
        case "ceil":
            up = ~sign & any_lost
        case "jam":
            up = any_lost & ~kept[0]
        case "rne":
            up = is_cut & ((twice > whole) | ((twice == whole) & kept[0]))
        case "rna":
            up = is_cut & (twice >= whole)
        case "ones-complement":
            up = sign & is_cut
        case _:
            assert_never(lost)
    rounded = Signal(len(total) + 1, name="rounded_total")
    m.d.comb += rounded.eq((kept + up) << places)
    return Mux(sign, -rounded, rounded)


def leading_place(m: Module, magnitude: Value) -> Value:
    """The place of the leading one; of zero, 0."""
    is_zero, count = leading_zeros(m, magnitude)
    place = Signal(range(len(magnitude) + 1), name="leading")
    m.d.comb += place.eq(Mux(is_zero, 0, len(magnitude) - 1 - Cat(count)))
    return place


PRODUCT = 2  # the least exponent of a product, of factors that count from 1


class PartRanges:
    """The ranges of sums of parts: (-1)^sign * sig * 2^(exp - bias - fraction_bits).

    scales: the formats of scales that multiply the sums. lanes: of a part; of the smallest, where they may be of two
    sizes. count: of parts in a group. exp: the ends of exponents. reach: how far above the largest exponent of the
    parts an addend may stand that has no say in it.
    sum_most, most: the largest magnitude of a sum, and of a significand, with the scales.
    """

    def __init__(self, n: ProductRanges, rule: SubgroupRule):
        self.products, self.rule = n, rule
        self.low = isinstance(rule, ExactSubgroup) and rule.asks_addend
        skips = isinstance(rule, ExactSubgroup) and rule.low_addend == "skip"
        self.reach = max(0, n.product_most - n.product_bias - 1) if skips else 0
        self.lanes = rule.least_lanes if isinstance(rule, ExactSubgroup) else rule.lanes
        self.count = n.lanes // self.lanes
        self.scales = n.part_scales
        fields = [FieldRange.of(fmt) for fmt in self.scales]
        self.bias, tops = sum(field.bias for field in fields), sum(field.most for field in fields)
        self.fraction_bits = sum(fmt.fraction_bits for fmt in self.scales)
        match rule:
            case ExactSubgroup():
                self.exp = (PRODUCT, tops) if self.scales else (0, 0)
                # The sum is an integer in units of 2^(PRODUCT - bias - fraction bits) of its products.
                self.fraction_bits -= PRODUCT - n.product_bias - n.product_fraction_bits
                self.sum_most = rule.lanes * (n.most_product << n.product_most - PRODUCT)
            case WindowSubgroup():
                self.exp = PRODUCT, n.product_most + tops
                self.bias += n.product_bias
                self.fraction_bits += rule.fraction_bits
                window_bits = aligned_bits(n.sig_bits, n.product_fraction_bits, rule.fraction_bits)
                self.sum_most = 1 << window_bits + rule.lanes.bit_length()
            case _:
                assert_never(rule)
        self.most = self.sum_most * math.prod(span_of(fmt).most for fmt in self.scales)

    def scales_of(self, i: PureInterface, at: int) -> list[PureInterface]:
        """The decoded scales that multiply one sum. i: what has them."""
        sides = [getattr(i, f"scale_{side}") for side in "ab"] if self.scales else []
        return [side[at * len(side) // self.count] for side in sides]

    def move(self, to: FloatFormat) -> int:
        """The offset from a term's exponent to the exponent field of `to` of its top bit."""
        return FieldRange.of(to).bias - self.bias - self.fraction_bits + self.most.bit_length() - 1

    def number_range(self, to: FloatFormat) -> NumberRange:
        """The range of a sum as a number in the exponent fields of `to`."""
        bits, (low, high) = self.most.bit_length(), (end + self.move(to) for end in self.exp)
        return NumberRange(bits, min(1, low - bits + 1), max(1, high))

    @property
    def layout(self) -> StructLayout:
        """A sum as a term. nonzero: whether it counts as other than zero."""
        return StructLayout({"sign": 1, "exp": signed_shape(*self.exp), "sig": self.most.bit_length(), "nonzero": 1})


class PartNumber(wiring.Component):
    """The sum of a part as a number in the exponent fields of `to`."""

    def __init__(self, p: PartRanges, to: FloatFormat):
        self.move, self.range = p.move(to), p.number_range(to)
        super().__init__({"part": In(p.layout), "special": In(SPECIAL), "o": Out(self.range.layout)})

    @property
    def purpose(self) -> str:
        return "The sum of a part, normalised, as a number."

    def elaborate(self, platform: object) -> Module:
        m = Module()
        normalized(m, self.part.sig, self.part.exp + self.move, self.o, self.range.low)
        m.d.comb += [
            self.o.sign.eq(self.part.sign),
            self.o.nan.eq(self.special.nan | (self.special.positive & self.special.negative)),
            self.o.inf.eq(self.special.positive | self.special.negative),
        ]
        return m


def decode_scales(m: Module, n: ProductRanges, i: PureInterface, o: PureInterface) -> None:
    """Drive the decoded scales `scale_a` and `scale_b` of every block of a beat."""
    for side, fmt, blocks in zip("ab", [] if n.apart else n.part_scales, n.scale_blocks, strict=False):
        for block in range(blocks):
            m.submodules[f"scale_{side}{block}"] = decode = decoder(fmt)
            m.d.comb += decode.code.eq(getattr(i, f"scale_{side}")[block])
            m.d.comb += assign(getattr(o, f"scale_{side}")[block], decode.o)


class PartSum(NamedTuple):
    """The sum of a part, unscaled. exp: its exponent, where it has one of its own. special: what it is if not finite.

    negative: whether all of its products are. some: whether any is other than zero.
    """

    total: Value
    exp: Sequence[Value]
    special: Mapping[str, Value]
    negative: Value
    some: Value


def drive_part(
    m: Module,
    p: PartRanges,
    at: int,
    lanes: Sequence[tuple[LaneProduct, Value]],
    scales: Sequence[PureInterface],
    to: PureInterface,
) -> Value:
    """Drive one sum as a term; what is special about it.

    lanes: the products of all lanes, and their exponents, zeros' too. scales: those of this part; none where none
    multiply it.
    """
    return drive_scaled(m, p, at, _part_sum(m, p, at, lanes), scales, to)


def _part_sum(m: Module, p: PartRanges, at: int, lanes: Sequence[tuple[LaneProduct, Value]]) -> PartSum:
    own = lanes[at * p.lanes : (at + 1) * p.lanes]
    products = [product for product, _ in own]
    total, tops = Signal(signed_shape(-p.sum_most, p.sum_most), name=f"total{at}"), list[Value]()
    match p.rule:
        case ExactSubgroup():
            placed = _placed(m, p, at, products, total)
        case WindowSubgroup() as rule:
            top, placed = _in_window(m, p, rule, at, own)
            tops.append(top)
        case _:
            assert_never(p.rule)
    m.d.comb += total.eq(balanced(m, placed, f"subgroup{at}_level"))
    special = {field: Cat(product.special[field] for product in products).any() for field in SPECIAL.members}
    negative = Cat(product.term.sign for product in products).all()
    return PartSum(total, tops, special, negative, Cat(product.term.sig.any() for product in products).any())


def drive_scaled(
    m: Module, p: PartRanges, at: int, part: PartSum, scales: Sequence[PureInterface], to: PureInterface
) -> Value:
    """Drive a sum, times its scales, as a term; what is special about it."""
    total, inner = part.total, part.special
    nan = inner["nan"] | (inner["positive"] & inner["negative"])
    infinite = inner["positive"] | inner["negative"]
    sign = Mux(infinite, inner["negative"], Mux(total.any(), total[-1], part.negative))
    for scale in scales:
        sign = sign ^ scale.sign
    magnitude = (total ^ total[-1].replicate(len(total)))[: len(total) - 1] + total[-1]
    zeros = [Mux(infinite, 0, ~total.any()), *(~(scale.sig.any() | scale.inf) for scale in scales)]
    infinities = [infinite, *(scale.inf for scale in scales)]
    # From left to right: what an infinity meets decides, as does every product after it.
    nans = [nan, *(scale.nan for scale in scales), *([Cat(infinities).any() & Cat(zeros).any()] if scales else [])]
    cancels: Value = Const(0)
    if p.rule.cancelled == "count":
        cancels = Cat(part.some, *(scale.sig.any() for scale in scales)).all()
    special = Signal(SPECIAL, name=f"special{at}")
    sig, exp = magnitude, sum([*part.exp, *(scale.bexp for scale in scales)])
    for scale in scales:
        sig = sig * scale.sig
    m.d.comb += [
        to.sign.eq(sign),
        to.exp.eq(exp),
        to.sig.eq(sig),
        to.nonzero.eq(to.sig.any() | cancels),
        special.nan.eq(Cat(nans).any()),
        special.positive.eq(Cat(infinities).any() & ~sign),
        special.negative.eq(Cat(infinities).any() & sign),
    ]
    return special


def drive_low_parts(
    m: Module, p: PartRanges, lanes: Sequence[tuple[LaneProduct, Value]], i: PureInterface, to: Sequence[PureInterface]
) -> tuple[Value, list[Mapping[str, Value]]]:
    """Drive the sums of a group whose parts are smaller where its addend is low; that, and what is special about each.

    Else the first of the smaller parts has the sum of all that are in one larger, and the others are zero.
    """
    low = Signal(name="low")
    m.d.comb += low.eq(_is_low(m, p, [product for product, _ in lanes], i))
    small, inside = [_part_sum(m, p, at, lanes) for at in range(p.count)], p.rule.lanes // p.lanes
    specials: list[Mapping[str, Value]] = []
    for at, part in enumerate(small):
        total, first = Signal(part.total.shape(), name=f"chosen{at}"), not at % inside
        whole = _whole(m, at, small[at : at + inside]) if first else None
        m.d.comb += total.eq(Mux(low, part.total, 0 if whole is None else whole.total))
        if whole is None:
            chosen = part._replace(total=total, some=part.some & low)
        else:
            special = {flag: Mux(low, part.special[flag], whole.special[flag]) for flag in SPECIAL.members}
            negative, some = Mux(low, part.negative, whole.negative), Mux(low, part.some, whole.some)
            chosen = PartSum(total, part.exp, special, negative, some)
        found = drive_scaled(m, p, at, chosen, p.scales_of(i, at), to[at])
        specials.append({flag: found[flag] if first else found[flag] & low for flag in SPECIAL.members})
    return low, specials


def _whole(m: Module, at: int, parts: Sequence[PartSum]) -> PartSum:
    """The sum of parts that are added before they are scaled."""
    total = Signal(parts[0].total.shape(), name=f"whole{at}")
    m.d.comb += total.eq(balanced(m, [part.total for part in parts], f"whole{at}_level"))
    special = {flag: Cat(part.special[flag] for part in parts).any() for flag in SPECIAL.members}
    negative, some = Cat(part.negative for part in parts).all(), Cat(part.some for part in parts).any()
    return PartSum(total, (), special, negative, some)


def _is_low(m: Module, p: PartRanges, products: Sequence[LaneProduct], i: PureInterface) -> Value:
    """A flag that the addend's exponent is below some product's, its scales counted, or that it is no number.

    A product counts that is a number other than zero, under scales that are.
    """
    counts, below, inside = list[Value](), list[Value](), p.rule.lanes // p.lanes
    bits = products[0].term.exp.shape().width
    for at in range(0, p.count, inside):
        scales = p.scales_of(i, at)
        own = products[at * p.lanes : (at + inside) * p.lanes]
        # That of a zero is 0, and no other's is.
        exps = [product.term.exp & (~_any_flag(product.special)).replicate(bits) for product in own]
        room = i.addend.exp + p.products.product_bias - sum(scale.bexp for scale in scales)
        least = Signal(bits, name=f"below{at}")  # above it an exponent is above the addend's
        m.d.comb += least.eq(Mux(room < 0, 0, Mux(room >= 1 << bits, -1, room)))
        scaled = Cat(scale.sig.any() & ~(scale.nan | scale.inf) for scale in scales).all()
        counts.append(Cat(exp.any() for exp in exps).any() & scaled)
        below.append(Cat(exp > least for exp in exps).any() & scaled)
    is_number = i.addend.sig.any() & ~_any_flag(i.special)
    return Mux(is_number, Cat(below).any(), Cat(counts).any())


def _any_flag(special: PureInterface) -> Value:
    return Cat(getattr(special, flag) for flag in SPECIAL.members).any()


def _placed(m: Module, p: PartRanges, at: int, products: Sequence[LaneProduct], total: Signal) -> list[Value]:
    """Products as integers of one unit."""
    placed: list[Value] = []
    for product in products:
        places = Signal(range(p.products.product_most - PRODUCT + 1), name=f"places{at}_{len(placed)}")
        m.d.comb += places.eq(product.term.exp - PRODUCT)
        magnitude = Signal(len(total), name=f"magnitude{at}_{len(placed)}")
        term = Signal(total.shape(), name=f"term{at}_{len(placed)}")
        m.d.comb += [
            magnitude.eq((product.term.sig << places)[: len(total)]),
            term.eq(Mux(product.term.sign, -magnitude, magnitude)),
        ]
        placed.append(term)
    return placed


def _in_window(
    m: Module, p: PartRanges, rule: WindowSubgroup, at: int, own: Sequence[tuple[LaneProduct, Value]]
) -> tuple[Value, list[Value]]:
    """The largest exponent of a part's products, of zeros where all are, and the products aligned to it."""
    n, span = p.products, (PRODUCT, p.products.product_most)
    nonzero = [product.term.sig.any() for product, _ in own]
    none = Signal(name=f"all_zero{at}")
    m.d.comb += none.eq(~Cat(nonzero).any())
    terms = [
        WindowTerm(product.term.sign, exp, product.term.sig, n.product_fraction_bits, some | none, some, PRODUCT)
        for (product, exp), some in zip(own, nonzero, strict=True)
    ]
    top = maximum(m, f"own{at}", terms, span)
    placed = [
        aligned(m, f"own{at}_{lane}", term, top, span[1], rule.fraction_bits, rule.lost)
        for lane, term in enumerate(terms)
    ]
    return top, placed
