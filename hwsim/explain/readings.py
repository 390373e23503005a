"""The 40 readings of a window's sum, and which of them are equal.

A reading is an answer to four questions that a specification must answer.
lost: what becomes of a term's bits below the window: `truncate`, `floor`, `nearest` (ties to even), `jam`, or
`exact`: nothing is lost, the window has no end.
exponent: `reference`: a product's exponent is the sum of its factors' exponents; `leading`: each product is
renormalised first, so that its exponent is that of its leading one. max_exp and the window follow from it. The
addend stands at its own exponent in both.
addend: `aligned` with the products, or `late`: the products' window sum is made without it, and it is added
afterwards.
roundings, of an aligned addend: `one`: the window's sum is rounded once to the result; `two`: it is first cut to
1 + fraction_bits significant bits by the rule for lost bits (for exact: by truncation), and then rounded. Of a late
one: `one`: the exact value of the window's sum plus the addend is rounded once; `two`: the sum is rounded to the
result format, and then the addend is added, which rounds again.

Equal readings are found by steps that change no result, each for a reason that holds for every operand of the
unit; readings with the same normal form are equal."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any, Literal, NamedTuple, assert_never

from hwsim.explain.candidate import changed
from hwsim.formats import FloatFormat
from hwsim.spec import (
    AlignedReadingSum,
    AlignedSum,
    LateAdd,
    LateInWindow,
    NotImplementedYet,
    Support,
    Unit,
    implemented,
    wide_codes,
)
from hwsim.spec.keys import LOST as SPEC_LOST
from hwsim.spec.keys import AlignedLost
from hwsim.spec.sums import ExactSubgroup

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
    """The readings' name of a rule for lost bits; None for a rule that none of them has."""
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
    """Support of a unit by readings of its window: they lack what no implementation has, and all methods but `aligned`.

    They lack codes of 64 bits too, which the search for cases does not hold.
    """
    general = implemented(unit)
    if not general:
        return general
    if isinstance(unit.sum, AlignedSum):
        asks = isinstance(unit.subgroup, ExactSubgroup) and unit.subgroup.asks_addend
        lacks = (*wide_codes(unit), *(["sum.subgroup.low_lanes or low_addend"] if asks else []))
        return Support(unit.name, "is in the model, but has no readings", lacks)
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
    return unit.model_copy(update={"sum": AlignedReadingSum(**dict(aligned_rule(unit)), **keys)})


def late_of_instruction(unit: Unit) -> bool:
    """True if the late addend is an instruction's; else it is the value that a group starts from.

    That is the sum so far, in a unit without an addend or with a promotion register.
    """
    return unit.operands.addend is not None and unit.promotion is None


def short_name(unit: Unit, reading: Reading) -> str:
    """The differences of a reading from the unit's own, as `lost bits floored`; `as specified` if there are none."""
    specification = own_reading(unit) or Reading("truncate")
    if reading == own_reading(unit):
        return "as specified"
    every = zip(reading, specification, reading.name.split(", "), strict=True)
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
    """The value that a group's products are added to, in words; empty where there is nothing but them."""
    if unit.operands.addend is not None:
        return "addend"
    return "sum so far" if unit.instruction.chain or unit.instruction.k > unit.instruction.lanes else ""


MANY = 1 << 30  # bits of a sum that nothing bounds


class Step(NamedTuple):
    """A reading that is equal to the reading before, and the reason."""

    reading: Reading
    reason: str


class Normal(NamedTuple):
    """A normal form, and the reasons that lead to it."""

    reading: Reading
    reasons: tuple[str, ...]


def normal_forms(unit: Unit) -> dict[Reading, Normal]:
    """The normal form of each of the 40 readings of a unit of method `aligned`."""
    facts = Facts(unit)
    return {reading: _normal(facts, reading) for reading in READINGS}


def why_equal(forms: dict[Reading, Normal], first: Reading, second: Reading) -> str | None:
    """The reasons that prove two readings equal; None without a proof."""
    form, second_form = forms[first], forms[second]
    if form.reading != second_form.reading:
        return None
    return "; ".join(dict.fromkeys([*form.reasons, *second_form.reasons]))


def _normal(facts: Facts, reading: Reading) -> Normal:
    reasons: list[str] = []
    while step := next((step for rule in STEPS if (step := rule(facts, reading))), None):
        reading = step.reading
        reasons.append(step.reason)
    return Normal(reading, tuple(reasons))


class Facts:
    """Bounds on a unit's stages that hold for all its operands.

    highest: the largest reference exponent of a product. lowest: every product is a multiple of 2^lowest. Both
    are without shared scales; `shared`: whether these shift all products of a group alike.
    """

    def __init__(self, unit: Unit):
        rule, instruction = aligned_rule(unit), unit.instruction
        self.zero = rule.zero
        self.unit, self.window, self.lanes = unit, rule.fraction_bits, instruction.lanes
        factors = (unit.operands.a, unit.operands.b)
        self.highest = sum(fmt.emax if isinstance(fmt, FloatFormat) else 0 for fmt in factors)
        self.lowest = sum((fmt.emin if isinstance(fmt, FloatFormat) else 0) - fmt.fraction_bits for fmt in factors)
        self.result = unit.late.format if isinstance(unit.late, LateAdd) else unit.result.format
        single = instruction.groups == 1
        # What a group starts from: the addend, the sum so far, or a zero that counts as a term.
        counted = (instruction.start == "zero" or unit.promotion is not None) and rule.zero_terms == "count"
        goes_on = unit.promotion is not None and unit.promotion.interval > self.lanes
        chains = not single or instruction.chain is not None or goes_on
        self.starts = unit.operands.addend is not None or chains or counted
        self.every_group = single or not late_of_instruction(unit)
        self.shared = unit.scale is None or (
            unit.scale.at == "promotion"
            or (unit.scale.at == "product" and min(unit.scale.a.block[1], unit.scale.b.block[0]) >= self.lanes)
        )
        self.plain = rule.zero_terms == "skip" and rule.max_exp_floor is None and rule.subgroup is None
        self.plain = self.plain and rule.cut is None

    def products_alone(self, reading: Reading) -> bool:
        """True if a group's window holds only products and zeros."""
        return not self.starts or (reading.late and self.every_group)

    def loses_nothing(self, reading: Reading) -> bool:
        """True if no term ever has a bit below the window's end."""
        if not (self.plain and self.shared and self.products_alone(reading)):
            return False
        # A product is at most 4 times its reference exponent's power of two.
        return self.highest + (2 if reading.leading else 0) - self.window <= self.lowest

    @property
    def sum_bits(self) -> int:
        """Bits from the last place of any product to the first place of any exact sum of a group."""
        return self.highest + 2 + self.lanes.bit_length() - self.lowest

    def window_bits(self, reading: Reading) -> int:
        """The most bits, from the window's last place up, of a window's sum of products alone."""
        cut = math.floor if reading.lost == "truncate" else math.ceil
        return (self.lanes * cut(self._ratio(reading.leading) * (1 << self.window))).bit_length()

    def _ratio(self, leading: bool) -> Fraction:
        """The largest magnitude of a product, in units of its exponent's power of two."""
        if leading:
            places = sum(fmt.fraction_bits for fmt in (self.unit.operands.a, self.unit.operands.b))
            return 2 - Fraction(2) ** -(places + 1)
        largest = Fraction(1)
        for fmt in (self.unit.operands.a, self.unit.operands.b):
            whole = Fraction(2) ** -fmt.fraction_bits
            largest *= 2 - whole if isinstance(fmt, FloatFormat) else Fraction(2)
        return largest

    def sum_fits(self, reading: Reading) -> int | None:
        """The most bits of the products' sum, if the result format holds every such sum; else None."""
        fmt, alone = self.result, self.products_alone(reading)
        if not isinstance(fmt, FloatFormat) or not fmt.subnormals or self.unit.scale is not None:
            return None
        if not (self.plain and alone) or self.unit.sum.product_limit is not None:
            return None
        bits = self.sum_bits if reading.lost == "exact" or self.loses_nothing(reading) else MANY
        if reading.lost != "exact":
            bits = min(bits, self.window_bits(reading))
        # Whatever the window cuts, it leaves multiples of a product's last place.
        least, most = fmt.emin - fmt.fraction_bits, self.lowest + self.sum_bits
        return bits if bits <= fmt.fraction_bits + 1 and self.lowest >= least and most < fmt.emax else None

    @property
    def adds_like_its_sums(self) -> bool:
        """True if a late addition and a group's rounding follow the same rules, for products' sums that fit."""
        unit, rule, fmt, addend = self.unit, self.unit.result, self.result, self.unit.operands.addend
        late = unit.late
        if not isinstance(fmt, FloatFormat) or not isinstance(addend, FloatFormat) or unit.promotion is not None:
            return False
        same = late is None or (isinstance(late, LateAdd) and late.rounding == rule.rounding and not late.flush)
        # A sum of multiples of the format's last place that is not zero does not round to zero.
        never_tiny = addend.emin - addend.fraction_bits >= fmt.emin - fmt.fraction_bits
        zeros = self.zero == "positive" and rule.rounding != "rd"
        tiny = rule.tiny == "signed" or never_tiny
        return same and zeros and tiny and rule.subnormals == "keep" and self._overflows_like_additions(fmt)

    def _overflows_like_additions(self, fmt: FloatFormat) -> bool:
        """True if a late addition does the same as a group's rounding with too large a sum, and with an infinity.

        A late addition overflows as IEEE 754 has it: as `infinity` does only if the rounding is to nearest.
        """
        rule = self.unit.result
        nearest = rule.rounding in ("rne", "rna")
        endless = rule.overflow == ("infinity" if fmt.infinities else "nan")
        return rule.overflow == "ieee" or (endless and (nearest or self.unit.late is None))


def _no_addend(facts: Facts, reading: Reading) -> Step | None:
    if facts.starts or not reading.late:
        return None
    return Step(reading._replace(late=False, two=False), "the unit has no addend, and no sum goes on into a next group")


def _exact_exponent(facts: Facts, reading: Reading) -> Step | None:
    if reading.lost != "exact" or not reading.leading:
        return None
    return Step(reading._replace(leading=False), "a sum that loses nothing does not depend on max_exp")


def _exact_late(facts: Facts, reading: Reading) -> Step | None:
    if reading.lost != "exact" or not reading.late or reading.two or not facts.every_group:
        return None
    if facts.zero != "positive" and facts.unit.result.rounding != "rd":
        return None  # a late addend of -0 is added to +0, which is +0
    reason = "where nothing is lost and the sum is rounded once, it is the same whenever the addend comes"
    return Step(reading._replace(late=False), reason)


def _lossless(facts: Facts, reading: Reading) -> Step | None:
    if reading.lost == "exact" or not facts.loses_nothing(reading):
        return None
    reason = (
        f"all products are multiples of 2^{facts.lowest} and max_exp is at most "
        f"{facts.highest + 2 * reading.leading}, so that a window of {facts.window} bits loses nothing"
    )
    if reading.late or not reading.two or reading.lost == "truncate":
        return Step(reading._replace(lost="exact"), reason)
    if reading.leading:
        return Step(reading._replace(leading=False), reason)
    return None


def _short(facts: Facts, reading: Reading) -> Step | None:
    if reading.late or not reading.two or not facts.loses_nothing(reading) or facts.sum_bits > 1 + facts.window:
        return None
    reason = f"no sum has more than {facts.sum_bits} bits, so that a cut to {1 + facts.window} bits cuts nothing"
    return Step(reading._replace(two=False), reason)


# Cuts that change no result: by rule and rounding, how many more bits than the result's must be kept.
HARMLESS = {
    "truncate": {"rz": 0},
    "floor": {"rd": 0},
    "jam": {"rto": 0, "rz": 1, "ru": 1, "rd": 1, "rne": 2, "rna": 2},
    "nearest": {},
    "exact": {"rz": 0},
}
CUTS = {
    "truncate": "truncated", "floor": "floored", "nearest": "rounded to nearest", "jam": "rounded to odd",
    "exact": "truncated",
}  # fmt: skip


def _harmless(facts: Facts, reading: Reading) -> Step | None:
    fmt, rounding = facts.result, facts.unit.result.rounding
    if reading.late or not reading.two or not isinstance(fmt, FloatFormat) or not fmt.subnormals:
        return None
    spare, needed = facts.window - fmt.fraction_bits, HARMLESS[reading.lost].get(rounding)
    if needed is None or spare < needed:
        return None
    reason = (
        f"a sum {CUTS[reading.lost]} to {1 + facts.window} bits rounds ({rounding}) to at most "
        f"{1 + fmt.fraction_bits} bits as the whole sum does"
    )
    return Step(reading._replace(two=False), reason)


def _fits(facts: Facts, reading: Reading) -> Step | None:
    if not (reading.late and reading.two and facts.every_group):
        return None
    bits = facts.sum_fits(reading)
    if bits is None or not facts.adds_like_its_sums:
        return None
    reason = f"the products' sum has at most {bits} bits, so that rounding it to {facts.result.name} is exact"
    return Step(reading._replace(two=False), reason)


STEPS: tuple[Callable[[Facts, Reading], Step | None], ...] = (
    _no_addend, _exact_exponent, _lossless, _exact_late, _short, _harmless, _fits,
)  # fmt: skip
