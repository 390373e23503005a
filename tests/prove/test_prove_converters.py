"""Converters are proved, and broken ones are not; the model that proofs hold them against is the codec."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Const
from built_presets import others_slow

from hwsim.cosim.streamcases import converted
from hwsim.formats import formats, get_format
from hwsim.formats.reference import overflows
from hwsim.formats.rounding import Rounding
from hwsim.model.conversion import convert
from hwsim.prove.converters import converter_claims
from hwsim.rtl import Converter, encode, stream_verilog
from hwsim.rtl.normalize import Normalize
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
        words = np.array([random.randrange(1 << c.random_bits) for _ in codes]) if c.random_bits else None
        want = converted(c, stored, words).tolist()
        given = [0] * len(want) if words is None else words.tolist()
        got = [convert(c, code, word) for code, word in zip(stored.tolist(), given, strict=True)]
        assert got == want, c.name


def words(c: Conversion, cuts: tuple[str, ...] | None = None, text: str | None = None) -> dict[str, str]:
    """What becomes of each claim."""
    return {claim.name: claim.decide(120).word for claim in converter_claims(c, cuts, text)}


CLAIMS = {"ready", "stands still", "idle", "valid", "reset", "code"}
PROVED = [
    Conversion(source="f32", target="e4m3"),  # type: ignore[arg-type]
    Conversion(source="f32", target="e4m3", rounding="stochastic", random_bits=8),  # type: ignore[arg-type]
    Conversion(source="bf16", target="e8m0", rounding="ru"),  # type: ignore[arg-type]
    Conversion(source="mxint8", target="f16"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("conversion", others_slow(PROVED, PROVED[:3]), ids=lambda one: one.name)
def test_a_converter_is_the_models_for_every_code(conversion: Conversion) -> None:
    assert words(conversion) == dict.fromkeys(CLAIMS, "proved")


@pytest.mark.slow
@pytest.mark.parametrize("target", FORMATS)
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


real_last, real_magnitude = encode.last_place, encode.rounded_magnitude


def sticky_lost(rounding: Any, sign: Any, last: Any, guard: Any, sticky: Any) -> Any:
    return real_last(rounding, sign, last, guard, Const(0))


def never_small(self: Any, m: Any, magnitude: Any) -> None:
    m.d.comb += [self.o.sig.eq(magnitude), self.o.bexp.eq(self.i.top_bexp)]


def in_text(old: str, new: str) -> Callable[[str], str]:
    def changed(text: str) -> str:
        assert old in text, old
        return text.replace(old, new, 1)

    return changed


MUTANTS: dict[str, tuple[str, Callable[[Patch], None]]] = {
    "what is below the guard is lost": ("code", lambda patch: patch.setattr(encode, "last_place", sticky_lost)),
    "subnormals are normal": ("code", lambda patch: patch.setattr(Normalize, "_in_place", never_small)),
    "a largest number that is too small": (
        "code", lambda patch: patch.setattr(encode, "inward", lambda target, sign: True)
    ),
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broken_converter_is_not_proved(mutant: str, monkeypatch: Patch) -> None:
    broken, mutate = MUTANTS[mutant]
    mutate(monkeypatch)
    c = Conversion(source="f16", target="e5m2", overflow="ieee")  # type: ignore[arg-type]
    assert {name for name, word in words(c).items() if word != "proved"} == {broken}


TEXTS: dict[str, tuple[set[str], Callable[[str], str]]] = {
    "a payload is taken while a result waits": ({"ready"}, in_text("assign i__ready = ", "assign i__ready = 1'b1 | ")),
    "a reset that leaves what is valid": ({"reset"}, in_text("rst ? 1'h0", "rst & o__ready ? 1'h0")),
}


@pytest.mark.parametrize("mutant", TEXTS)
def test_a_broken_file_is_not_proved(mutant: str) -> None:
    broken, change = TEXTS[mutant]
    c = Conversion(source="e4m3", target="e2m1")  # type: ignore[arg-type]
    found = words(c, text=change(stream_verilog(Converter(c))))
    assert broken <= {name for name, word in found.items() if word != "proved"}
