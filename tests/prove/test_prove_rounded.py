"""Rounded additions: late addends, chains and trees are proved; mistakes in them, and in what proves them, are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from built_presets import others_slow
from odd_units import unit
from prove.scaled_unit import SCALED, SUM_FIRST
from prove.step_mutants import Patch, elaborated, floored, never_up, on, unclamped
from unit_keys import chained, late, odd_unit, promoted, window

from hwsim.formats import FloatFormat, get_format
from hwsim.model import definition
from hwsim.model.late import promoter_of
from hwsim.model.methods import Pairwise
from hwsim.model.rounding import add
from hwsim.model.terms import align
from hwsim.prove import additions as lemmas
from hwsim.prove.accumulation import after_claims
from hwsim.prove.additions import RoundedAddition, entering_claim
from hwsim.prove.claims import AnyClaim
from hwsim.prove.composition import GivenArgument, ModelCall, Unmet
from hwsim.prove.methods import method_claims
from hwsim.prove.rounded import levels_of
from hwsim.prove.run import ProofOptions, prove
from hwsim.prove.symbolic import Tailed
from hwsim.prove.terms import true
from hwsim.prove.wiring import composed
from hwsim.rtl import accumulate, addition, normalize, rounded
from hwsim.rtl import rounded as sequential
from hwsim.rtl.accumulate import accumulation
from hwsim.rtl.rounded import AdditionPlace
from hwsim.spec import Unit, pipeline

real_specials, real_chained = addition.pair_specials, Pairwise.chained


@cache
def small(name: str) -> Unit:
    match name:
        case "late":
            more = late("e5m2", "rne", flush=True)
            return odd_unit("small-late", "e2m1", "e4m3", window(4), "e5m2", 2, k=4, **more)
        case "scaled":
            return SCALED
        case "sum first":
            return SUM_FIRST
        case "promoted":
            return odd_unit("small-promoted", "e2m1", "e4m3", window(4), "e5m2", 2, k=4, **promoted(4, "f16"))
        case "chain":
            return odd_unit("small-chain", "e2m1", "e4m3", chained("sequential", "e5m2"), "f16", 2)
        case "chains":
            return odd_unit("small-chains", "e2m1", "e4m3", chained("pairwise", "e5m2", "rz", chains=2), "e5m2", 4)
        case _:
            rule = chained("pairwise", "e5m2", "rz", product="rounded", flush=True)
            return odd_unit("small-tree", "e2m1", "e4m3", rule, "e5m2", 5)


def of_adders(unit: Unit, cuts: tuple[str, ...] = ()) -> Iterator[AnyClaim]:
    """All claims about what is added in rounded additions."""
    what, after = accumulation(unit), after_claims(unit, cuts)
    if what is None or after is None:
        yield from method_claims(unit, cuts).claims()
        return
    entering = entering_claim(unit, what, after.calls)
    if entering is not None:
        yield entering
    yield from after.claims()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["late"])  # the others in whole units, below
def test_rounded_additions_are_the_models(name: str) -> None:
    found = {claim.name: claim.decide(60).word for claim in of_adders(small(name))}
    assert set(found.values()) == {"proved"}, found
    assert len(found) >= 13


@pytest.mark.slow
def test_a_number_of_fixed_point_is_bounded_where_it_is_one() -> None:
    """Nothing is known of a significand beside a flag of NaN, which no such code has, though there is a port."""
    wanted = {"lane: significands", "lane: product"}
    found = {claim.name: claim.decide(60).word for claim in of_adders(unit("chain-fixed")) if claim.name in wanted}
    assert found == dict.fromkeys(wanted, "proved")


# Registers inside of shifters and adders; of a chain and of a tree those of one addition alone.
INSIDE = {
    "late": ("late.distance", "late.sum.1", "late.normalize.1"),
    "promoted": ("promote.align.1", "promote.sum.1", "promote.normalize.1"),
    "scaled": ("promote.scale", "promote.distance", "promote.sum.1"),
    "chain": ("add.0.distance", "add.0.align.1", "add.0.sum.1", "add.0.normalize.1", "add.1.sum.1"),
    "tree": ("add.0.distance", "add.1.align.1", "add.1.sum.1"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", INSIDE)
def test_a_unit_with_registers_inside_of_additions_is_proved(name: str) -> None:
    report = prove(small(name), pipeline(small(name), INSIDE[name], 2), ProofOptions(seconds=300))
    assert report.proved, [row.name for row in report.open]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["late", "chain", "chains", "tree", "scaled", "sum first"])
def test_a_unit_of_rounded_additions_is_proved(name: str) -> None:
    report = prove(small(name), pipeline(small(name)), ProofOptions(seconds=120))
    assert report.proved, [f"{row.name}: {row.word}" for row in report.open]


@pytest.mark.parametrize("first", others_slow(["scales", "b"], ["b"]))
def test_a_model_that_multiplies_in_another_order_is_not_proved(first: Any, monkeypatch: Patch) -> None:
    def other(unit: Unit, hooks: Any = None) -> Any:
        return promoter_of(unit, hooks)._replace(scaling=unit.scaled_first(first))

    assert after_claims(SUM_FIRST, ()) is not None
    monkeypatch.setattr(definition, "promoter_of", other)
    with pytest.raises(Unmet, match="no step of the RTL is `rounded_product`"):
        after_claims(SUM_FIRST, ())


def no_sign_of_zero(x: Any, y: Any, to: Any, rounding: Any) -> list[Any]:
    return [to.zero_sign.eq(0), *real_specials(x, y, to, rounding)[1:]]


def no_nan(x: Any, y: Any, to: Any, rounding: Any) -> list[Any]:
    zero, _, *infinities = real_specials(x, y, to, rounding)
    return [zero, to.special.nan.eq(x.nan), *infinities]


def other_order(total: str, x: str, y: str) -> AdditionPlace:
    return AdditionPlace(total, x, {"product0": "product1", "product1": "product0"}[y])


def odd_first(total: str, x: str, y: str) -> AdditionPlace:
    return AdditionPlace(total, x, {"product0": "product2", "product2": "product0"}.get(y, y))


def from_minus_zero(self: Any, m: Any) -> None:
    m.d.comb += self.o.chain1.eq(0x80)


def other_lane(self: Any, m: Any) -> None:
    m.d.comb += self.o.product1.sign.eq(self.i.a[0].sign)


def code_passed(self: Any, m: Any) -> None:
    m.d.comb += self.o.sum.eq(self.i.carried.code)


def no_sign(self: Any, m: Any) -> None:
    m.d.comb += self.o.x.sign.eq(0)


def scale_of_one(self: Any, m: Any) -> None:
    m.d.comb += self.o.scale.eq(0x3C00)


def scaled_sum_of_one(self: Any, m: Any) -> None:
    m.d.comb += self.o.scaled.eq(0x3C00)


def scale_without_a_sign(self: Any, m: Any) -> None:
    m.d.comb += self.o.y.sign.eq(self.i.partial[-1])


def no_start(_self: Any, _m: Any, code: Any) -> Any:
    return code[1:]


# A mistake, the unit that it is tried with, and the claim that it breaks.
MISTAKES: dict[str, tuple[str, str, Callable[[Patch], None]]] = {
    "lost bits floored": ("chain", "sum and product added: y aligned", on(addition, "shifted", floored)),
    "a distance cut": ("late", "late: x aligned", on(addition, "clamp", unclamped)),
    "a rounding that never goes up": ("chain", "sum and product added: result", on(normalize, "last_place", never_up)),
    "a zero that is never negative": ("late", "late: x aligned", on(addition, "pair_specials", no_sign_of_zero)),
    "a NaN that is lost": ("chain", "sum and product added: special", on(addition, "pair_specials", no_nan)),
    "products in another order": ("chain", "composition: model", on(sequential, "AdditionPlace", other_order)),
    "a chain in another order": ("chains", "composition: model", on(sequential, "AdditionPlace", odd_first)),
    "a chain from -0": ("chains", "chains: zero", elaborated(rounded.RoundedMultiply, from_minus_zero)),
    "a sign of another lane": ("chain", "lanes: products", elaborated(rounded.RoundedMultiply, other_lane)),
    "a start that is not rounded": ("chain", "start: partial sum", elaborated(rounded.RoundedDecode, code_passed)),
    "a register without a sign": ("late", "late: register", elaborated(accumulate.AccumulateDecode, no_sign)),
    "a scale of one": ("scaled", "promote: scale", elaborated(accumulate.FirstRounded, scale_of_one)),
    "a scaled sum of one": ("sum first", "promote: scale", elaborated(accumulate.FirstRounded, scaled_sum_of_one)),
    "a scale without a sign": (
        "scaled",
        "promote: partial",
        elaborated(accumulate.AccumulateDecode, scale_without_a_sign),
    ),
    "an addend cut": ("late", "late: entering", on(accumulate.Accumulation, "entering", no_start)),
}


@pytest.mark.parametrize("mistake", others_slow(MISTAKES, ["a distance cut"]))
def test_a_broken_addition_is_not_proved(mistake: str, monkeypatch: Patch) -> None:
    name, broken, mutate = MISTAKES[mistake]
    mutate(monkeypatch)
    if broken == "composition: model":  # no claim is made of a step that nothing in the model is
        with pytest.raises(Unmet):
            [*of_adders(small(name))]
        return
    claim = next(claim for claim in of_adders(small(name)) if claim.name == broken)
    assert claim.decide(60).word != "proved"


def later_first(self: Pairwise, products: Any, chains: int) -> Any:
    return real_chained(self, [*products[chains:], *products[:chains]], chains)


def neighbours(self: Pairwise, products: Any, chains: int) -> Any:
    length = len(products) // chains
    return real_chained(self, [products[i % chains * length + i // chains] for i in range(len(products))], chains)


def one_sum(self: Pairwise, products: Any, chains: int) -> Any:
    return real_chained(self, products, 1)


@pytest.mark.parametrize("other", [later_first, neighbours, one_sum])
def test_a_model_of_other_chains_is_not_proved(other: Any, monkeypatch: Patch) -> None:
    monkeypatch.setattr(Pairwise, "chained", other)
    with pytest.raises(Unmet, match="no step of the RTL is `add`"):
        composed(small("chains"), levels_of(small("chains")))


def lemma(fmt: str = "e5m2", bits: int = 0) -> RoundedAddition:
    found = get_format(fmt)
    assert isinstance(found, FloatFormat)
    call = ModelCall(add, (found, GivenArgument(), "rne", None, "ieee", None))
    return RoundedAddition(call, bits or found.precision + 3, (-4, 30), -40)


def word_of(rounded_addition: RoundedAddition, name: str = "jammed") -> str:
    return next(claim for claim in rounded_addition.claims("sum") if claim.name == f"sum: {name}").decide(60).word


@pytest.mark.slow
@pytest.mark.parametrize("fmt", ["e5m2", "dlfloat16"])
def test_a_jammed_sum_has_the_code_of_the_exact_one(fmt: str) -> None:
    for claim in lemma(fmt).claims("sum"):
        assert claim.decide(60).word == "proved", claim.name


def truncated(term: Any, top: Any, bits: int, lost: Any) -> Any:
    return align(term, top, bits, "truncate")


def same_tail(self: Tailed) -> Tailed:
    return Tailed(-self.above, self.some)


# Places of the window beside those of the format, and what is wrong.
WRONG_LEMMAS: dict[str, tuple[int, Callable[[Patch], None]]] = {
    "lost bits that are not jammed": (3, on(lemmas, "align", truncated)),
    "a window without enough places": (2, lambda patch: None),
    "a tail that is negated wrongly": (3, on(Tailed, "__neg__", same_tail)),
}


@pytest.mark.parametrize("mistake", others_slow(WRONG_LEMMAS, [*WRONG_LEMMAS][:1]))
def test_a_wrong_lemma_is_refuted(mistake: str, monkeypatch: Patch) -> None:
    more, mutate = WRONG_LEMMAS[mistake]
    mutate(monkeypatch)
    assert word_of(lemma(bits=get_format("e5m2").sig_bits + more)) == "refuted"


def test_what_depends_on_more_of_a_tail_is_not_answered() -> None:
    with pytest.raises(TypeError, match="depends on more of a tail"):
        Tailed(3, true()) + Tailed(1, true())
