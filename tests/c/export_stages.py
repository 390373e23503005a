"""The model's stages, held against those of an exported header."""

from __future__ import annotations

from typing import Any

from c.export_library import Library, Rows
from model.model_units import Case

from hwsim.compute.c import UnitInC
from hwsim.formats import Class, FloatFormat
from hwsim.formats.blocks import one_code
from hwsim.model.definition import definition_of
from hwsim.model.record import Group
from hwsim.model.terms import Term

CLASSES = (Class.ZERO, Class.SUBNORMAL, Class.NORMAL, Class.INFINITY, Class.NAN)
NO_EXP = -32768


def differences(library: Library, case: Case) -> list[str]:
    """What of a dot product's stages is not the model's."""
    unit, plan = library.unit, library.plan
    fill = -len(case.a) % unit.instruction.fill
    scales: list[list[int]] = []
    if unit.scale is not None:
        for side, length, codes in zip(
            (unit.scale.a, unit.scale.b), plan.scale_blocks, (case.scale_a, case.scale_b), strict=True
        ):
            scales.append([codes[i // length] for i in range(len(case.a))] + [one_code(side.format)] * fill)
    definition = definition_of(unit)
    made = definition.dot([*case.a, *[0] * fill], [*case.b, *[0] * fill], case.c, *scales)
    rows, found = library.stages(case.a, case.b, case.c, case.scale_a, case.scale_b), []
    result = definition._input(case.c)
    for index, group in enumerate(made.groups):
        found += [f"group {index}: {text}" for text in _group(plan, group, rows)]
        if index in made.promotions:
            result = made.promotions[index].code
        elif index in made.additions:
            result = made.additions[index].code
        elif unit.promotion is None and unit.late is None:
            result = group.code
        got = rows.take()
        complete = unit.promotion is None or (index + 1) % (unit.promotion_beats or 1) == 0
        if complete and got != result:
            found.append(f"after group {index}: result {got:#x}, not {result:#x}")
    got = rows.take()
    return found + [f"result {got:#x}, not {made.code:#x}"] * (got != made.code)


def _group(plan: UnitInC, group: Group, rows: Rows) -> list[str]:
    found: list[str] = []

    def same(what: str, got: Any, want: Any) -> None:
        if got != want:
            found.append(f"{what} {got}, not {want}")

    for lane, term in enumerate(group.products):
        same(
            f"product {lane}",
            _seen(term, rows.take(), rows.take(), rows.take(), rows.take(), term.fraction_bits),
            _term(term),
        )
    for index, part in enumerate(group.subgroups):
        cls, sign, exp, sig, total = rows.take(), rows.take(), rows.take(), rows.wide(), rows.wide()
        same(f"subgroup {index}", _seen(part.term, cls, sign, exp, sig, plan.group.part_bits or 0), _term(part.term))
        places = 0 if plan.group.part_exp is None else part.unit_exp - plan.group.part_exp
        same(f"subgroup {index}: total", total, _shifted(part.total, places))
    special = 0 if group.special is None else CLASSES.index(group.special.cls)
    same("special", rows.take(), special)
    sign = rows.take()
    if group.special is not None and group.special.cls is Class.INFINITY:
        same("special_sign", sign, group.special.sign)
    if plan.group.terms:
        same("max_exp", rows.take(), _exp(group.max_exp))
        aligned = [rows.wide() for _ in range(plan.group.terms)]
        same("aligned", aligned, [*group.aligned, *[0] * (len(aligned) - len(group.aligned))])
    if plan.integer_bits and not plan.group.steps:
        total = group.total
        if plan.group.template == "exact" and group.unit_exp is not None:
            total = _shifted(total, group.unit_exp - (plan.group.unit_exp or 0))
        same("total", rows.wide(), total)
    if plan.group.template == "even_odd":
        _halves(group, rows, same)
    if plan.group.steps:
        steps = [rows.take() for _ in range(plan.group.steps)]
        same("steps", steps[: len(group.steps)], [step.code for step in group.steps])
    rounded = group.rounded
    same("code", rows.take(), rounded.code)
    same("overflow", rows.take(), int(rounded.overflow))
    inexact, tiny = rows.take(), rows.take()
    fmt = plan.u.result.format
    if isinstance(fmt, FloatFormat) and fmt.subnormals:
        same("inexact", inexact, int(rounded.inexact))
        same("tiny", tiny, int(rounded.tiny))
    return found


def _halves(group: Group, rows: Rows, same: Any) -> None:
    halves = group.halves
    for index, name in enumerate(("even", "odd")):
        exp, total, kept = rows.take(), rows.wide(), rows.wide()
        same(f"{name}.max_exp", exp, _exp(halves[index].max_exp if halves else None))
        same(f"{name}.total", total, halves[index].total if halves else 0)
        same(f"kept_{name}", kept, halves.combined.aligned[index] if halves else 0)


def _shifted(total: int, places: int) -> int:
    """A sum in another unit; a zero term may have brought a unit below that of every number."""
    return total << places if places >= 0 else total >> -places


def _exp(exp: int | None) -> int:
    return NO_EXP if exp is None else exp


def _term(term: Term) -> tuple[Any, ...]:
    """What of a term means something: a NaN has no sign, and only numbers have an exponent and a significand."""
    if term.cls is Class.NAN:
        return (term.cls,)
    if term.cls is Class.INFINITY:
        return term.cls, term.sign
    return term.cls, term.sign, term.exp, term.sig, term.fraction_bits


def _seen(like: Term, cls: int, sign: int, exp: int, sig: int, fraction_bits: int) -> tuple[Any, ...]:
    shift = fraction_bits - like.fraction_bits
    if CLASSES[cls] is Class.NORMAL and shift:
        # The same number in units of another size.
        if shift > 0 and sig % (1 << shift) == 0:
            sig, fraction_bits = sig >> shift, like.fraction_bits
        elif shift < 0:
            sig, fraction_bits = sig << -shift, like.fraction_bits
    elif shift:
        fraction_bits = like.fraction_bits
    return _term(Term(sign, exp, sig, fraction_bits, CLASSES[cls]))
