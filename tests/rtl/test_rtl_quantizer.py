"""Block quantisers and dequantisers in hardware against `quantize` and exact products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import unsigned
from amaranth.lib.data import StructLayout
from built_presets import others_slow
from representatives import rules_of_every_kind

from hwsim.cases.drawing import Stream
from hwsim.cosim.design import Played
from hwsim.cosim.streamcases import stream_design, stream_suites
from hwsim.cosim.streams import StreamSuite, component_design, packed, play
from hwsim.formats import get_format
from hwsim.quantize import Quantized, get_rule, quantize, rules
from hwsim.quantize.block import BlockDequantization, BlockQuantization
from hwsim.quantize.rule import Rule, Select
from hwsim.quantize.scales import power_exponents
from hwsim.rtl import StreamedDatapath, StreamPlan, quantizer, stream_plan
from hwsim.rtl import single as thresholds
from hwsim.rtl.quantizer import quantizer_steps, stages
from hwsim.rtl.single import FIELDS, FRACTION, Staircase, divide_stages
from hwsim.rtl.single import MOST_POWER as MOST
from hwsim.rtl.step import Datapath, Stage
from hwsim.spec import NotImplementedYet

SEED = 20261123
Patch = pytest.MonkeyPatch


def block(name: str, lanes: int = 3, source: str = "f32", random_bits: int = 0, **changes: Any) -> BlockQuantization:
    rule = get_rule(name).replace(**changes)
    return BlockQuantization(rule=rule, source=get_format(source), lanes=lanes, random_bits=random_bits, name=name)


QUANTIZERS = {
    "mxfp8-e4m3": block("mxfp8-e4m3"),
    "mxint8 from bf16 by rceil": block("mxint8", 4, "bf16", select="rceil"),
    "mxfp4 from f16 by ceil": block("mxfp4-e2m1", 5, "f16", select="ceil"),
    "nvfp4": block("nvfp4", 2),
    "nvfp4-transformer-engine": block("nvfp4-transformer-engine", 2),
    "stochastic mxfp6": block("mxfp6-e2m3", random_bits=7, rounding="stochastic"),
    "specials are elements": block("mxfp8-e5m2", infinity="element", nan="element", overflow="infinity"),
    "infinities are elements, others saturate": block("mxfp8-e5m2", infinity="element", nan="element"),
    "mxfp8-e5m2 by even": block("mxfp8-e5m2", 1, select="even", rounding="ru"),
    "algorithm 1, mxint8 from bf16": block("mx-algorithm-1-mxint8", 2, "bf16"),
    "algorithm 1, infinity counts": block("mx-algorithm-1-e4m3", infinity="amax"),
    "rceil, infinity counts": block("mxfp8-e4m3", infinity="amax", select="rceil"),
    "mxint8 by rceil-reciprocal, to -128": block(
        "mxint8", select="rceil-reciprocal", infinity="saturate", symmetric=False
    ),
    "a least amax": block("mxfp8-e4m3", least_amax=1e-4),
    "a scale of zeros that is NaN": block("mxfp8-e4m3", 2, zero_scale=255),
    "mxfp4 from e5m2": block("mxfp4-e2m1", 2, "e5m2", select="ceil"),
    "one lane": block("mxfp4-e2m1", 1, select="even"),
    "nvfp4-block": block("nvfp4-block", 2),
    "nvfp4-torchao": block("nvfp4-torchao", 2),
    "nvfp4-torchao-0.17": block("nvfp4-torchao-0.17", 2),
    "nvfp4-block-torchao": block("nvfp4-block-torchao", 2),
    "nvfp4-block-torchao-0.17 from bf16": block("nvfp4-block-torchao-0.17", 3, "bf16"),
    "nvfp4 towards zero": block("nvfp4", 2, rounding="rz"),
    "nvfp4, ties away": block("nvfp4", 2, "f16", rounding="rna"),
    "e4m3 under a narrow scale": block("nvfp4-transformer-engine", 2, element="e4m3", rounding="rto"),
    "stochastic nvfp4": block("nvfp4-transformer-engine", 2, random_bits=10, rounding="stochastic"),
    "nvfp4, infinity counts": block("nvfp4-block", 2, infinity="amax"),
}
QUANTIZERS |= {
    f"by {select.value}": block("mxint8", 2, select=select) for select in Select if select is not Select.DIVIDE
}
EVERY_DAY = ["mxfp8-e4m3", "nvfp4"]


def outcomes(q: BlockQuantization, blocks: int = 1500) -> list[Played]:
    return play(stream_design(q), list(stream_suites(q, SEED, blocks)), "verilator", SEED)


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(QUANTIZERS, ["mxfp8-e4m3"]))
def test_a_quantiser_returns_what_quantize_does(verilator: None, name: str) -> None:
    found = outcomes(QUANTIZERS[name])
    assert [one.suite.name for one in found] == ["scales", "boundaries", "random", "traffic"]
    assert [one for one in found if not one.passed] == []


RULES = [name for name in rules() if name.startswith(("mxfp", "mxint", "nvfp4", "mx-alg"))]


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(RULES, [], rules_of_every_kind(RULES)))
def test_every_rule_with_its_own_blocks(verilator: None, name: str) -> None:
    for source in ("f32", "bf16", "f16"):
        q = BlockQuantization(rule=get_rule(name), source=get_format(source), name=name)
        assert [one for one in outcomes(q, 4000) if not one.passed] == []


@pytest.mark.simulator
@pytest.mark.slow
def test_every_cut_keeps_the_bits(verilator: None) -> None:
    for q in (block("mxfp8-e4m3", 5), block("nvfp4-torchao-0.17", 2)):
        suites = list(stream_suites(q, SEED, 500))
        for cuts in ((), quantizer_steps(q), quantizer_steps(q)[::2]):
            design = stream_design(q, cuts)
            assert design.latency == len({*cuts, "round"})
            assert [one for one in play(design, suites, "verilator", SEED) if not one.passed] == []


def test_the_names_of_steps_are_those_of_the_datapath() -> None:
    for q in QUANTIZERS.values():
        path = Datapath(stages(q), ())
        assert tuple(step.name for step in path.steps) == quantizer_steps(q)


POWERS = [(element, select) for element in ("e4m3", "e5m2", "e2m1", "mxint8", "e3m2") for select in Select]


STAIRS = [pair for pair in POWERS if pair[1] is not Select.DIVIDE]


@pytest.mark.parametrize(("element", "select"), others_slow(STAIRS, STAIRS[::3]))
def test_the_staircase_is_the_scale_in_every_binade(element: str, select: Select) -> None:
    # At every step, on both sides of it, and at the ends of each binade.
    rule = get_rule("mxfp8-e4m3").replace(element=element, select=select)
    stairs = Staircase.of(rule)
    places = {0, 1, MOST, stairs.above, min(stairs.above + 1, MOST)}
    places |= {min(place + by, MOST) for one in stairs.others.values() for place in one.above for by in (0, 1)}
    codes = np.array([field << FRACTION | frac for field in range(FIELDS - 1) for frac in places if field or frac])
    amax = codes.astype(np.uint32).view(np.float32).astype(np.float64)
    want = np.clip(power_exponents(rule, amax), stairs.least, stairs.most + 1)
    got = [_exponent(stairs, code >> FRACTION, code & MOST) for code in codes.tolist()]
    assert got == want.tolist()


def _exponent(stairs: Staircase, field: int, frac: int) -> int:
    if field in stairs.others:
        return stairs.others[field].first + sum(frac > step for step in stairs.others[field].above)
    return stairs.usual(field, frac)


PAIR = StructLayout({"a": unsigned(32), "b": unsigned(32)})


def product_alone() -> list[Stage]:
    stage = quantizer.product_stage("product", PAIR, "a", "b")
    return [stage, Stage("end", stage.gives, {}, lambda m, i, o: None, drops=("a", "b"))]


ARITHMETIC: dict[str, tuple[Callable[[], list[Stage]], tuple[str, ...]]] = {
    "quotient": (lambda: list(divide_stages("q", PAIR, "a", "b", "quotient", drops=("a", "b"))), ("q.2", "q")),
    "product": (product_alone, ("end",)),
}


@pytest.mark.simulator
@pytest.mark.parametrize("kind", others_slow(ARITHMETIC, ["quotient"]))
def test_binary32_arithmetic_is_ieee_754(verilator: None, kind: str) -> None:
    stream, count = Stream(SEED, kind), 60_000
    special = np.array([0, 1, 2, 0x7FFFFF, 0x800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x7F800001])
    special = np.concatenate([special, special | 1 << 31])
    pairs = np.array([(x, y) for x in special for y in special])
    a, b = (np.concatenate([pairs[:, side], stream.words(count)]) for side in (0, 1))
    # Half of the others near one another, and few bits apart.
    b[len(pairs) :: 2] = (a[len(pairs) :: 2] + stream.integers(-9, 9, (len(a[len(pairs) :: 2]),))) & 0xFFFFFFFF
    x, y = (side.astype(np.uint32).view(np.float32) for side in (a, b))
    with np.errstate(all="ignore"):
        exact = x / y if kind == "quotient" else x * y
    want = np.where(np.isnan(exact), 0x7FFFFFFF, exact.view(np.uint32))
    o = StructLayout({kind: unsigned(32)})
    plan = StreamPlan(
        name=kind, words=("a result",), steps=ARITHMETIC[kind][0], cuts=ARITHMETIC[kind][1], i=PAIR, o=o,
        leaves=lambda out: {kind: out[kind]},
    )  # fmt: skip
    design = component_design(StreamedDatapath(plan))
    suite = StreamSuite(kind, packed((32, a), (32, b)), packed((32, want)))
    (played,) = play(design, [suite], "verilator", SEED)
    assert played.passed, played.outcome.mismatches[:3]


DEQUANTIZERS = {
    "mxfp8-e4m3 to f32": BlockDequantization.of(block("mxfp8-e4m3")),
    "nvfp4 to f32": BlockDequantization.of(block("nvfp4")),
    "mxint8 to bf16": BlockDequantization.of(block("mxint8"), target="bf16"),
    "mxfp8-e5m2 to f16, to odd": BlockDequantization.of(
        block("mxfp8-e5m2"), target="f16", rounding="rto", overflow="saturate"
    ),
    "e5m2 under ue4m3": BlockDequantization(element="e5m2", scale_format="ue4m3", lanes=3, overflow="ieee"),  # type: ignore[arg-type]
    "e3m2 under f32": BlockDequantization(element="e3m2", scale_format="f32", lanes=2),  # type: ignore[arg-type]
}


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(DEQUANTIZERS, list(DEQUANTIZERS)[2:3]))
def test_a_dequantiser_returns_products_rounded_once(verilator: None, name: str) -> None:
    d = DEQUANTIZERS[name]
    found = play(stream_design(d), list(stream_suites(d, SEED, 1500)), "verilator", SEED)
    assert {"random", "traffic"} <= {one.suite.name for one in found}
    assert [one for one in found if not one.passed] == []


@pytest.mark.parametrize("name", ["mxfp8-e4m3", "mxint8", "nvfp4"])
def test_what_a_dequantiser_is_held_against_is_dequantize(name: str) -> None:
    # Its suites know nothing of `Quantized`: on what a quantisation returns both are the same numbers.
    q = block(name, 16)
    x = Stream(SEED, name).uniforms(64 * 16).reshape(64, 16).astype(np.float32) - np.float32(0.5)
    quantized = quantize(x, q.row_rule)
    want = quantized.dequantize(np.float32)
    scale = quantized.scale_values * float(quantized.tensor_scale or 1)
    exact = q.rule.element.decode(quantized.codes) * scale
    assert isinstance(quantized, Quantized)
    assert (get_format("f32").encode(exact, "rne", "infinity") == want.view(np.uint32)).all()


def test_what_the_hardware_lacks_is_refused() -> None:
    for name, said in (
        ("deepseek-v3-1x128", "scale_format: f32 with select: divide"),
        ("deepseek-v3-1x128-power-of-two", "scale_format: f32 with select: rceil"),
    ):
        with pytest.raises(NotImplementedYet, match=f"rule {name}: {said}"):
            stream_plan(BlockQuantization(rule=get_rule(name), lanes=4, name=name))
    for q, said in (
        (block("mxfp8-e4m3", nan="error"), "nan: error"),
        (block("nvfp4", element="e4m3"), "apply: divide of e4m3 by rne"),
        (block("nvfp4", rounding="ru"), "apply: divide of e2m1 by ru"),
        (block("mxfp8-e4m3", apply="divide"), "apply: divide with select: floor"),
    ):
        with pytest.raises(NotImplementedYet, match=said):
            stream_plan(q)
    with pytest.raises(ValueError, match="lanes must be given"):
        BlockQuantization(rule=get_rule("tensor-e4m3"))
    with pytest.raises(ValueError, match="source must be a signed float format within f32, not mxint8"):
        block("mxfp8-e4m3", source="mxint8")
    with pytest.raises(NotImplementedYet, match="products of more than 48 bits"):
        stream_plan(BlockDequantization(element="f16", scale_format="f32", lanes=1, tensor=True))  # type: ignore[arg-type]


real_staircase, real_threshold, real_put = Staircase.of, thresholds.Threshold.of, quantizer.put_code


def step_late(rule: Rule) -> Staircase:
    stairs = real_staircase(rule)
    return replace(stairs, above=min(stairs.above + 1, MOST))


def others_forgotten(rule: Rule) -> Staircase:
    return replace(real_staircase(rule), others={})


def ties_away(rule: Rule, step: int) -> thresholds.Threshold:
    return real_threshold(rule.replace(rounding="rna"), step)


def last_place_off(rule: Rule, step: int) -> thresholds.Threshold:
    return thresholds.Threshold(real_threshold(rule, step).factor + Fraction(1, 1 << 25))


def no_infinities(rule: Rule, code: Any, special: Any, to: Any) -> list[Any]:
    return [to.eq(code)]


def smaller_of_two(m: Any, left: list[Any], levels: int) -> list[Any]:
    return left[: -(-len(left) // 2)]


def on(module: Any, name: str, made: Any) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(module, name, made)


MUTANTS: dict[str, tuple[str, Callable[[Patch], None]]] = {
    **{
        f"a step of the scale one code late, by {select}": (
            f"by {select}", on(quantizer.Staircase, "of", step_late)
        )
        for select in ("ceil", "even", "rceil", "rceil-reciprocal")
    },
    "a last place of a threshold": ("nvfp4", on(thresholds.Threshold, "of", last_place_off)),
    "the last binade as the others": ("rceil, infinity counts", on(quantizer.Staircase, "of", others_forgotten)),
    "a tie of quotients goes up": ("nvfp4", on(thresholds.Threshold, "of", ties_away)),
    "infinities are any number": (
        "infinities are elements, others saturate", on(quantizer, "put_code", no_infinities)
    ),
    "a comparison left out": ("mxfp8-e4m3", on(quantizer, "tree_maximum", smaller_of_two)),
    "subnormals are not flushed": (
        "algorithm 1, mxint8 from bf16", on(quantizer, "flushes", lambda rule, source: False)
    ),
    "a factor that may be infinite": ("nvfp4-transformer-engine", on(quantizer, "LARGEST", 0x7F800000)),
}  # fmt: skip


@pytest.mark.simulator
@pytest.mark.parametrize("mutant", others_slow(MUTANTS, ["a step of the scale one code late, by even"]))
def test_a_broken_quantiser_is_found(verilator: None, mutant: str, monkeypatch: Patch) -> None:
    name, mutate = MUTANTS[mutant]
    mutate(monkeypatch)
    assert [one for one in outcomes(QUANTIZERS[name]) if not one.passed]
