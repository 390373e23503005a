"""hwsim.explain: every stage's integers, under the design's names, and how they read."""

from __future__ import annotations

import numpy as np
import pytest
from built_presets import one_of_each_family, others_slow
from model.model_units import NAMES, cases, run
from odd_units import unit

import hwsim
from hwsim.formats import Class
from hwsim.spec import presets

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


BLACKWELL = "blackwell-mma-e4m3-f32"


def test_order_start_and_the_late_addend() -> None:
    # Products 0 to 32 are 1 each: two instructions, of 32 and of 1.
    stages = hwsim.explain(BLACKWELL, [0x38] * 33, [0x38] * 33, c=np.float32(0.5))
    assert [group.indices[:4] for group in stages.groups] == [
        (0, 1, 4, 5),
        (2, 3, 6, 7),
        (32, 33, 36, 37),
        (34, 35, 38, 39),
    ]
    assert [group.used for group in stages.groups] == [16, 16, 1, 0]
    assert [group.total >> 25 - (group.max_exp or 0) for group in stages.groups] == [16, 32, 1, 1]
    ones = [int(np.float32(value).view(np.uint32)) for value in (0, 16, 0, 1)]
    assert [group.addend_code for group in stages.groups] == ones
    assert {group.addend_format.name for group in stages.groups} == {"f32"}
    added = [(added.addend, added.partial, added.code) for added in stages.additions.values()]
    assert list(stages.additions) == [1, 3]
    assert added == [
        tuple(int(np.float32(x).view(np.uint32)) for x in row) for row in ((0.5, 32, 32.5), (32.5, 1, 33.5))
    ]
    assert (stages.value, stages.result) == (33.5, added[-1][-1])
    lines = str(stages).splitlines()
    assert lines[0] == f"{BLACKWELL}: 33 products e4m3 x e4m3 as f16 + f32 -> f32, in groups of 16"
    assert "group 0: products 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29" in lines
    assert "group 2: products 32 to 32" in lines
    assert "group 3: no products" in lines
    assert "late: addend 0x3f000000 (0.5) + partial 0x42000000 (32) = 0x42020000 (32.5), rne to f32" in lines
    assert "late: addend 0x42020000 (32.5) + partial 0x3f800000 (1) = 0x42060000 (33.5), rne to f32" in lines


def test_a_late_addend_keeps_its_own_format() -> None:
    stages = hwsim.explain(unit("late-sequential"), [0x38] * 7, [0x38] * 7, c=0x3F80)
    assert [added.addend_format.name for added in stages.additions.values()] == ["bf16", "f16"]
    assert "late: addend 0x3f80 (1) + partial 0x40c00000 (6) = 0x4700 (7), rd to f16" in str(stages)
    assert stages.value == 8.0


def test_converted_factors() -> None:
    # 2^-9 is subnormal in e4m3, and normal in f16 with a significand of 1.0: 2^10 of 11 bits.
    stages = hwsim.explain(BLACKWELL, [0x01, 0xFE, 0x80], [0x38, 0x01, 0x7F])
    group = stages.groups[0]
    assert (group.a[0].exp, group.a[0].sig, group.a[0].cls) == (-9, 1 << 10, Class.NORMAL)
    assert group.products[0][:4] == (0, -9, 1 << 20, 20)
    rows = [line.split() for line in str(stages).splitlines()]
    assert ["0", "0x01", "0.001953125", "0x1800", "0x38", "1", "0x3c00"] in [row[:7] for row in rows]
    assert ["1", "0xfe", "-448", "0xdf00", "0x01", "0.001953125", "0x1800"] in [row[:7] for row in rows]
    assert ["2", "0x80", "-0.0", "0x8000", "0x7f", "nan", "0x7fff"] in [row[:7] for row in rows]
    # 2^-16 of e5m2 is subnormal in f16 too.
    stages = hwsim.explain("blackwell-mma-e5m2-f32", [0xFC, 0x01], [0x3C, 0x3C])
    rows = [line.split() for line in str(stages).splitlines()]
    assert ["0", "0xfc", "-inf", "0xfc00", "0x3c"] in [row[:5] for row in rows]
    assert ["1", "0x01", "1.52587890625e-05", "sub", "0x0100"] in [row[:5] for row in rows]


def test_factors_that_count_as_zero() -> None:
    stages = hwsim.explain(unit("daz"), [0x03, 0x3C], [0x38, 0x01])
    assert [term.cls for term in stages.products[:2]] == [Class.ZERO, Class.ZERO]
    assert "as 0" in str(stages)
    # The second factor is e4m3's 2^-9; zeros stay as they are.
    assert "0.001953125 as 0" in str(stages)
    assert "0 as 0" not in str(hwsim.explain(unit("daz"), [0x00], [0x38]))


def test_zeros_that_count_have_an_exponent() -> None:
    # 0 x 448 counts as 2^(-14 + 8), above 2^-14.
    stages = hwsim.explain(unit("zeros-count"), [0x00, 0x04], [0x7E, 0x38], c=0)
    assert stages.max_exp == -6
    rows = [line.split() for line in str(stages).splitlines()]
    assert ["+0", "-6", "0", "0"] in [row[-4:] for row in rows]
    assert ["addend", "0x0000", "0", "+0", "-14", "8", "0"] in rows
    skipped = hwsim.explain(HOPPER, [0x00, 0x01], [0x7E, 0x38])
    assert (skipped.max_exp, skipped.products[0].exp) == (-6, -6 + 8)


def test_a_floor_of_max_exp_is_in_the_picture() -> None:
    stages = hwsim.explain(unit("floored"), [0x04, 0x02], [0x38, 0x38])
    assert (stages.max_exp, stages.aligned[:2]) == (3, (1, 0))
    assert "v: 2^max_exp = 2^3" in str(stages)


@pytest.mark.parametrize("name", others_slow(NAMES, sorted(one_of_each_family(presets()))[::6]))
def test_explain_is_dot(name: str) -> None:
    given = list(cases(name, 14, 8))
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


def table_rows(stages: hwsim.Explained, first: str) -> list[list[str]]:
    """The rows of the table below the heading that begins so, as words."""
    lines = str(stages).splitlines()
    start = next(i for i, line in enumerate(lines) if line.split()[:1] == [first])
    end = next((i for i in range(start, len(lines)) if not lines[i]), len(lines))
    return [line.split() for line in lines[start + 1 : end]]


def test_additions_are_steps() -> None:
    # 2 x 3, 1 x 1, 0.5 x 1, 1 x -1 in f16, and 100: (6 + 1) + (0.5 - 1) = 6.5.
    f16 = hwsim.get_format("f16")
    a, b = f16.encode([2, 1, 0.5, 1]), f16.encode([3, 1, 1, -1])
    stages = hwsim.explain("cdna2-mfma-f16-f32", a, b, c=np.float32(100))
    names = ["rounded 0", "rounded 1", "rounded 2", "rounded 3", "0..1", "2..3", "0..3", "rounded addend", "addend"]
    assert [step.name for step in stages.groups[0].steps] == names
    values = [float(np.uint32(step.code).view(np.float32)) for step in stages.groups[0].steps]
    assert values == [6, 1, 0.5, -1, 7, -0.5, 6.5, 100, 106.5]
    rows = table_rows(stages, "addition")
    assert [row[-1] for row in rows[:9]] == ["6", "1", "0.5", "-1", "7", "-0.5", "6.5", "100", "106.5"]
    assert (stages.max_exp, stages.aligned, stages.growth) == (None, (), None)
    assert "window" not in str(stages)


def test_a_chain_has_a_step_for_each_product() -> None:
    stages = hwsim.explain("sequential-e4m3-f16", [0x38] * 3, [0x40] * 3, c=0x3C00)
    assert [step.name for group in stages.groups for step in group.steps] == ["rounded addend", "0"] * 3
    assert (stages.value, [group.used for group in stages.groups]) == (7.0, [1, 1, 1])


def test_an_exact_sum_goes_on() -> None:
    # 33 products of 1.5 x 1: the 33rd is in the second group, whose addend is the sum so far: 48 = 384 x 2^-3.
    stages = hwsim.explain(unit("exact-f32"), [0x3E] * 4, [0x3C] * 4, c=np.float32(2.0**-140))
    first, last = stages.groups
    assert (first.unit_exp, first.total) == (-149 - 0, (9 << 148) + 512)
    assert (last.unit_exp, last.total, last.carried) == (-149, (12 << 148) + 512, True)
    assert "sum so far" in str(stages)
    assert f"exact sum {(12 << 148) + 512} * 2^-149" in str(stages)
    assert stages.value == 6.0


def test_even_and_odd_lanes_have_windows() -> None:
    # Even products 1 and 2^-7, odd products 4 and 0; 7 bits below each half's exponent, then 5 below the larger.
    a, b = [0x40, 0x50, 0x08, 0x00, 0, 0], [0x40, 0x40, 0x40, 0x40, 0, 0]
    stages = hwsim.explain(unit("even-odd"), a, b, c=np.float32(0.5))
    group = stages.groups[0]
    assert group.halves is not None
    assert (group.halves.even.max_exp, group.halves.even.aligned) == (0, (128, 1, 0))
    assert (group.halves.odd.max_exp, group.halves.odd.total) == (2, 128)
    # 129 x 2^-7 is 8.06 in units of 2^(2 - 5), and 4 is 32.
    assert (group.max_exp, group.halves.combined.aligned, group.total, group.fraction_bits) == (2, (8, 32), 40, 5)
    assert table_rows(stages, "lanes")[:2] == [["even", "0", "129", "2", "8"], ["odd", "2", "128", "2", "32"]]
    window = stages.additions[0].window
    assert window is not None
    assert (window.max_exp, window.kept_sum, window.kept_addend, window.dropped) == (2, 40 << 6, 1 << 8, False)
    assert stages.value == 5.5
    assert "late: addend 0x3f000000 (0.5) + sum, at max_exp 2: (256 + 2560) * 2^-9 = 0x40b00000 (5.5)" in str(stages)
    dropped = hwsim.explain(unit("even-odd"), a, b, c=np.float32(2.0**-5))
    assert "(0 (dropped) + 2560) * 2^-9" in str(dropped)


def test_subgroups_are_scaled_sums() -> None:
    # 1 x 1 + 1 x 1 = 2 at scales 1.5 x 2^1 and 1.25 x 2^0; 6 x -1 at 1 x 2^-2 and 1.25 x 2^0.
    stages = hwsim.explain(unit("subgroups"), [2, 2, 7, 0], [2, 2, 10, 0], None, [0x44, 0x28], [0x3A])
    first, second = stages.groups[0].subgroups
    assert [(part.total, part.unit_exp, part.term.exp) for part in (first, second)] == [(8, -2, 1), (-24, -2, -2)]
    assert stages.value == 2 * 3 * 1.25 - 6 * 0.25 * 1.25
    assert [row[0] for row in table_rows(stages, "subgroup")] == ["0-1", "2-3"]
    assert any(line.strip().startswith("0-1 + ") for line in str(stages).splitlines())


def test_a_scaled_promotion_shows_its_scale() -> None:
    ones = [0x38] * 128
    stages = hwsim.explain("deepseek-v3-e4m3-f32-scaled", ones, ones, np.float32(1), [0x40000000], [0x3F000000])
    assert stages.promotions[3].scale == 0x3F800000
    assert "promotion: register 0x3f800000 (1) + partial 0x43000000 (128) * scale 0x3f800000 (1)" in str(stages)


def test_a_partial_sum_that_is_scaled_first_shows_both_products() -> None:
    ones, third = [0x38] * 128, 0x3EAAAAAB  # 11184811 * 2^-25, as 1/3 is in f32
    stages = hwsim.explain("cublas-hopper-e4m3-f32-vec128", ones, ones, np.float32(1), [third], [0x3F000000])
    promoted = stages.promotions[3]
    assert (promoted.first, promoted.scaled, promoted.scale) == (third, 0x422AAAAB, 0x3F000000)
    said = "+ (partial 0x43000000 (128) * scale_a 0x3eaaaaab (0.333"
    assert said in str(stages)
    assert ")) * scale_b 0x3f000000 (0.5) = " in str(stages)
