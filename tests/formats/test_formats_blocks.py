"""The geometry of shared scales."""

import numpy as np
import pytest
from formats.formats_witness import EVERY

from hwsim.formats import get_format, parse
from hwsim.formats.blocks import one_code


def exponents(bias, nan=(0xFF,)):
    return parse({"name": "powers", "kind": "exponent", "exponent_bits": 8, "bias": bias, "nan": list(nan)})


@pytest.mark.parametrize("name", ["e8m0", "ue4m3", "f32", "e5m2"])
def test_the_code_of_1_is_1(name):
    fmt = get_format(name)
    assert fmt.decode(one_code(fmt)) == 1


@pytest.mark.parametrize(
    ("fmt", "code"),
    [
        (exponents(300), 0xFE),  # 2^-300 to 2^-46
        (exponents(-5), 0x00),  # 2^5 to 2^259
        (exponents(255), 0xFE),  # the code that would be 1 is NaN
        (exponents(0, (0, 1)), 0x02),  # 2^2 and up: the codes of 1 and 2 are NaN
    ],
)
def test_without_1_it_is_the_nearest(fmt, code):
    assert one_code(fmt) == code


@pytest.mark.parametrize("name", [name for name, fmt in EVERY.items() if fmt.container_bits <= 8])
def test_no_other_scale_is_nearer_to_1(name):
    fmt = EVERY[name]
    values = fmt.decode(np.arange(1 << fmt.bits))
    nearest = np.nanmin(np.abs(values[np.isfinite(values)] - 1))
    assert abs(fmt.decode(one_code(fmt)) - 1) == nearest
