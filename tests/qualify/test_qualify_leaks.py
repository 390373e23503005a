"""How far max_exp may be raised without a change of any result, against what the widths of the window say."""

from __future__ import annotations

import pytest
from qualify.small_mutants import promoted, small

from hwsim.prove.circuits import circuits
from hwsim.prove.qualify.steps import Leaks
from hwsim.rtl.datapath import datapath
from hwsim.spec import Unit


def leaks_of(unit: Unit) -> Leaks:
    return Leaks(unit, circuits({step.name: step for step in datapath(unit, ()).steps}))


@pytest.mark.parametrize("bits", [13, pytest.param(19, marks=pytest.mark.slow)])
def test_max_exp_may_be_raised_until_the_least_products_last_bit_falls_out(bits):
    leaks = leaks_of(promoted(bits))
    n = leaks.n
    # The last bit of the window at max_exp, no higher than the least product's last bit.
    most = n.product_least - n.product_fraction_bits + n.fraction_bits
    assert leaks.raised_to == leaks.products_below == 1 << most.bit_length() - 1 < n.product_most
    assert not leaks._exact(2 * leaks.raised_to)
    assert not leaks._all_vanish(2 * leaks.raised_to)


def test_a_hidden_bit_of_zero_is_nothing_where_no_partial_sum_is_as_small():
    assert leaks_of(promoted(13)).addend
    # Products of e5m2 are below binary16's subnormals: where zero counts there, they lose what is below its window.
    assert not leaks_of(small(operands={"a": "e5m2", "b": "e5m2", "addend": "f16"})).addend
