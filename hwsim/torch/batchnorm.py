"""Statistics of batch normalisation, tuned again after a network's products have changed."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from hwsim.errors import InputError


@torch.no_grad()
def retune(model: nn.Module, batches: Iterable[torch.Tensor]) -> int:
    """Compute every batch norm's mean and variance anew, as means over batches, with the products as they now are.

    batches: what the model takes. Weights, and all other modules, stay as they are: dropout is off.
    Returns the number of layers that were tuned. Raises ValueError for no batch.
    (Sun et al. 2019, HFP8: after a direct cast.)
    """
    norms = [one for one in model.modules() if isinstance(one, nn.modules.batchnorm._BatchNorm)]
    before = {module: module.training for module in model.modules()}
    momenta = [one.momentum for one in norms]
    model.eval()
    for one in norms:
        one.reset_running_stats()
        one.momentum = None  # the mean of all batches
        one.train()
    count = 0
    try:
        for batch in batches:
            model(batch)
            count += 1
    finally:
        for one, momentum in zip(norms, momenta, strict=True):
            one.momentum = momentum
        for module, training in before.items():
            module.training = training
    if norms and not count:
        raise InputError("batches must hold at least one")
    return len(norms)
