"""Streams of converters and quantisers: their cycle-level model, and what players find."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from hwsim.cases.drawing import Stream
from hwsim.cosim.design import BUSY
from hwsim.cosim.streamcases import stream_design, stream_suites
from hwsim.cosim.streams import StreamDesign, StreamJob, StreamSuite, packed, play, record, run_streams
from hwsim.model.clock import PipelinedStream
from hwsim.quantize import get_rule
from hwsim.quantize.block import BlockQuantization
from hwsim.spec.conversion import Conversion
from hwsim.tb.job import RESET, Trace

SEED = 20261123
E4M3 = Conversion(source="e4m3", target="e2m1")  # type: ignore[arg-type]
BOTH = ("verilator", "icarus")


def test_a_payload_leaves_latency_cycles_later_and_waits_for_nobody_before_it() -> None:
    stream: PipelinedStream[int, int] = PipelinedStream(lambda x: 10 * x, 3)
    seen = []
    for payload in (1, None, 2, 3, None, None, None):
        seen.append(stream.result)
        assert stream.tick(payload, output_ready=True) == (payload is not None)
    assert seen == [None, None, None, 10, None, 20, 30]


def test_a_result_that_waits_holds_everything() -> None:
    stream: PipelinedStream[int, int] = PipelinedStream(int, 1)
    assert stream.tick(7, output_ready=False)
    assert stream.valid and stream.result == 7
    assert not stream.ready(output_ready=False)
    assert not stream.tick(8, output_ready=False)
    assert stream.result == 7
    assert stream.tick(8, output_ready=True)
    assert stream.result == 8
    stream.reset()
    assert not stream.valid
    with pytest.raises(ValueError, match="latency must be at least 1, not 0"):
        PipelinedStream(int, 0)


def test_traffic_has_gaps_and_resets_and_loses_what_is_under_way() -> None:
    rows = np.zeros((300, 1), np.uint32)
    played = record(StreamSuite("traffic", rows, rows, BUSY, resets=True), 4, Stream(SEED, "traffic"))
    trace, leaving = played.script.promise, played.owners
    assert isinstance(trace, Trace) and trace.cycles > 400
    assert 4 <= np.count_nonzero(trace.drive & RESET) <= 8
    assert 0 < len(set(range(300)) - set(leaving)) <= 12
    assert list(leaving) == sorted(leaving)


def test_fields_stand_side_by_side_from_the_low_bits_up() -> None:
    words = packed((4, np.array([[1, 2], [3, 4]])), (9, np.array([0x155, 0x0FF])), (32, np.array([0, 0xFFFFFFFF])))
    assert words.tolist() == [[0x15521, 0], [0xFFFE0000 | 0x0FF43, 0x1FFFF]]


def designed() -> tuple[StreamDesign, list[StreamSuite]]:
    return stream_design(E4M3), list(stream_suites(E4M3, SEED, 20_000))


@pytest.mark.simulator
@pytest.mark.parametrize("simulator", BOTH)
def test_a_player_finds_a_wrong_result_and_a_wrong_cycle(verilator: None, icarus: None, simulator: str) -> None:
    design, (every, traffic) = designed()
    assert [one.passed for one in play(design, [every, traffic], simulator, SEED)] == [True, True]
    results = every.results.copy()
    results[17] ^= 1
    (played,) = play(design, [replace(every, results=results)], simulator, SEED)
    assert (played.outcome.count, played.outcome.results, played.passed) == (1, 256, False)
    (mismatch,) = played.outcome.mismatches
    assert (mismatch.kind, played.play.owners[mismatch.index]) == ("result", 17)
    assert (mismatch.got, mismatch.expected) == (int(every.results[17, 0]), int(results[17, 0]))
    late = play(replace(design, latency=3), [every, traffic], simulator, SEED)
    assert [one.passed for one in late] == [False, False]
    assert {"valid", "ready"} >= {one.outcome.mismatches[0].kind for one in late}


@pytest.mark.simulator
def test_icarus_finds_an_unknown_bit(icarus: None) -> None:
    design, (every, _) = designed()
    stuck = re.sub(r"code_o <= .*;", "code_o <= 4'b01x0;", design.verilog)
    assert stuck != design.verilog
    (played,) = play(replace(design, verilog=stuck), [every], "icarus", SEED)
    assert played.outcome.count > 0
    assert played.outcome.mismatches[0].got == -1


@pytest.mark.simulator
def test_a_report_names_the_element_that_differs(verilator: None) -> None:
    q = BlockQuantization(rule=get_rule("mxfp4-e2m1"), lanes=2, name="two")
    wrong = list(stream_suites(q, SEED, 60))[1]
    results = wrong.results.copy()
    results[3] ^= 1 << 4  # the second code
    job = StreamJob(lambda: stream_design(q), lambda: [replace(wrong, results=results)])
    report = run_streams([job], ("verilator",), SEED, "hwsim quantizer two")
    assert not report.passed
    (mismatch,) = report.mismatches
    assert (mismatch.unit, mismatch.suite, mismatch.what) == ("two-from-f32", "boundaries", "codes[1]")
    assert mismatch.case.startswith("payload 3, 0x")
    assert int(mismatch.expected.code, 16) ^ int(mismatch.got.code, 16) == 1


@pytest.mark.simulator
@pytest.mark.slow
@pytest.mark.parametrize("name", ["mxfp8-e4m3", "mxint8", "nvfp4"])
def test_whole_blocks_on_both_simulators(verilator: None, icarus: None, name: str) -> None:
    q = BlockQuantization(rule=get_rule(name), name=name)
    job = StreamJob(lambda: stream_design(q), lambda: stream_suites(q, SEED, 1000))
    report = run_streams([job], BOTH, SEED, f"hwsim quantizer {name}")
    assert report.passed, report.mismatches[:2]
    assert len(report.rows) == 8
