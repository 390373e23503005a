"""The generator and the stochastic rounders in hardware against the codec: the same words, the same codes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, signed
from amaranth.lib.wiring import Component, In, Out
from amaranth.sim import Simulator
from built_presets import others_slow
from in_amaranth import played
from numpy.typing import NDArray
from said_of_verilog import said_of

from hwsim.formats import FloatFormat, get_format, stochastic
from hwsim.formats.reference import encode_reference
from hwsim.rtl import StochasticConvert, StochasticRound, Threefry, convert, encode
from hwsim.rtl import stochastic as hardware

KNOWN = [  # Random123 1.14, tests/kat_vectors, threefry2x32 20: seed, counter, word
    (0, 0, 0x6B200159),
    (2**64 - 1, 2**64 - 1, 0x1CB996FC),
    (0x0370734413198A2E, 0x85A308D3243F6A88, 0xC4923A9C),
]


def test_the_generator_gives_its_published_words() -> None:
    seeds, counters, words = zip(*KNOWN, strict=True)
    assert played(Threefry(), {"seed": seeds, "counter": counters}, ["word"]) == [(word,) for word in words]


def test_the_generator_s_words_are_the_codec_s() -> None:
    rng = np.random.default_rng(1)
    seeds = [int(seed) for seed in rng.integers(0, 2**64, 60, np.uint64)]
    counters = [int(counter) for counter in rng.integers(0, 2**64, 60, np.uint64)]
    want = [(int(stochastic.random_words(*pair, 1, 32)[0]),) for pair in zip(seeds, counters, strict=True)]
    assert played(Threefry(), {"seed": seeds, "counter": counters}, ["word"]) == want


@pytest.mark.parametrize("rounds_per_cycle", [1, 3, 4, 20])
def test_a_pipelined_generator_gives_a_word_a_cycle(rounds_per_cycle: int) -> None:
    generator = Threefry(rounds_per_cycle)
    want = stochastic.random_words(99, 5, 40, 32).tolist()
    said: list[int] = []

    async def bench(ctx: Any) -> None:
        ctx.set(generator.seed, 99)
        for at in range(40 + generator.latency):
            ctx.set(generator.counter, 5 + at)
            said.append(ctx.get(generator.word))
            await ctx.tick()

    simulator = Simulator(generator)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert generator.latency == -(-20 // rounds_per_cycle)
    assert said[generator.latency :] == want


def codec(
    fmt: FloatFormat, x: Any, words: Sequence[int], bits: int, overflow: str, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[int, int]]:
    """(code, is NaN) of the codec's rounding with these random words."""
    monkeypatch.setattr(stochastic, "random_words", lambda *given: np.array(words, np.int64))
    missing = "error" if fmt.has_nan else "zero"
    with np.errstate(invalid="ignore"):  # a signalling NaN
        nan = np.isnan(np.asarray(x, np.float64))
    codes = encode_reference(fmt, x, "stochastic", overflow, missing, random_bits=bits, seed=0)
    nan |= np.isnan(fmt.decode(codes))
    return [(int(code) >> fmt.padding, int(one)) for code, one in zip(codes, nan, strict=True)]


def converted(
    source: FloatFormat, fmt: FloatFormat, codes: Sequence[int], words: Sequence[int], bits: int, overflow: str
) -> list[tuple[int, ...]]:
    inputs = {"code": [code >> source.padding for code in codes], "word": words}
    return played(StochasticConvert(source, fmt, bits, overflow), inputs, ["result", "nan"])


# The last ones have rules that others have, in other formats.
EXHAUSTIVE = [
    ("e4m3", "e2m1", 3, "saturate"),
    ("e5m2", "e4m3", 3, "nan"),
    ("e4m3", "binary8p3se", 3, "infinity"),
    ("e5m2", "e4m3", 2, "ieee"),
    ("e5m2", "e4m3-ieee", 2, "propagate"),
    ("e4m3b11fnuz", "hfp8-e5m2", 2, "nan"),
    ("hfp8-e4m3", "e4m3fnuz", 2, "nan"),
    ("e4m3-ieee", "binary8p1se", 3, "nan"),
    ("e5m2", "e2m1", 2, "saturate"),
    ("e4m3", "e3m2", 1, "saturate"),
    ("e3m4", "e5m2", 4, "infinity"),
    ("e5m2fnuz", "hfp8-e4m3", 3, "saturate"),
]


@pytest.mark.parametrize(("source", "name", "bits", "overflow"), others_slow(EXHAUSTIVE, EXHAUSTIVE[1:8:2]))
def test_every_code_with_every_word(
    source: str, name: str, bits: int, overflow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide, fmt = get_format(source), get_format(name)
    assert isinstance(wide, FloatFormat)
    assert isinstance(fmt, FloatFormat)
    codes = np.repeat(np.arange(1 << wide.bits), 1 << bits)
    words = np.tile(np.arange(1 << bits), 1 << wide.bits).tolist()
    want = codec(fmt, wide.decode(codes), words, bits, overflow, monkeypatch)
    assert converted(wide, fmt, codes.tolist(), words, bits, overflow) == want


def binary32(fmt: FloatFormat, count: int, seed: int) -> NDArray[np.uint32]:
    """Codes of binary32: near a format's numbers and half-way, over and under its range, anywhere, and specials."""
    rng = np.random.default_rng(seed)
    ends = float(fmt.decode(1 << fmt.padding)) / 8, float(fmt.decode(fmt.max_magnitude << fmt.padding)) * 4
    low, high = np.clip(np.log2(ends), -149, 127.9)
    spread = np.exp2(rng.uniform(float(low), float(high), count // 2))
    near = fmt.decode(rng.integers(0, fmt.max_magnitude + 1, count // 2) << fmt.padding)
    near = near * (1 + rng.integers(-3, 4, len(near)) * 2.0 ** -rng.integers(3, 24, len(near)).astype(float))
    some = np.concatenate([spread, near]) * rng.choice([-1, 1], 2 * (count // 2))
    codes = np.concatenate([some.astype(np.float32).view(np.uint32), rng.integers(0, 1 << 32, 60).astype(np.uint32)])
    special = [0, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x7F800001]
    return np.concatenate([codes, np.array(special, np.uint32), np.array(special, np.uint32) | np.uint32(1 << 31)])


# Those into formats that other tests here round to come last.
CONVERSIONS = [
    ("e4m3", 8, "saturate"),
    ("e5m2", 16, "infinity"),
    ("e2m1", 4, "saturate"),
    ("tf32", 10, "infinity"),
    ("e4m3", 32, "nan"),
    ("hfp8-e4m3", 9, "saturate"),
    ("dlfloat16", 14, "nan"),
    ("e4m3fnuz", 11, "nan"),
    ("binary8p3se", 7, "infinity"),
    ("f16", 13, "infinity"),
    ("bf16", 16, "infinity"),
]


@pytest.mark.parametrize(("name", "bits", "overflow"), others_slow(CONVERSIONS, CONVERSIONS[:7:2]))
def test_binary32_with_random_words(name: str, bits: int, overflow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f32, fmt = get_format("f32"), get_format(name)
    assert isinstance(f32, FloatFormat)
    assert isinstance(fmt, FloatFormat)
    codes = binary32(fmt, 600, bits)
    words = stochastic.random_words(3, 0, len(codes), bits).tolist()
    want = codec(fmt, codes.view(np.float32), words, bits, overflow, monkeypatch)
    assert converted(f32, fmt, codes.tolist(), words, bits, overflow) == want


class Encoder(Component):
    """A generator and a rounder, wired as their docstrings say."""

    def __init__(self, rounder: StochasticConvert):
        self.rounder = rounder
        super().__init__({"code": In(32), "counter": In(64), "seed": In(64), "result": Out(rounder.target.fmt.bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.threefry = generator = Threefry()
        m.submodules.rounder = rounder = self.rounder
        m.d.comb += [
            generator.seed.eq(self.seed),
            generator.counter.eq(self.counter),
            rounder.code.eq(self.code),
            rounder.word.eq(generator.word[-rounder.target.random_bits :]),
            self.result.eq(rounder.result),
        ]
        return m


def test_a_generator_and_a_rounder_together_are_encode() -> None:
    e4m3 = get_format("e4m3")
    assert isinstance(e4m3, FloatFormat)
    codes = binary32(e4m3, 80, 2)
    seed, counter = 0x0123456789ABCDEF, (1 << 32) - 100
    want = e4m3.encode(codes.view(np.float32), "stochastic", "nan", random_bits=6, seed=seed, counter=counter)
    inputs = {"code": codes.tolist(), "counter": range(counter, counter + len(codes)), "seed": [seed] * len(codes)}
    encoder = Encoder(StochasticConvert(get_format("f32"), e4m3, 6, "nan"))  # type: ignore[arg-type]
    assert played(encoder, inputs, ["result"]) == [(code,) for code in want.tolist()]


SUMS = [
    ("e2m1", 5, "saturate", 3, (-8, 4), 0),  # every sum, with every exponent and word
    ("hfp8-e5m2", 2, "nan", 5, (-16, -10), -1),
    ("e5m2", 8, "infinity", 34, (2, 120), -70),
    ("f16", 10, "infinity", 30, (1, 60), -50),
    ("bf16", 16, "infinity", 40, (-100, 130), -30),
    ("f32", 20, "infinity", 34, (-140, 130), -25),
    ("dlfloat16", 6, "nan", 20, (-50, 30), -10),
    ("e4m3", 3, "nan", 6, (-12, 6), -2),
]


@pytest.mark.parametrize(("name", "bits", "overflow", "width", "max_exp", "unit_exp"), others_slow(SUMS, SUMS[2:-1:4]))
def test_sums_with_random_words(
    name: str,
    bits: int,
    overflow: str,
    width: int,
    max_exp: tuple[int, int],
    unit_exp: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fmt, rng = get_format(name), np.random.default_rng(width)
    assert isinstance(fmt, FloatFormat)
    end = 1 << width - 1
    totals = rng.integers(-end + 1, end, 500) >> rng.integers(0, width, 500)
    exps = rng.integers(max_exp[0], max_exp[1] + 1, len(totals))
    words = stochastic.random_words(4, 0, len(totals), bits).tolist()
    if width <= 6:
        every = np.meshgrid(np.arange(-end + 1, end), np.arange(max_exp[0], max_exp[1] + 1), np.arange(1 << bits))
        totals, exps, words = every[0].ravel(), every[1].ravel(), every[2].ravel().tolist()
    sums = [int(total) * Fraction(2) ** int(exp + unit_exp) for total, exp in zip(totals, exps, strict=True)]
    inputs = {"total": totals.tolist(), "max_exp": exps.tolist(), "word": words}
    unit = StochasticRound(signed(width), max_exp, unit_exp, fmt, bits, overflow)
    assert played(unit, inputs, ["result", "nan"]) == codec(fmt, sums, words, bits, overflow, monkeypatch)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Cat(part, frac, field) + word", "Cat(part, frac, field) + (word >> 1)"),
        ("Cat(part, frac, field) + word", "Cat(part, frac, field) + word + 1"),
        ("sig[drop - random_bits : drop]", "sig[drop - random_bits : drop] | 1"),
        ("magnitude > fmt.max_magnitude", "magnitude >= fmt.max_magnitude"),
        ("if not fmt.signed_zero", "if fmt.signed_zero"),
    ],
)
def test_a_faulty_rounder_is_seen(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(encode.__file__).read_text()
    assert source.count(old) == 1
    scope: dict[str, Any] = {"__name__": encode.__name__, "__package__": encode.__package__}
    exec(compile(source.replace(old, new), encode.__file__, "exec"), scope)
    e5m2, e4m3 = get_format("e5m2"), get_format("e4m3")
    codes, words = np.repeat(np.arange(256), 4), np.tile(np.arange(4), 256).tolist()
    want = codec(e4m3, e5m2.decode(codes), words, 2, "nan", monkeypatch)  # type: ignore[arg-type]
    monkeypatch.setattr(hardware, "EncodeTarget", scope["EncodeTarget"])
    faulty = StochasticConvert(e5m2, e4m3, 2, "nan")  # type: ignore[arg-type]
    assert played(faulty, {"code": codes.tolist(), "word": words}, ["result", "nan"]) != want


@pytest.mark.parametrize(
    ("name", "bits", "overflow", "message"),
    [
        ("ue4m3", 8, "saturate", "ue4m3 has no sign"),
        ("e4m3", 8, "infinity", "e4m3 has no overflow 'infinity'"),
        ("e4m3", 0, "nan", "random_bits must be 1 to 32, not 0"),
        ("e4m3", 33, "nan", "random_bits must be 1 to 32, not 33"),
    ],
)
def test_what_cannot_be_built(name: str, bits: int, overflow: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StochasticConvert(get_format("f32"), get_format(name), bits, overflow)  # type: ignore[arg-type]


def test_a_least_number_that_stands_alone_is_not_built() -> None:
    bare = get_format("hfp8-e4m3").model_copy(update={"underflow": "nearby"})
    with pytest.raises(ValueError, match="hfp8-e4m3 has neither subnormals nor underflow: zero"):
        StochasticConvert(get_format("f32"), bare, 8)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rounds_per_cycle must be 1 to 20, not 0"):
        Threefry(0)


DESIGNS = {
    **{f"f32_{name}_{bits}": (name, bits, overflow) for name, bits, overflow in CONVERSIONS},
    "threefry": None,
    "threefry_pipelined": 4,
    "sum": None,
}


LINTED = ["f32_e5m2_16", "f32_e4m3_32", "f32_dlfloat16_14", "threefry", "threefry_pipelined", "sum"]


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(DESIGNS, LINTED))
def test_the_verilog_is_taken_in_silence(verilator: None, icarus: None, name: str, tmp_path: Path) -> None:
    design = DESIGNS[name]
    component: Component
    if isinstance(design, tuple):
        component = StochasticConvert(get_format("f32"), get_format(design[0]), *design[1:])  # type: ignore[arg-type]
    elif name == "sum":
        component = StochasticRound(signed(34), (2, 120), -70, get_format("e5m2"), 8)  # type: ignore[arg-type]
    else:
        component = Threefry(design)
    name = name.replace("-", "_")
    text = convert(component, name)
    assert re.findall(r"^module (\w+)", text, re.MULTILINE)[0] == name
    file = tmp_path / f"{name}.sv"
    file.write_text(text)
    assert said_of(file) == [(0, ""), (0, "")]
