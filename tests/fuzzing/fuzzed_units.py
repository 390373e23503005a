"""What the tests of `hwsim.fuzz` share: small units, and findings of earlier runs."""

from __future__ import annotations

from pathlib import Path

from hwsim.fuzz.draw import Size

FOUND = sorted((Path(__file__).parent / "found").glob("*.yaml"))
SMALL = Size(lanes=2, groups=2, narrow=True)
FAST = frozenset({"kernels", "gemm", "C", "clock"})
