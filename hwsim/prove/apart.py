"""The simplest input of two units on which they do not return the same, found by cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, islice
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError
from hwsim.cases.case import Batch, Case, batches, block_lengths
from hwsim.cases.drawing import DIRECTED, KINDS, Stream, key_of
from hwsim.cases.random_cases import draw, pair_cases
from hwsim.compute.products import dot_codes
from hwsim.cosim.heldoperands import HeldOperands
from hwsim.cosim.shrink import Cost, Edits, Simplifier
from hwsim.explain.discriminate import telling
from hwsim.formats import FloatFormat, Format
from hwsim.formats.codes import Codes
from hwsim.spec import NotImplementedYet, Unit, unpromised
from hwsim.spec.arguments import filled, pad

LONGEST = 1 << 16  # products of a case


@dataclass(frozen=True)
class UnitPair:
    """Two units that take the same operands, and the numbers of products for which they are compared.

    least, most: of the products of one sum; most is None where both units take any number. together: products of which
    each sum has a multiple, besides blocks: what sparse units keep together.
    Raises InputError for units of other operands or scales, and where no number of products is left.
    """

    first: Unit
    second: Unit
    least: int = 1
    most: int | None = None
    together: int = 1

    def __post_init__(self) -> None:
        first, second = map(_operands, self.units)
        for name in first:
            if first[name] != second[name]:
                raise InputError(
                    f"{self.first.name} and {self.second.name} take other operands: {name} is {_said(first[name])}, "
                    f"and {_said(second[name])}"
                )
        limits = [unit.instruction.k for unit in self.units if unit.instruction.chain is None]
        limit = min([*limits, *([] if self.most is None else [self.most])], default=None)
        if limit is not None and self.shortest > limit:
            asked = f"{self.least}" if self.least == self.most else f"{self.least} and more"
            raise InputError(
                f"{self.first.name} and {self.second.name} take no sum of {asked} products in common: at most {limit}, "
                f"and whole blocks of {self.block}"
            )
        object.__setattr__(self, "most", limit)

    @property
    def units(self) -> tuple[Unit, Unit]:
        """Both."""
        return self.first, self.second

    @cached_property
    def block(self) -> int:
        """Products of which each sum has a multiple."""
        return lcm(self.together, *(block_lengths(self.first) if self.first.scale is not None else ()))

    @cached_property
    def step(self) -> int:
        """Products of which both units take a multiple, without filling up; fewer where they take no more."""
        whole = lcm(self.block, *(unit.instruction.fill for unit in self.units))
        if self.most is not None and whole > self.most:
            return self.most - self.most % self.block
        return whole

    @property
    def shortest(self) -> int:
        """The least number of products that is compared."""
        return -(-self.least // self.block) * self.block

    @cached_property
    def tried(self) -> tuple[int, ...]:
        """Lengths of drawn cases: of one step, two, and past the longest interval of a promotion; and short ones."""
        intervals = [unit.promotion.interval for unit in self.units if unit.promotion is not None]
        steps = [1, 2, *(-(-interval // self.step) + 1 for interval in intervals), 5]
        most = LONGEST if self.most is None else self.most - self.most % self.block
        wished = [*(count * self.step for count in steps), self.shortest, self.step + self.block]
        return tuple(dict.fromkeys(min(max(wish, self.shortest), most) for wish in wished))

    def trimmed(self, case: Case) -> Case:
        """A case without zeros at its end, as long as both units return the same for it, and none other."""
        length = max((lane + 1 for lane in range(len(case.a)) if case.a[lane] or case.b[lane]), default=1)
        length = max(-(-length // self.block) * self.block, self.shortest)
        if length >= len(case.a):
            return case
        of_a, of_b = block_lengths(self.first) if self.first.scale is not None else (length, length)
        shorter = replace(
            case, a=case.a[:length], b=case.b[:length],
            scale_a=case.scale_a[: length // of_a], scale_b=case.scale_b[: length // of_b],
        )  # fmt: skip
        before, after = (self.results(next(batches(self.first, [one]))) for one in (case, shorter))
        return shorter if all((x == y).all() for x, y in zip(before, after, strict=True)) else case

    # Results.

    def results(self, batch: Batch) -> tuple[Codes, Codes]:
        """The codes of both units' results."""
        first, second = (_results(unit, batch) for unit in self.units)
        return first, second

    def apart(self, first: Codes, second: Codes) -> NDArray[np.bool_]:
        """Where results differ, in bits that both units promise; units of other results return other numbers."""
        return np.asarray(self._plain(self.first, first) != self._plain(self.second, second))

    @cached_property
    def by_code(self) -> bool:
        """True if a code stands for the same number in both units' results."""
        return _layout(self.first.output) == _layout(self.second.output)

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """What is not compared, in words."""
        said = [f"{part} of {unit.name}" for unit in self.units for part in unpromised(unit).left_out()]
        return (*said, *([] if self.by_code else ["the bits of NaNs, as the results have other formats"]))

    def _plain(self, unit: Unit, codes: Codes) -> NDArray[Any]:
        """What is compared of results."""
        fmt = unit.output
        rules = [unpromised(one) for one in self.units]
        if not isinstance(fmt, FloatFormat):
            return codes if self.by_code else np.asarray(fmt.decode(codes), np.float64).view(np.int64)
        nan = np.isnan(fmt.decode(codes)) if not self.by_code or any(rule.nans for rule in rules) else None
        if self.by_code:
            plain = codes.astype(np.int64)
            minus = fmt.sign_bit << fmt.padding
        else:
            plain, minus = np.asarray(fmt.decode(codes), np.float64).view(np.int64), np.iinfo(np.int64).min
        if any(rule.zeros for rule in rules):
            plain = np.where(plain == minus, 0, plain)
        return plain if nan is None else np.where(nan, -1, plain)

    # As what has cases simplified.

    @property
    def unit(self) -> Unit:
        """The unit whose cases are simplified."""
        return self.first

    @property
    def products(self) -> int:
        """Products that are left out together."""
        return self.step

    @property
    def addend(self) -> bool:
        """True if there is one."""
        return self.first.operands.addend is not None

    @property
    def held(self) -> HeldOperands:
        """None."""
        return HeldOperands()


def _operands(unit: Unit) -> dict[str, Any]:
    """A unit's operands: formats, whether there are scales, and their blocks."""
    operands, scale = unit.operands, unit.scale
    said: dict[str, Any] = {"a": operands.a, "b": operands.b, "addend": operands.addend, "scale": scale is not None}
    for name, side in (("a", scale and scale.a), ("b", scale and scale.b)):
        said |= {f"scale.{name}.format": side.format, f"scale.{name}.block": list(side.block)} if side else {}
    return said


def _said(what: Any) -> str:
    match what:
        case True | False:
            return "given" if what else "none"
        case list():
            return str(what)
    return "none" if what is None else str(what.name)


def _layout(fmt: Format) -> tuple[object, ...]:
    """What makes a code stand for its number."""
    if isinstance(fmt, FloatFormat):
        return fmt.container_bits, fmt.exponent_bits, fmt.bias, fmt.fraction_bits + fmt.padding, fmt.nan
    return (fmt,)


def _results(unit: Unit, batch: Batch) -> Codes:
    """The codes of a unit's results of cases of any length, which are filled up."""
    a, b = (pad(side, unit.instruction.fill, 0) for side in (batch.a, batch.b))
    scales = None
    if unit.scale is not None and batch.scale_a is not None and batch.scale_b is not None:
        terms = a.shape[1]
        scales = filled(batch.scale_a, unit.scale, "a", terms), filled(batch.scale_b, unit.scale, "b", terms)
    return dot_codes(unit, a, b, batch.c, scales, again=True)


# Searching.

CHUNK, FEWER = 2048, 16384  # cases of a batch; of those with few products, for each number of them
EVERY = tuple(dict.fromkeys([*KINDS, *DIRECTED]))
ENOUGH = 64  # differing cases of a batch that are looked at
STARTS = 2  # of these, which are made simpler
ROUNDS = 200  # steps of one that is
AT_ONCE = 512  # simpler cases that are tried together


class CaseSearch:
    """A search for a case on which two units differ. seed: of what is drawn. tried: cases so far."""

    def __init__(self, pair: UnitPair, seed: int = 1):
        self.pair, self.seed, self.tried = pair, seed, 0
        self.simplifier = Simplifier(pair)
        self._names = pair.first.name, pair.second.name
        self._batches = self._all_drawn()

    def drawn(self, count: int) -> list[Case]:
        """Differing cases of the first of so many further batches that has any."""
        return self._first(islice(self._batches, count))

    def _all_drawn(self) -> Iterator[Batch]:
        """Batches without end: of each unit's kinds of cases, in turn, and of each length."""
        key = key_of(self.seed, *self._names, "diff")
        for number in count():
            length = self.pair.tried[number // 2 % len(self.pair.tried)]
            unit = self.pair.units[number % 2]
            yield self._draw(unit, key, number * CHUNK, max(64, CHUNK * 64 // max(64, length)), length)

    def _draw(self, unit: Unit, key: int, first: int, size: int, length: int) -> Batch:
        """Cases of a length that are a unit's of whole instructions, cut short."""
        whole = lcm(unit.instruction.fill, self.pair.block)
        batch = draw(unit, key, first, size, -(-length // whole) * whole, EVERY)
        scales = [batch.scale_a, batch.scale_b]
        if unit.scale is not None:
            blocks = block_lengths(unit)
            scales = [
                side if side is None else side[:, : length // of] for side, of in zip(scales, blocks, strict=True)
            ]
        return replace(batch, a=batch.a[:, :length], b=batch.b[:, :length], scale_a=scales[0], scale_b=scales[1])

    def directed(self) -> list[Case]:
        """Differing cases among those that tell each unit from mistakes and changed rules, as far as it has any."""
        for unit in self.pair.units:
            try:
                cases = [case for case in telling(unit) if self._fits(case)]
            except NotImplementedYet:
                continue
            if found := self._first(batches(unit, cases)):
                return found
        return []

    def _fits(self, case: Case) -> bool:
        pair, length = self.pair, len(case.a)
        return length >= pair.least and (pair.most is None or length <= pair.most) and length % pair.block == 0

    def _first(self, some: Iterable[Batch]) -> list[Case]:
        return next(filter(None, map(self.differing, some)), [])

    def differing(self, batch: Batch) -> list[Case]:
        """The cases on which the units differ."""
        self.tried += len(batch)
        return [batch.case(int(index)) for index in np.flatnonzero(self.pair.apart(*self.pair.results(batch)))]

    # The simplest.

    def simplest(self, found: Sequence[Case]) -> Case:
        """The simplest case that is found from some that differ: fewest products other than zero, then codes."""
        best = self._simplest_of(found)
        while (products := self.cost(best)[1]) and (fewer := self._of_fewer(products, len(best.a))):
            best = self._simplest_of(fewer)
        return best

    def cost(self, case: Case) -> Cost:
        """What a simpler case has less of, first whole steps of K, then products other than zero."""
        return self.simplifier.cost(case)

    def _of_fewer(self, below: int, length: int) -> list[Case]:
        """Differing cases of fewer products other than zero: of none, of one, and so on."""
        return next(filter(None, (self._first(self._sparse(number, length)) for number in range(below))), [])

    def _sparse(self, number: int, length: int) -> Iterator[Batch]:
        """Batches of cases with so many products other than zero, at most; of one, every pair of narrow codes."""
        unit = self.pair.first
        key, places = key_of(self.seed, *self._names, "few", number), Stream(self.seed, "places", number)
        rows = np.arange(CHUNK)
        for first in range(0, FEWER, CHUNK):
            batch = self._draw(unit, key, first, CHUNK, length)
            keep = np.zeros(batch.a.shape, bool)
            for lane in range(number):
                keep[rows, np.where(rows % 2, places.integers(0, length, (CHUNK,)), lane)] = True
            a, b = (np.where(keep, side, 0).astype(side.dtype) for side in (batch.a, batch.b))
            yield replace(batch, a=a, b=b)
        if number == 1 and unit.scale is None and unit.operands.a.bits + unit.operands.b.bits <= 16:
            yield from batches(unit, filter(self._fits, pair_cases(unit)), 1 << 14)

    def _simplest_of(self, found: Sequence[Case]) -> Case:
        starts = sorted(dict.fromkeys(found[:: max(1, len(found) // ENOUGH)]), key=self.cost)
        least = self.cost(starts[0])[1]
        made = [self._shrunk(case) for case in starts[:STARTS] if self.cost(case)[1] == least]
        return min(made, key=self.cost)

    def _shrunk(self, best: Case) -> Case:
        """A case made simpler step by step, as far as a single step does it."""
        best = self._thinned(best)
        for _ in range(ROUNDS):
            cost, steps = self.cost(best), dict.fromkeys(self._steps(best))
            simpler = (case for case in steps if self.cost(case) < cost and self._fits(case))
            failing: list[Case] = []
            while not failing and (some := list(islice(simpler, AT_ONCE))):
                some.sort(key=lambda case: len(case.a))
                failing = [case for batch in batches(self.pair.first, some) for case in self.differing(batch)]
            if not failing:
                break
            best = min(failing, key=self.cost)
        return best

    def _thinned(self, best: Case) -> Case:
        """A case with products made zero, many at once and then fewer, as long as the units differ."""
        size = len(best.a)
        while size := size // 2:
            lanes = [lane for lane in range(len(best.a)) if best.a[lane] or best.b[lane]]
            parts = [set(lanes[first : first + size]) for first in range(0, len(lanes), size)]
            gone = [lost for part in parts for lost in (part, set(lanes) - part) if lost]
            fewer = [_without(best, lost) for lost in gone]
            if failing := [case for batch in batches(self.pair.first, fewer) for case in self.differing(batch)]:
                best = min(failing, key=lambda case: sum(bool(x or y) for x, y in zip(case.a, case.b, strict=True)))
                size *= 2
        return best

    def _steps(self, case: Case) -> Iterator[Case]:
        simplifier = self.simplifier
        yield from simplifier.shorter(case)
        yield from (simplifier.edited(case, edits) for edits in simplifier.edits(case))
        yield from (simplifier.edited(case, edits) for edits in self._other_factors(case))

    def _other_factors(self, case: Case) -> Iterator[Edits]:
        """Products whose factors are other ones of the same value: a power of two goes from one to the other."""
        for lane, (a, b) in enumerate(zip(case.a, case.b, strict=True)):
            for by in (-8, -4, -2, -1, 1, 2, 4, 8) if a and b else ():
                x, y = self.simplifier.scaled("a", a, by), self.simplifier.scaled("b", b, -by)
                if x is not None and y is not None:
                    yield {("a", lane): x, ("b", lane): y}


def _without(case: Case, lanes: set[int]) -> Case:
    a, b = (tuple(0 if lane in lanes else code for lane, code in enumerate(side)) for side in (case.a, case.b))
    return replace(case, a=a, b=b)
