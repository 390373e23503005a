"""When beats are accepted and results leave, in exact cycles."""

from __future__ import annotations

from dataclasses import replace

import pytest
from clock.pipeline_play import dot, play, registers, small

from hwsim.cases.case import Case, beats
from hwsim.model.clock import Beat, PipelinedUnit, Result
from hwsim.spec import load_unit, pipeline, steps

ONE, TWO, THREE = 0x2, 0x4, 0x5  # e2m1 codes of 1, 2 and 3
F16_ONE = 0x3C00
UNIT = small()


def beat(a: int = ONE, b: int = ONE, *, first: bool = True, last: bool = True, context: int = 0, c: int = 0) -> Beat:
    return Beat((a,), (b,), c, first=first, last=last, context=context)


def chain(length: int, context: int = 0) -> list[Beat]:
    """A sum of so many beats."""
    return [beat(first=index == 0, last=index == length - 1, context=context) for index in range(length)]


def model(latency: int, contexts: int | None = None) -> PipelinedUnit:
    return PipelinedUnit(UNIT, registers(UNIT, latency, contexts))


@pytest.mark.quick
@pytest.mark.parametrize("latency", range(1, len(steps(UNIT)) + 1))
def test_a_result_leaves_as_many_cycles_after_its_beat_as_there_are_cuts(latency: int) -> None:
    played = play(model(latency), [None, None, beat(TWO, THREE, c=F16_ONE)])
    # 2 * 3 + 1 = 7 in f16.
    assert played.cycles == [2]
    assert played.taken == [(2 + latency, Result(0x4700, 0))]


@pytest.mark.parametrize("name", ["hopper-wgmma-e4m3-f32", "deepseek-v3-e4m3-f32"])
def test_a_presets_latency(name: str) -> None:
    unit = load_unit(name)
    lanes = unit.instruction.lanes
    one = Beat((0x38,) * lanes, (0x38,) * lanes)
    # The usual cuts: after multiply, align, sum and round, and after promote where there is one; 32 is 0x42000000.
    latency = 5 if unit.promotion else 4
    assert play(PipelinedUnit(unit, pipeline(unit)), [one]).taken == [(latency, Result(0x42000000, 0))]


@pytest.mark.parametrize("latency", [1, 2, 3, 5, 9])
def test_a_sums_beats_are_accepted_a_latency_apart(latency: int) -> None:
    # A beat may enter in the cycle in which the one before it stands in the last register.
    played = play(model(latency), chain(4))
    assert played.cycles == [0, latency, 2 * latency, 3 * latency]
    assert [cycle for cycle, _ in played.taken] == [4 * latency]
    assert played.results == [Result(0x4400, 0)]  # 4


@pytest.mark.parametrize("latency", [1, 2, 4, 7])
def test_first_never_waits_for_its_context(latency: int) -> None:
    # Every beat opens a sum anew in a context that is busy: a given-up sum, and results one after another.
    stream = [beat(last=False), *[beat(TWO, last=False)] * 3, beat(THREE), beat(ONE)]
    played = play(model(latency, 1), stream)
    assert played.cycles == list(range(6))
    assert played.taken == [(4 + latency, Result(0x4200, 0)), (5 + latency, Result(0x3C00, 0))]


@pytest.mark.parametrize("latency", [1, 2, 4, 5, 8])
def test_as_many_contexts_as_cuts_accept_a_beat_a_cycle(latency: int) -> None:
    streams = [chain(6, context) for context in range(latency)]
    turns = [streams[context][index] for index in range(6) for context in range(latency)]
    built = model(latency)
    assert built.pipeline.contexts == latency
    played = play(built, turns, cycles=8 * latency + 8)
    assert played.cycles == list(range(6 * latency))
    assert played.taken == [(6 * latency + context, Result(0x4600, context)) for context in range(latency)]  # 6


@pytest.mark.parametrize(
    ("latency", "contexts", "cycles"),
    [
        # A round of all contexts takes a latency where there are fewer contexts than cuts, else a cycle a context.
        (4, 1, [0, 4, 8]),
        (4, 2, [0, 1, 4, 5, 8, 9]),
        (4, 3, [0, 1, 2, 4, 5, 6, 8, 9, 10]),
        (3, 2, [0, 1, 3, 4, 6, 7]),
        (2, 3, list(range(9))),
        (1, 1, [0, 1, 2]),
    ],
)
def test_contexts_taking_turns(latency: int, contexts: int, cycles: list[int]) -> None:
    streams = [chain(3, context) for context in range(contexts)]
    turns = [streams[context][index] for index in range(3) for context in range(contexts)]
    assert play(model(latency, contexts), turns).cycles == cycles


def test_a_beat_waits_for_its_own_context_only() -> None:
    first_0, second_0 = chain(2, 0)
    first_1, second_1 = chain(2, 1)
    # Context 0 is busy until cycle 4; context 1 opened in cycle 1 and is busy until cycle 5.
    played = play(model(4, 2), [first_0, first_1, None, second_1, second_0])
    assert played.cycles == [0, 1, 5, 6]
    played = play(model(4, 2), [first_0, first_1, None, second_0, second_1])
    assert played.cycles == [0, 1, 4, 5]


@pytest.mark.parametrize("at", range(1, 4))
def test_a_bubble_moves_what_follows_by_its_length(at: int) -> None:
    stream: list[Beat | None] = [beat()] * 4
    stream[at:at] = [None, None]
    played = play(model(3), stream)
    assert played.cycles == [cycle + 2 * (cycle >= at) for cycle in range(4)]
    assert [cycle for cycle, _ in played.taken] == [cycle + 3 for cycle in played.cycles]


def test_nothing_is_accepted_while_a_result_is_not_taken() -> None:
    built = model(2)
    offered = beat(first=False)
    assert built.tick(beat(TWO, TWO), False)
    assert built.tick(beat(THREE, last=False), False)
    for _ in range(5):
        # 2 * 2 = 4, held; the pipeline stands still, so the open sum gets no nearer to being written back.
        assert (built.valid, built.result) == (True, Result(0x4400, 0))
        assert not built.ready(True, 0, False) and not built.ready(False, 0, False)
        assert not built.tick(offered, False)
    assert not built.ready(False, 0, True)  # the open sum is in the first register
    assert built.ready(True, 0, True)
    assert not built.tick(offered, True)
    assert built.ready(False, 0, False)  # in the last: written back
    assert built.tick(offered, False)
    assert not built.valid
    built.tick(None, False)
    assert built.result == Result(0x4400, 0)  # 3 + 1


def test_an_empty_output_does_not_hold_the_pipeline() -> None:
    built = model(3)
    for _ in range(3):
        assert built.tick(beat(last=False, first=True), False)
    assert not built.valid


def test_results_leave_in_the_order_of_their_last() -> None:
    long, short = chain(3, 0), chain(1, 1)
    played = play(model(3, 2), [long[0], short[0], long[1], long[2], short[0]])
    # The short sum closes first, though it opened second.
    assert [result.context for result in played.results] == [1, 0, 1]
    assert [cycle for cycle, _ in played.taken] == [4, 9, 10]


def test_back_pressure_with_every_register_full_loses_nothing() -> None:
    cases = [Case(str(a), (a,), (ONE,)) for a in range(8)]
    stream = [next(beats(UNIT, case)) for case in cases]
    for held in range(1, 12):
        played = play(model(4), stream, takes=[False] * (4 + held))
        assert [result.code for result in played.results] == [dot(UNIT, case) for case in cases]
        # Four enter; from cycle 4 on a result waits.
        assert played.cycles[:4] == [0, 1, 2, 3]
        assert played.cycles[4] == played.taken[0][0] == 4 + held


@pytest.mark.parametrize("filled", range(1, 5))
def test_reset_empties_the_unit(filled: int) -> None:
    built = model(4, 4)
    for context in range(filled):
        built.tick(beat(THREE, last=context % 2 == 0, context=context), False)
    built.reset()
    assert not built.valid
    assert all(built.ready(False, context, False) for context in range(4))
    # No sum is open, nothing is busy, and only what is new comes out.
    played = play(built, [beat(TWO, context=3), *chain(2, 0)])
    assert played.taken == [(4, Result(0x4000, 3)), (9, Result(0x4000, 0))]
    assert not built.misuse


def test_reset_closes_sums_and_clears_misuse() -> None:
    built = model(2)
    built.tick(beat(last=False), True)
    built.reset()
    built.tick(beat(first=False), True)
    assert built.misuse
    built.reset()
    assert not built.misuse


@pytest.mark.parametrize("latency", [1, 3])
def test_an_abandoned_sum_leaves_no_trace(latency: int) -> None:
    # 3 * 3 is given up, in flight, for a sum that starts at c = 1.
    stream = [beat(THREE, THREE, last=False), beat(c=F16_ONE, last=False), beat(first=False)]
    played = play(model(latency), stream)
    assert played.cycles == [0, 1, 1 + latency]
    assert played.results == [Result(0x4200, 0)]  # 1 + 1 + 1


@pytest.mark.quick
def test_misuse_is_flagged_and_stays() -> None:
    for stray in (beat(first=False), beat(context=2), beat(first=False, context=1)):
        built = model(2, 2)
        built.tick(beat(last=False), True)
        built.tick(None, True)
        built.tick(beat(first=False), True)  # closes context 0
        assert not built.misuse
        built.tick(None, True)
        assert built.tick(stray, True)
        assert built.misuse
        for _ in range(4):
            built.tick(None, True)
        assert built.misuse


def test_a_beat_that_is_not_accepted_is_no_misuse() -> None:
    built = model(2)
    built.tick(beat(), True)
    built.tick(None, False)
    assert not built.tick(beat(first=False), False)
    assert not built.misuse


def test_only_the_first_beats_addend_counts() -> None:
    stream = [replace(one, c=0x7BFF if index else F16_ONE) for index, one in enumerate(chain(3))]
    assert play(model(2), stream).results == [Result(0x4400, 0)]  # 1 + 3
