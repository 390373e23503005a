"""The mistakes of widths, signs and the order of parts, at every place of a unit where a number has a width."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hwsim.explain.mistakes import decoding, summing, widths, wiring
from hwsim.explain.mistakes.decoding import Where
from hwsim.explain.mistakes.flaw import Flaw
from hwsim.explain.mistakes.mistake import Mistake
from hwsim.explain.mistakes.of_operands import OF, PORT_WORDS, SIDES
from hwsim.formats import FixedFormat, FloatFormat
from hwsim.spec import AlignedSum, ExactSum, RoundedSum, Unit

USUAL = (8, 16, 24, 32, 48, 64)  # widths that are declared without counting
NARROW = "two's complement, and loses those above"
UNSIGNED = "without a sign, and loses those above"


def _operands(unit: Unit) -> Iterator[Mistake]:
    """Fixed operands that are read as numbers without a sign, or not as wide as they are."""
    a, b, c = unit.operands.a, unit.operands.b, unit.operands.addend
    if unit.operands.convert is not None:
        return
    fixed: list[tuple[Where, FixedFormat]] = []
    if isinstance(a, FixedFormat) and isinstance(b, FixedFormat) and a.bits == b.bits:
        if isinstance(c, FixedFormat) and c.bits == a.bits:
            fixed.append(("every operand", a))
        fixed.append(("factors", a))
    for where, fmt in (("a", a), ("b", b), ("addend", c)):
        if isinstance(fmt, FixedFormat):
            fixed.append((where, fmt))  # type: ignore[arg-type]
    for where, fmt in fixed:
        which = OF[where].removeprefix("of ")
        text = f"{which}: codes are numbers without a sign, from 0 to {2**fmt.bits - 1} steps"
        yield Mistake(f"{which} taken for unsigned", text, widths.OperandWraps(where, fmt.bits, signed=False))
        for bits in (fmt.bits - 1, fmt.bits // 2, *(each for each in USUAL if each < fmt.bits - 1)):
            for signed, words in ((True, NARROW), (False, UNSIGNED)):
                if bits > 1:
                    name = f"{which} modulo 2^{bits}" + ("" if signed else ", without a sign")
                    text = f"{which}: a code keeps its low {bits} bits, {words}"
                    yield Mistake(name, text, widths.OperandWraps(where, bits, signed))


def _products(unit: Unit) -> Iterator[Mistake]:
    """Products that are not as wide as they are, and exponents of products."""
    a, b = unit.operands.multiplied
    if isinstance(a, FixedFormat) and isinstance(b, FixedFormat):
        whole = a.bits + b.bits
        every = (whole, whole - 1, whole - 2, whole - 3, whole - 4, a.bits, b.bits)
        for bits in dict.fromkeys(bits for bits in every if bits > 1):
            for signed, words in ((True, NARROW), (False, UNSIGNED)):
                # As wide as a product is, it is wrong only where factors are, too: where they are without their signs.
                name = f"products modulo 2^{bits}" + ("" if signed else ", without a sign")
                yield Mistake(name, f"a product keeps {bits} bits, {words}", widths.ProductWraps(bits, signed))
    if isinstance(a, FloatFormat) and isinstance(b, FloatFormat):
        whole = a.fraction_bits + b.fraction_bits + 2
        narrow = min(a.fraction_bits, b.fraction_bits) + 1
        # One bit less is a mistake of products that has its own name.
        for bits in (bits for bits in dict.fromkeys((whole - 2, whole - 3, whole - 4, narrow)) if 0 < bits < whole - 1):
            text = f"the product of two significands keeps its low {bits} bits"
            yield Mistake(f"significands of products modulo 2^{bits}", text, widths.SignificandWraps(bits))
        exponent = max(a.exponent_bits, b.exponent_bits)
        least = -(a.emin + b.emin)
        for bits in (exponent, exponent - 1, exponent + 1):
            for bias, words in (
                (a.bias + b.bias, ""), (a.bias, ", biased once"), (0, ", without a bias"), (least, ", from the least"),
            ):  # fmt: skip
                if bits > 0:
                    text = f"the sum of two exponents{words} keeps {bits} bits without a sign"
                    name = f"exponents of products{words}, modulo 2^{bits}"
                    yield Mistake(name, text, widths.ExponentWraps(bits, bias))
    text = "no product is negative, whatever its factors' signs are"
    yield Mistake("signs of products ignored", text, widths.SignsOfProductsIgnored())
    yield Mistake("products dropped", "every product counts as zero", widths.ProductsDropped())


def _placed(unit: Unit) -> int | None:
    """The exponent of the last place of an exact sum that is no float; None of other sums."""
    if isinstance(unit.sum, ExactSum) and unit.scale is None:
        return sum(fmt.quantum_exp for fmt in unit.operands.multiplied)
    return None


def _widest_product(unit: Unit, last: int) -> int:
    """Bits of a product that stands in an exact sum, with its sign."""
    return sum(fmt.emax + 1 for fmt in unit.operands.multiplied) - last + 1


def _terms(unit: Unit) -> Iterator[Mistake]:
    """Terms of a sum that are not as wide as they are, and shifts that lose the sign."""
    last = _placed(unit)
    if isinstance(unit.sum, AlignedSum):
        low = unit.sum.fraction_bits
        for bits in (*range(low + 1, low + 4), *(each for each in range(low + 4, low + 9))):
            for signed, words in ((True, NARROW), (False, UNSIGNED)):
                if not (signed and bits >= low + 4):
                    name = f"terms modulo 2^{bits}" + ("" if signed else ", without a sign")
                    yield Mistake(
                        name, f"an aligned term keeps {bits} bits, {words}", widths.AlignedWraps(bits, signed)
                    )
        for bits in range(max(low, 1), low + 4):
            text = f"a term keeps {bits} bits, {NARROW}, before it is shifted right, which rounds it down"
            yield Mistake(f"terms modulo 2^{bits}, before they are shifted", text, widths.TermWraps(bits))
        for bits in dict.fromkeys((*range(low + 2, low + 12), *(each for each in USUAL if each > low + 1))):
            text = f"negative terms are shifted right with zeros in the place of their sign, in {bits} bits"
            yield Mistake(
                f"terms shifted right without their sign, in sums of {bits} bits", f"{text}, as is the sum",
                widths.LogicalShift(bits, sums=True),
            )  # fmt: skip
            name = f"terms of {bits} bits shifted right without their sign"
            yield Mistake(name, text, widths.LogicalShift(bits, sums=False))
    if last is None:
        return
    whole = _widest_product(unit, last)
    fixed = all(isinstance(fmt, FixedFormat) for fmt in unit.operands.multiplied)
    near = () if fixed else range(whole - 8, whole + 8)  # of fixed factors these are products
    for bits in dict.fromkeys((*near, *USUAL)):
        for signed, words in ((True, NARROW), (False, UNSIGNED)):
            if bits > 1 and not (signed and bits >= whole) and not fixed:
                name = f"terms modulo 2^{bits}" + ("" if signed else ", without a sign")
                text = f"a product in the sum keeps {bits} bits above 2^{last}, {words}"
                yield Mistake(name, text, widths.PlacedWraps(bits, last, signed))
    for places in (1, 2, 3, 4, 6, 8) if not fixed else ():
        text = f"products are rounded down to multiples of 2^{last + places}"
        yield Mistake(
            f"low {places} places of products lost, floored", text, decoding.PlacesLost(last + places, floored=True)
        )
    text = "a negative product is negated by inverting its bits, without the 1 that is added"
    yield Mistake("ones' complement of negative products", text, widths.OnesComplementTerms(last))


def _sums(unit: Unit) -> Iterator[Mistake]:
    """Sums that are not as wide as they are, that lose low places, or whose magnitude is not taken."""
    last, window = _placed(unit), isinstance(unit.sum, AlignedSum)
    if isinstance(unit.sum, AlignedSum):
        least = unit.sum.fraction_bits + 1
        every = range(least, least + 12)
    elif last is not None:
        whole = _widest_product(unit, last) + unit.instruction.lanes.bit_length()
        every = range(max(2, whole - 10), whole + 8)
    else:
        every = range(0)
    bits_of = dict.fromkeys((*every, *USUAL)) if every else {}
    for bits in bits_of:
        text = f"the sum keeps {bits} bits, {UNSIGNED}"
        yield Mistake(f"sum modulo 2^{bits}, without a sign", text, widths.SumUnsigned(bits, last))
        text = f"a negative sum of {bits} bits is taken for its own magnitude"
        yield Mistake(f"magnitude of sums of {bits} bits not taken", text, widths.MagnitudeNotTaken(bits, last))
    if last is not None:
        for bits in USUAL:
            text = f"the sum keeps {bits} bits above 2^{last}, {NARROW}"
            yield Mistake(f"sum modulo 2^{bits}", text, summing.SumWraps(bits, last))
    if last is not None and (unit.operands.addend is not None or unit.instruction.chain is not None):
        for bits in bits_of:
            for signed, words in ((True, NARROW), (False, UNSIGNED)):
                text = f"the sum of a beat's products, before anything is added to it, keeps {bits} bits, {words}"
                name = f"sum of products modulo 2^{bits}" + ("" if signed else ", without a sign")
                yield Mistake(name, text, widths.ProductSumWraps(bits, last, signed))
    lowest = None if window else sum(fmt.quantum_exp for fmt in unit.operands.multiplied)
    for places in (1, 2, 3, 4, 6, 8):
        for floored, words in ((False, "cut off its magnitude"), (True, "rounded down")):
            text = f"the low {places} places of the sum are {words}"
            name = f"low {places} places of the whole sum lost" + (", floored" if floored else "")
            yield Mistake(name, text, widths.LowPlacesLost(places, lowest, floored))


def _far(unit: Unit) -> Iterator[Mistake]:
    """Additions that know nothing of a term far below the other."""
    if not isinstance(unit.sum, RoundedSum):
        return
    precision = unit.sum.format.fraction_bits + 1
    which: list[tuple[bool | None, str]] = [(None, "the smaller term")]
    which += [(True, "the addend"), (False, "the product")] if unit.sum.method == "sequential" else []
    for addend, words in which:
        for least in range(precision - 1, 3 * precision + 4):
            text = f"an addition loses {words} where it is {least} places or more below the other term"
            yield Mistake(f"{words} dropped from {least} places below", text, summing.FarDropped(least, addend))


def _results(unit: Unit) -> Iterator[Mistake]:
    """Fixed results that are not as wide as they are."""
    fmt = unit.output
    if not isinstance(fmt, FixedFormat):
        return
    for bits in dict.fromkeys((*range(fmt.bits - 1, fmt.bits - 5, -1), *(each for each in USUAL if each < fmt.bits))):
        for signed, words in ((True, NARROW), (False, UNSIGNED)):
            if bits > 1:
                name = f"result modulo 2^{bits}" + ("" if signed else ", without a sign")
                yield Mistake(name, f"the result keeps {bits} bits, {words}", widths.ResultWraps(bits, signed))


def _parts(unit: Unit) -> Iterator[Mistake]:
    """Codes, lanes and scales that are put together in another order."""
    for port, word in PORT_WORDS.items():
        fmt = wiring.port_format(unit, port)
        for bits, parts in ((8, "bytes"), (16, "halves"), (4, "nibbles")):
            if fmt is not None and fmt.container_bits % bits == 0 and fmt.container_bits // bits in (2, 4):
                text = f"{word}: the {parts} of a code stand in the other order"
                yield Mistake(f"{parts} of {word} in the other order", text, wiring.PartsReversed(port, bits))
    lanes = unit.instruction.lanes
    for side in SIDES if lanes > 2 and lanes % 2 == 0 else ():
        text = f"lanes 0 and 1 of {side} stand in each other's place, and so do 2 and 3, and so on"
        flaw: Flaw = wiring.LanesMoved(side, tuple(lane ^ 1 for lane in range(lanes)))
        yield Mistake(f"neighbouring lanes of {side} exchanged", text, flaw)
    a, b = unit.operands.a, unit.operands.b
    if a != b and a.bits == b.bits and unit.scale is None:
        yield Mistake("a and b exchanged", "a enters as b, and b as a", widths.FactorsExchanged(True, False))
    if unit.scale is None:
        return
    for side in SIDES:
        text = f"the scales of {side} stand in the other order"
        yield Mistake(f"scales of {side} in the other order", text, wiring.ScaleWrong(side, "reversed"))
    if unit.scale.a.format == unit.scale.b.format and unit.scale.length("a") == unit.scale.length("b"):
        text = "the scales of a are those of b, and the other way round"
        yield Mistake("scales of a and b exchanged", text, widths.FactorsExchanged(False, True))


OF_WIDTHS: tuple[Callable[[Unit], Iterator[Mistake]], ...] = (
    _operands, _products, _terms, _sums, _far, _results, _parts,
)  # fmt: skip
