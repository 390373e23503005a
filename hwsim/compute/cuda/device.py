"""The source for GPUs, compiled for one by NVRTC, and its launch on tensors of PyTorch, which stay on the GPU.

No machine with a GPU has run it yet: its tests compile the source and read the machine code's figures.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from hwsim.base.arrays import is_on_gpu, is_pairs, is_tensor
from hwsim.base.errors import InputError, InputTypeError, ToolMissing
from hwsim.compute.cuda.host import HostKernel
from hwsim.compute.cuda.settings import Shape, Variant, chosen, shape_of, source_of, tables_of
from hwsim.formats import Format, container_dtype, own_dtype
from hwsim.spec import SparseLike, Unit, UnitLike, load_sparse, load_unit
from hwsim.spec.arguments import (
    Side,
    check_broadcast,
    check_length,
    check_unscaled,
    matrix_shape,
    result_dtype,
    scale_shapes,
    shape_error,
)

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
        if not hasattr(torch.cuda, "_compile_kernel"):
            raise ToolMissing(f"PyTorch {torch.__version__} has no torch.cuda._compile_kernel, which compiles for GPUs")
        call = torch.cuda._compile_kernel(source, KERNEL, nvcc_options=list(OPTIONS))
        if shape.shared_bytes >= 48 * 1024:
            call.set_shared_memory_config(shape.shared_bytes)
        tables = [torch.from_numpy(table.view("int32").copy()).to(device) for table in tables_of(unit)]
    return GpuKernel(call, tables, shape)


class LaunchedKernel(Protocol):
    """A unit's kernel, which computes a matrix product (m, n)."""

    def launch(self, arguments: list[Any], m: int, n: int) -> None:
        """arguments: as `multiply` of the source takes them."""

    @property
    def tables(self) -> list[Any]:
        """The tensors that codes are looked up in."""


class TensorPlace(NamedTuple):
    """Where tensors are, and what computes there. name: in messages. holds: whether a tensor is there."""

    name: str
    holds: Callable[[Any], bool]
    kernel: Callable[[Unit, Variant, Any], LaunchedKernel]


def _gpu() -> TensorPlace:
    return TensorPlace("a GPU", is_on_gpu, kernel_on)


@lru_cache(maxsize=64)
def _host_kernel(unit: Unit, variant: Variant, _: Any) -> HostKernel:
    return HostKernel(unit, variant)


HOST = TensorPlace("the host", lambda x: is_tensor(x) and x.device.type == "cpu", _host_kernel)


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

    unit, shapes: as of `hwsim.gemm`; each product of a batch is a launch. Tensors are of PyTorch, of any strides: codes
    in integers of the container's size, or floats of the format's own dtype. Bits that are no part of a code are not
    looked at. variant: the arithmetic of windows, one of `variants`; None for the first.
    Returns a tensor of the dtype that `hwsim.gemm` returns. Raises as `hwsim.gemm` does, but for codes out of range;
    NotImplementedYet for a unit without support; TypeError and ValueError for what is not on the GPU of the others.
    """
    return _multiplied(_gpu(), unit, A, B, C, scale_a, scale_b, variant=variant)


def _multiplied(
    place: TensorPlace,
    unit: UnitLike,
    A: Any,
    B: Any,
    C: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    *,
    variant: Variant | None = None,
) -> Any:
    import torch

    unit = load_unit(unit)
    variant = chosen(unit, variant)
    operands, scale = unit.operands, unit.scale
    _check_places(place, {"A": A, "B": B}, {"C": C, "scale_a": scale_a, "scale_b": scale_b})
    a, b = _codes("A", operands.a, A), _codes("B", operands.b, B)
    shape = matrix_shape(unit, tuple(a.shape), tuple(b.shape))
    (*batch, m, n), k = shape, a.shape[-1]
    out = torch.empty(shape, dtype=getattr(torch, result_dtype(unit.output).name), device=a.device)
    # Where there is no addend or no scale, the results stand in its place, which nobody looks at.
    c, scales = out, [out, out]
    if C is not None:
        c = _broadcast("C", _addends(unit, "C", C), shape)
    if scale is None:
        check_unscaled(unit, scale_a, scale_b)
    else:
        wanted = scale_shapes(scale, tuple(a.shape), tuple(b.shape))
        sides = ("scale_a", scale.a, scale_a, wanted[0]), ("scale_b", scale.b, scale_b, wanted[1])
        scales = [
            _broadcast(name, _scales(unit, name, side.format, tensor, of_scales), (*batch, *of_scales))
            for name, side, tensor, of_scales in sides
        ]
        scales[1] = scales[1].mT
    matrices = [a.expand(*batch, m, k), b.mT.expand(*batch, n, k), c, *scales]
    steps = [step for tensor in matrices for step in tensor.stride()[-2:]]
    if any(step >> 31 for step in steps):
        raise InputError("operands must be nearer to one another in memory: a step must fit 32 bits")
    if out.numel():
        fill, kernel = unit.instruction.fill, place.kernel(unit, variant, a.device)
        groups = max(1, -(-k // fill)) * fill // unit.instruction.lanes
        sizes = int(C is not None), m, n, k, groups
        for index in product(*map(range, batch)):
            of_one = [tensor[index] for tensor in matrices]
            kernel.launch([*of_one, *kernel.tables, out[index], *sizes, *steps], m, n)
    return out


PAIRS = 64  # that one launch takes, as the diagonal of a matrix product: a block's side, at most


def dot_on_gpu(unit: UnitLike, a: Any, b: Any, c: Any = None, scale_a: Any = None, scale_b: Any = None) -> Any:
    """The dot products of pairs of rows on one GPU, as `hwsim.dot` returns them, on that GPU.

    Arguments and errors as of `gemm_on_gpu`, shapes as of `hwsim.dot`. Pairs are diagonals of matrix products, which
    takes up to PAIRS times as many products.
    """
    return _dots(_gpu(), unit, a, b, c, scale_a, scale_b)


def _dots(
    place: TensorPlace, unit: UnitLike, a: Any, b: Any, c: Any = None, scale_a: Any = None, scale_b: Any = None
) -> Any:
    import torch

    unit = load_unit(unit)
    chosen(unit, None)
    _check_places(place, {"a": a, "b": b}, {"c": c, "scale_a": scale_a, "scale_b": scale_b})
    rows = [_codes("a", unit.operands.a, a), _codes("b", unit.operands.b, b)]
    if a.ndim != 2:
        raise shape_error("a", "(n, K)", tuple(a.shape))
    if b.shape != a.shape:
        raise shape_error("b", f"{tuple(a.shape)}, as a", tuple(b.shape))
    count, k = a.shape
    check_length(unit, k)
    addends = None if c is None else _of_shape("c", _addends(unit, "c", c), (count,))
    scales = []
    if unit.scale is None:
        check_unscaled(unit, scale_a, scale_b)
    else:
        sides: tuple[tuple[Side, Any], ...] = (("a", scale_a), ("b", scale_b))
        for side, tensor in sides:
            name, shape = f"scale_{side}", (count, k // unit.scale.length(side))
            scales.append(_of_shape(name, _scales(unit, name, unit.scale.of(side).format, tensor, shape), shape))
    alone = _of_rows(unit)
    dtype = getattr(torch, result_dtype(unit.output).name)
    # PyTorch copies bits of every integer, but of unsigned ones of two bytes not in every version.
    bits = getattr(torch, f"int{8 * dtype.itemsize}")
    out = torch.empty(count, dtype=bits, device=a.device)
    for first in range(0, count, PAIRS):
        some = slice(first, min(first + PAIRS, count))
        of_a, of_b, *of_scales = (tensor[some] for tensor in (*rows, *scales))
        of_c = None if addends is None else addends[some, None].expand(-1, len(of_a))
        left, right = (of_scales[0], of_scales[1].mT) if of_scales else (None, None)
        out[some] = _multiplied(place, alone, of_a, of_b.mT, of_c, left, right).view(bits).diagonal()
    return out.view(dtype)


GATHERED = 1 << 26  # factors of b beside rows of A, of which each has its own, that are copied at once


def sparse_gemm_on_gpu(unit: SparseLike | Unit, A: Any, B: Any, C: Any, metadata: Any) -> Any:
    """`hwsim.gemm` of a sparse unit, of tensors on one GPU: A and metadata (M, kept), B (K, N), C (M, N).

    The factors of B that a row's metadata select are gathered there, and the row is a product by itself: a launch.
    Raises as `gemm_on_gpu` does, and for metadata that do not ascend.
    """
    return _sparse(_gpu(), unit, A, B, C, metadata)


def _sparse(place: TensorPlace, unit: SparseLike | Unit, A: Any, B: Any, C: Any, metadata: Any) -> Any:
    import torch

    sparse = load_sparse(unit)
    dense, rule = sparse.dense, sparse.sparsity
    chosen(dense, None)
    _check_places(place, {"A": A, "B": B, "metadata": metadata}, {"C": C})
    a, b = _codes("A", dense.operands.a, A), _codes("B", dense.operands.b, B)
    if a.ndim != 2 or not a.shape[1] or a.shape[1] % rule.kept:
        raise shape_error("A", f"(M, K), K a multiple of the {rule.kept} that are kept together", tuple(a.shape))
    (m, kept), whole = a.shape, rule.whole_of(a.shape[1])
    if b.ndim != 2 or len(b) != whole:
        raise shape_error("B", f"(K, N), with K {whole}, of which A keeps {kept}", tuple(b.shape))
    if not str(metadata.dtype).removeprefix("torch.").startswith(("int", "uint")):
        raise InputTypeError(f"metadata must be integers, not {metadata.dtype}")
    indices = _of_shape("metadata", metadata, (m, kept // rule.run)).long().reshape(m, -1, rule.keep)
    if bool(((indices < 0) | (indices >= rule.of)).any() | (indices.diff(dim=2) <= 0).any()):
        raise InputError(f"metadata must be indices from 0 to {rule.of - 1}, of which those kept together ascend")
    groups, runs = (torch.arange(count, device=a.device) for count in (indices.shape[1], rule.run))
    firsts = (groups[:, None] * rule.of + indices) * rule.run
    places = (firsts[..., None] + runs).reshape(m, kept)
    n, dtype = b.shape[1], getattr(torch, result_dtype(dense.output).name)
    # PyTorch moves elements of every signed integer, but of floats of 8 bits and unsigned ones not in every version.
    b, bits = b.view(getattr(torch, f"int{8 * b.element_size()}")), getattr(torch, f"int{8 * dtype.itemsize}")
    out = torch.empty((m, n), dtype=bits, device=a.device)
    c = None if C is None else _of_shape("C", _addends(dense, "C", C), (m, n))
    height = max(1, GATHERED // max(1, kept * n))
    for first in range(0, m, height):
        some = slice(first, first + height)
        of_c = None if c is None else c[some, None]
        out[some] = _multiplied(place, dense, a[some, None], b[places[some]], of_c)[:, 0].view(bits)
    return out.view(dtype)


# The same of tensors on the host, by the source built for the host: for checks without a GPU.
gemm_of_host_tensors, dot_of_host_tensors = partial(_multiplied, HOST), partial(_dots, HOST)
sparse_gemm_of_host_tensors = partial(_sparse, HOST)


@lru_cache(maxsize=64)
def _of_rows(unit: Unit) -> Unit:
    """The unit with scales of its own for each row of A and column of B; a dot product knows no other rows."""
    scale = unit.scale
    if scale is None or scale.a.block[0] == scale.b.block[1] == 1:
        return unit
    blocks = {"scale.a.block": [1, scale.length("a")], "scale.b.block": [scale.length("b"), 1]}
    return unit.replace(blocks)


def unpacked(packed: Any, fmt: Format, name: str, axis: int) -> Any:
    """The codes of a factor on a GPU that is packed along `axis`, -1 or -2, low-first; name: its own in messages.

    packed: uint8, or PyTorch's float4_e2m1fn_x2. Raises TypeError for another dtype, ValueError for a format whose
    codes are not of 4 bits.
    """
    import torch

    if fmt.container_bits != 4:
        what = "takes a byte or more" if fmt.container_bits > 6 else "is unpacked on the host alone"
        raise InputError(f"{name} must not be packed: a code of {fmt.name} {what}")
    stored = packed.view(torch.uint8) if is_pairs(packed) else packed
    if stored.dtype != torch.uint8:
        raise InputTypeError(f"{name} must be a tensor of uint8, not {stored.dtype}")
    if stored.ndim < 2:
        raise InputError(f"{name} must have two axes or more, not {stored.ndim}")
    return torch.stack((stored & 15, stored >> 4), axis).flatten(axis - 1, axis)


def _check_places(place: TensorPlace, factors: dict[str, Any], others: dict[str, Any]) -> None:
    """Raise TypeError for what is no tensor at a place, ValueError for one on another device than the one beside it."""
    given = factors | others
    beside = next((name for name, tensor in given.items() if place.holds(tensor)), "")
    for name, tensor in given.items():
        if tensor is None and name in others:
            continue
        if not beside or not is_tensor(tensor):
            where = f"{given[beside].device}, as {beside} is" if beside else place.name
            raise InputTypeError(f"{name} must be a tensor on {where}, not {type(tensor).__name__}")
        if tensor.device != given[beside].device:
            raise InputError(f"{name} must be on {given[beside].device}, as {beside} is, not on {tensor.device}")


def _codes(name: str, fmt: Format, tensor: Any) -> Any:
    """A tensor of codes, or of floats that are taken by their bits."""
    kind, own, size = str(tensor.dtype).removeprefix("torch."), own_dtype(fmt), container_dtype(fmt).itemsize
    if not (kind == own or (kind.startswith(("int", "uint")) and tensor.element_size() == size)):
        floats = f" or a {own} tensor" if own else ""
        raise InputTypeError(f"{name} must be {fmt.name} codes in integers of {8 * size} bits{floats}, not {kind}")
    if tensor.layout != sys.modules["torch"].strided:
        raise InputTypeError(f"{name} must be a dense tensor, not of layout {tensor.layout}")
    return tensor.detach().resolve_neg()


def _addends(unit: Unit, name: str, tensor: Any) -> Any:
    if unit.operands.addend is None:
        raise InputError(f"{name} must be None, because {unit.name} has operands.addend none")
    return _codes(name, unit.operands.addend, tensor)


def _scales(unit: Unit, name: str, fmt: Format, tensor: Any, shape: tuple[int, ...]) -> Any:
    if tensor is None:
        raise InputError(f"{name} is missing: {unit.name} takes one scale for every block, shape {shape}")
    return _codes(name, fmt, tensor)


def _of_shape(name: str, tensor: Any, shape: tuple[int, ...]) -> Any:
    if tuple(tensor.shape) != shape:
        raise shape_error(name, str(shape), tuple(tensor.shape))
    return tensor


def _broadcast(name: str, tensor: Any, shape: tuple[int, ...]) -> Any:
    check_broadcast(name, tuple(tensor.shape), shape)
    return tensor.expand(shape)
