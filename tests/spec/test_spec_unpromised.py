"""What a unit does not promise of its results, and which codes are then as good as one another."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError
from unit_keys import exact_sum, odd_unit, promoted, window

from hwsim.formats import FloatFormat, get_format
from hwsim.spec import Unit, Unpromised, load_unit, unpromised


def unit_of(result: str = "f16", **more: object) -> Unit:
    return odd_unit("own", "e4m3", "f32", window(9), result, 4, **more)


def test_everything_is_promised_unless_a_key_says_otherwise() -> None:
    good = unpromised(load_unit("hopper-wgmma-e4m3-f32"))
    assert good == Unpromised()
    assert not good.same(0, 0x80000000)
    assert not list(good.left_out())


def test_zeros_of_both_signs_are_as_good_and_nothing_else() -> None:
    good = unpromised(unit_of(zero_sign="any"))
    assert good.same(0, 0x8000)
    assert good.same(0x8000, 0)
    assert not any(
        good.same(zero, code) for zero in (0, 0x8000) for code in (-2, -1, 1, 0x8001, 0x7E00, 0x3C00, 0x18000)
    )
    assert [good.plain(code) for code in (0x8000, 0, 0x8001, 0x7E01)] == [0, 0, 0x8001, 0x7E01]
    codes = np.array([0x8000, 0, 0x8001], np.uint16)
    assert good.plain_zeros(codes).tolist() == [0, 0, 0x8001]
    assert codes.tolist() == [0x8000, 0, 0x8001]
    assert list(good.left_out()) == ["the signs of results that are zero (result.zero_sign: any)"]


@pytest.mark.parametrize(("name", "codes"), [("e8m13", (0x7FFFFFFF, 0xFFC00000, 0x7FC00000)), ("e4m3", (0x7F, 0xFF))])
def test_nans_are_as_good_in_their_containers(name: str, codes: tuple[int, ...]) -> None:
    overflow = {"overflow": "nan"} if name == "e4m3" else {}
    good = unpromised(unit_of(name, nan="any", **overflow))
    fmt = get_format(name)
    assert isinstance(fmt, FloatFormat)
    assert {good.plain(code) for code in codes} == {fmt.canonical_nan}
    assert not good.same(codes[0], fmt.max_magnitude << fmt.padding)


def test_both_keys_are_of_what_the_unit_returns() -> None:
    one = unit_of("e5m2", nan="any", zero_sign="any", **promoted(4, "f32"))
    good = unpromised(one)
    assert good.same(0x80000000, 0)
    assert good.same(0x7FC00001, 0xFFFFFFFF)
    assert len(list(good.left_out())) == 2


def test_a_result_without_two_zeros_has_no_such_rule() -> None:
    with pytest.raises(ValidationError, match=r"result.zero_sign must be promised, not any: e4m3fnuz has no -0"):
        unit_of("e4m3fnuz", overflow="nan", zero_sign="any")
    with pytest.raises(ValidationError, match=r"result.zero_sign must be promised, not any: i32 has no -0"):
        odd_unit("own", ("int8", "int8"), "none", exact_sum(), "i32", overflow="wrap", zero_sign="any")
