"""The claims of a promotion register's adder: decoded, aligned with jammed lost bits, summed, rounded once.

That the jammed sum is rounded as the exact one is what `hwsim.prove.addition` claims of any two floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from hwsim.formats import Class, FloatFormat
from hwsim.model.addition import zero_sign
from hwsim.model.result import ResultRounding
from hwsim.model.rounding import infinity_code, nan_code
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.terms import addend_term
from hwsim.model.window import align
from hwsim.prove.addition import PlacedNumber, RoundedAddition, is_sum_of_both
from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import connected
from hwsim.prove.claims import AnyClaim, Claim, FormClaim
from hwsim.prove.elaborated import adder_circuits
from hwsim.prove.explore import Path, paths
from hwsim.prove.logic import Term, both, either, implies, is_one, negated, same, true, value
from hwsim.prove.relations import SPECIAL, adding, each, exactly, holds
from hwsim.prove.symbolic import Integer, as_integer, ite
from hwsim.rtl.accumulate import Accumulation
from hwsim.rtl.numbers import FieldRange, as_float
from hwsim.rtl.promote import Adder
from hwsim.spec import Unit
from hwsim.spec.parts import Promotion, ResultRule

OPERANDS = ("register", "partial")


class PromotionClaims:
    """All claims about the adder of a unit's promotion register.

    steps: its circuits, where they are not those of the unit's own RTL.
    """

    def __init__(
        self, unit: Unit, rule: Promotion, cuts: Sequence[str] = (), steps: Mapping[str, Circuit] | None = None
    ):
        self.unit, self.rule, self.fmt, self.partial = unit, rule, rule.format, as_float(unit.result.format)
        self.adder = Adder(self.partial, rule)
        if steps is None:
            steps = adder_circuits(unit, cuts)
        self.decode = steps["promote.decode"]
        self.align, self.sum, self.round = adding(steps, "promote")
        self.bias = FieldRange.of(self.fmt).bias
        self.addition = RoundedAddition(
            self.fmt, rule.rounding, self.adder.fraction_bits + 1, (1, self.adder.most), self._exps[0]
        )

    @property
    def what(self) -> Accumulation:
        """What is added to the register."""
        return Accumulation(self.unit, self.rule)

    @property
    def chain(self) -> Sequence[Circuit]:
        """Its steps, one after another."""
        return self.decode, self.align, self.sum, self.round

    def claims(self) -> Iterator[AnyClaim]:
        """In the order of the steps."""
        for name, fmt in (("register", self.fmt), ("partial", self.partial)):
            yield self._decoded(name, fmt)
        for name in OPERANDS:
            yield self._aligned(name)
        yield FormClaim("promotion: sum", "the total is the sum of both, exactly", "both operands", self._is_sum)
        yield self._rounded()
        yield self._special()
        yield self._zero_sign()
        yield self.addition.composition("promotion", [self._placed(name) for name in OPERANDS])
        yield from self.addition.claims("promotion")

    def _fields(self, ports: Mapping[str, Term], name: str, prefix: str) -> tuple[Any, Any, Any, Term, Term]:
        sign, bexp, sig, nan, inf = (
            ports[f"{prefix}__{name}__{field}"] for field in ("sign", "bexp", "sig", "nan", "inf")
        )
        signed = name == "partial" and min(1 + self.adder.move, 1) < 1
        exp = (Integer.signed if signed else Integer.unsigned)(bexp)
        return Integer.unsigned(sign), exp, Integer.unsigned(sig), nan, inf

    def _decoded(self, name: str, fmt: FloatFormat) -> Claim:
        sign, exp, sig, nan, inf = self._fields(self.decode.outputs, name, "o")
        port = self.decode.inputs[f"i__{name}"]
        code = Integer.unsigned(port) << fmt.padding

        def right(term: ModelTerm) -> Term:
            is_nan, is_inf = is_one(nan), is_one(inf)
            match term.cls:
                case Class.NAN:
                    return is_nan
                case Class.INFINITY:
                    return both(negated(is_nan), is_inf, holds(sign == term.sign))
            finite = both(negated(is_nan), negated(is_inf), holds(sign == term.sign))
            if term.cls is Class.ZERO:
                return both(finite, holds(sig == 0), self._decodes_to(name, exp, sig))
            # The same number, at the exponent of the RTL: shifted where a subnormal becomes normal.
            up = as_integer(term.exp) + self.bias - exp
            number = as_integer(term.sig) << (self.fmt.fraction_bits - term.fraction_bits)
            moved: Term = true()
            most = self.partial.fraction_bits
            for places in range(-most, most + 1):
                same = holds(sig == number << places) if places >= 0 else holds(sig << -places == number)
                moved = both(moved, implies(holds(up == places), same))
            near = exactly(up, -most, most)
            return both(finite, moved, near, holds(sig != 0), self._decodes_to(name, exp, sig))

        found = paths(lambda: addend_term(fmt, code))
        claim = each([Path(path.condition, right(path.result)) for path in found])
        return Claim(
            f"promotion: {name}", "a decoded code is the model's term, at an exponent of the register's",
            f"codes of {fmt.name}", (), claim, (port,),
        )  # fmt: skip

    @property
    def _exps(self) -> tuple[int, int]:
        return min(1 + self.adder.move, 1), self.adder.most

    def _decodes_to(self, name: str, exp: Any, sig: Any) -> Term:
        """What every finite operand is: the relation between decoding and alignment.

        Its significand is normal, unless it stands at the least exponent: none can hide behind a larger one.
        """
        least, most = self._exps
        within = exactly(exp, 1 if name == "register" else least, most)
        return both(within, self.addition.leads(sig, exp, self.fmt.precision))

    def _placed(self, name: str) -> PlacedNumber:
        _, exp, sig, _, _ = self._fields(self.align.inputs, name, "i")
        show = tuple(term for port, term in self.align.inputs.items() if port.startswith(f"i__{name}__"))
        return PlacedNumber(sig, exp, self.fmt.precision, (self._decodes_to(name, exp, sig),), show)

    def _aligned(self, name: str) -> Claim:
        """An operand in the window, below the larger exponent of both."""
        other = OPERANDS[1 - OPERANDS.index(name)]
        sign, exp, sig, _, _ = self._fields(self.align.inputs, name, "i")
        _, rival, rival_sig, _, _ = self._fields(self.align.inputs, other, "i")
        known = [self._decodes_to(name, exp, sig), self._decodes_to(other, rival, rival_sig)]
        term = ModelTerm(sign, exp.between(*self._exps), sig, self.fmt.fraction_bits, Class.NORMAL)
        ones, carry = (self.align.outputs[f"o__{name}_{field}"] for field in ("ones", "carry"))
        found = Integer.signed(ones) + Integer.unsigned(carry)
        top = as_integer(self._larger(exp, rival)).between(1, self.adder.most)

        def aligned() -> object:
            return align(term, top, self.adder.fraction_bits, "jam") if term.sig else 0

        claim = each([Path(path.condition, holds(found == path.result)) for path in paths(aligned, known)])
        same_top = holds(Integer.unsigned(self.align.outputs["o__max_exp"]) == top)
        show = [one for port, one in self.align.inputs.items() if port.split("__")[1] in OPERANDS]
        return Claim(
            f"promotion: {name} aligned", "it is shifted below the larger exponent, and its lost bits are jammed",
            "both operands", tuple(known), both(claim, same_top), tuple(show),
        )  # fmt: skip

    @staticmethod
    def _larger(first: Any, second: Any) -> Any:
        return ite(first > second, first, second)

    def _is_sum(self) -> bool:
        inputs = self.sum.inputs
        pairs = [(inputs[f"i__{name}_ones"], inputs[f"i__{name}_carry"]) for name in OPERANDS]
        passed = all(self.sum.outputs[f"o__{name}"] == inputs[f"i__{name}"] for name in ("max_exp", "zero_sign"))
        return passed and is_sum_of_both(self.sum.outputs["o__total"], pairs, (2 << self.adder.fraction_bits) - 1)

    def _rounded(self) -> Claim:
        inputs = self.round.inputs
        total, top = Integer.signed(inputs["i__total"]), Integer.unsigned(inputs["i__max_exp"])
        most = 2 * ((1 << self.adder.fraction_bits + 1) - 1)
        known = [
            exactly(total, -most, most), exactly(top, 1, self.adder.most),
            *(negated(is_one(inputs[f"i__special__{flag}"])) for flag in SPECIAL),
        ]  # fmt: skip
        inside, exp = total.between(-most, most), top.between(1, self.adder.most) - self.bias
        rounding = ResultRounding(self._result)

        def rounded() -> object:
            return rounding.total(inside, exp - self.adder.fraction_bits).code if inside else None

        code, sign = Integer.unsigned(self.round.outputs["o__code"]), Integer.unsigned(inputs["i__zero_sign"])
        zero = sign << self.fmt.bits - 1 if self.fmt.signed_zero else 0
        right = [
            Path(path.condition, holds(code == zero) if path.result is None
                 else holds(code << self.fmt.padding == path.result))
            for path in paths(rounded, known)
        ]  # fmt: skip
        return Claim(
            "promotion: result", "the code is the model's rounding of the total", "every total and exponent",
            tuple(known), each(right), (inputs["i__total"], inputs["i__max_exp"]),
        )  # fmt: skip

    @property
    def _result(self) -> ResultRule:
        return ResultRule(format=self.fmt, rounding=self.rule.rounding, overflow="ieee")

    def _special(self) -> Claim:
        """Where an operand is special, flags alone decide the code."""
        inputs = self.align.inputs
        fields = [self._fields(inputs, name, "i") for name in OPERANDS]
        nan = either(*(is_one(one[3]) for one in fields))
        signs = [[both(is_one(one[4]), holds(one[0] == sign)) for one in fields] for sign in (0, 1)]
        positive, negative = (either(*each) for each in signs)
        not_a_number = either(nan, both(positive, negative))
        code = Integer.unsigned(connected([self.align, self.sum, self.round]).outputs["o__code"]) << self.fmt.padding
        padding = (1 << self.fmt.padding) - 1  # of a NaN that has ones there, which the RTL's code has not
        wanted = [implies(not_a_number, holds(code == nan_code(self.fmt) & ~padding))]
        for sign, infinite in ((0, positive), (1, negative)):
            result = infinity_code(self.fmt, sign, "ieee")
            wanted.append(implies(both(infinite, negated(not_a_number)), holds(code == result & ~padding)))
        return Claim(
            "promotion: special", "NaN and infinities give the model's code, whatever the numbers are", "all operands",
            (), both(*wanted), tuple(inputs.values()),
        )  # fmt: skip

    def _zero_sign(self) -> Claim:
        """The sign that a sum of zero has."""
        ports = [self.align.inputs[f"i__{name}__sign"] for name in OPERANDS]
        found = self.align.outputs["o__zero_sign"]
        wanted = []
        for signs in product((0, 1), repeat=2):
            right = zero_sign([ModelTerm(sign, 0, 0, 0, Class.ZERO) for sign in signs], self.rule.rounding)
            here = both(*(same(port, value(sign, 1)) for port, sign in zip(ports, signs, strict=True)))
            wanted.append(implies(here, same(found, value(right, 1))))
        return Claim(
            "promotion: sign of zero", "a sum of zero has the sign that both share, or that of the rounding",
            "all signs", (), both(*wanted), tuple(ports),
        )  # fmt: skip
