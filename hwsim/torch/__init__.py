"""Units inside PyTorch: any model, forward and backward, with the bits of `hwsim.gemm`.

Needs PyTorch: pip install 'hwsim[torch]'.
"""

from hwsim.base.errors import ToolMissing

try:
    import torch as _torch
except ImportError:
    raise ToolMissing("PyTorch is not installed: pip install 'hwsim[torch]'") from None

from hwsim.torch.convert import Emulation, convert, emulate, restore
from hwsim.torch.distributed import ShardedResidual, combine, dispatch
from hwsim.torch.functional import cast, einsum, linear, matmul, quantize
from hwsim.torch.observe import Measures, measure
from hwsim.torch.optim import AdamW, LossScaler, NarrowWeights, retune
from hwsim.torch.recipe import Recipe, load_recipe, recipes

__all__ = [
    "AdamW",
    "Emulation",
    "LossScaler",
    "Measures",
    "NarrowWeights",
    "Recipe",
    "ShardedResidual",
    "cast",
    "combine",
    "convert",
    "dispatch",
    "einsum",
    "emulate",
    "linear",
    "load_recipe",
    "matmul",
    "measure",
    "quantize",
    "recipes",
    "restore",
    "retune",
]
del _torch
