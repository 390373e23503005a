"""The claims of an exact sum: integers in units of one power of two, from group to group or rounded after each.

A product is `sig << places`, which scales shift further; what a group starts from, c or the result or the exact sum so
far, is an integer in the same units. The model has units of its own in each sum; that the rounding of a number does not
depend on its unit is a claim, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hwsim.formats import Class, FixedFormat, FloatFormat
from hwsim.model.carried import ExactSoFar
from hwsim.model.method import sum_zero_sign
from hwsim.model.terms import Term as ModelTerm
from hwsim.prove.claims import AnyClaim, CasesClaim, Claim, FormClaim
from hwsim.prove.exactterms import ExactTermClaims, largest_start
from hwsim.prove.explore import Path, paths
from hwsim.prove.logic import (
    Term,
    both,
    constant,
    implies,
    is_one,
    negated,
    same,
    substituted,
    true,
    value,
    width,
)
from hwsim.prove.relations import SPECIAL, each, exactly, holds
from hwsim.prove.results import by_leading_one, is_result, leading_ones, special_result
from hwsim.prove.symbolic import Integer, as_integer, bits_for, ite
from hwsim.prove.unitexp import unit_exp_claims
from hwsim.rtl.subgroups import PRODUCT

NEAR = 12  # how far the exponents lie apart of which the model's own sum is followed


class ExactClaims(ExactTermClaims):
    """All claims about the datapath of a unit that sums exactly."""

    def claims(self) -> Iterator[AnyClaim]:
        """In the order of the steps; then of the cases and of the whole."""
        yield from self._products()
        yield from self._starts()
        yield from self._zero_sign()
        yield from self._aligned()
        yield from self._sum()
        yield from self._rounded()
        yield from self._passed()
        yield from self._composition()

    # The result.

    def _rounded(self) -> Iterator[AnyClaim]:
        circuit, fmt, n = self.parts.round, self.n.result, self.n
        sign, names = circuit.inputs["i__sum__zero_sign"], [f"i__sum__special__{flag}" for flag in SPECIAL]
        flags = [circuit.inputs[name] for name in names if name in circuit.inputs]
        if isinstance(fmt, FloatFormat):
            is_code = is_result(circuit, fmt, self.model.nan)
            yield special_result(circuit, self.model.rounding, fmt, self._never, "i__sum__special")
        else:
            own, said = Integer.unsigned(circuit.outputs["o__code"]), circuit.outputs["o__nan"]

            def is_code(result: object) -> Term:
                return both(holds(own << fmt.padding == result), same(said, value(0, 1)))

        port = circuit.inputs["i__sum__total"]
        zero = {port: value(0, width(port))}
        of_zero = self.model.rounding.total(0, n.unit_exp, 0).code, self.model.rounding.total(0, n.unit_exp, 1).code
        set_sign = is_one(sign)
        wanted = both(implies(set_sign, is_code(of_zero[1])), implies(negated(set_sign), is_code(of_zero[0])))
        clean = tuple(negated(is_one(flag)) for flag in flags)
        yield Claim(
            "result: zero", "a total of zero is a zero of its sign", "both signs", clean, substituted(wanted, zero),
            (sign,),
        )  # fmt: skip

        yield from self._of_magnitudes() if isinstance(fmt, FloatFormat) else self._of_totals(is_code, clean)
        yield leading_ones("result", self.n.most)

    def _of_totals(self, is_code: Callable[[object], Term], clean: tuple[Term, ...]) -> Iterator[AnyClaim]:
        """What a total becomes, of each by itself."""
        port = self.parts.round.inputs["i__sum__total"]

        def of(total: Integer, show: tuple[Term, ...], known: tuple[Term, ...], name: str) -> Claim:
            right = substituted(self._is_rounded(total, known, is_code), {port: total.at(width(port))})
            return Claim(name, "", "", (*known, *clean), right, show)

        yield self._result(lambda: by_leading_one(of, self.n.most))

    def _of_magnitudes(self) -> Iterator[AnyClaim]:
        """What a total's sign and magnitude are, and what these become."""
        step, code = self.parts.magnitude, self.parts.code
        assert step is not None and isinstance(self.n.result, FloatFormat)
        total, sign = Integer.signed(step.inputs["i__sum__total"]), Integer.unsigned(step.outputs["o__sum__sign"])
        size = Integer.unsigned(step.outputs["o__sum__magnitude"])
        flags = [f"__sum__special__{flag}" for flag in SPECIAL]
        negative = sign == ite(total < 0, 1, 0)
        yield Claim(
            "magnitude", "a total's sign and magnitude are its own; what is special stays so", "every total but zero",
            (holds(abs(total) <= self.n.most), holds(total != 0)),
            both(
                holds(size == abs(total)), holds(negative),
                *(same(step.outputs[f"o{flag}"], step.inputs[f"i{flag}"]) for flag in flags),
            ),
            (step.inputs["i__sum__total"],),
        )  # fmt: skip
        ports = {name: code.inputs[f"i__sum__{name}"] for name in ("sign", "magnitude", "top_bexp")}
        exp = step.outputs["o__sum__top_bexp"]  # of an exact sum one number
        clean = tuple(negated(is_one(code.inputs[f"i{flag}"])) for flag in flags)
        is_code = is_result(code, self.n.result, self.model.nan)

        def of(number: Integer, show: tuple[Term, ...], known: tuple[Term, ...], name: str) -> Claim:
            size = as_integer(abs(number))
            by = {
                ports["sign"]: value(number.high < 0, 1),
                ports["magnitude"]: size.at(width(ports["magnitude"])),
                ports["top_bexp"]: exp,
            }
            right = substituted(self._is_rounded(number, known, is_code), by)
            return Claim(name, "", "", (*known, *clean), right, show)

        yield self._result(lambda: by_leading_one(of, self.n.most))

    def _is_rounded(self, total: Integer, known: Sequence[Term], is_code: Callable[[object], Term]) -> Term:
        """That a code is the model's rounding of a total."""
        found = paths(lambda: self.model.rounding.total(total, self.n.unit_exp).code, known)  # type: ignore[arg-type]
        return each([Path(path.condition, is_code(path.result)) for path in found])

    def _result(self, cases: Callable[[], Iterator[Claim]]) -> CasesClaim:
        words = "the code is the model's rounding of the total"
        return CasesClaim("result", words, "every place of its leading one, both signs", cases)

    def _passed(self) -> Iterator[FormClaim]:
        """What a step does not make leaves as it came."""

        def passed() -> bool:
            align, total = self.parts.align, self.parts.sum
            names = [name for name in align.outputs if "aligned" not in name]
            kept = all(align.outputs[name] == align.inputs[f"i{name[1:]}"] for name in names)
            flags = ("zero_sign", *(f"special__{flag}" for flag in SPECIAL))
            kept &= all(total.outputs[f"o__sum__{one}"] == total.inputs[f"i__start__{one}"] for one in flags)
            if not self.n.carries:
                return kept
            last = self.parts.round
            goes_on = ("total", *flags)
            return kept and all(last.outputs[f"o__{one}"] == last.inputs[f"i__so_far__{one}"] for one in goes_on)

        yield FormClaim("passed on", "what a step does not make leaves as it came, and goes on", "all steps", passed)

    # How the steps compose.

    def _composition(self) -> Iterator[AnyClaim]:
        n = self.n

        def fits() -> bool:
            most = sum(largest_start(n, fmt) for fmt in n.addends) + (self._group << n.groups_bits)
            ports = self.parts.sum.outputs["o__sum__total"], self.parts.sum.inputs["i__start__total"]
            return most <= n.most and all(n.most < 1 << width(port) - 1 for port in ports)

        groups = f"at most 2^{n.groups_bits} groups" if n.carries else "one group"
        yield FormClaim(
            "composition: sum", f"the bounds of all terms fit the total, of {groups}", f"{n.lanes} products", fits
        )
        yield from self._model_sums()
        if not all(isinstance(fmt, FixedFormat) for fmt in (*n.formats, *n.addends)) or n.scales:
            low = n.unit_exp + 1  # integers have one unit
            yield from unit_exp_claims(
                "composition", self.model.rounding, n.most // 2, (low, n.unit_exp + n.most.bit_length())
            )

    def _model_sums(self) -> Iterator[Claim]:
        """The model's exact sum is that of integers in units of the RTL, and what it carries on is that."""
        n, names = self.n, ("first", "second", "start")
        known, exps, show = list[Term](), [], []
        low = PRODUCT - n.product_bias
        ends = (low, min(low + NEAR, n.product_most - n.product_bias))
        span = (n.unit_exp, n.unit_exp + NEAR)
        for name, (low, high) in zip(names, (ends, ends, span), strict=True):
            exp = Integer.signed(constant(f"group.{name}", bits_for(low, high)))
            known.append(exactly(exp, low, high))
            exps.append(exp.between(low, high))
            show.append(exp.term)
        every = [(0, exps[0], n.most_product), (1, exps[1], n.most_product), (0, exps[1], 0)]
        wanted = []
        for chosen in ((0, 1), (0, 2), (2, 2)):
            for sig in (1, 0, None):

                def right(chosen: Sequence[int] = chosen, sig: int | None = sig) -> Term:
                    terms = [
                        ModelTerm(sign, exp, size, n.product_fraction_bits, Class.NORMAL if size else Class.ZERO)
                        for sign, exp, size in (every[one] for one in chosen)
                    ]
                    start = None
                    if sig is not None:
                        start = ModelTerm(1, exps[2], sig, 0, Class.NORMAL if sig else Class.ZERO)
                    return self._same_sum(terms, start)

                wanted.append(each(paths(right, known)))
        yield Claim(
            "composition: model", "the model's sum is that of integers, and goes on as it is",
            f"two products, or of zero, and a start, of exponents up to {NEAR} above the least", tuple(known),
            both(*wanted), tuple(show),
        )  # fmt: skip

    def _same_sum(self, terms: Sequence[ModelTerm], start: ModelTerm | None) -> Term:
        n, summed = self.n, self.model._method.sum(terms, start, None)
        every = terms if start is None else (*terms, start)
        total: Any = 0
        for term in every:
            number = as_integer(as_integer(term.sig) << term.exp - (term.fraction_bits + n.unit_exp))
            total = total + (-number if term.sign else number)
        assert summed.unit_exp is not None
        more = summed.unit_exp - n.unit_exp
        outcome = summed.outcome
        right = [holds(as_integer(summed.total) << more == total)]
        if outcome.cls is Class.ZERO:
            sign = sum_zero_sign(every, n.rule.zero, self.unit.result.rounding)
            right += [holds(as_integer(total) == 0), holds(outcome.sign == sign)]
        else:
            signed = ite(as_integer(outcome.sign) == 1, -as_integer(outcome.sig), outcome.sig)
            unit = as_integer(outcome.exp - outcome.fraction_bits)
            right += [holds(as_integer(signed) == summed.total), holds(unit == summed.unit_exp)]
        carried = self.model._method.carried(summed, 0)
        goes_on = isinstance(carried, ExactSoFar) and carried.term is outcome
        return both(*right, true() if goes_on == n.carries else negated(true()))
