"""Playing cases into a user's design: its build, jobs for the testbench, and what came back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from hwsim.cases.case import Case
from hwsim.cosim.adapter import ADAPTER, verilog
from hwsim.cosim.assertions import checks
from hwsim.cosim.bench import DEPTH, TOP
from hwsim.cosim.build import Design
from hwsim.cosim.dutfile import Dut
from hwsim.cosim.dutsuites import DutSuite
from hwsim.cosim.elaborate import Module, read_module
from hwsim.cosim.ports import PortMap, StreamPort
from hwsim.cosim.simulate import command, simulate
from hwsim.cosim.suites import fitting
from hwsim.cosim.trace import Tagged, Traffic, interleave
from hwsim.cosim.wiring import Wiring, fields
from hwsim.formats import FloatFormat
from hwsim.model.clock import Beat
from hwsim.spec import Unit
from hwsim.tb.job import Outcome, read_outcome
from hwsim.tb.stream_job import MISSING, Segment, StreamScript, read_answers, write_stream_job

TESTBENCH = "hwsim.tb.stream"
PATTERN = 4093  # a prime, so that patterns of both ports and of beats do not beat together
PATIENCE, SHORT_PATIENCE = 1000, 300  # cycles in which nothing happens


@dataclass(frozen=True)
class Played:
    """What came of a suite. codes: int64[cases], the result of each, UNKNOWN or MISSING.

    beats: all that were to be offered, in order. traffic: uint8[cycles], as hwsim.tb.stream_job has it.
    """

    suite: DutSuite
    planned: int
    outcome: Outcome
    codes: np.ndarray
    owners: tuple[int, ...]
    beats: tuple[Beat, ...]
    traffic: np.ndarray

    def case(self, result: int) -> Case | None:
        """The case whose result that is."""
        return self.suite.cases[self.owners[result]] if 0 <= result < len(self.owners) else None


@dataclass(frozen=True)
class Built:
    """A design ready to be played into. Raises SpecError where its ports do not fit its file.

    assertions: whether Verilator checks those of the stream's ports, and the user's own.
    """

    dut: Dut
    assertions: bool = False

    @cached_property
    def module(self) -> Module:
        """The top module."""
        file = self.dut.file
        return read_module(self.dut.sources, file.top, file.parameters, self.dut.include, file.defines)

    @cached_property
    def fields(self) -> Wiring:
        """The port map."""
        return fields(self.dut, self.module)

    @cached_property
    def ports(self) -> PortMap:
        """The adapter's ports."""
        made = self.fields
        return PortMap(
            top=ADAPTER,
            input=StreamPort("i__payload", "i__valid", "i__ready", made.input_width, made.input),
            output=StreamPort("o__payload", "o__valid", "o__ready", made.output_width, made.output),
        )

    @cached_property
    def design(self) -> Design:
        """Bench, adapter and the user's files."""
        dut = self.dut
        return Design(
            TOP,
            verilog(dut, self.module, self.fields) + (checks(self.ports) if self.assertions else ""),
            ("clk", "drive", "seen", "result"),
            sources=dut.sources,
            include=dut.include,
            defines=tuple(f"{name}={value}" for name, value in dut.file.defines.items()),
            read=self.module.files,
            assertions=self.assertions,
        )

    def program(self, simulator: str, *, trace: bool) -> list[str]:
        """The command that simulates the design; builds it first. Raises ToolMissing or BuildFailed."""
        plain = simulator != "verilator" and self.assertions  # Icarus has no assertions
        return command(simulator, Built(self.dut).design if plain else self.design, trace=trace)

    def play(
        self, simulator: str, suites: Sequence[DutSuite], rng: np.random.Generator, job: Path, *, trace: bool, seed: int
    ) -> list[Played]:
        """Play suites, in as many simulations as the bench's memory asks for, in `job` and folders beside it."""
        program = self.program(simulator, trace=trace)
        played = []
        made = [(suite, *script(self, suite, rng)) for suite in suites]
        for number, part in enumerate(fitting(made, lambda one: len(one[1].payloads), len(made))):
            folder = job.with_name(f"{job.name}-{number}") if number else job
            arguments = write_stream_job(folder, [one[1] for one in part], self.ports.input.width)
            simulate(simulator, [*program, *arguments], TOP, TESTBENCH, folder, seed)
            (folder / "payloads.hex").unlink()
            for index, (suite, played_script, tagged) in enumerate(part):
                outcome = read_outcome(folder, index) or Outcome(suite.name)
                codes = np.full(len(suite.cases), MISSING, np.int64)
                owners = tuple(item.case for item in tagged if item.beat.last)
                answers, traffic = read_answers(folder, index)
                codes[list(owners[: len(answers)])] = answers
                beats = tuple(item.beat for item in tagged)
                played.append(Played(suite, _planned(played_script), outcome, codes, owners, beats, traffic))
        return played

    def answers(self, simulator: str, cases: Sequence[Case], job: Path, seed: int) -> np.ndarray:
        """The design's results of some cases, each alone after a reset: int64[cases]. The job's folder is removed.

        A design without a reset is left to become empty in between.
        """
        most = DEPTH // max(len(case.a) // self.dut.products for case in cases)
        codes = []
        for first in range(0, len(cases), most):
            some = tuple(cases[first : first + most])
            suite = DutSuite("answers", some, (0,) * len(some), isolated=True)
            (played,) = self.play(simulator, [suite], np.random.default_rng(seed), job, trace=False, seed=seed)
            codes.append(played.codes)
            shutil.rmtree(job)
        return np.concatenate(codes)


def _planned(made: StreamScript) -> int:
    """Results that must be compared: those of segments that no reset ends."""
    ends = [segment.end for segment in made.segments]
    firsts = [0, *ends[:-1]]
    kept = [slice(first, one.end) for first, one in zip(firsts, made.segments, strict=True) if one.reset is None]
    return int(sum(made.last[part].sum() for part in kept))


def beat_unit(dut: Dut) -> Unit:
    """The unit with the design's beats for its groups, by which cases are cut into beats; for nothing else."""
    instruction = dut.unit.instruction.model_copy(update={"lanes": dut.products})
    return dut.unit.model_copy(update={"instruction": instruction})


def script(built: Built, suite: DutSuite, rng: np.random.Generator) -> tuple[StreamScript, list[Tagged]]:
    """A suite as the testbench plays it, and its beats with the cases that they are of."""
    dut = built.dut
    contexts = 1 if suite.isolated or suite.resets else dut.file.contexts
    tagged = list(interleave(beat_unit(dut), suite.cases, contexts, rng if suite.shuffled else None))
    segments: tuple[Segment, ...] = (Segment(len(tagged)),)
    if suite.isolated:
        segments = tuple(Segment(end + 1) for end, item in enumerate(tagged) if item.beat.last)
    elif suite.resets:
        tagged, segments = _with_resets(tagged, rng)
    closing = [item for item in tagged if item.beat.last]
    protocol, output = dut.file.protocol, dut.unit.output
    any_nan = output if dut.unit.result.nan == "any" and isinstance(output, FloatFormat) else None
    results = [
        (
            item.beat.context,
            suite.expected[item.case],
            int(any_nan is not None and any_nan.is_nan(suite.expected[item.case])),
        )
        for item in closing
    ]
    takes = protocol.output_ready is not None or protocol.enable is not None
    offers = protocol.input_valid is not None or protocol.kind != "stream"
    latency = {"stream": -1, "latency": protocol.cycles or 0, "combinational": 0}[protocol.kind]
    made = StreamScript(
        name=suite.name,
        payloads=[built.ports.pack(item.beat) for item in tagged],
        last=np.array([item.beat.last for item in tagged], np.uint8),
        offer=_pattern(suite.traffic.offer if offers else 1.0, suite.traffic, rng, bursts=False),
        take=_pattern(suite.traffic.take if takes else 1.0, suite.traffic, rng, bursts=takes),
        results=np.array(results, np.int64).reshape(-1, 3),
        segments=segments,
        nan_mask=(any_nan.sign_bit - 1) << any_nan.padding if any_nan else 0,
        nan_above=_largest_number(any_nan) if any_nan else 0,
        latency=latency,
        reset_cycles=_reset_cycles(dut),
        patience=SHORT_PATIENCE if suite.isolated else PATIENCE,
        settle=2 if suite.isolated else 16,
        isolated=suite.isolated,
    )
    return made, tagged


def _largest_number(fmt: FloatFormat) -> int:
    """The magnitude's code above which all are NaN."""
    bare = fmt.infinity_magnitude if fmt.infinity_magnitude is not None else fmt.max_magnitude
    return int(bare) << fmt.padding


def _reset_cycles(dut: Dut) -> int:
    """Cycles in which a design is reset; one that has no reset is given time to become empty."""
    if dut.file.reset is not None:
        return dut.file.reset.cycles
    return 2 + (dut.file.protocol.cycles or 0 if dut.file.protocol.kind != "stream" else 30)


def _pattern(chance: float, traffic: Traffic, rng: np.random.Generator, *, bursts: bool) -> np.ndarray:
    """In which cycles something may happen: uint8[PATTERN]."""
    made = (rng.random(PATTERN) < chance).astype(np.uint8)
    if traffic.bursts and bursts:
        for start in np.flatnonzero(rng.random(PATTERN) < 0.02).tolist():
            made[start : start + int(rng.integers(4, 20))] = 0
    return made if made.any() else np.ones(PATTERN, np.uint8)


def _with_resets(tagged: Sequence[Tagged], rng: np.random.Generator) -> tuple[list[Tagged], tuple[Segment, ...]]:
    """Cases a few at a time, every other time cut off by a reset: some cycles later, or with a sum still open."""
    by_case: dict[int, list[Tagged]] = {}
    for item in tagged:
        by_case.setdefault(item.case, []).append(item)
    order, segments = list[Tagged](), list[Segment]()
    for number, part in enumerate(_chunks(list(by_case.values()), rng)):
        for case in part:
            order += case
        cut = number % 2 == 0
        if cut and len(part[-1]) > 1:
            del order[-int(rng.integers(1, len(part[-1]))) :]
        segments.append(Segment(len(order), int(rng.integers(0, 12)) if cut else None))
    return order, tuple(segments)


def _chunks(cases: Sequence[list[Tagged]], rng: np.random.Generator) -> Iterator[Sequence[list[Tagged]]]:
    at = 0
    while at < len(cases):
        size = int(rng.integers(1, 5))
        yield cases[at : at + size]
        at += size
