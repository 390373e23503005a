"""Long sums in 16 bits, flat and in chunks (Wang et al. 2018)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import hwsim
from hwsim.spec import Unit
from hwsim.study.presets.rounding import Floats
from hwsim.study.presets.samples import Entry, drawn

# Mean 1 and standard deviation 1.
UNIFORM: Entry = {"distribution": "uniform", "low": 1 - math.sqrt(3), "high": 1 + math.sqrt(3)}
DLFLOAT, HALF, SINGLE = "dlfloat16", "f16", "f32"


class LongSum(NamedTuple):
    """A way to sum: the format of every addition, its rounding, and how many numbers a chunk has (None: flat)."""

    format: str
    rounding: str
    chunk: int | None

    @property
    def label(self) -> str:
        """What a chart calls it."""
        name = {DLFLOAT: "1-6-9", HALF: "FP16", SINGLE: "FP32"}[self.format]
        how = "flat" if self.chunk is None else f"chunks of {self.chunk}"
        return f"{name} {self.rounding.upper()}, {how}"


def adder(way: LongSum, numbers: str) -> Unit:
    """A unit that sums: one FMA after the other, chunks added in the same format. numbers: its factors' format."""
    described: dict[str, Any] = {
        "unit": f"sum-{way.format}-{way.rounding}-{way.chunk or 'flat'}", "evidence": "designed",
        "source": ["Wang et al., NeurIPS 2018: chunks"],
        "operands": {"a": numbers, "b": numbers, "addend": way.format},
        "instruction": {"k": way.chunk or 64, "lanes": 1},
        "sum": {"method": "sequential", "product": "fused", "format": way.format, "rounding": way.rounding},
        "result": {
            "format": way.format, "rounding": way.rounding, "overflow": "nan" if way.format == DLFLOAT else "infinity"
        },
    }  # fmt: skip
    if way.chunk:
        described["promotion"] = {
            "interval": way.chunk, "format": way.format, "operation": "add", "rounding": way.rounding
        }  # fmt: skip
    return Unit.model_validate(described)


def ratios(way: LongSum, lengths: Sequence[int], rows: int, numbers: str = DLFLOAT, *, seed: int) -> Floats:
    """float64[rows, lengths]: the returned sum of uniform numbers of mean 1, over the exact sum of the same.

    The numbers are rounded to their format first, and are then what is summed; shorter sums are of the first ones.
    """
    unit, fmt = adder(way, numbers), hwsim.get_format(numbers)
    codes = fmt.encode(drawn(UNIFORM, rows, max(lengths), seed=seed))
    values, ones = fmt.decode(codes), fmt.encode(np.ones((max(lengths), 1)))
    found = []
    for length in sorted(lengths, reverse=True):  # the longest is worth compiled code, which the others then have
        returned = hwsim.gemm(unit, codes[:, :length], ones[:length])[:, 0]
        sums = returned.astype(np.float64) if returned.dtype.kind == "f" else unit.result.format.decode(returned)
        found.append([one / math.fsum(row) for one, row in zip(sums, values[:, :length].tolist(), strict=True)])
    return np.array(found[::-1]).T
