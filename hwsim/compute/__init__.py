"""Compiled code: products of arrays bit for bit, the kernels that compute them, and units in C."""
