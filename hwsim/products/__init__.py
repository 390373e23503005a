"""Matrix products and dot products of arrays, bit for bit as a unit returns them: the fast path."""

from hwsim.products.matrix import gemm
from hwsim.products.pairs import dot

__all__ = ["dot", "gemm"]
