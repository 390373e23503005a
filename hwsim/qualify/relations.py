"""What holds between the steps of a unit's datapath in every group, as `hwsim.prove` shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.btor import Circuit
from hwsim.prove.logic import Term, both, either, implies, is_one, negated, same, value, width
from hwsim.prove.promotion import OPERANDS, PromotionClaims
from hwsim.prove.relations import SPECIAL, StepCircuits, exactly, holds
from hwsim.prove.symbolic import Integer
from hwsim.spec import Unit

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
            "round": Relation(both(), both(self._before_round(), self._no_flag("round"))),
        }

    def _no_flag(self, part: str) -> Term:
        ports = getattr(self.parts, part).inputs
        return both(*(negated(is_one(ports[f"i__special__{flag}"])) for flag in SPECIAL))

    def _operands(self) -> list[Term]:
        """Codes are padded as they must be, and a group that continues nothing takes nothing over."""
        inputs, found = self.parts.products.inputs, []
        for name, fmt in (("a", self.n.a), ("b", self.n.b)):
            for lane in range(self.n.lanes):
                found += self._padded(fmt, Integer.unsigned(inputs[f"i__{name}__{lane}"]))
        if self.n.window_addend is not None:
            found.append(self._code_of(self.n.window_addend, inputs["i__c"], padded=True)[1])
        carried = inputs["i__carried__code"]
        found.append(implies(negated(is_one(inputs["i__chain"])), same(carried, value(0, width(carried)))))
        return found

    def _terms(self, part: str) -> list[Term]:
        """Products, of zero or not, and the addend."""
        ports, n = getattr(self.parts, part).inputs, self.n
        _, exp, _ = self._addend_fields(ports, "i")
        found = [self._is_term(ports, lane, "i") for lane in range(n.lanes)]
        return [*found, exactly(exp, *n.addend_exp)]

    def _before_align(self) -> list[Term]:
        ports, n = self.parts.align.inputs, self.n
        max_exp = self._max_exp(ports, "i__max_exp")
        _, exp, sig = self._addend_fields(ports, "i")
        found = [*self._terms("align"), exactly(max_exp, *n.max_exp), implies(holds(sig != 0), holds(exp <= max_exp))]
        for lane in range(n.lanes):
            product = Integer.unsigned(ports[f"i__terms__{lane}__exp"])
            found.append(implies(holds(product != 0), holds(product <= max_exp)))
        return found

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
        ports, n = self.parts.round.inputs, self.n
        total, max_exp = Integer.signed(ports["i__total"]), self._max_exp(ports, "i__max_exp")
        known = exactly(max_exp, *n.max_exp)
        beside = both(
            exactly(max_exp, *self._beside_products),
            holds(abs(total) <= self._total_bound(max_exp.between(*self._beside_products))),
        )
        return both(known, either(beside, exactly(total, -self._addend_bound, self._addend_bound)))


class AdderRelations(PromotionClaims):
    """What holds before each part of a promotion's adder."""

    def of(self) -> dict[str, Relation]:
        """By part."""
        most = (1 << self.adder.fraction_bits + 1) - 1
        terms = []
        for name in OPERANDS:
            ones, carry = (self.sum.inputs[f"i__{name}_{field}"] for field in ("ones", "carry"))
            terms.append(exactly(Integer.signed(ones) + Integer.unsigned(carry), -most, most))
        total, top = (Integer.signed(self.round.inputs["i__total"]), Integer.unsigned(self.round.inputs["i__max_exp"]))
        rounded = both(exactly(total, -2 * most, 2 * most), exactly(top, 1, self.adder.most))
        decoded = []
        for name in OPERANDS:
            _, exp, sig, nan, inf = self._fields(self.align.inputs, name, "i")
            decoded += [self._decodes_to(name, exp, sig), negated(is_one(nan)), negated(is_one(inf))]
        return {
            "promote.decode": Relation(both(), both()),
            "promote.align": Relation(both(), both(*decoded)),
            "promote.sum": Relation(both(), both(*terms, *self._no_flags(self.sum))),
            "promote.round": Relation(both(), both(rounded, *self._no_flags(self.round))),
        }

    @staticmethod
    def _no_flags(circuit: Circuit) -> list[Term]:
        return [negated(is_one(circuit.inputs[f"i__special__{flag}"])) for flag in SPECIAL]
