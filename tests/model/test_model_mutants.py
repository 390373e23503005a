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
from hwsim.model import definition, rounding, scales, terms
from hwsim.model import rounding as addition
from hwsim.model import rounding as result
from hwsim.model import terms as window
from hwsim.model.definition import Definition, GroupOperands, Stepped
from hwsim.model.late import LateOperands, RoundedLateAddition
from hwsim.model.methods import AddendToCome, FirstAddend, PromotedRegister, ResultCode
from hwsim.model.record import Explanation
from hwsim.model.rounding import infinity_code, round_to, zero_sign
from hwsim.model.terms import Term, align, convert, max_exponent, product
from hwsim.spec import Unit
from hwsim.spec.parts import Instruction

Patch = pytest.MonkeyPatch
HOPPER, ADA, DEEPSEEK, MX = "hopper-wgmma-e4m3-f32", "ada-mma-e4m3-f32", "deepseek-v3-e4m3-f32", "mxfp8-e4m3-f32"
EMULATED = "emulated"
COUNT, SEED = 120, 3

real_add, real_scale, real_flush, real_factor = (
    addition.add,
    scales.scale_exponent,
    rounding._flushed,
    definition.factor,
)
real_group, real_dot, real_open = Definition._group, Definition.dot, Definition.open
real_promoted, real_late, real_cut = Definition._step_promoted, Definition._step_late, window.cut_magnitude
real_addition, real_positive_zero = RoundedLateAddition.add, definition.positive_zero


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
}


@computed_once("model")
def right_results() -> Right:
    return right_of(MUTANTS, DIRECTED, COUNT, SEED)


def lost_as(rounding: str) -> Callable[[Patch], None]:
    def cut(sig: int, shift: int, sign: int, lost: str) -> int:
        if lost == "truncate":
            return window.round_magnitude(sig, shift, sign, rounding)  # type: ignore[arg-type]
        return real_cut(sig, shift, sign, lost)  # type: ignore[arg-type]

    return patched("cut_magnitude", cut)


def patched(name: str, function: object) -> Callable[[Patch], None]:
    """A function in the place of another, wherever the model knows it by that name."""
    names = [f"hwsim.model.{found.name}" for found in pkgutil.iter_modules(hwsim.model.__path__) if not found.ispkg]
    modules = [module for module in map(importlib.import_module, names) if hasattr(module, name)]
    assert modules, name

    def patch_all(patch: Patch) -> None:
        for module in modules:
            patch.setattr(module, name, function)

    return patch_all


def method(name: str, function: object) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(Definition, name, function)


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


def indices(function: object) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(Instruction, "indices", function)


ZERO = Term(0, 0, 0, 23, Class.ZERO)
MUTANTS = {
    "floor for truncate": (HOPPER, lost_as("rd")),
    "jam for truncate": (HOPPER, lost_as("rto")),
    "nearest for truncate": (HOPPER, lost_as("rne")),
    "one window bit less": (HOPPER, patched("align", narrow_align)),
    "shift off by one from distance 8": (HOPPER, patched("align", late_shift)),
    "shift amount of four bits": (HOPPER, patched("align", wrapped_shift)),
    "max_exp of leading ones": (HOPPER, patched("max_exponent", leading_one)),
    "zero terms take part in max_exp": (HOPPER, patched("max_exponent", zeros_count)),
    "dropped lane": (HOPPER, method("_group", without_lane)),
    "dropped addend": (HOPPER, method("addend", lambda self, code: ZERO)),
    "dropped partial": (ADA, method("partial", lambda self, code: ZERO)),
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
        "own-nan", lambda patch: patch.setattr(result.ResultRounding, "_own", lambda self, code: code)
    ),
    "tiny results lose their sign": (MX, patched("round_to", tiny_as("positive"))),
    "another NaN": (HOPPER, lambda patch: patch.setattr(FloatFormat, "canonical_nan", property(lambda _: 0x7FC00000))),
    "promotion towards zero": (DEEPSEEK, patched("add", add_as("rz"))),
    "promotion to nearest for down": ("promoted-rd", patched("add", add_as("rne"))),
    "no promotion of the tail": (DEEPSEEK, method("_step_promoted", no_tail)),
    "scales of one and more are one less": (MX, patched("scale_exponent", one_scale_less)),
    "converted subnormals keep their exponent": (
        "converted", lambda patch: patch.setattr(terms, "convert", unnormalised)
    ),
    "subnormals that convert to normals are flushed": ("daz-converted", patched("factor", daz_first)),
    "no daz": ("daz", patched("factor", lambda fmt, to, daz, zeros, code: real_factor(fmt, to, False, zeros, code))),
    "zeros with signs": ("window-positive", patched("factor", signed_zeros)),
    "flushed factors with signs": ("window-positive", patched("factor", signed_flushed_zeros)),
    "an addend of -0": ("exact-positive", patched("positive_zero", lambda fmt, code, flush: code)),
    "a flushed addend with a sign": (
        "late-positive", patched("positive_zero", lambda fmt, code, flush: real_positive_zero(fmt, code, False)),
    ),
    "groups of successive products": (EMULATED, indices(every_other)),
    "groups in the other order": (EMULATED, indices(groups_turned_round)),
    "groups in another order, with an addend": ("ordered-chain", indices(groups_turned_round)),
    "scales of successive products": ("ordered-blocks", indices(every_other)),
    "every group starts from zero": (EMULATED, method("_addend_of", each_group_from_zero)),
    "no group starts from zero": (EMULATED, never_from_zero),
    "instructions start from one another": ("late-sequential", method("_step_late", on_and_on)),
    "no late addend": (EMULATED, lambda patch: patch.setattr(RoundedLateAddition, "add", late_without_addend)),
    "a late addend after each group": (EMULATED, method("_step_late", late_each_group)),
    "only the last instruction's sum": (EMULATED, method("dot", late_without_chain)),
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
