"""Accumulation error studied: grids of units on data of all kinds, measured against exact results."""
