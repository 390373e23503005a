"""`hwsim study --a A --b B`: the error of one product of matrices in files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hwsim.base.errors import InputError, InputTypeError
from hwsim.base.files import written
from hwsim.cli.output import say
from hwsim.cli.study_arguments import as_scaling
from hwsim.quantize.tensors import NUMBERS, numbers, read

PAGE = "error.html"
HEAD = '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
STYLE = "<style>:root { color-scheme: light dark } body { font: 16px/1.5 system-ui; margin: 1.5rem }</style>"


def write_product_errors(a: str, b: str, units: Sequence[str], scalings: Sequence[str], folder: Path | None) -> None:
    """Print a line for every unit and scaling, and draw them on a page of a folder.

    a, b: the files' names. Raises ValueError and TypeError as `hwsim.error` does, naming the file.
    """
    from hwsim.study.product_error import error

    if not units:
        raise InputError("--unit is missing: the unit that multiplies --a and --b; it may be given several times")
    of_a, of_b = _matrix("--a", a), _matrix("--b", b)
    said = [as_scaling(text) for text in scalings] or [None]
    found = [error(unit, of_a, of_b, scaling) for unit in units for scaling in said]
    for one in found:
        say(str(one))
    if folder is not None:
        body = "".join(one._repr_html_() for one in found)
        with written(folder / PAGE) as file:
            file.write(f"{HEAD}<title>Errors of a product</title>{STYLE}<h1>Errors of a product</h1>{body}".encode())
        say(f"{folder / PAGE}: the same, drawn")


def _matrix(option: str, name: str) -> Any:
    stored = read(name)
    if stored.kind not in NUMBERS:
        raise InputTypeError(f"{option} {name}: must hold numbers, {', '.join(sorted(NUMBERS))}, not {stored.kind}")
    if len(stored.shape) != 2:
        raise InputError(f"{option} {name}: must hold a matrix, not of shape {stored.shape}")
    values = numbers(stored.kind, stored.array)
    if not np.isfinite(values).all():
        raise InputError(f"{option} {name}: must hold finite numbers; {int((~np.isfinite(values)).sum()):,} are not")
    return values
