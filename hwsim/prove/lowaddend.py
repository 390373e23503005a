"""The claims of scaled sums that a low addend changes: smaller parts, and a max_exp in which it has no say.

One signal of the multiplication says that a group's addend is low. Where it does, and where it does not, the datapath
is that of a unit without the question: each is claimed with a number in the place of the signal, and the signal itself
to be the model's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hwsim.formats import Class, Fields
from hwsim.prove.circuits import Circuit
from hwsim.prove.claims import SPECIAL, AnyClaim, Claim, DatapathClaims, StepCircuits, each, holds
from hwsim.prove.factors import SIDES
from hwsim.prove.lemmas import any_term, folded, specials_claim
from hwsim.prove.linear import children_first
from hwsim.prove.subgroups import SubgroupClaims
from hwsim.prove.symbolic import Integer, Truth, as_integer, ite, paths
from hwsim.prove.terms import (
    Kind,
    Term,
    both,
    either,
    implies,
    is_one,
    negated,
    op,
    same,
    simplified,
    substituted,
    true,
    value,
    width,
)
from hwsim.prove.windows import Rival
from hwsim.rtl.numbers import FactorShape
from hwsim.spec import Unit

LOW = "__low"  # what the signal's port ends with


class GroupClaims(SubgroupClaims):
    """All claims about groups whose addend is low, or about those in which it is not."""

    def __init__(self, unit: Unit, cuts: Sequence[str], parts: StepCircuits, low: bool):
        self.low = low
        multiply = with_number(parts.multiply, parts.multiply.outputs[f"o{LOW}"], low)
        maximum = with_number(parts.maximum, parts.maximum.inputs[f"i{LOW}"], low)
        super().__init__(unit, cuts, replace(parts, multiply=multiply, maximum=maximum))

    @property
    def _skips(self) -> bool:
        """True if the addend has no say in max_exp."""
        return bool(self.low) and self.n.skips_low

    def of_other(self) -> Iterator[AnyClaim]:
        """Yield the claims that are not about the same circuit, with more of its inputs allowed, in low groups."""
        yield from self._parts()
        yield self._others()
        yield self._maximum(0)
        yield self._before_alignment()
        yield specials_claim(self.calls["special"], [len(self._places) + 1])
        yield self._model_maximum(0)

    def _others(self) -> Claim:
        """The claim that the terms that have no part's sum are zero."""
        ports, n, cut = self.front.multiply.inputs, self.n, self._cut
        zero = [place for place in range(n.terms) if place not in self._places]
        shapes = [(side, FactorShape.of(fmt)) for side, fmt in zip(SIDES, n.scale_formats, strict=True)]
        known = [
            self._is_decoded(ports, f"i__scale_{side}__{block}", shape)
            for (side, shape), blocks in zip(shapes, n.scale_blocks, strict=True) for block in range(blocks)
        ]  # fmt: skip
        finite = both(*(negated(is_one(port)) for name, port in ports.items() if name.endswith(("nan", "inf"))))
        right = [self._is_term(cut, place, "o") for place in zero]
        right += [same(cut[f"o__terms__{place}__{field}"], value(0, width(cut[f"o__terms__{place}__{field}"])))
                  for place in zero for field in ("sig", "nonzero")]  # fmt: skip
        return Claim(
            "subgroups: others", "terms without a subgroup are zero", f"{len(zero)} terms, decoded scales",
            tuple(known), implies(finite, both(*right)), tuple(ports.values()),
        )  # fmt: skip

    def _rivals(self, ports: Mapping[str, Term], window: int) -> list[Rival]:
        *terms, (nonzero, counts, exp) = super()._rivals(ports, window)
        return [*terms, (negated(true()), negated(true()), exp) if self._skips else (nonzero, counts, exp)]

    def _can_be_aligned(self, ports: Mapping[str, Term], max_exp: Any, at: int) -> tuple[Term, ...]:
        conditions = super()._can_be_aligned(ports, max_exp, at)
        if at < self.n.terms or not self._skips:
            return conditions
        _, exp, sig = self._addend_fields(ports, "i")
        return (*conditions, implies(holds(sig != 0), holds(exp <= max_exp + self.n.reach)))

    def reached(self, ports: Mapping[str, Term], prefix: str) -> Term:
        """The condition that a number that is a low addend stands no further above some term than a product reaches."""
        _, exp, sig = self._addend_fields(ports, prefix)
        near = [
            both(is_one(ports[f"{prefix}__terms__{at}__nonzero"]),
                 holds(exp <= Integer.unsigned(ports[f"{prefix}__terms__{at}__exp"]) + self.n.reach))
            for at in self._places
        ]  # fmt: skip
        return implies(holds(sig != 0), either(negated(true()), *near))

    def _before_alignment(self) -> Claim:
        claim, ports = super()._before_alignment(), self.parts.maximum.inputs
        if not self._skips:
            return claim
        finite = [negated(is_one(ports[f"i__special__{flag}"])) for flag in SPECIAL]
        return replace(claim, assumptions=(*claim.assumptions, *finite, self.reached(ports, "i")))

    @property
    def _addend_bound(self) -> int:
        bits = self.n.addend_fraction_bits
        return self._most_of((2 << bits) - 1, bits - self.n.reach)

    def _model_maximum(self, window: int) -> Claim:
        ports, n, call = self.parts.maximum.inputs, self.n, self.calls["max_exp"]
        rivals = self._rivals(ports, window)
        known = [self._term_within(ports, index) for index in n.of_window(window)]
        known += [negated(rivals[index][0]) for index in range(n.terms) if index not in self._places]
        own = [rivals[index] for index in (*self._places, *([] if self._skips else [n.terms]))]
        every = [any_term(exp=exp - n.bias, number=nonzero) for nonzero, _, exp in own]
        with folded() as facts:

            def right() -> Term:
                facts.clear()
                max_exp = call(every)
                if max_exp is None:
                    return both(*(negated(nonzero) for nonzero, _, _ in own))
                return implies(both(self._some(rivals), *facts), self._is_maximum(as_integer(max_exp) + n.bias, rivals))

            wanted = each(paths(right, known))
        return Claim(
            "composition: max_exp", "the model's largest exponent is the one of the RTL's terms that count",
            f"{len(own)} terms of any kind", tuple(known), wanted, tuple(ports.values()),
        )  # fmt: skip


class LowAddendClaims(DatapathClaims):
    """All claims about the datapath of a unit in which a low addend changes how products are summed."""

    def __init__(self, unit: Unit, cuts: Sequence[str], parts: StepCircuits):
        self._parts = parts
        self.groups = {low: GroupClaims(unit, cuts, parts, low) for low in (True, False)}
        super().__init__(unit, cuts, self.groups[True].calls)
        self.groups[False].calls = self.calls

    @property
    def chain(self) -> Sequence[Circuit]:
        """The datapath, one circuit after another."""
        parts = self._parts
        steps = (parts.decode, parts.multiply, parts.maximum, parts.align, parts.sum, parts.cut, parts.round)
        return [step for step in steps if step is not None]

    @property
    def neutral(self) -> Mapping[str, Term]:
        """The neutral inputs of the first circuit."""
        return self.groups[True].neutral

    def claims(self) -> Iterator[AnyClaim]:
        """Yield the claims about the signal, those about low groups, and what is different in others."""
        low, other = self.groups[True], self.groups[False]
        yield self._exponent()
        yield self._is_low()
        if low.n.skips_low:
            yield self._within_reach()
        for name, claims in (("low: ", low.claims()), ("not low: ", other.of_other())):
            yield from (replace(claim, name=name + claim.name) for claim in claims)

    @property
    def _ports(self) -> Mapping[str, Term]:
        return self._parts.multiply.inputs

    def _is_counted(self, lane: int) -> Term:
        """The condition that a lane's product is a number other than zero."""
        first, ports = self.groups[True], self._ports
        by = {ports[f"i__{side}__0__{field}"]: ports[f"i__{side}__{lane}__{field}"]
              for side in SIDES for field in ("sign", "bexp", "sig", "nan", "inf")}  # fmt: skip
        special = either(*first._specials.values())
        return both(first._nonzero(lane), negated(substituted(special, by)))

    def _sum_of_exps(self, lane: int) -> Any:
        x, y = (Integer.unsigned(self._ports[f"i__{side}__{lane}__bexp"]) for side in SIDES)
        return x + y - self.groups[True].n.product_bias

    def _exponent(self) -> Claim:
        """The claim that a lane's product is a number just where it counts, and has the sum of both exponents."""
        known, lane = self.groups[True]._lane_product()
        counts, exp = self._is_counted(0), self._sum_of_exps(0)

        def right() -> Term:
            term = lane()
            return both(counts, holds(exp == term.exp)) if term.cls is Class.NORMAL else negated(counts)

        show = tuple(term for name, term in self._ports.items() if "__0__" in name)
        return Claim(
            "lane: exponent", "a product that is a number has the sum of its factors' exponents",
            "decoded factors of a lane", tuple(known), each(paths(right, known)), show,
        )  # fmt: skip

    def _known(self) -> list[Term]:
        """The conditions on all decoded operands."""
        first, ports, n = self.groups[True], self._ports, self.groups[True].n
        known = [
            first._is_decoded(ports, f"i__{side}__{lane}", shape)
            for side, shape in zip(SIDES, n.multiplied, strict=True) for lane in range(n.lanes)
        ]  # fmt: skip
        for side, fmt, blocks in zip(SIDES, n.scale_formats, n.scale_blocks, strict=True):
            shape = FactorShape.of(fmt)
            known += [first._is_decoded(ports, f"i__scale_{side}__{block}", shape) for block in range(blocks)]
        return [*known, implies(self._is_finite(), first._addend_within(ports, "i"))]

    def _is_finite(self) -> Term:
        """The condition that the addend is a number."""
        return both(*(negated(is_one(self._ports[f"i__special__{flag}"])) for flag in SPECIAL))

    def _is_low(self) -> Claim:
        """The claim that the signal is the model's answer."""
        first, ports, known = self.groups[True], self._ports, self._known()
        n = first.n
        call = self.calls["low" if n.addend is not None else "low of none"]
        products = [any_term(exp=self._sum_of_exps(lane), number=self._is_counted(lane)) for lane in range(n.lanes)]
        scales = []
        for side, fmt, blocks in zip(SIDES, n.scale_formats, n.scale_blocks, strict=True):
            decoded = [self._scale(f"i__scale_{side}__{block}", FactorShape.of(fmt)) for block in range(blocks)]
            scales.append([decoded[lane * blocks // n.lanes] for lane in range(n.lanes)])
        _, exp, sig = first._addend_fields(ports, "i")
        addend = any_term(exp=exp - n.bias, number=both(holds(sig != 0), self._is_finite()))
        found = is_one(self._parts.multiply.outputs[f"o{LOW}"])
        with folded() as facts:

            def right() -> Term:
                facts.clear()
                answer = call(products, *scales, *([addend] if n.addend is not None else []))
                return implies(both(true(), *facts), same(found, holds(answer)))

            wanted = each(paths(right, known))
        return Claim(
            "low addend", "the signal says that the addend is low just where the model does",
            f"{n.lanes} products, their scales and an addend of any kind", tuple(known), wanted, tuple(ports.values()),
        )  # fmt: skip

    def _scale(self, place: str, shape: FactorShape) -> Fields:
        """A decoded scale, as far as its exponent and whether it is zero; a special one is."""
        bexp, sig, nan, inf = (self._ports[f"{place}__{field}"] for field in ("bexp", "sig", "nan", "inf"))
        special = either(is_one(nan), is_one(inf))
        number = ite(Truth(special), 0, Integer.unsigned(sig))
        return Fields(0, Integer.unsigned(bexp) - shape.field.bias, number, Class.NORMAL)

    def _within_reach(self) -> Claim:
        """The claim that a low addend stands no further above max_exp than the window has room for."""
        low, known = self.groups[True], self._known()
        ports = {**self._ports, **low._cut}
        ports |= {f"o__{name[3:]}": term for name, term in self._ports.items() if name.startswith("i__addend__")}
        says = is_one(self._parts.multiply.outputs[f"o{LOW}"])
        wanted = implies(both(says, self._is_finite()), low.reached(ports, "o"))
        return Claim(
            "low addend: reach", "a low addend is at most as far above some part as a product of it may be",
            "all decoded operands", tuple(known), wanted, tuple(self._ports.values()),
        )  # fmt: skip


def with_number(circuit: Circuit, signal: Term, number: bool) -> Circuit:
    """A circuit with a number in the place of a signal of one bit, and without what that leaves undone."""
    new: dict[int, Term] = {signal.id(): value(int(number), 1)}

    def made(term: Term) -> Term:
        for node in children_first(term):
            if node.id() not in new:
                new[node.id()] = _remade(node, [new[child.id()] for child in node.children()])
        return new[term.id()]

    outputs = {name: made(term) for name, term in circuit.outputs.items()}
    return replace(circuit, outputs=outputs)


def _remade(node: Term, children: list[Term]) -> Term:
    """A term of other children; one of them, where it is that."""
    old = list(node.children())
    if old == children:
        return node
    if all(child.is_value() for child in children):
        return simplified(op(node.kind(), *children, indices=node.indices()))
    match node.kind():
        case Kind.ITE if children[0].is_value():
            return children[1] if children[0].is_true() else children[2]
        case Kind.BV_AND | Kind.BV_OR:
            numbers = [child for child in children if child.is_value()]
            others = [child for child in children if not child.is_value()]
            bits = width(node)
            zeros, ones = value(0, bits), value(-1, bits)
            neutral, final = (ones, zeros) if node.kind() == Kind.BV_AND else (zeros, ones)
            if final in numbers:
                return final
            if all(one == neutral for one in numbers) and len(others) == 1:
                return others[0]
    return op(node.kind(), *children, indices=node.indices())
