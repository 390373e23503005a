"""Questions that a specification may leave open, with answers as changes of a unit.

The answers explain a design's results, and cases for GPUs are designed to tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from hwsim.explain.candidate import ADDEND_FIRST, IN_ONE_SUM, Candidate, Changes, Proposals, among
from hwsim.formats import FloatFormat
from hwsim.spec import AlignedSum, LateAdd, LateInWindow, RoundedSum, Unit, WindowSum
from hwsim.spec.keys import LOST, Rounding, lost_words
from hwsim.spec.rules import is_nan_code
from hwsim.spec.sums import ExactSubgroup

# Least max_exp that units have or may have: where the result's numbers end, and what generations of GPUs do.
FLOORS = {16: (-14, -19, -20, -21, -24), 32: (-126, -131, -132, -133, -139, -149)}


def addend(unit: Unit) -> Proposals:
    output = unit.output.name
    answers: dict[str, Changes] = {
        "aligned with the terms": {"sum": {"addend": "aligned"}, "instruction": {"start": "addend"}, "late": None}
    }
    formats = dict.fromkeys([unit.operands.addend.name if unit.operands.addend else output, unit.result.format.name])
    for fmt in formats:
        for rounding in ("rne", "rz"):
            late = {"operation": "add", "format": fmt, "rounding": rounding}
            answers[f"added late, {rounding} to {fmt}"] = {
                "sum": {"addend": "late"}, "instruction": {"start": "zero"}, "late": late,
            }  # fmt: skip
    return answers


def addend_bits(unit: Unit) -> Proposals:
    addend, result = unit.operands.addend, unit.result.format
    if not isinstance(addend, FloatFormat) or addend.fraction_bits <= result.fraction_bits:
        return {}
    return {"all its bits are aligned": {}, f"rounded to {result.name} first": {ADDEND_FIRST: result.name}}


def window(unit: Unit) -> Proposals:
    if not isinstance(unit.sum, WindowSum):
        return {}
    bits = unit.sum.fraction_bits
    return {f"{n} fraction bits": {"sum": {"fraction_bits": n}} for n in range(max(0, bits - 2), bits + 3)}


def lost(unit: Unit) -> Proposals:
    if not isinstance(unit.sum, WindowSum):
        return {}
    return {lost_words(rule).after: {"sum": {"lost": rule}} for rule in LOST}


def groups(unit: Unit) -> Proposals:
    k = unit.instruction.k
    answers: dict[str, Changes] = {}
    for lanes in (k, k // 2, k // 4):
        if lanes > 1:
            answers[f"{lanes} neighbours"] = {"instruction": {"lanes": lanes, "order": "sequential"}}
    orders = {
        "k mod 4 in {0, 1}, then {2, 3}": {"modulo": 4, "groups": [[0, 1], [2, 3]]},
        "even k, then odd k": {"modulo": 2, "groups": [[0], [1]]},
    }
    for name, order in orders.items():
        if k % 4 == 0:
            answers[name] = {"instruction": {"lanes": k // 2, "order": order}}
    return answers


def conversion(unit: Unit) -> Proposals:
    narrow = all(fmt.bits <= 8 for fmt in (unit.operands.a, unit.operands.b))
    as_they_are, through = {"operands": {"convert": None}}, {"operands": {"convert": "f16"}}
    return {"multiplied as they are": as_they_are, "converted to f16": through} if narrow else {}


def subnormals(unit: Unit) -> Proposals:
    return {"kept": {"operands": {"daz": False}}, "zero": {"operands": {"daz": True}}}


def zeros(unit: Unit) -> Proposals:
    if not isinstance(unit.sum, RoundedSum) and unit.sum.zero == "positive":
        return {}  # no sum has the sign of a zero
    return {"with their signs": {"operands": {"zeros": "signed"}}, "+0": {"operands": {"zeros": "positive"}}}


def cancelled(unit: Unit) -> Proposals:
    if unit.subgroup is None or not isinstance(unit.sum, AlignedSum):
        return {}
    rule = unit.subgroup.model_dump(mode="json")
    names = {"skip": "have no part in max_exp", "count": "count at the exponent that they have"}
    return {name: {"sum": {"subgroup": {**rule, "cancelled": setting}}} for setting, name in names.items()}


def low_addend(unit: Unit) -> Proposals:
    """What tcgen05-model and MMA-Sim contradict each other in, of NVFP4."""
    rule = unit.subgroup
    if not isinstance(rule, ExactSubgroup) or not isinstance(unit.sum, AlignedSum):
        return {}
    if (unit.sum.addend, unit.sum.zero_terms, unit.sum.zero) != ("aligned", "skip", "positive"):
        return {}  # beside these a low addend has no say
    keys, least = rule.model_dump(mode="json"), dict.fromkeys((None, rule.low_lanes, max(1, rule.lanes // 4)))
    names = {"count": "counts in max_exp", "skip": "has no part in max_exp"}
    return {
        f"{words}{f', beside sums of {lanes}' if lanes else ''}": {
            "sum": {"subgroup": {**keys, "low_lanes": lanes, "low_addend": setting}}
        }
        for lanes in least
        if lanes is None or rule.lanes % lanes == 0
        for setting, words in names.items()
        if lanes != rule.lanes and (setting, rule.cancelled) != ("skip", "skip")
    }


def late_window(unit: Unit) -> Proposals:
    late = unit.late
    if not isinstance(late, LateInWindow):
        return {}
    zero_addend = {"skip": "", "count": ", an addend of zero counts"}
    return {
        f"{bits} bits of the sum, {'all' if total is None else total} of the total{words}": {
            "late": {"sum_bits": bits, "total_bits": total, "zero_addend": zero}
        }
        for bits in range(max(0, late.sum_bits - 1), late.sum_bits + 2)
        for total in dict.fromkeys((None, late.total_bits, max(0, late.sum_bits - 1)))
        for zero, words in zero_addend.items()
    }


def zero_terms(unit: Unit) -> Proposals:
    if not isinstance(unit.sum, WindowSum):
        return {}
    names = {"skip": "has no part in max_exp", "count": "counts at its reference exponent"}
    return {name: {"sum": {"zero_terms": setting}} for setting, name in names.items()}


def floor(unit: Unit) -> Proposals:
    a, b = unit.operands.a, unit.operands.b
    if not isinstance(unit.sum, WindowSum) or not isinstance(a, FloatFormat) or not isinstance(b, FloatFormat):
        return {}
    floors = dict.fromkeys([a.emin + b.emin, *FLOORS.get(unit.result.format.container_bits, ())])
    return {"none": {"sum": {"max_exp_floor": None}}} | {
        f"{floor}": {"sum": {"max_exp_floor": floor}} for floor in floors
    }


def zero_sum(unit: Unit) -> Proposals:
    if isinstance(unit.sum, RoundedSum):
        return {}
    return {"+0": {"sum": {"zero": "positive"}}, "as IEEE 754": {"sum": {"zero": "ieee"}}}


def tiny(unit: Unit) -> Proposals:
    judged = {"keep": {"tininess": "result"}, "flush": {}} if unit.result.tininess != "result" else {}
    return {
        f"{kept}, {sign}": {"result": {"subnormals": subnormals, "tiny": tiny, **judged.get(subnormals, {})}}
        for subnormals, kept in (("keep", "kept"), ("flush", "flushed"))
        for tiny, sign in (("positive", "zero without a sign"), ("signed", "zero with the sign"))
    }


def overflow(unit: Unit) -> Proposals:
    settings = {"infinity": "infinity", "saturate": "the largest number", "nan": "NaN"}
    result = unit.result
    if isinstance(result.format, FloatFormat) and result.format.infinities:
        # To nearest, IEEE 754 has infinity; towards zero the largest number, but of infinities.
        if result.rounding not in ("rne", "rna"):
            settings["ieee"] = "as IEEE 754 has it"
        if result.rounding != "rz":
            settings["propagate"] = "the largest number, infinity where a term is infinite"
    return {name: {"result": {"overflow": setting}} for setting, name in settings.items()}


def nan(unit: Unit) -> Proposals:
    codes = {16: (0x7FFF, 0x7E00, 0xFE00, 0xFFFF), 32: (0x7FFFFFFF, 0x7FC00000, 0xFFC00000, 0xFFFFFFFF)}
    fmt = unit.result.format
    if not isinstance(fmt, FloatFormat):
        return {}
    usable = [code for code in codes.get(fmt.container_bits, ()) if is_nan_code(fmt, code)]
    return {f"{code:#x}": {"result": {"nan": "canonical" if code == fmt.canonical_nan else code}} for code in usable}


def special_codes(unit: Unit) -> Proposals:
    if unit.operands.convert is not None:
        return {}  # they are converted to a format that has them, too
    plain: dict[str, Any] = {}
    for side in ("a", "b"):
        fmt: Any = getattr(unit.operands, side)
        if isinstance(fmt, FloatFormat) and (fmt.has_nan or fmt.infinities) and not fmt.is_binary64:
            plain[side] = {**_plain(fmt), "name": f"{fmt.name}-without-specials", "nan": [], "infinities": False}
            plain[side].pop("canonical", None)
    changes = {"operands": {"a": _plain(unit.operands.a), "b": _plain(unit.operands.b)}}
    return {"NaN and infinity": changes, "numbers": {"operands": plain}} if plain else {}


def _plain(fmt: Any) -> Any:
    return fmt.model_dump(mode="json", exclude_unset=True)


def chain(unit: Unit) -> Proposals:
    if unit.instruction.order != "sequential" or unit.instruction.chain is None:
        return {}
    return {
        "each instruction's result is the next one's addend": {IN_ONE_SUM: 1},
        "2 instructions make one sum": {IN_ONE_SUM: 2},
        "4 instructions make one sum": {IN_ONE_SUM: 4},
    }


def result(unit: Unit) -> Proposals:
    result = unit.result.format
    if not isinstance(result, FloatFormat):
        return {}
    answers: dict[str, Changes] = {
        f"{rounding} to {result.name}": {"result": {"format": result.name, "rounding": rounding}}
        for rounding in ("rz", "rne", "rna")
    }
    for name in ("e8m13", "f32") if result.container_bits == 32 else ():
        if name != result.name:
            setting = {"format": name, "rounding": unit.result.rounding}
            answers[f"{unit.result.rounding} to {name}"] = {"result": setting}
    return answers


FLUSHED = {
    "result": "flushed as rounded among subnormals",
    "after": "flushed after rounding",
    "before": "flushed before rounding",
}
TOO_LARGE = {
    "infinity": "infinity",
    "saturate": "the largest number, of infinities too",
    "propagate": "the largest number",
    "nan": "NaN",
    "ieee": "what IEEE 754 has",
}


def _flushed(rounding: Rounding) -> Iterator[tuple[str, str]]:
    """The answers that are judged where subnormals become zero: one if nothing is rounded up to a power of two."""
    return islice(FLUSHED.items(), 1 if rounding in ("rz", "rto") else None)


def unasked(unit: Unit) -> Proposals:
    """Changes that are no question for GPUs, of which none is known to have them, by name."""
    changes: dict[str, Changes] = {}
    if isinstance(unit.sum, AlignedSum):
        changes[f"lost bits {lost_words('sticky').after}"] = {"sum": {"lost": "sticky"}}
    for tininess, words in _flushed(unit.result.rounding):
        changes[f"subnormal results {words}"] = {"result": {"subnormals": "flush", "tininess": tininess}}
    if isinstance(unit.late, LateAdd):
        changes["subnormals of late additions kept"] = {"late": {"flush": False, "tininess": "result"}}
        for tininess, words in _flushed(unit.late.rounding):
            changes[f"subnormals of late additions {words}"] = {"late": {"flush": True, "tininess": tininess}}
    if isinstance(unit.sum, RoundedSum):
        changes["subnormal sums kept"] = {"sum": {"flush": False, "tininess": "result"}}
        for tininess, words in _flushed(unit.sum.rounding):
            changes[f"subnormal sums {words}"] = {"sum": {"flush": True, "tininess": tininess}}
        for policy, words in TOO_LARGE.items():
            changes[f"overflow of sums gives {words}"] = {"sum": {"overflow": policy}}
    return changes


@dataclass(frozen=True)
class Question:
    """An open rule of a specification.

    answers: the answers by name, as changes of the unit as specified; none where the unit leaves nothing open.
    words: how an answer's name reads in a report.
    """

    name: str
    question: str
    answers: Callable[[Unit], Proposals]
    words: str

    def candidates(self, unit: Unit, base: Unit | None = None) -> tuple[Candidate, ...]:
        """The units of the answers: the first of equal units, and always the base itself.

        base: the unit to change, if other than the unit as specified.
        """
        return among(self.answers(unit), unit, base)


QUESTIONS = (
    Question("window", "How many bits of a term are kept below max_exp?", window, "{}"),
    Question("lost", "What happens to a term's bits below the window?", lost, "lost bits {}"),
    Question("result", "What is a group's sum rounded to, and how?", result, "result {}"),
    Question("groups", "Which products are summed together?", groups, "groups of {}"),
    Question("chain", "How does a longer K go on?", chain, "{}"),
    Question("conversion", "Are 8-bit factors multiplied as they are?", conversion, "factors {}"),
    Question("subnormals", "Do subnormal factors count?", subnormals, "subnormal factors {}"),
    Question("zeros", "Which sign do zero factors and addends have?", zeros, "zeros enter {}"),
    Question("addend", "How does the addend enter?", addend, "addend {}"),
    Question("addend-bits", "Which bits of the addend enter?", addend_bits, "addend: {}"),
    Question("zero-terms", "Does a zero term take part in max_exp?", zero_terms, "a zero term {}"),
    Question("cancelled", "Do scaled sums that cancel take part in max_exp?", cancelled, "cancelled sums {}"),
    Question("low-addend", "What does an addend below the largest product do?", low_addend, "a low addend {}"),
    Question("late-window", "What does the window of a late addend keep?", late_window, "a late window keeps {}"),
    Question("floor", "Is there a least max_exp?", floor, "least max_exp {}"),
    Question("zero-sum", "What is the sign of a sum of zero?", zero_sum, "sign of a zero sum {}"),
    Question("tiny", "What becomes of a tiny result?", tiny, "subnormal results {}"),
    Question("overflow", "What is returned for too large a result?", overflow, "overflow gives {}"),
    Question("nan", "Which NaN is returned?", nan, "NaN is {}"),
    Question(
        "special-codes",
        "Do the codes of NaN and infinity stand for them?",
        special_codes,
        "codes of NaN and infinity are {}",
    ),
)
BY_NAME = {question.name: question for question in QUESTIONS}
