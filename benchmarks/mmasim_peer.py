"""MMA-Sim 2.1.1 (PyPI `mmasim`), the other bit-exact simulator of matrix units, as a peer in `gemm.py`.

It runs on PyTorch, here on one thread. Its fastest way is taken: many dot products of one instruction at a time, each
step of K for all elements of the matrix.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAME = "MMA-Sim 2.1.1, hopper-wgmma-e4m3-f32"
K = 32  # of an instruction


def missing() -> str | None:
    """Why it cannot run; None where it can."""
    for module in ("torch", "mmasim", "ninja"):
        if find_spec(module) is None:
            return f"{module} is missing: pip install 'hwsim[peers]'"
    return None if shutil.which("c++") else "a C++ compiler is missing, which it needs"


def product(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> Callable[[], NDArray[np.float32]]:
    """A function that multiplies codes of e4m3, (m, k) and (k, n) with k a multiple of 32, as Hopper's wgmma does."""
    import torch
    from mmasim.nv_ptx.sim import WGMMA

    torch.set_num_threads(1)
    (m, k), n = a.shape, b.shape[1]
    wgmma = WGMMA("Hopper", f"m64n8k{K}.f32.e4m3.e4m3")

    def tensor(codes: NDArray[np.uint8]) -> Any:
        return torch.from_numpy(np.ascontiguousarray(codes)).view(torch.float8_e4m3fn)

    def run() -> NDArray[np.float32]:
        rows, columns = np.repeat(np.arange(m), n), np.tile(np.arange(n), m)
        d = torch.zeros(m * n, dtype=torch.float32)
        for first in range(0, k, K):
            step = slice(first, first + K)
            d = wgmma.dpa(tensor(a[rows, step]), tensor(b[step].T[columns]), d)
        result: NDArray[np.float32] = d.reshape(m, n).numpy()
        return result

    return run
