"""Accuracy against area: the errors of a study beside the gates and clock rates of its units."""
