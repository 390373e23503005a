"""Table 1 of the FP8 paper, computed from the formats."""

from __future__ import annotations

import numpy as np

from hwsim.formats import FloatFormat
from hwsim.study.presets.rounding import float_format

# Micikevicius et al. 2022, arXiv 2209.05433, Table 1: E4M3, then E5M2.
PAPER = {
    "exponent bias": ("7", "15"),
    "infinities": ("none", "S.11111.00"),
    "NaN": ("S.1111.111", "S.11111.{01, 10, 11}"),
    "zeros": ("S.0000.000", "S.00000.00"),
    "max normal": ("S.1111.110 = 1.75 * 2^8 = 448", "S.11110.11 = 1.75 * 2^15 = 57344"),
    "min normal": ("S.0001.000 = 2^-6", "S.00001.00 = 2^-14"),
    "max subnormal": ("S.0000.111 = 0.875 * 2^-6", "S.00000.11 = 0.75 * 2^-14"),
    "min subnormal": ("S.0000.001 = 2^-9", "S.00000.01 = 2^-16"),
}


def values() -> list[dict[str, str]]:
    """A record a property: ours and the paper's, of both formats."""
    e4m3, e5m2 = (described(name) for name in ("e4m3", "e5m2"))
    return [
        {
            "property": name,
            "e4m3": e4m3[name],
            "e5m2": e5m2[name],
            "paper": "same" if (e4m3[name], e5m2[name]) == paper else " / ".join(paper),
        }
        for name, paper in PAPER.items()
    ]


def described(name: str) -> dict[str, str]:
    """The rows of the table for a format that ships: codes by their bits, values from what they decode to."""
    fmt = float_format(name)
    codes = range(1 << fmt.bits - 1)  # of the positive numbers
    values = fmt.decode(np.array(codes))
    finite = [code for code in codes if np.isfinite(values[code])]
    subnormal = [code for code in finite if 0 < code < 1 << fmt.fraction_bits]
    normal = [code for code in finite if code >= 1 << fmt.fraction_bits]

    def valued(code: int) -> str:
        return f"{_bits(fmt, code)} = {_power(fmt, code, float(values[code]))}"

    return {
        "exponent bias": str(fmt.bias),
        "infinities": _list(fmt, [code for code in codes if np.isinf(values[code])]),
        "NaN": _list(fmt, [code for code in codes if np.isnan(values[code])]),
        "zeros": _list(fmt, [code for code in finite if values[code] == 0]),
        "max normal": f"{valued(normal[-1])} = {values[normal[-1]]:g}",
        "min normal": valued(normal[0]),
        "max subnormal": valued(subnormal[-1]),
        "min subnormal": valued(subnormal[0]),
    }


def _bits(fmt: FloatFormat, code: int) -> str:
    exponent, fraction = code >> fmt.fraction_bits, code & (1 << fmt.fraction_bits) - 1
    return f"S.{exponent:0{fmt.exponent_bits}b}.{fraction:0{fmt.fraction_bits}b}"


def _list(fmt: FloatFormat, codes: list[int]) -> str:
    """The codes, which share their exponent."""
    if len(codes) < 2:
        return _bits(fmt, codes[0]) if codes else "none"
    texts = [_bits(fmt, code).rpartition(".") for code in codes]
    return f"{texts[0][0]}.{{{', '.join(fraction for *_, fraction in texts)}}}"


def _power(fmt: FloatFormat, code: int, value: float) -> str:
    """The value as m * 2^e: of normal numbers and the smallest, e that of its leading bit, of others 1 - bias."""
    mantissa, exponent = np.frexp(value)
    significand, power = 2 * float(mantissa), int(exponent) - 1
    if significand != 1 and code < 1 << fmt.fraction_bits:
        significand, power = significand * 2.0 ** (power - (1 - fmt.bias)), 1 - fmt.bias
    return f"2^{power}" if significand == 1 else f"{significand:g} * 2^{power}"
