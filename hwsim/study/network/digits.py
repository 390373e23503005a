"""A small network that reads handwritten digits, trained here and now: the quick form of a real model."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.drawing import Stream, normals
from hwsim.errors import ToolMissing
from hwsim.study.network.layers import Linear, relu, softmax
from hwsim.study.network.product import Array, Matmul, exact

Labels = NDArray[np.int64]
WIDTHS = (64, 256, 128, 10)
TESTED = 360  # of 1,797 digits
EPOCHS, BATCH, RATE, MOMENTUM = 15, 64, 0.05, 0.9
INK = 16.0  # the darkest pixel


class Digits(NamedTuple):
    """Handwritten digits of 8 x 8 pixels from 0 to 1, (many, 64), and which they are; to train on, and to test."""

    train: Array
    train_labels: Labels
    test: Array
    test_labels: Labels


def digits(seed: int) -> Digits:
    """The digits that ship with scikit-learn, divided by chance. Raises ToolMissing without scikit-learn."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ToolMissing("scikit-learn is not installed: pip install 'hwsim[models]'") from None
    pixels, labels = load_digits(return_X_y=True)
    order = list(range(len(labels)))
    Stream(seed, "digits", "split").shuffle(order)
    pixels, labels = pixels[order] / INK, labels[order].astype(np.int64)
    return Digits(pixels[TESTED:], labels[TESTED:], pixels[:TESTED], labels[:TESTED])


@dataclass(frozen=True)
class Perceptron:
    """Linear layers with ReLU between them."""

    layers: tuple[Linear, ...]


def hidden_and_logits(model: Perceptron, x: Array, product: Matmul) -> list[Array]:
    """What goes into every layer, and what comes out of the last: (many, 10) logits."""
    found = [x]
    for index, layer in enumerate(model.layers):
        out = layer(product, index, "linear", found[-1])
        found.append(out if index == len(model.layers) - 1 else relu(out))
    return found


def logits(model: Perceptron, x: Array, product: Matmul) -> Array:
    """x (many, 64) to (many, 10): the largest is the digit that is read."""
    return hidden_and_logits(model, x, product)[-1]


def trained(data: Digits, seed: int, widths: Sequence[int] = WIDTHS) -> Perceptron:
    """A network that reads digits, by stochastic gradient descent with momentum in binary64.

    Weights are rounded to binary32 when they are done. A seed gives the same network again on the same machine, and
    but for the last bits on others: the order of binary64 sums is the linear algebra library's.
    """
    from threadpoolctl import threadpool_limits  # scikit-learn's own dependency

    model = _untrained(seed, widths)
    with threadpool_limits(1):  # products so small are slower on more
        _train(model, data, Stream(seed, "digits", "batches"))
    return Perceptron(tuple(Linear(_single(layer.weight), _single(layer.bias)) for layer in model.layers))


def _train(model: Perceptron, data: Digits, stream: Stream) -> None:
    """Change the weights in their place."""
    values = [part for layer in model.layers for part in (layer.weight, layer.bias)]
    speeds = [np.zeros_like(one) for one in values]
    order = list(range(len(data.train)))
    for _ in range(EPOCHS):
        stream.shuffle(order)
        for start in range(0, len(order), BATCH):
            at = order[start : start + BATCH]
            for value, speed, slope in zip(values, speeds, _gradient(model, data, at), strict=True):
                speed *= MOMENTUM
                speed -= RATE * slope
                value += speed


def _untrained(seed: int, widths: Sequence[int]) -> Perceptron:
    layers = []
    for index, (before, after) in enumerate(itertools.pairwise(widths)):
        weight = normals(Stream(seed, "digits", "weights", index), (before, after)) * np.sqrt(2 / before)
        layers.append(Linear(weight, np.zeros(after)))
    return Perceptron(tuple(layers))


def _gradient(model: Perceptron, data: Digits, at: list[int]) -> list[Array]:
    """The slopes of the mean cross-entropy of some digits, by the weight and the bias of every layer."""
    *inputs, out = hidden_and_logits(model, data.train[at], exact)
    delta = softmax(out)
    delta[np.arange(len(at)), data.train_labels[at]] -= 1
    delta /= len(at)
    found: list[Array] = []
    for layer, given in zip(reversed(model.layers), reversed(inputs), strict=True):
        found[:0] = [given.T @ delta, delta.sum(axis=0)]
        delta = (delta @ layer.weight.T) * (given > 0)
    return found


def _single(x: Array) -> Array:
    return x.astype(np.float32).astype(np.float64)
