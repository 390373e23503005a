"""Bins of units that have more, or other, than one plain window: what goes in, and what each rounding does.

They are counted from the model's record alone, so that every method has them: classes of factors, lanes, special
values, what every rounding of a sum, a late addition or a promotion does, and where results end up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from hwsim.cases.bins.declare import MARKS, Declared, Hits
from hwsim.cases.bins.limits import RAISED, RoundingPlace, impossible
from hwsim.cases.bins.negativezeros import no_negative_zero
from hwsim.cases.bins.operands import classes, classify
from hwsim.cases.bins.sampled import SampledCase
from hwsim.formats import Class, FixedFormat, FloatFormat, Format, unpack
from hwsim.model.record import Explanation, Group
from hwsim.model.rounding import Rounded, flushed_code, round_to, tiny_after
from hwsim.model.terms import Term, addend_term
from hwsim.spec import AlignedSum, EvenOddSum, ExactSum, LateAdd, LateInWindow, RoundedSum, Unit
from hwsim.spec.keys import Number
from hwsim.words import counted

SPECIAL = (Class.NAN, Class.INFINITY)
# Of the sum of several terms, and of the rounding of one.
TOGETHER = ("cancels to 0", "leaves one term as it was", "is of zeros alone")
EVERY = (
    "is exact", "rounds to the larger", "rounds to the smaller", "ties, to the larger", "ties, to the smaller",
    "is subnormal", "vanishes", "overflows", "is not finite",
)  # fmt: skip


def roundings(unit: Unit) -> dict[str, RoundingPlace]:
    """The roundings of a unit, by name."""
    found, result = [], unit.result
    match unit.sum:
        case RoundedSum() as rule:
            found.append(RoundingPlace("addition", rule.format, rule.rounding, flushes=rule.flushes))
            if rule.product == "rounded":
                found.append(RoundingPlace("product", rule.format, rule.rounding, False, rule.flushes))
        case AlignedSum() | EvenOddSum() | ExactSum():
            if not isinstance(unit.late, LateInWindow):
                found.append(RoundingPlace("result", result.format, result.rounding, False, result.flushes))
        case _:
            assert_never(unit.sum)
    match unit.late:
        case LateAdd() as late:
            found.append(RoundingPlace("late addition", late.format, late.rounding, flushes=late.flushes))
        case LateInWindow():
            found.append(RoundingPlace("result", result.format, result.rounding, False, result.flushes))
        case None:
            pass
        case _:
            assert_never(unit.late)
    if unit.promotion is not None:
        found.append(RoundingPlace("promotion", unit.promotion.format, unit.promotion.rounding))
    return {one.name: one for one in found}


def never(one: RoundingPlace, word: str) -> str | None:
    """Why a rounding never does what a word says, or None."""
    if word.endswith("to the larger") and one.rounding == "rz":
        return "rounding towards zero makes nothing larger"
    if word == "ties, to the smaller" and one.rounding == "rna":
        return "ties go away from zero"
    if isinstance(one.format, FixedFormat):
        if word in ("is subnormal", "is not finite"):
            return f"{one.format.name} has no such numbers"
        return None
    if word in RAISED and one.rounding in ("rz", "rto"):
        return f"{one.rounding} takes no number to a power of two above it"
    if word == "is subnormal" and (one.flushes or not one.format.subnormals):
        return "subnormal results become zero" if one.flushes else f"{one.format.name} has no subnormals"
    return None


def outcome(one: RoundingPlace, terms: Sequence[Term], code: int, overflow: bool | None = None) -> list[str]:
    """What a rounding did, in the words of its bins. terms: what was added, exactly. code: what it was rounded to."""
    after = addend_term(one.format, code)
    if any(term.cls in SPECIAL for term in terms):
        return ["is not finite"]
    low = min(term.exp - term.fraction_bits for term in (*terms, after))
    sizes = [_at(term, low) for term in terms]
    total = sum(sizes)
    if total == 0:
        return (["cancels to 0"] if any(sizes) else ["is of zeros alone"]) if one.adds else []
    found, got = [], _at(after, low)
    if isinstance(one.format, FloatFormat):
        number = one.format, int(total < 0), abs(total), low, one.rounding
        whole = round_to(*number, "saturate")
        overflow = whole.overflow if overflow is None else overflow
        if one.flushes is not None and _raises(one.format, whole):
            found.append(RAISED[0 if tiny_after(*number) else 1])
    if overflow:
        return ["overflows"]
    if one.adds and all(sizes) and len(sizes) > 1 and got in sizes:
        found.append("leaves one term as it was")
    if not got:
        return [*found, "vanishes"]
    if isinstance(one.format, FloatFormat) and one.format.subnormals and not after.sig >> one.format.fraction_bits:
        found.append("is subnormal")
    if got == total:
        return [*found, "is exact"]
    way = "larger" if abs(got) > abs(total) else "smaller"
    # Between a power of two and what is below it, places are half as long.
    ulp = 1 << max(after.exp - after.fraction_bits - low, 0)
    if way == "larger" and after.exp > one.format.emin and after.sig == 1 << after.fraction_bits:
        ulp >>= 1
    if 2 * abs(got - total) == ulp:
        return [*found, f"ties, to the {way}"]
    return [*found, f"rounds to the {way}"]


def _raises(fmt: FloatFormat, rounded: Rounded) -> bool:
    """Whether a rounding took a number below the least normal one to that."""
    return rounded.tiny and rounded.code >> fmt.padding & fmt.sign_bit - 1 == 1 << fmt.fraction_bits


def _at(term: Term, low: int) -> int:
    size = term.sig << term.exp - term.fraction_bits - low
    return -size if term.sign else size


def declare_outcomes(unit: Unit, out: Declared) -> None:
    """All bins but those of the ports."""
    _operands(unit, out)
    _roundings(unit, out)
    _results(unit, out)
    _specials(unit, out)
    _lengths(unit, out)
    _late_window(unit, out)
    _cut(unit, out)


def _operands(unit: Unit, out: Declared) -> None:
    """Pairs of classes; each lane alone."""
    a, b = unit.operands.a, unit.operands.b
    pairs = {(x, y): out.bin("G1", f"{x} x {y}") for x in classes(a) for y in classes(b)}
    lanes = [out.bin("G1", f"only lane {lane} has a product other than zero") for lane in range(unit.instruction.lanes)]
    known: dict[tuple[int, int], int] = {}

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        for group in sampled.explanation.groups:
            for pair in zip(group.codes_a, group.codes_b, strict=True):
                if pair not in known:
                    known[pair] = pairs[classify(a, pair[0]), classify(b, pair[1])]
                hits.add(known[pair])
            holding = [lane for lane, term in enumerate(group.products) if term.cls is not Class.ZERO]
            if len(holding) == 1:
                hits.add(lanes[holding[0]])


def _roundings(unit: Unit, out: Declared) -> None:
    """What every rounding does."""
    every = roundings(unit)
    at = {
        (one.name, word): out.bin("G7", f"{one.name} {word}", never(one, word) or impossible(unit, one, word))
        for one in every.values()
        for word in _words(one)
    }

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        for name, terms, code, overflow in rounded(sampled.explanation):
            for word in outcome(every[name], terms, code, overflow):
                hits.add(at[name, word])


def _words(one: RoundingPlace) -> Iterator[str]:
    """The words of the bins of a rounding."""
    yield from EVERY
    if one.adds:
        yield from TOGETHER
    if one.flushes is not None and one.format.subnormals:
        yield from RAISED


def rounded(explanation: Explanation) -> Iterator[tuple[str, Sequence[Term], int, bool | None]]:
    """Every rounding of a dot product: its name, the terms that were added exactly, the code, and whether it overflows.

    None: as the code says.
    """
    unit = explanation.unit
    for index, group in enumerate(explanation.groups):
        yield from _of_group(unit, group)
        if (added := explanation.additions.get(index)) is not None:
            if isinstance(unit.late, LateInWindow):
                if added.window is not None and added.window.unit_exp is not None:
                    yield "result", [_total(added.window.total, added.window.unit_exp)], added.code, None
                elif added.window is None:
                    yield "result", [_special(unit.result.format, added.code)], added.code, None
            elif unit.late is not None:
                addend, fmt = added.addend, added.addend_format
                if unit.late.flush and isinstance(fmt, FloatFormat):
                    addend = flushed_code(fmt, addend)
                terms = addend_term(fmt, addend), addend_term(unit.result.format, added.partial)
                yield "late addition", terms, added.code, None
        if (one := explanation.promotions.get(index)) is not None and unit.promotion is not None:
            partial = addend_term(unit.result.format, one.partial)
            if one.scale is not None:
                scale = addend_term(unit.promotion.format, one.scale)
                partial = _times(partial, scale)
            yield "promotion", (addend_term(unit.promotion.format, one.register), partial), one.code, None


def _of_group(unit: Unit, group: Group) -> Iterator[tuple[str, Sequence[Term], int, bool | None]]:
    """The roundings of one group's sum."""
    if isinstance(unit.sum, RoundedSum):
        for step in group.steps:
            if len(step.terms) > 1:
                yield "addition", step.terms, step.code, None
            elif unit.sum.product == "rounded" and not step.name.endswith("addend"):
                yield "product", step.terms, step.code, None
    elif isinstance(unit.late, LateInWindow):
        return
    elif group.special is not None:
        yield "result", [group.special], group.code, None
    elif group.unit_exp is not None:
        yield "result", [_total(group.total, group.unit_exp)], group.code, group.rounded.overflow


def _total(total: int, unit_exp: int) -> Term:
    return Term(int(total < 0), unit_exp, abs(total), 0, Class.NORMAL if total else Class.ZERO)


def _special(fmt: Format, code: int) -> Term:
    """A term that is special, as its result is; infinite where the result is a number."""
    cls = unpack(fmt, code).cls
    return Term(0, 0, 0, 0, cls if cls in SPECIAL else Class.INFINITY)


def _times(x: Term, y: Term) -> Term:
    """The product of two terms."""
    if Class.NAN in (x.cls, y.cls) or {x.cls, y.cls} == {Class.ZERO, Class.INFINITY}:
        return Term(0, 0, 0, 0, Class.NAN)
    cls = Class.INFINITY if Class.INFINITY in (x.cls, y.cls) else Class.NORMAL if x.sig * y.sig else Class.ZERO
    return Term(x.sign ^ y.sign, x.exp + y.exp, x.sig * y.sig, x.fraction_bits + y.fraction_bits, cls)


def _results(unit: Unit, out: Declared) -> None:
    """What the results of dot products are."""
    fmt = unit.output
    words = {
        (Class.ZERO, 0): "+0", (Class.ZERO, 1): "-0", (Class.NORMAL, 0): "positive", (Class.NORMAL, 1): "negative",
        (Class.INFINITY, 0): "+infinity", (Class.INFINITY, 1): "-infinity", (Class.NAN, 0): "NaN",
    }  # fmt: skip
    minus = no_negative_zero(unit) if fmt.signed_zero else None
    at = {
        key: out.bin(
            "G9", f"the result is {word}", _no_result(fmt, *key) or (minus if key == (Class.ZERO, 1) else None)
        )
        for key, word in words.items()
    }
    ends = {}
    if isinstance(fmt, FixedFormat) and unit.operands.addend == fmt:
        half = 1 << fmt.bits - 1
        ends = {
            code: out.bin("G9", f"the result is the {word} number")
            for code, word in ((half, "least"), (half - 1, "largest"))
        }

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        if (end := ends.get(sampled.explanation.code)) is not None:
            hits.add(end)
        sign, _, _, cls = unpack(fmt, sampled.explanation.code)
        cls = Class.NORMAL if cls is Class.SUBNORMAL else cls
        hits.add(at[cls, 0 if cls is Class.NAN else sign])


def _no_result(fmt: Number, cls: Class, sign: int) -> str | None:
    if cls is Class.ZERO and sign and not fmt.signed_zero:
        return f"{fmt.name} has one zero"
    if cls is Class.INFINITY and not fmt.infinities:
        return f"{fmt.name} has no infinity"
    if cls is Class.NAN and not fmt.has_nan:
        return f"{fmt.name} has no NaN"
    return None


def _specials(unit: Unit, out: Declared) -> None:
    """NaN and infinities in each lane and in the addend; zeros by their signs."""
    lanes, fmt = range(unit.instruction.lanes), unit.operands.addend
    factors = (("a", unit.operands.a), ("b", unit.operands.b))
    nan = [
        [out.bin("G10", f"NaN in {side} at lane {lane}") for lane in lanes] if f.has_nan else [] for side, f in factors
    ]
    infinite = any(f.infinities for _, f in factors)
    at = [[out.bin("G10", f"{mark} infinite product at lane {lane}") for lane in lanes] for mark in MARKS if infinite]
    times = [out.bin("G10", f"infinite {side} times zero") if f.infinities else -1 for side, f in factors]
    addends = {
        (cls, sign): out.bin("G10", f"{word} addend, finite products")
        for cls, sign, word in (
            (Class.NAN, 0, "NaN"),
            (Class.INFINITY, 0, "+infinite"),
            (Class.INFINITY, 1, "-infinite"),
        )
        if fmt is not None and (fmt.has_nan if cls is Class.NAN else fmt.infinities)
    }
    both = infinite and fmt is not None and fmt.infinities
    against = out.bin("G10", "infinite product against an infinite addend") if both else -1
    zero = [out.bin("G10", f"zeros alone, the first product's {mark}0, the addend's {other}0")
            for mark in MARKS for other in MARKS if fmt is not None and fmt.signed_zero]  # fmt: skip

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        explanation, found = sampled.explanation, set[tuple[Class, int]]()
        addend = addend_term(fmt, explanation.c) if fmt is not None else None
        for group in explanation.groups:
            for lane, (x, y, term) in enumerate(zip(group.a, group.b, group.products, strict=True)):
                found.add((term.cls, term.sign))
                for side, factor, other in ((0, x, y), (1, y, x)):
                    if factor.cls is Class.NAN:
                        hits.add(nan[side][lane])
                    if factor.cls is Class.INFINITY and other.cls is Class.ZERO:
                        hits.add(times[side])
                if term.cls is Class.INFINITY and at:
                    hits.add(at[term.sign][lane])
        if addend is None:
            return
        special = {cls for cls, _ in found} & set(SPECIAL)
        if not special and addend.cls in SPECIAL:
            hits.add(addends[addend.cls, addend.sign if addend.cls is Class.INFINITY else 0])
        if addend.cls is Class.INFINITY and (Class.INFINITY, 1 - addend.sign) in found and against >= 0:
            hits.add(against)
        if zero and addend.cls is Class.ZERO and {cls for cls, _ in found} == {Class.ZERO}:
            hits.add(zero[2 * explanation.groups[0].products[0].sign + addend.sign])


def _lengths(unit: Unit, out: Declared) -> None:
    """Groups of a sum; where it ends beside a promotion."""
    instruction, beats = unit.instruction, unit.promotion_beats
    whole = instruction.fill // instruction.lanes
    words = {whole * n: f"a sum of {counted(whole * n, 'group')}" for n in (1, 2, 3)}
    if not instruction.chain:
        words = {n: word for n, word in words.items() if n <= instruction.groups}
    elif beats is not None:
        ends = {beats - 1: "one group before", beats: "at", beats + 1: "one group after"}
        words |= {n: f"the sum ends {word} a promotion" for n, word in ends.items() if n}
    at = {n: out.bin("G11", word) for n, word in words.items()}

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        if (count := len(sampled.explanation.groups)) in at:
            hits.add(at[count])


def _cut(unit: Unit, out: Declared) -> None:
    """What a window's sum loses before it is rounded, by its sign."""
    if not isinstance(unit.sum, AlignedSum) or unit.sum.cut is None:
        return
    at = [out.bin("G4", f"a {word} sum loses ones in its lowest places") for word in ("positive", "negative")]
    below = (1 << unit.sum.cut.bits) - 1

    @out.cases.append
    def sample_cut(sampled: SampledCase, hits: Hits) -> None:
        for group in sampled.explanation.groups:
            if group.uncut is not None and abs(group.uncut) & below:
                hits.add(at[group.uncut < 0])


def _late_window(unit: Unit, out: Declared) -> None:
    """What a late addend's window keeps; which of two windows counts."""
    late = unit.late
    if isinstance(late, LateInWindow):
        dropped = out.bin("G4", "the late addend is dropped") if late.drop_below is not None else -1
        cut = out.bin("G4", "sum and addend together are cut") if late.total_bits is not None else -1

        @out.cases.append
        def sample_window(sampled: SampledCase, hits: Hits) -> None:
            for added in sampled.explanation.additions.values():
                if added.window is not None:
                    hits.update([dropped] * added.window.dropped + [cut] * (cut >= 0 and added.window.cut > 0))

    if isinstance(unit.sum, EvenOddSum):
        words = ("even lanes stand higher", "odd lanes stand higher", "even and odd lanes stand alike")
        at = [out.bin("G3", word) for word in words]

        @out.cases.append
        def sample_halves(sampled: SampledCase, hits: Hits) -> None:
            for group in sampled.explanation.groups:
                if group.halves is not None:
                    even, odd = group.halves.even.max_exp, group.halves.odd.max_exp
                    if even is not None and odd is not None:
                        hits.add(at[0 if even > odd else 1 if odd > even else 2])
