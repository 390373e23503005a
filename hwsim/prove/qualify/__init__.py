"""Whether what a design is checked with would notice a mistake: mutants of it, each killed or not."""
