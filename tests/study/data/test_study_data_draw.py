"""What is drawn depends on seed, name, length and trial alone: golden bytes, and properties."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study.data.study_data_witness import first_normals

from hwsim.cases.drawing import Stream
from hwsim.study.data import Data, digest, draw, parse_data
from hwsim.study.data import draws as bits
from hwsim.study.data.sources import DISTRIBUTIONS, NormalSource

HERE = Path()
# SHA-256 of A and B of seed 5, trial 2, K = 48, 5 rows and 3 columns. They must never change.
GOLDEN = {
    "normal": "112bfbd141c6dc85565c0544c92a7a1e55e7134f86081c22aaff4660bc6bc475",
    "normal:mean=1,deviation=0.01": "85c8e99e926ca2abf4decb04fa5cad8f14dfb4e9573166609dc2d2a9152c6e2a",
    "uniform": "265fba63b5c1b5ef64b660d2838090cf73846e145f9deeba5df224a023811901",
    "uniform:low=0,high=10": "644d1a27ec35db93d8f1bcf97d8501c2e8b8b5499e8380753ad8b635c11bae39",
    "log-normal": "31cfa3601eacb57d9a9b7c1643d0cd2977231c65b7dafa2d3f0b0ea92873d4fd",
    "log-normal:mu=-1,sigma=2,signed=false": "a883f2fff3e8a668601a0d2bcc1868c2502511313c6aa29db8664ee8e50450bf",
    "student-t": "a08b800480f480f5d7b8d14bb51a4a7928579210a0a1e1dd2c8fa59a313e76b4",
    "student-t:freedom=1": "032029ef47173abe109376e41c9af2533a1661ceb49686d0291527770c9334fb",
    "student-t:freedom=7,scale=0.5": "b39f0842391b4a442e9939a27816bc6f45f6a3732e98472888efe24d8515859d",
    "laplace": "61e5f40e701c9156b3adcf24cc6f9cecb072ee9e4946fed86cad7903edf8d3a0",
    "outliers": "0a7f081876cf160b4b863c9e582cc6e95c948132622e3b266bf84b8ea404beb8",
    "outliers:fraction=0.1,factor=100": "2f70a399c8df5c8ade79c52e6acb56990cbffc0cf5ba7a2a8affd4ae5fc81983",
    "non-negative": "774ef9609ae4220445592f21c5a5254539e15de9faa49a56551533883876ab8e",
    "non-negative:kind=half-normal": "93292d0f0e10590e984d014fecacdcfca8d5ef8eea8bc285ce4bcb6af491f4a7",
    "non-negative:kind=exponential,scale=3": "045374f361f04752bdfe3b64d13d3b25acbfe48a6ee8fb79fee78876d41ff2cb",
    "softmax": "0954101e19d25618fff821ce8528d2c9d523b7d36611a7fdf067eec66754b992",
    "correlated": "a93407d43e51b51726e204f0bdb1e04adc6fe43298d7bc49859ca0afb5acd395",
    "correlated:correlation=-0.9": "3d4be754a75a757a7d37b6106dfd39b7cfe3940d0f18dc12b05483f116e0124f",
}
GENERATED_BY = """
import sys
from pathlib import Path
from hwsim.study.data import draw, parse_data
for entry in sys.argv[1:]:
    drawn = draw(parse_data(entry, Path()), 5, 2, 48, 5, 3)
    sys.stdout.buffer.write(drawn.a.tobytes() + drawn.b.tobytes())
"""


def drawn_bytes(entry: str) -> bytes:
    drawn = draw(parse_data(entry, HERE), 5, 2, 48, 5, 3)
    assert (drawn.a.dtype, drawn.b.dtype) == (np.float32, np.float32)
    assert (drawn.a.shape, drawn.b.shape) == ((5, 48), (48, 3))
    assert drawn.a.flags.c_contiguous and drawn.b.flags.c_contiguous
    return drawn.a.astype("<f4").tobytes() + drawn.b.astype("<f4").tobytes()


@pytest.mark.parametrize("entry", GOLDEN)
def test_the_numbers_are_those_of_all_time(entry: str) -> None:
    assert hashlib.sha256(drawn_bytes(entry)).hexdigest() == GOLDEN[entry]


def test_every_distribution_has_golden_numbers() -> None:
    assert {entry.partition(":")[0] for entry in GOLDEN} == set(DISTRIBUTIONS)
    assert len(set(GOLDEN.values())) == len(GOLDEN)


def test_a_processor_without_vector_instructions_draws_the_same() -> None:
    core = np._core if hasattr(np, "_core") else np.core
    features = " ".join(core._multiarray_umath.__cpu_dispatch__)
    done = subprocess.run(
        [sys.executable, "-c", GENERATED_BY, *DISTRIBUTIONS],
        env={**os.environ, "NPY_DISABLE_CPU_FEATURES": features},
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"".join(drawn_bytes(entry) for entry in DISTRIBUTIONS)


def test_the_numbers_are_those_of_their_words() -> None:
    # All of the way from the key, by Python's integers and its own inverse of the normal distribution.
    drawn = draw(parse_data("normal", HERE), 7, 3, 6, 4, 5)
    for side, got in (("a", drawn.a), ("b", drawn.b.T)):
        expected = first_normals(7, got.size, "data", 1, "normal", side, 6, 3, "numbers")
        np.testing.assert_allclose(got.reshape(-1), expected, rtol=2.0**-23)


@pytest.mark.parametrize("entry", GOLDEN)
def test_more_rows_and_columns_leave_the_first_as_they_are(entry: str) -> None:
    data = parse_data(entry, HERE)
    few, many = draw(data, 1, 0, 65, 2, 1), draw(data, 1, 0, 65, 700, 300)
    assert few.a.tobytes() == many.a[:2].tobytes()
    assert few.b.tobytes() == many.b[:, :1].tobytes()


@pytest.mark.parametrize("block", [9, 33, 100, 1000])
def test_numbers_do_not_depend_on_how_many_are_drawn_together(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def numbers(count: int) -> list[float]:
        return bits.drawn(count, lambda one, two: one.signed(one.unit) + two.unit, Stream(1, "x"), Stream(2)).tolist()

    whole = numbers(100)
    # Of the last block there may be so few that a stream draws words ahead for them.
    monkeypatch.setattr(bits, "BLOCK", block)
    for count in (1, 5, 9, 91, 100):
        assert numbers(count) == whole[:count]


ENTRIES = st.one_of(
    st.builds(
        lambda mean, deviation: {"distribution": "normal", "mean": mean, "deviation": deviation},
        st.floats(-(2.0**60), 2.0**60), st.floats(2.0**-60, 2.0**60),
    ),
    st.builds(
        lambda freedom, scale: {"distribution": "student-t", "freedom": freedom, "scale": scale},
        st.integers(1, 100), st.floats(2.0**-60, 2.0**60),
    ),
    st.builds(
        lambda mu, sigma, signed: {"distribution": "log-normal", "mu": mu, "sigma": sigma, "signed": signed},
        st.floats(-40, 40), st.floats(0.001, 5), st.booleans(),
    ),
    st.builds(
        lambda deviation, fraction, factor: {
            "distribution": "outliers", "deviation": deviation, "fraction": fraction, "factor": factor
        },
        st.floats(2.0**-60, 2.0**60), st.floats(1e-6, 1), st.floats(2.0**-60, 2.0**60),
    ),
    st.builds(
        lambda correlation, deviation: {
            "distribution": "correlated", "correlation": correlation, "deviation": deviation
        },
        st.floats(-1, 1), st.floats(2.0**-60, 2.0**60),
    ),
    st.builds(lambda deviation: {"distribution": "softmax", "deviation": deviation}, st.floats(0.001, 10)),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(ENTRIES, st.integers(0, 2**64), st.integers(1, 40), st.integers(1, 4), st.integers(1, 4))
def test_whatever_is_asked_is_finite_and_of_its_shape(
    entry: dict[str, Any], seed: int, length: int, rows: int, columns: int
) -> None:
    data = parse_data(entry, HERE)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        drawn = draw(data, seed, 0, length, rows, columns)
    assert (drawn.a.shape, drawn.b.shape) == ((rows, length), (length, columns))
    assert np.isfinite(drawn.a).all() and np.isfinite(drawn.b).all()
    # The name is the short form, which says it all; so does a copy.
    assert parse_data(data.name, HERE) == data
    assert pickle.loads(pickle.dumps(data)) == data
    assert digest(pickle.loads(pickle.dumps(data))) == digest(data)


def test_a_digest_tells_all_that_differs() -> None:
    entries: list[Any] = [
        "normal", "normal:mean=1", "normal:deviation=2", "uniform", "student-t:freedom=3", "student-t:freedom=5",
        {"distribution": "normal", "name": "other"}, {"a": "normal", "b": "uniform"}, {"a": "uniform", "b": "normal"},
        {"a": "normal", "b": "normal", "name": "uniform"},
    ]  # fmt: skip
    digests = {digest(parse_data(entry, HERE)) for entry in entries}
    assert len(digests) == len(entries)
    assert digest(parse_data({"a": "normal", "b": "normal", "name": "normal"}, HERE)) in digests
    # It keys results that are kept, and so it must not change either.
    assert digest(parse_data("normal", HERE)) == "4c7200ae4ab65e37bf45fc84a6451fc3029417f2944fe7bd4a7d8bfed35153ef"


@pytest.mark.parametrize("size", ["length", "rows", "columns"])
def test_a_size_below_one_is_refused(size: str) -> None:
    sizes = {"length": 4, "rows": 2, "columns": 2, size: 0}
    with pytest.raises(ValueError, match=f"^{size} must be at least 1, not 0$"):
        draw(Data(name="x", a=NormalSource(), b=NormalSource()), 1, 0, **sizes)
