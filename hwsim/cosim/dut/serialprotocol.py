"""The protocol of a design that takes operands and gives results in several cycles, by a schedule."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from hwsim.cosim.dut.protocolkind import (
    UNTIL_EMPTY,
    ClockedProtocol,
    Control,
    ControlPort,
    NamedControl,
    named,
)
from hwsim.cosim.dut.serialfile import Schedule, ScheduleCycle, cycles_of, fields_of
from hwsim.formats.yamlfile import RuleError

OPERANDS = ("a", "b", "c", "scale_a", "scale_b")


class SerialProtocol(ClockedProtocol):
    """A dot product in so many cycles, its fields on ports by a schedule, and then its result.

    cycles: from the first cycle of a dot product to the first of the next. inputs, results: for each port or slice what
    it holds in which cycle, counted from 0; `otherwise` in all other cycles, zero unless given. results must not take
    more cycles than that. start: active in cycle 0. done: the cycles of `results` count from the first in which it is
    active after the last of `cycles`. busy: the next begins once it is not active; unless there is one, and there is
    `done`, once the result is read.
    between: whether a design waits for the next dot product, or repeats its cycles by itself from the reset on.
    enables: clock enables.
    """

    kind: Literal["serial"]
    cycles: ScheduleCycle
    inputs: Schedule
    results: Schedule
    start: Control | None = None
    busy: Control | None = None
    done: Control | None = None
    between: Literal["waits", "repeats"] = "waits"

    @model_validator(mode="after")
    def _fits(self) -> SerialProtocol:
        for key in ("start", "busy", "done"):
            if self.between == "repeats" and getattr(self, key) is not None:
                raise RuleError(key, "must not be given where between is repeats")
        for name, schedule, known in (("inputs", self.inputs, OPERANDS), ("results", self.results, ("result",))):
            for port, entries in schedule.items():
                for key, entry in entries.items():
                    where = f"{name}.{port}.{key}"
                    if entry.field is not None and entry.part[0] not in known:
                        raise RuleError(where, f"must be of {', '.join(known)}, not {entry.field}")
                    if entry.field is None and name == "results":
                        raise RuleError(where, f"must be of result, not {entry.constant}")
                    if name == "inputs" and cycles_of(key)[-1:] and cycles_of(key)[-1] >= self.cycles:
                        raise RuleError(where, f"must be of cycles below protocol.cycles ({self.cycles})")
        if not self.read:
            raise RuleError("results", "must name a cycle in which the result is read")
        if self.done is None and self.read[-1] - self.read[0] >= self.cycles:
            raise RuleError("results", f"must be of at most protocol.cycles ({self.cycles}) cycles, not more")
        return self

    @property
    def read(self) -> range:
        """From the first to the last cycle in which a part of the result is read."""
        cycles = [cycle for entries in self.results.values() for key in entries for cycle in cycles_of(key)]
        return range(min(cycles), max(cycles) + 1) if cycles else range(0)

    @property
    def scheduled(self) -> set[str]:
        """The fields in `inputs` and `results`."""
        return fields_of(self.inputs) | fields_of(self.results)

    @property
    def taking(self) -> NamedControl | None:
        """`busy`, which says so by not being active."""
        if self.busy is None:
            return None
        return NamedControl(
            "busy", ControlPort(port=self.busy.port, active="low" if self.busy.active == "high" else "high")
        )

    @property
    def giving(self) -> NamedControl | None:
        """`done`."""
        return named("done", self.done)

    @property
    def given(self) -> int:
        """The cycle, counted as those of `results`, in which all of the result is there."""
        return self.read[-1] + 1 if self.done else max(self.read[-1] + 1, self.cycles)

    @property
    def promised(self) -> int | None:
        """From the last cycle of `cycles`, in which the operands are taken, to that in which the result is there."""
        return None if self.done else self.given - (self.cycles - 1)

    @property
    def beat_cycles(self) -> int:
        """`cycles`."""
        return self.cycles

    @property
    def empty_after(self) -> int:
        """As long as a dot product takes, and its result."""
        return self.cycles + self.read[-1] + (UNTIL_EMPTY if self.done else 1)
