"""Whole dot products of the model, beside the unit's file as it was read: a comparison of cases, which is no proof.

The other claims run the model's functions one at a time. `Definition.open`, `step`, `close` and `dot`, which put them
together, are run here alone, on known codes; the file's registers are followed cycle by cycle, from any state before a
reset, with as many sums at a time as the unit has contexts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from hwsim.cases.case import Case, beats, block_lengths, dot, modal_dot
from hwsim.cases.drawing import WORD, Stream
from hwsim.cases.landmarks import infinities, nans, negate, numbers, zeros
from hwsim.cases.modal import in_mode, mixed
from hwsim.cases.random_cases import most_beats
from hwsim.formats import Format
from hwsim.formats.blocks import one_code
from hwsim.model.definition import Definition
from hwsim.prove.claims import ComparedCases
from hwsim.prove.evaluated import Evaluated
from hwsim.prove.example import WrongCase
from hwsim.prove.logic import Decided, Term, width
from hwsim.prove.readback import ReadBack
from hwsim.spec import ModalUnit, Specified, Unit
from hwsim.spec.keys import Number
from hwsim.words import counted

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
    """That the file returns what the model's dot product does, of some cases. wrong: one where it does not."""

    file: ReadBack
    wrong: WrongCase | None = None

    name = "whole dot products"
    words = "the file returns what the model's `dot` does: compared, not proved"
    solver = "cases"

    @cached_property
    def cases(self) -> list[Case]:
        """What is compared: cases drawn at random, of every length that sums are tried in."""
        return list(_cases(self.file.unit, self._each))

    @property
    def over(self) -> str:
        """What was compared."""
        lengths = sorted({len(case.a) // self.file.unit.instruction.lanes for case in self.cases})
        of_groups = f"of {', '.join(map(str, lengths))} groups"
        return f"{counted(len(self.cases), 'case')} {of_groups} drawn at random, special values among them, seed {SEED}"

    def decide(self, seconds: float) -> Decided | ComparedCases:
        """Whether all are equal, however long it takes: how many there are depends on the file's size alone."""
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
        """Cases of each length: fewer of a large file."""
        size = PlayedFile(self.file).size
        cycles = self.file.latency + 2
        return max(FEWEST, min(EACH, WORK // (size * cycles)))


def _cases(unit: Specified, each: int) -> Iterator[Case]:
    if isinstance(unit, Unit):
        for length in _lengths(unit):
            yield from _drawn(unit, length, each)
        return
    for length in _lengths(unit.units[0]):
        modes = [_drawn(one, length, each) for one in unit.units]
        for number, cases in enumerate(modes):
            yield from (in_mode(unit, number, case) for case in cases)
        yield from mixed(unit, modes, each, Stream(SEED, unit.name, "prove"))


def _lengths(unit: Unit) -> list[int]:
    """Numbers of groups: as few as can be, the next length, and one beyond where a partial sum starts again twice."""
    whole, longest = unit.instruction.fill // unit.instruction.lanes, most_beats(unit)
    return sorted({whole, min(2 * whole, longest), longest})


def _drawn(unit: Unit, groups: int, count: int) -> list[Case]:
    stream, terms = Stream(SEED, unit.name, "prove", groups), groups * unit.instruction.lanes
    return [_case(unit, stream, at, terms) for at in range(count)]


def _case(unit: Unit, stream: Stream, number: int, terms: int) -> Case:
    """A case of some kind: factors all over the format, within a few binades, of landmarks, few, or cancelling."""
    kind, operands, scale = number % 5, unit.operands, unit.scale
    a, b = (_codes(fmt, stream, kind, terms) for fmt in (operands.a, operands.b))
    if kind == FEW:
        kept = set(stream.sample(range(terms), min(2, terms)))
        a = [code if at in kept else 0 for at, code in enumerate(a)]
    if kind == CANCELLING:
        for at in range(0, terms - 1, 2):
            opposite = negate(operands.a, a[at])
            if opposite is not None and stream.random() < CANCELS:
                a[at + 1], b[at + 1] = opposite, b[at]
    c = 0 if operands.addend is None else _codes(operands.addend, stream, stream.randrange(3), 1)[0]
    scales = [
        [one_code(side.format) if kind == ANY else _near_one(side.format, stream) for _ in range(-(-terms // length))]
        for side, length in zip((scale.a, scale.b), block_lengths(unit), strict=True)
    ] if scale is not None else [[], []]  # fmt: skip
    return Case(f"prove/{number:03}", tuple(a), tuple(b), c, tuple(scales[0]), tuple(scales[1]))


def _codes(fmt: Number, stream: Stream, kind: int, count: int) -> list[int]:
    """Some codes in their containers."""
    if kind == LANDMARKS:
        named = [*numbers(fmt).values()]
        every = [*named, *(code for one in named if (code := negate(fmt, one)) is not None), *zeros(fmt)]
        special = [*nans(fmt), *infinities(fmt)]
        return [stream.choice(special if special and stream.random() < SPECIALS else every) for _ in range(count)]
    if kind == ANY:
        return [_bits(stream, fmt.bits) << fmt.padding for _ in range(count)]
    magnitude_bits = fmt.bits - fmt.signed
    middle, found = _bits(stream, magnitude_bits), list[int]()
    for _ in range(count):
        code = (middle + stream.randint(-2, 2) * (1 << fmt.fraction_bits) + stream.randint(-3, 3)) % (
            1 << magnitude_bits
        )
        found.append((code | (_bits(stream, 1) << magnitude_bits if fmt.signed else 0)) << fmt.padding)
    return found


def _bits(stream: Stream, bits: int) -> int:
    """A number of so many bits."""
    found = 0
    for _ in range(0, bits, WORD):
        found = found << WORD | stream.word()
    return found & (1 << bits) - 1


def _near_one(fmt: Format, stream: Stream) -> int:
    """A scale near 1, or now and then any."""
    most = (1 << fmt.bits) - 1
    if stream.random() < ANY_SCALE:
        return stream.randint(0, most) << fmt.padding
    return min(most, max(0, (one_code(fmt) >> fmt.padding) + stream.randint(-4, 4))) << fmt.padding


def _expected(unit: Specified, case: Case) -> int:
    """What the model returns: by its whole dot product, and nothing else."""
    if isinstance(unit, ModalUnit):
        return modal_dot(unit, [Definition(one) for one in unit.units], case).code
    return dot(Definition(unit), case).code


class PlayedFile:
    """A file, cycle by cycle, for several samples at once, each of which has a sum in each context."""

    def __init__(self, file: ReadBack):
        self.file, self.circuit = file, file.circuit
        self.states = {name: state for name, state in self.circuit.states.items() if state.next is not None}

    @property
    def size(self) -> int:
        """Terms that are worked out in each cycle."""
        known = {term.symbol(): [0] for term in (*self.circuit.inputs.values(), *self._now.values())}
        found = Evaluated(known)
        for term in self._wanted:
            found.of(term)
        return len(found.found)

    @property
    def _now(self) -> dict[str, Term]:
        return {name: state.now for name, state in self.circuit.states.items()}

    @property
    def _wanted(self) -> list[Term]:
        return [*(state.next for state in self.states.values()), *self.circuit.outputs.values()]

    def results(self, cases: Sequence[Case]) -> list[int | None]:
        """The result of each case, all of one length; None where none comes in time."""
        contexts = self.file.pipeline.contexts
        samples = [cases[at : at + contexts] for at in range(0, len(cases), contexts)]
        waiting = [list(self._payloads(sample)) for sample in samples]
        stream = Stream(SEED, "prove", "registers")
        registers = {term.symbol(): [_bits(stream, width(term)) for _ in samples] for term in self._now.values()}
        idle = {"rst": 0, "i__valid": 0, "i__payload": 0, "o__ready": 1}
        registers = self._cycle(registers, [idle | {"rst": 1} for _ in samples])[0]
        found: list[list[int | None]] = [[None] * len(sample) for sample in samples]
        most = (len(waiting[0]) + 1) * (self.file.latency + 2) + SPARE
        for _ in range(most):
            given = [idle | {"i__valid": int(bool(rest)), "i__payload": rest[0] if rest else 0} for rest in waiting]
            registers, outputs = self._cycle(registers, given)
            for at, rest in enumerate(waiting):
                if rest and outputs["i__ready"][at]:
                    rest.pop(0)
                if outputs["o__valid"][at]:
                    payload = outputs["o__payload"][at]
                    context = self._field(payload, "o.context") if contexts > 1 else 0
                    if context < len(found[at]):
                        found[at][context] = self._field(payload, "o.result")
            if all(None not in one for one in found):
                break
        return [code for one in found for code in one]

    def _cycle(
        self, registers: dict[str, list[int]], given: Sequence[dict[str, int]]
    ) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
        """One cycle: what registers hold after it, and what outputs are in it."""
        inputs = {term.symbol(): [one.get(name, 0) for one in given] for name, term in self.circuit.inputs.items()}
        worked = Evaluated({**registers, **inputs})
        outputs = {name: list(worked.of(term)) for name, term in self.circuit.outputs.items()}
        after = {state.now.symbol(): list(worked.of(state.next)) for state in self.states.values()}
        return {**registers, **after}, outputs

    def _payloads(self, cases: Sequence[Case]) -> Iterator[int]:
        """The beats of some cases of one length, the first of each case in its context, then the second of each."""
        each = [list(beats(self.file.unit, case, context)) for context, case in enumerate(cases)]
        for at in range(len(each[0])):
            for of_case in each:
                beat, payload = of_case[at], 0
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
