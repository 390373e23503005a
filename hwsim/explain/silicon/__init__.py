"""Asking real GPUs: cases designed for them, their results, and what these say of a unit."""
