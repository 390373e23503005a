"""Proves which readings of a unit are equal, from bounds on its stages.

Steps that change no result lead a reading to its normal form; readings with the same normal form are equal. A step
holds for every operand of the unit, for the reason that its sentence gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from hwsim.formats import FloatFormat
from hwsim.readings.readings import READINGS, Reading, aligned_rule, late_of_instruction
from hwsim.spec import LateAdd, Unit

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
    form, other = forms[first], forms[second]
    if form.reading != other.reading:
        return None
    return "; ".join(dict.fromkeys([*form.reasons, *other.reasons]))


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
        """Whether a group's window holds only products and zeros."""
        return not self.starts or (reading.late and self.every_group)

    def loses_nothing(self, reading: Reading) -> bool:
        """Whether no term ever has a bit below the window's end."""
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
        """Whether a late addition and a group's rounding follow the same rules, for products' sums that fit."""
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
        """Whether a late addition does with too large a sum, and with an infinity, what a group's rounding does.

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
    more, needed = facts.window - fmt.fraction_bits, HARMLESS[reading.lost].get(rounding)
    if needed is None or more < needed:
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
