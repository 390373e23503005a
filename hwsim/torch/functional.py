"""Products of tensors by units: matrix products, linear layers, einsum; and casts whose gradients pass through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

import hwsim.torch.operators  # noqa: F401  registers the operators
from hwsim.errors import InputError
from hwsim.formats import Format, get_format
from hwsim.quantize import Rule
from hwsim.quantize import quantize as quantize_numbers
from hwsim.torch.operators import singles
from hwsim.torch.products import Products
from hwsim.torch.recipe import RecipeLike, load_recipe

NOTHING = 0


@dataclass(frozen=True)
class ProductLayer:
    """A place in a model: the products that it has there, by their key, its name, and whose histories it keeps."""

    key: str
    random: bool
    where: str = ""
    owner: int = NOTHING


def layer_of(products: Products, where: str = "", owner: int = NOTHING) -> ProductLayer:
    """The layer of a name that has these products."""
    return ProductLayer(products.key, products.random, where, owner)


def layer_by(recipe: RecipeLike) -> ProductLayer:
    """A layer that stands by itself, by a recipe. Raises as `load_recipe` does."""
    return layer_of(load_recipe(recipe).products)


def multiplied(a: Tensor, b: Tensor, layer: ProductLayer) -> Tensor:
    """a @ b of matrices or batches of them, (..., M, K) and (..., K, N), in the dtype that PyTorch would return."""
    seed = torch.randint(0, 1 << 31, ()) if layer.random else torch.zeros((), dtype=torch.int64)
    found: Tensor = torch.ops.hwsim.product(a, b, seed, layer.key, "forward", layer.where, layer.owner)
    return found.to(dtype_of(a, b))


def dtype_of(a: Tensor, b: Tensor) -> torch.dtype:
    """The dtype of a product: what autocast says, or what the factors' dtypes promote to."""
    if torch.is_autocast_enabled(a.device.type):
        return torch.get_autocast_dtype(a.device.type)
    return torch.promote_types(a.dtype, b.dtype)


def matmul(a: Tensor, b: Tensor, recipe: RecipeLike) -> Tensor:
    """`torch.matmul` by the units of a recipe, forward and backward.

    a: (..., M, K) or (K,). b: (..., K, N) or (K,), broadcast. recipe: a name, a file, a mapping, or a `Recipe`.
    Returns what `torch.matmul` does, in shape and dtype; sums and scales are float32's before. Raises as `load_recipe`
    does.
    """
    return matmul_at(a, b, layer_by(recipe))


def matmul_at(a: Tensor, b: Tensor, layer: ProductLayer) -> Tensor:
    """`matmul` at a place in a model."""
    if a.dim() == 0 or b.dim() == 0 or a.shape[-1] != b.shape[-2 if b.dim() > 1 else 0]:
        raise InputError(f"a {tuple(a.shape)} and b {tuple(b.shape)} have no matrix product")
    left, right = a.dim() == 1, b.dim() == 1
    if left:
        a = a.unsqueeze(0)
    if right:
        b = b.unsqueeze(1)
    if b.dim() == 2 and a.dim() > 2:
        # One matrix of many rows: the gradient of b is one long sum, as in a linear layer.
        found = multiplied(a.reshape(-1, a.shape[-1]), b, layer).reshape(*a.shape[:-1], b.shape[-1])
    else:
        found = multiplied(a, b, layer)
    if left:
        found = found.squeeze(-2)
    return found.squeeze(-1) if right else found


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, recipe: RecipeLike) -> Tensor:
    """`torch.nn.functional.linear` by the units of a recipe: x @ weight^T + bias, the bias added in x's dtype.

    x: (..., in). weight: (out, in), or (in,). Raises as `load_recipe` does.
    """
    return linear_at(x, weight, bias, layer_by(recipe))


def linear_at(x: Tensor, weight: Tensor, bias: Tensor | None, layer: ProductLayer) -> Tensor:
    """`linear` at a place in a model."""
    found = matmul_at(x, weight.mT if weight.dim() > 1 else weight, layer)
    return found if bias is None else found + bias.to(found.dtype)


class _Through(torch.autograd.Function):
    """A function of NumPy's arrays whose gradient is the gradient of its result."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, function: Any) -> Tensor:
        found = function(singles(x)).astype(np.float32)
        return torch.from_numpy(np.ascontiguousarray(found)).to(device=x.device, dtype=x.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None


def quantize(x: Tensor, rule: str | Rule, axis: int = -1, **options: Any) -> Tensor:
    """The numbers that x is quantised to, in x's dtype; gradients pass through as they are.

    rule, axis, options: as `hwsim.quantize` takes them. The numbers are float32's before they are cast to x's dtype.
    """
    found: Tensor = _Through.apply(
        x, lambda array: quantize_numbers(array, rule, axis, **options).dequantize(np.float32)
    )
    return found


def cast(x: Tensor, fmt: str | Format, rounding: str = "rne", overflow: str = "saturate", **random: Any) -> Tensor:
    """x rounded to a format, in x's dtype; gradients pass through as they are.

    fmt: a name, a file, or a `Format`. rounding, overflow, random (`random_bits`, `seed`, `counter`): as
    `Format.encode` takes them.
    """
    to = get_format(fmt)

    def rounded(array: Any) -> Any:
        return to.decode(to.encode(array, rounding=rounding, overflow=overflow, **random))

    found: Tensor = _Through.apply(x, rounded)
    return found
