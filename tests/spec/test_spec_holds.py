"""Whether one format holds another: against the sets of their values."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format, formats, get_format
from hwsim.spec.rules import embeds, holds

NARROW = [get_format(name) for name in formats() if get_format(name).container_bits <= 16]


def bare(name: str, exponent_bits: int, fraction_bits: int, bias: int, **more: bool) -> FloatFormat:
    """A format without subnormals."""
    return FloatFormat(
        name=name, exponent_bits=exponent_bits, fraction_bits=fraction_bits, bias=bias, subnormals=False, **more
    )


OWN: list[Format] = [
    bare("bare", 4, 3, 7),
    bare("lower", 4, 3, 8),
    bare("wide", 6, 9, 31),
    bare("coarse", 6, 2, 31),
    bare("powers", 3, 0, 3),
    bare("unsigned", 4, 3, 7, signed=False, signed_zero=False),
    FloatFormat(name="fnuz", exponent_bits=4, fraction_bits=3, bias=8, nan=(0x80,), signed_zero=False),
    FloatFormat(name="small", exponent_bits=2, fraction_bits=7, bias=1),
    FixedFormat(name="nibble", integer_bits=1, fraction_bits=2),
    FixedFormat(name="bytes", integer_bits=3, fraction_bits=4),
    FixedFormat(name="long", integer_bits=0, fraction_bits=11),
]
FORMATS = {fmt.name: fmt for fmt in [*NARROW, *OWN]}


def values(fmt: Format) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Every value of a format, in order."""
    return np.asarray(fmt.decode(np.arange(1 << fmt.container_bits)))


@cache
def finite(name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The magnitudes of a format's numbers, in order."""
    found = values(FORMATS[name])
    return np.unique(np.abs(found[np.isfinite(found)]))


@pytest.mark.parametrize("inner", FORMATS)
def test_embeds_is_what_the_values_say(inner: str) -> None:
    for outer, fmt in FORMATS.items():
        if isinstance(fmt, FloatFormat) and not isinstance(FORMATS[inner], ExponentFormat):
            want = np.isin(finite(inner), finite(outer)).all()
            assert embeds(FORMATS[inner], fmt) == want, (inner, outer)


def test_some_embed_and_some_do_not() -> None:
    pairs = [(a, b) for a, b in product(FORMATS, FORMATS) if a != b and embeds(FORMATS[a], FORMATS[b])]
    assert 30 < len(pairs) < len(FORMATS) ** 2 / 2
    assert {("e4m3", "f16"), ("mxint8", "f16"), ("bare", "wide"), ("coarse", "wide")} <= set(pairs)
    assert not {("f16", "bf16"), ("bf16", "f16"), ("e4m3", "bare"), ("bare", "e4m3")} & set(pairs)


@pytest.mark.parametrize(
    ("inner", "outer", "held"),
    [
        ("e4m3", "f16", True),
        ("e5m2", "f16", True),
        ("e2m1", "e4m3", True),
        ("mxint8", "f16", True),
        # NaN and infinities must have a place, and so must negative zero and negative numbers.
        ("e4m3", "wide", False),
        ("e5m2", "e5m2", True),
        ("e2m1", "fnuz", False),
        ("nibble", "fnuz", True),
        ("unsigned", "wide", True),
        ("bare", "unsigned", False),
        ("nibble", "unsigned", False),
    ],
)
def test_holds_asks_for_what_is_no_number_too(inner: str, outer: str, held: bool) -> None:
    fmt = FORMATS[outer]
    assert isinstance(fmt, FloatFormat)
    assert holds(FORMATS[inner], fmt) == held
