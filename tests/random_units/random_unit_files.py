"""What the tests of `hwsim.cosim.fuzz` share: small units, and findings of earlier runs."""

from __future__ import annotations

from pathlib import Path

from hwsim.cosim.fuzz.draw import Size
from hwsim.cosim.fuzz.trial import Side

FOUND = sorted((Path(__file__).parent / "found").glob("*.yaml"))
SMALL = Size(lanes=2, groups=2, narrow=True)
FAST: frozenset[Side] = frozenset({"kernels", "gemm", "C", "clock"})
