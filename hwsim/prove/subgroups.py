"""The claims of scaled sums: products of a subgroup are added exactly, and their sum is multiplied by its scales.

The sum of a subgroup's placed products is cut out of the multiplication: it is a sum by its linear form, and what is
made of it holds of every total.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from hwsim.formats import Class, unpack
from hwsim.model.terms import Term as ModelTerm
from hwsim.prove.claims import SPECIAL, AnyClaim, CasesClaim, Claim, StructuralClaim, by_value, each, exactly, holds
from hwsim.prove.factors import SIDES
from hwsim.prove.linear import Bounded, Forms, Variable, children_first, equal, form
from hwsim.prove.symbolic import Integer, Path, Truth, as_integer, bits_for, ite, paths
from hwsim.prove.terms import Kind, Term, both, constant, either, implies, is_one, negated, same, substituted, width
from hwsim.prove.windows import WindowClaims
from hwsim.rtl.numbers import FactorShape
from hwsim.rtl.windows import PRODUCT

FIELDS = ("sign", "bexp", "sig", "nan", "inf")
ADDED = (Kind.BV_ADD, Kind.BV_SIGN_EXTEND, Kind.BV_ZERO_EXTEND, Kind.BV_EXTRACT, Kind.BV_CONCAT)
NEAR = 8  # how far the exponents lie apart of which the model's own sum is followed


class SubgroupClaims(WindowClaims):
    """All claims about the datapath of a unit that aligns scaled sums of products.

    low: where parts are smaller beside a low addend, or it has no say in max_exp: whether the claims are of such a
    group; None where an addend has no say.
    """

    low: bool | None = None

    @cached_property
    def _places(self) -> range:
        """The terms of the RTL that have the sums of parts; the others are zero."""
        assert self.n.parts is not None
        return range(0, self.n.terms, self.n.parts.rule.lanes // self.n.parts.lanes if self.low is False else 1)

    def _products(self) -> Iterator[AnyClaim]:
        yield from self._decoded_operands()
        yield from self._parts()

    def _decoded_operands(self) -> Iterator[AnyClaim]:
        for side in SIDES:
            yield self._factor(side)
        for side, fmt in zip(SIDES, self.n.scale_formats, strict=True):
            port = self.front.decode.inputs[f"i__scale_{side}__0"]
            code = Integer.unsigned(port)
            yield self._decoded(
                f"scale: {side}", "a decoded scale is the model's", fmt, FactorShape.of(fmt), port,
                f"o__scale_{side}__0", self._padded(fmt, code),
                lambda call=self.calls[f"scale {side}"], code=code: call(code),  # type: ignore[misc]
            )  # fmt: skip
        yield StructuralClaim(
            "lanes: decoded", "every lane and every block decodes alike", f"{self.n.lanes} lanes", self._decoded_alike
        )

    def _parts(self) -> Iterator[AnyClaim]:
        yield self._placed()
        yield StructuralClaim(
            "lanes: placed", "every lane places its product alike", f"{self.n.lanes} lanes", self._placed_alike
        )
        yield StructuralClaim(
            "subgroups: sum", "a subgroup's total is the sum of its products, exactly",
            f"{len(self._places)} subgroups", self._are_sums,
        )  # fmt: skip
        yield self._no_cancelling()
        yield self._scaled()
        yield StructuralClaim(
            "subgroups: alike", "every subgroup is scaled alike", f"{len(self._places)} subgroups", self._scaled_alike
        )
        yield self._all_flags()

    @property
    def _sum_most(self) -> int:
        """The largest magnitude of a subgroup's sum."""
        assert self.n.parts is not None
        return self.n.parts.sum_most

    @property
    def _length(self) -> int:
        return self.n.lanes // len(self._places)

    def _lanes_of(self, at: int) -> range:
        return range(at * self._length, (at + 1) * self._length)

    def _moved(self, at: int) -> dict[Term, Term]:
        """The inputs of the multiplication that the first subgroup depends on, by those of another."""
        ports = self.front.multiply.inputs
        by = dict[Term, Term]()
        for first, lane in zip(self._lanes_of(0), self._lanes_of(at), strict=True):
            by |= {ports[f"i__{side}__{first}__{field}"]: ports[f"i__{side}__{lane}__{field}"]
                   for side in SIDES for field in FIELDS}  # fmt: skip
        for side, blocks in zip(SIDES, self.n.scale_blocks, strict=True):
            block = at * blocks // len(self._places)
            by |= {
                ports[f"i__scale_{side}__0__{field}"]: ports[f"i__scale_{side}__{block}__{field}"] for field in FIELDS
            }
        return by

    def _decoded_alike(self) -> bool:
        inputs, outputs = self.front.decode.inputs, self.front.decode.outputs
        kinds: list[tuple[str, int]] = [(side, self.n.lanes) for side in SIDES]
        kinds += [(f"scale_{side}", blocks) for side, blocks in zip(SIDES, self.n.scale_blocks, strict=True)]
        return all(
            substituted(outputs[f"o__{kind}__0__{field}"], {inputs[f"i__{kind}__0"]: inputs[f"i__{kind}__{index}"]})
            == outputs[f"o__{kind}__{index}__{field}"]
            for kind, count in kinds
            for index in range(count)
            for field in FIELDS
        )

    # Where the products of a subgroup are added.

    @cached_property
    def _adders(self) -> list[tuple[Term, dict[int, Term]]]:
        """The sum of each subgroup inside the multiplication, and what each lane adds to it."""
        lanes = {}
        for name, port in self.front.multiply.inputs.items():
            words = name.split("__")
            lanes[port.id()] = frozenset([int(words[2])]) if words[1] in SIDES else frozenset([-1])
        return [self._adder(index, lanes) for index in range(len(self._places))]

    def _adder(self, at: int, lanes: Mapping[int, frozenset[int]]) -> tuple[Term, dict[int, Term]]:
        wanted, of = frozenset(self._lanes_of(at)), dict[int, frozenset[int]]()
        top = None
        for node in children_first(self.front.multiply.outputs[f"o__terms__{self._places[at]}__sig"]):
            of[node.id()] = lanes.get(node.id(), frozenset()).union(*(of[child.id()] for child in node.children()))
            if top is None and node.kind() == Kind.BV_ADD and of[node.id()] == wanted:
                top = node
        if top is None:
            raise ValueError("a subgroup's products are added in one sum")
        leaves: dict[int, Term] = {}
        stack, seen = [top], set[int]()
        while stack:
            node = stack.pop()
            if node.id() in seen:
                continue
            seen.add(node.id())
            if len(of[node.id()]) == 1:
                (lane,) = of[node.id()]
                if lane in leaves:
                    raise ValueError("a lane is added once")
                leaves[lane] = node.children()[0] if node.kind() == Kind.BV_SIGN_EXTEND else node
            elif node.kind() in ADDED:
                stack += node.children()
            else:
                raise ValueError("a subgroup's sum is made of additions")
        return top, leaves

    @cached_property
    def _totals(self) -> list[Term]:
        """The constant that stands for each subgroup's sum."""
        return [constant(f"total{index}", width(top)) for index, (top, _) in enumerate(self._adders)]

    @cached_property
    def _cut(self) -> dict[str, Term]:
        """The multiplication's outputs, with constants in the place of these sums."""
        by = {top: total for (top, _), total in zip(self._adders, self._totals, strict=True)}
        return {name: substituted(term, by) for name, term in self.front.multiply.outputs.items()}

    @property
    def _most_placed(self) -> int:
        return self.n.most_product << self.n.product_most - PRODUCT

    def _sign(self, lane: int) -> Term:
        ports = self.front.multiply.inputs
        return negated(same(ports[f"i__a__{lane}__sign"], ports[f"i__b__{lane}__sign"]))

    def _nonzero(self, lane: int) -> Term:
        ports = self.front.multiply.inputs
        return both(*(holds(Integer.unsigned(ports[f"i__{side}__{lane}__sig"]) != 0) for side in SIDES))

    def _placed(self) -> Claim:
        """The claim that a lane's product is the model's as an integer, in units of the least product's."""
        known, lane = self._lane_product()
        leaf, n = Integer.signed(self._adders[0][1][0]), self.n
        sign, nonzero = self._sign(0), self._nonzero(0)

        def right() -> Term:
            term = lane()
            if term.cls in (Class.NAN, Class.INFINITY):
                return both()
            is_nonzero = term.cls is Class.NORMAL
            facts = both(same(sign, holds(as_integer(term.sign) == 1)), same(nonzero, holds(is_nonzero)))
            if not is_nonzero:
                return both(facts, holds(leaf == 0))
            number = as_integer(as_integer(term.sig) << term.exp + n.product_bias - PRODUCT)
            signed = ite(as_integer(term.sign) == 1, -number, number)
            return both(facts, holds(number != 0), holds(leaf == signed), holds(abs(leaf) <= self._most_placed))

        show = tuple(term for name, term in self.front.multiply.inputs.items() if "__0__" in name)
        return Claim(
            "lane: placed", "it is the model's product as an integer", "decoded factors of a lane", tuple(known),
            each(paths(right, known)), show,
        )  # fmt: skip

    def _placed_alike(self) -> bool:
        ports, first = self.front.multiply.inputs, self._adders[0][1][0]
        for _, leaves in self._adders:
            for lane, leaf in leaves.items():
                by = {
                    ports[f"i__{side}__0__{field}"]: ports[f"i__{side}__{lane}__{field}"]
                    for side in SIDES
                    for field in FIELDS
                }
                if substituted(first, by) != leaf:
                    return False
        return True

    def _are_sums(self) -> bool:
        for index, (top, leaves) in enumerate(self._adders):
            if sorted(leaves) != list(self._lanes_of(index)):
                return False
            known, wanted, by = list[Bounded](), dict[Variable, int](), dict[Term, Term]()
            for lane, leaf in leaves.items():
                by[leaf] = placed = constant(f"placed{lane}", width(leaf))
                high = width(leaf) - 1
                factors = {Variable(placed.symbol(), 0, high): 1, Variable(placed.symbol(), high, 1): -(1 << high)}
                known.append(Bounded(factors, -self._most_placed, self._most_placed))
                wanted |= factors
            whole = self._sum_most < 1 << width(top) - 1
            if not whole or not equal(Forms({}, known).of(substituted(top, by)), form(width(top), 0, wanted)):
                return False
        return True

    def _no_cancelling(self) -> Claim:
        """The claim that products that are all negative, or zero, have a sum of zero only where all are zero."""
        bits = bits_for(-self._most_placed, self._most_placed)
        numbers = [Integer.signed(constant(f"negative{lane}", bits)) for lane in range(self._length)]
        known = [exactly(number, -self._most_placed, 0) for number in numbers]
        total = sum(number.between(-self._most_placed, 0) for number in numbers)
        return Claim(
            "subgroup: signs", "products of one sign do not cancel", f"{self._length} products", tuple(known),
            implies(holds(as_integer(total) == 0), both(*(holds(number == 0) for number in numbers))),
            tuple(number.term for number in numbers),
        )  # fmt: skip

    # What is made of the sum.

    def _any_of(self, at: int, of_first: Term, lane: int = 0) -> list[Term]:
        """A condition on one lane, for each lane of a subgroup."""
        ports = self.front.multiply.inputs
        conditions = []
        for target in self._lanes_of(at):
            by = {
                ports[f"i__{side}__{lane}__{field}"]: ports[f"i__{side}__{target}__{field}"]
                for side in SIDES
                for field in FIELDS
            }
            conditions.append(substituted(of_first, by))
        return conditions

    @cached_property
    def _specials(self) -> dict[str, Term]:
        """The conditions that a product of the first subgroup is NaN, or an infinity of either sign, in the model."""
        known, lane = self._lane_product()
        runs = paths(lane, known)
        nan = either(negated(both()), *(path.condition for path in runs if path.result.cls is Class.NAN))
        infinite = [(path.condition, holds(as_integer(path.result.sign) == 1)) for path in runs
                    if path.result.cls is Class.INFINITY]  # fmt: skip
        never = negated(both())
        negative = either(never, *(both(condition, minus) for condition, minus in infinite))
        positive = either(never, *(both(condition, negated(minus)) for condition, minus in infinite))
        return {"nan": nan, "positive": positive, "negative": negative}

    @cached_property
    def _first_subgroup(self) -> tuple[tuple[Term, ...], list[Path[ModelTerm]]]:
        """The conditions on the first subgroup, and its term as the model has it, of any total."""
        n, ports, call = self.n, self.front.multiply.inputs, self.calls["part"]
        total = Integer.signed(self._totals[0])
        alone = {flag: either(*self._any_of(0, condition)) for flag, condition in self._specials.items()}
        nan = either(alone["nan"], both(alone["positive"], alone["negative"]))
        infinite = either(alone["positive"], alone["negative"])
        some = either(*(self._nonzero(lane) for lane in self._lanes_of(0)))
        minus = both(*(self._sign(lane) for lane in self._lanes_of(0)))
        finite = both(negated(nan), negated(infinite))
        known = [self._is_decoded(ports, f"i__{side}__{lane}", shape)
                 for side, shape in zip(SIDES, n.multiplied, strict=True) for lane in self._lanes_of(0)]  # fmt: skip
        shapes = {side: FactorShape.of(fmt) for side, fmt in zip(SIDES, n.scale_formats, strict=True)}
        known += [self._is_decoded(ports, f"i__scale_{side}__0", shape) for side, shape in shapes.items()]
        known += [holds(abs(total) <= self._sum_most), implies(both(finite, holds(total == 0), some), negated(minus))]
        inside, unit, bits = (
            total.between(-self._sum_most, self._sum_most),
            PRODUCT - n.product_bias,
            n.product_fraction_bits,
        )

        def products() -> list[ModelTerm]:
            if Truth(nan):
                return [ModelTerm(0, 0, 0, bits, Class.NAN)]
            if Truth(infinite):
                return [ModelTerm(1 if Truth(alone["negative"]) else 0, 0, 0, bits, Class.INFINITY)]
            if inside:
                return [ModelTerm(int(inside < 0), unit, abs(inside), bits, Class.NORMAL)]
            if Truth(some):
                return [ModelTerm(sign, unit, 1, bits, Class.NORMAL) for sign in (0, 1)]
            return [ModelTerm(1 if Truth(minus) else 0, unit, 0, bits, Class.ZERO)]

        def scaled() -> ModelTerm:
            a, b = (self._read(ports, f"i__scale_{side}__0", shape) for side, shape in shapes.items())
            term: ModelTerm = call(products(), a, b).term
            return term

        return tuple(known), paths(scaled, known)

    def _scaled(self) -> CasesClaim:
        """The claim that a subgroup's term is the model's sum, times its scales.

        It is asked for each significand of the first scale, by which the product of three numbers is one of two.
        """
        known, runs = self._first_subgroup
        inputs = self.front.multiply.inputs
        port = inputs.get(f"i__scale_{SIDES[0]}__0__sig")  # powers of two have none
        right = each([
            Path(path.condition, both() if path.result.cls in (Class.NAN, Class.INFINITY)
                 else self._is_model(self._cut, path.result))
            for path in runs
        ])  # fmt: skip

        show = tuple(inputs.values())
        return CasesClaim(
            "subgroup: scaled", "its term is the model's sum, times its scales",
            "every total, decoded scales; each significand of the first",
            lambda: by_value(port, right, known, show),
        )  # fmt: skip

    def _scaled_alike(self) -> bool:
        for index, place in enumerate(self._places):
            by = self._moved(index) | {self._totals[0]: self._totals[index]}
            for field in self._fields:
                if substituted(self._cut[f"o__terms__0__{field}"], by) != self._cut[f"o__terms__{place}__{field}"]:
                    return False
        return True

    def _all_flags(self) -> Claim:
        """The claim that a flag of the whole is set where a subgroup or the addend sets it; NaN precedes infinities."""
        known, runs = self._first_subgroup
        never, ports = negated(both()), self.front.multiply.inputs
        conditions = {"nan": [never], "positive": [never], "negative": [never]}
        for path in runs:
            match path.result.cls:
                case Class.NAN:
                    conditions["nan"].append(path.condition)
                case Class.INFINITY:
                    minus = holds(as_integer(path.result.sign) == 1)
                    conditions["negative"].append(both(path.condition, minus))
                    conditions["positive"].append(both(path.condition, negated(minus)))
        everything, every = list(known), dict[str, list[Term]]()
        for index in range(len(self._places)):
            by = self._moved(index) | {self._totals[0]: self._totals[index]}
            everything += [substituted(term, by) for term in known] if index else []
            for flag in SPECIAL:
                every.setdefault(flag, [is_one(ports[f"i__special__{flag}"])]).append(
                    substituted(either(*conditions[flag]), by)
                )
        nan, *others = (is_one(self._cut[f"o__special__{flag}"]) for flag in SPECIAL)
        right = [same(nan, either(*every["nan"]))]
        for flag, output in zip(SPECIAL[1:], others, strict=True):
            right.append(either(nan, same(output, either(*every[flag]))))
        return Claim(
            "subgroups: flags", "flags say what is special about subgroups and the addend", "all decoded operands",
            tuple(everything), both(*right), tuple(ports.values()),
        )  # fmt: skip

    # How the model composes it.

    def _composition(self) -> Iterator[AnyClaim]:
        yield from super()._composition()
        yield self._model_subgroup()
        yield self._trailing_term()

    def _model_subgroup(self) -> Claim:
        """The claim that the model's scaled sum of products is that of their sum in one product."""
        n, call = self.n, self.calls["part"]
        low = PRODUCT - n.product_bias
        high = min(low + NEAR, n.product_most - n.product_bias)
        names = ("first", "second")
        exps = [Integer.signed(constant(f"subgroup.{name}", bits_for(low, high))) for name in names]
        known = [exactly(exp, low, high) for exp in exps]
        bits = n.product_fraction_bits
        a, b = (unpack(fmt, 1 << fmt.padding) for fmt in n.scale_formats)

        def right() -> Term:
            first, second = (exp.between(low, high) for exp in exps)
            terms = [
                ModelTerm(0, first, n.most_product, bits, Class.NORMAL),
                ModelTerm(1, second, 1, bits, Class.NORMAL),
            ]
            number = (n.most_product << first - low) - as_integer(as_integer(1) << second - low)
            whole = [ModelTerm(int(as_integer(number) < 0), low, abs(as_integer(number)), bits, Class.NORMAL)]
            if not number:
                return both()
            scaled, wanted = (call(products, a, b).term for products in (terms, whole))
            places = wanted.fraction_bits - scaled.fraction_bits
            return both(
                holds(as_integer(scaled.sign) == wanted.sign), holds(as_integer(scaled.exp) == wanted.exp),
                holds(scaled.cls is wanted.cls), holds(as_integer(scaled.sig) << places == wanted.sig),
            )  # fmt: skip

        return Claim(
            "composition: subgroup", "the model's scaled sum is that of its total",
            f"two products of exponents up to {NEAR} above the least", tuple(known), each(paths(right, known)),
            tuple(exp.term for exp in exps),
        )  # fmt: skip
