"""The source for GPUs, compiled for the host: every thread of a block in its turn, for tests without a GPU."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError, ToolMissing
from hwsim.base.files import cache_folder
from hwsim.compute.cuda.settings import Variant, chosen, shape_of, source_of, tables_of
from hwsim.compute.kernels.tiles import threads
from hwsim.formats import codes_of, container_dtype
from hwsim.formats.codes import Codes
from hwsim.spec import Unit, UnitLike, load_unit
from hwsim.spec.arguments import addend_codes, check_unscaled, matrix_shape, result_array, scale_codes, scale_shapes

COMPILERS = "g++", "clang++"
# Nothing is rounded but by the multiply-adds that say so, and these as the mode in force has it.
FLAGS = (
    "-xc++", "-std=c++17", "-O2", "-march=native", "-frounding-math", "-ffp-contract=off", "-fno-strict-aliasing",
    "-shared", "-fPIC", "-w",
)  # fmt: skip


@cache
def compiler() -> str:
    """The path of a compiler of C++. Raises ToolMissing."""
    for name in COMPILERS:
        if path := shutil.which(name):
            return path
    raise ToolMissing("a compiler of C++ is missing, which builds the source for GPUs for the host; install g++")


@cache
def _machine() -> bytes:
    """What `-march=native` may depend on, and the compiler's version."""
    version = subprocess.run([compiler(), "--version"], capture_output=True, check=True).stdout
    cpu = Path("/proc/cpuinfo")
    return version + (cpu.read_bytes().partition(b"\n\n")[0] if cpu.is_file() else b"")


def built(source: str, name: str) -> ctypes.CDLL:
    """A library of a text of C++, from the cache folder if it is there. name: of its file, in part.

    Raises ToolMissing without a compiler, and RuntimeError with what it says of a text that it refuses.
    """
    flags = b"".join(line for line in _machine().splitlines(True) if not line.startswith((b"cpu MHz", b"bogomips")))
    key = hashlib.sha256("\0".join([source, compiler(), *FLAGS]).encode() + flags).hexdigest()[:32]
    library = cache_folder() / "cuda-host" / f"{name}-{key}.so"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=library.parent) as folder:
            text, made = Path(folder) / "product.cu", Path(folder) / "product.so"
            text.write_text(source)
            command = [compiler(), *FLAGS, "-o", str(made), str(text)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"{compiler()} refuses the source for {name}:\n{done.stderr[:4000]}")
            os.replace(made, library)
    return ctypes.CDLL(str(library))


@lru_cache(maxsize=256)
def _library(unit: Unit, variant: Variant) -> ctypes.CDLL:
    return built(source_of(unit, variant), f"{unit.name}-{variant}")


def gemm_on_host(
    unit: UnitLike,
    A: Any,
    B: Any,
    C: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    *,
    variant: Variant | None = None,
    library: ctypes.CDLL | None = None,
) -> NDArray[Any]:
    """A @ B + C by the source for GPUs, on the host. Arguments, and what is returned and raised, as of `hwsim.gemm`.

    A, B: of two axes. variant: the arithmetic of windows, one of `variants`; None for the first.
    library: another build of the source; None for its own.
    Raises NotImplementedYet for a unit without support, ToolMissing without a compiler.
    """
    unit = load_unit(unit)
    variant = chosen(unit, variant)
    a, b = codes_of(unit.operands.a, A, "A"), codes_of(unit.operands.b, B, "B")
    if a.ndim != 2 or b.ndim != 2:
        raise InputError("A and B must have two axes")
    m, n = matrix_shape(unit, a.shape, b.shape)
    c = None if C is None else addend_codes(unit, C, "C")
    if c is not None:
        c = np.broadcast_to(c, (m, n))
    scales: list[Codes | None] = [None, None]
    if unit.scale is None:
        check_unscaled(unit, scale_a, scale_b)
    else:
        shape_a, shape_b = scale_shapes(unit.scale, a.shape, b.shape)
        scales = [
            scale_codes(unit, unit.scale, "a", scale_a, shape_a),
            scale_codes(unit, unit.scale, "b", scale_b, shape_b).T,
        ]
        for name, given, shape in (("scale_a", scales[0], shape_a), ("scale_b", scales[1], shape_b[::-1])):
            if given is not None and given.shape != shape:
                raise InputError(f"{name} must have shape {shape}, not {given.shape}")
    out = np.empty((m, n), container_dtype(unit.output))
    _run(library or _library(unit, variant), unit, variant, (a, b.T, c, *scales), out)
    return result_array(unit, out)


def _run(library: ctypes.CDLL, unit: Unit, variant: Variant, codes: tuple[Codes | None, ...], out: Codes) -> None:
    """Write the results' codes. codes: a (m, K), b (n, K), c (m, n) or None, scales (m, blocks) and (n, blocks)."""
    (m, n), k = out.shape, codes[0].shape[1]  # type: ignore[union-attr]
    fill, lanes = unit.instruction.fill, unit.instruction.lanes
    sizes = (ctypes.c_int * 4)(m, n, k, max(1, -(-k // fill)) * fill // lanes)
    strides = [
        step // array.itemsize if array is not None else 0
        for array in codes
        for step in ((0, 0) if array is None else array.strides)
    ]
    if any(abs(step) >> 31 for step in strides):
        raise InputError("operands must be nearer to one another in memory: a step must fit 32 bits")
    tables = tables_of(unit)
    arguments = (
        (ctypes.c_void_p * 5)(*(None if array is None else array.ctypes.data for array in codes)),
        (ctypes.c_void_p * 5)(*(table.ctypes.data for table in tables)),
        ctypes.c_void_p(out.ctypes.data), sizes, (ctypes.c_int * 10)(*strides),
    )  # fmt: skip
    _over_blocks(library, arguments, -(-m // shape_of(unit, variant).side))


def _over_blocks(library: ctypes.CDLL, arguments: tuple[Any, ...], blocks: int) -> None:
    """Compute rows of blocks, on as many threads as `hwsim.gemm` takes."""
    with ThreadPoolExecutor(min(threads(), blocks) or 1) as pool:
        list(pool.map(lambda row: library.run(*arguments, row, row + 1), range(blocks)))


class HostKernel:
    """A unit's kernel on the host in place of a GPU's: it takes the arguments of a launch, in tensors of the host."""

    def __init__(self, unit: Unit, variant: Variant) -> None:
        import torch

        self.library, self.shape = _library(unit, variant), shape_of(unit, variant)
        self.tables = [torch.from_numpy(table.view("int32").copy()) for table in tables_of(unit)]

    def launch(self, arguments: list[Any], m: int, n: int) -> None:
        """Compute a matrix product (m, n)."""
        codes, tables, out = arguments[:5], arguments[5:10], arguments[10]
        has_c, *sizes = arguments[11:16]
        at = [tensor.data_ptr() for tensor in codes]
        at[2] = at[2] if has_c else None
        run = (
            (ctypes.c_void_p * 5)(*at), (ctypes.c_void_p * 5)(*(table.data_ptr() for table in tables)),
            ctypes.c_void_p(out.data_ptr()), (ctypes.c_int * 4)(*sizes), (ctypes.c_int * 10)(*arguments[16:]),
        )  # fmt: skip
        _over_blocks(self.library, run, -(-m // self.shape.side))
