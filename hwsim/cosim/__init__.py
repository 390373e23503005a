"""Co-verification: the same traces through the cycle-level model and through simulated RTL."""
