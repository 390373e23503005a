"""Whether an implementation has a unit, and what it lacks."""

from __future__ import annotations

from typing import get_args

import pytest

import hwsim
from hwsim.base.errors import InputError
from hwsim.compute import cuda, kernels
from hwsim.compute.support import Implementation
from hwsim.spec import Unit, load_unit


def test_what_is_lacking_is_named() -> None:
    hopper = load_unit("hopper-wgmma-e4m3-f32")
    rule = {"method": "aligned", "fraction_bits": 80}
    wide = Unit.model_validate({**hopper.model_dump(), "unit": "wide", "sum": rule})
    for unit in (wide, hopper):
        assert hwsim.supports(unit, "cuda") == cuda.supports(unit)
        assert hwsim.supports(unit, "kernels") == kernels.supports(unit)
    assert hwsim.supports(hopper.name, "cuda") == hwsim.supports(hopper, "cuda")
    support, lack = hwsim.supports(wide, "cuda"), "sum.fraction_bits: 80 (a window that does not fit 64 bits)"
    assert not support and support.lacks == (lack,)
    assert support.reason == f"unit wide: {lack} is in the model, but not in the source for GPUs"
    assert hwsim.supports("hopper-wgmma-e4m3-f32", "cuda").reason == ""


@pytest.mark.parametrize("by", get_args(Implementation))
def test_every_implementation_has_a_plain_unit(by: Implementation) -> None:
    assert hwsim.supports("hopper-wgmma-e4m3-f32", by)


def test_another_word_is_refused() -> None:
    with pytest.raises(InputError, match="by must be one of model, clock, kernels, cuda, rtl, c, not 'gpu'"):
        hwsim.supports("int8-i32", "gpu")  # type: ignore[arg-type]
