"""Co-simulation of matrix engines."""
