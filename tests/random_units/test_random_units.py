"""Random units: drawn over the whole language; implementations agree, and what they once differed in; faults found."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Mux
from built_presets import others_slow
from odd_units import unit
from random_units.random_unit_files import FAST, FOUND, SMALL
from uncounted import uncounted  # noqa: F401  a fixture

from hwsim.base.errors import InputError
from hwsim.cases.case import batches, beats, dot
from hwsim.cli.fuzz import handed
from hwsim.compute.c import supports as in_c
from hwsim.compute.kernels import kernel_of
from hwsim.compute.kernels import supports as in_kernels
from hwsim.cosim.bench import port_map, words_of
from hwsim.cosim.design import interleave
from hwsim.cosim.diagnose import first_difference
from hwsim.cosim.fuzz import hardware as clanguage
from hwsim.cosim.fuzz import run as campaign
from hwsim.cosim.fuzz import trial
from hwsim.cosim.fuzz.draw import counted_settings, drawn_unit, modes_of, settings
from hwsim.cosim.fuzz.findings import UnitShrinker, failing_again, load_finding, write_finding
from hwsim.cosim.fuzz.hardware import ALL_KINDS, TiledCases, payload_words, tiled_cases
from hwsim.cosim.fuzz.run import FuzzPlan
from hwsim.cosim.fuzz.trial import SIDES, Depth, Side, SideMismatch, Trial, codes_of_kernel
from hwsim.model import Definition
from hwsim.model.definition import supports
from hwsim.rtl import exact
from hwsim.rtl import supports as in_rtl
from hwsim.spec import Unit, pipeline


@pytest.mark.quick(cases=1)
def test_a_unit_depends_on_seed_and_number_alone() -> None:
    assert drawn_unit(5, 3) == drawn_unit(5, 3)
    assert len({str(drawn_unit(seed, number).unit) for seed in (5, 6) for number in (3, 4)}) == 4


def test_every_word_of_the_language_is_drawn() -> None:
    drawn = [drawn_unit(6, number) for number in range(600)]
    assert all(supports(one.unit) for one in drawn)
    counts = counted_settings(map(settings, drawn))
    missed = {(path, value) for path, values in counts.items() for value, count in values.items() if not count}
    assert not missed
    assert counts["sum.chains"].total() > counts["sum.chains"]["none"] > 0
    assert {"own float", "own fixed"} <= counts["operands.a"].keys()
    assert counts["sum.method"].total() == 600
    assert "modulo" in counts["instruction.order"]
    reasons = sum((one.refused for one in drawn), Counter[str]())
    assert any("without a fraction" in reason for reason in reasons), "no specification was refused by all"


def test_some_units_are_outsize_and_some_pipelines_odd() -> None:
    drawn = [drawn_unit(9, number) for number in range(300)]
    units, built = [one.unit for one in drawn], [one.pipeline for one in drawn]
    assert max(unit.instruction.lanes for unit in units) >= 64
    assert max(unit.instruction.k // unit.instruction.lanes for unit in units) >= 8
    assert max(getattr(unit.sum, "fraction_bits", 0) for unit in units) > 120
    assert max(abs(unit.sum.product_limit or 0) for unit in units) > 100
    assert any("f64" in unit.model_dump_json() for unit in units)
    assert any(one.register_ready for one in built) and max(one.contexts for one in built) > 8
    assert sum(modes_of(one) is not None for one in drawn[:20]) > 10


def test_small_units_are_small() -> None:
    drawn = [drawn_unit(1, number, SMALL).unit for number in range(50)]
    assert max(one.instruction.lanes for one in drawn) == 2
    assert max(one.operands.a.bits for one in drawn) <= 8


@pytest.mark.parametrize("number", range(6))
def test_every_tile_has_cases_of_every_kind_and_of_the_same_lengths(number: int) -> None:
    unit = drawn_unit(2, number).unit
    cases = tiled_cases(unit, 60, 4)
    tiles = [cases.tile(tile) for tile in range(cases.tiles)]
    assert sum(map(len, tiles)) >= 60
    for tile in tiles:
        assert {case.id.rpartition("-")[2] for case in tile} == set(ALL_KINDS)
        assert [len(case.a) for case in tile] == [len(case.a) for case in tiles[0]]
    assert tiles[0] != tiles[1]
    assert tiled_cases(unit, 60, 4).tile(1) == tiles[1]


@pytest.mark.parametrize("name", ["long-73", "subgroups-e8m0", "pairs-scaled"])
def test_payloads_of_all_tiles_are_those_of_their_beats(name: str) -> None:
    made, ports = unit(name), port_map(unit(name), pipeline(unit(name)))
    cases = tiled_cases(made, 60, 3)
    order = list(interleave(made, cases.tile(0), 1, None))
    expected = []
    for number in range(cases.tiles):
        brought = [tuple(beats(made, case)) for case in cases.tile(number)]
        expected += [ports.pack(replace(brought[item.case][item.index], context=item.beat.context)) for item in order]
    words = payload_words(made, ports, order, cases)
    assert words.tolist() == words_of(expected, ports.input.words).tolist()
    if name == "long-73":
        assert max(int(code) for batch in cases.slots for code in batch.c) >> 64


SOAK_UNITS, CHUNK = 100, 25


def wrong(number: int, sides: frozenset[Side] = FAST, cases: int = 60, seed: int = 1) -> list[SideMismatch]:
    return Trial(drawn_unit(seed, number, SMALL), Depth(cases, sides)).run().found


@pytest.mark.parametrize("number", others_slow(range(0, 20, 5), [5, 15]))
def test_small_units_agree(number: int) -> None:
    assert wrong(number) == []


@pytest.mark.simulator
@pytest.mark.parametrize("number", others_slow([0, 3], [0]))
def test_small_units_agree_in_the_rtl(verilator: None, number: int) -> None:
    assert wrong(number, frozenset[Side]({"RTL"}), 1000) == []


@pytest.mark.slow
@pytest.mark.simulator
@pytest.mark.parametrize("first", range(0, SOAK_UNITS, CHUNK))
def test_many_units_agree(verilator: None, icarus: None, first: int) -> None:
    plan = FuzzPlan(SOAK_UNITS, 1000, 2026, handed=handed())
    done = [campaign.fuzzed(plan, number) for number in range(first, first + CHUNK)]
    assert [(unit.number, unit.found) for unit in done if unit.found] == []


@pytest.mark.parametrize("path", others_slow(FOUND, FOUND[5::5]), ids=lambda path: path.stem)
def test_what_was_found_stays_right(path: Path) -> None:
    finding = load_finding(path)
    unit, case = finding.drawn.unit, finding.case
    cases = None if case is None else TiledCases(list(batches(unit, [case])))
    assert Trial(finding.drawn, Depth(30, FAST), cases).run().found == []
    given = cases or tiled_cases(unit, 1, finding.drawn.seed)
    for each in given.tile(0)[:2] if in_rtl(unit) else ():
        assert first_difference(unit, each) is None


def test_a_wrong_kernel_is_found_and_made_simple(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    right = trial.multiply_pairs
    monkeypatch.setattr(trial, "multiply_pairs", lambda *given: right(*given) ^ 1)
    drawn, depth = drawn_unit(1, 5, SMALL), Depth(30, frozenset({"kernels"}))
    (found,) = Trial(drawn, depth).run().found
    shrinker = UnitShrinker(failing_again("kernels", 30), seconds=2.0)
    simpler = shrinker.shrink(drawn, found)
    assert (simpler.found.side, simpler.drawn.pipeline.contexts) == ("kernels", 1)
    assert len(str(simpler.drawn.unit)) < len(str(drawn.unit))
    write_finding(tmp_path / "f.yaml", simpler.drawn, simpler.found, 30)
    read = load_finding(tmp_path / "f.yaml")
    assert (read.drawn.unit, read.drawn.pipeline) == (simpler.drawn.unit, simpler.drawn.pipeline)
    assert Trial(read.drawn, depth).run().found != []
    monkeypatch.undo()
    assert Trial(read.drawn, depth).run().found == []


def test_a_wrong_strip_of_a_matrix_product_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels have code for many columns that their dot products one by one never run."""
    right = trial.multiply

    def wrong(kernel: Any, operands: Any, out: Any, *given: Any) -> None:
        right(kernel, operands, out, *given)
        out[:, 64:] ^= 1

    monkeypatch.setattr(trial, "multiply", wrong)
    # A kernel of the unit's own takes long to compile, and has the same strips.
    monkeypatch.setattr(Trial, "kernel", property(lambda self: kernel_of(self.unit).general))
    drawn = drawn_unit(1, 5, SMALL)
    assert Trial(drawn, Depth(400, frozenset({"gemm"}))).run().found == []
    (found,) = Trial(drawn, Depth(4000, frozenset({"own kernel"}))).run().found
    assert found.case is not None and found.case.id.startswith("gemm/")


def test_wrong_c_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = clanguage.dots_source
    monkeypatch.setattr(clanguage, "dots_source", lambda plan: right(plan).replace(", k);", ", k) ^ (i == 1);"))
    (found,) = wrong(0, frozenset({"C"}))
    assert found.side == "C"
    assert found.case is not None


def test_windows_of_scaled_sums_hold_the_largest_scales_or_are_refused() -> None:
    # Scales below 2^11 and 2^9, products below 2^18: the sum's leading one is 38 places above its scales' points.
    finding = load_finding(next(path for path in FOUND if path.stem == "wide-fixed-scales"))
    assert finding.case is not None
    keys = finding.drawn.unit.model_dump(mode="json", exclude_unset=True)
    largest = replace(finding.case, scale_a=(0x7FF,), scale_b=(0x1FF,))
    held = []
    for bits in range(16, 40):
        unit = Unit.model_validate({**keys, "sum": {**keys["sum"], "fraction_bits": bits}})
        held.append(bool(in_kernels(unit)))
        if held[-1]:
            (got,) = codes_of_kernel(unit, kernel_of(unit), next(iter(batches(unit, [largest]))))
            assert got == dot(Definition(unit), largest).code, bits
    assert held[0] and not held[-1]


def test_a_kernel_that_is_wrong_where_the_model_is_not_asked_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    right = trial.multiply_pairs

    def wrong_later(*given: Any) -> Any:
        codes = right(*given)
        codes[1:] ^= 1
        return codes

    monkeypatch.setattr(trial, "multiply_pairs", wrong_later)
    (found,) = wrong(4, frozenset({"C"}))
    assert found.side == "C" and found.said.endswith("so that kernels are wrong")


@pytest.mark.parametrize("number", range(0, 40, 7))
def test_payloads_of_all_tiles_are_those_of_their_cases(number: int) -> None:
    drawn = drawn_unit(5, number)
    one = Trial(drawn, Depth(60))
    recorded, ports, payloads = one.recorded, one.recorded.design.ports, []
    for tile in range(one.cases.tiles):
        brought = [tuple(beats(drawn.unit, case)) for case in one.cases.tile(tile)]
        payloads += [
            ports.pack(replace(brought[item.case][item.index], context=item.beat.context)) for item in recorded.order
        ]
    assert one.cases.tiles > 2
    made = payload_words(drawn.unit, ports, recorded.order, one.cases)
    assert (made == words_of(payloads, ports.input.words)).all()


def test_c_says_what_is_expected_of_many_cases_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of a unit that kernels lack the model checks a part of what C returns, and a mistake in that part is found.
    drawn, depth = drawn_unit(7, 4), Depth(3000, frozenset[Side]({"C"}))
    few, many = (Trial(drawn, replace(depth, cases=cases)).run() for cases in (500, 3000))
    assert few.cases["C"] == 500 and many.cases["C"] == 40 * 25 and not many.found + few.found
    assert "kernels" not in many.cases and not in_kernels(drawn.unit)
    right = clanguage.dots_source
    monkeypatch.setattr(clanguage, "dots_source", lambda plan: right(plan).replace(", k);", ", k) ^ (i == 39);"))
    (found,) = Trial(drawn, depth).run().found
    assert (found.side, found.said) == ("C", "another result")


def test_of_a_unit_that_the_model_alone_has_it_is_asked_for_few_cases() -> None:
    drawn = drawn_unit(2026, 43)
    assert not in_kernels(drawn.unit) and not in_c(drawn.unit)
    assert [Trial(drawn, Depth(cases)).cases.tiles for cases in (500, 3000, 50_000)] == [20, 40, 50]
    both = drawn_unit(7, 4)  # C has it
    depths = Depth(3000), Depth(3000, frozenset[Side]({"RTL"}))
    assert [Trial(both, depth).cases.tiles for depth in depths] == [120, 40]


def test_units_are_numbered_from_the_first(tmp_path: Path) -> None:
    sides = frozenset[Side]({"kernels", "gemm"})
    every: dict[Side, int] = {"gemm": 2, "kernels": 0}
    plan = FuzzPlan(2, 30, 3, None, sides, SMALL, every=every, first=5)
    told: list[int] = []
    done = campaign.run(plan, lambda unit: told.append(unit.number))
    assert told == [5, 6] and [set(unit.cases) | set(unit.lacks) for unit in done] == [set(), {"gemm"}]


def test_a_nan_that_is_read_as_zero_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = load_finding(next(path for path in FOUND if path.stem == "nan-in-the-place-of-minus-zero"))
    assert finding.case is not None
    monkeypatch.setattr(exact, "addend_code", lambda unit, fmt, code: Mux(code[:-1].any(), code, 0))
    assert first_difference(finding.drawn.unit, finding.case) is not None


def test_what_raises_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(*_: object) -> None:
        raise IndexError("slice")

    monkeypatch.setattr(trial.Trial, "_of_c", property(raises))
    result = Trial(drawn_unit(1, 0, SMALL), Depth(60, FAST)).run()
    (found,) = result.found
    assert (found.side, found.raised) == ("C", True)
    assert found.said.startswith("IndexError: slice")
    assert "C" not in result.cases and result.cases["gemm"] > 0


def commanded(side: Side, number: int = 0) -> trial.TrialResult:
    return Trial(drawn_unit(1, number, SMALL), Depth(30, frozenset[Side]({side}), handed=handed())).run()


@pytest.mark.slow
def test_what_a_command_gets_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "TRIED", 16)
    assert not commanded("vectors").found
    # What a longer set has is made by the run above.
    for name in ("discrimination", "search", "plan"):
        monkeypatch.setattr(trial, name, lambda *_, **__: None)
    monkeypatch.setattr("hwsim.cosim.vectors.check.same", lambda *_: True)
    (found,) = commanded("vectors").found
    assert found.said.startswith("with the last bit of result ")
    right = trial.export_c
    assert not commanded("export-c").found

    def wrong(*given: Any) -> dict[str, str]:
        return {name: text.replace("return 0;", "return 3;") for name, text in right(*given).items()}

    monkeypatch.setattr(trial, "export_c", wrong)
    (found,) = commanded("export-c").found
    assert found.said.startswith("example, of example.c, ended with 3")


def test_what_a_command_refuses_by_name_is_no_finding_and_what_it_raises_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for error, refused in ((InputError("units.0: wrong"), {"study": "units.0: wrong"}), (KeyError("units"), {})):

        def raises(*_: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr("hwsim.study.plan.load_study", raises)
        result = commanded("study")
        assert result.refused == refused and [one.said.partition(" (")[0] for one in result.found] == (
            [] if refused else ["KeyError: 'units'"]
        )


@pytest.mark.slow
@pytest.mark.simulator
@pytest.mark.parametrize("first", range(0, 10, 5))
def test_every_command_takes_many_units_or_refuses_them_by_name(verilator: None, first: int) -> None:
    sides = frozenset[Side]({*trial.COMMANDS, *handed()})
    plan = FuzzPlan(5, 100, 2026, None, sides, every=dict.fromkeys(sides, 1), first=first, handed=handed())
    assert [(unit.number, unit.found) for unit in campaign.run(plan, lambda _: None) if unit.found] == []


def test_a_run_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    def plan(units: int, seed: int = 3) -> FuzzPlan:
        return FuzzPlan(units, 30, seed, tmp_path, frozenset({"C"}), SMALL)

    told: list[int] = []
    first = campaign.run(plan(2), lambda unit: told.append(unit.number))
    progress = tmp_path / campaign.PROGRESS
    progress.write_text(progress.read_text() + '{"number": 2, "ref')
    more = campaign.run(plan(4), lambda unit: told.append(unit.number))
    assert told == [0, 1, 2, 3]
    assert [unit.cases for unit in more[:2]] == [unit.cases for unit in first]
    assert [unit.number for unit in campaign.run(plan(4), lambda _: pytest.fail("all is done"))] == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="is of another seed"):
        campaign.run(plan(4, seed=4), lambda _: None)
    progress.write_text("[1]\n[2]\n")
    with pytest.raises(ValueError, match="is not the progress of hwsim fuzz"):
        campaign.run(plan(4), lambda _: None)
    assert set(SIDES) >= {"C"}
