"""What the cases that a user's design answered did: functional coverage of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from hwsim.cases.bins import interface as bins
from hwsim.cases.bins.declare import Bin
from hwsim.cases.case import Case
from hwsim.cosim.coverage import Device, UnitCoverage, unit_coverage
from hwsim.cosim.dutdesign import Played
from hwsim.cosim.dutfile import Dut
from hwsim.cosim.dutsuites import DutPlanner, Filter
from hwsim.cosim.interface import port_counts
from hwsim.cosim.trace import RESET
from hwsim.model.clock import Beat
from hwsim.spec import NotImplementedYet
from hwsim.tb.stream_job import MISSING, SEEN

PORTS = (1 << SEEN) - 1


def dut_coverage(dut: Dut, planner: DutPlanner, played: Sequence[Played]) -> UnitCoverage | None:
    """The bins of the unit that a design's cases were drawn for; None for a unit without a coverage plan."""

    def takes(case: Case) -> bool:
        return bool(list(Filter(dut).take([case])))

    interface = tuple(Bin("G12", name, how="trace") for name in known_of_ports(dut))
    device = Device(planner.drawn_for, planner.seed, dut.file.top, interface, handshake=False, takes=takes)
    suites, seen = list[tuple[str, list[Case]]](), Counter[str]()
    for one in played:
        answered = zip(one.suite.cases, one.codes.tolist(), strict=True)
        suites.append((one.suite.name, [case for case, code in answered if code > MISSING]))
        # Nobody knows its stages: of one, every count that needs none is right.
        seen += port_counts(_cycles(one), latency=1)
    try:
        return unit_coverage(device, suites, {one.name: seen[one.name] for one in interface})
    except NotImplementedYet:
        return None


def known_of_ports(dut: Dut) -> list[str]:
    """The bins of the interface that show at a design's ports, whatever is inside."""
    protocol = dut.file.protocol
    names = [bins.BACK_TO_BACK, bins.ONE_IDLE]
    if protocol.output_ready is not None or protocol.enable is not None:
        names += [bins.READY_ALONE, *([bins.RESET_WAITING] if dut.file.reset is not None else [])]
    return names + [bins.contexts_open(count) for count in range(1, dut.file.contexts + 1)]


def _cycles(played: Played) -> Iterator[tuple[int, Beat | None, int]]:
    """What happened in each cycle, with the beat that stood at the input: each stands until it is accepted."""
    at = 0
    for byte in played.traffic.tolist():
        drive, seen = byte & PORTS, byte >> SEEN
        offered = played.beats[at] if drive & 1 else None
        yield drive, offered, seen
        at += bool(offered is not None and seen & 1 and not drive & RESET)
