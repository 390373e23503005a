"""Makes a profile of products that a GPU's library computed: fits the plan of each, call by call, shape by shape."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from hwsim.base.errors import InputError
from hwsim.compute.fitting import MOST_PARTS, fit
from hwsim.formats import FloatFormat, get_format
from hwsim.spec.catalog import load_unit
from hwsim.spec.plan import Number, ProductPlan, Step
from hwsim.spec.profile import ProfiledCall, ProfileRow, sizes

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
    """What may explain products of a call, but for the parts."""

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
            way = max(counts, key=lambda each: counts[each])  # of equals the first, which is the simplest
            shapes = {product.shape: ways[way] for product, ways in pairs if way in ways}
            rows.append(_row(call, way, shapes))
            pairs = [pair for pair in pairs if way not in pair[1]]
    return [_ordered(row, rows) for row in rows], left


def _ordered(row: ProfileRow, rows: Sequence[ProfileRow]) -> ProfileRow:
    """A row whose parts begin, where captures leave several, with those of the same product elsewhere."""
    shapes = dict(row.shapes)
    for shape, parts in shapes.items():
        if isinstance(parts, tuple):
            alike = sorted((each for each in rows if _alike(each, row)), key=lambda each: each.unit != row.unit)
            certain = [only for each in alike if isinstance(only := each.shapes.get(shape), int) and only in parts][:1]
            shapes[shape] = (*certain, *(each for each in parts if each not in certain))
    return row.model_copy(update={"shapes": shapes})


def _alike(one: ProfileRow, other: ProfileRow) -> bool:
    """Whether rows split K in one way, and have factors and scales alike."""
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
    """What explains a product: the numbers of parts of each way."""
    output = get_format(product.call.output)
    assert isinstance(output, FloatFormat)
    ways: dict[_Way, list[int]] = defaultdict(list)
    for unit in units:
        most = 1 if product.split is False else most_parts
        for usual in (True, False):
            given = load_unit(unit), product.a, product.b, product.d, output, product.numbers
            for plan in fit(*given, most_parts=most, usual=usual).plans:
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


def captured_products(path: Path) -> tuple[dict[str, Any], list[CapturedProduct]]:
    """The facts of a file that capture/plans.py wrote, and its products.

    Raises OSError; ValueError, naming the file, for another file.
    """
    try:
        with np.load(path) as arrays:
            facts = json.loads(str(arrays["facts"]))
            return facts, [_captured(call, arrays) for call in facts["calls"]]
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"{path}: is no file of capture/plans.py: {error}") from None


NUMBERS: tuple[Number, ...] = get_args(Number)


def _captured(call: Mapping[str, Any], arrays: Any) -> CapturedProduct:
    name, factors = call["name"], call["factors"]
    m, n, k = sizes(name.partition("/")[0])
    keys = {key: call[key] for key in ProfiledCall.model_fields if key in call}
    numbers: dict[Number, Any] = {
        key: arrays[f"{name}/{key}"].view(np.float32) for key in NUMBERS if f"{name}/{key}" in arrays
    }
    split = any("splitK" in kernel for kernel in call["kernels"])
    of = arrays[f"{factors}/a"], arrays[f"{factors}/b"], arrays[f"{name}/d"]
    return CapturedProduct(ProfiledCall(**keys), (m, n, k), *of, numbers, split)
