"""Fixtures of the tests of co-simulation."""

from uncounted import uncounted  # noqa: F401  a fixture
