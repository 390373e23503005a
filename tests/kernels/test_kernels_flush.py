"""Compiled code against the model where it hangs on what is judged whether a result becomes zero."""

from __future__ import annotations

import numpy as np
import pytest
from built_presets import others_slow
from flush_units import FEW, flush_cases
from unit_keys import chained, odd_unit

import hwsim
from hwsim.cases.case import batches
from hwsim.compute.kernels import kernel_of
from hwsim.compute.kernels.additions import AdditionsKernel
from hwsim.cosim.fuzz.trial import codes_of_kernel, codes_of_model
from hwsim.spec import Unit


@pytest.mark.parametrize("name", others_slow(FEW, [*FEW][::2]))
def test_kernels_judge_as_the_model(name: str) -> None:
    unit = Unit.model_validate(FEW[name])
    kernel = kernel_of(unit)
    for batch in batches(unit, flush_cases(unit)):
        want = codes_of_model(unit, batch).tolist()
        assert codes_of_kernel(unit, kernel, batch).tolist() == want
        assert codes_of_kernel(unit, kernel.general, batch).tolist() == want


@pytest.mark.parametrize(("tininess", "code"), [("before", 0), ("after", 0x38800000), ("result", 0x38800000)])
def test_nothing_moves_onto_the_least_normal_number_before_it_is_judged(tininess: str, code: int) -> None:
    # 2^-14 - 2^-76 is none of binary64's numbers, which, to nearest, has 2^-14 for it; products are short enough that
    # to nearest it is asked for no more.
    rule = chained("sequential", "f16", flush=True, tininess=tininess)
    unit = odd_unit("near", ("e5m2", "bf16"), "f16", rule, "f32", 1)
    got = hwsim.gemm(unit, np.array([[0x81]]), np.array([[0x2180]]), np.array([[0x0400]]))
    assert got.view(np.uint32).tolist() == [[code]]
    kernel = kernel_of(unit)
    assert isinstance(kernel, AdditionsKernel) and kernel.carrier.exact == (tininess != "before")
