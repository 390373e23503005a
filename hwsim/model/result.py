"""The rounding of a group's sum to the unit's result."""

from __future__ import annotations

from functools import cached_property

from hwsim.errors import InputError
from hwsim.formats import Class, FixedFormat
from hwsim.model.rounding import Rounded, infinity_code, pack, round_fixed, round_to, with_sticky
from hwsim.model.terms import Term
from hwsim.spec.parts import ResultRule


class ResultRounding:
    """How a sum is rounded to a unit's result, and what NaN and infinity become there."""

    def __init__(self, rule: ResultRule):
        self.rule = rule

    def total(self, total: int, unit_exp: int | None, sign: int = 0, sticky: bool = False) -> Rounded:
        """total * 2^unit_exp, rounded. sign: of a sum of zero; unit_exp None is one too.

        sticky: its magnitude is more than that by less than any place that the rounding looks at; not of a sum of zero.
        """
        rule, fmt = self.rule, self.rule.format
        if sticky and total != 0 and unit_exp is not None:
            total, unit_exp = with_sticky(total, unit_exp, fmt)
        negative = int(total < 0)
        if isinstance(fmt, FixedFormat):
            if total == 0 or unit_exp is None:
                return Rounded(0, None)
            return round_fixed(fmt, negative, abs(total), unit_exp, rule.rounding, rule.overflow)
        if total == 0 or unit_exp is None:
            return Rounded(pack(fmt, sign & fmt.signed_zero, 0), None)
        rounded = round_to(fmt, negative, abs(total), unit_exp, rule.rounding, rule.overflow, rule.tiny, rule.flushes)
        return rounded._replace(code=self._own(rounded.code))

    def term(self, term: Term, sticky: bool) -> Rounded:
        """A sum as a term, rounded. sticky: as in `total`."""
        if term.cls in (Class.NAN, Class.INFINITY):
            return self.special(term)
        return self.total(term.integer, term.exp - term.fraction_bits, term.sign, sticky)

    def special(self, term: Term) -> Rounded:
        """The result of a sum that is NaN or infinite. Raises ValueError for a fixed format, which has neither."""
        fmt = self.rule.format
        if isinstance(fmt, FixedFormat):
            raise InputError(f"{fmt.name} has neither NaN nor infinity")
        if term.cls is Class.NAN:
            return Rounded(self.nan, None)
        return Rounded(self._own(infinity_code(fmt, term.sign, self.rule.overflow)), None)

    def _own(self, code: int) -> int:
        """A code, in the place of the format's NaN that which the unit returns."""
        return self.nan if code == self.rule.format.canonical_nan else code

    @cached_property
    def nan(self) -> int:
        """The container's code of a result that is NaN; 0 for a format without one."""
        rule, fmt = self.rule.nan, self.rule.format
        if isinstance(rule, int):
            return rule
        return 0 if isinstance(fmt, FixedFormat) or fmt.canonical_nan is None else fmt.canonical_nan
