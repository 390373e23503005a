"""Zeros above a leading one."""

from __future__ import annotations

from amaranth.hdl import Const, Mux, Value


def leading_zeros(value: Value) -> tuple[Value, list[Value]]:
    """Whether a value is zero; and if not, how many zeros stand above its leading one, the low bit first."""
    if len(value) == 1:
        return ~value, []
    low_bits = len(value) - (1 << (len(value) - 1).bit_length() - 1)
    high_is_zero, in_high = leading_zeros(value[low_bits:])
    low_is_zero, in_low = leading_zeros(value[:low_bits])
    padded = in_low + [Const(0)] * (len(in_high) - len(in_low))
    count = [Mux(high_is_zero, low, high) for low, high in zip(padded, in_high, strict=True)]
    return high_is_zero & low_is_zero, [*count, high_is_zero]
