"""What the cycle-level model returns: the definition's bits, whatever the pipeline and the traffic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from built_presets import BUILDABLE, others_slow
from clock.pipeline_play import check, definition, dot, play, registers, small
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_units import unit

from hwsim.cases.case import Case, beats, term_scales
from hwsim.cases.random_cases import random_cases
from hwsim.model import clock as pipelined
from hwsim.model.clock import Beat, PipelinedUnit, Result
from hwsim.model.definition import Definition
from hwsim.model.late import Promoter
from hwsim.model.methods import ResultCode
from hwsim.spec import Unit, load_unit, pipeline, steps

UNITS = {
    "plain": small(2),
    "promoted": small(2, interval=6),
    "promoted at every beat": small(1, interval=1),
    "two scales of a, one of b": small(4, scaled=True),
}
CHAIN = {"product": "rounded", "format": "f16", "rounding": "rne"}
COMBINE = {"fraction_bits": 5, "lost": "floor"}
LATE = {"instruction": {"k": 4, "start": "zero"}, "late": {"operation": "add", "format": "f16", "rounding": "rne"}}
IN_WINDOW = {"operation": "window", "sum_bits": 9, "addend_bits": 7, "lost": "floor", "drop_below": 8}
# Units in which something other than a result goes from beat to beat.
METHODS = {
    "sequential": small(2, sum={"method": "sequential", **CHAIN}),
    "pairwise": small(3, sum={"method": "pairwise", **CHAIN}),
    "pairwise, promoted": small(2, interval=6, sum={"method": "pairwise", **CHAIN}),
    "exact": small(2, sum={"method": "exact"}),
    "exact, rounded after each group": small(2, sum={"method": "exact", "rounded": "group"}),
    "exact, promoted": small(2, interval=4, sum={"method": "exact"}),
    "aligned, late": small(2, sum={"method": "aligned", "fraction_bits": 6, "addend": "late"}, **LATE),
    "exact, late": small(2, sum={"method": "exact", "addend": "late"}, **LATE),
    "sequential, late, in another order": small(
        2,
        sum={"method": "sequential", **CHAIN, "addend": "late"},
        late=LATE["late"],
        instruction={**LATE["instruction"], "order": {"modulo": 4, "groups": [[2, 1], [3, 0]]}},
    ),
    "even-odd, late in a window": small(
        4,
        sum={"method": "even-odd", "fraction_bits": 6, "combine": COMBINE, "addend": "late"},
        instruction={"start": "zero"},
        late=IN_WINDOW,
    ),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize(("latency", "contexts"), [(1, 1), (1, 3), (2, 2), (3, 1), (4, 4), (5, 8)])
def test_every_pipeline_returns_the_definitions_bits(name: str, latency: int, contexts: int) -> None:
    unit = UNITS[name]
    check(PipelinedUnit(unit, registers(unit, latency, contexts)), seed=latency)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_returns_the_definitions_bits(name: str) -> None:
    unit = METHODS[name]
    for latency, contexts in ((1, 1), (4, 3)):
        check(PipelinedUnit(unit, registers(unit, latency, contexts)), seed=latency, count=16)


@settings(max_examples=6, deadline=None)
@given(st.data())
def test_any_pipeline_under_any_traffic(data: st.DataObject) -> None:
    unit = data.draw(st.sampled_from([*UNITS.values(), *METHODS.values()]))
    cuts = tuple(data.draw(st.sets(st.sampled_from(steps(unit)))))
    built = pipeline(unit, cuts, data.draw(st.integers(1, 9)))
    offer, take = data.draw(st.sampled_from([0.1, 0.5, 1.0])), data.draw(st.sampled_from([0.2, 0.6, 1.0]))
    check(PipelinedUnit(unit, built), data.draw(st.integers(0, 2**32)), count=8, offer=offer, take=take)


# A preset of each method, place of the scales, and way of the addend.
OF_EACH_METHOD = [
    "blackwell-mma-e4m3-f32",
    "blackwell-mxf4nvf4-e2m1-f32",
    "cdna2-mfma-f16-f32",
    "cdna3-mfma-e4m3fnuz-f32",
    "cdna3-mfma-f16-f32",
    "deepseek-v3-e4m3-f32-scaled",
    "exact-e4m3-f32",
    "hfp8-forward-e4m3-dlfloat16",
    "int8-i32",
    "intel-amx-e4m3-f32",
    "sequential-e4m3-f16",
]


@pytest.mark.parametrize("name", others_slow([*BUILDABLE, "mxint8-f32"], [*OF_EACH_METHOD, "mxint8-f32"]))
def test_presets(name: str) -> None:
    unit = load_unit(name)
    cases = random_cases(unit, 24, seed=5)
    stream = [beat for case in cases for beat in beats(unit, case)]
    built = pipeline(unit, contexts=1)
    played = play(PipelinedUnit(unit, built), stream, cycles=len(stream) * built.latency + 8)
    assert played.results == [Result(dot(unit, case), 0) for case in cases]


# Lanes that share a scale of a and of b in every beat.
ORDERED = {
    "ordered-blocks": (2, 1),
    "exact-mx-ordered": (2, 1),
    "ordered-runs": (2, 2),
    "ordered-spans": (1, 1),
}


@pytest.mark.parametrize("name", ORDERED)
def test_a_beat_in_an_order_of_its_own_carries_the_scales_of_its_lanes(name: str) -> None:
    odd = unit(name)
    model, lanes = PipelinedUnit(odd, registers(odd, 2)), odd.instruction.lanes
    shared = odd.lanes_of_scale("a"), odd.lanes_of_scale("b")
    assert shared == ORDERED[name]
    for case in random_cases(odd, 24, seed=5):
        scales = term_scales(odd, case)
        for group, beat in enumerate(beats(odd, case)):
            assert (len(beat.scale_a), len(beat.scale_b)) == (lanes // shared[0], lanes // shared[1])
            of_lanes = [tuple(side[at] for at in odd.instruction.indices(group)) for side in scales]
            assert [*map(tuple, model.lane_scales(beat))] == of_lanes


@pytest.mark.parametrize("name", ORDERED)
def test_a_scaled_unit_in_an_order_of_its_own_returns_the_definitions_bits(name: str) -> None:
    odd = unit(name)
    cases = random_cases(odd, 24, seed=5)
    stream = [beat for case in cases for beat in beats(odd, case)]
    played = play(PipelinedUnit(odd, registers(odd, 2, 1)), stream, cycles=2 * len(stream) + 8)
    assert played.results == [Result(dot(odd, case), 0) for case in cases]
    # Scales that a beat took in the order of K would be others.
    assert any(term_scales(odd, case)[0][: odd.instruction.lanes] != tuple(
        term_scales(odd, case)[0][at] for at in odd.instruction.indices(0)
    ) for case in cases)  # fmt: skip


PROMOTED = small(2, interval=6)  # three beats
INTERVAL = 3


@pytest.mark.parametrize("count", [1, INTERVAL - 1, INTERVAL, INTERVAL + 1, 2 * INTERVAL, 2 * INTERVAL + 1])
@pytest.mark.parametrize("latency", [1, 6])
def test_promotion_around_the_interval(count: int, latency: int) -> None:
    rng = np.random.default_rng(count)
    model = PipelinedUnit(PROMOTED, registers(PROMOTED, latency, 2))
    cases = []
    for number in range(8):
        a, b = rng.integers(0, 16, (2, 2 * count)).tolist()
        cases.append(Case(str(number), tuple(a), tuple(b), int(rng.integers(0x3000, 0x5000))))
    stream = [beat for number, case in enumerate(cases) for beat in beats(PROMOTED, case, number % 2)]
    played = play(model, stream, cycles=len(stream) * latency + 8)
    assert played.results == [Result(dot(PROMOTED, case), number % 2) for number, case in enumerate(cases)]
    explained = definition(PROMOTED).dot(cases[0].a, cases[0].b, cases[0].c)
    assert sorted(explained.promotions) == sorted({*range(INTERVAL - 1, count, INTERVAL), count - 1})


def test_promotion_by_hand() -> None:
    # c = 2048: f16's ulp is 2 there. Three beats of 1 are promoted as 3 (a tie, to even: 2052), a fourth as 1
    # (a tie, to even: 2052). Without promotion each 1 would be truncated in the window: 2048.
    ones = (0x2, 0x0)
    stream = [Beat(ones, ones, 0x6800, first=index == 0, last=index == 3) for index in range(4)]
    promoted = play(PipelinedUnit(PROMOTED, registers(PROMOTED, 2)), stream).results
    assert [np.uint16(result.code).view(np.float16) for result in promoted] == [2052]
    plain = small(2)
    assert [result.code for result in play(PipelinedUnit(plain, registers(plain, 2)), stream).results] == [0x6800]


def test_a_given_up_sum_does_not_promote_into_the_next() -> None:
    ones = (0x2, 0x2)
    given_up = [Beat(ones, ones, 0x5000, first=index == 0, last=False) for index in range(2)]
    sums = [Beat(ones, ones, 0, first=index == 0, last=index == 3) for index in range(4)]
    played = play(PipelinedUnit(PROMOTED, registers(PROMOTED, 2)), [*given_up, *sums])
    assert [np.uint16(result.code).view(np.float16) for result in played.results] == [8]


@pytest.mark.parametrize(("unit", "count"), [(load_unit("mxfp8-e4m3-f32"), 1), (small(4, scaled=True), 2)])
def test_a_scale_serves_the_lanes_of_its_block(unit: Unit, count: int) -> None:
    lanes = unit.instruction.lanes
    model = PipelinedUnit(unit, pipeline(unit))
    beat = Beat((0,) * lanes, (0,) * lanes, scale_a=tuple(range(100, 100 + count)), scale_b=(127,))
    scale_a, scale_b = model.lane_scales(beat)
    assert list(scale_a) == [100 + lane * count // lanes for lane in range(lanes)]
    assert list(scale_b) == [127] * lanes


def wrong_ready(self: PipelinedUnit, first: bool, context: int, output_ready: bool) -> bool:
    return output_ready or not self.valid


def wrong_first(self: PipelinedUnit, first: bool, context: int, output_ready: bool) -> bool:
    busy = any(one is not None and one.result is None and one.context == context for one in self._registers[:-1])
    return (output_ready or not self.valid) and not busy


def one_cycle_more(self: PipelinedUnit, first: bool, context: int, output_ready: bool) -> bool:
    busy = any(one is not None and one.result is None and one.context == context for one in self._registers)
    return (output_ready or not self.valid) and (first or not busy)


def any_context(self: PipelinedUnit, first: bool, context: int, output_ready: bool) -> bool:
    busy = any(one is not None and one.result is None for one in self._registers[:-1])
    return (output_ready or not self.valid) and (first or not busy)


def eager(self: PipelinedUnit, first: bool, context: int, output_ready: bool) -> bool:
    return original_ready(self, first, context, True)


original_ready, original_step = PipelinedUnit.ready, PipelinedUnit._step


def overwritten(self: PipelinedUnit, beat: Beat | None, output_ready: bool) -> bool:
    accepted = original_tick(self, beat, True)
    return accepted and original_ready(self, beat is not None and beat.first, 0, output_ready)


original_tick = PipelinedUnit.tick


def every_addend(self: PipelinedUnit, beat: Beat, context: Any) -> None:
    original_step(self, replace(beat, first=True), context)


def one_context(self: PipelinedUnit, beat: Beat, context: Any) -> None:
    original_step(self, beat, self._contexts[0])
    context.carried = self._contexts[0].carried


def always_zero(self: PipelinedUnit, beat: Beat, context: Any) -> None:
    context.carried = ResultCode(0)


def rounded_between(self: PipelinedUnit, beat: Beat, context: Any) -> None:
    original_step(self, beat, context)
    context.carried = ResultCode(self.definition.close(context.carried))


def never_last(self: PipelinedUnit, beat: Beat, context: Any) -> None:
    original_step(self, replace(beat, last=False), context)


MUTANTS = {
    "a beat does not wait for its context": ("plain", "ready", wrong_ready),
    "a first beat waits for its context": ("plain", "ready", wrong_first),
    "a beat waits one cycle more": ("plain", "ready", one_cycle_more),
    "a beat waits for every context": ("plain", "ready", any_context),
    "a beat is accepted while a result waits": ("plain", "ready", eager),
    "a result that is not taken is lost": ("plain", "tick", overwritten),
    "every beat brings an addend": ("plain", "_step", every_addend),
    "contexts share a partial sum": ("plain", "_step", one_context),
    "contexts share a promotion register": ("promoted", "_step", one_context),
    "contexts share an exact sum": ("exact", "_step", one_context),
    "contexts share a late addend": ("aligned, late", "_step", one_context),
    "an exact sum is rounded between beats": ("exact", "_step", rounded_between),
    "the tail is not promoted": ("promoted", "_step", never_last),
    "zero": ("plain", "_step", always_zero),
}


EVERY = UNITS | METHODS


@pytest.mark.parametrize("name", MUTANTS)
def test_a_faulty_model_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unit, method, function = MUTANTS[name]
    monkeypatch.setattr(PipelinedUnit, method, function)
    with pytest.raises(AssertionError):
        check(PipelinedUnit(EVERY[unit], registers(EVERY[unit], 3, 3)), seed=1)


def changed(promoter: Promoter) -> Callable[[Unit], Definition]:
    def made(unit: Unit) -> Definition:
        definition = Definition(unit)
        definition._promoter = promoter
        return definition

    return made


@pytest.mark.parametrize("beats_more", [-1, 1])
def test_a_promotion_at_another_beat_is_caught(beats_more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = UNITS["promoted"]
    promoter = Definition(unit).promoter
    monkeypatch.setattr(pipelined, "definition_of", changed(promoter._replace(groups=INTERVAL + beats_more)))
    with pytest.raises(AssertionError):
        # The definition must keep the interval: it works out the sums from a specification of its own.
        against_the_specification(unit)


def against_the_specification(unit: Unit) -> None:
    """Sums of the model against those that the definition's groups and promotions make by hand."""
    defined, rng = Definition(unit), np.random.default_rng(3)
    model = PipelinedUnit(unit, registers(unit, 2))
    for _ in range(12):
        a, b = rng.integers(0, 16, (2, 8)).tolist()
        case = Case("one", tuple(a), tuple(b), int(rng.integers(0x3000, 0x5000)))
        register, partial = case.c, 0
        for index in range(4):
            here = slice(2 * index, 2 * index + 2)
            partial = defined.group(case.a[here], case.b[here], defined.partial(partial)).code
            if index in (INTERVAL - 1, 3):
                register, partial = defined.promoter.promote(register, partial).code, 0
        assert [result.code for result in play(model, list(beats(unit, case))).results] == [register]


def test_promotion_against_the_specification() -> None:
    against_the_specification(UNITS["promoted"])
