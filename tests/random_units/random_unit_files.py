"""What the tests of `hwsim.fuzz` share: small units, and findings of earlier runs."""

from __future__ import annotations

from pathlib import Path

from hwsim.fuzz.draw import Size
from hwsim.fuzz.trial import Side

FOUND = sorted((Path(__file__).parent / "found").glob("*.yaml"))
SMALL = Size(lanes=2, groups=2, narrow=True)
FAST: frozenset[Side] = frozenset({"kernels", "gemm", "C", "clock"})
