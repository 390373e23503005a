"""A user's design that names the boundaries of our steps: its own logic in the claims about these, from end to end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from hwsim.cases.case import Case
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.suites import Filter, expected_codes
from hwsim.formats import Format
from hwsim.model.definition import Definition
from hwsim.prove.boundaries import Boundaries
from hwsim.prove.claims import AnyClaim, Claim, Decidable
from hwsim.prove.designclaims import DesignClaims, DesignRanges, constant_ports, with_code, with_plain_zeros
from hwsim.prove.dutcase import DesignAsRead
from hwsim.prove.example import Examples
from hwsim.prove.logic import Term, both, same, substituted
from hwsim.prove.methods import plain_window
from hwsim.prove.parameters import datapath_parameters
from hwsim.prove.placed import RefutedChoice
from hwsim.prove.relations import StepCircuits
from hwsim.prove.unrolled import BeatResult
from hwsim.report.proof import ClaimRow
from hwsim.rtl.numbers import WindowRanges
from hwsim.spec import AlignedSum
from hwsim.words import counted

RANDOM, SEED = 400, 1  # cases, among which one that is wrong is looked for first
Zeros = Literal["exp", "sig"]


@dataclass(frozen=True)
class DesignSteps:
    """The claims of a design's steps, and the step's ports as they are in the design."""

    claims: DesignClaims
    by: Mapping[Term, Term]
    wiring: Claim

    def all(self) -> Iterator[Decidable]:
        """In the order of the steps; that together they are the design comes last."""
        yield from datapath_parameters(self.claims, [self.claims.unit])
        yield from self.claims.claims()
        yield self.wiring


class StepsOf:
    """The steps of a design as its file names them.

    seconds: for each question about how the design has its numbers. Raises NotImplementedYet for a unit without claims,
    and SpecError as `Boundaries` does.
    """

    def __init__(self, design: DutDesign, followed: BeatResult, seconds: float):
        plain_window(design.unit, "is proved step by step of our own RTL alone").demand()
        # Where no sign of a zero is promised, all zeros are +0: the model's here, and the design's in `with_code`.
        self.design, self.followed, self.unit, self.seconds = design, followed, with_plain_zeros(design.unit), seconds
        self._demand_one_group()
        self.own = WindowRanges(self.unit)
        plain = Boundaries(design, followed, self.own)
        self.addend_bits = self._addend_bits(plain)
        self.model_nan = Definition(self.unit, keep=False).nan

    def _demand_one_group(self) -> None:
        if self.unit.promotion is not None:
            raise self.design.dut.wrong("steps", f"must not be given: {self.unit.name} has a promotion")
        if isinstance(self.unit.sum, AlignedSum) and self.unit.sum.sticky:
            raise self.design.dut.wrong("steps", "must not be given: sum.lost is sticky, which no step's signals tell")
        lanes = self.unit.instruction.lanes
        if self.design.products != lanes:
            rule = f"need beats of one group: {lanes} products, not {self.design.products}"
            raise self.design.dut.wrong("steps", rule)
        assert isinstance(self.unit.sum, AlignedSum)

    def _addend_bits(self, boundaries: Boundaries) -> int:
        """Fraction bits of the addend's significand. Raises SpecError for fewer than count."""
        sig = next(one for one in boundaries.multiply if one.name == "addend__sig")
        if sig.bits is None:
            return self.own.addend_fraction_bits
        most = max(fmt.fraction_bits for fmt in self._addends)
        small = all(fmt.emin + self.own.product_bias <= 1 for fmt in self._addends)
        least = min(most, self.own.fraction_bits) if self.own.truncates and small else most
        if sig.width - 1 < least:
            raise self.design.dut.wrong(f"steps.{sig.key}", f"must have at least {least + 1} bits, not {sig.width}")
        return int(sig.width - 1)

    @property
    def _addends(self) -> list[Any]:
        addend = self.own.window_addend
        return [addend] if addend is not None and self.design.addend else self.own.addends

    def found(self) -> DesignSteps:
        """The claims, with the design's numbers as it has them: as the first claims about them say."""
        zeros: Zeros = "exp"
        lifted = False
        steps = self._with(zeros, lifted)
        if steps.claims.known(steps.claims.lane_product()).decide(self.seconds).word == "refuted":
            other = self._with("sig", lifted)
            if other.claims.known(other.claims.lane_product()).decide(self.seconds).word == "proved":
                zeros, steps = "sig", other
        if not self.own.subnormal_sums and not self._addend_holds(steps):
            other = self._with(zeros, True)
            steps = other if self._addend_holds(other) else steps
        return steps

    def _addend_holds(self, steps: DesignSteps) -> bool:
        return all(claim.decide(self.seconds).word == "proved" for claim in steps.claims.decoded_addend())

    def _with(self, zeros: Zeros, lifted: bool) -> DesignSteps:
        ranges = DesignRanges(self.unit, lifted, self.addend_bits)
        boundaries = Boundaries(self.design, self.followed, ranges)
        self._demand_widths(boundaries, ranges)
        b, front = boundaries, boundaries.products
        circuits = {
            "maximum": b.step("maximum", b.multiply, b.maximum),
            "align": b.step("align", b.maximum, b.align),
            "sum": b.step("sum", b.align, b.sum),
            "round": b.result(),
        }
        fields = {one.name: one.field(one.bits) for one in b.signals()}
        by = {term: fields[name[3:]] for step in circuits.values() for name, term in step.inputs.items()}
        wiring = self._wiring(boundaries, circuits, fields, by)
        circuits["round"] = with_code(circuits["round"], self.unit, self.model_nan, self.design.unpromised)
        parts = StepCircuits(front, front, front, *circuits.values())
        constants = {one.name: one.field(None) for one in b.signals() if one.bits is None}
        carries = b.file.align.aligned.carry is not None
        claims = DesignClaims(
            self.unit, parts, ranges, zeros, self.design.addend, carries, constant_ports(circuits, constants)
        )
        return DesignSteps(claims, by, wiring)

    def _wiring(
        self, boundaries: Boundaries, circuits: Mapping[str, Any], fields: Mapping[str, Term], by: Mapping[Term, Term]
    ) -> Claim:
        """That the steps, one after another, are the design: what each makes of the signals before it is there."""
        wanted = []
        for circuit in circuits.values():
            for name, term in circuit.outputs.items():
                whole = boundaries.container if name == "o__result" else fields[name[3:]]
                wanted.append(same(substituted(term, by), whole))
        return Claim(
            "wiring", "what a step makes of the design's signals is the next boundary, and the last the result",
            "all operands", (), both(*wanted), tuple(boundaries.products.inputs.values()),
        )  # fmt: skip

    def _demand_widths(self, boundaries: Boundaries, ranges: DesignRanges) -> None:
        """Raise SpecError for a signal too narrow for what its field can be."""
        term = ranges._most_in_window(ranges.most_product, ranges.product_fraction_bits)
        least = {
            "multiply.terms.exp": (ranges.product_most - 1).bit_length(),
            "multiply.terms.sig": ranges.most_product.bit_length(),
            "align.aligned.ones": term.bit_length() + 1,
            "sum.total": ranges.sum_most.bit_length() + 1,
            "maximum.max_exp": (ranges.max_exp[1] - max(1, ranges.max_exp[0])).bit_length(),
        }
        for one in boundaries.signals():
            needed = least.get(one.key, 0)
            if one.name == f"aligned__{ranges.lanes}__ones":
                addend = ranges._most_in_window((2 << ranges.addend_bits) - 1, ranges.addend_bits)
                needed = addend.bit_length() + 1
            if one.bits is not None and one.given < needed:
                raise self.design.dut.wrong(f"steps.{one.key}", f"must have at least {needed} bits, not {one.given}")


class DesignExamples(Examples):
    """Looks for operands of one beat that show what is wrong with a design."""

    def __init__(self, design: DutDesign, followed: BeatResult, steps: DesignSteps, seconds: float):
        claims = steps.claims
        dropped = {"i__chain", "i__carried__code", *([] if design.addend else ["i__c"])}
        inputs = {name: term for name, term in claims.parts.products.inputs.items() if name not in dropped}
        super().__init__(claims.unit, claims.model, claims.neutral, inputs, dict(steps.by))
        self.design, self.end = design, time.thread_time() + seconds
        self.read = DesignAsRead(design, followed, RefutedChoice((), {}))

    def wrong(self, claim: AnyClaim) -> Case | None:
        """A case whose result is not the model's; None where none is found."""
        if self.drawn is not None:
            return self.drawn
        found = self.of(claim)
        return None if found is None else found.case

    @property
    def row(self) -> ClaimRow:
        """What comes of the random cases."""
        return ClaimRow(
            name="whole dot products", words="the result is what the model's `dot` returns: compared, not proved",
            over=f"{counted(len(self.cases), 'random case')} of one beat, seed {SEED}", solver="cases", seconds=0.0,
            word="compared" if self.drawn is None else "refuted",
        )  # fmt: skip

    @cached_property
    def cases(self) -> list[Case]:
        """Some random cases of one beat."""
        taken = Filter(self.design).take(random_cases(self.design.drawn_for, RANDOM, SEED))
        return [case for _, case in taken if len(case.a) == self.design.products]

    @cached_property
    def drawn(self) -> Case | None:
        """One of these whose result is wrong."""
        cases = self.cases
        expected, got = expected_codes(self.unit, cases), self.read.codes(cases).tolist()
        return next((case for case, *codes in zip(cases, expected, got, strict=True) if not self._equal(*codes)), None)

    def _equal(self, expected: int, got: int) -> bool:
        return self.design.unpromised.same(expected, got)

    def _cases(self, claim: AnyClaim) -> Iterator[Case]:
        for case in super()._cases(claim):
            if time.thread_time() > self.end:
                return
            yield case

    def _computed(self, case: Case) -> int:
        return int(self.read.codes([case])[0])


def choice_of(design: DutDesign, case: Case) -> RefutedChoice:
    """A case as values of the constants that products in all lanes have."""
    unit = design.unit
    formats: dict[str, Format] = {"a": unit.operands.a, "b": unit.operands.b}
    if unit.scale is not None:
        formats |= {"scale_a": unit.scale.a.format, "scale_b": unit.scale.b.format}
    model = {
        f"{name}.{at}": code >> fmt.padding
        for name, fmt in formats.items()
        for at, code in enumerate(getattr(case, name))
    }
    if unit.operands.addend is not None:
        model["c"] = case.c >> unit.operands.addend.padding
    return RefutedChoice(tuple(range(design.products)), model)
