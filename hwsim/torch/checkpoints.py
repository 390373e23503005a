"""Forward passes that PyTorch computes again in the backward pass: with the units and the scales of the first time.

`torch.utils.checkpoint` calls a function a second time when gradients are asked for, which may be after `emulate` has
ended, or outside of the module that called it. What was there at the first time is kept with the call, and put back
for the second.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from typing import Any

from torch.utils import checkpoint

Surroundings = Callable[[], AbstractContextManager[Any]]

# What says where in a model the code is that runs now; `hwsim.torch.convert` adds to it, and takes away.
surroundings: list[Callable[[], Surroundings]] = []
_first: list[Checkpointed] = []
_second: list[dict[Hashable, Iterator[Any]]] = []


class Checkpointed:
    """A function under a checkpoint: what surrounds it, and what its first call used."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self._around = [surrounding() for surrounding in surroundings]
        self._modules: dict[int, Surroundings] = {}
        self._scales: dict[Hashable, list[Any]] = {}
        self._called = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result: of a reentrant checkpoint, the first time and the second."""
        if self._called:
            return self.again(*args, **kwargs)
        self._called = True
        with self.first():
            return self.function(*args, **kwargs)

    @contextmanager
    def first(self) -> Iterator[None]:
        """Within the block, the function is called for the first time."""
        _first.append(self)
        try:
            yield
        finally:
            _first.remove(self)

    def again(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result, computed again."""
        with ExitStack() as stack:
            for surrounding in (*self._modules.values(), *self._around):
                stack.enter_context(surrounding())
            _second.append({key: iter(states) for key, states in self._scales.items()})
            stack.callback(_second.pop)
            return self.function(*args, **kwargs)


def called(module: Any, surrounding: Surroundings) -> None:
    """Record a module's call, with the context managers in which it computes now."""
    for call in _first:
        call._modules.setdefault(id(module), surrounding)


def scale_of_first(key: Hashable) -> Any:
    """The state of a delayed scale at the first call, if this is the second; None elsewhere."""
    return next(_second[-1].get(key, iter(())), None) if _second else None


def used(key: Hashable, state: Any) -> None:
    """Record the present state of a delayed scale."""
    for call in _first:
        call._scales.setdefault(key, []).append(state)


@cache
def watch() -> None:
    """Let PyTorch's checkpoints, of both kinds, keep what surrounds them."""
    reentrant = checkpoint.CheckpointFunction.forward
    others = checkpoint._checkpoint_without_reentrant_generator

    def forward(ctx: Any, run_function: Callable[..., Any], *args: Any) -> Any:
        return reentrant(ctx, Checkpointed(run_function), *args)

    def generator(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Iterator[None]:
        call = Checkpointed(function)
        with call.first():
            yield from others(call.again, *args, **kwargs)

    checkpoint.CheckpointFunction.forward = staticmethod(forward)  # type: ignore[method-assign]
    checkpoint._checkpoint_without_reentrant_generator = generator  # type: ignore[assignment]
