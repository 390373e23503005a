"""Solvers of the bins: operands of a unit whose sums do what a bin asks for."""
