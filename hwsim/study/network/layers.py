"""The layers of networks: linear layers and attention by any matrix product, everything else in binary64."""

from __future__ import annotations

import numpy as np

from hwsim.study.network.product import Array, Matmul, Where


class Linear:
    """A weight (in, out) and a bias (out)."""

    def __init__(self, weight: Array, bias: Array):
        self.weight, self.bias = weight, bias

    def __call__(self, product: Matmul, layer: int, name: str, x: Array) -> Array:
        """x (rows, in) times the weight, by a product of that name; the bias is added in binary64."""
        return product(Where(layer, name, True), x, self.weight) + self.bias


class Norm:
    """Scale and shift of a layer norm, (features)."""

    def __init__(self, weight: Array, bias: Array, epsilon: float):
        self.weight, self.bias, self.epsilon = weight, bias, epsilon

    def __call__(self, x: Array) -> Array:
        """x (rows, features), each row with mean 0 and variance 1 (the biased one), scaled and shifted."""
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        return np.asarray(centred / np.sqrt(variance + self.epsilon) * self.weight + self.bias)


def gelu(x: Array) -> Array:
    """x times the normal distribution function at x, by erf: BERT's, not the approximation by tanh."""
    from scipy.special import erf

    return np.asarray(0.5 * x * (1 + erf(x / np.sqrt(2))))


def relu(x: Array) -> Array:
    """The larger of x and 0."""
    return np.maximum(x, 0)


def softmax(x: Array) -> Array:
    """Along the last axis; the largest is taken off first."""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def by_heads(x: Array, heads: int) -> Array:
    """(tokens, heads * size) -> (heads, tokens, size)."""
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def attention(product: Matmul, layer: int, query: Array, key: Array, value: Array, heads: int) -> Array:
    """Multi-head attention among the tokens of one sentence.

    query, key, value: (tokens, heads * size). Both products, `scores` and `context`, are batches of one for each head.
    Returns (tokens, heads * size).
    """
    q, k, v = (by_heads(x, heads) for x in (query, key, value))
    scores = product(Where(layer, "scores", False), q, k.transpose(0, 2, 1)) / np.sqrt(q.shape[-1])
    context = product(Where(layer, "context", False), softmax(scores), v)
    return context.transpose(1, 0, 2).reshape(query.shape)
