"""Papers' methods for weights: loss scaling, narrow weights and moments, batch norm's statistics tuned again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from hwsim.base.errors import InputError
from hwsim.formats import Format, get_format
from hwsim.quantize import LossScaling, split_residual
from hwsim.torch.operators import singles

Update = Literal["nearest", "stochastic", "residual"]
MOMENTS = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
RANDOM_BITS = 16


class LossScaler:
    """A factor of the loss that keeps gradients above what a narrow format loses, and shrinks when one overflows.

    scaling: the factor and its rule; dynamic as Apex has it unless given. A constant factor is one whose `window` is
    never reached.
    """

    def __init__(self, scaling: LossScaling | None = None):
        self.scaling = scaling or LossScaling()
        self.skipped = 0

    def scale(self, loss: Tensor) -> Tensor:
        """The loss times the factor: call `backward()` of it."""
        return loss * self.scaling.scale

    def step(self, optimizer: Optimizer) -> bool:
        """Divide the gradients by the factor, and take the optimiser's step unless one is infinite or NaN.

        Returns whether the step was taken; the factor is updated either way.
        """
        gradients = [
            param.grad for group in optimizer.param_groups for param in group["params"] if param.grad is not None
        ]
        overflow = any(not bool(torch.isfinite(gradient).all()) for gradient in gradients)
        if not overflow:
            for gradient in gradients:
                gradient.div_(self.scaling.scale)
            optimizer.step()
        self.skipped += overflow
        self.scaling = self.scaling.update(overflow)
        return not overflow

    def state_dict(self) -> dict[str, Any]:
        """State of the factor in a training run."""
        return {"scale": self.scaling.scale, "good_steps": self.scaling.good_steps, "skipped": self.skipped}

    def load_state_dict(self, kept: dict[str, Any]) -> None:
        """Take up what `state_dict` returned."""
        self.scaling = replace(self.scaling, scale=kept["scale"], good_steps=kept["good_steps"])
        self.skipped = kept["skipped"]


class NarrowWeights:
    """An optimiser whose parameters are numbers of a narrow format after every step, as hardware would keep them.

    optimizer: any optimiser of the parameters; its own numbers stay what they are.
    fmt: of the weights. update: how a step's result becomes one: `nearest`; `stochastic`, with `seed`; or `residual`:
    what was rounded off is kept in `residual_fmt`, and added before the next step (Sun et al. 2019, HFP8).
    only: which parameters; all unless given, as norms and biases often are not.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        fmt: str | Format = "hfp8-e4m3",
        update: Update = "residual",
        residual_fmt: str | Format = "f16",
        seed: int = 0,
        only: Callable[[Tensor], bool] = lambda _: True,
    ):
        if update not in ("nearest", "stochastic", "residual"):
            raise InputError(f"update must be nearest, stochastic or residual, not {update!r}")
        self.optimizer, self.update, self.seed = optimizer, update, seed
        self.fmt, self.residual_fmt = get_format(fmt), get_format(residual_fmt)
        self.params = [param for group in optimizer.param_groups for param in group["params"] if only(param)]
        self._lost: list[np.ndarray[Any, Any] | None] = [None] * len(self.params)
        self._steps = 0
        self._narrow()

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The optimiser's groups of parameters."""
        return self.optimizer.param_groups

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients, as the optimiser does."""
        self.optimizer.zero_grad(set_to_none)

    @torch.no_grad()
    def step(self) -> None:
        """Add the residuals, if any, to the weights, take the optimiser's step, and narrow the weights after it."""
        for param, lost in zip(self.params, self._lost, strict=True):
            if lost is not None:
                whole = singles(param).astype(np.float64) + self.residual_fmt.decode(lost)
                param.copy_(torch.from_numpy(whole.astype(np.float32)))
        self.optimizer.step()
        self._steps += 1
        self._narrow()

    @torch.no_grad()
    def _narrow(self) -> None:
        for index, param in enumerate(self.params):
            numbers = singles(param)
            if self.update == "residual":
                codes, self._lost[index] = split_residual(numbers, self.fmt, self.residual_fmt)
            elif self.update == "stochastic":
                place = (self._steps * len(self.params) + index) << 40
                codes = self.fmt.encode(
                    numbers, rounding="stochastic", random_bits=RANDOM_BITS, seed=self.seed, counter=place
                )
            else:
                codes = self.fmt.encode(numbers)
            param.copy_(torch.from_numpy(self.fmt.decode(codes).astype(np.float32)))

    def state_dict(self) -> dict[str, Any]:
        """State of a training run: the optimiser's, the residuals, and the number of steps."""
        lost = [None if codes is None else torch.from_numpy(codes) for codes in self._lost]
        return {"optimizer": self.optimizer.state_dict(), "lost": lost, "steps": self._steps}

    def load_state_dict(self, kept: dict[str, Any]) -> None:
        """Take up what `state_dict` returned; the weights are the model's."""
        self.optimizer.load_state_dict(kept["optimizer"])
        self._lost = [None if codes is None else np.asarray(codes) for codes in kept["lost"]]
        self._steps = kept["steps"]


class AdamW(Optimizer):
    """AdamW whose moments are kept in a narrow format, and whose weights have binary32 masters (DeepSeek-V3, 3.3.3).

    moments: f32, bf16 or f16; each step computes in binary32, and rounds what it keeps to nearest. A parameter that is
    not binary32 has a master in binary32, of which it is a copy.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        moments: Literal["f32", "bf16", "f16"] = "bf16",
    ):
        if moments not in MOMENTS:
            raise InputError(f"moments must be one of {', '.join(MOMENTS)}, not {moments!r}")
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "moments": moments}
        super().__init__(params, defaults)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up what `state_dict` returned, moments and masters in the formats in which they were kept."""
        super().load_state_dict(state_dict)  # which rounds every number to its parameter's dtype
        for group in self.param_groups:
            group.setdefault("moments", self.defaults["moments"])
        mine, theirs = self.param_groups, state_dict["param_groups"]
        parameters, names = ([param for group in groups for param in group["params"]] for groups in (mine, theirs))
        for parameter, name in zip(parameters, names, strict=True):
            for key, value in state_dict["state"].get(name, {}).items():
                if isinstance(value, Tensor):
                    self.state[parameter][key] = value.detach().to(parameter.device, copy=True)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step; returns the closure's loss, if there is one."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._moved(parameter, group)
        return loss

    def _moved(self, parameter: Tensor, group: dict[str, Any]) -> None:
        state, kind = self.state[parameter], MOMENTS[group["moments"]]
        if not state:
            state["step"] = 0
            state["first"], state["second"] = (torch.zeros_like(parameter, dtype=kind) for _ in range(2))
            if parameter.dtype != torch.float32:
                state["master"] = parameter.to(torch.float32)
        state["step"] += 1
        master = state.get("master", parameter)
        gradient, (beta1, beta2) = parameter.grad.to(torch.float32), group["betas"]  # type: ignore[union-attr]
        first = state["first"].to(torch.float32).mul_(beta1).add_(gradient, alpha=1 - beta1)
        second = state["second"].to(torch.float32).mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        state["first"], state["second"] = first.to(kind), second.to(kind)
        root = second.div(1 - beta2 ** state["step"]).sqrt_().add_(group["eps"])
        master.mul_(1 - group["lr"] * group["weight_decay"])
        master.addcdiv_(first, root, value=-group["lr"] / (1 - beta1 ** state["step"]))
        if master is not parameter:
            parameter.copy_(master)


@torch.no_grad()
def retune(model: nn.Module, batches: Iterable[torch.Tensor]) -> int:
    """Compute every batch norm's mean and variance anew, as means over batches, with the products as they now are.

    batches: what the model takes. Weights, and all other modules, stay as they are: dropout is off.
    Returns the number of layers that were tuned. Raises ValueError for no batch.
    (Sun et al. 2019, HFP8: after a direct cast.)
    """
    norms = [module for module in model.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    before = {module: module.training for module in model.modules()}
    momenta = [norm.momentum for norm in norms]
    model.eval()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the mean of all batches
        norm.train()
    count = 0
    try:
        for batch in batches:
            model(batch)
            count += 1
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        for module, training in before.items():
            module.training = training
    if norms and not count:
        raise InputError("batches must hold at least one")
    return len(norms)
