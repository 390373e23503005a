"""Which likely mistakes cases kill: counted as by brute force, and nothing that is called equivalent is killed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from built_presets import others_slow
from unit_keys import odd_unit, window

from hwsim.cases.bins.covering import covering
from hwsim.cases.case import Case, dot
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.vectors.plan import plan
from hwsim.explain.mistakes import Flaw, Mistake, catalogue, code_of
from hwsim.explain.mistakes import kills as counting
from hwsim.explain.mistakes.equal import why_equal
from hwsim.explain.mistakes.kills import kills
from hwsim.explain.mistakes.operands import negated
from hwsim.formats.codes import is_padded
from hwsim.model.definition import Definition
from hwsim.spec import Unit, load_unit, unpromised

ROUNDED = {"format": "f16", "rounding": "rne"}
LATE = {"operation": "add", "format": "f16", "rounding": "rne"}
UNITS = [
    odd_unit("window4", "e4m3", "f16", window(14), "f16", 4),
    odd_unit("chain2", "e4m3", "f16", {"method": "sequential", "product": "fused", **ROUNDED}, "f16", 2),
    odd_unit("tree4", "e4m3", "none", {"method": "pairwise", "product": "rounded", **ROUNDED}, "f16", 4, chain="none"),
    odd_unit("exact4", "e4m3", "none", {"method": "exact"}, "bf16", 4),
]


def by_brute_force(unit: Unit, cases: list[Case]) -> set[str]:
    """The names of the mistakes with which a design returns something else for some case."""
    plain, own = unpromised(unit).plain, Definition(unit)
    expected = [plain(dot(own, case).code) for case in cases]
    before = [None, *expected[:-1]]

    def differs(mistake: Mistake) -> bool:
        return any(
            plain(code_of(unit, mistake.flaw, *asked)) != code
            for asked, code in zip(zip(cases, before, strict=True), expected, strict=True)
        )

    return {mistake.name for mistake in catalogue(unit) if differs(mistake)}


@pytest.mark.parametrize("unit", others_slow(UNITS, UNITS[:1]), ids=lambda unit: unit.name)
def test_what_is_killed_is_what_a_design_with_each_mistake_shows(unit: Unit) -> None:
    cases = random_cases(unit, 24, 3)
    counted = kills(unit, cases)
    assert set(counted.killed) == by_brute_force(unit, cases)
    names = [*counted.killed, *counted.equivalent, *counted.open]
    assert sorted(names) == sorted(mistake.name for mistake in catalogue(unit))
    assert counted.line == (
        f"kills {len(counted.killed)} of {len(names)} likely mistakes, "
        f"{len(counted.equivalent)} proved equivalent, {len(counted.open)} open"
    )


PROMOTED = ["deepseek-v3-e4m3-f32-scaled", "hopper-mma-e4m3-f32", "cdna3-mfma-e4m3fnuz-f32"]


@pytest.mark.parametrize("name", others_slow(PROMOTED, PROMOTED[2:]))
def test_what_is_killed_after_groups_is_what_a_design_shows(name: str) -> None:
    unit = load_unit(name)
    cases = random_cases(unit, 6, 3)
    assert set(kills(unit, cases).killed) == by_brute_force(unit, cases)


def _without_sums(hooks_of: counting.Passages, flaw: Flaw) -> Iterator[int]:
    """A counter that knows nothing of hooks."""
    return iter(()) if flaw.case is None and flaw.code is None else CHANGED(hooks_of, flaw)


def _at_most_one(passages: counting.Passages, flaw: Flaw) -> Iterator[int]:
    """A counter that gives up after the first case."""
    return islice(CHANGED(passages, flaw), 1)


CHANGED = counting.Passages.changed


@pytest.mark.parametrize("mutant", others_slow([_without_sums, _at_most_one], [_at_most_one]))
def test_a_counter_that_looks_at_too_little_is_caught(mutant: object, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = random_cases(UNITS[0], 24, 3)
    monkeypatch.setattr(counting.Passages, "changed", mutant)
    assert set(kills(UNITS[0], cases).killed) < by_brute_force(UNITS[0], cases)


@pytest.mark.parametrize("unit", others_slow(UNITS, []), ids=lambda unit: unit.name)
def test_no_case_kills_a_mistake_that_is_shown_to_be_equivalent(unit: Unit) -> None:
    equal = [mistake for mistake in catalogue(unit) if why_equal(unit, mistake)]
    assert equal
    cases = covering(unit, 1)
    passages = counting.Passages(unit, cases)
    for mistake in equal:
        assert counting.killer(passages, mistake.flaw) is None, mistake.name


def test_a_count_is_kept_for_the_same_unit_and_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWSIM_CACHE", str(tmp_path))
    counting.known.cache_clear()
    cases = random_cases(UNITS[1], 12, 3)
    first = counting.kept_kills(UNITS[1], cases)
    told = counting.known(UNITS[1])
    assert len(list((tmp_path / "kills").iterdir())) == 2  # what is known of the unit, and this count
    monkeypatch.setattr(counting, "killers", None)  # nothing is counted again
    counting.known.cache_clear()
    assert counting.kept_kills(UNITS[1], cases) == first and counting.known(UNITS[1]) == told
    with pytest.raises(TypeError):
        counting.kept_kills(UNITS[1], cases[:-1])


def test_what_cases_leave_alive_is_told_from_what_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWSIM_CACHE", str(tmp_path))
    unit, cases = UNITS[1], random_cases(UNITS[1], 12, 3)
    plain, counted, told = kills(unit, cases), counting.kept_kills(unit, cases), counting.known(unit)
    assert set(counted.killed) == set(plain.killed) and counted.left == (*counted.alive, *counted.open)
    assert set(plain.open) == set(counted.left) and counted.alive
    mistakes = {mistake.name: mistake for mistake in catalogue(unit)}
    for name in counted.alive:
        case = told.killers[name]
        assert case not in cases and code_of(unit, mistakes[name].flaw, case) != dot(Definition(unit), case).code
    assert f", {len(counted.alive)} that other cases kill, {len(counted.open)} open" in counted.line
    # With the cases that are known to kill them none is left, but for what goes on from one case to the next.
    whole = counting.kept_kills(unit, [*cases, *told.killers.values()])
    assert not whole.alive and set(whole.open) == set(told.open)


@pytest.mark.slow
def test_cases_that_are_looked_for_kill_what_can_be_killed() -> None:
    unit = UNITS[1]
    every = {mistake.name: mistake for mistake in catalogue(unit)}
    killable = kills(unit, covering(unit, 1)).killed
    found, tried = counting.search(unit, [every[name] for name in killable], most=512)
    assert 256 <= tried <= 512 and len(found) > 0.9 * len(killable)
    for name, case in found.items():
        if name != "sum not cleared":
            assert code_of(unit, every[name].flaw, case) != dot(Definition(unit), case).code, name
    # After some chunks without a kill no more are looked at.
    equal = [mistake for mistake in every.values() if why_equal(unit, mistake)]
    assert counting.search(unit, equal) == ({}, counting.PATIENCE * counting.CHUNK)


def test_a_set_of_a_unit_without_readings_has_a_case_that_kills_each_mistake() -> None:
    unit = UNITS[1]
    planned = plan(unit, "discrimination", 1)
    cases = [case for part in planned.parts for case in part.cases]
    assert planned.told() is None and len(cases) < 250
    assert set(kills(unit, cases).killed) >= set(counting.known(unit).killers) - {"sum not cleared"}


def test_of_many_products_only_the_first_cases_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWSIM_CACHE", str(tmp_path))
    monkeypatch.setattr(counting, "MOST_PRODUCTS", 5)
    cases = [Case(str(index), (0x38, 0x38), (0x38, 0x38)) for index in range(4)]
    assert counting.kept_kills(UNITS[1], cases).cases == 2


def test_the_sum_of_a_window_that_is_one_bit_too_narrow_is_not_called_equivalent() -> None:
    # 32 products below 225/64 and an addend below 2, with 13 bits below: less than 2^20 last places.
    unit = load_unit("hopper-wgmma-e4m3-f32")
    equal = {mistake.name for mistake in catalogue(unit) if why_equal(unit, mistake)}
    assert "sum modulo 2^21" in equal and "sum modulo 2^20" not in equal
    # Products of 6 fraction bits, below 4: at 15 places below nothing is left in 13.
    assert "shift distance at most 15" in equal and "shift distance at most 14" not in equal


def test_an_addend_that_an_addition_may_lose_is_not_called_equivalent() -> None:
    # Of f16's FMA a product ends 21 places below its first one, and an addend decides a tie from any distance.
    keys = {"method": "sequential", "product": "fused", **ROUNDED}
    unit = odd_unit("fma16", "f16", "f16", keys, "f16", 1)
    equal = {mistake.name for mistake in catalogue(unit) if why_equal(unit, mistake)}
    assert "shift distance at most 22" in equal and "shift distance at most 21" not in equal
    assert not any(name.startswith("the addend dropped") for name in equal)
    # A product a quarter of a last place below an addend never decides, but an eighth above it may.
    assert "the product dropped from 13 places below" in equal
    assert "the product dropped from 12 places below" not in equal


def test_a_sum_below_the_least_number_of_a_format_without_subnormals_may_vanish() -> None:
    sums = {"method": "sequential", "product": "rounded", "format": "dlfloat16", "rounding": "rz"}
    unit = odd_unit("vanishing", "e5m2", "dlfloat16", sums, "f16", 1)
    mistakes = {mistake.name: mistake for mistake in catalogue(unit)}
    # 2^-14 * 2^-16 - (1 + 2^-9) * 2^-30: a multiple of the format's last place, and below its least number.
    case = Case("below", (0x04,), (0x01,), 0x8201)
    for name, code in (("sign of an underflowed zero dropped", 0), ("underflowed zero always negative", 0x8000)):
        assert why_equal(unit, mistakes[name]) == ""
        assert code_of(unit, mistakes[name].flaw, case) == code
    assert dot(Definition(unit), case).code == 0x8000
    kept = mistakes["sign of an underflowed zero dropped"]
    assert why_equal(odd_unit("kept", "e5m2", "f16", sums | {"format": "f16"}, "f16", 1), kept) != ""


@pytest.mark.parametrize("code", [0x7FFFFFFF, 0x7FFFFC00])
def test_a_canonical_nan_with_bits_in_its_padding_has_no_other_sign(code: int) -> None:
    fmt = load_unit("hopper-wgmma-e4m3-f32").result.format
    assert is_padded(fmt, negated(fmt, code))
    assert negated(fmt, code) == (code if code == 0x7FFFFFFF else 0xFFFFFC00)
