"""The networks that studies run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hwsim.study.network.digits import Digits, Perceptron, digits, logits, trained
from hwsim.study.network.measurement import Network
from hwsim.study.network.minilm import DIGESTS, embeddings, minilm, tokens
from hwsim.study.network.product import Array, exact

NEIGHBOURS = 5


def minilm_network(sentences: Sequence[str], page: Sequence[str]) -> Network:
    """all-MiniLM-L6-v2 on sentences; what it returns are their embeddings, (sentences, 384).

    page: more than five sentences that those are looked up among, embedded in binary64; themselves left out.
    It is judged by how many have the same nearest sentence as in binary64, and how many of the nearest five.
    """
    model, ids, index = minilm(), tokens(sentences), tokens(page)
    others: list[Array] = []

    def judge(found: Array) -> dict[str, float]:
        if not others:
            others.append(embeddings(model, index, exact))
        itself = np.array([[one == other for other in index] for one in ids])
        ranks, expected = (_nearest(one, others[0], itself) for one in (found, network.reference))
        both = [len(set(one) & set(other)) for one, other in zip(ranks.tolist(), expected.tolist(), strict=True)]
        return {
            "nearest": float(np.mean(ranks[:, 0] == expected[:, 0])),
            "neighbours": float(np.mean(both)) / NEIGHBOURS,
        }

    network = Network(
        "all-MiniLM-L6-v2", lambda product: embeddings(model, ids, product), judge, _digest(DIGESTS, ids, index)
    )
    return network


def _nearest(found: Array, others: Array, itself: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The places of the nearest sentences by cosine, (sentences, 5)."""
    near = found @ others.T / np.linalg.norm(found, axis=-1, keepdims=True)
    order = np.argsort(np.where(itself, np.inf, -near), axis=-1, kind="stable")
    return order[:, :NEIGHBOURS]


def digits_network(seed: int, tested: int) -> Network:
    """A network for handwritten digits, trained now, on the first digits that it has not seen; (digits, 10) logits.

    It is judged by how many it reads right, and how many as it reads them in binary64.
    """
    data = digits(seed)
    model = trained(data, seed)
    given = data.test[:tested]

    def judge(found: Array) -> dict[str, float]:
        read = found.argmax(axis=-1)
        return {
            "right": float(np.mean(read == data.test_labels[:tested])),
            "same": float(np.mean(read == network.reference.argmax(axis=-1))),
        }

    network = Network(
        "digits", lambda product: logits(model, given, product), judge, _digest(_weights(data, model), tested)
    )
    return network


def _weights(data: Digits, model: Perceptron) -> list[str]:
    arrays = [data.test, *(part for layer in model.layers for part in (layer.weight, layer.bias))]
    return [hashlib.sha256(array.tobytes()).hexdigest() for array in arrays]


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
