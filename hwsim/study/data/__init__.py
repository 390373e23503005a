"""The numbers that a study multiplies: drawn from a distribution, or taken from tensors in files."""
