"""What holds between the steps of a promotion's adder, as `hwsim.prove` shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import connected, fixed
from hwsim.prove.logic import Term, ask, both, either, implies, is_one, negated, same, value, width
from hwsim.prove.promotion import OPERANDS, PromotionClaims
from hwsim.prove.relations import SPECIAL, exactly, holds
from hwsim.prove.symbolic import Integer
from hwsim.qualify.partials import partial_sums
from hwsim.qualify.relations import Relation
from hwsim.rtl.promote import BELOW
from hwsim.spec import Unit
from hwsim.spec.parts import Promotion


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
