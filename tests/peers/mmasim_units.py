"""MMA-Sim's instructions as units of hwsim: what each preset's counterpart returns, from and to codes.

MMA-Sim (PyPI `mmasim`) runs on PyTorch. Here tensors are made of codes' bits and results taken by their bits, so that
nothing of hwsim is between.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.spec import Unit

Codes = NDArray[Any]

GENERATIONS = {
    "volta": "Volta",
    "turing": "Turing",
    "ampere": "Ampere",
    "ada": "Ada Lovelace",
    "hopper": "Hopper",
    "blackwell": "Blackwell",
    "geforce-blackwell": "RTX Blackwell",
}
# What a tensor of codes is made of: the integers that hold them, and the dtype that they are seen as.
DTYPES = {
    "f64": ("int64", "float64"),
    "f32": ("int32", "float32"),
    "tf32": ("int32", "float32"),
    "f16": ("int16", "float16"),
    "bf16": ("int16", "bfloat16"),
    "e4m3": ("uint8", "float8_e4m3fn"),
    "ue4m3": ("uint8", "float8_e4m3fn"),
    "e5m2": ("uint8", "float8_e5m2"),
    "e4m3fnuz": ("uint8", "float8_e4m3fnuz"),
    "e5m2fnuz": ("uint8", "float8_e5m2fnuz"),
    "e8m0": ("uint8", "float8_e8m0fnu"),
    "e3m2": ("uint8", "uint8"),
    "e2m3": ("uint8", "uint8"),
    "e2m1": ("uint8", "uint8"),
}
UNSIGNED = {"int16": np.uint16, "int32": np.uint32, "int64": np.uint64}
AMD = {"bf16": "bf16", "f16": "f16", "xf32": "xf32", "f32": "f32", "f64": "f64", "e4m3fnuz": "fp8", "e5m2fnuz": "bf8"}
PTX_SCALES = {"e8m0": "ue8m0", "ue4m3": "ue4m3"}


@dataclass(frozen=True)
class Instruction:
    """One of MMA-Sim's operations, by what makes it."""

    module: str
    kind: str
    arch: str
    name: str

    @property
    def packed(self) -> bool:
        """Whether it takes two e2m1 codes in a byte."""
        return "mxf4" in self.name

    def made(self) -> Any:
        """The operation. Imports PyTorch, and compiles MMA-Sim's FMA once."""
        return _made(self)


@cache
def _made(of: Instruction) -> Any:
    from importlib import import_module

    return getattr(import_module(f"mmasim.{of.module}.sim"), of.kind)(of.arch, of.name)


def instruction_of(unit: Unit) -> Instruction | None:
    """The counterpart of a preset, of those that have its arithmetic one with a long K; None where MMA-Sim has none."""
    a, b, result = unit.operands.a.name, unit.operands.b.name, RESULTS[unit.result.format.container_bits]
    if found := re.match(r"([a-z-]+)-mma-(?:k(\d+)-)?", unit.name):
        return _mma(unit, found[1], found[2], f"{result}.{a}.{b}")
    if unit.name.startswith("hopper-wgmma-"):
        return Instruction("nv_ptx", "WGMMA", "Hopper", f"m64n8k{_bytes_32(a)}.{result}.{a}.{b}")
    if unit.name.startswith("blackwell-tcgen05-"):
        kind = "f16" if a == "bf16" else a if a in ("f16", "tf32") else "f8f6f4"
        return Instruction("nv_ptx", "TCGen05MMA", "Blackwell", f"m64n8k{_bytes_32(a)}.kind::{kind}.{result}.{a}.{b}")
    if (found := re.match(r"blackwell-(mx\w+?)-", unit.name)) and unit.scale is not None:
        k, block = (32, 32) if found[1] == "mxf8f6f4" else (64, unit.scale.length("a"))
        scale = PTX_SCALES[unit.scale.of("a").format.name]
        name = f"m16n8k{k}.kind::{found[1]}.block{block}.f32.{a}.{b}.f32.{scale}"
        return Instruction("nv_ptx", "MMABlockScale", "RTX Blackwell", name)
    if (found := re.match(r"cdna([123])-mfma(1k)?-(?:k\d+-)?(\w+?)-", unit.name)) and not unit.name.endswith("-tree"):
        return Instruction("amd", "MFMA", f"CDNA{found[1]}", _amd(found[1], found[3], bool(found[2]), unit))
    return None


RESULTS = {16: "f16", 32: "f32", 64: "f64"}


def _bytes_32(fmt: str) -> int:
    """K of the instructions that take 32 bytes of a row."""
    return 32 * 8 // {"f16": 16, "bf16": 16, "tf32": 32}.get(fmt, 8)


def _mma(unit: Unit, arch: str, k: str | None, types: str) -> Instruction | None:
    a, addend = unit.operands.a.name, unit.operands.addend
    assert addend is not None
    eight = a not in ("f16", "bf16", "tf32", "f64")
    if eight and arch in ("hopper", "blackwell"):
        return None  # emulated through f16, which MMA-Sim does not have
    if arch == "volta" or a == "f64":
        shape = "m8n8k4"
    elif k is None:
        shape = f"m16n8k{unit.instruction.k}"
    else:
        shape = f"m16n8k{k}"
    kind = ".kind::f8f6f4" if eight and arch == "geforce-blackwell" and k is None else ""
    return Instruction("nv_ptx", "MMA", GENERATIONS[arch], f"{shape}{kind}.{types}.{addend.name}")


def _amd(generation: str, kind: str, wide: bool, unit: Unit) -> str:
    a, b, short = unit.operands.a.name, unit.operands.b.name, "-k4-" in unit.name
    if kind == "f64":
        return "f64_16x16x4_f64" if generation == "3" else "f64_16x16x4f64"
    if kind == "f32":
        return "f32_16x16x4_f32" if generation == "3" else "f32_16x16x4f32"
    if generation != "3":
        return f"f32_16x16x{16 if kind == 'f16' or wide else 8}{AMD[kind]}{'_1k' if wide else ''}"
    if kind == "xf32":
        return "f32_16x16x8_xf32"
    if kind in ("f16", "bf16"):
        return f"f32_16x16x4_4b_{kind}" if short else f"f32_16x16x16_{kind}"
    return f"f32_16x16x32_{AMD[a]}_{AMD[b]}"


def run(
    made: Instruction,
    unit: Unit,
    a: Codes,
    b: Codes,
    c: Codes,
    scale_a: Codes | None = None,
    scale_b: Codes | None = None,
) -> Codes:
    """An instruction's result codes of n dot products in a unit's formats.

    a, b: (n, K); c: (n,); scales: (n, blocks).
    """
    operands = unit.operands
    given = [_factor(operands.a.name, a, made.packed), _factor(operands.b.name, b, made.packed)]
    if operands.addend is not None:
        given.append(tensor(operands.addend.name, c))
    if unit.scale is not None and scale_a is not None and scale_b is not None:
        given += [tensor(unit.scale.of("a").format.name, scale_a), tensor(unit.scale.of("b").format.name, scale_b)]
    return bits(made.made().dpa(*given))


def _factor(fmt: str, codes: Codes, packed: bool) -> Any:
    if packed:
        pairs = codes.reshape(*codes.shape[:-1], -1, 2)
        return tensor("e2m1", pairs[..., 0] << 4 | pairs[..., 1])
    # Four bits stand in bits 5 to 2.
    return tensor(fmt, codes << 2 if fmt == "e2m1" else codes)


def tensor(fmt: str, codes: Codes) -> Any:
    """Codes as a tensor, by their bits."""
    import torch

    held, seen = DTYPES[fmt]
    plain = np.ascontiguousarray(codes.astype(np.dtype(held.replace("int", "uint") if held[0] == "i" else held)))
    return torch.from_numpy(plain.view(held).copy()).view(getattr(torch, seen))


def bits(result: Any) -> Codes:
    """A tensor's bits as unsigned integers."""
    import torch

    held = {torch.float64: torch.int64, torch.float32: torch.int32, torch.float16: torch.int16}[result.dtype]
    found: Codes = result.contiguous().view(held).numpy()
    return found.view(UNSIGNED[found.dtype.name])
