"""Every pair of codes, each through one lane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from hwsim.cases.batch import batches, expected
from hwsim.cases.case import Case, block_lengths
from hwsim.formats import Class, Format, unpack
from hwsim.formats.blocks import one_code
from hwsim.model.addition import exact_sum
from hwsim.model.definition import Definition
from hwsim.spec import Unit

MOST_BITS = 8
Pair = tuple[int, int]


def pair_cases(unit: Unit) -> Iterator[Case]:
    """A case for every pair of codes of the factors, in a lane that moves on; the other lanes hold zeros.

    Formats of more than 8 bits have too many pairs: of those every 2^(bits - 8)-th code.
    """
    lanes = unit.instruction.fill
    scales: tuple[tuple[int, ...], ...] = ((), ())
    count = lanes
    if unit.scale is not None:
        longest = max(lanes, *block_lengths(unit))
        count = longest
        ones = [one_code(side.format) for side in (unit.scale.a, unit.scale.b)]
        scales = tuple((one,) * (longest // length) for one, length in zip(ones, block_lengths(unit), strict=True))
    codes = [_codes(fmt) for fmt in (unit.operands.a, unit.operands.b)]
    for number, (a, b) in enumerate((a, b) for a in codes[0] for b in codes[1]):
        lane = number % lanes
        before, after = (0,) * lane, (0,) * (count - lane - 1)
        yield Case(f"{a:#x}x{b:#x}", (*before, a, *after), (*before, b, *after), 0, *scales)


def _codes(fmt: Format) -> list[int]:
    step = 1 << max(0, fmt.bits - MOST_BITS)
    return [code << fmt.padding for code in range(0, 1 << fmt.bits, step)]


def product_cases(unit: Unit, together: int = 4) -> list[Case]:
    """Every pair of codes, up to `together` to a case: products of one exponent, whose sum loses nothing.

    So a wrong bit of any product is a wrong result. NaN, infinity and what a sum of several would hide stand alone.
    Formats of more than 8 bits have too many pairs: of those every 2^(bits - 8)-th code.
    """
    definition, lanes = Definition(unit), unit.instruction.lanes
    a, b = (_codes(fmt) for fmt in (unit.operands.a, unit.operands.b))
    alone: list[tuple[Pair, ...]] = []
    alike: dict[tuple[int, bool], list[Pair]] = {}
    for pair in ((x, y) for x in a for y in b):
        term = definition.product(*pair)
        if term.cls in (Class.NAN, Class.INFINITY):
            alone.append((pair,))
        else:
            alike.setdefault((term.exp if term.sig else 0, bool(term.sig)), []).append(pair)
    size = min(together, lanes)
    some = [tuple(pairs[at : at + size]) for _, pairs in sorted(alike.items()) for at in range(0, len(pairs), size)]
    sums: list[tuple[Pair, ...]] = []
    for pairs, keeps in zip(some, _keep(unit, definition, some), strict=True):
        sums += [pairs] if keeps else [(pair,) for pair in pairs]
    return [_product_case(unit, number, pairs) for number, pairs in enumerate([*sums, *alone])]


def _keep(unit: Unit, definition: Definition, sums: Sequence[tuple[Pair, ...]]) -> Iterator[bool]:
    """Whether the result of some products alone is their exact sum, for each such sum."""
    neutral = _neutral(unit)
    cases = [_product_case(unit, 0, pairs) for pairs in sums]
    codes = [code for batch in batches(unit, cases) for code in expected(unit, batch).tolist()]
    for pairs, code in zip(sums, codes, strict=True):
        total, unit_exp = exact_sum([definition.product(*pair) for pair in pairs])
        yield _value(unit.output, code) == total * Fraction(2) ** unit_exp * neutral


def _value(fmt: Format, code: int) -> Fraction | None:
    """The number that a code stands for; None for NaN and infinity."""
    fields = unpack(fmt, code)
    if fields.cls in (Class.NAN, Class.INFINITY):
        return None
    bits = getattr(fmt, "fraction_bits", 0)
    return Fraction(-fields.sig if fields.sign else fields.sig) * Fraction(2) ** (fields.exp - bits)


def _neutral(unit: Unit) -> Fraction:
    """What the scales of product cases multiply every product by."""
    found = Fraction(1)
    for side in (unit.scale.a, unit.scale.b) if unit.scale else ():
        fields = unpack(side.format, one_code(side.format))
        found *= fields.sig * Fraction(2) ** (fields.exp - getattr(side.format, "fraction_bits", 0))
    return found


def _product_case(unit: Unit, number: int, pairs: Sequence[Pair]) -> Case:
    """The pairs in neighbouring lanes, which move on from case to case; the other lanes hold zeros."""
    count = unit.instruction.fill
    scales: tuple[tuple[int, ...], ...] = ((), ())
    if unit.scale is not None:
        sides = zip((unit.scale.a, unit.scale.b), block_lengths(unit), strict=True)
        scales = tuple((one_code(side.format),) * -(-count // length) for side, length in sides)
    a, b = [0] * count, [0] * count
    # Lanes of one group: of an instruction whose groups interleave, those of the first.
    lanes = unit.instruction.indices(number % (count // unit.instruction.lanes))
    for at, (x, y) in enumerate(pairs):
        lane = lanes[(number + at) % len(lanes)]
        a[lane], b[lane] = x, y
    return Case(f"product/{number:05}", tuple(a), tuple(b), 0, *scales)
