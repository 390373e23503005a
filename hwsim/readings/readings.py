"""The 40 readings of a window's sum: all answers to four questions that a specification must answer.

lost: what becomes of a term's bits below the window: `truncate`, `floor`, `nearest` (ties to even), `jam`, or `exact`:
nothing is lost, the window has no end.
exponent: `reference`: a product's exponent is the sum of its factors' exponents; `leading`: each product is
renormalised first, so that its exponent is that of its leading one. max_exp and the window follow from it. The addend
stands at its own exponent in both.
addend: `aligned` with the products, or `late`: the products' window sum is made without it, and it is added afterwards.
roundings, of an aligned addend: `one`: the window's sum is rounded once to the result; `two`: it is first cut to
1 + fraction_bits significant bits by the rule for lost bits (for exact: by truncation), and then rounded. Of a late
one: `one`: the exact value of the window's sum plus the addend is rounded once; `two`: the sum is rounded to the
result format, and then the addend is added, which rounds again.
"""

from __future__ import annotations

from itertools import product
from typing import Any, Literal, NamedTuple, assert_never

from hwsim.readings.changes import changed
from hwsim.spec import (
    AlignedSum,
    LateAdd,
    LateInWindow,
    NotImplementedYet,
    ReadAlignedSum,
    Support,
    Unit,
    implemented,
    wide_codes,
)
from hwsim.spec.keys import LOST as SPEC_LOST
from hwsim.spec.keys import AlignedLost

LostRule = Literal["truncate", "floor", "nearest", "jam", "exact"]

LOST: tuple[LostRule, ...] = ("truncate", "floor", "nearest", "jam", "exact")
LOST_WORDS = {
    "truncate": "lost bits truncated",
    "floor": "lost bits floored",
    "nearest": "lost bits to nearest even",
    "jam": "lost bits jammed",
    "exact": "no bits lost",
}


def lost_rule(lost: AlignedLost) -> LostRule | None:
    """What the readings call a rule for lost bits; None for a rule that none of them has."""
    match lost:
        case "truncate" | "floor" | "jam":
            return lost
        case "rne":
            return "nearest"
        case "ceil" | "rna" | "ones-complement" | "sticky":
            return None
        case _:
            assert_never(lost)


# What `sum.lost` calls the readings' rules.
TO_SPEC = {rule: key for key in SPEC_LOST if (rule := lost_rule(key)) is not None}


class Reading(NamedTuple):
    """One reading of a specification. leading, late, two: the answers other than reference, aligned and one."""

    lost: LostRule
    leading: bool = False
    late: bool = False
    two: bool = False

    @property
    def name(self) -> str:
        """All four answers, in words."""
        words = [
            LOST_WORDS[self.lost],
            "leading-one exponents" if self.leading else "reference exponents",
            "addend late" if self.late else "addend aligned",
            "two roundings" if self.two else "one rounding",
        ]
        return ", ".join(words)


READINGS = tuple(Reading(*answers) for answers in product(LOST, (False, True), (False, True), (False, True)))


def supports(unit: Unit) -> Support:
    """Whether a unit's window has readings: what no implementation has, and any method but `aligned`, it lacks.

    So it does codes of 64 bits, which its search for cases does not hold.
    """
    general = implemented(unit)
    if not general:
        return general
    if isinstance(unit.sum, AlignedSum):
        return Support(unit.name, "is in the model, but has no readings", tuple(wide_codes(unit)))
    return Support(unit.name, f"for readings of its window, not {unit.sum.method}", ("sum.method must be aligned",))


def aligned_rule(unit: Unit) -> AlignedSum:
    """A unit's rule for its window. Raises NotImplementedYet for a unit without readings."""
    if isinstance(unit.sum, AlignedSum):
        return unit.sum
    raise NotImplementedYet(supports(unit).reason)


def own_reading(unit: Unit) -> Reading | None:
    """The reading that a unit's specification asks for; None where it is none of the 40.

    The 40 have the method `aligned`, no lost bits `ceil`, `rna`, `ones-complement` or `sticky`, and no late addend in a
    window of its own.
    """
    lost = lost_rule(unit.sum.lost) if isinstance(unit.sum, AlignedSum) else None
    if lost is None:
        return None
    match unit.late:
        case None:
            return Reading(lost)
        case LateAdd():
            return Reading(lost, late=True, two=True)
        case LateInWindow():
            return None
        case _:
            assert_never(unit.late)


def _result_of(unit: Unit, late: LateAdd) -> dict[str, Any]:
    """Keys of a result in a late addition's format, which may lack what the groups' results have."""
    fmt, overflow = late.format, unit.result.overflow
    if (overflow == "infinity" and not fmt.infinities) or (overflow == "nan" and not fmt.has_nan):
        overflow = "ieee" if fmt.infinities or fmt.has_nan else "saturate"
    flushable = fmt.subnormals and fmt.fraction_bits and fmt.max_magnitude >> fmt.fraction_bits
    kept = {} if flushable else {"subnormals": "keep", "tininess": "result"}
    return {"format": unit.model_dump(mode="json")["late"]["format"], "overflow": overflow, **kept}


def read_unit(unit: Unit, reading: Reading) -> Unit:
    """The unit that a reading of `unit` is.

    Where a unit returns another format than its groups', readings round to the format that the unit returns.
    Raises NotImplementedYet, a ValueError, for a unit without readings.
    """
    if reading == own_reading(unit):
        return unit
    supports(unit).demand()
    by_instruction = late_of_instruction(unit)
    lost = {"lost": TO_SPEC.get(reading.lost, "truncate")}
    # A window without an end has no lowest places.
    unit = changed(unit, {"sum": lost | ({"cut": None} if reading.lost == "exact" else {})})
    if not (isinstance(unit.late, LateAdd) and reading.late and reading.two):
        if unit.late is not None:
            result = _result_of(unit, unit.late) if isinstance(unit.late, LateAdd) else {}
            aligned = {"sum": {"addend": "aligned"}, "instruction": {"start": "addend"}, "late": None, "result": result}
            unit = changed(unit, aligned)
        if reading.late and by_instruction:
            fmt = unit.model_dump(mode="json", exclude_unset=True)["result"]["format"]
            late = {"operation": "add", "format": fmt, "rounding": unit.result.rounding}
            unit = changed(unit, {"sum": {"addend": "late"}, "instruction": {"start": "zero"}, "late": late})
    keys = {
        "leading": reading.leading,
        "lossless": reading.lost == "exact",
        "significant": reading.two and not reading.late,
        "starts_late": reading.late and not by_instruction,
        "unrounded": reading.late and not reading.two,
    }
    if not any(keys.values()):
        return unit
    return unit.model_copy(update={"sum": ReadAlignedSum(**dict(aligned_rule(unit)), **keys)})


def late_of_instruction(unit: Unit) -> bool:
    """Whether the late addend is an instruction's; else it is the value that a group starts from.

    That is the sum so far, in a unit without an addend or with a promotion register.
    """
    return unit.operands.addend is not None and unit.promotion is None


def short_name(unit: Unit, reading: Reading) -> str:
    """The differences of a reading from the unit's own, as `lost bits floored`; `as specified` if there are none."""
    own = own_reading(unit) or Reading("truncate")
    if reading == own_reading(unit):
        return "as specified"
    every = zip(reading, own, reading.name.split(", "), strict=True)
    words = [word for answer, specified, word in every if answer != specified]
    return (", ".join(words) or reading.name).replace("addend", start_of(unit) or "addend")


def described(unit: Unit, reading: Reading) -> str:
    """A reading of a unit as a sentence, which speaks of an addend, or a sum so far, only where the unit has one."""
    term = {
        "truncate": "bits of a term below the window are cut off its magnitude",
        "floor": "bits of a term below the window are rounded down, towards minus infinity",
        "nearest": "terms are rounded to the window's last place, to nearest, ties to even",
        "jam": "bits of a term below the window set its last place",
        "exact": "no bits of a term are lost",
    }[reading.lost]
    exponent = "renormalised products set max_exp" if reading.leading else "factors' exponents set max_exp"
    what = start_of(unit)
    parts = [term, exponent]
    if what and reading.late:
        when = "rounded before" if reading.two else "not rounded yet"
        parts.append(f"the {what} is added to the products' sum, {when}")
    elif what:
        parts.append(f"the {what} is aligned with the products")
    if reading.two and not reading.late:
        parts.append("the sum is cut to 1 + fraction_bits bits before it is rounded")
    return "; ".join(parts)


def start_of(unit: Unit) -> str:
    """What a group's products are added to, in words; empty where there is nothing but them."""
    if unit.operands.addend is not None:
        return "addend"
    return "sum so far" if unit.instruction.chain or unit.instruction.k > unit.instruction.lanes else ""
