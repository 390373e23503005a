"""Units that vector sets are made of in the tests, and small sets of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from computed_once import computed_once
from odd_units import unit

from hwsim.cases.case import Case
from hwsim.cases.random_cases import product_cases
from hwsim.cosim.vectors.make import Made, make
from hwsim.cosim.vectors.plan import SUITES, Wanted, plan
from hwsim.spec import Unit

TINY, ANY_NAN = unit("tiny-e2m1-f16"), unit("tiny-any-nan")

# One of each kind of line: one group, MX scales, promotion, two groups, interleaved groups with a late addend, a block
# that spans lines, a chain of additions, an exact sum, integers.
KINDS = (
    "hopper-wgmma-e4m3-f32",
    "mxfp8-e5m2-f32",
    "mxfp6-e3m2-f32",
    "deepseek-v3-e4m3-f32",
    "ada-mma-e4m3-f32",
    "blackwell-mma-e4m3-f32",
    "deepseek-v3-e4m3-f32-scaled",
    "hfp8-forward-e4m3-dlfloat16",
    "exact-e4m3-f32",
    "int8-i32",
)


@computed_once("cases")
def products_of(name: str) -> tuple[Case, ...]:
    """The product cases of a unit."""
    return tuple(product_cases(unit_of(name)))


@computed_once("cosim")
def smoke_cases(name: str) -> list[Case]:
    """The cases of a smoke set."""
    return [case for part in plan(unit_of(name), "smoke", 1).parts for case in part.cases][: SUITES["smoke"]]


def unit_of(name: str) -> Unit:
    return {"tiny": TINY, "any-nan": ANY_NAN}.get(name) or unit(name)


def made(folder: Path, name: str, **wanted: Any) -> Made:
    return make(Wanted(unit_of(name), **{"suite": "random", "cases": 40, **wanted}), folder)


def changed(unit: Unit, part: str, **values: Any) -> Unit:
    return Unit.model_validate(
        {
            **unit.model_dump(mode="json", exclude_unset=True),
            part: {**getattr(unit, part).model_dump(mode="json", exclude_unset=True), **values},
        }
    )
