"""Mutants of a design, each killed or not: they show whether what it is checked with would notice a mistake."""
