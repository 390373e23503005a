"""Formats of our own, and codes of any format."""

from __future__ import annotations

from typing import Any

import numpy as np

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format

OWN: dict[str, dict[str, Any]] = {
    "bare-nearby": {"exponent_bits": 4, "fraction_bits": 3, "bias": 9, "subnormals": False, "nan": [0x7F, 0xFF]},
    "bare-zero": {
        "exponent_bits": 5, "fraction_bits": 4, "bias": 12, "subnormals": False, "underflow": "zero",
        "nan": "ieee", "infinities": True,
    },
    "long": {"exponent_bits": 10, "fraction_bits": 12, "bias": 511, "nan": "ieee", "infinities": True},
    "fine": {"exponent_bits": 3, "fraction_bits": 28, "bias": 3, "nan": "ieee", "infinities": True},
    "plain": {"exponent_bits": 3, "fraction_bits": 1, "bias": 2},
    "padded": {"exponent_bits": 6, "fraction_bits": 6, "bias": 20, "nan": [0x0FFF, 0x1FFF], "container": 16},
    "power": {"kind": "exponent", "exponent_bits": 5, "bias": 15},
    "quarter": {"kind": "fixed", "integer_bits": 3, "fraction_bits": 2},
}  # fmt: skip
OWN = {name: {"kind": "float", "name": name, **keys} for name, keys in OWN.items()}


def codes(fmt: Format, count: int, kind: str, random: np.random.Generator) -> list[int]:
    """Codes of a format. kind: any; of few binades; mostly zeros; subnormals and zeros mostly."""
    if isinstance(fmt, FixedFormat):
        drawn = random.integers(0, 1 << fmt.bits, count)
        return np.where(random.random(count) < (0.7 if kind == "sparse" else 0.1), 0, drawn).tolist()  # type: ignore[no-any-return]
    if isinstance(fmt, ExponentFormat):
        if kind in ("near", "small"):
            middle = min(max(fmt.bias, fmt.min_code), fmt.max_code)
            drawn = np.clip(middle + random.integers(-3, 4, count), fmt.min_code, fmt.max_code)
            return drawn.tolist()  # type: ignore[no-any-return]
        return random.integers(0, 1 << fmt.bits, count).tolist()  # type: ignore[no-any-return]
    assert isinstance(fmt, FloatFormat)
    magnitudes = random.integers(0, fmt.sign_bit, count)
    if kind == "near":
        bexp = np.clip(fmt.bias + random.integers(-3, 4, count), 0, fmt.max_magnitude >> fmt.fraction_bits)
        magnitudes = bexp << fmt.fraction_bits | magnitudes & (1 << fmt.fraction_bits) - 1
    elif kind == "small":
        magnitudes &= (2 << fmt.fraction_bits) - 1
    elif kind == "sparse":
        magnitudes = np.where(random.random(count) < 0.6, 0, magnitudes)
    signs = random.integers(0, 2, count) * fmt.sign_bit if fmt.signed else 0
    return ((magnitudes | signs) << fmt.padding).tolist()  # type: ignore[no-any-return]
