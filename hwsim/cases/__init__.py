"""Cases for a unit: directed, random, from matrices, and captured from hardware."""
