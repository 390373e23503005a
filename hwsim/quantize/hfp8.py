"""Two steps of HFP8 training (Sun et al. 2019, NeurIPS, "Hybrid 8-bit Floating Point (HFP8) Training and Inference").

The paper names the steps; the order of roundings is this project's, stated with each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.errors import InputTypeError
from hwsim.formats import Format, get_format
from hwsim.tensors import as_numbers

Codes = NDArray[np.unsignedinteger[Any]]


def softmax_input(x: Any, fmt: str | Format = "hfp8-e4m3", axis: int = -1, rounding: str = "rne") -> Codes:
    """Codes of x - max(x), the maximum along an axis: what a softmax reads. The largest element is exact, 0.

    x: float32 array, finite. The difference is rounded to binary32, then to the format, where it saturates.
    If they were quantised before the subtraction, large elements would lose their differences.
    Raises TypeError for another dtype.
    """
    array = np.asarray(as_numbers(x, "x"))
    if array.dtype != np.float32:
        raise InputTypeError(f"x must be a float32 array, not {array.dtype.name}")
    with np.errstate(over="ignore"):
        return get_format(fmt).encode(array - array.max(axis=axis, keepdims=True), rounding=rounding)


def split_residual(
    weight: Any, fmt: str | Format = "hfp8-e4m3", residual_fmt: str | Format = "f16", rounding: str = "rne"
) -> tuple[Codes, Codes]:
    """Codes of weights, and of the residuals weight - decode(code), rounded to binary32, then to their format.

    weight: float32 array, finite. Both saturate. Raises TypeError for another dtype.
    """
    array = np.asarray(as_numbers(weight, "weight"))
    if array.dtype != np.float32:
        raise InputTypeError(f"weight must be a float32 array, not {array.dtype.name}")
    narrow, wide = get_format(fmt), get_format(residual_fmt)
    codes = narrow.encode(array, rounding=rounding)
    with np.errstate(over="ignore", under="ignore"):
        lost = (array.astype(np.float64) - narrow.decode(codes)).astype(np.float32)
    return codes, wide.encode(lost, rounding=rounding)


def update_residual(
    codes: Any,
    residual: Any,
    change: Any,
    fmt: str | Format = "hfp8-e4m3",
    residual_fmt: str | Format = "f16",
    rounding: str = "rne",
) -> tuple[Codes, Codes]:
    """New codes of weights and residuals: RNE(RNE(weight + residual) + change), in binary32, split again.

    codes: of the weights. residual: codes of the residuals. change: float32 array, what the optimiser adds.
    Changes smaller than half an ulp of a weight gather in the residual until they move it.
    Raises TypeError for another dtype of change.
    """
    step = np.asarray(as_numbers(change, "change"))
    if step.dtype != np.float32:
        raise InputTypeError(f"change must be a float32 array, not {step.dtype.name}")
    whole = (get_format(fmt).decode(codes) + get_format(residual_fmt).decode(residual)).astype(np.float32)
    return split_residual(np.asarray(whole + step), fmt, residual_fmt, rounding)
