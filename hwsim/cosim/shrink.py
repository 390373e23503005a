"""Make a failing case simpler, as long as it fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Protocol

import numpy as np

from hwsim.cases.case import Case, block_lengths, operand_formats
from hwsim.cases.palette import negate
from hwsim.cosim.bench import fitting
from hwsim.cosim.heldoperands import HeldOperands
from hwsim.cosim.suites import expected_codes
from hwsim.explain.facts import NUMBER, ZERO, class_of
from hwsim.formats import Class, ExponentFormat, FixedFormat, FloatFormat, Format, TableFormat, unpack
from hwsim.formats.blocks import one_code
from hwsim.spec import Unit, unpromised
from hwsim.tb.job import MISSING

NARROW_BITS = 8  # of formats up to so wide every simpler code is tried
MOST_SIGNS = 12  # of which two are dropped together
SPECIAL = 500  # more than any number costs
# Codes by where they stand: field and index; of the addend the index is 0.
Edits = Mapping[tuple[str, int], int]
Cost = tuple[int, int, int, int, int, int]


class CaseTaker(Protocol):
    """A taker of a unit's cases, such as a design."""

    @property
    def unit(self) -> Unit:
        """The unit of the cases."""

    @property
    def products(self) -> int:
        """Products in one beat."""

    @property
    def addend(self) -> bool:
        """True if an addend other than +0 is taken."""

    @property
    def held(self) -> HeldOperands:
        """Operands that are the same in every case."""


@lru_cache(maxsize=1 << 18)
def code_cost(fmt: Format, code: int) -> int:
    """The cost of a code: 0 for zero, 1 for one; more for a sign, a fraction's ones, a far exponent."""
    bare = code >> fmt.padding
    if bare == 0:
        return 0
    match fmt:
        case ExponentFormat():
            return SPECIAL if fmt.is_nan(bare) else abs(bare - fmt.bias)
        case FixedFormat():
            return _fixed_cost(fmt, bare)
        case FloatFormat():
            return _float_cost(fmt, bare)
        case TableFormat():
            return _table_cost(fmt, bare)


def _fixed_cost(fmt: FixedFormat, bare: int) -> int:
    value = bare - (1 << fmt.bits) if bare & fmt.sign_bit else bare
    places = abs(abs(value).bit_length() - 1 - min(fmt.fraction_bits, fmt.precision - 1))
    return 1 + int(value < 0) + 4 * (abs(value).bit_count() - 1) + places


def _float_cost(fmt: FloatFormat, bare: int) -> int:
    negative = int(fmt.signed and bool(bare & fmt.sign_bit))
    magnitude = bare & (fmt.sign_bit - 1) if fmt.signed else bare
    if fmt.is_nan(bare) or magnitude == fmt.infinity_magnitude:
        return SPECIAL + negative + bare.bit_count()
    bexp, frac = magnitude >> fmt.fraction_bits, magnitude & ((1 << fmt.fraction_bits) - 1)
    return 1 + negative + 4 * frac.bit_count() + abs(bexp - fmt.bias) + (2 if bexp == 0 else 0)


def _table_cost(fmt: TableFormat, bare: int) -> int:
    sign, exp, sig, cls = unpack(fmt, bare)
    if cls in (Class.NAN, Class.INFINITY):
        return SPECIAL + sign + bare.bit_count()
    return 1 + sign + 4 * max(0, sig.bit_count() - 1) + abs(exp)


@lru_cache(maxsize=1 << 14)
def simpler_codes(fmt: Format, code: int) -> tuple[int, ...]:
    """Codes that cost less, the cheapest first; of a wide format a choice of them."""
    padding, bare = fmt.padding, code >> fmt.padding
    if fmt.bits <= NARROW_BITS:
        tried = set(range(1 << fmt.bits))
    elif isinstance(fmt, FloatFormat):
        tried = set(_near(fmt, bare))
    else:
        tried = {bare & ~(1 << bit) for bit in range(fmt.bits)} | {bare >> half for half in range(1, fmt.bits)}
    simpler = {
        bare_code << padding for bare_code in tried if code_cost(fmt, bare_code << padding) < code_cost(fmt, code)
    }
    return tuple(sorted(simpler, key=lambda simple: (code_cost(fmt, simple), simple)))


def _near(fmt: FloatFormat, bare: int) -> Iterator[int]:
    """Yield codes of a wide format with a simpler sign, fraction or exponent."""
    bits, sign = fmt.fraction_bits, bare & fmt.sign_bit
    magnitude = bare & (fmt.sign_bit - 1)
    bexp, frac = magnitude >> bits, magnitude & ((1 << bits) - 1)
    yield magnitude
    nearer = 1 if bexp < fmt.bias else -1
    exps = {fmt.bias, (bexp + fmt.bias) // 2, *(bexp + nearer * step for step in (1, 2, 4, 8, 16))}
    ones = [1 << bit for bit in range(bits)]
    fewer = {0, *ones, *(frac & ~bit_ for bit_ in ones), *(frac & -bit_ for bit_ in ones)}
    pairs = {high | low for high in ones for low in ones}
    for exp, fractions in [(bexp, fewer | pairs), *((exp, (frac, *fewer)) for exp in exps)]:
        for fraction in fractions:
            if 0 <= exp < 1 << fmt.exponent_bits:
                yield sign | exp << bits | fraction
                yield exp << bits | fraction


def positive_code(fmt: Format, code: int) -> int | None:
    """The code of a negative number's magnitude; None for any other number, and where there is none."""
    bare = code >> fmt.padding
    match fmt:
        case FloatFormat():
            return code ^ fmt.sign_bit << fmt.padding if fmt.signed and bare & fmt.sign_bit else None
        case FixedFormat():
            value = -(bare - (1 << fmt.bits)) if bare & fmt.sign_bit else 0
            return value << fmt.padding if 0 < value <= fmt.max_code else None
        case TableFormat():
            return negate(fmt, code) if fmt.numbers[bare] < 0 else None
        case ExponentFormat():
            return None


class Simplifier:
    """Yields simpler forms of cases for their taker."""

    def __init__(self, design: CaseTaker):
        self.design, unit, held = design, design.unit, design.held
        self.sides = "".join(side for side in "ab" if side not in held)
        kept = {"a", "b", *(name for name in ("scale_a", "scale_b") if name not in held), *["c"] * design.addend}
        self.formats = {name: fmt for name, fmt in operand_formats(unit).items() if name in kept}

    def cost(self, case: Case) -> Cost:
        """The cost that shrinking lowers: beats, lanes that are not zero, addend, scales, codes, and lanes' places."""
        lanes = self._lanes(case)
        codes = sum(code_cost(fmt, code) for name, fmt in self.formats.items() for code in self._codes(case, name))
        scales = sum(code_cost(fmt, code) != 0 for name, fmt in self._scales().items() for code in getattr(case, name))
        return (len(case.a) // self.design.products, len(lanes), int(case.c != 0), scales, codes, sum(lanes))

    def _scales(self) -> dict[str, Format]:
        return {name: fmt for name, fmt in self.formats.items() if name.startswith("scale")}

    def _codes(self, case: Case, name: str) -> tuple[int, ...]:
        return (case.c,) if name == "c" else getattr(case, name)

    def _lanes(self, case: Case) -> list[int]:
        return [lane for lane in range(len(case.a)) if any(getattr(case, side)[lane] for side in self.sides)]

    def edited(self, case: Case, edits: Edits) -> Case:
        """The case with some codes changed."""
        codes_of = {name: list(self._codes(case, name)) for name in {field for field, _ in edits}}
        for (name, index), code in edits.items():
            codes_of[name][index] = code
        fields = {name: codes[0] if name == "c" else tuple(codes) for name, codes in codes_of.items()}
        return self.design.held.put(replace(case, **fields))  # type: ignore[arg-type]

    def edits(self, case: Case) -> Iterator[Edits]:
        """Yield single steps: parts to zero, scales to one, a code to a simpler one, everything nearer to one."""
        lanes = self._lanes(case)
        yield from self._ones(lanes)
        size = max(1, len(lanes) // 2)
        while lanes:
            for first in range(0, len(lanes), size):
                part = lanes[first : first + size]
                yield {(side, lane): 0 for lane in part for side in "ab"}
                if len(part) < len(lanes):
                    yield {(side, lane): 0 for lane in lanes if lane not in part for side in "ab"}
            if size == 1:
                break
            size //= 2
        if case.c and "c" in self.formats:
            yield {("c", 0): 0}
        yield from self._shifted(case, lanes)
        places = [(side, lane) for lane in lanes for side in self.sides]
        places += [("c", 0)] if "c" in self.formats else []
        places += [(name, index) for name in self._scales() for index in range(len(getattr(case, name)))]
        yield from self._signs(case, places)
        for name, index in places:
            for code in simpler_codes(self.formats[name], self._codes(case, name)[index]):
                yield {(name, index): code}

    def _signs(self, case: Case, places: Sequence[tuple[str, int]]) -> Iterator[Edits]:
        """Yield two signs dropped at once: what fails by the sign of a product, or of a sum, fails without both."""
        plus = {
            place: positive
            for place in places
            if (positive := positive_code(self.formats[place[0]], self._codes(case, place[0])[place[1]])) is not None
        }
        negative = list(plus)[:MOST_SIGNS]
        for first, second in combinations(negative, 2):
            yield {first: plus[first], second: plus[second]}

    def _ones(self, lanes: list[int]) -> Iterator[Edits]:
        """Yield factors of one: in all lanes, and in each."""
        ones = {side: one_code(self.formats[side]) for side in "ab"}
        if lanes:
            yield {(side, lane): ones[side] for lane in lanes for side in "ab"}
        for lane in lanes:
            yield {(side, lane): ones[side] for side in "ab"}

    def _shifted(self, case: Case, lanes: list[int]) -> Iterator[Edits]:
        """Yield shifts of all products and the addend by a power of two, and the negation of all signs."""
        for side in "ab":
            for by in (-8, -4, -2, -1, 1, 2, 4, 8):
                moved = {(side, lane): self.scaled(side, getattr(case, side)[lane], by) for lane in lanes}
                if case.c and "c" in self.formats:
                    moved["c", 0] = self.scaled("c", case.c, by)
                kept = {place: code for place, code in moved.items() if code is not None}
                if len(kept) == len(moved) and kept:
                    yield kept
            fmt = self.formats[side]
            if isinstance(fmt, FloatFormat) and fmt.signed:
                flipped = {(side, lane): getattr(case, side)[lane] ^ fmt.sign_bit << fmt.padding for lane in lanes}
                addend = self.formats.get("c")
                if case.c and isinstance(addend, FloatFormat):
                    flipped["c", 0] = case.c ^ addend.sign_bit << addend.padding
                yield flipped

    def scaled(self, name: str, code: int, by: int) -> int | None:
        """The code of a number times 2^by; None where that is no normal number."""
        fmt = self.formats[name]
        if not isinstance(fmt, FloatFormat):
            return None
        bare = code >> fmt.padding
        magnitude = bare & (fmt.sign_bit - 1)
        if magnitude == 0:
            return code
        bexp = magnitude >> fmt.fraction_bits
        moved = magnitude + (by << fmt.fraction_bits)
        inside = bexp > 0 and moved >> fmt.fraction_bits > 0 and 0 < moved <= fmt.max_magnitude
        return (bare - magnitude + moved) << fmt.padding if inside and not fmt.is_nan(bare) else None

    def shorter(self, case: Case) -> Iterator[Case]:
        """Yield the case without some beats, or with its lanes moved to the front."""
        products = self.design.products
        beats = len(case.a) // products
        unscaled = self.design.unit.scale is None
        if beats > 1 and (unscaled or all(products % length == 0 for length in block_lengths(self.design.unit))):
            size = beats // 2
            while size:
                for first in range(0, beats, size):
                    if first or first + size < beats:
                        yield self._without(case, first, first + size)
                size //= 2
        lanes = self._lanes(case)
        if lanes != list(range(len(lanes))):
            for order in (lanes, self._pulled(lanes)):
                a, b = [0] * len(case.a), [0] * len(case.b)
                for to, lane in enumerate(order):
                    if lane >= 0:
                        a[to], b[to] = case.a[lane], case.b[lane]
                yield self.design.held.put(replace(case, a=tuple(a), b=tuple(b)))
        for lane in lanes:
            for to in sorted(set(range(lane)) - set(lanes)):
                yield self.edited(
                    case, {("a", to): case.a[lane], ("b", to): case.b[lane], ("a", lane): 0, ("b", lane): 0}
                )

    def _pulled(self, lanes: list[int]) -> list[int]:
        """The lanes, all moved to the front by as much as the first one allows."""
        return list(lanes) if not lanes else [lane if lane in lanes else -1 for lane in range(lanes[0], lanes[-1] + 1)]

    def _without(self, case: Case, first: int, end: int) -> Case:
        """The case without the beats from `first` to before `end`."""
        products = self.design.products

        def cut(codes: tuple[int, ...], each: int) -> tuple[int, ...]:
            return codes[: first * each] + codes[end * each :]

        cut_case = replace(case, a=cut(case.a, products), b=cut(case.b, products))
        if self.design.unit.scale is None:
            return self.design.held.put(cut_case)
        length_a, length_b = block_lengths(self.design.unit)
        return replace(
            cut_case,
            scale_a=cut(case.scale_a, products // length_a),
            scale_b=cut(case.scale_b, products // length_b),
        )


MOST_ROUNDS = 80
MOST_CANDIDATES = 1500  # of a round
MOST_BEATS = 1 << 14  # of a round
ALONE = 4  # failing cases that are tried in a simulation of their own, where the simplest one does not fail there
MOST_SEEDS = 64  # failing cases of a run that are tried alone

Ask = Callable[[Sequence[Case]], np.ndarray]


@dataclass(frozen=True)
class Shrunk:
    """The simplest failing case that was found. rounds, tried: simulations and candidates that it took."""

    case: Case
    expected: int
    got: int
    rounds: int
    tried: int


# Of failing cases: which are of the kind that is looked for.
Like = Callable[[Sequence[Shrunk]], Sequence[bool]]


def of_any_kind(failing: Sequence[Shrunk]) -> Sequence[bool]:
    return [True] * len(failing)


class Shrinker:
    """Makes failing cases simpler.

    ask: what the design returns for some cases. like: which failing cases count. round_done: called after each round,
    with how many there were so far.
    """

    def __init__(
        self,
        design: CaseTaker,
        ask: Ask,
        like: Like = of_any_kind,
        round_done: Callable[[int], None] = lambda rounds: None,
    ):
        self.design, self.ask, self.like, self.round_done = design, ask, like, round_done
        self.simplifier = Simplifier(design)
        self.rounds = self.tried = 0

    def shrink(self, failing: Sequence[Case]) -> Shrunk | None:
        """The simplest failing case; None where none of these fails alone, after a reset.

        No single step makes it simpler and still fails, unless it took `MOST_ROUNDS` simulations to come so far.
        """
        cost = self.simplifier.cost
        seeds = sorted(dict.fromkeys(failing), key=cost)[:MOST_SEEDS]
        failures = self._round([*seeds, *self._shortened(seeds)])
        if not failures:
            return None
        best = min(failures, key=lambda shrunk: cost(shrunk.case))
        how, steps = self._how(best), list[Edits]()
        while self.rounds < MOST_ROUNDS:
            candidates = self._candidates(best.case, steps)
            failed = self._failed(list(candidates), how)
            if not failed:
                break
            steps = [candidates[case] for case in sorted(failed, key=cost) if candidates[case]]
            best = min(failed.values(), key=lambda shrunk: cost(shrunk.case))
        return next(
            (
                replace(shrunk, rounds=self.rounds, tried=self.tried)
                for shrunk in (best, *failures[:ALONE])
                if self._fails_alone(shrunk)
            ),
            None,
        )

    def _fails_alone(self, shrunk: Shrunk) -> bool:
        """True if a case fails in a simulation of its own. Without a reset, cases before it might have mattered."""
        (got,) = self.ask([shrunk.case]).tolist()
        return got != MISSING and not unpromised(self.design.unit).same(shrunk.expected, got)

    def _failed(self, cases: Sequence[Case], how: tuple[str, str]) -> dict[Case, Shrunk]:
        """The cases that fail in that way; the cheapest are tried first, and all before there are none."""
        for first in range(0, len(cases), MOST_CANDIDATES):
            some = self._round(cases[first : first + MOST_CANDIDATES])
            failed = {shrunk.case: shrunk for shrunk in some if self._how(shrunk) == how}
            if failed:
                return failed
        return {}

    def _shortened(self, seeds: Sequence[Case]) -> Iterator[Case]:
        for case in seeds[:4]:
            yield from self.simplifier.shorter(case)

    def _how(self, shrunk: Shrunk) -> tuple[str, str]:
        """The kinds of the expected and the returned result, which a smaller case must share: zero is a number."""
        expected, got = (class_of(self.design.unit.output, code) for code in (shrunk.expected, shrunk.got))
        return NUMBER if expected == ZERO else expected, NUMBER if got == ZERO else got

    def _candidates(self, case: Case, earlier: Sequence[Edits]) -> dict[Case, Edits]:
        """Simpler cases, each with its step: steps that worked before, together, and every single one."""
        cost, simplifier = self.simplifier.cost, self.simplifier
        candidates: dict[Case, Edits] = {}
        limit = cost(case)

        def add(made: Iterable[tuple[Case, Edits]]) -> None:
            for simpler, edits in made:
                if cost(simpler) < limit and simpler not in candidates:
                    candidates[simpler] = edits

        add((simpler, {}) for simpler in simplifier.shorter(case))
        add(self._together(case, earlier))
        singles = [(simplifier.edited(case, edits), edits) for edits in simplifier.edits(case)]
        singles.sort(key=lambda single: cost(single[0]))
        add(singles)
        return candidates

    def _together(self, case: Case, steps: Sequence[Edits]) -> Iterator[tuple[Case, Edits]]:
        """Yield the first steps together: one, two, three and so on, each on codes that none before it changed."""
        joined: dict[tuple[str, int], int] = {}
        for edits in steps:
            if not joined.keys() & edits.keys() and all(self._inside(case, place) for place in edits):
                joined |= edits
                yield self.simplifier.edited(case, joined), dict(joined)

    def _inside(self, case: Case, place: tuple[str, int]) -> bool:
        return place[0] == "c" or place[1] < len(getattr(case, place[0]))

    def _round(self, cases: Sequence[Case]) -> list[Shrunk]:
        if not cases:
            return []
        # Of sums of hundreds of beats a round is cut short: the first ones are the simplest.
        cases = next(fitting(cases, lambda case: len(case.a) // self.design.products, len(cases), MOST_BEATS))
        self.rounds += 1
        self.tried += len(cases)
        expected = expected_codes(self.design.unit, cases)
        got, good = self.ask(cases).tolist(), unpromised(self.design.unit)
        self.round_done(self.rounds)
        failing = [
            Shrunk(case, want, code, 0, 0)
            for case, want, code in zip(cases, expected, got, strict=True)
            if code != MISSING and not good.same(want, code)
        ]
        return [shrunk for shrunk, wanted in zip(failing, self.like(failing), strict=True) if wanted]
