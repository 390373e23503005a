"""The matrix instructions that the capture program knows, and the units that describe them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from hwsim.errors import InputError
from hwsim.formats import Format, get_format
from hwsim.spec import Unit

FP8 = ("e4m3", "e5m2")


@dataclass(frozen=True)
class GpuInstruction:
    """One instruction, by the name that case files give it: FAMILY.mMnNkK.D.A.B.

    a, b, d: names of the formats of the factors and of addend and result. k: products of one instruction.
    switch: whether the addend can be switched off.
    """

    family: str
    shape: str
    d: str
    a: str
    b: str

    @property
    def name(self) -> str:
        """`wgmma.m64n8k32.f32.e4m3.e4m3`."""
        return f"{self.family}.{self.shape}.{self.d}.{self.a}.{self.b}"

    @property
    def k(self) -> int:
        """Products of one instruction."""
        return int(self.shape.rpartition("k")[2])

    @property
    def switch(self) -> bool:
        """Whether the addend can be switched off."""
        return self.family == "wgmma"

    @property
    def factors(self) -> tuple[Format, Format]:
        """The formats of a and b."""
        return get_format(self.a), get_format(self.b)

    @property
    def accumulator(self) -> Format:
        """The format of addend and result."""
        return get_format(self.d)

    @property
    def digits(self) -> tuple[int, int]:
        """Hexadecimal digits of a factor's code, and of the addend's and the result's."""
        return self.factors[0].container_bits // 4, self.accumulator.container_bits // 4


def _fp8(family: str, shape: str) -> list[GpuInstruction]:
    return [GpuInstruction(family, shape, d, a, b) for d, a, b in product(("f32", "f16"), FP8, FP8)]


INSTRUCTIONS = {
    instruction.name: instruction
    for instruction in (
        *_fp8("wgmma", "m64n8k32"),
        GpuInstruction("wgmma", "m64n8k16", "f32", "f16", "f16"),
        GpuInstruction("wgmma", "m64n8k16", "f16", "f16", "f16"),
        GpuInstruction("wgmma", "m64n8k16", "f32", "bf16", "bf16"),
        GpuInstruction("wgmma", "m64n8k8", "f32", "tf32", "tf32"),
        *_fp8("mma", "m16n8k32"),
        GpuInstruction("mma", "m16n8k16", "f32", "f16", "f16"),
        GpuInstruction("mma", "m16n8k8", "f32", "f16", "f16"),
        GpuInstruction("mma", "m16n8k16", "f16", "f16", "f16"),
        GpuInstruction("mma", "m16n8k8", "f16", "f16", "f16"),
        GpuInstruction("mma", "m16n8k16", "f32", "bf16", "bf16"),
        GpuInstruction("mma", "m16n8k8", "f32", "bf16", "bf16"),
        GpuInstruction("mma", "m16n8k8", "f32", "tf32", "tf32"),
        GpuInstruction("mma", "m16n8k4", "f32", "tf32", "tf32"),
    )
}


def instruction_of(unit: Unit, name: str | None = None) -> GpuInstruction:
    """The instruction whose results a unit describes.

    name: the instruction's name; without it, the instruction follows from the family in the unit's name
    (`hopper-wgmma-...`), the unit's formats and its k. Raises ValueError for a unit that no instruction fits, naming
    all instructions.
    """
    if name is not None and name not in INSTRUCTIONS:
        raise InputError(f"unknown instruction {name!r}; known: {', '.join(INSTRUCTIONS)}")
    candidates = [INSTRUCTIONS[name]] if name is not None else list(INSTRUCTIONS.values())
    family = "wgmma" if "wgmma" in unit.name else "mma"
    fitting = [each for each in candidates if fits(each, unit) and (name is not None or each.family == family)]
    if fitting:
        return fitting[0]
    operands, names = unit.operands, ", ".join(each.name for each in candidates)
    wanted = f"{operands.a.name} x {operands.b.name} + {_name(operands.addend)}, k {unit.instruction.k}"
    raise InputError(f"unit {unit.name} ({wanted}) is none of the instructions that can be captured: {names}")


def _name(fmt: Format | None) -> str:
    return fmt.name if fmt else "nothing"


def fits(instruction: GpuInstruction, unit: Unit) -> bool:
    """Whether a unit has an instruction's formats and its k, so that it may describe the instruction's results."""
    operands = unit.operands
    return (
        unit.scale is None
        and unit.promotion is None
        and (operands.a, operands.b) == instruction.factors
        and operands.addend == instruction.accumulator
        and unit.output.container_bits == instruction.accumulator.container_bits
        and unit.instruction.k == instruction.k
    )
