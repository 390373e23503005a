"""Products of tensors by units: matrix products, linear layers, einsum; and casts whose gradients pass through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hwsim.errors import InputError
from hwsim.formats import Format, get_format
from hwsim.quantize import Rule
from hwsim.quantize import quantize as quantize_numbers
from hwsim.torch.operators import NOBODY, Once, ProductLayer, multiplied, singles
from hwsim.torch.products import Products
from hwsim.torch.recipe import RecipeLike, load_recipe


def layer_of(products: Products, where: str = "", owner: int = NOBODY) -> ProductLayer:
    """The layer of a name that has these products."""
    return ProductLayer(products.key, products.random, products.keep is not None, where, owner)


def layer_by(recipe: RecipeLike) -> ProductLayer:
    """A layer that stands by itself, by a recipe. Raises as `load_recipe` does."""
    return layer_of(load_recipe(recipe).products)


def dtype_of(a: Tensor, b: Tensor) -> torch.dtype:
    """The dtype of a product: what autocast says, or what the factors' dtypes promote to."""
    device = a.device.type
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return torch.promote_types(a.dtype, b.dtype)


def matmul(a: Tensor, b: Tensor, recipe: RecipeLike) -> Tensor:
    """`torch.matmul` by the units of a recipe, forward and backward.

    a: (..., M, K) or (K,). b: (..., K, N) or (K,), broadcast. recipe: a name, a file, a mapping, or a `Recipe`.
    Returns what `torch.matmul` does, in shape and dtype; sums and scales are float32's before. Raises as `load_recipe`
    does.
    """
    return matmul_at(a, b, layer_by(recipe))


def matmul_at(a: Tensor, b: Tensor, layer: ProductLayer, addend: Tensor | None = None, factor: float = 1.0) -> Tensor:
    """`matmul` at a place in a model; times a factor, and with an addend, as the operator `product` takes them.

    addend: of the last axes of the result, broadcast to it. Raises ValueError for factors that have no product or are
    not strided tensors of real floats.
    """
    if a.dim() == 0 or b.dim() == 0 or a.shape[-1] != b.shape[-2 if b.dim() > 1 else 0]:
        raise InputError(f"a {tuple(a.shape)} and b {tuple(b.shape)} have no matrix product")
    for one in (a, b):
        if (reason := beyond_units(one)) is not None:
            raise InputError(f"units multiply strided tensors of real floats, not {reason}")
    left, right = a.dim() == 1, b.dim() == 1
    if left:
        a = a.unsqueeze(0)
    if right:
        b = b.unsqueeze(1)
        addend = addend if addend is None or addend.dim() == 0 else addend.unsqueeze(-1)
    dtype, shape = dtype_of(a, b), (*a.shape[:-1], b.shape[-1])
    if b.dim() == 2 and a.dim() > 2 and (addend is None or addend.dim() < 2):
        # One matrix of many rows: the gradient of b is one long sum, as in a linear layer.
        a = a.reshape(-1, a.shape[-1])
    found = multiplied(a, b, addend, float(factor), layer).to(dtype)
    if b.dim() == 2:
        found = found.reshape(shape)
    if left:
        found = found.squeeze(-2)
    return found.squeeze(-1) if right else found


def beyond_units(x: Tensor) -> str | None:
    """What of a tensor no unit multiplies, in words; None where units take it."""
    if not x.dtype.is_floating_point:
        return str(x.dtype).removeprefix("torch.")
    return None if x.layout is torch.strided and not x.is_nested else "a sparse or nested tensor"


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, recipe: RecipeLike) -> Tensor:
    """`torch.nn.functional.linear` by the units of a recipe: x @ weight^T + bias.

    x: (..., in). weight: (out, in), or (in,). The bias, rounded to the recipe's output, is added in float32, with a
    rounding of its own, and the sum is rounded once to the output. Raises as `load_recipe` does.
    """
    return linear_at(x, weight, bias, layer_by(recipe))


def linear_at(x: Tensor, weight: Tensor, bias: Tensor | None, layer: ProductLayer) -> Tensor:
    """`linear` at a place in a model."""
    return matmul_at(x, weight.mT if weight.dim() > 1 else weight, layer, bias)


class _Through(Once):
    """A function of NumPy's arrays whose derivative is that of its argument."""

    @staticmethod
    def forward(x: Tensor, function: Callable[[Any], Any]) -> Tensor:
        if x.is_meta:
            return torch.empty_like(x)
        found = function(singles(x)).astype(np.float32)
        return torch.from_numpy(np.ascontiguousarray(found)).to(device=x.device, dtype=x.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Nothing is kept."""

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        return tangents[0].clone()  # type: ignore[no-any-return]


def _through(x: Tensor, function: Callable[[Any], Any]) -> Tensor:
    # As a decorator, `disable` would import PyTorch's compiler with hwsim.torch: 2 s, and a folder in /tmp.
    at_once = torch.compiler.disable(_through_at_once) if torch.compiler.is_compiling() else _through_at_once
    found: Tensor = at_once(x, function)
    return found


def _through_at_once(x: Tensor, function: Callable[[Any], Any]) -> Tensor:
    if (reason := beyond_units(x)) is not None:
        raise InputError(f"x must be a strided tensor of real floats, not {reason}")
    return _Through.apply(x, function)  # type: ignore[no-any-return]


def quantize(x: Tensor, rule: str | Rule, axis: int = -1, **options: Any) -> Tensor:
    """The numbers that x is quantised to, in x's dtype; gradients pass through as they are.

    rule, axis, options: as `hwsim.quantize` takes them. The numbers are float32's before they are cast to x's dtype.
    """
    return _through(x, lambda array: quantize_numbers(array, rule, axis, **options).dequantize(np.float32))


def cast(x: Tensor, fmt: str | Format, rounding: str = "rne", overflow: str = "saturate", **random: Any) -> Tensor:
    """x rounded to a format, in x's dtype; gradients pass through as they are.

    fmt: a name, a file, or a `Format`. rounding, overflow, random (`random_bits`, `seed`, `counter`): as
    `Format.encode` takes them.
    """
    to = get_format(fmt)

    def rounded(array: Any) -> Any:
        return to.decode(to.encode(array, rounding=rounding, overflow=overflow, **random))

    return _through(x, rounded)
