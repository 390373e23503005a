"""What a sum is encoded in: its format, rounding and overflow, and the ranges that the sum has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from amaranth.hdl import Shape, unsigned
from amaranth.lib.data import ArrayLayout, StructLayout

from hwsim.formats import FloatFormat
from hwsim.spec.keys import Overflow, Rounding, Tininess

from .layouts import SPECIAL
from .numbers import FieldRange, WindowRanges, signed_shape


@dataclass(frozen=True, kw_only=True)
class SumTarget:
    """What a sum is encoded in, and the ranges of the sum.

    total: the sum's shape. offset: what, added to max_exp, is the biased exponent that the total's top bit would have.
    max_exp: least and largest max_exp. zero_sign: the sum brings the sign of an exact zero with it.
    subnormals, overflows, vanishes: whether sums can be subnormal, be too large, and round to zero (not being zero).
    leads: whether every sum that is not zero, and above the least exponent, has its leading one on top.
    flush: what makes a result zero by being subnormal; None where nothing does.
    lost: terms of the sum of which its rounding knows whether they lost a 1; 0 where it knows of none.
    """

    fmt: FloatFormat
    overflow: Overflow
    total: Shape
    max_exp: tuple[int, int]
    offset: int
    tiny: Literal["signed", "positive"] = "signed"
    nan: int = 0
    zero_sign: bool = False
    subnormals: bool = True
    overflows: bool = True
    vanishes: bool = True
    leads: bool = False
    flush: Tininess | None = None
    lost: int = 0

    @property
    def bare(self) -> bool:
        """Whether numbers below the least one are left as they are, for a format that has nothing between it and 0."""
        return False

    @property
    def magnitude_bits(self) -> int:
        """Bits of the sum's magnitude."""
        return self.total.width - 1

    @property
    def bits(self) -> int:
        """Bits of the normalised magnitude: no fewer than a significand has, and one to round with.

        One more where a subnormal number is rounded at its own binade, too.
        """
        return max(self.magnitude_bits, self.fmt.precision + 1 + (self.flush == "after"))

    @property
    def top_bexp(self) -> tuple[int, int]:
        """Least and largest biased exponent of the total's top bit."""
        return self.max_exp[0] + self.offset, self.max_exp[1] + self.offset

    @property
    def bexp(self) -> Shape:
        """Biased exponents of results, those that overflow included; of a bare format, those that vanish too."""
        if self.bare:
            return signed_shape(min(self.top_bexp[0] - self.bits, 0), max(self.top_bexp[1], 1))
        most = self.top_bexp[1] if self.overflows else self.fmt.max_magnitude >> self.fmt.fraction_bits
        return unsigned(max(most, 1).bit_length())

    def before(self) -> StructLayout:
        """The sum."""
        zero = {"zero_sign": 1} if self.zero_sign else {}
        lost = {"lost": ArrayLayout(unsigned(1), self.lost)} if self.lost else {}
        span = signed_shape(*self.max_exp)
        return StructLayout({"total": self.total, "max_exp": span, "special": SPECIAL, **zero, **lost})

    def magnitude(self) -> StructLayout:
        """After magnitude. more: the number is more than the magnitude, by less than its last place."""
        return StructLayout(
            {
                "sign": 1,
                "magnitude": unsigned(self.magnitude_bits),
                "top_bexp": signed_shape(*self.top_bexp),
                "special": SPECIAL,
                **({"more": 1} if self.lost else {}),
            }
        )

    def normalized(self) -> StructLayout:
        """After normalize. sig: the leading one on top unless subnormal; bexp: 0 if subnormal or zero."""
        return StructLayout({"sign": 1, "sig": unsigned(self.bits), "sticky": 1, "bexp": self.bexp, "special": SPECIAL})


@dataclass(frozen=True, kw_only=True)
class ResultTarget(SumTarget):
    """A target that a rule of the specification rounds to."""

    rounding: Rounding

    @property
    def bare(self) -> bool:
        """Whether the format has no subnormals."""
        return not self.fmt.subnormals

    @classmethod
    def of(cls, n: WindowRanges) -> ResultTarget:
        """The target of a group's sum."""
        rule = n.unit.result
        top = n.total.width - 2 - n.fraction_bits
        return cls(
            fmt=n.result,
            rounding=rule.rounding,
            overflow=rule.overflow,
            tiny=rule.tiny,
            total=n.total,
            max_exp=n.max_exp,
            offset=top - n.product_bias + FieldRange.of(n.result).bias,
            nan=n.nan,
            flush=rule.flushes,
            lost=n.lanes + 1 if n.sticky else 0,
            subnormals=n.subnormal_sums,
            overflows=n.overflows,
            vanishes=n.vanishes,
        )
