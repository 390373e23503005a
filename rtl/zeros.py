"""Zeros above a leading one."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value


def leading_zeros(m: Module, value: Value) -> tuple[Value, list[Value]]:
    """Whether a value is zero; and if not, how many zeros stand above its leading one, the low bit first.

    A tree: `zero<level>_<group>` says whether the bits of a group are zero, `count<level>_<group>` how many zeros stand
    above its leading one. Groups are of 2^level bits and counted from the top.
    """
    groups: list[tuple[Value, Value]] = [(~bit, Const(0, 0)) for bit in reversed(list(value))]
    level = 0
    while len(groups) > 1:
        level += 1
        pairs = list(zip(groups[::2], groups[1::2], strict=False))
        last = groups[len(pairs) * 2 :]
        groups = [_joined(m, f"{level}_{at}", *pair) for at, pair in enumerate(pairs)]
        groups += [(is_zero, Cat(count, Const(0, 1))) for is_zero, count in last]
    is_zero, count = groups[0]
    return is_zero, list(count)


def _joined(m: Module, name: str, over: tuple[Value, Value], under: tuple[Value, Value]) -> tuple[Value, Value]:
    """The same of two groups, one over the other."""
    (over_zero, over_count), (under_zero, under_count) = over, under
    is_zero = Signal(name=f"zero{name}")
    count = Signal(len(over_count) + 1, name=f"count{name}")
    m.d.comb += [
        is_zero.eq(over_zero & under_zero),
        count.eq(Cat(Mux(over_zero, under_count, over_count), over_zero)),
    ]
    return is_zero, count
