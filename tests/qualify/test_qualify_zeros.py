"""Results whose signs of zero are not promised, in the circuit that mutants are played in."""

from __future__ import annotations

import numpy as np
import pytest

from hwsim.formats import FloatFormat, get_format
from hwsim.prove.qualify.machine import Joined, evaluate, plain_zero, words_of


@pytest.mark.parametrize("name", ["e2m1", "e3m2", "e4m3"])
def test_minus_zero_is_plus_zero_and_every_other_code_is_itself(name: str) -> None:
    fmt = get_format(name)
    assert isinstance(fmt, FloatFormat)
    joined = Joined({"code": fmt.bits})
    result = plain_zero(joined, fmt, joined.inputs["code"])
    for first in range(0, 1 << fmt.bits, 64):
        codes = np.arange(first, min(first + 64, 1 << fmt.bits), dtype=np.uint64)
        values = np.zeros(joined.first + len(joined.left), np.uint64)
        values[np.array(joined.inputs["code"]) >> 1] = words_of(codes, fmt.bits)
        evaluate(joined.left, joined.right, joined.first, values)
        words = [values[literal >> 1] ^ np.uint64((1 << 64) - 1 if literal & 1 else 0) for literal in result]
        got = [sum((int(word) >> at & 1) << place for place, word in enumerate(words)) for at in range(len(codes))]
        assert got == [0 if code == fmt.sign_bit else code for code in codes.tolist()]
