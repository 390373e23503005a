"""Sparse units: metadata selects, and the dense unit multiplies what is selected."""

from __future__ import annotations

import inspect
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from numpy.typing import NDArray

import hwsim
import hwsim.model
from hwsim.compute import sparse as products
from hwsim.formats.codes import container_dtype
from hwsim.spec import SparseUnit, as_yaml, load_sparse, sparse, sparse_presets

RULES = {"e4m3": "hopper-wgmma-sp-e4m3-f32", "tf32": "hopper-wgmma-sp-tf32-f32", "pairs": "ampere-mma-sp-int4-i32"}
# One of every instruction and rule, with every kind of factors.
SOME = [
    "ada-mma-sp-e5m2xe4m3-f16", "ampere-mma-sp-tf32-f32", "ampere-mma-sp-uint4xint4-i32-sat",
    "blackwell-tcgen05-sp-e2m1xe3m2-f32", "geforce-blackwell-mma-sp-e2m3-f16", "hopper-mma-sp-bf16-f32",
    "hopper-wgmma-sp-uint8xint8-i32",
]  # fmt: skip


def patterns(unit: SparseUnit) -> list[tuple[int, ...]]:
    return list(combinations(range(unit.sparsity.of), unit.sparsity.keep))


def places(unit: SparseUnit, metadata: list[int]) -> list[int]:
    """The places along K of what is kept, one index after the other."""
    rule, found = unit.sparsity, []
    for number, index in enumerate(metadata):
        block = number // rule.keep
        found += [(block * rule.of + index) * rule.run + step for step in range(rule.run)]
    return found


def drawn(unit: SparseUnit, m: int, n: int, blocks: int, seed: int) -> tuple[Any, Any, NDArray[np.uint8]]:
    """Codes of a (m, kept) and of b (K, n), metadata (m, runs)."""
    rng, rule, operands = np.random.default_rng(seed), unit.sparsity, unit.dense.operands
    shapes = (m, blocks * rule.kept), (blocks * rule.whole, n)
    values = [rng.normal(0, 3, shape) for shape in shapes]
    a, b = (
        fmt.encode(numbers if fmt.signed else np.abs(numbers))
        for fmt, numbers in zip((operands.a, operands.b), values, strict=True)
    )
    chosen = np.array(patterns(unit))[rng.integers(0, len(patterns(unit)), (m, blocks))]
    return a, b, chosen.reshape(m, -1).astype(np.uint8)


def bits(results: NDArray[Any]) -> NDArray[Any]:
    return results.view(f"u{results.dtype.itemsize}")


@pytest.mark.parametrize("kind", RULES)
def test_every_metadata_selects_its_factors(kind: str) -> None:
    """Of two blocks each pattern beside each: b has another number at every place, a is one."""
    unit = load_sparse(RULES[kind])
    fmt_a, fmt_b = unit.dense.operands.a, unit.dense.operands.b
    every = [[*first, *second] for first, second in product(patterns(unit), repeat=2)]
    k = 2 * unit.sparsity.whole
    # Sums of two or four powers of two tell which they are; of 4 bits these are columns for each place.
    b = fmt_b.encode(np.eye(k))
    a = fmt_a.encode(np.ones((len(every), 2 * unit.sparsity.kept)))
    wanted = np.zeros((len(every), k))
    for row, metadata in enumerate(every):
        wanted[row, places(unit, metadata)] = 1
    assert len({*map(bytes, wanted.astype(np.uint8))}) == len(every) == len(patterns(unit)) ** 2
    found = hwsim.gemm(unit, a, b, metadata=every)
    assert np.array_equal(found.astype(np.float64), wanted)
    for column in range(k):
        rows = np.repeat(b[:, column][None], len(every), axis=0)
        for dot in (hwsim.dot, hwsim.model.dot):
            assert np.array_equal(dot(unit, a, rows, metadata=every).astype(np.float64), wanted[:, column])


@pytest.mark.parametrize("name", others_slow(sparse_presets(), SOME))
def test_what_is_selected_is_multiplied_as_by_the_dense_unit(name: str) -> None:
    unit = load_sparse(name)
    a, b, metadata = drawn(unit, 7, 5, 3 * unit.dense.instruction.k // unit.sparsity.kept, 1)
    c = np.arange(35).reshape(7, 5).astype(container_dtype(unit.dense.operands.addend or unit.dense.output))
    found = hwsim.gemm(name, a, b, c, metadata=metadata)
    for row in range(7):
        taken = np.array([b[place] for place in places(unit, metadata[row].tolist())])
        assert np.array_equal(bits(found[row]), bits(hwsim.gemm(unit.dense, a[row][None], taken, c[row][None])[0]))
    by_model = hwsim.model.dot(name, a, np.repeat(b[:, :1].T, 7, axis=0), c[:, 0], metadata=metadata)
    assert np.array_equal(bits(by_model), bits(found[:, 0]))
    # A unit that took the first factors, or the neighbours, would return something else.
    others = np.array([*patterns(unit)[::-1]])[np.zeros(metadata.shape[1] // unit.sparsity.keep, int)].reshape(1, -1)
    assert (bits(hwsim.gemm(name, a, b, c, metadata=np.repeat(others, 7, axis=0))) != bits(found)).any()


def test_kernels_compute_many_products() -> None:
    a, b, metadata = drawn(load_sparse(RULES["e4m3"]), 70, 130, 64, 2)
    metadata[::2] = metadata[0]  # rows that go together, and others
    found = hwsim.gemm(RULES["e4m3"], a, b, metadata=metadata)
    for row in (0, 1, 2, 69):
        by_model = hwsim.model.dot(
            RULES["e4m3"],
            np.repeat(a[row][None], 9, axis=0),
            b[:, :9].T,
            metadata=np.repeat(metadata[row][None], 9, axis=0),
        )
        assert np.array_equal(bits(found[row, :9]), bits(by_model))
    assert np.array_equal(bits(hwsim.gemm(RULES["e4m3"], a, b.T, metadata=metadata, transposed=True)), bits(found))


NEIGHBOURS = "np.arange(indices.shape[1]) ^ 1"
PLACES = "(np.arange(indices.shape[1]) // rule.keep * rule.of + indices) * rule.run"
MUTANTS = {
    "the first factors are taken": (PLACES, PLACES.replace("+ indices", "+ indices * 0")),
    "the bits of an index are swapped": (PLACES, PLACES.replace("+ indices", "+ (indices >> 1 | (indices & 1) << 1)")),
    "indices of a group are swapped": (
        PLACES,
        PLACES.replace("+ indices", "+ indices[:, np.arange(indices.shape[1]) ^ 1]"),
    ),
    "a group has the factors of the next": (PLACES, PLACES.replace("rule.keep *", "rule.keep % 2 *")),
    "lanes are off by one": ("np.arange(rule.run)).reshape", "np.roll(np.arange(rule.run), 1)).reshape"),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_of_what_kernels_gather_are_caught(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong = MUTANTS[mutant]
    source, made = inspect.getsource(sparse.gathered), dict[str, Any]()
    assert source.count(right) == 1
    exec(source.replace(right, wrong), vars(sparse), made)
    a, b, metadata = drawn(load_sparse(RULES["pairs"]), 6, 1, 32, 3)
    by_model = hwsim.model.dot(RULES["pairs"], a, np.repeat(b.T, 6, axis=0), metadata=metadata)
    assert np.array_equal(hwsim.gemm(RULES["pairs"], a, b, metadata=metadata)[:, 0], by_model)
    monkeypatch.setattr(products, "gathered", made["gathered"])
    assert not np.array_equal(hwsim.gemm(RULES["pairs"], a, b, metadata=metadata)[:, 0], by_model)


def test_what_is_not_kept_is_no_zero() -> None:
    e5m2 = hwsim.get_format("e5m2")
    a, b = e5m2.encode([[1, 2, 0, 0]]), e5m2.encode([[3], [4], [np.inf], [np.inf]], overflow="infinity")
    name = "hopper-wgmma-sp-e5m2-f32"
    assert hwsim.gemm(name, a[:, :2], b, metadata=[[0, 1]]).item() == 11
    assert np.isnan(hwsim.gemm("hopper-wgmma-e5m2-f32", a, b).item())
    assert np.isnan(hwsim.gemm(name, e5m2.encode([[1, 0]]), b, metadata=[[0, 2]]).item())  # a zero that is kept


def test_compress() -> None:
    e4m3, name = hwsim.get_format("e4m3"), RULES["e4m3"]
    a = e4m3.encode([[0, 0, 0, 5, 1, 0, 2, 0], [-1, 0, 0, 2, 0, 0, 0, 0]])
    a[1, 5] = 0x7F  # NaN is no zero
    kept = hwsim.compress(name, a)
    assert kept.metadata.tolist() == [[0, 3, 0, 2], [0, 3, 0, 1]]
    assert np.array_equal(kept.codes, np.take_along_axis(a, np.array([[0, 3, 4, 6], [0, 3, 4, 5]]), axis=1))
    full = e4m3.encode([[1, -3, 3, 2, 1, 1, 1, 1]])
    with pytest.raises(
        hwsim.base.errors.InputError, match=r"a\[0, 0:4\] has more than 2 numbers other than zero of 4; with"
    ):
        hwsim.compress(name, full)
    assert hwsim.compress(name, full, prune=True).metadata.tolist() == [[1, 2, 0, 1]]
    int4 = hwsim.get_format("int4").encode([[0, 0, 0, 7, 1, 1, 0, 0], [1, 0, 0, 1, 0, 0, -2, 3]])
    with pytest.raises(ValueError, match=r"a\[1, 0:8\] has more than 2 runs of 2 other than zero of 4"):
        hwsim.compress(RULES["pairs"], int4)
    pairs = hwsim.compress(RULES["pairs"], int4, prune=True)
    assert pairs.metadata.tolist() == [[1, 2], [0, 3]]
    assert pairs.codes.tolist() == [[0, 7, 1, 1], [1, 0, 14, 3]]
    with pytest.raises(ValueError, match=r"a must have shape \(M, K\), K a multiple of 4, not \(1, 6\)"):
        hwsim.compress(name, full[:, :6])


NONE = np.zeros((1, 0), int)
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "falling": ({"metadata": [[1, 0]]}, r"metadata\[0, 0:2\] is 1, 0: .* must ascend; .*undefined"),
    "twice": ({"metadata": [[2, 2]]}, r"metadata\[0, 0:2\] is 2, 2: .* must ascend"),
    "beyond": ({"metadata": [[1, 4]]}, r"metadata\[0, 1\] is 4: indices are 0 to 3"),
    "below": ({"metadata": [[-1, 1]]}, r"metadata\[0, 0\] is -1: indices are 0 to 3"),
    "shape": ({"metadata": [[0, 1, 2]]}, r"metadata must have shape \(1, 2\), an index for each factor of a"),
    "half": ({"A": [[0]], "metadata": [[0]]}, r"a must have shape \(n, K\), K a multiple of the 2 that are kept"),
    "b": ({"B": [[0]] * 3}, r"b must have shape \(K, N\), with K 4, of which a keeps 2, not \(3, 1\)"),
    "batch": ({"A": [[[0, 0]]]}, r"a must have shape \(M, K\) without a batch, with metadata"),
    "none": (dict(zip(("A", "B", "metadata"), (NONE, NONE.T, NONE), strict=True)), "K, the number of products"),
    "scale": ({"scale_a": [[0]]}, "scale_a must not be given with metadata"),
    "plan": ({"plan": {}}, "plan must not be given with metadata"),
    "packed": ({"packed": "a"}, "packed must not be given with metadata"),
    "dense": ({"unit": "hopper-wgmma-e4m3-f32"}, "unit hopper-wgmma-e4m3-f32 is dense, and takes no metadata"),
    "without": ({"metadata": None}, "unit hopper-wgmma-sp-e4m3-f32 is sparse, and a dense one is wanted: take hopper"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_is_refused(what: str) -> None:
    given, words = WRONG[what]
    usual = {"unit": RULES["e4m3"], "A": [[0, 0]], "B": [[0]] * 4, "metadata": [[0, 1]]}
    with pytest.raises(ValueError, match=words):
        hwsim.gemm(**(usual | given))


def test_metadata_is_integers() -> None:
    with pytest.raises(TypeError, match="metadata must be integers, not float64"):
        hwsim.gemm(RULES["e4m3"], [[0, 0]], [[0]] * 4, metadata=[[0.0, 1.0]])


def test_what_supports_them() -> None:
    name = RULES["e4m3"]
    assert hwsim.supports(name, "cuda").reason == f"unit {name}: sparsity is not implemented yet"
    for by in ("model", "kernels", "clock", "rtl", "c"):
        assert hwsim.supports(name, by)  # type: ignore[arg-type]


def test_files_and_keys(tmp_path: Path) -> None:
    (tmp_path / "dense.yaml").write_text(as_yaml(hwsim.load_unit("hopper-wgmma-e4m3-f32").replace(fraction_bits=7)))
    file = tmp_path / "half.yaml"
    file.write_text("unit: half\ndense: ./dense.yaml\nsparsity: {keep: 1, of: 4}\n")
    unit = load_sparse(file)
    assert unit.dense.sum.fraction_bits == 7  # type: ignore[union-attr]
    assert hwsim.gemm(unit, [[0x38]], [[0x38], [0x40], [0], [0]], metadata=[[1]]).item() == 2
    (tmp_path / "again.yaml").write_text(as_yaml(unit))
    assert load_sparse(tmp_path / "again.yaml") == unit
    assert load_sparse({"unit": "half", "dense": unit.dense, "sparsity": {"keep": 1, "of": 4}}) == unit
    for name in SOME:
        (tmp_path / "preset.yaml").write_text(as_yaml(load_sparse(name)))
        assert load_sparse(str(tmp_path / "preset.yaml")) == load_sparse(name)
    for text, words in {
        "unit: x\nsparsity: {keep: 2, of: 4}\n": "dense is missing",
        "unit: x\ndense: hopper-wgmma-e4m3-f32\nsparsity: {keep: 4, of: 4}\n": "yaml:3: sparsity.keep must be less",
        "unit: x\ndense: mxfp8-e4m3-f32\nsparsity: {keep: 2, of: 4}\n": "half.yaml:2: dense must have no scales",
        "unit: x\ndense: hopper-wgmma-e4m3-f32\nsparsity: {keep: 3, of: 4}\n": "which must divide dense.instruction.k",
        "unit: x\ndense: hopper-wgmma-e4m3-f3\nsparsity: {keep: 2, of: 4}\n": "unknown unit 'hopper-wgmma-e4m3-f3'",
    }.items():
        file.write_text(text)
        with pytest.raises(hwsim.SpecError, match=words):
            load_sparse(file)
