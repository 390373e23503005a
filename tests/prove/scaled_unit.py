"""Small units whose partial sums, of three groups, are multiplied by scales as they are promoted."""

from __future__ import annotations

from unit_keys import odd_unit, promoted, scaled, window

SCALED = odd_unit(
    "small-scaled", "e2m1", "none", window(4), "e5m2", 2,
    **scaled("promotion", ("e4m3", 6), ("bf16", 6)), **promoted(6, "f16", "rne", "fma"),
)  # fmt: skip
# The partial sum is multiplied by a's scale first; its scales are of a narrow format and of powers of two.
SUM_FIRST = odd_unit(
    "small-sum-first", "e2m1", "none", window(4), "e5m2", 2,
    **scaled("promotion", ("e4m3", 6), ("e8m0", 6)), **promoted(6, "f16", "rne", "fma", "a"),
)  # fmt: skip
