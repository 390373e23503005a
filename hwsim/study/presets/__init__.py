"""Studies that papers have made, by name."""
