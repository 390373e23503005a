"""A unit as the templates see it: its arithmetic and calls, DPI-C functions, and operands of the examples."""

from __future__ import annotations

from math import lcm

from hwsim.c.calls import Calls
from hwsim.formats import Format

SV_TYPES = {"uint8_t": "byte unsigned", "uint16_t": "shortint unsigned", "uint32_t": "int unsigned"}
C_TYPES = {"int unsigned": "uint32_t ", "bit": "svBit ", "longint": "long long "}
# Operands of the examples: a and b cycle through these numbers, and c.
NUMBERS_A, NUMBERS_B, NUMBER_C = (0.0, 0.5, 1.0, 1.5), (1.0, 0.0, -1.0), 0.75
PRODUCTS = 8  # of an example, at least


class UnitInC(Calls):
    """One unit, as the templates see it."""

    @property
    def sv_types(self) -> dict[str, str]:
        """The SystemVerilog types that hold the codes of each operand."""
        return {side: SV_TYPES[kind] for side, kind in self.code_types.items()}

    # Functions: name, type returned, and parameters by their SystemVerilog types.

    def _functions(self) -> list[tuple[str, str, list[tuple[str, str]]]]:
        c = [("int unsigned", "c")]
        arrays = [(f"{kind}[]", side) for side, kind in self.sv_types.items()]
        dot = [*arrays[:2], *c * (self.u.operands.addend is not None), *arrays[2:]]
        functions = [("dot", "longint", dot)]
        if self.dpi_group:
            before = [("int unsigned", "partial"), ("bit", "chain")] if self.group_addend else []
            functions.append(("group", "int unsigned", [*self._vectors(), *c * self.first_takes_c, *before]))
        if self.dpi_after:
            codes = [("bit" if name == "chain" else "int unsigned", name) for name in self.dpi_after.split(", ")]
            functions.append(("promote" if self.u.promotion else "add_late", "int unsigned", codes))
        return functions

    def _vectors(self) -> list[tuple[str, str]]:
        """The parameters of a group's codes: packed vectors, as wide as the fields of the RTL's beats."""
        u, lanes = self.u, self.u.instruction.lanes
        sides: list[tuple[str, Format, int]] = [("a", u.operands.a, lanes), ("b", u.operands.b, lanes)]
        if u.scale is not None and self.group_scales:
            for side, scale, length in zip(("a", "b"), (u.scale.a, u.scale.b), self.scale_blocks, strict=True):
                sides.append((f"scale_{side}", scale.format, -(-lanes // length)))
        return [(f"bit [{fmt.container_bits * count - 1}:0]", side) for side, fmt, count in sides]

    @property
    def dpi_imports(self) -> list[str]:
        """The SystemVerilog imports of the functions."""
        return [
            f'import "DPI-C" function {returned} {self.prefix}_dpi_{name}(\n'
            + ",\n".join(f"      input {_sv_parameter(*parameter)}" for parameter in parameters)
            + "\n  );"
            for name, returned, parameters in self._functions()
        ]

    @property
    def dpi_prototypes(self) -> list[str]:
        """The prototypes of the functions in C."""
        return [
            f"{C_TYPES[returned]}{self.prefix}_dpi_{name}("
            + ", ".join(_c_parameter(*parameter) for parameter in parameters)
            + ")"
            for name, returned, parameters in self._functions()
        ]

    @property
    def dpi_group(self) -> bool:
        """Whether there is a function for a group: its result must be a code, which the next group starts from."""
        return not self.group.carries and self.late_window is None

    @property
    def first_takes_c(self) -> bool:
        """Whether the first group adds c."""
        return self.u.operands.addend is not None and self.u.restart is None and self.group_addend

    @property
    def dpi_after(self) -> str:
        """The arguments of a promotion or a rounded late addition; empty without either."""
        if self.u.promotion:
            return "promoted, partial, scale_a, scale_b" if self.scaled_at == "promotion" else "promoted, partial"
        return "addend, chain, partial" if self.late_add is not None else ""

    @property
    def dpi_scale_sizes(self) -> str:
        """Whether an array of scales has a wrong size, as the end of an expression of C."""
        if self.u.scale is None:
            return ""
        lengths = zip(("a", "b"), self.scale_blocks, strict=True)
        return "".join(f" || (uint64_t)svSize(scale_{side}, 1) != k / {length}" for side, length in lengths)

    # Examples.

    @property
    def sample_k(self) -> int:
        """The number of products in an example."""
        step = lcm(*self.scale_blocks) if self.u.scale else 1
        return -(-min(PRODUCTS, self.u.instruction.k) // step) * step

    def sample_codes(self, side: str) -> str:
        """The code of an example's factor i, as an expression of SystemVerilog."""
        fmt, numbers = (self.u.operands.a, NUMBERS_A) if side == "a" else (self.u.operands.b, NUMBERS_B)
        codes = [_sv_code(fmt, number) for number in numbers]
        chosen = [f"i % {len(codes)} == {index} ? {code} : " for index, code in enumerate(codes[:-1])]
        return "".join(chosen) + codes[-1]

    @property
    def sample_c(self) -> str:
        """The code of an example's addend."""
        fmt = self.u.operands.addend
        return "" if fmt is None else _sv_code(fmt, NUMBER_C)


def _sv_code(fmt: Format, number: float) -> str:
    width = {1: 8, 2: 16}.get(-(-fmt.container_bits // 8), 32)
    return f"{width}'h{int(fmt.encode(number)):X}"


def _sv_parameter(kind: str, name: str) -> str:
    return f"{kind.removesuffix('[]')} {name}[]" if kind.endswith("[]") else f"{kind} {name}"


def _c_parameter(kind: str, name: str) -> str:
    if kind.endswith("[]"):
        return f"const svOpenArrayHandle {name}"
    return f"const svBitVecVal *{name}" if kind.startswith("bit [") else f"{C_TYPES[kind]}{name}"
