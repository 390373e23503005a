"""Tensors as data: which vectors are taken, of every kind of file, and what is said of those that cannot be."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from hwsim.cases.drawing import Stream
from hwsim.quantize import tensors as stored
from hwsim.study.data import Data, check, digest, draw, parse_data
from hwsim.study.data import sources as tensors
from hwsim.study.data.sources import Tensor


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # An empty folder that is not the tensors': paths are relative to the study.
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path


def numbered(rows: int, columns: int, dtype: Any = np.float32) -> NDArray[Any]:
    """Row r and column c hold 64 r + c: a number says where it stood."""
    return (64 * np.arange(rows)[:, None] + np.arange(columns)).astype(dtype)


def both(a: str, b: str, folder: Path, **options: bool) -> Data:
    return parse_data({"a": {"tensor": a, **options}, "b": {"tensor": b, **options}}, folder)


def assert_vectors(vectors: NDArray[np.float32], of: NDArray[Any]) -> list[int]:
    """Each is the first numbers of a row of `of`, none twice; which ones."""
    rows = [int(np.flatnonzero((of[:, : vectors.shape[1]] == vector).all(axis=1))[0]) for vector in vectors]
    assert len(set(rows)) == len(rows)
    return rows


def test_rows_of_a_and_columns_of_b(here: Path) -> None:
    x, w = numbered(30, 20), numbered(20, 40)
    np.save(here / "x.npy", x)
    np.savez(here / "w.npz", w=w, other=x)
    data = both("x.npy", "w.npz:w", here)
    check(data, [20, 7], 30, 40)
    for length in (20, 7):
        drawn = draw(data, 1, 0, length, 6, 5)
        assert (drawn.a.shape, drawn.b.shape) == ((6, length), (length, 5))
        assert_vectors(drawn.a, x)
        assert_vectors(drawn.b.T, w.T)


def test_transposed_tensors(here: Path) -> None:
    x, w = numbered(20, 30), numbered(40, 20)
    np.save(here / "x.npy", x)
    np.save(here / "w.npy", np.asfortranarray(w))
    data = both("x.npy", "w.npy", here, transpose=True)
    check(data, [20], 30, 40)
    drawn = draw(data, 1, 0, 20, 6, 5)
    assert_vectors(drawn.a, x.T)
    assert_vectors(drawn.b.T, w)


def test_vectors_are_chosen_anew_in_each_trial_all_alike(here: Path) -> None:
    x = numbered(10, 8)
    np.save(here / "x.npy", x)
    data = parse_data("x.npy", here)
    chosen = [assert_vectors(draw(data, 1, trial, 8, 3, 1).a, x) for trial in range(400)]
    assert len({tuple(one) for one in chosen}) > 200
    for place in range(3):
        counts = np.bincount([one[place] for one in chosen], minlength=10)
        # Chi-squared of 9 degrees of freedom: 27.9 is exceeded once in a thousand.
        assert ((counts - 40) ** 2 / 40).sum() < 27.9
    assert draw(data, 1, 7, 8, 3, 1).a.tolist() == draw(data, 1, 7, 8, 3, 1).a.tolist()
    assert draw(data, 1, 7, 8, 5, 1).a[:3].tolist() == draw(data, 1, 7, 8, 3, 1).a.tolist()
    assert sorted(assert_vectors(draw(data, 1, 0, 8, 10, 1).a, x)) == list(range(10))


def test_a_tensor_alone_gives_both_sides_its_vectors(here: Path) -> None:
    x = numbered(30, 20)
    np.save(here / "x.npy", x)
    for entry, vectors in (("x.npy", x), ("x.npy:transpose=true", x.T)):
        data = parse_data(entry, here)
        check(data, [vectors.shape[1]], len(vectors), len(vectors))
        drawn = draw(data, 1, 0, vectors.shape[1], 9, 9)
        assert assert_vectors(drawn.a, vectors) != assert_vectors(drawn.b.T, vectors)


def test_a_tensor_and_a_distribution(here: Path) -> None:
    x = numbered(4, 16)
    np.save(here / "x.npy", x)
    data = parse_data({"a": "x.npy", "b": "normal:deviation=0.1"}, here)
    check(data, [16], 4, 1000)
    drawn = draw(data, 1, 0, 16, 4, 1000)
    assert_vectors(drawn.a, x)
    assert 0.099 < drawn.b.std() < 0.101


def test_a_tensor_of_one_axis_is_one_vector(here: Path) -> None:
    np.save(here / "x.npy", np.arange(9.0))
    data = parse_data("x.npy", here)
    check(data, [9, 4], 1, 1)
    drawn = draw(data, 1, 0, 4, 1, 1)
    assert drawn.a.tolist() == [[0, 1, 2, 3]]
    assert drawn.b.tolist() == [[0], [1], [2], [3]]
    with pytest.raises(ValueError, match=r"x\.npy: holds one vector, but a trial takes 2 rows, none twice$"):
        check(data, [4], 2, 1)


FLOATS = (np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2,
          ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz)  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: np.dtype(dtype).name)
def test_floats_of_every_kind_are_their_numbers_in_binary32(here: Path, dtype: Any) -> None:
    x = np.random.default_rng(1).standard_normal((6, 32)).astype(dtype)
    save_file({"x": x}, here / "x.safetensors")
    data = parse_data("x.safetensors", here)
    check(data, [32], 6, 6)
    assert_vectors(draw(data, 1, 0, 32, 6, 6).a, x.astype(np.float32))


def test_narrow_floats_are_not_their_bits(here: Path) -> None:
    save_file({"x": np.array([[1, -2, 0.5]], ml_dtypes.bfloat16)}, here / "x.safetensors")
    assert draw(parse_data("x.safetensors", here), 1, 0, 3, 1, 1).a.tolist() == [[1, -2, 0.5]]


def test_binary64_is_rounded_to_the_nearest(here: Path) -> None:
    np.save(here / "x.npy", np.array([[1 + 2.0**-24, 1 + 2.0**-24 + 2.0**-50, 2.0**-150, 1e-46]]))
    assert draw(parse_data("x.npy", here), 1, 0, 4, 1, 1).a.tolist() == [[1, 1 + 2.0**-23, 0, 0]]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.nan, "is nan; every number must be finite"),
        (np.inf, "is inf; every number must be finite"),
        (-np.inf, "is -inf; every number must be finite"),
        (1e39, r"is 1e\+39, which binary32 does not hold; every number must be finite"),
    ],
)
def test_a_number_that_is_not_finite_is_told_with_file_and_index(
    here: Path, value: float, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "PART", 200)
    x = numbered(50, 8, np.float64)
    check_me = both("x.npy", "x.npy", here, transpose=False)
    x[41, 5] = x[43, 1] = value
    np.save(here / "x.npy", x)
    with pytest.raises(ValueError, match=rf"^{re.escape(str(here / 'x.npy'))}: \[41, 5\] {said}$"):
        check(check_me, [8], 4, 4)
    np.save(here / "x.npy", x[41])
    with pytest.raises(ValueError, match=rf"x\.npy: \[5\] {said}$"):
        check(check_me, [8], 1, 1)


def test_nan_of_narrow_floats_is_found(here: Path) -> None:
    x = np.ones((4, 8), ml_dtypes.float8_e4m3fn)
    x[2, 3] = np.nan
    save_file({"x": x}, here / "x.safetensors")
    with pytest.raises(ValueError, match=r"\[2, 3\] is nan"):
        check(parse_data("x.safetensors:x", here), [4], 2, 2)


def _repeated(self: Stream, items: Any, k: int) -> list[Any]:
    return [self.choice(items) for _ in range(k)]


def _in_order(self: Stream, items: Any, k: int) -> list[Any]:
    return list(items)[:k]


MUTANTS = {
    "vectors that come twice": (Stream, "sample", _repeated, test_rows_of_a_and_columns_of_b),
    "always the first vectors": (Stream, "sample", _in_order, test_vectors_are_chosen_anew_in_each_trial_all_alike),
    "the other axis": (
        Tensor, "matrix", lambda self, side: self.stored.array.T if side == "a" else self.stored.array,
        test_rows_of_a_and_columns_of_b,
    ),
    "a transpose that is not taken": (
        Tensor, "matrix", lambda self, side: self.stored.array if side == "a" else self.stored.array.T,
        test_transposed_tensors,
    ),
    "numbers of a narrow float by their bits": (
        tensors, "numbers", lambda kind, array: array.astype(np.float32), test_narrow_floats_are_not_their_bits,
    ),
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_caught(mutant: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, value, verdict = MUTANTS[mutant]
    monkeypatch.setattr(where, name, value)
    with pytest.raises((AssertionError, ValueError, IndexError)):
        verdict(here)


@pytest.fixture
def files(here: Path) -> Path:
    np.save(here / "x.npy", numbered(10, 8))
    np.save(here / "codes.npy", np.zeros((10, 8), np.uint8))
    np.save(here / "batch.npy", np.zeros((2, 10, 8)))
    np.save(here / "one.npy", np.float32(3))
    np.save(here / "none.npy", np.zeros((0, 8)))
    np.save(here / "bits.npy", np.zeros((10, 8), ml_dtypes.bfloat16))
    np.savez(here / "two.npz", first=np.zeros((4, 4)), second=np.zeros((4, 4)))
    save_file({"s": np.zeros((4, 4), ml_dtypes.float8_e8m0fnu)}, here / "s.safetensors")
    (here / "text.npy").write_text("1 2 3")
    (here / "folder.npy").mkdir()
    return here


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("no.npy", r"no\.npy: No such file or directory"),
        ("folder.npy", r"folder\.npy: Is a directory"),
        ("text.npy", r"text\.npy: cannot be read as a \.npy file: .*"),
        ("two.npz", r"two\.npz: holds 2 arrays, name one, as .*two\.npz:first: first, second"),
        ("two.npz:third", r"two\.npz: holds no 'third'; it holds first, second"),
        ("codes.npy", r"codes\.npy: holds uint8; it must hold floats, as integers may be codes of any format"),
        ("s.safetensors", r"s\.safetensors: holds float8_e8m0fnu; it must hold floats, .*"),
        ("bits.npy", r"bits\.npy: has elements of 2 bytes without a type, .* save them in a \.safetensors file, .*"),
        ("batch.npy", r"batch\.npy: is 2 x 10 x 8; it must have one axis or two: reshape it, or take one matrix"),
        ("one.npy", r"one\.npy: is a single number; it must have one axis or two: .*"),
        ("none.npy", r"none\.npy: is 0 x 8; it holds no number"),
    ],
)
def test_a_tensor_that_cannot_be_taken_is_told(files: Path, entry: str, message: str) -> None:
    data = parse_data({"a": "normal", "b": entry}, files)
    for ask in (lambda: check(data, [4], 2, 2), lambda: draw(data, 1, 0, 4, 2, 2), lambda: digest(data)):
        with pytest.raises(ValueError, match=f"^{re.escape(str(files))}/{message}$"):
            ask()


def test_a_tensor_that_is_too_small_is_told(files: Path) -> None:
    data = parse_data({"a": "x.npy", "b": "x.npy"}, files)
    too_long = r"x\.npy: each row has 8 numbers, but the length is 9$"
    with pytest.raises(ValueError, match=too_long):
        check(data, [4, 9], 2, 2)
    with pytest.raises(ValueError, match=too_long):
        draw(data, 1, 0, 9, 2, 2)
    with pytest.raises(ValueError, match=r"x\.npy: holds 10 of 10 x 8, but a trial takes 11 rows, none twice$"):
        check(data, [4], 11, 2)
    with pytest.raises(ValueError, match=r"x\.npy: each column has 10 numbers, but the length is 11$"):
        check(parse_data({"a": "normal", "b": "x.npy"}, files), [11], 2, 2)
    with pytest.raises(ValueError, match=r"x\.npy: each row has 8 numbers, but the length is 10$"):
        check(parse_data({"a": "normal", "b": "x.npy:transpose=true"}, files), [10], 2, 2)


def test_a_digest_is_of_the_numbers_and_not_of_the_place(here: Path) -> None:
    x = numbered(6, 4)
    np.save(here / "x.npy", x)
    np.savez(here / "moved.npz", x=x.astype(">f8"))

    def named(entry: str, **fields: Any) -> str:
        return digest(parse_data({"tensor": entry, "name": "x", **fields}, here))

    first = named("x.npy")
    assert named("moved.npz:x") == first
    assert named("x.npy", transpose=True) != first
    assert named("x.npy", name="y") != first
    for at, other in enumerate((np.where(x == 0, np.float32(2**-140), x), x.reshape(4, 6), x[:, ::-1])):
        np.save(here / "x.npy", other)
        os.utime(here / "x.npy", ns=(1, 10**9 + at))
        assert named("x.npy") != first


def test_a_file_that_changes_is_read_again(here: Path) -> None:
    data = parse_data("x.npy", here)
    for value, changed in ((1.0, 10**18), (2.0, 2 * 10**18)):
        np.save(here / "new.npy", np.full((2, 2), value))
        (here / "new.npy").rename(here / "x.npy")
        os.utime(here / "x.npy", ns=(changed, changed))
        assert draw(data, 1, 0, 2, 2, 2).a.tolist() == [[value] * 2] * 2
