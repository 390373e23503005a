"""Data as they are written: short and long forms, names, and what is said of wrong ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hwsim.formats.yamlfile import RuleError
from hwsim.study.data import Data, parse_data
from hwsim.study.data.sources import (
    DISTRIBUTIONS,
    CorrelatedSource,
    LogNormalSource,
    NonNegativeSource,
    NormalSource,
    OutliersSource,
    StudentTSource,
    Tensor,
    UniformSource,
)

HERE = Path("/somewhere")


@pytest.mark.parametrize(
    ("entry", "a", "b", "name"),
    [
        ("normal", NormalSource(), NormalSource(), "normal"),
        (" normal ", NormalSource(), NormalSource(), "normal"),
        ({"distribution": "normal"}, NormalSource(), NormalSource(), "normal"),
        ("normal:deviation=0.1", NormalSource(deviation=0.1), NormalSource(deviation=0.1), "normal:deviation=0.1"),
        ("normal: mean = 2, deviation=1", NormalSource(mean=2), NormalSource(mean=2), "normal:mean=2"),
        # YAML 1.1 reads 1e-3 as a word.
        ({"distribution": "normal", "deviation": "1e-3"}, NormalSource(deviation=1e-3), NormalSource(deviation=1e-3),
         "normal:deviation=0.001"),
        ("log-normal:signed=false", LogNormalSource(signed=False), LogNormalSource(signed=False),
         "log-normal:signed=false"),
        ("non-negative:kind=exponential", NonNegativeSource(kind="exponential"), NonNegativeSource(kind="exponential"),
         "non-negative:kind=exponential"),
        ("student-t:freedom=2.0", StudentTSource(freedom=2), StudentTSource(freedom=2), "student-t:freedom=2"),
        ({"distribution": "uniform", "low": 0, "name": "mine"}, UniformSource(low=0), UniformSource(low=0), "mine"),
        ({"a": "outliers:factor=100", "b": {"distribution": "normal", "deviation": 0.02}},
         OutliersSource(factor=100), NormalSource(deviation=0.02), "outliers:factor=100 x normal:deviation=0.02"),
        ({"a": "correlated", "b": "correlated", "name": "pairs"}, CorrelatedSource(), CorrelatedSource(), "pairs"),
        ("x.npz:w:transpose=true", Tensor(tensor="/somewhere/x.npz:w", transpose=True),
         Tensor(tensor="/somewhere/x.npz:w", transpose=False), "x.npz:w:transpose=true"),
        ({"a": "d/x.npy", "b": {"tensor": "/w.safetensors:layer.0:q", "transpose": True}},
         Tensor(tensor="/somewhere/d/x.npy"), Tensor(tensor="/w.safetensors:layer.0:q", transpose=True),
         "d/x.npy x /w.safetensors:layer.0:q:transpose=true"),
    ],
)  # fmt: skip
def test_what_is_written_is_what_is_meant(entry: Any, a: Any, b: Any, name: str) -> None:
    assert parse_data(entry, HERE) == Data(name=name, a=a, b=b)


def test_a_relative_folder_is_the_current_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_data("x.npy", Path("studies")).a == Tensor(tensor=str(tmp_path / "studies" / "x.npy"))


def test_every_distribution_has_defaults() -> None:
    for name, kind in DISTRIBUTIONS.items():
        assert parse_data(name, HERE) == Data(name=name, a=kind(), b=kind())


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("norml", "distribution is unknown: 'norml'; did you mean normal?"),
        ({"distribution": "gauss"}, f"distribution is unknown: 'gauss'; known: {', '.join(DISTRIBUTIONS)}"),
        ({"distribution": ["normal"]}, "distribution is unknown: ['normal']; did you mean normal?"),
        ("normal:deviatoin=3", "deviatoin is no key of normal; did you mean deviation?"),
        ({"distribution": "uniform", "zz": 1}, "zz is no key of uniform; known: distribution, low, high"),
        ({"tensor": "x.npy", "transposed": 1}, "transposed is no key of tensor; did you mean transpose?"),
        ("normal:deviation=-1", "deviation must be greater than 0, not '-1'"),
        ({"distribution": "normal", "deviation": 0}, "deviation must be greater than 0, not 0"),
        ({"distribution": "normal", "deviation": 1e30}, "deviation must be 2^-60 to 2^60, not 1e+30"),
        ({"distribution": "normal", "mean": -1e30}, "mean must be -2^60 to 2^60, not -1e+30"),
        ({"distribution": "normal", "mean": float("nan")}, "mean must be a finite number, not nan"),
        ({"distribution": "normal", "mean": "inf"}, "mean must be a finite number, not 'inf'"),
        ({"distribution": "normal", "mean": True}, "mean must be a number, not True"),
        ({"distribution": "normal", "mean": "much"}, "mean must be a number, not 'much'"),
        ({"distribution": "normal", "mean": None}, "mean must be a number, not None"),
        ({"distribution": "normal", "mean": [1]}, "mean must be a number, not [1]"),
        ("uniform:low=3", "high must be greater than low (3), not 1"),
        ("student-t:freedom=2.5", "freedom must be a whole number, not '2.5'"),
        ("student-t:freedom=inf", "freedom must be a whole number, not 'inf'"),
        ("student-t:freedom=0", "freedom must be 1 to 100, not '0'"),
        ("outliers:fraction=0", "fraction must be greater than 0 and at most 1, not '0'"),
        ("outliers:fraction=1.5", "fraction must be greater than 0 and at most 1, not '1.5'"),
        ("outliers:factor=-2", "factor must be greater than 0, not '-2'"),
        ("log-normal:sigma=9", "sigma must be 0 to 5, not '9'"),
        ("softmax:deviation=11", "deviation must be 0 to 10, not '11'"),
        ("correlated:correlation=1.1", "correlation must be -1 to 1, not '1.1'"),
        ("non-negative:kind=relu", "kind must be 'relu-normal', 'half-normal' or 'exponential', not 'relu'"),
        ("log-normal:signed=perhaps", "signed must be true or false, not 'perhaps'"),
        ("normal:mean=", "mean must be written KEY=VALUE, not 'mean='"),
        ("normal:mean=1,deviation", "deviation must be written KEY=VALUE, not 'deviation'"),
        ({"tensor": "x.txt"}, "tensor must be FILE.npy, FILE.npz, FILE.npz:NAME, FILE.safetensors or "
                              "FILE.safetensors:NAME, not 'x.txt'"),
        ({"tensor": 3}, "tensor must be FILE.npy, FILE.npz, FILE.npz:NAME, FILE.safetensors or "
                        "FILE.safetensors:NAME, not 3"),
        ({"tensor": "x.npy", "distribution": "normal"}, "distribution is no key of tensor; known: tensor, transpose"),
        ({"a": "normal"}, "b is missing: data with one of a and b must have both"),
        ({"a": "normal", "b": "normal", "mean": 1}, "mean is no key of data; known: name, a, b"),
        ({"a": {"distribution": "normal", "mean": "x"}, "b": "normal"}, "a.mean must be a number, not 'x'"),
        ({"a": "normal", "b": "nromal"}, "b.distribution is unknown: 'nromal'; did you mean normal?"),
        ({"a": "normal", "b": 3}, "b must be a name or a mapping, not 3"),
        ({"a": {"distribution": "normal", "name": "x"}, "b": "normal"},
         "a.name is no key of normal; known: distribution, mean, deviation"),
        ({"a": "correlated", "b": "normal"},
         "a must not be correlated unless the other side is, with the same parameters"),
        ({"a": "normal", "b": "correlated"},
         "b must not be correlated unless the other side is, with the same parameters"),
        ({"a": "correlated", "b": "correlated:correlation=0.1"},
         "a must not be correlated unless the other side is, with the same parameters"),
        ({}, "data must have distribution, tensor, or a and b, not nothing"),
        ({"normal": {}}, "data must have distribution, tensor, or a and b, not normal"),
        (3, "data must be a name or a mapping, not 3"),
        (None, "data must be a name or a mapping, not None"),
        ({"distribution": "normal", "name": ""}, "name must have at least 1 character, not ''"),
        ({"distribution": "normal", "name": 5}, "name must be text, not 5"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_line(entry: Any, message: str) -> None:
    with pytest.raises(RuleError, match=f"^{re.escape(message)}$") as caught:
        parse_data(entry, HERE)
    # The place is the path of a key, so that a file's line can be found.
    assert caught.value.where == tuple(message.split(" ")[0].split("."))
    assert "\n" not in str(caught.value)
