"""State between a training's steps: delayed scaling of tensors, loss scaling, and two steps of HFP8."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.base.arrays import as_numbers
from hwsim.base.errors import InputError, InputTypeError
from hwsim.formats import Format, get_format
from hwsim.formats.codes import element
from hwsim.quantize.convert import quantize
from hwsim.quantize.quantized import Quantized
from hwsim.quantize.rule import Apply, Rule, Select, Special

KERNELS = ("plain", "fused", "unfused")
SINGLE_MAX = float(np.finfo(np.float32).max)


@dataclass(frozen=True, kw_only=True)
class DelayedScaling:
    """A tensor's scale, from its largest magnitudes in earlier steps. `update` returns the next step's state.

    format: of the codes. margin: the scale is 2^margin below what would bring amax to the largest number.
    length: how many magnitudes are kept, the current one counted. algorithm: `max` of them, or `most_recent`.
    factor: what elements are multiplied by, a binary32 number; 1 at first.
    history: the magnitudes, binary32 numbers, the current one first, then from old to new; zeros at first.
    kernel: whose steps `update` follows: `plain`, hwsim's own; or, bit for bit, `fused`, Transformer Engine's kernel
    (common/recipe/delayed_scaling.cu), or `unfused`, its PyTorch functions (pytorch/quantization.py).
    Raises ValueError for a setting out of its range.
    """

    format: Format = dataclasses.field(default_factory=lambda: get_format("e4m3"))
    margin: int = 0
    length: int = 1024
    algorithm: str = "max"
    factor: float = 1.0
    history: tuple[float, ...] = ()
    kernel: str = "plain"

    def __post_init__(self) -> None:
        if type(self.length) is not int or self.length < 1:
            raise InputError(f"length must be at least 1, not {self.length!r}")
        if self.algorithm not in ("max", "most_recent"):
            raise InputError(f"algorithm must be max or most_recent, not {self.algorithm!r}")
        if self.kernel not in KERNELS:
            raise InputError(f"kernel must be one of {', '.join(KERNELS)}, not {self.kernel!r}")
        if type(self.margin) is not int:
            raise InputError(f"margin must be an integer, not {self.margin!r}")
        history = self.history or (0.0,) * self.length
        if len(history) != self.length:
            raise InputError(f"history must have {self.length} magnitudes, not {len(history)}")
        object.__setattr__(self, "history", tuple(float(np.float32(amax)) for amax in history))

    def quantize(self, x: Any) -> tuple[Quantized, DelayedScaling]:
        """Codes of x * factor, the product rounded to binary32; and the state updated with x.

        x: as for `hwsim.quantize`, finite. The scale is the binary32 reciprocal of the factor.
        """
        rule = Rule(
            element=self.format, scale_format=get_format("f32"), block=(None, None), select=Select.DIVIDE,
            apply=Apply.DIVIDE, nan=Special.ERROR, infinity=Special.ERROR, zero_scale=1.0,
        )  # fmt: skip
        array = np.asarray(as_numbers(x, "x"))
        wrong = ~np.isfinite(array)
        if wrong.any():
            raise InputError(f"{element('x', array, wrong)}: x must be finite")
        amax = float(np.max(np.abs(array), initial=0.0))
        product = (array.astype(np.float32) * np.float32(self.factor)).astype(np.float32)
        codes = quantize(product, rule, scale=np.float32(1))
        with np.errstate(over="ignore", under="ignore"):
            scales = np.full(codes.scales.shape, np.float32(1) / np.float32(self.factor), np.float32)
        return dataclasses.replace(codes, scales=scales), self.update(amax)

    def update(self, amax: float) -> DelayedScaling:
        """The state after a step whose largest magnitude was amax.

        The factor follows from the history's amax, the current step's included, every operation in binary32. It stays
        where that is 0, infinite or NaN, and is binary32's largest number where it would be infinite.

        plain: (largest / amax) / 2^margin. unfused: ((1 / amax) * largest) / 2^margin. fused: (largest * 2^-margin) /
        amax; NaNs count for nothing in the maximum, and after a step of zeros history and factor stay as they are.
        """
        history = (float(np.maximum(np.float32(self.history[0]), np.float32(amax))), *self.history[1:])
        if self.kernel == "fused" and history[0] == 0:
            return self
        highest = np.fmax if self.kernel == "fused" else np.maximum
        seen = np.float32(highest.reduce(history) if self.algorithm == "max" else history[0])
        factor = self._factor(seen) if seen > 0 and np.isfinite(seen) else self.factor
        rolled = (*history[1:], history[0])
        return dataclasses.replace(self, factor=factor, history=(0.0, *rolled[1:]))

    def _factor(self, amax: np.float32) -> float:
        largest = np.float32(self.format.largest)
        with np.errstate(over="ignore", under="ignore"):
            if self.kernel == "fused":
                factor = largest * np.float32(2.0**-self.margin) / amax
            else:
                whole = np.float32(1) / amax * largest if self.kernel == "unfused" else largest / amax
                factor = whole / np.float32(2.0**self.margin)
        return min(float(factor), SINGLE_MAX)


@dataclass(frozen=True, kw_only=True)
class LossScaling:
    """The factor of a loss. `update` returns the next step's state.

    scale: what the loss is multiplied by, and gradients divided by. factor: by which the scale grows or shrinks.
    window: steps without overflow before it grows. least, most: its limits; None for no limit.
    good_steps: steps without overflow since it last changed.
    Raises ValueError for a setting out of its range.
    (Apex, amp/scaler.py, LossScaler, dynamic. Apex limits an initial scale to `max_loss_scale`, 2^24: given 2^26 it
    starts at 2^24. Here `scale` is taken as it is.)
    """

    scale: float = 2.0**16
    factor: float = 2.0
    window: int = 2000
    least: float | None = None
    most: float | None = 2.0**24
    good_steps: int = 0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise InputError(f"scale must be a finite number above 0, not {self.scale}")
        if not self.factor > 1:
            raise InputError(f"factor must be above 1, not {self.factor}")
        if type(self.window) is not int or self.window < 1:
            raise InputError(f"window must be at least 1, not {self.window!r}")

    def update(self, overflow: bool) -> LossScaling:
        """The state after a step. overflow: whether a gradient was infinite or NaN; such a step is to be skipped."""
        scale, good_steps = self.scale, self.good_steps + 1
        if overflow:
            scale, good_steps = scale / self.factor, 0
            scale = max(scale, self.least) if self.least is not None else scale
        if good_steps == self.window:
            scale, good_steps = scale * self.factor, 0
            scale = min(scale, self.most) if self.most is not None else scale
        return dataclasses.replace(self, scale=scale, good_steps=good_steps)


def overflowed(*gradients: Any) -> bool:
    """True if any number of any array is infinite or NaN."""
    return any(not np.isfinite(np.asarray(as_numbers(gradient, "gradients"))).all() for gradient in gradients)


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
