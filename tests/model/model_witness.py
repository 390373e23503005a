"""An independent witness of a whole dot product, in exact rationals.

Written from section 2 of the design (docs/arithmetic.md) alone: it imports nothing of hwsim, has its own table of
formats, reads a unit as the plain mapping that its YAML file is, and thinks in values, where the model thinks in
integers and shifts. Slow, and meant to be read. Formats and rounding are in witness_numbers.py, the methods in
witness_sums.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from model.witness_numbers import (
    FORMS,
    NAN,
    PLUS_ZERO,
    Number,
    add,
    endless,
    floor_log2,
    read,
    rounded,
    scaled,
    specials,
    two,
    write,
)
from model.witness_sums import Sum, cancelled, chain, even_odd, is_low, late, own_windows, subgroups, window

__all__ = ["FORMS", "Witness"]


def named(fmt: Any) -> Any:
    """A format's name, where its keys may stand instead."""
    return fmt["name"] if isinstance(fmt, dict) else fmt


@cache
def factor_of(name: str, code: int, convert: str | None, daz: bool, zeros: str) -> Number:
    """A factor in the format that it is converted to, and zero if it is subnormal there and `daz`.

    zeros: `positive` where zeros lose their signs.
    """
    number = read(name, code)
    form = FORMS[convert or name]
    if number.kind != "finite":
        return number
    if convert:
        leading = floor_log2(abs(number.value)) if number.value else form.emin
        number = number._replace(exp=max(leading, form.emin))
    if daz and form.top != "fixed" and abs(number.value) < two(form.emin):
        number = number._replace(value=Fraction(0))
    return number._replace(negative=False) if zeros == "positive" and number.value == 0 else number


class Witness:
    """A unit, from the mapping in its YAML file."""

    def __init__(self, spec: dict[str, Any]):
        operands, instruction, result = spec["operands"], spec["instruction"], spec["result"]
        self.a, self.b = named(operands["a"]), named(operands["b"])
        self.convert, self.daz = operands.get("convert"), operands.get("daz", False)
        self.zeros = operands.get("zeros", "signed")
        self.c = None if operands.get("addend", "none") == "none" else named(operands["addend"])
        self.k, self.lanes = instruction["k"], instruction["lanes"]
        self.order = instruction.get("order", "sequential")
        self.from_zero = instruction.get("start") == "zero"
        self.rule: dict[str, Any] = {**spec["sum"], "format": named(spec["sum"].get("format"))}
        self.method, self.ieee_zero = self.rule["method"], self.rule.get("zero") == "ieee"
        self.limit = self.rule.get("product_limit", "none")
        self.late: dict[str, Any] = spec.get("late", {})
        self.out, self.rounding = named(result["format"]), result["rounding"]
        self.overflow, self.tiny = result.get("overflow", "infinity"), result.get("tiny", "signed")
        self.flush = result.get("tininess", "result") if result.get("subnormals") == "flush" else None
        self.own_nan: int | None = result["nan"] if isinstance(result.get("nan"), int) else None
        self.nan = self.own_nan or FORMS[self.out].nan
        promotion = spec.get("promotion", "none")
        self.promotion: dict[str, Any] = {} if promotion == "none" else promotion
        scale = spec.get("scale", "none")
        self.blocks = None if scale == "none" else (scale["a"]["block"][1], scale["b"]["block"][0])
        self.scale_formats = None if scale == "none" else (named(scale["a"]["format"]), named(scale["b"]["format"]))
        self.scaled_at = None if scale == "none" else scale.get("at", "product")

    def dot(self, a: Sequence[int], b: Sequence[int], c: int, scale_a: Sequence[int], scale_b: Sequence[int]) -> int:
        """The result's code. scale_a, scale_b: a code a block."""
        if self.c is not None and self.zeros == "positive":
            addend, flushes = read(self.c, c), self.rule.get("flush", False) or self.late.get("flush", False)
            small = flushes and abs(addend.value) < two(FORMS[self.c].emin)
            c = 0 if addend.kind == "finite" and (addend.value == 0 or small) else c
        scales = self.scales(len(a), scale_a, scale_b)
        products = [self.product(x, y, s) for x, y, s in zip(a, b, scales, strict=True)]
        instructions = self.instructions(products)
        if self.promotion:
            return self.promoted([group for groups in instructions for group in groups], c, scales)
        running = None if self.c is None else read(self.c, c)
        code, index, wide = 0, 0, self.c
        for groups in instructions:
            partial = read(self.out, 0) if self.from_zero else running
            for group in groups:
                code, partial = self.group(group, partial, scales[index * self.lanes :])
                index += 1
            if self.late:
                assert running is not None
                code = self.late_addition(running, wide, groups[-1], read(self.out, code) if code != self.nan else NAN)
                wide = self.late.get("format", self.out)
                partial = NAN if code in (FORMS[wide].nan, self.own_nan) else read(wide, code)
            running = partial
        return code

    def late_addition(self, addend: Number, fmt: str, group: list[Number], partial: Number) -> int:
        """The addend, added after an instruction's last group: to its result, or to its sum before it is rounded.

        fmt: the addend's format.
        """
        if self.late["operation"] == "window":
            start = [read(self.out, 0)] if self.method == "aligned" else []
            group = [*group, *start]
            special = specials([*group, addend])
            if special is not None:
                return self.special(special)
            zeros_count = self.rule.get("zero_terms") == "count"
            total = late(self.windowed(group), addend, self.late, zeros_count, FORMS[self.out].emin)
            return self.finite(total, [*group, addend])
        name = self.late["format"]
        flush = self.late.get("tininess", "result") if self.late.get("flush") else None
        if flush and addend.kind == "finite" and abs(addend.value) < two(FORMS[fmt].emin):
            addend = addend._replace(value=Fraction(0))
        code = add(name, [addend, partial], self.late["rounding"], flush)
        return self.own_nan or code if code == FORMS[name].nan else code

    def scales(self, k: int, scale_a: Sequence[int], scale_b: Sequence[int]) -> list[tuple[Number, Number]]:
        """Both scales of every product."""
        one = Number("finite", False, Fraction(1), 0)
        if self.blocks is None or self.scale_formats is None:
            return [(one, one)] * k
        (long_a, long_b), (name_a, name_b) = self.blocks, self.scale_formats
        return [(read(name_a, scale_a[i // long_a]), read(name_b, scale_b[i // long_b])) for i in range(k)]

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

    def promoted(self, groups: list[list[Number]], c: int, scales: list[tuple[Number, Number]]) -> int:
        """Partial sums that go into a wider register every `interval` products, and at the end."""
        each = self.promotion["interval"] // self.lanes
        fmt, mode = named(self.promotion["format"]), self.promotion.get("rounding", "rne")
        register = PLUS_ZERO if self.c is None else read(self.c, c)
        if self.c not in (None, fmt):
            register = read(fmt, add(fmt, [register], mode))
        code = 0
        for start in range(0, len(groups), each):
            partial: Number | None = read(self.out, 0)
            for group in groups[start : start + each]:
                out, partial = self.group(group, partial, scales)
            partial = read(self.out, out) if out != self.nan else NAN
            if self.scaled_at == "promotion":
                of_a, of_b = scales[start * self.lanes]
                first = self.promotion.get("first", "scales")
                pair, last = {
                    "scales": ((of_a, of_b), partial), "a": ((partial, of_a), of_b), "b": ((partial, of_b), of_a)
                }[first]  # fmt: skip
                made = add(fmt, [scaled(pair)], mode)
                partial = scaled([NAN if made == FORMS[fmt].nan else read(fmt, made), last])
            code = add(fmt, [register, partial], mode)
            register = NAN if code == FORMS[fmt].nan else read(fmt, code)
        return code

    def factor(self, name: str, code: int) -> Number:
        """A factor as it is multiplied."""
        return factor_of(name, code, self.convert, self.daz, self.zeros)

    def product(self, x: int, y: int, scales: tuple[Number, Number]) -> Number:
        """One exact product; its exponent is the sum of its factors', and of its scales'."""
        made = scaled(
            [self.factor(self.a, x), self.factor(self.b, y), *(scales if self.scaled_at == "product" else ())]
        )
        if self.limit != "none" and made.kind == "finite" and abs(made.value) >= two(self.limit):
            return Number("inf", made.negative, Fraction(0), 0)
        return made

    def group(
        self, products: list[Number], addend: Number | None, scales: Sequence[tuple[Number, Number]]
    ) -> tuple[int, Number]:
        """One group's sum, rounded; and what the next group starts from."""
        one = Number("finite", False, Fraction(1), 0)
        sides = [[pair[side] for pair in scales[: len(products)]] for side in (0, 1)]
        sides = [[*side, *[one] * (len(products) - len(side))] for side in sides]
        sides = sides if self.scaled_at == "subgroup" else [[one] * len(products)] * 2
        part = self.rule.get("subgroup", {})
        if self.method in ("sequential", "pairwise"):
            if part:
                products = subgroups(products, part["lanes"], *sides)
            last = chain(products, addend, self.rule)
            code = self.special(last) if last.kind != "finite" else self.finite(last.value, [last], True)
            return code, self.back(code)
        terms, also, low = products, [], False
        if part.get("method") == "aligned":
            terms, also = own_windows(products, part, *sides)
        elif self.scaled_at == "subgroup":
            low = is_low(products, *sides, addend)
            lanes = part["low_lanes"] if low and part.get("low_lanes", "none") != "none" else part["lanes"]
            low = low and part.get("low_addend") == "skip"
            terms = subgroups(products, lanes, *sides)
            if part.get("cancelled") == "count":
                also = cancelled(products, lanes, *sides)
        alone = terms
        if addend is not None and self.method != "even-odd":
            terms = [*terms, addend]
        special = specials(terms)
        if special is not None:
            code = self.special(special)
            return code, special if self.carries else self.back(code)
        if low:
            total = window(alone, self.rule["fraction_bits"], self.rule, also, addend).value
        else:
            total = self.windowed(terms, also).value
        code = self.finite(total, terms)
        if self.carries:
            negative = total < 0 or (total == 0 and self.ieee_zero and self.negative_zero(terms))
            return code, Number("finite", negative, total, 0)
        return code, self.back(code)

    @property
    def carries(self) -> bool:
        """Whether the exact sum goes on from group to group."""
        return self.method == "exact" and self.rule.get("rounded", "end") == "end"

    def back(self, code: int) -> Number:
        """A result as the next addend."""
        return read(self.out, code) if code != self.nan else NAN

    def windowed(self, terms: Sequence[Number], also: Sequence[int] = ()) -> Sum:
        """The sum of finite terms, before its rounding."""
        if self.method == "exact":
            return Sum(sum((term.value for term in terms), Fraction(0)), None)
        if self.method == "even-odd":
            return even_odd(terms, self.rule)
        return window(terms, self.rule["fraction_bits"], self.rule, also)

    def finite(self, total: Fraction, terms: Sequence[Number], ieee: bool = False) -> int:
        """A sum's code."""
        if total:
            code = rounded(self.out, total, self.rounding, self.overflow, self.tiny, self.flush)
            return self.nan if code == FORMS[self.out].nan else code  # of a number: it is too large
        if FORMS[self.out].top == "fixed":
            return 0
        sign = terms[0].negative if ieee else self.ieee_zero and self.negative_zero(terms)
        return write(self.out, sign, Fraction(0))

    def negative_zero(self, terms: Sequence[Number]) -> bool:
        """Whether IEEE 754 gives a sum of exactly zero a sign."""
        negatives = [term.negative for term in terms]
        return any(negatives) if self.rounding == "rd" else all(negatives)

    def special(self, term: Number) -> int:
        """NaN; or an infinite result, which stays one unless the unit saturates or the format has none."""
        if term.kind == "nan":
            return self.nan
        code = endless(self.out, term.negative, self.overflow)
        return self.nan if code == FORMS[self.out].nan else code
