"""The solver of directed cases, and what lays solved operands out as cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import product
from typing import NamedTuple

from hwsim.base.errors import InputError
from hwsim.cases.case import Case, block_lengths, window_of
from hwsim.cases.drawing import Stream
from hwsim.cases.palette import Palette, Product, exact_code, negate, numbers, zeros
from hwsim.formats import ExponentFormat, FloatFormat
from hwsim.model.definition import definition_of
from hwsim.model.record import Group
from hwsim.model.terms import Term, addend_term
from hwsim.spec import Unit
from hwsim.spec.keys import Factor

Pair = tuple[int, int]
SignPair = tuple[int, int]  # of a high and of a low term
MANY_DISTANCES = MANY_EXPONENTS = 96
EVERY_DISTANCE = 64  # up to that, each is solved for


class Filling(NamedTuple):
    """The content of one beat: factors for some lanes, and the scale codes of both sides' blocks.

    lane: where the first pair stands, or None for any lane. exact: whether the codes must stand as they are, beside
    idle lanes of +0; else both signs of a pair may change, and idle lanes may hold any zero term.
    """

    pairs: tuple[Pair, ...]
    lane: int | None = None
    scale_a: tuple[int, ...] = ()
    scale_b: tuple[int, ...] = ()
    exact: bool = False


class Addend(NamedTuple):
    """An addend as a term: the code `c` that brings it, or the beats that leave it behind as the partial sum."""

    term: Term
    c: int = 0
    before: tuple[Filling, ...] = ()


class Solution(NamedTuple):
    """Terms with a sum that was asked for. shift: what the scales add to the products' exponents."""

    products: tuple[Product, ...]
    addend: Addend | None = None
    shift: int = 0


Solutions = Iterator[Solution | None]


class Solver:
    """Solves for operands of one unit.

    palette: its products; their exponents include the neutral scales', so that they compare with an addend's.
    rng: for choices between solutions that are as good.
    Raises NotImplementedYet for a unit without bins.
    """

    def __init__(self, unit: Unit, seed: int):
        self.unit, self.seed, self.rule = unit, seed, window_of(unit)
        self.definition = definition_of(unit)
        self.result = self.definition.result
        self.lanes = unit.instruction.lanes
        self.window = self.rule.fraction_bits
        low, high = self.scale_ends
        self.neutral = min(max(0, low), high)
        self.palette = Palette(unit.operands.a, unit.operands.b, self.neutral)
        self.rng = Stream(seed)
        self.result_exps = (self.result.emin, self.result.emax)
        self._addends: dict[tuple[int, int, int], Addend | None] = {}

    @cached_property
    def beats(self) -> int:
        """Beats that one sum may have: a unit that does not chain takes one instruction."""
        instruction = self.unit.instruction
        return instruction.k // instruction.lanes if instruction.chain is None else 1 << 20

    @property
    def addend_format(self) -> FloatFormat | None:
        """The format of an addend that enters the window: not that of a promotion register."""
        fmt = self.unit.operands.addend
        return fmt if isinstance(fmt, FloatFormat) and self.unit.promotion is None else None

    @cached_property
    def partials(self) -> bool:
        """True if a beat's result can be the next one's addend."""
        return self.beats > 1 and self.unit.promotion_beats != 1

    @cached_property
    def addend_bits(self) -> int:
        """Significant bits that an addend can have; 0 where there is none."""
        fmt = self.addend_format or (self.result if self.partials else None)
        return fmt.fraction_bits + 1 if fmt else 0

    @cached_property
    def distances(self) -> list[int]:
        """Alignment distances between two products; of very many, all that the window tells apart, and a few."""
        exps = self.palette.exps
        every = sorted({high - low for high in exps for low in exps if high >= low})
        most = max(self.window + self.palette.fraction_bits + 6, EVERY_DISTANCE)
        if len(every) <= MANY_DISTANCES:
            return every
        return [d for d in every if d <= most or d % 32 == 0 or d >= every[-1] - 1]

    @cached_property
    def inside(self) -> list[int]:
        """Exponents of products that stay well inside the result's range, ascending; all where there is none."""
        least, most = self.result_exps
        exps = [exp for exp in self.palette.exps if least + 2 <= exp <= most - 3]
        return exps or self.palette.exps

    @cached_property
    def tries(self) -> list[int]:
        """Exponents to try products of: those inside the result's range, from the largest down, and then the others.

        All; of very many, some of each end and of the middle.
        """
        exponents = []
        for exps in (self.inside, sorted(set(self.palette.exps) - set(self.inside))):
            many, n = len(self.palette.exps) > MANY_EXPONENTS, len(exps)
            exponents += [exp for i, exp in enumerate(reversed(exps)) if not many or i % 16 == 0 or i < 6 or n - i < 6]
        return exponents

    @cached_property
    def growths(self) -> int:
        """The most places that a sum's leading one can stand above max_exp."""
        largest = max(
            products[-1].sig for exp in self.palette.exps for products in [self.palette.of(0, exp)] if products
        )
        most = self.lanes * largest + (2 << self.palette.fraction_bits)
        return most.bit_length() - 1 - self.palette.fraction_bits

    # Scales.

    @cached_property
    def scale_ends(self) -> tuple[int, int]:
        """The least and the greatest exponent that scales can add."""
        if self.unit.scale is None:
            return 0, 0
        (low_a, high_a), (low_b, high_b) = self._scale_sides
        return low_a + low_b, high_a + high_b

    @cached_property
    def _scale_sides(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The least and the greatest exponent of each side's scales."""
        a, b = self.scale_formats
        return (a.min_code - a.bias, a.max_code - a.bias), (b.min_code - b.bias, b.max_code - b.bias)

    @property
    def scale_formats(self) -> tuple[ExponentFormat, ExponentFormat]:
        """The formats of both shared scales."""
        scale = self.unit.scale
        match (scale.a.format, scale.b.format) if scale else None:
            case ExponentFormat() as a, ExponentFormat() as b:
                return a, b
        raise InputError(f"{self.unit.name} has no scales that are powers of two")

    @cached_property
    def blocks(self) -> tuple[int, int]:
        """Scales of each side in one beat."""
        if self.unit.scale is None:
            return 0, 0
        a, b = block_lengths(self.unit)
        return max(1, self.lanes // a), max(1, self.lanes // b)

    @cached_property
    def spanning(self) -> bool:
        """True if a block spans beats, which then share its scale."""
        return self.unit.scale is not None and max(block_lengths(self.unit)) > self.lanes

    def can_shift(self, shift: int) -> bool:
        """True if scales can add `shift` to the exponents that the palette has."""
        return self.scale_ends[0] <= self.neutral + shift <= self.scale_ends[1]

    def scale_codes(self, shift: int) -> Pair:
        """One code for each side that together shift the palette's exponents by `shift`."""
        a, b = self.scale_formats
        (low_a, high_a), (low_b, high_b) = self._scale_sides
        total = self.neutral + shift
        least, most = max(low_a, total - high_b), min(high_a, total - low_b)
        exp = min(max(total // 2, least), most)
        if not self.spanning and self.rng.random() < 0.5:
            exp = min(max(exp + self.rng.randint(-9, 9), least), most)
        return exp + a.bias, total - exp + b.bias

    def filling(
        self, pairs: Iterable[Product | Pair], lane: int | None = None, shift: int = 0, exact: bool = False
    ) -> Filling:
        """A beat of these products. shift: what its scales add to the palette's exponents."""
        codes = tuple((item.a, item.b) if isinstance(item, Product) else item for item in pairs)
        if self.unit.scale is None:
            return Filling(codes, lane, exact=exact)
        x, y = self.scale_codes(shift)
        return Filling(codes, lane, (x,) * self.blocks[0], (y,) * self.blocks[1], exact)

    # Terms.

    def pair(
        self, distance: int, signs: tuple[int, int], lost: bool | None = None, field: int | None = None
    ) -> tuple[Product, Product] | None:
        """Two products so far apart; the second, lower one as asked.

        signs: of the high and of the low one. lost: whether it has bits below the window, or None for either.
        field: what those bits are, as a number.
        """
        for exp in self.shuffled(signs[0]):
            below = self.lost_bits(distance)
            low = [
                product
                for product in self.palette.of(signs[1], exp - distance)
                if (lost is None or lost == bool(product.sig & below))
                and (field is None or product.sig & below == field)
            ]
            if low:
                return self.rng.choice(self.palette.of(signs[0], exp)), self.rng.choice(low)
        return None

    def shuffled(self, sign: int) -> list[int]:
        """The exponents to try, those inside the result's range first, each part in an order of its own."""
        exps = [exp for exp in self.rng.sample(self.tries, len(self.tries)) if self.palette.of(sign, exp)]
        return sorted(exps, key=lambda exp: not self.inside[0] <= exp <= self.inside[-1])

    def lost_bits(self, distance: int, fraction_bits: int | None = None) -> int:
        """A mask of a significand's bits that are below the window at a distance; of a product's unless said."""
        bits = self.palette.fraction_bits if fraction_bits is None else fraction_bits
        return (1 << max(0, distance + bits - self.window)) - 1

    def lost_place(self, distance: int) -> int:
        """The number of a product's places below the window at a distance."""
        return max(0, distance + self.palette.fraction_bits - self.window)

    def sign_of(self, sign: int) -> Iterator[Product]:
        """The products of a sign, from the largest exponent that is tried down."""
        for exp in self.tries:
            yield from self.palette.of(sign, exp)

    def large(self, exp: int, sign: int = 0) -> Product | None:
        """A product of an exponent that has an opposite."""
        products = self.palette.of(sign, exp)
        first = self.rng.randrange(len(products)) if products else 0
        turned = (*products[first:], *products[:first])
        return next((product for product in turned if self.palette.opposite(product)), None)

    def cancelling(self, exp: int, sign: int = 0) -> tuple[Product, Product] | None:
        """A product of an exponent, and its opposite."""
        high = self.large(exp, sign)
        low = high and self.palette.opposite(high)
        return (high, low) if high and low else None

    def cancelling_pairs(self) -> Iterator[tuple[int, tuple[Product, Product]]]:
        """A product and its opposite for every exponent that is tried and has one."""
        return ((exp, pair) for exp in self.tries if (pair := self.cancelling(exp)))

    def by_exponent(self, sign: int) -> Iterator[tuple[int, tuple[Product, ...]]]:
        """The products of a sign, by the exponents that are tried."""
        return ((exp, products) for exp in self.tries if (products := self.palette.of(sign, exp)))

    # Addends.

    def with_addend(self, products: Sequence[Product], sign: int, sig: int, unit_exp: int) -> Solution | None:
        """Products beside the addend (-1)^sign * sig * 2^unit_exp; None where there is no such addend."""
        addend = self.addend(sign, sig, unit_exp)
        return None if addend is None else Solution(tuple(products), addend)

    def addend(self, sign: int, sig: int, unit_exp: int) -> Addend | None:
        """The addend (-1)^sign * sig * 2^unit_exp, or None where the unit cannot be given it, or sig is not above 0."""
        if sig <= 0:
            return None
        zeros = (sig & -sig).bit_length() - 1
        key = (sign, sig >> zeros, unit_exp + zeros)
        if key not in self._addends:
            self._addends[key] = self._addend(*key)
        return self._addends[key]

    def _addend(self, sign: int, sig: int, unit_exp: int) -> Addend | None:
        fmt = self.addend_format
        if fmt is not None:
            code = exact_code(fmt, sign, sig, unit_exp)
            if code is not None:
                return Addend(addend_term(fmt, code), code)
        if not self.partials:
            return None
        code = exact_code(self.result, sign, sig, unit_exp)
        filling = None if code is None else self._leaving(code, -sig if sign else sig, unit_exp)
        return None if filling is None or code is None else Addend(self.definition.partial(code), 0, (filling,))

    def _leaving(self, code: int, value: int, unit_exp: int) -> Filling | None:
        """A beat whose result is `code`, which is value * 2^unit_exp."""
        leading = abs(value).bit_length() - 1 + unit_exp
        for top in (leading, leading - 1, leading - 2, leading + 1):
            shift = unit_exp - (top - self.window)
            total = value << shift if shift >= 0 else value >> -shift
            if shift < 0 and total << -shift != value:
                continue
            for solution in self.alone(total, top):
                if self.measure(solution).code == code:
                    return self.filling(solution.products, shift=solution.shift)
        return None

    # Sums.

    def measure(self, solution: Solution) -> Group:
        """The group that terms make."""
        a = [product.a for product in solution.products]
        b = [product.b for product in solution.products]
        addend = solution.addend.term if solution.addend else self.definition.addend(0)
        scales: Sequence[Sequence[int]] = ((), ())
        if self.unit.scale is not None:
            scales = [[code] * len(a) for code in self.scale_codes(solution.shift)]
        return self.definition.group(a, b, addend, *scales)

    def tops(self, growth: int) -> list[int]:
        """Exponents of products, in an order to try them as max_exp: those whose sum is a normal result."""
        exps = self.palette.exps
        middle = exps[0] + 3 * (exps[-1] - exps[0]) // 4
        least, most = self.result_exps
        usable = [exp for exp in exps if least <= exp + growth < most]
        # Scales bring any product to any exponent, so that a scaled unit needs few.
        return sorted(usable, key=lambda exp: (abs(exp - middle), exp))[: 2 if self.unit.scale else 8]

    def total(self, total: int, tops: Iterable[int], addend: bool = False) -> Solution | None:
        """Terms whose window sum is `total`, and whose max_exp is one of `tops`.

        addend: whether an addend should be one of them, as far as can be.
        """
        for top in tops:
            solution = self._with_addend(total, top) if addend else next(self.alone(total, top), None)
            if solution is not None and self._is(solution, total, top):
                return solution
        return None

    def solved(self, total: int, unit_exp: int) -> Solution | None:
        """Terms whose sum is total * 2^unit_exp, by products alone or with an addend; None where none are met."""
        size = abs(total)
        zeros = (size & -size).bit_length() - 1
        unit, low = unit_exp + zeros, unit_exp + size.bit_length() - 1
        tops = range(low - self.growths, low + self.palette.fraction_bits + 1)
        for top in sorted(tops, key=lambda top: abs(top - low)):
            shift = unit - (top - self.window)
            scaled = size >> zeros << shift if shift >= 0 else 0
            solution = self.either(-scaled if total < 0 else scaled, [top]) if scaled else None
            if solution and solution.products:
                return solution
        return None

    def either(self, total: int, tops: Sequence[int]) -> Solution | None:
        """`total` by products alone, or else with an addend."""
        return self.total(total, tops) or self.total(total, tops, addend=True)

    def _is(self, solution: Solution, total: int, top: int) -> bool:
        group = self.measure(solution)
        return (group.total, group.max_exp) == (total, top)

    def alone(self, total: int, top: int) -> Iterator[Solution]:
        """Products alone; of a scaled unit of several exponents, which the scales bring to `top`."""
        for exp in self._sources(top):
            shift = top - exp
            if self.can_shift(shift):
                products = self.palette.decompose(total, exp, exp - self.window, self.lanes)
                if products is not None:
                    yield Solution(products, None, shift)

    def _sources(self, top: int) -> list[int]:
        """Exponents of the palette that can be brought to `top`."""
        exps = self.palette.exps
        if self.unit.scale is None:
            return [top]
        middle = exps[0] + 3 * (exps[-1] - exps[0]) // 4
        # Beats of one block cannot have scales of their own, so that they should need none.
        return sorted(exps, key=lambda exp: (self.spanning and exp != top, abs(exp - middle)))[:4]

    def _with_addend(self, total: int, top: int) -> Solution | None:
        """An addend that carries the low bits, and products for the others."""
        sign, size = int(total < 0), abs(total)
        for bits in range(min(self.window + 1, self.addend_bits), 0, -1):
            low = size & ((1 << bits) - 1)
            addend = self.addend(sign, low, top - self.window) if low else None
            if addend is None or addend.term.exp > top:
                continue
            high = size - low
            if not high:
                return Solution((), addend) if addend.term.exp == top else None
            for solution in self.alone(-high if sign else high, top):
                return solution._replace(addend=addend)
        return None


SIGNS = (0, 1)
SIGN_PAIRS = tuple(product(SIGNS, SIGNS))
SIGN = ("pos", "neg")


def signs_of(high: int, low: int) -> str:
    """The signs of a large and of a small term, in words."""
    return f"{'neg-' if high else ''}{'sub' if high != low else 'add'}"


class CaseBuilder(Solver):
    """A solver that collects cases."""

    def __init__(self, unit: Unit, seed: int):
        super().__init__(unit, seed)
        a, b = self.factors = (unit.operands.a, unit.operands.b)
        self.cases: list[Case] = []
        self._ids: set[str] = set()
        self._zeros = [(x, y) for x in zeros(a) for y in zeros(b)]
        self._idle = [
            *self._zeros,
            *((x, y) for x in zeros(a) for y in _both(b)),
            *((x, y) for x in _both(a) for y in zeros(b)),
        ]

    def start(self, *solver: str) -> None:
        """Begin the cases of a solver of these names, with random choices of its own."""
        self.rng = Stream(self.seed, self.unit.name, *solver)

    def ends(self, sign: int = 0) -> tuple[Product, Product]:
        """The smallest and the largest product of a sign, by exponent, inside the result's range."""
        exps = [exp for exp in self.inside if self.palette.of(sign, exp)]
        return self.palette.of(sign, exps[0])[0], self.palette.of(sign, exps[-1])[-1]

    def add_beat(
        self,
        name: str,
        products: Iterable[Product | Pair],
        addend: Addend | None = None,
        lane: int | None = None,
        shift: int = 0,
    ) -> bool:
        """A case whose last beat sums these products and the addend. False where the unit cannot take it."""
        filling = self.filling(products, lane, shift)
        return self.add(name, (*addend.before, filling) if addend else (filling,), addend.c if addend else 0)

    def add_solution(self, name: str, solution: Solution | None) -> bool:
        """A case of a solution; False for None."""
        return self.add_first(name, (solution,))

    def add_first(self, name: str, solutions: Iterable[Solution | None], lane: int | None = None) -> bool:
        """A case of the first solution that the unit can take; False for none. lane: of its first product."""
        return any(
            solution is not None and self.add_beat(name, solution.products, solution.addend, lane, solution.shift)
            for solution in solutions
        )

    def add(self, name: str, fillings: Sequence[Filling], c: int = 0) -> bool:
        """A case of these beats. False where the unit cannot take it.

        Raises ValueError for a name that there is already.
        """
        if len(fillings) > self.beats or any(len(filling.pairs) > self.lanes for filling in fillings):
            return False
        scale_a = self._scales(0, [filling.scale_a for filling in fillings])
        scale_b = self._scales(1, [filling.scale_b for filling in fillings])
        if scale_a is None or scale_b is None:
            return False
        if name in self._ids:
            raise InputError(f"two cases are named {name}")
        self._ids.add(name)
        pairs = [pair for filling in fillings for pair in self._lay(filling)]
        a, b = zip(*pairs, strict=True)
        self.cases.append(Case(name, a, b, c, scale_a, scale_b))
        return True

    def _scales(self, side: int, beats: list[tuple[int, ...]]) -> tuple[int, ...] | None:
        """The scales of one side along K; None where beats of one block differ."""
        if self.unit.scale is None:
            return ()
        span = max(1, block_lengths(self.unit)[side] // self.lanes)
        blocks = [beats[first : first + span] for first in range(0, len(beats), span)]
        if any(codes != block[0] for block in blocks for codes in block):
            return None
        return tuple(code for block in blocks for code in block[0])

    def _lay(self, filling: Filling) -> list[Pair]:
        """A pair for each lane. The idle lanes hold zeros; in some beats zeros times something."""
        noisy = not filling.exact and self.rng.random() < 0.25
        row = [self.rng.choice(self._idle) if noisy else self._zeros[0] for _ in range(self.lanes)]
        first = self.rng.randrange(self.lanes) if filling.lane is None else filling.lane
        for index, pair in enumerate(filling.pairs):
            row[(first + index) % self.lanes] = pair if filling.exact else self._flip(pair)
        return row

    def _flip(self, pair: Pair) -> Pair:
        """The same product, in half of all cases with both factors' signs changed."""
        if self.rng.random() < 0.5:
            return pair
        a, b = (negate(fmt, code) for fmt, code in zip(self.factors, pair, strict=True))
        return pair if a is None or b is None else (a, b)


def _both(fmt: Factor) -> list[int]:
    """Numbers of a format by which a zero is multiplied, in both signs where there are."""
    codes = list(numbers(fmt).values())
    return codes + [code for code in (negate(fmt, code) for code in codes) if code is not None]
