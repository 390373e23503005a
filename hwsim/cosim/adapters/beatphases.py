"""Cycles of the adapter that bring no beat: with a pulse of their own, or with a clock enable that is low."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hwsim.cosim.adapters.controls import ALWAYS, Controls, Driven, all_of, inverted
from hwsim.cosim.dut.protocolkind import NamedControl


@dataclass(frozen=True)
class Stalls:
    """Clock enables. step: an expression that is high where all of them are active."""

    lines: tuple[str, ...] = ()
    step: str = "1'b1"
    driven: tuple[Driven, ...] = ()


def stalls(controls: Controls, enables: Sequence[NamedControl], *, waits: bool) -> Stalls:
    """Clock enables that hold a design while the result has to wait, each of them and each set of them in turn.

    waits: whether results can be made to wait in another way too, which is then one of those.
    """
    count = len(enables)
    if count == 0:
        return Stalls()
    if count == 1 and not waits:
        return Stalls((), "o__ready", (controls.driven(enables[0], "o__ready"),))
    first, last = 0 if waits else 1, (1 << count) - 1
    lines = (
        "// stalled: the clock enables that are low while the result has to wait, another set of them in every cycle",
        f"reg [{count - 1}:0] turn;",
        "always @(posedge clk)",
        f"  if (rst) turn <= {count}'d{first};",
        f"  else if (~o__ready) turn <= turn == {count}'d{last} ? {count}'d{first} : turn + {count}'d1;",
        f"wire [{count - 1}:0] stalled = o__ready ? {count}'d0 : turn;",
        f"wire step = stalled == {count}'d0;",
    )
    driven = tuple(controls.driven(enable, f"~stalled[{number}]") for number, enable in enumerate(enables))
    return Stalls(lines, "step", driven)


@dataclass(frozen=True)
class Phases:
    """What stands around the beats of a sum.

    lines: Verilog. beat: whether a beat stands at the design; taken: whether it is taken; ready: of the stream of
    beats. opening: whether this is a cycle before a first beat; first_pulse: whether it is the earliest of these.
    idle: whether no cycle after a last beat is left; last_pulse: whether this is the latest of them.
    """

    lines: tuple[str, ...]
    beat: str
    taken: str
    ready: str
    opening: str = "1'b0"
    first_pulse: str = "1'b0"
    idle: str = "1'b1"
    last_pulse: str = "1'b0"


def phases(before: int, after: int, ready: str, step: str) -> Phases:
    """So many cycles before the first beat of every sum, and after its last, in which no beat is taken.

    ready: whether the design takes a beat that stands there. step: whether a cycle counts.
    """
    if not before and not after:
        return Phases((), "i__valid", all_of("i__valid", ready), ready)
    lines, resets, steps = list[str](), list[str](), list[str]()
    idle, opening, first_pulse, last_pulse = "1'b1", "1'b0", "1'b0", "1'b0"
    if after:
        width = after.bit_length()
        lines += [
            "// tail: cycles that are left behind the last beat of a sum, before another may come",
            f"reg [{width - 1}:0] tail;",
        ]
        idle, last_pulse = f"tail == {width}'d0", f"tail == {width}'d1"
        resets.append(f"tail <= {width}'d0;")
        steps.append(f"tail <= taken & i__payload_last ? {width}'d{after} : {idle} ? {width}'d0 : tail - {width}'d1;")
    if before:
        width = before.bit_length()
        opens = "i__valid", "i__payload_first", idle, f"lead != {width}'d{before}"
        lines += [
            "// lead: cycles that have passed before the first beat of a sum",
            f"reg [{width - 1}:0] lead;",
            f"wire opening = {all_of(*opens)};",
        ]
        opening, first_pulse = "opening", f"opening & lead == {width}'d0"
        resets.append(f"lead <= {width}'d0;")
        steps.append(f"lead <= taken ? {width}'d0 : opening ? lead + {width}'d1 : lead;")
    lines += [
        f"wire beat = {all_of('i__valid', inverted(opening), idle)};",
        f"wire taken = {all_of('beat', ready)};",
        "always @(posedge clk)",
        f"  if (rst) begin {' '.join(resets)} end",
        f"  else {when(step)}begin",
        *(f"    {line}" for line in steps),
        "  end",
    ]
    open_for_beats = all_of(ready, inverted(opening), idle)
    return Phases(tuple(lines), "beat", "taken", open_for_beats, opening, first_pulse, idle, last_pulse)


def when(step: str) -> str:
    """`if (...) `, where not every cycle counts."""
    return "" if step == ALWAYS else f"if ({step}) "


def delayed(name: str, source: str, bits: int, cycles: int, step: str) -> Iterator[str]:
    """What an expression was so many cycles ago; zeros where that was in a reset or before it."""
    width = f"[{bits - 1}:0] " if bits > 1 else ""
    if not cycles:
        yield f"wire {width}{name} = {source};"
        return
    held, kept = f"{name}_before", bits * (cycles - 1)
    yield f"reg [{bits * cycles - 1}:0] {held};"
    yield "always @(posedge clk)"
    yield f"  if (rst) {held} <= {bits * cycles}'d0;"
    following = f"{{{held}[{kept - 1}:0], {source}}}" if kept else source
    yield f"  else {when(step)}{held} <= {following};"
    yield f"wire {width}{name} = {held}[{bits * cycles - 1}:{kept}];"
