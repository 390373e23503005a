"""The keys of DUT.yaml: a user's design, its ports, its protocol, and what is known of it."""
