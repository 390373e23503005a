"""Terms of zero that seem to be something, and change no result all the same.

A product of zero whose exponent is not 0 can raise max_exp; so can an addend that is not compared as it is; and an
addend of zero whose significand is not 0 can be too small to leave anything. That the one or the other changes nothing
is shown by the solver for all other terms at once, a step each: the sum between them adds, whatever is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import count, takewhile
from typing import Any

from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import connected, fixed
from hwsim.prove.logic import Term, ask, both, constant, either, implies, is_one, negated, same, value, width
from hwsim.prove.relations import SPECIAL, exactly, holds
from hwsim.prove.symbolic import Integer
from hwsim.qualify.relations import Relations, aligned

Pairs = Mapping[str, tuple[Term, Term]]

# Mutants are of the first lane, and of what all lanes share.
LANE, ADDEND = "o__terms__0__", "o__addend__"


class Leaks(Relations):
    """What holds before each part, and what a term of zero may seem to be."""

    def same_numbers(self, pairs: Pairs) -> Term:
        """That two sets of terms, port by port, are the same, or differ in what one term of zero seems to be."""
        numbers = {port: pair for port, pair in pairs.items() if "special" not in port}
        found = [both(*(same(*pair) for pair in numbers.values()))]
        for name, leaks in ((LANE, self._product_leaks), (ADDEND, self._addend_leaks)):
            others = [same(*pair) for port, pair in numbers.items() if not port.startswith(name)]
            found.append(both(leaks(numbers), *others))
        if self._zeros_vanish:
            found.append(self._signs_of_zero(numbers))
        return either(*found)

    @staticmethod
    def _signs_of_zero(numbers: Pairs) -> Term:
        """That two sets of terms differ in the sign of an addend of zero alone, which leaves nothing."""
        zero = (holds(Integer.unsigned(sig) == 0) for sig in numbers[f"{ADDEND}sig"])
        return both(*zero, *(same(*pair) for port, pair in numbers.items() if port != f"{ADDEND}sign"))

    def _product_leaks(self, numbers: Pairs) -> Term:
        exp, sig = (tuple(map(Integer.unsigned, numbers[f"{LANE}{field}"])) for field in ("exp", "sig"))
        return both(*(holds(one == 0) for one in (*sig, exp[0])), self._low_or_near(exp[1], numbers))

    def _addend_leaks(self, numbers: Pairs) -> Term:
        if not self.addend:
            return negated(both())
        exps, sig = numbers[f"{ADDEND}exp"], tuple(map(Integer.unsigned, numbers[f"{ADDEND}sig"]))
        plus = [negated(is_one(sign)) for sign in numbers[f"{ADDEND}sign"]]
        hidden = holds(sig[0] == 0), holds(sig[1] == 1 << self.n.addend_fraction_bits)
        return both(*hidden, *plus, same(*exps), same(exps[0], self._zero_exp(exps[0])))

    def _low_or_near(self, exp: Any, numbers: Pairs) -> Term:
        """That an exponent is so low that any other may be, or not far above every other product's."""
        products = [
            Integer.unsigned(plain)
            for port, (plain, _) in numbers.items()
            if port.startswith("o__terms") and port.endswith("__exp")
        ]
        beside = both(*(either(holds(one == 0), holds(exp <= one + self._near)) for one in products))
        return either(holds(exp <= self.products_below), both(holds(exp <= self.near_below), beside))

    @property
    def _near(self) -> int:
        """How far below max_exp a product loses nothing."""
        return self.n.fraction_bits - self.n.product_fraction_bits

    @cached_property
    def near_below(self) -> int:
        """The largest power of two that the exponent of a product of zero may be, not far above others'; 0 for none."""
        if self._near <= 0 or not self.zero_is_zero:  # without a product there is nothing to be near to
            return 0

        def may_be(exp: int) -> bool:
            below = exp < self._least_addend
            return below and self._raises_only(exp) and self._leaves_nothing(exp) and self._exact(exp, self._near)

        return self._largest(may_be)

    def _largest(self, may_be: Callable[[int], bool]) -> int:
        """The largest power of two, of a product's exponents, up to which all powers may be; 0 for none."""
        powers = takewhile(lambda exp: exp <= self.n.product_most, (1 << place for place in count()))
        return max(takewhile(may_be, powers), default=0)

    def _zero_exp(self, like: Term) -> Term:
        return value(self.exp_of_zero, width(like))

    # A product of zero with an exponent.

    @cached_property
    def products_below(self) -> int:
        """The largest power of two that a product of zero may have as its exponent, and any below it; 0 for none."""
        return self._largest(lambda exp: exp <= self.raised_to and self._raises_only(exp) and self._leaves_nothing(exp))

    @cached_property
    def raised_to(self) -> int:
        """The largest power of two that max_exp may be instead of any number below it; 0 for none."""
        return self._largest(lambda exp: self._exact(exp) or self._all_vanish(exp))

    def same_maximum(self, changed: Mapping[str, Term], plain: Mapping[str, Term]) -> Term:
        """That max_exp is raised to no more than that."""
        if not self.raised_to:
            return negated(both())
        before, after = (self._max_exp(outputs, "o__max_exp") for outputs in (plain, changed))
        return both(holds(before < after), holds(after <= self.raised_to))

    def _raises_only(self, most: int) -> bool:
        """max_exp is what it was, or that exponent, which is more."""
        circuit = self.parts.maximum
        port = circuit.inputs["i__terms__0__exp"]
        quiet = fixed(circuit, {"i__terms__0__exp": value(0, width(port))})
        exp = Integer.unsigned(port)
        before, after = (self._max_exp(one.outputs, "o__max_exp") for one in (quiet, circuit))
        known = [self._is_term(circuit.inputs, lane, "i") for lane in range(1, self.n.lanes)]
        raised = both(holds(before < exp), holds(after == exp))
        others = (*known, *self._addend_known(circuit.inputs))
        return _proved(either(holds(after == before), raised), (exactly(exp, 1, most), *others))

    def _leaves_nothing(self, most: int) -> bool:
        """Aligned it is zero."""
        ports = self.parts.align.inputs
        quiet = fixed(self.parts.align, {"i__terms__0__sig": value(0, width(ports["i__terms__0__sig"]))})
        exp, max_exp = Integer.unsigned(ports["i__terms__0__exp"]), self._max_exp(ports, "i__max_exp")
        known = exactly(exp, 0, most), exactly(max_exp, *self.n.max_exp), either(holds(exp == 0), holds(exp <= max_exp))
        return _proved(holds(aligned(quiet.outputs, "o", 0) == 0), known)

    def _exact(self, most: int, near: int | None = None) -> bool:
        """Below a larger max_exp terms lose nothing, and the code is the same. near: how much larger, where not any."""
        align, low = self.parts.align, self.n.max_exp[0]
        ports, top = align.inputs, constant("leak: max_exp", width(align.inputs["i__max_exp"]))
        after = fixed(align, {"i__max_exp": top})
        before, raised = self._max_exp(ports, "i__max_exp"), self._max_exp({"": top}, "")
        most_apart = most - low if near is None else near
        known = (
            exactly(before, low, most - 1),
            exactly(raised, low + 1, most),
            holds(before < raised),
            holds(raised - before <= most_apart),
        )
        product = Integer.unsigned(ports["i__terms__0__exp"])
        _, exp, sig = self._addend_fields(ports, "i")
        limits = {
            0: (
                self._is_term(ports, 0, "i"),
                either(holds(product == 0), both(holds(product <= before), holds(raised <= product + most_apart))),
            ),
            self.n.lanes: (
                *self._addend_known(ports), either(holds(sig == 0), holds(exp <= before)),
            ),
        }  # fmt: skip
        steps = [(holds(raised - before == distance), distance) for distance in range(1, most_apart + 1)]
        for lane, limit in limits.items():
            one, two = (aligned(each.outputs, "o", lane) for each in (align, after))
            exact = both(*(implies(far, holds(one == two * (1 << distance))) for far, distance in steps))
            if not _proved(exact, (*known, *limit)):
                return False
        return self._rounds_alike(top, known, steps)

    def _rounds_alike(self, top: Term, known: tuple[Term, ...], steps: list[tuple[Term, int]]) -> bool:
        """A total below one max_exp and the same number below a larger one give the same code."""
        circuit = self._without_flags
        ports = circuit.inputs
        total = constant("leak: total", width(ports["i__total"]))
        after = fixed(circuit, {"i__total": total, "i__max_exp": top})
        one, two = Integer.signed(ports["i__total"]), Integer.signed(total)
        align = self.parts.align.inputs["i__max_exp"]
        before = fixed(circuit, {"i__max_exp": align})
        is_same = both(*(implies(far, holds(one == two * (1 << distance))) for far, distance in steps))
        bound = holds(abs(one) <= self._total_most)
        return _proved(_alike(before, after), (*known, is_same, bound))

    def _all_vanish(self, most: int) -> bool:
        """No addend is so small but zero, and what is below that exponent gives the same code, whatever it is."""
        if self._least_addend <= most:
            return False
        circuit = self._without_flags
        ports = circuit.inputs
        total, top = (constant(f"leak: {name}", width(ports[f"i__{name}"])) for name in ("total", "max_exp"))
        after = fixed(circuit, {"i__total": total, "i__max_exp": top})
        known = [
            exactly(Integer.signed(one), -self._total_most, self._total_most) for one in (ports["i__total"], total)
        ]
        known += [exactly(self._max_exp({"": one}, ""), self.n.max_exp[0], most) for one in (ports["i__max_exp"], top)]
        return _proved(_alike(circuit, after), tuple(known))

    # An addend of zero with a significand.

    @cached_property
    def addend(self) -> bool:
        """Whether an addend of zero may have a hidden bit, with its exponent."""
        return self._never_largest() and self._is_shifted_out() and self._is_zero_alone()

    def _hidden_bit(self, ports: Mapping[str, Term]) -> Term:
        """That the addend is what +0 is with a hidden bit."""
        exp, sig = ports["i__addend__exp"], Integer.unsigned(ports["i__addend__sig"])
        hidden = holds(sig == 1 << self.n.addend_fraction_bits)
        return both(same(exp, self._zero_exp(exp)), hidden, negated(is_one(ports["i__addend__sign"])))

    def _never_largest(self) -> bool:
        """Beside a product max_exp is that of products."""
        circuit = self.parts.maximum
        exps = [Integer.unsigned(circuit.inputs[f"i__terms__{lane}__exp"]) for lane in range(self.n.lanes)]
        known = [self._is_term(circuit.inputs, lane, "i") for lane in range(self.n.lanes)]
        some = either(*(holds(exp != 0) for exp in exps))
        equal = same(circuit.outputs["o__max_exp"], self._without_addend(circuit).outputs["o__max_exp"])
        return _proved(equal, (*known, some, self._hidden_bit(circuit.inputs)))

    def _is_shifted_out(self) -> bool:
        """Below a product's exponent nothing of it is left."""
        circuit = self.parts.align
        max_exp = self._max_exp(circuit.inputs, "i__max_exp")
        known = exactly(max_exp, self.n.product_least, self.n.max_exp[1]), self._hidden_bit(circuit.inputs)
        return _proved(holds(aligned(circuit.outputs, "o", self.n.lanes) == 0), known)

    def _is_zero_alone(self) -> bool:
        """Without a product the result is that of an addend of zero."""
        circuit = connected([self.parts.maximum, self.parts.align, self.parts.sum, self.parts.round])
        quiet = {
            port: value(0, width(term))
            for port, term in circuit.inputs.items()
            if "special" in port or ("terms" in port and not port.endswith("sign"))
        }
        alone = fixed(circuit, quiet)
        return _proved(_alike(alone, self._without_addend(alone)), (self._hidden_bit(circuit.inputs),))

    # What both need.

    @property
    def _without_flags(self) -> Circuit:
        return fixed(self.parts.round, {f"i__special__{flag}": value(0, 1) for flag in SPECIAL})

    @property
    def _total_most(self) -> int:
        """What no total is beyond."""
        return self.n.lanes * self._most_in_window + self._addend_bound


def _proved(claim: Term, known: Sequence[Term]) -> bool:
    return ask(claim, known).word == "proved"


def _alike(one: Circuit, two: Circuit) -> Term:
    """The same code, and neither is said to be NaN."""
    said = [negated(is_one(each.outputs["o__nan"])) for each in (one, two) if "o__nan" in each.outputs]
    return both(same(one.outputs["o__code"], two.outputs["o__code"]), *said)
