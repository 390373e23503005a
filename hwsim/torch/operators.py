"""The products of units as operators of PyTorch: with first derivatives, for `torch.compile`, checkpoints and DDP."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NoReturn
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor

from hwsim.base.errors import InputError
from hwsim.formats import container_dtype
from hwsim.quantize import Quantized, Rule, dequantize, quantize
from hwsim.quantize.quantized import block_lengths
from hwsim.quantize.rule import is_f32
from hwsim.spec.plan import ProductPlan
from hwsim.torch import tensors
from hwsim.torch.devices import (
    Multiply,
    computed_there,
    multiplier,
    not_there,
    numbers,
    on_host,
    refused_product,
    refused_rule,
)
from hwsim.torch.products import (
    ComputedProduct,
    Histories,
    LibraryShape,
    Output,
    Products,
    Singles,
    UnitProduct,
    Which,
    computed,
    products_of,
)


@dataclass(frozen=True)
class ProductLayer:
    """A place in a model: the products that it has there, by their key, its name, and whose histories it keeps.

    random: whether a product depends on a seed. keeps: whether the recipe has a rule for what the backward pass needs.
    """

    key: str
    random: bool
    keeps: bool
    where: str = ""
    owner: int = 0


HOST = torch.device("cpu")
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
# What is told of each product that is computed: `hwsim.torch.observe` adds to it, and takes away.
observers: list[Callable[[ComputedProduct], None]] = []
NOBODY = 0
_nobodys = Histories()
# Of each owner: an emulation keeps its own, and so does what PyTorch keeps for a backward pass.
histories: WeakValueDictionary[int, Histories] = WeakValueDictionary({NOBODY: _nobodys})
_said: set[str] = set()  # reasons why tensors of other devices are taken to the host


@torch.library.custom_op("hwsim::product", mutates_args=())
def product(
    a: Tensor,
    b: Tensor,
    addend: Tensor | None,
    seed: Tensor,
    factor: float,
    key: str,
    which: str,
    where: str,
    owner: int,
) -> Tensor:
    """factor * A @ B + addend, (..., M, K) and (..., K, N) of any floats, in float32, by one product of a recipe.

    The factor, if it is not 1, and the addend, a number of the recipe's output, are each applied in float32, with a
    rounding of their own; then the sum is rounded once to the output. A library's plan has its own order of these.
    seed: one int64, of stochastic rounding.
    key: `Products.key`. which: forward, input or weight. where: the layer, for histories of scales and for observers.
    owner: whose histories. It has no derivatives: `differentiable` does.
    """
    products = products_of(key)
    there, why = _how(key, which, a, b)
    to = HOST if there is None else a.device
    added = None if addend is None else _rounded(_held(addend, to, why), products.output)
    chosen: UnitProduct | None = products.of(which)  # type: ignore[arg-type]
    plan = None
    if chosen is None or 0 in (*a.shape, *b.shape):
        result = _by_pytorch(_held(a, to, why), _held(b, to, why))
    elif there is not None:
        result = _there(there, chosen, a, b, int(seed), which, where, owner)
    else:
        of_a, of_b = singles(a, why), singles(b, why)
        plan = _plan(products, chosen, of_a, of_b, added, factor, where)
        bias = None if plan is None or added is None else added.numpy()
        computed_here = _computed(chosen, of_a, of_b, int(seed), which, where, owner, plan, bias)
        result = torch.from_numpy(np.ascontiguousarray(computed_here))
    if plan is None:
        if factor != 1:
            result = result * factor
        if added is not None:
            result = result + added
        result = _rounded(result, products.output)
    return result if result.device == a.device else result.to(a.device)


def _how(key: str, which: Any, a: Tensor, b: Tensor) -> tuple[Multiply | None, str]:
    """What multiplies the factors of a product where they are; or None, and why the host computes it."""
    there = multiplier(a, b)
    if there is None:
        return None, "" if a.device.type == b.device.type == "cpu" else not_there(a, b)
    why = refused_product(key, which)
    return (None, why) if why else (there, "")


def _by_pytorch(a: Tensor, b: Tensor) -> Tensor:
    """The product of numbers of binary32 by NumPy, or by PyTorch on another device than the host."""
    if a.device.type == "cpu":
        return torch.from_numpy(np.ascontiguousarray(np.matmul(a.numpy(), b.numpy())))
    with torch.autocast(a.device.type, enabled=False):
        return torch.matmul(a, b)


def _there(
    multiply: Multiply, chosen: UnitProduct, a: Tensor, b: Tensor, seed: int, which: Any, where: str, owner: int
) -> Tensor:
    """The numbers of a product, computed where its factors are; observers are told of it."""
    again = which == "forward" and within_backward()
    with torch.autocast(a.device.type, enabled=False):
        call = computed_there(
            chosen, a, b, multiply=multiply, seed=seed, where=where, which=which,
            histories=_histories(chosen, where, owner), again=again,
        )  # fmt: skip
    if observers and not again:
        told = on_host(chosen, call, where, which)
        for observer in tuple(observers):
            observer(told)
    return call.result


def _plan(
    products: Products, chosen: UnitProduct, a: Singles, b: Singles, addend: Tensor | None, factor: float, where: str
) -> ProductPlan | None:
    """The plan by which the recipe's library makes a product; None where it has none, or takes one sum then."""
    if products.library is None:
        return None
    k = -(-a.shape[-1] // chosen.step) * chosen.step
    axes = None if addend is None else addend.dim()
    shape = LibraryShape(a.shape[-2], b.shape[-1], k, a.ndim > 2 or b.ndim > 2, axes, factor)
    return products.library.plan(chosen, products.output, shape, where)


def _computed(
    chosen: UnitProduct, a: Singles, b: Singles, seed: int, which: Any, where: str, owner: int,
    plan: ProductPlan | None, bias: Singles | None,
) -> Singles:  # fmt: skip
    """The numbers of a product; observers are told of it."""
    again = which == "forward" and within_backward()
    call = computed(
        chosen, a, b, seed=seed, where=where, which=which, histories=_histories(chosen, where, owner),
        threads=torch.get_num_threads(), again=again, plan=plan, bias=bias,
    )  # fmt: skip
    for observer in () if again else tuple(observers):
        observer(call)
    return call.result


def _histories(chosen: UnitProduct, where: str, owner: int) -> Histories:
    """An owner's histories. Raises ValueError where a product needs them and they are gone."""
    state = histories.get(owner)
    if state is None and chosen.delayed:
        raise InputError(
            f"the scales of {where or 'the model'} are gone with its emulation: keep what convert or emulate "
            "returned for as long as the model computes"
        )
    return Histories() if state is None else state


def within_backward() -> bool:
    """True while PyTorch computes gradients: a forward product is then one that was not kept, computed again."""
    return bool(torch._C._current_graph_task_id() >= 0)


@product.register_fake
def _(
    a: Tensor, b: Tensor, addend: Tensor | None, seed: Tensor, factor: float, key: str, which: str, where: str,
    owner: int,
) -> Tensor:  # fmt: skip
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return a.new_empty((*batch, a.shape[-2], b.shape[-1]), dtype=torch.float32)


def singles(x: Tensor, why: str = "a cast, a quantiser or an optimiser computes there") -> Singles:
    """A tensor's numbers in binary32, in its own memory where they are that; float64 is rounded.

    A tensor of another device is taken to the host: a warning says so once, and why.
    """
    return _held(x, HOST, why).numpy()


def _held(x: Tensor, to: torch.device, why: str) -> Tensor:
    """A tensor's numbers in binary32 on a device."""
    if to == HOST != x.device and why not in _said:
        _said.add(why)
        warnings.warn(f"hwsim takes tensors of {x.device} to the host and back: {why}", stacklevel=3)
    return numbers(x.to(to))


def _rounded(x: Tensor, output: Output) -> Tensor:
    """Numbers rounded to the recipe's output, to nearest, ties to even."""
    return x if output == "f32" else x.to(DTYPES[output]).to(torch.float32)


@torch.library.custom_op("hwsim::keep", mutates_args=())
def keep(x: Tensor, key: str) -> list[Tensor]:
    """Codes and scales of numbers, (..., N), by the rule of a recipe's `keep`; blocks run along the last axis."""
    rule = products_of(key).keep
    assert rule is not None
    there, why = _how_kept(rule, x)
    if there:
        kept_there = tensors.quantized(numbers(x), rule)
        return [kept_there.codes, kept_there.scales]
    quantized = quantize(singles(x, why), rule)
    return [_signed(quantized.codes).to(x.device), _signed(quantized.scales).to(x.device)]


def _how_kept(rule: Rule, x: Tensor) -> tuple[bool, str]:
    """Whether numbers are quantised, or made again, where they are; and why not."""
    if multiplier(x) is None:
        return False, "" if x.device.type == "cpu" else not_there(x)
    why = refused_rule(rule)
    return not why, f"what is kept for the backward pass: {why}" if why else ""


@keep.register_fake
def _(x: Tensor, key: str) -> list[Tensor]:
    rule = products_of(key).keep
    assert rule is not None
    quantized = quantize(np.zeros((1, 1), np.float32), rule)
    columns = x.shape[-1] if rule.block[1] is None else rule.block[1]
    rows = x.shape[-2] if rule.block[0] is None else rule.block[0]
    scales = (*x.shape[:-2], -(-x.shape[-2] // rows), -(-x.shape[-1] // columns))
    kinds = [_signed(array).dtype for array in (quantized.codes, quantized.scales)]
    return [x.new_empty(x.shape, dtype=kinds[0]), x.new_empty(scales, dtype=kinds[1])]


@torch.library.custom_op("hwsim::restore", mutates_args=())
def restore(codes: Tensor, scales: Tensor, key: str) -> Tensor:
    """The numbers that `keep` kept, in float32."""
    rule = products_of(key).keep
    assert rule is not None
    if _how_kept(rule, codes)[0]:
        return tensors.dequantized(rule, codes, scales)
    axis = codes.dim() - 1
    of_scales = np.float32 if is_f32(rule.scale_format) else container_dtype(rule.scale_format)
    quantized = Quantized(
        codes=codes.cpu().numpy().view(container_dtype(rule.element)), scales=scales.cpu().numpy().view(of_scales),
        element=rule.element, scale_format=rule.scale_format, block=block_lengths(codes.shape, axis, rule.block),
        axis=axis, tensor_scale=None, rule=rule,
    )  # fmt: skip
    return torch.from_numpy(dequantize(quantized, np.float32)).to(codes.device)


@restore.register_fake
def _(codes: Tensor, scales: Tensor, key: str) -> Tensor:
    return codes.new_empty(codes.shape, dtype=torch.float32)


def _signed(array: np.ndarray[Any, Any]) -> Tensor:
    """An array as a tensor; unsigned integers of two and four bytes as signed ones, which PyTorch computes with."""
    kind = {"uint16": np.int16, "uint32": np.int32}.get(array.dtype.name)
    return torch.from_numpy(np.ascontiguousarray(array if kind is None else array.view(kind)))


FORWARD_MODE = (
    "units compute no derivatives in forward mode (torch.func.jvp, jacfwd, hessian, torch.autograd.forward_ad): "
    "take gradients in reverse mode (backward, torch.func.grad, vjp, jacrev), or leave the model to PyTorch"
)
SECOND = (
    "units compute first derivatives only, and this is the derivative of a gradient (create_graph=True, "
    "torch.autograd.functional.hessian and jvp): take it of the model without units"
)


class Once(torch.autograd.Function):
    """A function that is differentiated once, in reverse mode; derived classes inherit `vmap`."""

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradient, computed by `_Gradient`."""
        raise InputError(SECOND)

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Any, Any]:
        """Each example by itself."""
        return _each(cls.apply, info, in_dims, *args)


def _each(function: Callable[..., Any], info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Any, Any]:
    """The function of each example by itself, as a loop over them would compute it: a rule of `torch.vmap`."""
    results = []
    for example in range(info.batch_size):
        pairs = zip(args, in_dims, strict=True)
        results.append(function(*(arg.select(axis, example) if isinstance(axis, int) else arg for arg, axis in pairs)))
    if isinstance(results[0], Tensor):
        return torch.stack(results), 0
    return [torch.stack(parts) for parts in zip(*results, strict=True)], [0] * len(results[0])


for _operator in (product, keep, restore):
    _operator.register_vmap(partial(_each, _operator))


def applied(function: type[Once], *args: Any) -> Tensor:
    """A function of PyTorch's autograd, called: a derivative in forward mode raises InputError.

    `torch.compile` takes no function that defines a derivative in forward mode.
    """
    if torch.compiler.is_compiling():
        return function.apply(*args)  # type: ignore[no-any-return]
    return _spoken(function).apply(*args)  # type: ignore[no-any-return]


def _forward_mode(ctx: Any, *tangents: Any) -> NoReturn:
    raise InputError(FORWARD_MODE)


@cache
def _spoken(function: type[Once]) -> type[Once]:
    return type(function.__name__, (function,), {"jvp": staticmethod(_forward_mode)})


class _Gradient(Once):
    """A product of the backward pass."""

    @staticmethod
    def forward(a: Tensor, b: Tensor, seed: Tensor, key: str, which: str, where: str, owner: int) -> Tensor:
        product: Tensor = torch.ops.hwsim.product(a, b, None, seed, 1.0, key, which, where, owner)
        return product

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Nothing is kept."""


def gradient_of(a: Tensor, b: Tensor, seed: Tensor, layer: ProductLayer, which: Which) -> Tensor:
    """A product of the backward pass of a layer, in float32. It has no derivative."""
    return applied(_Gradient, a, b, seed + 1, layer.key, which, layer.where, layer.owner)


class _Product(Once):
    """A product with an addend, whose gradients are the other two products of its layer."""

    @staticmethod
    def forward(
        a: Tensor, b: Tensor, addend: Tensor | None, seed: Tensor, factor: float, layer: ProductLayer
    ) -> Tensor:
        product: Tensor = torch.ops.hwsim.product(
            a, b, addend, seed, factor, layer.key, "forward", layer.where, layer.owner
        )
        return product

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        a, b, addend, seed, ctx.factor, layer = inputs
        ctx.shapes = a.shape, b.shape, None if addend is None else addend.shape
        ctx.dtypes = a.dtype, b.dtype, None if addend is None else addend.dtype
        remember(ctx, layer)
        ctx.save_for_backward(*kept(a, layer), b, seed)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        *first, b, seed = ctx.saved_tensors
        of_a = of_b = of_addend = None
        scaled = gradients[0] if ctx.factor == 1 else gradients[0] * ctx.factor
        if ctx.needs_input_grad[0]:
            gradient = gradient_of(scaled, b.mT, seed, ctx.layer, "input")
            of_a = _summed(gradient, ctx.shapes[0]).to(ctx.dtypes[0])
        if ctx.needs_input_grad[1]:
            gradient = gradient_of(scaled.mT, restored(first, ctx.layer), seed, ctx.layer, "weight")
            of_b = _summed(gradient.mT, ctx.shapes[1]).to(ctx.dtypes[1])
        if ctx.needs_input_grad[2]:
            of_addend = _summed(gradients[0], ctx.shapes[2]).to(ctx.dtypes[2])
        return of_a, of_b, of_addend, None, None, None


def multiplied(a: Tensor, b: Tensor, addend: Tensor | None, factor: float, layer: ProductLayer) -> Tensor:
    """factor * A @ B + addend of matrices or batches of them, in float32, with its first derivatives; see `product`.

    addend: broadcast to the result.
    """
    return applied(_Product, a, b, addend, seed_of(layer), factor, layer)


def seed_of(layer: ProductLayer) -> Tensor:
    """A seed of stochastic rounding from PyTorch's generator; 0 where nothing is random."""
    # On the host wherever the factors are: the same seeds for all devices, and none is read back from a GPU.
    if layer.random:
        return torch.randint(0, 1 << 31, (), device=HOST)
    return torch.zeros((), dtype=torch.int64, device=HOST)


def remember(ctx: Any, layer: ProductLayer) -> None:
    """Keep the layer for the backward pass, and its scales, which may then be nobody else's."""
    ctx.layer = layer
    if not torch.compiler.is_compiling():
        ctx.histories = histories.get(layer.owner)


def kept(x: Tensor, layer: ProductLayer) -> list[Tensor]:
    """The first factor as it is kept for the backward pass: its tensor, or codes and scales."""
    return list(torch.ops.hwsim.keep(x, layer.key)) if layer.keeps else [x]


def restored(first: list[Tensor], layer: ProductLayer) -> Tensor:
    """The first factor, as `kept` kept it."""
    return torch.ops.hwsim.restore(*first, layer.key) if layer.keeps else first[0]


def _summed(gradient: Tensor, shape: torch.Size) -> Tensor:
    """A gradient summed over the axes along which the factor was broadcast."""
    return gradient if gradient.shape == shape else gradient.sum_to_size(shape)


def _no_second(ctx: Any, gradient: Tensor) -> NoReturn:
    raise InputError(SECOND)


torch.library.register_autograd("hwsim::product", _no_second)
