"""Converters, quantisers and dequantisers are proved, and broken ones are not."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Signal
from built_presets import others_slow
from representatives import formats_of_every_kind, rules_of_every_kind

from hwsim.cosim.streamcases import converted
from hwsim.formats import formats, get_format, unpack
from hwsim.formats.reference import overflows
from hwsim.formats.rounding import Rounding
from hwsim.model.conversion import convert, dequantize
from hwsim.prove import blocks as single_claims
from hwsim.prove.blocks import DividedClaims, quotient
from hwsim.prove.quantizers import stream_claims
from hwsim.quantize import get_rule, rules
from hwsim.quantize.block import BlockDequantization, BlockQuantization
from hwsim.quantize.rule import Rule, Select
from hwsim.rtl import BlockQuantizer, Converter, Streamed, encode, quantizer, single, stream_verilog
from hwsim.rtl.normalize import Normalize
from hwsim.rtl.quantizer import quantizer_lacks
from hwsim.rtl.single import F32, ROWS, Multiply32, Staircase, Threshold
from hwsim.rtl.single import MOST_POWER as MOST
from hwsim.spec.conversion import Conversion

SEED = 20261123
Patch = pytest.MonkeyPatch
FORMATS = [*(name for name in formats() if name != "f64"), "binary8p1se", "binary6p2ue", "binary5p5uf", "binary4p1ue"]


def drawn(random: Random) -> Conversion:
    """A conversion of any two formats under any settings."""
    target = random.choice(FORMATS)
    fmt = get_format(target)
    rounding = random.choice([*(one.value for one in Rounding), "stochastic"])
    return Conversion(
        source=get_format(random.choice(FORMATS)),
        target=fmt,
        rounding=rounding,  # type: ignore[arg-type]
        overflow=random.choice(overflows(fmt)).value,  # type: ignore[arg-type]
        missing=random.choice([*["nan"] * fmt.has_nan, *["zero"] * fmt.has_zero, "saturate"]),  # type: ignore[arg-type]
        random_bits=random.choice([1, 3, 8]) if rounding == "stochastic" else 0,
    )


@pytest.mark.parametrize("seed", others_slow(range(40), [0]))
def test_the_model_of_a_conversion_is_the_codec(seed: int) -> None:
    random = Random(SEED + seed)
    for _ in range(40):
        c = drawn(random)
        few = c.source.bits <= 8
        codes = range(1 << c.source.bits) if few else [random.randrange(1 << c.source.bits) for _ in range(120)]
        stored = np.array(codes, np.int64) << c.source.padding
        words_of_converter = np.array([random.randrange(1 << c.random_bits) for _ in codes]) if c.random_bits else None
        want = converted(c, stored, words_of_converter).tolist()
        given = [0] * len(want) if words_of_converter is None else words_of_converter.tolist()
        got = [convert(c, code, word) for code, word in zip(stored.tolist(), given, strict=True)]
        assert got == want, c.name


def words(
    of: Streamed, cuts: tuple[str, ...] | None = None, text: str | None = None, skipped: Collection[str] = ()
) -> dict[str, str]:
    """What becomes of each claim, but for some."""
    return {claim.name: claim.decide(120).word for claim in stream_claims(of, cuts, text) if claim.name not in skipped}


CLAIMS = {"ready", "stands still", "idle", "valid", "reset", "code"}
PROVED = [
    Conversion(source="f32", target="e4m3"),  # type: ignore[arg-type]
    Conversion(source="f32", target="e4m3", rounding="stochastic", random_bits=8),  # type: ignore[arg-type]
    Conversion(source="bf16", target="e8m0", rounding="ru"),  # type: ignore[arg-type]
    Conversion(source="mxint8", target="f16"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("target", others_slow(FORMATS, [], formats_of_every_kind(FORMATS)))
def test_every_format_from_binary32_and_back(target: str) -> None:
    fmt = get_format(target)
    for rounding in Rounding:
        for overflow in overflows(fmt):
            c = Conversion(source=get_format("f32"), target=fmt, rounding=rounding.value, overflow=overflow.value)  # type: ignore[arg-type]
            assert words(c) == dict.fromkeys(CLAIMS, "proved"), c.name
    back = Conversion(source=fmt, target=get_format("f32"))
    assert words(back) == dict.fromkeys(CLAIMS, "proved")


@pytest.mark.slow
@pytest.mark.parametrize("cuts", [(), ("decode",), ("decode", "normalize")])
def test_any_registers(cuts: tuple[str, ...]) -> None:
    for c in PROVED:
        assert words(c, cuts) == dict.fromkeys(CLAIMS, "proved")


real_last = encode.last_place


def sticky_lost(rounding: Any, sign: Any, last: Any, guard: Any, sticky: Any) -> Any:
    return real_last(rounding, sign, last, guard, Const(0))


def never_small(self: Any, m: Any, magnitude: Any) -> None:
    m.d.comb += [self.o.sig.eq(magnitude), self.o.bexp.eq(self.i.top_bexp)]


def in_text(old: str, new: str) -> Callable[[str], str]:
    def changed(text: str) -> str:
        assert old in text, old
        return text.replace(old, new, 1)

    return changed


TEXTS: dict[str, tuple[set[str], Callable[[str], str]]] = {
    "a payload is taken while a result waits": ({"ready"}, in_text("assign in_ready = ", "assign in_ready = 1'b1 | ")),
    "a reset that leaves what is valid": ({"reset"}, in_text("if (rst)", "if (rst & out_ready)")),
}


@pytest.mark.parametrize("mutant", TEXTS)
def test_a_broken_file_is_not_proved(mutant: str) -> None:
    broken, change = TEXTS[mutant]
    c = Conversion(source="e4m3", target="e2m1")  # type: ignore[arg-type]
    found = words(c, text=change(stream_verilog(Converter(c))))
    assert broken <= {name for name, word in found.items() if word != "proved"}


def block(name: str, lanes: int = 3, source: str = "f32", random_bits: int = 0, **changes: Any) -> BlockQuantization:
    rule = get_rule(name).replace(**changes)
    return BlockQuantization(rule=rule, source=get_format(source), lanes=lanes, random_bits=random_bits, name=name)


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


POWERS = [name for name in rules() if name.startswith(("mxfp", "mxint", "mx-alg"))]


@pytest.mark.parametrize("name", others_slow(POWERS, [], rules_of_every_kind(POWERS)))
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


def of(rule: str, lanes: int, **changes: Any) -> BlockDequantization:
    made = BlockDequantization.of(BlockQuantization(rule=get_rule(rule), lanes=lanes, name=rule))
    return replace(made, **changes)


SCALED_TENSORS = {
    "nvfp4 to f32": of("nvfp4", 3),
    "nvfp4 to bf16, to odd": of("nvfp4", 2, target=get_format("bf16"), rounding="rto", overflow="saturate"),
    "e4m3 under e4m3 to f16": of(
        "nvfp4", 1, element=get_format("e4m3"), scale_format=get_format("e4m3"), target=get_format("f16")
    ),
    "e5m2 under ue4m3 to tf32": of("nvfp4", 2, element=get_format("e5m2"), target=get_format("tf32")),
}
# And how many claims each has.
STREAMS: dict[str, tuple[Streamed, int]] = {
    **{c.name: (c, len(CLAIMS)) for c in PROVED},
    **{name: (q, 17) for name, q in QUANTIZERS.items()},
    **{name: (d, 5 + d.lanes) for name, d in DEQUANTIZERS.items()},
    **{name: (d, 14) for name, d in SCALED_TENSORS.items()},
}
# The commands of docs/proof.md prove a quantiser always.
FAST = [*(c.name for c in PROVED[1:]), *list(DEQUANTIZERS)[:1]]


@pytest.mark.parametrize("name", others_slow(STREAMS, FAST))
def test_a_stream_is_the_models_for_every_payload(name: str) -> None:
    stream, count = STREAMS[name]
    found = words(stream)
    assert set(found.values()) == {"proved"}, found
    assert len(found) == count


def test_the_model_of_a_dequantiser_is_what_quantize_has() -> None:
    d, every = DEQUANTIZERS["mxint8 to f16"], np.arange(256)
    values = d.element.decode(every.astype(np.uint8))
    for scale in (0, 1, 100, 118, 127, 141, 142, 200, 254, 255):
        with np.errstate(invalid="ignore"):
            want = d.target.encode(values * float(d.scale_format.decode(scale)), "rne", "infinity", "nan").tolist()
        assert [dequantize(d, code, scale) for code in every.tolist()] == want


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


real_product, real_target = quantizer.product, quantizer.dequantized_target


def a_sign_of_both(one: Any, other: Any) -> Any:
    return real_product(one, other)._replace(sign=one.sign & other.sign)


def a_place_too_high(one: Any, other: Any) -> Any:
    return real_product(one, other)._replace(exp=one.exp + other.exp + 1)


def infinities_by_zero(one: Any, other: Any) -> Any:
    return real_product(one, other)._replace(nan=one.nan | other.nan)


def cut_off(d: BlockDequantization) -> Any:
    return replace(real_target(d), rounding="rz")


# What takes seconds each, of which the soak asks all.
LONG = {"product: entering", "product: normalized", "operand", *(f"threshold {step}" for step in range(2, 8))}


def divided(name: str, lanes: int = 2, source: str = "f32", **changes: Any) -> BlockQuantization:
    rule = get_rule(name).replace(**changes)
    return BlockQuantization(rule=rule, source=get_format(source), lanes=lanes, name=name)


DIVIDED = [
    name
    for name, rule in rules().items()
    if rule.select is Select.DIVIDE and rule.block != (None, None) and not [*quantizer_lacks(divided(name, 1))]
]


def test_these_are_nvfp4s() -> None:
    assert sorted(DIVIDED) == sorted(name for name in rules() if name.startswith("nvfp4"))


# Of NVFP4's own rule a command of docs/proof.md proves everything.
@pytest.mark.parametrize("name", others_slow(DIVIDED, [], ["nvfp4-block-torchao-0.17"]))
def test_a_quantiser_is_proved_but_for_what_takes_long(name: str) -> None:
    found = words(divided(name), skipped=LONG)
    assert set(found.values()) == {"proved"}, found
    assert {"division: row", "scale", "lane: element", "file: codes"} <= set(found)


SOURCES = [(name, source) for name in DIVIDED for source in ("f32", "bf16") if (name, source) != ("nvfp4", "bf16")]


@pytest.mark.parametrize(("name", "source"), others_slow(SOURCES, [], [("nvfp4-block", "f32")]))
def test_every_rule_is_proved(name: str, source: str) -> None:
    found = words(divided(name, 3, source))
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


real_led, real_threshold_target, real_single, real_of = (
    single.led, Threshold.target, single.single_target, Threshold.of
)  # fmt: skip


def without_its_place(m: Module, sig: Any, bexp: Any, name: str) -> Any:
    return real_led(m, sig, bexp, name)[0], bexp


def towards_zero(*args: Any) -> Any:
    return replace(real_single(*args), rounding="rz")


def to_nearest(threshold: Threshold) -> Any:
    return replace(real_threshold_target(threshold), rounding="rne")


def ties_upwards(rule: Rule, step: int) -> Threshold:
    return real_of(rule.replace(rounding="rna"), step)


def the_other_lane(rule: Rule, code: Any, special: Any, to: Any) -> list[Any]:
    return real_put(rule, Mux(special.negative, 1, code) if to.name.endswith("1") else code, special, to)


def wrong_signs(patch: Patch) -> None:
    for module in (quantizer, single_claims):
        patch.setattr(module, "Multiply32", SignOfBoth)


INFINITE = block("mxfp8-e5m2", infinity="element", nan="element")
SMALL = block("mxfp4-e2m1", 3, "f16", select="rceil")
NVFP4, SCALED = divided("nvfp4-block"), SCALED_TENSORS["nvfp4 to f32"]
SATURATED, TORCHAO = divided("nvfp4-block", infinity="saturate"), divided("nvfp4-block-torchao-0.17")
FROM_F16 = Conversion(source="f16", target="e5m2", overflow="ieee")  # type: ignore[arg-type]
SOME = {"factor", "lane: product"}
# A mistake, what it is tried with, and the claims that it breaks.
MUTANTS: dict[str, tuple[Streamed, set[str], Callable[[Patch], None]]] = {
    "what is below the guard is lost": (FROM_F16, {"code"}, on(encode, "last_place", sticky_lost)),
    "subnormals are normal": (FROM_F16, {"code"}, on(Normalize, "_in_place", never_small)),
    "a largest number that is too small": (FROM_F16, {"code"}, on(encode, "inward", lambda target, sign: True)),
    "a dequantiser's sign of both": (
        DEQUANTIZERS["mxfp4 to f32"], {f"lane {lane}" for lane in range(4)}, on(quantizer, "product", a_sign_of_both)
    ),
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
    "a sign of both": (SCALED, SOME, on(quantizer, "product", a_sign_of_both)),
    "a place too high": (SCALED, SOME, on(quantizer, "product", a_place_too_high)),
    "infinities by zero": (SCALED, SOME, on(quantizer, "product", infinities_by_zero)),
    "numbers are cut off": (SCALED, {"lane: number"}, on(quantizer, "dequantized_target", cut_off)),
    "an equal rest is kept": (NVFP4, {"division: row"}, on(single, "_rows", row_that_keeps_equals)),
    "places are not counted": (NVFP4, {"ratio: begin"}, on(single, "led", without_its_place)),
    "quotients are cut off": (
        TORCHAO, {"ratio: quotient", "reciprocal: quotient", "product: rounded"},
        on(single, "single_target", towards_zero),
    ),
    "thresholds to nearest": (NVFP4, {"threshold 1"}, on(Threshold, "target", to_nearest)),
    "ties upwards": (NVFP4, {"thresholds: meaning"}, on(Threshold, "of", ties_upwards)),
    "signs of both": (TORCHAO, {"product: entering"}, wrong_signs),
    "a lane of a division": (SATURATED, {"lanes: elements"}, on(quantizer, "put_code", the_other_lane)),
    "infinities divided are any number": (SATURATED, {"lane: element"}, on(quantizer, "put_code", no_infinities)),
}  # fmt: skip


@pytest.mark.parametrize("mutant", others_slow(MUTANTS, list(MUTANTS)[1:3]))
def test_a_broken_stream_is_not_proved(mutant: str, monkeypatch: Patch) -> None:
    stream, broken, mutate = MUTANTS[mutant]
    mutate(monkeypatch)
    found = words(stream, skipped=LONG - broken)
    assert {name for name, word in found.items() if word != "proved"} == broken


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
    built = divided(name)
    claims = DividedClaims(divided(name, **changes), text=stream_verilog(BlockQuantizer(built)))
    claims.__dict__["steps"] = DividedClaims(built).steps
    assert {one.name for one in claims.claims() if one.name not in LONG and one.decide(120).word != "proved"} == broken
