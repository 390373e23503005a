"""Recipes that ship with hwsim, by name."""
