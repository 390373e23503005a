"""The claims of a promotion register's adder: decoded, aligned with jammed lost bits, summed, rounded once.

The model adds exactly. That its rounding of the jammed sum is that of the exact one is a claim for each distance of the
two exponents; from the window's end on, what is left of the smaller operand is its jam alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hwsim.formats import Class, FloatFormat
from hwsim.model.result import ResultRounding
from hwsim.model.rounding import round_to
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.terms import addend_term
from hwsim.model.window import align
from hwsim.prove.circuits import circuits, connected
from hwsim.prove.claims import AnyClaim, Claim, FormClaim
from hwsim.prove.linear import Bounded, Forms, Variable, form
from hwsim.prove.logic import Term, both, constant, implies, is_one, negated, true, width
from hwsim.prove.relations import SPECIAL, each, exactly, holds
from hwsim.prove.symbolic import Integer, Path, as_integer, ite, paths
from hwsim.rtl.datapath import promotion
from hwsim.rtl.numbers import FieldRange, as_float
from hwsim.rtl.promote import BELOW, Adder
from hwsim.spec import Unit
from hwsim.spec.parts import Promotion, ResultRule

OPERANDS = ("register", "partial")


class PromotionClaims:
    """All claims about the adder of a unit's promotion register."""

    def __init__(self, unit: Unit, rule: Promotion, cuts: Sequence[str] = ()):
        self.rule, self.fmt, self.partial = rule, rule.format, as_float(unit.result.format)
        self.adder = Adder(self.partial, rule)
        steps = circuits({step.name: step for step in promotion(unit, cuts).steps})
        self.decode, self.align, self.sum = (steps[f"promote.{name}"] for name in ("decode", "align", "sum"))
        self.round = connected([steps["promote.magnitude"], steps["promote.normalize"], steps["promote"]])
        self.bias = FieldRange.of(self.fmt).bias

    def claims(self) -> Iterator[AnyClaim]:
        """In the order of the steps."""
        for name, fmt in (("register", self.fmt), ("partial", self.partial)):
            yield self._decoded(name, fmt)
        for name in OPERANDS:
            yield self._aligned(name)
        yield FormClaim("promotion: sum", "the total is the sum of both, exactly", "both operands", self._is_sum)
        yield self._rounded()
        yield from self._jammed()

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
                return both(finite, holds(sig == 0), exactly(exp, *self._exps))
            # The same number, at the exponent of the RTL: shifted where a subnormal becomes normal.
            up = as_integer(term.exp) + self.bias - exp
            number = as_integer(term.sig) << (self.fmt.fraction_bits - term.fraction_bits)
            moved: Term = true()
            most = self.partial.fraction_bits
            for places in range(-most, most + 1):
                same = holds(sig == number << places) if places >= 0 else holds(sig << -places == number)
                moved = both(moved, implies(holds(up == places), same))
            near = exactly(up, -most, most)
            return both(finite, moved, near, holds(sig != 0), exactly(exp, *self._exps), self._normal(exp, sig))

        found = paths(lambda: addend_term(fmt, code))
        claim = each([Path(path.condition, right(path.result)) for path in found])
        return Claim(
            f"promotion: {name}", "a decoded code is the model's term, at an exponent of the register's",
            f"codes of {fmt.name}", (), claim, (port,),
        )  # fmt: skip

    @property
    def _exps(self) -> tuple[int, int]:
        return min(1 + self.adder.move, 1), self.adder.most

    def _normal(self, exp: Integer, sig: Integer) -> Term:
        """That a significand is normal, unless it stands at the least exponent: none can hide behind a larger one."""
        return implies(holds(exp > 1), holds(sig >= 1 << self.fmt.fraction_bits))

    def _aligned(self, name: str) -> Claim:
        """An operand in the window, below the larger exponent of both."""
        other = OPERANDS[1 - OPERANDS.index(name)]
        sign, exp, sig, _, _ = self._fields(self.align.inputs, name, "i")
        _, rival, _, _, _ = self._fields(self.align.inputs, other, "i")
        known = [exactly(exp, *self._exps), exactly(rival, *self._exps), holds(self._larger(exp, rival) >= 1)]
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
        wanted: dict[Variable, int] = {}
        known = []
        most = (1 << self.adder.fraction_bits + 1) - 1
        for name in OPERANDS:
            ones, carry = (inputs[f"i__{name}_{field}"] for field in ("ones", "carry"))
            top = width(ones) - 1
            factors = {
                Variable(ones.symbol(), 0, top): 1, Variable(ones.symbol(), top, 1): -(1 << top),
                Variable(carry.symbol(), 0, 1): 1,
            }  # fmt: skip
            known.append(Bounded(factors, -most, most))
            wanted |= factors
        total = self.sum.outputs["o__total"]
        passed = all(self.sum.outputs[f"o__{name}"] == inputs[f"i__{name}"] for name in ("max_exp", "zero_sign"))
        return passed and Forms(known=known).of(total).key() == form(width(total), 0, wanted).key()

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
        zero = sign << self.fmt.bits - 1
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
        return ResultRule(format=self.fmt, rounding=self.rule.rounding, overflow="infinity")

    def _jammed(self) -> Iterator[Claim]:
        """For each distance: the rounding of the jammed sum is that of the exact one."""
        bits = self.fmt.precision
        for distance in range(self.adder.fraction_bits + 3):
            yield self._at_distance(distance, bits)

    def _at_distance(self, distance: int, bits: int) -> Claim:
        large, small = (constant(f"{name}{distance}", bits) for name in ("large", "small"))
        exps, minus = constant(f"exp{distance}", self.fmt.exponent_bits), constant(f"minus{distance}", 1)
        x, y, exp = Integer.unsigned(large), Integer.unsigned(small), Integer.unsigned(exps)
        sign = Integer.unsigned(minus)
        least = 1 + distance
        known = [exactly(exp, least, self.adder.most)]
        if distance:
            known.append(holds(x >= 1 << bits - 1))
        top = exp.between(least, self.adder.most) - self.bias

        def code(total: object, unit_exp: object) -> object:
            if not total:
                return None
            negative = int(total < 0)  # type: ignore[operator]
            return round_to(self.fmt, negative, abs(total), unit_exp, self.rule.rounding, "infinity").code  # type: ignore[arg-type]

        def both_codes() -> Term:
            exact = (x << distance) + (-y if sign else y)
            part = align(ModelTerm(0, -distance, y, bits - 1, Class.NORMAL), 0, bits - 1 + BELOW, "jam") if y else 0
            jammed = (x << BELOW) + (-part if sign else part)
            first = code(exact, top - (bits - 1) - distance)
            second = code(jammed, top - (bits - 1) - BELOW)
            if first is None or second is None:
                return true() if first is second else negated(true())
            return holds(as_integer(first) == second)

        claim = each(paths(both_codes, known))
        return Claim(
            f"promotion: jam at distance {distance}", "the jammed sum rounds as the exact one", "both significands",
            tuple(known), claim, (large, small, exps, minus),
        )  # fmt: skip
