"""The claims of sums by rounded additions, in a row or as a tree, and of the products that they add."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from hwsim.formats import Class, FloatFormat
from hwsim.model.terms import Term as ModelTerm
from hwsim.prove.additions import (
    AdderCircuits,
    AdderClaims,
    NumberCode,
    NumberFields,
    ReadNumber,
    is_decoded,
    of_known_sign,
)
from hwsim.prove.circuits import Circuit, connected, datapath_circuits, fixed
from hwsim.prove.claims import AnyClaim, Claim, FrontCircuits, LateClaim, StructuralClaim, adding, each, holds
from hwsim.prove.composition import Calls
from hwsim.prove.factors import SIDES, FactorClaims, facts_of
from hwsim.prove.symbolic import Integer, as_integer, paths
from hwsim.prove.terms import (
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
from hwsim.prove.wiring import Level, composed
from hwsim.rtl.addition import FloatAdder, NumberRange
from hwsim.rtl.methods import datapath
from hwsim.rtl.rounded import AdditionPlace, AlignPairs, RoundedDecode, RoundedRanges
from hwsim.spec import ModalUnit, RoundedSum, Specified, Unit

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
            unit, RoundedRanges(built), FrontCircuits(decode, multiply, connected([decode, multiply])), cuts,
            Calls(composed(unit, levels_of(built)).group),
        )  # fmt: skip
        self.fmt = self.calls["sum term"]["fmt"]

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

        rounding = None if self.model_fused else self.calls["round product"]

        def right(term: ModelTerm) -> Term:
            if rounding is None:
                assert isinstance(self.n.product, NumberRange)
                return is_decoded(outputs, "o__product0", self.n.product, self.fmt, term)
            code = as_integer(rounding((of_known_sign(term),)))
            return holds(Integer.unsigned(outputs["o__product0"]) == code >> self.fmt.padding)

        def claimed() -> Term:
            return each(paths(lambda: right(lane()), known))

        words = "a lane's number is the model's product" + (", rounded" if not self.model_fused else "")
        if sum(map(width, sigs)) <= WIDE:
            yield LateClaim("lane: product", words, "decoded factors of a lane", tuple(known), claimed, show)
        else:
            yield from self._of_any_product(words, known, sigs, claimed, show)

    def _lanes(self) -> StructuralClaim:
        return StructuralClaim(
            "lanes: products",
            "every lane makes the same of its operands",
            f"{self.n.lanes} lanes",
            self._lanes_are_alike,
        )

    @property
    def model_fused(self) -> bool:
        """True if products enter additions exactly."""
        return "round product" not in self.calls

    def _of_any_product(
        self, words: str, known: Sequence[Term], sigs: Sequence[Term], claimed: Any, show: tuple[Term, ...]
    ) -> Iterator[AnyClaim]:
        """Yield the claims about a lane's product with any number in the place of the product of significands.

        That number is zero just where one of the significands is.
        """
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
        """True if all lanes decode, and multiply beside any scales, as the first one does."""
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
        """The claim that a NaN scale makes the first product NaN, and with it the sum: its lane makes no difference."""
        outputs = fixed(self.front.multiply, {"i__scale_nan": value(1, 1)}).outputs
        if self.model_fused:
            is_nan = is_one(outputs["o__product0__nan"])
        else:
            code = Integer.unsigned(outputs["o__product0"])
            is_nan = holds(code == (self.fmt.canonical_nan or 0) >> self.fmt.padding)
        return Claim(
            "scales: NaN", "a NaN scale makes the first product NaN", "all operands", (), is_nan,
            tuple(self.front.multiply.inputs.values()),
        )  # fmt: skip


def _renamed(name: str, places: Mapping[str, str]) -> str:
    """A port's name with another place at its beginning."""
    for old, new in places.items():
        if name == old or name.startswith(f"{old}__"):
            return new + name[len(old) :]
    return name


def _same_outputs(circuit: Circuit, by: Mapping[Term, Term], places: Mapping[str, str]) -> bool:
    """True if outputs at some places are, of other inputs, those at other places."""
    for name, term in circuit.outputs.items():
        renamed = _renamed(name[3:], places)
        if renamed == name[3:]:
            continue
        here, there = substituted(term, by), circuit.outputs[f"o__{renamed}"]
        if here != there and simplified(here) != simplified(there):
            return False
    return True


WHOLE = frozenset(["align", "sum", "magnitude", "normalize"])  # the steps of a level without a register inside


class PlacedAddition(NamedTuple):
    """An addition of a level: its operands are codes of the format of sums, or numbers of a range.

    steps: the level's; whole: all of them, as one. inside: those that end where a register may be inside of another.
    """

    place: AdditionPlace
    adder: FloatAdder
    x: FloatFormat | NumberRange
    y: FloatFormat | NumberRange
    steps: AdderCircuits
    whole: Circuit
    inside: tuple[str, ...]

    @property
    def operands(self) -> str:
        """The kinds of its operands, in words."""
        return _operands(self.x, self.y)

    @property
    def kind(self) -> str:
        """The kind of its operands, and the steps inside it.

        An addition that is made in several steps is not the circuit that is made in one.
        """
        return f"{self.operands} ({', '.join(self.inside)})" if self.inside else self.operands


def _level(step: AlignPairs) -> str:
    return step.name.rpartition(".")[0]


def levels_of(unit: Specified) -> tuple[Level, ...]:
    """The additions of a unit's RTL, in their order; none of a unit of another method."""
    if not isinstance(unit.sum, RoundedSum):
        return ()
    return tuple(
        Level(place.x, place.y, place.sum, _operands(step.state[place.x], step.state[place.y]))
        for step in datapath(unit, ()).steps if isinstance(step, AlignPairs) for place in step.adders
    )  # fmt: skip


def _operands(*sources: FloatFormat | NumberRange) -> str:
    return " and ".join("product" if isinstance(source, NumberRange) else "sum" for source in sources)


class RoundedSumClaims(RoundedProductClaims):
    """All claims about the datapath of a unit of method `sequential` or `pairwise`."""

    @property
    def chain(self) -> Sequence[Circuit]:
        """The circuits of its steps, one after another."""
        levels = [step for level in self._levels for step in level]
        return self.front.decode, self.front.multiply, *levels, self._steps["round"]

    @cached_property
    def _levels(self) -> list[tuple[Circuit, Circuit, Circuit]]:
        """The steps of each level: align, sum, round."""
        return [adding(self._steps, _level(step)) for step in self._path if isinstance(step, AlignPairs)]

    @cached_property
    def _additions(self) -> list[list[PlacedAddition]]:
        """The additions of each level."""
        aligns = [step for step in self._path if isinstance(step, AlignPairs)]
        additions = []
        for step, (align, total, rounds) in zip(aligns, self._levels, strict=True):
            whole, inside = connected([align, total, rounds]), self._inside(_level(step))
            additions.append(
                [
                    PlacedAddition(
                        place, adder, step.state[place.x], step.state[place.y],
                        AdderCircuits(align, total, rounds, f"{place.sum}__"), whole, inside,
                    )
                    for place, adder in step.adders.items()
                ]
            )  # fmt: skip
        return additions

    def _inside(self, level: str) -> tuple[str, ...]:
        """The names of the steps of a level that are there because a cut asks for them."""
        names = [step.name.removeprefix(f"{level}.") for step in self._path if step.name.startswith(f"{level}.")]
        return tuple(name for name in names if name not in WHOLE)

    def of_mode(self) -> Iterator[AnyClaim]:
        """Yield the claims that depend on the unit's mode, one of several."""
        yield from self._products()
        yield self._factor("a")
        yield self._factor("b")
        if self.n.scales:
            yield self._scales("o__scale_nan")
            yield self._nan_scale()
        yield self._lanes()
        yield from self._starts()

    def claims(self) -> Iterator[AnyClaim]:
        """Yield the claims in the order of the steps."""
        yield from self.of_mode()
        if self.n.chains:
            yield self._chains()
        firsts: dict[str, PlacedAddition] = {}
        for level in self._additions:
            for addition in level:
                firsts.setdefault(addition.kind, addition)
        for kind, first in firsts.items():
            yield from self._adder(f"{kind} added", first).claims()
        yield self._alike(firsts)
        yield self._passed_on()
        yield self._result()

    def _adder(self, kind: str, addition: PlacedAddition) -> AdderClaims:
        place, inputs = addition.place, addition.steps.align.inputs
        numbers = [
            self._number(inputs, name, source) for name, source in ((place.x, addition.x), (place.y, addition.y))
        ]
        return AdderClaims(kind, addition.adder, addition.steps, numbers, self.calls[f"add {addition.operands}"])

    def _number(self, ports: Mapping[str, Term], name: str, source: FloatFormat | NumberRange) -> ReadNumber:
        if isinstance(source, NumberRange):
            return NumberFields(ports, f"i__{name}", source, self.fmt)
        return NumberCode(ports[f"i__{name}"], source)

    # What a group starts from.

    def _starts(self) -> Iterator[AnyClaim]:
        decode, n = self.front.decode, self.n
        after = fixed(decode, {"i__chain": value(1, 1)}).outputs["o__sum"]
        port = decode.inputs["i__carried__code"]
        yield self._start("partial sum", after, port, n.result, lambda code: self._addend("x", code))
        first = fixed(decode, {"i__chain": value(0, 1)}).outputs["o__sum"]
        if n.addend is not None:
            fmt = n.addend
            yield self._start("addend", first, decode.inputs["i__c"], fmt, lambda code: self._addend("c", code))
            return
        step = self._path[0]
        assert isinstance(step, RoundedDecode)
        absent = self.calls["sum term"](step.absent << self.fmt.padding)
        yield StructuralClaim(
            "start: no addend", "a group that continues nothing starts from one zero", "all operands",
            lambda: bool(simplified(first) == value(step.absent, width(first))),
        )  # fmt: skip
        if "round root" in self.calls:
            yield self._absent(absent)
        else:
            plus_zero = self.calls["chain zero" if self.n.chains else "addend zero"]()
            zero = self.calls["round addend"]((plus_zero,))
            yield StructuralClaim(
                "start: zero", "which is the model's, rounded to the format of sums", "zero",
                lambda: zero >> self.fmt.padding == step.absent,
            )  # fmt: skip

    def _start(self, name: str, found: Term, port: Term, fmt: FloatFormat, term: Any) -> LateClaim:
        code, clean = self._code_of(fmt, port, padded=name == "addend")
        rounds = self.calls["round addend"]

        def right() -> Term:
            wanted = as_integer(rounds((of_known_sign(term(code)),))) >> self.fmt.padding
            result = Integer.unsigned(found)
            if self.fmt.is_nan(wanted):  # any NaN is as good as another in what follows
                return holds(bool(self.fmt.is_nan(result)))
            return holds(result == wanted)

        return LateClaim(
            f"start: {name}", "it is the model's, rounded to the format of sums", f"codes of {fmt.name}", (clean,),
            lambda: each(paths(right, [clean])), (port,),
        )  # fmt: skip

    def _absent(self, absent: ModelTerm) -> LateClaim:
        """The claim that the zero in the place of an absent addend changes nothing."""
        last = self._additions[-1][-1]
        adds, rounds = self.calls[f"add {last.operands}"], self.calls["round root"]
        number = self._number(last.steps.align.inputs, last.place.x, last.x)

        def unchanged() -> Term:
            root, _ = number.read()
            if root.cls is Class.NORMAL and not root.sig:
                root = root._replace(cls=Class.ZERO)
            return holds(as_integer(adds((root, absent))) == rounds((root,)))

        return LateClaim(
            "start: zero", "where there is no addend, the zero in its place does not change a sum", "all sums",
            number.known, lambda: each(paths(unchanged, number.known)), number.ports,
        )  # fmt: skip

    def _chains(self) -> StructuralClaim:
        """The claim that every chain begins with the zero that the model's does."""
        outputs, chains = self.front.multiply.outputs, self.n.chains
        zero, read = self.calls["chain zero"], self.calls["sum term"]

        def begun() -> bool:
            codes = [simplified(outputs[f"o__{name}"]) for name in chains]
            return zero() == read(0) and all(code == value(0, self.fmt.bits) for code in codes)

        return StructuralClaim(
            "chains: zero", "every chain begins with the model's +0", f"{len(chains)} chains, all operands", begun
        )

    # Additions.

    def _alike(self, firsts: Mapping[str, PlacedAddition]) -> StructuralClaim:
        every = [addition for level in self._additions for addition in level]

        def alike() -> bool:
            return all(self._is_like(addition, firsts[addition.kind]) for addition in every)

        return StructuralClaim(
            "additions: alike", "every addition of the same kinds of operands makes the same of them",
            f"{len(every)} additions", alike,
        )  # fmt: skip

    def _is_like(self, addition: PlacedAddition, first: PlacedAddition) -> bool:
        by = {}
        for mine, its in ((addition.place.x, first.place.x), (addition.place.y, first.place.y)):
            for name, port in first.whole.inputs.items():
                if name == f"i__{its}" or name.startswith(f"i__{its}__"):
                    by[port] = addition.whole.inputs[f"i__{mine}{name[len(its) + 3 :]}"]
        wanted = substituted(first.whole.outputs[f"o__{first.place.sum}"], by)
        return bool(wanted == addition.whole.outputs[f"o__{addition.place.sum}"])

    def _passed_on(self) -> StructuralClaim:
        def passed() -> bool:
            for level in self._additions:
                whole, sums = level[0].whole, {addition.place.sum for addition in level}
                others = [name for name in whole.outputs if name[3:] not in sums]
                if not all(whole.outputs[name] == whole.inputs[f"i{name[1:]}"] for name in others):
                    return False
            return True

        return StructuralClaim(
            "additions: passed on",
            "what a level does not add leaves as it came",
            f"{len(self._additions)} levels",
            passed,
        )

    # The result.

    def _result(self) -> LateClaim:
        circuit, n, nan_code = self._steps["round"], self.n, self.model.nan
        port, padding = circuit.inputs["i__sum"], n.result.padding
        sum_code, code = Integer.unsigned(port) << self.fmt.padding, Integer.unsigned(circuit.outputs["o__code"])
        says_nan, can_be_nan = is_one(circuit.outputs["o__nan"]), n.result.is_nan(nan_code >> padding)

        rounds, term = self.calls["round"], self.calls["sum term"]

        def right() -> Term:
            result = rounds(term(sum_code))
            number = both(negated(says_nan), holds(code << padding == result))
            if not can_be_nan:
                return number
            is_nan = holds(as_integer(result) == nan_code)
            its_code = both(says_nan, holds(code == nan_code >> padding))
            return both(implies(is_nan, its_code), implies(negated(is_nan), number))

        return LateClaim(
            "result", "the code is the model's rounding of the sum", f"codes of {self.fmt.name}", (),
            lambda: each(paths(right)), (port,),
        )  # fmt: skip
