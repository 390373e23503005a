"""The area of many units: each different design synthesised once, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from hwsim import processes
from hwsim.rtl.synthesis import NEXTPNR, YOSYS, Area, FlatModule, FlowFailed, area, require, unit_parts
from hwsim.spec import NotImplementedYet, Unit
from hwsim.study.runners.local import cores

Areas = dict[Unit, Area | str]
Progress = Callable[[int, int, str], None]


def areas(
    units: Sequence[Unit],
    *,
    stages: str = "4",
    fmax: bool = False,
    workers: int | None = None,
    seconds: float = 1800,
    progress: Progress = lambda _done, _planned, _what: None,
) -> Areas:
    """The area of each unit, or the reason why it has none: the RTL does not have it, or a tool failed.

    stages: of the datapath (`hwsim.rtl.synthesis.STAGES`). fmax: on an ECP5 too. workers: tools at once; as many as
    there are cores unless given. seconds: for each tool. Designs are told apart by their Verilog, whatever units are
    called. What is done is kept (`hwsim.rtl.synthesis`): after Ctrl-C, the same call goes on where it stopped.
    Raises ToolMissing.
    """
    require(YOSYS, *([NEXTPNR] if fmax else []))
    wanted = list(dict.fromkeys(units))
    found: Areas = {}
    designs: dict[Unit, tuple[FlatModule, ...]] = {}
    running: dict[tuple[FlatModule, ...], Future[Area]] = {}
    pool = ThreadPoolExecutor(workers or cores())  # each waits for a process
    try:
        # The generator of Verilog is one at a time, while tools are at work on what it has written.
        for unit in wanted:
            progress(sum(one.done() for one in running.values()), len(wanted), f"Verilog of {unit.name}")
            try:
                parts = unit_parts(unit, stages)
            except NotImplementedYet as error:
                found[unit] = str(error)
                continue
            designs[unit] = parts
            if parts not in running:
                running[parts] = pool.submit(area, parts, fmax, seconds)
        told = "place and route" if fmax else "synthesis"
        progress(sum(one.done() for one in running.values()), len(running), told)
        for done, _ in enumerate(as_completed(running.values()), 1):
            progress(done, len(running), told)
        for unit, parts in designs.items():
            found[unit] = _outcome(running[parts])
    except BaseException:
        processes.stop()
        pool.shutdown(cancel_futures=True)
        processes.start()
        raise
    pool.shutdown()
    return {unit: found[unit] for unit in wanted}


def _outcome(ended: Future[Area]) -> Area | str:
    try:
        return ended.result()
    except FlowFailed as error:
        return f"synthesis failed: {error}"
