"""Whether an implementation has a unit, and what it lacks."""

from __future__ import annotations

from typing import get_args

import pytest

import hwsim
from hwsim.base.errors import InputError
from hwsim.compute import cuda, kernels
from hwsim.compute.support import Implementation
from hwsim.spec import load_unit


def test_what_is_lacking_is_named() -> None:
    for name in ("int8-i32", "hopper-wgmma-e4m3-f32"):
        unit = load_unit(name)
        assert hwsim.supports(name, "cuda") == hwsim.supports(unit, "cuda") == cuda.supports(unit)
        assert hwsim.supports(unit, "kernels") == kernels.supports(unit)
    support = hwsim.supports("int8-i32", "cuda")
    assert not support and support.lacks == ("result.format: i32",)
    assert support.reason == "unit int8-i32: result.format: i32 is in the model, but not in the source for GPUs"
    assert hwsim.supports("int8-i32", "kernels") and hwsim.supports("hopper-wgmma-e4m3-f32", "cuda").reason == ""


@pytest.mark.parametrize("by", get_args(Implementation))
def test_every_implementation_has_a_plain_unit(by: Implementation) -> None:
    assert hwsim.supports("hopper-wgmma-e4m3-f32", by)


def test_another_word_is_refused() -> None:
    with pytest.raises(InputError, match="by must be one of model, clock, kernels, cuda, rtl, c, not 'gpu'"):
        hwsim.supports("int8-i32", "gpu")  # type: ignore[arg-type]
