"""Steps, cuts and contexts; and what is refused, key by key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from built_presets import BUILDABLE, DISTINCT, others_slow

from hwsim.cases.bins.facts import range_report
from hwsim.cosim.run import CosimOptions, run
from hwsim.cosim.unitdesign import unit_design
from hwsim.model.clock import PipelinedUnit
from hwsim.rtl import datapath, promotion, supports, verilog
from hwsim.rtl.accumulate import accumulation
from hwsim.spec import (
    NotImplementedYet,
    Pipeline,
    Unit,
    implemented,
    load_unit,
    pipeline,
    presets,
    steps,
)

HOPPER = load_unit("hopper-wgmma-e4m3-f32")
DEEPSEEK = load_unit("deepseek-v3-e4m3-f32")


def test_steps_of_a_tree_have_a_level_for_each_doubling() -> None:
    # 33 terms, with the addend: six levels; 17: five.
    for name, levels in (("hopper-wgmma-e4m3-f32", 6), ("ada-mma-e4m3-f32", 5)):
        known = steps(load_unit(name))
        for tree, before in (("maximum", []), ("sum", ["sum.0"])):
            assert [step for step in known if step.startswith(tree)] == [
                *before,
                *(f"{tree}.{level}" for level in range(1, levels)),
                tree,
            ]
    order = ["decode", "multiply", "maximum", "distance", "align", "sum", "magnitude", "normalize", "round"]
    assert [step for step in steps(HOPPER) if "." not in step] == order


# Lanes, and the levels of the trees: of both windows' terms, of a chain's additions, of an exact sum's products.
INNER = {
    "cdna3-mfma-e4m3fnuz-f32": ["maximum.1", "maximum.2", "distance", "align.1", "sum.1", "sum.2", "normalize.1"],
    "exact-e4m3-f32": ["sum.1", "sum.2", "sum.3", "sum.4", "normalize.1"],
    "hopper-mma-f64-f64": ["add.0.distance", "add.0.align.1", "add.0.sum.1", "add.0.normalize.1"],
    "blackwell-mxf4nvf4-e2m1-f32": ["maximum.1", "maximum.2", "distance", "align.1", "sum.1", "sum.2", "normalize.1"],
}


@pytest.mark.parametrize("name", INNER)
def test_steps_inside_trees_shifters_and_adders(name: str) -> None:
    unit = load_unit(name)
    inner = [step for step in steps(unit) if step.endswith((".1", ".2", ".3", ".4")) or "distance" in step]
    assert inner == INNER[name]
    assert not set(inner) & set(pipeline(unit).cuts)


def test_promotion_comes_last() -> None:
    assert steps(HOPPER)[-1] == "round"
    assert steps(DEEPSEEK)[: len(steps(HOPPER))] == steps(HOPPER)
    assert steps(DEEPSEEK)[-1] == "promote"


def test_a_pipeline_has_four_registers_unless_said() -> None:
    built = pipeline(HOPPER)
    assert (built.cuts, built.latency, built.contexts) == (("multiply", "align", "sum", "round"), 4, 4)
    assert pipeline(DEEPSEEK).cuts == ("multiply", "align", "sum", "round", "promote")


def test_cuts_are_put_in_order_and_the_last_is_added() -> None:
    built = pipeline(HOPPER, cuts=("sum", "decode", "sum"))
    assert (built.cuts, built.contexts) == (("decode", "sum", "round"), 3)
    assert pipeline(HOPPER, cuts=()).cuts == ("round",)
    assert pipeline(HOPPER, cuts=steps(HOPPER), contexts=1).latency == len(steps(HOPPER))


@pytest.mark.parametrize(("contexts", "bits"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (256, 8)])
def test_context_bits(contexts: int, bits: int) -> None:
    assert pipeline(HOPPER, contexts=contexts).context_bits == bits


@pytest.mark.quick(cases=3)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cuts": ("multiply", "promote")}, r"cuts must be steps of hopper-wgmma-e4m3-f32 \(decode, .*\), not promote"),
        ({"cuts": ("b", "a")}, r"not a, b$"),
        ({"contexts": 0}, r"^contexts must be 1 to 256, not 0$"),
        ({"contexts": 257}, r"^contexts must be 1 to 256, not 257$"),
    ],
)
def test_a_pipeline_that_does_not_fit(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pipeline(HOPPER, **arguments)


def test_a_pipeline_without_an_output_register() -> None:
    with pytest.raises(ValueError, match=r"cuts must hold the last step"):
        Pipeline(cuts=(), contexts=1)


def changed(**parts: dict[str, Any]) -> Unit:
    """Hopper's unit with other keys in some parts."""
    data = HOPPER.model_dump(exclude_unset=True)
    added = {key: parts.pop(key) for key in ("scale", "promotion", "late") if key in parts}
    data = {key: {**value, **parts.get(key, {})} if isinstance(value, dict) else value for key, value in data.items()}
    return Unit.model_validate({**data, **added})


E8M0 = {"format": "e8m0", "block": [32, 32]}
# The same with a fraction; no subnormals; no sign.
BARE = {"kind": "float", "name": "bare", "exponent_bits": 6, "fraction_bits": 9, "bias": 31, "subnormals": False}
WIDE_BARE = {**BARE, "exponent_bits": 9, "bias": 255, "fraction_bits": 13, "nan": [0x3FFFFF, 0x7FFFFF]}
BARE_ADDEND: dict[str, dict[str, Any]] = {"operands": {"addend": None}, "sum": {"addend": None}}
POSITIVE = {"kind": "float", "name": "ue4m3", "exponent_bits": 4, "fraction_bits": 3, "bias": 7, "signed": False}
LATE: dict[str, dict[str, Any]] = {"instruction": {"start": "zero"}, "sum": {"addend": "late"}}
ADD = {"operation": "add", "format": "f32", "rounding": "rne"}
WINDOW = {"operation": "window", "sum_bits": 31, "addend_bits": 24, "lost": "floor"}
CHAIN = {"fraction_bits": None, "product": "fused", "format": "f32", "rounding": "rne"}
COMBINE = {"fraction_bits": 24, "lost": "floor"}
NO_INFINITY = {**WIDE_BARE, "subnormals": True}
REFUSED: list[tuple[dict[str, dict[str, Any]], str]] = [
    ({"operands": {"a": {**POSITIVE, "signed_zero": False}}}, "unsigned factors"),
    ({"scale": {"a": {"format": "f32", "block": [1, 32]}, "b": E8M0}}, "scale formats other than a power of two"),
    ({**LATE, "late": ADD, "promotion": {"interval": 128, "format": "f32"}}, "sum.addend: late with a promotion"),
    (
        {"result": {"format": {**BARE, "fraction_bits": 0, "nan": [0x3F, 0x7F]}, "overflow": "nan"}},
        "result formats without a fraction",
    ),
]

# In the model and the RTL, and not one plain window: no proofs of ranges, and a datapath of another kind or with more.
SHORT = {"k": 8, "lanes": 8}
ORDER = {"modulo": 4, "groups": [[0, 1], [2, 3]]}
OTHERS: list[tuple[dict[str, dict[str, Any]], str]] = [
    ({"operands": {"convert": "f16"}}, "operands.convert"),
    ({"operands": {"daz": True}}, "operands.daz: true"),
    ({"instruction": {"order": ORDER, "lanes": 16}}, "instruction.order other than sequential"),
    (
        {**BARE_ADDEND, "instruction": {"start": "zero", "chain": None}},
        "instruction.start: zero",
    ),
    ({"sum": {"method": "exact", "fraction_bits": None}}, "sum.method: exact"),
    ({"instruction": SHORT, "sum": {**CHAIN, "method": "sequential"}}, "sum.method: sequential"),
    ({"instruction": SHORT, "sum": {**CHAIN, "method": "pairwise"}}, "sum.method: pairwise"),
    (
        {**LATE, "sum": {"addend": "late", "method": "even-odd", "combine": COMBINE}, "late": ADD},
        "sum.method: even-odd",
    ),
    ({"sum": {"product_limit": 128}}, "sum.product_limit"),
    (
        {"result": {"format": {**BARE, "nan": [0x7FFF, 0xFFFF]}, "overflow": "nan"}},
        "result formats without subnormals",
    ),
    ({**BARE_ADDEND, "promotion": {"interval": 128, "format": WIDE_BARE}}, "promotion formats without subnormals"),
    ({**BARE_ADDEND, "promotion": {"interval": 128, "format": NO_INFINITY}}, "promotion formats without infinities"),
    ({**LATE, "late": {**WINDOW}}, "instruction.start: zero"),
    ({**LATE, "late": {**ADD, "format": {**BARE, "nan": [0x7FFF, 0xFFFF]}}}, "instruction.start: zero"),
    ({"sum": {"zero_terms": "count"}}, "sum.zero_terms: count"),
    ({"sum": {"zero": "ieee"}}, "sum.zero: ieee"),
    ({"result": {"nan": "any"}}, "result.nan: any"),
    ({"result": {"subnormals": "flush"}}, "result.subnormals: flush"),
    ({**LATE, "late": ADD}, "instruction.start: zero"),
]


def steps_built(unit: Unit) -> list[str]:
    """The steps of the RTL with a register after each of them."""
    every = steps(unit)
    after = accumulation(unit)
    built = [*datapath(unit, every).steps, *(promotion(unit, every).steps if after is not None else ())]
    return [step.name for step in built]


@pytest.mark.parametrize(
    "name", ["hopper-wgmma-e4m3-f32", "deepseek-v3-e4m3-f32", "cdna3-mfma-e4m3fnuz-f32", "int8-i32"]
)
def test_the_rtl_has_the_steps_of_the_specification(name: str) -> None:
    assert steps_built(load_unit(name)) == list(steps(load_unit(name)))


@pytest.mark.parametrize(("parts", "what"), others_slow(OTHERS, OTHERS[::3]), ids=[other[1] for other in OTHERS])
def test_what_is_in_the_rtl_beside_one_plain_window(parts: dict[str, dict[str, Any]], what: str) -> None:
    unit = changed(**parts)
    assert implemented(unit) and supports(unit)
    assert PipelinedUnit(unit, pipeline(unit)).definition.unit == unit
    assert steps_built(unit) == list(steps(unit))
    with pytest.raises(NotImplementedYet) as caught:
        range_report(unit)
    assert str(caught.value) == f"unit hopper-wgmma-e4m3-f32: {what} is in the model, but has no window bins"


def refused_uses(unit: Unit) -> dict[str, Callable[[], object]]:
    """What must not compute something else for a unit that no implementation has."""
    built = pipeline(unit)
    return {
        "hwsim rtl": lambda: verilog(unit, built),
        "hwsim cosim": lambda: run(CosimOptions((unit_design(unit, built),), simulators=())),
    }


def test_hardware_refuses_what_no_implementation_has() -> None:
    unit = changed(operands={"a": "ue4m3"})
    for name, use in refused_uses(unit).items():
        with pytest.raises(NotImplementedYet) as caught:
            use()
        assert str(caught.value) == f"unit {unit.name}: unsigned factors is not implemented yet", name


# Products that share a scale, in an order of groups, and lanes of which a beat carries one: by hand.
SHARED: dict[str, tuple[int, int, Any, int, int]] = {
    "a group in a block": (16, 8, "sequential", 32, 8),
    "two blocks of a group": (16, 8, "sequential", 4, 4),
    "neighbours of a block": (8, 4, {"modulo": 4, "groups": [[0, 1], [2, 3]]}, 4, 2),
    "blocks end between neighbours": (8, 4, {"modulo": 4, "groups": [[3, 0], [1, 2]]}, 2, 1),
    "a block for all": (8, 4, {"modulo": 4, "groups": [[0, 1], [2, 3]]}, 8, 4),
    "blocks end inside an instruction": (12, 4, {"modulo": 3, "groups": [[1], [0], [2]]}, 8, 1),
    "one group ends a block": (12, 4, {"modulo": 6, "groups": [[0, 1], [2, 4], [3, 5]]}, 2, 1),
}


@pytest.mark.parametrize("name", SHARED)
def test_lanes_of_which_a_beat_carries_one_scale(name: str) -> None:
    k, lanes, order, block, shared = SHARED[name]
    scale = {"a": {"format": "e8m0", "block": [1, block]}, "b": {"format": "e8m0", "block": [block, 1]}}
    unit = changed(scale=scale, instruction={"k": k, "lanes": lanes, "order": order})
    assert (unit.lanes_of_scale("a"), unit.lanes_of_scale("b")) == (shared, shared)
    for group in range(3 * k // lanes * block):
        blocks = [at // block for at in unit.instruction.indices(group)]
        assert all(blocks[lane] == blocks[lane - lane % shared] for lane in range(lanes))


def test_a_unit_without_scales_has_no_lanes_of_one() -> None:
    with pytest.raises(ValueError, match="hopper-wgmma-e4m3-f32 has no scales"):
        HOPPER.lanes_of_scale("a")


@pytest.mark.parametrize(("parts", "what"), REFUSED, ids=[refused[1] for refused in REFUSED])
def test_what_is_in_the_schema_and_not_in_the_model(parts: dict[str, dict[str, Any]], what: str) -> None:
    unit = changed(**parts)
    with pytest.raises(NotImplementedYet) as caught:
        implemented(unit).demand()
    assert str(caught.value) == f"unit hopper-wgmma-e4m3-f32: {what} is not implemented yet"


@pytest.mark.quick
def test_every_preset_is_in_the_model_and_in_the_rtl() -> None:
    assert [name for name in presets() if not supports(load_unit(name))] == []
    assert [name for name in presets() if name not in BUILDABLE] == []
    # Ampere's arithmetic is Ada's, Blackwell's Hopper's.
    assert {"ampere-mma-f16-f32", "hopper-mma-tf32-f32"}.isdisjoint(DISTINCT)
    assert {"ada-mma-f16-f32", "blackwell-mma-tf32-f32", "hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32"} < set(DISTINCT)


def test_the_output_is_what_the_promotion_leaves() -> None:
    assert HOPPER.output.name == "e8m13"
    assert DEEPSEEK.output.name == "f32"
    assert (HOPPER.promotion_beats, DEEPSEEK.promotion_beats) == (None, 4)
    assert HOPPER.nan == DEEPSEEK.nan == 0x7FFFFFFF
    assert changed(result={"nan": 0x7FC00000}).nan == 0x7FC00000


def test_a_unit_is_frozen_and_hashable() -> None:
    assert hash(changed()) == hash(changed())
    with pytest.raises(ValueError, match="frozen"):
        HOPPER.unit = "other"  # type: ignore[misc]
