"""`hwsim diff` of sparse units: those that select alike are compared by what their dense units make of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hwsim
from hwsim.base.errors import InputError
from hwsim.prove.difference import diff
from hwsim.spec import SparseUnit, load_sparse

HOPPER, BLACKWELL = "hopper-wgmma-sp-e4m3-f32", "blackwell-tcgen05-sp-e4m3-f32"


def sparse(name: str, bits: int, **sparsity: int) -> SparseUnit:
    dense = {
        "unit": f"{name}-dense",
        "operands": {"a": "e2m1", "b": "e2m1", "addend": "none"},
        "instruction": {"k": 4, "lanes": 4, "chain": "none"},
        "sum": {"method": "aligned", "fraction_bits": bits, "lost": "truncate"},
        "result": {"format": "f32", "rounding": "rne"},
    }
    return load_sparse({"unit": name, "dense": dense, "sparsity": sparsity or {"keep": 2, "of": 4}})


def test_the_same_dense_unit_is_the_same() -> None:
    found = diff("ada-mma-sp-f16-f32", "ampere-mma-sp-f16-f32")
    assert (found.verdict, found.names) == ("same", ("ada-mma-sp-f16-f32", "ampere-mma-sp-f16-f32"))


@pytest.mark.slow
def test_a_difference_is_one_of_both_units_under_metadata() -> None:
    """Of an odd number of products there is none: two are kept together."""
    units = sparse("narrow", 2), sparse("wide", 6)
    found = diff(*units, products=(1, 4))
    assert found.verdict == "differ" and found.case is not None and found.codes is not None
    assert len(found.case.a) % 2 == 0
    commands = [line.split() for line in found.lines if line.startswith("  hwsim explain")]
    assert [words[2] for words in commands] == ["narrow", "wide"]
    for unit, words, code in zip(units, commands, found.codes, strict=True):
        given = dict(zip(words[3::2], words[4::2], strict=True))
        a, b, metadata = ([int(one, 0) for one in given[name].split(",")] for name in ("--a", "--b", "--metadata"))
        assert len(b) == 2 * len(a)
        assert hwsim.dot(unit, [a], [b], metadata=[metadata]).view(np.uint32)[0] == code


@pytest.mark.parametrize(
    ("units", "words"),
    [
        ((HOPPER, "hopper-wgmma-e4m3-f32"), f"{HOPPER} is sparse and .* is not: .*no input in common"),
        (("hopper-wgmma-e4m3-f32", HOPPER), f"{HOPPER} is sparse .*; hopper-wgmma-e4m3-f32, which .* compared instead"),
        (
            (sparse("two", 6), sparse("one", 6, keep=1, of=4)),
            "no input in common: their metadata keep 2 of 4, and 1 of 4",
        ),
    ],
)
def test_units_without_an_input_in_common_are_refused(units: tuple[Any, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        diff(*units)


def test_a_product_has_metadata() -> None:
    generator = np.random.default_rng(1)
    a, b = generator.integers(0, 0x77, (4, 64), np.uint8), generator.integers(0, 0x77, (128, 3), np.uint8)
    metadata = np.tile(np.uint8([0, 3]), (4, 32))
    found = diff(HOPPER, BLACKWELL, a, b, metadata=metadata, seconds=1)
    assert found.data is not None and found.data.results == 12
    first, second = (hwsim.gemm(unit, a, b, metadata=metadata) for unit in (HOPPER, BLACKWELL))
    assert found.data.differ == (first != second).sum() > 0
    with pytest.raises(InputError, match="metadata is missing"):
        diff(HOPPER, BLACKWELL, a, b, seconds=1)
    with pytest.raises(InputError, match="metadata must not be given"):
        diff("ada-mma-f16-f32", "ampere-mma-f16-f32", a, a.T, metadata=metadata)
