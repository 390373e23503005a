"""Results in two's complement: an exact sum, rounded once to a fixed format."""

from __future__ import annotations

from typing import assert_never

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.data import StructLayout

from hwsim.formats import FixedFormat
from hwsim.spec.parts import ResultRule

from .layouts import result_layout
from .normalize import last_place
from .step import DatapathStep


class RoundFixed(DatapathStep):
    """The code of an integer in units of 2^unit_exp: rounded, and what is too large by the result's rule."""

    def __init__(self, fmt: FixedFormat, rule: ResultRule, total: StructLayout, unit_exp: int):
        self.fmt, self.rule, self.unit_exp = fmt, rule, unit_exp
        o = StructLayout({**result_layout(fmt).members})
        super().__init__("round", total, o, {"code", "nan"})

    def compute(self, m: Module) -> None:
        """Drive the code."""
        fmt, total = self.fmt, self.i.total
        sign = total[-1]
        rounded = self._rounded(m, sign, (total ^ sign.replicate(len(total)))[: len(total) - 1] + sign)
        value = Signal(signed(len(rounded) + 1), name="value")  # which may be narrower than the code
        m.d.comb += [value.eq(Mux(sign, -rounded, rounded)), self.o.code.eq(value)]
        match self.rule.overflow:
            case "wrap":
                pass
            case "saturate":
                most = (1 << fmt.bits - 1) - 1
                with m.If(rounded > most + sign):
                    m.d.comb += self.o.code.eq(Mux(sign, most + 1, most))
            case "infinity" | "ieee" | "nan" | "propagate":
                raise TypeError(f"{fmt.name} has no {self.rule.overflow}")
            case _:
                assert_never(self.rule.overflow)

    def _rounded(self, m: Module, sign: Value, magnitude: Value) -> Value:
        """The magnitude in units of the format's last place."""
        drop = -self.fmt.fraction_bits - self.unit_exp
        if drop <= 0:
            return Cat(Const(0, -drop), magnitude)
        kept = Cat(magnitude, Const(0, drop))[drop:]
        below = Cat(Const(0, 1), magnitude)[: drop + 1]
        last, up = last_place(self.rule.rounding, sign, kept[0], below[-1], below[:-1].any())
        rounded = Signal(len(kept) + 1, name="rounded")
        m.d.comb += rounded.eq(Cat(last, kept[1:]) + up)
        return rounded
