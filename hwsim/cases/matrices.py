"""Matrix problems of realistic numbers, as cases, and the small golden set in vectors/gemm.

`python -m hwsim.cases.matrices FOLDER` writes one NPZ file a unit and a manifest. The same bytes every time.
"""

from __future__ import annotations

import hashlib
import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from hwsim.base.arrays import npz
from hwsim.cases.case import Case, block_lengths, dot, draws
from hwsim.cases.drawing import Stream, normals
from hwsim.compute.sparse import compress
from hwsim.formats import ExponentFormat, FloatFormat, container_dtype
from hwsim.formats.blocks import BlockScale, one_code, scale_shape
from hwsim.model.definition import Definition
from hwsim.spec import SparseUnit, Unit, load_unit
from hwsim.spec.keys import Factor, Number

VERSION = 2  # of what the files hold and how
GOLDEN = (
    "hopper-wgmma-e4m3-f32",
    "hopper-wgmma-e5m2-f32",
    "ada-mma-e4m3-f32",
    "deepseek-v3-e4m3-f32",
    "mxfp8-e4m3-f32",
    "mxfp4-e2m1-f32",
)
GOLDEN_SHAPE, GOLDEN_SEED = (8, 8, 256), 1
OUTLIERS = 64  # one element of so many is an outlier

Codes = NDArray[np.unsignedinteger[Any]]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GemmProblem:
    """Operands of A @ B + C, as codes.

    A: (M, K); of a sparse unit (M, kept). B: (K, N). C: (M, N), or None for a unit without an addend.
    scale_a: (M / block rows, K / block columns), scale_b: (K / block rows, N / block columns), divided upwards; None
    for an unscaled unit. metadata: of a sparse unit, (M, runs), as `hwsim.compress` returns it; else None.
    """

    A: Codes
    B: Codes
    C: Codes | None
    scale_a: Codes | None = None
    scale_b: Codes | None = None
    metadata: Codes | None = None

    @property
    def arrays(self) -> dict[str, Codes]:
        """The operands that there are, by name."""
        scales = {"scale_a": self.scale_a, "scale_b": self.scale_b}
        held = {"A": self.A, "B": self.B, "C": self.C, **scales, "metadata": self.metadata}
        return {name: array for name, array in held.items() if array is not None}


def gemm_problem(unit: Unit, m: int, n: int, k: int, seed: int) -> GemmProblem:
    """A matrix product of normal numbers; each row of A and column of B has a magnitude and outliers of its own.

    The elements of a scaled unit are quantised by blocks, with scales that bring each block's largest near the
    format's. Raises NotImplementedYet for a unit that the model does not have.
    """
    draws(unit).demand()
    rng = Stream(seed, unit.name, "gemm", m, n, k)
    a = _values(rng, (m, k), axis=0)
    b = _values(rng, (k, n), axis=1)
    c = _addends(rng, unit.operands.addend, (m, n), k)
    formats = unit.operands.a, unit.operands.b
    if unit.scale is None:
        codes_a, codes_b = (fmt.encode(_fitted(values, fmt)) for fmt, values in zip(formats, (a, b), strict=True))
        return GemmProblem(codes_a, codes_b, c)
    a, scale_a = _quantised(a, formats[0], unit.scale.a)
    b, scale_b = _quantised(b, formats[1], unit.scale.b)
    return GemmProblem(formats[0].encode(a), formats[1].encode(b), c, scale_a, scale_b)


def sparse_problem(unit: SparseUnit, m: int, n: int, k: int, seed: int) -> GemmProblem:
    """The dense unit's product whose A keeps k of its factors along K, the largest. Raises as `gemm_problem`."""
    problem = gemm_problem(unit.dense, m, n, unit.sparsity.whole_of(k), seed)
    kept = compress(unit, problem.A, prune=True)
    return replace(problem, A=kept.codes, metadata=kept.metadata)


def _addends(rng: Stream, fmt: Number | None, shape: tuple[int, int], k: int) -> Codes | None:
    """Normal numbers of the size of a sum of k products."""
    if fmt is None:
        return None
    values = np.ldexp(normals(rng, shape), k.bit_length() // 2)
    return fmt.encode(values if fmt.signed else np.abs(values))


def _values(rng: Stream, shape: tuple[int, int], axis: int) -> Floats:
    """Normal numbers; along the other axis than `axis` they share a magnitude, and a few are outliers."""
    lines = (shape[0], 1) if axis == 0 else (1, shape[1])
    magnitude = np.ldexp(1.0, rng.integers(-3, 2, lines).astype(np.intc))
    large = np.ldexp(1.0, rng.integers(2, 6, lines).astype(np.intc))
    return np.asarray(normals(rng, shape) * magnitude * np.where(rng.integers(0, OUTLIERS, shape) == 0, large, 1.0))


def _ends(fmt: Factor) -> tuple[int, int]:
    """Exponents of the smallest number and of the largest."""
    return fmt.quantum_exp, math.frexp(fmt.largest)[1] - 1


def _fitted(values: Floats, fmt: Factor) -> Floats:
    """Values times a power of two that brings 1 to where the format has numbers on both sides; magnitudes, unsigned."""
    least, most = _ends(fmt)
    return np.ldexp(values if fmt.signed else np.abs(values), min(max(0, least + 3), most - 2))


def _quantised(values: Floats, fmt: Factor, side: BlockScale) -> tuple[Floats, Codes]:
    """Values in units of their blocks' scales, and the codes of the scales."""
    rows, columns = scale_shape(values.shape[0], values.shape[1], side.block)
    padded = np.zeros((rows * side.block[0], columns * side.block[1]))
    padded[: values.shape[0], : values.shape[1]] = np.abs(values)
    largest = padded.reshape(rows, side.block[0], columns, side.block[1]).max(axis=(1, 3))
    scale = side.format
    if not isinstance(scale, ExponentFormat):
        codes = _next_scales(largest / fmt.largest, scale)
        return values / _spread(scale.decode(codes), side, values.shape), codes
    # The exponent of the largest element, brought to that of the format's largest number.
    exps = np.where(largest > 0, np.frexp(largest)[1] - 1 - _ends(fmt)[1], 0)
    exps = np.clip(exps + scale.bias, scale.min_code, scale.max_code) - scale.bias
    quantised = np.ldexp(values, -_spread(exps, side, values.shape))
    return quantised, (exps + scale.bias).astype(container_dtype(scale))


def _spread(scales: NDArray[Any], side: BlockScale, shape: tuple[int, ...]) -> NDArray[Any]:
    """The scale of each element."""
    return np.repeat(np.repeat(scales, side.block[0], axis=0), side.block[1], axis=1)[: shape[0], : shape[1]]


def _next_scales(wanted: Floats, fmt: Number) -> Codes:
    """The scales next to those wanted; of blocks of zeros 1, and never zero itself."""
    padding, most = (fmt.padding, fmt.max_magnitude) if isinstance(fmt, FloatFormat) else (0, fmt.max_code)
    shift = np.asarray(padding, container_dtype(fmt))
    return np.asarray(np.clip(fmt.encode(np.where(wanted > 0, wanted, 1.0)) >> shift, 1, most) << shift)


def gemm_cases(unit: Unit | SparseUnit, problem: GemmProblem) -> list[Case]:
    """Every element of a matrix problem as a case `d[i,j]`, row by row. K is padded with zeros to whole groups."""
    (m, k), n = problem.A.shape, problem.B.shape[1]
    rule, unit = (unit.sparsity, unit.dense) if isinstance(unit, SparseUnit) else (None, unit)
    rest = -k % unit.instruction.fill
    rows = [(*row, *(0,) * rest) for row in problem.A.tolist()]
    columns = [(*column, *(0,) * (rule.whole_of(rest) if rule else rest)) for column in problem.B.T.tolist()]
    metadata: list[tuple[int, ...]] = [()] * m
    if rule is not None and problem.metadata is not None:
        metadata = [(*row, *rule.patterns[0] * (rest // rule.kept)) for row in problem.metadata.tolist()]
    addends = problem.C.tolist() if problem.C is not None else [[0] * n] * m
    cases = []
    for i, j in np.ndindex(m, n):
        scale_a, scale_b = _case_scales(unit, problem, i, j, len(rows[0]))
        cases.append(Case(f"d[{i},{j}]", rows[i], columns[j], addends[i][j], scale_a, scale_b, metadata=metadata[i]))
    return cases


def _case_scales(unit: Unit, problem: GemmProblem, i: int, j: int, terms: int) -> tuple[tuple[int, ...], ...]:
    """The scales of row i and of column j along K; those of blocks of padding alone are 2^0, or next to it."""
    if unit.scale is None or problem.scale_a is None or problem.scale_b is None:
        return (), ()
    lines = problem.scale_a[i // unit.scale.a.block[0]], problem.scale_b[:, j // unit.scale.b.block[1]]
    sides = []
    for line, side, length in zip(lines, (unit.scale.a, unit.scale.b), block_lengths(unit), strict=True):
        sides.append((*line.tolist(), *[one_code(side.format)] * (-(-terms // length) - len(line))))
    return tuple(sides)


def expected(unit: Unit, problem: GemmProblem) -> Codes:
    """D (M, N): what the definition returns for every element, as codes of the output's container."""
    definition = Definition(unit)
    shape = problem.A.shape[0], problem.B.shape[1]
    codes = [dot(definition, case).code for case in gemm_cases(unit, problem)]
    return np.array(codes, dtype=container_dtype(unit.output)).reshape(shape)


# The golden set.


def golden(name: str) -> dict[str, Codes]:
    """The arrays of one unit's golden file."""
    unit = load_unit(name)
    m, n, k = GOLDEN_SHAPE
    problem = gemm_problem(unit, m, n, k, GOLDEN_SEED)
    return problem.arrays | {"D": expected(unit, problem)}


def write_gemm(folder: str | Path) -> None:
    """Write `UNIT.npz` for each unit of the golden set, and `manifest.yaml`, into a folder."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    units: dict[str, Any] = {}
    for name in GOLDEN:
        arrays = golden(name)
        data = npz(arrays)
        (path / f"{name}.npz").write_bytes(data)
        units[f"{name}.npz"] = {
            "sha256": hashlib.sha256(data).hexdigest(),
            "arrays": {key: _described(array) for key, array in arrays.items()},
            "unit": load_unit(name).model_dump(mode="json", exclude_unset=True),
        }
    m, n, k = GOLDEN_SHAPE
    head = {"generator": "hwsim.cases.matrices", "version": VERSION, "seed": GOLDEN_SEED, "m": m, "n": n, "k": k}
    text = yaml.safe_dump({**head, "files": units}, sort_keys=False, width=110, allow_unicode=True)
    note = (
        "# Made by `python -m hwsim.cases.matrices`. Arrays hold codes; an array's sha256 is of its bytes, by rows.\n"
    )
    (path / "manifest.yaml").write_bytes((note + text).encode())


def _described(array: Codes) -> dict[str, Any]:
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
    return {
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "sha256": hashlib.sha256(little.tobytes()).hexdigest(),
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m hwsim.cases.matrices FOLDER")
    write_gemm(sys.argv[1])
