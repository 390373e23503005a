"""Compiled kernels: the same bits as the model, at the machine's speed. They share nothing with it but the spec."""

from hwsim.kernels.choice import kernel_of
from hwsim.kernels.kernel import Kernel, Unsuited

__all__ = ["Kernel", "Unsuited", "kernel_of"]
