"""What the roundings of a unit cannot do, by the ranges of what they add.

A product is a multiple of a power of two, and so is what a window keeps of it, whatever becomes of lost bits: a term
that is cut is a multiple of the window's last place, one that is not is what it was. A sum of such terms and its
rounding are multiples of it too. The same holds for how large they can be, to a factor of four.
"""

from __future__ import annotations

from typing import NamedTuple

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat
from hwsim.spec import AlignedSum, EvenOddSum, LateAdd, LateInWindow, RoundedSum, Unit
from hwsim.spec.keys import Number, Rounding, Tininess

# Of a number below the least normal one, where subnormal results become zero: it is rounded up to the least normal one
# in the places of subnormals alone, or in those that a normal number of its size would have, too.
RAISED = ("reaches the least normal in the places of subnormals", "reaches the least normal in places of its own")


class RoundingPlace(NamedTuple):
    """One rounding in a unit: what bins call it, the format and the way of rounding, and whether terms are added.

    flushes: what makes a result zero by being subnormal; None where nothing does.
    """

    name: str
    format: Number
    rounding: Rounding
    adds: bool = True
    flushes: Tininess | None = None


class Addends(NamedTuple):
    """What a rounding adds up.

    quantum: products, and sums of them, are multiples of 2^quantum. top: all of them together are less than 2^top;
    None where a sum may have any length. number: the quantum of a number of any size that is added to them, or None.
    words: what they are. subnormal: whether that number may be a subnormal one.
    """

    quantum: int
    top: int | None
    number: int | None
    words: str
    subnormal: bool = True

    @property
    def least(self) -> int:
        """Every sum is a multiple of a power of two with this exponent."""
        return self.quantum if self.number is None else min(self.quantum, self.number)


def impossible(unit: Unit, one: RoundingPlace, word: str) -> str | None:
    """Why no operands of a unit make a rounding of its sum do what a word says; None where nothing is known."""
    added = _addends(unit, one)
    if added is None:
        return None
    if word == "vanishes":
        return _vanishes(one, added)
    if word == "is subnormal" and isinstance(one.format, FloatFormat) and added.least >= one.format.emin:
        return f"{added.words} are multiples of 2^{added.least}, and {one.format.name}'s least normal number is less"
    if word == "overflows":
        return _overflows(unit, one, added)
    if word == "is not finite" and isinstance(unit.sum, RoundedSum) and one.name in ("addition", "product"):
        return _special(unit, one, added)
    if word in RAISED:
        return _raised(unit, one, added, word) or _exact(unit, one, added)
    if word.endswith(("larger", "smaller", "is subnormal")):
        return _exact(unit, one, added)
    return None


def negative_zero(unit: Unit, zeros_make_one: bool) -> str | None:
    """Why no dot product of a unit is -0, or None. zeros_make_one: whether zeros, all of them negative, give -0."""
    last = _last(unit)
    if zeros_make_one or last is None or last.rounding == "rd":
        return None
    added = _addends(unit, last)
    if (unit.promotion is not None or isinstance(unit.late, LateAdd)) and _partial_vanishes(unit):
        return None  # into a -0, to which another is added
    if unit.result.tiny == "positive" and unit.late is None and unit.promotion is None:
        return "negative zeros add up to +0, and so does what rounds to zero"
    if added is None or (why := _vanishes(last, added)) is None:
        return None
    return f"negative zeros add up to +0; no other sum rounds to zero, as {why}"


def _partial_vanishes(unit: Unit) -> bool:
    """Whether a partial sum that is negative may round to -0, before it is promoted or added to a late addend."""
    if unit.result.tiny == "positive":
        return False
    one = _of_groups(unit)
    added = None if one is None else _addends(unit, one)
    return one is None or added is None or _vanishes(one, added) is None


def _of_groups(unit: Unit) -> RoundingPlace | None:
    """The rounding that makes a group's result; None where two do."""
    result = unit.result
    if not isinstance(unit.sum, RoundedSum):
        return RoundingPlace("result", result.format, result.rounding, False, result.flushes)
    if result.format != unit.sum.format:  # a result may then vanish that no addition makes vanish
        return None
    return RoundingPlace("addition", unit.sum.format, unit.sum.rounding, flushes=unit.sum.flushes)


def _last(unit: Unit) -> RoundingPlace | None:
    """The rounding that makes a dot product's result."""
    result = unit.result
    match unit.late:
        case LateAdd() as late:
            return RoundingPlace("late addition", late.format, late.rounding, flushes=late.flushes)
        case LateInWindow():
            return RoundingPlace("result", result.format, result.rounding, False, result.flushes)
        case None:
            pass
    if unit.promotion is not None:
        return RoundingPlace("promotion", unit.promotion.format, unit.promotion.rounding)
    return _of_groups(unit)


def _addends(unit: Unit, one: RoundingPlace) -> Addends | None:
    """What a rounding adds up; None where scales, or other rules, leave no bounds."""
    products = _products(unit)
    if products is None:
        return None
    quantum, top = products
    sums = f"sums of products of {unit.operands.a.name} and {unit.operands.b.name}"
    groups = unit.restart or (None if unit.instruction.chain else unit.instruction.groups)
    # Where sums have any length a partial sum is a number of any size, to which one group's products are added.
    several = _several(unit, top, groups or 1)
    addend = None if unit.operands.addend is None else unit.operands.addend.quantum_exp
    inside = _inside(unit, addend, groups)
    match one.name:
        case "product":
            return Addends(quantum, top, None, sums.removeprefix("sums of "))
        case "late addition":
            number, rounded = _with_results(addend, unit), max(quantum, unit.result.format.quantum_exp)
            return Addends(rounded, several, number, f"{sums}, rounded, and addends", one.flushes is None)
        case "promotion":
            if unit.scale is not None and unit.scale.at == "promotion":
                return None
            start = one.format.quantum_exp if addend is None else min(addend, one.format.quantum_exp)
            return Addends(quantum, several, start, f"{sums} and registers", one.format.subnormals)
        case "addition":
            assert isinstance(unit.sum, RoundedSum)
            if unit.sum.product == "rounded" and not unit.sum.flush and unit.sum.format.subnormals:
                quantum = max(quantum, unit.sum.format.quantum_exp)
            kept = unit.sum.format.subnormals and not (unit.sum.flush and unit.flushes_addends)
            return Addends(quantum, several, inside, sums, kept)
        case "result" if isinstance(unit.late, LateInWindow):
            return Addends(quantum, several, _with_results(addend, unit), f"{sums} and addends")
        case _:
            return Addends(quantum, several, inside, sums)


def _products(unit: Unit) -> tuple[int, int] | None:
    """Exponents of powers of two: every product is a multiple of the one and less than the other, or no more."""
    scales = [] if unit.scale is None or unit.scale.at == "promotion" else [unit.scale.a.format, unit.scale.b.format]
    rule = unit.sum
    window = rule.fraction_bits if isinstance(rule, AlignedSum | EvenOddSum) else 0
    cut = rule.cut if isinstance(rule, AlignedSum) else None
    # Of a sum that loses nothing, ones' complement takes a unit of the places that are left.
    if window < 0 or (cut is not None and cut.lost == "ones-complement"):
        return None
    ends = [_ends(fmt) for fmt in (unit.operands.a, unit.operands.b, *scales)]
    quantum, top = sum(least for least, _ in ends), sum(most for _, most in ends)
    if isinstance(rule, AlignedSum) and rule.max_exp_floor is not None:
        top = max(top, rule.max_exp_floor - window)
    if cut is not None:
        top += max(0, cut.bits - window)  # what is rounded up may be a unit of the places that are left
    return quantum, top


def _several(unit: Unit, top: int, groups: int) -> int | None:
    """The exponent of a power of two that no sum of so many groups reaches; None where it is not bounded."""
    rule, lanes = unit.sum, unit.instruction.lanes
    fmt, roundings = (rule.format, groups * lanes) if isinstance(rule, RoundedSum) else (unit.result.format, groups)
    # So few roundings together make a sum less than twice as large.
    if isinstance(fmt, FloatFormat) and roundings > 1 << max(0, fmt.fraction_bits - 1):
        return None
    # Twice for those, and twice for what windows round up.
    return top + (groups * lanes).bit_length() + 2


def _ends(fmt: Number | ExponentFormat) -> tuple[int, int]:
    """Exponents of powers of two: every number is a multiple of the one, and none exceeds the other."""
    if isinstance(fmt, ExponentFormat):
        return fmt.min_code - fmt.bias, fmt.max_code - fmt.bias
    return fmt.quantum_exp, _top(fmt)


def _top(fmt: Number) -> int:
    """The exponent of a power of two that no number of a format exceeds."""
    return fmt.integer_bits if isinstance(fmt, FixedFormat) else fmt.emax + 1


def _inside(unit: Unit, addend: int | None, groups: int | None) -> int | None:
    """The quantum of a number of any size that is added to a group's products; None where there is none."""
    own = addend if addend is not None and unit.sum.addend == "aligned" and unit.promotion is None else None
    if groups is not None:  # partial sums are sums of products, rounded
        return own
    return _with_results(own, unit)


def _with_results(quantum: int | None, unit: Unit) -> int | None:
    """The quantum of an addend, or of a result that is the next one's addend."""
    if not unit.instruction.chain:
        return quantum
    # A result is a multiple of what its addends are multiples of, or of its own format's least number.
    return unit.output.quantum_exp if quantum is None else min(quantum, unit.output.quantum_exp)


def _vanishes(one: RoundingPlace, added: Addends) -> str | None:
    fmt = one.format
    if isinstance(fmt, FloatFormat) and (one.flushes is not None or not fmt.subnormals):
        # Without subnormals 2^emin itself may be none of the format's numbers.
        least, apart = fmt.emin + (not fmt.subnormals), added.quantum - 1 - fmt.fraction_bits
        if added.number is None and added.quantum >= least:
            return f"{added.words} are multiples of 2^{added.quantum}, a normal number of {fmt.name}"
        if added.number is not None and not added.subnormal and apart >= least:
            # A number so near to a multiple of 2^quantum has its last place at 2^apart or above.
            return f"a number of {fmt.name} next to a multiple of 2^{added.quantum} differs by 2^{apart} or more"
        return None
    if added.least < fmt.quantum_exp:
        return None
    return f"{added.words} are multiples of {fmt.name}'s least number"


def _raised(unit: Unit, one: RoundingPlace, added: Addends, word: str) -> str | None:
    """Why a number below the least normal one is not rounded up to it: there are no bits below a last place."""
    fmt, quantum, number = one.format, added.quantum, added.number
    if not isinstance(fmt, FloatFormat):
        return None
    # What is rounded before it is added is a number of the format; no place of a normal number is below its last one.
    rounded = isinstance(unit.sum, RoundedSum) and one.name == "addition"
    if number is not None and (rounded or not added.subnormal):
        number = max(number, fmt.quantum_exp)
    if rounded and isinstance(unit.sum, RoundedSum) and unit.sum.product == "rounded":
        quantum = max(quantum, fmt.quantum_exp)
    least = quantum if number is None else min(quantum, number)
    last = fmt.quantum_exp - RAISED.index(word)
    return f"{added.words} are multiples of 2^{least}, and not less" if least >= last else None


def _overflows(unit: Unit, one: RoundingPlace, added: Addends) -> str | None:
    fmt = one.format
    if isinstance(fmt, FixedFormat) or added.top is None or one.rounding in ("ru", "rd", "rto"):
        return None
    addend, limit, products = unit.operands.addend, unit.sum.product_limit, _products(unit)
    if addend is not None and (_top(addend) > _top(fmt) or _rounds_above(addend, fmt)):
        return None
    if limit is not None and (products is None or limit <= products[1]):  # which makes products infinite
        return None
    if added.number is not None and one.name == "result" and _rounds_up(unit, fmt.fraction_bits + 2):
        return None
    # Beside a number of the format they, and what a window rounds up, are less than half of its last place.
    if added.top <= (fmt.emax - fmt.fraction_bits - 2 if added.number is not None else fmt.emax):
        return f"{added.words} are less than 2^{added.top}, too little to take {fmt.name}'s largest number further"
    return None


def _rounds_above(addend: Number, fmt: FloatFormat) -> bool:
    """Whether an addend may be above a format's largest number, in the same binade."""
    if isinstance(addend, FixedFormat) or _top(addend) < _top(fmt):
        return False
    places = max(addend.fraction_bits, fmt.fraction_bits)
    most, own = (
        (one.max_magnitude & ~(-1 << one.fraction_bits)) << places - one.fraction_bits for one in (addend, fmt)
    )
    return most > own


def _rounds_up(unit: Unit, bits: int) -> bool:
    """Whether a window that holds a large number may round a small one up to more than its place of that number."""
    rule, late = unit.sum, unit.late
    kept = list[int]()
    if isinstance(late, LateInWindow):
        if late.lost != "truncate":
            kept += [late.sum_bits, *([] if late.total_bits is None else [late.total_bits])]
    elif isinstance(rule, AlignedSum | EvenOddSum):
        kept += [rule.fraction_bits] * (rule.lost != "truncate")
        kept += [rule.combine.fraction_bits] if isinstance(rule, EvenOddSum) else []
        if isinstance(rule, AlignedSum) and rule.cut is not None and rule.cut.lost != "truncate":
            kept.append(rule.fraction_bits - rule.cut.bits)
    return any(places < bits for places in kept)


def _special(unit: Unit, one: RoundingPlace, added: Addends) -> str | None:
    inputs = (unit.operands.a, unit.operands.b)
    if unit.promotion is None and unit.late is None and unit.operands.addend is not None:
        return None
    if any(fmt.infinities or fmt.has_nan for fmt in inputs) or unit.scale is not None:
        return None
    if _overflows(unit, one, added) is None:
        return None
    return f"{added.words} are finite, and none overflows"


def _exact(unit: Unit, one: RoundingPlace, added: Addends) -> str | None:
    """Why a rounding never rounds: all of its bits fit, wherever they stand."""
    fmt, operands = one.format, unit.operands
    if isinstance(fmt, FixedFormat):
        least = fmt.quantum_exp
        return f"{added.words} are multiples of 2^{least}, as all of {fmt.name} are" if added.least >= least else None
    if one.name != "product" or unit.scale is not None or operands.a.sig_bits + operands.b.sig_bits > fmt.precision:
        return None
    # What is too small becomes zero, and what is too large infinite: neither is rounded.
    low = added.quantum >= fmt.emin or one.flushes is not None
    high = added.top is not None and (added.top <= fmt.emax or fmt.infinities)
    return f"{added.words} have no more bits than {fmt.name}" if low and high else None
