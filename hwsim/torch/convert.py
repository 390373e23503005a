"""Models whose matrix products go through units: for a while, or for good."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from hwsim.errors import InputError, InputTypeError
from hwsim.formats.catalog import nearest
from hwsim.torch import again
from hwsim.torch.functional import layer_of
from hwsim.torch.intercept import Intercept
from hwsim.torch.operands import Histories
from hwsim.torch.operators import ProductLayer, histories, within_backward
from hwsim.torch.products import Products
from hwsim.torch.recipe import Kind, LayerRule, Recipe, RecipeLike, load_recipe
from hwsim.torch.report import CallPlace, Report

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
        self._unsaid: list[CallPlace] = []

    def __getstate__(self) -> dict[str, Any]:
        """What a copy, and a file of the model, have of it: all but what is of this process."""
        mine = ("_owner", "_stack", "_active", "_chosen", "_unsaid")
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
        """What a training run keeps besides its weights: the factor and history of each scale that has one."""
        return self.histories.state_dict()

    def load_state_dict(self, kept: dict[str, dict[str, Any]]) -> None:
        """Take up what `state_dict` returned. Raises ValueError for a layer that the model does not have."""
        for key in kept:
            if key.partition(":")[0] not in self._classes:
                raise InputError(f"the model has no module {key.partition(':')[0]!r}, whose scales are given")
        self.histories.load_state_dict(kept)

    def recomputes(self, name: str, cls: str) -> bool:
        """Whether what a module keeps for the backward pass is computed again in its place."""
        return any(fnmatchcase(name, one) or cls == one for one in self.recipe.recompute)

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
            self._unsaid.append(new)

    def _warn(self) -> None:
        """Name what no unit computes, all of a forward pass at once, and each once."""
        places, self._unsaid = self._unsaid, []
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
        """While a module of the model computes. calls: of functions that it has made already."""
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
                    if self._unsaid and not torch.compiler.is_compiling():
                        self._warn()
        finally:
            self._stack.pop()

    def _here(self) -> again.Surroundings:
        """What makes a function compute as in the module that computes now."""
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
    for one in leave:
        if isinstance(one, str):
            found = [name for name in names if fnmatchcase(name, one)]
        elif isinstance(one, type) and issubclass(one, nn.Module):
            found = [name for name, module in model.named_modules() if isinstance(module, one)]
        else:
            raise InputTypeError(f"leave must hold names and classes of modules, not {one!r}")
        if not found:
            said = one if isinstance(one, str) else one.__name__
            raise InputError(
                f"leave: no module of the model is {said}; it has {', '.join(filter(None, names[:12]))} ..."
            )
        left |= {name for name in names if any(name == top or name.startswith(f"{top}.") for top in found)}
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
    """While a module is again of an emulation that may have ended, whatever it is of now."""
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
            made: Any = cls.__reduce_ex__(self, protocol)
            function, args, *rest = made
            plain = tuple(cls if one is type(self) else one for one in args)
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
