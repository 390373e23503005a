"""Proofs of matrix engines."""
