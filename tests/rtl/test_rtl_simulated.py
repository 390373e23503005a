"""The RTL in Amaranth's own simulator, cycle by cycle against the cycle-level model."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from built_presets import DISTINCT, others_slow
from cosim.mutants import Mutant
from cosim.plays import amaranth_play, odd_pipelines, recorded, recorded_in, trace_of, with_codes
from odd_units import IN_RTL, unit, units_of
from representatives import with_every_rule

from hwsim.cases.case import Case, beats
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.design import Play, Tagged, Traffic, interleave
from hwsim.model.definition import Definition
from hwsim.rtl import dot_unit, normalize
from hwsim.spec import Pipeline, Unit, load_unit, pipeline
from hwsim.tb.job import READY, RESET, SEEN_MISUSE, SEEN_READY, SEEN_VALID, VALID

ODD = units_of(IN_RTL)
TINY = unit("tiny")
TINY_PROMOTED = unit("tiny-promoted")

UNITS = {unit.name: unit for unit in (TINY, TINY_PROMOTED, *ODD.values())}
SMALL = (TINY.name, TINY_PROMOTED.name, "one-lane-e5m2", "no-addend-e4m3")
RANDOM, BUSY, HANDSHAKE = "back to back", "gaps and back-pressure", "handshake"


def plays(unit: Unit, built: Pipeline, count: int) -> dict[str, Play]:
    """Random sums back to back, under gaps and back-pressure, and the handshake."""
    cases = random_cases(unit, count, 7)
    return {
        RANDOM: recorded(unit, built, cases),
        BUSY: recorded(unit, built, cases, Traffic(0.75, 0.7, bursts=True), shuffled=True),
        HANDSHAKE: recorded(unit, built, cases[:16], resets=True),
    }


def agree(unit: Unit, built: Pipeline, played: dict[str, Play]) -> None:
    """Every cycle and every result of every play."""
    for play, outcome in zip(played.values(), amaranth_play(unit, built, *played.values()), strict=True):
        assert outcome.mismatches == []
        assert outcome.results == play.script.planned > 0


CUTS = ("usual", "trees, 3 contexts", "one register")
# Small units with every pipeline, and each of the others with one: the control does not depend on the arithmetic.
ALWAYS = [(name, cut) for name in SMALL for cut in CUTS]
ALWAYS += [(name, CUTS[at % len(CUTS)]) for at, name in enumerate(UNITS) if name not in SMALL]


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize(("name", "cut"), others_slow([(name, cut) for name in UNITS for cut in CUTS], ALWAYS[::6]))
def test_every_cycle_is_the_models(name: str, cut: str) -> None:
    unit = UNITS[name]
    built = odd_pipelines(unit)[cut]
    agree(unit, built, plays(unit, built, 30 if name in SMALL else 12))


# One of each arithmetic; Verilator plays the others, too (tests/cosim).
PRESETS = ["volta-mma-f16-f16", "sequential-e4m3-f16", "cdna2-mfma-bf16-f32", "int8-i32", "cdna3-mfma-k4-bf16-f32"]


@pytest.mark.parametrize("name", others_slow(DISTINCT, PRESETS, with_every_rule(DISTINCT)))
def test_every_preset_is_the_models(name: str) -> None:
    # Its arithmetic, in a few sums back to back: the control does not depend on it.
    unit, built = load_unit(name), pipeline(load_unit(name))
    cases = random_cases(unit, 3, 7)
    agree(unit, built, {RANDOM: recorded(unit, built, cases)})


# Partial sums with fewer exponent bits than the register: a zero or subnormal one is far below the least normal one.
NARROW_PARTIALS = [unit("f16-in-f32"), unit("e5m2-in-bf16")]


@pytest.mark.parametrize("unit", NARROW_PARTIALS, ids=lambda unit: unit.name)
def test_small_partial_sums_are_promoted_without_a_loss(unit: Unit) -> None:
    cases = random_cases(unit, 30, 7)
    if unit is NARROW_PARTIALS[0]:  # two products that sum to zero, and the least number in the register
        cases.append(Case("least", (0x21, 0x21), (0x8C, 0x8C), 1))
    built = pipeline(unit)
    codes = [Definition(unit).dot(case.a, case.b, case.c).code for case in cases]
    if cases[-1].id == "least":
        assert codes[-1] == 1
    agree(unit, built, {RANDOM: recorded(unit, built, cases, expected=codes)})


FEW, MANY = ("decode",), ("multiply", "maximum", "align", "sum", "magnitude", "normalize")
CONTEXTS = [(contexts, cuts) for contexts in (1, 2, 3, 5, 8) for cuts in (FEW, MANY)]


# Contexts as few and as many as registers, a power of two and not; more registers than contexts, and fewer.
@pytest.mark.parametrize(("contexts", "cuts"), others_slow(CONTEXTS, [(5, FEW)]))
def test_every_number_of_contexts(contexts: int, cuts: tuple[str, ...]) -> None:
    built = pipeline(TINY_PROMOTED, cuts=(*cuts, "promote.align"), contexts=contexts)
    agree(TINY_PROMOTED, built, plays(TINY_PROMOTED, built, 20))


@cache
def tiny_plays() -> dict[str, Play]:
    return plays(TINY, pipeline(TINY), 60)


# Faults in the control, and the suites that must see them.
FAULTS = {
    "no wait": ("_ready", "advance & (payload.first | ~waits)", "advance", (BUSY, HANDSHAKE)),
    "first waits": ("_ready", "payload.first | ~waits", "~waits", (HANDSHAKE,)),
    "no hold": ("_operands", "path.enable.eq(advance)", "path.enable.eq(1)", (BUSY, HANDSHAKE)),
    "misuse": ("_misuse", "self.misuse.eq(1)", "self.misuse.eq(0)", (HANDSHAKE,)),
    "context": ("_flight", "eq(beat.context)", "eq(0)", (RANDOM, BUSY, HANDSHAKE)),
}


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize("fault", others_slow(FAULTS, ["first waits", "misuse"]))
def test_a_faulty_unit_is_caught(fault: str) -> None:
    method, old, new, catching = FAULTS[fault]
    mutant = Mutant(fault, TINY.name, catching, getattr(dot_unit.DotUnit, method), old, new)
    with mutant.applied():
        outcomes = amaranth_play(TINY, pipeline(TINY), *(tiny_plays()[name] for name in catching))
    assert all(outcome.count > 0 for outcome in outcomes)


# Faults in what takes the place of too large a result.
OVERFLOWS = {
    "down for up": ("ieee-e5m2", normalize.rounds_inward, "return sign\n", "return ~sign\n"),
    "up for down": ("ieee-e4m3", normalize.rounds_inward, "return ~sign\n", "return sign\n"),
    "to odd outside": ("ieee-rto", normalize.rounds_inward, "infinity % 2 == 0", "infinity % 2 == 1"),
    "infinities are finite": ("ieee-e5m2-rz", normalize.Encode._overflow, "~infinite if inward is True", "1 if inward"),
    "infinities saturate": ("propagates-e5m2", normalize.Encode._overflow, "infinite & fmt.infinities", "infinite & 0"),
}


def too_large(unit: Unit) -> list[Case]:
    """Sums of the largest products of each sign, and of infinities where there are any."""
    cases = []
    for fmt, magnitude in ((unit.operands.a, "max_magnitude"), (unit.operands.a, "infinity_magnitude")):
        code = getattr(fmt, magnitude)
        for sign in (0, unit.operands.a.sign_bit) if code is not None else ():
            rest = (0,) * (unit.instruction.k - 1)
            cases.append(Case(f"{magnitude}-{sign}", (code | sign, *rest), (unit.operands.b.max_code, *rest), 0))
    return cases


@pytest.mark.parametrize("fault", others_slow(list(OVERFLOWS), ["down for up", "infinities saturate"]))
def test_a_faulty_overflow_is_caught(fault: str) -> None:
    name, function, old, new = OVERFLOWS[fault]
    odd = unit(name)
    built = pipeline(odd)
    play = recorded(odd, built, too_large(odd))
    agree(odd, built, {RANDOM: play})
    with Mutant(fault, name, (RANDOM,), function, old, new).applied():
        (outcome,) = amaranth_play(odd, built, play)
    assert outcome.count > 0


@pytest.mark.parametrize("contexts", [3, 5])
def test_a_context_that_is_none_is_misuse(contexts: int) -> None:
    built = pipeline(TINY, contexts=contexts)
    cases = random_cases(TINY, 12, 7)
    stray = [Tagged(replace(next(beats(TINY, cases[0])), last=True, context=contexts), 0, 0)]
    order = [*interleave(TINY, cases, contexts, None), *stray]
    play = recorded_in(TINY, built, cases, order)
    trace = trace_of(play)
    flagged = np.flatnonzero(trace.expect & SEEN_MISUSE)
    offered = np.flatnonzero(trace.offered == len(order) - 1)
    assert flagged.tolist() == list(range(offered[-1] + 1, trace.cycles))
    agree(TINY, built, {"stray": play})


def test_a_zeroed_result_is_caught() -> None:
    zeroed = with_codes(tiny_plays()[RANDOM], 0)
    assert amaranth_play(TINY, pipeline(TINY), zeroed)[0].count > 0


def test_the_handshake_suite_has_what_it_promises() -> None:
    # Every register full and held, resets in flight, and misuse at the end: not a suite that any unit would pass.
    trace, latency = trace_of(tiny_plays()[HANDSHAKE]), pipeline(TINY).latency
    begins = np.flatnonzero(np.diff(trace.drive & RESET, prepend=0) == RESET)
    # One at the start; one for each number of beats in flight, to all of them, and again to all and one more; and two
    # before misuse.
    assert len(begins) == 1 + latency + latency + 1 + 2
    assert not (trace.expect[: begins[-2]] & SEEN_MISUSE).any()
    for end in (begins[-1], trace.cycles):
        assert trace.expect[end - 1] & SEEN_MISUSE
    refused = (trace.drive & (VALID | READY) == VALID) & (trace.expect & (SEEN_READY | SEEN_VALID) == SEEN_VALID)
    assert refused.any()
