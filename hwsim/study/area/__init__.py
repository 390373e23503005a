"""Accuracy against area: a study's errors beside what synthesis makes of its units."""
