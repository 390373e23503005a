"""Mistakes of widths and signs: what a language of hardware does silently where a width or a `signed` is missing.

A number that loses its high bits is taken modulo a power of two; read without its sign it is never negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from hwsim.cases.case import Case
from hwsim.explain.mistakes.flawed import SIDES, Flaw, Mistake, Shows
from hwsim.explain.mistakes.operands import (
    OF,
    PORT_WORDS,
    Where,
    below,
    concerns,
    each_product,
    lanes_moved,
    of_port,
    places_lost,
    port_format,
    scales_wrong,
)
from hwsim.explain.mistakes.sums import adder_of, beyond, far_dropped, last_place, sum_wraps
from hwsim.formats import Class, Fields, FixedFormat, FloatFormat, Format
from hwsim.model.hooks import Side
from hwsim.model.terms import Term
from hwsim.spec import AlignedSum, RoundedSum, Unit

USUAL = (8, 16, 24, 32, 48, 64)  # widths that are declared without counting
NARROW = "two's complement, and loses those above"
UNSIGNED = "without a sign, and loses those above"
# Whether the low bits that are kept are two's complement, how names end where they are not, and the sentence.
READ = ((True, "", NARROW), (False, ", without a sign", UNSIGNED))


def wrapped(value: int, bits: int, signed: bool) -> int:
    """The low bits of an integer, as two's complement or as a number without a sign."""
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if signed and low >> bits - 1 else low


def _valued(term: Term, value: int, last: int) -> Term:
    """A finite term with another value, in units of 2^last."""
    return Term(int(value < 0), last, abs(value), 0, Class.NORMAL) if value else term._replace(sig=0, cls=Class.ZERO)


def _units(term: Term, last: int) -> int:
    """A finite term in units of 2^last, where its own last place is not below."""
    return term.integer << max(0, term.exp - term.fraction_bits - last)


def _each_number(change: Callable[[Term], Term]) -> Flaw:
    """A mistake of the products of a group that are numbers other than zero."""
    return each_product(lambda term: change(term) if term.cls is Class.NORMAL else term)


def _operand_wraps(where: Where, bits: int, signed: bool) -> Flaw:
    """A fixed operand is read by its low bits alone."""

    def factor(fields: Fields, side: Side, fmt: Format, code: int) -> Fields:
        if not isinstance(fmt, FixedFormat) or not concerns(where, side):
            return fields
        value = wrapped(code, bits, signed)
        return Fields(int(value < 0), fields.exp, abs(value), Class.NORMAL if value else Class.ZERO)

    def addend(term: Term, fmt: Format, code: int) -> Term:
        if not isinstance(fmt, FixedFormat) or not concerns(where, None):
            return term
        return _valued(term, wrapped(code, bits, signed), term.exp - term.fraction_bits)

    return Flaw(factor=factor, addend=addend)


def _operands(unit: Unit) -> Iterator[Mistake]:
    """Fixed operands that are read with a sign or without where it is the other way, or not as wide as they are."""
    a, b, c = unit.operands.a, unit.operands.b, unit.operands.addend
    if unit.operands.convert is not None:
        return
    every: list[tuple[Where, Format | None]] = []
    if isinstance(a, FixedFormat) and isinstance(b, FixedFormat) and (a.bits, a.signed) == (b.bits, b.signed):
        if isinstance(c, FixedFormat) and (c.bits, c.signed) == (a.bits, a.signed):
            every.append(("every operand", a))
        every.append(("factors", a))
    for where, fmt in (*every, ("a", a), ("b", b), ("addend", c)):
        if not isinstance(fmt, FixedFormat):
            continue
        which = OF[where].removeprefix("of ")
        read = "unsigned" if fmt.signed else "signed"
        ends = (0, 2**fmt.bits - 1) if fmt.signed else (-(2 ** (fmt.bits - 1)), 2 ** (fmt.bits - 1) - 1)
        kind = "numbers without a sign" if fmt.signed else "two's complement"
        text = f"{which}: codes are {kind}, from {ends[0]} to {ends[1]} steps"
        shows = (Shows("wraps", fmt.bits),) if where == "addend" else ()
        yield Mistake(f"{which} taken for {read}", text, _operand_wraps(where, fmt.bits, signed=not fmt.signed), shows)
        for bits in (fmt.bits - 1, fmt.bits // 2, *(width for width in USUAL if width < fmt.bits - 1)):
            for signed, end, words in READ if bits > 1 else ():
                text = f"{which}: a code keeps its low {bits} bits, {words}"
                yield Mistake(f"{which} modulo 2^{bits}{end}", text, _operand_wraps(where, bits, signed))


def _product_wraps(bits: int, signed: bool, term: Term) -> Term:
    value = wrapped(term.integer, bits, signed)
    return term._replace(sign=int(value < 0), sig=abs(value), cls=Class.NORMAL if value else Class.ZERO)


def _significand_wraps(bits: int, term: Term, a: Fields, b: Fields) -> Term:
    if term.cls is not Class.NORMAL:
        return term
    sig = wrapped(term.sig, bits, signed=False)
    return term._replace(sig=sig, cls=Class.NORMAL if sig else Class.ZERO)


def _exponent_wraps(bits: int, bias: int, term: Term, a: Fields, b: Fields) -> Term:
    """bias: what is added to the exponent where it is so narrow."""
    return term._replace(exp=wrapped(term.exp + bias, bits, signed=False) - bias)


def _products(unit: Unit) -> Iterator[Mistake]:
    """Products that are not as wide as they are, and exponents of products."""
    a, b = unit.operands.multiplied
    if isinstance(a, FixedFormat) and isinstance(b, FixedFormat):
        whole = a.bits + b.bits
        every = (whole, whole - 1, whole - 2, whole - 3, whole - 4, a.bits, b.bits)
        for bits in dict.fromkeys(bits for bits in every if bits > 1):
            for signed, end, words in READ:
                # As wide as a product is, it is wrong only where factors are, too: where they are without their signs.
                flaw = _each_number(partial(_product_wraps, bits, signed))
                shows = beyond("product", bits) if signed else ()
                yield Mistake(f"products modulo 2^{bits}{end}", f"a product keeps {bits} bits, {words}", flaw, shows)
    if isinstance(a, FloatFormat) and isinstance(b, FloatFormat):
        whole = a.fraction_bits + b.fraction_bits + 2
        narrow = min(a.fraction_bits, b.fraction_bits) + 1
        # One bit less is a mistake of products that has its own name.
        for bits in (bits for bits in dict.fromkeys((whole - 2, whole - 3, whole - 4, narrow)) if 0 < bits < whole - 1):
            text = f"the product of two significands keeps its low {bits} bits"
            flaw = Flaw(product=partial(_significand_wraps, bits))
            yield Mistake(f"significands of products modulo 2^{bits}", text, flaw)
        exponent = max(a.exponent_bits, b.exponent_bits)
        biases = {
            "": a.bias + b.bias,
            ", biased once": a.bias,
            ", without a bias": 0,
            ", from the least": -(a.emin + b.emin),
        }
        for bits in (exponent, exponent - 1, exponent + 1):
            for words, bias in biases.items() if bits > 0 else ():
                if a.emin + b.emin + bias >= 0 and a.emax + b.emax + bias < 1 << bits:
                    continue  # wide enough
                text = f"the sum of two exponents{words} keeps {bits} bits without a sign"
                flaw = Flaw(product=partial(_exponent_wraps, bits, bias))
                yield Mistake(f"exponents of products{words}, modulo 2^{bits}", text, flaw)
    text = "no product is negative, whatever its factors' signs are"
    yield Mistake("signs of products ignored", text, Flaw(product=lambda term, a, b: term._replace(sign=0)))
    dropped = each_product(lambda term: term._replace(sign=0, sig=0, cls=Class.ZERO))
    yield Mistake("products dropped", "every product counts as zero", dropped)


def _aligned_wraps(bits: int, signed: bool, aligned: tuple[int, ...], lanes: int) -> tuple[int, ...]:
    return tuple(wrapped(term, bits, signed) for term in aligned)


def _unshifted(term: Term, max_exp: int, fraction_bits: int) -> tuple[int, int]:
    """A term of a window as an integer, and by how many places it is shifted right from there."""
    up = fraction_bits - term.fraction_bits
    return term.integer << max(0, up), max_exp - term.exp + max(0, -up)


def _term_wraps(bits: int, aligned: int, term: Term, max_exp: int, fraction_bits: int) -> int:
    value, distance = _unshifted(term, max_exp, fraction_bits)
    value = wrapped(value, bits, signed=True)
    return value >> distance if distance >= 0 else value << -distance


def _logical_shift(bits: int, aligned: int, term: Term, max_exp: int, fraction_bits: int) -> int:
    value, distance = _unshifted(term, max_exp, fraction_bits)
    if distance <= 0:
        return wrapped(value << -distance, bits, signed=True)
    return wrapped(wrapped(value, bits, signed=False) >> distance, bits, signed=True)


def _signed_sum(bits: int, total: int, unit_exp: int) -> int:
    return wrapped(total, bits, signed=True)


def _window_terms(low: int) -> Iterator[Mistake]:
    """low: the window's fraction bits."""
    for bits in range(low + 1, low + 9):
        for signed, end, words in READ if bits < low + 4 else READ[1:]:
            flaw = Flaw(aligned=partial(_aligned_wraps, bits, signed))
            shows = beyond("term", bits) if signed else ()
            yield Mistake(f"terms modulo 2^{bits}{end}", f"an aligned term keeps {bits} bits, {words}", flaw, shows)
    for bits in range(max(low, 1), low + 4):
        text = f"a term keeps {bits} bits, {NARROW}, before it is shifted right, which rounds it down"
        flaw = Flaw(align=partial(_term_wraps, bits))
        yield Mistake(f"terms modulo 2^{bits}, before they are shifted", text, flaw)
    for bits in dict.fromkeys((*range(low + 2, low + 12), *(width for width in USUAL if width > low + 1))):
        text = f"negative terms are shifted right with zeros in the place of their sign, in {bits} bits"
        shifted = partial(_logical_shift, bits)
        # Where both stand in one expression, the sum has that width too.
        flaw = Flaw(align=shifted, total=partial(_signed_sum, bits))
        yield Mistake(f"terms shifted right without their sign, in sums of {bits} bits", f"{text}, as is the sum", flaw)
        yield Mistake(f"terms of {bits} bits shifted right without their sign", text, Flaw(align=shifted))


def _placed_wraps(bits: int, last: int, signed: bool, term: Term) -> Term:
    return _valued(term, wrapped(_units(term, last), bits, signed), last)


def _inverted(last: int, term: Term) -> Term:
    return _valued(term, _units(term, last) - 1, last) if term.sign else term


def _widest_product(unit: Unit, last: int) -> int:
    """Bits of a product that stands in an exact sum, with its sign."""
    return sum(fmt.emax + 1 for fmt in unit.operands.multiplied) - last + 1


def _terms(unit: Unit) -> Iterator[Mistake]:
    """Terms of a sum that are not as wide as they are, and shifts that lose the sign."""
    if isinstance(unit.sum, AlignedSum):
        yield from _window_terms(unit.sum.fraction_bits)
    last = last_place(unit)
    if last is None:
        return
    whole = _widest_product(unit, last)
    fixed = all(isinstance(fmt, FixedFormat) for fmt in unit.operands.multiplied)  # then these are products
    for bits in dict.fromkeys((*range(whole - 8, whole + 8), *USUAL)) if not fixed else ():
        for signed, end, words in READ if bits < whole else READ[1:]:
            if bits > 1:
                text = f"a product in the sum keeps {bits} bits above 2^{last}, {words}"
                yield Mistake(
                    f"terms modulo 2^{bits}{end}", text, _each_number(partial(_placed_wraps, bits, last, signed))
                )
    for places in (1, 2, 3, 4, 6, 8) if not fixed else ():
        text = f"products are rounded down to multiples of 2^{last + places}"
        lost = places_lost(last + places, floored=True)
        yield Mistake(f"low {places} places of products lost, floored", text, lost, below(last + places))
    text = "a negative product is negated by inverting its bits, without the 1 that is added"
    yield Mistake("ones' complement of negative products", text, _each_number(partial(_inverted, last)))


def _sum_unsigned(bits: int, last: int | None, total: int, unit_exp: int) -> int:
    """last: the exponent of the sum's last place; None: that of a window."""
    lower = 0 if last is None else last - unit_exp
    return wrapped(total, max(0, bits + lower), signed=False)


def _not_taken(bits: int, last: int | None, magnitude: tuple[int, int], sign: int) -> tuple[int, int]:
    sig, unit_exp = magnitude
    if not sign:
        return magnitude
    last = unit_exp if last is None else last
    below = max(0, last - unit_exp)
    units = sig >> below if last >= unit_exp else sig << unit_exp - last
    return wrapped(-units, bits, signed=False), last


def _product_sum_wraps(bits: int, last: int, signed: bool, products: tuple[Term, ...]) -> tuple[Term, ...]:
    if any(term.cls not in (Class.NORMAL, Class.ZERO) for term in products):
        return products
    whole = sum(_units(term, last) for term in products)
    value = wrapped(whole, bits, signed)
    if value == whole:
        return products
    zeros = tuple(term._replace(sig=0, cls=Class.ZERO) for term in products)
    return (_valued(zeros[0], value, last), *zeros[1:])


def _low_places_lost(places: int, last: int | None, floored: bool, total: int, unit_exp: int) -> int:
    """places: so many above `last`, the exponent of the least place of a product; None: above a window's last place."""
    shift = places if last is None else last + places - unit_exp
    if shift <= 0:
        return total
    return total >> shift << shift if floored or total >= 0 else -(-total >> shift << shift)


def _sums(unit: Unit) -> Iterator[Mistake]:
    """Sums that are not as wide as they are, that lose low places, or whose magnitude is not taken."""
    last, every = last_place(unit), range(0)
    if isinstance(unit.sum, AlignedSum):
        every = range(unit.sum.fraction_bits + 1, unit.sum.fraction_bits + 13)
    elif last is not None:
        whole = _widest_product(unit, last) + unit.instruction.lanes.bit_length()
        every = range(max(2, whole - 10), whole + 8)
    widths: Iterable[int] = dict.fromkeys((*every, *USUAL)) if every else ()
    for bits in widths:
        text = f"the sum keeps {bits} bits, {UNSIGNED}"
        flaw = Flaw(total=partial(_sum_unsigned, bits, last))
        yield Mistake(f"sum modulo 2^{bits}, without a sign", text, flaw, (Shows("wraps", bits),))
        text = f"a negative sum of {bits} bits is taken for its own magnitude"
        flaw = Flaw(magnitude=partial(_not_taken, bits, last))
        yield Mistake(f"magnitude of sums of {bits} bits not taken", text, flaw)
    if last is not None:
        for bits in USUAL:
            text = f"the sum keeps {bits} bits above 2^{last}, {NARROW}"
            yield Mistake(f"sum modulo 2^{bits}", text, sum_wraps(bits, last), beyond("sum", bits))
    if last is not None and (unit.operands.addend is not None or unit.instruction.chain is not None):
        for bits in widths:
            for signed, end, words in READ:
                text = f"the sum of a beat's products, before anything is added to it, keeps {bits} bits, {words}"
                flaw = Flaw(products=partial(_product_sum_wraps, bits, last, signed))
                shows = beyond("products", bits) if signed else (Shows("wraps", bits),)
                yield Mistake(f"sum of products modulo 2^{bits}{end}", text, flaw, shows)
    window = isinstance(unit.sum, AlignedSum)
    lowest = None if window else sum(fmt.quantum_exp for fmt in unit.operands.multiplied)
    for places in (1, 2, 3, 4, 6, 8):
        for floored, end, words in ((False, "", "cut off its magnitude"), (True, ", floored", "rounded down")):
            text = f"the low {places} places of the sum are {words}"
            flaw = Flaw(total=partial(_low_places_lost, places, lowest, floored))
            shows = () if lowest is None else below(lowest + places, floored)
            yield Mistake(f"low {places} places of the whole sum lost{end}", text, flaw, shows)


def _far(unit: Unit) -> Iterator[Mistake]:
    if not isinstance(unit.sum, RoundedSum):
        return
    which: dict[str, bool | None] = {"the smaller term": None}
    which |= {"the addend": True, "the product": False} if unit.sum.method == "sequential" else {}
    yield from far_dropped(adder_of(unit), which)


def _result_wraps(kept: int, signed: bool, value: int, bits: int) -> int:
    return wrapped(value, kept, signed)


def _results(unit: Unit) -> Iterator[Mistake]:
    """Fixed results that are not as wide as they are."""
    fmt = unit.output
    if not isinstance(fmt, FixedFormat):
        return
    for bits in dict.fromkeys((*range(fmt.bits - 1, fmt.bits - 5, -1), *(size for size in USUAL if size < fmt.bits))):
        for signed, end, words in READ if bits > 1 else ():
            flaw = Flaw(fixed=partial(_result_wraps, bits, signed))
            yield Mistake(f"result modulo 2^{bits}{end}", f"the result keeps {bits} bits, {words}", flaw)


def _parts_reversed(bits: int, fmt: Format, code: int) -> int:
    """A code put together from its parts in the other order; nobody reads the padding. bits: of a part."""
    mask, reversed_code = (1 << bits) - 1, 0
    for place in range(0, fmt.container_bits, bits):
        reversed_code = reversed_code << bits | code >> place & mask
    return reversed_code >> fmt.padding << fmt.padding


def _exchanged(case: Case, unit: Unit, before: int | None) -> Case:
    return replace(case, a=case.b, b=case.a)


def _parts(unit: Unit) -> Iterator[Mistake]:
    """Codes, lanes and scales that are put together in another order."""
    for port, word in PORT_WORDS.items():
        fmt = port_format(unit, port)
        for bits, parts in ((8, "bytes"), (16, "halves"), (4, "nibbles")):
            if fmt is not None and fmt.container_bits % bits == 0 and fmt.container_bits // bits in (2, 4):
                text = f"{word}: the {parts} of a code stand in the other order"
                flaw = of_port(port, partial(_parts_reversed, bits))
                yield Mistake(f"{parts} of {word} in the other order", text, flaw)
    lanes = unit.instruction.lanes
    for side in SIDES if lanes > 2 and lanes % 2 == 0 else ():
        text = f"lanes 0 and 1 of {side} stand in each other's place, and so do 2 and 3, and so on"
        flaw = lanes_moved(side, [lane ^ 1 for lane in range(lanes)])
        yield Mistake(f"neighbouring lanes of {side} exchanged", text, flaw)
    a, b = unit.operands.a, unit.operands.b
    if a != b and a.bits == b.bits and unit.scale is None:
        flaw = Flaw(case=_exchanged)
        yield Mistake("a and b exchanged", "a enters as b, and b as a", flaw)
    if unit.scale is None:
        return
    for side in SIDES:
        text = f"the scales of {side} stand in the other order"
        flaw = scales_wrong(side, lambda _, codes: codes[::-1])
        yield Mistake(f"scales of {side} in the other order", text, flaw)


OF_WIDTHS: tuple[Callable[[Unit], Iterator[Mistake]], ...] = (
    _operands, _products, _terms, _sums, _far, _results, _parts,
)  # fmt: skip
