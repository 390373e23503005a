"""Shared scales: which block of a matrix has which scale."""

from hwsim.blocks.geometry import BlockScale, per_term, scale_shape

__all__ = ["BlockScale", "per_term", "scale_shape"]
