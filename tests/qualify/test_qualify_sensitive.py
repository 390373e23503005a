"""What kinds of sensitive cases are for: mutants that they were learned from, each of which they kill."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from qualify.small_mutants import scaled

from hwsim.cases.batch import batches
from hwsim.cases.bench import Bench
from hwsim.cases.sensitive import SOLVERS
from hwsim.qualify.groups import groups
from hwsim.qualify.mutants import Mutant
from hwsim.qualify.played import played
from hwsim.qualify.steps import MutatedSteps
from hwsim.rtl import align, multiply, normalize


def alive(mutants: list[Mutant], *kinds: str) -> list[Mutant]:
    """The mutants that cases of some kinds leave alive."""
    netlists = scaled()
    bench = Bench(netlists.unit, 1)
    for kind in kinds:
        bench.start("sensitive", kind)
        SOLVERS[kind](bench)
    made = groups(netlists.unit, batches(netlists.unit, bench.cases, 64))
    killer = played(netlists.machine(mutants), made, lambda count: None)
    return [mutant for mutant, case in zip(mutants, killer.tolist(), strict=True) if case < 0]


def of(step: str, wanted: Callable[[Mutant], bool]) -> list[Mutant]:
    return [mutant for mutant in scaled().mutants() if mutant.step == step and wanted(mutant)]


def real(mutants: list[Mutant]) -> list[str]:
    """Those of them that change something."""
    steps = MutatedSteps(scaled().unit, scaled().steps, mutants)
    return [mutant.name for mutant in mutants if steps.equal(mutant, 20).word != "proved"]


KINDS = {
    "maximum": ("comparisons", "more comparisons"),
    "distance": ("comparisons", "below", "far addends"),
    "multiply": ("small factors",),
    "normalize": ("sparse totals", "small totals", "more small totals"),
}


def lines(module: ModuleType, *texts: str) -> set[str]:
    """Places of a module's lines that have some texts in them, as mutants name them."""
    file = Path(str(module.__file__))
    every = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    return {f"{file.name}:{number}" for number, line in every if any(text in line for text in texts)}


def learned_from(step: str) -> list[Mutant]:
    """Comparisons of a tree, clamps of distances, significands of which one bit is set, and shifts to the right."""
    match step:
        case "maximum":
            places = lines(align, "Mux(first < second, second, first)")
            return of(step, lambda mutant: mutant.place in places and mutant.port in ("A", "B"))
        case "distance":
            places = lines(align, "distance[bits:].any()")
            return of(step, lambda mutant: mutant.place in places and mutant.mode == "const0")
        case "multiply":
            places = lines(multiply, "~a.sig.any()")
            return of(step, lambda mutant: mutant.place in places and mutant.mode == "const0")
        case _:
            places = lines(normalize, "room < -(bits + 1)", "room < 0):", "right.eq(-room)")
            return of(step, lambda mutant: mutant.place in places)


# At most so many of them are left to other cases.
LEFT = {"maximum": 0, "distance": 6, "multiply": 13, "normalize": 1}


@pytest.mark.parametrize("step", KINDS)
def test_cases_kill_what_they_were_learned_from(step):
    mutants = learned_from(step)
    assert len(mutants) > 30
    left = real(alive(mutants, *KINDS[step]))
    assert len(left) <= LEFT[step], left
