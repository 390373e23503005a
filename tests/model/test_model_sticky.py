"""`sum.lost: sticky`: what the one bit of all lost ones does to the rounding, and what it does not."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from unit_keys import odd_unit, window

import hwsim
from hwsim.spec import Unit

Patch = pytest.MonkeyPatch


def tensor_core(lost: str, rounding: str = "rne", bits: int = 24) -> Unit:
    """Vortex's TCU, of binary16: terms of 25 bits with their leading ones at 2^max_exp, one sticky bit of all.

    vortexgpgpu/vortex, hw/rtl/tcu/tfr: VX_tcu_tfr_align.sv cuts off magnitudes, VX_tcu_tfr_acc.sv ORs what is lost, and
    VX_tcu_tfr_norm_round.sv takes the OR for a bit below the magnitude of the sum.
    """
    return odd_unit("tensor-core", "f16", "f32", window(bits, lost), "f32", 4, rounding=rounding)


def code(unit: Unit, c: int, *products: tuple[int, int]) -> int:
    """A result's code; in the model and in compiled code."""
    a, b = ([pair[side] for pair in products] + [0] * (4 - len(products)) for side in (0, 1))
    explained = hwsim.explain(unit, a, b, c=c)
    assert int(hwsim.dot(unit, [a], [b], [c]).view("uint32")[0]) == explained.code
    return explained.code


# 25088 * 2^-30 is 0x3a20 = 25088 * 2^-15 times 0x0200 = 2^-15. It is 3.0625 units of 2^-17, where the window ends.
SMALL = (0x3A20, 0x0200)
MINUS_129 = 0xC3010000


def test_a_tie_goes_away_from_zero_where_the_nearest_is_nearer() -> None:
    # -129 + 3 * 2^-17 is a tie. The exact sum is nearer to zero, and the nearest ends in e; but the lost 1 makes the
    # magnitude greater, whatever the sign of its term.
    assert code(tensor_core("sticky"), MINUS_129, SMALL) == 0xC300FFFF
    assert code(tensor_core("truncate"), MINUS_129, SMALL) == 0xC300FFFE
    assert code(tensor_core("truncate", bits=40), MINUS_129, SMALL) == 0xC300FFFE


def test_a_sum_of_zero_stays_zero() -> None:
    # 2^-30 is lost below a window that ends at 2^-24, and 1 - 1 is left.
    ones = [(0x3C00, 0x3C00), (0xBC00, 0x3C00)]
    for rounding in ("rne", "ru", "rd", "rto"):
        explained = hwsim.explain(tensor_core("sticky", rounding), [0x3C00, 0xBC00, 0x0200], [0x3C00, 0x3C00, 0x0200])
        assert (explained.total, explained.sticky, explained.code) == (0, True, 0)
        assert code(tensor_core("sticky", rounding), 0, *ones, (0x0200, 0x0200)) == 0


@pytest.mark.parametrize(
    ("rounding", "c", "expected"),
    [
        ("rne", 0x3F800000, 0x3F800000), ("rna", 0x3F800000, 0x3F800000), ("rz", 0x3F800000, 0x3F800000),
        ("ru", 0x3F800000, 0x3F800001), ("ru", 0xBF800000, 0xBF800000),
        ("rd", 0x3F800000, 0x3F800000), ("rd", 0xBF800000, 0xBF800001),
        ("rto", 0x3F800000, 0x3F800001), ("rto", 0x3F800001, 0x3F800001),
    ],
)  # fmt: skip
@pytest.mark.parametrize("low", [0x0200, 0x8200])
def test_a_lost_1_adds_to_the_magnitude_whatever_its_sign(rounding: str, c: int, expected: int, low: int) -> None:
    assert code(tensor_core("sticky", rounding), c, (low, 0x0200)) == expected


def test_the_bit_is_no_place_of_the_sum() -> None:
    # A window of 3 bits: binary32 has room for many places below the sum, and takes none of them.
    unit = tensor_core("sticky", bits=3)
    assert code(unit, 0x3F800000, (0x0200, 0x0200)) == 0x3F800000
    assert code(unit, 0x3F800000, (0x3C00, 0x3C00), (0x0200, 0x0200)) == 0x40000000


def test_an_explanation_says_it() -> None:
    explained = hwsim.explain(tensor_core("sticky"), [SMALL[0]], [SMALL[1]], c=MINUS_129)
    assert "sum -16908285 * 2^-17 and a sticky 1; result" in str(explained)
    assert "growth +0, sticky 1" in str(explained)


def test_a_late_window_takes_no_such_sum() -> None:
    late = {"operation": "window", "sum_bits": 9, "addend_bits": 9, "lost": "truncate"}
    with pytest.raises(ValidationError, match=r"sum.lost must not be sticky, because late.operation is window"):
        odd_unit("late", "e4m3", "f32", window(9, "sticky"), "f32", start="zero", late=late)


def test_other_windows_have_no_such_rule() -> None:
    rule = {"method": "even-odd", "fraction_bits": 7, "lost": "sticky"}
    combine = {"fraction_bits": 5, "lost": "truncate"}
    with pytest.raises(ValidationError, match=r"sum.even-odd.lost"):
        odd_unit("halves", "e4m3", "none", {**rule, "combine": combine}, "f32", chain="none")
