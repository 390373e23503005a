"""Zeros above a leading one."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value


def leading_zeros(m: Module, value: Value, low: int = 0) -> tuple[Value, list[Value]]:
    """Whether a value is zero; and if not, how many zeros stand above its leading one, the low bit first.

    low: where its bits begin in what they are part of, for the names of signals.
    """
    if len(value) == 1:
        return ~value, []
    low_bits = len(value) - (1 << (len(value) - 1).bit_length() - 1)
    high_is_zero, in_high = leading_zeros(m, value[low_bits:], low + low_bits)
    low_is_zero, in_low = leading_zeros(m, value[:low_bits], low)
    padded = in_low + [Const(0)] * (len(in_high) - len(in_low))
    count = [Mux(high_is_zero, under, over) for under, over in zip(padded, in_high, strict=True)]
    is_zero = Signal(name=f"zero_{low + len(value) - 1}_{low}")
    m.d.comb += is_zero.eq(high_is_zero & low_is_zero)
    return is_zero, [*count, high_is_zero]
