"""Swamped terms: by hand, by sums in other arithmetic, by leaving them out; and mutants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built_presets import one_of_each, others_slow
from numpy.typing import NDArray
from odd_units import unit as odd_unit
from study.study_units import operands

from hwsim.cases.drawing import Stream
from hwsim.explain.explained import explain
from hwsim.model import dot
from hwsim.spec import Unit, load_unit, presets
from hwsim.study.accuracy import swamped as module
from hwsim.study.accuracy.swamped import swamped_terms

HOPPER = load_unit("hopper-wgmma-e4m3-f32")
Codes = NDArray[Any]


def swamped(unit: Unit, a: Any, b: Any) -> tuple[int, int]:
    """The terms of one dot product, and those of them that are swamped."""
    found = swamped_terms(explain(unit, a[0], b[0]))
    return len(found), sum(found.values())


def power(exponent: int) -> int:
    """The e4m3 code of 2^exponent, from 2^-6 on."""
    return exponent + 7 << 3


@pytest.mark.parametrize("distance", range(8, 29))
def test_a_term_is_gone_where_all_of_it_is_below_the_window(distance: int) -> None:
    # 2^16 beside 2^(16 - distance), and beside 3.0625 times that; the window ends at 2^(16 - 13).
    exponent = 16 - distance
    a, b = exponent // 2, exponent - exponent // 2
    one = np.array([[power(8), power(max(a, -6))]]), np.array([[power(8), power(max(b, -6))]])
    assert swamped(HOPPER, *one) == (2, int(distance > 13))
    three = one[0] + [[0, 6]], one[1] + [[0, 6]]
    assert swamped(HOPPER, *three) == (2, int(distance > 14))


def test_a_sum_that_a_later_group_swamps_takes_its_terms_with_it() -> None:
    a, b = np.zeros((1, 64), dtype=np.uint8), np.zeros((1, 64), dtype=np.uint8)
    a[0, :3], b[0, :3] = power(-6), power(-2)
    a[0, 32], b[0, 32] = power(8), power(8)
    assert swamped(HOPPER, a, b) == (4, 3)


def test_a_promotion_swamps_a_whole_chunk() -> None:
    unit = load_unit("hfp8-forward-e4m3-dlfloat16")
    chunk = unit.promotion.interval if unit.promotion else 0
    fmt = unit.operands.a
    a, b = np.zeros((1, 2 * chunk), dtype=np.uint8), np.zeros((1, 2 * chunk), dtype=np.uint8)
    a[0, :chunk], b[0, :chunk] = fmt.encode(16.0), fmt.encode(16.0)
    a[0, chunk], b[0, chunk] = fmt.encode(1.0), fmt.encode(1.0)
    found = swamped_terms(explain(unit, a[0], b[0]))
    assert found == {**dict.fromkeys(range(chunk), False), chunk: True}
    back = swamped_terms(explain(unit, a[0, ::-1], b[0, ::-1]))
    assert [i for i, gone in back.items() if gone] == [chunk - 1]


def test_a_chain_loses_what_binary16_loses() -> None:
    unit = load_unit("sequential-e4m3-f16")
    stream = Stream(1, "chain")
    values = unit.operands.a.decode(np.arange(256))
    for row in range(6):
        a = np.array([stream.choice(range(0x20, 0x68)) for _ in range(200)])
        b = np.array([stream.choice(range(0x10, 0x58)) for _ in range(200)])
        found = swamped_terms(explain(unit, a, b))
        total, gone = np.float64(0.0), set()
        for i, product in enumerate(values[a] * values[b]):
            with np.errstate(over="ignore"):
                made = np.float64(np.float16(total + product))
            if made == total:
                gone.add(i)
            elif made == product and total:
                gone |= set(range(i))
            total = made
            if not np.isfinite(total):
                break
        else:
            assert {i for i, lost in found.items() if lost} == gone, row
            assert len(found) == 200


def test_a_group_loses_what_is_below_its_window() -> None:
    fmt = HOPPER.operands.a
    stream = Stream(2, "window")
    for _ in range(50):
        codes = np.array([[stream.randrange(0x7F) | stream.randrange(2) << 7 for _ in range(32)] for _ in range(2)])
        values = np.abs(fmt.decode(codes))
        exponents = np.maximum(np.frexp(values)[1] - 1, -6).sum(axis=0)
        products = values[0] * values[1]
        there = products > 0
        lowest = 2.0 ** (exponents[there].max() - 13)
        found = swamped_terms(explain(HOPPER, *codes))
        assert found == {int(i): bool(products[i] < lowest) for i in np.flatnonzero(there)}


def loses_nothing_else(name: str) -> bool:
    """Whether a unit's lost bits leave no trace: neither rounded down nor jammed, nor up."""
    unit = load_unit(name)
    parts = (unit.sum, getattr(unit.sum, "combine", None), unit.late)
    lost = [getattr(part, "lost", "truncate") for part in parts]
    return all(x in ("truncate", "rne", "rna") for x in lost)


LOSSES = one_of_each([name for name in presets() if loses_nothing_else(name)])


@pytest.mark.parametrize("name", others_slow(LOSSES, LOSSES[::9]))
def test_without_its_swamped_terms_a_sum_is_the_same(name: str) -> None:
    unchanged_without_its_swamped_terms(load_unit(name))


@pytest.mark.parametrize("name", ["chain-blocks", "tree-blocks"])
def test_without_its_swamped_terms_a_sum_of_parts_is_the_same(name: str) -> None:
    assert unchanged_without_its_swamped_terms(odd_unit(name)) > 0


def unchanged_without_its_swamped_terms(unit: Unit) -> int:
    """Checks that the terms which a sum swamps may be left out: how many there are."""
    stream, left_out = Stream(3, "leave out", unit.name), 0
    length, spread = 128 if unit.instruction.chain else unit.instruction.k, 4 if unit.output.name == "f16" else 12
    for row in range(2):
        a, b, *scales = operands(unit, stream, (1, 1), length, spread).codes()
        row_scales = [None if scale is None else scale[0] for scale in scales]
        gone = [i for i, lost in swamped_terms(explain(unit, a[0], b[0], None, *row_scales)).items() if lost]
        less_a, less_b = a.copy(), b.copy()
        less_a[0, gone] = less_b[0, gone] = 0
        before, after = dot(unit, a, b, None, *scales), dot(unit, less_a, less_b, None, *scales)
        numbers = unit.output.decode(before), unit.output.decode(after)  # of 64 bits, Python's own, without a NaN
        assert np.array_equal(*numbers, equal_nan=numbers[0].dtype != object), (row, len(gone))
        left_out += len(gone)
    return left_out


def test_what_is_exact_loses_nothing_and_nan_is_no_term() -> None:
    unit = load_unit("int8-i32")
    a = np.arange(64, dtype=np.uint8)[None]
    assert swamped(unit, a, a) == (63, 0)
    assert swamped(HOPPER, [[0x7F, power(0)]], [[power(0), power(0)]]) == (1, 0)


def test_flushed_factors_leave_nothing() -> None:
    unit = load_unit("intel-amx-e4m3-f32")
    assert unit.operands.daz
    assert swamped(unit, [[0x01, power(0)]], [[power(0), power(0)]]) == (2, 1)


MUTANTS: dict[str, Any] = {
    "_below": lambda term, unit_exp, lost, kept: bool(term.sig) and kept == 0 and term.exp < unit_exp - 1,
    "_gone": lambda fmt, code, term, other: False,
    "_of_promotion": lambda *given: set(),
    "_is_factor": lambda fmt, code: True,
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_caught(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(module, name, MUTANTS[name])

    def everything() -> None:
        test_a_group_loses_what_is_below_its_window()
        test_a_chain_loses_what_binary16_loses()
        test_a_promotion_swamps_a_whole_chunk()
        test_a_sum_that_a_later_group_swamps_takes_its_terms_with_it()

    with pytest.raises(AssertionError):
        everything()
