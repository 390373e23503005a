"""Whether a mutant changes nothing that matters: of each part of a datapath, wherever the relation before it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, takewhile
from typing import Any

from hwsim.formats import FloatFormat
from hwsim.prove.circuits import Circuit, connected, fixed, read_btor
from hwsim.prove.claims import SPECIAL, exactly, holds
from hwsim.prove.qualify.mutants import BTOR, SELECT, Mutant, Netlist, written
from hwsim.prove.qualify.relations import ADDER_PARTS, PARTS, AdderRelations, Relation, Relations, number
from hwsim.prove.symbolic import Integer
from hwsim.prove.terms import (
    Decided,
    Kind,
    Term,
    all_substituted,
    ask,
    both,
    constant,
    either,
    implies,
    is_one,
    negated,
    op,
    same,
    value,
    width,
)
from hwsim.prove.windows import in_window
from hwsim.rtl.numbers import as_float
from hwsim.spec import Unit, unpromised


def nan_handed_on(relations: Relations) -> Term | None:
    """The code of the NaN that partial sums may be, without padding; None where it is not handed on as a number.

    The solver shows it step by step; the sum between them adds, whatever is in it.
    """
    n, parts, neutral = relations.n, relations.parts, relations.neutral
    fmt = n.result
    if relations.unit.promotion is None or n.window_addend is not None or fmt.canonical_nan is None:
        return None
    carried = value(fmt.canonical_nan >> fmt.padding, width(neutral["i__carried__code"]))
    decoded = fixed(parts.products, {**neutral, "i__carried__code": carried, "i__chain": value(1, 1)}).outputs
    addend = {
        f"i__addend__{field}": value(number(decoded[f"o__addend__{field}"]), width(decoded[f"o__addend__{field}"]))
        for field in ("sign", "exp", "sig")
    }
    exp = addend["i__addend__exp"]
    largest = fixed(parts.maximum, addend)
    products = [relations.is_product(largest.inputs, lane) for lane in range(n.lanes)]
    max_exp = largest.outputs["o__max_exp"]
    # Neither is signed where it is not negative, and one may be wider than the other.
    top = value(number(exp), width(max_exp))
    inside = fixed(parts.align, {**addend, "i__max_exp": top}).outputs
    left = [in_window(inside, "o", lane) for lane in range(n.lanes)]
    total = number(in_window(inside, "o", n.lanes).term)
    given = {f"i__special__{flag}": value(0, 1) for flag in SPECIAL}
    given |= {"i__total": value(total, width(parts.round.inputs["i__total"])), "i__max_exp": top}
    claims = [
        (same(max_exp, top), products),
        (
            both(*(holds(one == 0) for one in left)),
            [relations.is_product(parts.align.inputs, lane) for lane in range(n.lanes)],
        ),
        (same(fixed(parts.round, given).outputs["o__code"], carried), []),
    ]
    return carried if all(ask(claim, known).word == "proved" for claim, known in claims) else None


Pairs = Mapping[str, tuple[Term, Term]]

# Mutants are of the first lane, and of what all lanes share.
LANE, ADDEND = "o__terms__0__", "o__addend__"


class Leaks(Relations):
    """What holds before each part, and what a term of zero may seem to be."""

    def same_numbers(self, pairs: Pairs) -> Term:
        """That two sets of terms, port by port, are the same, or differ in what one term of zero seems to be."""
        numbers = {port: pair for port, pair in pairs.items() if "special" not in port}
        found = [both(*(same(*pair) for pair in numbers.values()))]
        for name, leaks in ((LANE, self._product_leaks), (ADDEND, self._addend_leaks)):
            others = [same(*pair) for port, pair in numbers.items() if not port.startswith(name)]
            found.append(both(leaks(numbers), *others))
        if self._zeros_vanish:
            found.append(self._signs_of_zero(numbers))
        return either(*found)

    @staticmethod
    def _signs_of_zero(numbers: Pairs) -> Term:
        """That two sets of terms differ in the sign of an addend of zero alone, which leaves nothing."""
        zero = (holds(Integer.unsigned(sig) == 0) for sig in numbers[f"{ADDEND}sig"])
        return both(*zero, *(same(*pair) for port, pair in numbers.items() if port != f"{ADDEND}sign"))

    def _product_leaks(self, numbers: Pairs) -> Term:
        exp, sig = (tuple(map(Integer.unsigned, numbers[f"{LANE}{field}"])) for field in ("exp", "sig"))
        return both(*(holds(one == 0) for one in (*sig, exp[0])), self._low_or_near(exp[1], numbers))

    def _addend_leaks(self, numbers: Pairs) -> Term:
        if not self.addend:
            return negated(both())
        exps, sig = numbers[f"{ADDEND}exp"], tuple(map(Integer.unsigned, numbers[f"{ADDEND}sig"]))
        plus = [negated(is_one(sign)) for sign in numbers[f"{ADDEND}sign"]]
        hidden = holds(sig[0] == 0), holds(sig[1] == 1 << self.n.addend_fraction_bits)
        return both(*hidden, *plus, same(*exps), same(exps[0], self._zero_exp(exps[0])))

    def _low_or_near(self, exp: Any, numbers: Pairs) -> Term:
        """That an exponent is so low that any other may be, or not far above every other product's."""
        products = [
            Integer.unsigned(plain)
            for port, (plain, _) in numbers.items()
            if port.startswith("o__terms") and port.endswith("__exp")
        ]
        beside = both(*(either(holds(one == 0), holds(exp <= one + self._near)) for one in products))
        return either(holds(exp <= self.products_below), both(holds(exp <= self.near_below), beside))

    @property
    def _near(self) -> int:
        """How far below max_exp a product loses nothing."""
        return self.n.fraction_bits - self.n.product_fraction_bits

    @cached_property
    def near_below(self) -> int:
        """The largest power of two that the exponent of a product of zero may be, not far above others'; 0 for none."""
        if self._near <= 0 or not self.zero_is_zero:  # without a product there is nothing to be near to
            return 0

        def may_be(exp: int) -> bool:
            below = exp < self._least_addend
            return below and self._raises_only(exp) and self._leaves_nothing(exp) and self._exact(exp, self._near)

        return self._largest(may_be)

    def _largest(self, may_be: Callable[[int], bool]) -> int:
        """The largest power of two, of a product's exponents, up to which all powers may be; 0 for none."""
        powers = takewhile(lambda exp: exp <= self.n.product_most, (1 << place for place in count()))
        return max(takewhile(may_be, powers), default=0)

    def _zero_exp(self, like: Term) -> Term:
        return value(self.exp_of_zero, width(like))

    # A product of zero with an exponent.

    @cached_property
    def products_below(self) -> int:
        """The largest power of two that a product of zero may have as its exponent, and any below it; 0 for none."""
        return self._largest(lambda exp: exp <= self.raised_to and self._raises_only(exp) and self._leaves_nothing(exp))

    @cached_property
    def raised_to(self) -> int:
        """The largest power of two that max_exp may be instead of any number below it; 0 for none."""
        return self._largest(lambda exp: self._exact(exp) or self._all_vanish(exp))

    def same_maximum(self, changed: Mapping[str, Term], plain: Mapping[str, Term]) -> Term:
        """That max_exp is raised to no more than that."""
        if not self.raised_to:
            return negated(both())
        before, after = (self._max_exp(outputs, "o__max_exp") for outputs in (plain, changed))
        return both(holds(before < after), holds(after <= self.raised_to))

    def _raises_only(self, most: int) -> bool:
        """max_exp is what it was, or that exponent, which is more."""
        circuit = self.parts.maximum
        port = circuit.inputs["i__terms__0__exp"]
        quiet = fixed(circuit, {"i__terms__0__exp": value(0, width(port))})
        exp = Integer.unsigned(port)
        before, after = (self._max_exp(one.outputs, "o__max_exp") for one in (quiet, circuit))
        known = [self._is_term(circuit.inputs, lane, "i") for lane in range(1, self.n.lanes)]
        raised = both(holds(before < exp), holds(after == exp))
        others = (*known, *self._addend_known(circuit.inputs))
        return _proved(either(holds(after == before), raised), (exactly(exp, 1, most), *others))

    def _leaves_nothing(self, most: int) -> bool:
        """Aligned it is zero."""
        ports = self.parts.align.inputs
        quiet = fixed(self.parts.align, {"i__terms__0__sig": value(0, width(ports["i__terms__0__sig"]))})
        exp, max_exp = Integer.unsigned(ports["i__terms__0__exp"]), self._max_exp(ports, "i__max_exp")
        known = exactly(exp, 0, most), exactly(max_exp, *self.n.max_exp), either(holds(exp == 0), holds(exp <= max_exp))
        return _proved(holds(in_window(quiet.outputs, "o", 0) == 0), known)

    def _exact(self, most: int, near: int | None = None) -> bool:
        """Below a larger max_exp terms lose nothing, and the code is the same. near: how much larger, where not any."""
        align, low = self.parts.align, self.n.max_exp[0]
        ports, top = align.inputs, constant("leak: max_exp", width(align.inputs["i__max_exp"]))
        after = fixed(align, {"i__max_exp": top})
        before, raised = self._max_exp(ports, "i__max_exp"), self._max_exp({"": top}, "")
        most_apart = most - low if near is None else near
        known = (
            exactly(before, low, most - 1),
            exactly(raised, low + 1, most),
            holds(before < raised),
            holds(raised - before <= most_apart),
        )
        product = Integer.unsigned(ports["i__terms__0__exp"])
        _, exp, sig = self._addend_fields(ports, "i")
        limits = {
            0: (
                self._is_term(ports, 0, "i"),
                either(holds(product == 0), both(holds(product <= before), holds(raised <= product + most_apart))),
            ),
            self.n.lanes: (
                *self._addend_known(ports), either(holds(sig == 0), holds(exp <= before)),
            ),
        }  # fmt: skip
        steps = [(holds(raised - before == distance), distance) for distance in range(1, most_apart + 1)]
        for lane, limit in limits.items():
            one, two = (in_window(each.outputs, "o", lane) for each in (align, after))
            exact = both(*(implies(far, holds(one == two * (1 << distance))) for far, distance in steps))
            if not _proved(exact, (*known, *limit)):
                return False
        return self._rounds_alike(top, known, steps)

    def _rounds_alike(self, top: Term, known: tuple[Term, ...], steps: list[tuple[Term, int]]) -> bool:
        """A total below one max_exp and the same number below a larger one give the same code."""
        circuit = self._without_flags
        ports = circuit.inputs
        total = constant("leak: total", width(ports["i__total"]))
        after = fixed(circuit, {"i__total": total, "i__max_exp": top})
        one, two = Integer.signed(ports["i__total"]), Integer.signed(total)
        align = self.parts.align.inputs["i__max_exp"]
        before = fixed(circuit, {"i__max_exp": align})
        is_same = both(*(implies(far, holds(one == two * (1 << distance))) for far, distance in steps))
        bound = holds(abs(one) <= self._total_most)
        return _proved(_alike(before, after), (*known, is_same, bound))

    def _all_vanish(self, most: int) -> bool:
        """No addend is so small but zero, and what is below that exponent gives the same code, whatever it is."""
        if self._least_addend <= most:
            return False
        circuit = self._without_flags
        ports = circuit.inputs
        total, top = (constant(f"leak: {name}", width(ports[f"i__{name}"])) for name in ("total", "max_exp"))
        after = fixed(circuit, {"i__total": total, "i__max_exp": top})
        known = [
            exactly(Integer.signed(one), -self._total_most, self._total_most) for one in (ports["i__total"], total)
        ]
        known += [exactly(self._max_exp({"": one}, ""), self.n.max_exp[0], most) for one in (ports["i__max_exp"], top)]
        return _proved(_alike(circuit, after), tuple(known))

    # An addend of zero with a significand.

    @cached_property
    def addend(self) -> bool:
        """Whether an addend of zero may have a hidden bit, with its exponent."""
        return self._never_largest() and self._is_shifted_out() and self._is_zero_alone()

    def _hidden_bit(self, ports: Mapping[str, Term]) -> Term:
        """That the addend is what +0 is with a hidden bit."""
        exp, sig = ports["i__addend__exp"], Integer.unsigned(ports["i__addend__sig"])
        hidden = holds(sig == 1 << self.n.addend_fraction_bits)
        return both(same(exp, self._zero_exp(exp)), hidden, negated(is_one(ports["i__addend__sign"])))

    def _never_largest(self) -> bool:
        """Beside a product max_exp is that of products."""
        circuit = self.parts.maximum
        exps = [Integer.unsigned(circuit.inputs[f"i__terms__{lane}__exp"]) for lane in range(self.n.lanes)]
        known = [self._is_term(circuit.inputs, lane, "i") for lane in range(self.n.lanes)]
        some = either(*(holds(exp != 0) for exp in exps))
        equal = same(circuit.outputs["o__max_exp"], self._without_addend(circuit).outputs["o__max_exp"])
        return _proved(equal, (*known, some, self._hidden_bit(circuit.inputs)))

    def _is_shifted_out(self) -> bool:
        """Below a product's exponent nothing of it is left."""
        circuit = self.parts.align
        max_exp = self._max_exp(circuit.inputs, "i__max_exp")
        known = exactly(max_exp, self.n.product_least, self.n.max_exp[1]), self._hidden_bit(circuit.inputs)
        return _proved(holds(in_window(circuit.outputs, "o", self.n.lanes) == 0), known)

    def _is_zero_alone(self) -> bool:
        """Without a product the result is that of an addend of zero."""
        circuit = connected([self.parts.maximum, self.parts.align, self.parts.sum, self.parts.round])
        quiet = {
            port: value(0, width(term))
            for port, term in circuit.inputs.items()
            if "special" in port or ("terms" in port and not port.endswith("sign"))
        }
        alone = fixed(circuit, quiet)
        return _proved(_alike(alone, self._without_addend(alone)), (self._hidden_bit(circuit.inputs),))

    # What both need.

    @property
    def _without_flags(self) -> Circuit:
        return fixed(self.parts.round, {f"i__special__{flag}": value(0, 1) for flag in SPECIAL})

    @property
    def _total_most(self) -> int:
        """What no total is beyond."""
        return self.n.lanes * self._most_in_window + self._addend_bound


def _proved(claim: Term, known: Sequence[Term]) -> bool:
    return ask(claim, known).word == "proved"


def _alike(one: Circuit, two: Circuit) -> Term:
    """The same code, and neither is said to be NaN."""
    said = [negated(is_one(each.outputs["o__nan"])) for each in (one, two) if "o__nan" in each.outputs]
    return both(same(one.outputs["o__code"], two.outputs["o__code"]), *said)


FLAGS = ("__nan", "__inf")  # what the adder's decoding says of a code that is no number


@dataclass(frozen=True)
class _Step:
    """A step with mutants in it. select: the input that says which are there, if there are any."""

    circuit: Circuit
    select: Term | None


class MutatedSteps:
    """The steps of a unit with some mutants in them, as terms: what each is with one of its mutants, or with none."""

    def __init__(self, unit: Unit, steps: Sequence[Netlist], mutants: Sequence[Mutant]):
        self.unit = unit
        self.mutants: dict[str, list[Mutant]] = {netlist.name: [] for netlist in steps}
        for mutant in mutants:
            self.mutants[mutant.step].append(mutant)
        texts = written([(netlist, self.mutants[netlist.name]) for netlist in steps], "btor", BTOR)
        self._steps = {name: _step(text, name) for name, text in zip(self.mutants, texts, strict=True)}
        self.plain = {name: self._chosen(step, 0) for name, step in self._steps.items()}

    @property
    def unchosen(self) -> dict[str, Circuit]:
        """The steps, with mutants that `selects` choose."""
        return {name: step.circuit for name, step in self._steps.items()}

    @cached_property
    def selects(self) -> dict[str, Term]:
        """What chooses the mutants of each step that has some: bit n the nth."""
        return {name: step.select for name, step in self._steps.items() if step.select is not None}

    def with_mutant(self, mutant: Mutant) -> Circuit:
        """The mutant's step."""
        place = self.mutants[mutant.step].index(mutant)
        return self._chosen(self._steps[mutant.step], 1 << place)

    @staticmethod
    def _chosen(step: _Step, which: int) -> Circuit:
        if step.select is None:
            return step.circuit
        by = {step.select: value(which, width(step.select))}
        outputs = dict(zip(step.circuit.outputs, all_substituted(step.circuit.outputs.values(), by), strict=True))
        return replace(step.circuit, outputs=outputs)

    @cached_property
    def datapath(self) -> dict[str, Circuit]:
        """The steps of the datapath, without mutants."""
        return {name: circuit for name, circuit in self.plain.items() if not name.startswith("promote")}

    @cached_property
    def adder(self) -> dict[str, Circuit]:
        """The steps of the promotion's adder, without mutants."""
        return {name: circuit for name, circuit in self.plain.items() if name.startswith("promote")}

    @cached_property
    def _relations(self) -> Leaks:
        return Leaks(self.unit, self.datapath)

    @cached_property
    def relations(self) -> dict[str, Relation]:
        """What holds before each part."""
        found = self._relations.of()
        if self.unit.promotion is not None:
            found |= self._adder_relations.of()
        return found

    @cached_property
    def _adder_relations(self) -> AdderRelations:
        assert self.unit.promotion is not None
        return AdderRelations(self.unit, self.unit.promotion, (), self.adder)

    def part(self, name: str, mutant: Mutant | None = None) -> Circuit:
        """Some steps as one circuit."""
        return connected([
            circuit if mutant is None or mutant.step != step else self.with_mutant(mutant)
            for step, circuit in self.plain.items()
            if part_of(step) == name
        ])  # fmt: skip

    @cached_property
    def plain_parts(self) -> dict[str, Circuit]:
        """All parts, without mutants."""
        return {name: self.part(name) for name in dict.fromkeys(map(part_of, self.plain))}

    def equal(self, mutant: Mutant, seconds: float) -> Decided:
        """Whether a mutant's part gives what it gave, as far as what follows can tell.

        Where a term is special its flags alone count, and of a NaN's code, that it is one.
        """
        name = part_of(mutant.step)
        plain, changed, relation = self.plain_parts[name], self.part(name, mutant), self.relations[name]
        show = tuple(plain.inputs.values())
        if name in ("round", "promote.round"):
            # With a flag set, what the total is does not matter, and with none set it is within its bounds.
            none_set = both(*(negated(is_one(term)) for port, term in plain.inputs.items() if "special" in port))
            wanted = self._same_code(name, plain.outputs, changed.outputs)
            return ask(wanted, (relation.always, implies(none_set, relation.plain)), seconds, show)
        pairs = {port: (term, changed.outputs[port]) for port, term in plain.outputs.items()}
        flags = [pairs[f"o__special__{flag}"] for flag in SPECIAL if f"o__special__{flag}" in pairs]
        # An infinity that is not said to be one is one all the same, where the numbers are those of an infinity.
        silent = name == "products" and self._relations.infinity is not None
        if flags:
            right = _same_flags(flags, silent)
            if name == "products" and self._nan_handed_on is not None:
                right = either(right, self._unsaid(self._nan_handed_on, plain, pairs, flags))
            found = ask(right, (relation.always,), seconds, show)
            if found.word != "proved":
                return found
        numbers = self._same_numbers(name, pairs, changed)
        if silent:
            said = both(*(same(*pair) for pair in flags), negated(both(*(negated(is_one(one)) for one, _ in flags))))
            numbers = either(numbers, said)
        known = (relation.always, relation.plain, *(negated(is_one(one)) for one, _ in flags[: 1 if silent else None]))
        return ask(numbers, known, seconds, show)

    @cached_property
    def _nan_handed_on(self) -> Term | None:
        return nan_handed_on(self._relations)

    @staticmethod
    def _unsaid(
        nan: Term, plain: Circuit, pairs: Mapping[str, tuple[Term, Term]], flags: Sequence[tuple[Term, Term]]
    ) -> Term:
        """That a partial sum is that NaN, nothing else is special, and nothing is said of it, nor changed else."""
        carried = plain.inputs["i__carried__code"]
        others = fixed(plain, {"i__carried__code": value(0, width(carried))}).outputs
        none = [negated(is_one(others[f"o__special__{flag}"])) for flag in SPECIAL]
        none += [negated(is_one(changed)) for _, changed in flags]
        return both(same(carried, nan), *none, *(same(*pair) for port, pair in pairs.items() if "special" not in port))

    def _same_numbers(self, part: str, pairs: Mapping[str, tuple[Term, Term]], changed: Circuit) -> Term:
        """That what a part makes of numbers is the same, as far as what follows can tell. pairs: of its outputs."""
        if part == "products":
            return self._relations.same_numbers(pairs)
        numbers = {port: same(*pair) for port, pair in pairs.items() if "special" not in port}
        if part == "promote.decode":
            return either(both(*numbers.values()), self._adder_relations.zero_below(pairs))
        if part == "maximum":
            plain = {port: term for port, (term, _) in pairs.items()}
            raised = self._relations.same_maximum(changed.outputs, plain)
            others = [term for port, term in numbers.items() if "max_exp" not in port]
            nothing = self._relations.nothing_to_add(changed.outputs)
            return either(both(*numbers.values()), nothing, both(raised, *others))
        return both(*numbers.values())

    def equal_whole(self, mutant: Mutant, seconds: float) -> Decided:
        """Whether all steps of a mutant's circuit, one after another, give the code that they gave.

        A model that refutes it is of operands, or of a register and a partial sum, that show the mutant.
        """
        promotes = mutant.step.startswith("promote")
        first, last = ("promote.decode", "promote.round") if promotes else ("products", "round")
        plain = self._whole_adder if promotes else self._whole_datapath
        changed = self._whole(promotes, mutant)
        wanted = self._same_code(last, plain.outputs, changed.outputs)
        return ask(wanted, (self.relations[first].always,), seconds, tuple(plain.inputs.values()))

    def equal_adder(self, mutant: Mutant, seconds: float) -> Decided:
        """The same of a promotion's adder: of what is special, and of numbers at each distance of their exponents.

        Of a known distance the shifters are wires. seconds: for each question. A model that refutes it is of codes; it
        is undecided where numbers alone, which codes need not have, tell the mutant.
        """
        flags = [term for port, term in self.plain["promote.decode"].outputs.items() if port.endswith(FLAGS)]
        special, plain, changed = either(*map(is_one, flags)), self._whole_adder, self._whole(True, mutant)
        wanted, relation = self._same_code("promote.round", plain.outputs, changed.outputs), self.relations
        known = relation["promote.decode"].always, special
        found = ask(wanted, known, seconds, tuple(plain.inputs.values()))
        if found.word != "proved":
            return found
        alike = self._numbers_decoded if mutant.step == "promote.decode" else self._numbers_added
        return replace(found, word="proved" if alike(mutant, seconds) else "undecided")

    def _numbers_decoded(self, mutant: Mutant, seconds: float) -> bool:
        """Whether a mutant of the adder's decoding leaves numbers as they are, as far as what follows can tell."""
        plain, changed = self.plain["promote.decode"], self.with_mutant(mutant)
        pairs = {port: (term, changed.outputs[port]) for port, term in plain.outputs.items()}
        numbers = [negated(is_one(term)) for port, term in plain.outputs.items() if port.endswith(FLAGS)]
        wanted = either(both(*(same(*pair) for pair in pairs.values())), self._adder_relations.zero_below(pairs))
        return ask(wanted, (self.relations["promote.decode"].always, *numbers), seconds).word == "proved"

    def _numbers_added(self, mutant: Mutant, seconds: float) -> bool:
        """Whether a mutant behind the adder's decoding changes no sum of numbers."""
        names = [name for name in self.plain if name.startswith("promote") and part_of(name) != "promote.decode"]
        plain = connected([self.plain[name] for name in names])
        changed = connected([
            self.with_mutant(mutant) if mutant.step == name else self.plain[name] for name in names
        ])  # fmt: skip
        relation, aligned = self.relations["promote.align"], self._align_alike(mutant)
        wanted = self._same_code("promote.round", plain.outputs, changed.outputs)
        for known, by in self._adder_relations.by_distance():
            alike, here, *assumed = all_substituted([aligned, wanted, relation.always, relation.plain, *known], by)
            # At most distances a mutant changes nothing at all, which is soon found.
            if all(ask(claim, assumed, seconds).word != "proved" for claim in (alike, here)):
                return False
        return True

    def _align_alike(self, mutant: Mutant) -> Term:
        """That a promotion's numbers are aligned as they are without a mutant; false for one that is behind that."""
        if mutant.step != "promote.align":
            return negated(both())
        changed = self.with_mutant(mutant).outputs
        return both(*(same(term, changed[port]) for port, term in self.plain["promote.align"].outputs.items()))

    @cached_property
    def _whole_datapath(self) -> Circuit:
        return self._whole(False)

    @cached_property
    def _whole_adder(self) -> Circuit:
        return self._whole(True)

    def _whole(self, promotes: bool, mutant: Mutant | None = None) -> Circuit:
        return connected([
            circuit if mutant is None or mutant.step != step else self.with_mutant(mutant)
            for step, circuit in self.plain.items()
            if step.startswith("promote") is promotes
        ])  # fmt: skip

    def _same_code(self, part: str, plain: Mapping[str, Term], changed: Mapping[str, Term]) -> Term:
        """Two codes are the same, or both are NaN and said to be; a promotion takes the code alone."""
        promotion = self.unit.promotion
        fmt = as_float(self.unit.result.format if part == "round" or promotion is None else promotion.format)
        code, other = plain["o__code"], changed["o__code"]
        both_same = same(code, other)
        if "o__nan" not in plain:
            return both_same
        both_nan = both(_is_nan(fmt, code), _is_nan(fmt, other)) if fmt.nan == "ieee" else negated(both())
        good = unpromised(self.unit)
        # As an operand, the sign of a zero changes nothing but signs of zeros.
        both_zero = both(_is_zero(fmt, code), _is_zero(fmt, other)) if good.zeros is not None else negated(both())
        taken_over = either(both_same, both_nan, both_zero)
        if part == "round" and promotion is not None:
            return taken_over
        # The result of what is said to be NaN is the unit's own, or any.
        nan, other_nan = is_one(plain["o__nan"]), is_one(changed["o__nan"])
        own = value(self.unit.nan >> fmt.padding, width(code))
        as_result = both(
            implies(both(nan, negated(other_nan)), same(other, own)),
            implies(both(negated(nan), other_nan), same(code, own)),
            implies(negated(either(nan, other_nan)), both_same),
        )
        if good.nans is not None:
            as_result = either(both_nan, as_result)
        if good.zeros is not None:
            as_result = either(both_zero, as_result)
        return both(taken_over, as_result)


def _is_zero(fmt: FloatFormat, code: Term) -> Term:
    """Whether a code is that of a zero."""
    return holds(Integer.unsigned(code) & (fmt.sign_bit - 1) == 0)


def _is_nan(fmt: FloatFormat, code: Term) -> Term:
    """Whether a code is NaN, as IEEE 754 has them."""
    size, field, bits = 1 << fmt.fraction_bits, (1 << fmt.exponent_bits) - 1, Integer.unsigned(code)
    return both(holds(bits & (size - 1) != 0), holds((bits >> fmt.fraction_bits & field) == field))


def part_of(step: str) -> str:
    """The part that a step belongs to."""
    for parts in (ADDER_PARTS, PARTS):
        for part, names in parts.items():
            if step in names or step.split(".")[0] in names:
                return part
    raise ValueError(f"{step} is no step of a datapath")


def _same_flags(flags: Sequence[tuple[Term, Term]], silent: bool) -> Term:
    """Flags nan, positive and negative say the same: both infinities are as good as NaN.

    silent: whether that of an infinity may be missing.
    """
    plain, changed = zip(*flags, strict=True)
    nans = [either(is_one(one[0]), both(is_one(one[1]), is_one(one[2]))) for one in (plain, changed)]
    return both(
        op(Kind.EQUAL, *nans),
        either(nans[0], both(*(same(*pair) for pair in flags[1:])))
        if not silent
        else either(nans[0], both(*(implies(is_one(changed), is_one(plain)) for plain, changed in flags[1:]))),
    )


def _step(text: str, name: str) -> _Step:
    circuit = read_btor(text, f"{name}.")
    inputs = {port: term for port, term in circuit.inputs.items() if port != SELECT}
    return _Step(replace(circuit, inputs=inputs), circuit.inputs.get(SELECT))
