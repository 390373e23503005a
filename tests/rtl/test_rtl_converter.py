"""Converters in hardware against the codecs: every code where they are few, every boundary where they are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Const
from built_presets import others_slow
from representatives import formats_of_every_kind
from side_by_side import settings, wrong

from hwsim import __version__
from hwsim.cases.drawing import Stream
from hwsim.cosim.streamcases import boundaries, random_codes, with_neighbours
from hwsim.formats import formats, get_format
from hwsim.rtl import Converter, encode, stream_plan, stream_verilog
from hwsim.rtl.normalize import Normalize
from hwsim.spec import NotImplementedYet
from hwsim.spec.conversion import Conversion, conversion_cuts

SEED = 20261123
Patch = pytest.MonkeyPatch
# What is not among them: binary64, whose codes have 64 bits, and formats that are another one by another name.
EVERY = [name for name in formats() if name not in ("f64", "ue8m0")]
ELEMENTS = [name for name in EVERY if formats()[name].container_bits <= 8]
P3109 = ["binary8p1se", "binary8p3sf", "binary6p2ue", "binary5p5uf", "binary4p1ue"]
WIDE = [name for name in EVERY if name not in ELEMENTS]


def stochastic(source: str, target: str, bits: int) -> list[Conversion]:
    return [Conversion(source=source, target=target, rounding="stochastic", random_bits=bits)]


KINDS = formats_of_every_kind([*EVERY, *P3109])
PAIRS = [(source, target) for source in ("f16", "bf16", "dlfloat16", "e5m6") for target in [*EVERY, *P3109]]


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("source", "target"), others_slow(PAIRS, [("f16", "e4m3")], [pair for pair in PAIRS if pair[1] in KINDS])
)
def test_every_code_of_16_bits_in_every_rounding(verilator: None, source: str, target: str) -> None:
    codes = np.arange(1 << get_format(source).bits)
    assert wrong(settings(source, target), codes) == []


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("source", "few"),
    others_slow(
        [("e4m3", True), *((source, False) for source in [*ELEMENTS, *P3109])],
        [("e4m3", True)],
        [(source, False) for source in formats_of_every_kind([*ELEMENTS, *P3109])],
    ),
)
def test_every_code_of_an_element_back(verilator: None, source: str, few: bool) -> None:
    codes = np.arange(1 << get_format(source).bits)
    usual = [Conversion(source=source, target=target) for target in (EVERY[::6] if few else EVERY)]
    targets = ("int8", "binary8p1se") if few else ("e2m1", "e4m3", "int8", "e8m0", "binary8p1se")
    every = [one for target in targets for one in settings(source, target)]
    assert wrong([*usual, *every], codes) == []


@pytest.mark.simulator
@pytest.mark.parametrize("target", others_slow([*EVERY, *P3109], [], ["e4m3", *KINDS]))
def test_every_boundary_of_binary32_in_every_rounding(verilator: None, target: str) -> None:
    conversions, stream = settings("f32", target), Stream(SEED, target)
    edges = with_neighbours(get_format("f32"), boundaries(conversions[0], stream))
    codes = np.concatenate([edges, random_codes(conversions[0], stream, 20_000)])
    assert wrong(conversions, codes) == []


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("source", "few"),
    others_slow(
        [("f32", True), *((source, False) for source in ("f32", "tf32", "f16", "mxint8", "e8m0", "i32"))],
        [("f32", True)],
    ),
)
def test_random_words_decide_as_the_codecs_do(verilator: None, source: str, few: bool) -> None:
    # The low bits of one word for all: 1, 8 and as many as a format takes.
    targets = ["e4m3", "bf16", "int8"] if few else [name for name in (*EVERY, *P3109) if name not in ("i32",)]
    conversions = [one for target in targets for bits in (1, 8, 20) for one in stochastic(source, target, bits)]
    stream = Stream(SEED, "stochastic", source)
    some = [random_codes(conversions[at], stream, 400) for at in range(0, len(conversions), 3)]
    codes = np.concatenate([with_neighbours(get_format(source), boundaries(conversions[0], stream)), *some])
    words = stream.words(len(codes)) >> 12
    assert wrong(conversions, codes, words) == []


def test_what_a_target_lacks_is_refused() -> None:
    for wrong_settings, said in (
        ({"target": "e4m3", "overflow": "infinity"}, "overflow must be one of saturate"),
        ({"target": "e2m1", "missing": "nan"}, "missing must be one of"),
        ({"target": "e2m1", "missing": "error"}, "missing must be nan, zero or saturate, not 'error'"),
        ({"target": "e2m1", "rounding": "up"}, "rounding must be one of"),
        ({"target": "e2m1", "rounding": "stochastic"}, "random_bits must be"),
        ({"target": "e2m1", "random_bits": 3}, "random_bits, seed and counter are of"),
    ):
        with pytest.raises(ValueError, match=said):
            Conversion(source="f32", **wrong_settings)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedYet, match="f64 has codes of 64 bits"):
        stream_plan(Conversion(source="f64", target="e4m3"))
    with pytest.raises(ValueError, match="cuts must be among decode, normalize, round, not align"):
        conversion_cuts(("align",))


def test_the_verilog_says_what_it_is() -> None:
    text = stream_verilog(Converter(Conversion(source="f32", target="tf32", rounding="stochastic", random_bits=9)))
    assert text.startswith(
        f"// f32 to tf32: a converter, generated by hwsim {__version__}. Do not edit.\n"
        "// SPDX-License-Identifier: Apache-2.0\n"
        "// rounding: stochastic of 9 random bits; overflow: saturate; missing: nan; "
        "cuts: normalize, round (latency 2)\n"
    )
    assert "module f32_to_tf32_stochastic_9 (" in text
    for port in ("logic [31:0] in_code", "logic [8:0]  in_word", "logic [31:0] out_code"):
        assert port in text


real_last, real_magnitude, real_in_place = encode.last_place, encode.rounded_magnitude, Normalize._in_place


def ties_away(rounding: Any, *others: Any) -> Any:
    return real_last("rna" if rounding == "rne" else rounding, *others)


def sticky_lost(rounding: Any, sign: Any, last: Any, guard: Any, sticky: Any) -> Any:
    return real_last(rounding, sign, last, guard, Const(0))


def never_small(self: Any, m: Any, magnitude: Any) -> None:
    m.d.comb += [self.o.sig.eq(magnitude), self.o.bexp.eq(self.i.top_bexp)]


def one_below(self: Any, m: Any, nearest: int) -> None:
    m.d.comb += [self.o.code.eq(1), self.o.nan.eq(0)]


def unsigned_nan(step: Any) -> Any:
    return step.i.sign


MUTANTS: dict[str, tuple[tuple[str, str], Callable[[Patch], None]]] = {
    "ties go away": (("f16", "e4m3"), lambda patch: patch.setattr(encode, "last_place", ties_away)),
    "what is below the guard is lost": (
        ("f16", "e4m3"),
        lambda patch: patch.setattr(encode, "last_place", sticky_lost),
    ),
    "subnormals are normal": (("f16", "e4m3"), lambda patch: patch.setattr(Normalize, "_in_place", never_small)),
    "a missing number is the least": (
        ("f16", "e2m1"),
        lambda patch: patch.setattr(encode.EncodeFloat, "_missing", one_below),
    ),
    "negative zero is missing": (("f16", "ue4m3"), lambda patch: patch.setattr(encode, "is_negative", unsigned_nan)),
    "powers are odd where they are even": (("f16", "e8m0"), lambda patch: patch.setattr(encode, "BELOW", 1)),
}


@pytest.mark.simulator
@pytest.mark.parametrize("mutant", others_slow(MUTANTS, [*MUTANTS][:1]))
def test_a_broken_converter_is_found(verilator: None, mutant: str, monkeypatch: Patch) -> None:
    (source, target), mutate = MUTANTS[mutant]
    conversions = settings(source, target)[:1]
    codes = np.arange(1 << 16)
    assert wrong(conversions, codes) == []
    mutate(monkeypatch)
    assert wrong(conversions, codes) != []


def test_wide_formats_are_among_the_targets() -> None:
    assert {"f32", "tf32", "e8m13", "i32", "f16", "bf16"} <= set(WIDE)
