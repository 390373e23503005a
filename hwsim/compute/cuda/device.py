"""The source for GPUs, compiled for one by NVRTC, and its launch on tensors of PyTorch, which stay on the GPU.

No machine with a GPU has run `gemm_on_gpu` yet: its tests compile the source and read the machine code's figures.
"""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from hwsim.base.errors import InputError, InputTypeError, ToolMissing
from hwsim.compute.cuda.settings import Shape, Variant, shape_of, source_of, supports, tables_of, variants
from hwsim.formats import Format, container_dtype
from hwsim.spec import Unit, UnitLike, load_unit
from hwsim.spec.arguments import check_unscaled, matrix_shape, result_dtype, scale_shapes

# Nothing is fused, flushed or approximated but where the source says so.
OPTIONS = "--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"
KERNEL = "multiply"


class MachineCode(NamedTuple):
    """What NVRTC makes of a source. log: with the assembler's figures of registers and spills."""

    cubin: bytes
    ptx: str
    log: str


@lru_cache(maxsize=1)
def nvrtc() -> Any:
    """NVIDIA's run-time compiler, of the package nvidia-cuda-nvrtc or an installed CUDA. Raises ToolMissing."""
    places = [Path(entry) / "nvidia" for entry in sys.path if entry]
    found = [path for place in places for path in sorted(place.glob("*/lib/libnvrtc.so.*"))]
    found += sorted(Path("/usr/local/cuda/lib64").glob("libnvrtc.so.*"))
    for path in found:
        if ".alt." in path.name:
            continue
        for beside in path.parent.glob("libnvrtc-builtins.so.*"):  # which NVRTC asks for by its name alone
            ctypes.CDLL(str(beside), ctypes.RTLD_GLOBAL)
        return ctypes.CDLL(str(path))
    raise ToolMissing("NVRTC is missing, which compiles for GPUs; pip install 'nvidia-cuda-nvrtc==13.0.*'")


def compiled_for(source: str, architecture: int) -> MachineCode:
    """A source compiled for GPUs of a compute capability, as 90 for 9.0.

    Raises RuntimeError with the compiler's words where it refuses the source.
    """
    library, program = nvrtc(), ctypes.c_void_p()
    options = [option.encode() for option in (f"--gpu-architecture=sm_{architecture}", "--ptxas-options=-v", *OPTIONS)]

    def call(name: str, *arguments: Any) -> int:
        return int(getattr(library, name)(*arguments))

    def text(size: str, take: str) -> bytes:
        length = ctypes.c_size_t()
        if call(size, program, ctypes.byref(length)):
            raise RuntimeError(f"NVRTC has no answer to {size}")
        room = ctypes.create_string_buffer(length.value)
        call(take, program, room)
        return room.raw

    if call("nvrtcCreateProgram", ctypes.byref(program), source.encode(), b"product.cu", 0, None, None):
        raise RuntimeError("NVRTC does not take the source")
    try:
        status = call("nvrtcCompileProgram", program, len(options), (ctypes.c_char_p * len(options))(*options))
        log = text("nvrtcGetProgramLogSize", "nvrtcGetProgramLog").rstrip(b"\0").decode(errors="replace")
        if status:
            raise RuntimeError(f"NVRTC refuses the source for sm_{architecture}:\n{log[:4000]}")
        cubin, ptx = text("nvrtcGetCUBINSize", "nvrtcGetCUBIN"), text("nvrtcGetPTXSize", "nvrtcGetPTX")
        return MachineCode(cubin, ptx.rstrip(b"\0").decode(), log)
    finally:
        call("nvrtcDestroyProgram", ctypes.byref(program))


class GpuKernel(NamedTuple):
    """A unit's kernel on a GPU, as PyTorch calls it, its tables there, and how results are shared out."""

    call: Any
    tables: list[Any]
    shape: Shape

    def launch(self, arguments: list[Any], m: int, n: int) -> None:
        """Compute a matrix product (m, n) on the current stream of the GPU that its operands are on."""
        import torch

        side = self.shape.side
        with torch.cuda.device(arguments[0].device):
            self.call(
                grid=(-(-n // side), -(-m // side), 1), block=(self.shape.threads, 1, 1), args=arguments,
                shared_mem=self.shape.shared_bytes,
            )  # fmt: skip


@lru_cache(maxsize=64)
def kernel_on(unit: Unit, variant: Variant, device: Any) -> GpuKernel:
    """The kernel of a unit on a GPU, compiled for it."""
    import torch

    with torch.cuda.device(device):
        properties: Any = torch.cuda.get_device_properties(device)
        shared = int(properties.shared_memory_per_block_optin)
        source, shape = source_of(unit, variant, shared), shape_of(unit, variant, shared)
        call = torch.cuda._compile_kernel(source, KERNEL, nvcc_options=list(OPTIONS))
        if shape.shared_bytes >= 48 * 1024:
            call.set_shared_memory_config(shape.shared_bytes)
        tables = [torch.from_numpy(table.view("int32").copy()).to(device) for table in tables_of(unit)]
    return GpuKernel(call, tables, shape)


def gemm_on_gpu(
    unit: UnitLike,
    A: Any,
    B: Any,
    C: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    *,
    variant: Variant | None = None,
) -> Any:
    """A @ B + C of tensors on one GPU, as `hwsim.gemm` returns it, on that GPU. Nothing is copied to the host.

    unit, C, scale_a, scale_b: as of `hwsim.gemm`, all tensors of PyTorch. A, B: (M, K) and (K, N), any strides; codes,
    or floats of the format's own dtype, in elements of the container's size. Bits that are no part of a code are not
    looked at. variant: the arithmetic of windows, one of `variants`; None for the first.
    Returns (M, N) of the dtype that `hwsim.gemm` returns. Raises as `gemm_on_host` does, and TypeError for what is no
    tensor on a GPU.
    """
    import torch

    unit = load_unit(unit)
    supports(unit).demand()
    held = variants(unit)
    variant = held[0] if variant is None else variant
    if variant not in held:
        raise InputError(f"variant must be {' or '.join(held)} for {unit.name}, not {variant}")
    operands, scale = unit.operands, unit.scale
    a, b = _codes("A", operands.a, A, A), _codes("B", operands.b, B, A)
    m, n = matrix_shape(unit, tuple(a.shape), tuple(b.shape))
    out = torch.empty((m, n), dtype=getattr(torch, result_dtype(unit.output).name), device=a.device)
    if C is not None and operands.addend is None:
        raise InputError(f"C must be None, because {unit.name} has operands.addend none")
    # Where there is none, any tensor stands in its place, which nobody looks at.
    c = out if C is None or operands.addend is None else _codes("C", operands.addend, C, A).expand(m, n)
    scales = [out, out]
    if scale is None:
        check_unscaled(unit, scale_a, scale_b)
    else:
        shapes = scale_shapes(scale, tuple(a.shape), tuple(b.shape))
        scales = [_codes("scale_a", scale.a.format, scale_a, A), _codes("scale_b", scale.b.format, scale_b, A)]
        for name, given, shape in zip(("scale_a", "scale_b"), scales, shapes, strict=True):
            if tuple(given.shape) != shape:
                raise InputError(f"{name} must have shape {shape}, not {tuple(given.shape)}")
        scales[1] = scales[1].T
    steps = [step for tensor in (a, b.T, c, *scales) for step in tensor.stride()]
    if any(step >> 31 for step in steps):
        raise InputError("operands must be nearer to one another in memory: a step must fit 32 bits")
    if out.numel():
        fill, k, kernel = unit.instruction.fill, a.shape[1], kernel_on(unit, variant, a.device)
        groups = max(1, -(-k // fill)) * fill // unit.instruction.lanes
        sizes = int(C is not None), m, n, k, groups
        kernel.launch([a, b, c, *scales, *kernel.tables, out, *sizes, *steps], m, n)
    return out


def _codes(name: str, fmt: Format, given: Any, beside: Any) -> Any:
    """A matrix of codes, or of floats, on the GPU of another."""
    import torch

    if not isinstance(given, torch.Tensor) or not _on_gpu(given):
        raise InputTypeError(f"{name} must be a tensor on a GPU, not {type(given).__name__}")
    if given.device != beside.device:
        raise InputError(f"{name} must be on {beside.device}, as A is, not on {given.device}")
    size = container_dtype(fmt).itemsize
    if given.element_size() != size or given.is_complex() or given.dtype == torch.bool:
        raise InputTypeError(f"{name} must have elements of {size} bytes, codes of {fmt.name}, not {given.dtype}")
    if given.ndim != 2:
        raise InputError(f"{name} must have two axes, not {given.ndim}")
    return given


def _on_gpu(tensor: Any) -> bool:
    return bool(tensor.is_cuda)
