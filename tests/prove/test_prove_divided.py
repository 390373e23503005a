"""Block quantisers whose scales are quotients are proved, and broken ones are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Signal
from built_presets import others_slow

from hwsim.formats import get_format, unpack
from hwsim.prove import blocks as single_claims
from hwsim.prove.blocks import DividedClaims, quotient
from hwsim.quantize import get_rule, rules
from hwsim.quantize.block import BlockQuantization
from hwsim.quantize.rule import Rule, Select
from hwsim.rtl import BlockQuantizer, quantizer, single, stream_verilog
from hwsim.rtl.quantizer import quantizer_lacks
from hwsim.rtl.single import F32, ROWS, Multiply32
from hwsim.rtl.thresholds import Threshold

Patch = pytest.MonkeyPatch
# What takes seconds each, of which the soak asks all.
LONG = {"product: entering", "product: normalized", "operand", *(f"threshold {step}" for step in range(2, 8))}


def block(name: str, lanes: int = 2, source: str = "f32", **changes: Any) -> BlockQuantization:
    rule = get_rule(name).replace(**changes)
    return BlockQuantization(rule=rule, source=get_format(source), lanes=lanes, name=name)


def words(claims: DividedClaims, skipped: set[str] = frozenset()) -> dict[str, str]:  # type: ignore[assignment]
    """What becomes of each claim, but for some."""
    return {claim.name: claim.decide(120).word for claim in claims.claims() if claim.name not in skipped}


DIVIDED = [
    name
    for name, rule in rules().items()
    if rule.select is Select.DIVIDE and rule.block != (None, None) and not [*quantizer_lacks(block(name, 1))]
]


def test_these_are_nvfp4s() -> None:
    assert sorted(DIVIDED) == sorted(name for name in rules() if name.startswith("nvfp4"))


@pytest.mark.slow
@pytest.mark.parametrize("name", others_slow(DIVIDED, ["nvfp4-block"]))
def test_a_quantiser_is_proved_but_for_what_takes_long(name: str) -> None:
    found = words(DividedClaims(block(name)), LONG)
    assert set(found.values()) == {"proved"}, found
    assert {"division: row", "scale", "lane: element", "file: codes"} <= set(found)


@pytest.mark.slow
@pytest.mark.parametrize("source", ["f32", "bf16"])
@pytest.mark.parametrize("name", DIVIDED)
def test_every_rule_is_proved(name: str, source: str) -> None:
    found = words(DividedClaims(block(name, 3, source)))
    assert set(found.values()) == {"proved"}, found


def test_quotients_are_ieee_754s() -> None:
    generator = np.random.default_rng(5)
    codes = generator.integers(0, 1 << 32, (2, 4000), np.uint32)
    edges = [0, 1, 2, 0x7FFFFF, 0x800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x80000001, 0xFF800000]
    pairs = [(x, y) for x in edges for y in edges] + list(zip(*codes.tolist(), strict=True))
    with np.errstate(all="ignore"):
        x, y = (np.array(side, np.uint32).view(np.float32) for side in zip(*pairs, strict=True))
        wanted = np.where(np.isnan(x / y), 0x7FC00000, (x / y).view(np.uint32)).tolist()
    canonical = F32.canonical_nan
    said = [quotient(unpack(F32, one), unpack(F32, other)) for one, other in pairs]
    assert [0x7FC00000 if code == canonical else code for code in said] == wanted


# Faults.


def row_that_keeps_equals(m: Module, i: Any, o: Any, span: tuple[int, int]) -> None:
    """Subtracts only where the rest is larger than the divisor."""
    before, after = i.division, o.division
    rest, bits = before.rest, before.quotient
    for row in range(*span):
        fits, kept = Signal(name=f"fits{row}"), Signal(F32.precision + 1, name=f"kept{row}")
        m.d.comb += [fits.eq(rest > before.divisor), kept.eq(Mux(fits, rest - before.divisor, rest))]
        rest, bits = Cat(Const(0, 1), kept[: F32.precision]), Cat(fits, bits)[:ROWS]
    m.d.comb += [after.rest.eq(rest), after.quotient.eq(bits)]
    same = ("divisor", "sign", "top_bexp", "nan", "inf", "zero")
    m.d.comb += [getattr(after, field).eq(getattr(before, field)) for field in same]


class SignOfBoth(Multiply32):
    """A product is negative only where both factors are."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.product[-1].eq(self.a[-1] & self.b[-1])
        return m


real_led, real_target, real_single, real_of, real_put = (
    single.led, Threshold.target, single.single_target, Threshold.of, quantizer.put_code
)  # fmt: skip


def without_its_place(m: Module, sig: Any, bexp: Any, name: str) -> Any:
    return real_led(m, sig, bexp, name)[0], bexp


def towards_zero(*args: Any) -> Any:
    return replace(real_single(*args), rounding="rz")


def to_nearest(threshold: Threshold) -> Any:
    return replace(real_target(threshold), rounding="rne")


def ties_upwards(rule: Rule, step: int) -> Threshold:
    return real_of(rule.replace(rounding="rna"), step)


def another_lane(rule: Rule, code: Any, special: Any, to: Any) -> list[Any]:
    return real_put(rule, Mux(special.negative, 1, code) if to.name.endswith("1") else code, special, to)


def no_infinities(rule: Rule, code: Any, special: Any, to: Any) -> list[Any]:
    return [to.eq(code)]


def on(module: Any, name: str, made: Any) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(module, name, made)


def wrong_signs(patch: Patch) -> None:
    for module in (quantizer, single_claims):
        patch.setattr(module, "Multiply32", SignOfBoth)


# A mistake, the rule that it is tried with, and the claims that it breaks.
INFINITE = {"infinity": "saturate"}
MUTANTS: dict[str, tuple[str, dict[str, Any], set[str], Callable[[Patch], None]]] = {
    "an equal rest is kept": ("nvfp4-block", {}, {"division: row"}, on(single, "_rows", row_that_keeps_equals)),
    "places are not counted": ("nvfp4-block", {}, {"ratio: begin"}, on(single, "led", without_its_place)),
    "cut off": ("nvfp4-block-torchao-0.17", {}, {"ratio: quotient", "reciprocal: quotient", "product: rounded"},
                on(single, "single_target", towards_zero)),
    "thresholds to nearest": ("nvfp4-block", {}, {"threshold 1"}, on(Threshold, "target", to_nearest)),
    "ties upwards": ("nvfp4-block", {}, {"thresholds: meaning"}, on(Threshold, "of", ties_upwards)),
    "signs of both": ("nvfp4-block-torchao-0.17", {}, {"product: entering"}, wrong_signs),
    "a lane of its own": ("nvfp4-block", INFINITE, {"lanes: elements"}, on(quantizer, "put_code", another_lane)),
    "infinities are any number": (
        "nvfp4-block", INFINITE, {"lane: element"}, on(quantizer, "put_code", no_infinities)
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("mutant", others_slow(MUTANTS, ["an equal rest is kept", "thresholds to nearest"]))
def test_a_broken_quantiser_is_not_proved(mutant: str, monkeypatch: Patch) -> None:
    name, changes, broken, mutate = MUTANTS[mutant]
    mutate(monkeypatch)
    found = words(DividedClaims(block(name, **changes)), LONG - broken)
    assert {claim for claim, word in found.items() if word != "proved"} == broken


# A rule that is not the one that was built, and the claims that it breaks.
RULES: dict[str, tuple[str, dict[str, Any], set[str]]] = {
    "a least scale": ("nvfp4-block", {"least_scale": 8}, {"scale"}),
    "the scale of zeros": ("nvfp4-block", {"zero_scale": 8}, {"scale"}),
    "a least amax": ("nvfp4-block", {"least_amax": 1e-4}, {"single"}),
    "a factor of no scale": ("nvfp4-block-torchao-0.17", {"no_scale": "multiplied"}, {"reciprocal: quotient"}),
    "infinities": ("nvfp4-block", {"infinity": "saturate"}, {"lane: counted"}),
}


@pytest.mark.parametrize("change", others_slow(RULES, []))
def test_a_quantiser_of_another_rule_is_not_proved(change: str) -> None:
    name, changes, broken = RULES[change]
    built = block(name)
    claims = DividedClaims(block(name, **changes), text=stream_verilog(BlockQuantizer(built)))
    claims.__dict__["steps"] = DividedClaims(built).steps
    found = words(claims, LONG)
    assert {claim for claim, word in found.items() if word != "proved"} == broken
