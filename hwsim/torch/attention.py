"""Scaled dot-product attention as two matrix products of a unit, with PyTorch's softmax between."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from hwsim.torch.functional import matmul_at
from hwsim.torch.operators import ProductLayer


def attention_at(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float,
    causal: bool,
    scale: float | None,
    grouped: bool,
    layers: tuple[ProductLayer, ProductLayer],
) -> Tensor:
    """`torch.nn.functional.scaled_dot_product_attention` at a place in a model.

    query: (..., L, E). key: (..., S, E). value: (..., S, V). layers: of the scores, and of the sum of values. The
    scores are multiplied by the scale, and the mask is added, in the tensors' dtype; softmax is in float32.
    """
    if grouped:
        several = query.shape[-3] // key.shape[-3]
        key, value = (one.repeat_interleave(several, -3) for one in (key, value))
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = matmul_at(query, key.mT, layers[0]) * factor
    if causal:
        allowed = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
        scores = scores.masked_fill(~allowed, float("-inf"))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
    weights = torch.softmax(scores, -1, dtype=torch.float32).to(scores.dtype)
    if mask is not None:  # a query that may look at nothing gets nothing, not NaN
        weights = weights.masked_fill((scores == float("-inf")).all(-1, keepdim=True), 0)
    if dropout > 0:
        weights = functional.dropout(weights, dropout)
    return matmul_at(weights, value, layers[1])
