"""Arrays in files, and what a unit takes of them."""
