"""From a sum to its code: sign and magnitude, normalised, rounded once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import assert_never

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib.data import StructLayout

from hwsim.formats import FixedFormat, FloatFormat
from hwsim.rtl.arithmetic import leading_zeros
from hwsim.rtl.numbers import ResultTarget, SumTarget, result_layout, signed_shape
from hwsim.rtl.step import DatapathStep
from hwsim.spec.keys import ROUNDINGS, Rounding, Tininess
from hwsim.spec.parts import ResultRule


class Magnitude(DatapathStep):
    """The sum's sign and magnitude, and the biased exponent of its top bit."""

    def __init__(self, target: SumTarget, name: str = "magnitude"):
        self.target = target
        fields = {"sign", "magnitude", "top_bexp"} | ({"more"} if target.lost else set())
        super().__init__(name, target.before(), target.magnitude(), fields)

    def compute(self, m: Module) -> None:
        total, negative = self.i.total, self.i.total[-1]
        flipped = total[:-1] ^ negative.replicate(len(total) - 1)
        sign = negative
        if self.target.zero_sign:
            sign = Mux(total.any(), negative, self.i.zero_sign)
        m.d.comb += [
            self.o.sign.eq(sign),
            self.o.magnitude.eq(flipped + negative),
            self.o.top_bexp.eq(self.i.max_exp + self.target.offset),
        ]
        if self.target.lost:
            # A sum of zero stays zero: a lost 1 has no sign of its own.
            m.d.comb += self.o.more.eq(Cat(self.i.lost).any() & total.any())


class Normalize(DatapathStep):
    """The leading one moved to the top, but no further than the least exponent allows."""

    def __init__(self, target: SumTarget, name: str = "normalize"):
        self.target = target
        super().__init__(name, target.magnitude(), target.normalized(), {"sig", "sticky", "bexp"})

    def compute(self, m: Module) -> None:
        whole = Cat(Const(0, self.target.bits - self.target.magnitude_bits), self.i.magnitude)
        if self.target.leads:
            self._in_place(m, whole)
        else:
            self._moved(m, *self._counted(m, whole))

    @property
    def more(self) -> Value:
        """True if the number is more than its magnitude, by less than its last place."""
        return self.i.more if self.target.lost else Const(0)

    def _counted(self, m: Module, magnitude: Value) -> tuple[Value, Value]:
        """The magnitude, and how far its leading one is to move; drive what is lost before."""
        m.d.comb += self.o.sticky.eq(self.more)
        _, count = leading_zeros(m, magnitude)
        shift = Signal(len(count), name="zeros")
        m.d.comb += shift.eq(Cat(count))
        limited = self.target.subnormals and not self.target.bare
        return self._limit(m, magnitude, shift) if limited else (magnitude, shift)

    def _moved(self, m: Module, sig: Value, shift: Value) -> None:
        """Drive the significand and its exponent."""
        # The high bits of the count are known first.
        for place in reversed(range(len(shift))):
            shifted = Signal(self.target.bits, name=f"shifted{place}")
            m.d.comb += shifted.eq(Mux(shift[place], Cat(Const(0, 1 << place), sig), sig))
            sig = shifted
        m.d.comb += [self.o.sig.eq(sig), self.o.bexp.eq(Mux(sig[-1], self.i.top_bexp - shift, 0))]

    def _in_place(self, m: Module, magnitude: Value) -> None:
        """Normalise a magnitude that needs no shift to the left."""
        if self.target.top_bexp[0] < 1:
            room = Signal(signed_shape(self.target.top_bexp[0] - 1, self.target.top_bexp[1]), name="room")
            m.d.comb += room.eq(self.i.top_bexp - 1)
            magnitude, sticky = self._denormalize(m, magnitude, room)
            m.d.comb += self.o.sticky.eq(sticky | self.more)
        else:
            m.d.comb += self.o.sticky.eq(self.more)
        m.d.comb += [self.o.sig.eq(magnitude), self.o.bexp.eq(Mux(magnitude[-1], self.i.top_bexp, 0))]

    def _limit(self, m: Module, magnitude: Value, zeros: Value) -> tuple[Value, Value]:
        """The magnitude and the shift that the least exponent allows; drive what is lost."""
        target = self.target
        least = target.top_bexp[0]
        room = Signal(signed_shape(least - 1, target.top_bexp[1]), name="room")
        shift, below = Signal(zeros.shape(), name="shift"), Signal(name="below")
        near = Signal(name="near")
        m.d.comb += [
            room.eq(self.i.top_bexp - 1),
            near.eq(room < zeros),
            shift.eq(Mux(near, room, zeros)),
        ]
        if least < 1:
            magnitude, sticky = self._denormalize(m, magnitude, room)
            m.d.comb += [below.eq(room < 0), self.o.sticky.eq(sticky | self.more)]
            with m.If(below):
                m.d.comb += shift.eq(0)
        return magnitude, shift

    def _denormalize(self, m: Module, magnitude: Value, room: Signal) -> tuple[Value, Value]:
        """The magnitude shifted right where its top bit is below the least exponent."""
        bits = len(magnitude)
        right = Signal(range(bits + 2), name="right")
        with m.If(room < -(bits + 1)):
            m.d.comb += right.eq(bits + 1)
        with m.Elif(room < 0):
            m.d.comb += right.eq(-room)
        wide = Signal(2 * bits + 1, name="denormalized")
        m.d.comb += wide.eq(Cat(Const(0, bits + 1), magnitude) >> right)
        return wide[bits + 1 :], wide[: bits + 1].any()


def last_place(rounding: Rounding, sign: Value, last: Value, guard: Value, sticky: Value) -> tuple[Value, Value]:
    """The last bit of a magnitude that a rounding keeps, and whether it adds one ulp to it."""
    match rounding:
        case "rne":
            return last, guard & (sticky | last)
        case "rna":
            return last, guard
        case "rz":
            return last, Const(0)
        case "ru":
            return last, ~sign & (guard | sticky)
        case "rd":
            return last, sign & (guard | sticky)
        case "rto":
            return last | guard | sticky, Const(0)
        case _:
            assert_never(rounding)


def rounds_inward(rounding: Rounding, infinity: int | None, sign: Value) -> Value | bool:
    """A flag that IEEE 754 rounds a too large number of that sign to the largest one; else to infinity.

    infinity: its code without a sign, or None where there is none.
    """
    match ROUNDINGS[rounding].inward:
        case "neither":
            return False
        case "both":
            return True
        case "negative":
            return sign
        case "positive":
            return ~sign
        case "odd":
            return infinity is not None and infinity % 2 == 0
        case other:
            assert_never(other)


def with_sign(fmt: FloatFormat, magnitude: Value, sign: Value) -> Value:
    """A code of its sign, where the format has one, and the low bits of a magnitude, of at least as many."""
    return Cat(magnitude[: fmt.bits - 1], sign) if fmt.signed else magnitude[: fmt.bits]


class Encode(DatapathStep):
    """The end of every rounding: the code of a finite number, of one that is too large, or of a special value."""

    def __init__(self, name: str, i: StructLayout, target: SumTarget):
        self.target = target
        o = result_layout(target.fmt)
        super().__init__(name, i, o, o.members)

    def choose(self, m: Module, finite: Value, overflow: Value) -> None:
        """Drive the code. finite: of a number that is not too large. overflow: whether it is."""
        fmt, special = self.target.fmt, self.i.special
        infinite = Signal()
        sign = Signal()
        m.d.comb += [
            infinite.eq(special.positive | special.negative),
            sign.eq(Mux(infinite, special.negative, self.i.sign)),
            self.o.code.eq(finite),
        ]
        beyond = Signal()
        m.d.comb += beyond.eq(infinite | overflow)
        with m.If(beyond):
            self._overflow(m, infinite, sign)
        if fmt.canonical_nan is not None:
            with m.If(special.nan | (special.positive & special.negative)):
                self._not_a_number(m)

    def _not_a_number(self, m: Module) -> None:
        m.d.comb += [self.o.code.eq(self.target.nan >> self.target.fmt.padding), self.o.nan.eq(1)]

    @abstractmethod
    def inward(self, sign: Value) -> Value | bool:
        """A flag that IEEE 754 rounds a too large number to the largest one (2019, section 7.4); else to infinity."""

    def _overflow(self, m: Module, infinite: Value, sign: Value) -> None:
        fmt, rule = self.target.fmt, self.target.overflow
        match rule:
            case "saturate":
                self._largest(m, sign)
            case "propagate":
                self._largest(m, sign)
                with m.If(infinite & fmt.infinities):
                    self._outside(m, sign)
            case "infinity":
                self._outside(m, sign)
            case "nan":
                self._not_a_number(m)
                if fmt.infinities:
                    with m.If(infinite):
                        self._outside(m, sign)
            case "ieee":
                self._outside(m, sign)
                inward = self.inward(sign)
                if inward is not False:
                    with m.If(~infinite if inward is True else ~infinite & inward):
                        self._largest(m, sign)
            case "wrap":
                raise TypeError(f"{fmt.name} must be a fixed format for overflow: wrap")
            case _:
                assert_never(rule)

    def _largest(self, m: Module, sign: Value) -> None:
        fmt = self.target.fmt
        m.d.comb += [self.o.code.eq(with_sign(fmt, Const(fmt.max_magnitude, fmt.bits), sign)), self.o.nan.eq(0)]

    def _outside(self, m: Module, sign: Value) -> None:
        fmt = self.target.fmt
        if fmt.infinity_magnitude is None:
            self._not_a_number(m)
        else:
            m.d.comb += [
                self.o.code.eq(with_sign(fmt, Const(fmt.infinity_magnitude, fmt.bits), sign)),
                self.o.nan.eq(0),
            ]


class Round(Encode):
    """The code: rounded, overflow and special values by the unit's rules."""

    def __init__(self, target: ResultTarget, name: str = "round"):
        self.rounding = target.rounding
        super().__init__(name, target.normalized(), target)

    @property
    def purpose(self) -> str:
        target = self.target
        return (
            f"The {target.fmt.name} code of a normalised sum: rounded once ({self.rounding}), "
            f"overflow by the rule {target.overflow}, and the codes of infinities and NaN."
        )

    def compute(self, m: Module) -> None:
        target, fmt, sign = self.target, self.target.fmt, self.i.sign
        drop = target.bits - fmt.precision
        kept, guard, below = self.i.sig[drop:], self.i.sig[drop - 1], self.i.sig[: drop - 1]
        last, up = last_place(self.rounding, sign, kept[0], guard, below.any() | self.i.sticky)
        # Exponents of the sums that there are may need fewer bits than the field has.
        wide = max(fmt.fraction_bits + len(self.i.bexp) + 1, fmt.bits - 1)
        magnitude: Value = Signal(wide, name="magnitude")
        # A carry out of the fraction runs into the exponent field, as it should.
        if target.bare:
            below = Cat(last, kept[1 : fmt.fraction_bits], self.i.bexp - 1).as_signed() + up
            stepped = Signal(below.shape(), name="stepped")
            m.d.comb += stepped.eq(below)
            m.d.comb += magnitude.eq(Mux((stepped > 0) & self.i.sig[-1], stepped, self._nearest(m)))
        else:
            m.d.comb += magnitude.eq(Cat(last, kept[1 : fmt.fraction_bits], self.i.bexp) + up)
        overflow = Signal()
        if target.overflows and target.top_bexp[1] + 1 >= fmt.max_magnitude >> fmt.fraction_bits:
            m.d.comb += overflow.eq(magnitude > fmt.max_magnitude)
        if target.flush is not None and not target.bare:
            magnitude = magnitude & self._normal(target.flush, magnitude).replicate(len(magnitude))
        self.choose(m, Cat(magnitude[: fmt.bits - 1], self._sign(magnitude)), overflow)

    def _normal(self, flush: Tininess, magnitude: Value) -> Value:
        """True if a number is not subnormal, as that is judged."""
        target, sig = self.target, self.i.sig
        match flush:
            case "result":
                return magnitude[target.fmt.fraction_bits :].any()
            case "before":
                return sig[-1]
            case "after":
                # All ones, and a carry out of one place further down.
                drop = target.bits - target.fmt.precision - 1
                below = sig[: drop - 1].any() | self.i.sticky
                _, up = last_place(self.rounding, self.i.sign, Const(1, 1), sig[drop - 1], below)
                return sig[-1] | (sig[drop:-1].all() & up)
            case _:
                assert_never(flush)

    def _sign(self, magnitude: Value) -> Value:
        """The sign of the code; of a number that rounds to zero, as the unit has it."""
        target, sign = self.target, self.i.sign
        if not target.vanishes and target.flush is None:
            return sign
        if not target.fmt.signed_zero:
            return sign & magnitude.any()
        if target.tiny == "signed":
            return sign
        signed = magnitude.any()
        if target.zero_sign:
            signed |= ~(self.i.sig.any() | self.i.sticky)  # a sum of exactly zero has a sign of its own
        return sign & signed

    def _nearest(self, m: Module) -> Value:
        """0 or 1: the code without its sign, in a format without subnormals, of a number below its least one."""
        target, fmt, sign = self.target, self.target.fmt, self.i.sign
        if fmt.underflow == "zero":
            return Const(0)
        # Twice the number against the least one, (2^fraction_bits + 1) * 2^(emin - fraction_bits).
        lowest = target.bits - fmt.precision
        binade, below = self.i.bexp == 0, self.i.sig[:lowest].any() | self.i.sticky
        fraction = self.i.sig[lowest:-1]
        least: Value = fraction == 1
        more = (self.i.bexp > 0) | (binade & ((fraction > 1) | (least & below)))
        nonzero = self.i.sig[-1]
        half = more | (binade & least)
        last, up = last_place(self.rounding, sign, Const(0), half, more | ~half)
        return nonzero & (last | up)

    def inward(self, sign: Value) -> Value | bool:
        return rounds_inward(self.rounding, self.target.fmt.infinity_magnitude, sign)


class CountZeros(Normalize):
    """The first half of `Normalize`: how far the leading one is to move, and what is lost before."""

    def __init__(self, target: SumTarget, name: str):
        self.target = target
        zeros = unsigned((target.bits - 1).bit_length())
        i, consumed = target.magnitude(), ("magnitude", "more")
        passed = {field: shape for field, shape in i.members.items() if field not in consumed}
        fields = {"magnitude": unsigned(target.bits), "zeros": zeros, "sticky": 1}
        DatapathStep.__init__(self, name, i, StructLayout({**passed, **fields}), set(fields))

    def compute(self, m: Module) -> None:
        whole = Cat(Const(0, self.target.bits - self.target.magnitude_bits), self.i.magnitude)
        magnitude, shift = self._counted(m, whole)
        m.d.comb += [self.o.magnitude.eq(magnitude), self.o.zeros.eq(shift)]


class MoveLeadingOne(Normalize):
    """The second half."""

    def __init__(self, target: SumTarget, name: str):
        self.target = target
        DatapathStep.__init__(self, name, CountZeros(target, "").gives, target.normalized(), {"sig", "bexp"})

    def compute(self, m: Module) -> None:
        self._moved(m, self.i.magnitude, self.i.zeros)


def normalizing(target: SumTarget, cuts: Sequence[str], name: str = "normalize") -> dict[str, DatapathStep]:
    """`Normalize` by its name, in halves where a cut asks for a register between them."""
    if f"{name}.1" not in cuts:
        return {name: Normalize(target, name)}
    return {f"{name}.1": CountZeros(target, f"{name}.1"), name: MoveLeadingOne(target, name)}


class RoundFixed(DatapathStep):
    """The code of an integer in units of 2^unit_exp: rounded, and what is too large by the result's rule."""

    def __init__(self, fmt: FixedFormat, rule: ResultRule, total: StructLayout, unit_exp: int):
        self.fmt, self.rule, self.unit_exp = fmt, rule, unit_exp
        o = StructLayout({**result_layout(fmt).members})
        super().__init__("round", total, o, {"code", "nan"})

    def compute(self, m: Module) -> None:
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
