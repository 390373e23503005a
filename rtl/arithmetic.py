"""Arithmetic on values: zeros above a leading one, sums and maxima of many, shifts that lose bits by a rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, assert_never

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import PureInterface

from hwsim.spec.keys import AlignedLost, Lost


def select(values: Sequence[Value], index: Value) -> Value:
    """values[index]; the last where the index is beyond."""
    chosen = values[-1]
    for place in reversed(range(len(values) - 1)):
        chosen = Mux(index == Const(place, len(index)), values[place], chosen)
    return chosen


def leading_zeros(m: Module, value: Value) -> tuple[Value, list[Value]]:
    """A flag that a value is zero; and how many zeros stand above its leading one, the low bit first.

    A tree: `zero<level>_<group>` says whether the bits of a group are zero, `count<level>_<group>` how many zeros stand
    above its leading one. Groups are of 2^level bits and counted from the top.
    """
    groups: list[tuple[Value, Value]] = [(~bit, Const(0, 0)) for bit in reversed(list(value))]
    level = 0
    while len(groups) > 1:
        level += 1
        pairs = list(zip(groups[::2], groups[1::2], strict=False))
        last = groups[len(pairs) * 2 :]
        groups = [_joined(m, f"{level}_{index}", *pair) for index, pair in enumerate(pairs)]
        groups += [(is_zero, Cat(count, Const(0, 1))) for is_zero, count in last]
    is_zero, count = groups[0]
    return is_zero, list(count)


def _joined(m: Module, name: str, over: tuple[Value, Value], under: tuple[Value, Value]) -> tuple[Value, Value]:
    """A flag that both of two groups are zero, and the zeros above the leading one; one group stands over the other."""
    (over_zero, over_count), (under_zero, under_count) = over, under
    is_zero = Signal(name=f"zero{name}")
    count = Signal(len(over_count) + 1, name=f"count{name}")
    m.d.comb += [
        is_zero.eq(over_zero & under_zero),
        count.eq(Cat(Mux(over_zero, under_count, over_count), over_zero)),
    ]
    return is_zero, count


def balanced(m: Module, values: Sequence[Value], name: str) -> Value:
    """The sum, as a balanced tree of neighbours: no wider than it must be, and synthesis makes what it likes of it.

    name: of the sums of pairs, `name0_0` and so on; the number of their level, and of the pair in it.
    """
    level, terms = 0, list(values)
    while len(terms) > 1:
        above: list[Value] = []
        for index in range(0, len(terms) - 1, 2):
            pair = terms[index] + terms[index + 1]
            total = Signal(pair.shape(), name=f"{name}{level}_{index // 2}")
            m.d.comb += total.eq(pair)
            above.append(total)
        level, terms = level + 1, above + terms[len(terms) // 2 * 2 :]
    return terms[0]


def carry_save(a: Value, b: Value, c: Value, half: Value) -> tuple[Value, Value]:
    """Two numbers whose sum is that of three, by a row of full adders, modulo 2^bits of them. half: a ^ b."""
    return half ^ c, Cat(Const(0, 1), (a & b) | (half & c))[: len(a)]


def clamp(distance: Value, bits: int) -> Value:
    """A distance in `bits` bits: all ones if it needs more. It is not negative where it matters."""
    if len(distance) <= bits:
        return distance
    return distance[:bits] | distance[bits:].any().replicate(bits)


def larger(m: Module, pair: Sequence[Value], name: str) -> Value:
    """The largest of one or two values, by one comparison."""
    if len(pair) == 1:
        return pair[0]
    first, second = pair
    result = Signal.like(first, name=name)
    m.d.comb += result.eq(Mux(first < second, second, first))
    return result


def tree_maximum(m: Module, values: list[Value], levels: int, end: str = "") -> list[Value]:
    """The values that remain after `levels` rounds of a knock-out by comparison. end: of its signals' names."""
    for level in range(levels):
        pairs = [values[index : index + 2] for index in range(0, len(values), 2)]
        values = [larger(m, pair, f"larger{level}_{index}{end}") for index, pair in enumerate(pairs)]
    return values


class LostBits(NamedTuple):
    """Requirements of a rule for lost bits on the widths of a window.

    guard_bits: places below the last one that shift amounts must reach.
    truncates: magnitudes are cut off, and nothing knows of what was lost: less hardware will do in several places.
    adds_one: a magnitude grows by one though nothing is lost.
    """

    guard_bits: int = 0
    truncates: bool = False
    adds_one: bool = False


def lost_bits(lost: AlignedLost) -> LostBits:
    """The requirements of a rule on the widths of a window."""
    match lost:
        case "truncate":
            return LostBits(truncates=True)
        case "floor" | "ceil" | "jam" | "sticky":
            return LostBits()
        case "rne" | "rna":
            return LostBits(guard_bits=1)
        case "ones-complement":
            return LostBits(adds_one=True)
        case _:
            assert_never(lost)


def shifted(
    m: Module, name: str, window: Value, sign: Value, shift: Value, drop: int, lost: Lost
) -> tuple[Value, Value]:
    """Ones' complement and carry of a magnitude, shifted right by `shift` and `drop`; bits that fall out are lost.

    name: what the signals begin with that it needs.
    """
    below = drop + (1 << len(shift)) - 1
    moved = Cat(Const(0, below - drop), window) >> shift
    wide = Signal(len(moved), name=f"{name}_wide")
    m.d.comb += wide.eq(moved)
    kept = wide[below:]
    # Where nothing can be shifted out there is no place below the last one, and wide[-1] is the top bit.
    guard, sticky = (wide[below - 1], wide[: below - 1].any()) if below else (Const(0), Const(0))
    match lost:
        case "truncate":
            return truncated(window, sign, shift, drop)
        case "floor":
            return complement(kept, sign), sign & ~(guard | sticky)
        case "ceil":
            return complement(kept, sign), sign | guard | sticky
        case "jam":
            return complement(kept | guard | sticky, sign), sign
        case "rne":
            return complement(kept, sign), sign ^ (guard & (sticky | kept[0]))
        case "rna":
            return complement(kept, sign), sign ^ guard
        case "ones-complement":
            # A negative term is left as its complement, without a carry; only zero is not.
            return truncated(window, sign & window.any(), shift, drop)[0], Const(0)
        case _:
            assert_never(lost)


def any_lost(m: Module, name: str, window: Value, shift: Value, drop: int) -> Value:
    """True if a 1 falls out of a magnitude, shifted right by `shift` and `drop`. name: of the signal that it needs."""
    below = drop + (1 << len(shift)) - 1
    moved = Cat(Const(0, below - drop), window) >> shift
    wide = Signal(len(moved), name=f"{name}_moved")
    m.d.comb += wide.eq(moved)
    return wide[:below].any() if below else Const(0)


def truncated(window: Value, sign: Value, shift: Value, drop: int) -> tuple[Value, Value]:
    """Ones' complement and carry of a magnitude, shifted right and truncated.

    Complementing before an arithmetic shift needs no bit that is shifted out.
    """
    wide = Cat(window, Const(0, 1 << len(shift)))  # the sign bit of the result, and all that is shifted in
    return ((wide ^ sign.replicate(len(wide))) >> shift)[drop : len(window) + 1].as_signed(), sign


def complement(magnitude: Value, sign: Value) -> Value:
    """The ones' complement of a magnitude, where `sign` is set."""
    return Cat(magnitude ^ sign.replicate(len(magnitude)), sign).as_signed()


@dataclass(frozen=True)
class Shifter:
    """A magnitude of `bits`, shifted right by a distance of `distance_bits` and by `drop`; what falls out is lost.

    In between stand two more bits below the magnitude: the highest that fell out, and whether any below it was set.
    """

    bits: int
    distance_bits: int
    drop: int
    lost: Lost

    @property
    def low_bits(self) -> int:
        """Bits of the distance that the second part shifts by."""
        return max(1, self.distance_bits // 2)

    def before(self) -> StructLayout:
        """Layout of a number to be shifted: sign, magnitude, distance."""
        return StructLayout({"sign": 1, "magnitude": self.bits, "distance": self.distance_bits})

    def between(self) -> StructLayout:
        """Layout between both parts of a shift."""
        return StructLayout({"sign": 1, "magnitude": self.bits + 2, "distance": self.low_bits})

    def begin(self, i: PureInterface, to: PureInterface) -> list[Any]:
        """Shift by the high bits of the distance."""
        high = i.distance[self.low_bits :]
        most = (1 << len(high)) - 1 << self.low_bits
        wide = Cat(Const(0, most), i.magnitude) >> Cat(Const(0, self.low_bits), high) if most else i.magnitude
        guard, sticky = (wide[most - 1], wide[: most - 1].any()) if most else (Const(0), Const(0))
        return [
            to.sign.eq(i.sign),
            to.magnitude.eq(Cat(sticky, guard, wide[most : most + self.bits])),
            to.distance.eq(i.distance[: self.low_bits]),
        ]

    def end(self, m: Module, name: str, i: PureInterface) -> tuple[Value, Value]:
        """Ones' complement and carry of what is left, shifted by the rest. name: of what the signals begin with."""
        return shifted(m, name, i.magnitude, i.sign, i.distance, self.drop + 2, self.lost)

    def loses(self, m: Module, name: str, i: PureInterface) -> Value:
        """True if a 1 fell out. name: as in `end`."""
        return any_lost(m, name, i.magnitude, i.distance, self.drop + 2)
