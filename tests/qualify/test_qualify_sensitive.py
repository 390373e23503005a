"""What kinds of sensitive cases are for: each kills mutants that no other of them does."""

from __future__ import annotations

from functools import cache

import pytest
from qualify.small_mutants import netlists, scaled

from hwsim.cases.case import Case, batches
from hwsim.cases.sensitive import SOLVERS
from hwsim.cases.solver import CaseBuilder
from hwsim.prove.qualify.machine import MutantMachine, groups, played
from hwsim.prove.qualify.run import UnitNetlists

EVERY = 3  # of so many mutants one


@cache
def nets(promoted: bool) -> UnitNetlists:
    return netlists(True) if promoted else scaled()


@cache
def cases(promoted: bool) -> dict[str, list[Case]]:
    """By kind."""
    bench, found = CaseBuilder(nets(promoted).unit, 1), {}
    for kind, solve in SOLVERS.items():
        before = len(bench.cases)
        bench.start("sensitive", kind)
        solve(bench)
        found[kind] = bench.cases[before:]
    return found


@cache
def machine(promoted: bool, step: str) -> MutantMachine:
    """Some mutants of a step."""
    circuits = nets(promoted)
    return circuits.machine([mutant for mutant in circuits.mutants() if mutant.step == step][::EVERY])


def killed(promoted: bool, step: str, without: tuple[str, ...] = ()) -> int:
    """How many mutants of a step cases kill, of all kinds but some."""
    unit = nets(promoted).unit
    chosen = [case for kind, some in cases(promoted).items() if kind not in without for case in some]
    made = groups(unit, batches(unit, chosen, 64))
    return int((played(machine(promoted, step), made, lambda count: None) >= 0).sum())


@pytest.mark.parametrize(
    ("promoted", "step", "kinds", "least"),
    [
        (False, "maximum", ("comparisons", "more comparisons"), 15),
        (False, "distance", ("far addends",), 3),
        pytest.param(False, "multiply", ("small factors",), 1, marks=pytest.mark.slow),
        pytest.param(False, "distance", ("below",), 3, marks=pytest.mark.slow),
        pytest.param(False, "normalize", ("small totals", "more small totals"), 10, marks=pytest.mark.slow),
        pytest.param(False, "decode", ("ends of scales",), 3, marks=pytest.mark.slow),
        pytest.param(True, "promote.align", ("far registers",), 1, marks=pytest.mark.slow),
    ],
)
def test_each_kind_kills_what_no_other_does(promoted, step, kinds, least):
    assert killed(promoted, step) - killed(promoted, step, kinds) >= least
