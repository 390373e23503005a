"""Consequences of a unit's specification: the numbers that bins are derived from, and facts that prove."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hwsim.base.text import counted
from hwsim.cases.case import Case
from hwsim.cases.palette import EXHAUSTIVE_BITS, Product, exact_code
from hwsim.cases.solver import EVERY_DISTANCE, Addend, CaseBuilder, Filling, Solution
from hwsim.formats import Class, FloatFormat
from hwsim.model.terms import Term, addend_term, align, lost_part
from hwsim.spec import Unit
from hwsim.spec.keys import LOST_RULES, Factor, Lost
from hwsim.spec.ranges import span_of
from hwsim.spec.rules import embeds


def changes_what_is_kept(lost: Lost) -> bool:
    """True if bits below the window can change those in it."""
    return LOST_RULES[lost].rounding != "rz"


def keeps_what_fits(lost: Lost) -> bool:
    """True if a term without bits below the window is in it as it is."""
    return not LOST_RULES[lost].complemented


def drops_what_is_far_below(lost: Lost) -> bool:
    """True if a term of less than half of the window's last place leaves nothing in it."""
    return LOST_RULES[lost].rounding in ("rz", "rne", "rna") and keeps_what_fits(lost)


def in_window(lost: Lost, sign: int, sig: int, fraction_bits: int, window: int) -> int:
    """The magnitude of a term at max_exp in a window of so many fraction bits."""
    return abs(align(Term(sign, 0, sig, fraction_bits, Class.NORMAL), 0, window, lost))


MOST_BEATS = 4096  # of a witness by a chain


@dataclass(frozen=True)
class RangeReport:
    """The reach of sums of finite operands in the result format, before promotion.

    overflow: whether a rounded sum can be too large. underflow: whether a sum in which a product counts can be below
    the smallest normal number and not zero; an addend that passes through beside nothing does not count.
    False is proved. True has a witness, a case whose last beat does it, unless the bounds only do not exclude it.
    reasons: a sentence for each.
    """

    overflow: bool
    underflow: bool
    reasons: tuple[str, str]
    overflow_witness: Case | None = None
    underflow_witness: Case | None = None


def range_report(unit: Unit) -> RangeReport:
    """Report if a unit's result format can overflow and underflow.

    Raises NotImplementedYet for a unit without bins.
    """
    builder = CaseBuilder(unit, 0)
    overflow, why_overflow, large = _overflow(builder)
    underflow, why_underflow, small = _underflow(builder)
    return RangeReport(overflow, underflow, (why_overflow, why_underflow), large, small)


# Overflow.


@dataclass(frozen=True)
class _Largest:
    """The largest result of one beat: its magnitude's bits, and what makes it; overflow counts as larger than any."""

    magnitude: int
    found: Solution
    overflow: bool


def _overflow(builder: CaseBuilder) -> tuple[bool, str, Case | None]:
    fmt = builder.addend_format
    largest = [_largest(builder, sign, fmt, None) for sign in (0, 1)]
    over = next((extreme for extreme in largest if extreme.overflow), None)
    if over is not None:
        return True, "overflow: one beat reaches it", _witness(builder, "overflow", over.found)
    if builder.partials and not (fmt is not None and embeds(builder.result, fmt)):
        return _chained_overflow(builder, max(extreme.magnitude for extreme in largest))
    return False, f"overflow: {_bound(builder, largest)}", None


def _bound(builder: CaseBuilder, largest: list[_Largest]) -> str:
    most = builder.definition.result.decode([max(extreme.magnitude for extreme in largest) << builder.result.padding])[
        0
    ]
    return f"for every max_exp the largest sum of {builder.lanes} products and an addend rounds to at most {most:g}"


def _chained_overflow(builder: CaseBuilder, magnitude: int) -> tuple[bool, str, Case | None]:
    """Overflow by partial sums, which no addend stands for: they may have any value up to a bound that grows."""
    fmt, beats = builder.result, min(builder.beats, builder.unit.promotion_beats or builder.beats)
    for beat in range(1, beats):
        # Any partial sum of the largest one's binade or below, reachable or not.
        exp = max((magnitude >> fmt.fraction_bits) - fmt.bias, fmt.emin)
        largest = [_largest(builder, sign, fmt, exp) for sign in (0, 1)]
        if any(extreme.overflow for extreme in largest):
            witness = _chained_witness(builder, min(beats, MOST_BEATS))
            return True, f"overflow: not excluded after {counted(beat + 1, 'beat')}", witness
        grown = max(magnitude, *(extreme.magnitude for extreme in largest))
        if grown >> fmt.fraction_bits == magnitude >> fmt.fraction_bits:
            return False, f"overflow: {_bound(builder, largest)}, however many beats there are", None
        magnitude = grown
    return False, f"overflow: {_bound(builder, largest)}, after all {counted(beats, 'beat')}", None


def _chained_witness(builder: CaseBuilder, beats: int) -> Case | None:
    """A chain of beats that each add as much as can be to the partial sum before, if it overflows."""
    low, high = _product_exps(builder)
    for sign in (0, 1):
        fillings: list[Filling] = []
        partial = builder.definition.partial(0)
        for _ in range(beats):
            addend = Addend(partial) if partial.sig else None
            least = max(low, partial.exp) if addend else low
            tops = {*range(least, high + 1), *([partial.exp] if addend else [])}
            able = [extreme for top in sorted(tops) for extreme in _of_top(builder, sign, top, addend)]
            best = max(able, key=lambda best: (best.overflow, best.magnitude))
            fillings.append(builder.filling(best.found.products, 0, best.found.shift))
            if best.overflow:
                return builder.cases[-1] if builder.add(f"reachable/overflow{sign}", fillings) else None
            partial = builder.definition.partial(builder.measure(best.found).code)
    return None


def _product_exps(builder: CaseBuilder) -> tuple[int, int]:
    """The least and the largest reference exponent of a product, with the scales' ends."""
    exps = builder.palette.exps
    low, high = builder.scale_ends
    return exps[0] - builder.neutral + low, exps[-1] - builder.neutral + high


def _largest(builder: CaseBuilder, sign: int, fmt: FloatFormat | None, addend_exp: int | None) -> _Largest:
    """The largest result of a sign, over every max_exp. addend_exp: the addend's largest exponent, or None for any."""
    low, high = _product_exps(builder)
    if fmt is not None:
        low, high = min(low, fmt.emin), max(high, fmt.emax if addend_exp is None else addend_exp)
    floor = builder.rule.max_exp_floor
    if floor is not None:
        low, high = max(low, floor), max(high, floor)
    best = _Largest(0, Solution(()), False)
    for top in range(low, high + 1):
        most = top if addend_exp is None else min(top, addend_exp)
        addend = None if fmt is None else _largest_addend(sign, fmt, most)
        for extreme in _of_top(builder, sign, top, addend):
            best = max(best, extreme, key=lambda extreme: (extreme.overflow, extreme.magnitude))
    return best


def _largest_addend(sign: int, fmt: FloatFormat, exp: int) -> Addend | None:
    """The largest number of an addend's format, or of a partial sum's, with at most this exponent."""
    if exp < fmt.emin or (sign and not fmt.signed):
        return None
    code = exact_code(fmt, sign, (2 << fmt.fraction_bits) - 1, exp - fmt.fraction_bits)
    if code is None:
        code = (fmt.max_magnitude | sign * fmt.sign_bit) << fmt.padding
    return Addend(addend_term(fmt, code), code)


def _of_top(builder: CaseBuilder, sign: int, top: int, addend: Addend | None) -> Iterator[_Largest]:
    """The largest sum whose max_exp is `top`: of each term the largest, one of them at `top` unless the floor is."""
    least, most = (end - builder.neutral for end in builder.scale_ends)
    # Scales bring one of the largest exponents to `top`, as far as they go.
    for shift in {min(max(top - exp, least), most) for exp in builder.palette.exps[-3:]}:
        largest = builder.palette.largest(sign, top - shift)
        first = largest
        if (addend is None or addend.term.exp != top) and top != builder.rule.max_exp_floor:
            at_top = builder.palette.of(sign, top - shift)
            if not at_top:
                continue
            first = at_top[-1]
        products = (first, *[largest] * (builder.lanes - 1)) if first and largest else ()
        terms = [_term(builder, product, shift) for product in products] + ([addend.term] if addend else [])
        total = sum([align(term, top, builder.window, builder.rule.term_lost) for term in terms])
        sticky = builder.rule.sticky and any(lost_part(term, top, builder.window) for term in terms)
        rounded = builder.definition.round(total, top, sticky)
        magnitude = rounded.code >> builder.result.padding & (builder.result.sign_bit - 1)
        yield _Largest(magnitude, Solution(products, addend, shift), rounded.overflow)


def _term(builder: CaseBuilder, product: Product, shift: int) -> Term:
    return Term(product.sign, product.exp + shift, product.sig, builder.palette.fraction_bits, Class.NORMAL)


def _witness(builder: CaseBuilder, name: str, solution: Solution) -> Case | None:
    """A solution as a case of one beat."""
    return builder.cases[-1] if builder.add_solution(f"reachable/{name}", solution) else None


# Underflow.


def _underflow(builder: CaseBuilder) -> tuple[bool, str, Case | None]:
    unit_exp, why = granule(builder)
    least = builder.result.emin
    if unit_exp >= least:
        return False, f"underflow: every sum with a product is a multiple of 2^{unit_exp} >= 2^{least}, {why}", None
    for solution in _tiny(builder, unit_exp):
        group = builder.measure(solution)
        if group.rounded.tiny and any(group.aligned[: len(solution.products)]):
            return True, "underflow: one sum reaches it", _witness(builder, "underflow", solution)
    return True, f"underflow: not excluded, because sums are multiples of 2^{unit_exp}", None


def granule(builder: CaseBuilder) -> tuple[int, str]:
    """The exponent of a power of two that every sum with a product is a multiple of, and why."""
    least = _product_exps(builder)[0]
    product = least - builder.palette.fraction_bits
    fmt = builder.addend_format
    # A partial sum is a multiple of what its products and the first addend are multiples of: rounding only coarsens.
    term = product if fmt is None else min(product, fmt.emin - fmt.fraction_bits)
    floor = builder.rule.max_exp_floor
    window = (least if floor is None else max(least, floor)) - builder.window
    if window >= term or not keeps_what_fits(builder.rule.term_lost):
        lowest = "a product's" if window == least - builder.window else f"its floor, {floor}"
        return window, f"because max_exp is at least {lowest}"
    return term, "because every term is"


def _tiny(builder: CaseBuilder, unit_exp: int) -> Iterator[Solution]:
    """Sums that may be tiny: the smallest products alone, and with addends or other products that leave little."""
    emin, exps = builder.result.emin, builder.palette.exps
    shifts = (
        sorted({0, max(builder.scale_ends[0] - builder.neutral, emin - 1 - exps[0])}) if builder.unit.scale else [0]
    )
    for shift in shifts:
        if builder.can_shift(shift):
            yield from (
                Solution((product,), None, shift) for exp in exps[:3] for product in builder.palette.of(0, exp)[:4]
            )
    for place in range(emin - 1, unit_exp - 1, -1):
        for exp in exps[:4]:
            for product in builder.palette.of(0, exp):
                unit = min(place, product.exp - builder.palette.fraction_bits)
                size = (product.sig << product.exp - builder.palette.fraction_bits - unit) - (1 << place - unit)
                addend = builder.addend(1, size, unit)
                if addend and not addend.before:
                    yield Solution((product,), addend)
        product, little = builder.palette.of(0, exps[0])[0], builder.addend(0, 1, place)
        back = builder.palette.find(1, product.exp, product.sig)
        if back and little and not little.before and builder.lanes > 1:
            yield Solution((product, back), little)
        solution = builder.solved(1, place)
        if solution is not None and not (solution.addend and solution.addend.before):
            yield solution


MOST_PRECISION = 11  # bits of significands of which all pairs are enumerated


class UnitFacts:
    """A unit's numbers.

    bits: fraction bits of a product (p_a + p_b - 2). width: bits of a product (p_a + p_b). window: fraction bits of
    the window. lost: what its rule for lost bits makes of a term. sticky: whether rounding is told of them.
    lanes: products in a group.
    exps: every reference exponent of a product other than zero, without scales.
    floor: the least max_exp; None where there is none.
    exact_products: whether every product is enumerated; of formats above 8 bits only exponents are.
    addends: whether a group can have an addend other than zero.
    Raises NotImplementedYet for a unit without bins.
    """

    def __init__(self, unit: Unit):
        self.unit = unit
        self.builder = builder = CaseBuilder(unit, 0)
        self.lanes, self.window, self.lost = builder.lanes, builder.window, builder.rule.term_lost
        self.sticky = builder.rule.sticky
        self.bits = builder.palette.fraction_bits
        self.width = self.bits + 2
        self.factors: tuple[Factor, Factor] = (unit.operands.a, unit.operands.b)
        self.exact_products = all(fmt.bits <= EXHAUSTIVE_BITS for fmt in self.factors)
        self.exps = [exp - builder.neutral for exp in builder.palette.exps]
        self.addends = builder.addend_bits > 0
        self.floor = builder.rule.max_exp_floor
        self.spread = max(builder.blocks) > 1
        self._sigs: dict[tuple[int, ...], frozenset[int]] = {}

    @property
    def names(self) -> str:
        """The products, in words."""
        return f"{self.factors[0].name} x {self.factors[1].name}"

    @cached_property
    def farthest(self) -> int:
        """The largest distance between two products of one group."""
        low, high = self.builder.scale_ends
        return self.exps[-1] - self.exps[0] + (2 * (high - low) if self.spread else 0)

    @cached_property
    def distances(self) -> list[int]:
        """Distances between products that have bins of their own: all that there are, and those around the window."""
        return list(range(max(min(self.farthest, EVERY_DISTANCE), self.window + 4) + 1))

    @property
    def together(self) -> str | None:
        """The reason why a product never has another term beside it, or None."""
        if self.lanes > 1 or self.addends:
            return None
        return "a group has one product and no addend"

    @property
    def single(self) -> str | None:
        """The reason why there are no two products in a group, or None."""
        return "a group has one product only" if self.lanes == 1 else None

    def apart(self, d: int) -> str | None:
        """The reason why no two products are so far apart, or None."""
        if self.single:
            return self.single
        if d > self.farthest:
            ends = f"products of {self.names} have exponents {self.exps[0]} to {self.exps[-1]}"
            shared = "" if self.unit.scale is None else ", and one scale for the whole group"
            return f"{ends}{shared}, so that two are at most {self.farthest} apart"
        if self.spread or any(exp + d in self._exps for exp in self.exps):
            return None
        return f"no two exponents of products of {self.names} are {d} apart"

    def lowered(self, d: int) -> str | None:
        """The reason why no product stands so far below max_exp, or None. At 0 it may have set max_exp alone."""
        if d == 0 or self.addends:
            return None
        return self.together or self.apart(d)

    @cached_property
    def _exps(self) -> frozenset[int]:
        return frozenset(self.exps)

    @cached_property
    def all_sigs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Every number that is a product of two significands, other than zero; and of two not both of subnormals.

        None where those are too many.
        """
        if max(fmt.sig_bits for fmt in self.factors) > MOST_PRECISION:
            return None
        a, b = (np.arange(1, span_of(fmt).most + 1, dtype=np.int64) for fmt in self.factors)
        normal_a, normal_b = (sig >= 1 << fmt.fraction_bits for sig, fmt in zip((a, b), self.factors, strict=True))
        every = a[:, None] * b
        return np.unique(every), np.unique(every[normal_a[:, None] | normal_b])

    def never_ends(self, d: int, places: int, word: str) -> bool:
        """True if enumeration proves that no product's lowest bits are of a kind (`hwsim.cases.bins.lostbits.kind`).

        d: how far below max_exp it is, where a floor may be too high for two subnormals.
        """
        if self.all_sigs is None or places < 2 or places > 48:
            return False
        sigs = self.all_sigs[self.floored(d + sum(fmt.emin for fmt in self.factors)) is not None]
        low = sigs & ((1 << places) - 1)
        half, ones = 1 << places - 1, (1 << places) - 1
        ends = {
            "zero": low == 0,
            "one last bit": low == 1,
            "below half": (low > 1) & (low < half),
            "half": low == half,
            "above half": (low > half) & (low < ones),
            "all ones": low == ones,
        }[word]
        return not ends.any()

    def sigs(self, d: int, addend: bool) -> frozenset[int] | None:
        """Significands that a product d below max_exp can have; None where they are not enumerated.

        addend: whether an addend may be what has max_exp, rather than a product.
        """
        if not self.exact_products:
            return None
        if (addend and self.addends) or self.spread:
            return self._sigs_of(tuple(self.exps))
        if self.lanes == 1 and d:
            return None
        return self._sigs_of(tuple(exp for exp in self.exps if exp + d in self._exps))

    def _sigs_of(self, exps: tuple[int, ...]) -> frozenset[int]:
        if exps not in self._sigs:
            of, neutral = self.builder.palette.of, self.builder.neutral
            self._sigs[exps] = frozenset(
                product.sig for exp in exps for sign in (0, 1) for product in of(sign, exp + neutral)
            )
        return self._sigs[exps]

    def below(self, d: int) -> int:
        """Places of a product that are below the window at a distance; 0 or less: none."""
        return d + self.bits - self.window

    def none_lost(self, d: int) -> str | None:
        """The reason why a product d below max_exp loses no bits, or None."""
        if self.below(d) > 0:
            return None
        return f"products have {self.bits} fraction bits and the window {self.window}: at {d} below nothing is cut off"

    @cached_property
    def loses(self) -> str | None:
        """The reason why no term ever loses bits, or None."""
        if self.addends or self.below(self.farthest) > 0:
            return None
        return (
            f"products have {self.bits} fraction bits and are at most {self.farthest} apart, within the window's "
            f"{self.window}"
        )

    @cached_property
    def addend_exps(self) -> tuple[int, int] | None:
        """The least and the largest exponent of an addend: c, and where groups go on a result, too.

        None where addends are partial sums alone.
        """
        fmt = self.builder.addend_format
        if fmt is None:
            return None
        formats = [fmt, self.result] if self.goes_on else [fmt]
        return min(kind.emin for kind in formats), max(kind.emax for kind in formats)

    @property
    def goes_on(self) -> bool:
        """True if a group may go on from the result of another."""
        instruction = self.unit.instruction
        return instruction.chain is not None or instruction.groups > 1

    @cached_property
    def product_exps(self) -> tuple[int, int]:
        """The least and the largest exponent of a product, scales counted."""
        return _product_exps(self.builder)

    def floored(self, exp: int) -> str | None:
        """The reason why max_exp cannot be as low as this, to which scales add, or None."""
        highest = exp + self.builder.scale_ends[1]
        if self.floor is None or highest >= self.floor:
            return None
        return f"the exponent of such a product is at most {highest}, and max_exp at least {self.floor}"

    def deepest(self) -> tuple[int, str] | None:
        """The largest distance of a product below any term, and why; None where none is known."""
        if not self.addends:
            return self.farthest, f"two products are at most {self.farthest} apart"
        if self.addend_exps is None:
            return None
        highest = self.addend_exps[1] if self.floor is None else max(self.addend_exps[1], self.floor)
        d = max(self.farthest, highest - self.product_exps[0])
        return d, f"no term is more than {d} above a product of {self.names}"

    @cached_property
    def most_together(self) -> tuple[Fraction, bool]:
        """The most that all products lose together, in places of the window's last, and a flag: that much is lost."""
        # In a window shorter than a product the largest one loses bits too.
        losing = self.lanes if self.addends or self.window < self.bits else self.lanes - 1
        if not self.exact_products:
            return Fraction(losing), False
        parts = [Fraction(0)]
        for places in range(1, self.width + 2):
            sigs = self.sigs(places + self.window - self.bits, True) or ()
            parts.append(Fraction(max((sig & ((1 << places) - 1) for sig in sigs), default=0), 1 << places))
        return max(parts) * losing, True

    @cached_property
    def most_lost(self) -> Fraction | None:
        """The largest part of a window place that one product can lose below another; None where not enumerated."""
        if not self.exact_products:
            return None
        best = Fraction(0)
        # Below that the product has no bits in the window, and loses less with each place.
        for d in self.distances:
            places = self.below(d)
            if 0 < places <= self.width + 1 and self.apart(d) is None:
                top = max((sig & ((1 << places) - 1) for sig in self.sigs(d, False) or ()), default=0)
                best = max(best, Fraction(top, 1 << places))
        return best

    def grown(self, sign: int, *, addend: bool) -> int:
        """The most places that a sum of this sign can stand above max_exp, with an addend or of products alone.

        All terms are the largest at max_exp, as the window rounds them: one shorter than a product may round it up.
        """
        of, exps = self.builder.palette.of, self.builder.palette.exps
        largest = max(products[-1].sig for exp in exps if (products := of(sign, exp)))
        total = self.lanes * in_window(self.lost, sign, largest, self.bits, self.window)
        if addend:
            bits = max(self.builder.addend_bits, self.result.fraction_bits + 1 if self.goes_on else 0)
            total += in_window(self.lost, sign, (1 << bits) - 1, bits - 1, self.window)
        return total.bit_length() - 1 - self.window

    @cached_property
    def growths(self) -> tuple[int, int]:
        """The most places that any sum of each sign can stand above max_exp."""
        return self.grown(0, addend=self.addends), self.grown(1, addend=self.addends)

    @property
    def most_growth(self) -> int:
        """The most places that any sum can stand above max_exp."""
        return max(self.growths)

    @property
    def result(self) -> FloatFormat:
        """The format that a group's sum is rounded to."""
        return self.builder.result

    @cached_property
    def most_cut(self) -> int:
        """The most places that rounding cuts off a normal result."""
        return self.window + self.most_growth - self.result.fraction_bits

    @cached_property
    def shallow(self) -> tuple[int, str] | None:
        """The most places that a sum's leading one can stand below max_exp, of products alone, and why."""
        if self.addends or self.spread or not keeps_what_fits(self.lost):
            return None
        depth = self.farthest + self.bits
        why = f"every product is a multiple of 2^{self.exps[0] - self.bits} and has at most exponent {self.exps[-1]}"
        return depth, f"{why}, so that the sum's leading one is at most {depth} places below max_exp"

    @cached_property
    def range(self) -> RangeReport:
        """Proofs on the ends of the result's range."""
        return range_report(self.unit)

    @cached_property
    def unit_of_sums(self) -> tuple[int, str]:
        """The exponent of a power of two that every sum with a product is a multiple of, and why."""
        return granule(self.builder)

    @cached_property
    def largest_sum(self) -> Fraction | None:
        """A bound of every sum's magnitude, however it is rounded; None where nothing bounds its addends."""
        unit, beats = self.unit, self.builder.beats
        if unit.promotion_beats is not None:
            beats = min(beats, unit.promotion_beats)
        exp = self.exps[-1] + self.builder.scale_ends[1]
        scale = Fraction(1 << exp) if exp >= 0 else Fraction(1, 1 << -exp)
        addend = self.builder.addend_format
        if (addend is not None or beats > 1 << 10) and self.lost == "truncate" and unit.result.rounding == "rz":
            # A sum of that size and more has all products below its window.
            start = Fraction(0) if addend is None else 2 * Fraction(2) ** addend.emax
            return max(start, 4 * scale * (1 << self.window)) + 4 * scale * self.lanes
        if addend is not None or beats > 1 << 10:
            return None
        product = Fraction((1 << self.width) * 2, 1 << self.bits) * scale
        # Doubled for what rounding adds, to a term or to a result, in each beat.
        return product * (self.lanes << beats)

    def landmarks(self) -> Iterator[int]:
        """Counts of lanes: one, two, half of them, all."""
        yield from sorted({1, 2, self.lanes // 2, self.lanes} & set(range(1, self.lanes + 1)))
