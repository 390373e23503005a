"""Studies that tests begin from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hwsim.study.plan import Study, load_study

HOPPER = "hopper-wgmma-e4m3-f32"


def study(folder: Path | None = None, **keys: Any) -> Study:
    """A small study with some keys changed."""
    return load_study({**SMALL, **keys}, folder)


SMALL: dict[str, Any] = {
    "study": "small",
    "seed": 7,
    "trials": 3,
    "rows": 4,
    "columns": 5,
    "lengths": [64, 96],
    "units": [{"unit": HOPPER, "label": "Hopper", "grid": {"fraction_bits": [9, 13]}}, "mxfp8-e4m3-f32"],
    "data": ["normal"],
}
