"""Compares formats: whether a format holds every number of another."""

from __future__ import annotations

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format


def holds(inner: Format, outer: FloatFormat) -> bool:
    """Whether `outer` has all numbers of `inner`, and its negative zero, infinities and NaN."""
    if isinstance(inner, FloatFormat) and inner.signed_zero and not outer.signed_zero:
        return False
    if (inner.infinities and not outer.infinities) or (inner.has_nan and not outer.has_nan):
        return False
    signed = not isinstance(inner, FloatFormat) or inner.signed
    return embeds(inner, outer) and (outer.signed or not signed)


def embeds(inner: Format, outer: Format) -> bool:
    """Whether `outer` has the magnitude of every finite number of `inner`."""
    if not isinstance(outer, FloatFormat) or isinstance(inner, ExponentFormat):
        return False
    quantum = _quantum(inner)
    if isinstance(inner, FixedFormat):
        # Magnitudes below 2^(bits - 1) in units of the quantum, and that power of two itself.
        fits, most = inner.bits - 1 <= outer.precision, (inner.integer_bits, 0)
    else:
        fits, most = inner.precision <= outer.precision, _most(inner)
    return fits and quantum >= _quantum(outer) and _reaches_down(inner, outer) and most <= _most(outer)


def _quantum(fmt: FloatFormat | FixedFormat) -> int:
    """The exponent of the power of two that every number is a multiple of."""
    return -fmt.fraction_bits if isinstance(fmt, FixedFormat) else fmt.emin - fmt.fraction_bits


def _most(fmt: FloatFormat) -> tuple[int, int]:
    """The largest number in a comparable form: its exponent, and its fraction in units of 2^-64."""
    return fmt.emax, (fmt.max_magnitude & ((1 << fmt.fraction_bits) - 1)) << 64 >> fmt.fraction_bits


def _reaches_down(inner: FloatFormat | FixedFormat, outer: FloatFormat) -> bool:
    """Whether `outer` reaches as far down as `inner`; without subnormals its least number is above 2^emin."""
    if outer.subnormals:
        return True
    if isinstance(inner, FloatFormat) and not inner.subnormals:
        return inner.emin >= outer.emin
    return _quantum(inner) > outer.emin
