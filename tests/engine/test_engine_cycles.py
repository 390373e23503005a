"""The cycle-level model: no gap where the page promises none, and gaps where something is too slow."""

from __future__ import annotations

from typing import Any

import pytest
from engine.engines import engine

from hwsim.model.engine import EngineCycles
from hwsim.spec.engine import Engine

FULL = {"a": 64, "b": 96, "d": 192}  # a step of A and of B in as many cycles as there are contexts; a tile in one


def beats(built: Engine, steps: int, sums: int) -> tuple[int, int]:
    """Beats, and the cycles from the first to the last of them, of sums of so many steps, all ports always going."""
    model = EngineCycles(built)
    words = {name: bank.words for name, bank in model.banks.items()}
    sent, entered = dict.fromkeys(words, 0), list[int]()
    leaving = built.contexts * built.results.words
    for cycle in range(100 + sums * (20 * steps * max(built.contexts, *words.values()) + 2 * leaving)):
        offered = {}
        for name, each in words.items():
            frame = each * (1 if name == "c" else steps)
            if sent[name] < frame * sums:
                offered[name] = sent[name] % frame == frame - 1
        taken, before = [name for name in offered if model.banks[name].ready], model.beats
        model.tick(offered, take=True)
        for name in taken:
            sent[name] += 1
        if model.beats > before:
            entered.append(cycle)
    assert len(entered) == sums * steps * built.contexts and not model.queue and not model.error
    return len(entered), entered[-1] - entered[0] + 1


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_every_cycle_has_a_beat_where_contexts_and_ports_suffice(steps: int) -> None:
    built = engine(addends=False, ports=FULL)
    assert built.utilisation == 1
    count, cycles = beats(built, steps, 5)
    assert count == cycles


@pytest.mark.parametrize(
    ("keys", "share"),
    [
        ({"ports": {**FULL, "a": 16}}, 1 / 2),  # eight words of A a step of four beats
        ({"reuse": [1, 1], "ports": {"a": 64, "b": 96, "d": 192}}, 1 / 4),  # a context waits for its sum
        ({"reuse": [1, 2], "ports": {"a": 64, "b": 96, "d": 192}}, 1 / 2),
    ],
)
def test_utilisation_is_what_long_sums_have(keys: dict[str, object], share: float) -> None:
    built = engine(addends=False, **keys)
    assert float(built.utilisation) == share
    count, cycles = beats(built, 200, 1)
    assert abs(count / cycles - share) < 0.01


@pytest.mark.parametrize(
    "keys",
    [
        {"addends": False, "ports": FULL}, {"addends": False, "ports": {**FULL, "a": 16}},
        {"addends": False, "ports": {**FULL, "d": 8}}, {"ports": {**FULL, "c": 8}},
        {"reuse": [1, 1], "addends": False, "ports": {"a": 64, "b": 96, "d": 192}},
    ],
)  # fmt: skip
@pytest.mark.parametrize("steps", [1, 3, 40])
def test_a_product_takes_the_cycles_that_are_said(keys: dict[str, Any], steps: int) -> None:
    built, sums = engine(**keys), 12
    _, cycles = beats(built, steps, sums)
    (m, n), k = built.macro, steps * built.unit.instruction.lanes
    said = built.product_cycles(3 * m, 4 * n - 1, k)
    # Before and after; and of fewer contexts than latency each sum's last beats, which nothing waits for.
    around = 2 * max(size.words for size in (*built.sizes().values(), built.results)) * built.contexts
    assert said - sums * max(0, built.pipeline.latency - built.contexts) - around <= cycles <= said + around


def test_results_that_leave_slowly_hold_short_sums_up() -> None:
    built = engine(addends=False, ports={**FULL, "d": 8})  # 24 words a tile
    count, cycles = beats(built, 1, 5)
    assert cycles > 4 * count
