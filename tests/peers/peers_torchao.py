"""What torchao returns, computed once: to import it takes seconds."""

from __future__ import annotations

import logging
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
from computed_once import computed_once
from peers.peers_rows import blocks, drawn, names, next_to_ties, parts, rows, whole_range

ELEMENTS = ("mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e3m2", "mxfp6-e2m3", "mxfp4-e2m1")
SELECTS = ("floor", "rceil", "ceil", "even")
RANGES = ((-100, 120), (100, 127), (-149, -110))  # of exponents: ordinary, large and small blocks
SHAPES = ((1, 1), (128, 4), (130, 7), (300, 13))


def mx_blocks() -> Any:
    """float32[4000, 32]"""
    return np.concatenate([blocks(2000, 32, 3), *(blocks(1000, 32, 4, *ends) for ends in RANGES[1:])])


def special_blocks() -> Any:
    """float32[4, 32]: an infinity, its negative, a NaN, and zeros."""
    x = np.ones((4, 32), np.float32)
    x[0, 5], x[1, 0], x[2, 3], x[3] = np.inf, -np.inf, np.nan, 0
    return x


def nvfp4_blocks(two_levels: bool) -> Any:
    """float32[6000, 16], many of its numbers on ties or next to them."""
    ties = next_to_ties(4000, 6, two_levels)
    return np.concatenate([blocks(2000, 16, 5, -20, 5) / np.float32(2.0**14), ties])


def scale_codes(shape: tuple[int, int]) -> Any:
    return np.random.default_rng(shape[0]).integers(0, 256, shape).astype(np.uint8)


def _module() -> Any:
    logging.disable(logging.CRITICAL)  # of extensions that need a GPU
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import torch
            from torchao.float8 import float8_training_tensor, float8_utils
            from torchao.prototype.mx_formats import constants, kernels, mx_tensor, nvfp4_tensor, utils
            from torchao.prototype.mx_formats.config import ScaleCalculationMode
    finally:
        logging.disable(logging.NOTSET)
    return SimpleNamespace(
        torch=torch, mode=ScaleCalculationMode, mx=mx_tensor, nv=nvfp4_tensor, kernels=kernels, utils=utils,
        float8=float8_utils, training=float8_training_tensor, constants=constants,
    )  # fmt: skip


def torchaos(version: tuple[int, ...]) -> dict[Any, Any]:
    """Codes and scales of all drawn blocks, by what they are of, and what rows of docs/migrate.md give."""
    return computed(version, tuple(row.there for row in rows() if row.section == "torchao"))


@computed_once("base")
def computed(version: tuple[int, ...], calls: tuple[str, ...]) -> dict[Any, Any]:
    """What `torchaos` returns. version: of torchao. calls: of it, in rows of the page."""
    ao = _module()
    found: dict[Any, Any] = {}
    dtypes = dict(zip(ELEMENTS, (
        ao.torch.float8_e4m3fn, ao.torch.float8_e5m2, ao.constants.DTYPE_FP6_E3M2, ao.constants.DTYPE_FP6_E2M3,
        ao.torch.float4_e2m1fn_x2,
    ), strict=True))  # fmt: skip
    for name, dtype in dtypes.items():
        for select in SELECTS:
            for kind, x in (("mx", mx_blocks()), ("special", special_blocks())):
                scales, codes = ao.mx.to_mx(ao.torch.from_numpy(x), dtype, 32, ao.mode(select))
                found[kind, name, select] = _bytes(ao, scales), _bytes(ao, codes)
    x = ao.torch.from_numpy(nvfp4_blocks(two_levels=False))
    found["nvfp4-block"] = tuple(_bytes(ao, part) for part in ao.nv.nvfp4_quantize(x))
    x = ao.torch.from_numpy(nvfp4_blocks(two_levels=True))
    g = ao.nv.per_tensor_amax_to_scale(x.abs().max())
    found["nvfp4"] = *(_bytes(ao, part) for part in ao.nv.nvfp4_quantize(x, 16, g)), np.float32(g.item())
    fixed = ao.torch.tensor(np.float32(0.0123))
    found["nvfp4-fixed"] = tuple(_bytes(ao, part) for part in ao.nv.nvfp4_quantize(x, 16, fixed))
    for shape in SHAPES:
        found["tiles", shape] = ao.utils.to_blocked(ao.torch.from_numpy(scale_codes(shape))).numpy()
    found["packed"] = ao.kernels.pack_uint4(ao.torch.from_numpy(scale_codes((40, 60)) & 15)).numpy()
    channels = ao.torch.from_numpy(mx_blocks()[:2000])
    for name, dtype in (("e4m3", ao.torch.float8_e4m3fn), ("e5m2", ao.torch.float8_e5m2)):
        factor = ao.float8.amax_to_scale(channels.abs().amax(1, keepdim=True), dtype)
        codes = ao.float8.to_fp8_saturated(channels * factor, dtype)
        found["channel", name] = factor.numpy(), _bytes(ao, codes)
    for call in calls:
        found["row", call] = parts(eval(call, {**_known(ao), **names(drawn())}))
        for name, x in whole_range().items():
            found[name, call] = parts(eval(call, {**_known(ao), **names(x, float(np.abs(x).max()))}))
    return found


def _known(ao: Any) -> dict[str, Any]:
    """What rows of docs/migrate.md call."""
    return {
        "to_mx": ao.mx.to_mx, "Mode": ao.mode, "nvfp4_quantize": ao.nv.nvfp4_quantize,
        "per_tensor_amax_to_scale": ao.nv.per_tensor_amax_to_scale, "amax_to_scale": ao.float8.amax_to_scale,
        "float8": lambda x, factor: ao.training.hp_tensor_and_scale_to_float8(x, factor, ao.torch.float8_e4m3fn),
    }  # fmt: skip


def _bytes(ao: Any, tensor: Any) -> Any:
    return tensor.view(ao.torch.uint8).numpy()
