"""Decoders of formats by table: circuits that are found in the list of values, whatever rule it came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from hwsim.formats import TableFormat
from hwsim.rtl.numbers import FactorShape, factor_layout

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Bit:
    """A bit of a code, by its place; or its complement."""

    place: int
    inverted: bool = False


# The bits of a number from the low one up: each is constant, or a bit of the code.
Wires = tuple[bool | Bit, ...]


@dataclass(frozen=True)
class BitFunction:
    """A number as a function of a code's bits, which choose how its bits are wired.

    places: the bits that choose, from the low one up. rows: wires, each for patterns of 0, 1 and -, from the top bit
    down. otherwise: the wires for all other codes.
    """

    places: tuple[int, ...]
    rows: tuple[tuple[Wires, tuple[str, ...]], ...]
    otherwise: Wires

    @classmethod
    def of(cls, numbers: Ints, counts: Bools, bits: int, wired: bool = True) -> BitFunction:
        """The function that gives a number of so many bits for every code that counts; others may give anything.

        Codes that have their top bits in common are halved until the same wires serve all of them. Where that takes
        more patterns than half of the codes, every code has a row.
        wired: whether bits of the code serve, too, and not constants alone.
        """
        numbers, counts, places = _needed(numbers, counts)
        blocks = list(_blocks(numbers, counts, bits, len(places) if wired else 0))
        if len(blocks) > len(numbers) // 2 >= LEAST_LISTED:
            *constants, last = (_constant(number, bits) for number in numbers.tolist())
            listed = ((wires, (f"{code:0{len(places)}b}",)) for code, wires in enumerate(constants))
            return cls(tuple(places), tuple(listed), last)
        patterns: dict[Wires, list[str]] = {}
        for block in blocks:
            patterns.setdefault(block.wires(places, bits), []).append(block.pattern(len(places)))
        otherwise = max(patterns, key=lambda wires: len(patterns[wires]))
        rows = [(wires, tuple(found)) for wires, found in patterns.items() if wires != otherwise]
        return cls(tuple(places), tuple(rows), otherwise)

    @property
    def cost(self) -> tuple[int, int]:
        """What is compared of functions that do the same: patterns, and bits of wires."""
        patterns = sum(len(found) for _, found in self.rows)
        return patterns, sum(isinstance(wire, Bit) for wires, _ in self.rows for wire in wires)

    def drive(self, m: Module, code: Value, name: str) -> Signal:
        """A signal of this name, which is the number of a code."""
        number = Signal(len(self.otherwise), name=name)
        with m.Switch(Cat(code[place] for place in self.places)):
            for wires, found in self.rows:
                with m.Case(*found):
                    m.d.comb += number.eq(_value(wires, code))
            with m.Default():  # or else, to Yosys, a code may have none
                m.d.comb += number.eq(_value(self.otherwise, code))
        return number


LEAST_LISTED = 8


def _constant(number: int, bits: int) -> Wires:
    return tuple(bool(number >> bit & 1) for bit in range(bits))


def _value(wires: Wires, code: Value) -> Value:
    return Cat(
        Const(wire, 1) if isinstance(wire, bool) else ~code[wire.place] if wire.inverted else code[wire.place]
        for wire in wires
    )


def _needed(numbers: Ints, counts: Bools) -> tuple[Ints, Bools, list[int]]:
    """The numbers by fewer bits of the code: without those that decide nothing. The places of the others."""
    places = list(range(len(numbers).bit_length() - 1))
    for place in reversed(places):
        (low, low_counts), (high, high_counts) = (
            (numbers.reshape(-1, 2, 1 << place)[:, bit], counts.reshape(-1, 2, 1 << place)[:, bit]) for bit in (0, 1)
        )
        if not (low_counts & high_counts & (low != high)).any():
            numbers, counts = np.where(low_counts, low, high).ravel(), (low_counts | high_counts).ravel()
            places.remove(place)
    return numbers, counts, places


class CodeBlock(NamedTuple):
    """Codes that have their top bits in common, and what makes their numbers.

    top: those bits. free: how many bits below them differ. ones: the bits of all numbers that are 1. wired: by the
    place of a free bit, the number's bit that it is, and the one that its complement is, as powers of two, or 0.
    """

    top: int
    free: int
    ones: int
    wired: Sequence[tuple[int, int]]

    def pattern(self, bits: int) -> str:
        """The pattern of the codes, of so many bits."""
        fixed = bits - self.free
        return (f"{self.top:0{fixed}b}" if fixed else "") + "-" * self.free

    def wires(self, places: Sequence[int], bits: int) -> Wires:
        """The wires of the numbers, of so many bits. places: of the codes' bits, from the low one up."""
        wires: list[bool | Bit] = list(_constant(self.ones, bits))
        for place, (same, inverse) in zip(places, self.wired, strict=False):
            if same | inverse:
                wires[(same | inverse).bit_length() - 1] = Bit(place, inverted=inverse > 0)
        return tuple(wires)


class Sides(NamedTuple):
    """What any and what every number has, by block, where one free bit of the code is 0, and where it is 1."""

    any0: Ints
    any1: Ints
    all0: Ints
    all1: Ints

    def joined(self) -> Sides:
        """The same of blocks twice as large."""
        some = (any_[0::2] | any_[1::2] for any_ in (self.any0, self.any1))
        every = (all_[0::2] & all_[1::2] for all_ in (self.all0, self.all1))
        return Sides(*some, *every)


def _blocks(numbers: Ints, counts: Bools, bits: int, wired: int) -> Iterator[CodeBlock]:
    """Yield the largest blocks of codes whose numbers are wires, from the first code on; a code is one, at least.

    A bit of a code is at most one bit of a number. wired: how many bits of a code serve, from the low one up.
    """
    some: Ints = np.where(counts, numbers, 0)
    every: Ints = np.where(counts, numbers, (1 << bits) - 1)
    sides: list[Sides] = []
    levels: list[tuple[Bools, Bools, Ints, list[tuple[Ints, Ints]]]] = []
    for free in range(len(numbers).bit_length()):
        if free:
            sides = [side.joined() for side in sides]
            sides.append(Sides(some[0::2], some[1::2], every[0::2], every[1::2]))
            some, every, counts = some[0::2] | some[1::2], every[0::2] & every[1::2], counts[0::2] | counts[1::2]
        varies, twice, wires = some & ~every, np.zeros_like(some), list[tuple[Ints, Ints]]()
        for side in sides[:wired]:
            wires.append((side.all1 & ~side.any0 & varies, side.all0 & ~side.any1 & varies))
            moved = wires[-1][0] | wires[-1][1]
            twice, varies = twice | (moved & (moved - 1)), varies & ~moved
        levels.append(((twice | varies) == 0, counts, every, wires))
    found, waiting = list[CodeBlock](), np.zeros(1, np.int64)
    for free, (fits, some_count, ones, wires) in reversed(list(enumerate(levels))):
        for index in waiting[fits[waiting] & some_count[waiting]].tolist():
            found.append(CodeBlock(index, free, int(ones[index]), [(int(a[index]), int(b[index])) for a, b in wires]))
        left = waiting[~fits[waiting]]
        waiting = np.concatenate([2 * left, 2 * left + 1])
    yield from sorted(found, key=lambda block: block.top << block.free)


@dataclass(frozen=True)
class Decoding:
    """The fields of a table's numbers as functions of its codes.

    negated: whether exponent and fraction are those of the code's two's complement where its top bit is set.
    start: what the exponent counts from; `bexp` counts from 1.
    """

    negated: bool
    start: int
    exponent: BitFunction
    fraction: BitFunction
    sign: BitFunction
    nonzero: BitFunction
    nan: BitFunction
    inf: BitFunction

    @classmethod
    def of(cls, fmt: TableFormat) -> Decoding:
        """The functions that the list of values says."""
        x, codes, number = np.array(fmt.numbers), np.arange(len(fmt.numbers)), fmt.decoded
        some, nan, inf = x != 0, np.isnan(x), np.isinf(x)
        finite = ~(nan | inf)
        mantissa, exp = np.frexp(np.where(finite & some, np.abs(x), 0.5))
        bexp = np.where(some, exp - 1 + number.bias, 1).astype(np.int64)
        sig = np.ldexp(np.where(some, mantissa, 0), number.precision).astype(np.int64)
        opposite = -codes % len(codes)
        pairs = finite & some & (codes != opposite)
        negated = bool(pairs.any() and (x[opposite][pairs] == -x[pairs]).all())
        counts = finite & (codes <= len(codes) // 2) if negated else finite
        bits = FactorShape.of(number).bexp_bits
        exponents = {start: BitFunction.of(bexp + start - 1, counts, bits) for start in (1, 0)}
        start = min(exponents, key=lambda start: exponents[start].cost)

        def flag(values: Bools, counts: Bools, wired: bool = False) -> BitFunction:
            return BitFunction.of(values.astype(np.int64), counts, 1, wired)

        return cls(
            negated=negated,
            start=start,
            exponent=exponents[start],
            fraction=BitFunction.of(sig & (1 << number.fraction_bits) - 1, counts, number.fraction_bits),
            sign=flag(np.signbit(x), ~nan, wired=True),
            nonzero=flag(some, ~nan),
            nan=flag(nan, np.ones_like(nan)),
            inf=flag(inf, np.ones_like(nan)),
        )

    @property
    def rows(self) -> int:
        """How many patterns choose in the largest of the functions."""
        return max(each.cost[0] for each in (self.exponent, self.fraction, self.sign, self.nonzero, self.nan, self.inf))


@lru_cache(maxsize=64)
def decoding(fmt: TableFormat) -> Decoding:
    """The fields of a table's numbers, found once."""
    return Decoding.of(fmt)


class TableDecode(wiring.Component):
    """One code of a table. A NaN's and an infinity's `bexp` and fraction mean nothing; a zero has `sig` 0 at `bexp` 1.

    An infinity's `sig` is none of a zero, which times infinity is NaN.
    """

    def __init__(self, fmt: TableFormat):
        self.fmt = fmt
        super().__init__({"code": In(fmt.bits), "o": Out(factor_layout(fmt.decoded))})

    @property
    def purpose(self) -> str:
        return (
            f"One code of {self.fmt.name}, by table: sign, exponent field, significand with its hidden bit, whether it "
            "is NaN or infinite."
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        found, code, o = decoding(self.fmt), self.code, self.o
        positive = code
        if found.negated:
            positive = Signal(len(code), name="positive")
            m.d.comb += positive.eq(Mux(code[-1], -code, code))
        exponent = found.exponent.drive(m, positive, "exponent")
        fraction = found.fraction.drive(m, positive, "fraction")
        m.d.comb += [
            o.bexp.eq(exponent + (1 - found.start)),
            o.sig.eq(Cat(fraction, found.nonzero.drive(m, code, "nonzero"))),
            o.sign.eq(found.sign.drive(m, code, "negative")),
            o.nan.eq(found.nan.drive(m, code, "is_nan")),
            o.inf.eq(found.inf.drive(m, code, "is_infinite")),
        ]
        return m
