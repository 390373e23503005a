"""Steps are proved, and broken steps are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any

import pytest
from amaranth.hdl import Value
from built_presets import others_soaked

from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.claims import AnyClaim
from hwsim.prove.promotion import PromotionClaims
from hwsim.rtl import align, decode, lost, multiply, normalize, sum
from hwsim.spec import load_unit

HOPPER, MX, F16, DEEPSEEK = "hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32", "ampere-mma-f16-f16", "deepseek-v3-e4m3-f32"
Patch = pytest.MonkeyPatch


def words(name: str, cuts: tuple[str, ...] = ()) -> dict[str, str]:
    """What becomes of each claim."""
    return {claim.name: claim.decide(60).word for claim in AlignedClaims(load_unit(name), cuts).claims()}


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize(
    ("name", "cuts"),
    [
        (HOPPER, ()),
        pytest.param(HOPPER, ("maximum.2", "maximum.4", "sum.1", "sum.3", "magnitude"), marks=pytest.mark.soak),
        pytest.param(MX, ("maximum.3", "sum.2"), marks=pytest.mark.soak),
        pytest.param(F16, (), marks=pytest.mark.soak),
        pytest.param(DEEPSEEK, (), marks=pytest.mark.soak),
        ("rvbna-e4m3-f32-n8", ("maximum.2", "sum.2")),
    ],
)
def test_every_step_is_the_models(name: str, cuts: tuple[str, ...]) -> None:
    found = words(name, cuts)
    assert set(found.values()) == {"proved"}, found
    assert len(found) > 15


def test_the_adder_of_a_promotion_is_the_models() -> None:
    found = {claim.name: claim.decide(120).word for claim in takewhile(lambda one: "4 to" not in one.name, adder())}
    assert set(found.values()) == {"proved"}, found
    assert len(found) == 13


@pytest.mark.soak
def test_a_jammed_sum_rounds_as_the_exact_one() -> None:
    found = {claim.name: claim.decide(600).word for claim in adder() if "jam" in claim.name}
    assert set(found.values()) == {"proved"}, found
    assert list(found)[-2:] == ["promotion: jam at distance 4 to 28", "promotion: jam at distance 29 to 253"]


def adder() -> Iterator[AnyClaim]:
    unit = load_unit(DEEPSEEK)
    assert unit.promotion is not None
    return PromotionClaims(unit, unit.promotion).claims()


real_larger, real_clamp, real_shifted = align.larger, align.clamp, lost.shifted
real_all, real_zeros, real_last = sum.all_terms, normalize.leading_zeros, normalize.last_place


def on(module: Any, name: str, made: Callable[..., Any]) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(module, name, made)


def smaller_once(m: Any, pair: Any, name: str) -> Any:
    """One comparison of the tree is the wrong way round."""
    return real_larger(m, pair[:1], name) if name == "larger1_2" else real_larger(m, pair, name)


def unclamped(distance: Value, bits: int) -> Value:
    return distance[:bits] if len(distance) > bits else real_clamp(distance, bits)


def first_of_all(terms: Any, truncated: bool) -> Any:
    return real_all(terms[1:], truncated)


def never_up(*arguments: Any) -> Any:
    last, _ = real_last(*arguments)
    return last, 0


def floored(window: Any, sign: Any, shift: Any, drop: int, rule: Any) -> Any:
    return real_shifted(window, sign, shift, drop, "floor")


def zeros_of_one_more(value: Value) -> Any:
    is_zero, count = real_zeros(value)
    return is_zero, [count[0] | ~count[0], *count[1:]] if len(count) > 3 else count


def no_nan(self: Any, code: Any, codes: Any) -> Any:
    return decode.is_any_of(code, ())


# A mistake, the unit that it is tried with, and the claim that it breaks.
MUTANTS: dict[str, tuple[str, str, Callable[[Patch], None]]] = {
    "a comparison left out": (HOPPER, "maximum", on(align, "larger", smaller_once)),
    "a distance without its high bits": (HOPPER, "lane: aligned", on(align, "clamp", unclamped)),
    "floor for truncate": (HOPPER, "lane: aligned", on(align, "shifted", floored)),
    "a term left out": (HOPPER, "sum", on(sum, "all_terms", first_of_all)),
    "a rounding that never goes up": (F16, "result", on(normalize, "last_place", never_up)),
    "a zero too many": (HOPPER, "result", on(normalize, "leading_zeros", zeros_of_one_more)),
    "a NaN that is a number": (HOPPER, "factor: a", on(decode.FloatDecode, "_is_listed_nan", no_nan)),
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


MUTANTS |= {
    "a flag of products is lost": (HOPPER, "lane: product", elaborated(multiply.Multiply, flag_lost)),
    "a sign of one factor": (HOPPER, "lane: product", elaborated(multiply.Multiply, sign_of_a)),
    "a factor of another lane": (HOPPER, "lanes: products", elaborated(multiply.Multiply, lane_of_another)),
}


@pytest.mark.parametrize("mutant", others_soaked(MUTANTS, list(MUTANTS)[::3]))
def test_a_broken_step_is_not_proved(mutant: str, monkeypatch: Patch) -> None:
    name, broken, mutate = MUTANTS[mutant]
    mutate(monkeypatch)
    claim = next(claim for claim in AlignedClaims(load_unit(name)).claims() if claim.name == broken)
    assert claim.decide(60).word != "proved"
