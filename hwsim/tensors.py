"""PyTorch's tensors as NumPy's arrays. PyTorch is not imported: who has a tensor has imported it."""

from __future__ import annotations

import sys
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hwsim.errors import InputTypeError

# Floats that NumPy does not have, and the integers that hold their bits.
WITHOUT_DTYPE = {
    "bfloat16": "uint16",
    **dict.fromkeys(
        ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"), "uint8"
    ),
}  # fmt: skip


def is_tensor(given: Any) -> TypeGuard[Any]:
    """Whether an argument is a tensor of PyTorch, or of a class derived from it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(given, torch.Tensor)


def is_pairs(given: Any) -> TypeGuard[Any]:
    """Whether an argument is a tensor of PyTorch whose bytes hold two codes of FP4 each."""
    return is_tensor(given) and _name(given) == "float4_e2m1fn_x2"


def pairs_as_bytes(given: Any, what: str) -> NDArray[Any]:
    """The bytes of such a tensor, whatever its strides."""
    return _array(given, what, sys.modules["torch"].uint8)


def as_numbers(given: Any, what: str) -> Any:
    """An argument that NumPy can convert: a tensor as an array, bfloat16 and FP8 as binary32, which has their numbers.

    Gradients are not followed, and tensors of other devices are copied. What has DLPack alone is taken through it;
    anything else is returned as it is. Raises TypeError for a tensor without elements in memory, or of other dtypes.
    """
    if is_tensor(given):
        return _array(given.float() if _name(given) in WITHOUT_DTYPE else given, what)
    if hasattr(given, "__dlpack__") and not hasattr(given, "__array__"):
        return np.from_dlpack(given)
    return given


def as_bits(given: Any, what: str) -> tuple[NDArray[Any], str]:
    """A tensor's elements, and ""; of bfloat16 and FP8 their bits as integers, and the dtype's name.

    Raises TypeError as `as_numbers` does.
    """
    name = _name(given)
    if name not in WITHOUT_DTYPE:
        return _array(given, what), ""
    # The bits of an unsigned integer of two bytes are those of the signed one, which every version of PyTorch has.
    width = {"uint16": "int16"}.get(WITHOUT_DTYPE[name], WITHOUT_DTYPE[name])
    return _array(given, what, getattr(sys.modules["torch"], width)).view(WITHOUT_DTYPE[name]), name


def _name(given: Any) -> str:
    return str(given.dtype).removeprefix("torch.")


def _array(given: Any, what: str, bits: Any = None) -> NDArray[Any]:
    """The elements, or their bits as another dtype of PyTorch, which has no negation left to do by then."""
    try:
        plain = given.detach().cpu().resolve_conj().resolve_neg()
        return np.asarray((plain if bits is None else plain.contiguous().view(bits)).numpy())
    except (TypeError, RuntimeError, NotImplementedError) as error:
        said = str(error).partition("\n")[0].partition(". ")[0]
        raise InputTypeError(f"{what} is a tensor of {_name(given)} that has no elements for NumPy: {said}") from None
