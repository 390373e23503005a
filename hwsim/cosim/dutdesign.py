"""A user's design: it promises an order of results, perhaps their latency, and what stands beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from operator import ne

import numpy as np
from pydantic import ValidationError

from hwsim.base.arrays import code_array
from hwsim.base.errors import InputError
from hwsim.cases.bins import declare as bins
from hwsim.cases.bins.declare import CoverageBin
from hwsim.cases.case import Case, addend_mask, dot, in_beats, multiplied
from hwsim.cases.drawing import Stream
from hwsim.cases.selection import placed, selection_cases
from hwsim.cocotb.expected import same_codes
from hwsim.compute.products import dot as dot_product
from hwsim.cosim.adapter import ADAPTER, adapter
from hwsim.cosim.bench import TOP, PortMap, StreamPort, bench, checks, public
from hwsim.cosim.build import HdlSources
from hwsim.cosim.design import (
    STUCK_AFTER,
    DotDesign,
    Play,
    Suite,
    SuiteKind,
    Tagged,
    interleave,
    pattern,
    with_tags,
)
from hwsim.cosim.dutfile import Dut, flagged
from hwsim.cosim.elaborate import MOST_NAMES, Module, read_module
from hwsim.cosim.heldoperands import HeldOperand, HeldOperands, held_operand
from hwsim.cosim.protocols import Handshakes, TaggedProtocol
from hwsim.cosim.suites import PAIRS, expected_codes
from hwsim.cosim.waivers import AppliedWaivers
from hwsim.cosim.wiring import Wiring, operands_of, wiring
from hwsim.formats import Format, codes_of
from hwsim.formats.catalog import looks_like_path
from hwsim.model.clock import Beat
from hwsim.model.definition import Definition
from hwsim.model.flags import FlagName, flag
from hwsim.spec import SparseUnit, Unit, Unpromised, unpromised
from hwsim.tb.job import (
    AWAITED,
    COPY,
    FILLED,
    FLAG,
    BeatOrder,
    ExtraOutputs,
    Script,
    result_rows,
)


def extra(dut: Dut, cases: Sequence[Case], codes: Sequence[int]) -> ExtraOutputs:
    """The signals beside the results of cases. codes: the results that are expected of them."""
    place, ports, definition = dut.file.ports.result, dut.file.flags, Definition(dut.unit)
    copies = [copy.named for copy in place.copies] if place is not None else []
    names: list[FlagName] = [name for name, _ in flagged(ports)]

    def flags(case: Case) -> tuple[int | None, ...]:
        if ports is None:
            return ()
        explanation = dot(definition, case)
        values = (flag(explanation, name, ports.rules) for name in names)
        return tuple(None if value is None else int(value) for value in values)

    bits = dut.unit.output.container_bits
    signals = [*((COPY, name, bits) for name in copies), *((FLAG, name, 1) for name in names)]
    return ExtraOutputs(
        signals, [(*[code] * len(copies), *flags(case)) for case, code in zip(cases, codes, strict=True)]
    )


AFTER_FULL = 4  # cases whose results are compared after a reset of a design that was full
PATIENCE, SHORT_PATIENCE = 1000, 300  # cycles in which nothing happens


@dataclass(frozen=True, kw_only=True)
class DutDesign(DotDesign):
    """A design as its file describes it.

    module: its top. wiring: which bit of which port is which bit of a field; adapter: Verilog that makes streams of
    its ports. assertions: whether Verilator checks those of the stream's ports, and the user's own.
    """

    dut: Dut
    module: Module
    wiring: Wiring
    adapter: str
    assertions: bool = False

    def case_of(self, case: Case) -> tuple[Unit, str, Case | None]:
        """The unit of a case, its name on a command line, and the case; of a sparse design the dense unit's."""
        return self.unit, self.called if self.dut.sparse is None else self.unit.name, case

    @property
    def skipped_suites(self) -> Mapping[SuiteKind, str]:
        """The suites that the design's file leaves out."""
        return self.dut.file.without

    def waivers(self, today: date) -> AppliedWaivers:
        """The waivers in the design's file, on a day. Raises SpecError for a reading that its unit does not have."""
        try:
            return AppliedWaivers(self.unit, self.dut.file.waivers, today)
        except InputError as error:
            raise self.dut.wrong("waivers", f"must name readings: {error}") from None

    def unfit_for(self, simulator: str) -> str:
        """The reason why a simulator cannot run the design, though it may not report it; empty where it can."""
        why = unfit(self.module, simulator)
        return f"{self.dut.path}: {why}; or --sim verilator" if why else ""

    def sources(self, simulator: str) -> HdlSources:
        """Bench, adapter and the user's files; Icarus has no assertions."""
        dut, assertions = self.dut, self.assertions and simulator == "verilator"
        return HdlSources(
            TOP,
            bench(self.ports) + self.adapter + (checks(self.ports) if assertions else ""),
            public(self.ports),
            files=self.module.ordered,
            include=tuple(dict.fromkeys([*dut.sources.searched, *(file.parent for file in self.module.ordered)])),
            defines=dut.sources.defines,
            read=self.module.files,
            assertions=assertions,
        )

    def notes(self, driver: str) -> list[str]:
        """Notes on what is not compared or checked, and why."""
        unchecked = self.assertions and driver == "icarus"
        left_out = [f"not compared: {what}" for what in self.unpromised.left_out()]
        if self.held:
            left_out.append(f"in every case {self.held}: nothing is said of other operands")
        return [*left_out, *(["assertions: not checked on icarus, which has none"] if unchecked else [])]

    def play(self, suite: Suite, stream: Stream) -> Play:
        """The play of a suite: its beats in the order in which they are offered, and the definition's results."""
        if suite.expected is None:
            many = suite.name.startswith(PAIRS)
            suite = replace(suite, expected=(paired_codes if many else expected_codes)(self.unit, suite.cases))
        alone = suite.isolated or suite.resets
        contexts = 1 if alone else self.dut.file.contexts
        cases = self.driven(suite.cases)
        tagged = list(interleave(self.driven_unit, cases, contexts, stream if suite.shuffled else None))
        if isinstance(self.dut.file.protocol, TaggedProtocol):
            tagged = with_tags(tagged, self.dut.file.protocol.tags, stream)
        if suite.isolated:
            segments = [(end + 1, AWAITED) for end, item in enumerate(tagged) if item.beat.last]
        elif suite.resets:
            protocol = self.dut.file.protocol
            fills = isinstance(protocol, Handshakes) and bool(protocol.input_ready and protocol.output_ready)
            tagged, segments = _with_resets(tagged, stream, fills)
        else:
            segments = [(len(tagged), AWAITED)]
        closing = [item for item in tagged if item.beat.last]
        owners = tuple(item.case for item in closing)
        script = Script(
            suite.name,
            self._order(suite, tagged, segments, stream),
            [self.ports.pack(beat) for beat in (*(item.beat for item in tagged), self._idle(tagged[0].beat))],
            self._results(suite, closing),
            extra=self._extra(suite, closing),
        )
        return Play(suite, script, tuple(item.beat for item in tagged), owners)

    def _idle(self, beat: Beat) -> Beat:
        """The idle input before and after the beats of a suite: another beat, with every bit of its operands inverted.

        Else a design would be given the first beat in its reset, and a single one would stay: a latency would not show.
        """
        operands, scale = self.unit.operands, self.unit.scale
        a, b = (_turned(codes, fmt) for codes, fmt in ((beat.a, operands.a), (beat.b, operands.b)))
        idle = replace(beat, a=a, b=b, c=beat.c ^ addend_mask(self.unit), metadata=self._others(beat.metadata))
        if scale is None:
            return idle
        scale_a, scale_b = _turned(beat.scale_a, scale.a.format), _turned(beat.scale_b, scale.b.format)
        return replace(idle, scale_a=scale_a, scale_b=scale_b)

    def _others(self, metadata: Sequence[int]) -> tuple[int, ...]:
        """For each group of a sparse design indices that ascend, as many of them others as can be."""
        if self.dut.sparse is None:
            return ()
        rule = self.dut.sparse.sparsity
        groups = [metadata[first : first + rule.keep] for first in range(0, len(metadata), rule.keep)]
        return tuple(
            index for group in groups for index in max(rule.patterns, key=lambda other: sum(map(ne, other, group)))
        )

    @property
    def beat_unit(self) -> Unit:
        """The unit with the design's beats for its groups."""
        return in_beats(self.unit, self.products)

    @property
    def driven_unit(self) -> Unit | SparseUnit:
        """What beats are of: a sparse design's metadata select within each."""
        sparse = self.dut.sparse
        return self.beat_unit if sparse is None else sparse.model_copy(update={"dense": self.beat_unit})

    def driven(self, cases: Sequence[Case]) -> Sequence[Case]:
        """Cases as a design takes them: those of a sparse one among other factors of b, under metadata that ascend.

        The same case always under the same.
        """
        return cases if self.dut.sparse is None else [self._placed(self.dut.sparse, case) for case in cases]

    def keep(self, case: Case) -> Case:
        """Note how a sparse design is to take a case. Return it as the unit that multiplies has it."""
        assert self.dut.sparse is not None
        self._kept[case.id] = case
        return multiplied(self.dut.sparse, case)

    @cached_property
    def _kept(self) -> dict[str, Case]:
        return dict(self.selections)

    def _placed(self, unit: SparseUnit, case: Case) -> Case:
        rule, known = unit.sparsity, self._kept.get(case.id)
        kept = 0 if known is None else len(known.a)
        if known is None or multiplied(unit, known) != replace(case, a=case.a[:kept], b=case.b[:kept]):
            return next(placed(unit, [case], Stream(1, unit.name, "metadata", repr((case.a, case.b, case.c)))))
        rest = (len(case.a) - kept) // rule.kept
        b, metadata = (0,) * (rest * rule.whole), rule.patterns[0] * rest
        return replace(known, a=case.a, b=(*known.b, *b), metadata=(*known.metadata, *metadata))

    @cached_property
    def selections(self) -> dict[str, Case]:
        """Of a sparse design the cases whose results name the factor that a lane got, by their names."""
        sparse = self.dut.sparse
        made = [] if sparse is None else selection_cases(sparse, Stream(1, sparse.name, "selections"))
        return {case.id: case for case in made}

    @property
    def selected(self) -> tuple[Case, ...]:
        """The same as the unit that multiplies has them."""
        sparse = self.dut.sparse
        return () if sparse is None else tuple(multiplied(sparse, case) for case in self.selections.values())

    @property
    def unpromised(self) -> Unpromised:
        """The properties of its results that are not compared."""
        return unpromised(self.unit)

    def _results(self, suite: Suite, closing: Sequence[Tagged]) -> np.ndarray:
        """The context and the code of each result, as `result_rows` has them."""
        expected = suite.expected or ()
        codes = [expected[item.case] for item in closing]
        contexts = [item.beat.context for item in closing]
        return result_rows(contexts, codes)

    def _extra(self, suite: Suite, closing: Sequence[Tagged]) -> ExtraOutputs | None:
        """The promised signals beside each result, flags and copies of it; None for a design without either."""
        if not self.ports.extra:
            return None
        cases = [suite.cases[item.case] for item in closing]
        codes = [(suite.expected or ())[item.case] for item in closing]
        return extra(self.dut, cases, codes)

    def _order(
        self, suite: Suite, tagged: Sequence[Tagged], segments: Sequence[tuple[int, int]], stream: Stream
    ) -> BeatOrder:
        protocol, traffic = self.dut.file.protocol, suite.traffic
        held = bool(protocol.holding)
        return BeatOrder(
            last=np.array([item.beat.last for item in tagged], np.uint8),
            offer=pattern(traffic.offer if protocol.pauses else 1.0, stream),
            take=pattern(traffic.take if held else 1.0, stream, bursts=traffic.bursts and held),
            segments=np.array(segments, np.int64).reshape(-1, 2),
            same=same_codes(self.unpromised),
            latency=-1 if protocol.promised is None else protocol.promised,
            reset_cycles=self.reset_cycles,
            patience=(SHORT_PATIENCE if suite.isolated else PATIENCE) + protocol.beat_cycles - 1,
            settle=2 if suite.isolated else 16,
            isolated=suite.isolated,
            tagged=isinstance(protocol, TaggedProtocol),
        )

    @property
    def reset_cycles(self) -> int:
        """Cycles for which the design is reset; a design without a reset is given time to become empty."""
        file = self.dut.file
        if file.reset is not None:
            return file.reset.cycles
        return 2 + file.protocol.empty_after


def _turned(codes: Sequence[int], fmt: Format) -> tuple[int, ...]:
    return tuple(code ^ (1 << fmt.container_bits) - 1 for code in codes)


def dut_design(dut: Dut, assertions: bool = False, called: str = "") -> DutDesign:
    """A user's design. called: its file's name on a command line; the file's path unless given.

    Raises SpecError where its ports do not fit its file, and ValueError for sources that cannot be elaborated.
    """
    file = dut.file
    drawn, held = drawn_for(dut)
    module = read_module(dut.sources, file.top, file.parameters)
    wired = wiring(dut, module)
    ports = PortMap(
        top=ADAPTER,
        input=StreamPort("i__payload", "i__valid", "i__ready", wired.input_width, wired.input),
        output=StreamPort("o__payload", "o__valid", "o__ready", wired.output_width, wired.output),
        misuse="",
        extra=wired.extra,
    )
    return DutDesign(
        name=file.top,
        folder=file.top,
        words=("--dut", called or str(dut.path)),
        ends=("--assertions",) if assertions else (),
        width=wired.input_width,
        stuck_after=STUCK_AFTER if file.stuck_after is None else file.stuck_after,
        unit=dut.unit,
        called=str(dut.path.parent / file.unit) if looks_like_path(file.unit) else file.unit,
        title=f"{file.top}, a design of your own, as {(dut.sparse or dut.unit).name}",
        ports=ports,
        products=dut.products,
        latency=1,  # nobody knows its stages: of one, every count that needs none is right
        drawn_for=drawn,
        interface=tuple(CoverageBin("G12", name, how="trace") for name in shown_bins(dut)),
        chains=dut.chains,
        addend=file.has("c"),
        held=held,
        reset=file.reset is not None,
        dut=dut,
        module=module,
        wiring=wired,
        adapter=adapter(dut, module, wired),
        assertions=assertions,
    )


def unfit(module: Module, simulator: str) -> str:
    """The reason why a simulator cannot simulate a module, by how Icarus 11 handles array ports; empty where it may."""
    if simulator != "icarus":
        return ""
    if two_state := [array.name for array in module.arrays if array.two_state]:
        return f"Icarus takes no arrays of two-state words as ports ({_some(two_state)})"
    if single := [array.name for array in module.arrays if array.words == 1]:
        return f"Icarus takes no arrays of one word as ports ({_some(single)})"
    if unknown := [array.name for array in module.arrays if array.at_variable]:
        rule = "leaves all bits unknown of arrays that are outputs of modules inside and stand at variables"
        return f"Icarus {rule} ({_some(unknown)}): declare what they stand at as wire"
    return ""


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")


def held_operands(dut: Dut) -> HeldOperands:
    """The operands that are always the same. Raises SpecError for numbers that their formats do not have."""
    known, held = operands_of(dut), dict[str, HeldOperand]()
    for name, numbers in dut.file.constant_operands.items():
        count, fmt = known[name]
        if len(numbers) not in (1, count):
            raise dut.wrong(
                f"ports.{name}", f"must be one number, or {count}, one for each element, not {len(numbers)}"
            )
        operand = held_operand(name, fmt, numbers)
        if operand is None:
            shown = ", ".join(f"{number:g}" for number in numbers)
            raise dut.wrong(f"ports.{name}", f"must be a number that {fmt.name} has, not {shown}")
        held[name] = operand
    return HeldOperands(held, {name: fmt for name, (_, fmt) in known.items()})


def drawn_for(dut: Dut) -> tuple[Unit, HeldOperands]:
    """The claimed unit, with dot products no longer than the design takes, and the operands that are always the same.

    What it returns for these is what the claimed unit returns; where a specification of them breaks a rule, the
    claimed unit itself, whose cases are then filtered. Formats stand in for those of operands that are the same.
    """
    held = held_operands(dut)
    data = dut.unit.model_dump(mode="json", exclude_unset=True)
    if not dut.chains:
        data["instruction"] = {**data["instruction"], "chain": "none", "k": dut.products}
    if not dut.file.has("c") and not any(dut.file.constant_operands.get("c", ())):
        data["operands"]["addend"] = "none"
    standing = deepcopy(data)
    for name, operand in held.by_name.items():
        if operand.stand_in is not None and name.startswith("scale_"):
            standing["scale"][name.removeprefix("scale_")]["format"] = operand.stand_in.keys
        elif operand.stand_in is not None:
            standing["operands"]["addend" if name == "c" else name] = operand.stand_in.keys
    for keys, operands in ((standing, held), (data, held.without_stand_ins())):
        try:
            return Unit.model_validate(keys), operands
        except ValidationError:
            continue
    return dut.unit, held.without_stand_ins()


def shown_bins(dut: Dut) -> list[str]:
    """The bins of the interface that show at a design's ports, whatever is inside."""
    names = [bins.BACK_TO_BACK, bins.ONE_IDLE] if dut.file.protocol.beat_cycles == 1 else []
    if dut.file.protocol.holding:
        names += [bins.READY_ALONE, *([bins.RESET_WAITING] if dut.file.reset is not None else [])]
    return names + [bins.contexts_open(count) for count in range(1, dut.file.contexts + 1)]


def paired_codes(unit: Unit, cases: Sequence[Case]) -> tuple[int, ...]:
    """The kernels' results for cases of the same length and the same scales."""
    sides = ("a", "b") if unit.scale is None else ("a", "b", "scale_a", "scale_b")
    a, b, *scales = (np.array([getattr(case, side) for case in cases]) for side in sides)
    c = code_array([case.c for case in cases]) if any(case.c for case in cases) else None
    return tuple(codes_of(unit.output, dot_product(unit, a, b, c, *scales)).ravel().tolist())


def _with_resets(tagged: Sequence[Tagged], stream: Stream, fills: bool) -> tuple[list[Tagged], list[tuple[int, int]]]:
    """Cut cases into segments, every other one ended by a reset: some cycles later, or with a sum still open.

    fills: whether a last reset comes when every buffer is full, none of whose results was taken.
    """
    by_case: dict[int, list[Tagged]] = {}
    for item in tagged:
        by_case.setdefault(item.case, []).append(item)
    order, segments = list[Tagged](), list[tuple[int, int]]()
    for number, part in enumerate(_chunks(list(by_case.values()), stream)):
        for case in part:
            order += case
        cut = number % 2 == 0
        if cut and len(part[-1]) > 1:
            del order[-stream.randint(1, len(part[-1]) - 1) :]
        segments.append((len(order), stream.randrange(12) if cut else AWAITED))
    if fills:
        order += tagged
        segments.append((len(order), FILLED))
        for case in list(by_case.values())[:AFTER_FULL]:
            order += case
        segments.append((len(order), AWAITED))
    return order, segments


def _chunks(cases: Sequence[list[Tagged]], stream: Stream) -> Iterator[Sequence[list[Tagged]]]:
    first = 0
    while first < len(cases):
        size = stream.randint(1, 4)
        yield cases[first : first + size]
        first += size
