"""Vector sets: cases with expected results as files, and the check of what a device answered."""
