"""At which stage a mistake parts from the model, on one case: where to look in a design that nobody sees into."""

from __future__ import annotations

from collections.abc import Iterator

from hwsim.cases.case import Case, term_scales
from hwsim.explain.candidate import Candidate, filled
from hwsim.explain.mistakes.flawed import flawed_definition
from hwsim.formats import Fields
from hwsim.model.definition import definition_of
from hwsim.model.hooks import passed
from hwsim.model.record import Explanation, Group
from hwsim.model.terms import Term
from hwsim.spec import Unit

Compared = tuple[str, str, object, object]


def first_parting(unit: Unit, candidate: Candidate, case: Case) -> str:
    """The first stage of a case at which a design of that candidate leaves the model, in words: `align, lane 3: ...`.

    `result` where it differs in no stage before. Empty where it never does.
    """
    flaw = candidate.flaw
    filled_case = filled(candidate.unit, case, candidate.unit.instruction.fill)  # its groups may be longer
    taken = passed(flaw.case, filled_case, candidate.unit, None)
    flawed = flawed_definition(candidate.unit, flaw)
    flawed_record = flawed.dot(taken.a, taken.b, taken.c, *term_scales(candidate.unit, taken))
    model = definition_of(unit).dot(case.a, case.b, case.c, *term_scales(unit, case))
    for where, stage, expected, got in _compared(model, flawed_record):
        if expected != got:
            return f"{stage}, {where}: expected {expected}, got {got}"
    code = passed(flaw.code, flawed_record.code, candidate.unit, filled_case)
    return "" if code == model.code else f"result: expected {model.code:#x}, got {code:#x}"


def _compared(model: Explanation, other: Explanation) -> Iterator[Compared]:
    for index, (group, flawed) in enumerate(zip(model.groups, other.groups, strict=False)):
        beat = f"beat {index}, " if len(model.groups) > 1 else ""
        for stage, place, expected, got in _stages(group, flawed):
            yield f"{beat}{place}", stage, expected, got
        for stage, added, others in (
            ("promotion", model.promotions, other.promotions),
            ("late addend", model.additions, other.additions),
        ):
            if index in added and index in others:
                yield f"{beat}code", stage, hex(added[index].code), hex(others[index].code)


def _stages(group: Group, other: Group) -> Iterator[Compared]:
    """The stages of a group in the order of the datapath, each lane on its own."""
    for side, factors, others in (("a", group.a, other.a), ("b", group.b, other.b)):
        for lane, (factor, flawed) in enumerate(zip(factors, others, strict=False)):
            yield "decode", f"{side}, lane {lane}, sign exp sig", _factor(factor), _factor(flawed)
    for lane, (term, flawed_term) in enumerate(zip(group.products, other.products, strict=False)):
        yield "multiply", f"lane {lane}, sign exp sig", _term(term), _term(flawed_term)
    yield "maximum", "max_exp", group.max_exp, other.max_exp
    yield "align", "fraction bits of the window", group.fraction_bits, other.fraction_bits
    for lane, (aligned, flawed_aligned) in enumerate(zip(group.aligned, other.aligned, strict=False)):
        yield "align", "addend" if lane == len(group.products) else f"lane {lane}", aligned, flawed_aligned
    for step, flawed_step in zip(group.steps, other.steps, strict=False):
        yield "add", f"addition {step.name}", hex(step.code), hex(flawed_step.code)
    yield "sum", "total", group.total, other.total
    yield "round", "code", hex(group.code), hex(other.code)


def _factor(factor: Fields) -> tuple[object, ...]:
    return (factor.sign, factor.exp if factor.sig else None, factor.sig) if factor.sig else (factor.sign, factor.cls)


def _term(term: Term) -> tuple[object, ...]:
    return (term.sign, term.exp, term.sig) if term.sig else (term.sign, term.cls)
