"""Scales that the caller gives, in place of those that follow from the numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.errors import InputError, InputTypeError
from hwsim.quantize.rule import Apply, Rule, TensorScale, is_f32
from hwsim.tensors import as_numbers


class GivenScales(NamedTuple):
    """What a caller gave, checked; None where the rule decides.

    scale: scales of blocks, numbers above 0, which binary32 has where the rule divides in it.
    second_scale: the tensor's scale. tensor_amax: the magnitude that it follows from, above 0, finite.
    """

    scale: NDArray[Any] | None = None
    second_scale: np.float32 | None = None
    tensor_amax: float | None = None

    def scales(self, shape: tuple[int, ...]) -> NDArray[Any]:
        """The scales, one a block. Raises ValueError where they have another shape; there must be some."""
        scale = np.asarray(self.scale)
        try:
            return np.array(np.broadcast_to(scale, shape))
        except ValueError:
            raise InputError(f"scale must have the shape of the blocks, {shape}, not {scale.shape}") from None


def checked_given(rule: Rule, scale: Any, second_scale: Any, tensor_amax: Any) -> GivenScales:
    """A caller's scales, as `quantize` takes them. Raises TypeError and ValueError as it does."""
    for name, value in (("second_scale", second_scale), ("tensor_amax", tensor_amax)):
        if value is not None and rule.tensor_scale is TensorScale.NONE:
            raise InputError(f"{name} goes with a rule that has a tensor_scale; scale gives the scales of blocks")
        if value is not None and scale is not None:
            raise InputError(f"{name} must not be given with scale, which replaces it")
    if second_scale is not None and tensor_amax is not None:
        raise InputError("second_scale and tensor_amax must not both be given: each gives the tensor's scale")
    second = None if second_scale is None else _single("second_scale", second_scale)
    amax = None if tensor_amax is None else float(_single("tensor_amax", tensor_amax))
    return GivenScales(None if scale is None else _block_scales(rule, scale), second, amax)


def _block_scales(rule: Rule, scale: Any) -> NDArray[Any]:
    values = _numbers("scale", scale)
    if rule.apply is Apply.EXACT:
        return values
    with np.errstate(over="ignore", under="ignore"):
        single = values.astype(np.float32)
    if not is_f32(rule.scale_format) or (single != values).any():
        raise InputError(
            f"scale must be binary32 numbers under apply {rule.apply.value!r}, of a rule with scales in f32; "
            "apply='exact' takes any"
        )
    return single


def _numbers(name: str, value: Any) -> NDArray[np.float64]:
    """Finite real numbers above 0."""
    given = np.asarray(as_numbers(value, name))
    if given.dtype.kind not in "fiu" or given.dtype.itemsize > 8:
        raise InputTypeError(f"{name} must be real numbers, not {given.dtype.name}")
    values = given.astype(np.float64)
    if not (np.isfinite(values) & (values > 0)).all():
        raise InputError(f"{name} must be finite numbers above 0")
    return values


def _single(name: str, value: Any) -> np.float32:
    """One number that binary32 has."""
    values = _numbers(name, value)
    if values.size != 1:
        raise InputError(f"{name} must be one number, not {values.size}")
    with np.errstate(over="ignore", under="ignore"):
        single = np.float32(values.item())
    if float(single) != values.item():
        raise InputError(f"{name} must be a binary32 number, not {values.item()}: np.float32 rounds it")
    return single
