"""Shared scales: which block of a matrix has which scale."""

from hwsim.blocks.geometry import BlockScale, one_code, per_term, scale_shape

__all__ = ["BlockScale", "one_code", "per_term", "scale_shape"]
