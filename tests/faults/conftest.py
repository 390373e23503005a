"""Fixtures of the tests of faults in designs."""

from uncounted import uncounted  # noqa: F401  a fixture
