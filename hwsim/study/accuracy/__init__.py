"""What errors are: exact products, measures against them, bounds of theory, and terms that leave nothing."""
