"""What holds between the steps of a unit's datapath in every group, as proofs show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from hwsim.formats import FloatFormat
from hwsim.prove.accumulation import OPERANDS, PromotionClaims
from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.circuits import Circuit, connected, fixed
from hwsim.prove.claims import SPECIAL, StepCircuits, exactly, holds
from hwsim.prove.symbolic import Integer, Truth, as_integer, ite
from hwsim.prove.terms import Term, ask, both, constant, either, implies, is_one, negated, same, value, width
from hwsim.prove.windows import in_window
from hwsim.rtl.accumulate import BELOW
from hwsim.rtl.terms import WindowRanges
from hwsim.spec import Unit
from hwsim.spec.parts import Promotion


@dataclass(frozen=True)
class ScaledLanes:
    """Lanes whose scales are the same. base: what these add to exponents, which may be anything; one for all parts."""

    lanes: tuple[int, ...]
    base: Any


@dataclass(frozen=True)
class Blocks:
    """All blocks of a beat; none without scales. fields: the least and the largest sum of both factors' exponents."""

    blocks: tuple[ScaledLanes, ...]
    fields: tuple[int, int]

    @classmethod
    def of(cls, n: WindowRanges, parts: StepCircuits, known: Sequence[Term]) -> Blocks:
        """Those that the circuits have: lanes with one term as what scales add. None where the solver does not find it
        in their products. known: of all operands. That all lanes make the same of theirs is a claim of `hwsim.prove`.
        """
        fields = len(n.multiplied), sum(shape.field.most for shape in n.multiplied)
        scales = [parts.decode.outputs[f"o__scale_exp__{lane}"] for lane in range(n.lanes if n.scales else 0)]
        lanes = {scale.id(): [lane for lane, one in enumerate(scales) if one == scale] for scale in scales}
        finite = [negated(is_one(parts.products.outputs[f"o__special__{flag}"])) for flag in SPECIAL]
        for first, *_ in lanes.values():
            exp = Integer.unsigned(parts.products.outputs[f"o__terms__{first}__exp"])
            near = _near(exp, Integer.unsigned(scales[first]), fields)
            if ask(either(holds(exp == 0), near), (*known, *finite)).word != "proved":
                return cls((), fields)
        bases = [Integer.unsigned(constant("blocks: scale", width(scales[some[0]]))) for some in lanes.values()]
        return cls(
            tuple(ScaledLanes(tuple(some), base) for some, base in zip(lanes.values(), bases, strict=True)), fields
        )

    def near(self, exps: Sequence[Any]) -> list[Term]:
        """That each product other than zero is near to what its scales add. exps: of all lanes."""
        return [
            either(holds(exps[lane] == 0), _near(exps[lane], block.base, self.fields))
            for block in self.blocks
            for lane in block.lanes
        ]

    def within(self, max_exp: Any) -> Term:
        """That a max_exp is one that products of some block can have."""
        found = [_near(max_exp, block.base, self.fields) for block in self.blocks]
        return either(*found) if found else both()


def _near(exp: Any, base: Any, fields: tuple[int, int]) -> Term:
    least, most = fields
    return both(holds(exp >= base + least), holds(exp <= base + most))


@dataclass(frozen=True)
class PartialSums:
    """The partial sums of a unit. lsb: the exponent of a bit of which all are multiples. most: their largest exponent.
    special: codes of NaN and infinities, without padding.
    """

    fmt: FloatFormat
    lsb: int
    most: int
    special: tuple[int, ...]

    def are(self, code: Term) -> Term:
        """That a code, without padding, is one."""
        fmt, bits = self.fmt, Integer.unsigned(code)
        size = as_integer(bits & ((1 << fmt.bits - 1) - 1))
        least = self.lsb + fmt.bias << fmt.fraction_bits
        within = exactly(size, least, ((self.most + fmt.bias + 1) << fmt.fraction_bits) - 1)
        field, whole = size >> fmt.fraction_bits, list[Term]()
        for exp in range(self.lsb, min(self.lsb + fmt.fraction_bits, self.most + 1)):
            below = self.lsb + fmt.fraction_bits - exp
            whole.append(implies(holds(field == exp + fmt.bias), holds(bits & ((1 << below) - 1) == 0)))
        finite = either(holds(bits == 0), both(within, *whole))  # the sum of a group is never -0
        return either(finite, *(holds(bits == special) for special in self.special))


def partial_sums(unit: Unit) -> PartialSums | None:
    """Those of a unit; None where all codes of their format may occur."""
    beats, n = unit.promotion_beats, WindowRanges(unit)
    fmt = n.result
    if not beats or n.window_addend is not None or n.fraction_bits < fmt.fraction_bits or fmt.canonical_nan is None:
        return None
    most = _most(unit, n, beats)
    lsb = n.product_least - n.product_bias - min(n.fraction_bits, n.product_fraction_bits)
    if most > fmt.emax or lsb + fmt.bias < 1:
        return None
    special = [fmt.canonical_nan >> fmt.padding]
    if any(each.infinity_magnitude is not None for each in (n.a, n.b)):
        if fmt.infinity_magnitude is None:
            return None
        special += [fmt.infinity_magnitude, fmt.infinity_magnitude | 1 << fmt.bits - 1]
    return PartialSums(fmt, lsb, most, tuple(special))


def _most(unit: Unit, n: WindowRanges, beats: int) -> int:
    """The exponent of the largest partial sum."""
    top = n.product_most - n.product_bias
    product = n.most_product * Fraction(2) ** (top - n.product_fraction_bits)
    found = Fraction(0)
    for _ in range(beats):
        max_exp = max(top, _exponent(found)) if found else top
        lost = Fraction(0) if n.truncates else (n.lanes + 1) * Fraction(2) ** (max_exp - n.fraction_bits)
        found += n.lanes * product + lost
        if unit.result.rounding != "rz":
            found *= 1 + Fraction(1, 1 << n.result.fraction_bits)
    return _exponent(found)


def _exponent(number: Fraction) -> int:
    """The exponent of a positive number."""
    near = number.numerator.bit_length() - number.denominator.bit_length()
    return near if number >= Fraction(2) ** near else near - 1


# The parts of a datapath between which relations stand, and the steps of each.
PARTS = {
    "products": ("decode", "multiply"),
    "maximum": ("maximum",),
    "align": ("distance", "align"),
    "sum": ("sum",),
    "round": ("magnitude", "normalize", "round"),
}
ADDER_PARTS = {
    "promote.decode": ("promote.decode",),
    "promote.align": ("promote.align",),
    "promote.sum": ("promote.sum",),
    "promote.round": ("promote.magnitude", "promote.normalize", "promote"),
}


@dataclass(frozen=True)
class Relation:
    """What a part takes. always: what holds of its inputs. plain: that no term is special, and what holds then."""

    always: Term
    plain: Term


class Infinity(NamedTuple):
    """An infinite addend as a number: its exponent, as max_exp has it, and what it leaves in the window."""

    exp: int
    total: int


class Relations(AlignedClaims):
    """What holds before each part."""

    def __init__(self, unit: Unit, steps: Mapping[str, Circuit]):
        super().__init__(unit, parts=StepCircuits.joined(steps))

    def of(self) -> dict[str, Relation]:
        """By part."""
        return {
            "products": Relation(both(*self._operands()), both()),
            "maximum": Relation(both(), both(*self._terms("maximum"), self._no_flag("maximum"))),
            "align": Relation(both(), both(*self._before_align(), self._no_flag("align"))),
            "sum": Relation(both(), both(*self._before_sum_of_terms(), self._no_flag("sum"))),
            "round": Relation(self._before_round_of_infinity(), both(self._before_round(), self._no_flag("round"))),
        }

    def _no_flag(self, part: str) -> Term:
        ports = getattr(self.parts, part).inputs
        return both(*(negated(is_one(ports[f"i__special__{flag}"])) for flag in SPECIAL))

    def _operands(self) -> list[Term]:
        """Codes are padded as they must be, and a group that continues nothing takes nothing over."""
        inputs, found = self.parts.products.inputs, list[Term]()
        for name, fmt in (("a", self.n.a), ("b", self.n.b)):
            for lane in range(self.n.lanes):
                found += self._padded(fmt, Integer.unsigned(inputs[f"i__{name}__{lane}"]))
        if self.n.window_addend is not None:
            found.append(self._code_of(self.n.window_addend, inputs["i__c"], padded=True)[1])
        carried = inputs["i__carried__code"]
        found.append(implies(negated(is_one(inputs["i__chain"])), same(carried, value(0, width(carried)))))
        return found if self._partials is None else [*found, self._partials.are(carried)]

    @cached_property
    def _partials(self) -> PartialSums | None:
        return partial_sums(self.unit)

    @property
    def _partial_exps(self) -> tuple[int, int]:
        """Exponents of an addend other than zero, as products have them."""
        found, n = self._partials, self.n
        return n.addend_exp if found is None else (found.lsb + n.product_bias, found.most + n.product_bias)

    def _terms(self, part: str) -> list[Term]:
        """Products, of zero or not, and the addend."""
        ports = getattr(self.parts, part).inputs
        terms = (self._is_term(ports, lane, "i") for lane in range(self.n.lanes))
        return [*terms, *self.blocks.near(self._exps(ports)), *self._addend_known(ports)]

    def is_product(self, ports: Mapping[str, Term], lane: int) -> Term:
        """What a lane's product is that is not special, of the inputs of a part."""
        return self._is_term(ports, lane, "i")

    @cached_property
    def blocks(self) -> Blocks:
        """Lanes that share scales."""
        return Blocks.of(self.n, self.parts, self._operands())

    @cached_property
    def _addend_facts(self) -> list[Callable[[Any, Any], Term]]:
        """What holds of every decoded addend that is a number, as the solver finds: of these, what does."""
        outputs = self.parts.products.outputs
        least, hidden = self.exp_of_zero, 1 << self.n.addend_fraction_bits
        facts: list[Callable[[Any, Any], Term]] = [
            lambda exp, sig: either(holds(sig == 0), holds(sig >= hidden)),
            lambda exp, sig: implies(holds(sig == 0), holds(exp == least)),
            lambda exp, sig: either(holds(sig == 0), exactly(exp, *self._partial_exps)),
            self._whole_partial,
            self._above_zero,
        ]
        _, exp, sig = self._addend_fields(outputs, "o")
        finite = [negated(is_one(outputs[f"o__special__{flag}"])) for flag in SPECIAL]
        return [one for one in facts if ask(one(exp, sig), (*self._operands(), *finite)).word == "proved"]

    def _above_zero(self, exp: Any, _sig: Any) -> Term:
        """That no addend has an exponent below that of zero, which is a subnormal's where there are any."""
        return holds(exp >= self.exp_of_zero)

    @property
    def _least_addend(self) -> int:
        """The least exponent of an addend other than zero."""
        least = self._partial_exps[0]
        return max(least, self.exp_of_zero) if self._above_zero in self._addend_facts else least

    def _whole_partial(self, exp: Any, sig: Any) -> Term:
        """That a decoded partial sum is a multiple of what all are."""
        found, bits = self._partials, self.n.addend_fraction_bits
        if found is None:
            return both()
        first = found.lsb + self.n.product_bias
        few = [(at, (1 << first + bits - at) - 1) for at in range(first, first + bits)]
        return both(*(implies(holds(exp == at), holds(sig & below == 0)) for at, below in few))

    def _addend_known(self, ports: Mapping[str, Term]) -> list[Term]:
        """What an addend is that a part takes."""
        _, exp, sig = self._addend_fields(ports, "i")
        return [*(fact(exp, sig) for fact in self._addend_facts), exactly(exp, *self.n.addend_exp)]

    @cached_property
    def exp_of_zero(self) -> int:
        """The exponent of an addend of zero."""
        quiet = {name: term for name, term in self.neutral.items() if name != "i__chain"}
        outputs = fixed(self.parts.products, {**quiet, "i__chain": value(0, 1)}).outputs
        return self._signed(outputs["o__addend__exp"])

    def _signed(self, term: Term) -> int:
        found, bits = number(term), width(term)
        return found - (1 << bits) if self.n.addend_exp[0] < 0 and found >> bits - 1 else found

    @cached_property
    def zero_is_zero(self) -> bool:
        """Whether a total of zero gives the same code for every max_exp that there is."""
        known = exactly(self._max_exp(self.parts.round.inputs, "i__max_exp"), *self.n.max_exp)
        return ask(self._same_of_zero, (known,)).word == "proved"

    @cached_property
    def any_max_exp(self) -> bool:
        """Whether terms of zero give the same code below any max_exp, also of bits that are none."""
        return self._zeros_vanish and ask(self._same_of_zero).word == "proved"

    @cached_property
    def _zeros_vanish(self) -> bool:
        """Whether terms of zero leave nothing below any max_exp, also of bits that are none."""
        circuit = self.parts.align
        quiet = {f"i__terms__{lane}__{one}": 0 for lane in range(self.n.lanes) for one in ("exp", "sig")}
        zero = {port: value(0, width(circuit.inputs[port])) for port in (*quiet, "i__addend__sig")}
        outputs = fixed(circuit, zero).outputs
        zeros = [holds(in_window(outputs, "o", lane) == 0) for lane in range(self.n.lanes + 1)]
        return all(ask(one).word == "proved" for one in zeros)

    @cached_property
    def _same_of_zero(self) -> Term:
        """That a total of zero gives the code that it gives below a max_exp of 0."""
        circuit = self.parts.round
        zero = {"i__total": value(0, width(circuit.inputs["i__total"]))}
        zero |= {f"i__special__{flag}": value(0, 1) for flag in SPECIAL}
        outputs = fixed(circuit, zero).outputs
        some = {**zero, "i__max_exp": value(0, width(circuit.inputs["i__max_exp"]))}
        return both(*(same(outputs[port], term) for port, term in fixed(circuit, some).outputs.items()))

    def nothing_to_add(self, changed: Mapping[str, Term]) -> Term:
        """That all terms are zero, and max_exp something that alignment takes: what it is does not matter then."""
        if not self.zero_is_zero:
            return negated(both())
        ports = self.parts.maximum.inputs
        _, _, sig = self._addend_fields(ports, "i")
        exps = [Integer.unsigned(ports[f"i__terms__{lane}__exp"]) for lane in range(self.n.lanes)]
        within = both() if self.any_max_exp else exactly(self._max_exp(changed, "o__max_exp"), *self.n.max_exp)
        return both(*(holds(exp == 0) for exp in exps), holds(sig == 0), within)

    @cached_property
    def infinity(self) -> Infinity | None:
        """What an infinite addend is as a number; None where it is not the result that flags give, too.

        It is where no factor is infinite and no product has a bit in the window beside it.
        """
        sources = [(fmt, port, chain) for _, fmt, port, chain in self._sources() if fmt.infinity_magnitude is not None]
        if not sources or any(fmt.infinity_magnitude is not None for fmt in (self.n.a, self.n.b)):
            return None
        quiet = {name: term for name, term in self.neutral.items() if name != "i__chain"}
        seen = set()
        for fmt, port, chain in sources:
            code = value(int(fmt.infinity_magnitude or 0) << (fmt.padding if port == "i__c" else 0), width(quiet[port]))
            outputs = fixed(self.parts.products, {**quiet, port: code, "i__chain": value(chain, 1)}).outputs
            seen.add(tuple(number(outputs[f"o__addend__{field}"]) for field in ("exp", "sig")))
        if len(seen) != 1:
            return None
        ((exp, sig),) = seen
        bits = self.n.fraction_bits - self.n.addend_fraction_bits
        found = Infinity(exp, sig << bits if bits >= 0 else sig >> -bits)
        top = Integer.unsigned(value(exp, exp.bit_length() + 1))
        alone = both(holds(top > self.n.product_most), holds(as_integer(self._product_bound(top)) == 0))
        return found if ask(both(alone, *self._gives_infinity(found))).word == "proved" else None

    def _gives_infinity(self, infinity: Infinity) -> list[Term]:
        """That rounding returns the same of an infinite total, said to be one or not."""
        ports, outputs, found = self.parts.round.inputs, self.parts.round.outputs, []
        for sign, flag in enumerate(("positive", "negative")):
            codes = []
            for said in (0, 1):
                given = {f"i__special__{name}": value(int(said and name == flag), 1) for name in SPECIAL}
                given["i__total"] = value(-infinity.total if sign else infinity.total, width(ports["i__total"]))
                given["i__max_exp"] = value(infinity.exp, width(ports["i__max_exp"]))
                codes.append(fixed(self.parts.round, given).outputs)
            found += [same(codes[0][port], codes[1][port]) for port in outputs]
        return found

    def _before_align(self) -> list[Term]:
        ports, n = self.parts.align.inputs, self.n
        max_exp = self._max_exp(ports, "i__max_exp")
        _, exp, sig = self._addend_fields(ports, "i")
        found = [*self._terms("align"), self._within(max_exp), implies(holds(sig != 0), holds(exp <= max_exp))]
        for lane in range(n.lanes):
            product = Integer.unsigned(ports[f"i__terms__{lane}__exp"])
            found.append(implies(holds(product != 0), holds(product <= max_exp)))
        found += [fact(max_exp, self._exps(ports), exp, sig) for fact in self._facts_of_maximum]
        if self._zero_does_not_count:
            found.append(implies(holds(sig == 0), holds(max_exp >= 0)))
        if self._products_alone:
            found.append(implies(holds(sig == 0), holds(max_exp <= n.product_most)))
        return found

    def _within(self, max_exp: Any) -> Term:
        """What max_exp may be: one of an exponent that there is, or a zero addend's."""
        ends = exactly(max_exp, *self.n.max_exp)
        return both(ends, self._of_terms(max_exp)) if self._is_of_terms else ends

    def _of_terms(self, max_exp: Any) -> Term:
        return either(holds(max_exp == self.exp_of_zero), self._of_some_term(max_exp))

    @cached_property
    def _is_of_terms(self) -> bool:
        found = self._max_exp(self.parts.maximum.outputs, "o__max_exp")
        return ask(self._of_terms(found), self._terms("maximum")).word == "proved"

    @cached_property
    def _facts_of_maximum(self) -> list[Callable[[Any, list[Any], Any, Any], Term]]:
        """What holds of max_exp beside the exponents that it is of, as the solver finds: of these, what does."""
        facts: list[Callable[[Any, list[Any], Any, Any], Term]] = [
            self._nothing_lower,
            self._near_products,
            self._addend_alone,
        ]
        circuit = self.parts.maximum
        _, exp, sig = self._addend_fields(circuit.inputs, "i")
        known, exps = self._terms("maximum"), self._exps(circuit.inputs)
        found = self._max_exp(circuit.outputs, "o__max_exp")
        return [fact for fact in facts if ask(fact(found, exps, exp, sig), known).word == "proved"]

    def _nothing_lower(self, max_exp: Any, exps: list[Any], _exp: Any, sig: Any) -> Term:
        """That max_exp is below or above all exponents of terms only where there is none but zero."""
        return either(self._of_some_term(max_exp), both(*(holds(exp == 0) for exp in exps), holds(sig == 0)))

    def _near_products(self, max_exp: Any, exps: list[Any], exp: Any, sig: Any) -> Term:
        """That max_exp is one that products of their scales can have, unless there is none, or it is the addend's."""
        addends, none = both(holds(sig != 0), holds(max_exp == exp)), both(*(holds(one == 0) for one in exps))
        return either(addends, none, self.blocks.within(max_exp))

    def _addend_alone(self, max_exp: Any, exps: list[Any], exp: Any, sig: Any) -> Term:
        """That below all products max_exp is the addend's, and there is no other term."""
        alone = both(*(holds(one == 0) for one in exps), either(holds(sig == 0), holds(max_exp == exp)))
        return either(holds(max_exp >= self.n.product_least), alone)

    @cached_property
    def _least_alone(self) -> int:
        """What an addend other than zero leaves at least in the window where it is alone below all products."""
        circuit, least = self.parts.align, 1 << self.n.fraction_bits
        _, exp, sig = self._addend_fields(circuit.inputs, "i")
        max_exp = self._max_exp(circuit.inputs, "i__max_exp")
        known = (*self._addend_known(circuit.inputs), holds(max_exp == exp), exactly(max_exp, *self.n.max_exp))
        below = both(holds(sig != 0), holds(max_exp < self.n.product_least))
        claim = implies(below, holds(abs(in_window(circuit.outputs, "o", self.n.lanes)) >= least))
        is_alone = self._addend_alone in self._facts_of_maximum and self._zeros_vanish
        return least if is_alone and ask(claim, known).word == "proved" else 0

    def _of_some_term(self, max_exp: Any) -> Term:
        most = self._partial_exps[1]
        return exactly(max_exp, min(self._least_addend, self.n.product_least), max(most, self.n.product_most))

    @cached_property
    def _nothing_is_nothing(self) -> bool:
        """Whether a total is zero where max_exp is that of no term: then all are zero, and zeros leave nothing."""
        return self._nothing_lower in self._facts_of_maximum and self._zeros_vanish

    def _without_addend(self, circuit: Circuit) -> Circuit:
        """A part that takes terms, with an addend of zero."""
        return fixed(circuit, {"i__addend__sig": value(0, width(circuit.inputs["i__addend__sig"]))})

    def _known_of_products(self, known: Callable[[Any], Any]) -> bool:
        """Whether something holds of max_exp where the addend is zero."""
        max_exp = self._max_exp(self._without_addend(self.parts.maximum).outputs, "o__max_exp")
        return ask(holds(known(max_exp)), self._terms("maximum")).word == "proved"

    @cached_property
    def _zero_does_not_count(self) -> bool:
        """Whether max_exp is that of products, where the addend is zero."""
        return self._known_of_products(lambda max_exp: max_exp >= 0)

    @cached_property
    def _products_alone(self) -> bool:
        """Whether max_exp is at most a product's, where the addend is zero."""
        return self._known_of_products(lambda max_exp: max_exp <= self.n.product_most)

    def _before_sum_of_terms(self) -> list[Term]:
        ports, n, found = self.parts.sum.inputs, self.n, []
        for lane in range(n.lanes + 1):
            ones, carry = (ports[f"i__aligned__{lane}__{field}"] for field in ("ones", "carry"))
            most = self._addend_bound if lane == n.lanes else self._most_in_window
            whole = Integer.signed(ones) + Integer.unsigned(carry)
            found.append(exactly(whole, -most, most))
            if n.truncates:
                found.append(same(is_one(carry), holds(Integer.signed(ones) < 0)))
        return found

    def _before_round(self) -> Term:
        """With a product, a total within its bound; and without one, the addend alone."""
        ports = self.parts.round.inputs
        total, max_exp = Integer.signed(ports["i__total"]), self._max_exp(ports, "i__max_exp")
        known = self._within(max_exp)
        beside = both(
            exactly(max_exp, *self._max_exps),
            holds(abs(total) <= self._total_bound(max_exp.between(*self._max_exps))),
        )
        found = [known, either(beside, exactly(total, -self._addend_bound, self._addend_bound))]
        if self._nothing_is_nothing:
            found.append(either(self._of_some_term(max_exp), holds(total == 0)))
        # All other terms are zero, and a sum of zeros and one term is that term.
        above = holds(max_exp >= self.n.product_least)
        found.append(either(above, holds(total == 0), holds(abs(total) >= self._least_alone)))
        return both(*found)

    def _before_round_of_infinity(self) -> Term:
        """Where no factor is infinite the addend alone can be, of one sign; and where it is, so is the total."""
        ports, infinity = self.parts.round.inputs, self.infinity
        nan, positive, negative = (is_one(ports[f"i__special__{flag}"]) for flag in SPECIAL)
        if any(fmt.infinity_magnitude is not None for fmt in (self.n.a, self.n.b)):
            return both()
        if infinity is None:
            return negated(both(positive, negative))
        total, max_exp = Integer.signed(ports["i__total"]), self._max_exp(ports, "i__max_exp")
        alone = both(negated(nan), either(positive, negative))
        size = ite(Truth(negative), -infinity.total, infinity.total)
        numbers = both(holds(total == size), holds(max_exp == infinity.exp))
        return both(negated(both(positive, negative)), implies(alone, numbers))


def number(term: Term) -> int:
    """What a term is that depends on nothing."""
    found = constant("number", width(term))
    return (ask(negated(same(found, term)), show=(found,)).model or {})["number"]


class AdderRelations(PromotionClaims):
    """What holds before each part of a promotion's adder."""

    def __init__(self, unit: Unit, rule: Promotion, cuts: Sequence[str], steps: Mapping[str, Circuit]):
        super().__init__(unit, rule, cuts, steps)
        self.partials = partial_sums(unit)

    def of(self) -> dict[str, Relation]:
        """By part."""
        most = (1 << self.adder.fraction_bits + 1) - 1
        terms = []
        for name in OPERANDS:
            ones, carry = (self.sum.inputs[f"i__{name}_{field}"] for field in ("ones", "carry"))
            terms.append(exactly(Integer.signed(ones) + Integer.unsigned(carry), -most, most))
        total, top = (Integer.signed(self.round.inputs["i__total"]), Integer.unsigned(self.round.inputs["i__max_exp"]))
        zero_sign = Integer.unsigned(self.round.inputs["i__zero_sign"])
        rounded = both(exactly(total, -2 * most, 2 * most), exactly(top, 1, self.adder.most))
        return {
            "promote.decode": Relation(self._is_partial, both()),
            "promote.align": Relation(self._before_align, self._decoded_numbers),
            "promote.sum": Relation(both(), both(*terms, *self._no_flags(self.sum))),
            "promote.round": Relation(
                self._flags_of_sums,
                both(rounded, *(fact(total, top, zero_sign) for fact in self._sums), *self._no_flags(self.round)),
            ),
        }

    @property
    def _is_partial(self) -> Term:
        return both() if self.partials is None else self.partials.are(self.decode.inputs["i__partial"])

    @property
    def _no_infinity(self) -> bool:
        """Whether no partial sum is infinite."""
        return self.partials is not None and len(self.partials.special) == 1

    @property
    def _before_align(self) -> Term:
        return negated(is_one(self._fields(self.align.inputs, "partial", "i")[4])) if self._no_infinity else both()

    @property
    def _flags_of_sums(self) -> Term:
        """Without an infinite partial sum no two infinities meet."""
        positive, negative = (is_one(self.round.inputs[f"i__special__{flag}"]) for flag in SPECIAL[1:])
        return negated(both(positive, negative)) if self._no_infinity else both()

    @cached_property
    def _exps_of_partials(self) -> tuple[int, int]:
        """Exponents of partial sums other than zero, as the adder has them."""
        found = self.partials
        return self._exps if found is None else (found.lsb + self.bias, found.most + self.bias)

    @property
    def _decoded_numbers(self) -> Term:
        found = []
        for name in OPERANDS:
            sign, exp, sig, nan, inf = self._fields(self.align.inputs, name, "i")
            found += [self._decodes_to(name, exp, sig), negated(is_one(nan)), negated(is_one(inf))]
            if name == "partial":
                found += [fact(sign, exp, sig) for fact in self._partial_facts]
        return both(*found)

    @cached_property
    def _partial_facts(self) -> list[Callable[[Any, Any, Any], Term]]:
        """What holds of every decoded partial sum that is a number, as the solver finds: of these, what does."""
        least, below = self._exps[0], (1 << self.fmt.fraction_bits - self.partial.fraction_bits) - 1
        facts: list[Callable[[Any, Any, Any], Term]] = [
            lambda _, exp, sig: either(holds(sig == 0), exactly(exp, *self._exps_of_partials)),
            lambda _, exp, sig: either(holds(sig != 0), holds(exp == least)),
            lambda _, exp, sig: holds(sig & below == 0),
            lambda sign, _, sig: either(holds(sig != 0), holds(sign == 0)),
            self._whole_partial,
        ]
        sign, exp, sig, nan, inf = self._fields(self.decode.outputs, "partial", "o")
        known = (self._is_partial, negated(is_one(nan)), negated(is_one(inf)))
        return [fact for fact in facts if ask(fact(sign, exp, sig), known).word == "proved"]

    def _whole_partial(self, _sign: Any, exp: Any, sig: Any) -> Term:
        """That a decoded partial sum is a multiple of what all are."""
        found, bits = self.partials, self.fmt.fraction_bits
        if found is None:
            return both()
        first = found.lsb + self.bias
        few = [(at, (1 << first + bits - at) - 1) for at in range(first, first + bits)]
        return both(*(implies(holds(exp == at), holds(sig & below == 0)) for at, below in few))

    def zero_below(self, pairs: Mapping[str, tuple[Term, Term]]) -> Term:
        """That two pairs of decoded numbers differ in the exponent of a partial sum of zero alone, which is too small.

        pairs: of outputs, as they are and changed.
        """
        if not self._zero_is_below:
            return negated(both())
        numbers = {port: pair for port, pair in pairs.items() if not port.endswith(("__nan", "__inf"))}
        exp = "o__partial__bexp"
        below = holds(Integer.unsigned(numbers[exp][1]) == 0), holds(Integer.unsigned(numbers[exp][0]) != 0)
        zero = (holds(Integer.unsigned(sig) == 0) for sig in numbers["o__partial__sig"])
        others = (same(*pair) for port, pair in pairs.items() if port != exp)
        return both(*below, *zero, *others)

    @cached_property
    def _zero_is_below(self) -> bool:
        """Whether a partial sum of zero leaves the same with an exponent of 0, below all others."""
        if self._exps[0] < 1:
            return False
        bexp, sig = (self.align.inputs[f"i__partial__{field}"] for field in ("bexp", "sig"))
        zero, below = holds(Integer.unsigned(sig) == 0), fixed(self.align, {"i__partial__bexp": value(0, width(bexp))})

        def alike(port: str) -> bool:
            # Flags are compared for special numbers, too.
            known = (zero,) if "special" in port else (zero, self._decoded_numbers)
            return ask(same(self.align.outputs[port], below.outputs[port]), known).word == "proved"

        return all(map(alike, self.align.outputs))

    def by_distance(self) -> Iterator[tuple[list[Term], dict[Term, Term]]]:
        """Every distance of decoded exponents at which a shifter differs: what holds then, and what stands for what."""
        (_, register, *_), (_, partial, *_) = (self._fields(self.align.inputs, name, "i") for name in OPERANDS)
        port, far = self.align.inputs["i__partial__bexp"], (1 << self.adder.shift_bits) - 1
        for distance in range(-far, far + 1):
            other = register - distance
            yield [exactly(other, *self._exps)], {port: other.at(width(port))}
        yield [holds(register - partial > far)], {}
        yield [holds(partial - register > far)], {}

    @cached_property
    def _sums(self) -> list[Callable[[Any, Any, Any], Term]]:
        """What holds of a sum, its exponent and the sign of a sum of zero, as the solver finds: of these, what does.

        A sum is small only where both operands are near to each other, or the register is subnormal and stands alone.
        """
        low, high = self._exps_of_partials
        normal, one = 1 << self.adder.fraction_bits, 1 << BELOW
        facts: list[Callable[[Any, Any, Any], Term]] = [
            lambda total, top, _: either(
                exactly(top, low, high + 1), holds(abs(total) >= normal // 2), holds(top == 1)
            ),
            lambda total, top, _: implies(holds(top < low), holds(abs(total) & (one - 1) == 0)),
            lambda total, top, _: implies(holds(top < low), holds(abs(total) < 2 * normal)),
            lambda total, _, zero_sign: either(holds(total != 0), holds(zero_sign == 0)),
            lambda total, _, zero_sign: either(holds(total < 0), holds(zero_sign == 0)),
        ]
        adder = connected([self.align, self.sum])
        total, top = Integer.signed(adder.outputs["o__total"]), Integer.unsigned(adder.outputs["o__max_exp"])
        zero_sign = Integer.unsigned(adder.outputs["o__zero_sign"])
        return [fact for fact in facts if ask(fact(total, top, zero_sign), (self._decoded_numbers,)).word == "proved"]

    @staticmethod
    def _no_flags(circuit: Circuit) -> list[Term]:
        return [negated(is_one(circuit.inputs[f"i__special__{flag}"])) for flag in SPECIAL]
