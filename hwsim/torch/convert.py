"""Models whose matrix products go through units: for a while, or for good."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from hwsim.errors import InputError, InputTypeError
from hwsim.formats.catalog import nearest
from hwsim.torch.functional import ProductLayer, layer_of
from hwsim.torch.intercept import Intercept
from hwsim.torch.operands import Histories
from hwsim.torch.operators import histories, within_backward
from hwsim.torch.products import Products
from hwsim.torch.recipe import Kind, LayerRule, Recipe, RecipeLike, load_recipe
from hwsim.torch.report import Report

WITH_WEIGHTS = (nn.Linear, nn.modules.conv._ConvNd)
_owners = itertools.count(1)


class Emulation:
    """A model whose products go through units, and what is known of them.

    recipe: what was asked for. report: which calls were made, and through which unit; filled while the model runs.
    histories: the scales of delayed scaling, which a training run keeps with its weights.
    """

    def __init__(self, model: nn.Module, recipe: Recipe, leave: tuple[str | type[nn.Module], ...]):
        self.recipe, self.report = recipe, Report(recipe.name)
        self.histories = Histories()
        self._owner = next(_owners)
        histories[self._owner] = self.histories
        weakref.finalize(self, histories.pop, self._owner, None)
        self._left = _left_out(model, leave)
        self._classes = {name: type(module).__name__ for name, module in model.named_modules()}
        named = [name for name, module in model.named_modules() if isinstance(module, WITH_WEIGHTS)]
        self._ends = {"first": named[:1], "last": named[-1:]}
        self._stack: list[tuple[str, str, dict[str, int]]] = []
        self._active = False
        self._chosen: dict[tuple[str, Kind], ProductLayer | None] = {}

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
        """Count a call of a function that multiplies, and that nothing is done about."""
        name, cls, _ = self._stack[-1] if self._stack else ("", "", {})
        self.report.not_converted(name, cls, function)

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
    def inside(self, name: str, cls: str) -> Iterator[None]:
        """While a module of the model computes."""
        self._stack.append((name, cls, {}))
        try:
            if self._active:
                yield
            else:
                self._active = True
                try:
                    with Intercept(self):
                        yield
                finally:
                    self._active = False
        finally:
            self._stack.pop()


def _left_out(model: nn.Module, leave: tuple[str | type[nn.Module], ...]) -> set[str]:
    """The names of the modules that stay as they are, with all that they contain. Raises ValueError for none."""
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


def convert(model: nn.Module, recipe: RecipeLike, *, leave: tuple[str | type[nn.Module], ...] = ()) -> Emulation:
    """Send every matrix product of a model through units, forward and backward, from now on.

    model: any module; it is changed in place: its modules get classes that are derived from their own, and weights,
    buffers and their names stay what they are. Linear layers, convolutions, matmul, bmm, addmm, einsum, tensordot and
    scaled-dot-product attention are sent, wherever the model's modules call them.
    recipe: a name (`hwsim.torch.recipes()`), a YAML file, a mapping of its keys, or a `Recipe`.
    leave: modules that stay as they are, by patterns of their names, or by their classes.
    Returns the emulation, whose `report` says what goes through which unit. `restore` undoes it.
    Raises SpecError as `load_recipe` does; ValueError for a model that is converted already, and for a name that fits
    no module; TypeError for what is no module.
    """
    if not isinstance(model, nn.Module):
        raise InputTypeError(f"model must be a torch.nn.Module, not {type(model).__name__}")
    if any(hasattr(module, "_hwsim") for module in model.modules()):
        raise InputError("model is converted already: hwsim.torch.restore(model) undoes it")
    emulation = Emulation(model, load_recipe(recipe), leave)
    for name, module in model.named_modules():
        module.__class__ = _emulated(type(module))
        object.__setattr__(module, "_hwsim", (emulation, name))
    return emulation


def restore(model: nn.Module) -> None:
    """Make a model what it was before `convert`. A model that is not converted stays as it is."""
    for module in model.modules():
        if hasattr(module, "_hwsim"):
            module.__class__ = type(module).__mro__[1]
            object.__delattr__(module, "_hwsim")


@contextmanager
def emulate(
    model: nn.Module, recipe: RecipeLike, *, leave: tuple[str | type[nn.Module], ...] = ()
) -> Iterator[Emulation]:
    """Within the block, every matrix product of a model goes through units; see `convert`.

    Gradients of results that were computed within may be asked for after it: they go through the units too.
    """
    emulation = convert(model, recipe, leave=leave)
    try:
        yield emulation
    finally:
        restore(model)


_classes: dict[type[nn.Module], type[nn.Module]] = {}


def _emulated(cls: type[nn.Module]) -> type[nn.Module]:
    """A class derived from a module's, whose forward pass happens inside an emulation."""
    if cls not in _classes:

        def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            emulation, name = self._hwsim

            def run(*args: Any, **kwargs: Any) -> Any:
                with emulation.inside(name, cls.__name__):
                    return cls.forward(self, *args, **kwargs)

            if emulation.recomputes(name, cls.__name__) and torch.is_grad_enabled():
                return checkpoint(run, *args, use_reentrant=False, **kwargs)
            return run(*args, **kwargs)

        _classes[cls] = type(
            cls.__name__, (cls,), {"forward": forward, "__module__": cls.__module__, "__doc__": cls.__doc__}
        )
    return _classes[cls]
