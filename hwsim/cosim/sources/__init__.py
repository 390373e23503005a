"""A user's sources: where they are, and what slang reads in them: modules, ports, bits."""
