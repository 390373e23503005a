"""Compiled kernels: the same bits as the model, at the machine's speed. They share nothing with it but the spec."""

from hwsim.compute.kernels.kernel import AnyKernel, Kernel
from hwsim.compute.kernels.methods import kernel_of, supports

__all__ = ["AnyKernel", "Kernel", "kernel_of", "supports"]
