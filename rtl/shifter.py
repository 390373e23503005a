"""A shift into a window in two parts, between which a register can stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import PureInterface

from hwsim.spec.keys import Lost

from .lost import any_lost, shifted


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
        """What is to be shifted, and how far."""
        return StructLayout({"sign": 1, "magnitude": self.bits, "distance": self.distance_bits})

    def between(self) -> StructLayout:
        """What the first part leaves."""
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
        """Whether a 1 fell out. name: as in `end`."""
        return any_lost(m, name, i.magnitude, i.distance, self.drop + 2)
