"""Models whose matrix products go through units, for a while or for good, and which calls do."""

from __future__ import annotations

import itertools
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint

from hwsim.base.errors import InputError, InputTypeError
from hwsim.base.text import counted
from hwsim.formats.catalog import nearest
from hwsim.torch import checkpoints as again
from hwsim.torch.functional import (
    attention_at,
    beyond_units,
    convolution_at,
    einsum_at,
    layer_of,
    linear_at,
    matmul_at,
    transposed_at,
)
from hwsim.torch.operators import ProductLayer, histories, within_backward
from hwsim.torch.products import Histories, Products
from hwsim.torch.recipe import Kind, LayerRule, Recipe, RecipeLike, load_recipe


@dataclass(frozen=True)
class CallPlace:
    """A function that a module calls. units: of the three products; empty where PyTorch computes it."""

    module: str
    cls: str
    function: str
    units: tuple[str, ...]

    @property
    def words(self) -> str:
        """The function, and who calls it."""
        return f"{self.function} of {self.module or 'the model'} ({self.cls})"


@dataclass
class Report:
    """The calls of a model that units compute. It grows while the model runs: places not called yet are not in it.

    converted: calls that units compute. left: calls that were left to PyTorch as asked for. not_converted: calls of
    functions that multiply in code of their own. calls: how often each place was called.
    """

    recipe: str
    places: dict[tuple[str, str], CallPlace] = field(default_factory=dict)
    others: dict[tuple[str, str], CallPlace] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)

    def found(self, name: str, cls: str, function: str, products: Products | None) -> None:
        """Record a call."""
        units: tuple[str, ...] = ()
        if products is not None:
            every = (products.forward, products.input, products.weight)
            units = tuple("float32" if product is None else product.unit.name for product in every)
        self.places[name, function] = CallPlace(name, cls, function, units)

    def not_converted(self, name: str, cls: str, function: str) -> CallPlace | None:
        """Record a call of a function that multiplies and that no unit computes. Returns the place if it is new."""
        if (name, function) in self.others:
            return None
        self.others[name, function] = place = CallPlace(name, cls, function, ())
        return place

    @property
    def converted(self) -> list[CallPlace]:
        """Calls that units compute."""
        return [place for place in self.places.values() if place.units]

    @property
    def left(self) -> list[CallPlace]:
        """Calls that PyTorch computes: as asked for, and of functions that multiply in code of their own."""
        return [place for place in self.places.values() if not place.units] + list(self.others.values())

    def __str__(self) -> str:
        through = counted(len(self.converted), "call")
        lines = [f"recipe {self.recipe}: {through} through units, {len(self.left)} by PyTorch"]
        for place in self.converted:
            names = list(dict.fromkeys(place.units))
            units = names[0] if len(names) == 1 else " | ".join(place.units)
            lines.append(f"  {place.module or '(model)'} ({place.cls}) {place.function}: {units}")
        for places, why in ((self.places, "as asked for"), (self.others, "no unit computes it")):
            lines += [
                f"  {place.module or '(model)'} ({place.cls}) {place.function}: PyTorch, {why}"
                for place in places.values()
                if not place.units
            ]
        return "\n".join(lines)


class CallPlaces(Protocol):
    """Finds the place in the model from which a function is called."""

    def layer(self, kind: Kind, function: str) -> ProductLayer | None:
        """The products of a call here and now; None where PyTorch has it. The call is counted."""
        ...

    def left_out(self, function: str) -> None:
        """Count a call of a function that multiplies, for which nothing is done."""
        ...


class Intercept(TorchFunctionMode):
    """A mode in which matrix products of tensors go through the units of the place where they are called."""

    def __init__(self, places: CallPlaces):
        super().__init__()
        self.places = places

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """The function's result, by a unit where there is one."""
        keywords = kwargs or {}
        handler = HANDLERS.get(func)
        if handler is not None:
            reason = next(filter(None, map(beyond_units, _tensors(args, keywords))), None)
            if reason is None:
                return handler(self.places, func, *args, **keywords)
            self.places.left_out(f"{_name(func)} of {reason}")
        if func in COMPOSED:
            with self:
                return COMPOSED[func](*args, **keywords)
        if func in LEFT_OUT or (isinstance(func, OPERATORS) and _name(func).partition(".")[0] in MULTIPLY):
            self.places.left_out(_name(func))
        if func is functional.embedding_bag and keywords.get("per_sample_weights", (*args[8:9], None)[0]) is not None:
            self.places.left_out("embedding_bag of weights")
        return func(*args, **keywords)


def _tensors(args: tuple[Any, ...], keywords: dict[str, Any]) -> Iterator[Tensor]:
    """The factors of a call: its tensors, but for masks of attention."""
    for argument in (*args, *(value for name, value in keywords.items() if name != "attn_mask")):
        if isinstance(argument, Tensor) and argument.dtype != torch.bool:
            yield argument
        elif isinstance(argument, (list, tuple)):
            yield from (part for part in argument if isinstance(part, Tensor))


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
    places: CallPlaces, func: Any, *tensors: Tensor, beta: float = 1, alpha: float = 1, out: Tensor | None = None,
    **named: Tensor,
) -> Any:  # fmt: skip
    input, first, second = (*tensors, *named.values())
    layer = places.layer("matmul", _name(func))
    if layer is None:
        destination = {} if out is None else {"out": out}
        return func(input, first, second, beta=beta, alpha=alpha, **destination)
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
        options = {"attn_mask": attn_mask, "dropout_p": dropout_p, "is_causal": is_causal, "scale": scale}
        return func(query, key, value, **options, enable_gqa=enable_gqa)
    return attention_at(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa, (scores, values))


def _into(out: Tensor | None, result: Tensor) -> Tensor:
    return result if out is None else out.copy_(result)


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
    """A copy of a function of PyTorch that is written in Python, without its own check for modes that intercept it.

    Called while the mode is entered, the original would call itself for ever.
    """
    globals_ = {**function.__globals__, "has_torch_function": lambda _: False}
    copy = types.FunctionType(function.__code__, globals_, function.__name__, function.__defaults__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


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


Leave = str | type[nn.Module] | Iterable[str | type[nn.Module]]
WITH_WEIGHTS = (nn.Linear, nn.modules.conv._ConvNd)
ALLOW = "leave= names what PyTorch may compute"
_owners = itertools.count(1)


class Emulation:
    """A model whose products go through units, and what is known of them.

    recipe: what was asked for. report: which calls were made, and through which unit; filled while the model runs.
    histories: the scales of delayed scaling, which a training run keeps with its weights.
    """

    def __init__(self, model: nn.Module, recipe: Recipe, leave: Leave, strict: bool):
        self.recipe, self.report, self.strict = recipe, Report(recipe.name), strict
        self.histories = Histories()
        self._left = _left_out(model, leave)
        self._classes = {name: type(module).__name__ for name, module in model.named_modules()}
        named = [name for name, module in model.named_modules() if isinstance(module, WITH_WEIGHTS)]
        self._ends = {"first": named[:1], "last": named[-1:]}
        self._begin()

    def _begin(self) -> None:
        self._owner = next(_owners)
        histories[self._owner] = self.histories
        self._stack: list[tuple[str, str, dict[str, int]]] = []
        self._active = False
        self._chosen: dict[tuple[str, Kind], ProductLayer | None] = {}
        self._unreported: list[CallPlace] = []

    def __getstate__(self) -> dict[str, Any]:
        """The state for copies and for files of the model: without what belongs to this process."""
        mine = ("_owner", "_stack", "_active", "_chosen", "_unreported")
        return {name: value for name, value in vars(self).items() if name not in mine}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Begin with what another emulation had."""
        vars(self).update(state)
        self._begin()

    def layer(self, kind: Kind, function: str) -> ProductLayer | None:
        """The products of a call here and now; None where PyTorch has it."""
        name, cls, calls = self._stack[-1] if self._stack else ("", "", {})
        # A module may call a function several times: each call has histories of its own.
        calls[function] = nth = calls.get(function, 0) + 1
        where = ":".join([name, *([function] if function != "linear" else []), *([str(nth)] if nth > 1 else [])])
        key = where, kind
        if key not in self._chosen:
            products = self._products(name, cls, kind)
            self._chosen[key] = None if products is None else layer_of(products, where, self._owner)
            self.report.found(name, cls, function, products)
        if torch.compiler.is_compiling() or not within_backward():
            self.report.calls[where] += 1
        return self._chosen[key]

    def state_dict(self) -> dict[str, dict[str, Any]]:
        """State of a training run besides its weights: the factor and history of each delayed scale."""
        return self.histories.state_dict()

    def load_state_dict(self, kept: dict[str, dict[str, Any]]) -> None:
        """Take up what `state_dict` returned. Raises ValueError for a layer that the model does not have."""
        for key in kept:
            if key.partition(":")[0] not in self._classes:
                raise InputError(f"the model has no module {key.partition(':')[0]!r}, whose scales are given")
        self.histories.load_state_dict(kept)

    def recomputes(self, name: str, cls: str) -> bool:
        """True if a module's activations are computed again in the backward pass, instead of kept."""
        return any(fnmatchcase(name, pattern) or cls == pattern for pattern in self.recipe.recompute)

    def left_out(self, function: str) -> None:
        """Count a call of a function that multiplies and that no unit computes. Raises ValueError if `strict`."""
        name, cls, _ = self._stack[-1] if self._stack else ("", "", {})
        if self._products(name, cls, "matmul") is None:
            self.report.found(name, cls, function, None)
            return
        if self.strict:
            place = CallPlace(name, cls, function, ())
            raise InputError(f"no unit computes {place.words}: {ALLOW}, and without strict PyTorch computes it")
        if (new := self.report.not_converted(name, cls, function)) is not None:
            self._unreported.append(new)

    def _warn(self) -> None:
        """Name what no unit computes, all of a forward pass at once, and each once."""
        places, self._unreported = self._unreported, []
        named = ", ".join(place.words for place in places)
        warnings.warn(
            f"no unit computes {named}: PyTorch does, in its own precision. {ALLOW}; strict=True raises", stacklevel=2
        )

    def products_of(self, name: str, kind: Kind) -> Products | None:
        """The products that a module's calls of a kind have; None where PyTorch has them.

        Raises ValueError for a name that is no module's.
        """
        if name not in self._classes:
            raise InputError(nearest("module", name, self._classes))
        return self._products(name, self._classes[name], kind)

    def _products(self, name: str, cls: str, kind: Kind) -> Products | None:
        if name in self._left:
            return None
        for rule in self.recipe.layers:
            if self._fits(rule, name, cls, kind):
                return rule.products
        return self.recipe.products

    def _fits(self, rule: LayerRule, name: str, cls: str, kind: Kind) -> bool:
        keys = rule.keys
        return (
            (keys.name is None or fnmatchcase(name, keys.name))
            and (keys.type is None or keys.type == cls)
            and (keys.kind is None or keys.kind == kind)
            and (keys.place is None or name in self._ends[keys.place])
        )

    @contextmanager
    def inside(self, name: str, cls: str, calls: dict[str, int] | None = None) -> Iterator[None]:
        """Within the block, a module of the model computes. calls: of functions that it has made already."""
        self._stack.append((name, cls, calls or {}))
        try:
            if self._active:
                yield
            else:
                self._active = True
                again.surroundings.append(self._here)
                try:
                    with Intercept(self):
                        yield
                finally:
                    again.surroundings.pop()
                    self._active = False
                    if self._unreported and not torch.compiler.is_compiling():
                        self._warn()
        finally:
            self._stack.pop()

    def _here(self) -> again.Surroundings:
        """A context manager in which a function computes as in the module that runs now."""
        name, cls, calls = self._stack[-1]
        return partial(self.inside, name, cls, dict(calls))


def _left_out(model: nn.Module, leave: Leave) -> set[str]:
    """The names of the modules that stay as they are, with all that they contain. Raises ValueError for none."""
    if isinstance(leave, (str, type)):
        leave = (leave,)
    elif not isinstance(leave, Iterable):
        raise InputTypeError(f"leave must hold names and classes of modules, not {leave!r}")
    names = [name for name, _ in model.named_modules()]
    left: set[str] = set()
    for choice in leave:
        if isinstance(choice, str):
            chosen = [name for name in names if fnmatchcase(name, choice)]
        elif isinstance(choice, type) and issubclass(choice, nn.Module):
            chosen = [name for name, module in model.named_modules() if isinstance(module, choice)]
        else:
            raise InputTypeError(f"leave must hold names and classes of modules, not {choice!r}")
        if not chosen:
            name = choice if isinstance(choice, str) else choice.__name__
            raise InputError(
                f"leave: no module of the model is {name}; it has {', '.join(filter(None, names[:12]))} ..."
            )
        left |= {name for name in names if any(name == top or name.startswith(f"{top}.") for top in chosen)}
    return left


def convert(
    model: nn.Module,
    recipe: RecipeLike,
    *,
    leave: Leave = (),
    strict: bool = False,
) -> Emulation:
    """Send every matrix product of a model through units, forward and backward, from now on.

    model: any module; it is changed in place: its modules get classes that are derived from their own, and weights,
    buffers and their names stay what they are. Linear layers, convolutions, matmul, bmm, addmm, dot, einsum, tensordot
    and scaled-dot-product attention are sent, wherever the model's modules call them. A warning names what else
    multiplies, once; strict: it raises ValueError instead.
    recipe: a name (`hwsim.torch.recipes()`), a YAML file, a mapping of its keys, or a `Recipe`.
    leave: modules that stay as they are: a pattern of their names, a class of theirs, or several.
    Returns the emulation, whose `report` says what goes through which unit. `restore` undoes it.
    Raises SpecError as `load_recipe` does; ValueError for a model that is converted already, and for a name that fits
    no module; TypeError for what is no module.
    """
    if not isinstance(model, nn.Module):
        raise InputTypeError(f"model must be a torch.nn.Module, not {type(model).__name__}")
    if any(hasattr(module, "_hwsim") for module in model.modules()):
        raise InputError("model is converted already: hwsim.torch.restore(model) undoes it")
    again.watch()
    emulation = Emulation(model, load_recipe(recipe), leave, strict)
    for name, module in model.named_modules():
        _attach(module, emulation, name)
    return emulation


def restore(model: nn.Module) -> None:
    """Make a model what it was before `convert`. A model that is not converted stays as it is."""
    for module in model.modules():
        if hasattr(module, "_hwsim"):
            _detach(module)


@contextmanager
def emulate(
    model: nn.Module,
    recipe: RecipeLike,
    *,
    leave: Leave = (),
    strict: bool = False,
) -> Iterator[Emulation]:
    """Within the block, every matrix product of a model goes through units; see `convert`.

    Gradients of results that were computed within may be asked for after it: they go through the units too, and so
    does what `torch.utils.checkpoint` computes again for them.
    """
    emulation = convert(model, recipe, leave=leave, strict=strict)
    try:
        yield emulation
    finally:
        restore(model)


def _attach(module: nn.Module, emulation: Emulation, name: str) -> None:
    module.__class__ = _emulated(type(module))
    object.__setattr__(module, "_hwsim", (emulation, name))


def _detach(module: nn.Module) -> None:
    module.__class__ = type(module).__mro__[1]
    object.__delattr__(module, "_hwsim")


@contextmanager
def _attached(module: nn.Module, emulation: Emulation, name: str) -> Iterator[None]:
    """Within the block, a module is part of an emulation again, which may have ended, whatever it is part of now."""
    before = module.__dict__.get("_hwsim")
    if before is not None:
        _detach(module)
    _attach(module, emulation, name)
    try:
        yield
    finally:
        _detach(module)
        if before is not None:
            _attach(module, *before)


_classes: dict[type[nn.Module], type[nn.Module]] = {}


def _emulated(cls: type[nn.Module]) -> type[nn.Module]:
    """A class derived from a module's, whose forward pass happens inside an emulation."""
    if cls not in _classes:

        def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not hasattr(self, "_hwsim"):  # a method that was taken from the module before its emulation ended
                return cls.forward(self, *args, **kwargs)
            emulation, name = self._hwsim

            def run(*args: Any, **kwargs: Any) -> Any:
                with emulation.inside(name, cls.__name__):
                    return cls.forward(self, *args, **kwargs)

            if not torch.compiler.is_compiling():
                again.called(self, partial(_attached, self, emulation, name))
            if emulation.recomputes(name, cls.__name__) and torch.is_grad_enabled():
                return checkpoint(run, *args, use_reentrant=False, **kwargs)
            return run(*args, **kwargs)

        def reduced(self: Any, protocol: Any) -> tuple[Any, ...]:
            reduction: Any = cls.__reduce_ex__(self, protocol)
            function, args, *rest = reduction
            plain = tuple(cls if argument is type(self) else argument for argument in args)
            return _made_again, (function, plain, self._hwsim), *rest

        _classes[cls] = type(
            cls.__name__,
            (cls,),
            {"forward": forward, "__reduce_ex__": reduced, "__module__": cls.__module__, "__doc__": cls.__doc__},
        )
    return _classes[cls]


def _made_again(function: Any, args: tuple[Any, ...], place: tuple[Emulation, str]) -> nn.Module:
    """A module of an emulation, as copies and files have it."""
    module: nn.Module = function(*args)
    _attach(module, *place)
    return module
