"""hwsim."""
