"""Cases captured from real GPUs, with their results: of dense units by Khattak and Mikaitis (MATLAB-tensor-core)."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hwsim.base.errors import InputError

if TYPE_CHECKING:  # `hwsim doctor` looks for the file where NumPy may be broken
    from numpy.typing import NDArray

    from hwsim.cases.case import Case
    from hwsim.formats import Format
    from hwsim.spec import SparseUnit, Unit
    from hwsim.spec.sparse import Compressed

VARIABLE = "HWSIM_SILICON"
FILE, SPARSE_FILE = "captured.npz", "h200_sparse.npz"


def folders(folder: str | Path | None = None) -> list[Path]:
    """The folder that is given, or those that HWSIM_SILICON names, parted as in PATH."""
    named = [folder] if folder is not None else os.environ.get(VARIABLE, "").split(os.pathsep)
    return [Path(name) for name in named if name]


def silicon(folder: str | Path | None = None, file: str = FILE) -> Path | None:
    """The file of captured results in a folder, or in one that HWSIM_SILICON names; None where there is none."""
    return next((path for place in folders(folder) if (path := place / file).is_file()), None)


HALF = (("f16", "f32"), ("bf16", "f32"), ("tf32", "f32"), ("f16", "f16"))
FP8 = ("e4m3", "e5m2")

# GPUs, and by the name of their instruction the formats of factors and of the result that were captured from each.
_CAPTURED: dict[str, tuple[tuple[str, ...], tuple[tuple[str, str], ...]]] = {
    "volta-mma": (("v100",), (("f16", "f32"), ("f16", "f16"))),
    "ampere-mma": (("a100", "a2"), HALF),
    "ada-mma": (("ada",), (*HALF, *((fmt, result) for fmt in FP8 for result in ("f32", "f16")))),
    "hopper-mma": (("h100", "h200"), (*HALF, *((fmt, "f16") for fmt in FP8))),
    "hopper-wgmma": (("h100", "h200"), tuple((fmt, "f32") for fmt in FP8)),
    "blackwell-mma": (("b200",), (*HALF, *((fmt, result) for fmt in FP8 for result in ("f32", "f16")))),
}

# Which captures show what a unit returns: GPUs, the factors' format in the file, and the result's.
CAPTURES: dict[str, tuple[tuple[str, ...], str, str]] = {
    f"{instruction}-{factors}-{result}": (gpus, factors, result)
    for instruction, (gpus, formats) in _CAPTURED.items()
    for factors, result in formats
}


def captured_cases(unit: Unit, folder: str | Path | None = None) -> list[tuple[Case, int]]:
    """Every captured case of a unit, and the code that the GPU returned; empty without data, or for other units.

    A K that is shorter than the unit's groups or instructions is filled with zeros.
    folder: where the data is; without it, the folder that the environment's HWSIM_SILICON names.
    """
    from hwsim.cases.case import Case
    from hwsim.quantize.tensors import members

    path = silicon(folder)
    if path is None or unit.name not in CAPTURES:
        return []
    gpus, factors, result = CAPTURES[unit.name]
    cases: list[tuple[Case, int]] = []
    for gpu in gpus:
        names = [f"{gpu}/{factors}/{name}" for name in ("a", "b", f"c_{result}", f"d_{result}")]
        arrays = members(path, names)
        _check(path, unit, names, arrays)
        a, b, c, d = (array.tolist() for array in arrays)
        rest = (0,) * (-arrays[0].shape[1] % unit.instruction.fill)
        cases += [
            (Case(f"{gpu}/{index:04}", (*row, *rest), (*column, *rest), addend), code)
            for index, (row, column, addend, code) in enumerate(zip(a, b, c, d, strict=True))
        ]
    return cases


# Of a sparse unit the factors' format in the file, the result's, and what is left out: products of K in two parts.
SPARSE = {"hopper-wgmma-sp-e4m3-f32": ("e4m3", "float32"), "hopper-wgmma-sp-int8-i32": ("int8", "int32")}
IN_PARTS = "segment_k_on"


def sparse_captured(unit: SparseUnit, folder: str | Path | None = None) -> list[tuple[Case, int]]:
    """Every captured case of a sparse unit, an element of cuSPARSELt's products, and the code that the GPU returned.

    folder: as of `captured_cases`. Raises OSError, and InputError for a file that does not hold such products.
    """
    import numpy as np

    from hwsim.cases.case import Case
    from hwsim.quantize.tensors import members

    path = silicon(folder, SPARSE_FILE)
    if path is None or unit.name not in SPARSE:
        return []
    (factors, result), cases = SPARSE[unit.name], list[tuple[Case, int]]()
    (facts,) = members(path, ["facts"])
    try:
        calls = [(str(call["name"]), list(map(str, call["kernels"]))) for call in json.loads(str(facts))["calls"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{path}: facts must be JSON, with the names and kernels of calls") from None
    for name, kernels in calls:
        product, _, of = name.rpartition("/")
        parted = factors == "e4m3" and any(IN_PARTS in kernel for kernel in kernels)
        if not product.startswith(f"sparse-{factors}-") or of != result or parted:
            continue
        names = [f"{product}/a", f"{product}/b", f"{name}/d"]
        a, b, d = members(path, names)
        kept = _kept(path, unit, names, a, b, d)
        rows = [(tuple(row), tuple(places)) for row, places in zip(*(side.tolist() for side in kept), strict=True)]
        columns = [tuple(column) for column in b.tolist()]
        for i, j in np.ndindex(*d.shape):
            case = Case(f"h200/{product}-{i}-{j}", rows[i][0], columns[j], metadata=rows[i][1])
            cases.append((case, int(d[i, j])))
    return cases


def _kept(
    path: Path, unit: SparseUnit, names: Sequence[str], a: NDArray[Any], b: NDArray[Any], d: NDArray[Any]
) -> Compressed:
    """What a sparse unit takes of a. Raises InputError for arrays that are not a product's codes, (M, K), (N, K), D."""
    from hwsim.compute.sparse import compress
    from hwsim.formats import codes_of

    dense, whole = unit.dense, unit.sparsity.whole_of(unit.dense.instruction.fill)
    k = a.shape[-1] if a.ndim == 2 and a.size else whole
    m, n = d.shape if d.ndim == 2 and d.size else (1, 1)
    (of_a, of_b, of_d), rule = names, f", K a multiple of {whole}"
    wanted: list[tuple[str, NDArray[Any], Format, tuple[int, int], str]] = [
        (of_d, d, dense.output, (m, n), ""),
        (of_a, a, dense.operands.a, (m, k), rule),
        (of_b, b, dense.operands.b, (n, k), rule),
    ]
    for name, array, fmt, shape, of_k in wanted:
        if array.dtype.kind != "u" or array.shape != shape or (of_k and k % whole):
            raise InputError(f"{path}: {name} must be codes {shape}{of_k}, not {array.dtype} {array.shape}")
        codes_of(fmt, array, f"{path}: {name}")
    try:
        return compress(unit, a)
    except InputError as error:
        raise InputError(f"{path}: {of_a}: {error}") from None


def _check(path: Path, unit: Unit, names: Sequence[str], arrays: Sequence[NDArray[Any]]) -> None:
    """Raise InputError for arrays that are not the codes of as many cases each."""
    from hwsim.formats import codes_of

    operands, shape = unit.operands, arrays[0].shape
    formats = (operands.a, operands.b, operands.addend or unit.output, unit.output)
    for index, (name, array, fmt) in enumerate(zip(names, arrays, formats, strict=True)):
        if array.dtype.kind != "u" or array.ndim != (2 if index < 2 else 1) or array.shape != shape[: array.ndim]:
            raise InputError(f"{path}: {name} must be codes, (cases, K) or (cases,), not {array.dtype} {array.shape}")
        codes_of(fmt, array, f"{path}: {name}")
