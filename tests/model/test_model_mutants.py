"""The witness must catch a wrong model: each mutant is one mistake, and the cases that pass without it must fail."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from computed_once import computed_once
from model.model_units import Case, Right, assert_caught, cases, expected, right_of, run
from odd_units import unit

import hwsim.model
from hwsim.formats import Class, Fields, FloatFormat, unpack
from hwsim.model import definition, late, methods, rounding, scales, terms
from hwsim.model.definition import Definition, GroupOperands, Stepped
from hwsim.model.hooks import Hooks
from hwsim.model.late import LateOperands, Promoted, Promoter, RoundedLateAddition
from hwsim.model.methods import (
    AddendToCome,
    EvenOdd,
    Exact,
    ExactSoFar,
    FirstAddend,
    Pairwise,
    PromotedRegister,
    ResultCode,
    RoundedAdditions,
    Sequential,
    Summed,
    SumMethod,
)
from hwsim.model.record import Explanation
from hwsim.model.rounding import add, infinity_code, round_to, zero_sign
from hwsim.model.scales import SubgroupScales, SubgroupWindows, UnscaledSums
from hwsim.model.terms import AlignedTerms, Term, addend_term, align, convert, limited, max_exponent, product
from hwsim.spec import LateInWindow, RoundedSum, Unit
from hwsim.spec.parts import Instruction
from hwsim.spec.sums import SumCut

Patch = pytest.MonkeyPatch
HOPPER, ADA, DEEPSEEK, MX = "hopper-wgmma-e4m3-f32", "ada-mma-e4m3-f32", "deepseek-v3-e4m3-f32", "mxfp8-e4m3-f32"
EMULATED = "emulated"
COUNT, SEED = 120, 4

Change = Callable[[Patch], None]

real_add, real_scale, real_flush, real_factor = (
    rounding.add,
    scales.scale_exponent,
    rounding._flushed,
    definition.factor,
)
real_group, real_dot, real_open = Definition._group, Definition.dot, Definition.open
real_promoted, real_late, real_cut = Definition._step_promoted, Definition._step_late, terms.cut_magnitude
real_addition, real_positive_zero = RoundedLateAddition.add, definition.positive_zero
real_pairwise, real_sequential, real_combine = Pairwise.additions, Sequential.additions, methods.combine
real_subgroup, real_halves, real_window = scales.subgroup, EvenOdd.sum, late.late_window
real_promoter_scaled, real_unscaled = SubgroupWindows.scaled, UnscaledSums.subgroup
real_sum_cut = methods.cut_sum
real_promote, real_promoter_scale, real_promoter = Promoter.promote, Promoter.rounded_product, definition.promoter_of
real_subgroup_sums = definition.subgroup_sums
real_lost = methods.any_lost

# What random operands are not likely to be.
DIRECTED = {
    MX: [Case([0xB8] + [0] * 31, [0x38] + [0] * 31, 0, [0], [0])],  # -2^-254
    "ieee-zero": [Case([0x8, 0x8], [0x2, 0x2], 0x8000, [], [])],  # only negative zeros
    "bare-from-zero": [Case([0x80] * 9, [0x38] * 9, 0, [], [])],  # the same, and the +0 that the sum starts from
    # -0 x 1, and the least negative subnormal, beside +0: rounded down, one negative zero makes a sum of -0.
    "window-positive": [Case([0x80, 0], [0x3C, 0x3C], 0, [], []), Case([0x81, 0], [0x3C, 0x3C], 0, [], [])],
    "exact-positive": [Case([0] * 3, [0] * 3, 0x8000, [], [])],
    "late-positive": [Case([0] * 2, [0] * 2, 0x8001, [], [])],
    "flush-signed": [Case([0x04, 0x81], [0x3C, 0x14], 0, [], [])],  # 2^-14 - 2^-26 rounds to 2^-14, which is normal
    # 1 and an addend of 2^-7, one place below where it is dropped; at 2^-8 the addend's window ends.
    "even-odd": [Case([0x40], [0x40], 0x3C000000, [], [])],
    # Products of 2^-25 beside an addend of zero, which counts at 2^-14.
    "late-window-cut": [Case([1] * 3, [1] * 3, 0, [], [])],
    # 1 - 1 with scales of 2^20 and of 1, or of 0, beside an addend of 2^-22.
    "subgroups-cancelled": [
        Case([2, 2, 0, 0, 0, 0, 0, 0], [2, 10, 0, 0, 0, 0, 0, 0], 4, [scale, 0x38], [147]) for scale in (0x38, 0)
    ],
    # -2^-14 and 2^-14 + 2^-24: both normal in f16, their sum not.
    "exact-late": [Case([0x84], [0x3C], 0x0401, [], [])],
}


@computed_once("model")
def right_results() -> Right:
    return right_of(MUTANTS, DIRECTED, COUNT, SEED)


def on(owner: object, name: str, function: object) -> Change:
    return lambda patch: patch.setattr(owner, name, function)


def lost_as(rounding: str) -> Change:
    def cut(sig: int, shift: int, sign: int, lost: str) -> int:
        if lost == "truncate":
            return terms.round_magnitude(sig, shift, sign, rounding)  # type: ignore[arg-type]
        return real_cut(sig, shift, sign, lost)  # type: ignore[arg-type]

    return patched("cut_magnitude", cut)


def patched(name: str, function: object) -> Change:
    """A function in the place of another, wherever the model knows it by that name."""
    names = [f"hwsim.model.{found.name}" for found in pkgutil.iter_modules(hwsim.model.__path__) if not found.ispkg]
    modules = [module for module in map(importlib.import_module, names) if hasattr(module, name)]
    assert modules, name

    def patch_all(patch: Patch) -> None:
        for module in modules:
            patch.setattr(module, name, function)

    return patch_all


def narrow_align(term: Term, max_exp: int, bits: int, lost: str) -> int:
    return 2 * align(term, max_exp, bits - 1, lost)


def late_shift(term: Term, max_exp: int, bits: int, lost: str) -> int:
    far = max_exp - term.exp >= 8
    return align(term, max_exp + far, bits, lost)


def wrapped_shift(term: Term, max_exp: int, bits: int, lost: str) -> int:
    return align(term, term.exp + (max_exp - term.exp) % 16, bits, lost)


def leading_one(terms: list[Term], *_: Any) -> int | None:
    normal = [term for term in terms if term.cls is Class.NORMAL]
    return max((term.exp + term.sig.bit_length() - 1 - term.fraction_bits for term in normal), default=None)


def zeros_count(terms: list[Term], *_: Any) -> int | None:
    return None if max_exponent(terms) is None else max(term.exp for term in terms)


def maximum_as(*rules: Any) -> Callable[..., int | None]:
    return lambda terms, *_: max_exponent(terms, *rules)


def one_floor_less(terms: list[Term], zero_terms: str, floor: int) -> int | None:
    return max_exponent(terms, zero_terms, floor - 1)


def without_products(terms: list[Term], zero_terms: str, floor: int | None) -> int | None:
    return max_exponent([term for term in terms[:-1] if term.sig] + [terms[-1]], zero_terms, floor)


def without_addend(terms: list[Term], zero_terms: str, floor: int | None) -> int | None:
    return max_exponent(terms if terms[-1].sig else terms[:-1], zero_terms, floor)


def unnormalised(fields: Fields, bits: int, to: FloatFormat) -> Fields:
    """A conversion that keeps the exponents of the format that it comes from."""
    made = convert(fields, bits, to)
    shift = made.exp - fields.exp
    return made if made.sig == 0 or shift >= 0 else made._replace(exp=fields.exp, sig=made.sig >> -shift)


def daz_first(fmt: Any, to: Any, daz: bool, zeros: Any, code: int) -> Fields:
    """Subnormals judged before the conversion."""
    fields = real_factor(fmt, None, daz, zeros, code)
    return fields if fields.sig == 0 else real_factor(fmt, to, False, zeros, code)


def signed_zeros(fmt: Any, to: Any, daz: bool, zeros: Any, code: int) -> Fields:
    return real_factor(fmt, to, daz, "signed", code)


def signed_flushed_zeros(fmt: Any, to: Any, daz: bool, zeros: Any, code: int) -> Fields:
    """Only a zero loses its sign, and not what is flushed."""
    fields = real_factor(fmt, to, daz, zeros, code)
    return fields._replace(sign=unpack(fmt, code).sign) if unpack(fmt, code).sig else fields


def every_other(self: Instruction, group: int) -> tuple[int, ...]:
    return tuple(range(group * self.lanes, (group + 1) * self.lanes))


def groups_turned_round(self: Instruction, group: int) -> tuple[int, ...]:
    first, place = divmod(group, self.groups)
    return real_indices(self, first * self.groups + self.groups - 1 - place)


real_indices = Instruction.indices


def each_group_from_zero(self: Definition, start: Any) -> Term:
    return self.partial(0)


def on_and_on(self: Definition, before: AddendToCome, lanes: GroupOperands, last: bool) -> Stepped:
    """Instructions start from one another."""
    made = real_late(self, before, lanes, last)
    assert isinstance(made.carried, AddendToCome)
    return made._replace(carried=replace(made.carried, partial=ResultCode(made.group.code)))


def from_the_addend(self: Definition, c: int) -> Any:
    made = real_open(self, c)
    return replace(made, partial=FirstAddend(c)) if isinstance(made, AddendToCome) else made


def never_from_zero(patch: Patch) -> None:
    patch.setattr(Definition, "_step_late", on_and_on)
    patch.setattr(Definition, "open", from_the_addend)


def late_each_group(self: Definition, before: AddendToCome, lanes: GroupOperands, last: bool) -> Stepped:
    return on_and_on(self, before, lanes, True)


def late_without_addend(self: RoundedLateAddition, operands: LateOperands) -> Any:
    return real_addition(self, operands._replace(addend=0))


def late_without_chain(self: Definition, *arguments: Any) -> Explanation:
    made = real_dot(self, *arguments)
    partial, fmt = made.additions[max(made.additions)].partial, self.unit.operands.addend
    assert fmt is not None
    return replace(made, code=self.late.add(LateOperands(arguments[2], fmt, partial, (), None, ZERO)).code)


def flush_early(fmt: FloatFormat, number: Any, mode: Any, magnitude: int, tininess: str, hooks: Any) -> bool:
    return real_flush(fmt, number, mode, magnitude, "before", hooks)


def without_lane(self: Definition, lanes: GroupOperands, *rest: Any) -> Any:
    return real_group(self, lanes._replace(a=[*lanes.a[:-1], 0]), *rest)


def normal_subnormals(a: Any, b: Any, bits: int) -> Term:
    term = product(a, b, bits)
    return term._replace(exp=term.exp - (Class.SUBNORMAL in (a.cls, b.cls)))


def flushed_subnormals(a: Any, b: Any, bits: int) -> Term:
    term = product(a, b, bits)
    return term._replace(sig=0, cls=Class.ZERO) if Class.SUBNORMAL in (a.cls, b.cls) else term


def infinite_zero(a: Any, b: Any, bits: int) -> Term:
    pair = {a.cls, b.cls}
    return Term(0, 0, 0, bits, Class.ZERO) if pair == {Class.INFINITY, Class.ZERO} else product(a, b, bits)


def rounding_as(mode: str) -> Callable[..., Any]:
    return lambda fmt, sign, sig, exp, _, *rules, **more: round_to(fmt, sign, sig, exp, mode, *rules, **more)


def overflow_as(policy: str) -> Callable[..., Any]:
    return lambda fmt, sign, sig, exp, mode, _, *rules, **more: round_to(
        fmt, sign, sig, exp, mode, policy, *rules, **more
    )


def tiny_as(tiny: str) -> Callable[..., Any]:
    return lambda *number, flush=None: round_to(*number[:6], tiny, number[7] if len(number) > 7 else flush)


def first_infinity(terms: list[Term]) -> Term | None:
    return next((term for term in terms if term.cls in (Class.NAN, Class.INFINITY)), None)


def add_as(mode: str) -> Callable[..., int]:
    return lambda fmt, terms, _, *rules, **more: real_add(fmt, terms, mode, *rules, **more)


def no_tail(self: Definition, before: PromotedRegister, lanes: GroupOperands, last: bool) -> Stepped:
    return real_promoted(self, before, lanes, False)


def one_scale_less(a: Any, x: int, b: Any, y: int) -> int | None:
    exp = real_scale(a, x, b, y)
    return None if exp is None else exp - (x >= 128)


def additions(**changes: Any) -> Change:
    """Other rules for every rounded addition."""

    def changed(self: RoundedAdditions, rule: RoundedSum, hooks: Hooks | None) -> None:
        self.rule, self.hooks = rule.model_copy(update=changes), hooks

    return on(RoundedAdditions, "__init__", changed)


def other_pairs(self: Pairwise, products: Any, addend: Term | None) -> Any:
    return real_pairwise(self, [*products[::2], *products[1::2]], addend)


def addend_first(self: Pairwise, products: Any, addend: Term | None) -> Any:
    return real_pairwise(self, [addend, *products], None)


def backwards(self: Sequential, products: Any, addend: Term | None) -> Any:
    return real_sequential(self, products[::-1], addend)


def beats(change: Callable[[int], int]) -> Change:
    def changed(unit: Unit, hooks: Any = None) -> Promoter | None:
        right = real_promoter(unit)
        return None if right is None else right._replace(groups=change(right.groups))

    return on(definition, "promoter_of", changed)


def late_keys(emin: int = 0, by: dict[str, int] | None = None, **keys: Any) -> Change:
    """Other values of a late addend's keys. by: what is added to some; emin: to the result's least exponent."""

    def made(total: Term, addend: Term, rule: LateInWindow, zeros: Any, least: int) -> Any:
        update = keys | {key: getattr(rule, key) + more for key, more in (by or {}).items()}
        return real_window(total, addend, rule.model_copy(update=update), zeros, least + emin)

    return on(late, "late_window", made)


def cancelled_is_zero(self: Any, *arguments: Any) -> Any:
    return real_subgroup(*arguments)


def cancelled_by_zero_scales(self: Any, products: Any, a: Any, b: Any, bits: int) -> Any:
    """A scale of zero counts as products that cancel do."""
    made = real_subgroup(products, a, b, bits)
    counts = made.term.cls is Class.ZERO and any(term.cls is Class.NORMAL for term in products)
    return made._replace(term=made.term._replace(cls=Class.NORMAL)) if counts else made


def cancelled_by_zeros(self: Any, products: Any, a: Any, b: Any, bits: int) -> Any:
    """Products that are all zero count as those that cancel do."""
    made = real_subgroup(products, a, b, bits)
    counts = made.term.cls is Class.ZERO and a.sig and b.sig
    return made._replace(term=made.term._replace(cls=Class.NORMAL)) if counts else made


def narrow_combine(even: Any, odd: Any, bits: int, lost: str) -> Any:
    made = real_combine(even, odd, bits - 1, lost)
    both = made.combined
    return made._replace(combined=both._replace(fraction_bits=bits, total=2 * both.total))


def successive_halves(self: EvenOdd, terms: Any, addend: Any, special: Any) -> Any:
    half = -(-len(terms) // 2)
    mixed = [term for pair in zip(terms[:half], terms[half:], strict=False) for term in pair]
    return real_halves(self, [*mixed, *terms[len(mixed) // 2 : half]], addend, special)


def normalised_subgroup(products: Any, a: Any, b: Any, bits: int) -> Any:
    """Aligned by the scaled sum's leading one, not by the scales' exponents."""
    made = real_subgroup(products, a, b, bits)
    term = made.term
    shift = term.sig.bit_length() - 1 - term.fraction_bits if term.sig else 0
    moved = term._replace(exp=term.exp + shift, fraction_bits=term.fraction_bits + shift)
    return made._replace(term=moved)


def scales_of_one_side(products: Any, a: Any, b: Any, bits: int) -> Any:
    return real_subgroup(products, a, b._replace(sig=1 << b.sig.bit_length() - 1) if b.sig else b, bits)


def scaled_first(self: Promoter, register: int, partial: int, scales: Any = None) -> Any:
    """The partial sum times the scale, rounded, and then added."""
    scaled = real_promote(self, 0, partial, scales).code
    terms = tuple(addend_term(self.format, code) for code in (register, scaled))
    return Promoted(register, scaled, add(self.format, terms, self.rounding))


def in_order(first: Any) -> Change:
    """A promotion multiplies this first."""

    def changed(unit: Unit, hooks: Any = None) -> Promoter | None:
        right = real_promoter(unit)
        return None if right is None else right._replace(scaling=unit.scaled_first(first))

    return on(definition, "promoter_of", changed)


def truncated_scale(self: Promoter, *arguments: Any) -> int:
    return real_promoter_scale(self._replace(rounding="rz"), *arguments)


def always_carried(self: Exact, summed: Summed, code: int) -> ExactSoFar:
    """The exact sum, whatever `rounded` says."""
    return ExactSoFar(summed.outcome, code)


ROUND_FIXED = rounding.round_fixed  # as it is before a mutant takes its place


def fixed_as(policy: str) -> Change:
    return on(
        rounding,
        "round_fixed",
        lambda fmt, sign, sig, exp, mode, _, hooks: ROUND_FIXED(fmt, sign, sig, exp, mode, policy),
    )


def late_add_keeps(fmt: FloatFormat, terms: Any, mode: Any, flushed: bool = False, hooks: Any = None) -> int:
    return add(fmt, terms, mode)


DROP, DL, CANCELLED = "even-odd", "chain-dl-chunks", "subgroups-cancelled"


def own_keys(bits: int = 0, **keys: Any) -> Change:
    """Other keys of windows of parts. bits: so many more."""

    def wrong(of: Unit) -> Any:
        windows = real_subgroup_sums(of)
        if windows is None:
            return None
        more = {"fraction_bits": windows.rule.fraction_bits + bits} if bits else {}
        return windows._replace(rule=windows.rule.model_copy(update=keys | more))

    return on(definition, "subgroup_sums", wrong)


def first_product(sums: Any, products: Any) -> Any:
    return real_unscaled(sums, products[:1])


def scaled_by_one(windows: Any, part: Any, scale_a: Any, scale_b: Any) -> Any:
    return real_promoter_scaled(windows, part, scale_a, scale_a)


def cut_otherwise(rule: Callable[[SumCut], SumCut | None]) -> Change:
    """Another rule for the places that a sum loses."""
    return on(methods, "cut_sum", lambda kept, own: real_sum_cut(kept, own and rule(own)))


def cut_terms(kept: AlignedTerms, rule: SumCut | None) -> AlignedTerms:
    """Terms without the places that their sum loses."""
    terms = [real_sum_cut(kept._replace(total=term), rule).total for term in kept.aligned]
    return kept._replace(total=sum(terms))


def sticky(change: Callable[[int, int], tuple[int, int]]) -> Change:
    """Another sum and exponent for a sum with a sticky bit."""
    return on(rounding, "with_sticky", lambda total, exp, fmt: change(total, exp))


def sign_of(total: int) -> int:
    return -1 if total < 0 else 1


ZERO = Term(0, 0, 0, 23, Class.ZERO)
MUTANTS: dict[str, tuple[str, Change]] = {
    "floor for truncate": (HOPPER, lost_as("rd")),
    "jam for truncate": (HOPPER, lost_as("rto")),
    "nearest for truncate": (HOPPER, lost_as("rne")),
    "one window bit less": (HOPPER, patched("align", narrow_align)),
    "shift off by one from distance 8": (HOPPER, patched("align", late_shift)),
    "shift amount of four bits": (HOPPER, patched("align", wrapped_shift)),
    "max_exp of leading ones": (HOPPER, patched("max_exponent", leading_one)),
    "zero terms take part in max_exp": (HOPPER, patched("max_exponent", zeros_count)),
    "dropped lane": (HOPPER, on(Definition, "_group", without_lane)),
    "dropped addend": (HOPPER, on(Definition, "addend", lambda self, code: ZERO)),
    "dropped partial": (ADA, on(Definition, "partial", lambda self, code: ZERO)),
    "exponent of subnormals": (HOPPER, patched("product", normal_subnormals)),
    "subnormals flushed": (HOPPER, patched("product", flushed_subnormals)),
    "infinity times zero is zero": ("hopper-wgmma-e5m2-f32", patched("product", infinite_zero)),
    "infinities of both signs are one": ("hopper-wgmma-e5m2-f32", patched("combine_specials", first_infinity)),
    "nearest for towards zero": (HOPPER, patched("round_to", rounding_as("rne"))),
    "down for towards zero": (HOPPER, patched("round_to", rounding_as("rd"))),
    "saturate for infinity": (MX, patched("round_to", overflow_as("saturate"))),
    "saturate for NaN": ("e4m3-nan", patched("round_to", overflow_as("saturate"))),
    "NaN for saturate": ("e4m3-saturate", patched("round_to", overflow_as("nan"))),
    "infinity for the largest towards zero": ("ieee-rz", patched("round_to", overflow_as("infinity"))),
    "infinity for the largest to odd": ("ieee-jam", patched("round_to", overflow_as("infinity"))),
    "saturate for NaN upwards": ("ieee-ru-e4m3", patched("round_to", overflow_as("saturate"))),
    "the largest of the other sign": ("ieee-rd", patched("rounds_inward", lambda fmt, sign, mode: sign == 1)),
    "additions overflow to infinity": ("chain-rd", patched("round_to", overflow_as("infinity"))),
    "infinities saturate": (
        "propagates", patched("infinity_code", lambda fmt, sign, _: infinity_code(fmt, sign, "saturate"))
    ),
    "another NaN of an overflow": (
        "own-nan", on(rounding.ResultRounding, "_own", lambda self, code: code)
    ),
    "tiny results lose their sign": (MX, patched("round_to", tiny_as("positive"))),
    "another NaN": (HOPPER, on(FloatFormat, "canonical_nan", property(lambda _: 0x7FC00000))),
    "promotion towards zero": (DEEPSEEK, patched("add", add_as("rz"))),
    "promotion to nearest for down": ("promoted-rd", patched("add", add_as("rne"))),
    "no promotion of the tail": (DEEPSEEK, on(Definition, "_step_promoted", no_tail)),
    "scales of one and more are one less": (MX, patched("scale_exponent", one_scale_less)),
    "converted subnormals keep their exponent": (
        "converted", on(terms, "convert", unnormalised)
    ),
    "subnormals that convert to normals are flushed": ("daz-converted", patched("factor", daz_first)),
    "no daz": ("daz", patched("factor", lambda fmt, to, daz, zeros, code: real_factor(fmt, to, False, zeros, code))),
    "zeros with signs": ("window-positive", patched("factor", signed_zeros)),
    "flushed factors with signs": ("window-positive", patched("factor", signed_flushed_zeros)),
    "an addend of -0": ("exact-positive", patched("positive_zero", lambda fmt, code, flush: code)),
    "a flushed addend with a sign": (
        "late-positive", patched("positive_zero", lambda fmt, code, flush: real_positive_zero(fmt, code, False)),
    ),
    "groups of successive products": (EMULATED, on(Instruction, "indices", every_other)),
    "groups in the other order": (EMULATED, on(Instruction, "indices", groups_turned_round)),
    "groups in another order, with an addend": ("ordered-chain", on(Instruction, "indices", groups_turned_round)),
    "scales of successive products": ("ordered-blocks", on(Instruction, "indices", every_other)),
    "every group starts from zero": (EMULATED, on(Definition, "_addend_of", each_group_from_zero)),
    "no group starts from zero": (EMULATED, never_from_zero),
    "instructions start from one another": ("late-sequential", on(Definition, "_step_late", on_and_on)),
    "no late addend": (EMULATED, on(RoundedLateAddition, "add", late_without_addend)),
    "a late addend after each group": (EMULATED, on(Definition, "_step_late", late_each_group)),
    "only the last instruction's sum": (EMULATED, on(Definition, "dot", late_without_chain)),
    "a late addend towards zero": (EMULATED, patched("add", add_as("rz"))),
    "a late addend to nearest for up": ("emulated-backwards", patched("add", add_as("rne"))),
    "zero terms take no part": ("zeros-count", patched("max_exponent", maximum_as("skip"))),
    "zero products take no part": ("zeros-count", patched("max_exponent", without_products)),
    "a zero addend takes no part": ("zeros-count", patched("max_exponent", without_addend)),
    "zero terms take no part beside a promotion": ("zeros-count-promoted", patched("max_exponent", maximum_as("skip"))),
    "max_exp has no floor": ("floored", patched("max_exponent", maximum_as("skip", None))),
    "max_exp has a lower floor": ("floored", patched("max_exponent", one_floor_less)),
    "zeros are positive": ("ieee-zero", patched("zero_sign", lambda terms, rounding: 0)),
    "zeros of terms of both signs are negative": ("ieee-zero", patched("zero_sign", lambda terms, rounding: 1)),
    "zeros are positive rounding down": ("ieee-zero-rd", patched("zero_sign", lambda terms, _: zero_sign(terms, "rz"))),
    "an addend of +0 does not count": (
        "bare-from-zero", patched("zero_sign", lambda terms, mode: zero_sign(terms[:-1], mode))
    ),
    "subnormal results are kept": ("flush-signed", patched("_flushed", lambda *_: False)),
    "tiny sums are flushed before rounding": ("flush-signed", patched("_flushed", flush_early)),
    "flushed results lose their sign": ("flush-signed", patched("round_to", tiny_as("positive"))),
    "flushed results keep their sign": ("flush-positive", patched("round_to", tiny_as("signed"))),
    "products are not rounded": ("chain-f16-mul-add", additions(product="fused")),
    "mul and add for FMA": ("chain-bf16-chunks", additions(product="rounded")),
    "mul and add for FMA below the least number": ("chain-flush-fused", additions(product="rounded")),
    "a chain that goes backwards": ("chain-f32", on(Sequential, "additions", backwards)),
    "a chain to nearest even for away": (DL, additions(rounding="rne")),
    "a chain to nearest for towards zero": ("chain-f16-rz", additions(rounding="rne")),
    "a chain that keeps subnormals": ("chain-flush", additions(flush=False)),
    "a chain of FMAs that keeps subnormals": ("chain-flush-fused", additions(flush=False)),
    "chunks of twice the length": (DL, beats(lambda right: 2 * right)),
    "chunks of half the length": ("chain-bf16-chunks", beats(lambda right: right // 2)),
    "a tree of other pairs": ("tree-4", on(Pairwise, "additions", other_pairs)),
    "a chain for a tree": ("tree-4", on(Pairwise, "additions", real_sequential)),
    "an addend inside the tree": ("tree-4", on(Pairwise, "additions", addend_first)),
    "an odd lane elsewhere": ("tree-f16-7", on(Pairwise, "additions", other_pairs)),
    "a tree that keeps subnormals": ("tree-flush", additions(flush=False)),
    "products of a tree are not rounded": ("tree-one", additions(product="fused")),
    "an exact sum rounded after each group": ("exact-f32", on(Exact, "carried", SumMethod.carried)),
    "an exact sum that is not rounded after each group": ("exact-f16-group", on(Exact, "carried", always_carried)),
    "integers that saturate": ("integers", fixed_as("saturate")),
    "integers that wrap": ("integers-saturate", fixed_as("wrap")),
    "a window bit less in each half": (DROP, on(terms, "align", narrow_align)),
    "a window bit less where halves meet": (DROP, on(methods, "combine", narrow_combine)),
    "halves that follow one another": (DROP, on(EvenOdd, "sum", successive_halves)),
    "an addend dropped one place late": (DROP, late_keys(by={"drop_below": 1})),
    "an addend dropped one place early": (DROP, late_keys(by={"drop_below": -1})),
    "an addend dropped at once": ("late-window-jam", late_keys(by={"drop_below": -1})),
    "a late addend with a bit less": (DROP, late_keys(by={"addend_bits": -1})),
    "a late addend with a bit more": ("late-window", late_keys(by={"addend_bits": 1})),
    "a late sum to another place": ("late-window", late_keys(by={"sum_bits": -1})),
    "a total with a bit more": ("late-window-total", late_keys(by={"total_bits": 1})),
    "a total with a bit less": ("late-window-total", late_keys(by={"total_bits": -1})),
    "a total that is not cut": ("even-odd-total", late_keys(total_bits=None)),
    "a total cut by another rule": ("even-odd-total", late_keys(lost="truncate")),
    "a total cut below its leading one alone": ("late-window-total", late_keys(emin=-100)),
    "an addend of zero that does not count": ("late-window-cut", late_keys(zero_addend="skip")),
    "a sum that loses nothing": ("cut", cut_otherwise(lambda rule: None)),
    "a sum that loses a place more": ("cut", cut_otherwise(lambda rule: SumCut(bits=3))),
    "a sum that loses a place less": ("cut-late", cut_otherwise(lambda rule: SumCut(bits=3, lost="rna"))),
    "a sum cut by another rule": ("cut-counted", cut_otherwise(lambda rule: SumCut(bits=3))),
    "terms cut for their sum": ("cut", on(methods, "cut_sum", cut_terms)),
    "cancelled sums that do not count": (CANCELLED, on(SubgroupScales, "subgroup", cancelled_is_zero)),
    "scales of zero count": (CANCELLED, on(SubgroupScales, "subgroup", cancelled_by_zero_scales)),
    "products of zero count": (CANCELLED, on(SubgroupScales, "subgroup", cancelled_by_zeros)),
    "a limit of products one place up": (
        "product-limit", on(definition, "limited", lambda term, limit: limited(term, limit + 1))
    ),
    "a limit of products one place down": (
        "late-window", on(definition, "limited", lambda term, limit: limited(term, limit - 8))
    ),
    "scales applied before the alignment": ("subgroups", on(scales, "subgroup", normalised_subgroup)),
    "scales of powers of two": ("subgroups", on(scales, "subgroup", scales_of_one_side)),
    "a window bit less of pairs": ("pairs", own_keys(bits=-1)),
    "a window bit more of pairs": ("pairs", own_keys(bits=1)),
    "pairs lost by the group's rule": ("pairs-floor", own_keys(lost="floor")),
    "pairs that cancel do not count": ("pairs-floor", own_keys(cancelled="skip")),
    "threes for pairs": ("pairs-zeros", own_keys(lanes=2)),
    "pairs with a scale alone": ("pairs-scaled", on(SubgroupWindows, "scaled", scaled_by_one)),
    "a scale of the wrong block": ("exact-blocks", on(scales, "subgroup", scales_of_one_side)),
    "products for blocks": ("tree-blocks", on(UnscaledSums, "subgroup", first_product)),
    "a window bit less of scaled sums": ("subgroups-e8m0", on(terms, "align", narrow_align)),
    "scaled, rounded and then added": ("scaled-promotion", on(Promoter, "promote", scaled_first)),
    "scales multiplied towards zero": ("scaled-promotion", on(Promoter, "rounded_product", truncated_scale)),
    "scaled sums rounded towards zero": ("sum-by-a-first", on(Promoter, "rounded_product", truncated_scale)),
    "scales first": ("sum-by-a-first", in_order("scales")),
    "the scale of b first": ("sum-by-a-first", in_order("b")),
    "the scale of a first": ("sum-by-b-first", in_order("a")),
    "a scale first": ("scaled-promotion", in_order("a")),
    "late addends keep subnormals": ("late-flush-bf16", on(late, "flushed_code", lambda fmt, code: code)),
    "late results keep subnormals": ("exact-late", on(late, "add", late_add_keeps)),
    "no sticky bit": ("sticky-short", on(methods, "any_lost", lambda terms, kept: False)),
    "always a sticky bit": ("sticky-short", on(methods, "any_lost", lambda terms, kept: True)),
    "of the first term alone": (
        "sticky-short", on(methods, "any_lost", lambda terms, kept: real_lost(terms[:1], kept))
    ),
    "of all terms but the last": (
        "sticky-short", on(methods, "any_lost", lambda terms, kept: real_lost(terms[:-1], kept))
    ),
    "a place of the sum": ("sticky-short", sticky(lambda total, exp: (2 * total + sign_of(total), exp - 1))),
    "towards zero": ("sticky-short", sticky(lambda total, exp: (4 * total - sign_of(total), exp - 2))),
    "upwards": ("sticky-short", sticky(lambda total, exp: ((total << 60) + 1, exp - 60))),
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_witness_catches(mutant: str, monkeypatch: Patch) -> None:
    name, mutate = MUTANTS[mutant]
    assert_caught(name, *right_results()[name], mutate, monkeypatch)


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize("bits", [12, 14])
@pytest.mark.parametrize("name", [HOPPER, "hopper-wgmma-e5m2-f32", ADA])
def test_the_witness_tells_a_window_of_another_width(name: str, bits: int) -> None:
    given = list(cases(name, COUNT, SEED))
    original = unit(name)
    other = Unit.model_validate(original.model_dump() | {"sum": original.sum.model_dump() | {"fraction_bits": bits}})
    assert run(other, given) != expected(name, given)


def test_underflow_between_zero_and_the_least_number_is_told() -> None:
    # In 1-6-9 nothing lies between 0 and 2^-31 (1 + 2^-9), half of which is 2^-32 (1 + 2^-9).
    fmt = unit("chain-bare").operands.addend
    dl = unit("chain-dl-saturate").operands.addend
    assert isinstance(fmt, FloatFormat) and isinstance(dl, FloatFormat)
    for sig, unit_exp in ((1, -31), (1023, -41), (5, -34), (1, -33)):
        zero = rounding.round_to(dl, 0, sig, unit_exp, "rna", "nan").code
        nearby = rounding.round_to(fmt, 0, sig, unit_exp, "rna", "nan").code
        assert (zero, nearby) == (0, int(sig * 2.0**unit_exp >= 2.0**-32 * (1 + 2**-9)))
