"""Counting what happens at a design's ports: the bins of hwsim.cases.bins.interface."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hwsim.cases.bins import interface as bins
from hwsim.cosim.design import Cycle
from hwsim.model.clock import Beat
from hwsim.tb.job import READY, RESET, SEEN_MISUSE, SEEN_READY, SEEN_VALID, VALID

EMPTY, BUBBLE, BEAT = range(3)  # what stands in a stage: nothing since reset, a gap right behind a beat, a beat


def port_counts(cycles: Iterable[Cycle], latency: int) -> Counter[str]:
    """In how many cycles there happens what each bin says; a bin that is never met is left out. latency: stages."""
    ports = _Ports(latency)
    for drive, beat, seen in cycles:
        if drive & RESET:
            ports.reset()
        else:
            ports.cycle(drive, seen, beat if drive & VALID else None)
    return ports.counts


class _Ports:
    """What stands where in a unit, by what was seen at its ports: the model of the arithmetic is not asked."""

    def __init__(self, latency: int):
        self.counts: Counter[str] = Counter()
        self.latency = latency
        self.clear()

    def clear(self) -> None:
        """Nothing is known of before."""
        self.stages = [EMPTY] * self.latency
        self.open: set[int] = set()
        self.waiting = self.misused = False
        self.before = (False, False)  # whether a beat was accepted in the last cycle, and whether none was offered
        self.earlier = False  # whether one was accepted in the cycle before the last

    def reset(self) -> None:
        """A cycle of reset."""
        if lost := self.stages.count(BEAT):
            self.counts[bins.reset_with(lost)] += 1
        self.counts.update([bins.RESET_WAITING] * self.waiting)
        self.clear()

    def cycle(self, drive: int, expect: int, offered: Beat | None) -> None:
        """A cycle without reset. offered: the beat at the input."""
        valid, take = bool(expect & SEEN_VALID), bool(drive & READY)
        self.waiting = valid and not take
        accepted = offered is not None and bool(expect & SEEN_READY)
        misuse = bool(expect & SEEN_MISUSE)
        happens = {
            bins.FULL_STANDSTILL: self.waiting and self.stages == [BEAT] * self.latency,
            bins.LONELY_RESULT: self.waiting and BEAT not in self.stages[:-1] and offered is None,
            bins.READY_ALONE: take and not valid,
            bins.WAITS: offered is not None and not accepted and not self.waiting,
            bins.BACK_TO_BACK: accepted and self.before[0],
            bins.ONE_IDLE: accepted and self.before[1] and self.earlier,
            bins.MISUSE: misuse and not self.misused,
        }
        self.counts.update(name for name, is_so in happens.items() if is_so)
        if self.stages.count(BEAT) == self.latency - 1 and BUBBLE in self.stages:
            self.counts[bins.bubble(self.stages.index(BUBBLE) + 1)] += 1
        if accepted and offered is not None:
            self._sums(offered)
        if not self.waiting:
            behind = BUBBLE if self.stages[0] == BEAT else EMPTY
            self.stages = [BEAT if accepted else behind, *self.stages[:-1]]
        self.earlier, self.before = self.before[0], (accepted, offered is None)
        self.misused = misuse

    def _sums(self, beat: Beat) -> None:
        if beat.first and beat.context in self.open:
            self.counts[bins.GIVEN_UP] += 1
        self.open.add(beat.context)
        self.counts[bins.contexts_open(len(self.open))] += 1
        if beat.last:
            self.open.remove(beat.context)
