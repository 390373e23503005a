"""Conversions of RISC-V's Zvfofp8min and x86's AVX10.2 as hwsim's, against exact arithmetic: all codes of 16 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hwsim.formats import get_format

Numbers = NDArray[np.float64]
# A format's exponent bits, fraction bits and bias; of the largest number, the code.
FORMS = {"bf16": (8, 7, 127), "f16": (5, 10, 15), "e4m3": (4, 3, 7), "e5m2": (5, 2, 15)}
LARGEST = {"e4m3": 0x7E, "e5m2": 0x7B}
FRM = {"RNE": "rne", "RTZ": "rz", "RDN": "rd", "RUP": "ru", "RMM": "rna"}


def numbers(name: str) -> Numbers:
    """The number of every code, in binary64, which has them all; what is special stands as it is."""
    exponent_bits, fraction_bits, bias = FORMS[name]
    code = np.arange(1 << 1 + exponent_bits + fraction_bits)
    field = code >> fraction_bits & (1 << exponent_bits) - 1
    fraction = code & (1 << fraction_bits) - 1
    top = field == (1 << exponent_bits) - 1
    sig = np.where(field == 0, fraction, fraction + (1 << fraction_bits))
    value = np.ldexp(sig.astype(float), np.maximum(field, 1) - bias - fraction_bits)
    if name == "e4m3":
        value[top & (fraction == 7)] = np.nan
    else:
        value[top] = np.where(fraction == 0, np.inf, np.nan)[top]
    return np.where(code >> exponent_bits + fraction_bits, -value, value)


def narrowed(source: str, target: str, mode: str, saturates: bool) -> NDArray[Any]:
    """Every code of a format in another of 8 bits, as RISC-V has it: a NaN is 0x7f."""
    value, largest = numbers(source), LARGEST[target]
    ladder = numbers(target)[: largest + 1]
    step = ladder[-1] - ladder[-2]
    ladder = np.append(ladder, ladder[-1] + step)  # what would be the next number
    size, negative = np.abs(value), np.signbit(value)
    with np.errstate(invalid="ignore"):
        low = np.clip(np.searchsorted(ladder, size, "right") - 1, 0, largest)
        exact = size == ladder[low]
        half = (ladder[low] + ladder[low + 1]) / 2  # exact in binary64
        nearer = (size > half) | ((size == half) & (low % 2 == 1))
        up = {
            "RNE": nearer, "RMM": size >= half, "RTZ": np.zeros(size.shape, bool), "RDN": negative & ~exact,
            "RUP": ~negative & ~exact,
        }[mode]  # fmt: skip
    code = np.where(exact, low, low + up)
    beyond = (code > largest) | np.isinf(size) | ((size >= ladder[-1]) & up)
    infinite = 0x7C if target == "e5m2" else 0x7F
    code = np.where(beyond, largest if saturates else infinite, code)
    code = code | np.where(negative & ~((code == 0x7F) & (target == "e4m3")), 0x80, 0)
    return np.where(np.isnan(value), 0x7F, code)


@pytest.mark.parametrize("source", ["bf16", "f16"])
@pytest.mark.parametrize("target", ["e4m3", "e5m2"])
@pytest.mark.parametrize("saturates", [False, True])
@pytest.mark.parametrize("mode", FRM)
def test_every_code_narrows_as_the_manual_has_it(source: str, target: str, saturates: bool, mode: str) -> None:
    fmt, every = get_format(source), np.arange(1 << 16, dtype=np.uint16)
    overflow = "saturate" if saturates else "ieee"
    got = get_format(target).encode(np.asarray(fmt.decode(every), np.float64), FRM[mode], overflow, "nan")
    wrong = np.flatnonzero(got != narrowed(source, target, mode, saturates))
    assert not wrong.size, [(hex(i), hex(got[i]), hex(narrowed(source, target, mode, saturates)[i])) for i in wrong[:5]]


@pytest.mark.parametrize("source", ["e4m3", "e5m2"])
@pytest.mark.parametrize("target", ["bf16", "f16"])
def test_every_code_widens_exactly(source: str, target: str) -> None:
    fmt, to = get_format(source), get_format(target)
    got = to.encode(np.asarray(fmt.decode(np.arange(256, dtype=np.uint8)), np.float64), "rne", "ieee", "nan")
    back, want = numbers(target)[got], numbers(source)
    assert np.array_equal(back, want, equal_nan=True) and np.array_equal(
        np.signbit(back), np.signbit(want) & ~np.isnan(want)
    )
