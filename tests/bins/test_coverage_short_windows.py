"""Windows shorter than a product: what rounding adds to every term makes sums grow further."""

from __future__ import annotations

from random import Random

import pytest

from hwsim.cases.bins.covering import covered
from hwsim.cases.bins.plan import Counter, plan
from hwsim.cases.case import Case
from hwsim.cases.palette import is_finite
from hwsim.cases.random_cases import random_cases
from hwsim.spec import Unit
from hwsim.spec.keys import LOST


def unit_of(
    a: str,
    b: str,
    lanes: int,
    bits: int,
    lost: str,
    *,
    result: str = "f32",
    rounding: str = "rne",
    overflow: str = "infinity",
    addend: str | None = None,
) -> Unit:
    return Unit.model_validate({
        "unit": "short",
        "operands": {"a": a, "b": b, "addend": addend},
        "instruction": {"k": lanes, "lanes": lanes, "chain": "none" if addend is None else "addend"},
        "sum": {"method": "aligned", "fraction_bits": bits, "lost": lost},
        "result": {"format": result, "rounding": rounding, "overflow": overflow},
    })  # fmt: skip


def largest(unit: Unit, sign: int) -> Case:
    """The largest product of a sign in all lanes."""
    a, b = (fmt.max_magnitude << fmt.padding for fmt in (unit.operands.a, unit.operands.b))
    a |= sign * unit.operands.a.sign_bit << unit.operands.a.padding
    lanes = unit.instruction.lanes
    return Case("", (a,) * lanes, (b,) * lanes)


def counted(unit: Unit, *cases: Case) -> Counter:
    counter = Counter(plan.__wrapped__(unit))
    for case in cases:
        counter.sample(case)
    assert counter.contradicted() == []
    return counter


def test_a_bit_of_window_rounds_the_largest_products_up_to_a_power_of_two():
    """e3m4: 1.9375^2 = 3.75390625, which rna keeps as 4.0 in one bit: 32 of them are 2^7 times their exponent."""
    counter = counted(unit := unit_of("e3m4", "e3m4", 32, 1, "rna", overflow="nan"), largest(unit, 0))
    assert counter.counts["leading one 7 above max_exp, +"] == 1
    assert counter.counts["the least + sum with the highest bit"] == 1


def test_no_bit_of_window_floors_a_negative_product_to_a_power_of_two():
    """e3m2 x e5m2: -1.75^2 = -3.0625 is floored to -4, and 3.0625 to 3: only negative sums grow by 2."""
    unit = unit_of("e3m2", "e5m2", 1, 0, "floor")
    a, b = 1 << 2 | 3, 15 << 2 | 3
    counter = counted(unit, Case("", (a,), (b,)), Case("", (a | 1 << 5,), (b,)))
    assert counter.counts["leading one 2 above max_exp, -"] == 1
    assert "leading one 2 above max_exp, +" not in counter.counts


def test_a_partial_sum_has_more_bits_than_c():
    unit = unit_of("e2m1", "e2m1", 1, 2, "truncate", addend="e5m2", result="f16", overflow="infinity")
    cases = list(random_cases(unit, 200, 1))
    assert counted(unit, *cases).cases == len(cases)


@pytest.mark.slow
@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("seed", range(4))
def test_any_case_has_its_bins_in_a_short_window(lost, seed):
    """Random codes of random units with windows of 0 to 5 bits: each case is counted, and no proof is wrong."""
    random = Random(f"{lost}{seed}")
    factors = ("e2m1", "e2m3", "e3m2", "e3m4", "e4m3", "e5m2")
    a, b = random.choice(factors), random.choice(factors)
    addend, result = random.choice([(None, "f16"), ("f16", "f16"), ("bf16", "f32")])
    lanes, bits = random.choice([1, 2, 3, 4, 7, 8]), random.randrange(6)
    unit = unit_of(a, b, lanes, bits, lost, addend=addend, result=result, overflow="infinity")
    operands = unit.operands
    codes = [[c for c in range(1 << f.bits) if is_finite(f, c)] for f in (operands.a, operands.b)]
    cases = [largest(unit, 0), largest(unit, 1)]
    for _ in range(150):
        # Few codes to a case, so that products are alike and sums large.
        some = [random.sample(each, random.choice([1, 2, 8])) for each in codes]
        x, y = (tuple(random.choice(each) for _ in range(lanes)) for each in some)
        c = random.randrange(1 << operands.addend.container_bits) if operands.addend else 0
        cases.append(Case("", x, y, c))
    assert counted(unit, *cases).cases == len(cases)


def test_results_of_a_format_whose_codes_end_below_twice_its_bias_are_covered() -> None:
    keys = {
        "unit": "fnuz",
        "operands": {"a": "e2m1", "b": "e2m1", "addend": "f16"},
        "instruction": {"k": 2, "lanes": 2},
        "sum": {"method": "aligned", "fraction_bits": 6, "lost": "truncate"},
        "result": {"format": "e4m3fnuz", "rounding": "rz", "overflow": "saturate"},
    }
    found = covered(Unit.model_validate(keys), 1)
    assert {"G8/1-pos-addend", "G8/7e-neg-addend"} <= {case.id for case in found.cases}
    assert found.counter.counts["result +the largest"] > 0
