"""An independent witness of a whole dot product, in exact rationals.

Written from section 2 of the design (docs/arithmetic.md) alone: it imports nothing of hwsim, has its own table of
formats, reads a unit as the plain mapping that its YAML file is, and thinks in values, where the model thinks in
integers and shifts. Slow, and meant to be read.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple


class Form(NamedTuple):
    """A format. top: `ieee` (infinities, NaNs), `nan` (only the last code), `finite`; or kind `fixed`, `power`."""

    exponent_bits: int
    fraction_bits: int
    bias: int
    top: str
    container: int
    nan: int = -1  # canonical

    @property
    def padding(self) -> int:
        return self.container - 1 - self.exponent_bits - self.fraction_bits

    @property
    def emin(self) -> int:
        return 1 - self.bias


FORMS = {
    "e4m3": Form(4, 3, 7, "nan", 8, 0x7F),
    "e5m2": Form(5, 2, 15, "ieee", 8, 0x7F),
    "e3m2": Form(3, 2, 3, "finite", 6),
    "e2m3": Form(2, 3, 1, "finite", 6),
    "e2m1": Form(2, 1, 1, "finite", 4),
    "f16": Form(5, 10, 15, "ieee", 16, 0x7FFF),
    "bf16": Form(8, 7, 127, "ieee", 16, 0x7FFF),
    "tf32": Form(8, 10, 127, "ieee", 32, 0x7FFFFFFF),
    "e8m13": Form(8, 13, 127, "ieee", 32, 0x7FFFFFFF),
    "f32": Form(8, 23, 127, "ieee", 32, 0x7FFFFFFF),
    "mxint8": Form(0, 6, 0, "fixed", 8),
    "e8m0": Form(8, 0, 127, "power", 8),
}


class Number(NamedTuple):
    """A number, with the exponent that alignment goes by. kind: finite, inf, nan."""

    kind: str
    negative: bool
    value: Fraction
    exp: int


def two(exp: int) -> Fraction:
    """2^exp."""
    return Fraction(2) ** exp


NAN = Number("nan", False, Fraction(0), 0)
PLUS_ZERO = Number("finite", False, Fraction(0), 0)


@cache
def read(name: str, code: int) -> Number:
    """What a code is."""
    form = FORMS[name]
    if form.top == "fixed":
        value = Fraction(code - 256 if code > 127 else code, 64)
        return Number("finite", value < 0, value, 0)
    if form.top == "power":
        return NAN if code == 255 else Number("finite", False, two(code - 127), code - 127)
    code >>= form.padding
    fraction = code % (1 << form.fraction_bits)
    biased = code >> form.fraction_bits & ((1 << form.exponent_bits) - 1)
    negative = bool(code >> form.fraction_bits >> form.exponent_bits)
    if form.top == "ieee" and biased == (1 << form.exponent_bits) - 1:
        return NAN if fraction else Number("inf", negative, Fraction(0), 0)
    if form.top == "nan" and biased == (1 << form.exponent_bits) - 1 and fraction == (1 << form.fraction_bits) - 1:
        return NAN
    hidden = 1 if biased else 0
    exp = (biased or 1) - form.bias
    magnitude = (hidden + Fraction(fraction, 1 << form.fraction_bits)) * two(exp)
    return Number("finite", negative, -magnitude if negative else magnitude, exp)


@cache
def codes_by_value(name: str) -> dict[tuple[bool, Fraction], int]:
    """The code of every finite number of a format of at most 16 bits, by sign and magnitude."""
    numbers = {code: read(name, code) for code in range(1 << FORMS[name].container)}
    return {(n.negative, abs(n.value)): code for code, n in numbers.items() if n.kind == "finite"}


def write(name: str, negative: bool, magnitude: Fraction) -> int:
    """The code of a number that the format has."""
    if FORMS[name].container == 32:
        bits: int = struct.unpack("<I", struct.pack("<f", float(magnitude)))[0]
        return bits | negative << 31
    return codes_by_value(name)[negative, magnitude]


@cache
def largest(name: str) -> Fraction:
    """The largest finite number."""
    form = FORMS[name]
    if form.container == 32:
        return (2 - two(-form.fraction_bits)) * two(127)
    return max(magnitude for _, magnitude in codes_by_value(name))


def floor_log2(value: Fraction) -> int:
    """The exponent of the binade that a positive value lies in."""
    exp = value.numerator.bit_length() - value.denominator.bit_length()
    return exp if two(exp) <= value else exp - 1


def choose(low: int, value: Fraction, negative: bool, mode: str) -> int:
    """`low` or low + 1: to which of these neighbours a magnitude between them goes."""
    if value == low:
        return low
    to_low, to_high = value - low, low + 1 - value
    if mode in ("rne", "rna") and to_low != to_high:
        return low if to_low < to_high else low + 1
    even, odd = (low, low + 1) if low % 2 == 0 else (low + 1, low)
    away, toward = low + 1, low
    return {
        "rne": even,
        "rna": away,
        "rz": toward,
        "rto": odd,
        "ru": toward if negative else away,
        "rd": away if negative else toward,
    }[mode]


class Witness:
    """A unit, from the mapping in its YAML file."""

    def __init__(self, spec: dict[str, Any]):
        operands, instruction, result = spec["operands"], spec["instruction"], spec["result"]
        self.a, self.b = operands["a"], operands["b"]
        self.convert, self.daz = operands.get("convert"), operands.get("daz", False)
        self.c = None if operands.get("addend", "none") == "none" else operands["addend"]
        self.k, self.lanes = instruction["k"], instruction["lanes"]
        self.order = instruction.get("order", "sequential")
        self.from_zero = instruction.get("start") == "zero"
        rule = spec["sum"]
        self.fraction_bits, self.lost = rule["fraction_bits"], rule.get("lost", "truncate")
        self.zeros_count, self.ieee_zero = rule.get("zero_terms") == "count", rule.get("zero") == "ieee"
        floor = rule.get("max_exp_floor", "none")
        self.floor: int | None = None if floor == "none" else floor
        self.late: dict[str, Any] = spec.get("late", {})
        self.out, self.rounding = result["format"], result["rounding"]
        self.overflow, self.tiny = result.get("overflow", "infinity"), result.get("tiny", "signed")
        self.flush = result.get("subnormals") == "flush"
        self.own_nan: int | None = result["nan"] if isinstance(result.get("nan"), int) else None
        self.nan = self.own_nan or FORMS[self.out].nan
        promotion = spec.get("promotion", "none")
        self.promotion: dict[str, Any] = {} if promotion == "none" else promotion
        scale = spec.get("scale", "none")
        self.blocks = None if scale == "none" else (scale["a"]["block"][1], scale["b"]["block"][0])

    def dot(self, a: Sequence[int], b: Sequence[int], c: int, scale_a: Sequence[int], scale_b: Sequence[int]) -> int:
        """The result's code. scale_a, scale_b: a code a block."""
        products = [self.product(i, x, y, scale_a, scale_b) for i, (x, y) in enumerate(zip(a, b, strict=True))]
        instructions = self.instructions(products)
        if self.promotion:
            return self.promoted([group for groups in instructions for group in groups], c)
        running = None if self.c is None else read(self.c, c)
        code = 0
        for groups in instructions:
            partial = read(self.out, 0) if self.from_zero else running
            for group in groups:
                code = self.group(group, partial)
                partial = read(self.out, code) if code != self.nan else NAN
            if self.late:
                assert running is not None and partial is not None
                code = self.add(self.late["format"], running, partial, self.late["rounding"])
                if code == FORMS[self.late["format"]].nan:
                    code, partial = self.own_nan or code, NAN
                else:
                    partial = read(self.late["format"], code)
            running = partial
        return code

    def instructions(self, products: list[Number]) -> list[list[list[Number]]]:
        """The products by instruction and group, filled up with products of +0 and +0.

        Up to whole groups, or whole instructions where a group's place in its instruction matters.
        """
        ordered = self.order != "sequential"
        whole = self.k if ordered or self.from_zero else self.lanes
        zero = Number("finite", False, Fraction(0), self.factor(self.a, 0).exp + self.factor(self.b, 0).exp)
        products = [*products, *[zero] * (-len(products) % whole)]
        made = []
        for start in range(0, len(products), self.k):
            here = products[start : start + self.k]
            if ordered:
                modulo, listed = self.order["modulo"], self.order["groups"]
                groups = [[one for i, one in enumerate(here) if i % modulo in group] for group in listed]
            else:
                groups = [here[i : i + self.lanes] for i in range(0, len(here), self.lanes)]
            made.append(groups)
        return made

    def promoted(self, groups: list[list[Number]], c: int) -> int:
        """Partial sums that go into a wider register every `interval` products, and at the end."""
        each = self.promotion["interval"] // self.lanes
        fmt = self.promotion["format"]
        register = PLUS_ZERO if self.c is None else read(self.c, c)
        code = 0
        for start in range(0, len(groups), each):
            partial = read(self.out, 0)
            for group in groups[start : start + each]:
                out = self.group(group, partial)
                partial = read(self.out, out) if out != self.nan else NAN
            code = self.add(fmt, register, partial, self.promotion.get("rounding", "rne"))
            register = NAN if code == FORMS[fmt].nan else read(fmt, code)
        return code

    def factor(self, name: str, code: int) -> Number:
        """A factor as it is multiplied: in the format that it is converted to, and zero if subnormal there and DAZ."""
        number = read(name, code)
        form = FORMS[self.convert or name]
        if number.kind != "finite":
            return number
        if self.convert:
            leading = floor_log2(abs(number.value)) if number.value else form.emin
            number = number._replace(exp=max(leading, form.emin))
        if self.daz and form.top != "fixed" and abs(number.value) < two(form.emin):
            number = number._replace(value=Fraction(0))
        return number

    def product(self, i: int, x: int, y: int, scale_a: Sequence[int], scale_b: Sequence[int]) -> Number:
        """One exact product; its exponent is the sum of its factors', and of its scales'."""
        factors = [self.factor(self.a, x), self.factor(self.b, y)]
        if self.blocks:
            factors += [read("e8m0", scale_a[i // self.blocks[0]]), read("e8m0", scale_b[i // self.blocks[1]])]
        if any(factor.kind == "nan" for factor in factors):
            return NAN
        negative = factors[0].negative != factors[1].negative
        if any(factor.kind == "inf" for factor in factors):
            zero = any(factor.kind == "finite" and factor.value == 0 for factor in factors)
            return NAN if zero else Number("inf", negative, Fraction(0), 0)
        value = math.prod((factor.value for factor in factors), start=Fraction(1))
        return Number("finite", negative, value, sum(factor.exp for factor in factors))

    def group(self, products: list[Number], addend: Number | None) -> int:
        """One fused sum: aligned to the largest exponent, summed, rounded once."""
        terms = [*products, *([] if addend is None else [addend])]
        special = specials(terms)
        if special is not None:
            if special.kind == "nan":
                return self.nan
            return self.infinite(self.out, special.negative)
        live = [term for term in terms if term.value != 0]
        if not live:
            return self.zero(terms)
        top = max(term.exp for term in (terms if self.zeros_count else live))
        quantum = two((top if self.floor is None else max(top, self.floor)) - self.fraction_bits)
        total = sum((self.keep(term.value / quantum) for term in live), 0) * quantum
        if total == 0:
            return self.zero(terms)
        return self.round(self.out, total, self.rounding, self.overflow, self.tiny, self.flush)

    def zero(self, terms: list[Number]) -> int:
        """A sum of exactly zero: +0, or with the sign that IEEE 754 gives to such a sum."""
        negatives = [term.negative for term in terms]
        ieee = any(negatives) if self.rounding == "rd" else all(negatives)
        return write(self.out, self.ieee_zero and ieee, Fraction(0))

    def keep(self, ratio: Fraction) -> int:
        """What is left of a term in whole window bits."""
        if self.lost == "floor":
            return math.floor(ratio)
        mode = {"truncate": "rz", "jam": "rto"}.get(self.lost, self.lost)
        magnitude = choose(math.floor(abs(ratio)), abs(ratio), ratio < 0, mode)
        return -magnitude if ratio < 0 else magnitude

    def round(
        self, name: str, value: Fraction, mode: str, overflow: str, tiny: str = "signed", flush: bool = False
    ) -> int:
        """The code of the neighbour of a value other than zero that the rounding picks, with no upper end yet."""
        form, negative, magnitude = FORMS[name], value < 0, abs(value)
        ulp = two(max(floor_log2(magnitude), form.emin) - form.fraction_bits)
        rounded = choose(math.floor(magnitude / ulp), magnitude / ulp, negative, mode) * ulp
        if rounded > largest(name):
            return self.beyond(name, negative, overflow)
        if flush and rounded < two(form.emin):
            rounded = Fraction(0)
        if rounded == 0 and tiny == "positive":
            negative = False
        return write(name, negative, rounded)

    def beyond(self, name: str, negative: bool, overflow: str) -> int:
        """What is too large."""
        if overflow == "nan":
            return FORMS[name].nan
        if overflow == "saturate":
            return write(name, negative, largest(name))
        form = FORMS[name]
        top = ((1 << form.exponent_bits) - 1) << form.fraction_bits
        return (negative << (form.exponent_bits + form.fraction_bits) | top) << form.padding

    def infinite(self, name: str, negative: bool) -> int:
        """An infinite result: it stays one unless the unit saturates or the format has none."""
        keeps = self.overflow != "saturate" and FORMS[name].top == "ieee"
        return self.beyond(name, negative, "infinity" if keeps else self.overflow)

    def add(self, name: str, x: Number, y: Number, mode: str) -> int:
        """x + y with one rounding, as IEEE 754 has it."""
        special = specials([x, y])
        if special is not None:
            return FORMS[name].nan if special.kind == "nan" else self.beyond(name, special.negative, "infinity")
        total = x.value + y.value
        if total == 0:
            # IEEE 754-2019, section 6.3: equal zeros keep their sign; else +0, and -0 when rounding down.
            alike = x.value == 0 and x.negative == y.negative
            negative = x.negative if alike else mode == "rd"
            return write(name, negative, Fraction(0))
        return self.round(name, total, mode, "infinity")


def specials(terms: Sequence[Number]) -> Number | None:
    """NaN, or infinity, if the terms make one."""
    infinities = [term for term in terms if term.kind == "inf"]
    if any(term.kind == "nan" for term in terms) or len({term.negative for term in infinities}) == 2:
        return NAN
    return infinities[0] if infinities else None
