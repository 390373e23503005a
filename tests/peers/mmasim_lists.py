"""All instructions of MMA-Sim's lists, and the preset that each has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from peers.mmasim_units import GENERATIONS, Instruction

SLUGS = {arch: slug for slug, arch in GENERATIONS.items()}
# From this K on, the groups of an architecture's `mma` are as long as its hardware has them: of 16 bits, and of 32.
WHOLE = {"turing": (8, 4), "ampere": (8, 4), "ada": (8, 4)}
WHOLE_LATER = (16, 8)
FNUZ = {"fp8": "e4m3fnuz", "bf8": "e5m2fnuz"}


def every_instruction() -> Iterator[Instruction]:
    """Every architecture's every shape and type, of every kind of instruction. Imports PyTorch."""
    from mmasim.amd.isa_mfma import arch_mfma_suffix
    from mmasim.nv_ptx import isa_mma, isa_tcgen05mma, isa_wgmma

    lists: dict[tuple[str, str], dict[str, list[str]]] = {
        ("nv_ptx", "MMA"): isa_mma.mma_shape_and_type,
        ("nv_ptx", "MMABlockScale"): isa_mma.mma_block_scale_shape_and_type,
        ("nv_ptx", "WGMMA"): isa_wgmma.wgmma_shape_and_type,
        ("nv_ptx", "TCGen05MMA"): isa_tcgen05mma.tcgen05mma_shape_and_type,
        ("nv_ptx", "TCGen05MMABlockScale"): isa_tcgen05mma.tcgen05mma_block_scale_shape_and_type,
        ("amd", "MFMA"): arch_mfma_suffix,
    }
    for (module, kind), architectures in lists.items():
        for arch, names in architectures.items():
            yield from (Instruction(module, kind, arch, name) for name in names)


def preset_of(instruction: Instruction) -> str:
    """The name of the preset that has an instruction's arithmetic."""
    parts = instruction.name.split(".")
    match instruction.kind:
        case "MMA":
            *_, result, a, b, addend = parts
            return _mma(SLUGS[instruction.arch], parts[0], result, _pair(a, b), addend)
        case "WGMMA":
            _, result, a, b = parts
            return f"hopper-wgmma-{_pair(a, b)}-{result}"
        case "TCGen05MMA":
            _, _, result, a, b = parts
            return f"blackwell-tcgen05-{_pair(a, b)}-{result}"
        case "MMABlockScale" | "TCGen05MMABlockScale":
            _, kind, block, result, a, b, *_, scale = parts
            return _scaled(kind.removeprefix("kind::"), block, result, _pair(a, b), scale)
        case "MFMA":
            return _mfma(instruction.arch.lower(), instruction.name)
        case other:
            raise LookupError(f"no rule for {other}")


def _pair(a: str, b: str) -> str:
    return a if a == b else f"{a}x{b}"


def k_of(instruction: Instruction) -> int:
    """Products of one instruction."""
    if instruction.module == "amd":
        return int(re.search(r"_\d+x\d+x(\d+)", instruction.name)[1])  # type: ignore[index]
    return int(re.match(r"m\d+n\d+k(\d+)", instruction.name)[1])  # type: ignore[index]


def _mma(arch: str, shape: str, result: str, factors: str, addend: str) -> str:
    if factors == "f64":
        return f"{arch}-mma-f64-f64"
    if shape == "m8n8k4":  # Turing's too
        return f"volta-mma-f16-{result}" + (f"-addend-{addend}" if addend != result else "")
    k = int(shape.partition("k")[2])
    if factors in ("f16", "bf16", "tf32"):
        short = k < WHOLE.get(arch, WHOLE_LATER)[factors == "tf32"]
    else:
        short = arch == "geforce-blackwell" and k < 32
    return f"{arch}-mma-{f'k{k}-' if short else ''}{factors}-{result}"


def _scaled(kind: str, block: str, result: str, factors: str, scale: str) -> str:
    if kind == "mxf4nvf4" and scale == "ue8m0":
        # With blocks of 32 it is mxf4.
        return (
            f"blackwell-mxf4-{factors}-{result}"
            if block == "block32"
            else f"blackwell-mxf4nvf4-{factors}-e8m0-{result}"
        )
    return f"blackwell-{kind}-{factors}-{result}"


def _mfma(arch: str, name: str) -> str:
    types = re.fullmatch(r"(f\d+)_\d+x\d+x(\d+)(?:_\d+b)?_?(x?b?f\w+?)(_1k)?", name)
    assert types is not None, name
    result, k, factors, wide = types.groups()
    a, _, b = factors.partition("_")
    named = _pair(FNUZ.get(a, a), FNUZ.get(b or a, b or a))
    short = arch == "cdna3" and factors in ("f16", "bf16") and int(k) < 8
    return f"{arch}-mfma{'1k' if wide else ''}-{f'k{k}-' if short else ''}{named}-{result}"


def arithmetic(instruction: Instruction) -> tuple[Any, ...]:
    """What instructions of other rows and columns, or of another architecture, have in common: operation and K."""
    made = instruction.made()
    operation = made.arithmetic_op
    settings = tuple(sorted((key, str(value)) for key, value in vars(operation).items()))
    return type(operation).__name__, settings, str(made.a_type), str(made.b_type), str(made.c_type), k_of(instruction)
