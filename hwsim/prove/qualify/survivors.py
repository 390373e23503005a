"""Mutants that no vector kills: shown to change nothing, or refuted by a claim of the proof, asked with them in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hwsim.base.errors import InputError
from hwsim.cases.case import Case, batches
from hwsim.formats import FloatFormat, Format
from hwsim.prove.accumulation import after_claims
from hwsim.prove.circuits import Circuit, connected, fixed, read_btor
from hwsim.prove.claims import AnyClaim, CasesClaim, Claim, LateClaim, StructuralClaim
from hwsim.prove.composition import Unmet
from hwsim.prove.methods import method_claims
from hwsim.prove.qualify.machine import TOGETHER, played
from hwsim.prove.qualify.mutants import BTOR, OF_LANES, Mutant, written
from hwsim.prove.qualify.reachable import Codes, Handed
from hwsim.prove.qualify.steps import CARRIED, ENTERING, SELECTOR, UnitNetlists
from hwsim.prove.selection import chosen
from hwsim.prove.sweeping import Alike
from hwsim.prove.terms import (
    Term,
    Word,
    ask,
    both,
    choose,
    constant,
    implies,
    is_one,
    same,
    substituted,
    value,
    width,
)
from hwsim.spec import Unit, modes_of

AT_ONCE = 50  # mutants whose steps are read by one run of Yosys
NEAR = 2.0  # seconds for a question about one step
NOT_ASKED = (InputError, Unmet)  # of a circuit that a claim cannot be written about: nothing is shown


@dataclass(frozen=True)
class Refuted:
    """A claim that does not hold with a mutant, and values of constants that refute it."""

    claim: str
    words: str
    model: Mapping[str, int]


class MutatedSteps:
    """The steps of a unit as terms: each without a mutant, or with one of some.

    Each mutant is read by itself: gates that choose others, which are not there, would make lanes differ.
    """

    def __init__(self, nets: UnitNetlists, mutants: Iterable[Mutant]):
        self.group, self.adder = ([step.name for step in some] for some in (nets.group, nets.adder))
        self.mutants = list(mutants)
        self._netlists = {netlist.name: netlist for netlist in nets.steps}
        self.plain = dict(zip(self._netlists, self._read([(name, []) for name in self._netlists]), strict=True))
        self._mutated: dict[Mutant, Circuit] = {}

    def with_mutant(self, mutant: Mutant) -> Circuit:
        """The mutant's step. Those that follow in the list are read with it."""
        if mutant not in self._mutated:
            first = self.mutants.index(mutant)
            some = self.mutants[first : first + AT_ONCE]
            read = self._read([(listed.step, [listed]) for listed in some])
            self._mutated = {
                listed: self._of_plain_inputs(listed, circuit) for listed, circuit in zip(some, read, strict=True)
            }
        return self._mutated[mutant]

    def _of_plain_inputs(self, mutant: Mutant, circuit: Circuit) -> Circuit:
        """A mutant's step, as a function of the inputs of the step without it."""
        plain = self.plain[mutant.step]
        chosen = {port: plain.inputs.get(port, value(1, 1)) for port in circuit.inputs}
        return replace(fixed(circuit, chosen), inputs=plain.inputs)

    def _read(self, wanted: Sequence[tuple[str, list[Mutant]]]) -> list[Circuit]:
        texts = written([(self._netlists[name], some) for name, some in wanted], "btor", BTOR)
        return [read_btor(text, f"{name}.") for (name, _), text in zip(wanted, texts, strict=True)]


def same_outputs(plain: Circuit, mutated: Circuit) -> Term:
    """The condition that all outputs of two circuits are the same."""
    return both(*(same(term, mutated.outputs[port]) for port, term in plain.outputs.items()))


def in_every_lane(plain: Circuit, mutated: Circuit) -> Circuit:
    """A step whose other lanes are as its first one is, wherever they were before.

    What is proved of this circuit is proved of one in which the first lane alone is mutated: claims are of each lane.
    """
    outputs = dict(mutated.outputs)
    for port, term in plain.outputs.items():
        match = OF_LANES.match(port)
        if match is None or int(match[1]):
            continue
        for lane in range(1, len(plain.outputs)):
            target = _at_lane(port, lane)
            if target not in plain.outputs:
                break
            inputs = {name: _at_lane(name, lane) for name in plain.inputs if OF_LANES.match(name)}
            by = {plain.inputs[old]: plain.inputs[new] for old, new in inputs.items() if new in plain.inputs}
            if substituted(term, by) == plain.outputs[target]:
                outputs[target] = substituted(mutated.outputs[port], by)
    return replace(mutated, outputs=outputs)


def _at_lane(port: str, lane: int) -> str:
    """The same port of another lane, for one of the first; other lanes' ports stay."""
    match = OF_LANES.match(port)
    if match is None or int(match[1]):
        return port
    return f"{port[: match.start(1)]}{lane}{port[match.end(1) :]}"


def _elements(ports: Mapping[str, Term], begins: str) -> list[Term]:
    """The terms of ports with numbers, in their order."""
    return [ports[f"{begins}{index}"] for index in range(sum(name.startswith(begins) for name in ports))]


def one_beat_case(unit: Unit, codes: Mapping[str, int]) -> Case:
    """Operands of one beat, as ports have them, as a case; bits that pad a code are zeros."""

    def clean(code: int, fmt: Format) -> int:
        return code >> fmt.padding << fmt.padding

    def side(name: str, fmt: Format) -> tuple[int, ...]:
        pattern = re.compile(rf"i__{name}(?:__(\d+))?$")
        by_index = {int(match[1] or 0): code for port, code in codes.items() if (match := pattern.match(port))}
        return tuple(clean(by_index[index], fmt) for index in sorted(by_index))

    operands, scale = unit.operands, unit.scale
    c = 0 if operands.addend is None else clean(codes.get("i__c", 0), operands.addend)
    scales = () if scale is None else (side("scale_a", scale.a.format), side("scale_b", scale.b.format))
    return Case("shown", side("a", operands.a), side("b", operands.b), c, *scales)


def _result_of(outputs: Mapping[str, Term]) -> dict[str, Term]:
    """The bit that says whether the result is NaN, and else its code."""
    nan, code = outputs["o__nan"], outputs["o__code"]
    return {"nan": nan, "code": choose(is_one(nan), value(0, width(code)), code)}


class Survivors:
    """A check of what mutants that no vector kills change. cuts: as of `UnitNetlists`. seconds: for each question."""

    def __init__(self, nets: UnitNetlists, cuts: Sequence[str], mutants: Iterable[Mutant], seconds: float):
        self.unit, self.nets, self.cuts, self.seconds = nets.unit, nets, cuts, seconds
        self.steps = MutatedSteps(nets, mutants)
        self._affected: dict[str, frozenset[str]] = {}

    def decide(self, mutant: Mutant) -> tuple[Word, Refuted | None]:
        """Return proved if a mutant is shown to change nothing; refuted if a dot product shows it, or a claim fails.

        A claim may ask for more than any dot product of lengths that are run can show.
        """
        plain, mutated = self.steps.plain[mutant.step], self.steps.with_mutant(mutant)
        if mutant.step == SELECTOR:
            return self._selects(mutated)
        near = ask(same_outputs(plain, mutated), (), min(NEAR, self.seconds)).word
        if near == "proved":
            return "proved", None
        if self._whole(mutant.step, mutated) == "proved":
            return "proved", None
        if (shown := self._shown(mutant, mutated)) is not None:
            return "refuted", shown
        return self._by_claims(mutant.step, in_every_lane(plain, mutated), near == "refuted")

    def _selects(self, mutated: Circuit) -> tuple[Word, Refuted | None]:
        """The answer to what `hwsim prove` asks of a selector: each lane's factor is the model's, for all metadata."""
        assert self.nets.sparse is not None
        rule = self.nets.sparse.sparsity
        b, metadata = (_elements(mutated.inputs, f"i__{side}__") for side in ("b", "metadata"))
        wanted = [chosen(rule, b, metadata, lane) for lane in range(self.unit.instruction.lanes)]
        claim = both(*map(same, _elements(mutated.outputs, "o__b__"), wanted))
        answer = ask(claim, (), self.seconds, [*b, *metadata])
        if answer.model is None:
            return answer.word, None
        shown = {f"{side}__{index}": answer.model[term.symbol()] for side, terms in (("b", b), ("metadata", metadata))
                 for index, term in enumerate(terms)}  # fmt: skip
        return answer.word, Refuted(SELECTOR, "each lane gets the factor that the model's `selected` returns", shown)

    def _chain(self, names: Sequence[str], step: str = "", mutated: Circuit | None = None) -> Circuit:
        """Some steps, one after another, one of them mutated."""
        return connected(
            [mutated if name == step and mutated is not None else self.steps.plain[name] for name in names]
        )

    @cached_property
    def _group(self) -> Circuit:
        return self._chain(self.steps.group)

    @cached_property
    def handed_on(self) -> Codes | None:
        """The codes of partial sums, as far as they are known to be fewer than all."""
        if [name for name in self._group.inputs if name.startswith(CARRIED)] != [f"{CARRIED}code"]:
            return None
        fmt = self.unit.result.format
        return Handed(self._group, fmt).codes() if isinstance(fmt, FloatFormat) else None

    def _whole(self, step: str, mutated: Circuit) -> Word:
        """The answer to whether the step's chain makes the same with it, of any inputs, and of codes handed on."""
        of_group = step in self.steps.group
        plain = self._group if of_group else self._chain(self.steps.adder)
        changed = self._chain(self.steps.group if of_group else self.steps.adder, step, mutated)
        known = []
        if self.handed_on is not None and of_group:
            chain, code = plain.inputs["i__chain"], plain.inputs[f"{CARRIED}code"]
            known = [implies(same(chain, value(1, 1)), self.handed_on.has(code))]
        elif self.handed_on is not None:
            known = [self.handed_on.has(plain.inputs["i__partial"])]
        return Alike("whole", "", "", tuple(known), same_outputs(plain, changed)).decide(self.seconds).word

    # A dot product of one beat that shows it.

    def _shown(self, mutant: Mutant, mutated: Circuit) -> Refuted | None:
        plain, changed = self._one_beat(), self._one_beat(mutant.step, mutated)
        inputs = {name: term for name, term in plain.inputs.items() if name != "i__mode"}
        for number, mode in enumerate(modes_of(self.unit)):
            port = plain.inputs.get("i__mode")
            known = [] if port is None else [same(port, value(number, width(port)))]
            answer = ask(same_outputs(plain, changed), known, self.seconds, inputs.values())
            if answer.word == "refuted" and answer.model is not None:
                codes = {name: answer.model[term.symbol()] for name, term in inputs.items()}
                if self._kills(mutant, mode, number, one_beat_case(mode, codes)):
                    shown = {name.removeprefix("i__"): code for name, code in codes.items()}
                    return Refuted("result", f"a dot product of one beat of {mode.name} has the model's result", shown)
        return None

    def _one_beat(self, step: str = "", mutated: Circuit | None = None) -> Circuit:
        """The circuit of a dot product of one beat: its code, and whether it is NaN, of its operands' codes."""
        group = self._chain(self.steps.group, step, mutated)
        opens = {
            name: value(0, width(term)) for name, term in group.inputs.items() if name.startswith((CARRIED, "i__chain"))
        }
        inputs = {name: term for name, term in group.inputs.items() if name not in opens}
        group = replace(fixed(group, opens), inputs=inputs)
        if self.nets.after is None:
            return replace(group, outputs=_result_of(group.outputs))
        adder = self._chain(self.steps.adder, step, mutated)
        entering = self.steps.plain[ENTERING]
        c = inputs.get("i__c", entering.inputs["c"])
        entering_adder = {"i__register": substituted(entering.outputs["o"], {entering.inputs["c"]: c})}
        entering_adder["i__partial"] = group.outputs["o__code"]
        scales = {name: term for name, term in adder.inputs.items() if name.startswith("i__scale")}
        entering_adder |= {"i__starts": value(1, 1)} if "i__starts" in adder.inputs else {}
        return Circuit({**inputs, **scales, "i__c": c}, _result_of(fixed(adder, entering_adder).outputs))

    def _kills(self, mutant: Mutant, mode: Unit, number: int, case: Case) -> bool:
        """True if the circuit with the mutant in it returns something else for a case than without."""
        machine = self.nets.machine([mutant], mode)
        killer = played(
            machine, self.nets.groups(mode, batches(mode, [case], TOGETHER), machine, number), lambda count: None
        )
        return bool(killer[0] >= 0)

    # Claims.

    def _claims(self, circuits: Mapping[str, Circuit]) -> Iterator[AnyClaim]:
        group, adder = ({name: circuits[name] for name in some} for some in (self.steps.group, self.steps.adder))
        yield from method_claims(self.unit, self.cuts, group).claims()
        after = after_claims(modes_of(self.unit)[0], self.cuts, adder)
        if after is not None:
            yield from after.claims()

    @cached_property
    def _plain(self) -> dict[str, AnyClaim]:
        return {claim.name: claim for claim in self._claims(self.steps.plain)}

    def _changed(self, step: str, circuit: Circuit) -> Iterator[AnyClaim]:
        yield from self._claims({**self.steps.plain, step: circuit})

    def affected(self, step: str) -> frozenset[str]:
        """The names of claims that depend on a step.

        Of the others the same is claimed, or shown, where the step's outputs may be anything.
        """
        if step not in self._affected:
            plain = self.steps.plain[step]
            free = {port: constant(f"free.{step}.{port}", width(term)) for port, term in plain.outputs.items()}
            left = set(self._plain)
            try:
                for claim in self._changed(step, replace(plain, outputs=free)):
                    if claim.name in left and _is_the_same(claim, self._plain[claim.name]):
                        left.discard(claim.name)
            except NOT_ASKED:
                pass  # those that were not written depend on it, as far as is known
            self._affected[step] = frozenset(left)
        return self._affected[step]

    def _by_claims(self, step: str, circuit: Circuit, differs: bool) -> tuple[Word, Refuted | None]:
        """Decide whether all claims hold with a mutant, and return the first that does not.

        differs: whether the outputs of its step do. What forms show of a step is what it makes of any
        inputs: of one that makes something else it does not hold.
        """
        affected, word = set(self.affected(step)), "proved"
        try:
            for claim in self._changed(step, circuit):
                if claim.name in self._plain and claim.name not in affected:
                    continue
                affected.discard(claim.name)
                answer, model = _decided(claim, self.seconds)
                if answer == "refuted" or (answer != "proved" and differs and isinstance(claim, StructuralClaim)):
                    return "refuted", Refuted(claim.name, claim.words, model)
                word = word if answer == "proved" else "undecided"
        except NOT_ASKED:
            return "undecided", None
        return ("proved" if word == "proved" and not affected else "undecided"), None


def _decided(claim: AnyClaim, seconds: float) -> tuple[str, Mapping[str, int]]:
    try:
        answer = claim.decide(seconds)
    except NOT_ASKED:
        return "undecided", {}
    return answer.word, answer.model or {}


def _is_the_same(claim: AnyClaim, plain: AnyClaim) -> bool:
    """True if a claim is another, or is shown as it stands."""
    try:
        match claim, plain:
            case StructuralClaim(), _:
                return claim.holds()
            case CasesClaim(), CasesClaim():
                return [_terms(case) for case in claim.cases()] == [_terms(case) for case in plain.cases()]
            case ((Claim() | LateClaim()), (Claim() | LateClaim())):
                return _terms(claim) == _terms(plain)
    except NOT_ASKED:
        return False
    return False


def _terms(claim: Claim | LateClaim) -> list[Term]:
    return [claim.claim, *claim.assumptions]
