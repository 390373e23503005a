"""Wrong results for a report: codes and operands decoded, the model's explanation, kinds with what explains them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import fields
from fractions import Fraction
from itertools import pairwise
from typing import Any

from hwsim.cases.case import Case, block_lengths, term_scales
from hwsim.explain import microscope
from hwsim.explain.candidate import filled
from hwsim.explain.diagnosis import Diagnosis
from hwsim.explain.explained import Explained
from hwsim.explain.record import CodeReading, Element, FaultKind, KnownCause, Mismatch, Operand
from hwsim.explain.stages import ExplanationJson, explanation, number_text
from hwsim.formats import FloatFormat, Format
from hwsim.model.definition import definition_of
from hwsim.spec import Unit


def number(fmt: Format, code: int) -> tuple[str, str]:
    """A code in all its digits, and its value; a negative code is one that nobody knows."""
    digits = f"{code:#0{2 + -(-fmt.container_bits // 4)}x}" if code >= 0 else "unknown"
    try:
        value = fmt.decode(code).item()
    except ValueError:
        return digits, f"no code of {fmt.name}"
    return digits, number_text(value) if isinstance(value, Fraction) else f"{value:.9g}"


def reading(fmt: Format, code: int) -> CodeReading:
    """A code with its value and its fields."""
    digits, value = number(fmt, code)
    return CodeReading(code=digits, value=value, fields=_fields(fmt, code))


def _fields(fmt: Format, code: int) -> tuple[str, ...]:
    if not 0 <= code < 1 << fmt.container_bits:
        return ()
    bits = f"{code:0{fmt.container_bits}b}"
    if not isinstance(fmt, FloatFormat):
        return (bits,)
    # A container may be wider than the format: padding is below its fraction.
    exponent = len(bits) - fmt.padding - fmt.fraction_bits
    first = exponent - fmt.exponent_bits
    ends = [0, first, exponent, len(bits) - fmt.padding, len(bits)]
    return tuple(bits[start:end] for start, end in pairwise(ends) if end > start)


def ulps(fmt: Format, got: int, expected: int) -> int | None:
    """The distance of a code from the expected one, in ulp of the format; None where that has no meaning."""
    if not isinstance(fmt, FloatFormat):
        return None
    places = []
    for code in (got, expected):
        if code < 0 or code & ((1 << fmt.padding) - 1):
            return None
        bare = code >> fmt.padding
        if fmt.is_nan(bare) or bare & (fmt.sign_bit - 1) == fmt.infinity_magnitude:
            return None
        magnitude = bare & (fmt.sign_bit - 1)
        places.append(-magnitude if bare & fmt.sign_bit else magnitude)
    return places[0] - places[1]


def operand(name: str, fmt: Format, codes: Sequence[int]) -> Operand:
    """A vector of codes, decoded, without its zeros."""
    elements = []
    for index, code in enumerate(codes):
        if code:
            digits, value = number(fmt, code)
            elements.append(Element(index=index, code=digits, value=value))
    return Operand(name=name, format=fmt.name, length=len(codes), elements=tuple(elements))


def scalar(name: str, fmt: Format, code: int) -> Operand:
    """One code, decoded, be it zero."""
    digits, value = number(fmt, code)
    return Operand(name=name, format=fmt.name, length=0, elements=(Element(index=0, code=digits, value=value),))


def case_operands(unit: Unit, case: Case) -> tuple[Operand, ...]:
    """The operands of a case, decoded."""
    operands = [operand("a", unit.operands.a, case.a), operand("b", unit.operands.b, case.b)]
    if unit.operands.addend is not None:
        operands.append(scalar("c", unit.operands.addend, case.c))
    if unit.scale is not None:
        operands.append(operand("scale_a", unit.scale.a.format, case.scale_a))
        operands.append(operand("scale_b", unit.scale.b.format, case.scale_b))
    return tuple(operands)


def explained_case(unit: Unit, case: Case) -> Explained:
    """A case with every stage's integers.

    Its length may be any that the unit's ports take: a sum may end inside a block that shares a scale.
    """
    whole = filled(unit, case, unit.instruction.fill)
    record = definition_of(unit).dot(whole.a, whole.b, whole.c, *term_scales(unit, whole), len(case.a))
    return Explained(**{part.name: getattr(record, part.name) for part in fields(record)})


def case_explanation(unit: Unit, case: Case, group: int | None = None) -> ExplanationJson:
    """The model's explanation of a case. group: the sum that matters most, if one does."""
    return explanation(explained_case(unit, case), group)


def explain_command(unit: Unit, called: str, case: Case) -> str:
    """The command that shows every stage of a case; empty for one that ends inside a block, which no command takes.

    called: the unit's name or path.
    """
    if unit.scale is not None and any(len(case.a) % length for length in block_lengths(unit)):
        return ""
    words = ["hwsim", "explain", called, "--a", _codes(case.a), "--b", _codes(case.b)]
    if unit.operands.addend is not None:
        words += ["--c", hex(case.c)]
    if unit.scale is not None:
        words += ["--scale-a", _codes(case.scale_a), "--scale-b", _codes(case.scale_b)]
    if case.metadata:
        words += ["--metadata", ",".join(map(str, case.metadata))]
    return shlex.join(words)


def _codes(codes: Sequence[int]) -> str:
    return ",".join(map(hex, codes))


def microscope_case(unit: Unit, case: Case, got: int | None = None) -> str:
    """A case as the text behind the `#` of the microscope's address; empty where `explain_command` is.

    got: the code of a design's result, if there is one.
    """
    if not explain_command(unit, unit.name, case):
        return ""
    codes = {"a": case.a, "b": case.b}
    if unit.scale is not None:
        codes |= {"scale_a": case.scale_a, "scale_b": case.scale_b}
    lists = {name: [int(code) for code in values] for name, values in codes.items()}
    addend = None if unit.operands.addend is None else int(case.c)
    returned = None if got is None or got < 0 else got
    return microscope.case(unit, {**lists, "c": addend, "got": returned})


def wrong_result(unit: Unit, case: Case, expected: int, got: int | CodeReading, **other_fields: Any) -> Mismatch:
    """A result that is not the expected one. got: a code, or in words why there is none.

    said: other fields of Mismatch, its suite and driver among them.
    """
    return Mismatch(
        unit=unit.name,
        case=case.id,
        operands=case_operands(unit, case),
        format=unit.output.name,
        expected=reading(unit.output, expected),
        got=got if isinstance(got, CodeReading) else reading(unit.output, got),
        ulp=None if isinstance(got, CodeReading) else ulps(unit.output, got, expected),
        explanation=case_explanation(unit, case),
        microscope=microscope_case(unit, case, None if isinstance(got, CodeReading) else got),
        **other_fields,
    )


def fault_kinds(diagnosis: Diagnosis, minimal: Sequence[Mismatch | None] = ()) -> tuple[FaultKind, ...]:
    """The kinds of wrong results of a diagnosis.

    minimal: the simplest case of each, in the same order; empty where there is none of any.
    """
    cases = minimal or [None] * len(diagnosis.kinds)
    return tuple(
        FaultKind(
            wrong=len(kind.members),
            of=diagnosis.wrong,
            causes=tuple(
                KnownCause(name=cause.name, description=cause.description, right=tried, of=tried)
                for cause in kind.causes
                for tried in [len(kind.members) + cause.agrees]
            ),
            facts=kind.facts,
            minimal=case,
        )
        for kind, case in zip(diagnosis.kinds, cases, strict=True)
    )
