"""The bench that directed cases are made on: it lays solved operands out as cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from hwsim.cases.case import Case, block_lengths
from hwsim.cases.drawing import Stream
from hwsim.cases.landmarks import negate, numbers, zeros
from hwsim.cases.palette import Product
from hwsim.cases.solver import Addend, Filling, Pair, Solution, Solver
from hwsim.errors import InputError
from hwsim.spec import Unit
from hwsim.spec.keys import Number

SIGNS = (0, 1)
SIGN_PAIRS = tuple(product(SIGNS, SIGNS))
SIGN = ("pos", "neg")


def signs_of(high: int, low: int) -> str:
    """The signs of a large and of a small term, in words."""
    return f"{'neg-' if high else ''}{'sub' if high != low else 'add'}"


class Bench(Solver):
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
            one is not None and self.add_beat(name, one.products, one.addend, lane, one.shift) for one in solutions
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


def _both(fmt: Number) -> list[int]:
    """Numbers of a format by which a zero is multiplied, in both signs where there are."""
    codes = list(numbers(fmt).values())
    return codes + [code for code in (negate(fmt, code) for code in codes) if code is not None]
