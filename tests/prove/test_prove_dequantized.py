"""Dequantisers whose tensor has a scale are proved, and broken ones are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from built_presets import others_slow

from hwsim.formats import get_format
from hwsim.prove.quantizers import dequantizer_claims
from hwsim.quantize import get_rule
from hwsim.quantize.block import BlockDequantization, BlockQuantization
from hwsim.rtl import quantizer as dequantizer

Patch = pytest.MonkeyPatch


def of(rule: str, lanes: int, **changes: Any) -> BlockDequantization:
    made = BlockDequantization.of(BlockQuantization(rule=get_rule(rule), lanes=lanes, name=rule))
    return replace(made, **changes)


def words(d: BlockDequantization) -> dict[str, str]:
    return {claim.name: claim.decide(120).word for claim in dequantizer_claims(d)}


DEQUANTIZERS = {
    "nvfp4 to f32": of("nvfp4", 3),
    "nvfp4 to bf16, to odd": of("nvfp4", 2, target=get_format("bf16"), rounding="rto", overflow="saturate"),
    "e4m3 under e4m3 to f16": of(
        "nvfp4", 1, element=get_format("e4m3"), scale_format=get_format("e4m3"), target=get_format("f16")
    ),
    "e5m2 under ue4m3 to tf32": of("nvfp4", 2, element=get_format("e5m2"), target=get_format("tf32")),
}


@pytest.mark.parametrize("name", others_slow(DEQUANTIZERS, ["e4m3 under e4m3 to f16"]))
def test_a_dequantiser_is_proved(name: str) -> None:
    found = words(DEQUANTIZERS[name])
    assert set(found.values()) == {"proved"}, found
    assert len(found) == 14


real_product, real_target = dequantizer.product, dequantizer.dequantized_target


def a_sign_of_both(one: Any, other: Any) -> Any:
    return real_product(one, other)._replace(sign=one.sign & other.sign)


def a_place_too_high(one: Any, other: Any) -> Any:
    return real_product(one, other)._replace(exp=one.exp + other.exp + 1)


def infinities_by_zero(one: Any, other: Any) -> Any:
    return real_product(one, other)._replace(nan=one.nan | other.nan)


def cut_off(d: BlockDequantization) -> Any:
    return replace(real_target(d), rounding="rz")


def on(name: str, made: Any) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(dequantizer, name, made)


# A mistake, and the claims that it breaks.
MUTANTS: dict[str, tuple[set[str], Callable[[Patch], None]]] = {
    "a sign of both": ({"factor", "lane: product"}, on("product", a_sign_of_both)),
    "a place too high": ({"factor", "lane: product"}, on("product", a_place_too_high)),
    "infinities by zero": ({"factor", "lane: product"}, on("product", infinities_by_zero)),
    "cut off": ({"lane: number"}, on("dequantized_target", cut_off)),
}


@pytest.mark.slow
@pytest.mark.parametrize("mutant", others_slow(MUTANTS, ["a place too high", "cut off"]))
def test_a_broken_dequantiser_is_not_proved(mutant: str, monkeypatch: Patch) -> None:
    broken, mutate = MUTANTS[mutant]
    mutate(monkeypatch)
    found = words(DEQUANTIZERS["nvfp4 to f32"])
    assert {name for name, word in found.items() if word != "proved"} == broken
