"""The claims of what rounded additions are of: the product of every lane as a number, or rounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from hwsim.model.addition import add
from hwsim.model.terms import Term as ModelTerm
from hwsim.prove.adder import is_decoded
from hwsim.prove.addition import of_known_sign
from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import connected, fixed
from hwsim.prove.claims import AnyClaim, Claim, FormClaim, LateClaim
from hwsim.prove.elaborated import datapath_circuits
from hwsim.prove.explore import paths
from hwsim.prove.factors import SIDES, FactorClaims
from hwsim.prove.logic import (
    Kind,
    Term,
    both,
    constant,
    implies,
    is_one,
    negated,
    op,
    simplified,
    substituted,
    value,
    width,
)
from hwsim.prove.multiplied import facts_of
from hwsim.prove.relations import FrontCircuits, each, holds
from hwsim.prove.symbolic import Integer, as_integer
from hwsim.rtl.addition import NumberRange
from hwsim.rtl.datapath import datapath
from hwsim.rtl.rounded import RoundedRanges
from hwsim.spec import ModalUnit, RoundedSum, Unit

WIDE = 10  # bits of products whose multiplication is left out of what the solver looks at


class RoundedProductClaims(FactorClaims[RoundedRanges]):
    """All claims about the products of a unit of method `sequential` or `pairwise`.

    steps: the circuits of its datapath, where they are at hand. modal: the unit of several modes whose RTL they are.
    """

    def __init__(
        self,
        unit: Unit,
        cuts: Sequence[str] = (),
        steps: Mapping[str, Circuit] | None = None,
        modal: ModalUnit | None = None,
    ):
        built = unit if modal is None else modal
        self._path = datapath(built, cuts).steps
        self._steps = datapath_circuits(built, cuts) if steps is None else steps
        decode, multiply = self._steps["decode"], self._steps["multiply"]
        super().__init__(
            unit, RoundedRanges(built), FrontCircuits(decode, multiply, connected([decode, multiply])), cuts
        )
        assert isinstance(unit.sum, RoundedSum)
        self.fmt, self.rule = unit.sum.format, unit.sum

    # Products.

    @cached_property
    def _multiply(self) -> Circuit:
        """The products, where no scale is NaN."""
        multiply = self.front.multiply
        return fixed(multiply, {"i__scale_nan": value(0, 1)} if "i__scale_nan" in multiply.inputs else {})

    def _products(self) -> Iterator[AnyClaim]:
        known, lane = self._lane_product()
        sigs = [self.front.multiply.inputs[f"i__{side}__0__sig"] for side in SIDES]
        outputs = self._multiply.outputs
        show = tuple(term for name, term in self.front.multiply.inputs.items() if "__0" in name)

        def right(term: ModelTerm) -> Term:
            if isinstance(self.n.product, NumberRange):
                return is_decoded(outputs, "o__product0", self.n.product, self.fmt, term)
            rule = self.rule
            product = of_known_sign(term)
            code = as_integer(add(self.fmt, (product,), rule.rounding, rule.flushes, rule.overflow))
            return holds(Integer.unsigned(outputs["o__product0"]) == code >> self.fmt.padding)

        def claimed() -> Term:
            return each(paths(lambda: right(lane()), known))

        words = "a lane's number is the model's product" + (", rounded" if not self.model_fused else "")
        if sum(map(width, sigs)) <= WIDE:
            yield LateClaim("lane: product", words, "decoded factors of a lane", tuple(known), claimed, show)
        else:
            yield from self._of_any_product(words, known, sigs, claimed, show)

    def _lanes(self) -> FormClaim:
        return FormClaim(
            "lanes: products",
            "every lane makes the same of its operands",
            f"{self.n.lanes} lanes",
            self._lanes_are_alike,
        )

    @property
    def model_fused(self) -> bool:
        """Whether products enter additions exactly."""
        return self.rule.product == "fused"

    def _of_any_product(
        self, words: str, known: Sequence[Term], sigs: Sequence[Term], claimed: Any, show: tuple[Term, ...]
    ) -> Iterator[AnyClaim]:
        """The same, of any number in the place of a product of significands that is zero just where one of them is."""
        bits = sum(map(width, sigs))
        a, b = (op(Kind.BV_ZERO_EXTEND, sig, indices=[bits - width(sig)]) for sig in sigs)
        multiplied, any_product = op(Kind.BV_MUL, a, b), constant("any.product", bits)
        flags = [self.front.multiply.inputs[f"i__{side}__0__{flag}"] for side in SIDES for flag in ("nan", "inf")]
        finite = both(*(negated(is_one(flag)) for flag in flags))  # what else is decoded beside a flag is not known
        facts = implies(finite, facts_of(multiplied, sigs, self.n.most_product))
        yield Claim(
            "lane: significands", "a product of significands is no more than the largest, zero just where one is, and "
            "else no less than either",
            "significands of two numbers", tuple(known), facts, tuple(sigs),
        )  # fmt: skip
        by = {multiplied: any_product}

        def abstracted() -> Term:
            return substituted(implies(facts, claimed()), by)

        yield LateClaim(
            "lane: product", words, "decoded factors of a lane", tuple(known), abstracted, (any_product, *show)
        )

    def _lanes_are_alike(self) -> bool:
        """Of decoding, and of multiplication, beside any scales."""
        decode, multiply = self.front.decode, self._multiply
        for lane in range(1, self.n.lanes):
            mine, first = self._lane(lane), self._lane(0)
            codes = {decode.inputs[first[side]]: decode.inputs[name] for side, name in mine.items()}
            if not _same_outputs(
                decode, codes, {"a__0": f"a__{lane}", "b__0": f"b__{lane}", "scale_exp__0": f"scale_exp__{lane}"}
            ):
                return False
            places = {"a__0": f"a__{lane}", "b__0": f"b__{lane}", "scale_exp__0": f"scale_exp__{lane}"}
            numbers = {
                multiply.inputs[f"i__{name}"]: multiply.inputs[f"i__{_renamed(name, places)}"]
                for name in (port[3:] for port in multiply.inputs)
                if _renamed(name, places) != name
            }
            if not _same_outputs(multiply, numbers, {"product0": f"product{lane}"}):
                return False
        return True

    def _nan_scale(self) -> Claim:
        """A NaN scale makes a product NaN, and with it the sum: of which lane it is makes no difference."""
        outputs = fixed(self.front.multiply, {"i__scale_nan": value(1, 1)}).outputs
        if self.model_fused:
            said = is_one(outputs["o__product0__nan"])
        else:
            code = Integer.unsigned(outputs["o__product0"])
            said = holds(code == (self.fmt.canonical_nan or 0) >> self.fmt.padding)
        return Claim(
            "scales: NaN", "a NaN scale makes the first product NaN", "all operands", (), said,
            tuple(self.front.multiply.inputs.values()),
        )  # fmt: skip


def _renamed(name: str, places: Mapping[str, str]) -> str:
    """A port's name with another place at its beginning."""
    for old, new in places.items():
        if name == old or name.startswith(f"{old}__"):
            return new + name[len(old) :]
    return name


def _same_outputs(circuit: Circuit, by: Mapping[Term, Term], places: Mapping[str, str]) -> bool:
    """Whether outputs at some places are, of other inputs, those at others."""
    for name, term in circuit.outputs.items():
        other = _renamed(name[3:], places)
        if other == name[3:]:
            continue
        here, there = substituted(term, by), circuit.outputs[f"o__{other}"]
        if here != there and simplified(here) != simplified(there):
            return False
    return True
