"""BERT's encoder, as a function of weights, tokens and the way to multiply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.study.network.layers import Linear, Norm, attention, gelu
from hwsim.study.network.product import Array, Matmul

Weights = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Layer:
    """One layer of the encoder: attention, then two linear layers with GELU between."""

    query: Linear
    key: Linear
    value: Linear
    attended: Linear
    attended_norm: Norm
    wider: Linear
    narrower: Linear
    norm: Norm


@dataclass(frozen=True)
class Bert:
    """An encoder. words, positions, kinds: embeddings, (many, features) float32."""

    words: NDArray[np.float32]
    positions: NDArray[np.float32]
    kinds: NDArray[np.float32]
    norm: Norm
    layers: tuple[Layer, ...]
    heads: int


def bert(weights: Weights, heads: int, layers: int, epsilon: float) -> Bert:
    """An encoder from its tensors, by the names that Transformers gives them."""

    def linear(name: str) -> Linear:
        # The files have (out, in).
        return Linear(weights[f"{name}.weight"].T.astype(np.float64), weights[f"{name}.bias"].astype(np.float64))

    def norm(name: str) -> Norm:
        weight, bias = (weights[f"{name}.{part}"].astype(np.float64) for part in ("weight", "bias"))
        return Norm(weight, bias, epsilon)

    def layer(name: str) -> Layer:
        return Layer(
            linear(f"{name}.attention.self.query"), linear(f"{name}.attention.self.key"),
            linear(f"{name}.attention.self.value"), linear(f"{name}.attention.output.dense"),
            norm(f"{name}.attention.output.LayerNorm"), linear(f"{name}.intermediate.dense"),
            linear(f"{name}.output.dense"), norm(f"{name}.output.LayerNorm"),
        )  # fmt: skip

    words, positions, kinds = (
        weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")
    )
    encoders = tuple(layer(f"encoder.layer.{index}") for index in range(layers))
    return Bert(words, positions, kinds, norm("embeddings.LayerNorm"), encoders, heads)


def hidden(model: Bert, sentences: Sequence[Sequence[int]], product: Matmul) -> list[Array]:
    """The output of the last layer for each sentence: (tokens, features).

    sentences: token numbers. Linear layers take the tokens of all sentences as rows of one matrix; attention takes
    sentence by sentence, so that nothing is padded or masked.
    """
    lengths = [len(one) for one in sentences]
    ends = np.cumsum(lengths)[:-1]
    tokens = np.concatenate([np.asarray(one, np.int64) for one in sentences])
    places = np.concatenate([np.arange(length) for length in lengths])
    x = model.words[tokens].astype(np.float64) + model.kinds[0] + model.positions[places]
    x = model.norm(x)
    for index, layer in enumerate(model.layers):
        x = _layer(layer, index, x, ends, model.heads, product)
    return np.split(x, ends)


def _layer(layer: Layer, index: int, x: Array, ends: NDArray[np.int64], heads: int, product: Matmul) -> Array:
    """One layer, of the tokens of all sentences; ends: where the sentences end, but for the last."""
    q = layer.query(product, index, "query", x)
    k = layer.key(product, index, "key", x)
    v = layer.value(product, index, "value", x)
    sentences = zip(np.split(q, ends), np.split(k, ends), np.split(v, ends), strict=True)
    context = np.concatenate([attention(product, index, *qkv, heads) for qkv in sentences])
    x = layer.attended_norm(layer.attended(product, index, "attention out", context) + x)
    wide = gelu(layer.wider(product, index, "wider", x))
    return layer.norm(layer.narrower(product, index, "narrower", wide) + x)
