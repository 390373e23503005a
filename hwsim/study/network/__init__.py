"""Networks whose every matrix product goes through a unit: a transformer that embeds sentences, and one for digits."""

from hwsim.study.network.product import Array, Matmul, Where, exact

__all__ = ["Array", "Matmul", "Where", "exact"]
