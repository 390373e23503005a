"""Cases of windows without solvers of their own: sums at a rounding's edges, and terms whose places show.

Operands follow from the number that a sum is to be. A window may make something else of it: each case is computed, and
one that does not do what it is for is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from itertools import product as cross
from typing import NamedTuple

from hwsim.cases.bins.adder_rows import (
    ExactNumber,
    Laid,
    factor_codes,
    number_code,
    power_range,
    powers_for,
    product_codes,
)
from hwsim.cases.bins.adders import TIES, product_reach
from hwsim.cases.bins.fewterms import WORD_BITS, code_of_one
from hwsim.cases.bins.outcomes import RoundingPlace, rounded, roundings
from hwsim.cases.case import Case, Rows, block_lengths, dot
from hwsim.cases.palette import Product, negate, palette_of
from hwsim.formats import ExponentFormat, FloatFormat
from hwsim.formats.blocks import one_code
from hwsim.model.definition import Definition, definition_of
from hwsim.model.hooks import Hooks, LastPlace
from hwsim.model.terms import Term
from hwsim.spec import AlignedSum, EvenOddSum, LateInWindow, Unit, WindowSum
from hwsim.spec.keys import Number, Rounding
from hwsim.spec.sums import WindowSubgroup

ALL_PLACES, MOST_PLACES = 3, 18  # below a last place: of which all bits are taken; of which one bit alone
STAGES = (4, 8, 16, 32, 64, 128)  # of a shifter
MOST_DISTANCES = 96
MOST_PRODUCTS, FEWEST_TRIES = 256, 16  # of the cases that are tried for one, together; but so many cases
PATIENCE = (2, 6)  # places, and distances, in a row without a case, after which no more are asked for


def edge_rows(rows: Rows) -> None:
    """Cases of a unit with a window that no solvers are for."""
    place = roundings(rows.unit)["result"]
    if isinstance(place.format, FloatFormat):
        _sums(rows, place, place.format)
    _shifts(rows)


def _windows(unit: Unit) -> list[int]:
    """The fraction bits of all windows that a term passes."""
    rule, bits = unit.sum, list[int]()
    if isinstance(rule, WindowSum):
        bits.append(rule.fraction_bits)
    if isinstance(rule, EvenOddSum):
        bits.append(rule.combine.fraction_bits)
    if isinstance(rule, AlignedSum) and isinstance(rule.subgroup, WindowSubgroup):
        bits.append(rule.subgroup.fraction_bits)
    if isinstance(unit.late, LateInWindow):
        bits += [unit.late.sum_bits, unit.late.addend_bits]
    return list(dict.fromkeys(bits))


# Sums at the edges of a rounding.


class Edge(NamedTuple):
    """Where a number stands between two of a format, which is tiny below the least normal one.

    places: below the last one that is kept, to the number's last bit. low: the bits there. odd: the bit above them.
    """

    sign: int
    tiny: bool
    places: int
    low: int
    odd: int


def edge_of(fmt: FloatFormat, term: Term) -> Edge | None:
    """The edge that a number other than zero stands at; None of a number of the format."""
    zeros = (term.sig & -term.sig).bit_length() - 1
    sig, exp = term.sig >> zeros, term.exp - term.fraction_bits + zeros
    leading = sig.bit_length() - 1 + exp
    places = max(leading - fmt.fraction_bits, fmt.quantum_exp) - exp
    if places <= 0:
        return None
    return Edge(term.sign, leading < fmt.emin, places, sig & (1 << places) - 1, sig >> places & 1)


def _edges(rounding: RoundingPlace, places: int, tiny: bool) -> Iterator[Edge]:
    """The edges that are asked for: near the last place all bits; farther down those that one bit alone decides."""
    half = 1 << places - 1
    every = range(1, 2 * half, 2) if places <= ALL_PLACES else (half | 1 if rounding.rounding in TIES else 1,)
    for low, sign, odd in cross(every, (0, 1), (0, 1)):
        if tiny or places <= ALL_PLACES or odd == places & 1:
            yield Edge(sign, tiny, places, low, odd)


def _sums(rows: Rows, place: RoundingPlace, fmt: FloatFormat) -> None:
    widest = max(_windows(rows.unit)) + 3
    for tiny, word in ((True, "tiny"), (False, "normal")):
        missed = 0
        for places in range(1, min(MOST_PLACES, widest - (0 if tiny else fmt.fraction_bits)) + 1):
            found = [_sum(rows, f"edge/{word}", place, fmt, edge) for edge in _edges(place, places, tiny)]
            missed = 0 if any(found) else missed + 1
            if missed == PATIENCE[0]:
                break


def _sum(rows: Rows, word: str, place: RoundingPlace, fmt: FloatFormat, edge: Edge) -> bool:
    """Add a case of the first operands whose sum is at an edge and whose result shows it; True if there are such."""
    unit = rows.unit
    ways = [Definition(unit, hooks=Hooks(last_place=partial(_rounded, way))) for way in ("rd", "ru")]
    every = _both_ends(unit, (laid for number in _at(unit, fmt, edge) for laid in _laid(rows, number)))
    for operands in islice(every, max(FEWEST_TRIES, MOST_PRODUCTS // unit.instruction.fill)):
        case = _tried(unit, operands)
        if case is not None and edge in _reached(unit, place.name, fmt, case):
            low, high = (dot(definition, case).code for definition in ways)
            if low != high:
                return rows.add(f"{word}-{edge.places:02}-{edge.low}-{edge.odd}-{edge.sign}", *operands)
    return False


def _rounded(rule: Rounding, place: LastPlace) -> LastPlace:
    return place._replace(rule=rule)


def _both_ends(unit: Unit, every: Iterable[Laid]) -> Iterator[Laid]:
    """Each of the operands in the first beat, and, where zeros follow, which may hide them, in the last one too."""
    groups = unit.instruction.groups
    for operands in every:
        yield operands
        if groups > len(operands.beats):
            yield operands._replace(beats=[*[[]] * (groups - len(operands.beats)), *operands.beats])


def _tried(unit: Unit, operands: Laid) -> Case | None:
    rows = Rows(unit)
    return rows.cases["tried"] if rows.add("tried", *operands) else None


def _reached(unit: Unit, place: str, fmt: FloatFormat, case: Case) -> list[Edge]:
    every = (
        edge_of(fmt, terms[0])
        for name, terms, _, _ in rounded(dot(definition_of(unit), case))
        if name == place and terms[0].is_number
    )
    return [edge for edge in every if edge is not None]


def _at(unit: Unit, fmt: FloatFormat, edge: Edge) -> Iterator[ExactNumber]:
    """Numbers at an edge, those of few bits first."""
    reach, hidden = product_reach(unit), 1 << fmt.fraction_bits
    if edge.tiny:
        for kept in dict.fromkeys((edge.odd, 2 | edge.odd, hidden - 2 + edge.odd)):
            if 0 <= kept < hidden:
                yield ExactNumber(edge.sign, kept << edge.places | edge.low, fmt.quantum_exp - edge.places)
        return
    for kept in dict.fromkeys((hidden | edge.odd, 2 * hidden - 2 + edge.odd)):
        sig = kept << edge.places | edge.low
        low, top = max(fmt.emin, reach.low + sig.bit_length() - 1), min(fmt.emax, reach.top)
        for leading in dict.fromkeys(min(each, top) for each in (max(0, low), *range(low + 1, low + 5))):
            if kept & 1 == edge.odd and kept >= hidden:
                yield ExactNumber(edge.sign, sig, leading - sig.bit_length() + 1)


def _laid(rows: Rows, number: ExactNumber) -> Iterator[Laid]:
    """Operands whose sum is a number: one product or two, or one beside the addend; or scales alone."""
    unit, c = rows.unit, rows.unit.operands.addend
    yield from _scales_alone(unit, number)
    taken, scales = powers_for(unit, number.leading) or (0, None)
    for first, second in _parts(number._replace(exp=number.exp - taken)):
        pairs = [product_codes(unit, part) for part in (first, second) if part is not None]
        if rows.lanes >= len(pairs) and None not in pairs:
            yield Laid([[pair for pair in pairs if pair is not None]], 0, number.sign, scales)
    if c is None:
        return
    for first, second in _parts(number):
        for product, addend in ((first, second), (second, first)):
            yield from _beside_addend(unit, c, product, addend)


def _beside_addend(unit: Unit, c: Number, product: ExactNumber | None, addend: ExactNumber | None) -> Iterator[Laid]:
    code = None if addend is None else number_code(c, addend.sign, addend.sig, addend.exp)
    if code is None:
        return
    if product is None:
        yield Laid([[(0, 0)]], code)
        return
    taken, scales = powers_for(unit, product.leading) or (0, None)
    pair = product_codes(unit, product._replace(exp=product.exp - taken))
    if pair is not None:
        yield Laid([[pair]], code, 0, scales)


def _parts(number: ExactNumber) -> Iterator[tuple[ExactNumber, ExactNumber | None]]:
    """A number alone, and as the sum of a number and a power of two, which may cancel most of it."""
    yield _odd(number.sig, number.exp, number.sign), None
    top = number.sig.bit_length()
    powers = (number.sig & -number.sig, 1 << top - 1, -1 << top, -1 << top + 1, -1 << top - 1, -1 << top + 2)
    for power in dict.fromkeys(powers):
        if number.sig != power:
            yield _odd(number.sig - power, number.exp, number.sign), _odd(power, number.exp, number.sign)


def _odd(size: int, exp: int, sign: int) -> ExactNumber:
    """size * 2^exp with its sign, or the other one, as an odd number times a power of two."""
    zeros = (size & -size).bit_length() - 1
    return ExactNumber(sign ^ (size < 0), abs(size) >> zeros, exp + zeros)


def _scales_alone(unit: Unit, number: ExactNumber) -> Iterator[Laid]:
    """Ones whose scales are floats that multiply to a number."""
    scale = unit.scale
    if scale is None or not isinstance(scale.a.format, FloatFormat) or not isinstance(scale.b.format, FloatFormat):
        return
    codes = factor_codes(scale.a.format, scale.b.format, _odd(number.sig, number.exp, 0))
    one = code_of_one(unit.operands.a)
    x = negate(unit.operands.a, one) if number.sign else one
    if codes is not None and x is not None:
        yield Laid([[(x, code_of_one(unit.operands.b))]], 0, 0, ((codes[0],), (codes[1],)))


# Terms whose places show.


def _shifts(rows: Rows) -> None:
    """For each distance a term that shows if it stands a place higher; for each stage of a shifter, if that is off."""
    unit = rows.unit
    if max(unit.operands.a.container_bits, unit.operands.b.container_bits) > WORD_BITS:
        return
    terms = _Terms(rows)
    last = max(_windows(unit)) + terms.known.fraction_bits + 3
    missed = 0
    for distance in range(1, last + 1, -(-last // MOST_DISTANCES)):
        found = _first(rows, f"shift/{distance:03}", partial(min, distance - 1), terms.at(distance))
        missed = 0 if found else missed + 1
        if missed == PATIENCE[1]:
            break
    for stage in STAGES:
        without = partial(_without, stage)
        for distance in (stage, stage + 1, stage + 3):
            _first(rows, f"shift/without-{stage:03}-{distance - stage}", without, terms.at(distance))


def _without(stage: int, distance: int) -> int:
    return distance & ~stage


def _first(rows: Rows, name: str, distance: Callable[[int], int], every: Iterable[Laid]) -> bool:
    """Add a case of the first operands of which other distances make another result; True if there are such."""
    unit = rows.unit
    flawed = Definition(unit, hooks=Hooks(distance=distance))
    for operands in islice(_both_ends(unit, every), max(FEWEST_TRIES, MOST_PRODUCTS // unit.instruction.fill)):
        case = _tried(unit, operands)
        if case is not None and dot(flawed, case).code != dot(definition_of(unit), case).code:
            return rows.add(name, *operands)
    return False


class _Terms:
    """Terms of a unit so far apart."""

    def __init__(self, rows: Rows):
        self.unit, self.lanes = rows.unit, rows.lanes
        self.known = palette_of(rows.unit.operands.a, rows.unit.operands.b)
        limit = rows.unit.sum.product_limit
        self.exps = [exp for exp in self.known.exps if limit is None or exp < limit - 1] or self.known.exps
        self.several = rows.most is None or rows.most > 1

    def at(self, distance: int) -> Iterator[Laid]:
        """Operands of which a term stands so far below the largest exponent; those that surely show first."""
        tops = [exp for exp in self.exps if exp - distance in self.exps]
        # About 1, of exponents of either sign; and as low as can be, where results may be tiny.
        for top in dict.fromkeys((*_nearest(tops, distance // 2), *tops[:1])):
            for high, low in cross(self._large(top), self._small(top - distance)):
                yield from self._two(high, low, distance)
        yield from self._under_scales(distance)
        yield from self._with_addend(distance)
        yield from self._after_a_beat(distance)

    def _large(self, exp: int) -> list[Product]:
        """Large products: a power, all ones, and those that a window, or the result, cuts at a tie."""
        of, fmt = self.known.of(0, exp), self.unit.result.format
        kept = {
            *_windows(self.unit),
            *((fmt.fraction_bits, fmt.fraction_bits - 1) if isinstance(fmt, FloatFormat) else ()),
        }
        halves = [1 << self.known.fraction_bits - bits - 1 for bits in kept if bits < self.known.fraction_bits]
        ties = [[product for product in of if product.sig % (2 * half) == half] for half in halves]
        return list(dict.fromkeys([*of[-1:], *of[:1], *(some for each in ties for some in (*each[-1:], *each[:1]))]))

    def _small(self, exp: int) -> list[Product]:
        """Small products of either sign, of long significands."""
        every = (self.known.of(sign, exp) for sign in (1, 0))
        return [product for of in every for product in ([each for each in of if each.sig & 1] or list(of))[-1:]]

    def _two(self, high: Product, low: Product, distance: int) -> Iterator[Laid]:
        """Two products alone; and with what cancels the larger one: another lane, the addend, or the beat before."""
        large, small, opposite = (high.a, high.b), (low.a, low.b), self.known.opposite(high)
        for step in (1, 2):
            if opposite is not None and 2 * step < self.lanes:
                row = [(0, 0)] * (2 * step + 1)
                row[0], row[step], row[2 * step] = large, (opposite.a, opposite.b), small
                yield Laid([row], 0, distance)
            if step < self.lanes:
                zeros = [(0, 0)] * (step - 1)
                c = self._c(1, high.sig, high.exp - self.known.fraction_bits)
                if c is not None:
                    yield Laid([[large, *zeros, small]], c, distance)
                if self.several and opposite is not None:
                    yield Laid([[(opposite.a, opposite.b)], [large, *zeros, small]], 0, 0)
                yield Laid([[large, *zeros, small]], 0, distance)

    def _under_scales(self, distance: int) -> Iterator[Laid]:
        """Ones in two blocks of a group, whose scales are so far apart."""
        unit, scale = self.unit, self.unit.scale
        if scale is None or scale.at == "promotion":
            return
        one, other = code_of_one(unit.operands.a), code_of_one(unit.operands.b)
        minus = negate(unit.operands.a, one)
        for side, length, fmt in zip((0, 1), block_lengths(unit), (scale.a.format, scale.b.format), strict=True):
            sigs = (1,) if isinstance(fmt, ExponentFormat) else ((1 << fmt.sig_bits) - 1, 1)
            low, high = power_range(fmt)
            for x, top in cross((minus, one), (distance // 2, high) if length < self.lanes and low < high else ()):
                for sig in sigs if x is not None else ():
                    small = number_code(fmt, 0, sig, top - distance - sig.bit_length() + 1)
                    large = number_code(fmt, 0, 1, top)
                    if small is not None and large is not None and x is not None:
                        codes: list[tuple[int, ...]] = [(one_code(scale.a.format),), (one_code(scale.b.format),)]
                        codes[side] = large, small
                        row = [(one, other), *[(0, 0)] * (length - 1), (x, other)]
                        yield Laid([row], 0, 0, (codes[0], codes[1]))

    def _c(self, sign: int, sig: int, exp: int) -> int | None:
        fmt = self.unit.operands.addend
        return None if fmt is None else number_code(fmt, sign, sig, exp)

    def _with_addend(self, distance: int) -> Iterator[Laid]:
        """A product and the addend, either of which is the larger one."""
        exps, bits = self.exps, self.known.fraction_bits
        for exp in dict.fromkeys((*_nearest(exps, -(distance + 1) // 2), *_nearest(exps, distance // 2), exps[0])):
            for product in self._small(exp):
                leading = exp if isinstance(self.unit.operands.a, FloatFormat) else product.sig.bit_length() - 1 - bits
                for far, sig in cross((distance, -distance), (1, 3, 5, 7)):
                    for sign in (0, 1):
                        c = self._c(sign, sig, leading + far - sig.bit_length() + 1)
                        if c is not None:
                            yield Laid([[(product.a, product.b)]], c, distance)

    def _after_a_beat(self, distance: int) -> Iterator[Laid]:
        """A sum so far, and a product of the other sign, or of the same, in the beat after it."""
        if not self.several:
            return
        exps, bits = self.exps, self.known.fraction_bits
        for exp, sig in cross(dict.fromkeys((*_nearest(exps, -(distance + 1) // 2), exps[0], exps[-1])), (1, 3)):
            first = product_codes(self.unit, ExactNumber(0, sig, exp + distance - sig.bit_length() + 1))
            for sign in (1, 0) if first is not None else ():
                of = self.known.of(sign, exp)
                size = 1 << max(0, distance + bits - 1)  # half of the sum so far
                for low in dict.fromkeys([*[each for each in of if each.sig <= size][-1:], *of[-1:], *of[:1]]):
                    if first is not None:
                        yield Laid([[first], [(low.a, low.b)]], 0, 0)


def _nearest(exps: Sequence[int], exp: int) -> list[int]:
    """The exponent nearest to one; none of none."""
    return [min(exps, key=lambda each: abs(each - exp))] if exps else []
