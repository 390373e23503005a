"""Calls of PyTorch's functions that multiply matrices, sent to units instead."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from hwsim.torch.attention import attention_at
from hwsim.torch.convolution import convolution_at, transposed_at
from hwsim.torch.einsums import einsum_at
from hwsim.torch.functional import beyond_units, linear_at, matmul_at
from hwsim.torch.operators import ProductLayer
from hwsim.torch.recipe import Kind


class CallPlaces(Protocol):
    """What knows where in a model a call is made."""

    def layer(self, kind: Kind, function: str) -> ProductLayer | None:
        """The products of a call here and now; None where PyTorch has it. The call is counted."""
        ...

    def left_out(self, function: str) -> None:
        """Count a call of a function that multiplies, and that nothing is done about."""
        ...


class Intercept(TorchFunctionMode):
    """While it is entered, matrix products of tensors go through the units of the place where they are called."""

    def __init__(self, places: CallPlaces):
        super().__init__()
        self.places = places

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """The function's result, by a unit where there is one."""
        given = kwargs or {}
        handler = HANDLERS.get(func)
        if handler is not None:
            reason = next(filter(None, map(beyond_units, _tensors(args, given))), None)
            if reason is None:
                return handler(self.places, func, *args, **given)
            self.places.left_out(f"{_name(func)} of {reason}")
        if func in COMPOSED:
            with self:
                return COMPOSED[func](*args, **given)
        if func in LEFT_OUT or (isinstance(func, OPERATORS) and _name(func).partition(".")[0] in MULTIPLY):
            self.places.left_out(_name(func))
        if func is functional.embedding_bag and given.get("per_sample_weights", (*args[8:9], None)[0]) is not None:
            self.places.left_out("embedding_bag of weights")
        return func(*args, **given)


def _tensors(args: tuple[Any, ...], given: dict[str, Any]) -> Iterator[Tensor]:
    """The factors of a call: its tensors, but for masks of attention."""
    for one in (*args, *(value for name, value in given.items() if name != "attn_mask")):
        if isinstance(one, Tensor) and one.dtype != torch.bool:
            yield one
        elif isinstance(one, (list, tuple)):
            yield from (part for part in one if isinstance(part, Tensor))


Handler = Callable[..., Any]


def _linear(places: CallPlaces, func: Any, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    layer = places.layer("linear", "linear")
    return func(input, weight, bias) if layer is None else linear_at(input, weight, bias, layer)


def _matmul(
    places: CallPlaces, func: Any, *factors: Tensor, out: Tensor | None = None, **named: Tensor
) -> Any:  # each function has a name of its own for its second factor
    input, other = (*factors, *named.values())
    layer = places.layer("matmul", _name(func))
    if layer is None:
        return func(input, other) if out is None else func(input, other, out=out)
    return _into(out, matmul_at(input, other, layer))


def _reversed(places: CallPlaces, func: Any, input: Tensor, other: Tensor) -> Any:
    layer = places.layer("matmul", "matmul")
    return func(input, other) if layer is None else matmul_at(other, input, layer)


def _added(
    places: CallPlaces, func: Any, *given: Tensor, beta: float = 1, alpha: float = 1, out: Tensor | None = None,
    **named: Tensor,
) -> Any:  # fmt: skip
    input, first, second = (*given, *named.values())
    layer = places.layer("matmul", _name(func))
    if layer is None:
        more = {} if out is None else {"out": out}
        return func(input, first, second, beta=beta, alpha=alpha, **more)
    addend = None if beta == 0 else input if beta == 1 else beta * input
    return _into(out, matmul_at(first, second, layer, addend, alpha))


def _einsum(places: CallPlaces, func: Any, equation: Any, *operands: Any) -> Any:
    tensors = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    layer = places.layer("matmul", "einsum") if isinstance(equation, str) else None
    if not isinstance(equation, str):
        places.left_out("einsum of sublists")
    return func(equation, *operands) if layer is None else einsum_at(equation, tensors, layer)


def _tensordot(places: CallPlaces, func: Any, a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Any:
    layer = places.layer("matmul", "tensordot")
    if layer is None:
        return func(a, b, dims) if out is None else func(a, b, dims, out=out)
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    of_a, of_b = (list(range(a.dim() - dims, a.dim())), list(range(dims))) if isinstance(dims, int) else map(list, dims)
    of_a, of_b = [axis % a.dim() for axis in of_a], [axis % b.dim() for axis in of_b]
    rows = [axis for axis in range(a.dim()) if axis not in of_a]
    columns = [axis for axis in range(b.dim()) if axis not in of_b]
    k = torch.Size(a.shape[axis] for axis in of_a).numel()
    left = a.permute(*rows, *of_a).reshape(-1, k)
    right = b.permute(*of_b, *columns).reshape(k, -1)
    shape = [*(a.shape[axis] for axis in rows), *(b.shape[axis] for axis in columns)]
    return _into(out, matmul_at(left, right, layer).reshape(shape))


def _convolution(
    places: CallPlaces, func: Any, input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
    padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    depthwise = groups > 1 and weight.shape[1] == 1
    layer = places.layer("depthwise" if depthwise else "convolution", _name(func))
    if layer is None:
        return func(input, weight, bias, stride, padding, dilation, groups)
    return convolution_at(input, weight, bias, stride, padding, dilation, groups, layer)


def _transposed(
    places: CallPlaces, func: Any, input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
    padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    layer = places.layer("convolution", _name(func))
    if layer is None:
        return func(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return transposed_at(input, weight, bias, stride, padding, output_padding, groups, dilation, layer)


def _attention(
    places: CallPlaces, func: Any, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    scores = places.layer("attention", "attention scores")
    values = places.layer("attention", "attention values")
    if scores is None or values is None:
        more = {"attn_mask": attn_mask, "dropout_p": dropout_p, "is_causal": is_causal, "scale": scale}
        return func(query, key, value, **more, enable_gqa=enable_gqa)
    return attention_at(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa, (scores, values))


def _into(out: Tensor | None, found: Tensor) -> Tensor:
    return found if out is None else out.copy_(found)


def _name(func: Any) -> str:
    return str(getattr(func, "__name__", func)).strip("_")


HANDLERS: dict[Any, Handler] = {
    functional.linear: _linear,
    **dict.fromkeys(
        (
            torch.matmul, torch.mm, torch.bmm, torch.mv, torch.linalg.matmul, Tensor.matmul, Tensor.mm, Tensor.bmm,
            Tensor.mv, Tensor.__matmul__, torch.dot, torch.vdot, Tensor.dot, Tensor.vdot,
        ),
        _matmul,
    ),
    Tensor.__rmatmul__: _reversed,
    **dict.fromkeys((torch.addmm, torch.baddbmm, torch.addmv, Tensor.addmm, Tensor.baddbmm, Tensor.addmv), _added),
    torch.einsum: _einsum,
    torch.tensordot: _tensordot,
    **dict.fromkeys(
        (functional.conv1d, functional.conv2d, functional.conv3d, torch.conv1d, torch.conv2d, torch.conv3d),
        _convolution,
    ),
    **dict.fromkeys(
        (
            functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d,
            torch.conv_transpose1d, torch.conv_transpose2d, torch.conv_transpose3d,
        ),
        _transposed,
    ),
    functional.scaled_dot_product_attention: _attention,
}  # fmt: skip


def _inside(function: Any) -> Callable[..., Any]:
    """A function of PyTorch that is written in Python, without its own question whether somebody else has it.

    Called while the mode is entered, it would ask for ever.
    """
    globals_ = {**function.__globals__, "has_torch_function": lambda _: False}
    made = types.FunctionType(function.__code__, globals_, function.__name__, function.__defaults__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


# Functions of PyTorch in Python that multiply by calling the others.
COMPOSED: dict[Any, Callable[..., Any]] = {
    function: _inside(function) for function in (functional.multi_head_attention_forward,)
}
# What else multiplies and adds, or calls what does, by its names: no unit computes it.
NAMES = """
inner addbmm addbmm_ addmm_ baddbmm_ addmv_ chain_matmul bilinear cdist pdist cosine_similarity cov corrcoef
matrix_power matrix_exp multi_dot vecdot tensorinv tensorsolve householder_product linear_cross_entropy
lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
mm bmm mv dot vdot matmul linear addmm addmv baddbmm einsum tensordot convolution _convolution conv_tbc
conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
_addmm_activation _int_mm _scaled_mm _scaled_mm_v2 scaled_mm _grouped_mm grouped_mm _scaled_grouped_mm
linear_dynamic linear_dynamic_fp16 linear_relu linear_relu_dynamic conv1d_relu conv2d_relu conv3d_relu
quantized_lstm quantized_gru quantized_lstm_cell quantized_gru_cell quantized_rnn_tanh_cell quantized_rnn_relu_cell
scaled_grouped_mm _weight_int8pack_mm _weight_int4pack_mm _sparse_mm sspaddmm hspmm smm saddmm
scaled_dot_product_attention _scaled_dot_product_attention_math flex_attention
_native_multi_head_attention _transformer_encoder_layer_fwd
fft fft2 fftn ifft ifft2 ifftn rfft rfft2 rfftn irfft irfft2 irfftn hfft hfft2 hfftn ihfft ihfft2 ihfftn stft istft
cholesky cholesky_ex cholesky_inverse cholesky_solve inv inv_ex inverse pinv pinverse det slogdet logdet qr geqrf
ormqr orgqr lu lu_factor lu_factor_ex lu_solve ldl_factor ldl_factor_ex ldl_solve solve solve_ex solve_triangular
triangular_solve lstsq svd svdvals svd_lowrank pca_lowrank eig eigh eigvals eigvalsh matrix_rank cond lobpcg
"""
MULTIPLY = frozenset(NAMES.split())
LEFT_OUT: dict[Any, str] = {  # a dict, because `torch.compile` looks no function up in a set
    function: name
    for home in (torch, functional, torch.linalg, Tensor, torch._VF, torch.fft, torch.sparse, torch._C._nn)
    for name in MULTIPLY
    if (function := getattr(home, name, None)) is not None and function not in HANDLERS and function not in COMPOSED
}
OPERATORS = (torch._ops.OpOverload, torch._ops.OpOverloadPacket, torch._ops.HigherOrderOperator)
