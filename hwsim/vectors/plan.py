"""The cases of a vector set, in an order in which every set is the beginning of a longer one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hwsim.cases.bins.covering import covering
from hwsim.cases.captured import captured_cases
from hwsim.cases.case import Case
from hwsim.cases.matrices import GemmProblem, gemm_cases, gemm_problem
from hwsim.cases.pairs import product_cases
from hwsim.readings import Discrimination, discrimination
from hwsim.spec import NotImplementedYet, Unit, implemented
from hwsim.vectors.choice import fewest

SUITES = {"smoke": 1_000, "standard": 50_000, "soak": 1_000_000}
PARTS = ("coverage", "discrimination", "products", "gemm", "random", "captured")
# Of a smoke set: the cases that cover most, and products, evenly chosen.
SMOKE_COVERAGE, SMOKE_PRODUCTS = 700, 48
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
    cases: tuple[Case, ...]
    why: str = ""


@dataclass(frozen=True)
class SetPlan:
    """What a sequence of cases begins with. random: whether random cases without end follow.

    problems: the matrix products of part `gemm`. told: how the discrimination's readings stand to each other.
    expected: results that do not come from the model, by case id.
    """

    parts: tuple[SetPart, ...]
    random: bool
    problems: tuple[GemmProblem, ...] = ()
    told: Discrimination | None = None
    expected: dict[str, int] | None = None


def plan(unit: Unit, suite: str, seed: int, progress: Progress = lambda _: None) -> SetPlan:
    """The plan of a suite: `smoke`, `standard` and `soak` are one sequence; PARTS are suites by themselves.

    Raises NotImplementedYet for a unit that the model does not have, ValueError for a suite that the unit lacks.
    """
    implemented(unit).demand()
    if suite in SUITES:
        return _sequence(unit, seed, progress)
    if suite not in PARTS:
        raise ValueError(f"unknown suite {suite!r}; there are {', '.join([*SUITES, *PARTS])}")
    progress(suite)
    if suite == "captured":
        return _captured(unit)
    if suite == "random":
        return SetPlan((), random=True)
    told = _told(unit, seed, progress) if suite == "discrimination" else None
    problems = _problems(unit, seed) if suite == "gemm" else ()
    makers: dict[str, Callable[[], SetPart]] = {
        "coverage": lambda: _coverage(unit, seed),
        "discrimination": lambda: _discrimination(told),
        "products": lambda: _products(unit),
        "gemm": lambda: _gemm(problems, unit),
    }
    part = makers[suite]()
    if part.why:
        raise ValueError(f"{unit.name} has no suite {suite}: {part.why}")
    return SetPlan((part,), random=False, problems=problems, told=told if isinstance(told, Discrimination) else None)


def _sequence(unit: Unit, seed: int, progress: Progress) -> SetPlan:
    progress("discrimination")
    told = _told(unit, seed, progress)
    progress("coverage")
    coverage, apart = _coverage(unit, seed), _discrimination(told)
    progress("products")
    products, problems = _products(unit), _problems(unit, seed)
    step = max(1, len(products.cases) // SMOKE_PRODUCTS)
    first = [*apart.cases, *fewest(unit, coverage.cases, SMOKE_COVERAGE), *products.cases[::step]]
    taken = {case.id for case in first}

    def rest(part: SetPart) -> SetPart:
        return SetPart(part.name, tuple(case for case in part.cases if case.id not in taken), part.why)

    parts = [rest(coverage), rest(products), _gemm(problems, unit)]
    # What a unit lacks altogether is said of it; of what is in the smoke part, nothing is left to say.
    parts += [apart] if apart.why else []
    found = told if isinstance(told, Discrimination) else None
    return SetPlan((SetPart("smoke", tuple(first)), *parts), random=True, problems=problems, told=found)


def _coverage(unit: Unit, seed: int) -> SetPart:
    try:
        return SetPart("coverage", tuple(covering(unit, seed)))
    except NotImplementedYet as error:
        return SetPart("coverage", (), str(error))


def _told(unit: Unit, seed: int, progress: Progress) -> Discrimination | str:
    """The discrimination of a unit's readings, or why there is none."""
    try:
        return discrimination(unit, seed, lambda tried: progress(f"discrimination, {tried:,} tried,"))
    except ValueError as error:
        return str(error)


def _discrimination(told: Discrimination | str | None) -> SetPart:
    if isinstance(told, Discrimination):
        return SetPart("discrimination", tuple(told.cases))
    return SetPart("discrimination", (), told or "")


def _products(unit: Unit) -> SetPart:
    return SetPart("products", tuple(product_cases(unit)))


def _problems(unit: Unit, seed: int) -> tuple[GemmProblem, ...]:
    instruction = unit.instruction
    one = unit.promotion.interval if unit.promotion else instruction.k
    shapes = [(m, n, one * (times if instruction.chain else 1)) for m, n, times in GEMMS]
    return tuple(gemm_problem(unit, m, n, k, seed) for m, n, k in shapes)


def _gemm(problems: Sequence[GemmProblem], unit: Unit) -> SetPart:
    cases = [
        Case(f"gemm/{number}/{case.id}", case.a, case.b, case.c, case.scale_a, case.scale_b)
        for number, problem in enumerate(problems)
        for case in gemm_cases(unit, problem)
    ]
    return SetPart("gemm", tuple(cases))


def _captured(unit: Unit) -> SetPlan:
    known = captured_cases(unit)
    if not known:
        raise ValueError(
            f"no captured results of {unit.name} are at hand: HWSIM_SILICON names the folder that holds them"
        )
    renamed = [
        (Case(f"captured/{case.id}", case.a, case.b, case.c, case.scale_a, case.scale_b), code) for case, code in known
    ]
    return SetPlan(
        (SetPart("captured", tuple(case for case, _ in renamed)),),
        random=False,
        expected={case.id: code for case, code in renamed},
    )
