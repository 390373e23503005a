"""Matrix products of arrays, bit for bit as a unit returns them, or as a library makes them of a unit's sums."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hwsim.base.arrays import is_on_gpu, is_pairs, pairs_as_bytes
from hwsim.base.errors import InputError, InputTypeError
from hwsim.compute.kernels.tiles import Progress
from hwsim.compute.planned import planned
from hwsim.compute.products import no_progress, product
from hwsim.compute.sparse import sparse_product
from hwsim.formats import own_dtype
from hwsim.quantize import Quantized
from hwsim.quantize.layouts import packed_factor
from hwsim.spec import SparseLike, Unit, UnitLike, load_unit
from hwsim.spec.arguments import Side
from hwsim.spec.plan import Number, ProductPlanLike, load_plan

# The factors whose codes are packed.
Packed = Literal["", "a", "b", "ab"]


def gemm(
    unit: UnitLike | SparseLike,
    A: Any,
    B: Any,
    C: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    *,
    transposed: bool = False,
    packed: Packed = "",
    progress: Progress | None = None,
    plan: ProductPlanLike | None = None,
    alpha: Any = None,
    beta: Any = None,
    bias: Any = None,
    metadata: Any = None,
) -> NDArray[Any]:
    """A @ B + C, every element as the unit returns it; or as a library makes it of such sums, by its plan.

    unit: a unit, a preset's name, the path of a unit's file, or its keys.
    A: (M, K) and B: (K, N) codes of the unit's factors, or floats of the format's own dtype, taken by their bits; K
    as for `hwsim.dot`, or 0: then each element is what the unit returns for C and zero terms alone, one whole group
    or instruction of them. Or what `hwsim.quantize` made of them, with their scales. C: (M, N) codes, or floats, of
    `operands.addend`; None is +0.
    scale_a: (M / block rows, K / block columns), scale_b: (K / block rows, N / block columns) codes of the shared
    scales, M and N divided upwards; None for an unscaled unit.
    transposed: B is (N, K), as layers keep weights, and its scales (N / block columns, K / block rows).
    packed: `a`, `b` or `ab`, the factors whose codes of less than 8 bits are packed along K, uint8, as
    `hwsim.quantize.pack_codes` packs them: two of FP4 a byte, the first in the low bits. PyTorch's float4_e2m1fn_x2 is
    packed without saying so.
    All may have more axes before these, which are broadcast as `numpy.matmul` does. Any strides; arrays of other
    libraries are taken through DLPack without a copy.
    progress: called now and then, from any thread, with the number of products computed since.
    plan: how a library cuts K, adds, scales and rounds (`hwsim docs plans`): a plan, its keys, or the path of its file.
    Then scale_a, scale_b, alpha, beta, bias and C are what its steps name, as numbers of float32: scales of the whole
    factor, or (M, 1) and (1, N); bias (N,), C (M, N). What no step names must be None, but for the C of a unit, which
    the first part of K begins with, and its scales.
    Returns (..., M, N) in the dtype that `hwsim.dot` returns; with a plan, as it would of the plan's last format. As
    many threads compute as NUMBA_NUM_THREADS says.
    metadata: of a sparse unit (`hwsim docs sparse`), which A's codes (M, kept) are in K: an index for each, as
    `hwsim.compress` makes them. B is (K, N) or transposed, C (M, N); without a plan, a batch or packed codes.
    PyTorch's tensors on a CUDA device, all on one, give a tensor there, by the source that no GPU has run yet; codes
    are integers of the container's size, and are not checked. Without plan and progress.
    Raises as `hwsim.dot` does; of tensors on a GPU NotImplementedYet for a unit that it does not compute.
    """
    if not (progress is None or callable(progress)):
        raise InputTypeError(f"progress must be a function of a number of products, not {type(progress).__name__}")
    if packed not in get_args(Packed):
        raise InputError(f"packed must be a, b or ab, the factors that are, or empty, not {packed!r}")
    if not isinstance(transposed, bool):
        raise InputTypeError(f"transposed must be True or False, not {transposed!r}")
    if metadata is not None:
        others: dict[str, Any] = {"scale_a": scale_a, "scale_b": scale_b, "plan": plan, "alpha": alpha, "beta": beta}
        for name, value in (others | {"bias": bias, "packed": packed or None}).items():
            if value is not None:
                raise InputError(f"{name} must not be given with metadata")
        B = _transposed("B", B) if transposed else B
        if not any(map(is_on_gpu, (A, B, C, metadata))):
            return sparse_product(unit, A, B, C, metadata, progress or no_progress)
        if progress is not None:
            raise InputError("progress must be None for tensors on a GPU; copy them to the host first")
        from hwsim.compute.cuda.device import sparse_gemm_on_gpu

        return sparse_gemm_on_gpu(unit, A, B, C, metadata)  # type: ignore[no-any-return]
    unit = load_unit(unit)
    on_gpu = any(map(is_on_gpu, (A, B, C, scale_a, scale_b)))
    if on_gpu and (plan is not None or progress is not None):
        raise InputError("plan and progress must be None for tensors on a GPU; copy them to the host first")
    A = _unpacked(unit, "a", A, "a" in packed, transposed)
    B = _unpacked(unit, "b", B, "b" in packed, transposed)
    if transposed:
        B, scale_b = _transposed("B", B), _transposed("scale_b", scale_b)
    numbers: dict[Number, Any] = {"alpha": alpha, "beta": beta, "bias": bias}
    if plan is not None:
        numbers |= {"c": C, "scale_a": scale_a, "scale_b": scale_b}
        return planned(unit, load_plan(plan), A, B, numbers, progress=progress or no_progress)
    for name, value in numbers.items():
        if value is not None:
            raise InputError(f"{name} must be None without a plan that takes it")
    if on_gpu:
        from hwsim.compute.cuda.device import gemm_on_gpu  # which loads what compiles, and takes half a second

        return gemm_on_gpu(unit, A, B, C, scale_a, scale_b)  # type: ignore[no-any-return]
    return product(unit, A, B, C, scale_a, scale_b, progress=progress or no_progress)


def _unpacked(unit: Unit, side: Side, given: Any, packed: bool, transposed: bool) -> Any:
    """A factor with a code in each element, along K; as it is where it is not packed."""
    what, fmt = side.upper(), unit.operands.factor(side)
    pairs = is_pairs(given)
    if pairs and own_dtype(fmt) != "float4_e2m1fn":
        raise InputTypeError(f"{what} must be codes of {fmt.name}, not float4_e2m1fn_x2")
    if not packed and not pairs:
        return given
    if isinstance(given, Quantized):
        raise InputError(f"{what} must not be packed: it is quantised, with a code in each byte")
    axis = -2 if side == "b" and not transposed else -1
    if is_on_gpu(given):
        from hwsim.compute.cuda.device import unpacked

        return unpacked(given, fmt, what, axis)
    return packed_factor(pairs_as_bytes(given, what) if pairs else given, fmt, what, axis)


def _transposed(what: str, given: Any) -> Any:
    """A matrix, or the last two axes of a batch of them, as (K, N); of what is no array yet, its array."""
    if given is None:
        return None
    if isinstance(given, Quantized):
        codes, scales = (array.swapaxes(-1, -2) for array in (given.codes, given.scales))
        block, last = (*given.block[:-2], *given.block[:-3:-1]), len(given.block) - 1
        axis = {last: last - 1, last - 1: last}.get(given.axis, given.axis)
        return replace(given, codes=codes, scales=scales, block=block, axis=axis)
    array = given if hasattr(given, "swapaxes") else np.asarray(given)
    if array.ndim < 2:
        raise InputError(f"{what} must have two axes or more, not {array.ndim}")
    return array.swapaxes(-1, -2)
