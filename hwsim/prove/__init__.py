"""Proofs that the RTL of a unit returns, for every input, what the model returns."""
