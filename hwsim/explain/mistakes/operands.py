"""Mistakes of what enters a sum: decoders, multipliers, ports, lanes, scales, and what goes on from sum to sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, assert_never

from hwsim.cases.case import Case, block_lengths
from hwsim.cases.palette import negate
from hwsim.explain.mistakes.flawed import SIDES, Flaw, Mistake, Shows
from hwsim.formats import Class, ExponentFormat, Fields, FixedFormat, FloatFormat, Format, TableFormat
from hwsim.formats.codes import is_padded
from hwsim.model.hooks import Side
from hwsim.model.terms import Term
from hwsim.spec import ExactSum, RoundedSum, Unit

Where = Literal["a", "b", "factors", "addend", "every operand"]
OF: dict[Where, str] = {
    "factors": "of both factors",
    "a": "of a",
    "b": "of b",
    "addend": "of the addend",
    "every operand": "of operands",
}
Port = Literal["a", "b", "c", "result"]
PORT_WORDS: dict[Port, str] = {"a": "a", "b": "b", "c": "the addend", "result": "the result"}

Decode = Callable[[Fields, FloatFormat, int], Fields]  # what a float's decoder makes of a code, of what is specified


def concerns(where: Where, side: Side | None) -> bool:
    """True if a mistake of some operands is one of a side's factors; side None: of the addend."""
    return where == "every operand" or where == (side or "addend") or (where == "factors" and side is not None)


def of_decoder(where: Where, decode: Decode) -> Flaw:
    """A mistake of the decoder of floats. where: of which operands."""

    def factor(fields: Fields, side: Side, fmt: Format, code: int) -> Fields:
        return decode(fields, fmt, code) if isinstance(fmt, FloatFormat) and concerns(where, side) else fields

    def addend(term: Term, fmt: Format, code: int) -> Term:
        if not isinstance(fmt, FloatFormat) or not concerns(where, None):
            return term
        parts = fmt.fields(code >> fmt.padding)
        decoded = decode(parts, fmt, code)
        if decoded == parts:
            return term
        cls = Class.NORMAL if decoded.cls is Class.SUBNORMAL else decoded.cls
        return Term(decoded.sign, decoded.exp, decoded.sig, fmt.fraction_bits, cls)

    return Flaw(factor=factor if where != "addend" else None, addend=addend if concerns(where, None) else None)


def _hidden(fields: Fields, fmt: FloatFormat) -> Fields:
    return fields._replace(exp=fmt.emin, sig=fields.sig | 1 << fmt.fraction_bits, cls=Class.NORMAL)


def _normal(fields: Fields, fmt: FloatFormat) -> Fields:
    return _hidden(fields, fmt)._replace(exp=fmt.emin - 1)


Tiny = Callable[[Fields, FloatFormat], Fields]
# Names and sentences of what becomes of subnormals, whether it becomes of zeros too, and what.
SUBNORMALS: tuple[tuple[str, str, bool, Tiny], ...] = (
    (
        "subnormals {} at half their value",
        "subnormals {} have the exponent of code 0, which is one too small",
        False,
        lambda fields, _: fields._replace(exp=fields.exp - 1),
    ),
    ("hidden bit of subnormals {}", "subnormals {} have a hidden bit at their own exponent", False, _hidden),
    ("hidden bit of subnormals and zeros {}", "subnormals and zeros {} have a hidden bit", True, _hidden),
    (
        "subnormals {} taken for normal numbers",
        "subnormals {} have a hidden bit and the exponent of code 0",
        False,
        _normal,
    ),
    (
        "zeros and subnormals {} taken for normal numbers",
        "subnormals and zeros {} have a hidden bit and the exponent of code 0",
        True,
        _normal,
    ),
    (
        "subnormals {} taken for zero",
        "subnormals {} count as zeros",
        False,
        lambda fields, _: fields._replace(sig=0, cls=Class.ZERO),
    ),
    (
        "subnormals {} at twice their value",
        "subnormals {} have an exponent that is one too large",
        False,
        lambda fields, _: fields._replace(exp=fields.exp + 1),
    ),
)


def _tiny(zeros: bool, change: Tiny, fields: Fields, fmt: FloatFormat, code: int) -> Fields:
    concerned = fields.cls is Class.SUBNORMAL or (zeros and fields.cls is Class.ZERO)
    return change(fields, fmt) if concerned else fields


def _top_binade(made: Callable[[FloatFormat, int, int], Fields], fields: Fields, fmt: FloatFormat, code: int) -> Fields:
    """made: of a format, a sign and a fraction."""
    bare = code >> fmt.padding
    magnitude = bare & (fmt.sign_bit - 1) if fmt.signed else bare
    sign, frac = int(fmt.signed and bool(bare & fmt.sign_bit)), magnitude & ((1 << fmt.fraction_bits) - 1)
    return made(fmt, sign, frac) if magnitude >> fmt.fraction_bits == fmt.top_bexp else fields


def _number(fmt: FloatFormat, sign: int, frac: int) -> Fields:
    return Fields(sign, fmt.top_bexp - fmt.bias, 1 << fmt.fraction_bits | frac, Class.NORMAL)


def _nan(fmt: FloatFormat, sign: int, frac: int) -> Fields:
    return Fields(0, 0, 0, Class.NAN)


def _ieee(fmt: FloatFormat, sign: int, frac: int) -> Fields:
    return Fields(sign, 0, 0, Class.NAN if frac else Class.INFINITY)


def _nan_for_infinity(fields: Fields, fmt: FloatFormat, code: int) -> Fields:
    sign = int(fmt.signed and bool(code >> fmt.padding & fmt.sign_bit))
    return Fields(sign, 0, 0, Class.INFINITY) if fields.cls is Class.NAN else fields


def _infinity_for_nan(fields: Fields, fmt: FloatFormat, code: int) -> Fields:
    return Fields(0, 0, 0, Class.NAN) if fields.cls is Class.INFINITY else fields


def _floats(unit: Unit) -> Iterator[tuple[Where, FloatFormat]]:
    """The operands that are floats, all factors together where both are."""
    a, b, c = unit.operands.a, unit.operands.b, unit.operands.addend
    if isinstance(a, FloatFormat) and isinstance(b, FloatFormat):
        yield "factors", a
        if isinstance(c, FloatFormat):
            yield "every operand", a
    if isinstance(a, FloatFormat):
        yield "a", a
    if isinstance(b, FloatFormat):
        yield "b", b
    if isinstance(c, FloatFormat):
        yield "addend", c


def _decoders(unit: Unit) -> Iterator[Mistake]:
    for where, fmt in _floats(unit):
        of = OF[where]
        # Where they all are zeros before, nothing becomes of them.
        seen = not unit.flushes_addends or (where != "addend" and not (where == "every operand" and unit.operands.daz))
        for name, text, zeros, change in SUBNORMALS if fmt.subnormals and seen else ():
            yield Mistake(name.format(of), text.format(of), of_decoder(where, partial(_tiny, zeros, change)))
        if not isinstance(unit.result.format, FixedFormat):  # which has no code for what they would make
            for name, text, decode in _special_codes(fmt):
                yield Mistake(name.format(of), text.format(of), of_decoder(where, decode))


def _special_codes(fmt: FloatFormat) -> Iterator[tuple[str, str, Decode]]:
    """Mistakes of the codes of the top binade."""
    if fmt.has_nan or fmt.infinities:
        name, text = "special codes {} taken for numbers", "codes {} in the top binade are numbers"
        yield name, text, partial(_top_binade, _number)
    if not (fmt.infinities and fmt.nan == "ieee"):
        name, text = "top binade {} taken for NaN", "every code {} in the top binade is NaN"
        yield name, text, partial(_top_binade, _nan)
        text = "codes {} in the top binade are infinities and NaNs, as in IEEE 754's formats"
        yield "top binade {} taken for infinity and NaN", text, partial(_top_binade, _ieee)
    if fmt.infinities and fmt.has_nan:
        yield "NaN {} taken for infinity", "a NaN {} counts as an infinity", _nan_for_infinity
        yield "infinity {} taken for NaN", "an infinity {} counts as NaN", _infinity_for_nan


def with_sig(term: Term, sig: int) -> Term:
    """A finite term with another significand."""
    if term.cls is not Class.NORMAL:
        return term
    return term._replace(sig=sig, cls=Class.NORMAL if sig else Class.ZERO)


def each_product(change: Callable[[Term], Term]) -> Flaw:
    """A mistake of every product of a group."""
    return Flaw(products=lambda products: tuple(map(change, products)))


def _low_bits_lost(bits: int, term: Term) -> Term:
    return with_sig(term, term.sig >> bits << bits)


def _top_bit_lost(term: Term) -> Term:
    return with_sig(term, term.sig & ((2 << term.fraction_bits) - 1))


def _exponent_off(by: int, term: Term) -> Term:
    return term._replace(exp=term.exp + by)


def _signs_ored(term: Term, a: Fields, b: Fields) -> Term:
    return term if term.cls is Class.NAN else term._replace(sign=a.sign | b.sign)


def _infinity_times_zero(cls: Class, term: Term, a: Fields, b: Fields) -> Term:
    if {a.cls, b.cls} != {Class.INFINITY, Class.ZERO}:
        return term
    return Term(a.sign ^ b.sign, 0, 0, term.fraction_bits, cls)


def below(exp: int, floored: bool = False) -> tuple[Shows, ...]:
    """The event that shows that bits below 2^exp are lost, of sums or products; floored: the sum is rounded down."""
    return (Shows("bits below, floored" if floored else "bits below", exp),)


def places_lost(exp: int, floored: bool = False) -> Flaw:
    """Bits of products below a power of two are cut off.

    exp: of the last place that is kept. floored: in two's complement, so that a negative product is rounded down.
    """

    def cut(term: Term) -> Term:
        shift = exp - (term.exp - term.fraction_bits)
        if shift <= 0:
            return term
        return with_sig(term, (-(-term.sig >> shift) if floored and term.sign else term.sig >> shift) << shift)

    return each_product(cut)


def _products(unit: Unit) -> Iterator[Mistake]:
    # Places that a conversion of factors leaves empty.
    formats = (unit.operands.a, unit.operands.b)
    empty = sum(fmt.fraction_bits for fmt in unit.operands.multiplied) - sum(fmt.fraction_bits for fmt in formats)
    for bits, word in ((1, "bit"), (2, "2 bits"), (3, "3 bits")) if empty < 1 else ():
        text = "the low bits of every product's significand are cut off"
        yield Mistake(f"low {word} of products lost", text, each_product(partial(_low_bits_lost, bits)))
    text = "the top bit of products whose significand is 2 or more is lost"
    yield Mistake("top bit of products lost", text, each_product(_top_bit_lost))
    for by, word in ((1, "large"), (-1, "small")):
        text = f"the exponent of every product is 1 too {word}, as with a wrong bias"
        yield Mistake(f"exponent of products one too {word}", text, each_product(partial(_exponent_off, by)))
    yield Mistake("signs of products or-ed", "a product is negative where a factor is", Flaw(product=_signs_ored))
    if any(isinstance(fmt, FloatFormat) and fmt.infinities for fmt in formats):
        for cls, word in ((Class.INFINITY, "infinity"), (Class.ZERO, "zero")):
            flaw = Flaw(product=partial(_infinity_times_zero, cls))
            yield Mistake(f"infinity times zero gives {word}", f"an infinity times zero is {word}", flaw)
    if isinstance(unit.sum, ExactSum) and unit.scale is None:
        least = unit.operands.multiplied[0].quantum_exp + unit.operands.multiplied[1].quantum_exp
        for places in (1, 2, 3, 4, 6, 8):
            text = f"places of products below 2^{least + places} are cut off"
            yield Mistake(
                f"low {places} places of the sum lost", text, places_lost(least + places), below(least + places)
            )


def port_format(unit: Unit, port: Port) -> Format | None:
    """The format of what passes a port; None where the unit has none such."""
    match port:
        case "a":
            return unit.operands.a
        case "b":
            return unit.operands.b
        case "c":
            return unit.operands.addend
        case "result":
            return unit.output
        case _:
            assert_never(port)


def of_port(port: Port, change: Callable[[Format, int], int]) -> Flaw:
    """The flaw that changes every code of a port."""
    if port == "result":
        return Flaw(code=lambda code, unit, case: change(unit.output, code))

    def case(case: Case, unit: Unit, before: int | None) -> Case:
        fmt = port_format(unit, port)
        if fmt is None:
            return case
        match port:
            case "c":
                return replace(case, c=change(fmt, case.c))
            case "a":
                return replace(case, a=tuple(change(fmt, code) for code in case.a))
            case _:
                return replace(case, b=tuple(change(fmt, code) for code in case.b))

    return Flaw(case=case)


def _bits_reversed(fmt: Format, code: int) -> int:
    return int(f"{code >> fmt.padding:0{fmt.bits}b}"[::-1], 2) << fmt.padding


def _unsigned(fmt: Format, code: int) -> int:
    if not isinstance(fmt, FloatFormat | FixedFormat) or not fmt.signed:
        return code
    unsigned = code & ~(fmt.sign_bit << fmt.padding)
    return unsigned if is_padded(fmt, unsigned) else code


def negated(fmt: Format, code: int) -> int:
    """The code of the number with the other sign, as a design makes it: a flipped bit, or a two's complement.

    A canonical NaN with bits in its padding has no other sign that is a code.
    """
    match fmt:
        case FloatFormat():
            flipped = code ^ (fmt.sign_bit << fmt.padding if fmt.signed else 0)
            return flipped if is_padded(fmt, flipped) else code
        case FixedFormat():
            return -code % (1 << fmt.bits) if fmt.signed else code
        case ExponentFormat():
            return code
        case TableFormat():
            opposite = negate(fmt, code)
            return code if opposite is None else opposite
        case _:
            assert_never(fmt)


def _ports(unit: Unit) -> Iterator[Mistake]:
    for port, word in PORT_WORDS.items():
        fmt = port_format(unit, port)
        if fmt is None:
            continue
        text = f"the bits of {word} are in the other order"
        yield Mistake(f"bits of {word} reversed", text, of_port(port, _bits_reversed))
        if fmt.signed:
            yield Mistake(f"sign of {word} ignored", f"{word} is taken without its sign", of_port(port, _unsigned))
        if port in ("c", "result") and fmt.signed:
            yield Mistake(f"sign of {word} flipped", f"{word} has the other sign", of_port(port, negated))


def lanes_moved(side: Side, source: Sequence[int]) -> Flaw:
    """The lanes of one side of each beat come from others. source: the lane that each lane takes its factor from."""
    count = len(source)

    def case(case: Case, unit: Unit, before: int | None) -> Case:
        codes = case.a if side == "a" else case.b
        if len(codes) % count:  # of a unit with other groups
            return case
        moved = tuple(codes[i - i % count + source[i % count]] for i in range(len(codes)))
        return replace(case, a=moved) if side == "a" else replace(case, b=moved)

    return Flaw(case=case)


def _products_moved(source: Sequence[int]) -> Flaw:
    """Products stand in other lanes' places, which counts where sums are rounded. source: of each lane."""
    # Of a unit with other groups, as specified.
    return Flaw(
        products=lambda products: tuple(products[lane] for lane in source) if len(products) == len(source) else products
    )


def _swapped(lanes: int, first: int) -> tuple[int, ...]:
    return tuple({first: first + 1, first + 1: first}.get(lane, lane) for lane in range(lanes))


def _lane_repeated(lane: int, source: int, case: Case, unit: Unit, before: int | None) -> Case:
    lanes = unit.instruction.lanes
    if max(lane, source) >= lanes:  # of a unit with other groups
        return case
    a, b = (
        tuple(codes[i - lane + source] if i % lanes == lane else code for i, code in enumerate(codes))
        for codes in (case.a, case.b)
    )
    return replace(case, a=a, b=b)


def _lane_negated(lane: int, case: Case, unit: Unit, before: int | None) -> Case:
    fmt, lanes = unit.operands.a, unit.instruction.lanes
    return replace(case, a=tuple(negated(fmt, code) if i % lanes == lane else code for i, code in enumerate(case.a)))


def _lanes(unit: Unit) -> Iterator[Mistake]:
    lanes = unit.instruction.lanes
    if lanes < 2:
        return
    for side in SIDES:
        text = f"lane 0 of {side} is where the last one is to be, and so on"
        yield Mistake(f"lanes of {side} reversed", text, lanes_moved(side, range(lanes)[::-1]))
        for by, words in ((1, "next"), (lanes - 1, "previous")):
            if lanes > 2:
                source = [(lane + by) % lanes for lane in range(lanes)]
                text = f"each lane has the {words} lane's {side}"
                yield Mistake(f"lanes of {side} rotated to the {words}", text, lanes_moved(side, source))
        for lane in range(lanes - 1) if lanes > 2 else ():
            text = f"the {side} of lanes {lane} and {lane + 1} is exchanged"
            flaw = lanes_moved(side, _swapped(lanes, lane))
            yield Mistake(f"lanes {lane} and {lane + 1} of {side} swapped", text, flaw)
    if isinstance(unit.sum, RoundedSum):
        tree = unit.sum.method == "pairwise"
        if not (tree and lanes & lanes - 1 == 0):  # such a tree is its own mirror image
            text = "the last lane is added first, and so on"
            yield Mistake("lanes in the other order", text, _products_moved(range(lanes)[::-1]))
        # Neighbours that a tree adds to each other may stand in any order.
        for lane in range(int(tree), lanes - 1, 1 + tree) if lanes > 2 else ():
            text = f"the products of lanes {lane} and {lane + 1} stand in each other's place"
            yield Mistake(f"lanes {lane} and {lane + 1} swapped", text, _products_moved(_swapped(lanes, lane)))
    for lane in range(lanes):
        text = f"the product of lane {lane} is subtracted"
        yield Mistake(f"sign of lane {lane} flipped", text, Flaw(case=partial(_lane_negated, lane)))


def _lane_pairs(unit: Unit) -> Iterator[Mistake]:
    lanes = unit.instruction.lanes
    for lane in range(lanes if lanes > 1 else 0):
        # Of many lanes only the neighbours: a wrong index is mostly off by one.
        for source in range(lanes) if lanes <= 8 else (lane - 1, lane + 1):
            if source != lane and 0 <= source < lanes:
                text = f"lane {source} counts in the place of lane {lane} too"
                flaw = Flaw(case=partial(_lane_repeated, lane, source))
                yield Mistake(f"lane {lane} replaced by lane {source}", text, flaw)
                for side in SIDES:
                    text = f"lane {lane} has the {side} of lane {source}"
                    flaw = lanes_moved(side, [source if index == lane else index for index in range(lanes)])
                    yield Mistake(f"{side} of lane {lane} taken from lane {source}", text, flaw)


Scales = Callable[[Format, tuple[int, ...]], tuple[int, ...]]


def scales_wrong(side: Side, change: Scales) -> Flaw:
    """The scales of one side enter in another way.

    Blocks are mixed up within a group, or, where a group has a single one, within the whole dot product.
    """

    def case(case: Case, unit: Unit, before: int | None) -> Case:
        if unit.scale is None:
            return case
        fmt = unit.scale.of(side).format
        codes = case.scale_a if side == "a" else case.scale_b
        together = unit.instruction.lanes // block_lengths(unit)[0 if side == "a" else 1]
        size = together if together > 1 else len(codes)
        parts = (codes[first : first + size] for first in range(0, len(codes), size))
        changed = tuple(code for part in parts for code in change(fmt, part))
        return replace(case, scale_a=changed) if side == "a" else replace(case, scale_b=changed)

    return Flaw(case=case)


def _each_scale(change: Callable[[ExponentFormat, int], int]) -> Scales:
    """Scales that are powers of two by a rule, as far as it stays inside the format; NaNs stay."""
    return lambda fmt, codes: tuple(
        min(max(change(fmt, code), fmt.min_code), fmt.max_code)
        if isinstance(fmt, ExponentFormat) and not fmt.is_nan(code)
        else code
        for code in codes
    )


SCALES: tuple[tuple[str, str, Scales], ...] = (
    (
        "scale of {} subtracted",
        "the exponent of the scale of {} is subtracted",
        _each_scale(lambda fmt, code: 2 * fmt.bias - code),
    ),
    ("scale of {} ignored", "the scale of {} counts as 1", _each_scale(lambda fmt, code: fmt.bias)),
    (
        "scale of {} counted twice",
        "the exponent of the scale of {} is added twice",
        _each_scale(lambda fmt, code: 2 * code - fmt.bias),
    ),
    (
        "scale of {} of the next block",
        "a block has the scale of {} of the block after it",
        lambda _, codes: (*codes[1:], *codes[:1]),
    ),
    (
        "scale of {} of the first block",
        "every block has the scale of {} of the first one",
        lambda _, codes: codes[:1] * len(codes),
    ),
)


def _scales(unit: Unit) -> Iterator[Mistake]:
    for side in SIDES if unit.scale is not None else ():
        fmt = unit.scale.of(side).format if unit.scale is not None else None
        powers = isinstance(fmt, ExponentFormat)
        has_one = isinstance(fmt, ExponentFormat) and fmt.min_code <= fmt.bias <= fmt.max_code
        for name, text, change in SCALES:
            if name.endswith("block") or (powers and (has_one or "ignored" not in name)):
                yield Mistake(name.format(side), text.format(side), scales_wrong(side, change))


def _sum_forgotten(keeps_addend: bool, case: Case, unit: Unit, before: int | None) -> Case:
    first = len(case.a) - unit.instruction.fill
    if first <= 0:
        return case
    last = replace(case, a=case.a[first:], b=case.b[first:], c=case.c if keeps_addend else 0)
    if unit.scale is None:
        return last
    lengths = block_lengths(unit)
    if any(first % length and first // length != (len(case.a) - 1) // length for length in lengths):
        return case  # a block that begins before the last group, and ends within it, is none of a shorter case
    return replace(last, scale_a=case.scale_a[first // lengths[0] :], scale_b=case.scale_b[first // lengths[1] :])


# A sum goes on from the result before it, in the place of its addend.
NOT_CLEARED = Flaw(case=lambda case, unit, before: case if before is None else replace(case, c=before))


def _accumulation(unit: Unit) -> Iterator[Mistake]:
    if unit.instruction.chain is not None or unit.instruction.groups > 1:
        text = "only the last beat of a dot product counts"
        yield Mistake("sum so far dropped, and the addend", text, Flaw(case=partial(_sum_forgotten, False)))
        if unit.operands.addend is not None:
            yield Mistake("sum so far dropped", f"{text}, and the addend", Flaw(case=partial(_sum_forgotten, True)))
    addend, chained = unit.operands.addend, unit.instruction.chain is not None and not isinstance(unit.sum, ExactSum)
    if (chained and addend is None and unit.promotion is None) or (addend is not None and addend == unit.output):
        text = "a sum goes on from the result before it, in the place of its addend"
        yield Mistake("sum not cleared", text, NOT_CLEARED)


OF_OPERANDS: tuple[Callable[[Unit], Iterator[Mistake]], ...] = (
    _decoders, _products, _ports, _lanes, _lane_pairs, _scales, _accumulation,
)  # fmt: skip
