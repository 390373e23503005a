"""What a row or a column of a tile does once for all its elements: it decodes a slice of operands."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Shape, Signal, Value, unsigned
from amaranth.lib import wiring
from amaranth.lib.data import ArrayLayout, StructLayout, View
from amaranth.lib.wiring import In, Out

from hwsim.rtl.accumulate import accumulation
from hwsim.rtl.dot_unit import ContextRegisters, scale_of_partial
from hwsim.rtl.methods import datapath
from hwsim.rtl.numbers import ProductRanges, factor_layout
from hwsim.rtl.products import ModalDecode, ScaleDecode, decoder, format_chosen, is_any_of, operand_decoder
from hwsim.spec import Pipeline, Specified


def slice_layout(unit: Specified, at: int) -> StructLayout:
    """The codes of a row (at 0) or of a column (at 1) in a beat, lane 0 in the low bits; above them those of scales."""
    n = ProductRanges(unit)
    fields: dict[str, Any] = {"lane": ArrayLayout(unsigned(list(n.sides.values())[at].container_bits), n.lanes)}
    if n.scale_formats:
        fields["scale"] = ArrayLayout(unsigned(n.scale_formats[at].container_bits), n.scale_blocks[at])
    return StructLayout(fields)


Elements = dict[str, tuple[int, int]]  # by the name of a port: bits of an element, and how many, the first lowest


def side_elements(unit: Specified, at: int) -> Elements:
    """What a decoded slice is handed on as: fields of its factors, of each lane; of its scales, of each block.

    Scales of products are exponent fields, those of parts numbers, and that of a partial sum the code which the sum's
    first group had.
    """
    n, side = ProductRanges(unit), "ab"[at]
    elements = {f"{side}_{name}": (bits, n.lanes) for name, bits in _bits(factor_layout(n.multiplied[at])).items()}
    if n.scales:
        elements[f"scale_{side}"] = n.scales[at].bits, n.scale_blocks[at]
    elif n.part_scales:
        numbers = _bits(factor_layout(n.part_scales[at]))
        elements |= {f"scale_{side}_{name}": (bits, n.scale_blocks[at]) for name, bits in numbers.items()}
    elif n.scale_formats:
        elements[f"scale_{side}"] = n.scale_formats[at].container_bits, 1
    return elements


def _bits(layout: StructLayout) -> dict[str, int]:
    return {name: Shape.cast(shape).width for name, shape in layout.members.items()}


def of_partial(unit: Specified) -> bool:
    """True if scales multiply partial sums, after the datapath."""
    after = accumulation(unit)
    return after is not None and bool(after.scales)


def part(port: Value, index: int, count: int) -> Value:
    """One of so many elements that stand side by side."""
    bits = len(port) // count
    return port[index * bits : (index + 1) * bits]


class SideDecode(wiring.Component):
    """The operands of a row or a column, decoded once for all its elements.

    What it hands on stands behind a register where the pipeline has one after `decode`. scale_nan: of the slice that
    enters, whether a scale of products is NaN.
    """

    def __init__(self, unit: Specified, pipeline: Pipeline, at: int):
        self.unit, self.pipeline, self.at, self.n = unit, pipeline, at, ProductRanges(unit)
        self.elements = side_elements(unit, at)
        ports: dict[str, Any] = {"enable": In(1), "codes": In(slice_layout(unit, at).size)}
        if self.n.mode_bits:
            ports["mode"] = In(self.n.mode_bits)
        if self.n.scales:
            ports["scale_nan"] = Out(1)
        if of_partial(self.unit):
            ports |= {"enters": In(1), "opens": In(1), "enters_context": In(unsigned(pipeline.context_bits))}
        super().__init__(ports | {name: Out(bits * count) for name, (bits, count) in self.elements.items()})

    @property
    def purpose(self) -> str:
        return f"The operands of a {('row', 'column')[self.at]}, decoded once for all its elements."

    def elaborate(self, platform: object) -> Module:
        m, n, codes, side = Module(), self.n, View(slice_layout(self.unit, self.at), self.codes), "ab"[self.at]
        made = self._factors(m, codes)
        if n.scales:
            made[f"scale_{side}"] = self._exponents(m, codes)
        elif n.part_scales:
            decoders = [decoder(n.part_scales[self.at]) for _ in codes.scale]
            for block, decode in enumerate(decoders):
                m.submodules[f"scale{block}"] = decode
                m.d.comb += decode.code.eq(codes.scale[block])
            for name in decoders[0].o.shape().members:
                made[f"scale_{side}_{name}"] = Cat(getattr(decode.o, name) for decode in decoders)
        stages = int("decode" in self.pipeline.cuts)
        for name, value in made.items():
            m.d.comb += getattr(self, name).eq(delayed(m, name, value, stages, self.enable)[-1])
        if of_partial(self.unit):
            self._scale_of_partial(m, f"scale_{side}", codes.scale[0])
        return m

    def _factors(self, m: Module, codes: View[StructLayout]) -> dict[str, Value]:
        """The fields of all lanes' factors, by the names of their ports."""
        n, name = self.n, "ab"[self.at]
        side, decoders = n.sides[name], list[Any]()
        chosen = format_chosen(m, name, side, self)
        for lane in range(n.lanes):
            if chosen is None:
                decode: Any = operand_decoder(self.unit, *side.choices[0])
            else:
                decode = ModalDecode(self.unit, side, n.multiplied[self.at])
                m.d.comb += decode.chosen.eq(chosen)
            m.submodules[f"lane{lane}"] = decode
            m.d.comb += decode.code.eq(codes.lane[lane])
            decoders.append(decode)
        fields = decoders[0].o.shape().members
        return {f"{name}_{field}": Cat(getattr(decode.o, field) for decode in decoders) for field in fields}

    def _exponents(self, m: Module, codes: View[StructLayout]) -> Value:
        """The exponent fields of the scales of products; and drive whether one of them is NaN."""
        n, fmt, decoders = self.n, self.n.scales[self.at], list[ScaleDecode]()
        unscaled = is_any_of(self.mode, n.unscaled) if n.unscaled else None
        for block in range(n.scale_blocks[self.at]):
            m.submodules[f"scale{block}"] = decode = ScaleDecode(fmt)
            code = codes.scale[block]
            m.d.comb += decode.code.eq(code if unscaled is None else Mux(unscaled, fmt.bias, code))
            decoders.append(decode)
        m.d.comb += self.scale_nan.eq(Cat(decode.nan for decode in decoders).any())
        return Cat(decode.bexp for decode in decoders)

    def _scale_of_partial(self, m: Module, name: str, scale: Value) -> None:
        """Drive the scale of a partial sum, as late as the addition after the datapath takes it."""
        kept = ContextRegisters(name, unsigned(len(scale)), self.pipeline.contexts)
        entering = scale_of_partial(m, kept, scale, self.enters_context, self.opens, self.enters)
        latency = datapath(self.unit, self.pipeline.cuts, apart=True).latency
        m.d.comb += getattr(self, name).eq(delayed(m, name, entering, latency, self.enable)[-1])


def delayed(m: Module, name: str, value: Value, stages: int, enable: Value) -> list[Value]:
    """A value as it is, and behind one register after another, which move on while `enable` is high."""
    values = [value]
    for stage in range(stages):
        values.append(Signal(len(value), name=f"{name}_flight{stage + 1}", reset_less=True))
        with m.If(enable):
            m.d.sync += values[-1].eq(values[-2])
    return values
