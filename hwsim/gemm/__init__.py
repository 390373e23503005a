"""Matrix products and dot products of arrays, bit for bit as a unit returns them: the fast path."""

from hwsim.gemm.matrix import gemm
from hwsim.gemm.pairs import dot

__all__ = ["dot", "gemm"]
