"""The claims of elements by comparison: each threshold is the least binary32 number at an exact product."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain
from typing import Any

from hwsim.formats import Class, Fields, FloatFormat
from hwsim.model.conversion import convert
from hwsim.model.rounding import round_to
from hwsim.prove.btor import Circuit
from hwsim.prove.claims import AnyClaim, CasesClaim, Claim, FormClaim
from hwsim.prove.explore import paths
from hwsim.prove.logic import Kind, Term, below, both, either, negated, op, possible, same, substituted, value, width
from hwsim.prove.maxima import children_first
from hwsim.prove.multiplied import narrowed
from hwsim.prove.relations import each, holds, is_each
from hwsim.prove.results import by_leading_one, leading_ones
from hwsim.prove.symbolic import Integer, as_integer
from hwsim.quantize.rule import Rule
from hwsim.rtl.single import F32, INFINITY
from hwsim.rtl.thresholds import Threshold, magnitude
from hwsim.spec.conversion import Conversion


def smallest_reaching(product: Fields, denominator: int) -> int:
    """The least code of binary32, infinity's at most, whose number is no less than a product of a number and a factor.

    product: the number's fields, with the product of its significand and the factor's numerator.
    """
    unit_exp = product.exp - F32.fraction_bits - (denominator.bit_length() - 1)
    return round_to(F32, 0, product.sig, unit_exp, "ru", "infinity").code


def threshold_claims(rule: Rule, circuit: Circuit) -> Iterator[AnyClaim]:
    """The claims of a step that makes thresholds of what elements are divided by."""
    fmt = rule.element
    assert isinstance(fmt, FloatFormat)
    yield FormClaim(
        "thresholds: meaning", "x / d, rounded to binary32 and then, reaches a magnitude where x is above d "
        "times a factor of 25 bits, which no x equals",
        f"{fmt.max_magnitude} magnitudes of {fmt.name}", lambda: _mean(rule),
    )  # fmt: skip
    for step in range(1, fmt.max_magnitude + 1):
        yield from _threshold(rule, circuit, step)


def _threshold(rule: Rule, circuit: Circuit, step: int) -> Iterator[AnyClaim]:
    factor = Threshold.of(rule, step).factor
    port, output = circuit.inputs["i__operand"], circuit.outputs[f"o__thresholds__{step - 1}"]
    operand = Integer.unsigned(port)
    known = (holds(operand <= INFINITY),)  # no NaN, and no sign: scales have none
    (multiplied,) = (node for node in children_first(output) if node.kind() == Kind.BV_MUL)
    sig, number = map(narrowed, multiplied.children())
    bits, most = width(multiplied), factor.numerator * ((1 << F32.precision) - 1)
    # What is kept of the product where any number takes its place.
    empty = [same(term, value(0, width(term))) for term in (multiplied, sig)]
    facts = both(
        op(Kind.EQUAL, *empty), negated(below(value(most, bits), multiplied)),
        either(empty[1], negated(below(multiplied, value(factor.numerator, bits)))),
    )  # fmt: skip

    def significand() -> Term:
        fields = F32.fields(operand)
        return holds(fields.cls is Class.INFINITY or Integer.unsigned(sig) == fields.sig)

    yield Claim(
        f"threshold {step}: product", "the model's significand is multiplied by the factor's; the product is zero "
        "just where the significand is, or else no less than the factor's",
        "every operand that is no NaN", known,
        both(same(number, value(factor.numerator, width(number))), each(paths(significand, known)), facts), (port,),
    )  # fmt: skip

    def of(product: Any, show: tuple[Term, ...], few: tuple[Term, ...], case: str) -> Claim | None:
        """The claim where the product is a number; None where it cannot be: none is less than the factor's."""
        by = {multiplied: as_integer(product).at(bits)}
        assumed = (*known, *few, substituted(facts, by))
        if not possible(assumed):
            return None

        def least() -> Any:
            fields = F32.fields(operand)
            if fields.cls in (Class.INFINITY, Class.ZERO):
                return INFINITY
            return smallest_reaching(fields._replace(sign=0, sig=product), factor.denominator)

        right = is_each(Integer.unsigned(output), paths(least, assumed))
        return Claim(case, "", "", assumed, substituted(right, by), (port, *show))

    yield CasesClaim(
        f"threshold {step}", "it is the least number of binary32 above that product, or infinity",
        "every operand that is no NaN; every place of the leading one of any product",
        lambda: filter(None, chain([of(0, (), (), "zero")], by_leading_one(of, most, signs=False))),
    )  # fmt: skip
    yield leading_ones(f"threshold {step}", most)


def _mean(rule: Rule) -> bool:
    """By the model's conversion of the codes on both sides of each step; it grows with the code."""
    fmt = rule.element
    assert isinstance(fmt, FloatFormat)
    narrow = Conversion(source=F32, target=fmt, rounding=rule.rounding, overflow=rule.overflow)  # type: ignore[arg-type]
    for step in range(1, fmt.max_magnitude + 1):
        factor = Threshold.of(rule, step).factor
        above = bisect_left(range(INFINITY), factor, key=lambda code: magnitude(F32, code))
        sides = [convert(narrow, code) & (fmt.sign_bit - 1) for code in (above - 1, above)]
        middle = (magnitude(F32, above) + magnitude(F32, above - 1)) / 2
        odd = factor.numerator % 2 == 1 and factor.numerator.bit_length() == F32.precision + 1
        if not (sides[0] < step <= sides[1] and factor == middle and odd):
            return False
    return True
