"""`Normalize` in halves, between which a register can stand."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, unsigned
from amaranth.lib.data import StructLayout

from .normalize import Normalize
from .step import DatapathStep
from .targets import SumTarget


class CountZeros(Normalize):
    """The first half of `Normalize`: how far the leading one is to move, and what is lost before."""

    def __init__(self, target: SumTarget, name: str):
        self.target = target
        zeros = unsigned((target.bits - 1).bit_length())
        i, gone = target.magnitude(), ("magnitude", "more")
        kept = {field: shape for field, shape in i.members.items() if field not in gone}
        made = {"magnitude": unsigned(target.bits), "zeros": zeros, "sticky": 1}
        DatapathStep.__init__(self, name, i, StructLayout({**kept, **made}), set(made))

    def compute(self, m: Module) -> None:
        """Drive the magnitude, and by how much it is to be shifted to the left."""
        whole = Cat(Const(0, self.target.bits - self.target.magnitude_bits), self.i.magnitude)
        magnitude, shift = self._counted(m, whole)
        m.d.comb += [self.o.magnitude.eq(magnitude), self.o.zeros.eq(shift)]


class MoveLeadingOne(Normalize):
    """The second half."""

    def __init__(self, target: SumTarget, name: str):
        self.target = target
        DatapathStep.__init__(self, name, CountZeros(target, "").gives, target.normalized(), {"sig", "bexp"})

    def compute(self, m: Module) -> None:
        """Drive the normalised significand and its exponent."""
        self._moved(m, self.i.magnitude, self.i.zeros)


def normalizing(target: SumTarget, cuts: Sequence[str], name: str = "normalize") -> dict[str, DatapathStep]:
    """`Normalize` by its name, in halves where a cut asks for a register between them."""
    if f"{name}.1" not in cuts:
        return {name: Normalize(target, name)}
    return {f"{name}.1": CountZeros(target, f"{name}.1"), name: MoveLeadingOne(target, name)}
