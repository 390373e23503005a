"""Functional coverage: bins as data, sampled where the model computes, and cases solved for them."""
