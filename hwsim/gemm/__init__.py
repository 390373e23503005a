"""Matrix products, bit for bit as a unit returns them."""

from hwsim.gemm.matrix import gemm

__all__ = ["gemm"]
