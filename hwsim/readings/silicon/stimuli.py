"""Stimuli for hardware: random dot products of given properties, drawn from a seed.

None is constructed for a purpose: `hwsim.readings.silicon.design` keeps those that tell candidates apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from hwsim.cases.drawing import Stream
from hwsim.cases.landmarks import infinities, nans, zeros
from hwsim.formats import FloatFormat, Format
from hwsim.readings.questions import FLOORS
from hwsim.readings.silicon.case import CaptureCase
from hwsim.readings.silicon.instructions import GpuInstruction

T = TypeVar("T")
Addend = Literal["any", "near", "above", "low", "high", "zero"]


@dataclass(frozen=True)
class Mix:
    """The properties of random cases. Shares are probabilities.

    spread: binades below a case's largest product down to which the others are drawn.
    zeros: of terms that are zero times a number, of any exponent. idle: of terms that are zero times zero.
    low, high: of cases at the lower, and the upper, end of the factors' range. top: where the exponent of a case's
    largest product is drawn instead, as far as the factors reach.
    sparse: of cases of a few numbers of one or two ones each. edge: of cases that consist of a power of two, at times
    half an ulp of the result, and a small term where the window ends: what is cut off it decides a borrow or a tie.
    floors: least max_exp that count for where that end is.
    empty: of cases whose products are all zero, all negative in one half of them.
    subnormal: of products with a subnormal factor where there could be a normal one.
    cancel: of terms that are another term's negative. special: of cases with NaN or infinity in them.
    addend: where the addend stands, by its exponent: anywhere, near the products, above them, at the lower or upper
    end of its range, or zero. instructions: over how many of them a case goes.
    """

    spread: int = 16
    zeros: float = 0.1
    idle: float = 0.2
    low: float = 0.2
    high: float = 0.1
    top: tuple[int, int] | None = None
    sparse: float = 0.1
    edge: float = 0.05
    floors: tuple[int, ...] = ()
    empty: float = 0.02
    subnormal: float = 0.05
    cancel: float = 0.1
    special: float = 0.0
    addend: Addend = "any"
    instructions: tuple[int, ...] = (1,)


# Where binary32 ends: products far below an addend's least exponent, and the sums that they round to.
FLOOR = Mix(spread=40, addend="low", empty=0.3, top=(-156, -120), edge=0.9, floors=FLOORS)
TINY = Mix(spread=20, idle=0.5, addend="low", empty=0.3, top=(-170, -124), sparse=0.3)
# Stimuli on which the answers to each question differ, by its name.
MIXES = {
    "window": Mix(spread=34, edge=0.5),
    "lost": Mix(spread=40, edge=0.5),
    "result": Mix(spread=20, addend="near", edge=0.3),
    "groups": Mix(spread=24),
    "chain": Mix(spread=20, instructions=(2, 4)),
    "conversion": Mix(spread=26, subnormal=0.4),
    "subnormals": Mix(spread=8, subnormal=0.4),
    "addend": Mix(spread=12, addend="near", instructions=(1, 1, 2)),
    "addend-bits": Mix(spread=12, addend="above"),
    "zero-terms": Mix(spread=6, zeros=0.5, low=0.9),
    "floor": FLOOR,
    "zero-sum": Mix(empty=0.6, addend="zero", cancel=0.5),
    "tiny": TINY,
    "overflow": Mix(high=0.9, addend="high", special=0.3),
    "nan": Mix(special=1.0),
    "special-codes": Mix(special=1.0),
}


def stimuli(
    instruction: GpuInstruction, mix: Mix, tag: str, rng: Stream, edges: tuple[int, int] = (14, 13)
) -> Iterator[CaptureCase]:
    """Cases without end. edges: as `hwsim.readings.silicon.design.edges` returns them."""
    drawer = _Drawer(instruction, mix, rng, edges)
    while True:
        yield drawer.case(tag)


ANY_ADDEND: tuple[Addend, ...] = ("near", "near", "above", "low", "zero", "high")


class _Codes:
    """What is asked of a format for every number that is drawn."""

    def __init__(self, fmt: Format):
        assert isinstance(fmt, FloatFormat)
        self.emin, self.emax, self.bias, self.subnormals = fmt.emin, fmt.emax, fmt.bias, fmt.subnormals
        self.fraction_bits, self.max_magnitude = fmt.fraction_bits, fmt.max_magnitude
        self.sign_bit, self.padding = fmt.sign_bit, fmt.padding
        self.zeros = zeros(fmt)
        # Ones in the padding are what hardware returns; it has not been asked to take them.
        plain = (
            [code for code in codes if not code & ((1 << fmt.padding) - 1)] for codes in (nans(fmt), infinities(fmt))
        )
        self.specials = [codes for codes in plain if codes]


class _Drawer:
    def __init__(self, instruction: GpuInstruction, mix: Mix, rng: Stream, edges: tuple[int, int]):
        self.a, self.b = map(_Codes, instruction.factors)
        self.c = _Codes(instruction.accumulator)
        self.instruction, self.mix, self.rng = instruction, mix, rng
        self.edges, self.sparse = edges, False

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def between(self, low: int, high: int) -> int:
        return low + int(self.rng.random() * (max(low, high) - low + 1))

    def choice(self, among: Sequence[T]) -> T:
        return among[self.between(0, len(among) - 1)]

    def case(self, tag: str) -> CaptureCase:
        mix = self.mix
        terms = self.instruction.k * self.choice(mix.instructions)
        if self.chance(mix.edge):
            return self._edge(tag, terms)
        top, empty, self.sparse = self._top(), self.chance(mix.empty), self.chance(mix.sparse)
        idle = 1.0 if empty else 1 - 3 / self.instruction.k if self.sparse else mix.idle * 2 * self.rng.random()
        factors = [self._term(top, idle) for _ in range(terms)]
        if not empty:
            factors[self.between(0, terms - 1)] = self._product(top)
        self._cancel(factors)
        c = self._addend(top)
        if empty and self.chance(0.5):
            factors = [(self.a.zeros[-1], 0)] * terms
            c = self.c.zeros[-1] if c in self.c.zeros else c
        a, b = [list(side) for side in zip(*factors, strict=True)]
        if self.chance(mix.special):
            c = self._strike(a, b, c)
        return CaptureCase(tag, tuple(a), tuple(b), c)

    def _edge(self, tag: str, terms: int) -> CaptureCase:
        """A case of a power of two, perhaps half an ulp of the result, and a small term at the end of the window."""
        precision, window = self.edges
        top, self.sparse = self._top(), True
        reach = top
        if self.mix.floors:
            reach = self.choice(self.mix.floors)
            top = min(max(reach - self.between(0, 2), self.a.emin + self.b.emin), self.a.emax + self.b.emax)
        factors = [(self._zero(self.a), self._zero(self.b)) for _ in range(terms)]
        within = self.instruction.k * self.between(0, terms // self.instruction.k - 1)
        places = [within + place for place in sorted(range(self.instruction.k), key=lambda _: self.rng.random())]
        c = self._zero(self.c)
        if self.chance(0.3) and self.c.emin <= top <= self.c.emax:
            c = self._power(self.c, top)
        else:
            # Twice the same makes the next power of two, of the lower exponent.
            leading = self._powers(top)
            for _ in range(2 if self.chance(0.3) else 1):
                factors[places.pop()] = leading
        if self.chance(0.5):
            factors[places.pop()] = self._powers(top - precision)
        factors[places.pop()] = self._product(max(top, reach) - window + self.between(-3, 1))
        a, b = zip(*factors, strict=True)
        return CaptureCase(tag, a, b, c)

    def _powers(self, exp: int) -> tuple[int, int]:
        """Powers of two whose product has this exponent, or the nearest that normal numbers allow."""
        a, b = self.a, self.b
        exp = min(max(exp, a.emin + b.emin), a.emax + b.emax)
        of_a = self.between(max(a.emin, exp - b.emax), min(a.emax, exp - b.emin))
        return self._power(a, of_a), self._power(b, exp - of_a)

    def _power(self, fmt: _Codes, exp: int) -> int:
        return (self.between(0, 1) * fmt.sign_bit | exp + fmt.bias << fmt.fraction_bits) << fmt.padding

    def _top(self) -> int:
        """The largest product's exponent."""
        least, most = self.a.emin + self.b.emin, self.a.emax + self.b.emax
        if self.mix.top is not None:
            low, high = (min(max(end, least), most) for end in self.mix.top)
            return self.between(low, high)
        ends = self.rng.random()
        if ends < self.mix.low:
            return self.between(least, min(most, least + self.mix.spread // 2 + 2))
        if ends > 1 - self.mix.high:
            return self.between(max(least, most - 6), most)
        middle = (least + most) // 2
        return self.between(max(least, middle - 30), min(most, middle + 30))

    def _term(self, top: int, idle: float) -> tuple[int, int]:
        if self.chance(idle):
            return self._zero(self.a), self._zero(self.b)
        if self.chance(self.mix.zeros):
            pair = self._number(self.a, self.between(self.a.emin, self.a.emax)), self._zero(self.b)
            other = self._zero(self.a), self._number(self.b, self.between(self.b.emin, self.b.emax))
            return pair if self.chance(0.5) else other
        return self._product(top - self._depth())

    def _depth(self) -> int:
        """A term's distance below the largest: small, at one of the edges, or anywhere in the spread."""
        if self.chance(0.3):
            return self.between(0, 2)
        if self.sparse and self.chance(0.7):
            return max(0, self.edges[self.between(0, len(self.edges) - 1)] + self.between(-2, 2))
        return self.between(0, self.mix.spread)

    def _product(self, exp: int) -> tuple[int, int]:
        """Factors whose product has this reference exponent, or the nearest possible."""
        a, b = self.a, self.b
        exp = min(max(exp, a.emin + b.emin), a.emax + b.emax)
        low, high = max(a.emin, exp - b.emax), min(a.emax, exp - b.emin)
        if self.chance(self.mix.subnormal):
            of_a = low if self.chance(0.5) else high
            return self._number(a, of_a, 1.0), self._number(b, exp - of_a, 1.0)
        of_a = self.between(low, high)
        return self._number(a, of_a), self._number(b, exp - of_a)

    def _number(self, fmt: _Codes, exp: int, subnormal: float = 0.5) -> int:
        """A number of this exponent. subnormal: at emin, the share of subnormal numbers."""
        frac = self._fraction(fmt)
        if exp <= fmt.emin and fmt.subnormals and self.chance(subnormal):
            magnitude = max(1, frac)
        else:
            magnitude = min((max(exp, fmt.emin) + fmt.bias) << fmt.fraction_bits | frac, fmt.max_magnitude)
        return (self.between(0, 1) * fmt.sign_bit | magnitude) << fmt.padding

    def _fraction(self, fmt: _Codes) -> int:
        """A fraction: mostly random, else with few ones, or all ones."""
        last = (1 << fmt.fraction_bits) - 1
        kind = self.between(1, 2) if self.sparse else self.between(0, 7)
        if kind == 0:
            return last
        if kind == 1:
            return 0
        return self.between(0, last) if kind > 2 else (1 << self.between(0, max(0, fmt.fraction_bits - 1))) & last

    def _zero(self, fmt: _Codes) -> int:
        return self.choice(fmt.zeros)

    def _cancel(self, factors: list[tuple[int, int]]) -> None:
        for index in range(len(factors)):
            if self.chance(self.mix.cancel):
                a, b = factors[index]
                factors[self.between(0, len(factors) - 1)] = a ^ self.a.sign_bit << self.a.padding, b

    def _addend(self, top: int) -> int:
        kind = self.mix.addend
        if kind == "any":
            kind = self.choice(ANY_ADDEND)
        fmt = self.c
        if kind == "zero":
            return self._zero(fmt)
        if kind == "low":
            if self.chance(0.3):
                return self._zero(fmt)
            return self._number(fmt, fmt.emin + (0 if self.chance(0.5) else self.between(0, self.mix.spread)))
        if kind == "high":
            return self._number(fmt, fmt.emax - self.between(0, 2))
        low, high = (-14, 6) if kind == "near" else (0, 14)
        return self._number(fmt, min(max(top + self.between(low, high), fmt.emin), fmt.emax))

    def _strike(self, a: list[int], b: list[int], c: int) -> int:
        """Put NaN or infinities into a, b, or return one for c."""
        for _ in range(self.between(1, 2)):
            side = self.between(0, 4)
            if side == 4:
                c = self._special(self.c, c)
            else:
                codes, fmt = ((a, self.a), (b, self.b))[side % 2]
                place = self.between(0, len(codes) - 1)
                codes[place] = self._special(fmt, codes[place])
        return c

    def _special(self, fmt: _Codes, otherwise: int) -> int:
        """A code of NaN or infinity; the code itself in a format that has neither."""
        return self.choice(self.choice(fmt.specials)) if fmt.specials else otherwise
