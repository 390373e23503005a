"""Mistakes in the steps of other windows and of exact sums, and in the model, and the claims that they break."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prove.step_mutants import Patch, all_but_first, elaborated, floored, on

from hwsim.model import late as model_late
from hwsim.model import rounding as model_result
from hwsim.prove.claims import holds
from hwsim.prove.symbolic import Tailed, Truth
from hwsim.rtl import aligned, exact, latewindow, terms
from hwsim.rtl import products as decode
from hwsim.rtl.normalize import Magnitude

Mutant = tuple[str, str, Callable[[Patch], None]]

real_maximum, real_aligned = aligned.bitwise_maximum, latewindow.aligned
real_cut = latewindow.cut
real_align = model_late.align
real_round = model_result.round_to


def without_first(m: Any, values: Any, end: str) -> Any:
    return real_maximum(m, values[1:], end)


def zeros_left_out(self: aligned.Maximum) -> Any:
    return self.i.addend.sig.any(), self.i.addend.exp


def truncated(m: Any, name: str, term: Any, top: Any, most: int, bits: int, lost: Any) -> Any:
    return real_aligned(m, name, term, top, most, bits, "truncate")


def never_negative(self: Any, m: Any) -> None:
    m.d.comb += self.o.zero_sign.eq(0)


def even_alone(self: Any, m: Any) -> None:
    m.d.comb += self.o.total.eq(self.i.total_even)


def of_any_sign(self: Any, m: Any) -> None:
    for term, to in zip(self.i.terms, self.o.aligned, strict=True):
        m.d.comb += to.eq(term.sig << term.places)


def of_another_block(self: Any, m: Any) -> None:
    m.d.comb += self.o.terms[0].exp.eq(self.i.scale_a[0].bexp + self.i.scale_a[0].bexp)


def never_special(self: Any, m: Any) -> None:
    m.d.comb += self.o.special.nan.eq(0)


def starts_again(self: Any, m: Any) -> None:
    m.d.comb += self.o.so_far.total.eq(0)


def start_lost(self: Any, m: Any) -> None:
    with m.If(self.i.chain):
        m.d.comb += self.o.start.total.eq(0)


def sign_of_products(self: Any, m: Any) -> None:
    m.d.comb += self.o.start.zero_sign.eq(self.o.terms[0].sign)


def not_subnormal(self: Any, m: Any) -> None:
    m.d.comb += self.o.bexp.eq(2)


def ones_complement(self: Any, m: Any) -> None:
    m.d.comb += self.o.sig.eq(self.code ^ self.code[-1].replicate(len(self.code)))


def elaborating(component: Any, change: Callable[[Any, Any], None]) -> Callable[[Patch], None]:
    """Another `elaborate` of a component, made of its own."""

    def mutate(patch: Patch) -> None:
        elaborate = component.elaborate

        def wrong(self: Any, platform: object) -> Any:
            m = elaborate(self, platform)
            change(self, m)
            return m

        patch.setattr(component, "elaborate", wrong)

    return mutate


def cut_one_more(m: Any, total: Any, places: Any, lost: Any) -> Any:
    return real_cut(m, total, places, "truncate" if lost != "truncate" else "floor")


def loses_less(self: latewindow.CutSum, m: Any) -> None:
    m.d.comb += self.o.total.eq(real_cut(m, self.i.total, self.rule.bits - 1, self.rule.lost))


def ones_complement_of_sum(self: Any, m: Any) -> None:
    total = self.i.total
    m.d.comb += self.o.magnitude.eq(total[:-1] ^ total[-1].replicate(len(total) - 1))


def without_tail(self: Tailed, other: Any) -> Any:
    return Truth(holds(self.above > self._other(other)))


def odd_in_one_unit(fmt: Any, sign: Any, sig: Any, unit_exp: Any, *rules: Any) -> Any:
    return real_round(fmt, sign, sig | 1 if unit_exp == -20 else sig, unit_exp, *rules)


# A mistake, the odd unit that it is tried with, and the claim that it breaks.
MUTANTS: dict[str, Mutant] = {
    "a term that is not compared": ("zeros-count", "maximum", on(aligned, "bitwise_maximum", without_first)),
    "zeros that do not count": ("zeros-count", "maximum", on(aligned.Maximum, "_addend", zeros_left_out)),
    "floor for truncate": ("zeros-count", "lane: aligned", on(aligned, "shifted", floored)),
    "a term that is not added": ("ieee-zero", "sum", on(aligned, "all_terms", all_but_first)),
    "a zero that is never negative": ("ieee-zero", "sign of zero", elaborated(terms.Multiply, never_negative)),
    "a half left out": ("even-odd-bare", "combine", elaborated(latewindow.CombineHalves, even_alone)),
    "a cut of another rule": ("late-window-total", "late: cut", on(latewindow, "cut", cut_one_more)),
    "a place of the sum that is not lost": ("cut-counted", "cut", elaborated(latewindow.CutSum, loses_less)),
    "truncated for floor": ("late-window", "late: kept addend", on(latewindow, "aligned", truncated)),
    "a scale that counts twice": (
        "subgroups",
        "subgroup: scaled",
        elaborated(terms.Multiply, of_another_block),
    ),
    "a NaN of a scale lost": ("subgroups", "subgroups: flags", elaborated(terms.Multiply, never_special)),
    "a product without its sign": ("exact-zero", "lane: aligned", elaborated(exact.ExactAlign, of_any_sign)),
    "a sum that starts again": ("exact-zero", "sum", elaborated(exact.ExactTotal, starts_again)),
    "a start that is lost": ("exact-zero", "start: carried", elaborated(exact.ExactDecode, start_lost)),
    "a zero's sign of one product": ("exact-zero", "sign of zero", elaborated(exact.ExactMultiply, sign_of_products)),
    "a magnitude of ones' complement": ("exact-zero", "magnitude", elaborated(Magnitude, ones_complement_of_sum)),
    "a tail that is no more than none": ("exact-f16-group", "composition: tails", on(Tailed, "__gt__", without_tail)),
    "a unit that rounds otherwise": ("exact-zero", "composition: units", on(model_result, "round_to", odd_in_one_unit)),
    "a factor converted to no subnormal": ("converted", "factor: a", elaborating(decode.Converted, not_subnormal)),
    "an integer of ones' complement": ("integers", "factor: a", elaborating(decode.FixedDecode, ones_complement)),
}
