"""The cases of a vector set, in an order in which every set is the beginning of a longer one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hwsim.spec import Unit, refuse_unimplemented, refuse_unimplemented_in_vectors
from hwsim.spec.refusals import NotImplementedYet
from hwsim.vectors.captured import captured_cases
from hwsim.vectors.case import Case
from hwsim.vectors.directed import directed
from hwsim.vectors.matrices import GemmProblem, gemm_cases, gemm_problem
from hwsim.vectors.pairs import product_cases

SUITES = {"smoke": 1_000, "standard": 50_000, "soak": 1_000_000}
SMOKE = 850  # of the cases that a smoke set has, those that are chosen
PARTS = ("smoke", "coverage", "products", "gemm", "random")
# Rows, columns and K in promotion intervals, or instructions where there are none.
GEMMS = ((12, 12, 4), (2, 4, 32))

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Part:
    """Cases that belong together. why: why there are none."""

    name: str
    cases: tuple[Case, ...]
    why: str = ""


@dataclass(frozen=True)
class Plan:
    """What a sequence of cases begins with. random: whether random cases without end follow.

    problems: the matrix products of part `gemm`. expected: results that do not come from the model, by case id.
    """

    parts: tuple[Part, ...]
    random: bool
    problems: tuple[GemmProblem, ...] = ()
    expected: dict[str, int] | None = None

    def cases(self) -> Iterator[Case]:
        """All cases of the parts."""
        for part in self.parts:
            yield from part.cases


def plan(unit: Unit, suite: str, seed: int, progress: Progress = lambda _: None) -> Plan:
    """The plan of a suite: `smoke`, `standard` and `soak` are one sequence; else one of PARTS, or `captured`.

    Raises NotImplementedYet for a unit that the model does not have, ValueError for a suite that the unit lacks.
    """
    refuse_unimplemented(unit)
    if suite in SUITES:
        return _whole(unit, seed, progress)
    progress(suite)
    if suite == "captured":
        return _captured(unit)
    if suite == "random":
        return Plan((), random=True)
    maker = _MAKERS.get(suite)
    if maker is None:
        known = ", ".join([*SUITES, *_MAKERS, "random", "captured"])
        raise ValueError(f"unknown suite {suite!r}; there are {known}")
    part = maker(unit, seed)
    if part.why:
        raise ValueError(f"{unit.name} has no suite {suite}: {part.why}")
    return Plan((part,), random=False, problems=_problems(unit, seed) if suite == "gemm" else ())


def _whole(unit: Unit, seed: int, progress: Progress) -> Plan:
    parts = []
    for name, maker in _MAKERS.items():
        progress(name)
        parts.append(maker(unit, seed))
    return Plan(tuple(parts), random=True, problems=_problems(unit, seed))


def _coverage(unit: Unit, seed: int) -> Part:
    try:
        return Part("coverage", tuple(directed(unit, seed)))
    except NotImplementedYet as error:
        return Part("coverage", (), str(error))


def _products(unit: Unit, seed: int) -> Part:
    return Part("products", tuple(product_cases(unit)))


def _problems(unit: Unit, seed: int) -> tuple[GemmProblem, ...]:
    instruction = unit.instruction
    one = unit.promotion.interval if unit.promotion else instruction.k
    try:
        refuse_unimplemented_in_vectors(unit)
    except NotImplementedYet:
        return ()
    shapes = [(m, n, one * (times if instruction.chain else 1)) for m, n, times in GEMMS]
    return tuple(gemm_problem(unit, m, n, k, seed) for m, n, k in shapes)


def _gemm(unit: Unit, seed: int) -> Part:
    problems = _problems(unit, seed)
    if not problems:
        return Part("gemm", (), "no matrices are drawn for scales that are no powers of two")
    cases = [
        Case(f"gemm/{number}/{case.id}", case.a, case.b, case.c, case.scale_a, case.scale_b)
        for number, problem in enumerate(problems)
        for case in gemm_cases(unit, problem)
    ]
    return Part("gemm", tuple(cases))


def _captured(unit: Unit) -> Plan:
    known = captured_cases(unit)
    if not known:
        raise ValueError(
            f"no captured results of {unit.name} are at hand: HWSIM_SILICON names the folder that holds them"
        )
    renamed = [
        (Case(f"captured/{case.id}", case.a, case.b, case.c, case.scale_a, case.scale_b), code) for case, code in known
    ]
    return Plan(
        (Part("captured", tuple(case for case, _ in renamed)),),
        random=False,
        expected={case.id: code for case, code in renamed},
    )


_MAKERS: dict[str, Callable[[Unit, int], Part]] = {"coverage": _coverage, "products": _products, "gemm": _gemm}
