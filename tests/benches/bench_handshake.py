"""Runs in the simulator: the scoreboard and the sink say which promise of a handshake a design breaks."""

from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout

import hwsim
from hwsim.base.errors import InputError
from hwsim.cocotb import (
    Mismatched,
    Scoreboard,
    ValidReadyMonitor,
    ValidReadySink,
    ValidReadySource,
    sometimes,
    stimulus,
)
from hwsim.cocotb.scoreboard import Verdict

UNIT = hwsim.load_unit(
    {
        "unit": "int8x2",
        "operands": {"a": "int8", "b": "int8", "addend": "i32"},
        "instruction": {"k": 2, "lanes": 2, "chain": "none"},
        "sum": {"method": "exact"},
        "result": {"format": "i32", "rounding": "rz", "overflow": "wrap"},
    }
)
STIMULI = list(stimulus(UNIT, directed=False, random=24, seed=1))
GOOD, DROPS, CHANGES, REPEATS, LOSES, UNKNOWN, REFUSES, WRONG = range(8)


async def verdict(dut: Any, fault: int, take: float = 0.6, offer: float = 0.7) -> Verdict:
    """What a scoreboard finds of a design with that fault."""
    clock = Clock(dut.clk, 10, "ns").start()
    dut.fault.value, dut.rst.value = fault, 1
    source = ValidReadySource(dut, "in", dut.clk, offer=sometimes(offer, 1, "in"))
    sink = ValidReadySink(dut, "out", dut.clk, take=sometimes(take, 1, "out"), reset=dut.rst)
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    board = Scoreboard(UNIT)

    async def send() -> None:
        for each in STIMULI:
            await source.send(**each.beats)

    for each in STIMULI:
        board.expect(each)
    sending = cocotb.start_soon(send())
    try:
        found = await board.drain(sink, patience=100)
    except Mismatched as error:
        found = error.verdict
    sending.cancel()
    sink.stop()
    clock.cancel()
    return found


def kinds(found: Verdict) -> set[str]:
    return {one.what for one in found.mismatches}


@cocotb.test()
async def a_right_design_passes_at_any_pace(dut: Any) -> None:
    """Whatever the traffic, and a result in every cycle where nothing stops."""
    for take, offer in ((1, 1), (0.3, 1), (1, 0.3), (0.5, 0.5)):
        found = await verdict(dut, GOOD, take, offer)
        assert (found.passed, found.planned, found.compared, found.lines) == (True, 24, 24, ())


@cocotb.test()
async def each_broken_promise_has_its_name(dut: Any) -> None:
    """What is said of each fault; nothing of it is said of another one."""
    said = {
        DROPS: "output valid, before the result was taken",
        CHANGES: "a result that changed before it was taken",
        REPEATS: "results that no closing beat asked for",
        LOSES: "results that never came",
        UNKNOWN: "an unknown (X or Z) output bit",
        REFUSES: "results that never came",
        WRONG: "result",
    }
    for fault, words in said.items():
        found = await verdict(dut, fault)
        assert not found.passed
        assert words in kinds(found), (fault, kinds(found))
        if fault in (DROPS, CHANGES, UNKNOWN, WRONG):
            assert kinds(found) == {words}, (fault, kinds(found))
            assert found.compared == found.planned


@cocotb.test()
async def a_mismatch_says_what_explains_it(dut: Any) -> None:
    """Of a bit that is wrong now and then: the case, the distance, and what the wrong results have in common."""
    found = await verdict(dut, WRONG)
    assert found.count == 6  # of 24 results each fourth one
    text = "\n".join(found.lines)
    assert text.startswith("int8x2: 6 mismatches, 24 of 24 results compared")
    assert "only bit 2 of the result differs" in text
    assert "every stage: hwsim explain int8x2 --a " in text


@cocotb.test()
async def a_board_that_expects_nothing_fails(dut: Any) -> None:
    """A test that compared nothing shows nothing."""
    with pytest.raises(AssertionError, match="nothing was compared"):
        Scoreboard(UNIT).check()


@cocotb.test()
async def what_does_not_fit_the_ports_is_an_error(dut: Any) -> None:
    """A field without a port, codes that are too wide, and beats that a design without `first` cannot tell apart."""
    clock = Clock(dut.clk, 10, "ns").start()
    dut.fault.value, dut.rst.value = GOOD, 0
    source = ValidReadySource(dut, "in", dut.clk)
    wrong = {
        "has no port in_d": {"a": [(1, 2)], "d": [3]},
        "in_a has 16 bits, which are not 2": {"a": [(1, 256)]},
        "in_a has 16 bits, which are not 3": {"a": [(1, 2, 3)]},
        "has no port in_first": {"a": [(1, 2), (3, 4)], "first": [1, 0]},
        "in_c has 32 bits, too few": {"c": [1 << 32]},
    }
    for words, fields in wrong.items():
        with pytest.raises(InputError, match=words):
            await with_timeout(source.send(**fields), 1, "us")
    clock.cancel()


@cocotb.test()
async def ports_have_any_names_and_may_be_arrays(dut: Any) -> None:
    """A word of an unpacked array for each element, the first at the lowest index; a port of another name."""
    clock = Clock(dut.clk, 10, "ns").start()
    dut.fault.value, dut.rst.value = GOOD, 0
    source = ValidReadySource(dut, "in", dut.clk, signals={"a": "words", "b": "in_a", "ready": "none"})
    await source.send(a=[(1, 2, 3, 4)], b=[(0x34, 0x12)])
    assert [int(dut.words[index].value) for index in (1, 2, 3, 4)] == [1, 2, 3, 4]
    assert int(dut.in_a.value) == 0x1234
    with pytest.raises(InputError, match="words has 4 words, and the beat 2 elements"):
        await source.send(a=[(1, 2)])
    clock.cancel()


@cocotb.test()
async def a_monitor_sees_what_a_sink_takes(dut: Any) -> None:
    """It drives nothing, and has the same transfers and the same complaints."""
    clock = Clock(dut.clk, 10, "ns").start()
    dut.fault.value, dut.rst.value = CHANGES, 1
    source = ValidReadySource(dut, "in", dut.clk)
    monitor = ValidReadyMonitor(dut, "out", dut.clk, reset=dut.rst)
    sink = ValidReadySink(dut, "out", dut.clk, take=sometimes(0.5), reset=dut.rst)
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    for each in 3 * STIMULI:
        await source.send(**each.beats)
    await ClockCycles(dut.clk, 20)
    assert [one.fields for one in monitor.queue] == [one.fields for one in sink.queue]
    assert len(sink.queue) == 3 * len(STIMULI)
    assert monitor.outcome.count == sink.outcome.count > 0
    for each in (monitor, sink):
        each.stop()
    clock.cancel()


@cocotb.test()
async def a_source_offers_in_every_cycle_and_nothing_of_a_test_that_gave_up(dut: Any) -> None:
    """One transfer after the other, though each is sent alone; of a call that is cancelled nothing more."""
    clock = Clock(dut.clk, 10, "ns").start()
    dut.fault.value, dut.rst.value = GOOD, 1
    source = ValidReadySource(dut, "in", dut.clk)
    seen = ValidReadyMonitor(dut, "in", dut.clk, fields=("a", "c"), reset=dut.rst)
    ValidReadySink(dut, "out", dut.clk, reset=dut.rst)
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    for number in range(20):
        await source.send(a=[(number, 1)], b=[(1, 1)], c=[number])
    cycles = [one.cycle for one in seen.queue]
    assert [one.fields["c"] for one in seen.queue] == list(range(20))
    assert cycles == list(range(cycles[0], cycles[0] + 20))
    sending = cocotb.start_soon(source.send(a=[(1, 1)] * 9, b=[(1, 1)] * 9, c=list(range(9))))
    await ClockCycles(dut.clk, 3)
    sending.cancel()
    await ClockCycles(dut.clk, 6)
    sent = seen.received - 20
    await source.send(a=[(2, 2)], b=[(2, 2)], c=[99])
    assert 0 < sent < 9
    assert [one.fields["c"] for one in seen.queue][20:] == [*range(sent), 99]
    clock.cancel()


@cocotb.test()
async def a_board_that_is_not_drained_fails(dut: Any) -> None:
    """A test that checks before its results came."""
    board = Scoreboard(UNIT)
    board.expect(STIMULI[0])
    with pytest.raises(AssertionError, match="int8x2: 0 mismatches, 0 of 1 result compared"):
        board.check()
