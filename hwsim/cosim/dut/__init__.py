"""Co-verification of a user's own RTL."""
