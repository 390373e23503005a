"""The cases of a vector set, in an order in which every set is the beginning of a longer one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heapreplace

from hwsim.cases.bins.covering import Covered, covered, covering
from hwsim.cases.case import Case
from hwsim.cases.matrices import GemmProblem, gemm_cases, gemm_problem
from hwsim.cases.pairs import product_cases
from hwsim.cases.sensitive import sensitive
from hwsim.cases.support import draws
from hwsim.errors import InputError
from hwsim.readings import Discrimination, discrimination, supports, told_from_mistakes
from hwsim.readings.silicon.store import known_cases
from hwsim.resources import KIB, MIB, Cost
from hwsim.spec import NotImplementedYet, Unit

SUITES = {"smoke": 2_000, "standard": 50_000, "soak": 1_000_000}
PARTS = ("coverage", "discrimination", "sensitive", "products", "gemm", "random", "captured")
# Of a smoke set: products, evenly chosen.
SMOKE_PRODUCTS = 48
# Rows, columns, and K in promotion intervals, or in instructions where there are none.
GEMMS = ((12, 12, 4), (2, 4, 32))

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Wanted:
    """What set is wanted. cases: how many, or None for the suite's own number. formats: of FORMATS, or None."""

    unit: Unit
    suite: str = "smoke"
    seed: int = 1
    cases: int | None = None
    formats: tuple[str, ...] | None = None
    stages: bool = False


@dataclass(frozen=True)
class SetPart:
    """Cases that belong together. why: why there are none."""

    name: str
    cases: Sequence[Case] = ()
    why: str = ""


@dataclass(frozen=True)
class SetPlan:
    """What a sequence of cases begins with. random: whether random cases without end follow.

    problems: the matrix products of part `gemm`. told: how the discrimination's readings stand to each other.
    expected: results that do not come from the model, by case id.
    """

    parts: tuple[SetPart, ...] = ()
    random: bool = False
    problems: tuple[GemmProblem, ...] = ()
    told: Discrimination | None = None
    expected: dict[str, int] | None = None


def cost(wanted: Wanted) -> Cost:
    """What the plan of a set takes, as measured with units of 16 to 1,024 lanes and K up to 1,024."""
    lanes, k = wanted.unit.instruction.lanes, wanted.unit.instruction.k
    # Directed cases are about every lane, and as long as an instruction.
    directed = wanted.suite in SUITES or wanted.suite in ("coverage", "discrimination")
    memory, seconds = (20 * KIB * lanes * k, 5e-4 * lanes * k) if directed else (2 * KIB * lanes**2, 1e-4 * lanes**2)
    instead = "--suite random takes less, and so does a unit of fewer lanes" if directed else ""
    return Cost(f"suite {wanted.suite} of {lanes:,} lanes and k {k:,}", 300 * MIB + memory, 15 + seconds, instead)


def plan(unit: Unit, suite: str, seed: int, progress: Progress = lambda _: None) -> SetPlan:
    """The plan of a suite: `smoke`, `standard` and `soak` are one sequence; PARTS are suites by themselves.

    Raises NotImplementedYet for a unit that the model does not have, ValueError for a suite that the unit lacks.
    """
    draws(unit).demand()
    if suite in SUITES:
        return _sequence(unit, seed, progress)
    if suite not in PARTS:
        raise InputError(f"unknown suite {suite!r}; there are {', '.join([*SUITES, *PARTS])}")
    progress(suite)
    planned = _alone(unit, suite, seed, progress)
    for part in planned.parts:
        if part.why:
            raise InputError(f"{unit.name} has no suite {suite}: {part.why}")
    return planned


def _alone(unit: Unit, suite: str, seed: int, progress: Progress) -> SetPlan:
    """One part by itself."""
    match suite:
        case "coverage":
            return SetPlan((_coverage(unit, seed),))
        case "discrimination":
            part, told = _discrimination(unit, seed, progress)
            return SetPlan((part,), told=told)
        case "sensitive":
            return SetPlan((_sensitive(unit, seed),))
        case "products":
            return SetPlan((SetPart("products", product_cases(unit)),))
        case "gemm":
            problems = _problems(unit, seed)
            return SetPlan((_gemm(unit, problems),), problems=problems)
        case "captured":
            return _captured(unit)
        case _:
            return SetPlan(random=True)


def _sequence(unit: Unit, seed: int, progress: Progress) -> SetPlan:
    progress("discrimination")
    apart, told = _discrimination(unit, seed, progress)
    progress("coverage")
    coverage = _coverage(unit, seed)
    progress("products")
    products, problems = product_cases(unit), _problems(unit, seed)
    step = max(1, len(products) // SMOKE_PRODUCTS)
    progress("sensitive")
    sensitive_ones = _sensitive(unit, seed)
    few = fewest(covered(unit, seed)) if coverage.cases else ()
    first = [*apart.cases, *few, *products[::step], *sensitive_ones.cases]
    taken = {case.id for case in first}

    def rest(cases: Iterable[Case]) -> list[Case]:
        return [case for case in cases if case.id not in taken]

    parts = [
        SetPart("smoke", first),
        replace(coverage, cases=rest(coverage.cases)),
        SetPart("products", rest(products)),
        _gemm(unit, problems),
    ]
    # What a unit lacks altogether is said of it; of what is in the smoke part, nothing is left to say.
    parts += [one for one in (apart, sensitive_ones) if one.why]
    return SetPlan(tuple(parts), random=True, problems=problems, told=told)


def _coverage(unit: Unit, seed: int) -> SetPart:
    try:
        return SetPart("coverage", covering(unit, seed))
    except NotImplementedYet as error:
        return SetPart("coverage", why=str(error))


def _sensitive(unit: Unit, seed: int) -> SetPart:
    try:
        return SetPart("sensitive", sensitive(unit, seed))
    except NotImplementedYet as error:
        return SetPart("sensitive", why=str(error))


def _discrimination(unit: Unit, seed: int, progress: Progress) -> tuple[SetPart, Discrimination | None]:
    """Cases that tell a unit's readings apart, or where it has none the unit from mistakes; and how these stand."""
    tell = discrimination if supports(unit) else told_from_mistakes
    try:
        told = tell(unit, seed, lambda tried: progress(f"discrimination, {tried:,} tried,"))
    except ValueError as error:
        return SetPart("discrimination", why=str(error)), None
    return SetPart("discrimination", told.cases), told


def _problems(unit: Unit, seed: int) -> tuple[GemmProblem, ...]:
    instruction = unit.instruction
    one = unit.promotion.interval if unit.promotion else instruction.k
    shapes = [(m, n, one * (times if instruction.chain else 1)) for m, n, times in GEMMS]
    return tuple(gemm_problem(unit, m, n, k, seed) for m, n, k in shapes)


def _gemm(unit: Unit, problems: Sequence[GemmProblem]) -> SetPart:
    numbered = [(number, case) for number, problem in enumerate(problems) for case in gemm_cases(unit, problem)]
    return SetPart("gemm", [replace(case, id=f"gemm/{number}/{case.id}") for number, case in numbered])


def _captured(unit: Unit) -> SetPlan:
    known = [(replace(case, id=f"captured/{case.id}"), code) for case, code in known_cases(unit)]
    if not known:
        raise InputError(
            f"no captured results of {unit.name} are at hand: HWSIM_SILICON names the folder that holds them"
        )
    part = SetPart("captured", [case for case, _ in known])
    return SetPlan((part,), expected={case.id: code for case, code in known})


# Few of many cases: those that hit most of what all of them hit.


def fewest(known: Covered) -> list[Case]:
    """Few of the cases that hit every bin they all hit, in an order in which each hits as many more as it can."""
    return [known.cases[at] for at in _greedy([hit.bins for hit in known.hits])]


def _greedy(sets: Sequence[frozenset[int]]) -> list[int]:
    """Sets, each of which adds most to those before it, until nothing is left to add; the first of equal ones."""
    left = set().union(*sets)
    heap = [(-len(held), at) for at, held in enumerate(sets)]
    heapify(heap)
    chosen: list[int] = []
    while left:
        size, at = heap[0]
        gain = len(sets[at] & left)
        if gain == -size:
            chosen.append(at)
            left -= sets[at]
            gain = 0
        heapreplace(heap, (-gain, at))
    return chosen
