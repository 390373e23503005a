"""The cases of a vector set, in an order in which every set is the beginning of a longer one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from heapq import heapify, heapreplace

from hwsim.base.errors import InputError
from hwsim.base.resources import KIB, MIB, Cost
from hwsim.cases.bins.covering import Covered, covered, covering
from hwsim.cases.captured import sparse_captured
from hwsim.cases.case import Batch, Case, draws
from hwsim.cases.matrices import GemmProblem, gemm_cases, gemm_problem, sparse_problem
from hwsim.cases.random_cases import product_cases
from hwsim.cases.selection import multiplied_batch, placed_batch
from hwsim.cases.sensitive import sensitive
from hwsim.cosim.vectors.lines import Written, dense
from hwsim.explain import Discrimination, discrimination
from hwsim.explain.discriminate import telling
from hwsim.explain.readings import supports
from hwsim.explain.silicon.results import known_cases
from hwsim.spec import NotImplementedYet, SparseUnit, Unit

SUITES = {"smoke": 2_000, "standard": 50_000, "soak": 1_000_000}
PARTS = ("coverage", "discrimination", "sensitive", "products", "gemm", "random", "captured")
# Of a smoke set: products, evenly chosen.
SMOKE_PRODUCTS = 48
# Rows, columns, and K in promotion intervals, or in instructions where there are none.
GEMMS = ((12, 12, 4), (2, 4, 32))

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Wanted:
    """A request for a set. cases: how many, or None for the suite's own number. formats: of FORMATS, or None.

    unit: whose cases these are, and results. sparse: a sparse unit whose dense one that is: of whose lines they are.
    """

    unit: Unit
    suite: str = "smoke"
    seed: int = 1
    cases: int | None = None
    formats: tuple[str, ...] | None = None
    stages: bool = False
    sparse: SparseUnit | None = None

    @property
    def written(self) -> Written:
        """The unit whose lines the files have."""
        return self.sparse or self.unit

    def lines(self, batch: Batch) -> Batch:
        """A batch as the lines have it: under metadata of its own, or under some that are drawn."""
        if self.sparse is None or batch.metadata is not None:
            return batch
        return placed_batch(self.sparse, batch, self.seed)

    def multiplied(self, batch: Batch) -> Batch:
        """A batch as the unit that multiplies has it."""
        return batch if self.sparse is None or batch.metadata is None else multiplied_batch(self.sparse, batch)


class SetPart:
    """Cases that belong together, made when they are first asked for."""

    def __init__(self, name: str, make: Callable[[], Sequence[Case]]):
        self.name, self._make = name, make

    @cached_property
    def _made(self) -> tuple[Sequence[Case], str]:
        try:
            return self._make(), ""
        except NotImplementedYet as error:
            return (), str(error)

    @property
    def asked(self) -> bool:
        return "_made" in vars(self)

    @property
    def cases(self) -> Sequence[Case]:
        return self._made[0]

    @property
    def why(self) -> str:
        """The reason why there are no cases; empty where there are."""
        return self._made[1]


@dataclass(frozen=True)
class SetPlan:
    """The parts that a sequence of cases begins with. random: whether random cases without end follow.

    lacking: parts whose cases, if any, are in another. problems: the matrix products of part `gemm`. told: how the
    discrimination's readings stand to each other, where it was asked for. expected: results that do not come from the
    model, by case id.
    """

    parts: tuple[SetPart, ...] = ()
    random: bool = False
    lacking: tuple[SetPart, ...] = ()
    problems: Callable[[], tuple[GemmProblem, ...]] = tuple
    told: Callable[[], Discrimination | None] = lambda: None
    expected: dict[str, int] | None = None


def cost(wanted: Wanted) -> Cost:
    """The cost of planning a set, as measured with units of 16 to 1,024 lanes and K up to 1,024."""
    lanes, k = wanted.unit.instruction.lanes, wanted.unit.instruction.k
    # Directed cases are about every lane, and as long as an instruction.
    directed = wanted.suite in SUITES or wanted.suite in ("coverage", "discrimination")
    memory, seconds = (20 * KIB * lanes * k, 5e-4 * lanes * k) if directed else (2 * KIB * lanes**2, 1e-4 * lanes**2)
    instead = "--suite random takes less, and so does a unit of fewer lanes" if directed else ""
    return Cost(f"suite {wanted.suite} of {lanes:,} lanes and k {k:,}", 300 * MIB + memory, 15 + seconds, instead)


def plan(unit: Written, suite: str, seed: int, progress: Progress = lambda _: None) -> SetPlan:
    """The plan of a suite: `smoke`, `standard` and `soak` are one sequence; PARTS are suites by themselves.

    progress: called with what is being made, when it is asked for. Of a sparse unit, matrices and what was captured
    have metadata of their own, which their cases keep; all other cases are its dense unit's.
    Raises NotImplementedYet for a unit that the model does not have, ValueError for a suite that the unit lacks.
    """
    draws(dense(unit)).demand()
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


class _Parts:
    """The parts of sets, each made when it is first asked for."""

    def __init__(self, written: Written, seed: int, progress: Progress):
        unit = dense(written)

        def part(name: str, make: Callable[[], Sequence[Case]]) -> SetPart:
            def made() -> Sequence[Case]:
                progress(name)
                return make()

            return SetPart(name, made)

        @cache
        def search() -> tuple[Discrimination | None, str]:
            try:
                return discrimination(unit, seed, lambda tried: progress(f"discrimination, {tried:,} tried,")), ""
            except ValueError as error:
                return None, str(error)

        def apart() -> Sequence[Case]:
            if not supports(unit):  # it has no readings, which leaves mistakes and changes of a rule
                return telling(unit)
            told, why = search()
            if told is None:
                raise NotImplementedYet(why)
            return told.cases

        self.apart = looked_for = part("discrimination", apart)
        self.told = lambda: search()[0] if looked_for.asked and supports(unit) else None
        self.problems = cache(lambda: _problems(written, seed))
        self.coverage = part("coverage", lambda: covering(unit, seed))
        self.sensitive = part("sensitive", lambda: sensitive(unit, seed))
        self.products = part("products", lambda: product_cases(unit))
        self.gemm = part("gemm", lambda: _gemm(written, self.problems()))


def _alone(unit: Written, suite: str, seed: int, progress: Progress) -> SetPlan:
    if suite == "captured":
        return _captured(unit)
    if suite == "random":
        return SetPlan(random=True)
    parts = _Parts(unit, seed, progress)
    match suite:
        case "discrimination":
            return SetPlan((parts.apart,), told=parts.told)
        case "gemm":
            return SetPlan((parts.gemm,), problems=parts.problems)
        case _:
            return SetPlan(({"coverage": parts.coverage, "products": parts.products}.get(suite, parts.sensitive),))


def _sequence(written: Written, seed: int, progress: Progress) -> SetPlan:
    """The plan of smoke, standard and soak. Quick parts come first: cases are there during the long searches."""
    parts, unit = _Parts(written, seed, progress), dense(written)
    smoke = (
        SetPart("smoke", lambda: parts.products.cases[:: max(1, len(parts.products.cases) // SMOKE_PRODUCTS)]),
        SetPart("smoke", lambda: fewest(covered(unit, seed)) if parts.coverage.cases else ()),
        SetPart("smoke", lambda: parts.apart.cases),
        SetPart("smoke", lambda: parts.sensitive.cases),
    )
    taken = cache(lambda: {case.id for part in smoke for case in part.cases})

    def rest(part: SetPart) -> SetPart:
        return SetPart(part.name, lambda: [case for case in part.cases if case.id not in taken()])

    others = rest(parts.coverage), rest(parts.products), parts.gemm
    lacking = parts.apart, parts.sensitive
    return SetPlan((*smoke, *others), True, lacking, parts.problems, parts.told)


def _problems(written: Written, seed: int) -> tuple[GemmProblem, ...]:
    unit = dense(written)
    instruction = unit.instruction
    interval = unit.promotion.interval if unit.promotion else instruction.k
    shapes = [(m, n, interval * (times if instruction.chain else 1)) for m, n, times in GEMMS]
    if isinstance(written, SparseUnit):
        return tuple(sparse_problem(written, m, n, k, seed) for m, n, k in shapes)
    return tuple(gemm_problem(unit, m, n, k, seed) for m, n, k in shapes)


def _gemm(unit: Written, problems: Sequence[GemmProblem]) -> list[Case]:
    numbered = [(number, case) for number, problem in enumerate(problems) for case in gemm_cases(unit, problem)]
    return [replace(case, id=f"gemm/{number}/{case.id}") for number, case in numbered]


def _captured(unit: Written) -> SetPlan:
    found = sparse_captured(unit) if isinstance(unit, SparseUnit) else known_cases(unit)
    known = [(replace(case, id=f"captured/{case.id}"), code) for case, code in found]
    if not known:
        raise InputError(
            f"no captured results of {unit.name} are at hand: HWSIM_SILICON names the folder that holds them"
        )
    part = SetPart("captured", lambda: [case for case, _ in known])
    return SetPlan((part,), expected={case.id: code for case, code in known})


# Few of many cases: those that hit most of what all of them hit.


def fewest(known: Covered) -> list[Case]:
    """A few of the cases that hit every bin they all hit, in an order in which each hits as many new ones as it can."""
    return [known.cases[index] for index in _greedy([hit.bins for hit in known.hits])]


def _greedy(sets: Sequence[frozenset[int]]) -> list[int]:
    """Indices of sets, each of which adds most to those before it, until nothing is left to add; ties by order."""
    left = set().union(*sets)
    heap = [(-len(held), index) for index, held in enumerate(sets)]
    heapify(heap)
    chosen: list[int] = []
    while left:
        size, index = heap[0]
        gain = len(sets[index] & left)
        if gain == -size:
            chosen.append(index)
            left -= sets[index]
            gain = 0
        heapreplace(heap, (-gain, index))
    return chosen
