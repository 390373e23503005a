"""Communication in narrow formats: gradients and weights (HFP8), activations of experts (DeepSeek-V3).

All processes of a group take part in every call; the group is one of `torch.distributed`, of any backend for tensors
on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.optim import Optimizer

from hwsim.base.errors import InputError
from hwsim.formats import Format, get_format
from hwsim.quantize import Rule, get_rule, quantize, split_residual
from hwsim.quantize.quantized import Quantized
from hwsim.torch.operators import singles

Group = Any


class ShardedResidual:
    """HFP8's distributed update: each learner owns a share of the weights, with the residuals of their rounding.

    A step sends every learner the gradients of its share in 16 bits and adds them in the order of ranks
    (reduce-scatter); each updates its share with residuals; and all learners get all weights in 8 bits (all-gather).
    params: of the model, the same in all processes; they become numbers of `fmt`. optimizer: makes an optimiser of one
    parameter, the share. gradient_fmt: in which gradients are sent, and in which each sum is rounded; sums are means.
    (Sun et al. 2019, section 3.4; the order of additions is ours.)
    """

    def __init__(
        self,
        params: Any,
        optimizer: Callable[[list[Tensor]], Optimizer],
        fmt: str | Format = "hfp8-e4m3",
        residual_fmt: str | Format = "f16",
        gradient_fmt: str | Format = "dlfloat16",
        group: Group = None,
    ):
        self.params = [param for param in params if param.requires_grad]
        if not self.params:
            raise InputError("params must hold at least one that has a gradient")
        self.fmt, self.residual_fmt, self.gradient_fmt = map(get_format, (fmt, residual_fmt, gradient_fmt))
        self.group, self.rank, self.learners = group, dist.get_rank(group), dist.get_world_size(group)
        self.size = -(-sum(param.numel() for param in self.params) // self.learners)
        whole = self._flat([param.detach() for param in self.params])[self.rank]
        self.share = torch.from_numpy(whole.copy()).requires_grad_()
        self.optimizer = optimizer([self.share])
        self._lost: np.ndarray[Any, Any] = np.zeros(0)
        self.bytes_sent = 0
        self._narrow()
        self._gather()

    def zero_grad(self) -> None:
        """Forget the gradients of all parameters."""
        for param in self.params:
            param.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """One step of all learners."""
        gradients = [param.grad if param.grad is not None else torch.zeros_like(param) for param in self.params]
        self.share.grad = torch.from_numpy(self._reduced(self._flat(gradients)))
        whole = singles(self.share).astype(np.float64) + self.residual_fmt.decode(self._lost)
        self.share.copy_(torch.from_numpy(whole.astype(np.float32)))
        self.optimizer.step()
        self._narrow()
        self._gather()

    def _flat(self, tensors: list[Tensor]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """All numbers in one row, filled up: (learners, size of a share)."""
        row = np.concatenate([singles(tensor).ravel() for tensor in tensors])
        return np.pad(row, (0, self.size * self.learners - len(row))).reshape(self.learners, self.size)

    def _reduced(self, gradients: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The mean of all learners' gradients of this share."""
        codes = self.gradient_fmt.encode(gradients)
        theirs = self._exchanged(codes)
        total = self.gradient_fmt.decode(theirs[0])
        for addend in theirs[1:]:
            total = self.gradient_fmt.decode(self.gradient_fmt.encode(total + self.gradient_fmt.decode(addend)))
        return np.asarray(total / self.learners, np.float32)

    def _exchanged(self, codes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Row r of every learner's codes, to learner r."""
        sent = torch.from_numpy(np.ascontiguousarray(codes).view(np.uint8))
        taken = torch.empty_like(sent)
        dist.all_to_all_single(taken, sent, group=self.group)
        self.bytes_sent += sent.numel() * (self.learners - 1) // self.learners
        return taken.numpy().view(codes.dtype)

    @torch.no_grad()
    def _narrow(self) -> None:
        codes, self._lost = split_residual(singles(self.share), self.fmt, self.residual_fmt)
        self._codes = codes
        self.share.copy_(torch.from_numpy(self.fmt.decode(codes).astype(np.float32)))

    @torch.no_grad()
    def _gather(self) -> None:
        """All weights, in their format, to all learners."""
        sent = torch.from_numpy(np.ascontiguousarray(self._codes).view(np.uint8))
        shares = [torch.empty_like(sent) for _ in range(self.learners)]
        dist.all_gather(shares, sent, group=self.group)
        self.bytes_sent += sent.numel() * (self.learners - 1)
        row = self.fmt.decode(np.concatenate([share.numpy().view(self._codes.dtype) for share in shares]))
        start = 0
        for param in self.params:
            part = row[start : start + param.numel()].astype(np.float32)
            param.copy_(torch.from_numpy(part).reshape(param.shape))
            start += param.numel()


def dispatch(x: Tensor, counts: list[int], taken: list[int], rule: str | Rule, group: Group = None) -> Tensor:
    """Rows of x to the processes of a group, in codes and scales; gradients come back in bfloat16.

    x: (rows, features), sorted by destination. counts: rows for each process. taken: rows from each. rule: of rows, as
    `deepseek-v3-1x128-power-of-two`. Returns (sum of taken, features), in x's dtype: the numbers of the codes.
    (DeepSeek-V3, section 3.3.3: activations are quantised before they are dispatched to experts; combining keeps BF16.)
    """
    received: Tensor = _Exchange.apply(x, counts, taken, get_rule(rule), None, group)
    return received


def combine(x: Tensor, counts: list[int], taken: list[int], rule: str | Rule, group: Group = None) -> Tensor:
    """Rows of x to the processes of a group in bfloat16; gradients come back in codes and scales of a rule.

    As `dispatch`, the other way round: of what experts return.
    """
    received: Tensor = _Exchange.apply(x, counts, taken, None, get_rule(rule), group)
    return received


class _Exchange(torch.autograd.Function):
    """Rows that change places, narrow or in bfloat16 on each way."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, counts: list[int], taken: list[int], there: Rule | None, back: Rule | None, group: Group
    ) -> Tensor:
        ctx.told = counts, taken, back, group
        return _sent(x, counts, taken, there, group)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        counts, taken, back, group = ctx.told
        return _sent(gradients[0], taken, counts, back, group), None, None, None, None, None


def _sent(x: Tensor, counts: list[int], taken: list[int], rule: Rule | None, group: Group) -> Tensor:
    if x.dim() != 2 or sum(counts) != len(x):
        raise InputError(f"counts must add up to the rows of x {tuple(x.shape)}, not to {sum(counts)}")
    if rule is None:
        received = torch.from_numpy(_swapped(_bits(x), counts, taken, group)).view(torch.bfloat16)
        return received.to(x.dtype)
    sent = quantize(singles(x), rule)
    codes = _swapped(sent.codes, counts, taken, group)
    scales = _swapped(sent.scales, counts, taken, group)
    received_codes = Quantized(
        codes=codes, scales=scales, element=sent.element, scale_format=sent.scale_format, block=sent.block, axis=1,
        tensor_scale=None, rule=rule,
    )  # fmt: skip
    return torch.from_numpy(received_codes.dequantize(np.float32)).to(x.dtype)


def _bits(x: Tensor) -> np.ndarray[Any, np.dtype[np.int16]]:
    """Numbers in bfloat16, as the integers that have their bits."""
    return x.detach().to(torch.bfloat16).contiguous().view(torch.int16).numpy()


def _swapped(rows: np.ndarray[Any, Any], counts: list[int], taken: list[int], group: Group) -> np.ndarray[Any, Any]:
    """Rows of an array to the processes of a group."""
    width = rows.shape[1] * rows.itemsize
    sent = torch.from_numpy(np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), width))
    received = torch.empty((sum(taken), width), dtype=torch.uint8)
    dist.all_to_all_single(received, sent, taken, counts, group=group)
    return np.asarray(received.numpy().view(rows.dtype).reshape(-1, rows.shape[1]))
