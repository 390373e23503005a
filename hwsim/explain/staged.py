"""The record of a dot product as JSON: every stage of every group.

`hwsim explain --json` writes it, and the microscope shows it. Integers that have no bound, significands and sums, are
decimal text: JSON's numbers end at 53 bits for most readers. Codes are hexadecimal text, as wide as their containers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from hwsim.explain.stages import code_text, picture, value_text
from hwsim.formats import Fields, Format
from hwsim.model.late import Added, LateWindow, Promoted
from hwsim.model.record import Explanation, Group
from hwsim.model.scales import Subgroup
from hwsim.model.terms import AlignedTerms, Term

Json = dict[str, Any]

SCHEMA = "hwsim-explain/1"


def staged(record: Explanation) -> Json:
    """The record, with all of its groups."""
    unit, addend = record.unit, record.unit.operands.addend
    return {
        "schema": SCHEMA,
        "unit": unit.name,
        "k": record.k,
        "groups": [_group(record, group) for group in record.groups],
        "c": None if addend is None else _number(addend, record.c),
        "result": _number(unit.output, record.code),
    }


def _group(record: Explanation, group: Group) -> Json:
    unit, operands = group.unit, group.unit.operands
    promoted, added, halves, window = (
        record.promotions.get(group.index), record.additions.get(group.index), group.halves, picture(group),
    )  # fmt: skip
    return {
        "index": group.index,
        "indices": list(group.indices),
        "used": group.used,
        "a": _factors(operands.a, group.codes_a, group.a),
        "b": _factors(operands.b, group.codes_b, group.b),
        "scale_exp": list(group.scale_exp),
        "products": [_term(term) for term in group.products],
        "subgroups": [_subgroup(part) for part in group.subgroups],
        "addend": None if group.addend is None else {
            "given": _number(group.addend_format, group.addend_code),
            "carried": group.carried,
            "term": _term(group.addend),
        },
        "special": None if group.special is None else _term(group.special),
        "halves": None if halves is None else {
            "even": _aligned(halves.even), "odd": _aligned(halves.odd), "both": _aligned(halves.combined),
        },
        "steps": [
            {
                "name": step.name,
                "terms": [_term(term) for term in step.terms],
                "sum": _number(unit.sum.format, step.code),  # type: ignore[union-attr]
            }
            for step in group.steps
        ],
        "max_exp": group.max_exp,
        "fraction_bits": group.fraction_bits,
        "aligned": [str(number) for number in group.aligned],
        "total": str(group.total),
        "unit_exp": group.unit_exp,
        "uncut": None if group.uncut is None else str(group.uncut),
        "sticky": group.sticky,
        "result": _number(unit.result.format, group.code),
        "rounded": {
            "exp": group.rounded.exp,
            "overflow": group.rounded.overflow,
            "inexact": group.rounded.inexact,
            "tiny": group.rounded.tiny,
        },
        "promotion": None if promoted is None else _promotion(record, promoted),
        "late": None if added is None else _late(record, added),
        "window": None if window is None else asdict(window),
    }  # fmt: skip


def _number(fmt: Format, code: int) -> Json:
    return {"format": fmt.name, "code": code_text(fmt, code), "value": value_text(fmt, code)}


def _factors(fmt: Format, codes: Iterable[int], factors: Iterable[Fields]) -> list[Json]:
    pairs = zip(codes, factors, strict=True)
    return [{"given": _number(fmt, code), "multiplied": _fields(term)} for code, term in pairs]


def _fields(fields: Fields) -> Json:
    return {"sign": fields.sign, "exp": fields.exp, "sig": str(fields.sig), "class": fields.cls.value}


def _term(term: Term) -> Json:
    kept = {"sign": term.sign, "exp": term.exp, "sig": str(term.sig), "fraction_bits": term.fraction_bits}
    return {**kept, "class": term.cls.value}


def _aligned(window: AlignedTerms) -> Json:
    return {
        "max_exp": window.max_exp,
        "fraction_bits": window.fraction_bits,
        "aligned": [str(number) for number in window.aligned],
        "total": str(window.total),
    }


def _subgroup(part: Subgroup) -> Json:
    return {
        "total": str(part.total),
        "unit_exp": part.unit_exp,
        "scale_a": None if part.scale_a is None else _fields(part.scale_a),
        "scale_b": None if part.scale_b is None else _fields(part.scale_b),
        "term": _term(part.term),
        "window": None if part.kept is None else _aligned(part.kept),
    }


def _promotion(record: Explanation, promoted: Promoted) -> Json:
    unit = record.unit
    register, scaling = unit.output, unit.scaled_promotion
    first = None if scaling is None or promoted.first is None else _number(scaling.first[1][1], promoted.first)
    scale = None if scaling is None or promoted.scale is None else _number(scaling.then[1][1], promoted.scale)
    return {
        "register": _number(register, promoted.register),
        "partial": _number(unit.result.format, promoted.partial),
        "first": first,
        "scaled": None if promoted.scaled is None else _number(register, promoted.scaled),
        "scale": scale,
        "result": _number(register, promoted.code),
    }


def _late(record: Explanation, added: Added) -> Json:
    unit = record.unit
    return {
        "addend": _number(added.addend_format, added.addend),
        "partial": _number(unit.result.format, added.partial),
        "window": None if added.window is None else _late_window(added.window),
        "result": _number(unit.output, added.code),
    }


def _late_window(window: LateWindow) -> Json:
    return {
        "max_exp": window.max_exp,
        "fraction_bits": window.fraction_bits,
        "kept_sum": str(window.kept_sum),
        "kept_addend": str(window.kept_addend),
        "dropped": window.dropped,
        "cut": window.cut,
        "total": str(window.total),
        "unit_exp": window.unit_exp,
    }
