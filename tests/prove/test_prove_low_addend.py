"""Scaled sums that a low addend changes: a model or RTL of another rule is not proved, a mistake breaks a claim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from built_presets import others_slow
from cosim.mutants import Mutant
from cosim.test_sum_mutants import text
from odd_units import unit
from prove.step_mutants import Patch

from hwsim.model import definition
from hwsim.model.methods import method_of
from hwsim.model.scales import SubgroupScales, is_low
from hwsim.prove.composition import Unmet
from hwsim.prove.methods import method_claims
from hwsim.prove.wiring import composed
from hwsim.rtl import aligned, windows

LOW = unit("subgroups-low")
real_parts = SubgroupScales.subgroups


def always_large(self: SubgroupScales, products: Any, a: Any, b: Any, low: bool = False) -> Any:
    return real_parts(self, products, a, b, False)


def other_way_round(self: SubgroupScales, products: Any, a: Any, b: Any, low: bool = False) -> Any:
    return real_parts(self, products, a, b, not low)


def always_raised(unit: Any, hooks: Any, *, low: bool = False) -> Any:
    return method_of(unit, hooks)


def of_other_scales(products: Any, a: Any, b: Any, addend: Any) -> Any:
    return is_low(products, b, a, addend)


MODELS: dict[str, tuple[Any, str, Any]] = {
    "parts that are always large": (SubgroupScales, "subgroups", always_large),
    "parts the other way round": (SubgroupScales, "subgroups", other_way_round),
    "a low addend that raises the window": (definition, "method_of", always_raised),
    "an addend compared with other scales": (definition, "is_low", of_other_scales),
}


@pytest.mark.parametrize("model", MODELS)
def test_a_model_of_another_rule_is_not_proved(model: str, monkeypatch: Patch) -> None:
    monkeypatch.setattr(*MODELS[model])
    with pytest.raises(Unmet):
        composed(LOW)


# What the RTL does wrongly, and the claim that says so.
FAULTS: dict[str, tuple[str, Mutant]] = {
    "level": ("low addend", text("", windows._is_low, "exp > least", "exp >= least")),
    "no sign": ("low addend", text("", windows._is_low, "i.addend.sig.any() & ", "")),
    "scales": ("low addend", text("", windows._is_low, "(scale.nan | scale.inf)", "scale.nan")),
    "raised": ("low: maximum", text("", aligned.Maximum._addend, "counts &= ~self.i.low", "pass")),
    "cut": ("low: addend: aligned", text("", aligned.shifter, " - n.reach)", ")")),
    "small": (
        "not low: subgroups: others",
        text("", windows.drive_low_parts, "0 if whole is None else whole.total", "(whole or part).total"),
    ),
}  # fmt: skip


def words_of(names: Callable[[str], bool]) -> dict[str, str]:
    return {claim.name: claim.decide(120).word for claim in method_claims(LOW, ()).claims() if names(claim.name)}


@pytest.mark.parametrize("fault", others_slow(FAULTS, []))
def test_rtl_of_another_rule_is_refuted(fault: str) -> None:
    name, mutant = FAULTS[fault]
    with mutant.applied():
        words = words_of(name.__eq__)
    assert words == {name: "refuted"}


@pytest.mark.slow
def test_every_group_is_claimed_of_low_addends_and_of_others() -> None:
    words = words_of(lambda name: not name.endswith("subgroup: scaled"))
    assert set(words.values()) == {"proved"}
    assert {"low addend", "low addend: reach", "lane: exponent", "not low: subgroups: others"} <= words.keys()
