"""Cases of windows without solvers of their own: what they are for happens, and mistakes that only they tell."""

from __future__ import annotations

from typing import Any

import pytest
from built_presets import others_slow
from unit_keys import odd_unit, subgroups, window

from hwsim.cases.bins.adder_rows import power_range, powers_for
from hwsim.cases.bins.covering import directed
from hwsim.cases.bins.nearties import beside, significands
from hwsim.cases.bins.windowedges import edge_of, edge_rows
from hwsim.cases.case import Rows, dot
from hwsim.explain.mistakes import catalogue
from hwsim.explain.mistakes.kills import killers
from hwsim.formats import Class, FloatFormat, unpack
from hwsim.model.definition import definition_of
from hwsim.model.terms import Term
from hwsim.spec import Unit, load_unit


def float_keys(exponent_bits: int, fraction_bits: int) -> dict[str, Any]:
    bias = (1 << exponent_bits - 1) - 1
    name = f"own-e{exponent_bits}m{fraction_bits}"
    return {"name": name, "kind": "float", "exponent_bits": exponent_bits, "fraction_bits": fraction_bits, "bias": bias}


I12F2 = {"name": "own-i12f2", "kind": "fixed", "integer_bits": 12, "fraction_bits": 2}
# All products have one exponent: a sum so far alone is far from them.
INTEGERS = odd_unit(
    "integers", (I12F2, I12F2), "none", window(1, "jam", zero_terms="count"), "e4m3", 2, k=4,
    rounding="rto", overflow="saturate",
)  # fmt: skip
# Of normal factors alone two products have to cancel before a result is subnormal.
CANCELS = odd_unit(
    "cancels", ("e3m4", "e2m3"), "none",
    {"method": "even-odd", "fraction_bits": 13, "combine": {"fraction_bits": 12, "lost": "rna"}}, "e3m4-finite", 2,
    rounding="rd", overflow="saturate", daz=True, chain="none",
)  # fmt: skip
E2M0 = {"name": "own-e2m0", "kind": "exponent", "exponent_bits": 2, "bias": -2, "nan": [3]}
# No scale of a is 1, and a factor is much longer than the other.
SCALED = odd_unit(
    "scaled", ("f32", "e4m3-ieee"), "f32",
    {"method": "even-odd", "fraction_bits": 5, "lost": "rne", "combine": {"fraction_bits": 9, "lost": "floor"}},
    "e8m13", 2, start="zero",
    scale={"a": {"format": E2M0, "block": [1, 1]}, "b": {"format": "e8m0", "block": [12, 1]}},
    late={"operation": "window", "sum_bits": 5, "addend_bits": 9, "lost": "truncate"},
)  # fmt: skip
I1 = {"name": "own-i1f0", "kind": "fixed", "integer_bits": 1, "fraction_bits": 0}
# Products are ones: all bits and distances are the scales'.
BY_SCALES = odd_unit(
    "by-scales", (I1, I1), "f32", subgroups(1, 24, "ceil"), "e5m6", 2, start="zero", rounding="rna",
    scale={"a": {"format": float_keys(4, 4), "block": [1, 1]}, "b": {"format": float_keys(4, 19), "block": [6, 1]},
           "at": "subgroup"},
    late={"operation": "add", "format": "f16", "rounding": "rd"},
)  # fmt: skip
TOLD = [
    (INTEGERS, ("shift distance modulo 8", "shift by 8 left out", "negative results rounded truncated")),
    (CANCELS, ("subnormal results rounded ties to even", "subnormal results rounded ties away from zero")),
    (SCALED, ("low bit of products lost", "subnormal results rounded truncated", "negative results rounded up")),
    (BY_SCALES, ("rounded ties to even", "shift by 8 left out", "shift distance at most 17, in the late addition")),
]


@pytest.mark.parametrize(
    ("of", "names"), others_slow(TOLD, TOLD[:2]), ids=("integers", "cancels", "scaled", "by scales")
)
def test_mistakes_of_such_windows_are_told(of: Unit, names: tuple[str, ...]) -> None:
    mistakes = [mistake for mistake in catalogue(of) if mistake.name in names]
    assert len(mistakes) == len(names)
    assert set(killers(of, [case for case in directed(of, 1) if "aimed" not in case.id], mistakes)) == set(names)


def test_an_edge_is_where_a_number_stands_between_two_of_a_format() -> None:
    fmt = load_unit("hopper-wgmma-e4m3-f32").operands.a
    assert isinstance(fmt, FloatFormat) and (fmt.fraction_bits, fmt.emin) == (3, -6)
    assert edge_of(fmt, Term(0, 0, 0b1001 << 4, 0, Class.NORMAL)) is None
    assert edge_of(fmt, Term(1, 5, 0b100110, 0, Class.NORMAL)) == (1, False, 1, 1, 1)  # 10011 * 2^6: a tie, odd below
    assert edge_of(fmt, Term(0, -12, 0b10101, 0, Class.NORMAL)) == (0, True, 3, 0b101, 0)


def test_a_case_of_an_edge_has_a_sum_there() -> None:
    rows = Rows(CANCELS)
    edge_rows(rows)
    fmt, definition, held = CANCELS.result.format, definition_of(CANCELS), 0
    assert isinstance(fmt, FloatFormat)
    for name, case in rows.cases.items():
        if name.startswith("edge/"):
            (group,) = dot(definition, case).groups
            assert group.unit_exp is not None
            total = Term(int(group.total < 0), group.unit_exp, abs(group.total), 0, Class.NORMAL)
            edge = edge_of(fmt, total)
            assert edge is not None
            word = "tiny" if edge.tiny else "normal"
            assert name == f"edge/{word}-{edge.places:02}-{edge.low}-{edge.odd}-{edge.sign}"
            held += 1
    assert held > 30


@pytest.mark.parametrize("exp", [-140, -3, 0, 9])
def test_scales_without_a_one_take_what_they_say(exp: int) -> None:
    taken = powers_for(SCALED, exp)
    assert taken is not None and SCALED.scale is not None
    formats = SCALED.scale.a.format, SCALED.scale.b.format
    assert taken[0] == sum(unpack(fmt, codes[0]).exp for fmt, codes in zip(formats, taken[1], strict=True))
    low, high = (sum(ends) for ends in zip(*map(power_range, formats), strict=True))
    assert taken[0] == min(max(exp, low), high)


def test_the_longer_factor_has_the_bits_that_are_asked_for() -> None:
    half = 1 << 20
    for low in (half + 1, half - 1):
        some = significands((24, 4), 28, low, 21, 0)
        assert some and all(sig % (2 * half) == low and both == (sig // both[1], both[1]) for sig, both in some if both)
        assert [(sig, both[::-1]) for sig, both in some if both] == list(significands((4, 24), 28, low, 21, 0))
    near = beside(24, 4, 1 << 27, True)
    assert near is not None and near[0] * near[1] - (1 << 27) == 1 and beside(4, 24, 1 << 27, True) == near[::-1]
