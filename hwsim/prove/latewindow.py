"""The claims of a late addend's window: the group's sum and the addend, and the bits of both that are cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any

from hwsim.formats import Class
from hwsim.model import late as late_module
from hwsim.model.late import LateWindow
from hwsim.model.terms import Term as ModelTerm
from hwsim.prove.circuits import Circuit
from hwsim.prove.claims import AnyClaim, Claim, StructuralClaim, each, exactly, holds
from hwsim.prove.composition import ModelCall, Unmet
from hwsim.prove.lemmas import specials_claim
from hwsim.prove.linear import children_first
from hwsim.prove.rounding import unit_exp_claims
from hwsim.prove.symbolic import Integer, any_alignment, as_integer, given_function, paths
from hwsim.prove.terms import Kind, Term, both, constant, either, implies, is_one, negated, substituted, width
from hwsim.prove.windows import SUM, SumBounds, WindowClaims, most_in_window
from hwsim.rtl.latewindow import LateSum
from hwsim.rtl.methods import datapath
from hwsim.spec import LateInWindow

EXTENDED = (Kind.BV_SIGN_EXTEND, Kind.BV_ZERO_EXTEND)
Pair = tuple[ModelTerm, ModelTerm]


class LateWindowClaims(WindowClaims):
    """All claims about the datapath of a unit whose addend comes late, in a window."""

    @cached_property
    def _step(self) -> LateSum:
        (late_sum,) = (step for step in datapath(self.unit, ()).steps if isinstance(step, LateSum))
        return late_sum

    @property
    def _rule(self) -> LateInWindow:
        assert isinstance(self.unit.late, LateInWindow)
        return self.unit.late

    @property
    def _to_round(self) -> SumBounds:
        """The bounds of the number that is rounded: the sum of both, cut or not."""
        after, rule = self._step.after, self._rule
        whole = self._most_of_sum + self._most_of_addend
        most = whole if rule.total_bits is None else (1 << after.bits - 1) - 1
        return SumBounds(most, after.fraction_bits, after.max_exp)

    @property
    def _most_of_sum(self) -> int:
        rule, before = self._rule, self._summed
        kept = most_in_window(before.most, before.bits, rule.sum_bits, rule.lost)
        return kept << self._step.fraction_bits - rule.sum_bits

    @property
    def _most_of_addend(self) -> int:
        rule, bits = self._rule, self._fraction_bits("late_addend")
        kept = most_in_window((2 << bits) - 1, bits, rule.addend_bits, rule.lost)
        return kept << self._step.fraction_bits - rule.addend_bits

    def _after_sum(self) -> Iterator[AnyClaim]:
        yield from super()._after_sum()
        assert self.parts.late is not None
        cut = self._rule.total_bits is not None
        both_sums = _sum_of_both(self.parts.late)
        if both_sums is None:
            yield self._late(self.parts.late)
        else:
            yield from self._late_in_parts(self.parts.late, both_sums)
        if cut:
            yield from self._units()

    @cached_property
    def _rules(self) -> tuple[LateInWindow, Any, int]:
        """The arguments of the model's late windows: the rule, whether zeros count, and the least exponent."""
        some, nothing = (self.calls[name].arguments[2:] for name in ("late", "late of nothing"))
        if some != nothing:
            raise Unmet(f"late windows are called in two ways: {some}, {nothing}")
        return some

    def _late_sum(self, summed: ModelTerm, addend: ModelTerm, total_bits: bool = True) -> LateWindow:
        """The model's window of both. total_bits: whether places are cut off, as far as there are any."""
        rule, *rest = self._rules
        window: LateWindow = self.calls["late"].function(summed, addend, rule if total_bits else _uncut(rule), *rest)
        return window

    def _operands_of_late(
        self, ports: Mapping[str, Term]
    ) -> tuple[list[Term], Callable[[], tuple[ModelTerm, ModelTerm]]]:
        """The conditions on a group's sum and on a late addend, and a function for both as the model's terms."""
        known = [self._is_sum(ports, "i", self._summed), self._addend_within(ports, "i", "late_addend")]
        summed, call = self._as_model(ports, self._summed), self.calls["window term"]
        sign, exp, sig = self._addend_fields(ports, "i", "late_addend")
        inside = exp.between(*self._span("late_addend")) - self.n.bias

        def terms() -> Pair:
            cls, window = Class.NORMAL if sig else Class.ZERO, summed()
            term = window.term if window.max_exp is None else call((window.max_exp, window.total))
            return term, ModelTerm(sign, inside, sig, self._fraction_bits("late_addend"), cls)

        return known, terms

    def _late(self, circuit: Circuit) -> Claim:
        """The claim that the sum of both is the model's, with zeros in the place of what it loses."""
        known, terms = self._operands_of_late(circuit.inputs)
        outputs, what = circuit.outputs, self._to_round

        def right() -> Term:
            return self._is_late(outputs, self._late_sum(*terms()))

        return Claim(
            "late", "the sum and the addend in their window are the model's, and within their bound",
            "every total and max_exp, and every addend", tuple(known),
            both(each(paths(right, known)), self._is_sum(outputs, "o", what)), self._shown(circuit),
        )  # fmt: skip

    def _is_late(self, outputs: Mapping[str, Term], found: LateWindow) -> Term:
        """The condition that the number to be rounded is the model's late window, on a path."""
        total, _, top = self._sum_ports(outputs, "o", self._to_round)
        if found.max_exp is None:
            return holds(total == 0)
        moved, cut = as_integer(top - self.n.bias) - found.max_exp, found.cut
        extra = self._to_round.bits - found.fraction_bits  # what is rounded has as many bits below max_exp
        if not self._step.far:
            wanted = as_integer(found.total) << cut if cut != 0 else found.total
            return both(holds(extra == 0), holds(as_integer(moved) == 0), holds(total == wanted))
        places, most = as_integer(cut - moved), self._step.after.bits
        shifted = as_integer(found.total) << places.between(0, most)
        return both(holds(extra == 0), holds(as_integer(moved) >= 0), exactly(places, 0, most), holds(total == shifted))

    def _shown(self, circuit: Circuit) -> tuple[Term, ...]:
        return tuple(term for name, term in circuit.inputs.items() if name.startswith(SUM) or "late_addend" in name)

    def _late_in_parts(self, circuit: Circuit, whole: Term) -> Iterator[AnyClaim]:
        """Yield the same claim in parts: the largest exponent, what is kept of either, and what is cut off both.

        whole: the sum of both inside the circuit, before it is cut.
        """
        outputs, ports, what = circuit.outputs, circuit.inputs, self._to_round
        known, terms = self._operands_of_late(ports)
        most = self._most_of_sum + self._most_of_addend
        leaves = _top_of(outputs["o__max_exp"], whole)

        def is_largest() -> Term:
            found = self._late_sum(*terms(), total_bits=False).max_exp
            return negated(some) if found is None else both(some, holds(largest_exp == found + self.n.bias))

        some = either(*self._nonzero(ports))
        largest_exp = self._exp(leaves, what.max_exp)
        with any_alignment(late_module):
            largest = each(paths(is_largest, known))
        yield Claim(
            "late: maximum", "max_exp is the model's", "every sum, and every addend", tuple(known),
            both(largest, exactly(largest_exp, *what.max_exp), implies(some, self._below(ports, largest_exp))),
            self._shown(circuit),
        )  # fmt: skip
        total = constant("late.both", width(whole))
        top = constant("late.top", width(leaves))
        exp = self._exp(top, what.max_exp)
        place = exp.between(*what.max_exp) - self.n.bias
        nothing = _nothing(*self._nonzero(ports))
        before = [*known, exactly(exp, *what.max_exp), either(nothing, self._below(ports, exp))]
        of_top = {leaves: top}
        halves = [substituted(child, of_top) for child in whole.children()]
        mosts = self._most_of_sum, self._most_of_addend
        for name, half, bound in zip(("kept_sum", "kept_addend"), halves, mosts, strict=True):
            found = Integer.signed(half)

            def right(found: Any = found, name: str = name) -> Term:
                with given_function(late_module, "max_exponent", lambda *_: place):
                    window = self._late_sum(*terms(), total_bits=False)
                return holds(found == getattr(window, name))

            yield Claim(
                f"late: {name.replace('_', ' ')}", "what the window keeps is the model's, and within its bound",
                "every total, every addend, and every max_exp", tuple(before),
                both(each(paths(right, before)), holds(abs(found) <= bound), implies(nothing, holds(found == 0))),
                (*self._shown(circuit), top),
            )  # fmt: skip
        yield StructuralClaim(
            "late: sum", "the sum of both is no wider than it is added", "both bounds",
            lambda: sum(mosts) < 1 << width(whole) - 1,
        )  # fmt: skip
        by = {whole: total, leaves: top}
        cut = {name: substituted(term, by) for name, term in outputs.items()}
        inside = Integer.signed(total)
        known = [holds(abs(inside) <= most), exactly(exp, *what.max_exp)]
        bounded = inside.between(-most, most)

        def cut_off() -> Term:
            with given_alignment(bounded, self._rule):
                one = ModelTerm(0, place, 1, 0, Class.NORMAL)
                window = self._late_sum(one, one)
            return both(holds(as_integer(window.both) == bounded), self._is_late(cut, window))

        of_zero = implies(holds(inside == 0), holds(Integer.signed(cut["o__total"]) == 0))
        yield Claim(
            "late: cut", "what is lost of both together is what the model loses", "every sum and max_exp",
            tuple(known), both(each(paths(cut_off, known)), self._is_sum(cut, "o", what), of_zero),
            (total, top),
        )  # fmt: skip

    def _nonzero(self, ports: Mapping[str, Term]) -> tuple[Term, Term]:
        """The conditions that a term of the sum is other than zero, and that the addend is."""
        _, _, sig = self._addend_fields(ports, "i", "late_addend")
        return is_one(ports["i__any"]), holds(sig != 0)

    def _below(self, ports: Mapping[str, Term], top: Any) -> Term:
        """The condition that what is other than zero, and an addend of zero that counts, is at or below a max_exp."""
        of_sum, of_addend = self._nonzero(ports)
        _, _, exp = self._sum_ports(ports, "i", self._summed)
        _, addend, _ = self._addend_fields(ports, "i", "late_addend")
        counts = either(of_sum, of_addend) if self._rule.zero_addend == "count" else of_addend
        return both(implies(of_sum, holds(exp <= top)), implies(counts, holds(addend <= top)))

    def _units(self) -> Iterator[AnyClaim]:
        """Yield the claims that both ways of cutting bits off round to the same.

        What is cut off leaves zeros in the RTL, and a larger unit in the model.
        """
        what = self._to_round
        low, high = (exp - self.n.bias - what.bits for exp in what.max_exp)
        return unit_exp_claims("late", self.model.rounding, what.most // 2, (low + 1, high + self._step.after.bits))

    # The result.

    @property
    def _total_call(self) -> ModelCall:
        return self.calls["late total"]

    @property
    def _zero_calls(self) -> list[Callable[[Sequence[ModelTerm]], ModelTerm]]:
        total = self._total_call
        return [lambda every: total(0, 0, every), lambda every: total.function(0, None, every, *total.arguments[3:])]

    @property
    def _result_call(self) -> Callable[[Any, Any, Any], int]:
        total, rounds = self._total_call, self.calls["round"]
        return lambda number, max_exp, lost: rounds(total(number, max_exp - self._to_round.bits, ()))

    def _composition(self) -> Iterator[AnyClaim]:
        yield from super()._composition()
        yield specials_claim(self.calls["late special"], [1, 2], "late ")


def _uncut(rule: LateInWindow) -> LateInWindow:
    return rule.model_copy(update={"total_bits": None})


def given_alignment(both_sums: Any, rule: LateInWindow) -> AbstractContextManager[None]:
    """Make a late addition align to these sums of both: the operand with more bits is the whole sum, the other is 0."""
    of_sum = rule.sum_bits >= rule.addend_bits
    calls = iter((of_sum, not of_sum))
    return given_function(late_module, "align", lambda *_: both_sums if next(calls) else 0)


def _nothing(*nonzero: Term) -> Term:
    return both(*map(negated, nonzero))


def _top_of(max_exp: Term, whole: Term) -> Term:
    """The larger exponent inside an output that may be moved by the places cut off: that of the sum of both."""
    inner = max_exp.children()[0] if max_exp.kind() == Kind.BV_EXTRACT else max_exp
    if inner.kind() != Kind.BV_ADD:
        return max_exp
    inside = {node.id() for node in children_first(whole)}
    exps = [child for child in map(_not_extended, inner.children()) if child.id() in inside and not child.is_value()]
    return exps[0] if len(exps) == 1 else max_exp


def _not_extended(term: Term) -> Term:
    """The term inside extensions by its sign or by zeros."""
    while term.kind() in EXTENDED or term.kind() == Kind.BV_CONCAT:
        first, *rest = term.children()
        if rest and not (first.is_value() and int(first.value(10)) == 0):
            break
        term = rest[0] if rest else first
    return term


def _sum_of_both(circuit: Circuit) -> Term | None:
    """The node that adds the sum and the addend: the first addition that depends on the total and on the sign."""
    wanted = {circuit.inputs[name].id() for name in ("i__total", "i__late_addend__sign")}
    of: dict[int, frozenset[int]] = {}
    for node in children_first(circuit.outputs["o__total"]):
        itself = frozenset([node.id()]) & wanted
        of[node.id()] = itself.union(*(of[child.id()] for child in node.children()))
        if node.kind() == Kind.BV_ADD and of[node.id()] == wanted:
            # The sum first, then the addend.
            first, second = node.children()
            by_sign = circuit.inputs["i__late_addend__sign"].id()
            return node if by_sign in of[second.id()] and by_sign not in of[first.id()] else None
    return None
