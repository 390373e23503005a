"""Cases captured from real GPUs (Khattak and Mikaitis, MATLAB-tensor-core), with the GPU's results.

The data is not part of hwsim: `hwsim.cases.capturedfile` says where it is looked for.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hwsim.cases.capturedfile import silicon
from hwsim.cases.case import Case
from hwsim.spec import Unit

HALF = (("f16", "f32"), ("bf16", "f32"), ("tf32", "f32"), ("f16", "f16"))
FP8 = ("e4m3", "e5m2")

# GPUs, and by the name of their instruction the formats of factors and of the result that were captured from each.
_CAPTURED: dict[str, tuple[tuple[str, ...], tuple[tuple[str, str], ...]]] = {
    "volta-mma": (("v100",), (("f16", "f32"), ("f16", "f16"))),
    "ampere-mma": (("a100", "a2"), HALF),
    "ada-mma": (("ada",), (*HALF, *((fmt, result) for fmt in FP8 for result in ("f32", "f16")))),
    "hopper-mma": (("h100", "h200"), (*HALF, *((fmt, "f16") for fmt in FP8))),
    "hopper-wgmma": (("h100", "h200"), tuple((fmt, "f32") for fmt in FP8)),
    "blackwell-mma": (("b200",), (*HALF, *((fmt, result) for fmt in FP8 for result in ("f32", "f16")))),
}

# Which captures show what a unit returns: GPUs, the factors' format in the file, and the result's.
CAPTURES: dict[str, tuple[tuple[str, ...], str, str]] = {
    f"{instruction}-{factors}-{result}": (gpus, factors, result)
    for instruction, (gpus, formats) in _CAPTURED.items()
    for factors, result in formats
}


def captured_cases(unit: Unit, folder: str | Path | None = None) -> list[tuple[Case, int]]:
    """Every captured case of a unit, and the code that the GPU returned; empty without data, or for other units.

    A K that is shorter than the unit's groups or instructions is filled with zeros.
    folder: where the data is; without it, the folder that the environment's HWSIM_SILICON names.
    """
    path = silicon(folder)
    if path is None or unit.name not in CAPTURES:
        return []
    gpus, factors, result = CAPTURES[unit.name]
    found: list[tuple[Case, int]] = []
    with np.load(path, allow_pickle=False) as data:
        for gpu in gpus:
            names = ("a", "b", f"c_{result}", f"d_{result}")
            a, b, c, d = (data[f"{gpu}/{factors}/{name}"].tolist() for name in names)
            rest = (0,) * (-len(a[0]) % unit.instruction.fill)
            found += [
                (Case(f"{gpu}/{index:04}", (*row, *rest), (*column, *rest), addend), code)
                for index, (row, column, addend, code) in enumerate(zip(a, b, c, d, strict=True))
            ]
    return found
