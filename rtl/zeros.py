"""Zeros above a leading one."""

from __future__ import annotations

from collections.abc import Sequence

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


def balanced(m: Module, values: Sequence[Value], name: str) -> Value:
    """The sum, as a balanced tree of neighbours: no wider than it must be, and synthesis makes what it likes of it.

    name: of the sums of pairs, `name0_0` and so on; the number of their level, and of the pair in it.
    """
    level, left = 0, list(values)
    while len(left) > 1:
        above: list[Value] = []
        for at in range(0, len(left) - 1, 2):
            pair = left[at] + left[at + 1]
            total = Signal(pair.shape(), name=f"{name}{level}_{at // 2}")
            m.d.comb += total.eq(pair)
            above.append(total)
        level, left = level + 1, above + left[len(left) // 2 * 2 :]
    return left[0]


def carry_save(a: Value, b: Value, c: Value, half: Value) -> tuple[Value, Value]:
    """Two numbers whose sum is that of three, by a row of full adders, modulo 2^bits of them. half: a ^ b."""
    return half ^ c, Cat(Const(0, 1), (a & b) | (half & c))[: len(a)]


def clamp(distance: Value, bits: int) -> Value:
    """A distance in `bits` bits: all ones if it needs more. It is not negative where it matters."""
    if len(distance) <= bits:
        return distance
    return distance[:bits] | distance[bits:].any().replicate(bits)


def larger(m: Module, pair: Sequence[Value], name: str) -> Value:
    """The largest of one or two values, by one comparison."""
    if len(pair) == 1:
        return pair[0]
    first, second = pair
    result = Signal.like(first, name=name)
    m.d.comb += result.eq(Mux(first < second, second, first))
    return result


def tree_maximum(m: Module, left: list[Value], levels: int) -> list[Value]:
    """What remains of `left` after `levels` rounds of a knock-out by comparison."""
    for level in range(levels):
        left = [larger(m, left[at : at + 2], f"larger{level}_{at // 2}") for at in range(0, len(left), 2)]
    return left
