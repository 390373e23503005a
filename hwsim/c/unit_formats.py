"""The formats of a unit, as the templates see them: identifiers, types, and what makes a code NaN."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from hwsim.c.names import format_names
from hwsim.c.ranges import span_of
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.spec import RoundedSum, Unit


def code_type(fmt: Format) -> str:
    """The type of C that holds a code."""
    return f"uint{8 if fmt.container_bits <= 8 else 16 if fmt.container_bits <= 16 else 32}_t"


def is_nan(fmt: Format) -> str:
    """What makes a code NaN, as an expression of C; empty where nothing does."""
    if isinstance(fmt, FixedFormat) or not fmt.has_nan:
        return ""
    if isinstance(fmt, ExponentFormat):
        code, top = f"(code & 0x{(1 << fmt.bits) - 1:X}u)", (1 << fmt.bits) - 1
        ends = [f"{code} < 0x{fmt.min_code:X}u"] * (fmt.min_code > 0)
        return " || ".join([*ends, *[f"{code} > 0x{fmt.max_code:X}u"] * (fmt.max_code < top)])
    # All codes above the largest number except infinity are NaN, and possibly negative zero's.
    last = fmt.max_magnitude if fmt.infinity_magnitude is None else fmt.infinity_magnitude
    conditions = [f"magnitude > 0x{last:X}u"] * (last < fmt.sign_bit - 1)
    if fmt.signed and fmt.is_nan(fmt.sign_bit):
        shifted = f"code >> {fmt.padding}" if fmt.padding else "code"
        conditions.append(f"({shifted} & 0x{2 * fmt.sign_bit - 1:X}u) == 0x{fmt.sign_bit:X}u")
    return " || ".join(conditions)


class NamedFormat(NamedTuple):
    """A format, its identifier, and what makes a code NaN."""

    fmt: Format
    name: str
    nan: str

    @property
    def title(self) -> str:
        """The format's name and summary."""
        return f"{self.fmt.name}{': ' if self.fmt.summary else ''}{self.fmt.summary}"


class UnitFormats:
    """The formats of a unit. formats: each once. encoded: the inputs' formats, which numbers are rounded to."""

    def __init__(self, unit: Unit):
        self.u = unit
        operands, scale = unit.operands, unit.scale
        inputs = [operands.a, operands.b, operands.addend, *([scale.a.format, scale.b.format] if scale else [])]
        own = unit.sum.format if isinstance(unit.sum, RoundedSum) else None
        formats = [*inputs, own, unit.result.format, unit.output]
        self.names = format_names(fmt for fmt in formats if fmt is not None)
        self.formats = [NamedFormat(fmt, name, is_nan(fmt)) for fmt, name in self.names.items()]
        self.encoded = [fmt for fmt in self.formats if fmt.fmt in inputs]
        self.floats = [named for named in self.formats if isinstance(named.fmt, FloatFormat)]

    def encodes(self, kind: str) -> bool:
        """Whether numbers are encoded to a format of a kind."""
        return any(named.fmt.kind == kind for named in self.encoded)

    def is_float(self, name: str) -> bool:
        """Whether the format with an identifier is a float."""
        return any(named.name == name for named in self.floats)

    def _bare(self, underflow: str) -> bool:
        formats = (named.fmt for named in self.floats)
        return any(not fmt.subnormals and fmt.underflow == underflow for fmt in formats)  # type: ignore[union-attr]

    @cached_property
    def bare_zero(self) -> bool:
        """Whether any format has no subnormals, and rounds numbers below its least to zero."""
        return self._bare("zero")

    @cached_property
    def bare_nearby(self) -> bool:
        """Whether any format has no subnormals, and rounds numbers below its least to a neighbour."""
        return self._bare("nearby")

    @property
    def bare(self) -> bool:
        """Whether any format has no subnormals."""
        return self.bare_zero or self.bare_nearby

    @property
    def subnormal_f64(self) -> bool:
        """Whether any number is so small that it is subnormal in binary64."""
        return any(span_of(named.fmt).least_exp < -1022 for named in self.formats)

    def _name(self, fmt: Format | None) -> str:
        return "" if fmt is None else self.names[fmt]

    @property
    def addend(self) -> str:
        """The addend's format."""
        return self._name(self.u.operands.addend)

    @property
    def result(self) -> str:
        """The format of a group's result."""
        return self._name(self.u.result.format)

    @property
    def output(self) -> str:
        """The format of what the unit returns."""
        return self._name(self.u.output)

    @property
    def sum_format(self) -> str:
        """The format of rounded additions."""
        return self._name(self.u.sum.format if isinstance(self.u.sum, RoundedSum) else None)

    @property
    def scale_a(self) -> str:
        """The format of a's scales."""
        return self._name(None if self.u.scale is None else self.u.scale.a.format)

    @property
    def scale_b(self) -> str:
        """The format of b's scales."""
        return self._name(None if self.u.scale is None else self.u.scale.b.format)

    @property
    def scale_fraction_bits(self) -> int:
        """Fraction bits of both scales together."""
        scale = self.u.scale
        return 0 if scale is None else scale.a.format.fraction_bits + scale.b.format.fraction_bits

    @property
    def terms(self) -> list[NamedFormat]:
        """The formats whose codes become terms: addends, partial sums, registers."""
        names = {self.addend, self.sum_format, self.result, self.output}
        return [fmt for fmt in self.formats if fmt.name in names]

    @property
    def result_float(self) -> bool:
        """Whether a group's result is a float."""
        return isinstance(self.u.result.format, FloatFormat)

    @property
    def convert(self) -> Format | None:
        """The format that factors are converted to, if any."""
        return self.u.operands.convert

    @property
    def factors(self) -> list[tuple[str, str, Format]]:
        """The factors: side, identifier of the format, format."""
        operands = self.u.operands
        return [(side, self.names[fmt], fmt) for side, fmt in (("a", operands.a), ("b", operands.b))]
