"""Operands that show a refuted claim: what the solver found between two steps, carried back to codes and played.

A claim is refuted by values of signals between steps. The steps before them are terms of the operands' codes: the
solver looks for codes that break the claim there, of few lanes first, and each find is computed through all steps and
through the model. A find whose results are equal is no case: the next step may hide what is wrong.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hwsim.cases.case import Case, beats, dot
from hwsim.cosim.suites import fill
from hwsim.formats import Format
from hwsim.formats.codes import is_padded
from hwsim.model.clock import Beat
from hwsim.model.definition import Definition
from hwsim.prove.accumulation import AccumulationClaims
from hwsim.prove.btor import Circuit
from hwsim.prove.claims import AnyClaim, OfSolver
from hwsim.prove.datapathclaims import DatapathClaims
from hwsim.prove.entering import entering
from hwsim.prove.factors import code_of_one
from hwsim.prove.logic import Term, all_substituted, ask, constant, evaluated, negated, same, true, value, width
from hwsim.prove.promotion import PromotionClaims
from hwsim.spec import Unit

TRIES = 6  # finds of a choice of lanes before the next choice
SECONDS = 20.0  # for each find


@dataclass(frozen=True)
class WrongCase:
    """A case on which RTL and model differ. expected, got: containers' codes of the result."""

    claim: str
    case: Case
    expected: int
    got: int

    @property
    def in_words(self) -> str:
        """The operands other than zero, and both results."""
        case = self.case
        factors = enumerate(zip(case.a, case.b, strict=True))
        given = [f"a[{at}] {a:#x}, b[{at}] {b:#x}" for at, (a, b) in factors if a or b]
        scales = {"scale_a": case.scale_a, "scale_b": case.scale_b}
        given += [f"{name} {' '.join(map(hex, codes))}" for name, codes in scales.items() if codes]
        operands = "; ".join([*given, f"c {case.c:#x}"])
        return f"{self.claim}: shown by {operands}: expected {self.expected:#x}, got {self.got:#x}"


class Examples(ABC):
    """Looks for operands of one group that show what is wrong with some RTL.

    neutral: by the names of inputs, codes of nothing. inputs: the operands' codes. by: what each signal between steps
    is, of these. ones: scales of 1 that `neutral` has not.
    """

    def __init__(
        self, unit: Unit, definition: Definition, neutral: Mapping[str, Term], inputs: dict[str, Term],
        by: dict[Term, Term],
    ):  # fmt: skip
        self.unit, self.definition, self.neutral, self.inputs, self.by = unit, definition, neutral, inputs, by
        self.ones = dict[str, Term]()

    @abstractmethod
    def _computed(self, case: Case) -> int:
        """What the RTL makes of a case."""

    def of(self, claim: AnyClaim) -> WrongCase | None:
        """A case that shows a claim to be wrong, or the first that shows anything to be."""
        tried = set()
        for case in self._cases(claim):
            if case in tried or not self._is_padded(case):
                continue
            tried.add(case)
            if self._differs(claim.name, case):
                return self._simplest(claim.name, case)
        return None

    def _is_padded(self, case: Case) -> bool:
        """Whether all its codes are: the solver may find others, of claims that do not look at them."""
        operands, scale = self.unit.operands, self.unit.scale
        sides: list[tuple[Format, tuple[int, ...]]] = [(operands.a, case.a), (operands.b, case.b)]
        sides += [] if operands.addend is None else [(operands.addend, (case.c,))]
        sides += [] if scale is None else [(scale.a.format, case.scale_a), (scale.b.format, case.scale_b)]
        return all(is_padded(fmt, code) for fmt, codes in sides for code in codes)

    def _differs(self, claim: str, case: Case) -> WrongCase | None:
        whole = fill(self.unit, self.unit.instruction.fill, case)
        explained, got = dot(self.definition, self._without_more(whole)), self._computed(whole)
        expected = explained.groups[0].code if self.unit.promotion is None else explained.code
        return None if expected == got else WrongCase(claim, whole, expected, got)

    def _without_more(self, case: Case) -> Case:
        """A case without the bits that ports have above a narrow mode's codes."""
        a, b = ((1 << fmt.container_bits) - 1 for fmt in (self.unit.operands.a, self.unit.operands.b))
        return replace(case, a=tuple(code & a for code in case.a), b=tuple(code & b for code in case.b))

    def _simplest(self, claim: str, case: Case) -> WrongCase | None:
        """The case with as many lanes that hold nothing as can be, one after the other, and then without an addend."""
        nothing = self._case({})
        for lane in range(len(case.a)):
            a, b = list(case.a), list(case.b)
            a[lane], b[lane] = nothing.a[lane], nothing.b[lane]
            fewer = replace(case, a=tuple(a), b=tuple(b))
            case = fewer if self._differs(claim, fewer) else case
        without = replace(case, c=0)
        return self._differs(claim, without) or self._differs(claim, case)

    def _cases(self, claim: AnyClaim) -> Iterator[Case]:
        if isinstance(claim, OfSolver):
            wrong = all_substituted([*claim.assumptions, negated(claim.claim)], self.by)
            for lanes in self._choices():
                yield from self._found(wrong, lanes)
        yield from self._plain()

    def _choices(self) -> list[tuple[int, ...]]:
        """Lanes that may hold something: few first."""
        last = self.unit.instruction.lanes - 1
        choices = [(), (0,), (0, last), tuple(range(min(4, last + 1))), tuple(range(last + 1))]
        return list(dict.fromkeys(tuple(dict.fromkeys(lanes)) for lanes in choices))

    def _found(self, wrong: Sequence[Term], lanes: Sequence[int]) -> Iterator[Case]:
        """Cases in which these conditions hold; whatever is found, its addend or first code is not found again."""
        given = {
            term: self._fixed(name)
            for name, term in self.inputs.items()
            if not (name == "i__c" or (name.startswith(("i__a__", "i__b__")) and int(name.split("__")[2]) in lanes))
        }
        conditions = all_substituted(wrong, given)
        free = [term for term in self.inputs.values() if term not in given]
        for _ in range(TRIES if free else 1):
            answer = ask(negated(true()), conditions, SECONDS, free)
            if answer.model is None:
                return
            yield self._case({name: answer.model.get(term.symbol(), None) for name, term in self.inputs.items()})
            other = free[min(len(free) - 1, 1 if "i__c" in self.inputs else 0)]
            seen = value(answer.model[other.symbol()], width(other))
            conditions = [*conditions, negated(same(other, seen))]

    def _fixed(self, name: str) -> Term:
        term = self.inputs[name]
        if name.startswith(("i__chain", "i__carried", "i__c")):
            return value(0, width(term))
        return self.ones[name] if name in self.ones else self.neutral[name]

    def _case(self, model: Mapping[str, int | None]) -> Case:
        """Codes by the names of inputs as a case; None is what a lane that holds nothing has."""

        def code(name: str) -> int:
            found = model.get(name)
            return int(self._fixed(name).value(10)) if found is None else found

        def side(name: str) -> tuple[int, ...]:
            ports = [port for port in self.inputs if port.startswith(f"i__{name}__")]
            return tuple(code(port) for port in sorted(ports, key=lambda port: int(port.split("__")[2])))

        c = code("i__c") if "i__c" in self.inputs else 0
        return Case("counterexample", side("a"), side("b"), c, side("scale_a"), side("scale_b"))

    def _plain(self) -> Iterator[Case]:
        """Cases for what no solver refutes: each lane with the same small and the largest factors."""
        lanes, neutral = self.unit.instruction.lanes, self._case({})
        addend = self.unit.operands.addend
        addends = (0,) if addend is None else (0, code_of_one(addend))
        least_a, least_b = 1 << self.unit.operands.a.padding, 1 << self.unit.operands.b.padding
        large_a, large_b = self._largest("a"), self._largest("b")
        for a, b in ((least_a, least_b), (large_a, large_b), (large_a, least_b)):
            for chosen in (*((lane,) for lane in range(lanes)), range(lanes)):
                codes_a = tuple(a if lane in chosen else code for lane, code in enumerate(neutral.a))
                codes_b = tuple(b if lane in chosen else code for lane, code in enumerate(neutral.b))
                for c in addends:
                    yield Case("counterexample", codes_a, codes_b, c, neutral.scale_a, neutral.scale_b)

    def _largest(self, side: str) -> int:
        fmt = self.unit.operands.a if side == "a" else self.unit.operands.b
        return int(fmt.max_code) if hasattr(fmt, "max_code") else 1


class DatapathExamples(Examples):
    """Looks for operands of one group that show what is wrong with a datapath, and the promotion behind it."""

    def __init__(self, claims: DatapathClaims, after: PromotionClaims | AccumulationClaims | None = None):
        first, *others = claims.chain
        by, self.code = _as_terms_of_codes(first, others)
        definition = Definition(claims.unit, keep=False)
        super().__init__(claims.unit, definition, claims.neutral, dict(first.inputs), by)
        if after is not None:
            self._added(after)

    def _added(self, claims: PromotionClaims | AccumulationClaims) -> None:
        """The addend is what is kept, and the group's sum is added to it."""
        addend = self.unit.operands.addend
        if addend is not None:
            self.inputs["i__c"] = constant("example.c", addend.container_bits)
        kept = entering(claims.what, self.inputs.get("i__c"))
        outputs = {"o__register": kept, "o__partial": self.code, "o__starts": value(1, 1)}
        for name, fmt in claims.what.scales.items():
            port = f"i__{name}__0"
            self.inputs[port] = outputs[f"o__{name}"] = constant(f"example.{name}", fmt.container_bits)
            self.ones[port] = value(code_of_one(fmt), fmt.container_bits)
        for step in claims.chain:
            here = {term: outputs[f"o{name[1:]}"] for name, term in step.inputs.items()}
            self.by |= here
            names = list(step.outputs)
            outputs = dict(zip(names, all_substituted((step.outputs[name] for name in names), here), strict=True))
        self.code = outputs["o__code"]

    def _computed(self, case: Case) -> int:
        """What the RTL's steps make of a case's first group."""
        beat = next(iter(beats(self.unit, case)))
        codes = self._codes(beat)
        given = {term: value(codes.get(name, int(self._fixed(name).value(10))), width(term))
                 for name, term in self.inputs.items()}  # fmt: skip
        fmt, code = self.unit.output, evaluated(self.code, given)
        is_nan = fmt.canonical_nan is not None and code == fmt.canonical_nan >> fmt.padding
        return int(fmt.canonical_nan or 0) if is_nan else code << fmt.padding  # whose padding holds ones

    def _codes(self, beat: Beat) -> dict[str, int]:
        sides = {"a": beat.a, "b": beat.b, "scale_a": beat.scale_a, "scale_b": beat.scale_b}
        codes = {f"i__{side}__{at}": code for side, each in sides.items() for at, code in enumerate(each)}
        return {**codes, "i__c": beat.c}


def _as_terms_of_codes(first: Circuit, others: Sequence[Circuit]) -> tuple[dict[Term, Term], Term]:
    """What each signal between steps is, of the codes that enter; and the code that leaves."""
    by, outputs = dict[Term, Term](), first.outputs
    for step in others:
        here = {term: outputs[f"o{name[1:]}"] for name, term in step.inputs.items()}
        by |= here
        names = list(step.outputs)
        outputs = dict(zip(names, all_substituted((step.outputs[name] for name in names), here), strict=True))
    return by, outputs["o__code"]
