"""Operands that show a refuted claim, and comparisons of cases beside the file, which are no proof."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hwsim.base.text import counted
from hwsim.cases.case import Case, beats, block_lengths, dot, fill, modal_dot
from hwsim.cases.drawing import WORD, Stream
from hwsim.cases.palette import infinities, nans, negate, numbers, zeros
from hwsim.cases.random_cases import in_mode, mixed, most_beats
from hwsim.formats import Format
from hwsim.formats.blocks import one_code
from hwsim.formats.codes import is_padded
from hwsim.model.clock import Beat
from hwsim.model.definition import Definition
from hwsim.prove.accumulation import AccumulationClaims, PromotionClaims
from hwsim.prove.additions import entering
from hwsim.prove.circuits import Circuit
from hwsim.prove.claims import AnyClaim, ComparedCases, DatapathClaims, OfSolver
from hwsim.prove.factors import code_of_one
from hwsim.prove.readback import ReadBack
from hwsim.prove.terms import (
    Decided,
    Evaluated,
    Term,
    all_substituted,
    ask,
    constant,
    evaluated,
    negated,
    same,
    true,
    value,
    width,
)
from hwsim.spec import ModalUnit, Specified, Unit
from hwsim.spec.keys import Factor

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
        parts = [f"a[{index}] {a:#x}, b[{index}] {b:#x}" for index, (a, b) in factors if a or b]
        scales = {"scale_a": case.scale_a, "scale_b": case.scale_b}
        parts += [f"{name} {' '.join(map(hex, codes))}" for name, codes in scales.items() if codes]
        operands = "; ".join([*parts, f"c {case.c:#x}"])
        return f"{self.claim}: shown by {operands}: expected {self.expected:#x}, got {self.got:#x}"


class Examples(ABC):
    """A search for operands of one group that show some RTL to be wrong.

    neutral: by the names of inputs, codes of nothing. inputs: the operands' codes. by: each signal between steps, as a
    term of these. ones: scales of 1 that `neutral` has not.
    """

    def __init__(
        self, unit: Unit, definition: Definition, neutral: Mapping[str, Term], inputs: dict[str, Term],
        by: dict[Term, Term],
    ):  # fmt: skip
        self.unit, self.definition, self.neutral, self.inputs, self.by = unit, definition, neutral, inputs, by
        self.ones = dict[str, Term]()

    @abstractmethod
    def _computed(self, case: Case) -> int:
        """The RTL's result of a case."""

    def of(self, claim: AnyClaim) -> WrongCase | None:
        """Return a case that shows a claim to be wrong, or the first that shows anything to be; None without one."""
        tried = set()
        for case in self._cases(claim):
            if case in tried or not self._is_padded(case):
                continue
            tried.add(case)
            if self._differs(claim.name, case):
                return self._simplest(claim.name, case)
        return None

    def _is_padded(self, case: Case) -> bool:
        """True if all its codes are padded: the solver may find others, of claims that do not look at the padding."""
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
        """The choices of lanes that may hold something: few first."""
        last = self.unit.instruction.lanes - 1
        choices = [(), (0,), (0, last), tuple(range(min(4, last + 1))), tuple(range(last + 1))]
        return list(dict.fromkeys(tuple(dict.fromkeys(lanes)) for lanes in choices))

    def _found(self, wrong: Sequence[Term], lanes: Sequence[int]) -> Iterator[Case]:
        """Yield cases in which these conditions hold; an addend or first code that was found is not found again."""
        fixed = {
            term: self._fixed(name)
            for name, term in self.inputs.items()
            if not (name == "i__c" or (name.startswith(("i__a__", "i__b__")) and int(name.split("__")[2]) in lanes))
        }
        conditions = all_substituted(wrong, fixed)
        free = [term for term in self.inputs.values() if term not in fixed]
        for _ in range(TRIES if free else 1):
            answer = ask(negated(true()), conditions, SECONDS, free)
            if answer.model is None:
                return
            yield self._case({name: answer.model.get(term.symbol(), None) for name, term in self.inputs.items()})
            excluded = free[min(len(free) - 1, 1 if "i__c" in self.inputs else 0)]
            seen = value(answer.model[excluded.symbol()], width(excluded))
            conditions = [*conditions, negated(same(excluded, seen))]

    def _fixed(self, name: str) -> Term:
        term = self.inputs[name]
        if name.startswith(("i__chain", "i__carried", "i__c")):
            return value(0, width(term))
        return self.ones[name] if name in self.ones else self.neutral[name]

    def _case(self, model: Mapping[str, int | None]) -> Case:
        """A case from codes by the names of inputs; None stands for the code of a lane that holds nothing."""

        def code(name: str) -> int:
            wanted = model.get(name)
            return int(self._fixed(name).value(10)) if wanted is None else wanted

        def side(name: str) -> tuple[int, ...]:
            ports = [port for port in self.inputs if port.startswith(f"i__{name}__")]
            return tuple(code(port) for port in sorted(ports, key=lambda port: int(port.split("__")[2])))

        c = code("i__c") if "i__c" in self.inputs else 0
        return Case("counterexample", side("a"), side("b"), c, side("scale_a"), side("scale_b"))

    def _plain(self) -> Iterator[Case]:
        """Yield cases for what no solver refutes: each lane with the same small and the largest factors."""
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
    """A search for operands of one group that show a datapath, or the promotion behind it, to be wrong."""

    def __init__(self, claims: DatapathClaims, after: PromotionClaims | AccumulationClaims | None = None):
        first, *others = claims.chain
        by, self.code = _as_terms_of_codes(first, others)
        definition = Definition(claims.unit, keep=False)
        super().__init__(claims.unit, definition, claims.neutral, dict(first.inputs), by)
        if after is not None:
            self._added(after)

    def _added(self, claims: PromotionClaims | AccumulationClaims) -> None:
        """Add the group's sum to the kept addend."""
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
        """The result of the RTL's steps for a case's first group."""
        beat = next(iter(beats(self.unit, case)))
        codes = self._codes(beat)
        inputs = {term: value(codes.get(name, int(self._fixed(name).value(10))), width(term))
                 for name, term in self.inputs.items()}  # fmt: skip
        fmt, code = self.unit.output, evaluated(self.code, inputs)
        is_nan = fmt.canonical_nan is not None and code == fmt.canonical_nan >> fmt.padding
        return int(fmt.canonical_nan or 0) if is_nan else code << fmt.padding  # whose padding holds ones

    def _codes(self, beat: Beat) -> dict[str, int]:
        sides = {"a": beat.a, "b": beat.b, "scale_a": beat.scale_a, "scale_b": beat.scale_b}
        codes = {
            f"i__{side}__{index}": code
            for side, codes_of_side in sides.items()
            for index, code in enumerate(codes_of_side)
        }
        return {**codes, "i__c": beat.c}


def _as_terms_of_codes(first: Circuit, others: Sequence[Circuit]) -> tuple[dict[Term, Term], Term]:
    """Return each signal between steps in terms of the codes that enter, and the code that leaves."""
    by, outputs = dict[Term, Term](), first.outputs
    for step in others:
        here = {term: outputs[f"o{name[1:]}"] for name, term in step.inputs.items()}
        by |= here
        names = list(step.outputs)
        outputs = dict(zip(names, all_substituted((step.outputs[name] for name in names), here), strict=True))
    return by, outputs["o__code"]


SEED = 1
EACH = 64  # cases of each length
FEWEST = 16
WORK = 30_000_000  # numbers worked out for the cases of one length, as far as these are not too few
SPARE = 8  # cycles beyond those that beats and registers take, after which a result is missing
ANY, NEAR, LANDMARKS, FEW, CANCELLING = range(5)  # kinds of cases
CANCELS, SPECIALS, ANY_SCALE = 0.5, 0.05, 0.05  # shares: of pairs, of landmarks, of scales


class OtherPorts(Exception):
    """A beat of the file has not as many codes of a kind as one of the unit."""


@dataclass
class PlayedClaim:
    """The claim that the file returns the result of the model's dot product, of some cases.

    wrong: a case where it does not.
    """

    file: ReadBack
    wrong: WrongCase | None = None

    name = "whole dot products"
    words = "the file returns what the model's `dot` does: compared, not proved"
    solver = "cases"

    @cached_property
    def cases(self) -> list[Case]:
        """The cases that are compared, drawn at random, of every length that sums are tried in."""
        return list(_cases(self.file.unit, self._each))

    @property
    def over(self) -> str:
        """The description of the cases that were compared."""
        lengths = sorted({len(case.a) // self.file.unit.instruction.lanes for case in self.cases})
        of_groups = f"of {', '.join(map(str, lengths))} groups"
        return f"{counted(len(self.cases), 'case')} {of_groups} drawn at random, special values among them, seed {SEED}"

    def decide(self, seconds: float) -> Decided | ComparedCases:
        """Compare all cases, however long it takes: how many there are depends on the file's size alone."""
        by_length: dict[int, list[Case]] = {}
        for case in self.cases:
            by_length.setdefault(len(case.a), []).append(case)
        for cases in by_length.values():
            try:
                got = PlayedFile(self.file).results(cases)
            except OtherPorts:
                return Decided("refuted", 0.0, {})
            for case, code in zip(cases, got, strict=True):
                expected = _expected(self.file.unit, case)
                if code != expected:
                    self.wrong = WrongCase(self.name, case, expected, -1 if code is None else code)
                    return Decided("refuted", 0.0, {"expected": expected} | ({} if code is None else {"got": code}))
        return ComparedCases()

    @property
    def _each(self) -> int:
        """The number of cases of each length: fewer of a large file."""
        size = PlayedFile(self.file).size
        cycles = self.file.latency + 2
        return max(FEWEST, min(EACH, WORK // (size * cycles)))


def _cases(unit: Specified, each: int) -> Iterator[Case]:
    if isinstance(unit, Unit):
        for length in _lengths(unit):
            yield from _drawn(unit, length, each)
        return
    for length in _lengths(unit.units[0]):
        modes = [_drawn(mode, length, each) for mode in unit.units]
        for number, cases in enumerate(modes):
            yield from (in_mode(unit, number, case) for case in cases)
        yield from mixed(unit, modes, each, Stream(SEED, unit.name, "prove"))


def _lengths(unit: Unit) -> list[int]:
    """The numbers of groups: the fewest, the next length, and one beyond where a partial sum starts again twice."""
    whole, longest = unit.instruction.fill // unit.instruction.lanes, most_beats(unit)
    return sorted({whole, min(2 * whole, longest), longest})


def _drawn(unit: Unit, groups: int, count: int) -> list[Case]:
    stream, terms = Stream(SEED, unit.name, "prove", groups), groups * unit.instruction.lanes
    return [_case(unit, stream, number, terms) for number in range(count)]


def _case(unit: Unit, stream: Stream, number: int, terms: int) -> Case:
    """A case of some kind: factors all over the format, within a few binades, of landmarks, few, or cancelling."""
    kind, operands, scale = number % 5, unit.operands, unit.scale
    a, b = (_codes(fmt, stream, kind, terms) for fmt in (operands.a, operands.b))
    if kind == FEW:
        kept = set(stream.sample(range(terms), min(2, terms)))
        a = [code if index in kept else 0 for index, code in enumerate(a)]
    if kind == CANCELLING:
        for index in range(0, terms - 1, 2):
            opposite = negate(operands.a, a[index])
            if opposite is not None and stream.random() < CANCELS:
                a[index + 1], b[index + 1] = opposite, b[index]
    c = 0 if operands.addend is None else _codes(operands.addend, stream, stream.randrange(3), 1)[0]
    scales = [
        [one_code(side.format) if kind == ANY else _near_one(side.format, stream) for _ in range(-(-terms // length))]
        for side, length in zip((scale.a, scale.b), block_lengths(unit), strict=True)
    ] if scale is not None else [[], []]  # fmt: skip
    return Case(f"prove/{number:03}", tuple(a), tuple(b), c, tuple(scales[0]), tuple(scales[1]))


def _codes(fmt: Factor, stream: Stream, kind: int, count: int) -> list[int]:
    """Some codes in their containers."""
    if kind == LANDMARKS:
        named = [*numbers(fmt).values()]
        every = [*named, *(code for landmark in named if (code := negate(fmt, landmark)) is not None), *zeros(fmt)]
        special = [*nans(fmt), *infinities(fmt)]
        return [stream.choice(special if special and stream.random() < SPECIALS else every) for _ in range(count)]
    if kind == ANY:
        return [_bits(stream, fmt.bits) << fmt.padding for _ in range(count)]
    magnitude_bits = fmt.bits - fmt.signed
    middle, codes = _bits(stream, magnitude_bits), list[int]()
    for _ in range(count):
        code = (middle + stream.randint(-2, 2) * (1 << fmt.fraction_bits) + stream.randint(-3, 3)) % (
            1 << magnitude_bits
        )
        codes.append((code | (_bits(stream, 1) << magnitude_bits if fmt.signed else 0)) << fmt.padding)
    return codes


def _bits(stream: Stream, bits: int) -> int:
    """A random number of so many bits."""
    number = 0
    for _ in range(0, bits, WORD):
        number = number << WORD | stream.word()
    return number & (1 << bits) - 1


def _near_one(fmt: Format, stream: Stream) -> int:
    """A scale near 1, or now and then any."""
    most = (1 << fmt.bits) - 1
    if stream.random() < ANY_SCALE:
        return stream.randint(0, most) << fmt.padding
    return min(most, max(0, (one_code(fmt) >> fmt.padding) + stream.randint(-4, 4))) << fmt.padding


def _expected(unit: Specified, case: Case) -> int:
    """The model's result, by its whole dot product and nothing else."""
    if isinstance(unit, ModalUnit):
        return modal_dot(unit, [Definition(mode) for mode in unit.units], case).code
    return dot(Definition(unit), case).code


class PlayedFile:
    """A file, cycle by cycle, for several samples at once, each of which has a sum in each context."""

    def __init__(self, file: ReadBack):
        self.file, self.circuit = file, file.circuit
        self.states = {name: state for name, state in self.circuit.states.items() if state.next is not None}

    @property
    def size(self) -> int:
        """The number of terms that are worked out in each cycle."""
        known = {term.symbol(): [0] for term in (*self.circuit.inputs.values(), *self._now.values())}
        values = Evaluated(known)
        for term in self._wanted:
            values.of(term)
        return len(values.found)

    @property
    def _now(self) -> dict[str, Term]:
        return {name: state.now for name, state in self.circuit.states.items()}

    @property
    def _wanted(self) -> list[Term]:
        return [*(state.next for state in self.states.values()), *self.circuit.outputs.values()]

    def results(self, cases: Sequence[Case]) -> list[int | None]:
        """Return the result of each case, all of one length; None where none comes in time."""
        contexts = self.file.pipeline.contexts
        samples = [cases[index : index + contexts] for index in range(0, len(cases), contexts)]
        waiting = [list(self._payloads(sample)) for sample in samples]
        stream = Stream(SEED, "prove", "registers")
        registers = {term.symbol(): [_bits(stream, width(term)) for _ in samples] for term in self._now.values()}
        idle = {"rst": 0, "i__valid": 0, "i__payload": 0, "o__ready": 1}
        registers = self._cycle(registers, [idle | {"rst": 1} for _ in samples])[0]
        codes: list[list[int | None]] = [[None] * len(sample) for sample in samples]
        most = (len(waiting[0]) + 1) * (self.file.latency + 2) + SPARE
        for _ in range(most):
            inputs = [idle | {"i__valid": int(bool(rest)), "i__payload": rest[0] if rest else 0} for rest in waiting]
            registers, outputs = self._cycle(registers, inputs)
            for index, rest in enumerate(waiting):
                if rest and outputs["i__ready"][index]:
                    rest.pop(0)
                if outputs["o__valid"][index]:
                    payload = outputs["o__payload"][index]
                    context = self._field(payload, "o.context") if contexts > 1 else 0
                    if context < len(codes[index]):
                        codes[index][context] = self._field(payload, "o.result")
            if all(None not in sample_results for sample_results in codes):
                break
        return [code for sample_results in codes for code in sample_results]

    def _cycle(
        self, registers: dict[str, list[int]], given: Sequence[dict[str, int]]
    ) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
        """Run one cycle; return the registers' contents after it, and the outputs in it."""
        inputs = {
            term.symbol(): [sample.get(name, 0) for sample in given] for name, term in self.circuit.inputs.items()
        }
        worked = Evaluated({**registers, **inputs})
        outputs = {name: list(worked.of(term)) for name, term in self.circuit.outputs.items()}
        after = {state.now.symbol(): list(worked.of(state.next)) for state in self.states.values()}
        return {**registers, **after}, outputs

    def _payloads(self, cases: Sequence[Case]) -> Iterator[int]:
        """Yield the beats of cases of one length: the first beat of each case in its context, then each second beat."""
        beats_of_cases = [list(beats(self.file.unit, case, context)) for context, case in enumerate(cases)]
        for index in range(len(beats_of_cases[0])):
            for of_case in beats_of_cases:
                beat, payload = of_case[index], 0
                for key, places in self.file.fields.items():
                    port, _, name = key.partition(".")
                    if port != "i":
                        continue
                    codes = getattr(beat, name)
                    elements = codes if isinstance(codes, tuple) else (int(codes),)
                    if len(places) != len(elements):
                        raise OtherPorts
                    for (low, bits), code in zip(places, elements, strict=True):
                        payload |= (code & (1 << bits) - 1) << low
                yield payload

    def _field(self, payload: int, key: str) -> int:
        ((low, bits),) = self.file.fields[key]
        return payload >> low & (1 << bits) - 1
