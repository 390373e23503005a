"""The claims of sums in windows, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from hwsim.formats import Class, FloatFormat
from hwsim.model.terms import AlignedTerms, lost_part
from hwsim.model.terms import Term as ModelTerm
from hwsim.prove.circuits import Circuit, datapath_circuits, fixed
from hwsim.prove.claims import SPECIAL, AnyClaim, Claim, StepCircuits, StructuralClaim, each, exactly, holds
from hwsim.prove.composition import ModelCall
from hwsim.prove.factors import FactorClaims
from hwsim.prove.lemmas import any_term, folded, lost_claim, specials_claim, zero_terms
from hwsim.prove.linear import Bounded, Form, Forms, Variable, equal, form, without_maxima
from hwsim.prove.rounding import is_result, of_every_total, special_result
from hwsim.prove.symbolic import Integer, Path, Truth, as_integer, bits_for, paths
from hwsim.prove.terms import (
    Kind,
    Term,
    both,
    constant,
    either,
    implies,
    is_one,
    negated,
    op,
    same,
    substituted,
    true,
    value,
    width,
)
from hwsim.rtl.arithmetic import lost_bits
from hwsim.rtl.terms import WindowRanges
from hwsim.spec import AlignedSum, Unit, WindowSum
from hwsim.spec.keys import Lost
from hwsim.spec.sums import SumCut

Rival = tuple[Term, Term, Any]  # of a term: whether it is other than zero, whether it counts, its exponent
AT_ONCE = 128  # bits of sums of which rounding is decided at once
SUM = ("i__total", "i__max_exp", "i__any")  # what the fields of sums begin with
MADE_OF_SUMS = ("o__total", "o__max_exp", "o__any")


@dataclass(frozen=True)
class SumBounds:
    """The bounds of a window's sum between two steps.

    |total| <= most, in units of 2^(max_exp - bits); the total is zero where `any` is not set.
    """

    most: int
    bits: int
    max_exp: tuple[int, int]


def most_in_window(sig: int, fraction_bits: int, bits: int, lost: Lost) -> int:
    """The largest magnitude that a significand has in a window of so many fraction bits."""
    shift, rule = fraction_bits - bits, lost_bits(lost)
    kept = sig << -shift if shift <= 0 else sig >> shift if rule.truncates else -(-sig >> shift)
    return kept + rule.adds_one


def in_window(ports: Mapping[str, Term], prefix: str, at: int) -> Any:
    """The aligned term at an index as an integer: a lane's or, after those of all lanes, the addend's."""
    ones, carry = (ports[f"{prefix}__aligned__{at}__{field}"] for field in ("ones", "carry"))
    return Integer.signed(ones) + Integer.unsigned(carry)


class WindowClaims(FactorClaims[WindowRanges]):
    """All claims about the datapath of a unit that sums in windows.

    parts: the steps' circuits, where they are not those of the unit's own RTL. ranges: the ranges of their numbers in
    that case.
    """

    def __init__(
        self,
        unit: Unit,
        cuts: Sequence[str] = (),
        parts: StepCircuits | None = None,
        ranges: WindowRanges | None = None,
    ):
        assert isinstance(unit.sum, WindowSum)
        self.rule = unit.sum
        self.parts = StepCircuits.joined(datapath_circuits(unit, cuts)) if parts is None else parts
        super().__init__(unit, WindowRanges(unit) if ranges is None else ranges, self.parts, cuts)
        self.zero_exponents = self.n.flagged

    @property
    def chain(self) -> Sequence[Circuit]:
        """The datapath, one circuit after another."""
        parts = self.parts
        steps = (parts.decode, parts.multiply, parts.maximum, parts.align, parts.sum)
        after = (parts.combine, parts.cut, parts.late)
        return *steps, *(step for step in after if step is not None), parts.round

    def claims(self) -> Iterator[AnyClaim]:
        """Yield the claims in the order of the steps, then those of the cases and of the whole."""
        yield from self._products()
        yield from self._addends()
        yield from self._zero_sign()
        for window in range(len(self.n.names)):
            yield self._maximum(window)
        yield from self._aligned()
        for window in range(len(self.n.names)):
            yield self._sum(window)
        yield from self._after_sum()
        yield from self._rounded()
        yield special_result(self.parts.round, self.calls["round special"], self.n.result, self._never)
        yield from self._passed()
        yield from self._composition()

    # Products.

    def _products(self) -> Iterator[AnyClaim]:
        yield from self._decoded_factors()
        yield self._product()
        yield from self._lanes()

    def _decoded_factors(self) -> Iterator[AnyClaim]:
        yield self._factor("a")
        yield self._factor("b")
        if self.n.scales:
            yield self._scales()

    def _lanes(self) -> Iterator[AnyClaim]:
        yield self._lanes_alike(self._fields)
        yield self._flags_alike()
        yield self._gathered()

    @property
    def _fields(self) -> tuple[str, ...]:
        """The names of a term's fields."""
        return ("sign", "exp", "sig", "nonzero") if self.n.flagged else ("sign", "exp", "sig")

    def _product(self) -> Claim:
        """The claim of one lane's product, of decoded factors: factors to which no code decodes are left out."""
        known, lane = self._lane_product()
        outputs = self._lane_flags(self.front.multiply)
        cases = [Path(path.condition, self._is_product(outputs, path.result)) for path in paths(lane, known)]
        show = [term for name, term in self.front.multiply.inputs.items() if "__0" in name]
        return Claim(
            "lane: product", "a lane's term is the model's product, and its flags say what is special",
            "decoded factors of a lane", tuple(known), each(cases), tuple(show),
        )  # fmt: skip

    def _is_product(self, outputs: Mapping[str, Term], term: ModelTerm) -> Term:
        special = self._special_as(outputs, term)
        return special if term.cls in (Class.NAN, Class.INFINITY) else both(special, self._is_model(outputs, term))

    def _is_model(self, outputs: Mapping[str, Term], term: ModelTerm) -> Term:
        """The condition that the first term is the model's, its significand in the RTL's units."""
        sign, exp, sig = (Integer.unsigned(outputs[f"o__terms__0__{field}"]) for field in ("sign", "exp", "sig"))
        is_zero = term.cls is not Class.NORMAL
        right = [self._is_term(outputs, 0, "o")]
        if not is_zero or self.n.zero_sign:
            right.append(holds(sign == term.sign))
        if is_zero and not self.n.flagged:
            return both(*right, holds(exp == 0))
        right += [holds(exp == term.exp + self.n.bias), holds(sig == term.sig)]
        right.append(holds(term.fraction_bits == self.n.term_fraction_bits))
        if self.n.flagged:
            right.append(same(outputs["o__terms__0__nonzero"], value(not is_zero, 1)))
        else:
            right.append(holds(sig != 0))
        return both(*right)

    def _is_term(self, ports: Mapping[str, Term], lane: int, prefix: str) -> Term:
        """The condition on each term that is not special: the relation between multiplication and what follows."""
        exp, sig = (Integer.unsigned(ports[f"{prefix}__terms__{lane}__{field}"]) for field in ("exp", "sig"))
        within, (least, most) = holds(sig <= self.n.term_most), self.n.term_exp
        if self.n.flagged:  # sums of parts that cancel may count
            nonzero = is_one(ports[f"{prefix}__terms__{lane}__nonzero"])
            return both(within, exactly(exp, least, most), implies(holds(sig != 0), nonzero))
        at_least = either(holds(exp == 0), holds(exp >= least))
        return both(within, holds(exp <= most), at_least, same(holds(sig == 0), holds(exp == 0)))

    # Addends.

    @property
    def _addend_formats(self) -> dict[str, Sequence[FloatFormat]]:
        """The formats of the codes of each addend: of the window's, and of one that is added late."""
        n = self.n
        inner: dict[str, Sequence[FloatFormat]] = {"addend": n.addends} if n.sums_addend else {}
        return inner | ({"late_addend": n.late_formats} if n.late_formats else {})

    def _addends(self) -> Iterator[Claim]:
        front = self.front.products
        alone = fixed(front, self._quiet)
        for name in self._addend_formats:
            if name == "addend" and self.n.late is not None:
                yield self._zero_addend(alone.outputs)
                continue
            for source, fmt, port, chain in self._sources():
                outputs = fixed(alone, {"i__chain": value(chain, 1)}).outputs
                code, clean = self._code_of(fmt, front.inputs[port], padded=source == "c")

                def term(source: str = source, code: Any = code) -> ModelTerm:
                    return self._addend(source, code)  # type: ignore[no-any-return]

                cases = [
                    Path(path.condition, self._is_addend(outputs, name, path.result, fmt))
                    for path in paths(term, [clean])
                ]
                yield Claim(
                    f"addend: {source}", "it is the model's term, moved to the products' exponents",
                    f"codes of {fmt.name}", (clean,), each(cases), (front.inputs[port],),
                )  # fmt: skip
            if self.n.addend is None:
                outputs = fixed(alone, {"i__chain": value(0, 1)}).outputs
                there = "addend zero" in self.calls
                zero = self.calls["addend zero"]() if there else self.model.partial(0)
                yield Claim(
                    "addend: none", "a group that continues nothing adds +0, or nothing", "all that is carried",
                    (), self._is_addend(outputs, name, zero, there=there), tuple(front.inputs.values()),
                )  # fmt: skip
        names = [
            name
            for name in front.outputs
            if name.startswith(tuple(f"o__{addend}__" for addend in self._addend_formats))
        ]
        if names:
            yield Claim(
                "addend: alone", "factors and scales do not change the addend", "all operands", (),
                both(*(same(front.outputs[name], alone.outputs[name]) for name in names)), tuple(front.inputs.values()),
            )  # fmt: skip

    def _sources(self) -> Iterator[tuple[str, FloatFormat, str, int]]:
        if self.n.addend is not None:
            yield "c", self.n.addend, "i__c", 0
        yield "partial sum", self.n.result, "i__carried__code", 1

    def _zero_addend(self, outputs: Mapping[str, Term]) -> Claim:
        return Claim(
            "addend: zero", "where the addend comes late, a group adds +0", "all operands", (),
            self._is_addend(outputs, "addend", self.calls["addend zero"](), flags=False),
            tuple(self.front.products.inputs.values()),
        )  # fmt: skip

    def _addend_fields(self, ports: Mapping[str, Term], prefix: str, name: str = "addend") -> tuple[Any, Any, Any]:
        sign, exp, sig = (ports[f"{prefix}__{name}__{field}"] for field in ("sign", "exp", "sig"))
        return Integer.unsigned(sign), self._exp(exp, self._span(name)), Integer.unsigned(sig)

    @staticmethod
    def _exp(port: Term, span: tuple[int, int]) -> Any:
        """The exponent at a port, which is signed where its least value is negative."""
        return (Integer.signed if span[0] < 0 else Integer.unsigned)(port)

    def _there(self, ports: Mapping[str, Term], prefix: str, name: str = "addend") -> Term:
        """The condition that there is an addend; always true where no field shows it."""
        there = ports.get(f"{prefix}__{name}__there")
        return true() if there is None else is_one(there)

    def _span(self, name: str) -> tuple[int, int]:
        """The least and the largest exponent of an addend."""
        return self.n.addend_exp if name == "addend" else self.n.addend_span(self.n.late_formats)

    def _fraction_bits(self, name: str) -> int:
        if name == "addend":
            return self.n.addend_fraction_bits
        return max(fmt.fraction_bits for fmt in self.n.late_formats)

    def _is_addend(
        self,
        outputs: Mapping[str, Term],
        name: str,
        term: ModelTerm,
        fmt: FloatFormat | None = None,
        *,
        there: bool = True,
        flags: bool = True,
    ) -> Term:
        """The condition that an addend's outputs are the model's term. fmt: the format of its code."""
        sign, exp, sig = self._addend_fields(outputs, "o", name)
        special = self._special_as(outputs, term) if flags else true()
        if term.cls in (Class.NAN, Class.INFINITY):
            return both(special, self._is_there(outputs, "o", name))
        number = self._is_number(term, sign, exp, sig, self._fraction_bits(name), fmt)
        present = self._there(outputs, "o", name) if there else negated(self._there(outputs, "o", name))
        present = present if f"o__{name}__there" in outputs else true()
        return both(special, number, present, self._addend_within(outputs, "o", name))

    def _is_number(self, term: ModelTerm, sign: Any, exp: Any, sig: Any, bits: int, fmt: FloatFormat | None) -> Term:
        """The condition that an addend's fields are the model's; its significand has `bits` fraction bits."""
        shift = bits - term.fraction_bits
        right = [sign == term.sign, exp == term.exp + self.n.bias, sig == as_integer(term.sig) << shift]
        return both(*map(holds, right))

    def _is_there(self, ports: Mapping[str, Term], prefix: str, name: str = "addend") -> Term:
        """The condition on every addend, special or not, for what follows: one that is not there is zero."""
        _, _, sig = self._addend_fields(ports, prefix, name)
        return implies(holds(sig != 0), self._there(ports, prefix, name))

    def _addend_within(self, ports: Mapping[str, Term], prefix: str, name: str = "addend") -> Term:
        """The condition on an addend that is not special."""
        _, exp, _ = self._addend_fields(ports, prefix, name)
        return both(exactly(exp, *self._span(name)), self._is_there(ports, prefix, name))

    # The sign of zero.

    def _zero_sign(self) -> Iterator[Claim]:
        """Yield the claims that a sum of zero has the model's sign, of all terms and of the addends that there are.

        Where the RTL has no such sign, the claim is that the model's is always positive; where the sign makes no
        difference, there is none.
        """
        outputs, signed = self.front.multiply.outputs, bool(getattr(self.n.result, "signed_zero", False))
        if not self.n.zero_sign and not signed:
            return
        signs = [Integer.unsigned(outputs[f"o__terms__{index}__sign"]) for index in range(self.n.terms)]
        addends = [self._addend_fields(outputs, "o", name)[0] for name in self._addend_formats]
        for words, present in (("", True), (": no addend", False)):
            there = [self._there(outputs, "o", name) for name in self._addend_formats]
            if not present and (not addends or any(condition.is_true() for condition in there)):
                continue  # an addend is always there
            terms, calls = zero_terms((*signs, *(addends if present else ()))), self._zero_calls
            wanted: Any = Integer.unsigned(outputs["o__zero_sign"]) if self.n.zero_sign else 0
            right = [
                Path(path.condition, holds(wanted == path.result))
                for call in calls for path in paths(lambda terms=terms, call=call: call(terms).sign)  # type: ignore[misc]
            ]  # fmt: skip
            known = tuple(condition if present else negated(condition) for condition in there)
            yield Claim(
                f"sign of zero{words}", "a sum of zero has the model's sign", f"the signs of {len(terms)} terms", known,
                each(right), tuple(term for term in self.front.multiply.inputs.values() if width(term) == 1),
            )  # fmt: skip

    # The largest exponent of a window.

    def _max_exp(self, ports: Mapping[str, Term], name: str) -> Any:
        return self._exp(ports[name], self.n.max_exp)

    def _exps(self, ports: Mapping[str, Term]) -> list[Any]:
        """The terms' exponents; 0 for a term of zero, where zeros do not count."""
        return [Integer.unsigned(ports[f"i__terms__{index}__exp"]) for index in range(self.n.terms)]

    def _rivals(self, ports: Mapping[str, Term], window: int) -> list[Rival]:
        """The terms of a window that may have its largest exponent, the addend last."""
        rivals, exps = list[Rival](), self._exps(ports)
        for index in self.n.of_window(window):
            if index == self.n.terms:
                _, exp, sig = self._addend_fields(ports, "i")
                nonzero, counts = holds(sig != 0), self._there(ports, "i")
            else:
                exp, counts = exps[index], true()
                nonzero = is_one(ports[f"i__terms__{index}__nonzero"]) if self.n.flagged else holds(exp != 0)
            rivals.append((nonzero, counts if self.n.counting else nonzero, exp))
        return rivals

    def _some(self, rivals: Sequence[Rival]) -> Term:
        """The condition that a term is other than zero: only then is max_exp claimed to be the exponent of a term."""
        return either(negated(true()), *(nonzero for nonzero, _, _ in rivals))

    def _term_within(self, ports: Mapping[str, Term], at: int) -> Term:
        """The condition on a term, before the largest exponent is found and after."""
        return self._addend_within(ports, "i") if at == self.n.terms else self._is_term(ports, at, "i")

    def _leaves(self, window: int) -> list[Term]:
        """The exponents that may be leaves of a tree of comparisons: those that show whether a term is zero."""
        if self.n.flagged:
            return []
        inputs = self.parts.maximum.inputs
        return [inputs[f"i__terms__{index}__exp"] for index in self.n.of_window(window) if index < self.n.terms]

    def _maximum(self, window: int) -> Claim:
        circuit, indices, end = self.parts.maximum, self.n.of_window(window), self.n.names[window]
        ports, max_exp = circuit.inputs, circuit.outputs[f"o__max_exp{end}"]
        rivals, leaves = self._rivals(ports, window), self._leaves(window)
        some, known = self._some(rivals), [self._term_within(ports, index) for index in indices]
        tree = without_maxima(max_exp, leaves)
        if leaves and frozenset(leaves) == frozenset().union(*tree.groups.values()):
            # Where the comparisons make a tree of all terms, what it leaves stands for them.
            exps = [Integer.unsigned(port) for port in tree.groups]
            addend = rivals[len(leaves) :]
            rivals, max_exp = [(holds(exp != 0), holds(exp != 0), exp) for exp in exps] + addend, tree.term
            known = [*tree.known, *(holds(exp <= self.n.term_exp[1]) for exp in exps)]
            known += [self._addend_within(ports, "i")] if addend else []
        exp = self._exp(max_exp, self.n.max_exp)
        right = [implies(self._some(rivals), self._is_maximum(exp, rivals)), *self._any_max_exp(exp)]
        if self.n.combined:
            right.append(same(is_one(circuit.outputs[f"o__any{end}"]), some))
        return Claim(
            f"maximum{end.replace('_', ': ')}", "max_exp is the largest exponent of a term that counts"
            + ("" if self.n.floor is None else ", and at least the floor"),
            f"{len(indices)} terms, of which one is other than zero", tuple(known), both(*right), tuple(ports.values()),
        )  # fmt: skip

    def _is_maximum(self, found: Any, rivals: Sequence[Rival]) -> Term:
        """The condition that a max_exp is the largest exponent of terms that count."""
        most = [implies(counts, holds(found >= exp)) for _, counts, exp in rivals]
        among = [both(counts, holds(found == exp)) for _, counts, exp in rivals]
        if self.n.floor is not None:
            most.append(holds(found >= self.n.floor))
            among.append(holds(found == self.n.floor))
        return both(*most, either(*among))

    @property
    def _max_exps(self) -> tuple[int, int]:
        """The least and the largest max_exp of which something is claimed."""
        return self.n.max_exp

    def _any_max_exp(self, found: Any) -> list[Term]:
        """The conditions on a max_exp, also where all terms are zero."""
        return [exactly(found, *self.n.max_exp)]

    # Alignment.

    def _aligned(self) -> Iterator[AnyClaim]:
        circuit, n = self.parts.align, self.n
        sign, exp, sig = (Integer.unsigned(circuit.inputs[f"i__terms__0__{field}"]) for field in ("sign", "exp", "sig"))
        term = ModelTerm(
            sign,
            exp.between(0, n.term_exp[1]) - n.bias,
            sig.between(0, n.term_most),
            n.term_fraction_bits,
            Class.NORMAL,
        )
        yield self._aligned_term("lane: aligned", 0, term)
        yield StructuralClaim(
            "lanes: aligned", "every lane makes the same of its term and max_exp", f"{n.terms} lanes", self._align_alike
        )
        if n.sums_addend:
            sign, exp, sig = self._addend_fields(circuit.inputs, "i")
            term = ModelTerm(sign, exp.between(*n.addend_exp) - n.bias, sig, n.addend_fraction_bits, Class.NORMAL)
            yield self._aligned_term("addend: aligned", n.terms, term)

    def _can_be_aligned(self, ports: Mapping[str, Term], max_exp: Any, at: int) -> tuple[Term, ...]:
        """The conditions on a term and a max_exp before alignment."""
        rivals = self._rivals(ports, at % len(self.n.names))
        nonzero, _, exp = rivals[at // len(self.n.names)]
        below = implies(nonzero, holds(exp <= max_exp))
        return self._term_within(ports, at), exactly(max_exp, *self.n.max_exp), below

    def _aligned_term(self, name: str, at: int, term: ModelTerm) -> Claim:
        """The claim that a term in the window is what `align` makes of it, and within its bound."""
        circuit, n = self.parts.align, self.n
        max_exp = self._max_exp(circuit.inputs, f"i__max_exp{n.window_of(at)}")
        known, above = self._can_be_aligned(circuit.inputs, max_exp, at), max_exp.between(*n.max_exp)
        inside, top = in_window(circuit.outputs, "o", at), above - n.bias

        call = self.calls["align"]

        def aligned() -> object:
            return call(term, top) if term.sig else 0

        right = each([Path(path.condition, holds(inside == path.result)) for path in paths(aligned, known)])
        conditions = [right, holds(abs(inside) <= self._bound_below(above, at)), *self._says_lost(at, term, top, known)]
        ones, carry = (circuit.outputs[f"o__aligned__{at}__{field}"] for field in ("ones", "carry"))
        if self._carries == "sign":
            conditions.append(same(carry, op(Kind.BV_EXTRACT, ones, indices=[width(ones) - 1] * 2)))
        place = "addend" if at == n.terms else f"terms__{at}"
        show = [term for name, term in circuit.inputs.items() if place in name or "max_exp" in name]
        return Claim(
            name, "it is what the model aligns, and within its bound", "a term at or below max_exp, or zero", known,
            both(*conditions), tuple(show),
        )  # fmt: skip

    def _says_lost(self, at: int, term: ModelTerm, top: Any, known: Sequence[Term]) -> list[Term]:
        """The condition that a term's bit shows whether the term lost a 1; empty where there are no such bits."""
        if not self.n.sticky:
            return []
        bit = is_one(self.parts.align.outputs[f"o__lost__{at}"])
        bits = self.calls["any_lost"].arguments[1].fraction_bits
        lost = paths(lambda: lost_part(term, top, bits) if term.sig else 0, known)
        return [each([Path(path.condition, same(bit, holds(as_integer(path.result) != 0))) for path in lost])]

    @property
    def _carries(self) -> Literal["sign", "bit", "none"]:
        """The carry that completes a term in the window: its sign, as truncation has it, a bit of its own, or none."""
        return "sign" if self.n.truncates else "bit"

    def _most_of(self, sig: int, fraction_bits: int) -> int:
        return most_in_window(sig, fraction_bits, self.n.fraction_bits, self.rule.term_lost)

    @property
    def _most_in_window(self) -> int:
        """The largest magnitude that a term has in the window."""
        return self._most_of(self.n.term_most, self.n.term_fraction_bits)

    @property
    def _addend_bound(self) -> int:
        """The largest magnitude that an addend has in the window."""
        bits = self.n.addend_fraction_bits
        return self._most_of((2 << bits) - 1, bits)

    def _bound(self, at: int) -> int:
        return self._most_in_window if at < self.n.terms else self._addend_bound

    def _bound_below(self, top: Any, at: int) -> object:
        """The largest magnitude that a term has in the window below a max_exp."""
        return self._bound(at)

    def _align_alike(self) -> bool:
        circuit, n = self.parts.align, self.n
        names = ("aligned__{}__ones", "aligned__{}__carry", *(["lost__{}"] if n.sticky else []))
        for lane in range(1, n.terms):
            by = {circuit.inputs[f"i__terms__0__{field}"]: circuit.inputs[f"i__terms__{lane}__{field}"]
                  for field in ("sign", "exp", "sig")}  # fmt: skip
            by[circuit.inputs[f"i__max_exp{n.names[0]}"]] = circuit.inputs[f"i__max_exp{n.window_of(lane)}"]
            outputs = [
                (circuit.outputs[f"o__{name.format(0)}"], circuit.outputs[f"o__{name.format(lane)}"]) for name in names
            ]
            if any(substituted(first, by) != second for first, second in outputs):
                return False
        return True

    # The sum.

    def _sum(self, window: int) -> StructuralClaim:
        indices, end = self.n.of_window(window), self.n.names[window]

        def is_sum() -> bool:
            circuit = self.parts.sum
            inputs, known, wanted = dict[str, Form](), list[Bounded](), dict[Variable, int]()
            for index in indices:
                ones, carry = (circuit.inputs[f"i__aligned__{index}__{field}"] for field in ("ones", "carry"))
                top = width(ones) - 1
                low, sign = Variable(ones.symbol(), 0, top), Variable(ones.symbol(), top, 1)
                factors = {low: 1, sign: -(1 << top)}
                match self._carries:
                    case "sign":
                        inputs[carry.symbol()] = Form(1, 0, {sign: 1})
                        factors[sign] += 1
                    case "bit":
                        factors[Variable(carry.symbol(), 0, 1)] = 1
                    case "none":
                        pass
                known.append(Bounded(factors, -self._bound(index), self._bound(index)))
                wanted |= factors
            total = circuit.outputs[f"o__total{end}"]
            summed = Forms(inputs, known).of(total) if indices else Form(width(total), 0)
            return equal(summed, form(width(total), 0, wanted))

        return StructuralClaim(
            f"sum{end.replace('_', ': ')}", "the total is the sum of all aligned terms, exactly",
            f"{len(indices)} terms", is_sum,
        )  # fmt: skip

    def _total(self, window: int) -> SumBounds:
        return SumBounds(sum(map(self._bound, self.n.of_window(window))), self.n.fraction_bits, self.n.max_exp)

    # Sums of two windows.

    def _after_sum(self) -> Iterator[AnyClaim]:
        if self.parts.combine is not None:
            yield self._combined(self.parts.combine)
        if self.parts.cut is not None:
            yield self._places_cut(self.parts.cut)

    @property
    def _sum_cut(self) -> SumCut | None:
        """The rule by which the unit's sum loses places before it is rounded, if it does."""
        return self.rule.cut if isinstance(self.rule, AlignedSum) else None

    @property
    def _summed(self) -> SumBounds:
        """The bounds of the group's sum."""
        first, cut = self._total(0), self._sum_cut
        if cut is not None:
            return replace(first, most=most_in_window(first.most, cut.bits, 0, cut.lost) << cut.bits)
        if self.n.halves is None:
            return first
        rule = self.n.halves.combine
        most = [
            most_in_window(self._total(window).most, first.bits, rule.fraction_bits, rule.lost) for window in (0, 1)
        ]
        return SumBounds(sum(most), rule.fraction_bits, first.max_exp)

    def _sum_ports(
        self, ports: Mapping[str, Term], prefix: str, what: SumBounds, end: str = ""
    ) -> tuple[Any, Term, Any]:
        """Return a sum's total, the condition that a term of it may be other than zero, and its max_exp."""
        total, exp, some = (ports.get(f"{prefix}__{field}{end}") for field in ("total", "max_exp", "any"))
        assert total is not None and exp is not None
        return Integer.signed(total), true() if some is None else is_one(some), self._exp(exp, what.max_exp)

    def _is_sum(self, ports: Mapping[str, Term], prefix: str, what: SumBounds, end: str = "") -> Term:
        """The condition on a sum: the relation between the steps that sum and round."""
        total, some, exp = self._sum_ports(ports, prefix, what, end)
        return both(holds(abs(total) <= what.most), exactly(exp, *what.max_exp), either(some, holds(total == 0)))

    def _as_model(self, ports: Mapping[str, Term], what: SumBounds, end: str = "") -> Callable[[], AlignedTerms]:
        """A function that returns an incoming sum in the model's form; called on a path, with `_is_sum` known."""
        total, some, exp = self._sum_ports(ports, "i", what, end)

        def made() -> AlignedTerms:
            if not Truth(some):
                return AlignedTerms(None, what.bits, (), 0)
            top = exp.between(*what.max_exp) - self.n.bias
            return AlignedTerms(top, what.bits, (), total.between(-what.most, what.most))

        return made

    def _made(self, outputs: Mapping[str, Term], found: AlignedTerms) -> Term:
        """The condition that the group's sum is the model's."""
        total, some, exp = self._sum_ports(outputs, "o", self._summed)
        if found.max_exp is None:
            return both(negated(some), holds(total == 0))
        return both(some, holds(total == found.total), holds(exp == found.max_exp + self.n.bias))

    def _combined(self, circuit: Circuit) -> Claim:
        assert self.n.halves is not None
        halves = [(self._total(index), end) for index, end in enumerate(self.n.names)]
        known = [self._is_sum(circuit.inputs, "i", *half) for half in halves]
        even, odd = (self._as_model(circuit.inputs, *half) for half in halves)
        calls = {names: self.calls[f"combine{names}"] for names in ("", " even", " odd")}

        def combined() -> AlignedTerms:
            windows = even(), odd()
            sums = [(window.max_exp, window.total) for window in windows if window.max_exp is not None]
            if not sums:
                return calls[""].function(*windows, *calls[""].arguments[2:]).combined  # type: ignore[no-any-return]
            names = "" if len(sums) == 2 else " odd" if windows[0].max_exp is None else " even"
            return calls[names](*sums).combined  # type: ignore[no-any-return]

        cases = paths(combined, known)
        return self._sum_of(
            "combine", "the sum of both halves is the model's, and within its bound", "both totals and max_exp", known,
            cases, circuit,
        )  # fmt: skip

    def _places_cut(self, circuit: Circuit) -> Claim:
        """The claim that as much is left of the sum as the model leaves of it."""
        whole = self._total(0)
        known, as_model = [self._is_sum(circuit.inputs, "i", whole)], self._as_model(circuit.inputs, whole)
        call = self.calls["cut"]

        def left() -> AlignedTerms:
            of = as_model()
            return call.function(of, call["rule"]) if of.max_exp is None else call((of.max_exp, of.total))  # type: ignore[no-any-return]

        return self._sum_of(
            "cut", "what is left of the sum is the model's, and within its bound", "every total and max_exp", known,
            paths(left, known), circuit,
        )  # fmt: skip

    def _sum_of(
        self, name: str, words: str, over: str, known: list[Term], found: list[Path[AlignedTerms]], circuit: Circuit
    ) -> Claim:
        right = each([Path(path.condition, self._made(circuit.outputs, path.result)) for path in found])
        show = tuple(term for name, term in circuit.inputs.items() if name.startswith(SUM))
        return Claim(
            name, words, over, tuple(known), both(right, self._is_sum(circuit.outputs, "o", self._summed)), show
        )

    # The result.

    @property
    def _to_round(self) -> SumBounds:
        """The bounds of the sum that is rounded."""
        return self._summed

    @property
    def _tops(self) -> tuple[int, int]:
        """The least and the largest max_exp of a sum that is rounded."""
        return self._to_round.max_exp

    def _total_bound(self, top: object) -> object:
        """The largest magnitude of a total that is rounded, below a max_exp."""
        return self._to_round.most

    def _rounded(self) -> Iterator[AnyClaim]:
        circuit, n, what = self.parts.round, self.n, self._to_round
        port, max_exp = circuit.inputs["i__total"], self._exp(circuit.inputs["i__max_exp"], what.max_exp)
        top = max_exp.between(*self._tops)
        known = [
            exactly(max_exp, *self._tops), holds(abs(Integer.signed(port)) <= self._total_bound(top)),
            *(negated(is_one(circuit.inputs[f"i__special__{flag}"])) for flag in SPECIAL),
        ]  # fmt: skip
        is_code, of_zero = is_result(circuit, n.result, self.model.nan), circuit.inputs.get("i__zero_sign")
        lost = [circuit.inputs[f"i__lost__{index}"] for index in range(n.terms + n.sums_addend)] if n.sticky else []
        sticky: Any = Truth(either(*map(is_one, lost))) if lost else False

        code, rounds = self._result_call, self.calls["round"]

        def right(total: Any, assumed: Sequence[Term]) -> Term:
            def rounded() -> Term:
                if not total:
                    minus = int(of_zero is not None and bool(Truth(is_one(of_zero))))
                    return is_code(rounds(zero_terms([minus])[0]))
                return is_code(code(total, top - n.bias, sticky))

            return each(paths(rounded, assumed))

        show = (circuit.inputs["i__max_exp"], *lost, *(() if of_zero is None else (of_zero,)))
        yield from of_every_total(right, port, what.most, known, show, over="every max_exp", at_once=AT_ONCE)

    @property
    def _total_call(self) -> ModelCall:
        """The model's call that makes a term of the sum that is rounded."""
        return self.calls["total"]

    @property
    def _zero_calls(self) -> list[Callable[[Sequence[ModelTerm]], ModelTerm]]:
        """The functions from all terms to the term of their sum of zero: where some cancel, and where all are zero."""
        total, of_nothing = self._total_call, self.calls["total of nothing"]
        return [lambda every: total(0, 0, every), lambda every: of_nothing(every)]

    @property
    def _result_call(self) -> Callable[[Any, Any, Any], int]:
        """The function that returns the code of a total other than zero at a max_exp, with what was lost."""
        total, rounds = self._total_call, self.calls["round sticky" if self.n.sticky else "round"]

        def code(number: Any, max_exp: Any, lost: Any) -> int:
            term = total(number, max_exp, ())
            return rounds(term, lost) if self.n.sticky else rounds(term)  # type: ignore[no-any-return]

        return code

    # How the steps compose.

    def _passed(self) -> Iterator[StructuralClaim]:
        """Yield the claims that what a step does not make leaves as it came."""
        for name in ("maximum", "align", "sum", "combine", "cut", "late"):
            circuit: Circuit | None = getattr(self.parts, name)
            if circuit is None:
                continue
            changed = () if name in ("maximum", "align", "sum") else MADE_OF_SUMS
            names = [port for port in circuit.outputs if f"i{port[1:]}" in circuit.inputs and port not in changed]

            def passed(circuit: Circuit = circuit, names: Sequence[str] = names) -> bool:
                return all(circuit.outputs[port] == circuit.inputs[f"i{port[1:]}"] for port in names)

            yield StructuralClaim(
                f"{name}: passed on", "what the step does not make leaves as it came", f"{len(names)} signals", passed
            )

    def _composition(self) -> Iterator[AnyClaim]:
        yield self._before_alignment()
        yield self._fits()
        yield from self._groups()

    def _before_alignment(self) -> Claim:
        """The claim that terms and maxima meet the conditions that alignment puts on every one of them."""
        ports, wanted, known = self.parts.maximum.inputs, list[Term](), list[Term]()
        show = list(ports.values())
        for window in range(len(self.n.names)):
            indices = self.n.of_window(window)
            max_exp = Integer.signed(constant(f"composition.max_exp{window}", bits_for(*self.n.max_exp)))
            rivals = self._rivals(ports, window)
            known += [self._term_within(ports, index) for index in indices]
            known += [implies(self._some(rivals), self._is_maximum(max_exp, rivals)), *self._any_max_exp(max_exp)]
            wanted += [condition for index in indices for condition in self._can_be_aligned(ports, max_exp, index)]
            wanted.append(exactly(max_exp, *self._max_exps))
            show.append(max_exp.term)
        return Claim(
            "composition: alignment", "what terms and max_exp are is what alignment takes",
            f"{self.n.terms} terms and an addend", tuple(known), both(*wanted), tuple(show),
        )  # fmt: skip

    def _fits(self) -> StructuralClaim:
        """The claim that the bounds of all terms together fit the totals."""
        circuit = self.parts.sum

        def fits() -> bool:
            ports = [width(circuit.outputs[f"o__total{end}"]) for end in self.n.names]
            return all(self._total(window).most < 1 << bits - 1 for window, bits in enumerate(ports))

        return StructuralClaim(
            "composition: sum", "the bounds of all terms together fit the total", f"{self.n.terms} terms", fits
        )

    def _groups(self) -> Iterator[AnyClaim]:
        """Yield the claims about the model's functions of all terms of a group."""
        yield self._zero_aligned()
        n = self.n
        if len({fmt.fraction_bits for fmt in n.addends}) > 1 and n.subgroup is None:
            yield self._trailing_term()
        yield specials_claim(self.calls["special"], [n.terms + addends for addends in range(n.sums_addend + 1)])
        for window in range(len(n.names)):
            yield self._model_maximum(window)
        if n.sticky:
            yield lost_claim(self.calls["any_lost"], n.terms + n.sums_addend)

    def _model_maximum(self, window: int) -> Claim:
        """The claim that the model's largest exponent of all terms is the one that is claimed of the RTL's circuit."""
        ports, indices, n = self.parts.maximum.inputs, self.n.of_window(window), self.n
        rivals, call = self._rivals(ports, window), self.calls["max_exp"]
        known = [self._term_within(ports, index) for index in indices]
        every = [any_term(exp=exp - n.bias, number=nonzero) for nonzero, _, exp in rivals]
        wanted = []
        with folded() as facts:
            for there in (True, False) if n.sums_addend else (True,):
                terms, here = (every, rivals) if there else (every[:-1], rivals[:-1])
                present = self._there(ports, "i") if there else negated(self._there(ports, "i"))
                condition = [present] if n.sums_addend else []

                def right(terms: Any = terms, here: Any = here) -> Term:
                    facts.clear()
                    max_exp = call(terms)
                    if max_exp is None:
                        return both(*(negated(nonzero) for nonzero, _, _ in here))
                    largest = self._is_maximum(as_integer(max_exp) + n.bias, rivals)
                    return implies(both(self._some(rivals), *facts), largest)

                wanted.append(implies(both(*condition), each(paths(right, [*known, *condition]))))
        return Claim(
            f"composition: max_exp{n.names[window].replace('_', ': ')}",
            "the model's largest exponent is the one of the RTL's terms that count",
            f"{len(indices)} terms of any kind", tuple(known), both(*wanted), tuple(ports.values()),
        )  # fmt: skip

    def _trailing_term(self) -> Claim:
        """The claim that a term leaves in a window what twice its significand does with one more fraction bit."""
        n, call = self.n, self.calls["align"]
        bits = call["fraction_bits"]
        spans = [
            (n.term_exp[0], n.term_fraction_bits),
            *([(self.n.addend_exp[0], self.n.addend_fraction_bits)] if n.sums_addend else []),
        ]
        low = -bits - n.reach
        high = max(n.max_exp[1] - least + fraction_bits for least, fraction_bits in spans) - bits
        most = max(n.term_most, (2 << self.n.addend_fraction_bits) - 1 if n.sums_addend else 0)
        sigs, shifts = constant("trailing.sig", most.bit_length()), constant("trailing.shift", bits_for(low, high))
        sig, shift = Integer.unsigned(sigs), Integer.signed(shifts)
        known = [holds(sig <= most), exactly(shift, low, high)]
        inside, places = sig.between(0, most), shift.between(low, high)

        def same_left() -> Term:
            every = [
                [ModelTerm(sign, -places, inside << one, bits + one, Class.NORMAL) for one in (0, 1)] for sign in (0, 1)
            ]
            left = [[call(one, 0) for one in pair] for pair in every]
            below = [holds(as_integer(lost_part(one, 0, bits)) != 0) for one in every[0]]
            return both(*(holds(as_integer(first) == second) for first, second in left), same(*below))

        return Claim(
            "composition: trailing zeros", "a term leaves what twice as much of half its unit does", "every term",
            tuple(known), each(paths(same_left, known)), (sigs, shifts),
        )  # fmt: skip

    def _zero_aligned(self) -> Claim:
        """The claim that the model's alignment leaves nothing of a term of zero, wherever it stands."""
        low, high = self.n.max_exp
        exp, top = (Integer.signed(constant(f"zero.{name}", bits_for(low, high))) for name in ("exp", "max_exp"))
        known = [exactly(exp, low, high), exactly(top, low, high)]
        wanted = []
        for sign in (0, 1):
            term = ModelTerm(sign, exp, 0, self.n.term_fraction_bits, Class.ZERO)
            cases = paths(lambda term=term, call=self.calls["align"]: call(term, top), known)  # type: ignore[misc]
            wanted.append(each([Path(path.condition, holds(as_integer(path.result) == 0)) for path in cases]))
        return Claim(
            "composition: zero", "a term of zero leaves nothing in a window", "both signs, every exponent and max_exp",
            tuple(known), both(*wanted), (exp.term, top.term),
        )  # fmt: skip
