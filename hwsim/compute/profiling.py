"""Makes a profile of products that a GPU's library computed: fits the plan of each, call by call, shape by shape."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hwsim.base.errors import InputError
from hwsim.compute.fitting import MOST_PARTS, fit
from hwsim.formats import FloatFormat, container_dtype, get_format
from hwsim.formats.yamlfile import broken_rule
from hwsim.quantize.tensors import members
from hwsim.spec.catalog import load_unit
from hwsim.spec.plan import Number, ProductPlan, Step
from hwsim.spec.profile import SHAPE, ProfiledCall, ProfileRow, sizes

# The families of presets that a GPU's libraries may use, by compute capability, those tried first in front.
FAMILIES = {
    "8.0": ("ampere-mma",),
    "8.6": ("ampere-mma",),
    "8.9": ("ada-mma",),
    "9.0": ("hopper-wgmma", "hopper-mma"),
    "10.0": ("blackwell-tcgen05", "blackwell-mma"),
    "12.0": ("geforce-blackwell-mma",),
}
PROMOTED = "deepseek-v3-e4m3-f32"


@dataclass(frozen=True)
class CapturedProduct:
    """A product that a library computed: some rows of A, columns of B and the elements where they meet, as codes.

    shape: M, N, K of the whole product. a: (rows, K); b: (K, columns); d: (rows, columns). numbers: what else entered,
    of these rows and columns. split: whether the library's kernel says that it splits K; None where nothing says so.
    """

    call: ProfiledCall
    shape: tuple[int, int, int]
    a: Any
    b: Any
    d: Any
    numbers: Mapping[Number, Any] = field(default_factory=dict)
    split: bool | None = None


class _Way(NamedTuple):
    """A way to explain products of a call, but for the parts."""

    unit: str
    epilogue: tuple[Step, ...]
    step: int
    order: str
    sum: str


def units_of(call: ProfiledCall, capability: str) -> list[str]:
    """The presets that are tried for a call on a GPU of a compute capability; none where hwsim knows none."""
    if call.operation == "scaled_mm" and not call.fast and capability == "9.0":
        return [PROMOTED] if call.a == call.b == "e4m3" else []
    factors = call.a if call.a == call.b else f"{call.a}x{call.b}"
    names = (f"{family}-{factors}-f32" for family in FAMILIES.get(capability, ()))
    return [name for name in names if name in _presets()]


def _presets() -> list[str]:
    from hwsim.spec.catalog import presets

    return presets()


def rows_of(
    products: Sequence[CapturedProduct],
    capability: str,
    *,
    most_parts: int = MOST_PARTS,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[ProfileRow], list[CapturedProduct]]:
    """The rows of a profile that explain products to the last bit, and the products that no plan explains.

    One row is chosen for as many shapes of a call as can be. progress: products that are done, and all.
    """
    explained: dict[ProfiledCall, list[tuple[CapturedProduct, dict[_Way, list[int]]]]] = defaultdict(list)
    for index, product in enumerate(products):
        if progress is not None:
            progress(index, len(products))
        explained[product.call].append((product, _ways(product, units_of(product.call, capability), most_parts)))
    rows, left = list[ProfileRow](), list[CapturedProduct]()
    for call, pairs in explained.items():
        while pairs:
            counts = Counter(way for _, ways in pairs for way in ways)
            if not counts:
                left += [product for product, _ in pairs]
                break
            way = max(counts, key=lambda candidate: counts[candidate])  # of equals the first, which is the simplest
            shapes = {product.shape: ways[way] for product, ways in pairs if way in ways}
            rows.append(_row(call, way, shapes))
            pairs = [pair for pair in pairs if way not in pair[1]]
    return [_ordered(row, rows) for row in rows], left


def _ordered(row: ProfileRow, rows: Sequence[ProfileRow]) -> ProfileRow:
    """A row whose parts begin, where captures leave several, with those of the same product elsewhere."""
    shapes = dict(row.shapes)
    for shape, parts in shapes.items():
        if isinstance(parts, tuple):
            alike = sorted((item for item in rows if _alike(item, row)), key=lambda item: item.unit != row.unit)
            certain = [only for item in alike if isinstance(only := item.shapes.get(shape), int) and only in parts][:1]
            shapes[shape] = (*certain, *(item for item in parts if item not in certain))
    return row.model_copy(update={"shapes": shapes})


def _alike(one: ProfileRow, other: ProfileRow) -> bool:
    """True if rows split K in one way, and have factors and scales alike."""
    keys = [(row.step, row.order, row.sum, row.call.a, row.call.b, row.call.scaling) for row in (one, other)]
    return keys[0] == keys[1]


def _row(call: ProfiledCall, way: _Way, shapes: Mapping[tuple[int, int, int], list[int]]) -> ProfileRow:
    keys: dict[str, Any] = {"call": call, "unit": way.unit, "epilogue": way.epilogue}
    if any(parts != [1] for parts in shapes.values()):
        keys |= {"step": way.step}
        keys |= {"order": way.order} if way.order != "contiguous" else {}
        keys |= {"sum": way.sum} if way.sum != "sequential" else {}
    named = {"x".join(map(str, shape)): tuple(dict.fromkeys(parts)) for shape, parts in shapes.items()}
    return ProfileRow(**keys, shapes={shape: parts[0] if len(parts) == 1 else parts for shape, parts in named.items()})


def _ways(product: CapturedProduct, units: Iterable[str], most_parts: int) -> dict[_Way, list[int]]:
    """The ways that explain a product, and the numbers of parts of each."""
    output = get_format(product.call.output)
    assert isinstance(output, FloatFormat)
    ways: dict[_Way, list[int]] = defaultdict(list)
    for unit in units:
        most = 1 if product.split is False else most_parts
        for usual in (True, False):
            arguments = load_unit(unit), product.a, product.b, product.d, output, product.numbers
            for plan in fit(*arguments, most_parts=most, usual=usual).plans:
                for way, parts in _of_plan(unit, plan):
                    if not (product.split and parts == 1):
                        ways[way].append(parts)
            if ways:
                return ways
    return ways


STEPS = (128, 64)  # of K, of rows whose products are all in one part


def _of_plan(unit: str, plan: ProductPlan) -> Iterable[tuple[_Way, int]]:
    split = plan.split
    if split is None:
        yield from ((_Way(unit, plan.epilogue, step, "contiguous", "sequential"), 1) for step in STEPS)
    else:
        yield _Way(unit, plan.epilogue, split.step, split.order, split.sum), split.parts


class AskedCall(ProfiledCall):
    """A call of capture/plans.py. name: where its arrays are; factors: where those of its factors are."""

    name: str = Field(pattern=SHAPE.removesuffix("$") + "/[0-9]+$")
    factors: str
    operation: Literal["mm", "scaled_mm"]
    a: Literal["e4m3", "f16", "bf16"]
    b: Literal["e4m3", "f16", "bf16"]
    output: Literal["f32", "f16", "bf16", "e4m3"]
    scaling: Literal["none", "tensor", "row"] = "none"
    bias: Literal["none", "bf16"] = "none"
    kernels: list[str]


class GpuFacts(BaseModel):
    """The facts that a file of captured products states of the GPU and its software, and the seed of its operands."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    gpu: str
    capability: str
    torch: str
    cuda: str
    seed: int


class PlanFacts(GpuFacts):
    """The facts that a file of capture/plans.py states: the GPU, its software, and what was asked."""

    calls: list[AskedCall]


Facts = TypeVar("Facts", bound=BaseModel)


def facts_of(path: Path, kind: type[Facts], program: str) -> Facts:
    """The facts of a file that a program for GPUs wrote. Raises OSError, and InputError for what it does not write."""
    (facts,) = members(path, ["facts"])
    try:
        return kind.model_validate(json.loads(str(facts)))
    except ValidationError as error:
        first = error.errors()[0]
        where, rule = broken_rule(first)
        key = ".".join(map(str, (*first["loc"], *where))) or "they"
        raise InputError(f"{path}: its facts are not what {program} writes: {key} {rule}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: its facts are not what {program} writes: they are no JSON") from None


def captured_products(path: Path) -> tuple[PlanFacts, list[CapturedProduct]]:
    """The facts of a file that capture/plans.py wrote, and its products. Raises as `facts_of`."""
    facts = facts_of(path, PlanFacts, "capture/plans.py")
    return facts, [_captured(path, call) for call in facts.calls]


def _captured(path: Path, call: AskedCall) -> CapturedProduct:
    m, n, k = sizes(call.name.partition("/")[0])
    scales = ["scale_a", "scale_b"] if call.scaling != "none" else []
    beside = [*scales, *(["bias"] if call.bias != "none" else [])]
    places = [f"{call.factors}/a", f"{call.factors}/b", *(f"{call.name}/{name}" for name in ("d", *beside))]
    a, b, d, *others = members(path, places)
    rows, columns = d.shape if d.ndim == 2 and d.size else (1, 1)
    shapes: dict[str, tuple[int, ...]] = (
        {"scale_a": (rows, 1), "scale_b": (1, columns)} if call.scaling == "row" else {}
    )
    wanted: list[tuple[str, tuple[int, ...]]] = [
        (call.a, (rows, k)),
        (call.b, (k, columns)),
        (call.output, (rows, columns)),
    ]
    wanted += [("f32", shapes.get(name, (columns,) if name == "bias" else ())) for name in beside]
    for place, array, (fmt, shape) in zip(places, (a, b, d, *others), wanted, strict=True):
        dtype = container_dtype(get_format(fmt))
        if array.shape != shape or array.dtype != dtype:
            raise InputError(
                f"{path}: {place} must be {dtype} {shape}, codes of {fmt}, not {array.dtype} {array.shape}"
            )
    keys = call.model_dump(include=set(ProfiledCall.model_fields))
    numbers = {name: array.view(np.float32) for name, array in zip(beside, others, strict=True)}
    split = any("splitK" in kernel for kernel in call.kernels)
    return CapturedProduct(ProfiledCall(**keys), (m, n, k), a, b, d, cast(dict[Number, Any], numbers), split)
