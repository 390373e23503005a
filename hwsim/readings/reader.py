"""The results of a unit by one of the 40 readings, in integers, by the model's own stages."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.formats import Class
from hwsim.model.addition import add, combine_specials, exact_sum
from hwsim.model.definition import Definition, GroupOperands
from hwsim.model.method import sum_zero_sign
from hwsim.model.terms import Term, addend_term
from hwsim.model.window import cut_magnitude, window
from hwsim.readings.changes import changed
from hwsim.readings.readings import TO_SPEC, Reading, aligned_rule
from hwsim.spec import LateAdd, Unit


def read_unit(unit: Unit, reading: Reading) -> Unit:
    """The unit that a reading follows: `unit`, with its addend aligned or late as the reading has it.

    Where a unit returns another format than its groups', such a reading rounds to the format that the unit returns.
    Raises ValueError for a unit of another method than `aligned`.
    """
    aligned_rule(unit)
    unit = changed(unit, {"sum": {"lost": TO_SPEC.get(reading.lost, "truncate")}})
    if isinstance(unit.late, LateAdd) and reading.late and reading.two:
        return unit
    if unit.late is not None:
        late = unit.model_dump(mode="json")["late"]
        result = {"format": late["format"]} if isinstance(unit.late, LateAdd) else {}
        aligned = {"sum": {"addend": "aligned"}, "instruction": {"start": "addend"}, "late": None, "result": result}
        unit = changed(unit, aligned)
    return _late(unit) if reading.late and late_of_instruction(unit) else unit


def late_of_instruction(unit: Unit) -> bool:
    """Whether the late addend is an instruction's; else it is the value that a group starts from.

    That is the sum so far, in a unit without an addend or with a promotion register.
    """
    return unit.operands.addend is not None and unit.promotion is None


def _late(unit: Unit) -> Unit:
    fmt = unit.model_dump(mode="json", exclude_unset=True)["result"]["format"]
    late = {"operation": "add", "format": fmt, "rounding": unit.result.rounding}
    return changed(unit, {"sum": {"addend": "late"}, "instruction": {"start": "zero"}, "late": late})


class Reader(Definition):
    """A unit's arithmetic by one reading.

    Raises ValueError for a unit of another method than `aligned`, and NotImplementedYet for what the model lacks.
    """

    def __init__(self, unit: Unit, reading: Reading):
        super().__init__(read_unit(unit, reading))
        self.reading, self.rule = reading, aligned_rule(self.unit)
        self._by_instruction = late_of_instruction(unit)

    def answer(
        self, a: Sequence[int], b: Sequence[int], c: int = 0, scale_a: Sequence[int] = (), scale_b: Sequence[int] = ()
    ) -> int:
        """The result code of a dot product; arguments as for `dot`."""
        unit, instruction, beats = self.unit, self.unit.instruction, self.unit.promotion_beats
        count = len(a) // instruction.lanes
        so_far, added = self.partial(0), None
        code, register = 0, self.promoter.start(c) if beats else 0
        for index in range(count):
            here = instruction.indices(index)
            scales = [[scale[i] for i in here] if unit.scale else () for scale in (scale_a, scale_b)]
            terms = self._terms([a[i] for i in here], [b[i] for i in here], *scales)
            start = self._start(index, so_far, c)
            ends = self.reading.late and index % instruction.groups == instruction.groups - 1
            if not self.reading.late:
                code = self._sum(terms, start)
            elif not self._by_instruction:
                code = self._sum_late(terms, None, start, start)
            elif ends:
                late = self._late_term(c, added)
                code = added = self._sum_late(terms, start, late, late)
            else:
                code = self._sum(terms, start)
            if added is None or not ends:
                so_far = self.partial(code)
            if beats and (index % beats == beats - 1 or index == count - 1):
                at = (index - index % beats) * instruction.lanes
                scaled = (scale_a[at], scale_b[at]) if self.promoter.scales else None
                register = self.promoter.promote(register, code, scaled).code
        return register if beats else code

    def _terms(
        self, a: Sequence[int], b: Sequence[int], scale_a: Sequence[int], scale_b: Sequence[int]
    ) -> tuple[Term, ...]:
        """The terms of a group's window, without its addend."""
        _, products, subgroups = self.multiply(GroupOperands(a, b, scale_a, scale_b))
        return tuple(part.term for part in subgroups) if subgroups else products

    def _start(self, index: int, so_far: Term, c: int) -> Term | None:
        """The value that a group starts from: +0, the addend, or the result of the group before."""
        restart = self.unit.restart
        if restart is not None and index % restart == 0:
            return self.partial(0)
        return so_far if index else self.addend(c)

    def _late_term(self, c: int, added: int | None) -> Term | None:
        """The late addend of an instruction: the unit's addend, or the result of the instruction before."""
        return self.addend(c) if added is None else addend_term(self.unit.output, added)

    def _zero_sign(self, terms: Sequence[Term]) -> int:
        """The sign of a sum of exactly zero."""
        return sum_zero_sign(terms, self.rule.zero, self.unit.result.rounding)

    def _window(self, terms: Sequence[Term], addend: Term | None) -> tuple[int, int | None]:
        """The sum of a window, as an integer and the exponent of its unit; None where every term is zero."""
        rule = self.rule
        if self.reading.leading:
            terms = [renormalised(term) for term in terms]
        every = terms if addend is None else (*terms, addend)
        if self.reading.lost == "exact":
            return exact_sum(every)
        bits = rule.fraction_bits
        aligned = window(every, bits, rule.lost, rule.zero_terms, rule.max_exp_floor)
        return aligned.total, None if aligned.max_exp is None else aligned.max_exp - bits

    def _sum(self, terms: tuple[Term, ...], start: Term | None) -> int:
        """A group's result with an aligned addend."""
        every = terms if start is None else (*terms, start)
        special = combine_specials(every)
        if special is not None:
            return self.rounding.special(special).code
        total, unit_exp = self._window(terms, start)
        if self.reading.two and not self.reading.late and unit_exp is not None:
            total, unit_exp = self._cut(total, unit_exp)
        return self.rounding.total(total, unit_exp, self._zero_sign(every)).code

    def _cut(self, total: int, unit_exp: int) -> tuple[int, int]:
        """A sum, cut to 1 + fraction_bits significant bits."""
        shift = abs(total).bit_length() - 1 - self.rule.fraction_bits
        if shift <= 0:
            return total, unit_exp
        lost = "truncate" if self.reading.lost == "exact" else self.rule.lost
        kept = cut_magnitude(abs(total), shift, int(total < 0), lost)
        return (-kept if total < 0 else kept), unit_exp + shift

    def _sum_late(self, terms: tuple[Term, ...], start: Term | None, late: Term | None, addend: Term | None) -> int:
        """A group's result with a late addend; `start` is aligned in its window."""
        inside = terms if start is None else (*terms, start)
        if late is None:
            return self._sum(terms, start)
        if self.reading.two:
            return self._add(late, self._sum(terms, start))
        special = combine_specials((*inside, late))
        if special is not None:
            return self.rounding.special(special).code
        total, unit_exp = self._window(terms, start)
        sum_term = Term(int(total < 0), unit_exp or 0, abs(total), 0, Class.NORMAL if total else Class.ZERO)
        both, unit_exp = exact_sum((sum_term, late) if total else (late,))
        return self.rounding.total(both, unit_exp, self._zero_sign((*terms, late))).code

    def _add(self, late: Term, partial: int) -> int:
        """late + partial, rounded as an addition of IEEE 754."""
        rule, fmt, rounding, flush = self.unit.late, self.result, self.unit.result.rounding, False
        if isinstance(rule, LateAdd):
            fmt, rounding, flush = rule.format, rule.rounding, rule.flush
        if flush and late.cls is Class.NORMAL and late.sig >> late.fraction_bits == 0:
            late = late._replace(sig=0, cls=Class.ZERO)
        code = add(fmt, (late, self.partial(partial)), rounding, flush)
        return self.unit.nan if code == fmt.canonical_nan else code


def renormalised(term: Term) -> Term:
    """A term renormalised, with the exponent of its leading one."""
    if term.cls is not Class.NORMAL:
        return term
    places = term.sig.bit_length() - 1 - term.fraction_bits
    return Term(term.sign, term.exp + places, term.sig, term.fraction_bits + places, term.cls)
