"""The open rules: what hardware may do, each possibility a unit that does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from hwsim.capture.stimuli import Mix
from hwsim.formats import FloatFormat, get_format
from hwsim.spec import Unit
from hwsim.spec.rules import is_nan_code

Changes = Mapping[str, Any]
Proposals = Mapping[str, Changes]


@dataclass(frozen=True)
class Candidate:
    """One possibility: a name, what it changes in the specification, and the unit that comes of it.

    addend: a format that the addend is rounded to (RNE) before anything else, or None.
    """

    name: str
    changes: Changes
    unit: Unit
    addend: FloatFormat | None = None


@dataclass(frozen=True)
class Rule:
    """A question to hardware. propose: the candidates' changes, by their names. mix: stimuli that tell them apart."""

    name: str
    question: str
    propose: Callable[[Unit], Proposals]
    mix: Mix


# Keys of Changes that are no part of a specification.
ADDEND_FIRST = "addend is rounded first to"
IN_ONE_SUM = "instructions that make one sum"


def changed(unit: Unit, changes: Changes) -> Unit:
    """A unit with other settings. A mapping changes a part of the specification; None takes a part away."""
    data = unit.model_dump(mode="json", exclude_unset=True)
    for key, value in changes.items():
        if isinstance(value, Mapping) and isinstance(data.get(key), dict):
            data[key] = {**data[key], **value}
        else:
            data[key] = value
    return Unit.model_validate(data)


def candidates(rule: Rule, unit: Unit, base: Unit | None = None) -> tuple[Candidate, ...]:
    """The candidates of a rule for a unit; of those that are equal the first, and the base itself always.

    base: what they are changes to, where that is no longer the unit as specified.
    """
    base = base or unit
    found: list[Candidate] = []
    for name, changes in rule.propose(unit).items():
        kept = {key: value for key, value in changes.items() if key not in (ADDEND_FIRST, IN_ONE_SUM)}
        if IN_ONE_SUM in changes:
            kept["instruction"] = _joined(unit, base, changes[IN_ONE_SUM])
        fmt = get_format(changes[ADDEND_FIRST]) if changes.get(ADDEND_FIRST) else None
        assert fmt is None or isinstance(fmt, FloatFormat)
        try:
            other = changed(base, kept)
        except ValidationError:
            if base == unit:
                raise
            continue  # it does not go with what the base has in place of what the unit has
        if all((one.unit, one.addend) != (other, fmt) for one in found):
            found.append(Candidate(name, changes, other, fmt))
    if all(one.unit != base or one.addend for one in found):
        found.insert(0, Candidate("as specified" if base == unit else "as found", {}, base))
    return tuple(found)


def _joined(unit: Unit, base: Unit, times: int) -> Changes:
    """Instructions of the unit that make one sum, in groups as the base has them for one."""
    already = base.instruction.k // unit.instruction.k
    return {"k": times * unit.instruction.k, "lanes": times * base.instruction.lanes // already}


def _addend(unit: Unit) -> Proposals:
    output = unit.output.name
    found: dict[str, Changes] = {
        "aligned with the terms": {"sum": {"addend": "aligned"}, "instruction": {"start": "addend"}, "late": None}
    }
    formats = dict.fromkeys([unit.operands.addend.name if unit.operands.addend else output, unit.result.format.name])
    for fmt in formats:
        for rounding in ("rne", "rz"):
            late = {"operation": "add", "format": fmt, "rounding": rounding}
            found[f"added late, {rounding} to {fmt}"] = {
                "sum": {"addend": "late"}, "instruction": {"start": "zero"}, "late": late,
            }  # fmt: skip
    return found


def _addend_bits(unit: Unit) -> Proposals:
    addend, result = unit.operands.addend, unit.result.format
    if not isinstance(addend, FloatFormat) or addend.fraction_bits <= result.fraction_bits:
        return {}
    return {"all its bits are aligned": {}, f"rounded to {result.name} first": {ADDEND_FIRST: result.name}}


def _window(unit: Unit) -> Proposals:
    bits = unit.sum.fraction_bits or 0
    return {f"{n} fraction bits": {"sum": {"fraction_bits": n}} for n in range(max(0, bits - 2), bits + 3)}


def _lost(unit: Unit) -> Proposals:
    names = {"truncate": "truncated", "floor": "floored", "jam": "jammed", "rne": "to nearest even", "rna": "to away"}
    return {name: {"sum": {"lost": lost}} for lost, name in names.items()}


def _groups(unit: Unit) -> Proposals:
    k = unit.instruction.k
    found: dict[str, Changes] = {}
    for lanes in (k, k // 2, k // 4):
        if lanes > 1:
            found[f"{lanes} neighbours"] = {"instruction": {"lanes": lanes, "order": "sequential"}}
    orders = {
        "k mod 4 in {0, 1}, then {2, 3}": {"modulo": 4, "groups": [[0, 1], [2, 3]]},
        "even k, then odd k": {"modulo": 2, "groups": [[0], [1]]},
    }
    for name, order in orders.items():
        if k % 4 == 0:
            found[name] = {"instruction": {"lanes": k // 2, "order": order}}
    return found


def _conversion(unit: Unit) -> Proposals:
    narrow = all(fmt.bits <= 8 for fmt in (unit.operands.a, unit.operands.b))
    as_they_are, through = {"operands": {"convert": None}}, {"operands": {"convert": "f16"}}
    return {"multiplied as they are": as_they_are, "converted to f16": through} if narrow else {}


def _subnormals(unit: Unit) -> Proposals:
    return {"kept": {"operands": {"daz": False}}, "zero": {"operands": {"daz": True}}}


def _zero_terms(unit: Unit) -> Proposals:
    names = {"skip": "has no part in max_exp", "count": "counts at its reference exponent"}
    return {name: {"sum": {"zero_terms": setting}} for setting, name in names.items()}


def _floor(unit: Unit) -> Proposals:
    a, b = unit.operands.a, unit.operands.b
    assert isinstance(a, FloatFormat) and isinstance(b, FloatFormat)
    floors = dict.fromkeys([a.emin + b.emin, *FLOORS])
    return {"none": {"sum": {"max_exp_floor": None}}} | {
        f"{floor}": {"sum": {"max_exp_floor": floor}} for floor in floors
    }


def _zero_sum(unit: Unit) -> Proposals:
    return {"+0": {"sum": {"zero": "positive"}}, "as IEEE 754": {"sum": {"zero": "ieee"}}}


def _tiny(unit: Unit) -> Proposals:
    return {
        f"{kept}, {sign}": {"result": {"subnormals": subnormals, "tiny": tiny}}
        for subnormals, kept in (("keep", "kept"), ("flush", "flushed"))
        for tiny, sign in (("positive", "zero without a sign"), ("signed", "zero with the sign"))
    }


def _overflow(unit: Unit) -> Proposals:
    settings = {"infinity": "infinity", "saturate": "the largest number", "nan": "NaN"}
    return {name: {"result": {"overflow": setting}} for setting, name in settings.items()}


def _nan(unit: Unit) -> Proposals:
    codes = {16: (0x7FFF, 0x7E00, 0xFE00, 0xFFFF), 32: (0x7FFFFFFF, 0x7FC00000, 0xFFC00000, 0xFFFFFFFF)}
    fmt = unit.result.format
    assert isinstance(fmt, FloatFormat)
    usable = [code for code in codes.get(fmt.container_bits, ()) if is_nan_code(fmt, code)]
    return {f"{code:#x}": {"result": {"nan": "canonical" if code == fmt.canonical_nan else code}} for code in usable}


def _special_codes(unit: Unit) -> Proposals:
    if unit.operands.convert is not None:
        return {}  # they are converted to a format that has them, too
    plain: dict[str, Any] = {}
    for side in ("a", "b"):
        fmt: Any = getattr(unit.operands, side)
        if isinstance(fmt, FloatFormat) and (fmt.has_nan or fmt.infinities):
            plain[side] = {**_plain(fmt), "name": f"{fmt.name}-without-specials", "nan": [], "infinities": False}
            plain[side].pop("canonical", None)
    own = {"operands": {"a": _plain(unit.operands.a), "b": _plain(unit.operands.b)}}
    return {"NaN and infinity": own, "numbers": {"operands": plain}} if plain else {}


def _plain(fmt: Any) -> Any:
    """A format as a specification holds it."""
    return fmt.model_dump(mode="json", exclude_unset=True)


def _chain(unit: Unit) -> Proposals:
    if unit.instruction.order != "sequential":
        return {}
    return {
        "each instruction's result is the next one's addend": {IN_ONE_SUM: 1},
        "2 instructions make one sum": {IN_ONE_SUM: 2},
        "4 instructions make one sum": {IN_ONE_SUM: 4},
    }


def _result(unit: Unit) -> Proposals:
    result = unit.result.format
    assert isinstance(result, FloatFormat)
    found: dict[str, Changes] = {
        f"{rounding} to {result.name}": {"result": {"format": result.name, "rounding": rounding}}
        for rounding in ("rz", "rne", "rna")
    }
    for name in ("e8m13", "f32") if result.container_bits == 32 else ():
        if name != result.name:
            found[f"{unit.result.rounding} to {name}"] = {"result": {"format": name, "rounding": unit.result.rounding}}
    return found


FLOORS = (-126, -132, -133, -149)

# Where binary32 ends: products far below an addend's least exponent, and the sums that they round to.
FLOOR = Mix(spread=40, addend="low", empty=0.3, top=(-156, -120), edge=0.9, floors=FLOORS)
TINY = Mix(spread=20, idle=0.5, addend="low", empty=0.3, top=(-170, -124), sparse=0.3)

RULES = (
    Rule("window", "How many bits of a term are kept below max_exp?", _window, Mix(spread=34, edge=0.5)),
    Rule("lost", "What happens to a term's bits below the window?", _lost, Mix(spread=40, edge=0.5)),
    Rule("result", "What is a group's sum rounded to, and how?", _result, Mix(spread=20, addend="near", edge=0.3)),
    Rule("groups", "Which products are summed together?", _groups, Mix(spread=24)),
    Rule("chain", "How does a longer K go on?", _chain, Mix(spread=20, instructions=(2, 4))),
    Rule("conversion", "Are 8-bit factors multiplied as they are?", _conversion, Mix(spread=26, subnormal=0.4)),
    Rule("subnormals", "Do subnormal factors count?", _subnormals, Mix(spread=8, subnormal=0.4)),
    Rule("addend", "How does the addend enter?", _addend, Mix(spread=12, addend="near", instructions=(1, 1, 2))),
    Rule("addend-bits", "Which bits of the addend enter?", _addend_bits, Mix(spread=12, addend="above")),
    Rule("zero-terms", "Does a zero term take part in max_exp?", _zero_terms, Mix(spread=6, zeros=0.5, low=0.9)),
    Rule("floor", "Is there a least max_exp?", _floor, FLOOR),
    Rule("zero-sum", "What is the sign of a sum of zero?", _zero_sum, Mix(empty=0.6, addend="zero", cancel=0.5)),
    Rule("tiny", "What becomes of a tiny result?", _tiny, TINY),
    Rule("overflow", "What is returned for too large a result?", _overflow, Mix(high=0.9, addend="high", special=0.3)),
    Rule("nan", "Which NaN is returned?", _nan, Mix(special=1.0)),
    Rule("special-codes", "Do the codes of NaN and infinity stand for them?", _special_codes, Mix(special=1.0)),
)
BY_NAME = {rule.name: rule for rule in RULES}
