"""Promotion: a partial sum is added into a register of its own format."""

from __future__ import annotations

from typing import NamedTuple

from hwsim.formats import FloatFormat, Format, unpack
from hwsim.model.addition import add
from hwsim.model.terms import Term, addend_term, product
from hwsim.spec import Unit
from hwsim.spec.keys import Number, Rounding


class Promoted(NamedTuple):
    """One addition into the promotion register: the codes of its operands and of its result.

    scale: the product of both scales that the partial sum is multiplied by, a code of the promotion's format, or None.
    """

    register: int
    partial: int
    code: int
    scale: int | None = None


class Promoter(NamedTuple):
    """How a partial sum is promoted.

    format, rounding: of the register. groups: between promotions. partial, addend: the formats of a group's result and
    of the addend, None for none. scales: the formats of scales that enter here, None for none.
    """

    format: FloatFormat
    rounding: Rounding
    groups: int
    partial: Number
    addend: Number | None
    scales: tuple[Format, Format] | None

    def start(self, c: int) -> int:
        """The register's code for an addend c."""
        if self.addend is None:
            return 0
        return c if self.addend == self.format else add(self.format, (addend_term(self.addend, c),), self.rounding)

    def promote(self, register: int, partial: int, scales: tuple[int, int] | None = None) -> Promoted:
        """register + partial, or register + partial * scale, rounded to the promotion format.

        register: a code of the promotion format. partial: a code of the result format. scales: codes of both operands'
        scales, whose product is first rounded to the promotion format.
        """
        before = addend_term(self.format, register)
        if scales is None or self.scales is None:
            added, scale = addend_term(self.partial, partial), None
        else:
            scale = self.scale(*self.scales, *scales)
            added = self.scaled(partial, scale)
        return Promoted(register, partial, add(self.format, (before, added), self.rounding), scale)

    def scaled(self, partial: int, scale: int) -> Term:
        """A partial sum times a code of the promotion format, exactly."""
        bits = self.partial.fraction_bits + self.format.fraction_bits
        return product(unpack(self.partial, partial), unpack(self.format, scale), bits)

    def scale(self, format_a: Format, format_b: Format, a: int, b: int) -> int:
        """The product of two scales' codes, rounded to the promotion format."""
        return add(self.format, (self.scales_product(format_a, format_b, a, b),), self.rounding)

    def scales_product(self, format_a: Format, format_b: Format, a: int, b: int) -> Term:
        """The product of two scales' codes, exactly."""
        return product(unpack(format_a, a), unpack(format_b, b), format_a.fraction_bits + format_b.fraction_bits)


def promoter_of(unit: Unit) -> Promoter | None:
    """How a unit promotes; None where it does not."""
    rule, scale = unit.promotion, unit.scale
    if rule is None:
        return None
    scales = (scale.a.format, scale.b.format) if scale is not None and scale.at == "promotion" else None
    groups = rule.interval // unit.instruction.lanes
    return Promoter(rule.format, rule.rounding, groups, unit.result.format, unit.operands.addend, scales)
