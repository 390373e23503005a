"""Block quantisers with power-of-two scales are proved, and broken ones are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Mux
from built_presets import others_slow

from hwsim.formats import get_format
from hwsim.model.conversion import dequantize
from hwsim.prove.quantizers import PowerClaims, dequantizer_claims
from hwsim.quantize import get_rule, rules
from hwsim.quantize.block import BlockDequantization, BlockQuantization
from hwsim.quantize.rule import Rule
from hwsim.rtl import quantizer
from hwsim.rtl.staircase import MOST, Staircase

Patch = pytest.MonkeyPatch


def block(name: str, lanes: int = 3, source: str = "f32", random_bits: int = 0, **changes: Any) -> BlockQuantization:
    rule = get_rule(name).replace(**changes)
    return BlockQuantization(rule=rule, source=get_format(source), lanes=lanes, random_bits=random_bits, name=name)


def words(q: BlockQuantization, cuts: tuple[str, ...] | None = None) -> dict[str, str]:
    """What becomes of each claim."""
    return {claim.name: claim.decide(120).word for claim in PowerClaims(q, cuts).claims()}


QUANTIZERS = {
    "mxfp8-e4m3": block("mxfp8-e4m3"),
    "mxint8 from bf16 by rceil": block("mxint8", 4, "bf16", select="rceil"),
    "mxfp4 from f16 by ceil": block("mxfp4-e2m1", 5, "f16", select="ceil"),
    "algorithm 1": block("mx-algorithm-1-e4m3", infinity="amax"),
    "specials are elements": block("mxfp8-e5m2", infinity="element", nan="element", overflow="infinity"),
    "stochastic mxfp6": block("mxfp6-e2m3", random_bits=7, rounding="stochastic"),
    "mxint8 by rceil-reciprocal": block("mxint8", select="rceil-reciprocal", infinity="saturate", symmetric=False),
    "by even, upwards": block("mxfp8-e4m3", 1, select="even", rounding="ru"),
    "a least amax": block("mxfp8-e4m3", least_amax=1e-4),
    "rceil, infinity counts": block("mxfp8-e4m3", infinity="amax", select="rceil"),
    "a scale of zeros that is NaN": block("mxfp8-e4m3", 2, zero_scale=255),
    "algorithm 1, mxint8 from bf16": block("mx-algorithm-1-mxint8", 2, "bf16"),
}


@pytest.mark.parametrize("name", others_slow(QUANTIZERS, list(QUANTIZERS)[1:2]))
def test_a_quantiser_is_the_models_for_every_block(name: str) -> None:
    found = words(QUANTIZERS[name])
    assert set(found.values()) == {"proved"}, found
    assert len(found) == 17


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in rules() if name.startswith(("mxfp", "mxint", "mx-alg"))])
def test_every_rule_with_whole_blocks(name: str) -> None:
    found = words(BlockQuantization(rule=get_rule(name), name=name))
    assert set(found.values()) == {"proved"}, found


DEQUANTIZERS = {
    "mxfp4 to f32": BlockDequantization.of(block("mxfp4-e2m1", 4)),
    "e5m2 under ue4m3 to bf16, to odd": BlockDequantization(
        element=get_format("e5m2"), scale_format=get_format("ue4m3"), lanes=2, target=get_format("bf16"),
        rounding="rto", overflow="saturate",
    ),
    "mxint8 to f16": BlockDequantization.of(block("mxint8", 2), target="f16"),
}  # fmt: skip


@pytest.mark.parametrize("name", others_slow(DEQUANTIZERS, list(DEQUANTIZERS)[:2]))
def test_a_dequantiser_is_the_models_for_every_block(name: str) -> None:
    d = DEQUANTIZERS[name]
    found = {claim.name: claim.decide(120).word for claim in dequantizer_claims(d)}
    assert set(found.values()) == {"proved"}, found
    assert len(found) == 5 + d.lanes


def test_the_model_of_a_dequantiser_is_what_quantize_has() -> None:
    d, every = DEQUANTIZERS["mxint8 to f16"], np.arange(256)
    values = d.element.decode(every.astype(np.uint8))
    for scale in (0, 1, 100, 118, 127, 141, 142, 200, 254, 255):
        with np.errstate(invalid="ignore"):
            want = d.target.encode(values * float(d.scale_format.decode(scale)), "rne", "infinity", "nan").tolist()
        assert [dequantize(d, code, scale) for code in every.tolist()] == want


def test_a_broken_dequantiser_is_not_proved(monkeypatch: Patch) -> None:
    real = quantizer.product
    monkeypatch.setattr(quantizer, "product", lambda one, other: real(one, other)._replace(sign=one.sign & other.sign))
    found = {claim.name: claim.decide(120).word for claim in dequantizer_claims(DEQUANTIZERS["mxfp4 to f32"])}
    assert {name for name, word in found.items() if word != "proved"} == {f"lane {lane}" for lane in range(4)}


real_staircase, real_larger, real_put = Staircase.of, quantizer.tree_maximum, quantizer.put_code


def step_late(rule: Rule) -> Staircase:
    stairs = real_staircase(rule)
    return replace(stairs, above=min(stairs.above + 1, MOST))


def others_forgotten(rule: Rule) -> Staircase:
    return replace(real_staircase(rule), others={})


def one_left_out(m: Any, left: list[Any], levels: int) -> list[Any]:
    return real_larger(m, left[:-1] if len(left) > 2 else left, levels)


def another_lane(rule: Rule, code: Any, special: Any, to: Any) -> list[Any]:
    wrong = Mux(special.negative, 1, code) if to.name.endswith("2") else code
    return real_put(rule, wrong, special, to)


def no_infinities(rule: Rule, code: Any, special: Any, to: Any) -> list[Any]:
    return [to.eq(code)]


def on(module: Any, name: str, made: Any) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(module, name, made)


INFINITE = block("mxfp8-e5m2", infinity="element", nan="element")
SMALL = block("mxfp4-e2m1", 3, "f16", select="rceil")
# A mistake, what it is tried with, and the claims that it breaks.
MUTANTS: dict[str, tuple[BlockQuantization, set[str], Callable[[Patch], None]]] = {
    "a step of the scale one code late": (
        block("mxint8", 2, select="rceil"), {"scale: quantize"}, on(Staircase, "of", step_late)
    ),
    "a binade as the others": (
        block("mxfp8-e4m3", 2, select="rceil"), {"scale: quantize"}, on(Staircase, "of", others_forgotten)
    ),
    "a number left out of amax": (SMALL, {"amax: tree"}, on(quantizer, "tree_maximum", one_left_out)),
    "infinities are any number": (INFINITE, {"lane: element"}, on(quantizer, "put_code", no_infinities)),
    "a lane of its own": (SMALL, {"lanes: elements"}, on(quantizer, "put_code", another_lane)),
    "subnormals that are not flushed": (
        block("mx-algorithm-1-e4m3", 2), {"lane: element", "lane: counted"},
        on(quantizer, "flushes", lambda rule, source: False),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("mutant", others_slow(MUTANTS, [*MUTANTS][::4]))
def test_a_broken_quantiser_is_not_proved(mutant: str, monkeypatch: Patch) -> None:
    q, broken, mutate = MUTANTS[mutant]
    mutate(monkeypatch)
    assert {name for name, word in words(q).items() if word != "proved"} == broken
