"""hwsim.explain: every stage's integers, under the design's names, and how they read."""

from __future__ import annotations

import numpy as np
import pytest
from model.model_units import NAMES, cases, run, unit

import hwsim
from hwsim.formats import Class

HOPPER = "hopper-wgmma-e4m3-f32"


def test_max_finite_products_grow_six_bits() -> None:
    # 32 terms of 448 x 448: the leading one moves floor(log2(32 x 1.75^2)) = 6 places above max_exp.
    stages = hwsim.explain(HOPPER, [0x7E] * 32, [0x7E] * 32, c=0)
    assert (stages.growth, stages.overflow) == (6, False)
    # 448 is 14 x 2^5, so a product is 196 x 2^10, at the reference exponent 8 + 8.
    assert {(term.sign, term.exp, term.sig, term.fraction_bits) for term in stages.products} == {(0, 16, 196, 6)}
    assert stages.max_exp == 16
    assert set(stages.aligned[:32]) == {196 << 13 - 6}
    assert stages.total == stages.sum == 32 * (196 << 7)
    assert stages.value == 32 * 448.0**2
    assert stages.result == int(np.float32(32 * 448**2).view(np.uint32))


def test_stages_of_a_short_sum() -> None:
    # 1.5 x -1.125 = -1.6875, and 2^-9 x 1 at emin: its significand 1/8 is 8 places below max_exp, with distance 6.
    stages = hwsim.explain(HOPPER, [0x3C, 0x01], [0xB9, 0x38], c=np.float32(0.25))
    group = stages.groups[0]
    assert [field.cls for field in group.a[:2]] == [Class.NORMAL, Class.SUBNORMAL]
    assert (group.used, group.first, group.index) == (2, 0, 0)
    assert [(t.sign, t.exp, t.sig) for t in stages.terms if t.cls is Class.NORMAL] == [
        (1, 0, 108),
        (0, -6, 8),
        (0, -2, 1 << 23),
    ]
    assert stages.addend is not None
    assert stages.addend.exp == -2
    assert stages.max_exp == 0
    assert (stages.aligned[0], stages.aligned[1], stages.aligned[-1]) == (-108 << 7, 16, 2048)
    assert stages.total == -13824 + 16 + 2048
    assert stages.growth == 0
    assert stages.special is None
    assert stages.value == stages.total / 2**13


def test_groups_and_promotions() -> None:
    stages = hwsim.explain("deepseek-v3-e4m3-f32", [0x38] * 300, [0x38] * 300, c=0x3F800000)
    assert [group.used for group in stages.groups] == [32] * 9 + [12]
    assert [group.first for group in stages.groups] == list(range(0, 300, 32))
    # 128 and 256 products end groups 3 and 7; the tail of 44 ends group 9.
    assert list(stages.promotions) == [3, 7, 9]
    assert [stages.promotions[i].register for i in (3, 7, 9)] == [
        int(np.float32(value).view(np.uint32)) for value in (1, 129, 257)
    ]
    assert stages.value == 301.0
    assert [group.addend_code for group in stages.groups[3:6]] == [0x42C00000, 0, 0x42000000]


@pytest.mark.parametrize("name", NAMES)
def test_explain_is_dot(name: str) -> None:
    given = list(cases(name, 28, 8))
    used = unit(name)
    for case, code in zip(given, run(name, given), strict=True):
        c = None if used.operands.addend is None else case.c
        scales = (case.scale_a, case.scale_b) if used.scale else (None, None)
        stages = hwsim.explain(used, case.a, case.b, c, *scales)
        assert stages.result == code
        text = str(stages)
        assert len(text.splitlines()) > 4
        assert f"{code:#x}"[2:] in text.splitlines()[-1]


PICTURE = """\
window 2^0 to 2^-13; v: 2^max_exp = 2^0; right of |: lost
         v
     0 - 1101100.......|....  -13824
     1 + .........1000.|....      16
     2 - ..............|1011       0
addend + ..100000000000|0000    2048
   sum - 10110111110000|      -11760  growth +0
result - 10110111110000               rz to e8m13
max_exp 0, sum -11760 * 2^-13; result 0xbfb7c000 = -1.435546875 (e8m13), without rounding"""


def test_the_window_is_a_picture() -> None:
    # 1.375 x 2^-6 x -2^-8 lies wholly below 2^-13. A row shows the places of a significand, its last zeros too.
    fmt = hwsim.get_format("e4m3")
    a, b = fmt.encode([1.5, 2.0**-9, 1.375 * 2.0**-6]), fmt.encode([-1.125, 1, -(2.0**-8)])
    assert PICTURE in str(hwsim.explain(HOPPER, a, b, c=np.float32(0.25)))


def test_a_special_says_why() -> None:
    text = str(hwsim.explain("hopper-wgmma-e5m2-f32", [0x7C, 0x3C], [0x3C, 0x3C], c=0xFF800000))
    assert "because product 0 is +Inf, addend is -Inf" in text
    assert "every term is zero" in str(hwsim.explain(HOPPER, [0], [0]))


def test_what_lies_far_below_is_counted() -> None:
    # 2^15 against the addend 1 + 2^-23: window down to 2^3, 16 places shown below it, to 2^-13.
    text = str(hwsim.explain(HOPPER, [0x7E], [0x7E], c=0x3F800001))
    assert "and 10 lost places further down" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0x38]], [[0x38]]), r"^a must have shape \(K,\), not \(1, 1\)"),
        (([0x38], [0x38, 0x38]), r"^b must have shape \(1,\), as a, not \(2,\)"),
        (([0x38], [0x38], [0]), r"^c must have shape \(\), not \(1,\)"),
        (([], []), r"^K, .* must be at least 1"),
        (([0x38], [0x38], 0, [127]), r"^scale_a must be None"),
    ],
)
def test_explain_refuses_what_does_not_fit(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hwsim.explain(HOPPER, *arguments)


def test_scales_of_explain_are_rows() -> None:
    ones = [0x38] * 32
    assert hwsim.explain("mxfp8-e4m3-f32", ones, ones, None, [128], [127]).value == 64.0
    with pytest.raises(ValueError, match=r"^scale_b must have shape \(K / block,\), not \(1, 1\)"):
        hwsim.explain("mxfp8-e4m3-f32", ones, ones, None, [128], [[127]])
    with pytest.raises(TypeError, match=r"^c must be integer f32 codes"):
        hwsim.explain(HOPPER, [0x38], [0x38], c=1.5)
