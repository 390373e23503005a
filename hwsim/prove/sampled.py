"""Cases that are tried before anything is proved: most wrong designs are refuted by one of a few hundred."""

from __future__ import annotations

from collections.abc import Iterator

from hwsim.cases.case import Case, block_lengths
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.suites import Filter, expected_codes
from hwsim.cosim.wiring import operands_of
from hwsim.prove.dutcase import DesignAsRead
from hwsim.prove.placed import Lanes, RefutedChoice
from hwsim.prove.unrolled import BeatResult

SAMPLES, SEED = 400, 2


def refuted_by_a_case(design: DutDesign, followed: BeatResult, count: int) -> RefutedChoice | None:
    """The first of some random cases in which a design, as it was read, does not return what the model does.

    count: products of a case that are not zero, at most.
    """
    every = design.held.drawn(random_cases(design.drawn_for, SAMPLES, SEED))
    drawn = [case for _, case in Filter(design).take(every)]
    choices = list(_choices(design, count, drawn))
    cases = [DesignAsRead(design, followed, choice).case() for choice in choices]
    got = DesignAsRead(design, followed, RefutedChoice((), {})).codes(cases).tolist()
    for choice, want, code in zip(choices, expected_codes(design.unit, cases), got, strict=True):
        if not design.unpromised.same(want, code):
            return choice
    return None


def _choices(design: DutDesign, count: int, drawn: list[Case]) -> Iterator[RefutedChoice]:
    """Some products of each case of one beat, other ones in each; its addend, and the scales of their blocks."""
    formats = {name: fmt for name, (_, fmt) in operands_of(design.dut).items()}
    products = design.products
    for number, case in enumerate(drawn):
        if len(case.a) != products:
            continue
        lanes: Lanes = tuple(sorted({(number + place * (1 + number // products)) % products for place in range(count)}))
        model = {f"{side}.{at}": getattr(case, side)[lane] for side in ("a", "b") for at, lane in enumerate(lanes)}
        model["c"] = case.c
        if design.unit.scale is not None:
            for name, length in zip(("scale_a", "scale_b"), block_lengths(design.unit), strict=True):
                model |= {f"{name}.{lane // length}": getattr(case, name)[lane // length] for lane in lanes}
        fields = {name: formats.get(name.partition(".")[0]) for name in model}
        yield RefutedChoice(
            lanes, {name: model[name] >> fmt.padding for name, fmt in fields.items() if fmt is not None}
        )
