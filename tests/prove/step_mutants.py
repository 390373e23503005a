"""Mistakes in the steps of a datapath, and the claims that they break."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Value

from hwsim.rtl import aligned as align
from hwsim.rtl import aligned as sum
from hwsim.rtl import arithmetic as lost
from hwsim.rtl import normalize, terms
from hwsim.rtl import products as decode

HOPPER, F16, DEEPSEEK = "hopper-wgmma-e4m3-f32", "ampere-mma-f16-f16", "deepseek-v3-e4m3-f32"
Patch = pytest.MonkeyPatch

real_maximum, real_clamp, real_shifted = align.bitwise_maximum, align.clamp, lost.shifted
real_all, real_some = sum.all_terms, sum.some_terms
real_zeros, real_last = normalize.leading_zeros, normalize.last_place


def on(module: Any, name: str, made: Callable[..., Any]) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(module, name, made)


def all_but_one(m: Any, values: Any, end: str) -> Any:
    """One of the exponents is not looked at."""
    return real_maximum(m, [*values[:5], *values[6:]], end)


def unclamped(distance: Value, bits: int) -> Value:
    return distance[:bits] if len(distance) > bits else real_clamp(distance, bits)


def all_but_first(m: Any, words: Any, bits: int, truncated: bool, end: str) -> Any:
    return real_all(m, words._replace(low=words.low[1:]), bits, truncated, end)


def never_up(*arguments: Any) -> Any:
    last, _ = real_last(*arguments)
    return last, 0


def floored(m: Any, name: str, window: Any, sign: Any, shift: Any, drop: int, rule: Any) -> Any:
    return real_shifted(m, name, window, sign, shift, drop, "floor")


def zeros_of_one_more(m: Any, value: Value) -> Any:
    is_zero, count = real_zeros(m, value)
    return is_zero, [count[0] | ~count[0], *count[1:]] if len(count) > 3 else count


def no_nan(self: Any, code: Any, codes: Any) -> Any:
    return decode.is_any_of(code, ())


# A mistake, the unit that it is tried with, and the claim that it breaks.
MUTANTS: dict[str, tuple[str, str, Callable[[Patch], None]]] = {
    "a comparison left out": (HOPPER, "maximum", on(align, "bitwise_maximum", all_but_one)),
    "a distance without its high bits": (HOPPER, "lane: aligned", on(align, "clamp", unclamped)),
    "floor for truncate": (HOPPER, "lane: aligned", on(align, "shifted", floored)),
    "a term left out": (HOPPER, "sum", on(sum, "all_terms", all_but_first)),
    "a rounding that never goes up": (F16, "result", on(normalize, "last_place", never_up)),
    "a zero too many": (HOPPER, "result", on(normalize, "leading_zeros", zeros_of_one_more)),
    "a NaN that is a number": (HOPPER, "factor: a", on(decode.FloatDecode, "_is_listed_nan", no_nan)),
}


def some_but_first(m: Any, words: Any, bits: int, name: str) -> Any:
    return real_some(m, words._replace(low=words.low[1:]), bits, name)


def some_unsigned(m: Any, words: Any, bits: int, name: str) -> Any:
    """What stands above the sum of few terms is 0, whatever their sign."""
    return real_some(m, words, bits, name).as_unsigned()


def some_and_one(m: Any, words: Any, bits: int, name: str) -> Any:
    return real_some(m, words, bits, name) + 1


# Sums of neighbours, which there are only before a register inside of the sum: the right one, and mistakes.
NEIGHBOURS: dict[str, Callable[..., Any]] = {
    "right": real_some,
    "a term left out": some_but_first,
    "a sum without its sign": some_unsigned,
    "a carry too many": some_and_one,
}


def elaborated(step: Any, change: Callable[[Any], None]) -> Callable[[Patch], None]:
    """Another `compute` of a step, made of its own."""

    def mutate(patch: Patch) -> None:
        compute = step.compute

        def wrong(self: Any, m: Any) -> None:
            compute(self, m)
            change(self, m)  # type: ignore[call-arg]

        patch.setattr(step, "compute", wrong)

    return mutate


def flag_lost(self: Any, m: Any) -> None:
    m.d.comb += self.o.special.nan.eq(self.i.special.nan)


def sign_of_a(self: Any, m: Any) -> None:
    m.d.comb += self.o.terms[0].sign.eq(self.i.a[0].sign)


def lane_of_another(self: Any, m: Any) -> None:
    m.d.comb += self.o.terms[3].sig.eq(self.i.a[3].sig * self.i.b[2].sig)


def sign_of_others(self: Any, m: Any) -> None:
    for lane, term in enumerate(self.o.terms):
        m.d.comb += term.sign.eq(self.i.a[lane].sign ^ self.i.b[lane].sign ^ (self.i.b[1].sig == 3))


def addend_of_factors(self: Any, m: Any) -> None:
    with m.If(self.i.b[1] == 3):
        m.d.comb += self.o.addend.sign.eq(0)


MUTANTS |= {
    "a sign that another lane changes": (HOPPER, "lane: product", elaborated(terms.Multiply, sign_of_others)),
    "an addend that a factor changes": (HOPPER, "addend: alone", elaborated(terms.Decode, addend_of_factors)),
    "a flag of products is lost": (HOPPER, "lane: product", elaborated(terms.Multiply, flag_lost)),
    "a sign of one factor": (HOPPER, "lane: product", elaborated(terms.Multiply, sign_of_a)),
    "a factor of another lane": (HOPPER, "lanes: products", elaborated(terms.Multiply, lane_of_another)),
}
