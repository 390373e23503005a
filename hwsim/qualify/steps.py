"""Whether a mutant changes nothing that matters: of each part of a datapath, wherever the relation before it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hwsim.formats import FloatFormat
from hwsim.prove.btor import Circuit, read_btor
from hwsim.prove.circuits import connected, fixed
from hwsim.prove.logic import (
    Decided,
    Kind,
    Term,
    all_substituted,
    ask,
    both,
    either,
    implies,
    is_one,
    negated,
    op,
    same,
    value,
    width,
)
from hwsim.prove.relations import SPECIAL, holds
from hwsim.prove.symbolic import Integer
from hwsim.qualify.adder_relations import AdderRelations
from hwsim.qualify.leaks import Leaks
from hwsim.qualify.mutants import Mutant
from hwsim.qualify.netlist import BTOR, SELECT, Netlist, written
from hwsim.qualify.relations import ADDER_PARTS, PARTS, Relation
from hwsim.qualify.unsaid import nan_handed_on
from hwsim.rtl.numbers import as_float
from hwsim.spec import Unit, unpromised

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
