"""Which bins of G2 to G7 a case hits, from values as fractions: nothing of the model or of the samplers is used."""

from __future__ import annotations

from fractions import Fraction
from math import floor

from hwsim.base.text import counted
from hwsim.cases.case import Case
from hwsim.formats import FloatFormat
from hwsim.spec import Unit

GROUPS = {"G2", "G3", "G4", "G5", "G6", "G7"}
# Bins that the oracle says nothing of: what classes of factors and zero products do.
ELSEWHERE = ("max_exp by", "zero product", "every term zero", "every product zero", "all lanes the largest")
ELSEWHERE += (
    "two products cancel",
    "a product and the addend cancel",
    "the largest two cancel",
    "products lose together 1",
)


def power(exp: int) -> Fraction:
    return Fraction(2) ** exp


def can_have_addend(unit: Unit) -> bool:
    """Whether a group's products can have an addend beside them: the unit's own, or the sum of the groups before."""
    given = unit.operands.addend is not None and unit.late is None
    return given or unit.instruction.chain is not None or unit.instruction.k > unit.instruction.lanes


def leading(value: Fraction) -> int:
    """floor(log2(|value|)), by counting."""
    exp = abs(value).numerator.bit_length() - value.denominator.bit_length()
    while power(exp) > abs(value):
        exp -= 1
    while power(exp + 1) <= abs(value):
        exp += 1
    return exp


def number(fmt: FloatFormat, code: int) -> Fraction | None:
    value = float(fmt.decode(code))
    return Fraction(value) if value == value and abs(value) != float("inf") else None


def reference(fmt: FloatFormat, value: Fraction) -> int:
    return max(leading(value), fmt.emin)


class Term:
    """A term other than zero: its lane (-1: the addend), value, reference exponent; then what the window loses."""

    def __init__(self, lane: int, value: Fraction, exp: int, bits: int):
        self.lane, self.value, self.exp, self.bits = lane, value, exp, bits

    def cut(self, top: int, window: int) -> None:
        scaled = abs(self.value) / power(top - window)
        self.kept = floor(scaled)
        self.lost = scaled - self.kept
        self.d = top - self.exp
        self.places = self.d + self.bits - window


def expected(unit: Unit, case: Case) -> set[str] | None:
    """Names of bins of one beat of an unscaled unit that truncates; None for a case with NaN or infinities."""
    a, b = unit.operands.a, unit.operands.b
    bits, lanes, window = a.fraction_bits + b.fraction_bits, unit.instruction.lanes, unit.sum.fraction_bits
    assert len(case.a) == lanes and unit.sum.lost == "truncate" and unit.scale is None
    terms: list[Term] = []
    for lane, pair in enumerate(zip(case.a, case.b, strict=True)):
        x, y = number(a, pair[0]), number(b, pair[1])
        if x is None or y is None:
            return None
        if x * y:
            terms.append(Term(lane, x * y, reference(a, x) + reference(b, y), bits))
    addend = None
    if unit.operands.addend is not None:
        fmt = unit.operands.addend
        c = number(fmt, case.c)
        if c is None:
            return None
        if c:
            addend = Term(-1, c, reference(fmt, c), fmt.fraction_bits)
    every = terms + ([addend] if addend else [])
    if not every:
        return set()
    top = max(term.exp for term in every)
    for term in every:
        term.cut(top, window)
    found = set()
    holders = [term for term in terms if term.exp == top]
    has_addend = unit.operands.addend is not None
    found |= _distances(terms, addend, holders, window)
    found |= _references(terms, addend, holders, lanes, top)
    found |= _lost(terms, addend, lanes, bits, window, has_addend)
    found |= _sums(unit, every, terms, addend, top)
    return found


def word(x: Fraction, y: Fraction) -> str:
    return "add" if (x > 0) == (y > 0) else "subtract"


def sign(x: Fraction | int) -> str:
    return "+" if x > 0 else "-"


def _distances(terms, addend, holders, window):
    found = set()
    if holders:
        first = holders[0]
        for term in terms:
            if term is not first:
                lost = "bits lost" if term.lost else "exact"
                found.add(f"d={term.d}, {word(term.value, first.value)}, {lost}")
    if addend and terms:
        highest = max(term.exp for term in terms)
        first = next(term for term in terms if term.exp == highest)
        d, most = addend.exp - highest, window + 3
        where = "level with" if not d else f"{min(abs(d), most)}{' or more' * (abs(d) >= most)} "
        side = "" if not d else "above" if d > 0 else "below"
        found.add(f"addend {where}{side} the largest product, {word(addend.value, first.value)}")
    return found


def _references(terms, addend, holders, lanes, top):
    found = set()
    level = addend is not None and addend.exp == top
    if len(holders) in {1, 2, lanes // 2, lanes}:
        found.add(f"{len(holders)} of {lanes} products at max_exp")
        if level:
            found.add(f"{len(holders)} of {lanes} products and the addend at max_exp")
    if not holders and terms:
        found.add("the addend alone sets max_exp, beside products")
    if len(holders) == 1 and not level and len(terms) + (addend is not None) > 1:
        found.add(f"lane {holders[0].lane} alone sets max_exp, beside other terms")
    for high in holders:
        for low in terms:
            if low.lost and low.kept and low is not high:
                found.add(f"lane {high.lane} sets max_exp, lane {low.lane} straddles the window")
    return found


def kind(lost: Fraction, places: int) -> str:
    if lost == 0:
        return "zero"
    if lost == Fraction(1, 2):
        return "half"
    if lost == 1 - power(-places):
        return "all ones"
    if lost == power(-places):
        return "one last bit"
    return "below half" if lost < Fraction(1, 2) else "above half"


def _lost(terms, addend, lanes, bits, window, has_addend):
    found = set()
    for term in terms:
        if 0 < term.places < bits + 2:
            which = kind(term.lost, term.places)
            found.add(f"d={term.d}, {counted(term.places, 'bit')} of a {sign(term.value)} product lost: {which}")
    if addend and 0 < addend.places <= addend.bits:
        found.add(f"bits of a {sign(addend.value)} addend lost: {kind(addend.lost, addend.places)}")
    losing = [term for term in [*terms, *([addend] if addend else [])] if term.lost]
    if len(losing) == 1 and losing[0].lost.numerator == 1:
        depth = losing[0].lost.denominator.bit_length() - 1
        whose = "the addend" if losing[0] is addend else "a product"
        found.add(f"{whose}'s bit {depth} below the window lost, and nothing else")
        # Bins end at some depth, and one stands for all below: of these names a plan has at most that one.
        found |= {f"{whose}'s bit more than {last} below the window lost, and nothing else" for last in range(depth)}
    products = [term for term in terms if term.lost]
    if len(products) in {1, 2, lanes - 1} | ({lanes} if has_addend else set()):
        found.add(f"{len(products)} of {lanes} products lose bits")
    if not losing and len(terms) > 1:
        found.add("several products, and none loses bits")
    if len(terms) + (addend is not None) > 1:
        total, half = sum((term.lost for term in products), Fraction(0)), Fraction(lanes, 2)
        zones = (
            (total == 0, "0"),
            (total < 1, "above 0, below 1"),
            (total == 1, "1"),
            (total < 2, "above 1, below 2"),
            (total < half, f"2 or more, below {half}"),
            (True, f"{half} or more" if half > 2 else "2 or more"),
        )
        zone = next(name for inside, name in zones if inside)
        found.add(f"products lose together {zone} of the last place")
    return found


def _sums(unit, every, terms, addend, top):
    found, window, fmt = set(), unit.sum.fraction_bits, unit.result.format
    total = sum(term.kept if term.value > 0 else -term.kept for term in every)
    lost = any(term.lost for term in every)
    if not total:
        exact = sum((term.value for term in every), Fraction(0))
        if lost and exact:
            found.add(f"window sum 0, exact sum {sign(exact)}")
        if not lost and len(terms) == unit.instruction.lanes > 1:
            found.add(f"all {unit.instruction.lanes} products cancel exactly")
        return found
    place = leading(Fraction(total)) - window
    if place < 0:
        found.add(f"leading one {-place} below max_exp, {sign(total)}, {'bits lost' if lost else 'exact'}")
    else:
        beside = f", {'with' if addend else 'without'} an addend" if can_have_addend(unit) else ""
        found.add(f"leading one {place} above max_exp, {sign(total)}{beside}")
    value = abs(total) * power(top - window)
    normal = leading(value) >= fmt.emin
    scaled = value / power(max(leading(value), fmt.emin) - fmt.fraction_bits)
    kept, rest = floor(scaled), (scaled - floor(scaled)) * 2
    guard, sticky = floor(rest), rest - floor(rest)
    found.add(f"{sign(total)}, last {kept & 1}, guard {guard}, sticky {int(sticky > 0)}")
    if normal:
        found.add(f"result ends in {counted(leading(Fraction(kept & -kept)), 'zero')}")
        if kept == (2 << fmt.fraction_bits) - 1:
            found.add(f"{sign(total)} all ones, guard {guard}")
        cut = max(leading(value), fmt.emin) - fmt.fraction_bits - (top - window)
        if sticky and sticky.numerator == 1 and cut <= 12:
            bit = cut - 1 - (sticky.denominator.bit_length() - 1)
            found.add(f"{counted(cut, 'place')} cut off, sticky from place {bit} alone, guard {guard}")
    return found
