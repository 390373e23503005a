"""The directed suite tells wrong units from the right one."""

import pytest
from cases.vectors_measure import suite, unit_of

from hwsim.cases.case import Case, term_scales
from hwsim.model.definition import Definition

HOPPER = "hopper-wgmma-e4m3-f32"


def changed(part, **settings):
    """The unit with some settings of one part changed."""
    unit = unit_of(HOPPER)
    return unit.model_copy(update={part: getattr(unit, part).model_copy(update=settings)})


def differences(definition, cases=None, change=lambda case: case):
    """On how many cases of the directed suite a definition differs from Hopper's."""
    right = suite(HOPPER)
    found = 0
    for one in right.measured if cases is None else cases:
        case = change(one.case)
        got = definition.dot(case.a, case.b, case.c, *term_scales(definition.unit, case)).code
        found += got != one.explanation.code
    return found


@pytest.mark.parametrize(
    "unit",
    [
        changed("sum", lost="floor"),
        changed("sum", lost="ceil"),
        changed("sum", lost="jam"),
        changed("sum", lost="rne"),
        changed("sum", fraction_bits=12),
        changed("sum", fraction_bits=14),
        changed("result", rounding="rne"),
        changed("result", rounding="rna"),
        changed("result", rounding="ru"),
        changed("result", rounding="rd"),
        changed("result", rounding="rto"),
    ],
    ids=["floor", "ceil", "jam", "nearest", "F12", "F14", "rne", "rna", "ru", "rd", "rto"],
)
def test_other_arithmetic_differs_on_sixteen_cases_at_least(unit):
    assert differences(Definition(unit)) >= 16


def test_a_dropped_addend_differs():
    definition = suite(HOPPER).definition
    assert differences(definition, change=lambda case: Case(case.id, case.a, case.b)) >= 16


@pytest.mark.parametrize("lane", range(32))
def test_each_dropped_lane_differs(lane):
    def drop(case):
        a = tuple(0 if index % 32 == lane else code for index, code in enumerate(case.a))
        return Case(case.id, a, case.b, case.c)

    assert differences(suite(HOPPER).definition, suite(HOPPER).of("lane", "cancel"), drop) >= 2


@pytest.mark.parametrize("lane", range(31))
def test_each_swap_of_neighbouring_lanes_in_one_factor_differs(lane):
    def swap(case):
        a = list(case.a)
        a[lane], a[lane + 1] = a[lane + 1], a[lane]
        return Case(case.id, tuple(a), case.b, case.c)

    assert differences(suite(HOPPER).definition, suite(HOPPER).of("lane", "cancel"), swap) >= 2


def test_zero_terms_that_set_max_exp_differ():
    assert differences(Definition(changed("sum", zero_terms="count"))) >= 16


class Normalised(Definition):
    """Products count by their leading one's exponent, not by their reference exponent."""

    def product(self, a, b, scale_exp=0):
        term = super().product(a, b, scale_exp)
        return term if not term.sig else term._replace(
            exp=term.exp + term.sig.bit_length() - 1 - term.fraction_bits, fraction_bits=term.sig.bit_length() - 1
        )  # fmt: skip


def test_leading_one_exponents_differ():
    assert differences(Normalised(unit_of(HOPPER))) >= 16


def test_nothing_else_differs():
    """The right unit passes its own suite, so that the mutants fail for what they are."""
    assert differences(suite(HOPPER).definition) == 0
