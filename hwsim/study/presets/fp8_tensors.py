"""Tensors that are rounded to FP8: a trained transformer's where it is installed, drawn ones elsewhere."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.errors import ToolMissing
from hwsim.study.network.bert import Bert
from hwsim.study.network.minilm import embeddings, minilm, tokens
from hwsim.study.network.product import Array, Where
from hwsim.study.network.unit_products import Recorder
from hwsim.study.presets.samples import drawn, page

Matrix = NDArray[np.float32]
TRAINED = "all-MiniLM-L6-v2 on a page of text"
DRAWN = "drawn numbers: the weights of all-MiniLM-L6-v2 are not installed, or the size is tiny"


class Tensors(NamedTuple):
    """float32 matrices. weights: (in, out), by name, a list with one for each layer. activations: (tokens, in), what
    those multiply. residuals: (tokens, features), the sums that a residual connection adds up, before they are
    normalised. source: what they are of.
    """  # fmt: skip

    weights: dict[str, list[Matrix]]
    activations: dict[str, list[Matrix]]
    residuals: dict[str, list[Matrix]]
    source: str


def trained() -> Tensors:
    """Every linear layer's tensors. Raises ToolMissing where the model is not installed."""
    model, recorder = minilm(), Recorder()
    embeddings(model, tokens(page()), recorder)
    found = Tensors({}, {}, {}, TRAINED)
    for where, factors in recorder.factors.items():
        if where.weight:
            found.activations.setdefault(where.name, []).append(_single(factors[0][0]))
            found.weights.setdefault(where.name, []).append(_single(factors[0][1]))
    found.residuals["residual sums"] = _residuals(model, recorder)
    return found


def _residuals(model: Bert, recorder: Recorder) -> list[Matrix]:
    """What each residual connection adds up: its branch, bias and all, and what it went round."""

    def factors(layer: int, name: str) -> tuple[Array, Array]:
        return recorder.factors[Where(layer, name, True)][0]

    sums = []
    for index, layer in enumerate(model.layers):
        for name, before, linear in (
            ("attention out", "query", layer.attended), ("narrower", "wider", layer.narrower)
        ):  # fmt: skip
            a, b = factors(index, name)
            sums.append(_single(a @ b + linear.bias + factors(index, before)[0]))
    return sums


def _single(x: Array) -> Matrix:
    return np.ascontiguousarray(x, np.float32)


def made_up(rows: int, features: int, seed: int) -> Tensors:
    """Drawn tensors in a network's ranges: weights of deviation 0.05, activations with channels that are 20 times
    larger, and residual sums whose channels are 100 times larger.
    """  # fmt: skip
    activation = drawn({"distribution": "outliers", "factor": 20}, rows, features, seed=seed)
    residual = drawn({"distribution": "outliers", "factor": 100, "deviation": 4}, rows, features, seed=seed)
    weight = drawn({"distribution": "normal", "deviation": 0.05}, features, features, seed=seed)
    return Tensors({"linear": [weight]}, {"linear": [activation]}, {"residual sums": [residual]}, DRAWN)


def tensors(tiny: bool, seed: int) -> Tensors:
    """The transformer's tensors, or drawn ones in the tiny size and where it is not installed."""
    if tiny:
        return made_up(64, 128, seed)
    try:
        return trained()
    except ToolMissing:
        return made_up(512, 384, seed)
