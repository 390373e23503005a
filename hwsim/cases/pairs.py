"""Every pair of codes, each through one lane."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice, product, repeat
from math import prod

from hwsim.cases.batch import batches, expected
from hwsim.cases.case import Case, block_lengths
from hwsim.formats import Class, Format, unpack
from hwsim.formats.blocks import one_code
from hwsim.formats.codes import all_codes
from hwsim.model.definition import Definition
from hwsim.model.rounding import exact_sum
from hwsim.spec import Unit

MOST_BITS = 8
Pair = tuple[int, int]


def pair_cases(unit: Unit, step: int = 1, held: Container[str] = ()) -> Iterator[Case]:
    """A case for every pair of codes of the factors, in a lane that moves on; the other lanes hold zeros.

    step: 2 leaves out every other one, and so on. held: `a` or `b` where that is the same in every case, whatever it
    is here: every code of up to 16 bits of the other stands beside it.
    Formats of more than 8 bits have too many pairs: of those every 2^(bits - 8)-th code.
    """
    lanes = unit.instruction.fill
    count = max(lanes, *block_lengths(unit)) if unit.scale is not None else lanes
    bits = MOST_BITS if "a" not in held and "b" not in held else 2 * MOST_BITS
    sides = (("a", unit.operands.a), ("b", unit.operands.b))
    a, b = ([0] if name in held else _codes(fmt, bits) for name, fmt in sides)
    for number, (x, y) in islice(enumerate(product(a, b)), 0, None, step):
        yield _case(unit, f"{x:#x}x{y:#x}", count, {number % lanes: (x, y)})


def _codes(fmt: Format, most: int = MOST_BITS) -> list[int]:
    step = 1 << max(0, fmt.bits - most)
    return list(all_codes(fmt)[::step])


def product_cases(unit: Unit, together: int = 4) -> list[Case]:
    """Every pair of codes, up to `together` to a case: products of one exponent, whose sum loses nothing.

    So a wrong bit of any product is a wrong result. NaN, infinity and what a sum of several would hide stand alone.
    Formats of more than 8 bits have too many pairs: of those every 2^(bits - 8)-th code.
    """
    definition, lanes = Definition(unit), unit.instruction.lanes
    a, b = (_codes(fmt) for fmt in (unit.operands.a, unit.operands.b))
    alone: list[tuple[Pair, ...]] = []
    alike: dict[tuple[int, bool], list[Pair]] = {}
    for pair in product(a, b):
        term = definition.product(*pair)
        if term.cls in (Class.NAN, Class.INFINITY):
            alone.append((pair,))
        else:
            alike.setdefault((term.exp if term.sig else 0, bool(term.sig)), []).append(pair)
    size = min(together, lanes)
    some = [tuple(pairs[at : at + size]) for _, pairs in sorted(alike.items()) for at in range(0, len(pairs), size)]
    sums: list[tuple[Pair, ...]] = []
    # A case of one product cannot be divided: its result need not be asked for.
    keeping = _keep(unit, definition, some) if size > 1 else repeat(True, len(some))
    for pairs, keeps in zip(some, keeping, strict=True):
        sums += [pairs] if keeps else [(pair,) for pair in pairs]
    return [_product_case(unit, number, pairs) for number, pairs in enumerate([*sums, *alone])]


def _keep(unit: Unit, definition: Definition, sums: Sequence[tuple[Pair, ...]]) -> Iterator[bool]:
    """Whether the result of some products alone is their exact sum, for each such sum."""
    # What the scales multiply every product by: 1, or what is next to it.
    neutral = prod(_value(fmt, one_code(fmt)) or 1 for fmt in _scale_formats(unit))
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
    return Fraction(-fields.sig if fields.sign else fields.sig) * Fraction(2) ** (fields.exp - fmt.fraction_bits)


def _product_case(unit: Unit, number: int, pairs: Sequence[Pair]) -> Case:
    """The pairs in neighbouring lanes, which move on from case to case."""
    instruction = unit.instruction
    # Lanes of one group: of an instruction whose groups interleave, those of the first.
    lanes = instruction.indices(number % (instruction.fill // instruction.lanes))
    placed = {lanes[(number + at) % len(lanes)]: pair for at, pair in enumerate(pairs)}
    return _case(unit, f"product/{number:05}", instruction.fill, placed)


def _case(unit: Unit, name: str, count: int, placed: Mapping[int, Pair]) -> Case:
    """Pairs at places among so many terms, all others of which are zeros, under scales of 1."""
    sides = zip(_scale_formats(unit), block_lengths(unit), strict=True) if unit.scale is not None else ()
    scales = ((one_code(fmt),) * -(-count // length) for fmt, length in sides)
    a, b = zip(*(placed.get(at, (0, 0)) for at in range(count)), strict=True)
    return Case(name, a, b, 0, *scales)


def _scale_formats(unit: Unit) -> list[Format]:
    """The formats of both sides' scales; none of an unscaled unit."""
    return [unit.scale.a.format, unit.scale.b.format] if unit.scale is not None else []
