"""The block dequantiser: codes and a scale in, their products out, rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, unsigned
from amaranth.lib.data import ArrayLayout, StructLayout

from hwsim.quantize.block import BlockDequantization
from hwsim.spec import NotImplementedYet
from hwsim.spec.conversion import chosen_cuts

from .block_power import rounded_lanes
from .converter import Number, decoded, source_range
from .encode import EncodeTarget
from .numbers import signed_shape
from .single import F32
from .step import Datapath, Stage, flat
from .streamed import StreamedDatapath

STEPS = ("factor", "product", "normalize", "round")
MOST_BITS = 48  # of a product of significands


def dequantizer_cuts(cuts: Sequence[str] | None = None) -> tuple[str, ...]:
    """The registers of a dequantiser. Raises as `chosen_cuts`."""
    return chosen_cuts(STEPS, cuts, ("product", "normalize"))


def scaled_layout(d: BlockDequantization) -> StructLayout:
    """What enters: a code for each element, the scale's code, and the tensor's scale, binary32, where there is one."""
    codes = ArrayLayout(unsigned(d.element.container_bits), d.lanes)
    tensor = {"tensor_scale": unsigned(32)} if d.tensor else {}
    return StructLayout({"codes": codes, "scale": unsigned(d.scale_format.container_bits), **tensor})


def numbers_layout(d: BlockDequantization) -> StructLayout:
    """What leaves: a number for each element, in the target's container."""
    return StructLayout({"x": ArrayLayout(unsigned(d.target.container_bits), d.lanes)})


def supports_dequantizer(d: BlockDequantization) -> None:
    """Raise NotImplementedYet, with the reason, for formats that the RTL does not have."""
    for fmt in (d.element, d.scale_format, d.target):
        if fmt.container_bits > 32:
            raise NotImplementedYet(
                f"{fmt.name} has codes of {fmt.container_bits} bits, which the RTL does not have yet"
            )
    if dequantized_target(d).magnitude_bits > MOST_BITS:
        raise NotImplementedYet(f"{d.name}: products of more than {MOST_BITS} bits are not in the RTL yet")


def factor_range(d: BlockDequantization) -> tuple[int, tuple[int, int]]:
    """Of the scale, times the tensor's: bits, and least and largest exponent of the top bit."""
    bits, (low, high), _ = source_range(d.scale_format)
    if not d.tensor:
        return bits, (low, high)
    other, (least, most), _ = source_range(F32)
    return bits + other, (low + least + 1, high + most + 1)


def dequantized_target(d: BlockDequantization) -> EncodeTarget:
    """What products are encoded in."""
    element_bits, (low, high), _ = source_range(d.element)
    bits, (least, most) = factor_range(d)
    assert d.rounding in ("rne", "rna", "rz", "ru", "rd", "rto")
    return EncodeTarget.of(
        d.target, element_bits + bits, (low + least + 1, high + most + 1), high + most + 1,
        rounding=d.rounding, overflow=d.overflow, missing="nan",  # type: ignore[arg-type]
    )  # fmt: skip


def dequantized_stages(d: BlockDequantization) -> list[Stage]:
    """The steps, from `scaled_layout` to `numbers_layout`'s."""
    i = scaled_layout(d)
    bits, (least, most) = factor_range(d)
    target = dequantized_target(d)
    factor_layout = StructLayout(
        {"sign": 1, "sig": unsigned(bits), "exp": signed_shape(least, most), "nan": 1, "inf": 1}
    )  # fmt: skip

    def factor(m: Module, i: Any, o: Any) -> None:
        scale, to = decoded(m, d.scale_format, i.scale, "scale"), o.factor
        if d.tensor:
            scale = product(scale, decoded(m, F32, i.tensor_scale, "tensor"))
        m.d.comb += [
            to.sign.eq(scale.sign), to.sig.eq(scale.sig), to.exp.eq(scale.exp - scale.bias), to.nan.eq(scale.nan),
            to.inf.eq(scale.inf),
        ]  # fmt: skip

    def products(m: Module, i: Any, o: Any) -> None:
        by = Number(i.factor.sign, i.factor.sig, i.factor.exp, 0, i.factor.nan, i.factor.inf)
        for lane in range(d.lanes):
            found, to = product(decoded(m, d.element, i.codes[lane], f"lane{lane}"), by), o.lanes[lane]
            m.d.comb += [
                to.sign.eq(found.sign),
                to.magnitude.eq(found.sig),
                to.top_bexp.eq(found.exp + (target.bias - found.bias)),
                *found.special(to.special),
            ]

    first = Stage("factor", i, {"factor": factor_layout}, factor, drops=("scale", "tensor_scale"))
    lanes = {"lanes": ArrayLayout(target.magnitude(), d.lanes)}
    second = Stage("product", first.gives, lanes, products, drops=("codes", "factor"))
    put = lambda code, special, to: [to.eq(code)]  # noqa: E731
    return [first, second, *rounded_lanes(target, d.lanes, second.gives, put)]


def product(one: Number, other: Number) -> Number:
    """The exact product of two numbers, and what is special about it."""
    # An infinity's significand means nothing: it is no zero.
    zero_by_infinity = (one.inf & ~other.inf & ~other.sig.any()) | (other.inf & ~one.inf & ~one.sig.any())
    return Number(
        one.sign ^ other.sign, one.sig * other.sig, one.exp + other.exp, one.bias + other.bias - 1,
        one.nan | other.nan | zero_by_infinity, one.inf | other.inf,
    )  # fmt: skip


class BlockDequantizer(StreamedDatapath):
    """A dequantiser with a stream of codes and scales in and a stream of numbers out, a block each cycle.

    cuts: the steps of `STEPS` after which there is a register; the last always has one.
    Raises NotImplementedYet for formats that the RTL does not have.
    """

    def __init__(self, dequantization: BlockDequantization, cuts: Sequence[str] | None = None):
        d = self.dequantization = dequantization
        supports_dequantizer(d)
        self.cuts = dequantizer_cuts(cuts)
        path = Datapath(dequantized_stages(d), self.cuts)
        words = [
            f"{d.name}: dequantiser of blocks of {d.lanes} codes of {d.element.name}, generated by hwsim. Do not edit.",
            f"scale: {d.scale_format.name}; target: {d.target.name}; rounding: {d.rounding}; overflow: {d.overflow}",
            f"cuts: {', '.join(self.cuts)} (latency {path.latency})",
        ]
        super().__init__(f"{d.name}-to-{d.target.name}", words, path, scaled_layout(d), numbers_layout(d))

    def leave(self, m: Module) -> None:
        """Drive the numbers."""
        out = flat(self.path.o)
        m.d.comb += self.o.payload.x.eq(Cat(*(out[f"codes{lane}"] for lane in range(self.dequantization.lanes))))
