"""The witness must catch a wrong model of the other methods, of scaled sums and of late windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from computed_once import computed_once
from model.model_units import Case, Right, assert_caught, right_of
from odd_units import unit

from hwsim.formats import Class, FixedFormat, FloatFormat
from hwsim.model import definition, late, rounding, scales
from hwsim.model import methods as aligned
from hwsim.model import methods as even_odd
from hwsim.model import rounding as result
from hwsim.model import terms as window
from hwsim.model.hooks import Hooks
from hwsim.model.late import Promoted, Promoter
from hwsim.model.methods import EvenOdd, Exact, ExactSoFar, Pairwise, RoundedAdditions, Sequential, Summed, SumMethod
from hwsim.model.rounding import add
from hwsim.model.scales import SubgroupScales, SubgroupWindows, UnscaledSums
from hwsim.model.terms import AlignedTerms, Term, addend_term, align, limited
from hwsim.spec import LateInWindow, RoundedSum, Unit
from hwsim.spec.sums import SumCut

Patch = pytest.MonkeyPatch
COUNT, SEED = 90, 4

# What random operands are not likely to be.
DIRECTED = {
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
real_pairwise, real_sequential, real_combine = Pairwise.additions, Sequential.additions, even_odd.combine
real_subgroup, real_halves, real_window = scales.subgroup, EvenOdd.sum, late.late_window
real_scaled, real_unscaled = SubgroupWindows.scaled, UnscaledSums.subgroup
real_cut = aligned.cut_sum
real_promote, real_scale, real_promoter = Promoter.promote, Promoter.scale, definition.promoter_of


@computed_once("model")
def right_results() -> Right:
    return right_of(MUTANTS, DIRECTED, COUNT, SEED)


def on(owner: object, name: str, function: object) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(owner, name, function)


def additions(**changes: Any) -> Callable[[Patch], None]:
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


def beats(change: Callable[[int], int]) -> Callable[[Patch], None]:
    def changed(unit: Unit, hooks: Any = None) -> Promoter | None:
        right = real_promoter(unit)
        return None if right is None else right._replace(groups=change(right.groups))

    return on(definition, "promoter_of", changed)


def late_rule(**changes: int) -> Callable[[Patch], None]:
    def made(total: Term, addend: Term, rule: LateInWindow, zeros: Any, emin: int) -> Any:
        update = {key: getattr(rule, key) + by for key, by in changes.items()}
        return real_window(total, addend, rule.model_copy(update=update), zeros, emin)

    return on(late, "late_window", made)


def late_keys(emin: int = 0, **keys: Any) -> Callable[[Patch], None]:
    """Other values of a late addend's keys. emin: so much is added to the result's least exponent."""

    def made(total: Term, addend: Term, rule: LateInWindow, zeros: Any, least: int) -> Any:
        return real_window(total, addend, rule.model_copy(update=keys), zeros, least + emin)

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


def narrow(term: Term, max_exp: int, bits: int, lost: str) -> int:
    return 2 * align(term, max_exp, bits - 1, lost)


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


def truncated_scale(self: Promoter, *arguments: Any) -> int:
    return real_scale(self._replace(rounding="rz"), *arguments)


def always_carried(self: Exact, summed: Summed, code: int) -> ExactSoFar:
    """The exact sum, whatever `rounded` says."""
    return ExactSoFar(summed.outcome, code)


ROUND_FIXED = rounding.round_fixed  # as it is before a mutant takes its place


def saturated(fmt: FixedFormat, sign: int, sig: int, unit_exp: int, mode: Any, overflow: str, hooks: Any) -> Any:
    return ROUND_FIXED(fmt, sign, sig, unit_exp, mode, "saturate")


def wrapped(fmt: FixedFormat, sign: int, sig: int, unit_exp: int, mode: Any, overflow: str, hooks: Any) -> Any:
    return ROUND_FIXED(fmt, sign, sig, unit_exp, mode, "wrap")


def no_late_flush(patch: Patch) -> None:
    patch.setattr(late, "flushed_code", lambda fmt, code: code)


def late_add_keeps(fmt: FloatFormat, terms: Any, mode: Any, flushed: bool = False, hooks: Any = None) -> int:
    return add(fmt, terms, mode)


DROP, DL, CANCELLED = "even-odd", "chain-dl-chunks", "subgroups-cancelled"


def own_keys(**keys: Any) -> Callable[[Patch], None]:
    """Other keys of windows of parts."""

    def mutate(monkeypatch: Patch) -> None:
        right = definition.subgroup_sums

        def wrong(of: Unit) -> Any:
            windows = right(of)
            return windows._replace(rule=windows.rule.model_copy(update=keys)) if windows is not None else None

        monkeypatch.setattr(definition, "subgroup_sums", wrong)

    return mutate


def own_rule(fraction_bits: int) -> Callable[[Patch], None]:
    """Windows of parts with more or fewer bits."""

    def mutate(monkeypatch: Patch) -> None:
        right = definition.subgroup_sums

        def wrong(of: Unit) -> Any:
            windows = right(of)
            assert windows is not None
            bits = windows.rule.fraction_bits + fraction_bits
            return windows._replace(rule=windows.rule.model_copy(update={"fraction_bits": bits}))

        monkeypatch.setattr(definition, "subgroup_sums", wrong)

    return mutate


def first_product(sums: Any, products: Any) -> Any:
    return real_unscaled(sums, products[:1])


def scaled_by_one(windows: Any, part: Any, scale_a: Any, scale_b: Any) -> Any:
    return real_scaled(windows, part, scale_a, scale_a)


def cut_otherwise(rule: Callable[[SumCut], SumCut | None]) -> Callable[[Patch], None]:
    """Another rule for the places that a sum loses."""
    return on(aligned, "cut_sum", lambda kept, own: real_cut(kept, own and rule(own)))


def cut_terms(kept: AlignedTerms, rule: SumCut | None) -> AlignedTerms:
    """Terms without the places that their sum loses."""
    terms = [real_cut(kept._replace(total=term), rule).total for term in kept.aligned]
    return kept._replace(total=sum(terms))


MUTANTS: dict[str, tuple[str, Callable[[Patch], None]]] = {
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
    "integers that saturate": ("integers", on(result, "round_fixed", saturated)),
    "integers that wrap": ("integers-saturate", on(result, "round_fixed", wrapped)),
    "a window bit less in each half": (DROP, on(window, "align", narrow)),
    "a window bit less where halves meet": (DROP, on(even_odd, "combine", narrow_combine)),
    "halves that follow one another": (DROP, on(EvenOdd, "sum", successive_halves)),
    "an addend dropped one place late": (DROP, late_rule(drop_below=1)),
    "an addend dropped one place early": (DROP, late_rule(drop_below=-1)),
    "an addend dropped at once": ("late-window-jam", late_rule(drop_below=-1)),
    "a late addend with a bit less": (DROP, late_rule(addend_bits=-1)),
    "a late addend with a bit more": ("late-window", late_rule(addend_bits=1)),
    "a late sum to another place": ("late-window", late_rule(sum_bits=-1)),
    "a total with a bit more": ("late-window-total", late_rule(total_bits=1)),
    "a total with a bit less": ("late-window-total", late_rule(total_bits=-1)),
    "a total that is not cut": ("even-odd-total", late_keys(total_bits=None)),
    "a total cut by another rule": ("even-odd-total", late_keys(lost="truncate")),
    "a total cut below its leading one alone": ("late-window-total", late_keys(emin=-100)),
    "an addend of zero that does not count": ("late-window-cut", late_keys(zero_addend="skip")),
    "a sum that loses nothing": ("cut", cut_otherwise(lambda rule: None)),
    "a sum that loses a place more": ("cut", cut_otherwise(lambda rule: SumCut(bits=3))),
    "a sum that loses a place less": ("cut-late", cut_otherwise(lambda rule: SumCut(bits=3, lost="rna"))),
    "a sum cut by another rule": ("cut-counted", cut_otherwise(lambda rule: SumCut(bits=3))),
    "terms cut for their sum": ("cut", on(aligned, "cut_sum", cut_terms)),
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
    "a window bit less of pairs": ("pairs", own_rule(fraction_bits=-1)),
    "a window bit more of pairs": ("pairs", own_rule(fraction_bits=1)),
    "pairs lost by the group's rule": ("pairs-floor", own_keys(lost="floor")),
    "pairs that cancel do not count": ("pairs-floor", own_keys(cancelled="skip")),
    "threes for pairs": ("pairs-zeros", own_keys(lanes=2)),
    "pairs with a scale alone": ("pairs-scaled", on(SubgroupWindows, "scaled", scaled_by_one)),
    "a scale of the wrong block": ("exact-blocks", on(scales, "subgroup", scales_of_one_side)),
    "products for blocks": ("tree-blocks", on(UnscaledSums, "subgroup", first_product)),
    "a window bit less of scaled sums": ("subgroups-e8m0", on(window, "align", narrow)),
    "scaled, rounded and then added": ("scaled-promotion", on(Promoter, "promote", scaled_first)),
    "scales multiplied towards zero": ("scaled-promotion", on(Promoter, "scale", truncated_scale)),
    "late addends keep subnormals": ("late-flush-bf16", no_late_flush),
    "late results keep subnormals": ("exact-late", on(late, "add", late_add_keeps)),
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_witness_catches(mutant: str, monkeypatch: Patch) -> None:
    name, mutate = MUTANTS[mutant]
    assert_caught(name, *right_results()[name], mutate, monkeypatch)


def test_underflow_between_zero_and_the_least_number_is_told() -> None:
    # In 1-6-9 nothing lies between 0 and 2^-31 (1 + 2^-9), half of which is 2^-32 (1 + 2^-9).
    fmt = unit("chain-bare").operands.addend
    dl = unit("chain-dl-saturate").operands.addend
    assert isinstance(fmt, FloatFormat) and isinstance(dl, FloatFormat)
    for sig, unit_exp in ((1, -31), (1023, -41), (5, -34), (1, -33)):
        zero = rounding.round_to(dl, 0, sig, unit_exp, "rna", "nan").code
        nearby = rounding.round_to(fmt, 0, sig, unit_exp, "rna", "nan").code
        assert (zero, nearby) == (0, int(sig * 2.0**unit_exp >= 2.0**-32 * (1 + 2**-9)))
